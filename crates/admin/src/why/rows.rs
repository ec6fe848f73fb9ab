//! Rows of what is told (pure): `causes.yaml` has their words; the code says which row, and what fills its
//! holes.

use super::ground::Counter;
use super::way::{At, Stage};
use crate::forms::shell::word;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use skewguard_cluster::kinds::ignition_specs::Spec;
use skewguard_cluster::moment::Moment;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::LazyLock;

/// The words of a row.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Words {
    /// Its name for scripts, where that is another than the row's, or it has no stage.
    pub(super) cause: String,
    /// None has what is said beside another row.
    pub(super) stage: Option<Stage>,
    /// The step, where that is another than its stage's.
    pub(super) at: Option<At>,
    /// The text beside the step.
    pub(super) step: String,
    pub(super) sentence: String,
    /// Things to do before those of the row that it stands beside.
    pub(super) first: Vec<String>,
    pub(super) next: Vec<String>,
    /// What could settle it.
    pub(super) unseen: Vec<String>,
    /// What could say otherwise.
    pub(super) against: Vec<Counter>,
    /// The machine's own word, which nothing proves.
    pub(super) claim: bool,
    /// Whether it stopped there is not known.
    pub(super) open: bool,
    /// It says two things, and which of them is not known.
    pub(super) doubt: bool,
    /// What is to be done names a certificate request.
    pub(super) request: bool,
    /// What is to be done names a host.
    pub(super) host: bool,
    /// Holes that tell it from another of the same cause, also beside one.
    pub(super) key: Vec<String>,
}

static ROWS: LazyLock<BTreeMap<String, Words>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("causes.yaml")).unwrap_or_default());

/// Holes by their names, and what fills them: nothing is known of one that is empty.
type Holes = Vec<(&'static str, String)>;

/// A row by its name, and its holes.
pub(super) struct Row(pub(super) &'static str, pub(super) Holes);

/// A row: `row!(Name hole, other = value)`.
macro_rules! row {
    (@ $hole:ident) => { $crate::why::rows::Hole::text(&$hole) };
    (@ $hole:ident $value:expr) => { $crate::why::rows::Hole::text(&$value) };
    ($name:ident $($hole:ident $(= $value:expr)?),*) => {
        $crate::why::rows::Row(
            stringify!($name),
            vec![$((stringify!($hole), $crate::why::rows::row!(@ $hole $($value)?))),*],
        )
    };
}
pub(super) use row;

/// What fills a hole; of what is not, or not so, nothing is known.
pub(super) trait Hole {
    fn text(&self) -> String;
}

impl<T: Hole + ?Sized> Hole for &T {
    fn text(&self) -> String {
        (**self).text()
    }
}

impl<T: Hole> Hole for Option<T> {
    fn text(&self) -> String {
        self.as_ref().map(Hole::text).unwrap_or_default()
    }
}

impl Hole for bool {
    fn text(&self) -> String {
        self.then(|| "yes".to_owned()).unwrap_or_default()
    }
}

macro_rules! holes {
    ($($of:ty),*) => {$(
        impl Hole for $of {
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
holes!(str, String, u8, u16, usize, IpAddr, Moment, Spec);

/// A thing that was seen, or a remark about it.
// One of `causes.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[schemars(transform = describe)]
pub(crate) struct Cause(pub(super) &'static str);

impl Words {
    /// The cause of a row of this name; `None` where it only stands beside one.
    fn cause(&'static self, name: &'static str) -> Option<Cause> {
        match &*self.cause {
            "" => self.stage.map(|_| Cause(name)),
            own => Some(Cause(own)),
        }
    }
}

impl Row {
    /// The cause that it is of.
    pub(super) fn cause(&self) -> Option<Cause> {
        ROWS.get(self.0)?.cause(self.0)
    }

    /// Its words, and the words of others that tell it from another of its name in place of their holes.
    pub(super) fn told(self, own: Holes) -> Words {
        let Self(name, mut holes) = self;
        holes.extend(own);
        let mut words = ROWS.get(name).cloned().unwrap_or_default();
        for text in [&mut words.step, &mut words.sentence] {
            *text = fill(text, &holes);
        }
        for texts in [&mut words.first, &mut words.next, &mut words.unseen] {
            texts.iter_mut().for_each(|text| *text = fill(text, &holes));
            texts.retain(|text| !text.is_empty());
        }
        let is_key = |hole: &str| words.key.iter().any(|key| key == hole);
        holes.retain(|(hole, _)| is_key(hole));
        words.key = holes.into_iter().map(|(_, value)| value).collect();
        words
    }
}

/// A text with its holes filled.
fn fill(text: &str, holes: &[(&str, String)]) -> String {
    let mut filled = Filled {
        holes,
        text: String::new(),
        is_command: false,
    };
    filled.add(text);
    filled.text
}

struct Filled<'a> {
    holes: &'a [(&'a str, String)],
    text: String,
    /// It is between two backticks.
    is_command: bool,
}

impl<'a> Filled<'a> {
    /// Adds a text. `{?x …}` is said where something is known of x, `{!x …}` where nothing is; a hole of a command is
    /// one word of it.
    fn add(&mut self, text: &str) {
        let mut rest = text;
        while let Some((plain, behind)) = rest.split_once('{') {
            self.add_plain(plain);
            let inner = up_to_brace(behind);
            rest = behind.get(inner.len() + 1..).unwrap_or_default();
            let part = |sign| {
                inner
                    .strip_prefix(sign)
                    .and_then(|part: &str| part.split_once(' '))
            };
            match (part('?'), part('!'), self.value(inner)) {
                (Some((hole, more)), ..) if self.is_known(hole) => self.add(more),
                (_, Some((hole, more)), _) if !self.is_known(hole) => self.add(more),
                (None, None, Some(value)) if self.is_command => self.text += &word(value),
                (None, None, Some(value)) => self.text += value,
                (None, None, None) => {
                    self.text.push('{');
                    self.add(inner);
                    self.text.push('}');
                }
                _ => {}
            }
        }
        self.add_plain(rest);
    }

    fn add_plain(&mut self, text: &str) {
        self.is_command ^= text.matches('`').count() % 2 == 1;
        self.text += text;
    }

    fn value(&self, hole: &str) -> Option<&'a str> {
        let mut all = self.holes.iter();
        all.find(|(name, _)| *name == hole)
            .map(|(_, value)| &**value)
    }

    fn is_known(&self, hole: &str) -> bool {
        self.value(hole).is_some_and(|value| !value.is_empty())
    }
}

/// The text up to the brace that closes it.
fn up_to_brace(text: &str) -> &str {
    let mut depth = 1;
    let is_end = |c: char| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    };
    let end = text.find(is_end).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Gives the name of each cause its row's sentence as its description.
fn describe(schema: &mut Schema) {
    let causes = ROWS.iter().filter_map(|(name, words)| words.cause(name));
    let about = |Cause(name)| {
        let sentence = ROWS.get(name).map_or("", |words| &words.sentence);
        json!({ "const": name, "description": shown(sentence) })
    };
    let causes: BTreeSet<Cause> = causes.collect();
    let variants = causes.into_iter().map(about).collect();
    schema.insert("oneOf".to_owned(), Value::Array(variants));
}

/// A text with the names of its holes in capitals: three dots are another row's sentence.
fn shown(text: &str) -> String {
    let name = |hole: &str| match hole {
        "told" | "begin" | "silence" => "...".to_owned(),
        hole => hole.to_uppercase(),
    };
    let holes: Vec<_> = holes_of(text).map(|hole| (hole, name(hole))).collect();
    let mut spaced = String::new();
    for c in text.chars() {
        if c == '{' && spaced.ends_with(|last: char| last.is_alphanumeric() || last == '}') {
            spaced.push(' ');
        }
        spaced.push(c);
    }
    let words = fill(&spaced, &holes);
    let words: Vec<&str> = words.split_whitespace().collect();
    words
        .join(" ")
        .replace(" .", ".")
        .replace(" ,", ",")
        .replace(" :", ":")
        .replace("....", "...")
}

/// The names of the holes of a text.
fn holes_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|part| {
        let part = part.trim_start_matches(['?', '!']);
        let (name, _) = part.split_once(['}', ' '])?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase());
        is_name.then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holes of each row, which the subject fills.
    const OWN: [&str; 9] = [
        "name",
        "object",
        "namespace",
        "own",
        "told",
        "silence",
        "silent",
        "joined",
        "which",
    ];

    fn texts(words: &Words) -> impl Iterator<Item = &str> {
        let one = [&words.step, &words.sentence].into_iter();
        let all = one.chain(&words.first).chain(&words.next);
        all.chain(&words.unseen).map(String::as_str)
    }

    #[test]
    fn each_row_has_words_and_each_hole_is_filled() {
        let rows: BTreeMap<String, Words> =
            serde_saphyr::from_str(include_str!("causes.yaml")).unwrap();
        let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/why")).unwrap();
        let mut told = BTreeSet::new();
        for source in sources {
            let path = source.unwrap().path();
            if path.ends_with("rows.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for call in text.split("row!(").skip(1) {
                let (name, filled) = row_of(call);
                let words = rows
                    .get(name)
                    .unwrap_or_else(|| panic!("{path:?}: no row {name}"));
                let keys = words.key.iter().map(String::as_str);
                let wanted = texts(words).flat_map(holes_of).chain(keys);
                let wanted = wanted.filter(|hole| !OWN.contains(hole));
                assert_eq!(wanted.collect::<BTreeSet<_>>(), filled, "{path:?}: {name}");
                told.insert(name.to_owned());
            }
        }
        assert_eq!(told, rows.into_keys().collect());
    }

    /// The name of a row in the code, and the holes that are filled there.
    fn row_of(call: &str) -> (&str, BTreeSet<&str>) {
        let (mut depth, mut begin, mut parts) = (0, 0, Vec::new());
        for (at, c) in call.char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ',' | ')' if depth == 0 => {
                    parts.push(call[begin..at].trim());
                    begin = at + 1;
                }
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
            if c == ')' && begin == at + 1 {
                break;
            }
        }
        let first = parts.remove(0);
        let (name, hole) = first.split_once(' ').unwrap_or((first, ""));
        let holes = parts.into_iter().chain([hole]);
        let names = holes.map(|hole| hole.split(' ').next().unwrap());
        (name, names.filter(|name| !name.is_empty()).collect())
    }

    /// Rows beside which another one with what to do always stands.
    const FOLLOWED: [&str; 14] = [
        "AskedUntilAnswered",
        "AuthorityExpired",
        "FirstBootRepeats",
        "InstanceNotMadeByState",
        "InstanceNotMadeSilently",
        "MachineFailed",
        "MayBeInFirstBoot",
        "NodeNotReady",
        "NothingSinceConfig",
        "PerhapsAuthorityExpired",
        "PerhapsUnknownAuthority",
        "RequestOfOtherName",
        "RequestPending",
        "UnknownAuthority",
    ];

    #[test]
    fn each_row_is_a_cause_with_a_next_step_or_stands_beside_one() {
        for (name, words) in ROWS.iter() {
            let own = words.cause(name);
            let is_seen = words.stage.is_some() && !words.sentence.contains("{told}");
            if is_seen {
                assert!(!words.step.is_empty() && words.first.is_empty(), "{name}");
                let is_helped = words.stage == Some(Stage::Joined) || FOLLOWED.contains(&&**name);
                assert!(
                    is_helped != words.next.iter().any(|next| !next.starts_with("{?")),
                    "{name}: {:?}",
                    words.next
                );
            } else {
                // A part of another's sentence has no more than that.
                let is_part = !words.sentence.is_empty() && !words.sentence.contains("{told}");
                let is_beside = words.first.len() + words.next.len() + words.unseen.len() > 0;
                assert!(!is_part || own.is_none() && !is_beside, "{name}");
                assert!(words.step.is_empty(), "{name}");
            }
            for next in words.first.iter().chain(&words.next) {
                assert!(!next.ends_with('.'), "{name}: {next}");
            }
        }
    }

    #[test]
    fn the_docs_have_each_row() {
        let mut page = include_str!("causes.md").to_owned();
        for (name, words) in ROWS.iter().filter(|(_, words)| words.stage.is_some()) {
            let Cause(cause) = words.cause(name).unwrap();
            let next = words.first.iter().chain(&words.next);
            let next = next.map(|next| shown(next));
            let next: Vec<String> = next.filter(|next| !next.is_empty()).collect();
            let cell = |text: &str| text.replace('|', r"\|");
            page += &format!(
                "| {cause} | {} | {} |\n",
                cell(&shown(&words.sentence)),
                cell(&next.join("; "))
            );
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dev/causes.md");
        if std::env::var_os("SKEWGUARD_BLESS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), page);
    }

    #[test]
    fn a_hole_is_filled_once_and_quoted_in_a_command() {
        let holes = [("a", "{b} c".to_owned()), ("b", String::new())];
        for (text, wanted) in [
            ("{a}, `oc get {a}`, {a}", "{b} c, `oc get '{b} c'`, {b} c"),
            (
                "x{?a  of {a}}{?b  and {b}}{!b  alone}.",
                "x of {b} c alone.",
            ),
            (r#"`-p '{"a":{"b":{a}}}'`"#, r#"`-p '{"a":{"b":'{b} c'}}'`"#),
            ("{d} {", "{d} {}"),
        ] {
            assert_eq!(fill(text, &holes), wanted);
        }
    }
}
