//! The version of an image by the lists that have it: the cluster's own images, those that were published, and
//! files that a person named; else by its name (pure).

use super::image_versions::{Lookup, one_of};
use super::known_version::KnownVersion;
use super::published::{self, by_name, by_published};
use crate::audit::results::set::KnownBy;
use crate::platform::Platform;
use crate::version::ImageVersion;
use skewguard_cluster::kinds::image::{Image, named_architecture};
use skewguard_cluster::kinds::machine::Machine;
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::kinds::stream::OwnImage;

impl<'a> Lookup<'a> {
    /// The version of an image by the lists that have it, else by its name.
    pub(super) fn listed(&self, image: &Image, notes: &mut Vec<String>) -> Option<KnownVersion> {
        self.by_config_map(image)
            .or_else(|| self.by_release(image))
            .or_else(|| by_published(image, notes))
            .or_else(|| self.by_streams(image))
            .or_else(|| by_name(image))
    }

    /// The architecture of an image by the lists that have it, else by its name.
    pub(super) fn image_architecture(&self, image: &Image) -> Option<String> {
        let value = image.value.as_deref()?;
        let own = self.named_as(image).map(|own| own.architecture.clone());
        own.or_else(|| published::architecture_of(image))
            .or_else(|| named_architecture(value).map(str::to_owned))
    }

    fn by_config_map(&self, image: &Image) -> Option<KnownVersion> {
        let value = image.value.as_deref()?;
        let elsewhere = |own: &&OwnImage| image.is_of_architecture(&own.architecture);
        let mut own = self.own_images(image);
        let own = own.find(|own| own.is_named_by(value));
        let own = own.or_else(|| self.named_as(image).filter(elsewhere))?;
        Some(KnownVersion::new(
            own.version(),
            KnownBy::ConfigMap,
            format!("ConfigMap coreos-bootimages, {}", own.place()),
        ))
    }

    /// The version of the image that the Machine of a joined node names, where a list or its name
    /// says it: what a Machine names does not change, while templates and nodes may.
    pub(crate) fn named_by(&self, machine: &Machine, node: &Node) -> Option<ImageVersion> {
        let image = Image {
            architecture: node.architecture.clone(),
            is_of_release: false,
            ..self.objects.image_of(&machine.metadata, &machine.source)
        };
        Some(self.listed(&image, &mut Vec::new())?.version)
    }

    /// Region and architecture of the cluster's own image that the field names, where these are not the next
    /// machine's.
    pub(crate) fn elsewhere(&self, image: &Image) -> Option<String> {
        self.named_as(image).map(OwnImage::place)
    }

    /// The region of the image that the field names, where the next machine is made in another: each AMI is of one.
    pub(crate) fn other_region(&self, image: &Image) -> Option<String> {
        let own = self.named_as(image).and_then(|own| own.region.clone());
        let own = own.or_else(|| published::region_of(image))?;
        let is_other = image.region.as_ref().is_some_and(|wanted| *wanted != own);
        is_other.then_some(own)
    }

    /// The cluster's own image that the field names, of whatever region and architecture.
    fn named_as(&self, image: &Image) -> Option<&'a OwnImage> {
        let value = image.value.as_deref()?;
        let is_named =
            |own: &&OwnImage| Some(own.platform) == image.platform && own.is_named_by(value);
        self.objects.own_images.iter().find(is_named)
    }

    /// The stream metadata of other releases, as a person named it.
    fn by_streams(&self, image: &Image) -> Option<KnownVersion> {
        let value = image.value.as_deref()?;
        let named = |(_, own): &&(String, OwnImage)| own.is_named_by(value) && own.fits(image);
        let mut all = self.objects.streams.iter().filter(named);
        let (file, own) = all.next()?;
        // Files that contradict each other say nothing.
        if all.any(|(_, other)| other.version() != own.version()) {
            return None;
        }
        Some(KnownVersion::new(
            own.version(),
            KnownBy::StreamMetadata,
            format!("stream metadata in {file}, {}", own.place()),
        ))
    }

    /// The image that the cluster's release brings (bare metal, `install_coreos`), where the
    /// Provisioning object names no other.
    fn by_release(&self, image: &Image) -> Option<KnownVersion> {
        let has_own_images = self.objects.provisioning.as_ref()?.has_own_images();
        if !image.is_of_release || has_own_images {
            return None;
        }
        let images = self.images_for(image).into_iter();
        let releases = images.map(|own| Some(own.release.clone())).collect();
        Some(KnownVersion::new(
            ImageVersion::parse(&one_of(releases)?),
            KnownBy::ConfigMap,
            "ConfigMap coreos-bootimages: install_coreos takes the release's own image",
        ))
    }

    /// Images of the set's stream; where no image is said to be of that stream, those of all.
    pub(crate) fn images_for(&self, image: &Image) -> Vec<&'a OwnImage> {
        let mut all: Vec<&OwnImage> = self.own_images(image).collect();
        let is_of_stream = |own: &&OwnImage| own.stream == image.stream;
        if all.iter().any(is_of_stream) {
            all.retain(is_of_stream);
        }
        all
    }

    /// Plan and generation of the image, where the cluster's release has one of the same product: what
    /// the release says of it counts more than what its name looks like.
    pub(crate) fn own_offer(&self, image: &Image) -> Option<String> {
        let product = |urn: &str| Some(urn.rsplit_once(':')?.0.to_ascii_lowercase());
        let value = image.value.as_deref();
        let named = product(value.filter(|_| image.platform == Some(Platform::Azure))?)?;
        let of_azure = |own: &&OwnImage| own.platform == Platform::Azure;
        let is_it =
            |own: &&OwnImage| own.image.as_deref().and_then(product).as_ref() == Some(&named);
        let mut own = self.objects.own_images.iter().filter(of_azure);
        own.find(is_it)?.offer.clone()
    }

    /// The images of the cluster's own release that could replace this one.
    fn own_images(&self, image: &Image) -> impl Iterator<Item = &'a OwnImage> {
        let all = self.objects.own_images.iter();
        all.filter(move |own| own.fits(image))
    }
}
