//! The image that a spec names (pure), by [`super::platforms`].

use super::fields::{first_at, identity, shown, str_at};
use super::platforms::{AuditRow, URN, audit_row};
use super::site::Site;
use crate::platform::Platform;
use crate::text::KEPT_MAX;
use serde_json::Value;

/// Method by which bare metal is installed with the image of the cluster's release.
pub const INSTALL_COREOS: &str = "install_coreos";

/// The image that the next machine is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image {
    /// The platform's name; `None` where it is not one that is known.
    pub platform: Option<Platform>,
    /// The region, where images are kept by region.
    pub region: Option<String>,
    /// The field, within the spec.
    pub field: Option<String>,
    /// Value of that field.
    pub value: Option<String>,
    /// The pool whose config the machine asks for, by the name of its user data.
    pub pool: Option<String>,
    /// Which of a marketplace's images it is of, as [`super::stream::OwnImage::offer`] has it;
    /// `None` where the platform has one image for all.
    pub offer: Option<String>,
    /// Architecture of the machine, as the ConfigMap `coreos-bootimages` names it; no spec says it.
    pub architecture: Option<String>,
    /// The stream of the cluster's images that is the machine's; no spec says it.
    pub stream: Option<String>,
    /// Place where its name holds, and what else decides who keeps it up to date.
    pub site: Site,
    /// The architecture of its machines, by the kind of instance.
    pub instance_architecture: Option<&'static str>,
    /// The level of its machines' CPU, by the kind of instance.
    pub instance_cpu: Option<&'static str>,
    /// Secure Boot, where the spec says it.
    pub secure_boot: Option<bool>,
    /// The cluster's release brings the image (bare metal, `install_coreos`).
    pub is_of_release: bool,
    /// Reason why it does not tell a version.
    pub why_not: Option<WhyNot>,
}

/// Reason why an image, or what stands for one, does not tell a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyNot {
    /// The platform is not one whose image field is known.
    UnknownPlatform,
    /// A filter chooses the AMI.
    Filter,
    /// An ARN names the AMI.
    Arn,
    /// Its field is no text, or names it by half.
    NoText,
    FieldAbsent,
    /// A field of the Cluster API names it that is not read.
    FieldNotUnderstood,
    /// Its name is given by somebody else than Red Hat or the cluster's owner.
    Foreign,
    /// A family chooses the image.
    Family,
    /// The template is labelled for Windows, and the image is one of CoreOS.
    LabelledWindows,
    /// The template names none.
    NoImage,
    TemplateUnread,
    /// The Cluster API's set, which is in charge, was not read.
    MirrorUnread,
    DomainUnread,
    DomainWithoutTemplate,
    ProvisioningUnread,
    ProvisioningHasOwn,
    ReleaseHasNone,
    /// A release does not say which boot image is in it.
    Release,
    ReleaseImage,
    /// A selector of a node class chooses the AMI.
    Selector,
    NodeClassUnread,
    MakerNotUnderstood,
    /// No Machine stands for the nodes, and the newest has no label.
    Unlabelled,
    /// The Machine Config Operator puts images into the template, under its name.
    Swapped,
    /// The same, if what was not read says so.
    MayBeSwapped,
}

impl WhyNot {
    /// Tells whether the image's name says nothing of it.
    pub fn is_of_name(self) -> bool {
        matches!(self, Self::Foreign | Self::Family | Self::NoText)
    }

    /// Tells whether what would say it was not read.
    pub fn is_unread(self) -> bool {
        matches!(
            self,
            Self::TemplateUnread
                | Self::MirrorUnread
                | Self::DomainUnread
                | Self::ProvisioningUnread
                | Self::NodeClassUnread
                | Self::MayBeSwapped
        )
    }
}

impl Image {
    /// Equal for machines that are made from the same image, if they are of the same [`Site`];
    /// `None` where that is unknown, because the name is not known, or only its beginning is kept.
    pub fn key(&self) -> Option<(Platform, String)> {
        let value = self.value.as_ref().filter(|value| value.len() < KEPT_MAX)?;
        Some((self.platform?, value.clone()))
    }

    /// Tells whether no other image can take its place under its name, as that of an AMI or in Azure's marketplace.
    pub fn keeps_name(&self) -> bool {
        let is_urn = |value: &String| value.split(':').count() == URN.len();
        match self.platform {
            Some(Platform::Azure) => self.value.as_ref().is_some_and(is_urn),
            platform => platform.is_some_and(|platform| audit_row(platform).keeps_name),
        }
    }

    /// Tells whether the machine may be of this architecture: so where its own is unknown.
    pub fn is_of_architecture(&self, architecture: &str) -> bool {
        let own = self.architecture.as_deref();
        own.is_none_or(|own| own == architecture)
    }
}

/// The platform that has provider specs or infrastructure machines of this kind.
pub fn platform_of(kind: &str) -> Option<Platform> {
    let is_of = |platform: &Platform| {
        let mut begins = platform.row().kinds.iter();
        begins.any(|begin| kind.starts_with(begin))
    };
    Platform::ALL.into_iter().find(is_of)
}

/// The image that a spec of this kind names: a `providerSpec.value` of the Machine API, or the spec
/// of an infrastructure machine of the Cluster API.
pub fn read_spec(kind: &str, spec: &Value) -> Image {
    let Some(platform) = platform_of(kind) else {
        return Image {
            why_not: Some(WhyNot::UnknownPlatform),
            ..Image::default()
        };
    };
    let row = audit_row(platform);
    let (field, written) = row.read(kind, spec);
    let not_understood = AuditRow::not_understood(spec).filter(|_| written.is_none());
    let value = written.as_deref().map(shown);
    let offer = (platform == Platform::Azure).then(|| azure_offer(value.as_deref()));
    let mut site = Site::of(platform, value.as_deref(), spec);
    let checksum = str_at(spec, "/image/checksum");
    let written = written.as_deref();
    site.whole = written.and_then(|written| identity(written, checksum));
    Image {
        platform: Some(platform),
        region: first_at(spec, &["/placement/region", "/region", "/location"]),
        field: not_understood.clone().or(Some(field)),
        secure_boot: secure_boot(platform, spec),
        instance_architecture: instance_architecture(platform, spec),
        instance_cpu: instance_cpu(platform, spec),
        offer: offer.flatten(),
        is_of_release: value.is_none()
            && str_at(spec, "/customDeploy/method") == Some(INSTALL_COREOS),
        why_not: match (&value, site.chooser) {
            (Some(image), _) => nameless(platform, image, spec),
            (None, Some("ami.filters")) => Some(WhyNot::Filter),
            (None, Some(_)) => Some(WhyNot::Arn),
            (None, None) if row.is_unfit(kind, spec) => Some(WhyNot::NoText),
            (None, None) if not_understood.is_some() => Some(WhyNot::FieldNotUnderstood),
            (None, None) => Some(WhyNot::FieldAbsent),
        },
        site,
        value,
        pool: user_data(spec).and_then(|secret| pool(&secret)),
        architecture: None,
        stream: None,
    }
}

/// Projects of GCP whose images are published.
const PUBLISHERS: [&str; 3] = [
    "rhcos-cloud",
    "redhat-marketplace-public",
    "fedora-coreos-cloud",
];

/// Publishers of the images of CoreOS in Azure's marketplace.
const AZURE_PUBLISHERS: [&str; 3] = [FREE_PUBLISHER, "redhat", "redhat-limited"];

/// Reason why the name of an image says nothing of it: whoever publishes it calls it as they like, or a family of GCP
/// chooses it. Red Hat's projects and publishers say what they name, and so does the machine's own project.
pub(super) fn nameless(platform: Platform, image: &str, spec: &Value) -> Option<WhyNot> {
    let is_foreign = match platform {
        Platform::Gcp if image.contains("/family/") => return Some(WhyNot::Family),
        Platform::Gcp => {
            let project = image.split_once("projects/")?.1.split('/').next()?;
            let mut own = ["/projectID", "/project"].into_iter();
            !PUBLISHERS.contains(&project) && own.all(|path| str_at(spec, path) != Some(project))
        }
        Platform::Azure => {
            let parts: Vec<String> = image.split(':').map(str::to_ascii_lowercase).collect();
            if parts.len() == 4 && parts.iter().any(String::is_empty) {
                return Some(WhyNot::NoText);
            }
            let publisher = parts.first()?;
            parts.len() == 4 && !AZURE_PUBLISHERS.contains(&&**publisher)
        }
        _ => false,
    };
    is_foreign.then_some(WhyNot::Foreign)
}

/// Secure Boot, as a spec asks for it: openshift/api `GCPShieldedInstanceConfig`, `UEFISettings` of Azure and
/// Nutanix's `bootType`; the Azure provider of the Cluster API. What a spec leaves out is Legacy on Nutanix; on GCP and
/// Azure it is off by a default that the API calls subject to change, and so unknown.
fn secure_boot(platform: Platform, spec: &Value) -> Option<bool> {
    let says = match platform {
        Platform::Gcp => str_at(spec, "/shieldedInstanceConfig/secureBoot"),
        Platform::Azure => ["trustedLaunch", "confidentialVM"].iter().find_map(|kind| {
            str_at(
                spec,
                &format!("/securityProfile/settings/{kind}/uefiSettings/secureBoot"),
            )
        }),
        Platform::Nutanix => match spec.get("bootType") {
            None | Some(Value::Null) => Some("Legacy"),
            Some(kind) => kind.as_str(),
        },
        _ => None,
    };
    let enabled = "/securityProfile/uefiSettings/secureBootEnabled";
    match says {
        Some("Enabled" | "SecureBoot") => Some(true),
        Some("Disabled" | "UEFI" | "Legacy" | "uefi" | "legacy" | "") => Some(false),
        _ => spec
            .pointer(enabled)
            .and_then(Value::as_bool)
            .filter(|_| platform == Platform::Azure),
    }
}

/// The architecture of an instance type that is known to have one of its own: `m6g.xlarge`, `a1.large`
/// (AWS), `Standard_D4ps_v5` (Azure), `t2a-standard-4`, `c4a-standard-4` (GCP). Of others nothing is said.
fn instance_architecture(platform: Platform, spec: &Value) -> Option<&'static str> {
    let at = |path| str_at(spec, path).unwrap_or_default();
    let family = |name: &'static str, ends| at(name).split(ends).next().unwrap_or_default();
    let is_arm = match platform {
        Platform::Aws => is_graviton(family("/instanceType", '.')),
        Platform::Azure => {
            let mut parts = at("/vmSize").split('_').skip(1);
            let size = parts.next().unwrap_or_default();
            size.trim_start_matches(|c: char| c.is_ascii_uppercase())
                .contains('p')
        }
        Platform::Gcp => ["/machineType", "/instanceType"]
            .into_iter()
            .any(|path| matches!(family(path, '-'), "t2a" | "c4a" | "n4a" | "a4x")),
        _ => false,
    };
    is_arm.then_some("aarch64")
}

/// The level of an instance type's CPU. AWS: m3, c3, r3 and i2 are of Ivy Bridge, without AVX2 (its price list; its
/// instance types as osbuild-composer #4496 read them). Of other types and platforms nothing is certain: on vSphere
/// the EVC mode decides.
fn instance_cpu(platform: Platform, spec: &Value) -> Option<&'static str> {
    let size = str_at(spec, "/instanceType").filter(|_| platform == Platform::Aws)?;
    matches!(size.split('.').next(), Some("m3" | "c3" | "r3" | "i2")).then_some("x86-64-v2")
}

/// `m6g`, `c7gn`, `im4gn`, `a1`: a `g` behind the generation.
fn is_graviton(family: &str) -> bool {
    let kind = family.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let features = kind.trim_start_matches(|c: char| c.is_ascii_digit());
    family == "a1" || (kind != features && features.starts_with('g'))
}

/// The architecture that the last part of an image's name says: `rhcos-9-8-…-gcp-aarch64`, `412-arm`.
pub fn named_architecture(image: &str) -> Option<&'static str> {
    let name = image.rsplit('/').next().unwrap_or_default();
    let parts = || name.split(|c: char| !c.is_ascii_alphanumeric());
    [
        ("aarch64", ["aarch64", "arm64", "arm"]),
        ("x86_64", ["x86", "amd64", "x64"]),
        ("s390x", ["s390x"; 3]),
        ("ppc64le", ["ppc64le"; 3]),
    ]
    .into_iter()
    .find_map(|(architecture, names)| {
        parts()
            .any(|part| names.contains(&part))
            .then_some(architecture)
    })
}

/// The Secret with the user data that a spec of the Machine API names.
pub fn user_data(spec: &Value) -> Option<String> {
    first_at(spec, &["/userDataSecret/name", "/userData/name"])
}

/// Publisher of the images that nobody has to buy.
pub const FREE_PUBLISHER: &str = "azureopenshift";

/// Plan and generation of an image on Azure, such as `no-purchase-plan/hyperVGen2`: what it may be
/// replaced by. What was uploaded is replaced by the images without a plan
/// (machine-config-operator, `reconcileAzureProviderSpec` of `pkg/controller/bootimage`).
fn azure_offer(image: Option<&str>) -> Option<String> {
    let image = image?.to_ascii_lowercase();
    let parts: Vec<&str> = image.split(':').collect();
    let [publisher, offer, sku, _] = parts[..] else {
        let generation = 1 + u8::from(image.contains("gen2"));
        return Some(format!("no-purchase-plan/hyperVGen{generation}"));
    };
    if parts.contains(&"") {
        return None;
    }
    let plan = match (publisher, offer) {
        (FREE_PUBLISHER, _) => "no-purchase-plan".to_owned(),
        ("redhat", offer) => offer
            .strip_prefix("rh-")?
            .strip_suffix("-worker")?
            .to_owned(),
        ("redhat-limited", offer) => {
            format!(
                "{}-emea",
                offer.strip_prefix("rh-")?.strip_suffix("-worker")?
            )
        }
        _ => return None,
    };
    let is_second = match plan.as_str() {
        // `aro_420`, `420-v2`, `420-arm`, `aro_5-0_x64_gen2`.
        "no-purchase-plan" => ["v2", "arm", "gen2"].iter().any(|part| sku.contains(part)),
        _ => !sku.contains("gen1"),
    };
    Some(format!("{plan}/hyperVGen{}", 1 + u8::from(is_second)))
}

/// `worker` of `worker-user-data` and `worker-user-data-managed`: the installer names the user data
/// after the pool that it asks for.
pub fn pool(secret: &str) -> Option<String> {
    let (pool, _) = secret.split_once("-user-data")?;
    (!pool.is_empty()).then(|| pool.to_owned())
}
