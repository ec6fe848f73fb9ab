//! The audit as CSV: a row for each set, and for joined nodes that an update breaks (pure).

use super::commands::with;
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{InstalledFrom, SetAudit, SetException};
use crate::cli::audit::facts::{cluster_doubts, known_issues};
use crate::cli::audit::word::Word;
use crate::verdict::BootImageStatus;
use serde_json::{Value, json};
use skewguard_core::command::Failure;

/// The columns. Those of clusters are there where several were asked for.
const COLUMNS: [&str; 27] = [
    "cluster",
    "verdict",
    "kind",
    "namespace",
    "name",
    "pool",
    "platform",
    "region",
    "architecture",
    "imageField",
    "image",
    "version",
    "rhel",
    "ocp",
    "knownBy",
    "nodes",
    "replicas",
    "reason",
    "message",
    "remedy",
    "wantImage",
    "exception",
    // The one that a set was judged at; of other rows the cluster's own.
    "release",
    "infrastructureName",
    // Where several rows are of one set, the name that no other row has.
    "rowName",
    "refusedFrom",
    "knownIssues",
];

/// # Errors
/// None: it is written to memory.
pub(crate) fn render(fleet: &FleetAudit) -> Result<String, Failure> {
    let skipped = usize::from(fleet.alone().is_some());
    let columns = COLUMNS.iter().skip(skipped);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.clone())?;
    for row in fleet.items.iter().flat_map(rows) {
        writer.write_record(columns.clone().map(|column| cell(row.get(column))))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8(bytes)?)
}

/// The text of a value, which no spreadsheet takes for a formula (OWASP, "CSV Injection"); empty where
/// there is none. Numbers below zero are none of ours.
fn cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text,
    }
}

/// The rows of a cluster, by column. What was not read of one of several is a row without a set.
fn rows(cluster: &ClusterAudit) -> Vec<Value> {
    let doubts = match cluster.is_alone() {
        true => Vec::new(),
        false => cluster_doubts(cluster),
    };
    let doubt = |doubt| json!({ "verdict": Word::Unknown.lower(), "message": doubt });
    let audit = cluster.audit.iter();
    let sets = audit.clone().flat_map(|audit| &audit.sets).map(of_set);
    let broken = audit.flat_map(|audit| &audit.broken).map(of_installed);
    let origin = cluster.audit.as_ref().map(|audit| &audit.origin);
    let all = doubts.into_iter().map(doubt).chain(sets).chain(broken);
    let of_cluster = json!({
        "cluster": cluster.context,
        "release": origin.map(|origin| &origin.release),
        "infrastructureName": origin.map(|origin| &origin.infrastructure),
    });
    all.map(|row| with(of_cluster.clone(), row)).collect()
}

/// A set as in JSON, and beside it the words of its forms.
fn of_set(set: &SetAudit) -> Value {
    let said = json!({
        "verdict": Word::of(set).lower(),
        "release": set.release,
        "rowName": set.row_name(),
        "nodes": set.joined(),
        "remedy": set.advice(),
        "exception": set.exception.as_ref().map(SetException::says),
        "knownIssues": known_issues(set).join("; "),
    });
    with(with(json!(set), said), of_image(set.boot_image.as_ref()))
}

/// Of kind Node, with the names of the nodes as one.
fn of_installed(nodes: &InstalledFrom) -> Value {
    let (verdict, says) = match &nodes.to_know {
        Some(why) => ("may break", why),
        None => ("breaks", &nodes.reason),
    };
    let row = json!({
        "verdict": verdict,
        "kind": "Node",
        "name": nodes.nodes.join(" "),
        "pool": nodes.pool,
        "nodes": nodes.count,
        "reason": nodes.issue,
        "message": format!("at the update to {}: {says}", nodes.release),
        "remedy": nodes.remedy,
    });
    with(row, of_image(nodes.boot_image.as_ref()))
}

fn of_image(image: Option<&BootImageStatus>) -> Value {
    json!({
        "version": image.map(|image| &image.version),
        "rhel": image.map(|image| &image.rhel_version),
        "ocp": image.map(|image| &image.ocp_version),
    })
}
