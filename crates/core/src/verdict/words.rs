//! The words about a verdict: a row for each [`super::Reason`], and one for each [`Fate`] (pure).
//!
//! Console, journal, report, Event, `status` and `check` take their words from here. Nothing parses
//! them back: what a script or another part of skewguard needs has a field of its own.

mod fate;
mod reason;

use super::{
    Fate, Finding, Judged, LetThrough, Outcome, OverrideSource, Product, Reason, Verdict, Wanted,
};
use crate::policy::Mode;
use crate::text::cut;
pub use fate::{ConsoleWords, FateWords, Level, OPENINGS};
pub use reason::{About, ReasonWords, Remedy};

impl Judged {
    /// Name of what was judged, in the sentence of a rule.
    pub fn name(self) -> &'static str {
        match self {
            Self::BootedDeployment => "booted deployment",
            Self::BootImage | Self::Other(_) => "boot image",
        }
    }
}

impl Finding {
    /// Says what is needed instead of what failed, for a person with that product; `briefly`
    /// without the reason of a known issue.
    pub fn need(&self, product: Product, briefly: bool) -> String {
        let joined = |parts: [&Option<String>; 2]| {
            let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
            parts.join(": ")
        };
        let value = |name: &str| match name {
            "want" => Some(self.want.clone()),
            "have" => Some(self.have.clone().unwrap_or_else(|| "unknown".to_owned())),
            "own" => Some(product.own_release(self.have.as_deref().unwrap_or("unknown"))),
            "denied" => Some(denied(self.entry.as_deref(), self.why.as_deref())),
            "issue" if briefly && self.issue.is_some() => self.issue.clone(),
            "issue" => Some(joined([&self.issue, &self.why])),
            "os" => Some(product.family.name().to_owned()),
            "base" => Some(product.family.base().to_owned()),
            "release" => Some(product.release().to_owned()),
            _ => None,
        };
        match self.rule.about() {
            // A rule that only another release of skewguard knows.
            About::NoRule => self.message.clone(),
            _ => fill(self.rule.words().need, &value).unwrap_or_default(),
        }
    }
}

/// Which entry of `deniedVersions` denies a version, and why.
pub(super) fn denied(entry: Option<&str>, why: Option<&str>) -> String {
    let by = entry.map(|entry| format!(" by \"{entry}\""));
    let why = why.map(|why| format!(": {why}"));
    format!(
        "denied{}{}",
        by.unwrap_or_default(),
        why.unwrap_or_default()
    )
}

impl Verdict {
    /// The words for its reason.
    pub fn reason_words(&self) -> ReasonWords {
        self.reason.words()
    }

    /// The words for what became of the node.
    pub fn fate_words(&self) -> FateWords {
        self.fate().words(self.verdict)
    }

    /// Names the decision; of a refusal that only warns, what it would be.
    pub fn headline(&self) -> &str {
        match self.fate() {
            Fate::LetThrough => "Would be refused",
            _ => self.verdict.as_str(),
        }
    }

    /// Part of the node that breaks the policy: `boot image`, `CPU`.
    pub fn part(&self) -> &'static str {
        self.reason_words().part.unwrap_or(self.image_name())
    }

    /// Name of the judged image.
    pub fn image_name(&self) -> &'static str {
        if self.judged == Judged::BootedDeployment {
            "booted OS"
        } else {
            "boot image"
        }
    }

    /// The message, and the first known issue that only warns.
    pub fn sentence(&self) -> String {
        let charged = self.verdict == Outcome::Refused;
        let mut warned = self.warned().filter(|_| !charged);
        match warned.next() {
            Some(finding) => format!("{}; warning: {}", self.message, finding.message),
            None => self.message.clone(),
        }
    }

    /// Says what is needed instead, by every rule that fails; where none does, by the first about
    /// the image that is open. An issue's reason may be long, and is said of one alone.
    pub fn needed(&self) -> String {
        let is_open = |finding: &&Finding| {
            self.reason == Reason::NoRuleEvaluated && finding.rule.about() == About::Image
        };
        let open = self.findings.iter().find(is_open);
        let charges = self.charges().count();
        let needs: Vec<String> = self
            .charges()
            .chain(open.filter(|_| charges == 0))
            .map(|finding| finding.need(self.product(), charges > 1))
            .collect();
        match needs.is_empty() {
            true => self.reason_words().need.to_owned(),
            false => needs.join("; "),
        }
    }

    /// Which image or part the node needs in place of its own.
    pub fn wanted(&self) -> Wanted {
        self.charges()
            .next()
            .and_then(|finding| finding.wanted)
            .unwrap_or(self.reason_words().wanted)
    }

    /// Effect on the node: one sentence.
    pub fn impact(&self) -> String {
        let value = |name: &str| match name {
            "breaks" => Some(format!("its {} breaks the policy", self.part())),
            "warned" => Some(format!("its {}", self.warned().next()?.message)),
            "unchecked" => Some(format!("its {} could not be checked", self.image_name())),
            _ => None,
        };
        fill(self.fate_words().impact, &value).unwrap_or_default()
    }

    /// Names the action, and why a refusal does not block. Whether the node really is held is not
    /// known here.
    pub(super) fn done(&self) -> String {
        let why = |_: &str| Some(self.why_let_through());
        let done = fill(self.fate_words().action, &why);
        format!("{}: {}", self.action, done.unwrap_or_default())
    }

    /// The release of the limit whose rules were applied, or `any`; `None` where none was.
    pub fn limit(&self) -> Option<&str> {
        let is_of_limit =
            |finding: &Finding| matches!(finding.rule.about(), About::Image | About::Machine);
        let policy = self.policy.as_ref()?;
        let any = self.findings.iter().any(is_of_limit).then_some("any");
        policy.limit_release.as_deref().or(any)
    }

    /// Reason why a refusal does not block, as a clause.
    pub fn why_let_through(&self) -> String {
        let mode = self.policy.iter().find_map(|policy| policy.mode.as_deref());
        let is_known = |mode: &&str| Mode::named(mode).is_some();
        let why = match self.let_through {
            Some(LetThrough::Rebased) => "the node is already rebased",
            Some(LetThrough::FirstBootFinished) => "the first boot is over",
            Some(LetThrough::MayHaveJoined) => "the node may have joined already",
            Some(LetThrough::Override) => match self.r#override.map(|given| given.source) {
                Some(OverrideSource::KernelArgument) => {
                    "the kernel argument skewguard=warn says so"
                }
                _ => "the override says warn",
            },
            Some(LetThrough::Mode) => match mode.filter(|mode| !is_known(mode)) {
                // It fits on a line of a console.
                Some(mode) => {
                    return format!("mode {} is unknown here and acts as Warn", cut(mode, 12));
                }
                None => "the policy only warns",
            },
            Some(LetThrough::PolicyVersion) => "the policy is of another version, and never blocks",
            Some(LetThrough::Unreadable) => "a file that may let it through cannot be read",
            None | Some(LetThrough::Other(_)) => "another release of skewguard decided so",
        };
        why.to_owned()
    }
}

/// `template` with a value for each `{name}`; `None` where one has none. Braces in a value stay.
pub fn fill(template: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}')?;
        out.push_str(before);
        out.push_str(&value(name)?);
        rest = tail;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_not_a_template() {
        let value = |name: &str| (name == "a").then(|| "{a} {b}".to_owned());
        assert_eq!(fill("x {a}.", &value).as_deref(), Some("x {a} {b}."));
        assert_eq!(fill("x {b}.", &value), None);
        assert_eq!(fill("plain", &value).as_deref(), Some("plain"));
    }
}
