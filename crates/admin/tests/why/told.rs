//! Events about a first boot: the agent's own, with and without its report, and those of the Machine
//! Config Operator (its pull request 6124).

use super::{Gather, WAITS, only};
use serde_json::{Value, json};
use std::path::Path;

/// `events.k8s.io/v1`, as the agent makes it and as the core API shows it.
fn event(reason: &str, note: &str, time: &str) -> Value {
    let went_on = reason == "FirstBootWentOn";
    let action = if reason == "BelowMinimumOCPVersion" {
        "Block"
    } else {
        "Proceed"
    };
    json!({ "apiVersion": "v1", "kind": "Event", "action": action, "eventTime": format!("{time}.000000Z"), "type": if went_on { "Normal" } else { "Warning" },
        "firstTimestamp": null, "lastTimestamp": null, "source": {},
        "involvedObject": { "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageReport", "name": "ip-10-0-16-37-3f9a1c77d2e4b605", "namespace": "skewguard" },
        "message": format!("Node ip-10-0-16-37 (10.0.16.37) {note}"),
        "metadata": { "creationTimestamp": format!("{time}Z"), "name": format!("ip-10-0-16-37-3f9a1c77d2e4b605-{}", reason.len()), "namespace": "skewguard", "resourceVersion": "183100", "uid": reason },
        "reason": reason, "reportingComponent": "skewguard.dev/agent", "reportingInstance": "ip-10-0-16-37" })
}

fn write(gather: &Gather, name: &str, items: &[Value]) {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(gather.dir.path().join(name), list.to_string()).unwrap();
}

/// The Event that the agent made.
fn tell(gather: &Gather, reason: &str, note: &str, time: &str) {
    write(gather, "events.json", &[event(reason, note, time)]);
}

fn sentence(report: &Value) -> &str {
    only(report)["sentence"].as_str().unwrap()
}

/// `first-boot` without the report: the CustomResourceDefinition was not there.
fn unreported() -> Gather {
    let gather = Gather::of("first-boot");
    std::fs::remove_dir_all(gather.dir.path().join("namespaces/skewguard")).unwrap();
    gather
}

const STALLED: &str = ": the first boot has not finished after 30 minutes; it waits in the phase Pull; cause Unauthorized: the registry does not accept the credentials. (more: oc skewguard why)";

/// Its verdict alone is told, with the console that says more.
#[test]
fn a_report_that_is_all_there_is_leads() {
    let report = super::json(&["tests/data/audit/aws.json"]);
    let lead = "c1-reported-1 was refused just now, by its own report: its boot image is too old";
    assert!(sentence(&report).starts_with(lead), "{report:#}");
    let next = only(&report)["next"].to_string();
    assert!(next.contains("`NODE REFUSED`"), "{report:#}");
    assert_eq!(only(&report)["isCertain"], false);
}

#[test]
fn events_stand_in_for_a_report_that_is_not_there() {
    let gather = unreported();
    assert!(
        sentence(&gather.json())
            .contains("neither a certificate request nor a Node of it was seen since")
    );
    tell(&gather, "FirstBootStalled", STALLED, "2026-08-20T09:33:10");
    let found = gather.json();
    assert_eq!(only(&found)["stage"], "FirstBoot");
    assert_eq!(
        sentence(&found),
        format!("{WAITS} does not finish its first boot, by its own Event 26 minutes ago.")
    );
    let evidence = only(&found)["evidence"].to_string();
    assert!(
        evidence.contains("Event FirstBootStalled of the node's agent"),
        "{found:#}"
    );
    assert_eq!(only(&found)["isCertain"], false);
    let note = "was refused: boot image is OCP 4.12; the minimum is 4.13.0 (boot image 412.86.202301311551-0, pool worker) (more: oc skewguard why)";
    tell(
        &gather,
        "BelowMinimumOCPVersion",
        note,
        "2026-08-20T09:34:10",
    );
    let found = gather.json();
    assert_eq!(only(&found)["stage"], "Refused");
    assert_eq!(
        sentence(&found),
        format!(
            "{WAITS} was refused 25 minutes ago, by its own Event: its boot image is too old for this cluster."
        )
    );
}

/// Another machine had its address the day before.
#[test]
fn events_of_an_earlier_machine_are_not_its_own() {
    let gather = unreported();
    tell(&gather, "FirstBootStalled", STALLED, "2026-08-19T09:33:10");
    assert!(
        sentence(&gather.json())
            .contains("neither a certificate request nor a Node of it was seen since")
    );
}

#[test]
fn a_first_boot_that_went_on_is_not_told_as_hanging() {
    let gather = Gather::of("first-boot");
    write(
        &gather,
        "events.json",
        &[
            event("FirstBootStalled", STALLED, "2026-08-20T09:33:10"),
            event(
                "FirstBootWentOn",
                ": the first boot goes on after the phase Pull.",
                "2026-08-20T09:50:00",
            ),
        ],
    );
    let found = gather.json();
    assert_eq!(only(&found)["stage"], "FirstBoot");
    assert_eq!(
        sentence(&found),
        format!(
            "{WAITS} hung in its first boot, which went on 10 minutes ago, by its own Event, and no certificate request was seen yet."
        )
    );
}

/// openshift/machine-config-operator 6124: one Event a boot, about the pool; the message has the node.
#[test]
fn the_operators_events_are_evidence_of_a_first_boot() {
    let gather = unreported();
    let why = "failed during firstboot at stage 'firstboot-update': error running systemd-run --unit machine-config-daemon-update-rpmostree-via-container: exit status 125 (image: quay.io)";
    let failed = |node: &str| {
        json!({ "apiVersion": "v1", "kind": "Event", "count": 1, "type": "Warning", "reason": "FirstbootFailed",
            "metadata": { "creationTimestamp": "2026-08-20T09:20:00Z", "name": format!("worker.{node}"), "namespace": "default", "resourceVersion": "7", "uid": node },
            "involvedObject": { "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "name": "worker" },
            "message": format!("Node {node}  {why}"),
            "source": { "component": "machineconfigserver" }, "reportingComponent": "machineconfigserver", "reportingInstance": "",
            "firstTimestamp": "2026-08-20T09:20:00Z", "lastTimestamp": "2026-08-20T09:20:00Z" })
    };
    // One that only begins alike is another's.
    write(&gather, "events.json", &[failed("ip-10-0-16-3")]);
    assert!(
        sentence(&gather.json())
            .contains("neither a certificate request nor a Node of it was seen since")
    );
    let both = [failed("ip-10-0-16-37"), failed("ip-10-0-16-3")];
    write(&gather, "events.json", &both);
    let found = gather.json();
    assert_eq!(only(&found)["stage"], "FirstBoot");
    assert_eq!(
        sentence(&found),
        format!(
            "{WAITS}'s first boot failed 40 minutes ago, as it told the machine-config-server: \"Node ip-10-0-16-37  {why}\"."
        )
    );
    let evidence: Vec<&str> = only(&found)["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["source"] == "Event FirstbootFailed of MachineConfigPool worker")
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(evidence, [format!("\"Node ip-10-0-16-37  {why}\"")]);
}

/// The same gather twice is one: a request counts once.
#[test]
fn a_log_in_two_gathers_counts_once() {
    let gather = Gather::of("request-refused");
    let again = gather.dir.path().join("must-gather.2");
    std::fs::create_dir(&again).unwrap();
    let before = gather.json();
    let config = "namespaces/openshift-machine-config-operator";
    std::fs::create_dir_all(again.join(config)).unwrap();
    super::copy(&gather.dir.path().join(config), &again.join(config));
    assert!(Path::new(&again).exists());
    let after = gather.json();
    assert_eq!(before["serverLog"], after["serverLog"]);
    assert_eq!(sentence(&before), sentence(&after));
}
