//! The image field of each platform, and the version in the name of an image (pure).
//!
//! Field names: openshift/api `machine/v1beta1` (AWS, Azure, GCP, vSphere), `machine/v1` (Nutanix, PowerVS), `machine/v1alpha1` (OpenStack), the
//! providers of bare metal, IBM Cloud, libvirt and oVirt, and the templates of the Cluster API's providers.

use super::kinds::{list_at, str_at, text_at};
use crate::version::ImageVersion;
use serde_json::Value;

/// A platform, by the names that others have for it.
#[derive(Debug)]
pub(super) struct Platform {
    /// Ours: Ignition's, where it has one.
    pub(super) id: &'static str,
    /// What kinds of provider specs and infrastructure templates begin with.
    kinds: &'static [&'static str],
    /// In CoreOS stream metadata.
    pub(super) stream: &'static str,
}

const fn platform(id: &'static str, kinds: &'static [&'static str], stream: &'static str) -> Platform {
    Platform { id, kinds, stream }
}

pub(super) const PLATFORMS: [Platform; 11] = [
    platform("aws", &["AWS"], "aws"),
    platform("azure", &["Azure"], "azure"),
    platform("gcp", &["GCP"], "gcp"),
    platform("vsphere", &["VSphere"], "vmware"),
    platform("openstack", &["Openstack", "OpenStack"], "openstack"),
    platform("nutanix", &["Nutanix"], "nutanix"),
    platform("powervs", &["PowerVS", "IBMPowerVS"], "powervs"),
    platform("ibmcloud", &["IBMCloud", "IBMVPC"], "ibmcloud"),
    platform("metal", &["BareMetal", "Metal3"], "metal"),
    platform("libvirt", &["Libvirt"], "qemu"),
    platform("ovirt", &["Ovirt"], "openstack"),
];

/// The image that the next machine is made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Image {
    /// The platform's name; `None` where it is not one that is known.
    pub(super) platform: Option<&'static str>,
    /// The region, where images are kept by region.
    pub(super) region: Option<String>,
    /// The field, within the spec.
    pub(super) field: Option<&'static str>,
    /// What it says.
    pub(super) value: Option<String>,
    /// The pool whose config the machine asks for, by the name of its user data.
    pub(super) pool: Option<String>,
    /// Why it does not tell a version.
    pub(super) why_not: Option<&'static str>,
}

impl Image {
    /// Equal for machines that are made from the same image; `None` where that is unknown.
    pub(super) fn key(&self) -> Option<(&'static str, String)> {
        Some((self.platform?, self.value.clone()?))
    }
}

/// The image that a spec of this kind names: a `providerSpec.value` of the Machine API, or the spec of an infrastructure machine of the Cluster API.
pub(super) fn of_spec(kind: &str, spec: &Value) -> Image {
    let Some(platform) = PLATFORMS.iter().find(|platform| platform.kinds.iter().any(|begin| kind.starts_with(begin))) else {
        return Image { why_not: Some("the platform is not one whose image field is known"), ..Image::default() };
    };
    let (field, value) = field(platform.id, spec);
    let first = |paths: &[&str]| paths.iter().find_map(|path| text_at(spec, path));
    Image {
        platform: Some(platform.id),
        region: first(&["/placement/region", "/region", "/location"]),
        field: Some(field),
        why_not: value.is_none().then(|| why_not(spec)),
        value,
        pool: first(&["/userDataSecret/name", "/userData/name"]).and_then(|secret| pool(&secret)),
    }
}

/// The field, and what it says.
fn field(platform: &str, spec: &Value) -> (&'static str, Option<String>) {
    // The first that is given counts. If none is, the last one is named.
    let fields: &[&'static str] = match platform {
        "aws" => &["ami.id"],
        "azure" => &["image.resourceID", "image.id", "image"],
        "gcp" if spec.pointer("/image").is_none() => &["disks[].image"],
        "vsphere" => &["template"],
        "ovirt" => &["template_name"],
        "libvirt" => &["volume.baseVolumeID"],
        _ => &["image.url", "image.name", "image.uuid", "image.id", "image.filter.name", "image.imageRef.name", "image"],
    };
    let says = |field: &&'static str| match (platform, *field) {
        ("azure", "image") => {
            let urn = |path| ["publisher", "offer", "sku", "version"].map(|part| text_at(spec, &format!("{path}/{part}")));
            let whole = |path| Some(urn(path).into_iter().collect::<Option<Vec<_>>>()?.join(":"));
            let marketplace = || Some(("image.marketplace", whole("/image/marketplace")?));
            whole("/image").map(|urn| ("image", urn)).or_else(marketplace)
        }
        ("gcp", "disks[].image") => {
            let boot = list_at(spec, "/disks").iter().find(|disk| disk.pointer("/boot") == Some(&Value::Bool(true)))?;
            Some((*field, text_at(boot, "/image")?))
        }
        _ => Some((*field, text_at(spec, &format!("/{}", field.replace('.', "/")))?)),
    };
    match fields.iter().find_map(says) {
        Some((field, value)) => (field, Some(value)),
        None => (fields.last().unwrap_or(&"image"), None),
    }
}

fn why_not(spec: &Value) -> &'static str {
    if str_at(spec, "/customDeploy/method") == Some("install_coreos") {
        "install_coreos: the machine-os-images of the cluster's release bring the image"
    } else {
        "the template does not name its image"
    }
}

/// `worker` of `worker-user-data` and `worker-user-data-managed`: the installer names the user data after the pool that it asks for.
pub(super) fn pool(secret: &str) -> Option<String> {
    let (pool, _) = secret.split_once("-user-data")?;
    (!pool.is_empty()).then(|| pool.to_owned())
}

/// The one version that the name of an image has in it: `rhcos-416.94.202406251923-0-vmware.x86_64.ova`, with dashes for its dots as on GCP, or
/// without time and build as in an Azure URN. `None` where there is none, or more than one.
pub(super) fn version_in(image: &Image) -> Option<ImageVersion> {
    let name = image.value.as_deref()?;
    // Where each run of letters and digits begins and ends.
    let mut words: Vec<(usize, usize)> = Vec::new();
    for (at, c) in name.char_indices() {
        match words.last_mut() {
            _ if !c.is_ascii_alphanumeric() => {}
            Some((_, end)) if *end == at => *end = at + 1,
            _ => words.push((at, at + 1)),
        }
    }
    let mut found: Vec<ImageVersion> = Vec::new();
    for window in words.windows(4) {
        let [(start, _), _, _, (_, end)] = window else { continue };
        let parts: Vec<&str> = window.iter().filter_map(|(start, end)| name.get(*start..*end)).collect();
        let [major, minor, stamp, build] = parts.as_slice() else { continue };
        let as_written = name.get(*start..*end).unwrap_or_default();
        let forms = [as_written.to_owned(), format!("{major}.{minor}.{stamp}-{build}"), format!("{major}.{minor}.{stamp}.{build}")];
        found.extend(forms.iter().map(|form| ImageVersion::parse(form)).find(ImageVersion::is_known));
    }
    if found.is_empty() && image.platform == Some("azure") {
        let last = name.rsplit([':', '/']).next().unwrap_or_default();
        found.extend(ImageVersion::of_marketplace(last));
    }
    found.dedup();
    match found.as_slice() {
        [version] => Some(version.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(platform: &'static str, name: &str) -> Option<String> {
        let image = Image { platform: Some(platform), value: Some(name.to_owned()), ..Image::default() };
        version_in(&image).map(|version| version.text.clone())
    }

    #[test]
    fn versions_in_the_names_of_images() {
        for (platform, name, want) in [
            ("gcp", "projects/rhcos-cloud/global/images/rhcos-416-94-202406251923-0-gcp-x86-64", Some("416.94.202406251923-0")),
            ("gcp", "projects/rhcos-cloud/global/images/rhcos-9-6-20250523-0-gcp-x86-64", Some("9.6.20250523-0")),
            ("gcp", "projects/fedora-coreos-cloud/global/images/fedora-coreos-39-20231101-3-0-gcp-x86-64", Some("39.20231101.3.0")),
            ("vsphere", "rhcos-418.94.202501221327-0-vmware.x86_64.ova", Some("418.94.202501221327-0")),
            ("openstack", "rhcos-42.80.20191002.0", Some("42.80.20191002.0")),
            ("metal", "https://mirror.example.com/10.0.0.1/rhcos-412.86.202301311551-0-live.x86_64.iso", Some("412.86.202301311551-0")),
            ("azure", "azureopenshift:aro4:418-v2:418.94.20250122", Some("418.94.20250122")),
            ("azure", "/subscriptions/a/galleries/g/images/i/versions/410.84.20220112", Some("410.84.20220112")),
            ("azure", "redhat:rh-ocp-worker:rh-ocp-worker:413.92.2023101700", Some("413.92.2023101700")),
            // Says nothing.
            ("aws", "ami-0a1b2c3d4e5f60718", None),
            ("vsphere", "c1-x7k2p-rhcos-generated-region-generated-zone", None),
            ("openstack", "rhcos-4.12", None),
            ("metal", "https://mirror.example.com/rhcos-4.12.3-x86_64-live.x86_64.iso", None),
            ("azure", "azureopenshift:aro4:aro_419:419.6.20250523", None),
            // Says two things.
            ("vsphere", "412.86.202301311551-0-not-418.94.202501221327-0", None),
        ] {
            assert_eq!(version(platform, name).as_deref(), want, "{name}");
        }
        let decoded = ImageVersion::of_marketplace("410.84.20220112").unwrap();
        assert_eq!((decoded.ocp.unwrap().to_string(), decoded.build_number), ("4.10".to_owned(), None));
    }
}
