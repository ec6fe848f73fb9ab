//! Lines of the journal, made fit for a cluster: printable, bounded, and without credentials
//! (pure).

use crate::text::printable_up_to;

/// Most lines that are kept.
const LINES_MAX: usize = 5;

/// Longest line, in characters.
const LINE_MAX: usize = 200;

/// How much of a longer line's beginning is kept; the rest is of its end.
const HEAD: usize = 80;

/// Longest part of a line that is looked at, in characters.
const SCAN_MAX: usize = 4096;

/// Stands for what was cut out.
const CUT: &str = "[cut]";

/// What stands before a credential: `KEY=...`, `"KEY":...`, `--KEY ...`.
const KEYS: &[&str] = &[
    "auth",
    "auths",
    "authorization",
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "credential",
    "credentials",
    "apikey",
    "api-key",
    "cookie",
    "identitytoken",
    "creds",
];

/// What follows `password:` and `token:` in messages and is not a value: `auth token: invalid
/// username/password: unauthorized: ...` (containers/image).
const NO_VALUES: &[&str] = &["authentication", "denied", "invalid", "unauthorized"];

/// Shorter words are no credentials of the kind that [`is_opaque`] looks for.
const OPAQUE_MIN: usize = 32;

/// The last lines of a journal, the newest last.
pub(crate) fn lines(journal: &str) -> Vec<String> {
    let mut last: Vec<&str> = journal
        .lines()
        .rev()
        .filter(|line| !line.trim().is_empty())
        .take(LINES_MAX)
        .collect();
    last.reverse();
    last.into_iter().map(line).collect()
}

fn line(text: &str) -> String {
    let text: String = text.chars().take(SCAN_MAX).collect();
    let mut out: Vec<String> = Vec::new();
    let mut is_secret = false;
    for word in text.split_whitespace() {
        if std::mem::take(&mut is_secret) && !NO_VALUES.contains(&word.trim_end_matches(':')) {
            // `Authorization: Bearer TOKEN`: the scheme is no secret, what comes after it is.
            is_secret = is_scheme(word);
            out.push(if is_secret { word } else { CUT }.to_owned());
            continue;
        }
        let (kept, next) = without_value(word);
        is_secret = next || is_scheme(word);
        out.push(without_opaque(&without_url_parts(&kept)));
    }
    let line = printable_up_to(&out.join(" "), SCAN_MAX);
    let Some(tail) = line.len().checked_sub(LINE_MAX - HEAD - 3) else {
        return line;
    };
    // Printable text is ASCII. Programs wrap errors: what failed comes first, why comes last.
    match (line.get(..HEAD), line.get(tail..)) {
        (Some(head), Some(tail)) if line.len() > LINE_MAX => format!("{head}...{tail}"),
        _ => line,
    }
}

/// `Bearer`, `Basic` and `Negotiate` of an `Authorization` header (RFC 9110).
fn is_scheme(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    ["bearer", "basic", "negotiate"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Cuts what comes after a key of [`KEYS`] to the end of the word. The flag says that the value is
/// the next word.
fn without_value(word: &str) -> (String, bool) {
    let is_key = |text: &str| {
        let name = text.trim_end_matches(['"', '\'', '\\', ']', ')']);
        let start = name
            .rfind(|c: char| !c.is_ascii_alphanumeric())
            .map_or(0, |at| at + 1);
        let lower = name.get(start..).unwrap_or_default().to_ascii_lowercase();
        KEYS.iter().any(|key| lower == *key)
            || ["password", "token", "secret"]
                .iter()
                .any(|key| lower.ends_with(key))
    };
    for (at, _) in word.match_indices(['=', ':']) {
        let (before, after) = word.split_at(at + 1);
        let is_url = after.starts_with("//");
        if is_url || !is_key(before.get(..at).unwrap_or_default()) {
            continue;
        }
        let value = after.trim_matches(['"', '\'', '\\', '=', ':']);
        return if value.is_empty() {
            (word.to_owned(), true)
        } else {
            (format!("{before}{CUT}"), false)
        };
    }
    (word.to_owned(), word.starts_with('-') && is_key(word))
}

/// Cuts user, password and query out of a URL, and `user:password` before an `@`.
fn without_url_parts(word: &str) -> String {
    let (scheme, rest) = match word.find("://") {
        Some(at) => word.split_at(at + 3),
        None => ("", word),
    };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(host_end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) if !scheme.is_empty() || user.contains(':') => format!("{CUT}@{host}"),
        _ => authority.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, _)) => format!("{path}?{CUT}"),
        None => path.to_owned(),
    };
    format!("{scheme}{authority}{path}")
}

/// Cuts base64 and hexadecimal text that says nothing to a person. The digest of an image stays.
fn without_opaque(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut rest = word;
    while !rest.is_empty() {
        let in_run = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
        let length = rest.find(|c| !in_run(c)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(length);
        if is_opaque(run) && !(out.ends_with("sha256:") && is_hex(run)) {
            out.push_str(CUT);
        } else {
            out.push_str(run);
        }
        let step = after.chars().next().map_or(0, char::len_utf8);
        let (separator, after) = after.split_at(step);
        out.push_str(separator);
        rest = after;
    }
    out
}

fn is_hex(run: &str) -> bool {
    run.len() == 64 && run.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether this is a token rather than a path or a name: long, and either of mixed case, or of
/// hexadecimal digits only, or a JWT.
fn is_opaque(run: &str) -> bool {
    let any = |test: fn(&u8) -> bool| run.bytes().any(|byte| test(&byte));
    let mixed = any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase);
    let digits_only = run.bytes().all(|byte| byte.is_ascii_hexdigit());
    run.starts_with("eyJ") && run.len() > 8
        || run.len() >= OPAQUE_MIN
            && (mixed || digits_only || any(|byte| matches!(byte, b'+' | b'=')))
}
