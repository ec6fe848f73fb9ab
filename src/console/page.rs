//! Lines that fit on a terminal of 80 columns, whatever text goes into them (pure).

use crate::text::{cut, wrap};

/// Columns that are used: one less than a terminal has, because some wrap as soon as the last one
/// is written.
const COLUMNS: usize = 79;

/// Limit of a page's lines, with its last empty one. A terminal has 24, and below the message are the
/// original `/etc/issue`, which on RHCOS is a few lines, and the login prompt.
pub(super) const LINES: usize = 20;

/// Columns of a label, with the gap after it.
const LABEL: usize = 8;

/// Columns of the text after a label.
pub(super) const TEXT: usize = COLUMNS - LABEL;

/// The program that prints the page, and so what has to be escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Printer {
    /// agetty(8): a backslash starts an escape.
    Agetty,
    /// pam_motd(8), a terminal or the kernel log: bytes are printed as they are.
    Plain,
}

#[derive(Debug)]
pub(super) struct Page {
    printer: Printer,
    lines: Vec<String>,
    /// Lines that paragraphs may have beside their own.
    spare: usize,
}

impl Page {
    pub(super) fn new(printer: Printer) -> Self {
        Self::with_spare(printer, 0)
    }

    pub(super) fn with_spare(printer: Printer, spare: usize) -> Self {
        Self {
            printer,
            lines: Vec::new(),
            spare,
        }
    }

    /// Adds one line from the left margin, cut if it is too long.
    pub(super) fn line(&mut self, text: &str) {
        self.push(&cut(&ascii(text), COLUMNS));
    }

    /// Adds a paragraph of at most `most` lines and the spare ones, with its label in a column of
    /// its own. Without a label it continues the one above.
    pub(super) fn item(&mut self, label: &str, text: &str, most: usize) {
        let lines = paragraph(text, TEXT, most + self.spare);
        self.spare -= lines.len().saturating_sub(most);
        for (n, line) in lines.iter().enumerate() {
            let label = if n == 0 { label } else { "" };
            self.push(&format!("{label:LABEL$}{line}"));
        }
    }

    /// Adds a paragraph if a line is spare.
    pub(super) fn extra(&mut self, label: &str, text: &str) {
        if self.spare > 0 {
            self.item(label, text, 0);
        }
    }

    /// Adds a labelled line with agetty escapes. It must be short enough for whatever they become.
    pub(super) fn item_of_escapes(&mut self, label: &str, text: &'static str) {
        self.lines.push(format!("{label:LABEL$}{text}"));
    }

    /// Lines that are left.
    pub(super) fn room(&self) -> usize {
        LINES.saturating_sub(self.lines.len())
    }

    /// The text: at most [`LINES`] lines, each with a line end.
    pub(super) fn finish(mut self) -> String {
        self.lines.truncate(LINES);
        self.lines
            .iter()
            .flat_map(|line| [line.as_str(), "\n"])
            .collect()
    }

    fn push(&mut self, line: &str) {
        let line = line.trim_end();
        self.lines.push(match self.printer {
            Printer::Agetty => line.replace('\\', "\\\\"),
            Printer::Plain => line.to_owned(),
        });
    }
}

/// Replaces whatever is not printable ASCII. A verdict's texts should be printable, but one may
/// have been read from a file.
pub(super) fn ascii(text: &str) -> String {
    text.chars()
        .map(|c| if matches!(c, ' '..='~') { c } else { '?' })
        .collect()
}

/// Breaks `text` into at most `most` lines of `width` characters. A cut is marked with `...`.
fn paragraph(text: &str, width: usize, most: usize) -> Vec<String> {
    // Text beyond what fills `most` lines and one more is never shown.
    let text: String = ascii(text).chars().take((width + 1) * (most + 1)).collect();
    let mut lines = wrap(&text, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = cut(
                &format!("{last} {}", ".".repeat(width)),
                width.min(last.len() + 4),
            );
        }
    }
    lines
}
