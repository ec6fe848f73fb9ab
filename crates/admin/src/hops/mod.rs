//! The updates from one minor release to the next, and what of them bears on boot images, by `hops.json` (pure).
//! Each row there names its source.

use crate::version::{OcpMinor, Release};
use serde::Deserialize;
use std::sync::LazyLock;

/// The table.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    hops: Vec<Hop>,
    gates: Vec<Gate>,
    operators_value: OperatorsValue,
    streams: Stream,
}

/// A default of the operator that changes with a release, or what else an administrator has to acknowledge before.
#[derive(Debug, Deserialize)]
pub(crate) struct Gate {
    pub(crate) to: String,
    /// Platforms whose images the operator updates by default from then on.
    #[serde(default)]
    pub(crate) platforms: Vec<String>,
    /// The architecture of nodes.
    pub(crate) architecture: Option<String>,
    /// The key in ConfigMap `admin-acks`.
    pub(crate) ack: String,
}

/// Tells whether the operator of a release updates the images of MachineSets on a platform unless it is told otherwise.
pub(crate) fn is_updated_by_default(platform: &str, release: OcpMinor) -> bool {
    let mut of_platform = TABLE.gates.iter();
    of_platform.any(|gate| {
        let since = gate.to.parse().ok();
        let is_of = gate.platforms.iter().any(|own| own == platform);
        is_of && since.is_some_and(|since: OcpMinor| since <= release)
    })
}

/// The first release whose operator has a value for the oldest boot image, and the platforms on which its own updates
/// of images say it.
#[derive(Debug, Default, Deserialize)]
struct OperatorsValue {
    on: String,
    managed: Vec<String>,
}

/// The stream of pools that name none, where a cluster was installed before.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stream {
    from: String,
    installed_before: String,
    stream: String,
}

#[derive(Debug, Deserialize)]
struct Hop {
    from: String,
    to: String,
    /// The first release of `from` that it is offered to.
    least: Option<String>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let table = serde_json::from_str(include_str!("hops.json"));
    // A test reads it.
    table.unwrap_or_default()
});

/// The minor releases after this one up to the other, in order; `None` where no known update leads there.
pub(crate) fn through(from: OcpMinor, to: OcpMinor) -> Option<Vec<OcpMinor>> {
    let mut all = Vec::new();
    let mut at = to;
    while at != from {
        all.push(at);
        let name = at.to_string();
        let hop = TABLE.hops.iter().find(|hop| hop.to == name)?;
        at = hop.from.parse().ok()?;
    }
    all.reverse();
    Some(all)
}

/// The first release of this minor one that an update to the next is offered to.
pub(crate) fn least(minor: OcpMinor) -> Option<Release> {
    let name = minor.to_string();
    let hops = TABLE.hops.iter().filter(|hop| hop.from == name);
    hops.filter_map(|hop| hop.least.as_ref()?.parse().ok())
        .min()
}

/// The release before this one.
pub(crate) fn before(to: OcpMinor) -> Option<OcpMinor> {
    let name = to.to_string();
    let hop = TABLE.hops.iter().find(|hop| hop.to == name)?;
    hop.from.parse().ok()
}

/// An acknowledgement before the update to a release.
pub(crate) fn gates(to: OcpMinor) -> impl Iterator<Item = &'static Gate> {
    let name = to.to_string();
    TABLE.gates.iter().filter(move |gate| gate.to == name)
}

/// The first release whose operator has a value for the oldest boot image.
pub(crate) fn has_value_on() -> Option<OcpMinor> {
    TABLE.operators_value.on.parse().ok()
}

/// Tells whether the operator's updates of images say that value on a platform, unless it is told otherwise.
pub(crate) fn says_value(platform: &str) -> bool {
    let managed = &TABLE.operators_value.managed;
    managed.iter().any(|managed| managed == platform)
}

/// The stream that pools which name none keep at a release, where the cluster was installed as an older one.
pub(crate) fn keeps(at: OcpMinor, installed: Option<&str>) -> Option<&'static str> {
    let Stream {
        from,
        installed_before,
        stream,
    } = &TABLE.streams;
    let installed = installed?.parse::<Release>().ok()?.minor;
    let is_older = installed < installed_before.parse().ok()?;
    let is_reached = at >= from.parse().ok()?;
    (is_older && is_reached).then_some(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_from_release_to_release() {
        for (from, to, wanted) in [
            ("4.18", "5.0", Some("4.19 4.20 4.21 4.22 5.0")),
            ("4.21", "4.23", Some("4.22 4.23")),
            ("4.22", "5.1", Some("5.0 5.1")),
            ("4.22", "4.22", Some("")),
            // Nothing leaves it.
            ("4.23", "5.0", None),
            ("4.23", "5.1", None),
            ("4.22", "4.21", None),
            ("5.0", "4.23", None),
        ] {
            let [from_minor, to_minor] = [from, to].map(|text| text.parse().unwrap());
            let found = through(from_minor, to_minor).map(|all| {
                let all: Vec<_> = all.iter().map(OcpMinor::to_string).collect();
                all.join(" ")
            });
            assert_eq!(found.as_deref(), wanted, "{from} {to}");
        }
        let of_4_18 = OcpMinor {
            major: 4,
            minor: 18,
        };
        assert_eq!(least(of_4_18).unwrap().to_string(), "4.18.19");
    }

    #[test]
    fn the_table_is_read_and_each_row_has_a_source() {
        let rows: serde_json::Value = serde_json::from_str(include_str!("hops.json")).unwrap();
        assert_eq!(rows["hops"].as_array().unwrap().len(), TABLE.hops.len());
        for row in rows.as_object().unwrap().values() {
            let rows = row.as_array().cloned().unwrap_or_else(|| vec![row.clone()]);
            for row in rows {
                assert!(row["source"].as_str().unwrap().contains("(2026-"), "{row}");
            }
        }
    }
}
