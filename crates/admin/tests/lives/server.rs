//! A machine-config-server's log, as releases 4.5 to 5.1 write it (`pkg/server/api.go` of each).

use super::dice::Dice;
use super::moment::{HOUR, Moment, SECOND, go, klog, nanos};

/// What of OpenShift's history the logs show.
#[derive(Clone, Debug)]
pub(super) struct Release {
    pub(super) name: &'static str,
    /// 5.0 is 23.
    pub(super) minor: u32,
}

pub(super) const RELEASES: [(&str, u32); 21] = [
    ("4.5.41", 5),
    ("4.6.61", 6),
    ("4.7.60", 7),
    ("4.8.57", 8),
    ("4.9.59", 9),
    ("4.10.67", 10),
    ("4.11.58", 11),
    ("4.12.77", 12),
    ("4.13.60", 13),
    ("4.14.55", 14),
    ("4.15.50", 15),
    ("4.16.40", 16),
    ("4.17.30", 17),
    ("4.18.20", 18),
    ("4.19.10", 19),
    ("4.20.5", 20),
    ("4.21.3", 21),
    ("4.22.1", 22),
    ("4.23.0", 23),
    ("5.0.2", 23),
    ("5.1.0", 24),
];

impl Release {
    pub(super) fn any(dice: &mut Dice) -> Self {
        let (name, minor) = dice.pick(&RELEASES);
        Self { name, minor }
    }

    pub(super) fn request(&self, pool: &str, from: &str, client: &str) -> String {
        let accept = accept_of(client);
        match self.minor {
            5 => {
                format!("Pool {pool} requested by {from} User-Agent:\"{client}\"")
            }
            6..=14 => format!(
                "Pool {pool} requested by address:\"{from}\" User-Agent:\"{client}\" Accept-Header: \"{accept}\""
            ),
            _ => format!(
                "Pool \"{pool}\" requested by address:\"{from}\" User-Agent:\"{client}\" Accept-Header: \"{accept}\""
            ),
        }
    }

    /// How Go prints the request in an error.
    pub(super) fn printed(&self, pool: &str, dice: &mut Dice) -> String {
        let pointer = format!("0xc000{}", dice.hex(6));
        if self.minor < 18 {
            format!("{{{pool} {pointer}}}")
        } else {
            format!("{{machineConfigPool:{pool} version:{pointer}}}")
        }
    }

    /// The Ignition of a boot image of that release.
    pub(super) fn ignition(&self) -> &'static str {
        match self.minor {
            0..=5 => "Ignition/0.35.0",
            6 => "Ignition/2.6.0",
            7..=9 => "Ignition/2.9.0",
            10..=13 => "Ignition/2.14.0",
            14..=18 => "Ignition/2.18.0",
            _ => "Ignition/2.22.0",
        }
    }

    fn version(&self) -> String {
        format!(
            "Version: v{}-202606010000.p0.g7ff337a (7ff337a4f0)",
            self.name
        )
    }
}

fn accept_of(client: &str) -> &'static str {
    match client {
        "Ignition/0.35.0" => {
            "application/vnd.coreos.ignition+json; version=2.4.0, application/vnd.coreos.ignition+json; version=1; q=0.5, */*; q=0.1"
        }
        "Ignition/2.6.0" => "application/vnd.coreos.ignition+json;version=3.1.0, */*;q=0.1",
        "Ignition/2.9.0" => "application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1",
        "Ignition/2.14.0" => "application/vnd.coreos.ignition+json;version=3.3.0, */*;q=0.1",
        "Ignition/2.18.0" => "application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1",
        "Ignition/2.22.0" => "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1",
        "Ignition/1.9.0" => "application/vnd.coreos.ignition+json;version=1.0.0",
        _ => "",
    }
}

#[derive(Clone, Debug)]
enum Line {
    Klog(char, &'static str, String),
    Go(String),
    Raw(String),
}

/// How a line begins: by who took the log from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    /// `oc logs --timestamps`, must-gather.
    Timestamps,
    /// `/var/log/pods`.
    Files,
    /// `oc logs`.
    Bare,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    lines: Vec<(Moment, Line)>,
    /// What is older was rotated away.
    pub(super) from: Moment,
}

impl Log {
    pub(super) fn info(&mut self, at: Moment, file: &'static str, text: String) {
        self.lines.push((at, Line::Klog('I', file, text)));
    }

    pub(super) fn error(&mut self, at: Moment, file: &'static str, text: String) {
        self.lines.push((at, Line::Klog('E', file, text)));
    }

    pub(super) fn go(&mut self, at: Moment, text: String) {
        self.lines.push((at, Line::Go(text)));
    }

    pub(super) fn raw(&mut self, at: Moment, text: String) {
        self.lines.push((at, Line::Raw(text)));
    }

    pub(super) fn start(&mut self, at: Moment, release: &Release) {
        self.info(at, "start.go:52", release.version());
        for port in ["22624", "22623"] {
            self.info(at + 5, "api.go:65", format!("Launching server on :{port}"));
        }
    }

    /// A load balancer that knocks without TLS, and a person with curl.
    pub(super) fn noise(&mut self, dice: &mut Dice, now: Moment, release: &Release) {
        for _ in 0..dice.below(4) {
            let at = now - dice.range(10 * SECOND, 6 * HOUR);
            let port = dice.range(30000, 60000);
            self.go(
                at,
                format!("http: TLS handshake error from 10.0.0.9:{port}: EOF"),
            );
        }
        if dice.percent(20) {
            let at = now - dice.range(10 * SECOND, HOUR);
            let from = format!("10.0.0.77:{}", dice.range(30000, 60000));
            let text = release.request("worker", &from, "curl/7.76.1");
            self.info(at, "api.go:119", text);
        }
    }

    pub(super) fn text(&self, prefix: Prefix, dice: &mut Dice) -> String {
        let mut lines: Vec<_> = self
            .lines
            .iter()
            .filter(|(at, _)| *at >= self.from)
            .collect();
        lines.sort_by_key(|(at, _)| *at);
        let mut out = String::new();
        for (at, line) in lines {
            out += &match prefix {
                Prefix::Timestamps => format!("{} ", nanos(at + dice.range(0, 1))),
                Prefix::Files => format!("{} stderr F ", nanos(*at).replace('Z', "+00:00")),
                Prefix::Bare => String::new(),
            };
            out += &match line {
                Line::Klog(level, file, text) => {
                    format!("{level}{}       1 {file}] {text}\n", klog(*at))
                }
                Line::Go(text) => format!("{} {text}\n", go(*at)),
                Line::Raw(text) => format!("{text}\n"),
            };
        }
        out
    }
}
