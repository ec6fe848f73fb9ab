//! The fixes that are more or other than putting the cluster's own image in the place of a set's
//! image (pure).

use super::image_versions::Lookup;
use super::remedy::Remedy;
use super::sets::Set;
use super::upkeep_rules as rules;
use crate::audit::cluster::image::FREE_PUBLISHER;
use crate::audit::cluster::kind_table::{HYPERSHIFT, MACHINE_API, NODE_POOL};
use crate::audit::cluster::platforms::audit_row;
use crate::audit::cluster::stream::OwnImage;
use crate::audit::results::upkeep::Rule;
use crate::platform::Platform;
use crate::text::is_dns_name;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The project of Google's marketplace that has the images which Red Hat sells.
const GCP_MARKETPLACE: &str = "projects/redhat-marketplace-public/";

/// The image that takes the place of a set's: the cluster's own, or the newest published one.
#[derive(Debug, Default)]
pub(crate) struct Own {
    version: Option<String>,
    image: Option<String>,
    /// `this cluster's own`, in words.
    whose: String,
    /// Where it is, after that.
    origin: &'static str,
}

impl Own {
    pub(crate) fn of(images: &[OwnImage], whose: String, origin: &'static str) -> Self {
        let one = |all: BTreeSet<&str>| {
            let mut all = all.into_iter();
            all.next()
                .filter(|_| all.next().is_none())
                .map(str::to_owned)
        };
        Self {
            version: one(images.iter().map(|own| &*own.release).collect()),
            image: one(images
                .iter()
                .filter_map(|own| own.image.as_deref())
                .collect()),
            whose,
            origin,
        }
    }

    /// As the object of a sentence.
    fn words(&self) -> String {
        match &self.version {
            Some(version) => {
                format!("{version}, {}{},", self.whose, self.origin)
            }
            None => "an image that the policy allows".to_owned(),
        }
    }

    /// What the field should say, in words.
    fn value(&self) -> String {
        match (&self.image, &self.version) {
            (Some(image), Some(version)) => format!("{image}: {version}, {}", self.whose),
            _ => "an image that the policy allows".to_owned(),
        }
    }
}

/// The fix that works, where putting the cluster's own image in the place of the set's image does
/// not, or is not all.
pub(crate) fn fix(set: &Set, own: &Own) -> Option<Remedy> {
    let rule = set.upkeep.as_ref().map(|upkeep| upkeep.rule);
    match (rule, set.image.platform) {
        (Some(Rule::NodePoolImage), _) => node_pool(set),
        (Some(Rule::NodePoolRelease), _) => None,
        (Some(Rule::NodeClassRelease), _) => Some(Remedy::words(format!(
            "set spec.version of OpenshiftEC2NodeClass {} to a release whose boot image the policy allows",
            set.name
        ))),
        (Some(Rule::BareMetalImage), _) if set.template.is_none() => Some(bare_metal(set, own)),
        (_, Some(Platform::Gcp)) => gcp_marketplace(set),
        (_, Some(Platform::Aws)) if set.image.site.chooser.is_some() => Some(chosen_ami(set, own)),
        (_, Some(Platform::Azure)) if set.image.site.security_type.is_some() => {
            Some(security_type(set, own))
        }
        (_, Some(Platform::Azure)) if own.image.is_none() => azure_plan(set),
        (Some(Rule::VSphereFailureDomain), _) => Some(failure_domain(set, own)),
        _ => None,
    }
}

/// The remedy of a set whose AMI may be a marketplace's: nobody can tell by its ID. Then the
/// standard AMI is the wrong one, and no command is given.
pub(crate) fn ask_the_owner(set: &Set, lookup: &Lookup<'_>, remedy: Remedy) -> Remedy {
    let Some(ami) = set.image.value.as_deref() else {
        return remedy;
    };
    let architecture = set.architecture.as_deref();
    let is_standard = || rules::is_standard(ami, &set.image, architecture, lookup);
    if set.image.platform != Some(Platform::Aws) || set.kind == NODE_POOL || is_standard() {
        return remedy;
    }
    let region = set.image.region.as_ref().filter(|region| is_plain(region));
    let region = region.map_or_else(String::new, |region| format!(" --region {region}"));
    let ami = if is_plain(ami) { ami } else { "AMI" };
    let otherwise = remedy.text.unwrap_or_default();
    Remedy {
        text: Some(format!(
            "ask whose AMI it is: aws ec2 describe-images{region} --image-ids {ami} --query 'Images[].[OwnerId,Name]'. If it is of AWS Marketplace \
             (679593333241), take the newest image of the same product, whose ID ends its name: the standard AMI drops the subscription. If not, {otherwise}"
        )),
        image: None,
        command: None,
        version: remedy.version,
    }
}

/// The change of the image field, as the beginning of a sentence.
fn change(set: &Set, value: &str) -> String {
    match &set.template {
        Some((kind, name)) => format!(
            "make a copy of {kind} {name}, which cannot be changed, with spec.template.spec.{} set to {value}; then name the copy in \
             spec.template.spec.infrastructureRef of the {}",
            set.image.field.as_deref().unwrap_or("image"),
            set.kind
        ),
        None => format!("set {} to {value}", field(set)),
    }
}

/// Only where the release has an image of its own for the platform may the field be unset.
fn node_pool(set: &Set) -> Option<Remedy> {
    let field = set.image.field.as_deref()?;
    if !set
        .image
        .platform
        .is_some_and(|platform| audit_row(platform).is_in_release)
    {
        return Some(Remedy::words(format!(
            "set {field} to an image that the policy allows"
        )));
    }
    let release = set.release.as_ref();
    let release = release.map_or_else(String::new, |release| format!(" {release}"));
    let path = field.replace('.', "/");
    Some(Remedy {
        command: is_named(set).then(|| {
            format!(
                "oc patch nodepools.{} {} -n {} --type json -p '[{{\"op\":\"remove\",\"path\":\"/{path}\"}}]'",
                HYPERSHIFT,
                set.name,
                set.namespace
            )
        }),
        ..Remedy::words(format!(
            "unset {field}: the NodePool then takes the image of its release{release}"
        ))
    })
}

/// Metal3 installs what `image.url` names, else, by `install_coreos`, what the Provisioning brings
/// (cluster-baremetal-operator; machine-api-provider-baremetal `BareMetalMachineProviderSpec`).
fn bare_metal(set: &Set, own: &Own) -> Remedy {
    let brings = match &own.version {
        Some(version) => format!("the release's own image, {version}"),
        None => "the release's own image".to_owned(),
    };
    let provisioning =
        "set spec.provisioningOSDownloadURL of Provisioning provisioning-configuration to \"\"";
    if set.image.is_of_release {
        return Remedy::words(format!(
            "{provisioning}: hosts are then installed from {brings}"
        ));
    }
    if set.kind == "BareMetalHost" {
        return Remedy::words(format!(
            "set spec.customDeploy.method to install_coreos and remove spec.image, then {provisioning}: the host is then installed from {brings}"
        ));
    }
    let value = json!({ "spec": { "template": { "spec": { "providerSpec": { "value": {
        "customDeploy": { "method": "install_coreos" }, "image": { "url": "", "checksum": "" } } } } } } });
    let path = set.path;
    Remedy {
        command: (set.group == MACHINE_API && set.kind == "MachineSet" && is_named(set)).then(
            || {
                format!(
                    "oc patch machinesets.{MACHINE_API} {} -n {} --type merge -p '{value}'",
                    set.name, set.namespace
                )
            },
        ),
        ..Remedy::words(format!(
            "set {path}customDeploy.method to install_coreos, {path}image.url and {path}image.checksum to \"\", then {provisioning}: hosts are then \
             installed from {brings}"
        ))
    }
}

/// What was uploaded is replaced by the standard image; what was bought is not.
fn gcp_marketplace(set: &Set) -> Option<Remedy> {
    let name = set.image.value.as_deref()?.strip_prefix(GCP_MARKETPLACE)?;
    // `redhat-coreos-ocp` of `redhat-coreos-ocp-413-x86-64-202305021736`.
    let name = name.rsplit('/').next()?;
    let product: Vec<&str> = name.split('-').take(3).collect();
    let product = Some(product.join("-")).filter(|product| is_plain(product));
    Some(Remedy::words(format!(
        "{}, because the standard image drops the subscription: gcloud compute images list --project redhat-marketplace-public \
         --no-standard-images --filter='name~^{}-' --sort-by=~creationTimestamp",
        change(
            set,
            "the newest image of the same product of Google Cloud's marketplace"
        ),
        product.as_deref().unwrap_or("redhat-coreos")
    )))
}

/// Only one of `id`, `arn` and `filters` may be there (openshift/api, `AWSResourceReference`).
fn chosen_ami(set: &Set, own: &Own) -> Remedy {
    let path = format!("/{}", format!("{}ami", set.path).replace('.', "/"));
    let command = own
        .image
        .as_ref()
        .filter(|_| set.group == MACHINE_API && set.kind.ends_with("Set") && is_named(set))
        .map(|image| {
            let patch = json!([{ "op": "replace", "path": path, "value": { "id": image } }]);
            patched(set, &patch)
        });
    Remedy {
        command,
        version: own.version.clone(),
        ..Remedy::words(format!(
            "set {}ami to nothing but id {}; without id nobody keeps it up to date",
            set.path,
            own.value()
        ))
    }
}

/// Marketplace images say nothing of what they support; a gallery image does.
fn security_type(set: &Set, own: &Own) -> Remedy {
    let site = &set.image.site;
    let security_type = site.security_type.as_deref().unwrap_or_default();
    let image = set.image.value.as_deref().unwrap_or_default();
    let words = if image.ends_with("/versions/latest") {
        format!(
            "upload {} as the newest version of the gallery image that {} names: the next machine takes that",
            own.words(),
            field(set)
        )
    } else {
        format!(
            "upload {} as a version of a gallery image whose definition supports {security_type}, and set {}image.resourceID to it",
            own.words(),
            set.path
        )
    };
    Remedy {
        version: own.version.clone(),
        ..Remedy::words(words)
    }
}

/// The cluster names no image of this product: another one drops the plan.
fn azure_plan(set: &Set) -> Option<Remedy> {
    let parts: Vec<&str> = set.image.value.as_deref()?.split(':').collect();
    let [publisher, offer, sku, _] = parts[..] else {
        return None;
    };
    let is_command = [publisher, offer, sku].into_iter().all(is_plain);
    if publisher.eq_ignore_ascii_case(FREE_PUBLISHER) || !is_command {
        return None;
    }
    let path = set.path;
    Some(Remedy::words(format!(
        "set {path}image.version to the newest one of the same product, because another product drops the plan: az vm image list --all --publisher \
         {publisher} --offer {offer} --sku {sku} --query '[].version'"
    )))
}

fn failure_domain(set: &Set, own: &Own) -> Remedy {
    let workspace = set.image.site.workspace.clone().unwrap_or_default();
    let place = match (&*workspace.server, &*workspace.datacenter) {
        ("", _) | (_, "") => "its vCenter".to_owned(),
        (server, datacenter) => format!("datacenter {datacenter} of vCenter {server}"),
    };
    Remedy {
        version: own.version.clone(),
        ..Remedy::words(format!(
            "import {} as a template into {place}, and {}. The cluster keeps it up to date once Infrastructure cluster has a failure domain with \
             this workspace",
            own.words(),
            change(set, "it")
        ))
    }
}

/// The image field, with its path.
fn field(set: &Set) -> String {
    let field = set.image.field.as_deref().unwrap_or("image");
    format!("{}{field}", set.path)
}

fn patched(set: &Set, patch: &Value) -> String {
    let kind = set.kind.to_ascii_lowercase();
    format!(
        "oc patch {kind}s.{MACHINE_API} {} -n {} --type json -p '{patch}'",
        set.name, set.namespace
    )
}

/// Whether a text of an object's can stand in a command.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.starts_with('-') && text.bytes().all(is_plain)
}

/// Whether the names can stand in a command.
fn is_named(set: &Set) -> bool {
    is_dns_name(&set.name, 253) && is_dns_name(&set.namespace, 63)
}
