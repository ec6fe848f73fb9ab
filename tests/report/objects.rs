use crate::inside::report::sample;
use crate::node::identity::Identity;
use crate::report::event::{Event, EventSubject, Regarding};
use crate::report::inventory::NodePatch;
use crate::report::objects::{BootImageReport, ReportInput};
use crate::support::expected::assert_file;
use crate::verdict::{Action, Machine, Outcome, Reason, RuleResult, Stage, Verdict};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const NAME: &str = "ip-10-0-1-23.eu-west-1.compute.internal-a17216e094f6e4ff";

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(1_772_323_200_000_042)
}

fn report(verdict: &Verdict) -> Value {
    let input = ReportInput {
        progress: None,
        verdict,
        identity: &sample::identity(),
        remediation: "Set a newer AMI in the MachineSet, then delete this Machine.",
        installation: "00112233445566778899aabbccddeeff",
        observed: now(),
    };
    serde_json::to_value(BootImageReport::new(&input)).unwrap()
}

fn event(about: EventSubject<'_>, regarding: Regarding) -> Value {
    serde_json::to_value(Event::new(
        about,
        NAME,
        regarding,
        &sample::identity(),
        now(),
    ))
    .unwrap()
}

#[test]
fn a_report_says_who_was_refused_where_and_why() {
    let report = report(&sample::refused());
    let mut verdict: Value = serde_json::from_str(sample::REFUSED).unwrap();
    verdict["judged"] = json!("BootImage");
    assert_eq!(
        report,
        json!({
            "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageReport",
            "metadata": { "name": NAME, "namespace": "skewguard" },
            "report": {
                "verdict": verdict,
                "observedAt": "2026-03-01T00:00:00Z", "agentVersion": env!("CARGO_PKG_VERSION"),
                "node": {
                    "hostname": "ip-10-0-1-23.eu-west-1.compute.internal", "machineID": "0123456789abcdef0123456789abcdef",
                    "productUUID": "ec2a1b2c-0000-1111-2222-333344445555", "platform": "aws",
                    "addresses": ["10.0.1.23", "2001:db8::23"], "macAddresses": ["02:00:0a:00:01:17"]
                },
                "scope": {
                    "type": "WorkerPool",
                    "resources": [{ "group": "machineconfiguration.openshift.io", "resource": "machineconfigpools", "name": "worker" }]
                },
                "impact": { "level": "Error", "summary": "The node does not join the cluster: its boot image breaks the policy." },
                "remediation": {
                    "text": "Set a newer AMI in the MachineSet, then delete this Machine. (more: oc skewguard why)", "reference": "https://wiki.example.com/boot-images"
                }
            }
        })
    );
}

#[test]
fn the_impact_is_what_really_happens_to_the_node() {
    let impact = |verdict: &Verdict| report(verdict)["report"]["impact"].clone();
    let mut verdict = sample::refused();
    verdict.gate.as_mut().unwrap().held = false;
    assert_eq!(
        impact(&verdict),
        json!({ "level": "Error", "summary": "The node was refused but could not be held back: it may join on the old OS." })
    );
    verdict.action = Action::Proceed;
    verdict.gate = None;
    assert_eq!(
        impact(&verdict),
        json!({ "level": "Warning", "summary": "The node goes on to join although its boot image breaks the policy." })
    );
    verdict.reason = Reason::CpuBelowMinimum;
    assert_eq!(
        impact(&verdict),
        json!({ "level": "Warning", "summary": "The node goes on to join although its CPU breaks the policy." })
    );
    verdict.reason = Reason::NoRuleEvaluated;
    verdict.verdict = Outcome::Undetermined;
    assert_eq!(
        impact(&verdict),
        json!({ "level": "Warning", "summary": "The node goes on to join; its boot image could not be checked." })
    );
    verdict.action = Action::Block;
    assert_eq!(
        impact(&verdict),
        json!({ "level": "Error", "summary": "The node does not join the cluster: its boot image could not be checked." })
    );
    verdict.action = Action::Proceed;
    for (stage, outcome, summary) in [
        (
            Stage::Rebased,
            Outcome::Refused,
            "The node's first boot is over although its boot image breaks the policy.",
        ),
        (
            Stage::FirstBootFinished,
            Outcome::Undetermined,
            "The node's first boot is over; its boot image could not be checked.",
        ),
    ] {
        (verdict.verdict, verdict.deployment.stage) = (outcome, stage);
        assert_eq!(
            impact(&verdict),
            json!({ "level": "Warning", "summary": summary })
        );
    }
}

#[test]
fn only_what_is_wrong_is_reported_before_joining() {
    let mut verdict = sample::refused();
    for (outcome, reported) in [
        (Outcome::Refused, true),
        (Outcome::Undetermined, true),
        (Outcome::Allowed, false),
        (Outcome::Disabled, false),
        (Outcome::NoPolicy, false),
    ] {
        verdict.verdict = outcome;
        assert_eq!(verdict.is_reportable(), reported, "{outcome}");
    }
}

/// A known issue that only warns is told of a node that is allowed.
#[test]
fn a_warning_is_reported_of_a_node_that_goes_on() {
    let mut verdict = sample::refused();
    verdict.findings.truncate(1);
    let finding = &mut verdict.findings[0];
    (finding.rule, finding.result) = (Reason::KnownIssue, RuleResult::Warn);
    finding.message = "boot image has known issue Hangs: it hangs".to_owned();
    (verdict.verdict, verdict.action) = (Outcome::Allowed, Action::Proceed);
    (verdict.reason, verdict.gate) = (Reason::WithinLimits, None);
    verdict.message = "the boot image is within the policy's limits".to_owned();
    assert!(verdict.is_reportable());
    let report = report(&verdict);
    assert_eq!(
        report["report"]["impact"],
        json!({ "level": "Warning", "summary": "The node goes on to join; its boot image has known issue Hangs: it hangs." })
    );
    assert_eq!(report["report"]["verdict"]["findings"][0]["result"], "Warn");
    let event = event(
        EventSubject::Verdict(&verdict),
        Regarding::report(NAME, None),
    );
    assert_eq!(
        (&event["type"], &event["reason"]),
        (&json!("Warning"), &json!("KnownIssue"))
    );
    let note = event["note"].as_str().unwrap();
    assert!(
        note.contains("has a known issue that may keep it from joining; it goes on: the boot image is within the policy's limits; warning: boot image has known issue Hangs: it hangs (boot image"),
        "{note}"
    );
    verdict.reason = Reason::AlreadyOnTarget;
    assert!(!verdict.is_reportable());
}

#[test]
fn an_event_says_it_in_one_note() {
    let verdict = sample::refused();
    assert_eq!(
        event(
            EventSubject::Verdict(&verdict),
            Regarding::report(NAME, Some("uid-1"))
        ),
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": { "name": format!("{NAME}.3c18c"), "namespace": "skewguard" },
            "eventTime": "2026-03-01T00:00:00.000042Z", "type": "Warning", "reason": "BelowMinimumOCPVersion", "action": "Block",
            "note": "Node ip-10-0-1-23.eu-west-1.compute.internal (10.0.1.23) is refused and does not join the cluster: boot image \
                     411.86.202308081056-0 (OCP 4.11) is older than the minimum 4.13.0 (boot image 411.86.202308081056-0, \
                     target release 4.21.3, pool worker) (more: oc skewguard why)",
            "regarding": {
                "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageReport", "name": NAME, "namespace": "skewguard", "uid": "uid-1"
            },
            "reportingController": "skewguard.dev/agent", "reportingInstance": "ip-10-0-1-23.eu-west-1.compute.internal"
        })
    );
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "name": "skewguard", "namespace": "skewguard" });
    let event = event(
        EventSubject::NoVerdict { held: false },
        Regarding::namespace(),
    );
    assert_eq!(
        (&event["regarding"], &event["reason"]),
        (&namespace, &json!("NoVerdict"))
    );
    assert_eq!(
        event["note"],
        "Node ip-10-0-1-23.eu-west-1.compute.internal (10.0.1.23): skewguard.service ended without a verdict, so the boot image was not \
         checked and the node goes on to join. See `journalctl -b -u skewguard.service` on the node."
    );
    let event = self::event(
        EventSubject::NoVerdict { held: true },
        Regarding::namespace(),
    );
    assert_eq!(event["action"], "Block");
    assert_eq!(
        event["note"],
        "Node ip-10-0-1-23.eu-west-1.compute.internal (10.0.1.23): skewguard.service ended without a verdict that can be read, but it holds \
         the node back, which does not join the cluster. See `journalctl -b -u skewguard.service` on the node."
    );
}

#[test]
fn an_event_of_a_node_that_knows_nothing_has_no_empty_brackets() {
    let mut verdict = sample::refused();
    (verdict.verdict, verdict.action) = (
        crate::verdict::Outcome::Undetermined,
        crate::verdict::Action::Proceed,
    );
    (verdict.boot_image, verdict.gate, verdict.target) =
        (None, None, crate::verdict::Target::default());
    verdict.message = "boot image unknown".to_owned();
    let event = Event::new(
        EventSubject::Verdict(&verdict),
        NAME,
        Regarding::namespace(),
        &Identity::default(),
        now(),
    );
    let event = serde_json::to_value(event).unwrap();
    assert_eq!(
        event["note"],
        "Node unknown could not be checked; it goes on to join: boot image unknown (more: oc skewguard why)"
    );
}

/// The audit's tests read the same file.
#[test]
fn a_node_says_what_its_machine_was_born_with() {
    let mut verdict = sample::refused();
    (verdict.verdict, verdict.action) = (Outcome::Allowed, Action::Proceed);
    verdict.machine = Machine {
        architecture: Some("x86_64".to_owned()),
        cpu: Some("x86-64-v2".to_owned()),
        boot_free_mib: Some(96),
        secure_boot: Some(true),
        fips: Some(true),
        shim: Some("15.6-1.el9".to_owned()),
    };
    let patch = serde_json::to_string_pretty(&NodePatch::new(&verdict)).unwrap();
    assert_file("data/node-patch.json", &(patch + "\n"));
}

#[test]
fn a_node_is_labelled_and_the_annotation_keeps_the_version_whole() {
    let mut verdict = sample::refused();
    verdict.boot_image.as_mut().unwrap().version = "9.6 (Plow)".to_owned();
    let patch = serde_json::to_value(NodePatch::new(&verdict)).unwrap();
    assert_eq!(
        patch["metadata"]["labels"],
        json!({ "skewguard.dev/boot-image": "9.6__Plow" })
    );
    let annotation = patch["metadata"]["annotations"]["skewguard.dev/boot-image-verdict"]
        .as_str()
        .unwrap();
    let annotation: Value = serde_json::from_str(annotation).unwrap();
    assert_eq!(annotation["bootImage"]["version"], "9.6 (Plow)");
    assert_eq!(annotation["reason"], "BelowMinimumOCPVersion");
    assert_eq!(annotation["policyDigest"], "sha256:4567");
    let again = NodePatch::new(&verdict);
    assert_eq!(
        again.digest("worker-0", "boot-1"),
        NodePatch::new(&verdict).digest("worker-0", "boot-1")
    );
    assert_ne!(
        again.digest("worker-0", "boot-1"),
        again.digest("worker-1", "boot-1")
    );
    assert_ne!(
        again.digest("worker-0", "boot-1"),
        again.digest("worker-0", "boot-2"),
        "at every boot anew"
    );
    verdict.boot_image = None;
    let patch = serde_json::to_value(NodePatch::new(&verdict)).unwrap();
    assert_eq!(
        patch["metadata"]["labels"],
        json!({ "skewguard.dev/boot-image": "unknown" })
    );
}

#[test]
fn requests_go_where_the_role_allows_them() {
    let verdict = sample::refused();
    let source = ReportInput {
        progress: None,
        verdict: &verdict,
        identity: &Identity::default(),
        remediation: "",
        installation: "00112233445566778899aabbccddeeff",
        observed: now(),
    };
    let report = BootImageReport::new(&source).request();
    assert_eq!(
        (report.method, report.path.as_str(), report.content_type()),
        (
            "POST",
            "/apis/skewguard.dev/v1alpha1/namespaces/skewguard/bootimagereports",
            "application/json"
        )
    );
    let event = Event::new(
        EventSubject::NoVerdict { held: false },
        NAME,
        Regarding::namespace(),
        &Identity::default(),
        now(),
    )
    .request();
    assert_eq!(
        (event.method, event.path.as_str(), event.content_type()),
        (
            "POST",
            "/apis/events.k8s.io/v1/namespaces/skewguard/events",
            "application/json"
        )
    );
    let patch = NodePatch::new(&verdict).request("worker-0.c1.example.com");
    assert_eq!(
        (patch.method, patch.path.as_str(), patch.content_type()),
        (
            "PATCH",
            "/api/v1/nodes/worker-0.c1.example.com",
            "application/merge-patch+json"
        )
    );
}
