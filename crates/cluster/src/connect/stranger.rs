//! Servers that are no API server, by their answer to [`PATH`] (pure).

use crate::kinds::fields::str_at;
use crate::trouble::{Help, Trouble};
use serde_json::Value;

/// The path that every API server answers, with the versions of its oldest API or a `Status`.
pub const PATH: &str = "/api";

/// The trouble with another server.
pub fn trouble(why: &str) -> Trouble {
    Help::OtherServer.after(format!("this is not a Kubernetes API server: {why}"))
}

/// The trouble with an answer to [`PATH`]; `None` of an API server.
pub fn stranger(status: u16, text: &[u8]) -> Option<Trouble> {
    let body: Value = serde_json::from_slice(text).unwrap_or_default();
    let is_api = match str_at(&body, "/kind") {
        Some("Status") => true,
        Some("APIVersions") => status == 200,
        _ => false,
    };
    // A gateway before an API server refuses credentials in words of its own.
    let is_gateway = status == 401 && body.is_object();
    if is_api || is_gateway {
        return None;
    }
    let with = match text.trim_ascii_start() {
        _ if (300..400).contains(&status) => "and names another place",
        [] => "and nothing else",
        [b'<', ..] => "and a page of HTML",
        _ if body.is_null() => "and a text",
        _ => "and JSON of another kind",
    };
    Some(trouble(&format!("it answers {PATH} with {status} {with}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Option<Trouble> {
        stranger(status, body.as_bytes())
    }

    #[test]
    fn an_api_server_is_one_also_where_it_refuses() {
        for (status, body) in [
            (200, r#"{"kind":"APIVersions","versions":["v1"]}"#),
            (403, r#"{"kind":"Status","apiVersion":"v1","code":403}"#),
            (401, r#"{"kind":"Status","apiVersion":"v1","code":401}"#),
            (503, r#"{"kind":"Status","apiVersion":"v1","code":503}"#),
            (401, r#"{"type":"error","message":"must authenticate"}"#),
        ] {
            assert_eq!(of(status, body), None, "{status} {body}");
        }
    }

    #[test]
    fn another_server_is_told_by_its_answer() {
        for (status, body, says) in [
            (200, "\n <!DOCTYPE html><p>Log in", "200 and a page of HTML"),
            (404, "<html>", "404 and a page of HTML"),
            (401, "<html>", "401 and a page of HTML"),
            (404, "404 page not found\n", "404 and a text"),
            (302, "", "302 and names another place"),
            (200, "", "200 and nothing else"),
            (200, "[]", "200 and JSON of another kind"),
            (401, "[]", "401 and JSON of another kind"),
            (200, r#"{"kind":"PodList"}"#, "200 and JSON of another kind"),
            (
                201,
                r#"{"kind":"APIVersions"}"#,
                "201 and JSON of another kind",
            ),
        ] {
            let wanted = trouble(&format!("it answers /api with {says}"));
            assert_eq!(of(status, body), Some(wanted), "{body}");
        }
    }
}
