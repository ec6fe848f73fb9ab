//! What all forms of the audit share: verdicts in a word, the head, the remedies, and lines that
//! are broken at spaces only (pure).

use super::screen::Screen;
use crate::audit::{BootImageAudit, SetAudit};
use crate::cli::audit::conclusion::{
    Conclusion, Readiness, STARTER_NAME, STARTER_NAME_OKD, Word, count,
};
use crate::verdict::BootImageStatus;
use anstyle::Style;
use std::collections::BTreeMap;

/// Where the text is shown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Terminal {
    /// `None` where it is no terminal.
    pub(crate) columns: Option<usize>,
    pub(crate) rows: Option<usize>,
    pub(crate) colour: bool,
}

/// Columns of prose where no terminal says how many it has.
const WIDTH: usize = 100;

/// Lines where no terminal says how many it has.
const ROWS: usize = 40;

/// Columns before the text of an item.
const INDENT: usize = 11;

impl Terminal {
    /// Columns of prose.
    fn width(self) -> usize {
        self.columns.unwrap_or(WIDTH).clamp(40, WIDTH)
    }

    /// Prose, broken at spaces, each line after `indent` columns.
    pub(in crate::cli::audit) fn prose(self, indent: usize, text: &str) -> Vec<String> {
        let margin = " ".repeat(indent);
        let lines = fill(text, self.width().saturating_sub(indent));
        lines.iter().map(|line| format!("{margin}{line}")).collect()
    }

    /// A name, and beside it a text, broken at spaces.
    pub(in crate::cli::audit) fn item(self, name: &str, text: &str) -> Vec<String> {
        let mut lines = self.prose(INDENT, text);
        if let Some(first) = lines.first_mut() {
            *first = format!("  {name:<9}{}", first.trim_start());
        }
        lines
    }

    /// A name and its value, broken on a terminal alone: elsewhere it is one line for a script.
    pub(in crate::cli::audit) fn fact(self, name: &str, value: &str) -> Vec<String> {
        if self.columns.is_none() {
            return vec![format!("{name:<INDENT$}{value}")];
        }
        let mut lines = self.prose(INDENT, value);
        if let Some(first) = lines.first_mut() {
            *first = format!("{name:<INDENT$}{}", first.trim_start());
        }
        lines
    }

    /// What a page has to fit. One line is the prompt's.
    pub(in crate::cli::audit) fn screen(self) -> Screen {
        Screen {
            rows: self.rows.map_or(ROWS, |rows| rows.saturating_sub(1)),
            columns: self.columns,
        }
    }

    /// The word of a verdict.
    pub(in crate::cli::audit) fn word(self, word: Word) -> String {
        self.styled(word.style(), word.text())
    }

    fn styled(self, style: Style, text: &str) -> String {
        if self.colour {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// The first sentence.
    pub(in crate::cli::audit) fn conclusion(self, conclusion: &Conclusion) -> Vec<String> {
        let word = match conclusion.readiness {
            Readiness::Ready => Word::Allowed,
            Readiness::NotReady => Word::Refused,
            Readiness::NotKnown => Word::Unknown,
        };
        let said = self.prose(0, &conclusion.sentence);
        let said = said.iter().map(|line| self.styled(word.style(), line));
        let next = format!("Next: {}", conclusion.next);
        // A command is copied: it is not broken.
        said.chain((!conclusion.next.is_empty()).then_some(next))
            .collect()
    }
}

/// Breaks `text` at spaces into lines of at most `width` columns. A longer word has a line of its
/// own, and is never broken: names, fields and images are there to be copied.
pub(in crate::cli::audit) fn fill(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// What was audited: names and values.
pub(in crate::cli::audit) fn head(audit: &BootImageAudit) -> Vec<(&'static str, String)> {
    let origin = audit.origin.as_ref();
    let server = origin.and_then(|origin| {
        let server = origin.server.as_ref()?;
        Some(match &origin.context {
            Some(context) => format!("{server} (context {context})"),
            None => server.clone(),
        })
    });
    let release = audit
        .release
        .as_deref()
        .unwrap_or("unknown: only limits without release apply");
    [
        (
            "cluster",
            origin.and_then(|origin| origin.infrastructure.clone().or(origin.cluster_id.clone())),
        ),
        ("server", server),
        ("read at", origin.map(|origin| origin.time.clone())),
        ("release", Some(release.to_owned())),
        ("policy", Some(policy(audit))),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

/// The policy that decided, in words.
fn policy(audit: &BootImageAudit) -> String {
    match &audit.policy {
        None => "none".to_owned(),
        Some(policy) if [STARTER_NAME, STARTER_NAME_OKD].contains(&&*policy.path) => format!(
            "none named: the limits and known issues of `{}`, judged as if it enforced",
            policy.path
        ),
        Some(policy) => format!(
            "{} (mode {}), judged as if it enforced",
            policy.path,
            policy.mode.as_deref().unwrap_or("unknown")
        ),
    }
}

/// What stands above joined nodes that the update breaks, and those that it may break.
pub(in crate::cli::audit) const BIRTHS: &str = "Joined nodes that the update breaks";

/// The names of sets, by what is true of them.
pub(in crate::cli::audit) type Named<'a, K> = BTreeMap<K, Vec<&'a SetAudit>>;

/// The refused and undecided sets by platform and remedy.
pub(in crate::cli::audit) fn remedies(audit: &BootImageAudit) -> Named<'_, (&str, String)> {
    let mut remedies = Named::new();
    for set in audit.sets.iter().filter(|set| !set.would_be_allowed()) {
        if let Some(advice) = set.advice() {
            let platform = set.platform.as_deref().unwrap_or("other");
            let sets: &mut Vec<_> = remedies.entry((platform, advice)).or_default();
            sets.push(set);
        }
    }
    remedies
}

/// The sets of unknown version, by what makes it known.
pub(in crate::cli::audit) fn lookup_helps(audit: &BootImageAudit) -> Named<'_, &str> {
    let mut lookup_helps = Named::new();
    for set in &audit.sets {
        if let Some(help) = &set.to_know {
            let sets: &mut Vec<_> = lookup_helps.entry(help.as_str()).or_default();
            sets.push(set);
        }
    }
    lookup_helps
}

/// `a, b and 3 more`.
pub(in crate::cli::audit) fn names(sets: &[&SetAudit]) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    // A control plane has a row for each of its images.
    names.dedup();
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>();
    let shown = shown.join(", ");
    match names.len() {
        0..=SHOWN => shown,
        all => format!("{shown} and {} more", all - SHOWN),
    }
}

/// The namespace of all sets, where they share one.
pub(in crate::cli::audit) fn namespace(sets: &[SetAudit]) -> Option<&str> {
    let first = sets.first()?.namespace.as_str();
    let is_shared = sets.iter().all(|set| set.namespace == first);
    (is_shared && !first.is_empty()).then_some(first)
}

/// Kind and name, as the command takes them; the namespace before them where it is not `shared`.
pub(in crate::cli::audit) fn title(set: &SetAudit, shared: Option<&str>) -> String {
    let name = format!("{}/{}", set.kind, set.name);
    match set.namespace.as_str() {
        "" => name,
        own if Some(own) == shared => name,
        own => format!("{own} {name}"),
    }
}

/// The machines that have not joined, a sentence for each set; the longest waiting first.
pub(in crate::cli::audit) fn waiting(audit: &BootImageAudit) -> Vec<String> {
    let mut sets: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
    for machine in &audit.provisioned {
        let set = machine.set.as_deref();
        match sets.iter_mut().find(|(other, _)| *other == set) {
            Some((_, machines)) => machines.push(&machine.since),
            None => sets.push((set, vec![&machine.since])),
        }
    }
    let now = audit.origin.as_ref().map(|origin| origin.time.as_str());
    let says = |(set, since): (Option<&str>, Vec<&str>)| {
        let set = set.map_or_else(|| "no set".to_owned(), str::to_owned);
        let machines = count(since.len(), "Machine", "Machines");
        let oldest = since.iter().find(|since| !since.is_empty());
        let age = oldest.and_then(|since| age(since, now?));
        let age = match age {
            Some(age) if since.len() == 1 => format!(", for {age}"),
            Some(age) => format!(", the oldest for {age}"),
            None => String::new(),
        };
        format!("{set}: {machines} Provisioned{age}")
    };
    sets.into_iter().map(says).collect()
}

/// How many machines have not joined, and the command that says why.
pub(in crate::cli::audit) fn wait(audit: &BootImageAudit) -> Option<String> {
    let all = &audit.provisioned;
    let now = audit.origin.as_ref().map(|origin| origin.time.as_str());
    let oldest = all.iter().find(|machine| !machine.since.is_empty());
    let age = oldest.and_then(|machine| age(&machine.since, now?));
    let (wait, age) = match (all.len(), age) {
        (0, _) => return None,
        (1, Some(age)) => ("waits", format!(" for {age}")),
        (1, None) => ("waits", String::new()),
        (_, Some(age)) => ("wait", format!(", the oldest for {age}")),
        (_, None) => ("wait", String::new()),
    };
    let machines = count(all.len(), "Machine", "Machines");
    Some(format!(
        "{machines} {wait} to become a Node{age}: oc skewguard why"
    ))
}

/// From one time to a later one, in its largest unit.
fn age(since: &str, now: &str) -> Option<String> {
    let [since, now] = [since, now].map(|time| humantime::parse_rfc3339_weak(time).ok());
    let seconds = now?.duration_since(since?).ok()?.as_secs();
    Some(match seconds / 60 {
        minutes @ 0..=119 => format!("{minutes} min"),
        minutes @ 120..=2879 => format!("{} h", minutes / 60),
        minutes => format!("{} days", minutes / 1440),
    })
}

/// `411.86.202308081056-0 (RHEL 8.6, OCP 4.11)`
pub(in crate::cli::audit) fn shown(image: &BootImageStatus) -> String {
    let systems = image.systems().join(", ");
    let systems = if systems.is_empty() {
        "says no release"
    } else {
        &systems
    };
    format!("{} ({systems})", image.version)
}

#[cfg(test)]
mod tests {
    use super::{age, fill};

    #[test]
    fn what_is_copied_is_never_broken() {
        let field =
            "spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value.ami.id";
        assert_eq!(
            fill(&format!("set {field} to ami-1"), 20),
            ["set", field, "to ami-1"]
        );
        assert_eq!(fill("", 20), [""; 0]);
    }

    #[test]
    fn an_age_is_in_its_largest_unit() {
        let now = "2026-01-03T03:04:05Z";
        for (since, wanted) in [
            ("2026-01-03T03:04:00Z", Some("0 min")),
            ("2026-01-03T01:05:00Z", Some("119 min")),
            ("2026-01-02T23:59:00Z", Some("3 h")),
            ("2025-12-31T03:00:00Z", Some("3 days")),
            ("2026-01-03T03:05:00Z", None),
            ("yesterday", None),
        ] {
            assert_eq!(age(since, now).as_deref(), wanted, "{since}");
        }
    }
}
