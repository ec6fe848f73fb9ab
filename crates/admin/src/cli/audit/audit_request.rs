//! The audit as a command: what was asked for, asked once more (pure).

use super::args::Args;
use crate::audit::BootImageAudit;
use crate::forms::shell::word;
use crate::version::Release;
use std::path::PathBuf;

/// The request for the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AuditRequest {
    /// The arguments that make the same audit again, each after a space, without the release.
    pub(super) arguments: String,
    /// Those that name the cluster, for other commands.
    pub(super) source: String,
    /// The policy that was named, as a word of a command.
    pub(super) policy: Option<String>,
    /// The release that was asked about instead of the cluster's own.
    pub(super) target: Option<String>,
}

impl AuditRequest {
    /// The arguments that ask once more about the cluster of this context, or, without a name, about all
    /// that were asked for.
    pub(super) fn of(args: &Args, name: &str) -> Self {
        let shown = |path: &PathBuf| word(&path.to_string_lossy());
        let (mut arguments, mut source) = (String::new(), String::new());
        for (name, paths) in [
            ("policy", args.policy.as_slice()),
            ("kubeconfig", args.kubeconfig.as_slice()),
            ("from", &*args.from),
            ("streams", &*args.streams),
            ("exceptions", args.exceptions.as_slice()),
        ] {
            let words: Vec<String> = paths.iter().map(shown).collect();
            if !words.is_empty() {
                let words = format!(" --{name} {}", words.join(" "));
                arguments += &words;
                if ["kubeconfig", "from"].contains(&name) {
                    source += &words;
                }
            }
        }
        let all = args.context.join(",");
        let context = if name.is_empty() { &*all } else { name };
        if name.is_empty() && args.all_contexts {
            arguments += " --all-contexts";
        }
        if !context.is_empty() {
            let word = format!(" --context {}", word(context));
            arguments += &word;
            source += &word;
        }
        Self {
            arguments,
            source,
            policy: args.policy.as_ref().map(shown),
            target: args.target.clone(),
        }
    }

    /// The command that asks about a release; `None` is each cluster's own.
    pub(super) fn command(&self, target: Option<&str>) -> String {
        let target = target.map(|release| format!(" --target {}", word(release)));
        let target = target.unwrap_or_default();
        format!("oc skewguard audit{}{target}", self.arguments)
    }

    /// The command that shows all of it.
    pub(super) fn whole(&self) -> String {
        format!("{} -o wide", self.command(self.target.as_deref()))
    }

    /// The command that says why a Machine is no Node.
    pub(super) fn why(&self) -> String {
        format!("oc skewguard why{}", self.source)
    }
}

/// The release that is written as `x.y.z` or `x.y`.
pub(super) fn release_of(text: &str) -> Option<Release> {
    let whole = text.parse::<Release>();
    whole.or_else(|_| format!("{text}.0").parse()).ok()
}

/// Tells whether the patches for this release set images that the cluster may have as it is: what comes after an
/// update has none.
pub(super) fn may_be_patched(audit: &BootImageAudit, asked: &str) -> bool {
    let minor = |release: &str| release_of(release).map(|release| release.minor);
    let own = audit.origin.release.as_deref().and_then(minor);
    own.is_some_and(|own| minor(asked).is_some_and(|asked| asked >= own))
}
