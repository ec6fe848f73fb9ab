//! Templates of pages in which nothing that was read is markup (pure).

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior};

/// Templates in which each text is escaped, but for what a filter made: that is markup.
pub(crate) fn templates(escape: fn(&str) -> String) -> Result<Environment<'static>, Error> {
    let mut templates = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    templates.set_syntax(syntax);
    templates.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    // What a macro wrote is markup, too.
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    templates.set_formatter(move |out, _, value| {
        let text = value.to_string();
        let text = if value.is_safe() { text } else { escape(&text) };
        Ok(out.write_str(&text)?)
    });
    Ok(templates)
}
