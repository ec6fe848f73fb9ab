//! The logs of HyperShift's ignition servers, of each hosted control plane (pure).
//!
//! The messages are those of openshift/hypershift, `ignition-server/cmd/start.go`. No line has an
//! address, and a request that was served has none but its own.

use super::log_lines::lines;
use super::server_line::split;
use crate::moment::Moment;
use crate::text::printable_up_to;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;

/// Requests that are kept of a hosted control plane: the first ones.
const MAX_REQUESTS: usize = 100_000;

/// Lines of its pods that are known again in another copy of a log.
const MAX_KNOWN: usize = 1_000_000;

/// Seconds after a request in which its refusal is written.
const DELAY: u64 = 5;

/// A request that was not served, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// No token, or one that is none.
    Token,
    /// The token is not in the server's cache: of an older config, or not filled yet.
    UnknownToken,
    /// The pool's config is broken.
    Payload,
}

impl Refusal {
    /// The HTTP status that the client got.
    pub fn status(self) -> u16 {
        match self {
            Self::Token => 401,
            Self::UnknownToken => 511,
            Self::Payload => 500,
        }
    }

    fn of(message: &str) -> Option<Self> {
        let starts = [
            ("Invalid Authorization header", Self::Token),
            ("Invalid token value", Self::Token),
            ("Token not found", Self::UnknownToken),
            ("Invalid ignition payload", Self::Payload),
        ];
        let found = starts.iter().find(|(start, _)| message.starts_with(start));
        found.map(|(_, refusal)| *refusal)
    }
}

/// A request of Ignition for a config.
#[derive(Debug)]
pub struct Request {
    pub at: Moment,
    pub refusal: Option<Refusal>,
}

/// The logs of a hosted control plane's servers.
#[derive(Debug, Default)]
pub struct IgnitionServers {
    /// Each pod's first line, and the hashes of its lines.
    pods: BTreeMap<String, (Option<Moment>, HashSet<u64>)>,
    pub requests: Vec<Request>,
    pub last: Option<Moment>,
    /// The Ignition that asked last.
    pub agent: String,
}

impl IgnitionServers {
    pub fn count(&self) -> usize {
        self.pods.len()
    }

    /// The beginning of the logs, as far as all of them go back.
    pub fn begin(&self) -> Option<Moment> {
        let begins: Option<Vec<Moment>> = self.pods.values().map(|(first, _)| *first).collect();
        begins?.into_iter().max()
    }

    /// Adds the log of a pod. `now` is a moment after the log's end.
    ///
    /// # Errors
    /// It cannot be read to its end. What came before stays added.
    pub fn add(&mut self, pod: &str, log: &mut dyn Read, now: Moment) -> std::io::Result<()> {
        let (mut first, mut known) = self.pods.remove(pod).unwrap_or_default();
        let of_others: usize = self.pods.values().map(|(_, known)| known.len()).sum();
        let room = MAX_KNOWN.saturating_sub(of_others + known.len());
        let mut own = Vec::new();
        let mut pending = None;
        let done = lines(log, &mut |line| {
            let mut hasher = DefaultHasher::new();
            line.hash(&mut hasher);
            let hash = hasher.finish();
            let text = String::from_utf8_lossy(line);
            let (at, message) = split(text.trim_end(), &mut |_, _| None);
            let Some(at) = at.filter(|at| *at <= now.plus(86_400)) else {
                return;
            };
            first = Some(first.map_or(at, |first: Moment| first.min(at)));
            self.last = self.last.max(Some(at));
            if known.contains(&hash) {
                return;
            }
            if own.len() < room {
                own.push(hash);
            }
            self.note(message, at, &mut pending);
        });
        known.extend(own);
        self.pods.insert(pod.to_owned(), (first, known));
        done
    }

    /// Notes a request, or the refusal of the one before.
    fn note(&mut self, message: &str, at: Moment, pending: &mut Option<usize>) {
        if let Some(rest) = message.strip_prefix("User Agent: ") {
            *pending = None;
            let Some((agent, path)) = rest.split_once(". Requested: ") else {
                return;
            };
            if !agent.starts_with("Ignition/") || !path.starts_with("/ignition") {
                return;
            }
            self.agent = printable_up_to(agent, 60);
            if self.requests.len() < MAX_REQUESTS {
                *pending = Some(self.requests.len());
                self.requests.push(Request { at, refusal: None });
            }
        } else if let Some(refusal) = Refusal::of(message)
            && let Some(request) = pending
                .take()
                .and_then(|place| self.requests.get_mut(place))
            && at.since(request.at) <= DELAY
        {
            request.refusal = Some(refusal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        Moment::parse(text).unwrap()
    }

    fn of(texts: &[(&str, &str)]) -> IgnitionServers {
        let mut servers = IgnitionServers::default();
        for (pod, text) in texts {
            let now = moment("2026-08-20T12:00:00Z");
            servers.add(pod, &mut text.as_bytes(), now).unwrap();
        }
        servers
    }

    const LOG: &str = "2026-08-20T09:00:00.1Z 2026/08/20 09:00:00 Listening on 0.0.0.0:9090
2026-08-20T09:00:01.1Z {\"level\":\"info\",\"msg\":\"Payload found in cache\"}
2026-08-20T09:01:00.1Z 2026/08/20 09:01:00 User Agent: Ignition/2.20.0. Requested: /ignition
2026-08-20T09:01:00.2Z 2026/08/20 09:01:00 Token not found
2026-08-20T09:02:00.1Z 2026/08/20 09:02:00 User Agent: Ignition/2.20.0. Requested: /ignition
2026-08-20T09:02:10.1Z 2026/08/20 09:02:10 User Agent: curl/8.6.0. Requested: /ignition
2026-08-20T09:02:10.2Z 2026/08/20 09:02:10 Invalid Authorization header value prefix
";

    #[test]
    fn a_refusal_is_that_of_the_request_before_it() {
        let servers = of(&[("a", LOG), ("a", LOG), ("b", "")]);
        let found: Vec<_> = servers.requests.iter().map(|one| one.refusal).collect();
        assert_eq!(found, [Some(Refusal::UnknownToken), None]);
        assert_eq!(
            (servers.count(), servers.agent.as_str()),
            (2, "Ignition/2.20.0")
        );
        assert_eq!(servers.begin(), None, "b is empty");
        assert_eq!(servers.last, Some(moment("2026-08-20T09:02:10Z")));
        assert_eq!(
            of(&[("a", LOG)]).begin(),
            Some(moment("2026-08-20T09:00:00Z"))
        );
    }

    #[test]
    fn lines_without_a_time_are_passed_over() {
        let servers = of(&[(
            "a",
            "User Agent: Ignition/2.20.0. Requested: /ignition\n\u{1f980}\n",
        )]);
        assert_eq!(servers.requests.len(), 0);
    }
}
