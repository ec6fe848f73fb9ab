//! systemd 239 (RHEL 8), which no test boots: it has every member that the gate uses, and answers
//! in these types. The stand-in does as well.

use crate::inside::dbus::node::Node;
use crate::inside::dbus::systemd1::Behaviour;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use zbus::OwnedVariant;

/// The systemd of the oldest boot images.
const OLDEST: u16 = 239;

/// Every member of `org.freedesktop.systemd1` that is used, with its type and the version that
/// brought it. 239: that version's sources have it (redhat-plumbers/systemd-rhel8, `dbus-unit.c`, `NRestarts` and
/// `Reload`), and nobody has looked further back. The other methods are older than 239 as far as is known; their sources were not read.
const MEMBERS: [(&str, &str, u16); 21] = [
    // Methods, with their arguments; those of org.freedesktop.DBus.Properties are the bus's own.
    ("Get", "ss", 183),
    ("GetAll", "s", 183),
    ("Reload", "", 183),
    ("ResetFailedUnit", "s", 183),
    ("StartUnit", "ss", 183),
    ("StopUnit", "ss", 183),
    // Properties of a service.
    ("NRestarts", "u", 235),
    // Properties of a unit.
    ("ActiveState", "s", 183),
    ("After", "as", 183),
    ("Before", "as", 183),
    ("BoundBy", "as", 239),
    ("Id", "s", 183),
    ("Job", "(uo)", 183),
    ("LoadState", "s", 183),
    ("OnFailure", "as", 183),
    ("RequiredBy", "as", 183),
    ("Requires", "as", 183),
    ("RequisiteOf", "as", 239),
    ("StateChangeTimestampMonotonic", "t", 239),
    ("SubState", "s", 183),
    ("Triggers", "as", 239),
];

/// What no property is.
const METHODS: usize = 6;

#[test]
fn the_oldest_systemd_has_every_member_that_is_used() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gate/systemd.rs");
    let source = std::fs::read_to_string(source).expect("the source");
    let (code, _) = source.split_once("#[cfg(test)]").expect("its tests");
    let is_member = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.chars().all(|c| c.is_ascii_alphabetic())
    };
    let used: BTreeSet<&str> = code
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(is_member)
        .collect();
    let listed: BTreeSet<&str> = MEMBERS.iter().map(|(name, _, _)| *name).collect();
    assert_eq!(used, listed, "the list is of what is used");
    let newer: Vec<_> = MEMBERS
        .iter()
        .filter(|(_, _, since)| *since > OLDEST)
        .collect();
    assert_eq!(newer, Vec::<&(&str, &str, u16)>::new());
}

#[test]
fn the_stand_in_answers_in_the_types_of_the_oldest_systemd() {
    let node = Node::with(Behaviour::default());
    let path = "/org/freedesktop/systemd1/unit/kubelet_2eservice";
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let types: BTreeMap<String, String> = runtime.block_on(async {
        let bus = zbus::connection::Builder::address(node.systemd.bus.as_str());
        let bus = bus.build().await.expect("the bus");
        let mut all = HashMap::new();
        for interface in ["Unit", "Service"] {
            let interface = format!("org.freedesktop.systemd1.{interface}");
            let answer = bus
                .call_method(
                    Some("org.freedesktop.systemd1"),
                    path,
                    Some("org.freedesktop.DBus.Properties"),
                    "GetAll",
                    &interface,
                )
                .await
                .expect("an answer");
            let some: HashMap<String, OwnedVariant> = answer.body().deserialize().expect("a{sv}");
            all.extend(some);
        }
        all.into_iter()
            .map(|(name, value)| (name, value.value_signature().to_string()))
            .collect()
    });
    for (name, kind, _) in &MEMBERS[METHODS..] {
        assert_eq!(types.get(*name).map(String::as_str), Some(*kind), "{name}");
    }
    // What nothing reads, and every answer of 239 has.
    for (name, kind) in [
        ("Asserts", "a(sbbsi)"),
        ("InvocationID", "ay"),
        ("LoadError", "(ss)"),
    ] {
        assert_eq!(types.get(name).map(String::as_str), Some(kind), "{name}");
    }
}
