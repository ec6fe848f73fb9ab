//! Infrastructure `cluster` (pure): the failure domains of vSphere.
//!
//! openshift/api `config/v1`, `VSpherePlatformSpec`.

use super::site::{Site, Workspace};
use serde::Deserialize;

/// Infrastructure `cluster`.
#[derive(Debug, Default, Deserialize)]
pub struct Infrastructure {
    #[serde(rename = "status.controlPlaneTopology")]
    pub topology: String,
    #[serde(rename = "status.platformStatus.type|status.platform")]
    pub platform: String,
    #[serde(rename = "status.infrastructureName")]
    pub name: Option<String>,
    #[serde(rename = "status.apiServerURL")]
    pub server: Option<String>,
    /// Its host is that of the machine-config-server.
    #[serde(rename = "status.apiServerInternalURI|status.apiServerInternalURL")]
    pub internal_server: String,
    #[serde(rename = "status.platformStatus.azure.cloudName")]
    pub azure_cloud: String,
    #[serde(rename = "status.platformStatus.aws.region")]
    pub region: Option<String>,
    #[serde(rename = "spec.platformSpec.vsphere")]
    pub vsphere: Option<VSphere>,
}

/// vSphere, as the Infrastructure knows it.
#[derive(Debug, Default, Deserialize)]
pub struct VSphere {
    /// The name that the installer gave the cluster.
    #[serde(skip)]
    pub infrastructure_name: Option<String>,
    vcenters: Vec<VCenter>,
    failure_domains: Vec<FailureDomain>,
}

#[derive(Debug, Deserialize)]
struct VCenter {
    server: String,
}

#[derive(Debug, Deserialize)]
struct FailureDomain {
    name: String,
    region: Option<String>,
    zone: Option<String>,
    #[serde(rename = ".")]
    workspace: Workspace,
    #[serde(rename = "topology.template")]
    template: Option<String>,
}

impl VSphere {
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
        self.failure_domains
            .iter()
            .find(|domain| domain.name == name)
    }

    /// Tells whether this workspace is in a failure domain, by the fields that the Machine Config Operator
    /// compares (`createNewVMTemplate` of `pkg/controller/bootimage/vsphere_helpers.go`, 4.20 to 5.1); `None` where
    /// one that the API demands is missing.
    pub fn has(&self, workspace: &Workspace) -> Option<bool> {
        let lacks = |of: &Workspace| of.server.is_empty() || of.datacenter.is_empty();
        let mut domains = self.failure_domains.iter().map(|domain| &domain.workspace);
        let is_cut = domains.any(|of| lacks(of) || of.datastore.is_empty());
        let is_cut = is_cut || self.vcenters.is_empty();
        let is_known = |vcenter: &VCenter| vcenter.server == workspace.server;
        let has = self.vcenters.iter().any(is_known)
            && self.failure_domains.iter().any(|domain| {
                let of = &domain.workspace;
                of.server == workspace.server
                    && of.datacenter == workspace.datacenter
                    && of.datastore == workspace.datastore
                    && of.vm_group == workspace.vm_group
                    && same_path(&of.resource_pool, &workspace.resource_pool)
            });
        let is_open = !self.failure_domains.is_empty() && (is_cut || lacks(workspace));
        (has || !is_open).then_some(has)
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
