//! The policy itself and `help`: everything but the limits.

use super::json::Place;
use super::{Lint, Mistake, across, fields, limit, words};
use crate::API_VERSION;
use crate::policy::parse::KIND;
use crate::policy::{MAX_LIMITS, fields as names};
use crate::text;

/// What surely fits into the two lines of 71 characters that a console has for `help`, wherever they break.
const CONSOLE_HELP: usize = 120;

pub(super) fn policy(lint: &mut Lint, whole: &Place<'_>) {
    const HELP: &str = "`skewguard policy init` writes a policy to start from";
    let Some(fields) = fields(lint, whole, names::POLICY, HELP) else { return };
    for (field, example) in [("apiVersion", format!("\"{API_VERSION}\"")), ("kind", format!("\"{KIND}\"")), ("mode", "\"Warn\"".to_owned())]
    {
        if fields.is_missing(field) {
            let message = format!("the required field {field} is missing");
            lint.error(whole, Mistake::MissingField, message, format!("add \"{field}\": {example}"));
        }
    }
    if let Some(value) = fields.get("apiVersion") {
        api_version(lint, value);
    }
    if let Some(value) = fields.get("kind") {
        let help = format!("write \"{KIND}\"");
        match value.read::<String>() {
            Some(kind) if kind == KIND => {}
            Some(_) => lint.error(value, Mistake::NotAPolicy, format!("the kind of a policy is \"{KIND}\""), help),
            None => lint.wrong_type(value, "a string", help),
        }
    }
    if let Some(value) = fields.get("mode") {
        words::one_of(lint, value, &["Enforce", "Warn", "None"], "Warn");
    }
    if let Some(value) = fields.get("onUndetermined") {
        words::one_of(lint, value, &["Proceed", "Refuse"], "Proceed");
        lint.refuses_undetermined = value.read::<String>().as_deref() == Some("Refuse");
    }
    if let Some(value) = fields.get("help") {
        help(lint, value);
    }
    const LIMITS: &str = "add \"limits\": [ { \"minimumOCPVersion\": \"4.13.0\", \"minimumRHCOSVersion\": \"9.2\" } ]";
    match fields.get("limits") {
        None if fields.is_missing("limits") => lint.error(whole, Mistake::MissingField, "the required field limits is missing", LIMITS),
        None => {}
        Some(limits) => match limits.items() {
            None => lint.wrong_type(limits, "an array", "write [ { ... } ]"),
            Some(items) if items.is_empty() => {
                lint.error(limits, Mistake::NoLimits, "there are no limits: no node is checked", LIMITS);
            }
            Some(items) => {
                if items.len() > MAX_LIMITS {
                    let message = format!("there are {} limits: a node reads at most {MAX_LIMITS}, and no policy with more", items.len());
                    lint.error(limits, Mistake::TooLarge, message, "join limits for several pools, or leave out old releases");
                }
                let read: Vec<_> = items.iter().map(|item| limit::limit(lint, item)).collect();
                across::limits(lint, limits, &read);
            }
        },
    }
}

fn api_version(lint: &mut Lint, value: &Place<'_>) {
    let help = format!("write \"{API_VERSION}\"");
    let Some(written) = value.read::<String>() else {
        return lint.wrong_type(value, "a string", help);
    };
    if written == API_VERSION {
        return;
    }
    let group = API_VERSION.split_once('/').map(|(group, _)| group);
    if written.split_once('/').map(|(group, _)| group) == group {
        let message = format!("{} is not known to this version of skewguard: it reads what it understands and never blocks", value.shown());
        lint.warning(value, Mistake::OtherVersion, message, format!("{help}, or check it with the skewguard that it is written for"));
    } else {
        lint.error(value, Mistake::NotAPolicy, format!("{} is no API version of skewguard", value.shown()), help);
    }
}

fn help(lint: &mut Lint, value: &Place<'_>) {
    let Some(fields) = fields(lint, value, names::HELP, "write { \"text\": \"...\", \"url\": \"https://...\" }") else { return };
    let length = |field: &str| fields.get(field).and_then(Place::read::<String>).map_or(0, |text| text.chars().count());
    let both = length("text") + length("url");
    if both > CONSOLE_HELP {
        let message = format!("text and url have {both} characters; a console has room for about {CONSOLE_HELP} and cuts the end off");
        lint.warning(value, Mistake::NotPlainText, message, "say it shorter, and leave the rest to the page behind the URL");
    }
    if let Some(value) = fields.get("text") {
        plain_text(lint, value, "a string");
    }
    if let Some(value) = fields.get("url") {
        plain_text(lint, value, "a string");
        let is_url =
            |url: String| ["https://", "http://"].iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        if !value.read().is_none_or(is_url) {
            let message = format!("{} is not an http or https URL", value.shown());
            lint.warning(value, Mistake::NotAUrl, message, "write it whole, with https:// in front");
        }
    }
}

/// Text that a console shows.
pub(super) fn plain_text(lint: &mut Lint, value: &Place<'_>, want: &str) {
    let Some(written) = value.read::<String>() else {
        return lint.wrong_type(value, want, "put it in double quotes");
    };
    if written.chars().any(|c| c == '\\' || !matches!(c, ' '..='~')) {
        let shown = text::printable(&written, 60);
        let message = format!("consoles show plain ASCII only; it will read \"{shown}\"");
        lint.warning(value, Mistake::NotPlainText, message, "use printable ASCII characters on one line, without backslashes");
    }
    if written.chars().count() > text::WORD_MAX {
        let message = format!("only the first {} characters are kept", text::WORD_MAX);
        lint.warning(value, Mistake::NotPlainText, message, "shorten it");
    }
}
