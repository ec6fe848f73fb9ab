//! The terminal that a text is shown on: its size, colours, and lines that are broken at spaces
//! only (pure, but for [`Terminal::of_stdout`]).

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use std::io::IsTerminal;

/// The place where a text is shown.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    pub columns: usize,
    pub colour: bool,
}

/// Columns where nothing says how many there are.
const COLUMNS: usize = 80;

/// The fewest columns that lines are broken for.
const LEAST: usize = 60;

/// The fewest columns of a name that others stand beside.
const LEAST_NAME: usize = 20;

/// Columns of prose: longer lines are hard to read.
const LONGEST: usize = 120;

impl Default for Terminal {
    fn default() -> Self {
        Self {
            columns: COLUMNS,
            colour: false,
        }
    }
}

impl Terminal {
    /// The terminal that standard output is. `COLUMNS` comes before its own size. Colour
    /// is used only on a terminal, and not if `NO_COLOR` is set (<https://no-color.org>).
    pub fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        let size = stdout
            .is_terminal()
            .then(terminal_size::terminal_size)
            .flatten();
        let told = std::env::var("COLUMNS")
            .ok()
            .and_then(|told| told.parse().ok());
        let columns = told.or(size.map(|(columns, _)| columns.0.into()));
        Self {
            columns: columns.filter(|columns| *columns > 0).unwrap_or(COLUMNS),
            colour: AutoStream::choice(&stdout) != ColorChoice::Never,
        }
    }

    /// Columns of prose.
    pub(crate) fn width(self) -> usize {
        self.columns.clamp(LEAST, LONGEST)
    }

    /// A text behind `lead`, broken at spaces; each line but the first after `hang` columns.
    pub(crate) fn text(self, lead: &str, hang: usize, text: &str) -> Vec<String> {
        let margin = " ".repeat(hang);
        let mut lines = vec![lead.to_owned()];
        let mut is_first = true;
        for word in words(text) {
            match lines.last_mut() {
                Some(line) if is_first => *line += word,
                Some(line) if line.len() + 1 + word.len() <= self.width() => {
                    line.extend([" ", word]);
                }
                _ => lines.push(format!("{margin}{word}")),
            }
            is_first = false;
        }
        lines
    }

    /// Prose, each line after `indent` columns; no line where there is none.
    pub(crate) fn prose(self, indent: usize, text: &str) -> Vec<String> {
        if text.is_empty() {
            return Vec::new();
        }
        self.text(&" ".repeat(indent), indent, text)
    }

    /// Prose. A command at its end has a line of its own, as a shell takes it.
    pub(crate) fn advice(self, lead: &str, hang: usize, text: &str) -> Vec<String> {
        let parts = text.strip_suffix('`').and_then(|text| {
            let (what, command) = text.rsplit_once(": `")?;
            // An odd number of backticks would leave a command open.
            (what.matches('`').count() % 2 == 0).then_some((what, command))
        });
        let Some((what, command)) = parts else {
            return self.text(lead, hang, text);
        };
        let mut lines = self.text(lead, hang, &format!("{what}:"));
        lines.push(format!("{}{command}", " ".repeat(hang + 2)));
        lines
    }

    /// The lines of each row, whose columns stand below each other. A name that has no room before
    /// them has a line of its own. Where the terminal is too narrow all go on below the first cell,
    /// `indent` columns and two in: nothing is broken. The first line of all stands behind `indent`
    /// columns of the caller's.
    pub(crate) fn table<const N: usize>(
        self,
        indent: usize,
        rows: &[[String; N]],
    ) -> Vec<Vec<String>> {
        let mut widths = [0; N];
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.len());
            }
        }
        // The columns at which a line begins, and the room behind what stands there.
        let room = widths.iter().filter(|width| **width > 0);
        let all: usize = indent + room.map(|width| width + 2).sum::<usize>();
        let most = self.columns.max(LEAST) + 2;
        let own = widths.first().copied().unwrap_or_default();
        let left = (most + own).saturating_sub(all);
        let is_narrow = all > most && left < LEAST_NAME;
        if let Some(name) = widths.first_mut().filter(|_| !is_narrow) {
            *name = left.min(own);
        }
        let mut begins = [false; N];
        let mut at = indent;
        for (n, (begin, width)) in begins.iter_mut().zip(widths).enumerate() {
            *begin =
                n == 1 && is_narrow || at + width > self.columns.max(LEAST) && n > 1 && width > 0;
            if *begin {
                at = indent + 2;
            }
            at += width + 2;
        }
        let lines = |row: &[String; N]| {
            // A name of several words is broken between them.
            let too_long = |(name, width): &(&String, usize)| is_narrow || name.len() > *width;
            let name = row.iter().zip(widths).next().filter(too_long);
            let mut lines = match name {
                Some((name, _)) => self.prose(indent, name),
                None => vec![String::new()],
            };
            if let Some((_, width)) = name.filter(|_| !is_narrow) {
                lines.push(" ".repeat(indent + width + 2));
            }
            let cells = row.iter().zip(widths).zip(begins);
            for ((cell, width), begin) in cells.skip(usize::from(name.is_some())) {
                if begin {
                    lines.push(" ".repeat(indent + 2));
                }
                if let Some(line) = lines.last_mut() {
                    *line += &format!("{cell:<width$}  ");
                }
            }
            if let Some(first) = lines.first_mut() {
                *first = first.trim_start().to_owned();
            }
            let lines = lines.iter().map(|line| line.trim_end().to_owned());
            lines.collect()
        };
        rows.iter().map(lines).collect()
    }

    pub(crate) fn styled(self, style: Style, text: &str) -> String {
        if self.colour {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// The words of a text. A command, which stands between backticks, is one of them, with what adheres
/// to it: it is there to be copied.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let mut is_command = false;
        let end = rest.find(|c: char| {
            is_command ^= c == '`';
            c.is_whitespace() && !is_command
        });
        // One without an end is no command.
        let end = match end {
            None if is_command => rest.find(char::is_whitespace),
            end => end,
        };
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(columns: usize) -> Terminal {
        Terminal {
            columns,
            ..Terminal::default()
        }
    }

    #[test]
    fn what_is_copied_is_never_broken() {
        let field =
            "spec.template.machines_v1beta1_machine_openshift_io.spec.providerSpec.value.ami.id";
        assert_eq!(
            terminal(20).prose(1, &format!("set {field} to `oc get x`.")),
            [" set", &format!(" {field}"), " to `oc get x`."]
        );
        assert_eq!(words("a `b c` (`d e`), f"), ["a", "`b c`", "(`d e`),", "f"]);
        assert_eq!(words("a `b c"), ["a", "`b", "c"]);
        assert_eq!(words(" "), [""; 0]);
    }

    #[test]
    fn a_command_at_the_end_has_its_own_line() {
        assert_eq!(
            terminal(60).advice("- ", 2, "Look at it: `oc get csr -w`"),
            ["- Look at it:", "    oc get csr -w"]
        );
        assert_eq!(terminal(60).advice("- ", 2, "`a`: b `c`"), ["- `a`: b `c`"]);
    }

    #[test]
    fn a_row_fits_the_terminal() {
        let long = "x".repeat(40);
        let rows = [["SET", "IMAGE", "NODES"], ["c1", &long, "2/3"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let table = |columns| terminal(columns).table(10, &rows).concat().join("\n");
        assert_eq!(
            table(64),
            format!("SET  IMAGE{}  NODES\nc1   {long}  2/3", " ".repeat(35))
        );
        assert_eq!(
            table(61),
            format!(
                "SET\n            IMAGE{}  NODES\nc1\n            {long}  2/3",
                " ".repeat(35)
            )
        );
        let named = [["SET", "IMAGE"], ["c1", "4.12"], [&long, "4.13"]];
        let named = named.map(|row| row.map(str::to_owned));
        assert_eq!(
            terminal(60).table(30, &named).concat().join("\n"),
            format!(
                "SET{0}  IMAGE\nc1{0}   4.12\n{long}\n{1}4.13",
                " ".repeat(20),
                " ".repeat(55)
            )
        );
        let narrow = "x".repeat(50);
        let rows = rows.map(|row| row.map(|cell| cell.replace(&long, &narrow)));
        assert_eq!(
            terminal(60).table(10, &rows).concat().last().unwrap(),
            "            2/3"
        );
    }
}
