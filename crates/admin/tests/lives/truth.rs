//! What is true of a machine, and what an answer is worth against it.

use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    Yes,
    /// It may be left out: nothing in the gather must name it.
    May,
    No,
}

/// One life. What is said of it has to fit.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    pub(super) fate: &'static str,
    /// What it may be listed as: the Machine, its host, its request.
    pub(super) names: Vec<String>,
    /// The words of JSON's `stage` that are true of it.
    pub(super) stages: Vec<&'static str>,
    /// Stages that may be true of it, too, and of which nothing is certain.
    pub(super) doubtful: Vec<&'static str>,
    /// Whether a whole gather has what tells it. Otherwise only this holds: never certain and wrong.
    pub(super) is_tellable: bool,
    /// Of each group one stands in the sentence that is right.
    pub(super) words: Vec<Vec<String>>,
    /// Of each group one stands there, or in what to do.
    pub(super) advice: Vec<Vec<String>>,
    /// What is false of it, in the sentence and in what to do.
    pub(super) lies: Vec<String>,
    /// Only a claim says it.
    pub(super) is_claimed: bool,
    /// What an Event alone says, in the sentence: never certain, since a joined node may write any.
    pub(super) by_event: Vec<String>,
    pub(super) listed: Listed,
}

impl Truth {
    pub(super) fn new(fate: &'static str, name: &str, stages: &[&'static str]) -> Self {
        Self {
            fate,
            names: vec![name.to_owned()],
            stages: stages.to_vec(),
            doubtful: Vec::new(),
            is_tellable: true,
            words: Vec::new(),
            advice: Vec::new(),
            lies: Vec::new(),
            is_claimed: false,
            by_event: Vec::new(),
            listed: Listed::Yes,
        }
    }

    pub(super) fn word(mut self, any: &[&str]) -> Self {
        self.words
            .push(any.iter().map(|word| (*word).to_owned()).collect());
        self
    }

    pub(super) fn advised(mut self, any: &[&str]) -> Self {
        self.advice
            .push(any.iter().map(|word| (*word).to_owned()).collect());
        self
    }

    pub(super) fn lie(mut self, any: &[&str]) -> Self {
        self.lies.extend(any.iter().map(|word| (*word).to_owned()));
        self
    }

    pub(super) fn perhaps(mut self, stage: &'static str) -> Self {
        self.doubtful.push(stage);
        self
    }

    pub(super) fn also(mut self, name: &str) -> Self {
        self.names.push(name.to_owned());
        self
    }

    /// The gather looks as another fate's does.
    pub(super) fn untold(mut self) -> Self {
        self.is_tellable = false;
        self
    }

    pub(super) fn claimed(mut self) -> Self {
        self.is_claimed = true;
        self
    }

    pub(super) fn by_event(mut self, words: &str) -> Self {
        self.by_event.push(words.to_owned());
        self
    }

    pub(super) fn listed(mut self, listed: Listed) -> Self {
        self.listed = listed;
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// Stage and cause.
    Told,
    /// The stage, without the cause.
    Stage,
    /// Another stage, and it says that it is not certain.
    Uncertain,
    /// Nothing is said of it.
    Silent,
    Wrong,
}

/// The answer's worth, and what is wrong with it.
pub(super) fn judge(
    truth: &Truth,
    answers: &[&Value],
    is_whole: bool,
    hides_machines: bool,
) -> (Worth, String) {
    if answers.is_empty() {
        return (Worth::Silent, String::new());
    }
    let mut best = (Worth::Silent, String::new());
    for answer in answers {
        let found = judge_one(truth, answer, is_whole);
        if found.0 == Worth::Wrong {
            return found;
        }
        if best.0 == Worth::Silent || found.0 < best.0 {
            best = found;
        }
    }
    // Whether it joined was not read then, and nothing is certain.
    if truth.listed == Listed::No && !hides_machines {
        return (
            Worth::Wrong,
            "it is listed and waits for nothing".to_owned(),
        );
    }
    best
}

fn judge_one(truth: &Truth, answer: &Value, is_whole: bool) -> (Worth, String) {
    let stage = answer["stage"].as_str().unwrap_or_default();
    let is_certain = answer["isCertain"] == true;
    let is_doubtful = !is_certain && truth.doubtful.contains(&stage);
    let is_right = truth.stages.contains(&stage) || is_doubtful;
    let sentence = answer["sentence"].as_str().unwrap_or_default();
    let next = answer["next"].as_array().cloned().unwrap_or_default();
    let cause = answer["cause"].as_str().unwrap_or_default();
    let said: Vec<&str> = [sentence, cause]
        .into_iter()
        .chain(next.iter().filter_map(Value::as_str))
        .collect();
    if is_certain && !is_right {
        return (Worth::Wrong, format!("certain of {stage}"));
    }
    if is_certain && truth.is_claimed {
        return (Worth::Wrong, "certain by a claim".to_owned());
    }
    let mut by_event = truth.by_event.iter();
    if is_certain && by_event.any(|words| contains(sentence, words)) {
        return (Worth::Wrong, "certain by an Event".to_owned());
    }
    for lie in &truth.lies {
        if (is_whole || is_certain) && said.iter().any(|text| contains(text, lie)) {
            return (Worth::Wrong, format!("it says {lie:?}"));
        }
    }
    if !is_right {
        return (Worth::Uncertain, format!("{stage}, not certain"));
    }
    let mut words = truth.words.iter();
    let missing = words.find(|group| !group.iter().any(|word| contains(sentence, word)));
    let is_said = |word: &String| said.iter().any(|text| contains(text, word));
    let mut advice = truth.advice.iter();
    let unadvised = advice.find(|group| !group.iter().any(is_said));
    match missing.or(unadvised) {
        Some(group) => (Worth::Stage, format!("without any of {group:?}")),
        None => (Worth::Told, String::new()),
    }
}

fn contains(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(&word.to_lowercase())
}
