//! The judge of the images that the next node of a set may have (pure): by the rules that decide on the node
//! itself, at its first boot.

use crate::audit::verdict::cpu;
use crate::audit::versions::published::of_release;
use crate::platform::Platform;
use crate::policy::{Effect, Mode, OnUndetermined, Policy};
use crate::verdict::{
    BootImage, Facts, ImageSource, Machine, PolicyInput, Target, TargetInput, Verdict, decide,
};
use crate::version::{ImageVersion, OcpMinor, Release};
use skewguard_cluster::kinds::image::Image;

/// The facts that decide beside an image's version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) policy: &'a PolicyInput,
    pub(crate) release: Option<&'a str>,
    /// It says the pool, the platform and the architecture.
    pub(crate) image: &'a Image,
    /// Platform of the images of a release, also where no image is named.
    pub(crate) platform: Option<Platform>,
    pub(crate) fips: Option<bool>,
    /// The release up to which a remedy has to hold, where that is another one.
    pub(crate) until: Option<Release>,
}

impl<'a> Judge<'a> {
    /// The judge of an image at a release.
    pub(crate) fn of(policy: &'a PolicyInput, release: Option<&'a str>, image: &'a Image) -> Self {
        Self {
            policy,
            release,
            image,
            platform: image.platform,
            fips: None,
            until: None,
        }
    }

    /// All images that were published for a release and fit.
    pub(crate) fn published(&self, release: OcpMinor) -> Vec<ImageVersion> {
        of_release(release, self.platform, self.image)
    }

    /// The verdict on a node of this version in another pool.
    pub(crate) fn of_pool(self, pool: &str, version: &ImageVersion) -> Verdict {
        let image = Image {
            pool: Some(pool.to_owned()),
            ..self.image.clone()
        };
        let of_pool = Judge {
            image: &image,
            ..self
        };
        of_pool.verdict(Some(version))
    }

    /// The verdict on a node of this version, as if the policy enforced.
    pub(crate) fn verdict(&self, version: Option<&ImageVersion>) -> Verdict {
        // Where a node would find it does not matter for the decision.
        let boot_image = version.map(|version| BootImage {
            version: version.clone(),
            source: ImageSource::Aleph,
            path: String::new(),
        });
        let target = Target {
            release: self.release.map(str::to_owned),
            pool: self.image.pool.clone(),
            ..Target::default()
        };
        let enforced = changed(self.policy, |policy| {
            policy.mode = Mode::Enforce;
            // A node reads its own aleph, so that an image that is unknown here is not refused as
            // unknown there.
            if version.is_none() {
                policy.on_undetermined = OnUndetermined::Proceed;
            }
        });
        decide(&Facts {
            boot_image,
            platform: (self.image.platform).map(|platform| platform.id().to_owned()),
            machine: Machine {
                architecture: self.image.architecture.clone(),
                fips: self.fips,
                secure_boot: self.image.secure_boot,
                cpu: cpu::for_limits(self.image, self.policy).map(str::to_owned),
                ..Machine::default()
            },
            ..Facts::new(enforced, TargetInput::Read(target))
        })
    }
}

/// The policy without the known issues that only warn.
pub(crate) fn without_warnings(policy: &PolicyInput) -> PolicyInput {
    changed(policy, |policy| {
        let issues = &mut policy.known_issues;
        issues.retain(|issue| issue.effect == Effect::Refuse);
    })
}

fn changed(policy: &PolicyInput, change: impl FnOnce(&mut Policy)) -> PolicyInput {
    let mut policy = policy.clone();
    if let PolicyInput::Valid { policy, .. } = &mut policy {
        change(policy);
    }
    policy
}
