//! The known issues that ship.

use crate::inside::core::samples::node;
use crate::lint::starter::{KNOWN_ISSUES, STARTER, STARTER_OKD};
use crate::policy::parse;
use crate::verdict::{
    Facts, Finding, InstalledNode, Machine, Reason, RuleResult, Target, Verdict, decide,
    update_issues,
};
use crate::version::ImageVersion;

fn of_issues(verdict: &Verdict) -> Vec<&Finding> {
    let findings = verdict.findings.iter();
    findings
        .filter(|finding| finding.rule == Reason::KnownIssue)
        .collect()
}

/// The list for OKD against what users of OKD saw.
#[test]
fn the_issues_of_okd_are_found_where_they_were_seen() {
    let starter = parse(STARTER_OKD.as_bytes()).unwrap();
    assert_eq!(starter.warnings, [""; 0]);
    for (image, release, secure_boot, issues) in [
        // okd-project/okd#541
        (
            "32.20201104.3.0",
            "4.7.0-0.okd-2021-03-07-090821",
            false,
            &["FCOSOlderThanOKD47"][..],
        ),
        (
            "32.20201104.3.0",
            "4.6.0-0.okd-2021-02-14-205305",
            false,
            &[],
        ),
        (
            "33.20210201.3.0",
            "4.7.0-0.okd-2021-03-07-090821",
            false,
            &[],
        ),
        // #1509
        (
            "34.20210626.3.1",
            "4.12.0-0.okd-2023-02-04-212953",
            false,
            &["FCOSWithoutContainerRebase"],
        ),
        // #2077, and OKD's migration page
        (
            "39.20231101.3.0",
            "4.17.0-okd-scos.0",
            true,
            &["FCOSToSCOSWithSecureBoot"],
        ),
        ("39.20231101.3.0", "4.17.0-okd-scos.0", false, &[]),
        (
            "39.20231101.3.0",
            "4.15.0-0.okd-2024-03-10-010116",
            true,
            &[],
        ),
        ("9.0.20250510-0", "4.20.0-okd-scos.3", true, &[]),
        // #2196
        (
            "42.20250410.3.2",
            "4.18.0-okd-scos.9",
            false,
            &["FCOSNewerThanSCOS"],
        ),
        // #2205
        (
            "39.20231101.3.0",
            "4.19.0-okd-scos.1",
            false,
            &["FCOSWithoutComposeFS"],
        ),
        ("41.20250302.3.0", "4.19.0-okd-scos.1", false, &[]),
        // Not OKD.
        ("42.20250410.3.2", "4.18.9", true, &[]),
        // What breaks updates says nothing here.
        (
            "39.20231101.3.0",
            "4.22.0-okd-scos.5",
            false,
            &["FCOSWithoutComposeFS"],
        ),
    ] {
        let facts = Facts {
            machine: Machine {
                architecture: Some("x86_64".to_owned()),
                secure_boot: Some(secure_boot),
                ..Machine::default()
            },
            ..node(image, release, starter.clone())
        };
        let verdict = decide(&facts);
        let found: Vec<&str> = of_issues(&verdict)
            .into_iter()
            .inspect(|finding| assert_ne!(finding.result, RuleResult::NotEvaluated, "{finding:?}"))
            .filter_map(|finding| finding.issue.as_deref())
            .collect();
        assert_eq!(found, issues, "{image} {release}");
        // None of them has an end that is known.
        let warned: Vec<&str> = verdict
            .warned()
            .filter_map(|finding| finding.issue.as_deref())
            .collect();
        assert_eq!(warned, issues, "{image} {release}");
    }
}

/// The updates of joined nodes, by what they were born with.
#[test]
fn updates_are_broken_where_it_was_seen() {
    let policy = format!(
        r#"{{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Warn","limits":[],"knownIssues":{KNOWN_ISSUES}}}"#
    );
    let issues = parse(policy.as_bytes()).unwrap().known_issues;
    // A node has no use for them.
    for starter in [STARTER.as_bytes(), STARTER_OKD.as_bytes()] {
        let of_nodes = parse(starter).unwrap().known_issues;
        assert!(of_nodes.iter().all(|issue| !issue.id.starts_with("Born")));
    }
    for (image, release, secure_boot, has, unknown) in [
        // okd-project/okd#2339
        (
            "37.20230401.3.0",
            "4.22.0-okd-scos.5",
            None,
            &["BornFromFCOSGrubConfig"][..],
            0,
        ),
        ("37.20230401.3.0", "4.21.0-okd-scos.5", None, &[], 0),
        ("10.0.20251103-0", "4.22.0-okd-scos.5", None, &[], 0),
        // COS-3357
        (
            "42.81.20191203.0",
            "4.19.4",
            None,
            &["BornBefore43ComposeFSvsGrubProbe"],
            0,
        ),
        ("42.81.20191203.0", "4.19.5", None, &[], 0),
        // MCO-540
        ("410.8.20190520.0", "4.11.59", None, &[], 0),
        (
            "410.8.20190520.0",
            "4.12.8",
            None,
            &["BornBefore42PodmanMissingAuthFlag"],
            0,
        ),
        ("410.8.20190520.0", "4.12.9", None, &[], 0),
        ("42.81.20191203.0", "4.12.8", None, &[], 0),
        // openshift/machine-config-operator#6199
        (
            "415.92.202402201450-0",
            "4.22.1",
            Some(true),
            &["BornBeforeKernelSigningKey"],
            0,
        ),
        ("415.92.202402201450-0", "4.22.1", Some(false), &[], 0),
        ("415.92.202402201450-0", "4.22.1", None, &[], 1),
        ("416.94.202406172220-0", "4.22.1", None, &[], 0),
    ] {
        let version = ImageVersion::parse(image);
        let birth = InstalledNode {
            version: Some(&version),
            target: &Target {
                release: Some(release.to_owned()),
                ..Target::default()
            },
            platform: None,
            machine: &Machine {
                architecture: Some("x86_64".to_owned()),
                secure_boot,
                ..Machine::default()
            },
        };
        let found = update_issues(&issues, birth);
        let ids: Vec<&str> = found.has.iter().map(|issue| issue.id.as_str()).collect();
        // The rules about images that name no OCP release cannot judge those of Fedora CoreOS.
        let of_rhcos = found.unknown.iter();
        let missing = of_rhcos
            .filter(|(_, why)| why.contains("Secure Boot"))
            .count();
        let secure_boot_alone = image.starts_with("41");
        assert_eq!(ids, has, "{image} {release}");
        assert_eq!(
            if secure_boot_alone { missing } else { 0 },
            unknown,
            "{image} {release}"
        );
    }
}

/// Windows of z-streams: image, release, platform and architecture; before, in and after each.
#[test]
fn windows_begin_and_end_with_their_release() {
    const RESOLV: &str = "OneshotRestartResolvPrepender";
    const ARM: &str = "AArch64BootLoaderOfRHEL8";
    const RHEL8: &str = "412.86.202301311551-0";
    const RHEL9: &str = "413.92.202303281804-0";
    let starter = parse(STARTER.as_bytes()).unwrap();
    for (image, release, platform, architecture, issue, has) in [
        // #4473, #4622
        (RHEL8, "4.14.33", "vmware", "x86_64", RESOLV, false),
        (RHEL8, "4.14.34", "vmware", "x86_64", RESOLV, true),
        (RHEL8, "4.14.40", "metal", "x86_64", RESOLV, true),
        (RHEL8, "4.14.41", "vmware", "x86_64", RESOLV, false),
        // #4220, #4621
        (RHEL8, "4.15.22", "vmware", "x86_64", RESOLV, false),
        (RHEL8, "4.15.23", "openstack", "x86_64", RESOLV, true),
        (RHEL8, "4.15.37", "vmware", "x86_64", RESOLV, true),
        (RHEL8, "4.15.38", "vmware", "x86_64", RESOLV, false),
        // #4201, #4616
        (RHEL8, "4.16.0", "nutanix", "x86_64", RESOLV, true),
        (
            "49.84.202110081407-0",
            "4.16.19",
            "vmware",
            "x86_64",
            RESOLV,
            true,
        ),
        (RHEL8, "4.16.20", "vmware", "x86_64", RESOLV, false),
        // #4615
        (RHEL8, "4.17.2", "ovirt", "x86_64", RESOLV, true),
        (RHEL8, "4.17.3", "vmware", "x86_64", RESOLV, false),
        (RHEL8, "4.18.0", "vmware", "x86_64", RESOLV, false),
        // systemd 252, and platforms without API VIPs.
        (RHEL9, "4.16.10", "vmware", "x86_64", RESOLV, false),
        (RHEL8, "4.16.10", "aws", "x86_64", RESOLV, false),
        (
            RHEL8,
            "4.16.10-okd-scos.1",
            "vmware",
            "x86_64",
            RESOLV,
            false,
        ),
        // openshift/os#1795
        (RHEL8, "4.18.30", "aws", "aarch64", ARM, false),
        (RHEL8, "4.19.0", "aws", "aarch64", ARM, true),
        (
            "49.84.202110081407-0",
            "4.22.9",
            "metal",
            "aarch64",
            ARM,
            true,
        ),
        (RHEL8, "4.23.0", "aws", "aarch64", ARM, false),
        (RHEL8, "4.20.5", "aws", "x86_64", ARM, false),
        (RHEL9, "4.20.5", "aws", "aarch64", ARM, false),
    ] {
        let facts = Facts {
            platform: Some(platform.to_owned()),
            machine: Machine {
                architecture: Some(architecture.to_owned()),
                secure_boot: Some(false),
                fips: Some(false),
                ..Machine::default()
            },
            ..node(image, release, starter.clone())
        };
        let verdict = decide(&facts);
        let warned = verdict.warned();
        let is_it = |finding: &&Finding| finding.issue.as_deref() == Some(issue);
        let found = warned.filter(is_it).count();
        assert_eq!(
            found,
            usize::from(has),
            "{image} {release} {platform} {architecture}"
        );
    }
}

/// The update that brings the kernel of RHEL 9.6 to nodes of aarch64.
#[test]
fn the_boot_loader_of_a_joined_node_is_looked_at_once() {
    let policy = format!(
        r#"{{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Warn","limits":[],"knownIssues":{KNOWN_ISSUES}}}"#
    );
    let issues = parse(policy.as_bytes()).unwrap().known_issues;
    for (image, release, architecture, has) in [
        ("412.86.202301311551-0", "4.18.11", "aarch64", false),
        ("412.86.202301311551-0", "4.19.0", "aarch64", true),
        ("49.84.202110081407-0", "4.20.3", "aarch64", true),
        ("412.86.202301311551-0", "4.21.0", "aarch64", false),
        ("412.86.202301311551-0", "4.19.0", "x86_64", false),
        ("413.92.202303281804-0", "4.19.0", "aarch64", false),
    ] {
        let version = ImageVersion::parse(image);
        let found = update_issues(
            &issues,
            InstalledNode {
                version: Some(&version),
                target: &Target {
                    release: Some(release.to_owned()),
                    ..Target::default()
                },
                platform: None,
                machine: &Machine {
                    architecture: Some(architecture.to_owned()),
                    ..Machine::default()
                },
            },
        );
        let ids: Vec<_> = found.has.iter().map(|issue| &*issue.id).collect();
        let want: &[&str] = if has {
            &["BornWithAArch64BootLoaderOfRHEL8"]
        } else {
            &[]
        };
        assert_eq!(ids, want, "{image} {release} {architecture}");
    }
}

/// The shipped list against boot images that are known to fail, and those that are known to work.
#[test]
fn the_shipped_issues_are_found_where_they_were_seen() {
    let starter = parse(STARTER.as_bytes()).unwrap();
    assert_eq!(starter.warnings, [""; 0]);
    let found = |image: &str,
                 release: &str,
                 platform: &str,
                 secure_boot: bool,
                 fips: bool|
     -> Vec<String> {
        let facts = Facts {
            platform: Some(platform.to_owned()),
            machine: Machine {
                architecture: Some("x86_64".to_owned()),
                secure_boot: Some(secure_boot),
                fips: Some(fips),
                ..Machine::default()
            },
            ..node(image, release, starter.clone())
        };
        let verdict = decide(&facts);
        assert!(
            of_issues(&verdict)
                .iter()
                .all(|finding| finding.result != RuleResult::NotEvaluated),
            "{image} {release}"
        );
        verdict
            .findings
            .into_iter()
            .filter_map(|finding| finding.issue)
            .collect()
    };
    for (image, release, platform, secure_boot, issues) in [
        (
            "410.8.20190520.0",
            "4.11.32",
            "aws",
            false,
            &["AWSOldBootImagesLackAfterburn"][..],
        ),
        ("410.8.20190520.0", "4.11.33", "aws", false, &[]),
        ("410.8.20190520.0", "4.11.32", "gcp", false, &[]),
        ("42.80.20191002.0", "4.11.32", "aws", false, &[]),
        (
            "410.8.20190520.0",
            "4.12.8",
            "gcp",
            false,
            &["OldBootImagesPodmanMissingAuthFlag"],
        ),
        (
            "42.81.20191203.0",
            "4.16.2",
            "gcp",
            false,
            &["OldBootImagesMissingOSReleaseRHELVersion"],
        ),
        (
            "42.81.20191203.0",
            "4.19.4",
            "gcp",
            false,
            &["OldBootImagesComposeFSvsGrubProbe"],
        ),
        ("43.81.202001142154.0", "4.19.4", "gcp", false, &[]),
        (
            "413.92.202402131523-0",
            "4.22.1",
            "aws",
            true,
            &["RPMOSTreeBefore2023.5"],
        ),
        ("413.92.202402131523-0", "4.21.9", "aws", true, &[]),
        ("415.92.202402201450-0", "4.22.1", "aws", true, &[]),
        ("416.94.202406172220-0", "4.22.1", "aws", true, &[]),
        ("9.6.20250523-0", "4.22.1", "aws", true, &[]),
        ("10.2.20260423-0", "5.0.0", "aws", true, &[]),
        (
            "412.86.202303211731-0",
            "5.0.0",
            "aws",
            false,
            &["NoDaemonForRHEL8"],
        ),
    ] {
        assert_eq!(
            found(image, release, platform, secure_boot, false),
            issues,
            "{image} {release} {platform}"
        );
    }
    for (image, has) in [
        ("9.6.20251113-0", true),
        ("9.6.20251023-0", true),
        ("9.6.20251212-1", false),
        ("9.6.20260112-0", false),
        ("9.8.20260715-1", false),
        ("10.0.20250628-0", false),
        ("418.94.202602022246-0", false),
        ("412.86.202301311551-0", false),
    ] {
        let issues: &[&str] = if has {
            &["IgnitionFailsInFIPSMode"]
        } else {
            &[]
        };
        assert_eq!(found(image, "4.21.3", "aws", true, true), issues, "{image}");
    }
}
