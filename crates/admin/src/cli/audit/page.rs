//! What all forms of the audit share: verdicts in a word, the head, the remedies, and lines that
//! are broken at spaces only (pure).

use crate::audit::{BootImageAudit, KnownBy, SetAudit};
use crate::verdict::BootImageStatus;
use std::collections::BTreeMap;

/// The verdict on a set, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    Refused,
    /// The version of its image is unknown.
    Unknown,
    /// The version is known, but no limit could be applied.
    Undecided,
    Allowed,
}

impl Word {
    pub(super) fn of(set: &SetAudit) -> Self {
        match (set.would_be_refused(), set.would_be_allowed(), set.known_by) {
            (true, _, _) => Self::Refused,
            (_, true, _) => Self::Allowed,
            (_, _, KnownBy::Unknown) => Self::Unknown,
            _ => Self::Undecided,
        }
    }

    /// In a text, where what needs attention is in capitals.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Refused => "REFUSED",
            Self::Unknown => "UNKNOWN",
            Self::Undecided => "UNDECIDED",
            Self::Allowed => "allowed",
        }
    }

    pub(super) fn lower(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Undecided => "undecided",
            Self::Allowed => "allowed",
        }
    }

    /// The class of HTML elements.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unknown | Self::Undecided => "unknown",
            Self::Allowed => "allowed",
        }
    }

    /// The SGR parameters of its colour.
    fn colour(self) -> &'static str {
        match self {
            Self::Refused => "1;31",
            Self::Unknown | Self::Undecided => "33",
            Self::Allowed => "32",
        }
    }
}

/// Where the text is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// The terminal's columns; `None` where it is no terminal.
    pub(crate) columns: Option<usize>,
    pub(crate) colour: bool,
}

/// Columns of prose where no terminal says how many it has.
const WIDTH: usize = 100;

/// Columns before the text of an item.
const INDENT: usize = 11;

pub(super) struct Page {
    pub(super) out: String,
    style: Style,
}

impl Page {
    pub(super) fn new(style: Style) -> Self {
        Self {
            out: String::new(),
            style,
        }
    }

    /// Columns of prose.
    fn width(&self) -> usize {
        self.style.columns.unwrap_or(WIDTH).clamp(40, WIDTH)
    }

    /// The terminal's columns; `None` where there is none, and lines may have any length.
    pub(super) fn columns(&self) -> Option<usize> {
        self.style.columns
    }

    /// A line as it is, however long: what is copied.
    pub(super) fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Prose, broken at spaces.
    pub(super) fn prose(&mut self, text: &str) {
        for line in fill(text, self.width()) {
            self.line(&line);
        }
    }

    /// A name, and beside it a text, broken at spaces.
    pub(super) fn item(&mut self, name: &str, text: &str) {
        for (n, line) in fill(text, self.width() - INDENT).iter().enumerate() {
            let name = if n == 0 { name } else { "" };
            self.line(&format!("  {name:<9}{line}"));
        }
    }

    /// The word of a verdict in `width` columns.
    pub(super) fn word(&self, word: Word, width: usize) -> String {
        let text = word.text();
        if self.style.colour {
            format!("\x1b[{}m{text:<width$}\x1b[0m", word.colour())
        } else {
            format!("{text:<width$}")
        }
    }
}

/// Breaks `text` at spaces into lines of at most `width` columns. A longer word has a line of its
/// own, and is never broken: names, fields and images are there to be copied.
pub(super) fn fill(text: &str, width: usize) -> Vec<String> {
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
pub(super) fn head(audit: &BootImageAudit) -> Vec<(&'static str, String)> {
    let origin = audit.origin.as_ref();
    let policy = audit.policy.as_ref();
    let mode = policy
        .and_then(|policy| policy.mode.as_deref())
        .unwrap_or("unknown");
    let policy = policy.map_or("none", |policy| &policy.path);
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
            origin.and_then(|origin| origin.cluster_id.clone()),
        ),
        ("server", server),
        ("read at", origin.map(|origin| origin.time.clone())),
        ("release", Some(release.to_owned())),
        (
            "policy",
            Some(format!("{policy} (mode {mode}), judged as if it enforced")),
        ),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

/// How many of the refused sets need which remedy, by platform.
pub(super) fn remedies(audit: &BootImageAudit) -> BTreeMap<(&str, &str), usize> {
    let mut remedies = BTreeMap::new();
    for set in audit.sets.iter().filter(|set| set.would_be_refused()) {
        if let Some(remedy) = &set.remedy {
            let platform = set.platform.as_deref().unwrap_or("other");
            *remedies.entry((platform, remedy.as_str())).or_default() += 1;
        }
    }
    remedies
}

/// How many sets of unknown version each way makes known.
pub(super) fn clues(audit: &BootImageAudit) -> BTreeMap<&str, usize> {
    let mut clues = BTreeMap::new();
    for clue in audit.sets.iter().filter_map(|set| set.to_know.as_deref()) {
        *clues.entry(clue).or_default() += 1;
    }
    clues
}

/// `411.86.202308081056-0 (RHEL 8.6, OCP 4.11)`
pub(super) fn shown(image: &BootImageStatus) -> String {
    let systems = image.systems().join(", ");
    let systems = if systems.is_empty() {
        "says no release"
    } else {
        &systems
    };
    format!("{} ({systems})", image.version)
}

/// `text` in HTML and SVG: as the content of an element or of a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::fill;

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
}
