//! Effects of a remedy beside the field that it changes.

use schemars::JsonSchema;
use serde::Serialize;

/// Consequence of a change, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum EffectKind {
    /// The next machine is made from it; those that are there stay as they are.
    NextMachineOnly,
    /// Something has to come first, or the next machine fails.
    NeedsFirst,
    /// It does not last: a controller writes what it had before.
    IsReverted,
    /// A controller replaces what runs.
    ReplacesRunning,
    /// A machine that runs is taken down and installed anew.
    Reinstalls,
}

impl EffectKind {
    /// The beginning of a sentence that ends with a reason.
    fn words(self) -> &'static str {
        match self {
            Self::NextMachineOnly => "Only the next machine changes",
            Self::NeedsFirst => "First",
            Self::IsReverted => "A change by hand does not last",
            Self::ReplacesRunning => "CAREFUL, this replaces machines that run",
            Self::Reinstalls => "CAREFUL, this takes machines down that run",
        }
    }
}

/// An effect of a remedy.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Effect {
    pub(crate) effect: EffectKind,
    /// Controller or tool that acts on the change, where one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// In words, as the end of a sentence.
    pub(crate) reason: String,
    /// The remedy's own words say it.
    #[serde(skip)]
    pub(crate) is_in_remedy: bool,
}

impl Effect {
    pub(crate) fn new(effect: EffectKind, reason: impl Into<String>) -> Self {
        Self {
            effect,
            by: None,
            reason: reason.into(),
            is_in_remedy: false,
        }
    }

    /// A controller replaces what runs.
    pub(crate) fn replaces(by: &str, reason: impl Into<String>) -> Self {
        Self::new(EffectKind::ReplacesRunning, reason).by(by)
    }

    /// The next machine alone changes.
    pub(crate) fn next_alone(reason: impl Into<String>) -> Self {
        Self::new(EffectKind::NextMachineOnly, reason)
    }

    pub(crate) fn by(self, who: impl Into<String>) -> Self {
        Self {
            by: Some(who.into()),
            ..self
        }
    }

    /// In words.
    pub(crate) fn says(&self) -> String {
        format!("{}: {}", self.effect.words(), self.reason)
    }
}

/// Words where a remedy changes the next machine alone, and nothing else is to be known.
pub(crate) const STAYS: &str = "machines that are there stay as they are";

/// A change as a file for the repository that an object is kept in.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct PatchFile {
    pub(crate) name: String,
    /// YAML for kustomize.
    pub(crate) text: String,
}
