//! URLs in messages of others, without what may be secret (pure).

use url::Url;

/// The longest message that is looked at, in bytes.
const MAX: usize = 64 << 10;

/// A message whose URLs have no user, password, query or fragment.
pub fn without_secrets(text: &str) -> String {
    let mut ends = (0..=MAX.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end));
    let mut rest = text.get(..end.unwrap_or_default()).unwrap_or_default();
    let mut out = String::with_capacity(rest.len());
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at);
        let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-');
        let begin = before.trim_end_matches(is_of_scheme).len();
        let end = after.len() - url_length(after).map_or(0, |length| after.len() - length);
        let (own, behind) = after.split_at(end);
        let (head, scheme) = before.split_at(begin);
        out.push_str(head);
        out.push_str(&plain(&format!("{scheme}{own}")));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// The length of a URL that goes on with `://`: to a space or a quote. A quote in a password is none, so
/// that what has an `@` behind it goes on.
fn url_length(text: &str) -> Option<usize> {
    let word = text.find(char::is_whitespace).unwrap_or(text.len());
    let word = text.get(..word)?;
    let ends = |c: char| matches!(c, '"' | '\'' | '<' | '>' | '`');
    let user = word.rfind('@').unwrap_or(0);
    let end = word
        .get(user..)?
        .find(ends)
        .map_or(word.len(), |at| user + at);
    let word = word.get(..end)?;
    Some(
        word.trim_end_matches([',', '.', ';', ':', ')', ']', '}'])
            .len(),
    )
}

/// A URL without user, password, query and fragment; what is no URL to the end of its host.
fn plain(text: &str) -> String {
    let is_bare = !text.contains(['@', '?', '#']);
    if is_bare {
        return text.to_owned();
    }
    let Ok(mut url) = Url::parse(text) else {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let rest = rest.rsplit('@').next().unwrap_or_default();
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        return format!("{scheme}://{rest}");
    };
    // What cannot have a user has none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn urls_lose_user_password_and_query() {
        for (text, wanted) in [
            (
                "failed (url: http://deploy:S3cret@10.9.9.20/rhcos.qcow2?token=abc, checksum: 1): 404",
                "failed (url: http://10.9.9.20/rhcos.qcow2, checksum: 1): 404",
            ),
            (
                "get https://a.example.com/x: EOF",
                "get https://a.example.com/x: EOF",
            ),
            (
                "\"https://u:p'a\"s@h.example.com:8443/x?y=1#z\" and more",
                "\"https://h.example.com:8443/x\" and more",
            ),
            (
                "redfish-virtualmedia+https://root:calvin@10.9.9.9/redfish/v1",
                "redfish-virtualmedia+https://10.9.9.9/redfish/v1",
            ),
            ("no ://x@y", "no ://y"),
            ("https://[::1:bad@h/x?q", "https://h/x"),
            ("a http://b@c http://d@e", "a http://c/ http://e/"),
            ("", ""),
        ] {
            assert_eq!(without_secrets(text), wanted, "{text}");
        }
        let long = format!("x://a:b@{}", "c".repeat(1 << 20));
        assert!(!without_secrets(&long).contains("a:b"));
    }
}
