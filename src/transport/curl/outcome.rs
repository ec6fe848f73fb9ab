//! Reads the outcome of a run of curl: an answer or a typed failure (pure).

use super::config::MARK;
use crate::text::printable;
use crate::transport::{Failure, Response, seconds};

/// Limit of an answer's headers, in bytes.
pub(super) const MAX_HEADERS: usize = 64 * 1024;

/// A finished run.
#[derive(Debug)]
pub(super) struct Run<'a> {
    /// Exit status; `None` where a signal ended it.
    pub(super) exit: Option<i32>,
    pub(super) stdout: &'a [u8],
    pub(super) stderr: &'a str,
    /// The name or address that curl connects to.
    pub(super) host: &'a str,
    /// The name that the certificate must have.
    pub(super) name: &'a str,
    /// Limit of the body, in bytes.
    pub(super) max_body: usize,
}

/// The line that our `write-out` adds after the answer, on success and on failure.
struct WriteOut {
    status: u16,
    /// OpenSSL's `X509_V_ERR_…` (openssl/x509_vfy.h); 0 if it accepts the chain.
    verify: u32,
    /// The TLS handshake was finished: its time is not 0.000000.
    connected: bool,
}

pub(super) fn read(run: &Run<'_>) -> Result<Response, Failure> {
    let (answer, written) = split(run.stdout);
    match (run.exit, written) {
        (Some(0), Some(written)) => response(answer, written.status, run.max_body),
        (Some(code), Some(written)) => Err(failure(code, &written, run)),
        // No request was made: an option is unknown to this curl, or the program is not curl.
        (Some(code), None) => Err(unknown(code, &message(run.stderr))),
        (None, _) => Err(Failure::Local("curl was killed".to_owned())),
    }
}

fn split(stdout: &[u8]) -> (&[u8], Option<WriteOut>) {
    let Some(at) = stdout
        .windows(MARK.len())
        .rposition(|window| window == MARK.as_bytes())
    else {
        return (stdout, None);
    };
    let (answer, line) = stdout.split_at(at);
    let line = String::from_utf8_lossy(line.get(MARK.len()..).unwrap_or_default());
    let mut words = line.split_ascii_whitespace();
    let mut next = || words.next().unwrap_or_default();
    let (status, verify, time) = (next().parse(), next().parse(), next());
    let written = status.ok().map(|status| WriteOut {
        status,
        verify: verify.unwrap_or(0),
        connected: time.bytes().any(|b| matches!(b, b'1'..=b'9')),
    });
    (answer, written)
}

/// Splits the headers, which `include` adds, from the body. Those of interim answers (1xx) come
/// first.
fn response(mut answer: &[u8], status: u16, max_body: usize) -> Result<Response, Failure> {
    let malformed = |what: &str| Failure::Malformed(what.to_owned());
    loop {
        let end = answer
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .ok_or_else(|| malformed("no end of the headers"))?;
        let (headers, body) = answer.split_at(end + 4);
        let headers = String::from_utf8_lossy(headers);
        let mut lines = headers.lines();
        let code = lines
            .next()
            .filter(|line| line.starts_with("HTTP/1."))
            .and_then(|line| line.split(' ').nth(1));
        let code: u16 = code
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| malformed("no status line"))?;
        if code < 200 && code != status {
            answer = body;
            continue;
        }
        if (300..400).contains(&code) {
            return Err(Failure::Redirect(code));
        }
        if body.len() > max_body {
            return Err(Failure::TooLarge(max_body));
        }
        let retry_after = lines
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
        return Ok(Response {
            status: code,
            retry_after: retry_after.and_then(|(_, value)| seconds(value)),
            body: body.to_vec(),
        });
    }
}

/// The failure behind an exit code of curl(1). Where the code says too little, the message is
/// searched, but only for words of OpenSSL and the kernel, and for curl's "subject name".
fn failure(code: i32, written: &WriteOut, run: &Run<'_>) -> Failure {
    let message = message(run.stderr);
    let says = |words: &[&str]| {
        words
            .iter()
            .any(|w| message.to_ascii_lowercase().contains(w))
    };
    let detail = || printable(&message);
    match code {
        6 => Failure::Resolve(run.host.to_owned(), detail()),
        7 if says(&["refused"]) => Failure::Refused,
        7 => Failure::Unreachable(detail()),
        28 if written.connected => Failure::AnswerTimeout,
        28 => Failure::ConnectTimeout,
        // curl 7.61 has 51 for a wrong name.
        51 | 60 => match written.verify {
            9 | 10 => Failure::certificate_time(written.verify == 9, None),
            // Newer curls preset the result to 1. The name is compared only once the chain is
            // accepted.
            0 | 1 if says(&["subject name", "hostname mismatch"]) => {
                Failure::WrongName(printable(run.name))
            }
            // Issuer not found, self-signed, signature wrong, chain incomplete.
            2 | 7 | 18..=21 => Failure::UnknownCa(detail()),
            _ => Failure::Tls(detail()),
        },
        35 | 55 | 56
            if says(&[
                "alert bad certificate",
                "alert certificate",
                "alert unknown ca",
                "alert unsupported certificate",
                "alert decrypt error",
            ]) =>
        {
            Failure::ClientCertificate(detail())
        }
        35 if !says(&["reset", "ssl_error_syscall", "unexpected eof"]) => Failure::Tls(detail()),
        18 | 35 | 52 | 55 | 56 => Failure::Reset(detail()),
        63 => Failure::TooLarge(run.max_body),
        1 | 8 | 61 => Failure::Malformed(detail()),
        _ => unknown(code, &message),
    }
}

fn unknown(code: i32, message: &str) -> Failure {
    Failure::Local(format!("curl: exit {code}: {}", printable(message)))
}

/// curl's error message without `curl: (7) `.
fn message(stderr: &str) -> String {
    let line = stderr
        .lines()
        .rev()
        .find(|line| line.starts_with("curl: ("))
        .or_else(|| stderr.lines().last())
        .unwrap_or_default();
    line.split_once(") ")
        .map_or(line, |(_, rest)| rest)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<'a>(exit: i32, stdout: &'a str, stderr: &'a str) -> Run<'a> {
        Run {
            exit: Some(exit),
            stdout: stdout.as_bytes(),
            stderr,
            host: "api",
            name: "api-int",
            max_body: 20,
        }
    }

    #[test]
    fn an_answer_is_headers_body_and_our_line() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many\r\nretry-After:  7 \r\nX: y\r\n\r\n{\"a\":\nskewguard:1}\nskewguard:429 0 0.012";
        let response = read(&run(0, text, "")).unwrap();
        assert_eq!(
            (response.status, response.retry_after.map(|t| t.as_secs())),
            (429, Some(7))
        );
        assert_eq!(response.body, b"{\"a\":\nskewguard:1}");
        let empty = read(&run(
            0,
            "HTTP/1.1 204 No Content\r\n\r\n\nskewguard:204 0 0.1",
            "",
        ))
        .unwrap();
        assert_eq!((empty.status, empty.body), (204, Vec::new()));
    }

    #[test]
    fn what_is_no_answer() {
        let malformed = |what: &str| Failure::Malformed(what.to_owned());
        let table = [
            (0, "", Failure::Local("curl: exit 0: ".to_owned())),
            (2, "", Failure::Local("curl: exit 2: ".to_owned())),
            (
                0,
                "220 mail ESMTP\r\n\nskewguard:000 0 0.1",
                malformed("no end of the headers"),
            ),
            (
                0,
                "HTTP/2 200\r\n\r\n\nskewguard:200 0 0.1",
                malformed("no status line"),
            ),
            (
                0,
                "HTTP/1.1 2x0 OK\r\n\r\n\nskewguard:200 0 0.1",
                malformed("no status line"),
            ),
            (
                0,
                "HTTP/1.1 200 OK\r\n\r\n123456789012345678901\nskewguard:200 0 0.1",
                Failure::TooLarge(20),
            ),
            (
                0,
                "HTTP/1.1 302 Found\r\nLocation: https://e\r\n\r\n\nskewguard:302 0 0.1",
                Failure::Redirect(302),
            ),
        ];
        for (exit, stdout, want) in table {
            assert_eq!(read(&run(exit, stdout, "")), Err(want), "{stdout:?}");
        }
    }

    /// Messages as curl 7.61 (RHEL 8), 7.76 (RHEL 9), 7.88 (Debian 12) and 8.12 (RHEL 10) print
    /// them.
    #[test]
    fn exit_codes_become_the_same_failures_as_with_our_own_tls() {
        let verify = |code: u32| format!("\nskewguard:000 {code} 0.000000");
        let unknown = "curl: (60) SSL certificate problem: unable to get local issuer certificate\nMore details here: https://curl.haxx.se/docs/sslcerts.html\n\ncurl failed to verify the legitimacy of the server and therefore could not\n";
        let table = [
            (6, verify(0), "curl: (6) Could not resolve host: api", Failure::Resolve("api".into(), "Could not resolve host: api".into())),
            (7, verify(0), "curl: (7) Failed to connect to api port 1: Connection refused", Failure::Refused),
            (
                7,
                verify(0),
                "curl: (7) Failed to connect to api port 1: No route to host",
                Failure::Unreachable("Failed to connect to api port 1: No route to host".into()),
            ),
            (28, verify(0), "curl: (28) Connection timed out after 1001 milliseconds", Failure::ConnectTimeout),
            (
                28,
                "\nskewguard:201 0 0.01".into(),
                "curl: (28) Operation timed out after 2000 milliseconds with 12 bytes received",
                Failure::AnswerTimeout,
            ),
            (
                51,
                verify(0),
                "curl: (51) SSL: no alternative certificate subject name matches target host name 'api'",
                Failure::WrongName("api-int".into()),
            ),
            (
                60,
                verify(0),
                "curl: (60) SSL: no alternative certificate subject name matches target host name 'api'",
                Failure::WrongName("api-int".into()),
            ),
            (60, verify(20), unknown, Failure::UnknownCa("SSL certificate problem: unable to get local issuer certificate".into())),
            (
                60,
                verify(66),
                "curl: (60) SSL certificate problem: EE certificate key too weak",
                Failure::Tls("SSL certificate problem: EE certificate key too weak".into()),
            ),
            (
                35,
                verify(0),
                "curl: (35) OpenSSL SSL_connect: Connection reset by peer in connection to api:1 ",
                Failure::Reset("OpenSSL SSL_connect: Connection reset by peer in connection to api:1 ".into()),
            ),
            (
                35,
                verify(0),
                "curl: (35) error:1408F10B:SSL routines:ssl3_get_record:wrong version number",
                Failure::Tls("error:1408F10B:SSL routines:ssl3_get_record:wrong version number".into()),
            ),
            (
                56,
                verify(0),
                "curl: (56) OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
                Failure::ClientCertificate(
                    "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0".into(),
                ),
            ),
            (52, verify(0), "curl: (52) Empty reply from server", Failure::Reset("Empty reply from server".into())),
            (
                18,
                verify(0),
                "curl: (18) transfer closed with 9 bytes remaining to read",
                Failure::Reset("transfer closed with 9 bytes remaining to read".into()),
            ),
            (63, verify(0), "curl: (63) Maximum file size exceeded", Failure::TooLarge(20)),
            (1, verify(0), "curl: (1) Received HTTP/0.9 when not allowed", Failure::Malformed("Received HTTP/0.9 when not allowed".into())),
            (
                58,
                verify(0),
                "curl: (58) unable to set private key file: '/proc/self/fd/5' type PEM",
                Failure::Local("curl: exit 58: unable to set private key file: '/proc/self/fd/5' type PEM".into()),
            ),
        ];
        for (exit, stdout, stderr, want) in table {
            assert_eq!(
                read(&run(exit, &stdout, stderr)).unwrap_err(),
                want,
                "{stderr}"
            );
        }
        for (code, stderr, said) in [
            (
                10,
                "curl: (60) SSL certificate problem: certificate has expired",
                "has expired",
            ),
            (
                9,
                "curl: (60) SSL certificate problem: certificate is not yet valid",
                "is not valid yet",
            ),
        ] {
            let Err(Failure::CertificateTime(why)) = read(&run(60, &verify(code), stderr)) else {
                panic!("{stderr}")
            };
            assert!(
                why.starts_with(&format!("{said}; the clock here says 2")),
                "{why}"
            );
        }
    }

    proptest::proptest! {
        /// Whatever a server sends through curl: no panic, and never more of a body than is
        /// allowed.
        #[test]
        fn any_output_is_an_answer_or_a_failure(
            exit in proptest::option::of(0..100_i32),
            head in proptest::sample::select(vec!["", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 100 C\r\n\r\n", "HTTP/1.1 201\r\nRetry-After: 9"]),
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60),
            tail in proptest::sample::select(vec!["", "\nskewguard:", "\nskewguard:200 0 0.1", "\nskewguard:x y z", "\r\n\r\n\nskewguard:201 1 0"]),
        ) {
            let stdout = [head.as_bytes(), &bytes, tail.as_bytes()].concat();
            let run = Run { exit, ..run(0, "", "curl: (7) x") };
            if let Ok(response) = read(&Run { stdout: &stdout, ..run }) {
                proptest::prop_assert!(exit == Some(0) && response.body.len() <= 20);
            }
        }
    }
}
