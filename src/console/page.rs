//! Lines that hold on a terminal of 80 columns, whatever goes into them (pure).

use crate::text::{cut, wrap};

/// Columns used. One less than a terminal has, because some wrap when the last one is written.
const COLUMNS: usize = 79;

/// Lines of a page, its closing empty line included. A terminal has 24; below the message stand what was in `/etc/issue` before, which on
/// RHCOS is one line of its own and some of console-login-helper-messages, and the login prompt.
pub(super) const LINES: usize = 20;

/// Columns of a label and the gap behind it.
const LABEL: usize = 8;

/// Columns of the text behind a label.
pub(super) const TEXT: usize = COLUMNS - LABEL;

/// What prints the page, hence what has to be escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Printer {
    /// agetty(8): a backslash starts an escape.
    Agetty,
    /// pam_motd(8), a terminal, the kernel log: bytes as they are.
    Plain,
}

#[derive(Debug)]
pub(super) struct Page {
    printer: Printer,
    lines: Vec<String>,
}

impl Page {
    pub(super) fn new(printer: Printer) -> Self {
        Self { printer, lines: Vec::new() }
    }

    /// One line from the left margin, cut where it is too long.
    pub(super) fn line(&mut self, text: &str) {
        self.push(&cut(&ascii(text), COLUMNS));
    }

    /// A labelled paragraph, at most `most` lines, the text in its own column. Without a label it continues the one above.
    pub(super) fn item(&mut self, label: &str, text: &str, most: usize) {
        for (n, line) in paragraph(text, TEXT, most).iter().enumerate() {
            let label = if n == 0 { label } else { "" };
            self.push(&format!("{label:LABEL$}{line}"));
        }
    }

    /// A labelled line of our own with agetty escapes, which are not neutralised. It has to be short enough whatever they become.
    pub(super) fn item_of_escapes(&mut self, label: &str, text: &'static str) {
        self.lines.push(format!("{label:LABEL$}{text}"));
    }

    /// The text, at most [`LINES`] lines, each ended.
    pub(super) fn finish(mut self) -> String {
        self.lines.truncate(LINES);
        self.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }

    fn push(&mut self, line: &str) {
        let line = line.trim_end();
        self.lines.push(match self.printer {
            Printer::Agetty => line.replace('\\', "\\\\"),
            Printer::Plain => line.to_owned(),
        });
    }
}

/// Replaces whatever is not printable ASCII. The verdict's texts are printable already; one read back from a file need not be.
pub(super) fn ascii(text: &str) -> String {
    text.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).collect()
}

/// `text` in at most `most` lines of `width` characters; what does not fit is cut, marked.
fn paragraph(text: &str, width: usize, most: usize) -> Vec<String> {
    // Enough to fill the lines and to be seen to overflow; the rest is not looked at.
    let text: String = ascii(text).chars().take((width + 1) * (most + 1)).collect();
    let mut lines = wrap(&text, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = cut(&format!("{last} {}", ".".repeat(width)), width.min(last.len() + 4));
        }
    }
    lines
}
