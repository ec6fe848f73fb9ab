//! Remedies: changes by which the next node of a set is let in, by platform where putting the cluster's own
//! image in the place of a set's is not all (pure).

pub(crate) mod change;
pub(crate) mod choice;
pub(crate) mod effect;

use crate::audit::remedy::change::{Change, is_urn};
use crate::audit::remedy::choice::{Choice, Own, choice};
use crate::audit::results::set::SetKind;
use crate::audit::results::some_of;
use crate::audit::results::upkeep::Rule;
use crate::audit::set::{RELEASE_IMAGE, Set};
use crate::audit::upkeep::amis;
use crate::audit::verdict::horizon::way;
use crate::audit::verdict::image_judge::Judge;
use crate::platform::Platform;
use crate::version::{OcpMinor, Release};
use serde_json::json;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::host;
use skewguard_cluster::kinds::image::FREE_PUBLISHER;
use skewguard_cluster::kinds::platforms::audit_row;
use skewguard_cluster::kinds::stream::OwnImage;
use skewguard_cluster::kinds::target::parsed;

/// A change that helps.
#[derive(Debug, Default)]
pub(crate) struct Remedy {
    /// For a person; absent where nothing has to be changed.
    pub(crate) text: Option<String>,
    /// Wanted value of the image field, where one image fits.
    pub(crate) image: Option<String>,
    pub(crate) version: Option<String>,
    /// The change, where it is not that which sets the image field to `image`.
    pub(crate) change: Option<Change>,
    /// Step that has to come first, where the text says so.
    pub(crate) first: Option<&'static str>,
    /// The image is one of the cluster's release.
    pub(crate) is_own: bool,
    /// The release that the cluster has to be updated to first.
    pub(crate) after: Option<OcpMinor>,
    /// The release up to which the image passes.
    pub(crate) holds_to: Option<Release>,
    /// Another object than the set is changed, or the policy.
    pub(crate) is_elsewhere: bool,
}

impl Remedy {
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// Of what is changed somewhere else.
    pub(crate) fn elsewhere(text: impl Into<String>) -> Self {
        Self {
            is_elsewhere: true,
            ..Self::words(text)
        }
    }

    /// The same, and another change beside it.
    pub(crate) fn and(self, also: Option<&str>) -> Self {
        let texts: Vec<&str> = self.text.as_deref().into_iter().chain(also).collect();
        let text = (!texts.is_empty()).then(|| texts.join("; "));
        Self { text, ..self }
    }

    /// The same once the cluster is updated to the release of the image; no image is made for an older one.
    fn after(self, release: Option<OcpMinor>, holds_to: Option<Release>) -> Self {
        let is_image = self.version.is_some();
        let holds_to = holds_to.filter(|_| is_image);
        let this = Self { holds_to, ..self };
        this.not_before(release)
    }

    fn not_before(self, release: Option<OcpMinor>) -> Self {
        let Some(release) = release.filter(|_| self.version.is_some()) else {
            return self;
        };
        Self {
            text: self
                .text
                .map(|text| format!("after the update to {release}, {text}")),
            first: Some("the cluster has to be updated"),
            after: Some(release),
            ..self
        }
    }
}

/// The project of Google's marketplace that has the images which Red Hat sells.
const GCP_MARKETPLACE: &str = "projects/redhat-marketplace-public/";

/// First step where the image is a file.
const UPLOADED: &str = "the image has to be uploaded";

/// Sets the image field to the cluster's own image for this platform, else the newest that
/// was published for the release, where the policy lets it in. Where the cluster can keep the image
/// up to date itself, that comes first, because it lasts. Where the policy refuses the cluster's own
/// image, it is the policy that has to change.
pub(crate) fn remedy(set: &Set, judge: Judge<'_>, own: &[&OwnImage], objects: &Objects) -> Remedy {
    let served = set.served;
    let asked = parsed(judge.release);
    let until = judge.until.or(asked);
    let choose = |to: Option<Release>| {
        let way = to.map_or_else(Vec::new, |to| way(judge.policy, served, to));
        choice(set.kind, (judge, &way), own, objects.release.as_deref())
    };
    let (choice, holds_to) = match choose(until) {
        Choice::Policy(_) if until != asked => (choose(asked), asked),
        choice => (choice, until),
    };
    let images = match &choice {
        Choice::Policy(text) => return Remedy::elsewhere(text),
        Choice::Own(images) | Choice::Published(images, _) => images,
    };
    let after = choice.release().filter(|release| {
        let served = served.map(|served| served.minor);
        served.is_some_and(|served| served < *release)
    });
    let own = Own::of(images, &choice, set.image.region.as_deref());
    if let Some(fix) = fix(set, &own, objects) {
        return fix.after(after, holds_to);
    }
    let Some(field) = &set.image.field else {
        return Remedy::words("make the next node from an image that the policy allows");
    };
    if field == RELEASE_IMAGE {
        return Remedy::words(format!(
            "set {field} to a release whose boot image the policy allows"
        ));
    }
    let remedy = by_image(set, images, &choice, own).after(after, holds_to);
    ask_the_owner(set, remedy)
}

/// The image field is set to one of these images.
fn by_image(set: &Set, images: &[OwnImage], choice: &Choice, own: Own) -> Remedy {
    let (before, value): (Option<String>, String) = match (images, &own.image, &own.version) {
        ([], _, _) => (None, "an image that the policy allows".to_owned()),
        (_, Some(_), Some(_)) => (None, own.value()),
        ([first, ..], None, Some(version)) if first.image.is_none() => (
            Some(format!(
                "upload {version}, {}{}, and ",
                choice.whose(),
                choice.origin()
            )),
            "it".to_owned(),
        ),
        ([_], None, Some(version)) => (
            None,
            format!(
                "the image of {version}, {}, in its machines' region, which nothing that was read says",
                choice.whose()
            ),
        ),
        (images, _, _) => (None, choice.several(images.len())),
    };
    let change = match &set.template {
        None if set.kind == SetKind::Machine => format!(
            "make the Machine that takes the place of one of them from {value}; in a Machine that runs {} changes nothing",
            field(set)
        ),
        None if own.image.as_deref().is_some_and(is_urn) => {
            format!("set {}image to the marketplace's {value}", set.path)
        }
        _ => change(set, &value),
    };
    Remedy {
        text: Some(format!(
            "{}{}{change}",
            by_the_cluster(set),
            before.as_deref().unwrap_or_default()
        )),
        image: own.image,
        version: own.version,
        first: before.map(|_| UPLOADED),
        is_own: own.is_of_cluster,
        ..Remedy::default()
    }
}

/// The cluster's own way, as the beginning of a sentence. Where another tool writes the
/// set, the two would undo each other's changes.
fn by_the_cluster(set: &Set) -> &'static str {
    match set.managed {
        _ if set
            .upkeep
            .as_ref()
            .is_some_and(|upkeep| upkeep.rule == Rule::Degraded) =>
        {
            "mend what the Machine Config Operator says of itself, or "
        }
        Some(true) => {
            "the cluster keeps this image up to date, and has not: see the conditions of MachineConfiguration cluster; or "
        }
        Some(false) if set.could_be_kept => {
            "let the cluster keep the image up to date (managedBootImages of MachineConfiguration cluster), or "
        }
        _ => "",
    }
}

/// The fix that works, where putting the cluster's own image in the place of the set's image does
/// not, or is not all.
fn fix(set: &Set, own: &Own, objects: &Objects) -> Option<Remedy> {
    let is_template = set.template.is_some();
    match set.upkeep_rule() {
        Some(Rule::NodePoolImage) => return node_pool(set, own),
        Some(Rule::NodePoolRelease) => return None,
        Some(Rule::NodeClassRelease) => return Some(node_class(set)),
        Some(Rule::BareMetalImage) if !is_template => return Some(bare_metal(set, own, objects)),
        Some(Rule::VSphereFailureDomain) => return Some(failure_domain(set, own)),
        // Of these the platform decides.
        None
        | Some(
            Rule::Selected
            | Rule::Degraded
            | Rule::Behind
            | Rule::NotSelected
            | Rule::SelectionUnknown
            | Rule::ReleaseTooOld
            | Rule::Platform
            | Rule::AzureStackHub
            | Rule::ControlPlaneOnVSphere
            | Rule::ClusterAPI
            | Rule::Owned
            | Rule::Stream
            | Rule::Architecture
            | Rule::CapacityLabels
            | Rule::AMIWithoutID
            | Rule::AMIRegion
            | Rule::AMIList
            | Rule::AMIOwner
            | Rule::GCPProject
            | Rule::AzureSecurityType
            | Rule::AzureOffer
            | Rule::AzureWithoutMarketplace
            | Rule::InstallCoreOS
            | Rule::BareMetalImage
            | Rule::NodeClass
            | Rule::WithoutSet,
        ) => {}
    }
    match set.image.platform? {
        Platform::Gcp => gcp_marketplace(set),
        Platform::Aws => (set.image.site.chooser.is_some()).then(|| chosen_ami(set, own)),
        Platform::Azure if objects.is_azure_stack => Some(stack_hub(set)),
        Platform::Azure if set.image.site.security_type.is_some() => Some(security_type(set, own)),
        Platform::Azure if own.image.is_none() => azure_plan(set),
        Platform::Azure
        | Platform::IbmCloud
        | Platform::KubeVirt
        | Platform::Libvirt
        | Platform::Metal
        | Platform::Nutanix
        | Platform::OpenStack
        | Platform::Ovirt
        | Platform::PowerVs
        | Platform::VSphere => None,
    }
}

fn node_class(set: &Set) -> Remedy {
    Remedy::words(format!(
        "set spec.version of OpenshiftEC2NodeClass {} to a release whose boot image the policy allows",
        set.name
    ))
}

/// The remedy of a set whose AMI may be a marketplace's: nobody can tell by its ID. Then the
/// standard AMI is the wrong one, and no command is given.
fn ask_the_owner(set: &Set, remedy: Remedy) -> Remedy {
    let Some(ami) = set.image.value.as_deref() else {
        return remedy;
    };
    let is_standard = set.is_published || amis::is_listed(ami, false);
    if set.image.platform != Some(Platform::Aws) || set.kind == SetKind::NodePool || is_standard {
        return remedy;
    }
    let region = set.image.region.as_ref().filter(|region| is_plain(region));
    let region = region.map_or_else(String::new, |region| format!(" --region {region}"));
    let ami = if is_plain(ami) { ami } else { "AMI" };
    let otherwise = remedy.text.unwrap_or_default();
    Remedy {
        text: Some(format!(
            "ask whose AMI it is: `aws ec2 describe-images{region} --image-ids {ami} --query 'Images[].[OwnerId,Name]'`. If it is of AWS Marketplace \
             (679593333241), use the newest image of the same product (the product ID is the end of the image name): the standard AMI drops the subscription. If not, {otherwise}"
        )),
        version: remedy.version,
        first: Some("nobody can tell by an AMI's ID whose it is"),
        ..Remedy::default()
    }
}

/// The change of the image field, as the beginning of a sentence.
fn change(set: &Set, value: &str) -> String {
    match &set.template {
        Some((kind, name)) => format!(
            "make a copy of {kind} {name}, which cannot be changed, with spec.template.spec.{} set to {value}{}; then name the copy in \
             spec.template.spec.infrastructureRef of the {}",
            set.image.field.as_deref().unwrap_or("image"),
            // Ironic compares it: with that of another image no host is installed.
            match set.image.platform {
                Some(Platform::Metal) => ", and image.checksum to that of the image",
                _ => "",
            },
            set.kind
        ),
        None => format!("set {} to {value}", field(set)),
    }
}

/// Only where the release has an image of its own for the platform may the field be unset.
fn node_pool(set: &Set, own: &Own) -> Option<Remedy> {
    let field = set.image.field.as_deref()?;
    if !set
        .image
        .platform
        .is_some_and(|platform| audit_row(platform).is_in_release)
    {
        return Some(Remedy {
            version: own.version.clone(),
            ..Remedy::words(format!("set {field} to {}", own.value()))
        });
    }
    let release = set.release.as_ref();
    let release = release.map_or_else(String::new, |release| format!(" {release}"));
    Some(Remedy {
        change: Some(Change::remove(field)),
        ..Remedy::words(format!(
            "unset {field}: the NodePool then takes the image of its release{release}"
        ))
    })
}

/// The first release whose hosts can be installed with the release's own image.
const INSTALL_COREOS: OcpMinor = OcpMinor {
    major: 4,
    minor: 10,
};

/// Metal3 installs what `image.url` names, else, by `install_coreos`, what the Provisioning brings
/// (cluster-baremetal-operator; machine-api-provider-baremetal `BareMetalMachineProviderSpec`). Its
/// images come before those of the release, and `image.url` mostly is the cluster's own copy of one,
/// which goes with the field.
fn bare_metal(set: &Set, own: &Own, objects: &Objects) -> Remedy {
    let running = objects.history.running_minor();
    let is_host = set.kind == SetKind::BareMetalHost;
    let brings = match &own.version {
        Some(version) if own.is_of_cluster => format!("the release's own image, {version}"),
        _ => "the release's own image (its version is not known: the ConfigMap coreos-bootimages was not read)".to_owned(),
    };
    let provisioning = objects.provisioning.as_ref();
    let fields = provisioning.map(|provisioning| provisioning.image_fields().join(" and "));
    let clear = |fields: &str| format!("clear {fields} of Provisioning provisioning-configuration");
    if set.image.is_of_release {
        return Remedy::words(format!(
            "{}: hosts are then installed from {brings}",
            clear(&fields.unwrap_or_default())
        ));
    }
    if running.is_some_and(|release| release < INSTALL_COREOS) {
        let next = if is_host { "host" } else { "machine" };
        return Remedy::words(format!(
            "set {} of the next {next} to {}; from OpenShift {INSTALL_COREOS} on a host can be installed from the release's own image",
            field(set),
            own.value()
        ));
    }
    let (then, unless, first) = match fields.as_deref() {
        Some("") => (String::new(), "", None),
        Some(fields) => (
            format!(
                ", once no other set or host is installed from its images {}",
                clear(fields)
            ),
            "",
            Some(
                "the Provisioning object names images of its own, which hosts would be installed from",
            ),
        ),
        None => (
            String::new(),
            ", unless Provisioning provisioning-configuration, which was not read, names another",
            Some("the Provisioning object was not read, and may name images of its own"),
        ),
    };
    let brings = format!("{brings}{unless}");
    if is_host {
        return Remedy::words(hosts(set, &then, &brings));
    }
    let path = set.path;
    let value = json!({ "spec": { "template": { "spec": { "providerSpec": { "value": {
        "customDeploy": { "method": "install_coreos" }, "image": { "url": "", "checksum": "" } } } } } } });
    let is_known = set.kind == SetKind::MachineSet && running.is_some();
    Remedy {
        change: is_known.then_some(Change::Merge(value)),
        first,
        ..Remedy::words(format!(
            "set {path}customDeploy.method to install_coreos, {path}image.url and {path}image.checksum to \"\"{then}: hosts are then installed from \
             {brings}"
        ))
    }
}

/// A host with an image on its disk is left alone.
fn hosts(set: &Set, then: &str, brings: &str) -> String {
    let has_no_image = |state: &Option<String>| {
        let state = state.as_deref();
        state.is_some_and(|state| !host::is_installed(state))
    };
    let (open, installed): (Vec<_>, Vec<_>) =
        set.hosts.iter().partition(|(_, state)| has_no_image(state));
    let names = |hosts: Vec<&(String, Option<String>)>| {
        let names: Vec<&str> = hosts.iter().map(|(name, _)| name.as_str()).collect();
        some_of(&names)
    };
    let way = format!("{then}: it is then installed from {brings}");
    let next = if open.is_empty() {
        format!("give the next host spec.customDeploy.method install_coreos and no spec.image{way}")
    } else {
        let open = names(open);
        format!(
            "of {open} set spec.customDeploy.method to install_coreos and remove spec.image{way}"
        )
    };
    if installed.is_empty() {
        return next;
    }
    format!("change nothing on {}; {next}", names(installed))
}

/// An image that was uploaded is replaced by the standard one; one that was bought is not.
fn gcp_marketplace(set: &Set) -> Option<Remedy> {
    let name = set.image.value.as_deref()?.strip_prefix(GCP_MARKETPLACE)?;
    // `redhat-coreos-ocp` of `redhat-coreos-ocp-413-x86-64-202305021736`.
    let name = name.rsplit('/').next()?;
    let product: Vec<&str> = name.split('-').take(3).collect();
    let product = Some(product.join("-")).filter(|product| is_plain(product));
    Some(Remedy::words(format!(
        "{}, because the standard image drops the subscription: `gcloud compute images list --project redhat-marketplace-public \
         --no-standard-images --filter='name~^{}-' --sort-by=~creationTimestamp`",
        change(
            set,
            "the newest image of the same product of Google Cloud's marketplace"
        ),
        product.as_deref().unwrap_or("redhat-coreos")
    )))
}

/// Only one of `id`, `arn` and `filters` may be there (openshift/api, `AWSResourceReference`).
fn chosen_ami(set: &Set, own: &Own) -> Remedy {
    let replace = |image: &String| {
        let field = format!("{}ami", set.path);
        Change::replace(&field, &json!({ "id": image }))
    };
    Remedy {
        change: own
            .image
            .as_ref()
            .filter(|_| set.template.is_none())
            .map(replace),
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
        first: Some(UPLOADED),
        ..Remedy::words(words)
    }
}

/// Azure Stack Hub has no image of the marketplace, and a VHD of its own.
fn stack_hub(set: &Set) -> Remedy {
    Remedy {
        first: Some(UPLOADED),
        ..Remedy::words(format!(
            "upload the VHD for Azure Stack Hub (`azurestack` in `openshift-install coreos print-stream-json`), make an image of it there, and set {}image.resourceID to it",
            set.path
        ))
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
        "set {path}image.version to the newest one of the same product, because another product drops the plan: `az vm image list --all --publisher \
         {publisher} --offer {offer} --sku {sku} --query '[].version'`"
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
        first: Some(UPLOADED),
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

/// Tells whether a text of an object's can stand in a command.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.starts_with('-') && text.bytes().all(is_plain)
}
