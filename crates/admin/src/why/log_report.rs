//! The logs that were read, and how far they can be trusted (pure).

use super::moment::{Moment, span};
use super::report::LogReport;
use super::server_log::Source;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::names::count;

/// The logs, and how far they can be trusted.
pub(super) fn log_report(facts: &Cluster) -> LogReport {
    let logs = &facts.logs;
    let mut notes = Vec::new();
    if logs.unknown > 0 {
        let sample = logs.unknown_sample.as_deref().unwrap_or_default();
        let are = if logs.unknown == 1 { "is" } else { "are" };
        notes.push(format!(
            "{} of the log {are} not understood; the first: {sample}",
            count(logs.unknown, "line")
        ));
    }
    let cut = |source: &Source| Some(format!("{}: {}", source.name, source.cut.as_ref()?));
    notes.extend(logs.sources.iter().filter_map(cut));
    for (number, what) in [
        (logs.without_address, "have no address"),
        (logs.peers_left_out, "are of more addresses than are kept"),
    ] {
        if number > 0 {
            notes.push(format!("{number} requests {what}"));
        }
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
    let others = logs.sources.iter().filter(|source| !source.is_bootstrap);
    let empty = others.filter(|source| source.first.is_none());
    notes.extend(
        empty.map(|source| format!("{}: its log has no line that is understood", source.name)),
    );
    LogReport {
        servers: logs.servers().count(),
        since: logs.begin().map(Moment::text),
        lines: logs.lines,
        requests: logs.requests,
        unknown_lines: logs.unknown,
        notes,
    }
}
