//! Reading policies: what is understood, what is only warned about, what is no policy at all, and
//! what nobody should have sent.

use super::samples::{any_json, base, places, with};
use crate::policy::{
    Bound, DeniedVersions, Limit, LimitRelease, Mode, OnUndetermined, Policy, VersionBound, parse,
};
use crate::version::OsFamily;
use serde_json::{Value, json};
use std::cmp::Ordering;

fn read(policy: &Value) -> Result<Policy, String> {
    parse(policy.to_string().as_bytes())
}

/// The rule that a field of the limit sets.
#[track_caller]
fn rule<'a>(limit: &'a Limit, field: &str) -> &'a Bound {
    let Some(Ok(bound)) = limit.rule(field) else {
        panic!("{field}: {limit:?}")
    };
    bound
}

#[track_caller]
fn denied(limit: &Limit) -> &DeniedVersions {
    let Bound::Denied(denied) = rule(limit, "deniedVersions") else {
        panic!("{limit:?}")
    };
    denied
}

#[track_caller]
fn warned(policy: &Value, warnings: &[&str]) -> Policy {
    let policy = read(policy).unwrap();
    assert_eq!(policy.warnings, warnings);
    policy
}

#[test]
fn every_field_is_read() {
    let policy = warned(
        &json!({
            "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "onUndetermined": "Refuse",
            "limits": [
                { "minimumOCPVersion": "4.13.0", "minimumRHCOSVersion": "9.2" },
                { "release": "4.22", "pools": ["worker"], "minimumOCPVersion": "4.16", "minimumRHCOSVersion": "418.94.202511191518-0",
                  "maximumRHCOSVersion": "9.8", "maximumReleasesBehind": 8, "rhelMajors": [9],
                  "deniedVersions": [{ "version": "417.94.2024*", "reason": "KCS 1234567: bad firmware" }, { "version": "9.6.20250523-0" }] },
                { "release": "4.22.3" }
            ],
            "help": { "text": "Ask #platform on chat.", "url": "https://wiki.example.com/boot-images" }
        }),
        &[],
    );
    assert_eq!(
        (policy.mode, policy.mode_text.as_str(), policy.other_version),
        (Mode::Enforce, "Enforce", false)
    );
    assert_eq!(policy.on_undetermined, OnUndetermined::Refuse);
    assert_eq!(policy.help_text.as_deref(), Some("Ask #platform on chat."));
    assert_eq!(
        policy.help_url.as_deref(),
        Some("https://wiki.example.com/boot-images")
    );
    let [first, second, third] = policy.limits.as_slice() else {
        panic!("{} limits", policy.limits.len())
    };
    assert_eq!((first.release, &first.pools), (None, &None));
    let release = |text: &str| Bound::Ocp(text.parse().unwrap());
    assert_eq!(*rule(first, "minimumOCPVersion"), release("4.13.0"));
    let Bound::Version(OsFamily::Rhcos, Ordering::Less, rhel) = rule(first, "minimumRHCOSVersion")
    else {
        panic!("{first:?}")
    };
    assert_eq!(rhel.to_string(), "9.2");
    assert_eq!(first.rule("maximumRHCOSVersion"), None);

    assert_eq!(
        second.release,
        Some(LimitRelease::Minor("4.22".parse().unwrap()))
    );
    assert_eq!(second.pools.as_deref(), Some(&["worker".to_owned()][..]));
    // 4.16 and 4.16.0 mean the same.
    assert_eq!(*rule(second, "minimumOCPVersion"), release("4.16.0"));
    assert!(
        matches!(rule(second, "minimumRHCOSVersion"), Bound::Version(_, _, VersionBound::Image(i)) if i.text == "418.94.202511191518-0")
    );
    assert_eq!(*rule(second, "maximumReleasesBehind"), Bound::Behind(8));
    assert_eq!(*rule(second, "rhelMajors"), Bound::Majors(vec![9]));
    let denied = &denied(second).entries;
    assert_eq!(
        denied[0].reason.as_deref(),
        Some("KCS 1234567: bad firmware")
    );
    assert_eq!(
        (denied[1].version.as_str(), &denied[1].reason),
        ("9.6.20250523-0", &None)
    );
    assert_eq!(
        third.release,
        Some(LimitRelease::Exact("4.22.3".parse().unwrap()))
    );
}

#[test]
fn null_is_absent() {
    let policy = {
        let mut policy = with("/onUndetermined", Value::Null);
        policy["help"] = json!({ "text": null, "url": null });
        warned(&policy, &[])
    };
    assert_eq!(policy, read(&base()).unwrap());
}

/// Somebody meant a rule, whose value a template lost.
#[test]
fn a_rule_that_is_null_is_not_evaluated() {
    let policy = warned(
        &with("/limits/0/rhelMajors", Value::Null),
        &["limits[0].rhelMajors is null; the rule is not evaluated"],
    );
    let rule = policy.limits[0].rule("rhelMajors");
    assert_eq!(rule, Some(&Err("null".to_owned())));
}

/// It would be a limit for more nodes than it was meant for.
#[test]
fn a_condition_that_is_null_is_not_understood() {
    for field in ["release", "pools", "when"] {
        let warning =
            format!("limits[0].{field} is null; nodes that the limit may be for are not judged");
        let policy = warned(
            &with(&format!("/limits/0/{field}"), Value::Null),
            &[&warning],
        );
        assert_eq!(policy.limits[0].unclear, [field]);
    }
}

#[test]
fn modes_act_as_they_are_written_and_unknown_ones_as_warn() {
    for (written, mode) in [
        ("Enforce", Mode::Enforce),
        ("Warn", Mode::Warn),
        ("None", Mode::None),
    ] {
        for word in [
            written.to_owned(),
            written.to_lowercase(),
            written.to_uppercase(),
        ] {
            let policy = warned(&with("/mode", json!(word)), &[]);
            assert_eq!(
                (policy.mode, policy.mode_text.as_str()),
                (mode, written),
                "{word}"
            );
        }
    }
    let policy = warned(
        &with("/mode", json!("enforced")),
        &["unknown policy mode \"enforced\" acts as Warn"],
    );
    assert_eq!(
        (policy.mode, policy.mode_text.as_str()),
        (Mode::Warn, "enforced")
    );
    let policy = warned(
        &with("/mode", json!("Audit\u{1b}[2J")),
        &["unknown policy mode \"Audit\\u{1b}[2J\" acts as Warn"],
    );
    assert_eq!(policy.mode, Mode::Warn);
    let policy = warned(
        &with("/mode", json!({ "default": "Enforce" })),
        &["unknown policy mode \"{\"default\":\"Enforce\"}\" acts as Warn"],
    );
    assert_eq!(policy.mode, Mode::Warn);
}

#[test]
fn an_unknown_on_undetermined_lets_nodes_through() {
    for (written, shown) in [
        (json!("Block"), "\"Block\""),
        (json!(true), "true"),
        (json!(["Refuse"]), "[\"Refuse\"]"),
    ] {
        let policy = warned(
            &with("/onUndetermined", written),
            &[&format!(
                "unknown onUndetermined {shown} acts as \"Proceed\""
            )],
        );
        assert_eq!(policy.on_undetermined, OnUndetermined::Proceed);
    }
}

#[test]
fn unknown_fields_are_named_and_ignored_at_every_level() {
    let mut policy = base();
    policy["metadata"] = json!({ "name": "x" });
    policy["help"] = json!({ "text": "Ask.", "phone": "+1" });
    policy["limits"][0]["platforms"] = json!(["aws"]);
    policy["limits"][0]["deniedVersions"] =
        json!([{ "version": "9.6.20250523-0", "until": "2027-01-01" }]);
    let policy = warned(
        &policy,
        &[
            "unknown policy field metadata is ignored",
            "unknown policy field help.phone is ignored",
            "unknown policy field limits[0].platforms is ignored",
            "unknown policy field limits[0].deniedVersions[0].until is ignored",
        ],
    );
    assert_eq!(policy.help_text.as_deref(), Some("Ask."));
    assert_eq!(denied(&policy.limits[0]).entries.len(), 1);
}

#[test]
fn a_rule_of_unknown_shape_leaves_the_others_alone() {
    for (rule, value, shown) in [
        (
            "minimumOCPVersion",
            json!({ "default": "4.13" }),
            "{\"default\":\"4.13\"}",
        ),
        ("minimumOCPVersion", json!("four"), "\"four\""),
        ("minimumOCPVersion", json!(4.13), "4.13"),
        ("minimumRHCOSVersion", json!("9"), "\"9\""),
        (
            "minimumRHCOSVersion",
            json!("9.6.2026030314"),
            "\"9.6.2026030314\"",
        ),
        (
            "minimumRHCOSVersion",
            json!("39.20231101.3.0"),
            "\"39.20231101.3.0\"",
        ),
        ("maximumRHCOSVersion", json!(10), "10"),
        ("maximumReleasesBehind", json!(-1), "-1"),
        ("maximumReleasesBehind", json!(8.5), "8.5"),
        ("maximumReleasesBehind", json!("8"), "\"8\""),
        ("maximumReleasesBehind", json!(65536), "65536"),
        ("rhelMajors", json!(9), "9"),
        ("rhelMajors", json!(["9"]), "[\"9\"]"),
        ("deniedVersions", json!({}), "{}"),
    ] {
        let mut policy = base();
        policy["limits"][0] = json!({ "rhelMajors": [9, 10], "minimumRHCOSVersion": "9.2" });
        policy["limits"][0][rule] = value;
        let policy = warned(
            &policy,
            &[&format!(
                "limits[0].{rule} is not understood ({shown}); the rule is not evaluated"
            )],
        );
        let limit = &policy.limits[0];
        let known = [
            limit.rule("rhelMajors") == Some(&Ok(Bound::Majors(vec![9, 10]))),
            matches!(limit.rule("minimumRHCOSVersion"), Some(Ok(_))),
        ];
        let own = usize::from(rule == "rhelMajors" || rule == "minimumRHCOSVersion");
        assert_eq!(
            known.iter().filter(|known| **known).count(),
            2 - own,
            "{rule}"
        );
    }
}

#[test]
fn an_entry_of_unknown_shape_leaves_the_others_on_the_list() {
    let list = json!([{ "versions": "x" }, { "version": "9.6.20250523-0" }, "417.94.2024*", { "version": 9.6 }, { "version": "x", "reason": 1 }]);
    let entries = [
        "{\"versions\":\"x\"}",
        "\"417.94.2024*\"",
        "{\"version\":9.6}",
        "{\"reason\":1,\"version\":\"x\"}",
    ];
    let warnings = [0, 2, 3, 4].into_iter().zip(entries);
    let warnings = warnings.map(|(n, entry)| {
        format!("limits[0].deniedVersions[{n}] is not understood ({entry}); it denies nothing")
    });
    let warnings: Vec<String> = warnings.collect();
    let policy = warned(
        &with("/limits/0/deniedVersions", list),
        &warnings.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let denied = denied(&policy.limits[0]);
    assert_eq!(
        (
            denied.entries.len(),
            denied.entries[0].version.as_str(),
            denied.not_understood
        ),
        (1, "9.6.20250523-0", 4)
    );
}

/// A limit that was left out could be the one that allows what another refuses.
#[test]
fn more_limits_than_are_read_are_no_policy() {
    let with_limits = |n: usize| with("/limits", json!(vec![json!({}); n]));
    assert_eq!(read(&with_limits(1000)).unwrap().limits.len(), 1000);
    assert_eq!(
        read(&with_limits(1001)).unwrap_err().to_string(),
        "there are 1001 limits; at most 1000 are read"
    );
}

/// Taken literally, each of these would refuse every image, or allow every image.
#[test]
fn a_rule_that_nobody_can_mean_is_not_evaluated() {
    for (rule, value) in [
        ("rhelMajors", json!([])),
        ("maximumRHCOSVersion", json!("4.18")),
        ("minimumRHCOSVersion", json!("4.13")),
        ("minimumRHCOSVersion", json!("413.92")),
        ("maximumRHCOSVersion", json!("0.0")),
    ] {
        let mut policy = base();
        policy["limits"][0] = json!({});
        policy["limits"][0][rule] = value.clone();
        warned(
            &policy,
            &[&format!(
                "limits[0].{rule} is not understood ({value}); the rule is not evaluated"
            )],
        );
    }
}

#[test]
fn a_limit_whose_nodes_are_unknown_is_named() {
    for (field, value) in [
        ("release", json!(4.21)),
        ("release", json!("")),
        ("release", json!("4")),
        ("release", json!("4.x")),
        ("release", json!(">=4.21")),
        ("release", json!(" 4.21")),
        ("release", json!("4.021")),
        ("release", json!("4.21-rc.1")),
        ("release", json!("v4.21.0")),
        ("release", json!(["4.21"])),
        ("pools", json!("worker")),
        ("pools", json!([1])),
        ("pools", json!({ "matchLabels": {} })),
        ("when", json!("s390x")),
    ] {
        let mut policy = base();
        policy["limits"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "minimumRHCOSVersion": "9.4" }));
        policy["limits"][1][field] = value.clone();
        let policy = warned(
            &policy,
            &[&format!(
                "limits[1].{field} is not understood ({value}); nodes that the limit may be for are not judged"
            )],
        );
        assert_eq!(policy.limits[1].unclear, [field]);
    }
}

#[test]
fn a_limit_of_unknown_shape_leaves_the_others_alone() {
    for (limit, why) in [
        (
            r#""4.21""#,
            r#"invalid type: string "4.21", expected an object"#,
        ),
        ("null", "invalid type: null, expected an object"),
        (r#"["4.21"]"#, "invalid type: sequence, expected an object"),
        (
            r#"{"release": "4.21", "release": "4.22"}"#,
            "duplicate field `release`",
        ),
    ] {
        let text = base().to_string().replace("[{", &format!("[{limit},{{"));
        let policy = parse(text.as_bytes()).unwrap();
        assert_eq!(
            policy.warnings,
            [format!(
                "limits[0] is not understood ({why}); nodes that the limit may be for are not judged"
            )]
        );
        assert_eq!(policy.limits[0].unclear, [""]);
        assert_eq!(policy.limits[1..], read(&base()).unwrap().limits);
    }
}

#[test]
fn help_that_is_not_understood_costs_nothing_else() {
    let policy = warned(
        &with("/help", json!("Ask.")),
        &["help is not understood (\"Ask.\"); it is not shown"],
    );
    assert_eq!((policy.limits.len(), policy.help_text), (1, None));
    let help = json!({ "text": ["Ask."], "url": "https://wiki.example.com" });
    let policy = warned(
        &with("/help", help),
        &["help.text is not understood ([\"Ask.\"]); it is not shown"],
    );
    assert_eq!(policy.help_url.as_deref(), Some("https://wiki.example.com"));
}

#[test]
fn the_minutes_of_a_stall_are_read_within_their_bounds() {
    for (minutes, read) in [
        (json!(5), Some(5)),
        (json!(1440), Some(1440)),
        (json!(4), None),
        (json!(1441), None),
        (json!("30"), None),
    ] {
        let text = with("/stalledAfterMinutes", minutes.clone()).to_string();
        let policy = parse(text.as_bytes()).unwrap();
        assert_eq!(policy.stalled_after_minutes, read, "{minutes}");
        assert_eq!(policy.warnings.is_empty(), read.is_some(), "{minutes}");
    }
}

#[test]
fn what_is_required_must_be_there() {
    for field in ["apiVersion", "kind", "mode", "limits"] {
        let missing = format!("the required field {field} is missing");
        let mut policy = base();
        policy[field] = Value::Null;
        assert_eq!(read(&policy).unwrap_err().to_string(), missing);
        policy.as_object_mut().unwrap().remove(field);
        assert_eq!(read(&policy).unwrap_err().to_string(), missing);
    }
    for (field, value, error) in [
        ("apiVersion", json!(1), "apiVersion must be a string, not 1"),
        ("kind", json!({}), "kind must be a string, not {}"),
        (
            "limits",
            json!({ "release": "4.21" }),
            "limits must be an array, not {\"release\":\"4.21\"}",
        ),
        (
            "limits",
            json!("4.13"),
            "limits must be an array, not \"4.13\"",
        ),
    ] {
        assert_eq!(
            read(&with(&format!("/{field}"), value))
                .unwrap_err()
                .to_string(),
            error
        );
    }
}

#[test]
fn an_empty_list_of_limits_is_a_policy() {
    assert_eq!(warned(&with("/limits", json!([])), &[]).limits, []);
}

#[test]
fn another_version_of_our_group_is_read_as_far_as_understood() {
    let newer = |mut policy: Value| {
        policy["apiVersion"] = json!("skewguard.dev/v1");
        policy
    };
    const WARNING: &str = "the policy is written for skewguard.dev/v1; read as far as understood, and it never blocks";
    let policy = warned(&newer(base()), &[WARNING]);
    assert!(policy.other_version);
    assert_eq!(
        (policy.mode, &policy.limits),
        (Mode::Enforce, &read(&base()).unwrap().limits)
    );

    // Another version may have dropped or changed a field that this one requires.
    for field in ["mode", "limits"] {
        let mut policy = newer(base());
        policy.as_object_mut().unwrap().remove(field);
        assert!(warned(&policy, &[WARNING]).other_version);
    }
    let policy = warned(&newer(with("/limits", json!({ "worker": {} }))), &[WARNING]);
    assert_eq!(policy.limits, []);
}

#[test]
fn another_group_or_kind_is_somebody_elses_object() {
    for (api_version, shown) in [
        (
            "machineconfiguration.openshift.io/v1",
            "machineconfiguration.openshift.io/v1",
        ),
        ("v1", "v1"),
        ("skewguard.dev", "skewguard.dev"),
        (
            "skewguard.dev.example.com/v1alpha1",
            "skewguard.dev.example.com/v1alpha1",
        ),
        ("Skewguard.dev/v1alpha1", "Skewguard.dev/v1alpha1"),
        ("", ""),
    ] {
        let error = read(&with("/apiVersion", json!(api_version))).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "apiVersion is {shown:?}; this is a policy only if it is \"skewguard.dev/v1alpha1\""
            )
        );
    }
    let error = read(&with("/kind", json!("BootImageReport"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kind is \"BootImageReport\"; this is a policy only if it is \"BootImageSkewPolicy\""
    );
    // The error does not call it a policy with missing fields.
    let error = read(&json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": {} })).unwrap_err();
    assert_eq!(
        error.to_string(),
        "apiVersion is \"v1\"; this is a policy only if it is \"skewguard.dev/v1alpha1\""
    );
}

#[test]
fn a_field_given_twice_is_no_policy() {
    let text = base().to_string();
    let twice = text.replacen('{', "{\"mode\":\"Warn\",", 1);
    assert_ne!(twice, text);
    let error = parse(twice.as_bytes()).unwrap_err().to_string();
    assert!(
        error.starts_with("duplicate field `mode` at line 1 column "),
        "{error}"
    );
}

#[test]
fn what_is_not_json_says_where_it_stops_being_so() {
    let text = serde_json::to_string_pretty(&base()).unwrap();
    for (bytes, error) in [
        (b"".to_vec(), "EOF while parsing a value at line 1 column 0"),
        (
            b"mode: Warn\n".to_vec(),
            "expected value at line 1 column 1",
        ),
        (
            b"\xef\xbb\xbf{}".to_vec(),
            "expected value at line 1 column 1",
        ),
        (
            b"\xff\xfe{\x00".to_vec(),
            "expected value at line 1 column 1",
        ),
        (
            b"[]".to_vec(),
            "invalid type: sequence, expected an object at line 1 column 0",
        ),
        (
            text.as_bytes()[..40].to_vec(),
            "EOF while parsing a string at line 2 column 38",
        ),
        (
            format!("{text}{text}").into_bytes(),
            "trailing characters at line 12 column 2",
        ),
        (
            text.replace("\"Enforce\"", "\"Enforce\" // refuse")
                .into_bytes(),
            "expected `,` or `}` at line 11 column 21",
        ),
    ] {
        assert_eq!(
            parse(&bytes).unwrap_err().to_string(),
            match &*bytes {
                b"[]" => error.to_owned(),
                _ => format!("{error}; nodes read JSON"),
            },
            "{}",
            String::from_utf8_lossy(&bytes)
        );
    }
}

#[test]
fn hostile_text_never_gets_through_raw() {
    let evil = "\u{1b}]0;owned\u{7}\n\\S{PRETTY_NAME}\u{202e}\u{9b}31m";
    let mut policy = base();
    policy["mode"] = json!(evil);
    policy["onUndetermined"] = json!(evil);
    policy[evil] = json!(1);
    policy["help"] = json!({ "text": evil, "url": evil, evil: evil });
    policy["limits"] = json!([
        { "pools": [evil], "minimumOCPVersion": evil, "minimumRHCOSVersion": evil, "rhelMajors": evil, evil: evil,
          "deniedVersions": [{ "version": evil, "reason": evil, evil: evil }] },
        { "release": evil }, evil
    ]);
    let read = read(&policy).unwrap();
    assert_eq!(read.warnings.len(), 12, "{:#?}", read.warnings);
    let everything = format!(
        "{} {:?} {:?} {}",
        read.mode_text,
        read.help_text,
        read.help_url,
        read.warnings.join(" ")
    );
    let denied = denied(&read.limits[0]);
    let everything = format!(
        "{everything} {} {}",
        denied.entries[0].version,
        denied.entries[0].reason.as_deref().unwrap()
    );
    assert!(
        everything.bytes().all(|b| (b' '..=b'~').contains(&b)),
        "{everything:?}"
    );
    for field in ["apiVersion", "kind"] {
        let error = self::read(&with(&format!("/{field}"), json!(evil)))
            .unwrap_err()
            .to_string();
        assert!(
            error.bytes().all(|b| (b' '..=b'~').contains(&b)),
            "{error:?}"
        );
    }
}

#[test]
fn what_is_said_about_a_policy_stays_short() {
    let mut policy = base();
    for n in 0..5000 {
        policy[format!("field{n}")] = json!("x".repeat(100));
    }
    for _ in 0..900 {
        policy["limits"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "release": "y".repeat(100) }));
    }
    let read = read(&policy).unwrap();
    assert_eq!(read.warnings.len(), 25);
    assert_eq!(
        read.warnings[24],
        "5876 more of the policy is not understood; `oc skewguard policy lint` names all of it"
    );
    assert!(read.warnings.iter().all(|warning| warning.len() < 200));
    let help = "x".repeat(1 << 20);
    let policy = self::read(&with("/help", json!({ "text": help }))).unwrap();
    assert_eq!(policy.help_text.map(|text| text.len()), Some(515));
}

#[test]
fn depth_is_bounded_wherever_it_is() {
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(parse(deep.as_bytes()).is_err());
    for field in [
        "limits",
        "help",
        "onUndetermined",
        "mode",
        "kind",
        "apiVersion",
        "other",
    ] {
        let text = with(&format!("/{field}"), json!("@"))
            .to_string()
            .replace("\"@\"", &deep);
        // It must end at all. Only required fields make such a policy invalid.
        let read = parse(text.as_bytes());
        assert_eq!(
            read.is_ok(),
            ["help", "onUndetermined", "mode", "limits", "other"].contains(&field),
            "{field}: {read:?}"
        );
    }
    for field in [
        "release",
        "pools",
        "minimumOCPVersion",
        "rhelMajors",
        "deniedVersions",
        "other",
    ] {
        let text = with(&format!("/limits/0/{field}"), json!("@"))
            .to_string()
            .replace("\"@\"", &deep);
        let read = parse(text.as_bytes()).unwrap();
        assert_eq!(read.warnings.len(), 1, "{field}: {:?}", read.warnings);
    }
}

mod never {
    use super::{any_json, base, parse, places, with};
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn one_odd_value_never_costs_the_whole_policy(place in proptest::sample::select(places()), value in any_json()) {
            prop_assume!(!(place == "/mode" && value.is_null()));
            let policy = parse(with(place, value).to_string().as_bytes());
            prop_assert!(policy.is_ok(), "{:?}", policy);
            let policy = policy.unwrap();
            prop_assert!(policy.warnings.iter().all(|w| w.bytes().all(|b| (b' '..=b'~').contains(&b))));
        }

        #[test]
        fn a_truncated_policy_is_none(cut in 0usize..100) {
            let text = base().to_string();
            let cut = cut % text.len();
            prop_assert!(parse(&text.as_bytes()[..cut]).is_err());
            prop_assert!(parse(json!(&text[..cut]).to_string().as_bytes()).is_err());
        }
    }
}
