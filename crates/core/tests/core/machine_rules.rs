//! The rules about the machine: what it was born with and a rebase does not change.

use crate::inside::core::samples::node;
use crate::policy::parse;
use crate::verdict::{Facts, Machine, Outcome, Reason, Verdict, decide};
use serde_json::{Value, json};

fn judge(limit: &Value, image: &str, machine: &Machine) -> Verdict {
    let policy = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce", "limits": [limit],
    });
    decide(&Facts {
        machine: machine.clone(),
        ..node(
            image,
            "4.21.3",
            parse(policy.to_string().as_bytes()).unwrap(),
        )
    })
}

fn machine(architecture: &str, cpu: &str) -> Machine {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Machine {
        architecture: known(architecture),
        cpu: known(cpu),
        ..Machine::default()
    }
}

fn shown(verdict: &Verdict) -> String {
    let [finding] = &verdict.findings[..] else {
        panic!("{:#?}", verdict.findings)
    };
    format!(
        "{} {} want {}: {}",
        finding.result,
        finding.have.as_deref().unwrap_or("?"),
        finding.want,
        finding.message
    )
}

#[test]
fn each_level_is_compared_with_those_of_its_architecture() {
    let levels = json!({ "minimumCPU": { "x86_64": "x86-64-v3", "ppc64le": "power9", "s390x": "z14", "riscv64": "rva23" } });
    for (architecture, cpu, want) in [
        (
            "x86_64",
            "x86-64-v2",
            "Fail x86-64-v2 want x86-64-v3: CPU is x86-64-v2; the minimum is x86-64-v3",
        ),
        (
            "x86_64",
            "x86-64-v4",
            "Pass x86-64-v4 want x86-64-v3: CPU is x86-64-v4; the minimum is x86-64-v3",
        ),
        (
            "ppc64le",
            "power8",
            "Fail power8 want power9: CPU is power8; the minimum is power9",
        ),
        (
            "ppc64le",
            "power10",
            "Pass power10 want power9: CPU is power10; the minimum is power9",
        ),
        (
            "s390x",
            "z13",
            "Fail z13 want z14: CPU is z13; the minimum is z14",
        ),
        (
            "s390x",
            "z17",
            "Pass z17 want z14: CPU is z17; the minimum is z14",
        ),
        (
            "s390x",
            "",
            "NotEvaluated ? want z14: the level of the machine's CPU is unknown",
        ),
        (
            "aarch64",
            "",
            "NotEvaluated ? want power9, rva23, z14, x86-64-v3: the rule has no level for aarch64",
        ),
        (
            "riscv64",
            "",
            "NotEvaluated ? want rva23: a level of riscv64 that is not known to this version of skewguard",
        ),
        (
            "",
            "",
            "NotEvaluated ? want power9, rva23, z14, x86-64-v3: the machine's architecture is unknown",
        ),
    ] {
        let verdict = judge(&levels, "9.6.20250523-0", &machine(architecture, cpu));
        assert_eq!(shown(&verdict), want);
        if want.starts_with("Fail") {
            assert_eq!(
                (verdict.verdict, verdict.reason),
                (Outcome::Refused, Reason::CpuBelowMinimum)
            );
        }
    }
}

#[test]
fn what_is_free_in_boot_is_compared() {
    let limit = json!({ "minimumBootFreeMiB": 150 });
    for (free, want) in [
        (
            Some(149),
            "Fail 149 MiB want 150 MiB free in /boot: /boot has 149 MiB free; the minimum is 150",
        ),
        (
            Some(150),
            "Pass 150 MiB want 150 MiB free in /boot: /boot has 150 MiB free; the minimum is 150",
        ),
        (
            None,
            "NotEvaluated ? want 150 MiB free in /boot: what is free in /boot is unknown: it is read before the rebase, and where /boot is mounted",
        ),
    ] {
        let machine = Machine {
            boot_free_mib: free,
            ..Machine::default()
        };
        assert_eq!(shown(&judge(&limit, "9.6.20250523-0", &machine)), want);
    }
}

#[test]
fn the_shim_is_judged_where_secure_boot_is_on() {
    let limit = json!({ "minimumShim": "15.8-3" });
    for (secure_boot, shim, want) in [
        (
            Some(true),
            Some("15.6-1.el9"),
            "Fail 15.6-1.el9 want 15.8-3: shim is 15.6-1.el9; with Secure Boot on the minimum is 15.8-3",
        ),
        (
            Some(true),
            Some("15.8-4.el9_3"),
            "Pass 15.8-4.el9_3 want 15.8-3: shim is 15.8-4.el9_3; with Secure Boot on the minimum is 15.8-3",
        ),
        (
            Some(true),
            None,
            "NotEvaluated ? want 15.8-3: no file on this node names its shim",
        ),
        (
            Some(false),
            Some("15.6-1.el9"),
            "Pass 15.6-1.el9 want 15.8-3: shim may be of any version: Secure Boot is off",
        ),
        (
            Some(false),
            None,
            "Pass Secure Boot off want 15.8-3: shim may be of any version: Secure Boot is off",
        ),
        (
            None,
            Some("15.6-1.el9"),
            "NotEvaluated 15.6-1.el9 want 15.8-3: it is unknown whether Secure Boot is on",
        ),
    ] {
        let machine = Machine {
            secure_boot,
            shim: shim.map(str::to_owned),
            ..Machine::default()
        };
        assert_eq!(shown(&judge(&limit, "9.6.20250523-0", &machine)), want);
    }
}

#[test]
fn a_shape_that_is_not_known_is_not_evaluated() {
    for (limit, want) in [
        (json!({ "minimumCPU": "x86-64-v3" }), "\"x86-64-v3\""),
        (json!({ "minimumCPU": { "x86_64": 3 } }), "{\"x86_64\":3}"),
        (json!({ "minimumCPU": {} }), "{}"),
        (json!({ "minimumBootFreeMiB": -1 }), "-1"),
        (json!({ "minimumBootFreeMiB": "150" }), "\"150\""),
        (json!({ "minimumShim": "latest" }), "\"latest\""),
        (json!({ "minimumShim": 15.8 }), "15.8"),
    ] {
        let verdict = judge(&limit, "9.6.20250523-0", &machine("x86_64", "x86-64-v1"));
        assert_eq!(
            shown(&verdict),
            format!(
                "NotEvaluated ? want {want}: the rule's shape is not known to this version of skewguard"
            )
        );
        let (field, _) = limit.as_object().unwrap().iter().next().unwrap();
        assert_eq!(
            verdict.message,
            format!("the policy's limit has a rule that this agent does not understand: {field}")
        );
    }
}

/// A fine CPU says nothing of a boot image. Where a limit asks for nothing else, it is what
/// decides.
#[test]
fn a_machine_that_passes_does_not_stand_for_its_image() {
    let good = machine("x86_64", "x86-64-v3");
    let cpu = json!({ "x86_64": "x86-64-v3" });
    let verdict = judge(
        &json!({ "minimumCPU": cpu, "minimumRHCOSVersion": "9.2" }),
        "39.20231101.3.0",
        &good,
    );
    assert_eq!(
        (verdict.verdict, verdict.reason),
        (Outcome::Undetermined, Reason::NoRuleEvaluated)
    );
    let verdict = judge(&json!({ "minimumCPU": cpu }), "39.20231101.3.0", &good);
    assert_eq!(verdict.verdict, Outcome::Allowed);
    // All failures are shown; the image's comes first.
    let verdict = judge(
        &json!({ "minimumCPU": { "x86_64": "x86-64-v4" }, "minimumRHCOSVersion": "9.8" }),
        "9.6.20250523-0",
        &good,
    );
    let rules: Vec<Reason> = verdict.failures().map(|finding| finding.rule).collect();
    assert_eq!(
        rules,
        [Reason::BelowMinimumRhcosVersion, Reason::CpuBelowMinimum]
    );
}

/// What was not looked at is not said to be within limits.
#[test]
fn the_message_says_what_was_looked_at() {
    let rules = json!({ "minimumCPU": { "x86_64": "x86-64-v3" } });
    let verdict = judge(&rules, "", &machine("x86_64", "x86-64-v4"));
    assert_eq!(
        (verdict.reason, verdict.message.as_str()),
        (
            Reason::WithinLimits,
            "the machine is within the policy's limits, which say nothing of its boot image"
        )
    );
    // A rule about the image that is open decides, and says so of itself alone.
    let mut rules = rules;
    rules["minimumOCPVersion"] = json!("4.20.0");
    let verdict = judge(&rules, "9.6.20250523-0", &machine("x86_64", "x86-64-v4"));
    assert_eq!(
        (verdict.verdict, verdict.message.as_str()),
        (
            Outcome::Undetermined,
            "boot image is RHEL 9.6, of OCP 4.19 to 4.21; the minimum is 4.20.0"
        )
    );
}

#[test]
fn a_limit_without_rules_is_not_the_fault_of_the_version() {
    let verdict = judge(
        &json!({ "release": "4.21" }),
        "9.6.20250523-0",
        &Machine::default(),
    );
    assert_eq!(verdict.message, "the limit for this node has no rules");
}

#[test]
fn what_readers_of_a_policy_need_is_no_warning_on_nodes() {
    let policy = json!({
        "$schema": "policy.schema.json", "description": "ours", "ticket": "OPS-1",
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Enforce",
        "limits": [{ "minimumRHCOSVersion": "9.2", "description": "since the incident", "ticket": "OPS-2" }],
    });
    assert_eq!(
        parse(policy.to_string().as_bytes()).unwrap().warnings,
        [""; 0]
    );
}
