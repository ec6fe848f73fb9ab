//! The logs that were read, and how far they can be trusted (pure).

use super::moment::{Moment, span};
use super::report::LogReport;
use skewguard_cluster::cluster::Cluster;
use std::collections::BTreeSet;

/// The logs, and how far they can be trusted.
pub(super) fn log_report(facts: &Cluster) -> LogReport {
    let logs = &facts.logs;
    let mut notes = Vec::new();
    if logs.unknown > 0 {
        let sample = logs.unknown_sample.as_deref().unwrap_or_default();
        notes.push(format!(
            "{} line{} of the log {} not understood; the first: {sample}",
            logs.unknown,
            if logs.unknown == 1 { "" } else { "s" },
            if logs.unknown == 1 { "is" } else { "are" },
        ));
    }
    for source in &logs.sources {
        notes.extend(
            source
                .cut
                .as_ref()
                .map(|cut| format!("{}: {cut}", source.name)),
        );
    }
    if logs.without_address > 0 {
        notes.push(format!("{} requests have no address", logs.without_address));
    }
    if logs.peers_left_out > 0 {
        notes.push(format!(
            "{} requests are of more addresses than are kept",
            logs.peers_left_out
        ));
    }
    // The clocks of the machine-config-server and the API server.
    if let (Some(log), Some(newest)) = (logs.end(), facts.newest_of_objects())
        && log > newest.plus(3_600)
    {
        notes.push(format!(
            "the log ends {} after the newest object: clocks differ, or they were gathered at different times",
            span(log.since(newest))
        ));
    }
    let bootstrap = logs.sources.iter().filter(|source| source.is_bootstrap);
    notes.extend(bootstrap.map(|source| {
        format!(
            "{}: the log of the bootstrap machine's server, not of the cluster's",
            source.name
        )
    }));
    let servers: BTreeSet<&str> = logs.servers().map(|source| &*source.name).collect();
    LogReport {
        servers: servers.len(),
        since: logs.begin().map(Moment::text),
        lines: logs.lines,
        requests: logs.requests,
        unknown_lines: logs.unknown,
        notes,
    }
}
