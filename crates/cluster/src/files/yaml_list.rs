//! YAML as `oc get -o yaml` and `oc adm inspect` write it, in pieces (pure).
//!
//! All nodes of a large cluster are one list of a hundred MB. A piece is small, so each is parsed by
//! itself, with the bounds of one object. Text that is written in another way stays one piece.

/// A part of a text that is a YAML document of its own, and how many lines are before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    pub text: &'a str,
    pub line: usize,
}

/// A list: what is around the items, and each of these with its dash.
#[derive(Debug, PartialEq, Eq)]
pub struct List<'a> {
    pub around: String,
    pub items: Vec<Piece<'a>>,
}

/// The documents of a text. Three dashes at the start of a line begin one, whatever is around them
/// (YAML 1.2.2, 9.1.1).
pub fn documents(text: &str) -> Vec<Piece<'_>> {
    let mut documents = Vec::new();
    let (mut start, mut start_line, mut has_content) = (0, 0, false);
    for (n, at, line) in lines(text) {
        let is_mark = matches!(line.strip_prefix("---"), Some(rest) if rest.trim_end().is_empty() || rest.starts_with([' ', '\t']));
        if is_mark && has_content {
            documents.extend(piece(text, start, at, start_line));
            (start, start_line) = (at, n);
        }
        // Directives belong to the document after them.
        has_content |= is_mark || !(is_blank(line) || line.starts_with('%'));
    }
    documents.extend(piece(text, start, text.len(), start_line));
    documents
}

/// The list in a document; `None` where it is none, or not written line by line.
pub fn list(document: Piece<'_>) -> Option<List<'_>> {
    let mut list = List {
        around: String::new(),
        items: Vec::new(),
    };
    let mut indent = None;
    // Where the item began that is not complete, and at which line.
    let mut open: Option<(usize, usize)> = None;
    let mut place = Place::Before;
    let item = |(start, line), end| piece(document.text, start, end, document.line + line);
    for (n, at, line) in lines(document.text) {
        let depth = line.len() - line.trim_start_matches(' ').len();
        let rest = line.get(depth..).unwrap_or_default();
        let is_dash = rest.trim_end() == "-" || rest.starts_with("- ");
        if place == Place::Items && !is_blank(line) {
            let indent = *indent.get_or_insert(depth);
            if depth == indent && is_dash {
                let end = open.replace((at, n));
                list.items.extend(end.and_then(|begin| item(begin, at)));
                continue;
            }
            if depth > indent && open.is_some() {
                continue;
            }
            if depth > 0 || is_dash {
                return None;
            }
            let end = open.take();
            list.items.extend(end.and_then(|begin| item(begin, at)));
            place = Place::After;
        } else if place == Place::Items {
            continue;
        }
        // What follows the end of a document is another one.
        if line.trim_end() == "..." {
            return None;
        }
        let is_items = line
            .strip_prefix("items:")
            .is_some_and(|rest| rest.trim().is_empty());
        if is_items && place == Place::Before {
            place = Place::Items;
        } else if line.starts_with("items:") {
            return None;
        }
        list.around.push_str(line);
    }
    let end = open.take();
    let last = end.and_then(|begin| item(begin, document.text.len()));
    list.items.extend(last);
    (place != Place::Before && !list.items.is_empty()).then_some(list)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Items,
    After,
}

impl Piece<'_> {
    /// An item without its dash.
    pub fn without_dash(self) -> String {
        self.text.replacen('-', " ", 1)
    }
}

fn piece(text: &str, start: usize, end: usize, line: usize) -> Option<Piece<'_>> {
    let text = text.get(start..end)?;
    Some(Piece { text, line })
}

/// Each line with its end: its number from 0, where it begins, itself.
fn lines(text: &str) -> impl Iterator<Item = (usize, usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n')
        .enumerate()
        .map(move |(n, line)| {
            let start = at;
            at += line.len();
            (n, start, line)
        })
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Option<Vec<(&str, usize)>> {
        let [document] = documents(text)[..] else {
            panic!("{text}")
        };
        let list = list(document)?;
        Some(
            list.items
                .iter()
                .map(|item| (item.text, item.line))
                .collect(),
        )
    }

    #[test]
    fn a_list_is_taken_apart_however_it_is_indented() {
        for (text, wanted) in [
            (
                "---\napiVersion: v1\nitems:\n- a: 1\n  b: |\n    - x\n\n    items:\n- a: 2\nkind: List\n",
                Some(vec![
                    ("- a: 1\n  b: |\n    - x\n\n    items:\n", 3),
                    ("- a: 2\n", 8),
                ]),
            ),
            (
                "items:\r\n  -\r\n    a: 1\r\n# c\r\n  - a: 2",
                Some(vec![("  -\r\n    a: 1\r\n# c\r\n", 1), ("  - a: 2", 4)]),
            ),
            ("kind: List\nitems: [{a: 1}]\n", None),
            ("kind: List\nitems: []\n", None),
            ("items:\nkind: List\n", None),
            ("items:\n- a: 1\nitems:\n- a: 2\n", None),
            ("items:\n  a: 1\n", None),
            ("items:\n- a: 1\n...\nkind: Node\n", None),
            ("kind: Node\nspec:\n  items:\n  - a\n", None),
        ] {
            assert_eq!(items(text), wanted, "{text}");
        }
    }

    #[test]
    fn the_rest_of_a_list_stays_together() {
        let text = "apiVersion: v1\nitems:\n- a: 1\n\nkind: List\nmetadata: {}\n";
        let list = list(documents(text)[0]).unwrap();
        assert_eq!(
            list.around,
            "apiVersion: v1\nitems:\nkind: List\nmetadata: {}\n"
        );
        assert_eq!(list.items[0].without_dash(), "  a: 1\n\n");
    }

    #[test]
    fn documents_begin_at_three_dashes() {
        let text = "# c\n%YAML 1.2\n---\na: |\n  ---\n--- # next\nb: ----\n---c: 1\n---\n";
        let found: Vec<_> = documents(text)
            .iter()
            .map(|piece| (piece.line, piece.text.len()))
            .collect();
        assert_eq!(found, [(0, 29), (5, 27), (8, 4)]);
    }
}
