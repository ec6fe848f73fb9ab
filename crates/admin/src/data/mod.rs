//! The boot images that openshift/installer has published since OpenShift 4.1, and with them every
//! AMI: no AMI says its version (pure).
//!
//! `refresh` makes `published.txt.xz` anew from a clone of openshift/installer, and describes it.

use crate::version::{ImageVersion, OcpMinor, Scheme};
use lzma_rust2::XzReader;
use std::collections::{BTreeSet, HashMap};
use std::io::Read as _;
use std::sync::LazyLock;

const PACKED: &[u8] = include_bytes!("published.txt.xz");

/// Far above what it unpacks to.
const MAX_TEXT: u64 = 16 << 20;

/// The most memory for unpacking, in KiB.
const MAX_MEMORY: u32 = 16 << 10;

/// Images of clouds, and the versions that there are files of.
#[derive(Debug)]
pub(crate) struct Published {
    /// The day of the newest change that was read, `YYYY-MM-DD`. Of some later versions nothing but their ISOs
    /// is known.
    pub(crate) until: &'static str,
    pub(crate) images: Vec<PublishedImage>,
    by_name: HashMap<&'static str, usize>,
}

/// An image, as a cloud names it; or the file of a version that has to be uploaded first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PublishedImage {
    pub(crate) version: &'static str,
    /// Its name in the stream metadata, such as `x86_64`.
    pub(crate) architecture: &'static str,
    /// Its name in the stream metadata.
    pub(crate) platform: &'static str,
    /// The region; the project on GCP, plan and generation in Azure's marketplace.
    pub(crate) place: Option<&'static str>,
    /// AMI, Alibaba Cloud's id, digest, name on GCP, URN; absent where there is a file alone.
    pub(crate) name: Option<&'static str>,
}

/// Unpacked when it is first asked for.
pub(crate) static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let mut text = String::new();
        let read = XzReader::new_mem_limit(PACKED, false, MAX_MEMORY)
            .take(MAX_TEXT)
            .read_to_string(&mut text);
        text.shrink_to_fit();
        // It is packed into the program, and a test unpacks it.
        read.map_or_else(|_| String::new(), |_| text)
    });
    parse(&TEXT)
});

/// The versions of all images that were published.
pub(crate) fn all_versions() -> &'static [ImageVersion] {
    static ALL: LazyLock<Vec<ImageVersion>> = LazyLock::new(|| {
        let all: BTreeSet<&str> = PUBLISHED.images.iter().map(|image| image.version).collect();
        let versions = all.into_iter().map(ImageVersion::parse);
        versions.filter(ImageVersion::is_known).collect()
    });
    &ALL
}

fn parse(text: &'static str) -> Published {
    let mut lines = text.lines();
    let until = lines.next().and_then(|line| line.strip_prefix("until "));
    let mut images = Vec::new();
    let mut head = ["", "", ""];
    for line in lines {
        let words = line.split(' ');
        let Some(places) = line.strip_prefix(' ') else {
            head = take3(words);
            continue;
        };
        let [version, architecture, platform] = head;
        let image = PublishedImage {
            version,
            architecture,
            platform,
            place: None,
            name: None,
        };
        if platform == "files" {
            images.extend(
                places
                    .split(' ')
                    .map(|platform| PublishedImage { platform, ..image }),
            );
        } else if let Some((place, name)) = places.split_once(' ') {
            images.push(PublishedImage {
                place: (place != "-").then_some(place),
                name: Some(name),
                ..image
            });
        }
    }
    images.shrink_to_fit();
    let names = images.iter().enumerate();
    let by_name = names.filter_map(|(n, image)| Some((image.name?, n)));
    Published {
        until: until.unwrap_or_default(),
        by_name: by_name.collect(),
        images,
    }
}

fn take3(mut words: std::str::Split<'static, char>) -> [&'static str; 3] {
    std::array::from_fn(|_| words.next().unwrap_or_default())
}

impl Published {
    /// The image that a field names: by its id, its ARN, the URL of the API, or its digest.
    pub(crate) fn find(&self, value: &str) -> Option<&PublishedImage> {
        // What ids, digests and names have before them: an ARN, a registry, a project.
        let last = value.rsplit(['/', '@']).next()?;
        let found = |name: &str| self.images.get(*self.by_name.get(name)?);
        let image = found(last).or_else(|| found(&last.to_ascii_lowercase()))?;
        let is_there = image.platform != "gcp"
            || image
                .place
                .is_some_and(|project| value == last || is_in_project(value, project));
        is_there.then_some(image)
    }

    /// Number of AMIs.
    pub(crate) fn amis(&self) -> usize {
        self.by_name.keys().filter(|name| is_ami(name)).count()
    }

    /// Place and time that they were read from, in words.
    pub(crate) fn source(&self) -> String {
        format!("published images, openshift/installer until {}", self.until)
    }
}

/// Tells whether an image of this path on GCP is of this project: a copy may have its name.
fn is_in_project(path: &str, project: &str) -> bool {
    let mut parts = path.rsplit('/').skip(3);
    parts.next() == Some(project)
}

impl PublishedImage {
    /// Architecture and region, in words.
    pub(crate) fn place(&self) -> String {
        let place = self.place.map(|place| format!(" {place}"));
        format!("{}{}", self.architecture, place.unwrap_or_default())
    }
}

/// Tells whether an image was published for a release, of a stream where one is named: images before
/// 4.19 name their release, later ones that of RHEL.
pub(crate) fn is_of_release(
    version: &ImageVersion,
    release: OcpMinor,
    stream: Option<&str>,
) -> bool {
    let rhel = match (version.ocp, version.rhel) {
        (Some(ocp), _) => return ocp == release,
        (None, Some(rhel)) if version.scheme == Scheme::RhelVersioned => (rhel.major, rhel.minor),
        _ => return false,
    };
    let is_stream = |name| stream.is_none_or(|stream| stream == name);
    match ((release.major, release.minor), rhel) {
        ((4, 19..=21), rhel) => rhel == (9, Some(6)),
        ((4, 22 | 23) | (5, 0), (9, Some(8))) => is_stream("rhel-9"),
        ((4, 22 | 23) | (5, 0), (10, Some(2))) => is_stream("rhel-10"),
        _ => false,
    }
}

/// Tells whether it has the form of an AMI.
pub(crate) fn is_ami(name: &str) -> bool {
    name.strip_prefix("ami-")
        .is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_unpacks() {
        assert_eq!(PUBLISHED.until.len(), "2026-07-16".len());
        assert!(PUBLISHED.amis() > 9_000, "{}", PUBLISHED.amis());
        assert!(PUBLISHED.images.len() > 15_000);
        assert!(PACKED.len() < 256 << 10, "{}", PACKED.len());
    }

    #[test]
    fn every_version_decodes_and_names_say_the_same() {
        for image in &PUBLISHED.images {
            let version = ImageVersion::parse(image.version);
            let name = match (image.platform, image.name) {
                ("gcp" | "azure", Some(name)) => name,
                _ => {
                    assert!(version.is_known(), "{image:?}");
                    continue;
                }
            };
            let Some(of_name) = ImageVersion::from_image_name(name) else {
                // A developer's, which 4.12 named for a week.
                assert_eq!(name, "tzivkovi-rhcos-arm-image");
                continue;
            };
            if version.is_known() {
                let says = |version: &ImageVersion| {
                    (version.rhel, version.ocp, version.build_date.clone())
                };
                assert_eq!(says(&of_name), says(&version), "{image:?}");
            } else {
                // Azure's marketplace leaves the time of day and the build number out.
                assert!(name.ends_with(&of_name.text), "{image:?}");
                assert!(of_name.ocp.is_some() || of_name.rhel.is_some(), "{image:?}");
            }
        }
    }

    #[test]
    fn an_image_is_found_by_whatever_a_field_says() {
        for (value, want) in [
            (
                "ami-01d48aa6b50f9d0df",
                Some("9.8.20260715-1 x86_64 us-west-2"),
            ),
            (
                "arn:aws:ec2:us-west-2::image/ami-01d48aa6b50f9d0df",
                Some("9.8.20260715-1 x86_64 us-west-2"),
            ),
            (
                "ami-0c21b73794d12b78e",
                Some("10.0.20250628-0 aarch64 us-gov-west-1"),
            ),
            (
                "m-rj92713qalrbf5gj10k5",
                Some("418.94.202410090804-0 x86_64 us-west-1"),
            ),
            (
                "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:25d662177778948ec2df9dc281a7358a11ac340f9a7866e58097b6a960e18699",
                Some("10.0.20250628-0 x86_64"),
            ),
            (
                "registry.example.com:5000/mirror/art@sha256:25d662177778948ec2df9dc281a7358a11ac340f9a7866e58097b6a960e18699",
                Some("10.0.20250628-0 x86_64"),
            ),
            (
                "projects/rhcos-cloud/global/images/rhcos-9-8-20260715-1-gcp-x86-64",
                Some("9.8.20260715-1 x86_64 rhcos-cloud"),
            ),
            (
                "https://www.googleapis.com/compute/v1/projects/rhcos-cloud/global/images/rhcos-9-8-20260715-1-gcp-x86-64",
                Some("9.8.20260715-1 x86_64 rhcos-cloud"),
            ),
            // A copy of somebody's.
            (
                "projects/mine/global/images/rhcos-9-8-20260715-1-gcp-x86-64",
                None,
            ),
            ("ami-01d48aa6b50f9d0d", None),
            ("ami-01d48aa6b50f9d0df ", None),
            ("xami-01d48aa6b50f9d0df", None),
            ("", None),
            ("/", None),
            ("sha256:", None),
        ] {
            let found = PUBLISHED.find(value);
            let said = found.map(|image| format!("{} {}", image.version, image.place()));
            assert_eq!(said.as_deref(), want, "{value}");
        }
    }

    #[test]
    fn what_is_no_line_of_it_is_passed_over() {
        let published = parse(
            "until 2026-01-01\n9.6.20250523-0 x86_64 aws\n us-east-1 ami-1\n alone\n9.6\n\n us-east-2 ami-2",
        );
        assert_eq!(published.images.len(), 2);
        assert_eq!(published.find("ami-1").unwrap().version, "9.6.20250523-0");
        assert_eq!(parse("").images, []);
    }
}
