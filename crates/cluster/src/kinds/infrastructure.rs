//! Infrastructure `cluster` (pure): the failure domains of vSphere.
//!
//! openshift/api `config/v1`, `VSpherePlatformSpec`.

use super::fields::{list_at, text_at};
use super::site::{Site, Workspace};
use serde_json::Value;

/// vSphere, as the Infrastructure knows it.
#[derive(Debug, Default)]
pub struct VSphere {
    /// `status.infrastructureName`: the name that the installer gave the cluster.
    infrastructure_name: Option<String>,
    vcenters: Vec<String>,
    domains: Vec<FailureDomain>,
}

#[derive(Debug)]
struct FailureDomain {
    name: String,
    region: Option<String>,
    zone: Option<String>,
    workspace: Workspace,
    template: Option<String>,
}

impl VSphere {
    /// `None` where the Infrastructure says nothing of vSphere.
    pub fn of(object: &Value) -> Option<Self> {
        let of = object.pointer("/spec/platformSpec/vsphere")?;
        let vcenter = |vcenter: &Value| text_at(vcenter, "/server");
        Some(Self {
            infrastructure_name: text_at(object, "/status/infrastructureName"),
            vcenters: list_at(of, "/vcenters")
                .iter()
                .filter_map(vcenter)
                .collect(),
            domains: list_at(of, "/failureDomains")
                .iter()
                .filter_map(FailureDomain::of)
                .collect(),
        })
    }

    /// The template of the failure domain of this name: the last part of the path that it names;
    /// without one, the name that the control plane's operator makes up
    /// (openshift/cluster-control-plane-machine-set-operator, `InjectFailureDomain` of
    /// `providerconfig/vsphere.go`).
    pub fn template(&self, name: &str) -> Option<String> {
        let domain = self.domain(name)?;
        if let Some(template) = &domain.template {
            return Some(template.rsplit('/').next()?.to_owned());
        }
        let id = self.infrastructure_name.as_ref()?;
        Some(format!(
            "/{}/vm/{id}/{id}-rhcos-{}-{}",
            domain.workspace.datacenter,
            domain.region.as_ref()?,
            domain.zone.as_ref()?
        ))
    }

    /// Place of the template of the failure domain of this name.
    pub fn site(&self, name: &str) -> Site {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.domain(name).map_or_else(Site::default, |domain| {
            let Workspace {
                server, datacenter, ..
            } = &domain.workspace;
            Site::in_failure_domain(said(server), said(datacenter))
        })
    }

    fn domain(&self, name: &str) -> Option<&FailureDomain> {
        self.domains.iter().find(|domain| domain.name == name)
    }

    /// Tells whether this workspace is in a failure domain, by the fields that the Machine Config Operator
    /// compares (`createNewVMTemplate` of `pkg/controller/bootimage/vsphere_helpers.go`, 4.20 to 5.1).
    pub fn has(&self, workspace: &Workspace) -> bool {
        self.vcenters.contains(&workspace.server)
            && self.domains.iter().any(|domain| {
                let of = &domain.workspace;
                of.server == workspace.server
                    && of.datacenter == workspace.datacenter
                    && of.datastore == workspace.datastore
                    && of.vm_group == workspace.vm_group
                    && same_path(&of.resource_pool, &workspace.resource_pool)
            })
    }
}

impl FailureDomain {
    fn of(object: &Value) -> Option<Self> {
        let topology = |path: &str| text_at(object, &format!("/topology{path}"));
        Some(Self {
            name: text_at(object, "/name")?,
            region: text_at(object, "/region"),
            zone: text_at(object, "/zone"),
            workspace: Workspace {
                server: text_at(object, "/server").unwrap_or_default(),
                datacenter: topology("/datacenter").unwrap_or_default(),
                datastore: topology("/datastore").unwrap_or_default(),
                resource_pool: topology("/resourcePool").unwrap_or_default(),
                vm_group: text_at(object, "/zoneAffinity/hostGroup/vmGroup").unwrap_or_default(),
            },
            template: topology("/template"),
        })
    }
}

/// Tells whether two paths differ in doubled and trailing slashes alone: the installer writes
/// `/dc/host/cluster//Resources` in sets.
fn same_path(a: &str, b: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.map(str::to_owned).collect()
    };
    a.starts_with('/') == b.starts_with('/') && parts(a) == parts(b)
}
