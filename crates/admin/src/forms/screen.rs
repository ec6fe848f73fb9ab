//! A page that fits a screen: of its longest lists, the last items are counted instead of shown
//! (pure).

/// `least` of a list that is never cut.
pub(crate) const WHOLE: usize = usize::MAX;

/// A part of a page: what stands above, and a list.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) head: Vec<String>,
    pub(crate) items: Vec<Item>,
    /// What explains the list, below it.
    pub(crate) legend: Vec<String>,
    /// The name of the items, for the line that counts those that are not shown.
    pub(crate) what: &'static str,
    /// At least this many items are shown.
    pub(crate) least: usize,
    /// Items that are not shown.
    pub(crate) hidden: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Item {
    pub(crate) lines: Vec<String>,
    /// A text that is said once, below the last of the neighbours of which it is true.
    pub(crate) note: Vec<String>,
}

impl From<Vec<String>> for Item {
    fn from(lines: Vec<String>) -> Self {
        let note = Vec::new();
        Self { lines, note }
    }
}

/// The room for a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) rows: usize,
    /// Longer lines take several rows.
    pub(crate) columns: usize,
}

impl Screen {
    /// The rows that these lines take.
    pub(crate) fn height(self, lines: &[String]) -> usize {
        let rows = |line: &String| width(line).div_ceil(self.columns.max(1)).max(1);
        lines.iter().map(rows).sum()
    }
}

/// Columns of a line: those of its colours, between ESC and `m`, are none.
fn width(line: &str) -> usize {
    let mut parts = line.split('\x1b');
    let first = parts.next().map_or(0, |first| first.chars().count());
    let rest = parts.map(|part| {
        part.split_once('m')
            .map_or(0, |(_, text)| text.chars().count())
    });
    first + rest.sum::<usize>()
}

impl Block {
    /// Lines without a list, which are always shown.
    pub(crate) fn of(head: Vec<String>) -> Self {
        Self {
            head,
            least: 1,
            ..Self::default()
        }
    }

    fn is_empty(&self) -> bool {
        self.head.is_empty() && self.items.is_empty()
    }

    /// Hides the last items but for these.
    fn truncate(&mut self, shown: usize) {
        self.hidden += self.items.len().saturating_sub(shown);
        self.items.truncate(shown);
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = self.head.clone();
        let mut items = self.items.iter().peekable();
        while let Some(item) = items.next() {
            lines.extend_from_slice(&item.lines);
            if items.peek().is_none_or(|next| next.note != item.note) {
                lines.extend_from_slice(&item.note);
            }
        }
        lines.extend(match self.hidden {
            0 => None,
            1 => Some("... and 1 more: -o wide".to_owned()),
            hidden => Some(format!("... and {hidden} more {}: -o wide", self.what)),
        });
        lines.extend_from_slice(&self.legend);
        lines
    }
}

/// The blocks with a line between them, as far as they fit the screen: of the longest lists the last
/// items are counted; then blocks of which nothing has to be shown give way, the last one first;
/// then what explains a list;
/// then what has to be shown of a list is its first item; last, lines without a list give way, but
/// for the first block. `whole` is the command that shows all of it.
pub(crate) fn fit(mut blocks: Vec<Block>, screen: Option<Screen>, whole: &str) -> String {
    blocks.retain(|block| !block.is_empty());
    let mut gone = Vec::new();
    if let Some(screen) = screen {
        // An item has a line, at least.
        blocks
            .iter_mut()
            .for_each(|block| block.truncate(screen.rows.max(block.least)));
        while screen.height(&lines(&blocks, &gone, whole)) > screen.rows
            && shorten(&mut blocks, &mut gone, screen)
        {}
    }
    lines(&blocks, &gone, whole).join("\n") + "\n"
}

/// Hides an item or a part more; `false` where there is none.
fn shorten(blocks: &mut Vec<Block>, gone: &mut Vec<&'static str>, screen: Screen) -> bool {
    let longest = blocks
        .iter_mut()
        .filter(|block| block.items.len() > block.least.max(1))
        .max_by_key(|block| screen.height(&block.lines()));
    if let Some(block) = longest {
        block.truncate(block.items.len() - 1);
    } else if let Some(last) = blocks.iter().rposition(|block| block.least == 0) {
        gone.push(blocks.remove(last).what);
    } else if let Some(block) = blocks.iter_mut().find(|block| !block.legend.is_empty()) {
        block.legend.clear();
    } else if let Some(block) = blocks
        .iter_mut()
        .find(|block| (2..WHOLE).contains(&block.least))
    {
        block.least = 1;
    } else {
        let mut others = blocks.iter().skip(1);
        let Some(facts) = others.position(|block| block.items.is_empty()) else {
            return false;
        };
        gone.push(blocks.remove(facts + 1).what);
    }
    true
}

/// The lines of a page.
fn lines(blocks: &[Block], gone: &[&str], whole: &str) -> Vec<String> {
    let more = more(gone, whole).map(|more| vec![more]);
    let parts: Vec<Vec<String>> = blocks.iter().map(Block::lines).chain(more).collect();
    parts.join(&String::new())
}

/// The line that names what gave way, the first of it, and the command that shows it.
fn more(hidden: &[&str], whole: &str) -> Option<String> {
    let mut named = hidden.iter().rev().filter(|what| !what.is_empty()).copied();
    let mut first: Vec<&str> = named.by_ref().take(3).collect();
    first.extend(named.next().map(|_| "..."));
    match (hidden, &*first) {
        ([], _) => None,
        (_, []) => Some(format!("There is more: {whole}")),
        (_, first) => Some(format!("There is more ({}): {whole}", first.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(blocks: Vec<Block>, screen: Option<Screen>) -> String {
        super::fit(blocks, screen, "WHOLE")
    }

    fn block(items: usize) -> Block {
        let item = |n: usize| Item {
            lines: vec![format!("item {n}")],
            note: vec![format!("  note {}", n / 3)],
        };
        Block {
            head: vec!["HEAD".to_owned()],
            items: (0..items).map(item).collect(),
            what: "items",
            ..Block::default()
        }
    }

    fn screen(rows: usize) -> Screen {
        Screen { rows, columns: 80 }
    }

    fn end() -> Block {
        Block::of(vec!["end".to_owned()])
    }

    #[test]
    fn a_note_is_said_once_below_its_items() {
        assert_eq!(
            fit(vec![block(4)], None),
            "HEAD\nitem 0\nitem 1\nitem 2\n  note 0\nitem 3\n  note 1\n"
        );
    }

    #[test]
    fn the_longest_list_gives_way_first() {
        let text = fit(vec![block(200), block(2), end()], Some(screen(14)));
        assert_eq!(
            text,
            "HEAD\nitem 0\nitem 1\nitem 2\n  note 0\n... and 197 more items: -o wide\n\n\
             HEAD\nitem 0\nitem 1\n  note 0\n\nend\n"
        );
        assert!(text.lines().count() <= 14);
    }

    #[test]
    fn then_the_last_block_that_may() {
        let text = fit(vec![block(1), end(), block(1)], Some(screen(8)));
        assert_eq!(
            text,
            "HEAD\nitem 0\n  note 0\n\nend\n\nThere is more (items): WHOLE\n"
        );
        assert_eq!(fit(vec![end()], Some(screen(0))), "end\n");
    }

    #[test]
    fn nothing_is_hidden_for_a_line_that_says_so() {
        let whole = fit(vec![block(2)], None);
        assert_eq!(
            fit(vec![block(2)], Some(screen(whole.lines().count()))),
            whole
        );
    }

    #[test]
    fn what_has_to_be_shown_is_less_on_a_small_screen() {
        let sets = Block {
            least: 6,
            ..block(9)
        };
        let text = fit(vec![sets, end()], Some(screen(7)));
        assert_eq!(
            text,
            "HEAD\nitem 0\nitem 1\n  note 0\n... and 7 more items: -o wide\n\nend\n"
        );
    }

    #[test]
    fn the_first_block_stays_longest() {
        let facts = Block::of(vec!["a".to_owned(), "b".to_owned()]);
        let text = fit(vec![end(), facts, block(1)], Some(screen(4)));
        assert_eq!(text, "end\n\nThere is more (items): WHOLE\n");
    }

    /// A line of 24 columns on a screen of 10, in colour, is three rows.
    #[test]
    fn long_lines_take_several_rows() {
        let line = format!("\x1b[1m\x1b[31m{}\x1b[0m", "x".repeat(24));
        let narrow = Screen {
            rows: 5,
            columns: 10,
        };
        assert_eq!(narrow.height(&[line.clone(), String::new()]), 4);
        let lines = || Block {
            head: vec!["HEAD".to_owned()],
            items: (0..2)
                .map(|_| Item {
                    lines: vec![line.clone()],
                    note: Vec::new(),
                })
                .collect(),
            what: "items",
            least: 1,
            ..Block::default()
        };
        let text = fit(vec![lines()], Some(Screen { rows: 7, ..narrow }));
        assert_eq!(text.lines().count(), 3, "{text}");
        let text = fit(vec![lines()], Some(Screen { rows: 6, ..narrow }));
        assert!(text.contains("... and 1 more: -o wide"), "{text}");
    }
}
