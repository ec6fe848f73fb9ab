//! The stage that a machine reached, by what is seen (pure). What is seen later on the way proves
//! all that comes before.
//!
//! A finding is uncertain, and becomes certain by a proof alone: something that was read says so,
//! and everything that could say otherwise was read, too.

use super::case::Case;
use super::cause::CauseName;
use super::failures::{Failure, FailureKind};
use super::ground::Counter;
use super::report::Proof;
use super::rows::{Cause, Row, Words};
use super::way::{At, Mark, Stage, Step};
use skewguard_cluster::kinds::Condition;
use std::cmp::Ordering;
use std::collections::BTreeMap;

impl Case<'_> {
    /// Notes what was not read of these.
    pub(super) fn unread(&mut self, counters: &[Counter]) {
        for counter in counters {
            let missing = counter.missing(self).into_iter();
            missing.for_each(|what| self.unseen(what));
        }
    }

    /// Pending requests, made since it was, whose node cannot be read.
    fn requests_of_unknown(&self) -> impl Iterator<Item = String> {
        let all = self.facts.requests.iter();
        let odd = all.filter(|one| {
            let is_odd = one.node.is_empty() && one.is_pending();
            is_odd && !self.is_before(one.metadata.created)
        });
        odd.take(3).map(|one| {
            let id = &one.metadata.name;
            format!("whose request {id} is: what it asks for cannot be read")
        })
    }
}

impl Counter {
    /// What was not read of it, and by what it could be; none where all was.
    pub(super) fn missing(self, case: &Case<'_>) -> Vec<String> {
        let unread = case.index.ground.missing(self);
        let unread = unread.map(|unread| format!("{}: {}", unread.what, unread.why));
        let mut missing = Vec::from_iter(unread);
        match self {
            Self::Itself | Self::Machines | Self::PoolMachines | Self::Nodes => {}
            Self::Requests => missing.extend(case.requests_of_unknown()),
            Self::ServerLogs => missing.extend(case.missing_logs()),
            Self::Host => missing.extend(case.missing_host()),
        }
        missing
    }
}

/// The step at which it stopped, and why.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) stage: Stage,
    pub(super) cause: Cause,
    pub(super) words: Box<Words>,
    /// The failure of the provider behind it.
    pub(super) failure: Option<FailureKind>,
    /// Loops and the like that it is a part of.
    pub(super) remarks: Vec<Cause>,
    /// Names of the rows that it is told by.
    pub(super) rows: Vec<&'static str>,
    proof: Option<Box<Proof>>,
}

impl Case<'_> {
    /// The words of a row, beside a sentence of another.
    fn words(&mut self, row: Row, told: &str) -> Words {
        let metadata = self.subject.metadata();
        let mut own = vec![
            ("name", self.name.to_owned()),
            ("object", self.object()),
            ("namespace", metadata.namespace.clone()),
            ("own", metadata.name.clone()),
            ("told", told.to_owned()),
        ];
        own.extend(self.holes.clone());
        let words = row.told(own);
        words.unseen.iter().for_each(|what| self.unseen(what));
        words
    }

    /// The sentence of a row, without its full stop.
    pub(super) fn says(&mut self, row: Row) -> String {
        self.words(row, "").sentence
    }

    /// The finding that a row tells of, uncertain.
    pub(super) fn tell(&mut self, row: Row) -> Finding {
        let (name, cause) = (row.0, row.cause());
        let mut words = self.words(row, "");
        words.sentence = stopped(words.sentence);
        Finding {
            stage: words.stage.unwrap_or(Stage::Unknown),
            cause: cause.unwrap_or(Cause("NotSeen")),
            words: Box::new(words),
            failure: None,
            remarks: Vec::new(),
            rows: vec![name],
            proof: None,
        }
    }

    /// The finding, and what a row says beside it.
    pub(super) fn with(&mut self, mut finding: Finding, row: Row) -> Finding {
        finding.rows.push(row.0);
        finding.remarks.extend(row.cause());
        let mut beside = self.words(row, &finding.words.sentence);
        let words = &mut finding.words;
        if !beside.sentence.is_empty() {
            words.sentence = stopped(beside.sentence);
        }
        beside.first.append(&mut words.next);
        beside.first.append(&mut beside.next);
        words.next = beside.first;
        words.doubt |= beside.doubt;
        // A loop does not say where each of its machines stops.
        let is_loop = beside.stage == Some(Stage::BeingRemade);
        words.open |= beside.open || is_loop && finding.stage == Stage::Unknown;
        words.request |= beside.request;
        words.host |= beside.host;
        words.key.append(&mut beside.key);
        finding.stage = beside.stage.unwrap_or(finding.stage);
        finding
    }

    /// The finding, and what each of these rows says beside it.
    pub(super) fn with_all(
        &mut self,
        finding: Finding,
        rows: impl IntoIterator<Item = Row>,
    ) -> Finding {
        let rows = rows.into_iter();
        rows.fold(finding, |finding, row| self.with(finding, row))
    }

    /// Notes a condition; its words as the end of a sentence.
    pub(super) fn said(&mut self, condition: Option<&Condition>) -> Option<String> {
        let condition = condition?;
        self.see_condition(condition);
        Some(sentence(&condition.says()))
    }

    /// The finding, which is never certain where an Event alone says it: any joined node may write one.
    pub(super) fn told_by(&mut self, is_event: bool, finding: Finding) -> Finding {
        if !is_event {
            return finding;
        }
        self.unseen("whether its controller wrote the Event, as any joined node could: that controller's log");
        Finding {
            proof: None,
            ..finding
        }
    }
}

impl Finding {
    /// The finding, and what a claim says and advises beside it: it is to be made sure of first, and proves nothing.
    pub(super) fn beside(mut self, claim: Option<Self>) -> Self {
        let Some(mut claim) = claim else {
            return self;
        };
        self.words.sentence = format!("{} {}", self.words.sentence, claim.words.sentence);
        claim.words.next.append(&mut self.words.next);
        self.words.next = claim.words.next;
        self.words.key.append(&mut claim.words.key);
        self.rows.append(&mut claim.rows);
        self.proof = None;
        self
    }

    /// Names the failure of a provider that is behind it; one that is only supposed is not named.
    pub(super) fn because(self, failure: Option<&Failure>) -> Self {
        let failure = failure.filter(|failure| !failure.supposed);
        Self {
            failure: failure.map(|failure| failure.cause),
            ..self
        }
    }

    /// Keeps words of others that tell its cause from another of the same name.
    pub(super) fn says(mut self, words: &str) -> Self {
        self.words.key.push(words.to_owned());
        self
    }

    pub(super) fn proof(&self) -> Option<&Proof> {
        self.proof.as_deref()
    }

    /// Makes it certain: `by` says so, and all that could say otherwise was read. Where that was not, it stays
    /// uncertain, and what was not read is not seen. A claim never is certain, nor what is doubtful.
    pub(super) fn sure(mut self, case: &mut Case<'_>, by: impl Into<String>) -> Self {
        if self.words.doubt {
            return self;
        }
        let is_one = |counter: &&Counter| **counter != Counter::Host || case.has_host();
        let against: Vec<Counter> = self.words.against.iter().filter(is_one).copied().collect();
        case.unread(&against);
        let is_read = |counter: &Counter| counter.missing(case).is_empty();
        if !self.words.claim && !against.is_empty() && against.iter().all(is_read) {
            self.proof = Some(Box::new(Proof {
                by: by.into(),
                against: against.iter().map(|counter| counter.name()).collect(),
            }));
        }
        self
    }

    pub(super) fn name(&self) -> CauseName {
        let seen = CauseName::Seen(self.cause);
        self.failure.map_or(seen, CauseName::Failure)
    }

    /// The words that tell its cause from another of the same name: words of others, without the machine's own name
    /// and what is another's each time (ids, addresses, times).
    pub(super) fn key(&self, name: &str) -> Vec<String> {
        let says = self.words.key.iter();
        let says = says.flat_map(|says| says.split_whitespace());
        let words = says.map(|word| word.replace(name, ""));
        words
            .filter(|word| word.len() < SHORT || !word.contains(|c: char| c.is_ascii_digit()))
            .collect()
    }

    fn mark(&self) -> Mark {
        if self.stage == Stage::Joined {
            Mark::Done
        } else if self.stage == Stage::Unknown || self.words.open {
            Mark::Unknown
        } else {
            Mark::Stopped
        }
    }

    /// The steps: those before are done where they were seen, or something later was; those behind
    /// were not reached.
    pub(super) fn steps(&self, known: &BTreeMap<At, String>) -> Vec<Step> {
        let words = &self.words;
        let own_at = words
            .at
            .or(words.stage.map(Stage::at))
            .unwrap_or(At::Requested);
        let step = |at: At| {
            let own = || known.get(&at).cloned().unwrap_or_default();
            let is_seen = self.stage == Stage::Joined || known.range(at..).next().is_some();
            let (mark, text) = match at.cmp(&own_at) {
                Ordering::Less if is_seen => (Mark::Done, own()),
                // Without the agent nobody looks at the boot image.
                Ordering::Less if at == At::LetIn && !self.words.claim => {
                    (Mark::Unknown, "no report of skewguard".to_owned())
                }
                Ordering::Less => (Mark::Unknown, own()),
                Ordering::Equal => (self.mark(), self.words.step.clone()),
                Ordering::Greater if is_seen => (Mark::Done, own()),
                Ordering::Greater => (Mark::NotReached, own()),
            };
            Step {
                name: at.name(),
                mark,
                text,
            }
        };
        At::ALL.into_iter().map(step).collect()
    }
}

/// A sentence with its full stop.
fn stopped(text: String) -> String {
    match text.ends_with(['.', '!', '?']) {
        true => text,
        false => text + ".",
    }
}

/// A word with digits of this length is an id, an address or a time; a shorter one may be a status of HTTP.
const SHORT: usize = 6;

/// The longest text of somebody else in a sentence, in characters.
const LONGEST: usize = 400;

/// The length from which on the cause alone is told, where its place is known.
const LONG: usize = 300;

/// Words before the cause, in long errors of Azure.
const CODES: [&str; 2] = ["ERROR CODE: ", "Code="];

/// A text of somebody else as the end of a sentence: of one that is cut the cause.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    let behind = |code: &str| Some(text.split_once(code)?.1);
    let cause = behind("\"message\": \"").and_then(|message| message.split('"').next());
    let cause = cause.or_else(|| CODES.into_iter().find_map(behind));
    let text = match cause.filter(|_| text.len() > LONG) {
        Some(cause) => crate::text::cut(&format!("...{cause}"), LONGEST),
        None => crate::text::cut(text, LONGEST),
    };
    stopped(text)
}
