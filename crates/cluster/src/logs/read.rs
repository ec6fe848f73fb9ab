//! Logs of files, by their names, and what is kept of each (pure but for the readers that it is given).

use super::approver_line::{refusal, refusal_of_all};
use super::log_file::{Log, LogFile};
use super::log_lines::lines;
use super::server_line::{Line, read, split};
use crate::cluster::Cluster;
use crate::moment::{Moment, year};
use crate::text::{printable, printable_up_to};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of one log that are read: the first.
const MAX_LOG: u64 = 256 << 20;

/// Bytes of all logs without years that are kept until the objects are read.
const MAX_UNDATED: u64 = 512 << 20;

/// The most reasons against certificate requests that are kept.
const MAX_REFUSALS: usize = 10_000;

/// Tells whether a log of this name is read.
pub fn is_log(path: &Path) -> bool {
    kind_of_log(path).is_some() || is_text_outside_gathers(path)
}

/// Tells whether a text begins as a log that is read.
pub fn is_log_text(head: &[u8]) -> bool {
    kind_of_text(head).is_some()
}

impl Cluster {
    /// Adds a log.
    ///
    /// # Errors
    /// It cannot be read to its end. What came before stays added.
    pub fn add_log(&mut self, path: &Path, log: &mut dyn Read) -> io::Result<()> {
        self.add_start(path, log, MAX_LOG)
    }

    /// Adds the first bytes of a log, at most so many. One whose lines have no year waits for the objects.
    fn add_start(&mut self, path: &Path, log: &mut dyn Read, most: u64) -> io::Result<()> {
        let mut log = log.take(most);
        let mut head = Vec::new();
        let begun = (&mut log).take(HEAD).read_to_end(&mut head);
        let named = kind_of_log(path);
        let kind = match is_text_outside_gathers(path) || named.is_none() {
            true => by_text(&head, path).or(named),
            false => named,
        };
        let Some(kind) = kind else {
            return begun.and(Err(io::ErrorKind::Unsupported.into()));
        };
        let mut file = LogFile {
            kind,
            is_of_now: begun.is_ok() && is_in_gather(path),
            gather: gather_around(&self.staged.file.place),
            most,
        };
        let rest: &mut dyn Read = match begun {
            Ok(_) => &mut log,
            Err(_) => &mut io::empty(),
        };
        let mut whole = head.as_slice().chain(rest);
        let done = if is_undated(&head) && !self.is_live {
            let kept = self.undated_logs.iter().map(|(_, bytes)| bytes.len());
            let kept = kept.sum::<usize>() as u64;
            file.most = most.min(MAX_UNDATED.saturating_sub(kept));
            let mut bytes = Vec::new();
            let done = whole.take(file.most).read_to_end(&mut bytes);
            file.is_of_now &= done.is_ok();
            self.undated_logs.push((file, bytes));
            done.map(drop)
        } else {
            let done = self.add_lines(&file, &mut whole, self.read_at);
            if log.limit() == 0 {
                self.note_cut(&file);
            }
            done
        };
        begun.and(done)
    }

    /// Adds the logs that waited for the objects, by whose clock their lines' years are.
    pub fn add_undated_logs(&mut self) {
        let now = self.clock_of_years();
        for (file, bytes) in std::mem::take(&mut self.undated_logs) {
            // What is in memory can be read.
            let _ = self.add_lines(&file, &mut bytes.as_slice(), now);
            if bytes.len() as u64 == file.most {
                self.note_cut(&file);
            }
        }
    }

    /// Notes that more of a log than was read may be there.
    fn note_cut(&mut self, file: &LogFile) {
        if let Log::Server(name) = &file.kind {
            let mib = file.most >> 20;
            let cut = format!("only the first {mib} MiB of its log were read");
            self.logs.cut(name, cut);
        }
    }

    /// Adds the lines of a log. `now` is a moment after its end, for the years that lines do not have.
    fn add_lines(
        &mut self,
        file: &LogFile,
        log: &mut dyn Read,
        now: Option<Moment>,
    ) -> io::Result<()> {
        let now = now.unwrap_or(Moment(0));
        match &file.kind {
            Log::Server(name) => {
                self.logs.add(name, log, now)?;
                if file.is_of_now {
                    self.logs.read_now(name, file.gather.clone());
                }
                Ok(())
            }
            Log::Approver => self.add_approver_log(log, now),
            Log::Ignition(namespace, pod) => self.add_ignition_log((namespace, pod), log),
        }
    }

    /// Adds the log of a machine-approver. `now` is a moment after its end.
    ///
    /// # Errors
    /// It cannot be read to its end. What came before stays added.
    pub fn add_approver_log(&mut self, log: &mut dyn Read, now: Moment) -> io::Result<()> {
        lines(log, &mut |line| {
            let line = String::from_utf8_lossy(line);
            let (at, message) = split(line.trim_end(), &mut |month, day| year(now, month, day));
            if let Some(at) = at {
                let (first, last) = self.approver_log.unwrap_or((at, at));
                self.approver_log = Some((first.min(at), last.max(at)));
            }
            let is_later = |known: &(Option<Moment>, String)| at >= known.0;
            let own = refusal(&line);
            let words = own.as_ref().map_or(message, |(_, why)| why);
            if let Some(why) = refusal_of_all(words)
                && self.ignores_all.as_ref().is_none_or(is_later)
            {
                self.ignores_all = Some((at, why));
            }
            if let Some((name, why)) = own
                && (self.refusals.len() < MAX_REFUSALS || self.refusals.contains_key(name))
            {
                self.refusals.insert(printable(name), (at, why));
            }
        })
    }

    /// Adds the log of a pod of HyperShift's ignition server.
    ///
    /// # Errors
    /// It cannot be read to its end. What came before stays added.
    pub fn add_ignition_log(
        &mut self,
        (namespace, pod): (&str, &str),
        log: &mut dyn Read,
    ) -> io::Result<()> {
        let now = self.read_at.unwrap_or(Moment(0));
        let servers = self.ignition_servers.entry(namespace.to_owned());
        servers.or_default().add(pod, log, now)
    }
}

/// So much of a text tells whose log it is.
const HEAD: u64 = 64 << 10;

/// The name of a text that may be a log, in lower case; `None` for a file of another ending.
fn text_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?.to_ascii_lowercase();
    let mut packed = [".gz", ".xz"].into_iter();
    let plain = packed.find_map(|end| file.strip_suffix(end));
    let plain = plain.unwrap_or(&file);
    // The kubelet turns a log over to `0.log.20260915-084000`.
    let is_log = plain.ends_with(".log") || plain.contains(".log.20");
    (is_log || plain.ends_with(".txt")).then_some(file)
}

/// A text that a person gathered: gathers name their logs by the pod's folder.
fn is_text_outside_gathers(path: &Path) -> bool {
    text_name(path).is_some() && !is_in_gather(path)
}

/// The folder, or the archive, of the gather that a log is in.
fn gather_around(log: &Path) -> Option<PathBuf> {
    let is_namespaces = |path: &&Path| path.file_name().is_some_and(|name| name == "namespaces");
    let namespaces = log.ancestors().find(is_namespaces)?;
    namespaces.parent().map(Path::to_owned)
}

/// A gather has logs by their namespaces, and reads them with the objects.
fn is_in_gather(path: &Path) -> bool {
    path.iter().any(|part| part == "namespaces")
}

/// The log that a text is, by its lines; its name is the file's.
fn by_text(head: &[u8], path: &Path) -> Option<Log> {
    let name = printable_up_to(path.file_name()?.to_str()?, 253);
    Some(match (kind_of_text(head)?, kind_of_log(path)) {
        (Log::Server(_), Some(named @ Log::Server(_)))
        | (Log::Ignition(..), Some(named @ Log::Ignition(..))) => named,
        (Log::Server(_), _) => Log::Server(name),
        (Log::Ignition(..), _) => Log::Ignition(String::new(), name),
        (Log::Approver, _) => Log::Approver,
    })
}

/// Tells whether the beginning of a log has a line without its year.
fn is_undated(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).lines().any(|line| {
        let mut is_undated = false;
        split(line, &mut |_, _| {
            is_undated = true;
            None
        });
        is_undated
    })
}

/// The log of the program that wrote the first line that only one writes, without a name.
fn kind_of_text(head: &[u8]) -> Option<Log> {
    let text = String::from_utf8_lossy(head);
    text.lines().take(500).find_map(|line| {
        let (_, message) = split(line, &mut |_, _| Some(1970));
        let begins = |words: &[&str]| words.iter().any(|word| message.starts_with(word));
        if begins(&[
            "Launching server on :2262",
            "Launching server with tls",
            "Launching bootstrap server",
        ]) || message.starts_with("Pool ") && message.contains(" requested by ")
            || matches!(read(message), Line::Failure(_))
        {
            Some(Log::Server(String::new()))
        } else if begins(&["Reconciling CSR", "machine approver config"])
            || refusal(line).is_some()
            || refusal_of_all(message).is_some()
        {
            Some(Log::Approver)
        } else if begins(&["User Agent: "]) && message.contains(". Requested: /ignition") {
            Some(Log::Ignition(String::new(), String::new()))
        } else {
            None
        }
    })
}

/// Owner of a log, by its name: `…/pods/machine-config-server-x7k2p/…/logs/current.log`, or what
/// a person calls what `oc logs` printed.
fn kind_of_log(path: &Path) -> Option<Log> {
    let file = text_name(path)?;
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let named = |start: &str| parts.iter().rev().find(|part| part.starts_with(start));
    if let Some(pod) = named("machine-config-server-") {
        // A file of this name that somebody made with `oc logs`.
        let pod = pod.split('.').next().unwrap_or(pod);
        return Some(Log::Server(printable_up_to(pod, 253)));
    }
    if let Some(pod) = parts.iter().rev().find(|part| is_ignition_server(part)) {
        let namespace = parts
            .iter()
            .skip_while(|part| **part != "namespaces")
            .nth(1);
        // `hypershift dump` puts the container's name, and that it is the one before, behind it.
        let pod = pod.split('.').next().unwrap_or(pod);
        let pod = pod.strip_suffix("-previous").unwrap_or(pod);
        let pod = pod.strip_suffix("-ignition-server").unwrap_or(pod);
        return Some(Log::Ignition(
            namespace.map_or(String::new(), |name| printable_up_to(name, 63)),
            printable_up_to(pod, 253),
        ));
    }
    if named("machine-approver-").is_some() {
        return Some(Log::Approver);
    }
    if file.starts_with("machine-config-server") || file.starts_with("mcs") {
        return Some(Log::Server(printable_up_to(&file, 253)));
    }
    (file.starts_with("machine-approver")).then_some(Log::Approver)
}

/// Tells if a pod is one of HyperShift's ignition server, not of the proxy before it.
pub fn is_ignition_server(name: &str) -> bool {
    name.starts_with("ignition-server-") && !name.starts_with("ignition-server-proxy")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::kind::Purpose;

    #[test]
    fn logs_are_known_by_their_names() {
        for (path, wanted) in [
            (
                "must-gather/namespaces/openshift-machine-config-operator/pods/machine-config-server-x7k2p/machine-config-server/machine-config-server/logs/current.log",
                Some("machine-config-server-x7k2p"),
            ),
            (
                "machine-config-server.log",
                Some("machine-config-server.log"),
            ),
            ("logs/mcs-1.log.gz", Some("mcs-1.log.gz")),
            (
                "namespaces/openshift-cluster-machine-approver/pods/machine-approver-1/machine-approver-controller/machine-approver-controller/logs/current.log",
                Some(""),
            ),
            (
                "machine-config-server-x7k2p.log",
                Some("machine-config-server-x7k2p"),
            ),
            (
                "dump/namespaces/clusters-guest/core/pods/logs/ignition-server-6d9f-x2x9p-ignition-server-previous.log",
                Some("clusters-guest ignition-server-6d9f-x2x9p"),
            ),
            (
                "g/namespaces/clusters-guest/pods/ignition-server-6d9f-x2x9p/ignition-server/ignition-server/logs/current.log",
                Some("clusters-guest ignition-server-6d9f-x2x9p"),
            ),
            (
                "dump/namespaces/clusters-guest/core/pods/logs/ignition-server-proxy-6d9f-haproxy.log",
                None,
            ),
            (
                "namespaces/openshift-machine-config-operator/pods/machine-config-daemon-1/machine-config-daemon/machine-config-daemon/logs/current.log",
                None,
            ),
            (
                "namespaces/openshift-machine-config-operator/pods/machine-config-server-x7k2p/machine-config-server-x7k2p.yaml",
                None,
            ),
        ] {
            let found = kind_of_log(Path::new(path)).map(|log| match log {
                Log::Server(name) => name,
                Log::Approver => String::new(),
                Log::Ignition(namespace, pod) => format!("{namespace} {pod}"),
            });
            assert_eq!(found.as_deref(), wanted, "{path}");
        }
    }

    /// Two gigabytes of a log are read as far as the bound, and that is said.
    #[test]
    fn a_log_without_end_is_read_as_far_as_its_bound() {
        let line = b"2026-08-20T09:00:00.0Z I0820 09:00:00.000000       1 api.go:72] Launching server on :22623\n";
        let mut endless = Endless(line, 0);
        let mut cluster = Cluster::new(Purpose::Nodes, Moment(1_800_000_000), false);
        let path = Path::new("machine-config-server-1.log");
        cluster.add_start(path, &mut endless, 3 << 20).unwrap();
        let source = &cluster.logs.sources[0];
        assert_eq!(
            source.cut.as_deref(),
            Some("only the first 3 MiB of its log were read")
        );
        assert_eq!(cluster.logs.lines, (3 << 20) / line.len() + 1);
    }

    /// Two logs without years wait for the objects, in bounded memory; of a broken one what came before the
    /// break counts.
    #[test]
    fn logs_without_years_wait_in_bounded_memory() {
        let line = b"I1231 09:00:00.000000       1 api.go:72] Launching server on :22623\n";
        let mut cluster = Cluster::new(Purpose::Nodes, Moment(1_800_000_000), false);
        let path = Path::new("machine-config-server-1.log");
        let endless = || Endless(line, 0);
        cluster.add_start(path, &mut endless(), 1 << 20).unwrap();
        cluster.undated_logs[0].1 = vec![0; usize::try_from(MAX_UNDATED).unwrap() - (2 << 20)];
        for name in ["machine-config-server-2.log", "machine-config-server-3.log"] {
            cluster
                .add_start(Path::new(name), &mut endless(), 3 << 20)
                .unwrap();
        }
        cluster.undated_logs.remove(0);
        let pod = "g/namespaces/n/pods/machine-config-server-4/logs/current.log";
        for path in [pod, &pod.replace("-4", "-5")] {
            let mut log = line.chain(Broken(path == pod));
            let added = cluster.add_start(Path::new(path), &mut log, 3 << 20);
            assert_eq!(added.is_err(), path == pod);
        }
        cluster.newest = Moment::parse("2021-01-01T01:00:00Z");
        cluster.add_undated_logs();
        let at = Moment::parse("2020-12-31T09:00:00Z");
        let cut = |mib| Some(format!("only the first {mib} MiB of its log were read"));
        let found = cluster.logs.sources.iter();
        let found = found.map(|log| (log.first, log.cut.clone(), log.is_of_now));
        let wanted = [
            (at, cut(2), false),
            (None, cut(0), false),
            (at, None, false),
            (at, None, true),
        ];
        assert_eq!(found.collect::<Vec<_>>(), wanted);
    }

    /// A log that breaks off, or ends.
    struct Broken(bool);

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            match self.0 {
                true => Err(io::ErrorKind::UnexpectedEof.into()),
                false => Ok(0),
            }
        }
    }

    /// The same line again and again.
    struct Endless(&'static [u8], usize);

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            for byte in into.iter_mut() {
                *byte = self.0[self.1];
                self.1 = (self.1 + 1) % self.0.len();
            }
            Ok(into.len())
        }
    }
}
