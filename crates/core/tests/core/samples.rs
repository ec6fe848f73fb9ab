//! Versions, nodes, policies and limits to try, for the tests of the core and of the lint.

use crate::policy::{Limit, LimitRelease, Policy, choose};
use crate::verdict::{BootImage, Facts, ImageSource, PolicyInput, Target, TargetInput};
use crate::version::{ImageVersion, OcpMinor, Release};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Releases in their order.
pub(crate) const RELEASES: [&str; 6] = ["4.21", "4.22", "4.23", "5.0", "5.1", "5.2"];

/// The first column of the list of real boot images.
pub(crate) fn image_versions() -> Vec<String> {
    let list = std::fs::read_to_string("tests/data/boot-images.tsv").unwrap();
    list.lines()
        .skip(1)
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

/// A worker at its first boot, of this image and to run this release.
pub(crate) fn node(image: &str, release: &str, policy: Policy) -> Facts {
    let version = ImageVersion::parse(image);
    let target = Target {
        release: Some(release.to_owned()),
        pool: Some("worker".to_owned()),
        ..Target::default()
    };
    let policy = PolicyInput::Valid {
        path: "/etc/skewguard/policy.json".to_owned(),
        digest: "sha256:00".to_owned(),
        policy,
    };
    Facts {
        boot_image: Some(BootImage {
            version,
            source: ImageSource::Aleph,
            path: "/sysroot/.coreos-aleph-version.json".to_owned(),
        }),
        ..Facts::new(policy, TargetInput::Read(target))
    }
}

pub(crate) fn base() -> Value {
    json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" }], "knownIssues": []
    })
}

/// The base with `value` at `pointer`, whose last step may be new.
pub(crate) fn with(pointer: &str, value: Value) -> Value {
    let mut policy = base();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = if parent.is_empty() {
        &mut policy
    } else {
        policy.pointer_mut(parent).unwrap()
    };
    parent
        .as_object_mut()
        .unwrap()
        .insert(field.to_owned(), value);
    policy
}

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[0-9.*a-z\\u{1b}\u{e9}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-zA-Z]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Fields whose values are replaced by any other.
pub(crate) fn places() -> &'static [&'static str] {
    &[
        "/mode",
        "/onUndetermined",
        "/limits/0/release",
        "/limits/0/pools",
        "/limits/0/minimumOCPVersion",
        "/limits/0/minimumRHCOSVersion",
        "/limits/0/maximumRHCOSVersion",
        "/limits/0/minimumFCOSVersion",
        "/limits/0/maximumSCOSVersion",
        "/limits/0/maximumReleasesBehind",
        "/limits/0/rhelMajors",
        "/limits/0/deniedVersions",
        "/limits/0/x",
        "/help",
        "/x",
    ]
}

/// The index of the limit chosen, which its position in `limits` gives.
pub(crate) fn chosen(
    limits: &[Limit],
    release: Option<Release>,
    pool: Option<&str>,
) -> Option<usize> {
    let chosen = choose(limits, release, pool)?;
    limits.iter().position(|limit| std::ptr::eq(limit, chosen))
}

pub(crate) fn a_minor() -> impl Strategy<Value = OcpMinor> {
    let minor = prop_oneof![
        (4u16..7, prop_oneof![8u16..11, 20u16..23]),
        (Just(4), 22u16..26),
        (Just(5), 0u16..3)
    ];
    minor.prop_map(|(major, minor)| OcpMinor { major, minor })
}

pub(crate) fn a_release() -> impl Strategy<Value = Release> {
    (a_minor(), 0u32..3).prop_map(|(minor, patch)| Release { minor, patch })
}

pub(crate) fn a_pool() -> impl Strategy<Value = String> {
    prop_oneof!["worker", "master", "infra"]
}

pub(crate) fn a_limit() -> impl Strategy<Value = Limit> {
    let release = prop_oneof![1 => Just(None), 3 => a_minor().prop_map(|m| Some(LimitRelease::Minor(m))), 1 => a_release().prop_map(|r| Some(LimitRelease::Exact(r)))];
    let pools = proptest::option::of(proptest::collection::vec(a_pool(), 0..3));
    (release, pools).prop_map(|(release, pools)| Limit {
        release,
        pools,
        ..Limit::default()
    })
}
