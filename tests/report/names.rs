use crate::inside::report::sample;
use crate::report::names::{event_name, report_name, stall_name, subdomain};
use crate::text::bounded;
use crate::text::label_value;
use proptest::prelude::*;

const INSTALLATION: &str = "00112233445566778899aabbccddeeff";

/// `IsDNS1123Subdomain` of k8s.io/apimachinery.
fn is_subdomain(name: &str) -> bool {
    let label = |label: &str| {
        let inner = label
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        !label.is_empty() && inner && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// `IsValidLabelValue` of k8s.io/apimachinery, for a value that is not empty.
fn is_label_value(value: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = value
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    value.len() <= 63 && inner && ends(value.chars().next()) && ends(value.chars().last())
}

/// The admission policy's pattern, written out.
fn is_report_name(name: &str) -> bool {
    let Some((host, hash)) = name.rsplit_once('-') else {
        return false;
    };
    let hex = hash
        .bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    hash.len() == 16 && hex && (1..=63).contains(&host.len()) && is_subdomain(name)
}

#[test]
fn the_report_of_a_first_boot_that_hangs_has_a_name_for_each_phase_and_cause() {
    let report = "worker-0-0011223344556677";
    let name = stall_name(report, "Pull Unreachable");
    assert!(
        is_report_name(&name) && name.starts_with("worker-0-"),
        "{name}"
    );
    assert_eq!(name, stall_name(report, "Pull Unreachable"));
    assert_ne!(name, report);
    assert_ne!(name, stall_name(report, "Pull ProxyInvalid"));
    assert_ne!(
        name,
        stall_name("worker-0-8899aabbccddeeff", "Pull Unreachable")
    );
}

#[test]
fn a_reports_name_is_the_host_and_a_hash_that_only_news_changes() {
    let verdict = sample::refused();
    let name = report_name("worker-0", INSTALLATION, &verdict);
    assert_eq!(name, "worker-0-a17216e094f6e4ff");
    let mut same = verdict.clone();
    same.warnings.push("/proc/cmdline: is odd today".to_owned());
    same.message.push('!');
    assert_eq!(
        report_name("worker-0", INSTALLATION, &same),
        name,
        "a warning is no news"
    );
    let changes: [fn(&mut crate::verdict::Verdict); 6] = [
        |verdict| verdict.action = crate::verdict::Action::Proceed,
        |verdict| verdict.boot_image = None,
        |verdict| verdict.target.release = Some("4.21.4".to_owned()),
        |verdict| verdict.target.machine_config = None,
        |verdict| verdict.policy = None,
        |verdict| verdict.gate = None,
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let mut other = verdict.clone();
        change(&mut other);
        assert_ne!(
            report_name("worker-0", INSTALLATION, &other),
            name,
            "change {n}"
        );
    }
    assert_ne!(
        report_name("worker-0", "another installation", &verdict),
        name
    );
}

#[test]
fn an_event_has_one_name_in_two_hours() {
    assert_eq!(
        event_name("worker-0-0123456789abcdef", 0),
        "worker-0-0123456789abcdef.0"
    );
    assert_eq!(
        event_name("a-0123456789abcdef", 7199),
        event_name("a-0123456789abcdef", 0)
    );
    assert_eq!(
        event_name("a-0123456789abcdef", 1_772_323_200),
        "a-0123456789abcdef.3c18c"
    );
}

#[test]
fn hosts_become_names() {
    for (host, name) in [
        ("worker-0", "worker-0"),
        ("Worker_0.Example.COM", "worker-0.example.com"),
        (
            "ip-10-0-1-23.eu-west-1.compute.internal",
            "ip-10-0-1-23.eu-west-1.compute.internal",
        ),
        ("", "node"),
        ("...", "node"),
        ("-a-.-b-", "a.b"),
        ("../../etc", "etc"),
        ("n\u{f6}de", "n-de"),
    ] {
        assert_eq!(subdomain(host), name, "{host:?}");
    }
}

#[test]
fn every_real_version_is_a_label_value_as_it_is() {
    let published = include_str!("../data/boot-images.tsv").lines().skip(1);
    let mut seen = 0;
    for version in published.filter_map(|line| line.split("\t").next()) {
        assert!(is_label_value(version), "{version}");
        assert_eq!(label_value(version), version);
        seen += 1;
    }
    assert!(seen > 100, "{seen}");
    for (version, value) in [
        ("", "unknown"),
        ("9.6 (Plow)", "9.6__Plow"),
        ("--x--", "x"),
        (
            "418.94.202511191518-0+local/build",
            "418.94.202511191518-0_local_build",
        ),
        ("\u{202e}", "unknown"),
    ] {
        assert_eq!(label_value(version), value, "{version:?}");
    }
}

proptest! {
    #[test]
    fn names_are_valid_whatever_the_host_says(host in ".{0,300}", unix in any::<u64>()) {
        let name = report_name(&host, INSTALLATION, &sample::refused());
        prop_assert!(is_report_name(&name), "{name}");
        prop_assert!(is_subdomain(&event_name(&name, unix)));
    }

    #[test]
    fn labels_are_valid_whatever_the_version_says(version in ".{0,300}") {
        let value = label_value(&version);
        prop_assert!(is_label_value(&value), "{value}");
        prop_assert_eq!(label_value(&value), value);
    }

    #[test]
    fn clean_text_is_printable_and_bounded(text in ".{0,300}", max in 3_usize..200) {
        let cleaned = bounded(&text, max);
        prop_assert!(cleaned.len() <= max);
        prop_assert!(cleaned.bytes().all(|b| (b' '..=b'~').contains(&b)));
    }
}
