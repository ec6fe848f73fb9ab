//! The audit for a person at a terminal of 100 columns (pure).

use super::{BootImageAudit, ClusterSkew, KnownBy, Oldest, SetAudit, full_name};
use crate::text::wrap;
use crate::verdict::BootImageStatus;
use std::collections::BTreeMap;

const WIDTH: usize = 100;

/// Columns before the text of an item.
const INDENT: usize = 11;

/// Sets, worst first; the oldest image; what could not be read; and the summary last, right above the prompt.
pub(crate) fn render(audit: &BootImageAudit, colour: bool) -> String {
    let mut page = Page { out: String::new(), colour };
    let policy = audit.policy.as_ref();
    let mode = policy.and_then(|policy| policy.mode.as_deref()).unwrap_or("unknown");
    page.lines(
        0,
        &format!(
            "Policy {} (mode {mode}), judged as if it enforced; release {}",
            policy.map_or("none", |policy| &policy.path),
            audit.release.as_deref().unwrap_or("unknown: only limits without release apply"),
        ),
    );
    for set in &audit.sets {
        page.set(set);
    }
    if let Some(oldest) = &audit.oldest {
        page.oldest(oldest, audit.cluster.as_ref());
    }
    for warning in &audit.warnings {
        page.lines(0, &format!("warning: {warning}"));
    }
    for unread in &audit.unread {
        let hides = if unread.hides_sets { "; sets may be missing above" } else { "" };
        page.lines(0, &format!("not read: {}: {}{hides}", unread.what, unread.why));
    }
    page.summary(audit);
    page.out
}

struct Page {
    out: String,
    colour: bool,
}

const RED: &str = "1;31";
const YELLOW: &str = "33";
const GREEN: &str = "32";

impl Page {
    /// Text, wrapped, with each line indented.
    fn lines(&mut self, indent: usize, text: &str) {
        for line in wrap(text, WIDTH - indent) {
            self.out.push_str(format!("{:indent$}{line}\n", "").as_str());
        }
    }

    /// A name, and beside it a text, wrapped.
    fn item(&mut self, name: &str, text: &str) {
        for (n, line) in wrap(text, WIDTH - INDENT).iter().enumerate() {
            let name = if n == 0 { name } else { "" };
            self.out.push_str(&format!("  {name:<9}{line}\n"));
        }
    }

    fn set(&mut self, set: &SetAudit) {
        let (word, colour) = match (set.would_be_refused(), set.would_be_allowed(), set.known_by) {
            (true, _, _) => ("REFUSED", RED),
            (_, true, _) => ("allowed", GREEN),
            (_, _, KnownBy::Unknown) => ("UNKNOWN", YELLOW),
            _ => ("UNDECIDED", YELLOW),
        };
        let (on, off) = if self.colour { (format!("\x1b[{colour}m"), "\x1b[0m") } else { (String::new(), "") };
        self.out.push_str(&format!("\n{on}{word:<9}{off}  "));
        for (n, line) in wrap(&format!("{} {}", set.kind, full_name(&set.namespace, &set.name)), WIDTH - INDENT).iter().enumerate() {
            let indent = if n == 0 { 0 } else { INDENT };
            self.out.push_str(&format!("{:indent$}{line}\n", ""));
        }
        let place =
            [&set.platform, &set.region, &set.architecture].into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ");
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        match (&set.image_field, &set.image) {
            (Some(field), Some(image)) => self.item("image", &format!("{image}{place}: {field}")),
            (Some(field), None) => self.item("image", &format!("not named by {field}{place}")),
            (None, _) if place.is_empty() => {}
            (None, _) => self.item("image", &format!("not known{place}")),
        }
        if let (Some(image), Some(from)) = (&set.boot_image, &set.known_from) {
            self.item("version", &format!("{}, by {from}", shown(image)));
        }
        if !set.would_be_allowed() {
            self.item("why", &set.message);
        }
        if let Some(remedy) = &set.remedy {
            self.item("fix", remedy);
        }
        for note in &set.notes {
            self.item("note", note);
        }
        let nodes: Vec<String> = set
            .nodes
            .iter()
            .map(|nodes| match &nodes.version {
                Some(version) => format!("{} of {version}", nodes.count),
                None => format!("{} without a label", nodes.count),
            })
            .collect();
        let wanted = set.replicas.map(|replicas| format!("{replicas} wanted"));
        let pool = set.pool.as_ref().map(|pool| format!("pool {pool}"));
        let joined = if nodes.is_empty() { "none joined".to_owned() } else { nodes.join(", ") };
        if nodes.is_empty() && wanted.is_none() {
            return;
        }
        self.item("nodes", &[Some(joined), wanted, pool].into_iter().flatten().collect::<Vec<_>>().join("; "));
    }

    fn oldest(&mut self, oldest: &Oldest, cluster: Option<&ClusterSkew>) {
        self.out.push('\n');
        if let Some(cluster) = cluster {
            let ocp = cluster.ocp_version.as_ref().map(|ocp| format!("OCP {ocp}"));
            let says = [cluster.rhcos_version.clone(), ocp].into_iter().flatten().collect::<Vec<_>>().join(", ");
            let says = if says.is_empty() { "names no version".to_owned() } else { format!("says {says}") };
            let judged = match cluster.older_in_use {
                Some(true) => "THAT IS NEWER than the oldest boot image in use",
                Some(false) => "no older boot image was found in use",
                None => "that cannot be compared with what was found",
            };
            self.lines(0, &format!("The cluster (bootImageSkewEnforcement, mode {}) {says}: {judged}.", cluster.mode));
        }
        self.lines(0, &format!("Oldest boot image in use: {}, by {}.", shown(&oldest.boot_image), oldest.used_by));
        if oldest.unknown > 0 {
            self.lines(0, &format!("The image of {} more sets or nodes is unknown, and may be older.", oldest.unknown));
        }
        if let Some(command) = &oldest.command {
            self.lines(0, "To tell the Machine Config Operator, where nothing older is in use:");
            // Line breaks between the tokens of JSON change nothing.
            let broken = command.replacen(" -p ", " -p \\\n  ", 1).replacen("\"manual\":", "\"manual\":\n  ", 1);
            self.out.push_str(&format!("  {broken}\n"));
        }
        self.out.push('\n');
    }

    fn summary(&mut self, audit: &BootImageAudit) {
        let summary = audit.summary;
        let undetermined = match summary.undetermined {
            0 => String::new(),
            some => format!("; of {some} it is not known"),
        };
        let note = if summary.would_be_refused + summary.undetermined == 0 && audit.unread.is_empty() {
            ": nothing stands against Enforce"
        } else {
            ""
        };
        self.lines(0, &format!("{} of {} sets would be refused{undetermined}{note}.", summary.would_be_refused, summary.sets));
        let mut remedies: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for set in audit.sets.iter().filter(|set| set.would_be_refused()) {
            if let Some(remedy) = &set.remedy {
                *remedies.entry((set.platform.as_deref().unwrap_or("other"), remedy)).or_default() += 1;
            }
        }
        for ((platform, remedy), count) in remedies {
            self.item(platform, &format!("{count} {}: {remedy}", if count == 1 { "set" } else { "sets" }));
        }
    }
}

fn shown(image: &BootImageStatus) -> String {
    let systems = image.systems().join(", ");
    format!("{} ({})", image.version, if systems.is_empty() { "says no release" } else { &systems })
}
