//! The audit as CSV: a row for each set, and for joined nodes that an update breaks (pure).

use super::fleet_text;
use crate::audit::results::fleet::FleetAudit;
use crate::audit::{BirthAudit, BootImageAudit, SetAudit};
use crate::cli::Failure;
use crate::cli::audit::conclusion::Word;

const COLUMNS: [&str; 21] = [
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
];

/// # Errors
/// None: it is written to memory.
pub(crate) fn render(audit: &BootImageAudit) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for set in &audit.sets {
        writer.write_record(cells(set).map(|cell| inert(&cell)))?;
    }
    for birth in &audit.births {
        writer.write_record(cells_of_birth(birth).map(|cell| inert(&cell)))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8(bytes)?)
}

/// The same, with the cluster before the columns. What was not read of a cluster is a row without a
/// set.
///
/// # Errors
/// None: it is written to memory.
pub(crate) fn render_fleet(fleet: &FleetAudit) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(std::iter::once("cluster").chain(COLUMNS))?;
    for cluster in &fleet.items {
        let mut write = |cells: [String; 21]| {
            let cells = std::iter::once(cluster.context.clone()).chain(cells);
            writer.write_record(cells.map(|cell| inert(&cell)))
        };
        for doubt in fleet_text::doubts(cluster) {
            write(COLUMNS.map(|column| match column {
                "verdict" => Word::Unknown.lower().to_owned(),
                "message" => doubt.clone(),
                _ => String::new(),
            }))?;
        }
        for set in cluster.audit.iter().flat_map(|audit| &audit.sets) {
            write(cells(set))?;
        }
        for birth in cluster.audit.iter().flat_map(|audit| &audit.births) {
            write(cells_of_birth(birth))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8(bytes)?)
}

fn cells(set: &SetAudit) -> [String; 21] {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let image = set.boot_image.as_ref();
    let joined = set.joined();
    [
        Word::of(set).lower().to_owned(),
        set.kind.to_owned(),
        set.namespace.clone(),
        set.name.clone(),
        text(&set.pool),
        text(&set.platform),
        text(&set.region),
        text(&set.architecture),
        text(&set.image_field),
        text(&set.image),
        image.map(|image| image.version.clone()).unwrap_or_default(),
        image
            .map(|image| text(&image.rhel_version))
            .unwrap_or_default(),
        image
            .map(|image| text(&image.ocp_version))
            .unwrap_or_default(),
        format!("{:?}", set.known_by),
        joined.map(|joined| joined.to_string()).unwrap_or_default(),
        set.replicas
            .map(|wanted| wanted.to_string())
            .unwrap_or_default(),
        set.reason.as_str().to_owned(),
        set.message.clone(),
        set.advice().unwrap_or_default(),
        text(&set.want_image),
        set.exception
            .as_ref()
            .map(|exception| exception.says())
            .unwrap_or_default(),
    ]
}

/// Of kind Node, with the names of the nodes as one.
fn cells_of_birth(birth: &BirthAudit) -> [String; 21] {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let image = birth.boot_image.as_ref();
    let why = birth.to_know.as_ref();
    let verdict = if why.is_some() { "may break" } else { "breaks" };
    let filled = [
        ("verdict", verdict.to_owned()),
        ("kind", "Node".to_owned()),
        ("name", birth.nodes.join(" ")),
        ("pool", text(&birth.pool)),
        (
            "version",
            image.map(|image| image.version.clone()).unwrap_or_default(),
        ),
        (
            "rhel",
            image
                .map(|image| text(&image.rhel_version))
                .unwrap_or_default(),
        ),
        (
            "ocp",
            image
                .map(|image| text(&image.ocp_version))
                .unwrap_or_default(),
        ),
        ("nodes", birth.count.to_string()),
        ("reason", birth.issue.clone()),
        (
            "message",
            format!(
                "at the update to {}: {}",
                birth.release,
                why.unwrap_or(&birth.reason)
            ),
        ),
        ("remedy", text(&birth.remedy)),
    ];
    COLUMNS.map(|column| {
        let mut cells = filled.iter().filter(|(name, _)| *name == column);
        cells
            .next()
            .map(|(_, cell)| cell.clone())
            .unwrap_or_default()
    })
}

/// A cell that no spreadsheet takes for a formula (OWASP, "CSV Injection"). Numbers below zero are
/// none of ours.
fn inert(cell: &str) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}
