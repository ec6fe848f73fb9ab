//! The terminal that a text is shown on: colours, columns, and lines that are broken at spaces only
//! (pure).

use super::screen::Screen;
use crate::audit::BootImageAudit;
use crate::cli::audit::conclusion::{Conclusion, Readiness, Word};
use crate::cli::audit::later::Later;
use anstyle::Style;

/// The place where the text is shown.
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

    /// The lines of each row, whose columns stand below each other after `indent`. On a terminal
    /// that is too narrow what follows the first cell has a line of its own: no name is broken.
    pub(in crate::cli::audit) fn table<const N: usize>(
        self,
        indent: usize,
        rows: &[[String; N]],
    ) -> Vec<Vec<String>> {
        let mut widths = [0; N];
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let all = indent + widths.iter().map(|width| width + 2).sum::<usize>() - 2;
        let line = |skip: usize, row: &[String; N], margin: usize| {
            let cells = row.iter().zip(widths).skip(skip);
            let cells: Vec<String> = cells
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            format!("{}{}", " ".repeat(margin), cells.join("  ").trim_end())
        };
        let lines = |row: &[String; N]| match (self.columns, row.first()) {
            (Some(columns), Some(first)) if all > columns => {
                vec![first.clone(), line(1, row, indent + 2)]
            }
            _ => vec![line(0, row, 0)],
        };
        rows.iter().map(lines).collect()
    }

    /// The room for a page. One line is the prompt's.
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
    pub(in crate::cli::audit) fn conclusion(
        self,
        conclusion: &Conclusion,
        audit: Option<&BootImageAudit>,
    ) -> Vec<String> {
        let word = match conclusion.readiness {
            Readiness::Ready => Word::Allowed,
            Readiness::NotReady => Word::Refused,
            Readiness::NotKnown => Word::Unknown,
        };
        let said = self.prose(0, &conclusion.sentence);
        let said = said.iter().map(|line| self.styled(word.style(), line));
        let next = format!("Next: {}", conclusion.next_above(audit));
        // A command is copied: it is not broken.
        said.chain(conclusion.later.as_ref().map(Later::line))
            .chain((!conclusion.next.is_empty()).then_some(next))
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_row_fits_the_terminal() {
        let rows = [["SET", "NODES"], ["c1-worker", "2/3"]].map(|row| row.map(str::to_owned));
        let table = |columns| {
            let terminal = Terminal {
                columns,
                ..Terminal::default()
            };
            terminal.table(4, &rows).concat()
        };
        let wide = ["SET        NODES", "c1-worker  2/3"];
        assert_eq!(table(None), wide);
        assert_eq!(table(Some(20)), wide);
        let narrow = ["SET", "      NODES", "c1-worker", "      2/3"];
        assert_eq!(table(Some(19)), narrow);
    }
}
