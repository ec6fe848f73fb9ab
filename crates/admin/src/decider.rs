//! The decision of nodes, asked about one boot image after the other (pure).

use crate::policy::Policy;
use crate::verdict::{
    BootImage, Facts, ImageSource, Outcome, PolicyInput, Target, TargetInput, Verdict, decide,
};
use crate::version::ImageVersion;

/// A policy, and nodes of which nothing is known but their release and architecture.
pub(crate) struct Decider(Facts);

impl Decider {
    pub(crate) fn new(
        policy: Policy,
        release: Option<String>,
        architecture: Option<String>,
    ) -> Self {
        let policy = PolicyInput::Valid {
            path: String::new(),
            digest: String::new(),
            policy,
        };
        let target = Target {
            release,
            ..Target::default()
        };
        let mut facts = Facts::new(policy, TargetInput::Read(target));
        facts.machine.architecture = architecture;
        Self(facts)
    }

    pub(crate) fn refuses(&mut self, version: ImageVersion) -> bool {
        self.decides(version).verdict == Outcome::Refused
    }

    pub(crate) fn decides(&mut self, version: ImageVersion) -> Verdict {
        self.0.boot_image = Some(BootImage {
            version,
            source: ImageSource::Aleph,
            path: String::new(),
        });
        decide(&self.0)
    }
}
