//! Texts that people read, whichever command says it: the terminal, its pages, Markdown, and words of a
//! shell (pure, but for the terminal's own size).

pub(crate) mod blocks;
pub(crate) mod markdown;
pub(crate) mod shell;
pub(crate) mod template;
pub(crate) mod terminal;
