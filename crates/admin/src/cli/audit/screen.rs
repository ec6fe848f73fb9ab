//! A page that fits a screen: of its longest lists, the last items are counted instead of shown
//! (pure).

/// A part of a page: what stands above, and a list.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) head: Vec<String>,
    pub(super) items: Vec<Item>,
    /// What the items are, for the line that counts those that are not shown.
    pub(super) what: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) lines: Vec<String>,
    /// What is said once, below the last of the neighbours of which it is true.
    pub(super) note: Vec<String>,
}

impl Block {
    /// Lines without a list.
    pub(super) fn of(head: Vec<String>) -> Self {
        Self {
            head,
            ..Self::default()
        }
    }

    /// The lines, with the first `shown` items.
    fn lines(&self, shown: usize) -> Vec<String> {
        let mut lines = self.head.clone();
        let mut items = self.items.iter().take(shown).peekable();
        while let Some(item) = items.next() {
            lines.extend_from_slice(&item.lines);
            if items.peek().is_none_or(|next| next.note != item.note) {
                lines.extend_from_slice(&item.note);
            }
        }
        let hidden = self.items.len().saturating_sub(shown);
        if hidden > 0 {
            lines.push(format!("... and {hidden} more {}: -o wide", self.what));
        }
        lines
    }
}

/// The blocks with a line between them, in at most `rows` lines as far as the first item of each
/// list fits.
pub(super) fn fit(blocks: &[Block], rows: Option<usize>) -> String {
    let blocks: Vec<&Block> = blocks
        .iter()
        .filter(|block| !block.head.is_empty() || !block.items.is_empty())
        .collect();
    // An item has a line, at least.
    let most = rows.unwrap_or(usize::MAX);
    let mut shown: Vec<usize> = blocks
        .iter()
        .map(|block| block.items.len().min(most))
        .collect();
    let mut sizes: Vec<usize> = blocks
        .iter()
        .zip(&shown)
        .map(|(block, shown)| block.lines(*shown).len())
        .collect();
    let between = blocks.len().saturating_sub(1);
    while rows.is_some_and(|rows| sizes.iter().sum::<usize>() + between > rows) {
        let longest = shown
            .iter_mut()
            .zip(&mut sizes)
            .zip(&blocks)
            .filter(|((shown, _), _)| **shown > 1)
            .max_by_key(|((_, size), _)| **size);
        let Some(((shown, size), block)) = longest else {
            break;
        };
        *shown -= 1;
        *size = block.lines(*shown).len();
    }
    let texts: Vec<String> = blocks
        .iter()
        .zip(&shown)
        .map(|(block, shown)| block.lines(*shown).join("\n") + "\n")
        .collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(items: usize) -> Block {
        let item = |n: usize| Item {
            lines: vec![format!("item {n}")],
            note: vec![format!("  note {}", n / 3)],
        };
        Block {
            head: vec!["HEAD".to_owned()],
            items: (0..items).map(item).collect(),
            what: "items",
        }
    }

    #[test]
    fn a_note_is_said_once_below_its_items() {
        assert_eq!(
            fit(&[block(4)], None),
            "HEAD\nitem 0\nitem 1\nitem 2\n  note 0\nitem 3\n  note 1\n"
        );
    }

    #[test]
    fn the_longest_list_gives_way_first() {
        let text = fit(
            &[block(200), block(2), Block::of(vec!["end".to_owned()])],
            Some(14),
        );
        assert_eq!(
            text,
            "HEAD\nitem 0\nitem 1\nitem 2\n  note 0\n... and 197 more items: -o wide\n\n\
             HEAD\nitem 0\nitem 1\n  note 0\n\nend\n"
        );
        assert!(text.lines().count() <= 14);
    }

    #[test]
    fn nothing_is_hidden_for_a_line_that_says_so() {
        let whole = fit(&[block(2)], None);
        assert_eq!(fit(&[block(2)], Some(whole.lines().count())), whole);
    }
}
