//! What would be held on real nodes: the plan, over every unit of the MCO's templates, 4.6 to main
//! (tests/data/mco-units.tsv). That real systemd does as it says is for the boot tier to show
//! (`tests/boot/run --scenario 'graph-*'`).

use crate::gate::plan::{self, UnitStates};
use crate::gate::{UnitState, always_held};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Oldest and newest minor release; after the newest comes `main`.
const MINORS: std::ops::RangeInclusive<u32> = 6..=23;

struct Row {
    unit: String,
    releases: BTreeSet<String>,
    /// Platform, and role where it is for one only.
    nodes: Vec<String>,
    /// Directive and names.
    dependencies: Vec<(String, Vec<String>)>,
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn releases() -> Vec<String> {
    MINORS
        .map(|minor| format!("4.{minor}"))
        .chain(["main".to_owned()])
        .collect()
}

/// `4.12,4.14-main` in full.
fn expand(ranges: &str) -> BTreeSet<String> {
    let all = releases();
    let at = |name: &str| {
        all.iter()
            .position(|release| release == name)
            .unwrap_or_else(|| panic!("no release {name}"))
    };
    let ranges = ranges
        .split(',')
        .map(|range| range.split_once('-').unwrap_or((range, range)));
    ranges
        .flat_map(|(from, to)| all[at(from)..=at(to)].to_vec())
        .collect()
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(path("data/mco-units.tsv")).expect("the table");
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let row = |line: &str| {
        let [unit, releases, nodes, _, dependencies] = line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{line}")
        };
        let pairs = dependencies
            .split("; ")
            .filter_map(|part| part.split_once('='));
        let dependencies = pairs
            .map(|(name, values)| (name.to_owned(), words(values)))
            .collect();
        Row {
            unit: unit.to_owned(),
            releases: expand(releases),
            nodes: words(nodes),
            dependencies,
        }
    };
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(row)
        .collect()
}

impl Row {
    fn is_for(&self, release: &str, platform: &str, role: &str) -> bool {
        let node = |node: &str| match node.split_once('/') {
            Some(one) => one == (platform, role),
            None => node == "all" || node == platform,
        };
        let meant = if self.nodes == ["all", "masters"] {
            role == "master"
        } else {
            self.nodes.iter().any(|name| node(name))
        };
        self.releases.contains(release) && meant
    }
}

/// What systemd would say of the units of a node, both ends of each dependency.
fn load(rows: &[&Row]) -> UnitStates {
    let mut known = UnitStates::new();
    let mut add = |of: &str, field: fn(&mut UnitState) -> &mut Vec<String>, name: &str| {
        let list = field(known.entry(of.to_owned()).or_default());
        if !list.iter().any(|there| there == name) {
            list.push(name.to_owned());
        }
    };
    for row in rows {
        for (directive, names) in &row.dependencies {
            for name in names {
                match directive.as_str() {
                    "Before" => add(&row.unit, |unit| &mut unit.before, name),
                    "After" => add(name, |unit| &mut unit.before, &row.unit),
                    "OnFailure" => add(&row.unit, |unit| &mut unit.on_failure, name),
                    "RequiredBy" => add(&row.unit, |unit| &mut unit.required_by, name),
                    "Requires" => add(name, |unit| &mut unit.required_by, &row.unit),
                    _ => {}
                }
            }
        }
    }
    known
}

fn held(node: &UnitStates) -> Vec<String> {
    let mut known = UnitStates::new();
    loop {
        let plan = plan::plan(&known, &BTreeMap::new());
        if plan.ask.is_empty() {
            return plan.units;
        }
        for unit in plan.ask {
            let state = node.get(&unit).cloned().unwrap_or_default();
            known.insert(unit, state);
        }
    }
}

/// `4.12`, `4.13`, `main` as `4.12-4.13,main`.
fn ranges(found: &BTreeSet<&str>) -> String {
    let all = releases();
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for at in all
        .iter()
        .enumerate()
        .filter(|(_, release)| found.contains(release.as_str()))
        .map(|(at, _)| at)
    {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == at => *end = at,
            _ => parts.push((at, at)),
        }
    }
    let part = |(from, to): &(usize, usize)| {
        if from == to {
            all[*from].clone()
        } else {
            format!("{}-{}", all[*from], all[*to])
        }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[test]
fn what_is_held_on_every_node_of_every_release() {
    let rows = rows();
    let platforms: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| &row.nodes)
        .map(|node| node.split('/').next().unwrap())
        .filter(|name| !["all", "masters"].contains(name))
        .collect();
    let fixed = always_held::always();
    // Unit -> release -> nodes.
    let mut found: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for release in releases() {
        for platform in &platforms {
            for role in ["master", "worker"] {
                let here: Vec<&Row> = rows
                    .iter()
                    .filter(|row| row.is_for(&release, platform, role))
                    .collect();
                let names: BTreeSet<&str> = here.iter().map(|row| row.unit.as_str()).collect();
                for unit in held(&load(&here))
                    .into_iter()
                    .filter(|unit| !fixed.contains(unit) && names.contains(unit.as_str()))
                {
                    found
                        .entry(unit)
                        .or_default()
                        .entry(release.clone())
                        .or_default()
                        .insert(format!("{platform}/{role}"));
                }
            }
        }
    }
    let mut lines = vec!["unit\treleases\tnodes".to_owned()];
    for (unit, by_release) in &found {
        let mut by_nodes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (release, nodes) in by_release {
            by_nodes
                .entry(describe(nodes, &platforms))
                .or_default()
                .insert(release);
        }
        lines.extend(
            by_nodes
                .iter()
                .map(|(nodes, releases)| format!("{unit}\t{}\t{nodes}", ranges(releases))),
        );
    }
    let text = lines.join("\n") + "\n";
    assert_eq!(
        text,
        fs::read_to_string(path("units/expected/held.tsv")).expect("the expected table")
    );
}

/// Nodes as the table of the MCO's units names them.
fn describe(nodes: &BTreeSet<String>, platforms: &BTreeSet<&str>) -> String {
    let has = |platform: &str, role: &str| nodes.contains(&format!("{platform}/{role}"));
    if platforms
        .iter()
        .all(|platform| has(platform, "master") && has(platform, "worker"))
    {
        return "all".to_owned();
    }
    let name = |platform: &&str| match (has(platform, "master"), has(platform, "worker")) {
        (true, true) => Some((*platform).to_owned()),
        (true, false) => Some(format!("{platform}/master")),
        (false, true) => Some(format!("{platform}/worker")),
        (false, false) => None,
    };
    platforms
        .iter()
        .filter_map(name)
        .collect::<Vec<_>>()
        .join(" ")
}
