//! A page in blocks: of a long list the last items are counted instead of shown (pure).

/// The most items of a list of which not all have to be seen.
const MOST: usize = 10;

/// A part of a page: what stands above, and a list.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) head: Vec<String>,
    pub(crate) items: Vec<Item>,
    /// Lines below the list that explain it.
    pub(crate) legend: Vec<String>,
    /// The name of the items, for the line that counts those that are not shown.
    pub(crate) what: &'static str,
    /// Every item has to be seen.
    pub(crate) is_whole: bool,
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

impl Block {
    /// Lines without a list.
    pub(crate) fn of(head: Vec<String>) -> Self {
        Self {
            head,
            ..Self::default()
        }
    }

    fn lines(mut self, is_whole: bool) -> Vec<String> {
        let all = self.items.len();
        let most = if is_whole || self.is_whole { all } else { MOST };
        let mut items = self.items.into_iter().take(most).peekable();
        let mut lines = self.head;
        while let Some(item) = items.next() {
            lines.extend(item.lines);
            if items.peek().is_none_or(|next| next.note != item.note) {
                lines.extend(item.note);
            }
        }
        lines.extend(match all.saturating_sub(most) {
            0 => None,
            1 => Some("... and 1 more: -o wide".to_owned()),
            hidden => Some(format!("... and {hidden} more {}: -o wide", self.what)),
        });
        lines.append(&mut self.legend);
        lines
    }
}

/// The lines of a page: the blocks, with a line between them.
pub(crate) fn page(blocks: Vec<Block>, is_whole: bool) -> String {
    let blocks = blocks.into_iter().map(|block| block.lines(is_whole));
    let parts: Vec<Vec<String>> = blocks.filter(|lines| !lines.is_empty()).collect();
    parts.join(&String::new()).join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(items: usize, is_whole: bool) -> Block {
        let item = |n: usize| Item {
            lines: vec![format!("item {n}")],
            note: vec![format!("  note {}", n / 3)],
        };
        Block {
            head: vec!["HEAD".to_owned()],
            items: (0..items).map(item).collect(),
            legend: vec!["legend".to_owned()],
            what: "items",
            is_whole,
        }
    }

    #[test]
    fn a_note_is_said_once_below_its_items() {
        let end = Block::of(vec!["end".to_owned()]);
        assert_eq!(
            page(vec![block(4, false), Block::default(), end], false),
            "HEAD\nitem 0\nitem 1\nitem 2\n  note 0\nitem 3\n  note 1\nlegend\n\nend\n"
        );
    }

    #[test]
    fn a_long_list_is_counted() {
        let text = |items| page(vec![block(items, false)], false);
        let end = |more| format!("item 9\n  note 3\n{more}legend\n");
        assert!(text(10).ends_with(&end("")));
        assert!(text(11).ends_with(&end("... and 1 more: -o wide\n")));
        assert!(text(12).ends_with(&end("... and 2 more items: -o wide\n")));
        for (own, all) in [(true, false), (false, true)] {
            let whole = page(vec![block(12, own)], all);
            assert!(whole.ends_with("item 11\n  note 3\nlegend\n"), "{whole}");
        }
    }
}
