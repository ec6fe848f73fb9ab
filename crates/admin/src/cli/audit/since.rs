//! `--since`: what is new or worse than in an earlier audit.

use super::super::{Exit, Failure, named, read_file};
use super::conclusion::{Conclusion, Readiness};
use super::page::{Word, count};
use crate::audit::{BootImageAudit, SetAudit, SetChange, Since};
use crate::text::printable;
use serde::Deserialize;
use std::path::Path;

/// The most that is read of the file: 200 clusters of 200 sets have less.
const MAX_BYTES: u64 = 256 << 20;

/// An earlier audit, as `-o json` printed it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Before {
    kind: String,
    #[serde(default)]
    origin: Origin,
    policy: Option<Policy>,
    release: Option<String>,
    summary: Summary,
    sets: Vec<Set>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Origin {
    time: String,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Policy {
    digest: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Summary {
    sets: usize,
}

#[derive(Debug, Deserialize)]
struct Set {
    kind: String,
    namespace: String,
    name: String,
    verdict: String,
    action: String,
    exception: Option<Exception>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exception {
    ran_out: bool,
}

impl Set {
    fn is(&self, set: &SetAudit) -> bool {
        self.kind == set.kind && self.namespace == set.namespace && self.name == set.name
    }

    /// The verdict; a set that was excepted had none.
    fn word(&self) -> Word {
        let is_excepted = self.exception.as_ref().is_some_and(|found| !found.ran_out);
        match (&*self.action, &*self.verdict) {
            _ if is_excepted => Word::Allowed,
            ("Block", _) => Word::Refused,
            ("Proceed", "Allowed" | "Disabled") => Word::Allowed,
            _ => Word::Unknown,
        }
    }
}

/// # Errors
/// It cannot be read, or is not a whole audit. The text names the place.
pub(super) fn load(path: &Path) -> Result<Before, Failure> {
    let file = named(path);
    let bytes = read_file(path, MAX_BYTES).map_err(|error| format!("--since {file}: {error}"))?;
    let before: Before = serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line().max(1), error.column().max(1));
        let says = error.to_string();
        let what = says.split(" at line ").next().unwrap_or(&says);
        format!(
            "--since {file}:{line}:{column}: {}: `oc skewguard audit -o json` prints what is read",
            printable(what)
        )
    })?;
    if before.kind != "BootImageAudit" {
        return Err(format!(
            "--since {file}: is a {}, no BootImageAudit",
            printable(&before.kind)
        )
        .into());
    }
    if before.sets.len() != before.summary.sets {
        return Err(format!(
            "--since {file}: has {} of {} sets: make it without --only and names of sets",
            before.sets.len(),
            before.summary.sets
        )
        .into());
    }
    Ok(before)
}

impl Before {
    /// What is new or worse than then.
    pub(super) fn compare(&self, audit: &BootImageAudit) -> Since {
        let changes = audit.sets.iter().filter_map(|set| {
            let word = if set.is_excepted() {
                Word::Allowed
            } else {
                Word::of(set)
            };
            let was = self.sets.iter().find(|old| old.is(set)).map(Set::word);
            (word < was.unwrap_or(Word::Allowed)).then(|| SetChange {
                kind: set.kind,
                namespace: set.namespace.clone(),
                name: set.name.clone(),
                was: was.map(Word::lower),
                is: word.lower(),
            })
        });
        let is_gone = |old: &&Set| !audit.sets.iter().any(|set| old.is(set));
        let digest = audit.policy.as_ref().map(|policy| Policy {
            digest: policy.digest.clone(),
        });
        Since {
            time: printable(&self.origin.time),
            changes: changes.collect(),
            gone: self.sets.iter().filter(is_gone).count(),
            same_policy: self.policy == digest,
            same_release: self.release == audit.release,
        }
    }
}

impl Since {
    /// Whether the set is new or worse.
    pub(super) fn has(&self, set: &SetAudit) -> bool {
        self.changes.iter().any(|change| {
            change.kind == set.kind && change.namespace == set.namespace && change.name == set.name
        })
    }

    fn number(&self, word: Word) -> usize {
        let is = |change: &&SetChange| change.is == word.lower();
        self.changes.iter().filter(is).count()
    }

    pub(super) fn exit(&self, audit: &BootImageAudit) -> Exit {
        if self.number(Word::Refused) > 0 {
            Exit::Refused
        } else if audit.unread.iter().any(|unread| unread.hides_sets) {
            Exit::Failed
        } else if self.changes.is_empty() && !audit.unread.iter().any(|unread| unread.makes_nodes) {
            Exit::Done
        } else {
            Exit::Unknown
        }
    }

    /// The conclusion of what changed; what is next is as for all sets.
    pub(super) fn conclude(&self, audit: &BootImageAudit, all: Conclusion) -> Conclusion {
        let then = match self.time.as_str() {
            "" => "then".to_owned(),
            time => time.to_owned(),
        };
        let (refused, unknown) = (self.number(Word::Refused), self.number(Word::Unknown));
        let hidden = audit.unread.iter().any(|unread| unread.hides_sets);
        let mut sentence = match self.changes.len() {
            0 if hidden => format!("Not known whether anything is new or worse since {then}"),
            0 => format!("Nothing is new or worse since {then}"),
            some => {
                let are = if some == 1 { "is" } else { "are" };
                format!(
                    "{} {are} new or worse since {then}: {refused} would be refused, {unknown} not known",
                    count(some, "set", "sets")
                )
            }
        };
        if self.gone > 0 {
            sentence += &format!("; {} gone", self.gone);
        }
        if hidden {
            sentence += "; not everything that makes nodes was read";
        }
        for (is_same, what) in [(self.same_policy, "policy"), (self.same_release, "release")] {
            if !is_same {
                sentence += &format!("; the {what} is another one");
            }
        }
        Conclusion {
            readiness: match self.exit(audit) {
                Exit::Refused => Readiness::NotReady,
                Exit::Done => Readiness::Ready,
                _ => Readiness::NotKnown,
            },
            sentence: sentence + ".",
            next: if self.changes.is_empty() && !hidden {
                String::new()
            } else {
                all.next
            },
        }
    }
}
