//! What has to work on every cluster.

use crate::cluster::attack;
use crate::cluster::node::{Node, Over, transports, verdict};
use crate::cluster::target::Cluster;
use serde_json::Value;

/// Names of a run of their own, so that a shared cluster does not matter.
fn host(what: &str) -> String {
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    format!("skewguard-test-{what}-{:x}", nanos & 0xffff_ffff_ffff)
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

/// One after the other: a real cluster is set up and cleaned once.
#[test]
fn the_suite() {
    let cluster = Cluster::new();
    for over in transports() {
        a_refused_node_is_seen(&cluster, over);
        a_lost_state_makes_no_second_report(&cluster, over);
        a_run_without_a_verdict_is_seen(&cluster, over);
    }
    attack::the_schema_holds_every_string_and_list(&cluster, &host("bounds"));
    attack::what_the_schema_does_not_know_is_dropped(&cluster, &host("unknown"));
    if cluster.has_admission_policies() {
        attack::the_policies_hold_what_a_schema_cannot(&cluster, &host("policies"));
    }
    // The test server has one Node, and the order shows that the second patch is the second node's.
    for (over, tree) in transports()
        .into_iter()
        .zip(["rhcos-4.18-allowed", "rhel-10.2-bootc-allowed"])
    {
        a_joined_node_is_labelled(&cluster, over, tree);
    }
}

fn a_refused_node_is_seen(cluster: &Cluster, over: Over) {
    let host = host("refused");
    let node = Node::refused(&host, over);
    cluster.prepare(&node);
    let (said, status) = node.report();
    let reports = cluster.objects("bootimagereports", &host);
    assert_eq!(reports.len(), 1, "{over:?}: {said}");
    let name = name(&reports[0]);
    assert_eq!(
        (said, status),
        (
            format!("skewguard: report delivered: {name}\nskewguard: event delivered: {name}\n"),
            0
        ),
        "{over:?}"
    );

    let report = &reports[0]["report"];
    let told = &report["verdict"];
    let verdict = verdict("rhcos-4.12-refused");
    assert_eq!(
        (told["verdict"].as_str(), told["action"].as_str()),
        (Some("Refused"), Some("Block"))
    );
    assert_eq!(told["reason"], serde_json::json!(verdict)["reason"]);
    assert_eq!(
        told["bootImage"]["version"],
        verdict.boot_image.unwrap().version
    );
    assert_eq!(report["node"]["hostname"], *host);
    assert_eq!(
        report["node"]["machineID"],
        "0123456789abcdef0123456789abcdef"
    );
    assert_eq!(
        told["deployment"]["ostree"],
        *verdict.deployment.ostree.unwrap()
    );

    let events = cluster.objects("events", &host);
    assert_eq!(events.len(), 1, "{over:?}");
    assert_eq!(events[0]["regarding"]["name"], name);
    assert_eq!(events[0]["regarding"]["uid"], reports[0]["metadata"]["uid"]);
    assert_eq!(events[0]["reportingController"], "skewguard.dev/agent");

    // The next boot.
    assert_eq!(node.report(), (String::new(), 0), "{over:?}");
}

fn a_lost_state_makes_no_second_report(cluster: &Cluster, over: Over) {
    let host = host("again");
    let node = Node::refused(&host, over);
    cluster.prepare(&node);
    assert_eq!(node.report().1, 0);
    std::fs::remove_file(node.path("var/lib/skewguard/report-state.json")).unwrap();
    let (said, status) = node.report();
    assert_eq!(status, 0, "{said}");
    assert!(
        said.starts_with("skewguard: report was delivered before: "),
        "{said}"
    );
    assert_eq!(
        cluster.objects("bootimagereports", &host).len(),
        1,
        "{over:?}"
    );
    // Two, if a two-hour slot ended during the run.
    assert!(
        (1..=2).contains(&cluster.objects("events", &host).len()),
        "{over:?}"
    );
}

fn a_run_without_a_verdict_is_seen(cluster: &Cluster, over: Over) {
    let host = host("silent");
    let node = Node::new(&host, over);
    node.write("etc/ignition-machine-config-encapsulated.json", "{}");
    cluster.prepare(&node);
    let (said, status) = node.report();
    assert_eq!(status, 0, "{said}");
    assert!(said.starts_with("skewguard: NoVerdict: skewguard.service ended without a verdict, so the boot image was not checked and the node goes on to join."), "{said}");
    let events = cluster.objects("events", &host);
    assert_eq!(events.len(), 1, "{over:?}: {said}");
    assert_eq!(
        (&events[0]["reason"], &events[0]["regarding"]["kind"]),
        (&"NoVerdict".into(), &"Namespace".into())
    );
    assert_eq!(cluster.objects("bootimagereports", &host).len(), 0);
}

fn a_joined_node_is_labelled(cluster: &Cluster, over: Over, tree: &str) {
    let node = Node::new(&host("joined"), over);
    let verdict = verdict(tree);
    node.keep(
        "var/lib/skewguard/verdict.json",
        serde_json::to_value(&verdict).unwrap(),
    );
    cluster.prepare(&node);
    let joined = cluster.join(&node);
    assert_eq!(
        node.report(),
        (format!("skewguard: node label delivered: {joined}\n"), 0),
        "{over:?}"
    );
    let metadata = cluster.node(&joined)["metadata"].clone();
    let version = verdict.boot_image.unwrap().version;
    assert_eq!(
        metadata["labels"]["skewguard.dev/boot-image"], *version,
        "{over:?}"
    );
    let annotation: Value = serde_json::from_str(
        metadata["annotations"]["skewguard.dev/boot-image-verdict"]
            .as_str()
            .unwrap(),
    )
    .unwrap();
    assert_eq!(annotation["bootImage"]["version"], *version);
    assert_eq!(
        metadata["labels"]["kubernetes.io/os"], "linux",
        "what others wrote stays"
    );
    assert_eq!(node.report(), (String::new(), 0), "once");
}
