//! Texts that people read, whichever command says it: the terminal, its pages, Markdown, YAML, and
//! words of a shell (pure, but for the terminal's own size).

pub(crate) mod blocks;
pub(crate) mod markdown;
pub(crate) mod shell;
pub(crate) mod template;
pub(crate) mod terminal;

use serde::Serialize;

/// YAML, for people, with a line end.
pub(crate) fn yaml(document: &impl Serialize) -> String {
    let mut out = String::new();
    let options =
        serde_saphyr::ser_options! { compact_list_indent: false, folded_wrap_chars: usize::MAX };
    // Strings, numbers, lists and structs always serialise.
    let _ = serde_saphyr::to_fmt_writer_with_options(&mut out, document, options);
    out
}
