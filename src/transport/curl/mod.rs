//! Requests through the host's curl. It gets its configuration through stdin, and keys and
//! certificates in memory files, so that no secret is in its arguments, its environment or on a
//! disk.

mod config;
mod outcome;

use super::{Failure, Limits, Request, Response};
use crate::child::Group;
use crate::kubeconfig::Kubeconfig;
use config::Files;
use nix::sys::memfd::{MFdFlags, memfd_create};
use outcome::{MAX_HEADERS, Run};
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{sleep, timeout};

/// Limit of what is kept of curl's stderr, in bytes.
const MAX_STDERR: usize = 4096;
/// Limit of the line that `write-out` adds, in bytes.
const MAX_WRITTEN: usize = 256;
/// Time after its own `max-time` at which curl is killed.
const GRACE: Duration = Duration::from_secs(3);

/// Reads the outcome of a run of curl, for `crate::fuzzing`.
#[cfg(any(fuzzing, test))]
pub(crate) fn read_curl(
    exit: i32,
    stdout: &[u8],
    stderr: &str,
    max_body: usize,
) -> Result<Response, Failure> {
    outcome::read(&Run {
        exit: Some(exit),
        stdout,
        stderr,
        host: "api.c1.example.com",
        name: "api-int.c1.example.com",
        max_body,
    })
}

/// A curl process per request.
#[derive(Debug)]
pub(super) struct Curl {
    kubeconfig: Kubeconfig,
    limits: Limits,
    program: PathBuf,
}

impl Curl {
    pub(super) fn new(kubeconfig: &Kubeconfig, limits: Limits, program: PathBuf) -> Self {
        Self {
            kubeconfig: kubeconfig.clone(),
            limits,
            program,
        }
    }

    pub(super) async fn send(&self, request: &Request) -> Result<Response, Failure> {
        let Kubeconfig { ca, client, .. } = &self.kubeconfig;
        let file = |content: Option<&[u8]>| {
            content
                .filter(|content| !content.is_empty())
                .map(MemoryFile::holding)
                .transpose()
        };
        let files = Files {
            ca: file(Some(ca))?,
            certificate: file(client.as_ref().map(|client| client.certificate.expose()))?,
            key: file(client.as_ref().map(|client| client.key.expose()))?,
            body: file(Some(&request.body))?,
        };
        let config = config::text(&self.kubeconfig, &self.limits, request, &files);

        let stderr = MemoryFile::holding(b"")?;
        let running = self.spawn(MemoryFile::holding(config.as_bytes())?, &stderr)?;
        let (exit, stdout) = timeout(self.limits.total + GRACE, running.end(self.limits.body))
            .await
            .unwrap_or(Err(Failure::AnswerTimeout))?;
        let stderr = self.without_token(&stderr.start(MAX_STDERR)?);
        let host = &self.kubeconfig.server.host;
        let name = self.kubeconfig.tls_server_name.as_ref().unwrap_or(host);
        let run = Run {
            exit,
            stdout: &stdout,
            stderr: &stderr,
            host,
            name,
            max_body: self.limits.body,
        };
        match outcome::read(&run) {
            Err(Failure::Unreachable(said)) => Err(self
                .why_unreachable()
                .await
                .unwrap_or(Failure::Unreachable(said))),
            other => other,
        }
    }

    fn spawn(&self, stdin: MemoryFile, stderr: &MemoryFile) -> Result<Running, Failure> {
        // `--disable` must come first; it keeps curl from reading a .curlrc. Without an environment
        // there is no proxy, CA bundle or key log.
        let mut command = Command::new(&self.program);
        command
            .args(["--disable", "--config", "-"])
            .env_clear()
            .env("LC_ALL", "C")
            .stdin(stdin.0)
            .stdout(Stdio::piped())
            .stderr(stderr.0.try_clone().map_err(local)?);
        Group::spawn(&mut command).map(Running).map_err(|error| {
            Failure::Local(format!(
                "{}: {error}",
                crate::text::printable(&self.program.to_string_lossy())
            ))
        })
    }

    /// curl has no reason to print the token. This makes sure that it is not passed on.
    fn without_token(&self, stderr: &[u8]) -> String {
        let text = String::from_utf8_lossy(stderr).into_owned();
        match self
            .kubeconfig
            .token
            .as_ref()
            .map(|token| String::from_utf8_lossy(token.expose()))
        {
            Some(token) => text.replace(token.as_ref(), "[secret]"),
            None => text,
        }
    }

    /// Newer curls only say that they could not connect. Connecting again makes the kernel say why.
    async fn why_unreachable(&self) -> Option<Failure> {
        let server = &self.kubeconfig.server;
        let connected = tokio::net::TcpStream::connect((server.host.as_str(), server.port()));
        match timeout(Duration::from_secs(2), connected).await.ok()? {
            Ok(_) => None,
            Err(error) => Failure::from_io(&error),
        }
    }
}

/// A running curl; dropping it kills it. (tokio's processes would do the same, at the cost of 11 kB
/// for signal handling.)
struct Running(Group);

impl Running {
    /// Waits for curl to end. Returns its exit status, `None` for a signal, and what it printed: an
    /// answer with a body of at most `max_body` bytes.
    async fn end(mut self, max_body: usize) -> Result<(Option<i32>, Vec<u8>), Failure> {
        let max = MAX_HEADERS + max_body + MAX_WRITTEN;
        let (mut stdout, mut chunk) = (Vec::new(), vec![0; 16 * 1024]);
        if let Some(pipe) = self.0.child.stdout.take() {
            let pipe = Receiver::from_owned_fd(pipe.into()).map_err(local)?;
            loop {
                pipe.readable().await.map_err(local)?;
                match pipe.try_read(&mut chunk) {
                    Ok(0) => break,
                    Ok(read) => stdout.extend(chunk.iter().take(read)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => return Err(local(error)),
                }
                if stdout.len() > max {
                    return Err(Failure::TooLarge(max_body));
                }
            }
        }
        loop {
            if self.0.has_ended().map_err(local)? {
                let status = self.0.end().map_err(local)?;
                return Ok((status.code(), stdout));
            }
            sleep(Duration::from_millis(5)).await;
        }
    }
}

fn local(error: std::io::Error) -> Failure {
    Failure::Local(format!("curl: {error}"))
}

/// A file in memory. It is curl's stdin or stderr, or curl opens it as /proc/self/fd/N. For this it
/// is not close-on-exec, so the other programs that the report runs, `agetty --reload` and
/// journalctl(1), may inherit it too. Those run as root and end at once.
struct MemoryFile(File);

impl MemoryFile {
    fn holding(content: &[u8]) -> Result<Self, Failure> {
        let made = memfd_create("skewguard", MFdFlags::empty())
            .map_err(std::io::Error::from)
            .and_then(|fd| {
                let mut file = File::from(fd);
                file.write_all(content)?;
                file.rewind()?;
                Ok(Self(file))
            });
        made.map_err(|error| {
            Failure::Local(format!("no memory file for curl (memfd_create): {error}"))
        })
    }

    fn start(&self, max: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        (&self.0)
            .rewind()
            .and_then(|()| (&self.0).take(max as u64).read_to_end(&mut bytes))
            .map_err(local)?;
        Ok(bytes)
    }
}

/// Displays as the path under which curl opens it.
impl fmt::Display for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/proc/self/fd/{}", self.0.as_raw_fd())
    }
}
