//! The choice of the limit: an example for each step, and every case against the rule written down
//! a second time.

use super::samples::{RELEASES, a_limit, a_pool, a_release, chosen, with};
use crate::policy::{Circumstances, Limit, LimitRelease, Undecided, choose, choose_for, parse};
use crate::version::{OcpMinor, Release};
use proptest::prelude::*;
use serde_json::json;

/// `4.21` or `4.21.3` or `-` for none, then the pools.
fn limit(release: &str, pools: &[&str]) -> Limit {
    let release = match release.bytes().filter(|b| *b == b'.').count() {
        0 => None,
        1 => Some(LimitRelease::Minor(release.parse().unwrap())),
        _ => Some(LimitRelease::Exact(release.parse().unwrap())),
    };
    let pools = (!pools.is_empty()).then(|| pools.iter().map(|pool| (*pool).to_owned()).collect());
    Limit {
        release,
        pools,
        ..Limit::default()
    }
}

#[track_caller]
fn check(limits: &[Limit], release: &str, pool: &str, want: Option<usize>) {
    let known = |word: &str| (word != "-").then(|| word.to_owned());
    let target = known(release).map(|release| release.parse().unwrap());
    assert_eq!(
        chosen(limits, target, known(pool).as_deref()),
        want,
        "release {release}, pool {pool}"
    );
}

#[test]
fn the_exact_patch_release_comes_first_and_matches_only_itself() {
    let limits = [
        limit("-", &[]),
        limit("4.20", &[]),
        limit("4.21", &[]),
        limit("4.21.3", &[]),
    ];
    check(&limits, "4.21.3", "worker", Some(3));
    check(&limits, "4.21.4", "worker", Some(2));
    check(&limits, "4.21.2", "worker", Some(2));
    // 4.21.3 is no nearest lower x.y of anything.
    let limits = [limit("-", &[]), limit("4.20", &[]), limit("4.21.3", &[])];
    check(&limits, "4.21.4", "worker", Some(1));
    check(&limits, "4.22.0", "worker", Some(1));
}

#[test]
fn the_exact_minor_comes_before_a_lower_one() {
    let limits = [limit("4.18", &[]), limit("4.21", &[]), limit("4.22", &[])];
    check(&limits, "4.21.9", "worker", Some(1));
    check(&limits, "4.22.0", "worker", Some(2));
}

#[test]
fn the_nearest_lower_minor_is_found_numerically() {
    let limits = [limit("4.9", &[]), limit("4.10", &[]), limit("4.2", &[])];
    check(&limits, "4.21.0", "worker", Some(1));
    check(&limits, "4.9.7", "worker", Some(0));
    check(&limits, "4.8.7", "worker", Some(2));
}

#[test]
fn the_nearest_lower_minor_is_found_across_majors() {
    let limits = [limit("4.19", &[]), limit("4.22", &[]), limit("5.2", &[])];
    check(&limits, "5.0.0", "worker", Some(1));
    check(&limits, "5.1.3", "worker", Some(1));
    check(&limits, "5.3.3", "worker", Some(2));
    let limits = [limit("4.22", &[]), limit("4.23", &["worker"])];
    check(&limits, "5.0.3", "worker", Some(1));
    check(&limits, "5.1.0", "master", Some(0));
    let limits = [limit("4.23", &["worker"]), limit("5.0", &[])];
    check(&limits, "4.23.0", "worker", Some(0));
    check(&limits, "4.23.0", "master", None);
    check(&limits, "6.0.0", "worker", Some(1));
}

/// 4.23 and 5.0 are two releases of one code base, and yet one comes after the other.
#[test]
fn the_limit_of_the_last_release_up_to_the_target_is_used_in_either_order_of_the_file() {
    for (a, low) in RELEASES.iter().enumerate() {
        for (b, high) in RELEASES.iter().enumerate().skip(a + 1) {
            for (t, target) in RELEASES.iter().enumerate() {
                for patch in [0, 7] {
                    let target = format!("{target}.{patch}");
                    let [low, high] = [low, high].map(|release| limit(release, &[]));
                    let want = [(b, 1), (a, 0)].into_iter().find(|(at, _)| *at <= t);
                    let want = want.map(|(_, index)| index);
                    check(&[low.clone(), high.clone()], &target, "worker", want);
                    check(&[high, low], &target, "worker", want.map(|index| 1 - index));
                }
            }
        }
    }
}

#[test]
fn a_newer_releases_limit_is_never_applied_to_an_older_target() {
    let limits = [limit("4.22", &[]), limit("4.21.3", &[]), limit("5.0", &[])];
    check(&limits, "4.21.2", "worker", None);
    check(&limits, "4.20.9", "worker", None);
}

#[test]
fn a_limit_without_release_is_the_last_resort() {
    let limits = [limit("-", &[]), limit("4.21", &[])];
    check(&limits, "4.20.1", "worker", Some(0));
    check(&limits, "4.21.1", "worker", Some(1));
}

#[test]
fn without_a_target_release_only_limits_without_release_match() {
    let limits = [limit("4.1", &[]), limit("4.21.3", &[]), limit("-", &[])];
    check(&limits, "-", "worker", Some(2));
    check(&limits[..2], "-", "worker", None);
}

#[test]
fn within_one_step_the_named_pool_wins_wherever_it_stands() {
    for (release, target) in [
        ("4.21.3", "4.21.3"),
        ("4.21", "4.21.3"),
        ("4.20", "4.21.3"),
        ("-", "4.21.3"),
        ("-", "-"),
    ] {
        let (any, named) = (limit(release, &[]), limit(release, &["infra", "worker"]));
        check(&[any.clone(), named.clone()], target, "worker", Some(1));
        check(&[named.clone(), any.clone()], target, "worker", Some(0));
        check(&[named, any], target, "master", Some(1));
    }
}

#[test]
fn a_closer_release_beats_a_named_pool() {
    let limits = [limit("4.20", &["worker"]), limit("4.21", &[])];
    check(&limits, "4.21.3", "worker", Some(1));
    let limits = [limit("-", &["worker"]), limit("4.2", &[])];
    check(&limits, "4.21.3", "worker", Some(1));
}

#[test]
fn another_pools_limit_is_as_good_as_none() {
    let limits = [limit("4.21", &["master"]), limit("4.20", &["worker"])];
    check(&limits, "4.21.3", "worker", Some(1));
    check(&limits, "4.21.3", "infra", None);
    // A limit with pools does not match an unknown pool, nor a name in another case.
    check(&limits, "4.21.3", "-", None);
    check(&limits, "4.21.3", "Worker", None);
}

/// What `choose_for` says of limits, as JSON, on an x86_64 node of AWS whose target is 4.22.1 and
/// whose Secure Boot is unknown: the index, `-` for none, or why nobody can tell.
fn choice(limits: &serde_json::Value) -> String {
    let policy = parse(with("/limits", limits.clone()).to_string().as_bytes()).unwrap();
    let node = Circumstances {
        platform: Some("aws"),
        architecture: Some("x86_64"),
        ..Circumstances::default()
    };
    let release = Some("4.22.1".parse().unwrap());
    match choose_for(&policy.limits, release, Some("worker"), node) {
        Ok(None) => "-".to_owned(),
        Ok(Some(chosen)) => {
            let mut all = policy.limits.iter();
            let index = all.position(|limit| std::ptr::eq(limit, chosen));
            index.unwrap().to_string()
        }
        Err(Undecided { index, why }) => format!("{index}: {why}"),
    }
}

#[test]
fn conditions_narrow_a_limit() {
    let any = json!({ "rhelMajors": [9] });
    let when = |when: serde_json::Value| json!({ "when": when, "rhelMajors": [9] });
    for (limits, want) in [
        (
            json!([any, when(json!({ "architectures": ["s390x"] }))]),
            "0",
        ),
        (json!([when(json!({ "architectures": ["s390x"] }))]), "-"),
        // It wins wherever it stands, as one that names a pool.
        (
            json!([any, when(json!({ "architectures": ["x86_64"] }))]),
            "1",
        ),
        (json!([when(json!({ "platforms": ["aws"] })), any]), "0"),
        (
            json!([
                any,
                when(json!({ "platforms": ["gcp"], "architectures": ["x86_64"] }))
            ]),
            "0",
        ),
        (
            json!([when(json!({ "platforms": ["aws"] })), { "release": "4.21", "rhelMajors": [9] }]),
            "1",
        ),
        (
            json!([when(json!({ "platforms": ["aws"] })), { "pools": ["worker"], "rhelMajors": [9] }]),
            "1",
        ),
        (json!([any, when(json!({}))]), "0"),
        // What is unknown of the node.
        (
            json!([
                any,
                when(json!({ "architectures": ["x86_64"], "secureBoot": true }))
            ]),
            "1: it is unknown whether Secure Boot is on",
        ),
        (
            json!([
                any,
                when(json!({ "architectures": ["s390x"], "secureBoot": true }))
            ]),
            "0",
        ),
        (
            json!([any, when(json!({ "fips": true }))]),
            "1: it is unknown whether the node is in FIPS mode",
        ),
        (
            json!([any, when(json!({ "okd": true }))]),
            "1: it is unknown whether the target is OKD",
        ),
        (
            json!([any, when(json!({ "osFamilies": ["scos"] }))]),
            "1: the boot image's OS family is unknown",
        ),
        (
            json!([{ "release": "4.22", "rhelMajors": [9] }, when(json!({ "okd": true }))]),
            "0",
        ),
    ] {
        assert_eq!(choice(&limits), want, "{limits}");
    }
}

#[test]
fn no_limit_is_used_in_place_of_one_that_is_not_understood() {
    let when = "1: its when is not understood";
    let release = "1: its release is not understood";
    let any = json!({ "rhelMajors": [9] });
    for (limit, want) in [
        (json!({ "release": 4.22 }), release),
        (json!({ "release": "latest" }), release),
        (
            json!({ "pools": { "matchLabels": {} } }),
            "1: its pools are not understood",
        ),
        (json!({ "when": "s390x" }), when),
        (json!({ "when": { "zones": ["a"] } }), when),
        (
            json!({ "when": { "osFamilies": ["rhcos", "flatcar"] } }),
            when,
        ),
        (json!({ "when": { "platforms": "aws" } }), when),
        (
            json!({ "release": "4.22", "when": { "zones": ["a"] } }),
            when,
        ),
        (json!("4.22"), "1: it is not understood"),
        // It cannot be this node's, whatever the rest says.
        (json!({ "release": "4.23", "pools": "worker" }), "0"),
        (
            json!({ "release": "4.23", "when": { "zones": ["a"] } }),
            "0",
        ),
        (json!({ "release": 4.22, "pools": ["master"] }), "0"),
        (
            json!({ "when": { "zones": ["a"] }, "pools": ["master"] }),
            "0",
        ),
        (
            json!({ "when": { "zones": ["a"], "architectures": ["s390x"] } }),
            "0",
        ),
        (
            json!({ "release": "latest", "when": { "platforms": ["gcp"] } }),
            "0",
        ),
        // Fields that say nothing of the nodes are ignored.
        (
            json!({ "architectures": ["s390x"], "rhelMajors": [10] }),
            "0",
        ),
    ] {
        assert_eq!(choice(&json!([any, limit])), want, "{limit}");
    }
    // A closer one is used, whatever they are.
    let closer = json!({ "release": "4.22", "pools": ["worker"], "rhelMajors": [9] });
    for limit in [
        json!({ "pools": "infra" }),
        json!({ "when": { "zones": ["a"] } }),
    ] {
        assert_eq!(choice(&json!([limit, closer])), "1", "{limit}");
    }
    // It may name the very release.
    assert_eq!(
        choice(&json!([{ "release": "4.x" }, closer])),
        "0: its release is not understood"
    );
    let exact = json!({ "release": "4.22.1", "pools": ["worker"], "rhelMajors": [9] });
    assert_eq!(
        choice(&json!([exact, { "release": "4.x", "pools": ["worker"] }])),
        "0"
    );
    // A node without a release has no limit with one.
    let limits = json!([any, { "release": 4.22 }, { "pools": 1 }]);
    let policy = parse(with("/limits", limits).to_string().as_bytes()).unwrap();
    let chosen = choose_for(&policy.limits, None, None, Circumstances::default()).unwrap();
    assert_eq!(chosen, policy.limits.first());
}

#[test]
fn an_empty_list_of_pools_names_none() {
    let limits = [Limit {
        pools: Some(Vec::new()),
        ..limit("-", &[])
    }];
    check(&limits, "4.21.3", "worker", None);
    check(&limits, "-", "-", None);
}

#[test]
fn of_two_alike_the_first_in_the_file_is_used() {
    let limits = [
        limit("4.21", &["worker"]),
        limit("4.21", &["worker", "infra"]),
    ];
    check(&limits, "4.21.3", "worker", Some(0));
    check(&limits, "4.21.3", "infra", Some(1));
}

#[test]
fn neither_an_upgrade_nor_a_rollback_leaves_a_gap() {
    let limits = [
        limit("4.20", &[]),
        limit("4.21", &[]),
        limit("4.22", &[]),
        limit("-", &[]),
    ];
    let way = ["4.19.8", "4.20.3", "4.21.0", "4.21.7", "4.22.1", "5.0.2"]
        .map(|release| Some(release.parse().unwrap()));
    assert_eq!(
        way.map(|release| chosen(&limits, release, Some("worker"))),
        [3, 0, 1, 1, 2, 2].map(Some)
    );
}

/// The rule as design and documentation state it, step after step, each looking at the whole list
/// again.
fn by_the_book(limits: &[Limit], release: Option<Release>, pool: Option<&str>) -> Option<usize> {
    let names_pool = |limit: &Limit| {
        limit
            .pools
            .as_ref()
            .is_some_and(|pools| pool.is_some_and(|pool| pools.iter().any(|p| p == pool)))
    };
    let for_pool: Vec<usize> = (0..limits.len())
        .filter(|n| limits[*n].pools.is_none() || names_pool(&limits[*n]))
        .collect();
    let step = |wanted: &dyn Fn(Option<LimitRelease>) -> bool| -> Option<usize> {
        let of_step: Vec<usize> = for_pool
            .iter()
            .copied()
            .filter(|n| wanted(limits[*n].release))
            .collect();
        of_step
            .iter()
            .copied()
            .find(|n| names_pool(&limits[*n]))
            .or(of_step.first().copied())
    };
    let any_release = || step(&|release| release.is_none());
    let Some(release) = release else {
        return any_release();
    };
    let exact = step(&|wanted| wanted == Some(LimitRelease::Exact(release)));
    let minor = || step(&|wanted| wanted == Some(LimitRelease::Minor(release.minor)));
    // Goes down from the target, one minor at a time.
    let on_the_line = |OcpMinor { major, minor }: OcpMinor| major * 100 + minor;
    let lower = || {
        let minors = (0..=on_the_line(release.minor)).rev();
        minors.into_iter().find_map(|n| step(&|wanted| matches!(wanted, Some(LimitRelease::Minor(minor)) if on_the_line(minor) == n)))
    };
    exact.or_else(minor).or_else(lower).or_else(any_release)
}

/// Limits and a target, which often is one of their releases: by chance alone, exact matches would
/// be rare.
fn a_case() -> impl Strategy<Value = (Vec<Limit>, Option<Release>, Option<String>)> {
    proptest::collection::vec(a_limit(), 0..10).prop_flat_map(|limits| {
        let named: Vec<Release> = limits
            .iter()
            .filter_map(|limit| match limit.release? {
                LimitRelease::Exact(release) => Some(release),
                LimitRelease::Minor(minor) => Some(Release { minor, patch: 1 }),
            })
            .collect();
        let release = if named.is_empty() {
            proptest::option::of(a_release()).boxed()
        } else {
            prop_oneof![
                proptest::option::of(a_release()),
                proptest::sample::select(named).prop_map(Some)
            ]
            .boxed()
        };
        (Just(limits), release, proptest::option::of(a_pool()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_choice_is_the_one_by_the_book((limits, release, pool) in a_case()) {
        prop_assert_eq!(chosen(&limits, release, pool.as_deref()), by_the_book(&limits, release, pool.as_deref()));
    }

    #[test]
    fn limits_for_other_pools_and_newer_releases_change_nothing((limits, release, pool) in a_case(), at in 0usize..10) {
        let want = choose(&limits, release, pool.as_deref()).cloned();
        let mut more = limits.clone();
        let at = at.min(more.len());
        more.insert(at, limit("4.1", &["gpu"]));
        more.insert(at, limit("9.9", &[]));
        prop_assert_eq!(choose(&more, release, pool.as_deref()).cloned(), want);
    }
}
