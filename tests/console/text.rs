//! The exact texts, one file each, for every reason and every platform.
//!
//! After a wanted change: `SKEWGUARD_BLESS=1 cargo test --lib inside::console::` writes the files anew;
//! read the diff.

use crate::console::Context;
use crate::console::message::{is_shown, issue, kernel_log, motd, newer_image, short};
use crate::inside::console::{Node, overridden};
use crate::policy::{Effect, OnUndetermined};
use crate::support::expected::assert_file;
use crate::verdict::ClusterKnows;
use crate::verdict::{
    Deployment, Facts, GateStatus, Machine, Override, OverrideSource, OverrideWord, PolicyInput,
    Reason, Stage, Target, TargetInput, Verdict, decide,
};
use skewguard_admin::lint::starter::STARTER;
use std::path::Path;

/// What an old machine says of itself.
fn old_machine() -> Machine {
    Machine {
        architecture: Some("x86_64".to_owned()),
        cpu: Some("x86-64-v2".to_owned()),
        boot_free_mib: Some(96),
        secure_boot: Some(true),
        fips: Some(true),
        shim: Some("15.6-1.el9".to_owned()),
    }
}

fn with_machine(rules: &'static str) -> Verdict {
    let node = Node {
        image: Some("9.6.20250523-0"),
        rules,
        ..Node::default()
    };
    decide(&Facts {
        machine: old_machine(),
        ..node.facts()
    })
}

/// Assisted installs leave the boot loader of an older ISO beside a newer OS, which can update it.
fn with_older_installer() -> Verdict {
    let node = Node {
        image: Some("413.92.202402131523-0"),
        rules: r#""minimumShim": "15.8-3""#,
        ..Node::default()
    };
    let newer = Node {
        image: Some("9.6.20250523-0"),
        ..Node::default()
    };
    decide(&Facts {
        machine: old_machine(),
        replaced_by: newer.facts().boot_image,
        ..node.facts()
    })
}

/// The known issues of today, each with this effect.
fn with_issue(effect: Effect) -> Verdict {
    let mut facts = Node {
        image: Some("413.92.202402131523-0"),
        rules: r#""minimumOCPVersion": "4.13.0""#,
        ..Node::default()
    }
    .facts();
    let starter = crate::policy::parse(STARTER.as_bytes()).expect("it is a policy");
    if let (PolicyInput::Valid { policy, .. }, TargetInput::Read(target)) =
        (&mut facts.policy, &mut facts.target)
    {
        policy.known_issues = starter.known_issues;
        for issue in &mut policy.known_issues {
            issue.effect = effect;
        }
        target.release = Some("4.22.1".to_owned());
    }
    facts.machine = old_machine();
    decide(&facts)
}

/// A node of OKD. Images and releases: okd #441 and OKD's page on its move to CentOS Stream CoreOS.
fn of_okd(image: &'static str, rules: &'static str, release: &str) -> Verdict {
    let mut facts = Node {
        image: Some(image),
        rules,
        platform: "metal",
        ..Node::default()
    }
    .facts();
    if let (PolicyInput::Valid { policy, .. }, TargetInput::Read(target)) =
        (&mut facts.policy, &mut facts.target)
    {
        policy
            .limits
            .iter_mut()
            .for_each(|limit| limit.release = None);
        target.release = Some(release.to_owned());
    }
    decide(&facts)
}

fn reasons() -> Vec<(&'static str, Verdict)> {
    let denied = r#""deniedVersions": [ { "version": "417.94.2024*", "reason": "KCS 1234567: this firmware does not see the second disk" } ]"#;
    vec![
        ("below-minimum", Node::default().verdict()),
        (
            "below-minimum-rhcos",
            Node {
                image: Some("9.2.20230101-0"),
                rules: r#""minimumRHCOSVersion": "413.92.202305021736-0""#,
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "denied",
            Node {
                image: Some("417.94.202410090854-0"),
                rules: denied,
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "rhel-major",
            Node {
                rules: r#""rhelMajors": [9, 10]"#,
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "above-maximum",
            Node {
                image: Some("10.2.20260423-0"),
                rules: r#""maximumRHCOSVersion": "9.8""#,
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "releases-behind",
            Node {
                rules: r#""maximumReleasesBehind": 8"#,
                ..Node::default()
            }
            .verdict(),
        ),
        ("known-issue", with_issue(Effect::Refuse)),
        ("known-issue-warned", with_issue(Effect::Warn)),
        (
            "okd-fcos-too-old",
            of_okd(
                "32.20201104.3.0",
                r#""minimumFCOSVersion": "33""#,
                "4.7.0-0.okd-2021-03-07-090821",
            ),
        ),
        (
            "okd-fcos-too-new",
            of_okd(
                "40.20240920.3.0",
                r#""maximumFCOSVersion": "39""#,
                "4.16.0-okd-scos.1",
            ),
        ),
        (
            "okd-scos-too-old",
            of_okd(
                "413.9.202302280609-0",
                r#""minimumOCPVersion": "4.16.0""#,
                "4.20.0-okd-scos.3",
            ),
        ),
        (
            "okd-other-family",
            of_okd(
                "412.86.202301311551-0",
                r#""minimumOCPVersion": "4.13.0""#,
                "4.20.0-okd-scos.3",
            ),
        ),
        (
            "spec-2",
            Node {
                image: Some("45.82.202008010929-0"),
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "cpu-and-image",
            with_machine(
                r#""minimumRHCOSVersion": "9.8", "minimumCPU": { "x86_64": "x86-64-v3" }"#,
            ),
        ),
        (
            "ignored-field",
            Node {
                rules: r#""effect": "Warn", "minimumOCPVersion": "4.13.0""#,
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "cpu",
            with_machine(r#""minimumCPU": { "x86_64": "x86-64-v3" }"#),
        ),
        ("boot-space", with_machine(r#""minimumBootFreeMiB": 150"#)),
        ("shim", with_machine(r#""minimumShim": "15.8-3""#)),
        ("shim-of-older-installer", with_older_installer()),
        (
            "unknown",
            Node {
                image: None,
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "undecodable",
            Node {
                image: Some("4.18.2026012111"),
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "not-evaluated",
            Node {
                image: Some("9.6.20251023-0"),
                rules: r#""maximumReleasesBehind": 2"#,
                release: "4.22.3",
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "warn",
            Node {
                mode: "Warn",
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "not-held",
            Node::default().verdict_not_held("org.freedesktop.systemd1: no answer within 5 s"),
        ),
        (
            "without-help",
            Node {
                help: "{}",
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "unchecked-rule",
            Node {
                rules: r#""minimumFooVersion": "1.0""#,
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "unchecked-family",
            of_okd(
                "416.94.202406251923-0",
                r#""minimumSCOSVersion": "9""#,
                "4.17.0-okd-scos.0",
            ),
        ),
        (
            "unchecked-machine",
            Node {
                rules: r#""minimumShim": "15.8-3""#,
                ..Node::default()
            }
            .verdict(),
        ),
        ("unchecked-target", decide(&without_target())),
        ("unchecked-policy", decide(&with_invalid_policy())),
        (
            "unchecked-limit",
            Node {
                rules: r#""pools": null, "minimumOCPVersion": "4.13.0""#,
                ..Node::default()
            }
            .verdict(),
        ),
        (
            "unchecked-no-limit",
            Node {
                release: "4.20.9",
                ..Node::default()
            }
            .verdict(),
        ),
    ]
}

fn without_target() -> Facts {
    let warning = "/etc/ignition-machine-config-encapsulated.json: Permission denied (os error 13)";
    Facts {
        target: TargetInput::Unreadable,
        warnings: vec![warning.to_owned()],
        ..Node::default().facts()
    }
}

fn with_invalid_policy() -> Facts {
    let bytes = br#"{ "apiVersion": "policy.example.com/v1", "kind": "BootImageSkewPolicy" }"#;
    Facts {
        policy: PolicyInput::Invalid {
            path: crate::policy::POLICY_PATH.to_owned(),
            digest: None,
            error: crate::policy::parse(bytes).unwrap_err(),
        },
        ..Node::default().facts()
    }
}

/// Each expected text is named for its reason.
#[test]
fn the_reasons_are_those_of_the_names() {
    let named: Vec<(&str, Reason)> = reasons()
        .iter()
        .map(|(name, verdict)| (*name, verdict.reason))
        .collect();
    assert_eq!(
        named,
        [
            ("below-minimum", Reason::BelowMinimumOcpVersion),
            ("below-minimum-rhcos", Reason::BelowMinimumRhcosVersion),
            ("denied", Reason::DeniedVersion),
            ("rhel-major", Reason::RhelMajorUnsupported),
            ("above-maximum", Reason::AboveMaximumRhcosVersion),
            ("releases-behind", Reason::TooManyReleasesBehind),
            ("known-issue", Reason::KnownIssue),
            ("known-issue-warned", Reason::WithinLimits),
            ("okd-fcos-too-old", Reason::BelowMinimumFcosVersion),
            ("okd-fcos-too-new", Reason::AboveMaximumFcosVersion),
            ("okd-scos-too-old", Reason::BelowMinimumOcpVersion),
            ("okd-other-family", Reason::BelowMinimumOcpVersion),
            ("spec-2", Reason::BelowMinimumOcpVersion),
            ("cpu-and-image", Reason::BelowMinimumRhcosVersion),
            ("ignored-field", Reason::BelowMinimumOcpVersion),
            ("cpu", Reason::CpuBelowMinimum),
            ("boot-space", Reason::BootSpaceBelowMinimum),
            ("shim", Reason::ShimBelowMinimum),
            ("shim-of-older-installer", Reason::ShimBelowMinimum),
            ("unknown", Reason::BootImageUnknown),
            ("undecodable", Reason::BootImageUndecodable),
            ("not-evaluated", Reason::NoRuleEvaluated),
            ("warn", Reason::BelowMinimumOcpVersion),
            ("not-held", Reason::BelowMinimumOcpVersion),
            ("without-help", Reason::BelowMinimumOcpVersion),
            ("unchecked-rule", Reason::NoRuleEvaluated),
            ("unchecked-family", Reason::NoRuleEvaluated),
            ("unchecked-machine", Reason::NoRuleEvaluated),
            ("unchecked-target", Reason::TargetUnknown),
            ("unchecked-policy", Reason::PolicyInvalid),
            ("unchecked-limit", Reason::LimitUndecided),
            ("unchecked-no-limit", Reason::NoLimitForTarget),
        ]
    );
}

#[test]
fn every_reason_has_its_text() {
    for (name, verdict) in reasons() {
        assert_file(
            &format!("console/expected/issue-{name}.txt"),
            &issue(&verdict, &Context::default()),
        );
    }
}

/// Ignition's names of platforms (`ignition.platform.id=`), and two other names in use.
const PLATFORMS: [&str; 14] = [
    "aws",
    "azure",
    "gcp",
    "vmware",
    "vsphere",
    "openstack",
    "metal",
    "baremetal",
    "nutanix",
    "kubevirt",
    "powervs",
    "ibmcloud",
    "qemu",
    "",
];

/// The remedy in the report: the same as whole sentences.
/// What a node of a hosted cluster knows of its target, and also a control plane node before 4.8.
fn of_any_release(platform: &str, pool: &str, release: &str, rules: &str) -> Verdict {
    let mut facts = Node {
        platform,
        pool,
        release,
        rules,
        ..Node::default()
    }
    .facts();
    if let PolicyInput::Valid { policy, .. } = &mut facts.policy {
        let limits = policy.limits.iter_mut();
        limits.for_each(|limit| limit.release = None);
    }
    decide(&facts)
}

fn without_pool_and_release(platform: &str) -> Verdict {
    let mut verdict = Node {
        platform,
        ..Node::default()
    }
    .verdict();
    (verdict.target.pool, verdict.target.release) = (None, None);
    verdict
}

#[test]
fn a_hosted_cluster_is_told_of_its_node_pool() {
    let remedy = |verdict: &Verdict| crate::console::message::remedy(verdict);
    assert_eq!(
        remedy(&without_pool_and_release("aws")),
        "MachineSet: set providerSpec.value.ami.id (hosted cluster: NodePool image or release), delete this Machine. Else install it anew."
    );
    for platform in PLATFORMS {
        let verdict = without_pool_and_release(platform);
        // No NodePool changes the image of a hosted cluster's bare metal.
        let object = match platform {
            "metal" | "baremetal" => "InfraEnv",
            _ => "NodePool",
        };
        assert!(remedy(&verdict).contains(object), "{platform}");
        // One of the two is enough: only a hosted cluster's config has neither, or `master` alone.
        for target in [
            Target {
                pool: Some("worker".to_owned()),
                ..verdict.target.clone()
            },
            Target {
                release: Some("4.21.3".to_owned()),
                ..verdict.target.clone()
            },
        ] {
            let text = remedy(&Verdict {
                target,
                ..verdict.clone()
            });
            assert_eq!(
                text.contains("NodePool") || text.contains("InfraEnv"),
                platform == "kubevirt",
                "{platform}: {text}"
            );
        }
    }
}

#[test]
fn the_report_says_it_in_sentences() {
    for platform in PLATFORMS {
        for pool in ["worker", "master", ""] {
            let verdict = match pool {
                "" => without_pool_and_release(platform),
                pool => Node {
                    platform,
                    pool,
                    ..Node::default()
                }
                .verdict(),
            };
            let text = crate::console::message::remedy(&verdict);
            assert!(
                text.starts_with(char::is_uppercase)
                    && text.ends_with('.')
                    && !text.ends_with(".."),
                "{platform:?} {pool}: {text}"
            );
            assert!(
                !text.contains("spec.release.image VM"),
                "{platform:?} {pool}: {text}"
            );
        }
    }
}

/// Where a newer boot image is the remedy for a first boot that does not finish.
#[test]
fn the_note_about_the_first_boot_has_the_image_and_the_field() {
    let allowed = Node {
        image: Some("418.94.202511191518-0"),
        ..Node::default()
    };
    assert_eq!(
        newer_image(&allowed.verdict()),
        "This one is boot image 418.94.202511191518-0 (RHEL 9.4, OCP 4.18). Made by a MachineSet: set providerSpec.value.ami.id, then delete this Machine. Else install it anew from a newer AMI."
    );
}

#[test]
fn every_platform_says_what_to_change() {
    // What to do is one paragraph of the message: the lines from "Fix" to the next label.
    let fix = |verdict: &Verdict| -> String {
        let text = issue(verdict, &Context::default());
        let lines = text.lines().skip_while(|line| !line.starts_with("Fix"));
        lines
            .take_while(|line| !line.starts_with("Let in"))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    let mut all = String::new();
    for platform in PLATFORMS {
        for (pool, release, rules) in [
            ("worker", "4.21.3", Node::default().rules),
            ("master", "4.21.3", r#""maximumRHCOSVersion": "8.4""#),
            ("master", "4.20.9", Node::default().rules),
            ("arbiter", "4.21.3", Node::default().rules),
        ] {
            let verdict = of_any_release(platform, pool, release, rules);
            all.push_str(&format!(
                "## {platform:?}, {pool}, {release}\n{}",
                fix(&verdict)
            ));
        }
        let mut hosted = of_any_release(platform, "master", "4.21.3", Node::default().rules);
        hosted.target.release = None;
        all.push_str(&format!(
            "## {platform:?}, master, no release\n{}",
            fix(&hosted)
        ));
        let unknown = without_pool_and_release(platform);
        assert!(!issue(&unknown, &Context::default()).contains("coreos-bootimages"));
        all.push_str(&format!(
            "## {platform:?}, no pool and no release\n{}",
            fix(&unknown)
        ));
    }
    assert_file("console/expected/fix-by-platform.txt", &all);
}

#[test]
fn the_motd_is_for_somebody_who_is_already_logged_in() {
    let verdict = Node {
        rules: r#""deniedVersions": [ { "version": "411.*", "reason": "C:\\firmware \\S" } ]"#,
        ..Node::default()
    }
    .verdict();
    assert_file(
        "console/expected/motd.txt",
        &motd(&verdict, &Context::default()),
    );
}

#[test]
fn the_short_forms_say_the_same_in_few_lines() {
    let mut all = String::new();
    for (name, verdict) in reasons() {
        let short = short(&verdict, &Context::default());
        assert!(short.lines().count() <= 6, "{short}");
        // Only a reason from the policy may be cut, or one that the kernel log has whole.
        assert!(
            [
                "denied",
                "known-issue",
                "known-issue-warned",
                "cpu-and-image",
            ]
            .contains(&name)
                || name.starts_with("unchecked-")
                || !short.contains("..."),
            "{short}"
        );
        all.push_str(&format!("## {name}\n{short}{}\n", kernel_log(&verdict)));
    }
    assert_file("console/expected/short.txt", &all);
}

#[test]
fn the_last_line_follows_what_the_cluster_knows() {
    let line = |cluster| {
        let text = issue(
            &Node::default().verdict(),
            &Context {
                cluster,
                ..Context::default()
            },
        );
        text.find("Cluster")
            .map(|at| text[at..].trim_end().to_owned())
    };
    let reported = |name: Option<&str>| ClusterKnows::Told(name.map(str::to_owned));
    let why =
        "the cluster has no CRD bootimagereports.skewguard.dev (oc skewguard render manifests)";
    assert_eq!(
        line(ClusterKnows::NotYet).as_deref(),
        Some("Cluster not told yet (journalctl -u skewguard-report)")
    );
    assert_eq!(
        line(reported(None)).as_deref(),
        Some("Cluster told: oc get events -n skewguard")
    );
    assert_eq!(
        line(reported(Some("node-7-0123456789abcdef"))).as_deref(),
        Some("Cluster told: oc get bootimagereport -n skewguard node-7-0123456789abcdef")
    );
    assert_eq!(
        line(reported(Some("node-7890123-0123456789abcdef"))).as_deref(),
        Some("Cluster told: oc get bootimagereport -n skewguard node-7890123-0123456789abcdef"),
        "a line of 79 columns"
    );
    assert_eq!(
        line(reported(Some(
            "ip-10-0-141-23.eu-west-1.compute.internal-0123456789abcdef"
        )))
        .as_deref(),
        Some("Cluster told: oc get bootimagereport -n skewguard")
    );
    assert_eq!(
        line(ClusterKnows::CannotBeTold(why.to_owned())).as_deref(),
        Some(
            "Cluster cannot be told: the cluster has no CRD bootimagereports.skewguard.dev\n        (oc skewguard render manifests)"
        )
    );
}

/// Where nothing of ours runs on the next boot, the message is still on /etc/issue.
#[test]
fn a_refusal_says_of_which_boot_it_is() {
    let context = Context {
        boot: Some("2026-11-26T13:05Z".to_owned()),
        ..Context::default()
    };
    let text = issue(&Node::default().verdict(), &context);
    let said = "It will not join (booted 2026-11-26T13:05Z): OS update and kubelet held back.";
    assert_eq!(text.lines().nth(1), Some(said));
    assert!(said.len() <= 79);
}

/// The console of a guest under Secure Execution is the host's.
#[test]
fn a_secret_guest_is_not_identified() {
    let context = Context {
        address: Some("192.0.2.7".to_owned()),
        is_secret: true,
        cluster: ClusterKnows::Told(Some("worker-0-0123456789abcdef".to_owned())),
        ..Context::default()
    };
    let verdict = Node::default().verdict();
    for text in [issue(&verdict, &context), motd(&verdict, &context)] {
        for word in ["192.0.2.7", "\\4", "\\6", "worker-0"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        let rest = "\nLet in  sudo /usr/bin/skewguard allow\n";
        assert!(text.contains(rest), "{text}");
        let told = "\nCluster told: oc get bootimagereport -n skewguard\n";
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn the_address_is_agettys_until_it_is_known() {
    let let_in = |address: Option<&str>, program: &str| {
        let context = Context {
            address: address.map(str::to_owned),
            program: program.to_owned(),
            ..Context::default()
        };
        let text = issue(&Node::default().verdict(), &context);
        let lines: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("Let in"))
            .take(2)
            .collect();
        lines.join("\n")
    };
    let boot = "\n        or, without ssh, boot with the kernel argument skewguard=off";
    assert_eq!(
        let_in(None, "/usr/bin/skewguard"),
        "Let in  ssh core@\\4 or \\6\n        sudo /usr/bin/skewguard allow (or boot with skewguard=off)"
    );
    assert_eq!(
        let_in(Some("10.0.0.12"), "/opt/skewguard"),
        format!("Let in  ssh core@10.0.0.12, then: sudo /opt/skewguard allow{boot}")
    );
    assert_eq!(
        let_in(
            Some(r"10.0.0.12\S"),
            "/a/very/long/path/that/would/not/fit/bin/skewguard"
        ),
        format!(r"Let in  ssh core@10.0.0.12\\S, then: sudo skewguard allow{boot}")
    );
    assert_eq!(
        let_in(Some("2001:db8:a1a8:60ad:1::abc"), "/usr/bin/skewguard"),
        format!(
            "Let in  ssh core@2001:db8:a1a8:60ad:1::abc, then: sudo /usr/bin/skewguard allow{boot}"
        ),
        "a line of 79 columns"
    );
    assert_eq!(
        let_in(
            Some("fd65:a1a8:60ad:271c:1234:5678:9abc:def0"),
            "/usr/bin/skewguard"
        ),
        "Let in  ssh core@fd65:a1a8:60ad:271c:1234:5678:9abc:def0, then:\n        sudo /usr/bin/skewguard allow (or boot with skewguard=off)"
    );
}

#[test]
fn where_there_is_nothing_to_say_all_texts_are_empty() {
    let allowed = Node {
        image: Some("418.94.202511191518-0"),
        ..Node::default()
    }
    .verdict();
    let no_policy = Facts {
        policy: PolicyInput::Absent,
        ..Node::default().facts()
    };
    let opted_out = Node {
        mode: "None",
        ..Node::default()
    }
    .verdict();
    let off = Facts {
        r#override: overridden(OverrideWord::Off),
        ..Node::default().facts()
    };
    let at = |stage| Deployment {
        stage,
        ..Deployment::default()
    };
    let on_target = Facts {
        deployment: at(Stage::OnTarget),
        ..Node::default().facts()
    };
    // A refusal does not count any more once the node has left its boot image.
    let rebased = Facts {
        deployment: at(Stage::Rebased),
        ..Node::default().facts()
    };
    let undetermined = Facts {
        deployment: at(Stage::Rebased),
        ..without_target()
    };
    // After `skewguard allow`, whose user has read the message.
    let file = Override {
        value: OverrideWord::Warn,
        source: OverrideSource::File,
    };
    let let_through = Facts {
        r#override: Some(file),
        ..Node::default().facts()
    };
    let decided = [
        no_policy,
        off,
        on_target,
        rebased,
        undetermined,
        let_through,
    ];
    let verdicts = [allowed, opted_out]
        .into_iter()
        .chain(decided.iter().map(decide));
    for verdict in verdicts {
        assert!(!verdict.blocks(), "{verdict:?}");
        assert!(!is_shown(&verdict), "{verdict:?}");
        let texts = [
            issue(&verdict, &Context::default()),
            motd(&verdict, &Context::default()),
            short(&verdict, &Context::default()),
            kernel_log(&verdict),
        ];
        assert!(texts.iter().all(String::is_empty), "{texts:?}");
    }
}

#[test]
fn a_node_that_is_held_with_a_doubt_is_not_said_to_be_free() {
    let error = Some(
        "services ordered after firstboot-osupdate.target may not be held: no answer in time"
            .to_owned(),
    );
    let gate = Some(GateStatus {
        held: true,
        units: Vec::new(),
        error,
    });
    let text = issue(
        &Verdict {
            gate,
            ..Node::default().verdict()
        },
        &Context::default(),
    );
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(
        lines,
        [
            "*** NODE REFUSED: ITS BOOT IMAGE IS TOO OLD FOR THIS CLUSTER ***",
            "It will not join: OS update and kubelet held back.",
            "In doubt: services ordered after firstboot-osupdate.target may not be held:...",
        ]
    );
}

#[test]
fn a_warning_says_who_let_the_node_through() {
    let second = |facts: &Facts| {
        issue(&decide(facts), &Context::default())
            .lines()
            .nth(1)
            .map(str::to_owned)
    };
    let by_argument = Facts {
        r#override: overridden(OverrideWord::Warn),
        ..Node::default().facts()
    };
    assert_eq!(
        second(&by_argument).as_deref(),
        Some("It is let through, because the kernel argument skewguard=warn says so.")
    );
    // An unknown mode acts as Warn.
    let other_mode = Node {
        mode: "Terminate",
        ..Node::default()
    }
    .facts();
    assert_eq!(
        second(&other_mode).as_deref(),
        Some("It is let through, because mode Terminate is unknown here and acts as Warn.")
    );
    // The override `enforce` is never given as the cause.
    let enforce = Override {
        value: OverrideWord::Enforce,
        source: OverrideSource::File,
    };
    let mut other_version = Facts {
        r#override: Some(enforce),
        ..Node::default().facts()
    };
    if let PolicyInput::Valid { policy, .. } = &mut other_version.policy {
        policy.other_version = true;
    }
    let version = "It is let through, because the policy is of another version, and never blocks.";
    assert_eq!(second(&other_version).as_deref(), Some(version));
    let mut unreadable = Node::default().facts();
    unreadable.deployment.stage = Stage::Unreadable;
    if let PolicyInput::Valid { policy, .. } = &mut unreadable.policy {
        policy.on_undetermined = OnUndetermined::Proceed;
    }
    assert_eq!(
        second(&unreadable).as_deref(),
        Some("It is let through, because a file that may let it through cannot be read.")
    );
}

#[test]
fn the_documentation_shows_the_message_as_it_is() {
    let docs =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md"))
            .expect("docs/reference.md");
    let context = Context {
        address: Some("10.0.141.23".to_owned()),
        ..Context::default()
    };
    let message = issue(&Node::default().verdict(), &context);
    assert!(
        docs.contains(&format!("```\n{}\n```", message.trim_end())),
        "docs/reference.md shows another message than\n{message}"
    );
}
