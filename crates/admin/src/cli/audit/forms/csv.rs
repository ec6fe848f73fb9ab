//! The audit as CSV: a row for each set, and for joined nodes that an update breaks (pure).

use super::facts::{cluster_doubts, known_issues};
use crate::audit::results::fleet::{ClusterAudit, FleetAudit};
use crate::audit::{BirthAudit, SetAudit, SetException};
use crate::cli::Failure;
use crate::cli::audit::word::Word;
use crate::verdict::BootImageStatus;
use serde::{Serialize, Serializer};

/// A row; its fields are the columns.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    /// The context; absent where only one cluster was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<Cell>,
    verdict: Cell,
    kind: Cell,
    namespace: Cell,
    name: Cell,
    pool: Cell,
    platform: Cell,
    region: Cell,
    architecture: Cell,
    image_field: Cell,
    image: Cell,
    version: Cell,
    rhel: Cell,
    ocp: Cell,
    known_by: Cell,
    nodes: Cell,
    replicas: Cell,
    reason: Cell,
    message: Cell,
    remedy: Cell,
    want_image: Cell,
    exception: Cell,
    /// The cluster's own, whichever release was asked about.
    release: Cell,
    infrastructure_name: Cell,
    /// Where several rows are of one set, the name that no other row has.
    row_name: Cell,
    refused_from: Cell,
    known_issues: Cell,
}

/// A text that no spreadsheet takes for a formula.
#[derive(Default)]
struct Cell(String);

impl<T: ToString> From<T> for Cell {
    fn from(text: T) -> Self {
        Self(inert(&text.to_string()))
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// # Errors
/// None: it is written to memory.
pub(crate) fn render(fleet: &FleetAudit) -> Result<String, Failure> {
    let rows: Vec<Row> = fleet.items.iter().flat_map(rows).collect();
    if rows.is_empty() {
        let head = written(&[Row {
            cluster: fleet.alone().is_none().then(Cell::default),
            ..Row::default()
        }])?;
        return Ok(head.split_inclusive('\n').take(1).collect());
    }
    written(&rows)
}

fn written(rows: &[Row]) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8(bytes)?)
}

/// The rows of a cluster. What was not read of one of several is a row without a set.
fn rows(cluster: &ClusterAudit) -> Vec<Row> {
    let doubts = match cluster.is_alone() {
        true => Vec::new(),
        false => cluster_doubts(cluster),
    };
    let doubts = doubts.into_iter().map(|doubt| Row {
        verdict: Word::Unknown.lower().into(),
        message: doubt.into(),
        ..Row::default()
    });
    let audit = cluster.audit.iter();
    let sets = audit.clone().flat_map(|audit| &audit.sets).map(of_set);
    let births = audit.flat_map(|audit| &audit.births).map(of_birth);
    let all = doubts.chain(sets).chain(births);
    let origin = cluster
        .audit
        .as_ref()
        .and_then(|audit| audit.origin.as_ref());
    all.map(|row| Row {
        cluster: (!cluster.is_alone()).then(|| (&cluster.context).into()),
        release: cell(origin.and_then(|origin| origin.release.as_ref())),
        infrastructure_name: cell(origin.and_then(|origin| origin.infrastructure.as_ref())),
        ..row
    })
    .collect()
}

/// The text; an empty cell where there is none.
fn cell<T: ToString>(text: Option<T>) -> Cell {
    text.map(Cell::from).unwrap_or_default()
}

/// Version, RHEL and OCP of an image.
fn of_image(image: Option<&BootImageStatus>) -> Row {
    Row {
        version: cell(image.map(|image| &image.version)),
        rhel: cell(image.and_then(|image| image.rhel_version.as_ref())),
        ocp: cell(image.and_then(|image| image.ocp_version.as_ref())),
        ..Row::default()
    }
}

fn of_set(set: &SetAudit) -> Row {
    Row {
        verdict: Word::of(set).lower().into(),
        kind: set.kind.name().into(),
        namespace: (&set.namespace).into(),
        name: (&set.name).into(),
        row_name: set.row_name().into(),
        pool: cell(set.pool.as_ref()),
        platform: cell(set.platform.as_ref()),
        region: cell(set.region.as_ref()),
        architecture: cell(set.architecture.as_ref()),
        image_field: cell(set.image_field.as_ref()),
        image: cell(set.image.as_ref()),
        known_by: format!("{:?}", set.known_by).into(),
        nodes: cell(set.joined()),
        replicas: cell(set.replicas),
        reason: set.reason.as_str().into(),
        message: (&set.message).into(),
        remedy: cell(set.advice()),
        want_image: cell(set.want_image.as_ref()),
        exception: cell(set.exception.as_ref().map(SetException::says)),
        refused_from: cell(set.refused_from.as_ref()),
        known_issues: known_issues(set).join("; ").into(),
        ..of_image(set.boot_image.as_ref())
    }
}

/// Of kind Node, with the names of the nodes as one.
fn of_birth(birth: &BirthAudit) -> Row {
    let why = birth.to_know.as_ref();
    let (verdict, says) = match why {
        Some(why) => ("may break", why),
        None => ("breaks", &birth.reason),
    };
    Row {
        verdict: verdict.into(),
        kind: "Node".into(),
        name: birth.nodes.join(" ").into(),
        pool: cell(birth.pool.as_ref()),
        nodes: birth.count.into(),
        reason: (&birth.issue).into(),
        message: format!("at the update to {}: {says}", birth.release).into(),
        remedy: cell(birth.remedy.as_ref()),
        ..of_image(birth.boot_image.as_ref())
    }
}

/// A text that no spreadsheet takes for a formula (OWASP, "CSV Injection"). Numbers below zero are
/// none of ours.
fn inert(cell: &str) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}
