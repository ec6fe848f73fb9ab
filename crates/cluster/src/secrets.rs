//! Texts of others, without what may be secret (pure): the door that each of them enters by.
//!
//! URLs lose user, password, query and fragment. What a message says behind a key, a header or an option that
//! holds secrets is hidden, and so are tokens that are known by their form. A scrubber is never finished: these
//! are the shapes that errors of clouds, hosts and registries have. Names of Secrets, images, digests and reasons
//! stay, for they are the cause.

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;
use url::Url;

/// The text in the place of a secret.
const HIDDEN: &str = "(hidden)";

/// The longest message that is looked at, in bytes.
const MAX: usize = 64 << 10;

/// The end of a key whose value is a secret.
const KEY: &str = r"(?P<key>(?i-u:passw(?:or)?d|passphrase|(?:\b|_)(?:pass|pwd|sig|signature)|client[_ -]?secret|secret|token|auth(?:orization)?|credentials?|(?:api|private|secret|access|account|shared)[_ -]?key|key[_-]?data))";

/// A value between quotes, be they escaped, or a word.
const VALUE: &str = r#"(?:\\"(?P<escaped>[^"\\]*)|"(?P<double>(?:\\.|[^"\\])*)|'(?P<single>[^']*)|(?P<word>[^ \t\r\n"'\\&{\[][^ \t\r\n"'\\&]*))"#;

/// Beginnings of tokens that are known by their form: of GitHub, GitLab, Slack, Vault, Docker, Google, npm, age, and
/// of AWS for a session.
const STARTS: [&str; 20] = [
    "gho_",
    "ghp_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "hvs.",
    "hvb.",
    "dckr_pat_",
    "AIza",
    "ya29.",
    "npm_",
    "AGE-SECRET-KEY-",
    "IQoJb3JpZ2luX2Vj",
    "FwoGZXIvYXdz",
    "FQoGZXIvYXdz",
];

/// Words of which each key has one.
const KEYS: &[&str] = &[
    "pass",
    "pwd",
    "sig",
    "secret",
    "token",
    "auth",
    "credential",
    "key",
];

/// Shapes of secrets: what a text with one has in small letters, and which of the values found so are one.
const SHAPES: [(&[&str], &str, IsSecret); 14] = [
    (
        &["private key-----"],
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?P<word>(?s:.)*?)(?:-----END|\z)",
        always,
    ),
    // OAuth tokens of the cluster; JSON in base64: web tokens, pull secrets.
    (
        &["sha256~", "eyj"],
        r"(?P<word>sha256~[A-Za-z0-9_-]{4,}|eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,4})",
        always,
    ),
    (
        &[""],
        r"\b(?P<word>(?:<START>)[A-Za-z0-9_./+=-]{6,})",
        always,
    ),
    // What AWS says to those who may decode it, of the account.
    (
        &["failure message:"],
        r"(?i-u:encoded authorization failure message): *(?P<word>[A-Za-z0-9_-]+)",
        always,
    ),
    (
        &["cookie:"],
        r#"(?i-u:cookie): *(?P<word>[^\r\n"']+)"#,
        always,
    ),
    (&["</"], r"<[^<>]*<KEY>[^<>/]*>(?P<word>[^<>]+)</", always),
    // `//u:p@host`, without what makes it a URL, and curl's `-u u:p`.
    (
        &["//"],
        r#"//[^ \t\r\n/@:"'<>]*:(?P<word>[^ \t\r\n/@"'<>]+)@"#,
        always,
    ),
    (
        &["-u ", "--user "],
        r#"(?:^|[ \["'])(?:-u|--user) +["']?[^ \t\r\n:"']+:(?P<word>[^ \t\r\n/"'][^ \t\r\n"']*)"#,
        always,
    ),
    // An AWS key with its ID, which is none.
    (
        &["akia", "asia"],
        r"(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9]+(?P<word>[A-Za-z0-9/+]{40})",
        always,
    ),
    (
        &["bearer ", "basic ", "negotiate "],
        r"(?i-u:Bearer|Basic|Negotiate) +(?P<word>[A-Za-z0-9+/._~-]{6,}=*)",
        |found| !found.is_plain_word(),
    ),
    // ipmitool's `-P x` and `-Px`, and `--password x`.
    (
        &["-p"],
        r#"(?:^|[ \["'])-P *(?P<word>[^ \t\r\n"'-][^ \t\r\n"']*)"#,
        always,
    ),
    (
        &["--"],
        r#"--[A-Za-z-]*<KEY>[ ",]+(?P<word>[^ \t\r\n"'-][^ \t\r\n"']*)"#,
        |found| found.is_no_name(),
    ),
    // `password "x"`.
    (
        &["passw", "passphrase"],
        r#"(?P<key>(?i-u:passw(?:or)?d|passphrase)) +\\?["'](?P<word>[^"'\\]+)"#,
        always,
    ),
    // JSON, `key=value`, and `key: value`, which may as well be an error about the key.
    (
        KEYS,
        r#"<KEY>(?P<sign>\\?["'][ \t]*[:=]|[ \t]?=|:)[ \t]*<VALUE>"#,
        |found| {
            let is_sure = !found.is_prose || found.is_quoted || found.is_random();
            is_sure && found.is_no_name() && !is_switch(found.value)
        },
    ),
];

type IsSecret = fn(&Found) -> bool;

static PATTERNS: LazyLock<Vec<(&[&str], Regex, IsSecret)>> = LazyLock::new(|| {
    let compiled = SHAPES.iter().filter_map(|(words, pattern, is_secret)| {
        let starts = STARTS.map(regex::escape).join("|");
        let pattern = pattern.replace("<KEY>", KEY).replace("<VALUE>", VALUE);
        let pattern = pattern.replace("<START>", &starts);
        Some((*words, Regex::new(&pattern).ok()?, *is_secret))
    });
    compiled.collect()
});

/// A value that stands where a secret may stand.
struct Found<'t> {
    key: String,
    value: &'t str,
    is_quoted: bool,
    /// It stands behind `key: `.
    is_prose: bool,
}

fn always(_: &Found) -> bool {
    true
}

fn is_switch(value: &str) -> bool {
    matches!(value, "true" | "false" | "none" | "null" | "<nil>" | "nil")
}

impl<'t> Found<'t> {
    fn of(captures: &Captures<'t>) -> Option<(Self, usize)> {
        let named = |name| captures.name(name);
        let quoted = ["escaped", "double", "single"].into_iter().find_map(named);
        let value = quoted.or_else(|| named("word"))?;
        let value_alone = match quoted {
            Some(quoted) => quoted.as_str(),
            None => value
                .as_str()
                .trim_end_matches([',', '.', ';', ')', ']', '}']),
        };
        let found = Self {
            key: named("key").map_or_else(String::new, |key| key.as_str().to_ascii_lowercase()),
            value: value_alone,
            is_quoted: quoted.is_some(),
            is_prose: named("sign").is_some_and(|sign| sign.as_str() == ":"),
        };
        Some((found, value.start()))
    }

    /// Empty, or hidden before.
    fn is_hidden(&self) -> bool {
        self.value.is_empty() || self.value.starts_with(HIDDEN.trim_end_matches(')'))
    }

    /// `authentication`, `Forbidden`: a word of a sentence.
    fn is_plain_word(&self) -> bool {
        let letters = self.value.trim_end_matches(['=', ':']);
        let mut letters = letters.chars().skip(1);
        letters.all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_' | '.'))
    }

    /// A Secret is named in the same words as what it holds.
    fn is_no_name(&self) -> bool {
        let is_of_name =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-./".contains(c);
        let may_be_name = self.key == "secret" || self.key.starts_with("credential");
        !(may_be_name && self.value.contains(['-', '/']) && self.value.chars().all(is_of_name))
    }

    /// No word of a sentence, code of an error, path or URL.
    fn is_random(&self) -> bool {
        let is_word = self.key.contains("pass") || self.key.ends_with("pwd");
        let least = if is_word { 6 } else { 8 };
        self.value.len() >= least
            && !self.value.starts_with('/')
            && !self.value.ends_with(':')
            && !self.value.contains("://")
            && self
                .value
                .contains(|c: char| !c.is_ascii_alphabetic() && c != '-')
    }
}

/// Tells whether a text is a name, in which no shape of a secret has room.
fn is_name(text: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    let has_token = || text.contains("eyJ") || STARTS.iter().any(|start| text.contains(start));
    text.len() <= 60 && text.bytes().all(is_of_name) && !has_token()
}

/// A text without what may be secret.
pub fn without_secrets(text: &str) -> String {
    // Most texts are, and there are many.
    if is_name(text) {
        return text.to_owned();
    }
    let mut text = with_plain_urls(text);
    let small = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
    for (_, pattern, is_secret) in PATTERNS.iter().filter(|(words, ..)| has(words)) {
        let hide = |captures: &Captures| hidden(captures, *is_secret);
        if let Cow::Owned(changed) = pattern.replace_all(&text, hide) {
            text = changed;
        }
    }
    text
}

/// A find without the secret in it.
fn hidden(captures: &Captures, is_secret: IsSecret) -> String {
    let Some(whole) = captures.get(0) else {
        return String::new();
    };
    let text = whole.as_str();
    match Found::of(captures) {
        Some((found, start)) if !found.is_hidden() && is_secret(&found) => {
            let before = start - whole.start();
            let behind = before + found.value.len();
            let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
            format!("{}{HIDDEN}{}", part(0..before), part(behind..text.len()))
        }
        _ => text.to_owned(),
    }
}

/// A text whose URLs have no user, password, query or fragment.
fn with_plain_urls(text: &str) -> String {
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

    #[test]
    fn each_shape_is_a_pattern() {
        assert_eq!(super::PATTERNS.len(), super::SHAPES.len());
    }

    /// `S3` is in every secret.
    #[test]
    fn secrets_are_hidden_and_the_rest_stays() {
        for (text, wanted) in [
            (
                "x: Authorization: Bearer S3bGci9.abc end",
                "x: Authorization: Bearer (hidden) end",
            ),
            (
                "authorization: basic YWRtaW46UzS3= end",
                "authorization: basic (hidden) end",
            ),
            ("Basic dXNlcjpwYXNzS3", "Basic (hidden)"),
            (
                "denied. Encoded authorization failure message: S3_aGVs-bG8 status 403",
                "denied. Encoded authorization failure message: (hidden) status 403",
            ),
            ("password=S3cret.", "password=(hidden)."),
            ("password=S3,and;more end", "password=(hidden) end"),
            ("(client_secret=A~S3~b) no", "(client_secret=(hidden)) no"),
            (
                "sshpass: password: S3cret!, no",
                "sshpass: password: (hidden), no",
            ),
            ("token: sha256~S3CRET end", "token: (hidden) end"),
            ("got sha256~S3CRET", "got (hidden)"),
            ("eyJhbGciS3J9.eyJTRU.c2ln end", "(hidden) end"),
            (
                "{\"auths\":{\"quay.io\":{\"auth\":\"dXS3\",\"email\":\"a\"}}}",
                "{\"auths\":{\"quay.io\":{\"auth\":\"(hidden)\",\"email\":\"a\"}}}",
            ),
            (
                r#"body {\"password\":\"S3 x\"} no"#,
                r#"body {\"password\":\"(hidden)\"} no"#,
            ),
            (
                r#"{"password": "S3\"S3", "a": 1}"#,
                r#"{"password": "(hidden)", "a": 1}"#,
            ),
            ("api_key='S3 x' end", "api_key='(hidden)' end"),
            ("passwd \"Quoted S3\" end", "passwd \"(hidden)\" end"),
            (
                "--username root --password S3 end",
                "--username root --password (hidden) end",
            ),
            (
                "ipmitool -I lanplus -U admin -P S3x power status",
                "ipmitool -I lanplus -U admin -P (hidden) power status",
            ),
            (
                "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYS3S3S3KEYx end",
                "AKIAIOSFODNN7EXAMPLE (hidden) end",
            ),
            ("login pass=S3cret, no", "login pass=(hidden), no"),
            ("DB_PASS=S3 PWD=S3;x", "DB_PASS=(hidden) PWD=(hidden)"),
            (
                "curl -u admin:S3 https://a.example.com/",
                "curl -u admin:(hidden) https://a.example.com/",
            ),
            (
                "dial //root:S3cret@10.9.9.9:623/x",
                "dial //root:(hidden)@10.9.9.9:623/x",
            ),
            (
                "ipmitool -U admin -PS3cret sol",
                "ipmitool -U admin -P(hidden) sol",
            ),
            (
                "<user>a</user><adminPassword>S3 x</adminPassword>",
                "<user>a</user><adminPassword>(hidden)</adminPassword>",
            ),
            ("client-key-data: LS0tLS1S3", "client-key-data: (hidden)"),
            ("Set-Cookie: session=S3; path=/", "Set-Cookie: (hidden)"),
            (
                "SAS sv=2020&sig=S3%2B&se=1",
                "SAS sv=2020&sig=(hidden)&se=1",
            ),
            ("X-Amz-Signature=S3ab", "X-Amz-Signature=(hidden)"),
            ("ghp_S3cretS3cretS3", "(hidden)"),
            ("remote: glpat-S3cret_S3 denied", "remote: (hidden) denied"),
            ("vault hvs.S3cretS3 no", "vault (hidden) no"),
            (
                "aws_access_key_id=AKIAIOSFODNN7EXAMPLE aws_secret_access_key=S3/x",
                "aws_access_key_id=AKIAIOSFODNN7EXAMPLE aws_secret_access_key=(hidden)",
            ),
            (
                "key -----BEGIN RSA PRIVATE KEY-----\nS3\n-----END RSA PRIVATE KEY----- end",
                "key -----BEGIN RSA PRIVATE KEY-----(hidden)-----END RSA PRIVATE KEY----- end",
            ),
            (
                "-----BEGIN PRIVATE KEY-----\nS3",
                "-----BEGIN PRIVATE KEY-----(hidden)",
            ),
        ] {
            let plain = without_secrets(text);
            assert_eq!(plain, wanted, "{text}");
            assert_eq!(without_secrets(&plain), wanted, "twice: {text}");
        }
    }

    /// Causes, and what an admin has to find again.
    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "secret \"aws-cloud-credentials\" not found",
            "Secret \"worker-user-data\" not found in openshift-machine-api",
            "failed to get secret: secrets \"vsphere-cloud-credentials\" not found",
            "credentialsSecret: aws-cloud-credentials, userDataSecret=worker-user-data-2",
            "\"secret\": \"openshift-machine-api/worker-user-data\"",
            "oauth2: cannot fetch token: 401 Unauthorized",
            "oauth2: \"invalid_grant\" \"Invalid JWT Signature.\"",
            "failed to refresh token: context deadline exceeded",
            "token: AADSTS7000215: Invalid client secret provided",
            "credentials: NoCredentialProviders: no valid providers in chain",
            "private key: x509: malformed; auth: authentication required",
            "could not load private key: /etc/kubernetes/tls.key-2",
            "WWW-Authenticate: Bearer realm=\"https://quay.io/v2/auth\"",
            "Basic authentication failed; bearer token-request refused; authorization: forbidden",
            "invalid password: authentication failed, password=<nil> auth=false",
            "InvalidAMIID.NotFound: The image id '[ami-0d4a5f1c2b3e4f567]' does not exist",
            "/subscriptions/0a1b/resourceGroups/x/providers/Microsoft.Compute/images/y-gen2",
            "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c",
            "docker://quay.io/openshift/rhcos@sha256:0c0c0c0c0c0c0c0c",
            "Ignition: GET error: /etc/token.d/auth.json: 404; files: op(3)",
            "azureopenshift:aro4:aro_422:422.98.20260101",
            "node-role.kubernetes.io/worker=,kubernetes.io/arch=arm64",
            "bypass=12345678a, compass: 12345678a, 3 of 5 pass: 2 failed",
            "the signature: x509: certificate signed by unknown authority",
            "mount -u root: no; dial //10.9.9.9:623/x@y; <a>passed</a>",
            "disk-p xp-node gh_runner worker-xoxo",
            "E0820 token.go:12] retrying; git 0123456789abcdef0123456789abcdef01234567",
        ] {
            assert_eq!(without_secrets(text), text);
        }
    }
}
