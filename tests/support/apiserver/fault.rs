//! What can go wrong with an API server.

use std::str::FromStr;

/// One fault; each hits one connection or one request, then it is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Accepts the connection and resets it at its first byte.
    ResetConnection,
    /// Accepts the connection and never says a word: a half-open server.
    SilentConnection,
    /// Speaks plain HTTP on the TLS port.
    PlainHttp,
    /// Completes the handshake, then sends what is not HTTP.
    Garbage,
    /// Reads the request, then closes without an answer.
    Close,
    /// Reads the request, then resets the connection.
    Reset,
    /// Reads the request and never answers.
    Hang,
    /// Answers 201 and then one byte of the body a second.
    Drip,
    /// Answers 201 with a body of 1 GiB, chunked.
    Huge,
    /// The same, with a Content-Length.
    HugeWithLength,
    /// Redirects elsewhere.
    Redirect(String),
    /// Answers with this status and a page of HTML, as a load balancer or a captive portal does.
    Page(u16),
    /// Answers with this status, nothing done.
    Status {
        /// HTTP status.
        code: u16,
        /// `Retry-After` in seconds.
        retry_after: Option<u64>,
    },
}

impl Fault {
    /// Whether it hits before a request was read.
    pub fn is_of_connection(&self) -> bool {
        matches!(
            self,
            Self::ResetConnection | Self::SilentConnection | Self::PlainHttp | Self::Garbage
        )
    }

    /// Whether it hits before the TLS handshake.
    pub fn is_before_tls(&self) -> bool {
        self.is_of_connection() && *self != Self::Garbage
    }
}

impl FromStr for Fault {
    type Err = String;

    /// `reset-connection`, `redirect`, `503`, `503:Retry-After=7`, …
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "reset-connection" => Self::ResetConnection,
            "silent-connection" => Self::SilentConnection,
            "plain-http" => Self::PlainHttp,
            "garbage" => Self::Garbage,
            "close" => Self::Close,
            "reset" => Self::Reset,
            "hang" => Self::Hang,
            "drip" => Self::Drip,
            "huge" => Self::Huge,
            "page" => Self::Page(200),
            "redirect" => Self::Redirect("https://elsewhere.example.com/".to_owned()),
            _ => {
                let (code, rest) = text.split_once(':').unwrap_or((text, ""));
                let code = code.parse().map_err(|_| format!("{text}: no such fault"))?;
                let retry_after =
                    match rest.strip_prefix("Retry-After=") {
                        Some(seconds) => Some(seconds.parse().map_err(|_| {
                            format!("{text}: Retry-After is not a number of seconds")
                        })?),
                        None if rest.is_empty() => None,
                        None => return Err(format!("{text}: no such fault")),
                    };
                Self::Status { code, retry_after }
            }
        })
    }
}
