//! The stage that a machine reached, by what is seen (pure). What is seen later on the way proves
//! all that comes before.
//!
//! A finding is uncertain, and becomes certain by a proof alone: something that was read says so,
//! and everything that could say otherwise was read, too.

use super::case::Case;
use super::cause::{Cause, CauseName};
use super::failures::{Failure, FailureKind};
use super::ground::Counter;
use super::report::Proof;
use super::rows::{Row, Words};
use super::way::{At, Mark, Stage, Step};
use crate::audit::Unread;
use std::cmp::Ordering;
use std::collections::BTreeMap;

impl Case<'_> {
    /// Notes what was not read of these.
    pub(super) fn unread(&mut self, counters: &[Counter]) {
        for counter in counters {
            for what in counter.missing(self) {
                self.unseen(what);
            }
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
        match self {
            Self::Itself | Self::Machines | Self::PoolMachines | Self::Nodes | Self::Requests => {
                let unread = case.index.ground.missing(self).into_iter();
                let words = |unread: Unread| format!("{}: {}", unread.what, unread.why);
                let own = unread.map(words);
                match self {
                    Self::Requests => own.chain(case.requests_of_unknown()).collect(),
                    _ => own.collect(),
                }
            }
            Self::ServerLogs => case.missing_logs(),
            Self::Host => case.missing_host().into_iter().collect(),
        }
    }
}

/// What stands beside a cause.
#[derive(Debug, Default)]
struct Beside {
    /// Loops and the like that it is a part of.
    remarks: Vec<Cause>,
    /// The words of others that tell it from another cause of the same name.
    says: Vec<String>,
}

/// The step at which it stopped, and why.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) stage: Stage,
    at: At,
    /// The text beside the step.
    step: String,
    pub(super) cause: Cause,
    /// The failure of the provider behind it.
    pub(super) failure: Option<FailureKind>,
    beside: Box<Beside>,
    pub(super) sentence: String,
    pub(super) next: Vec<String>,
    /// It is what the machine says of itself.
    is_claim: bool,
    /// It says two things, or stands beside what does.
    is_doubtful: bool,
    /// What could say otherwise.
    against: Vec<Counter>,
    proof: Option<Box<Proof>>,
}

impl Case<'_> {
    /// The words of a row, beside a sentence of another.
    fn words(&mut self, row: Row, told: &str) -> (Option<Cause>, Words, Vec<String>) {
        let metadata = self.subject.metadata();
        let told = row.told(vec![
            ("name", self.name.to_owned()),
            ("object", self.object()),
            ("namespace", metadata.namespace.clone()),
            ("own", metadata.name.clone()),
            ("told", told.to_owned()),
        ]);
        told.1.unseen.iter().for_each(|what| self.unseen(what));
        told
    }

    /// The sentence of a row, without its full stop.
    pub(super) fn says(&mut self, row: Row) -> String {
        self.words(row, "").1.sentence
    }

    /// The finding that a row tells of, uncertain.
    pub(super) fn tell(&mut self, row: Row) -> Finding {
        let (cause, words, says) = self.words(row, "");
        let stage = words.stage.unwrap_or(Stage::Unknown);
        let cause = cause.unwrap_or(Cause::NotSeen);
        Finding {
            at: words.at.unwrap_or(stage.at()),
            beside: Box::new(Beside {
                remarks: Vec::new(),
                says,
            }),
            next: words.next,
            is_claim: words.claim,
            against: words.against,
            ..Finding::new(stage, cause, words.step, stopped(words.sentence))
        }
    }

    /// The finding, and what a row says beside it.
    pub(super) fn with(&mut self, mut finding: Finding, row: Row) -> Finding {
        let (cause, mut words, _) = self.words(row, &finding.sentence);
        finding.beside.remarks.extend(cause);
        finding.is_doubtful |= words.doubt;
        if !words.sentence.is_empty() {
            finding.sentence = stopped(words.sentence);
        }
        words.first.append(&mut finding.next);
        words.first.append(&mut words.next);
        Finding {
            stage: words.stage.unwrap_or(finding.stage),
            next: words.first,
            ..finding
        }
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
    /// An uncertain one.
    pub(super) fn new(
        stage: Stage,
        cause: Cause,
        step: impl Into<String>,
        sentence: String,
    ) -> Self {
        Self {
            stage,
            at: stage.at(),
            step: step.into(),
            cause,
            failure: None,
            beside: Box::default(),
            sentence,
            next: Vec::new(),
            is_claim: false,
            is_doubtful: false,
            against: Vec::new(),
            proof: None,
        }
    }

    /// What the machine says of itself, which nothing proves.
    pub(super) fn claim(
        stage: Stage,
        cause: Cause,
        step: impl Into<String>,
        sentence: String,
    ) -> Self {
        Self {
            is_claim: true,
            ..Self::new(stage, cause, step, sentence)
        }
    }

    /// The step at which it stopped, where that is another than its stage's.
    pub(super) fn at(self, at: At) -> Self {
        Self { at, ..self }
    }

    /// Names the failure of a provider that is behind it.
    pub(super) fn because(self, failure: Option<&Failure>) -> Self {
        let failure = failure.map(|failure| failure.cause);
        Self { failure, ..self }
    }

    /// Keeps words of others that tell its cause from another of the same name.
    pub(super) fn says(mut self, words: &str) -> Self {
        self.beside.says.push(words.to_owned());
        self
    }

    pub(super) fn next(mut self, what: impl Into<String>) -> Self {
        self.next.push(what.into());
        self
    }

    /// Tells if something could say otherwise, by which it can be proved.
    pub(super) fn is_provable(&self) -> bool {
        !self.against.is_empty()
    }

    pub(super) fn proof(&self) -> Option<&Proof> {
        self.proof.as_deref()
    }

    /// Makes it certain, unless it is doubtful: `by` says so, and what could say otherwise was read.
    pub(super) fn sure(self, case: &mut Case<'_>, by: impl Into<String>) -> Self {
        if self.is_doubtful {
            return self;
        }
        let against = self.against.clone();
        self.proved(case, by, &against)
    }

    /// Makes it certain: `by` says so, and each of `against`, which could say otherwise, was read.
    /// Where one was not, it stays uncertain, and that one is not seen.
    pub(super) fn proved(
        mut self,
        case: &mut Case<'_>,
        by: impl Into<String>,
        against: &[Counter],
    ) -> Self {
        let against: Vec<Counter> = against
            .iter()
            .copied()
            .filter(|counter| *counter != Counter::Host || case.has_host())
            .collect();
        case.unread(&against);
        let is_read = |counter: &Counter| counter.missing(case).is_empty();
        if !self.is_claim && !against.is_empty() && against.iter().all(is_read) {
            self.proof = Some(Box::new(Proof {
                by: by.into(),
                against: against.iter().map(|counter| counter.name()).collect(),
            }));
        }
        self
    }

    /// The same cause, as a part of a remark and its sentence, with what to do first.
    pub(super) fn retold(
        mut self,
        stage: Stage,
        remark: Cause,
        sentence: String,
        first: Option<String>,
    ) -> Self {
        self.beside.remarks.push(remark);
        Self {
            stage,
            sentence,
            next: first.into_iter().chain(self.next).collect(),
            ..self
        }
    }

    pub(super) fn remarks(&self) -> Vec<Cause> {
        self.beside.remarks.clone()
    }

    pub(super) fn name(&self) -> CauseName {
        let seen = CauseName::Seen(self.cause);
        self.failure.map_or(seen, CauseName::Failure)
    }

    /// The words that tell its cause from another of the same name: words of others, without the machine's own name
    /// and what is another's each time (ids, addresses, times).
    pub(super) fn key(&self, name: &str) -> Vec<String> {
        let says = self
            .beside
            .says
            .iter()
            .flat_map(|says| says.split_whitespace());
        let words = says.map(|word| word.replace(name, ""));
        words
            .filter(|word| word.len() < SHORT || !word.contains(|c: char| c.is_ascii_digit()))
            .collect()
    }

    fn mark(&self) -> Mark {
        if self.stage == Stage::Joined {
            Mark::Done
        } else if self.stage == Stage::Unknown {
            Mark::Unknown
        } else {
            Mark::Stopped
        }
    }

    /// The steps: those before are done where they were seen, or something later was; those behind
    /// were not reached.
    pub(super) fn steps(&self, known: &BTreeMap<At, String>) -> Vec<Step> {
        let step = |at: At| {
            let own = || known.get(&at).cloned().unwrap_or_default();
            let is_seen = self.stage == Stage::Joined || known.range(at..).next().is_some();
            let (mark, text) = match at.cmp(&self.at) {
                Ordering::Less if is_seen => (Mark::Done, own()),
                // Without the agent nobody looks at the boot image.
                Ordering::Less if at == At::LetIn && !self.is_claim => {
                    (Mark::Unknown, "no report of skewguard".to_owned())
                }
                Ordering::Less => (Mark::Unknown, own()),
                Ordering::Equal => (self.mark(), self.step.clone()),
                Ordering::Greater => (Mark::NotReached, own()),
            };
            Step {
                name: at.name(),
                mark,
                text,
            }
        };
        At::all().map(step).collect()
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
const LONGEST: usize = 300;

/// Words before the cause, in long errors of Azure.
const CODES: [&str; 2] = ["ERROR CODE: ", "Code="];

/// A text of somebody else as the end of a sentence: of one that is cut the cause.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    let behind = |code: &str| Some(text.split_once(code)?.1);
    let cause = behind("\"message\": \"").and_then(|message| message.split('"').next());
    let cause = cause.or_else(|| CODES.into_iter().find_map(behind));
    let text = match cause.filter(|_| text.len() > LONGEST) {
        Some(cause) => crate::text::cut(&format!("...{cause}"), LONGEST),
        None => crate::text::cut(text, LONGEST),
    };
    stopped(text)
}
