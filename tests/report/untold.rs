//! What an earlier boot had to tell, and could not, on a boot that has nothing to tell itself.

use crate::inside::report::sample;
use crate::inside::report::stage::{Cluster, Log, Node, refused, status};
use crate::node::UNTOLD_VERDICT_PATH;
use crate::report::run::End;
use crate::verdict::{Action, Outcome, Verdict};
use serde_json::{Value, json};
use std::time::Duration;

const REPORTS: &str = "/apis/skewguard.dev/v1alpha1/namespaces/skewguard/bootimagereports";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/skewguard/events";
const NODE: &str = "/api/v1/nodes/worker-0";
const HOUR: Duration = Duration::from_secs(3600);

/// A boot with `skewguard=off` after a refused one.
fn switched_off() -> Node {
    let mut verdict: Verdict = sample::refused();
    (verdict.verdict, verdict.action) = (Outcome::Disabled, Action::Proceed);
    verdict.gate = None;
    let node = Node::with_verdict(&verdict);
    node.keep(UNTOLD_VERDICT_PATH, sample::REFUSED);
    node.write("/etc/kubernetes/kubeconfig", "");
    node
}

fn is_kept(node: &Node) -> bool {
    node.root.exists(UNTOLD_VERDICT_PATH).unwrap()
}

fn joins(node: &Node, cluster: &Cluster) {
    node.write("/var/lib/kubelet/kubeconfig", "");
    *cluster.node.lock().unwrap() = Some("worker-0");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_kept_until_it_is_told_and_told_once() {
    let (node, log) = (switched_off(), Log::default());
    let away = Cluster::new(|_, _| refused());
    node.run(&away, &log, HOUR).await;
    assert!(is_kept(&node) && !away.paths().is_empty());
    let cluster = Cluster::new(|_, _| status(201));
    node.run(&cluster, &log, HOUR).await;
    assert_eq!(cluster.paths(), [REPORTS, EVENTS], "{:?}", log.lines);
    assert!(!is_kept(&node));
    let arrived = cluster.arrived();
    let told = &arrived[0].body["report"]["verdict"];
    assert_eq!(
        ["/verdict", "/action", "/gate/held"].map(|field| told.pointer(field).cloned().unwrap()),
        [json!("Refused"), json!("Proceed"), json!(false)],
        "as the node is now"
    );
    let note = arrived[1].body["note"].as_str().unwrap();
    assert!(
        note.contains("breaks the boot image policy; it goes on to join"),
        "{note}"
    );
    let told = log.knows.lock().unwrap().clone();
    assert_eq!(told, [], "the console has no message of this boot");
    cluster.forget();
    node.run(&cluster, &log, HOUR).await;
    assert_eq!(cluster.paths(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_was_told_while_it_held_is_not_told_again() {
    for reports in [201, 404] {
        let (node, log) = (Node::refused(), Log::default());
        let cluster =
            Cluster::new(move |_, path| status(if path == REPORTS { reports } else { 201 }));
        node.run(&cluster, &log, HOUR).await;
        assert_eq!(cluster.paths(), [REPORTS, EVENTS]);
        cluster.forget();
        let next = switched_off();
        let state =
            std::fs::read_to_string(node.dir.path().join("var/lib/skewguard/report-state.json"));
        next.write("/var/lib/skewguard/report-state.json", &state.unwrap());
        next.run(&cluster, &log, HOUR).await;
        assert_eq!(cluster.paths(), [""; 0]);
        assert!(!is_kept(&next), "{reports}");
    }
}

/// Without reports the Event tells it.
#[tokio::test(start_paused = true)]
async fn an_event_tells_it_where_there_are_no_reports() {
    for (reports, kept) in [(404, false), (403, true)] {
        let (node, log) = (switched_off(), Log::default());
        let cluster =
            Cluster::new(move |_, path| status(if path == REPORTS { reports } else { 201 }));
        node.run(&cluster, &log, HOUR).await;
        let events = cluster
            .paths()
            .iter()
            .filter(|path| *path == EVENTS)
            .count();
        assert_eq!((events, is_kept(&node)), (1, kept), "{reports}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_node_object_says_what_there_is_to_say_once_it_has_joined() {
    let (node, log) = (switched_off(), Log::default());
    let cluster = Cluster::new(|_, path| if path == NODE { status(200) } else { refused() });
    node.run(&cluster, &log, HOUR).await;
    assert!(is_kept(&node));
    joins(&node, &cluster);
    cluster.forget();
    assert_eq!(node.run(&cluster, &log, HOUR).await, Some(End::Done));
    assert_eq!(cluster.paths(), [NODE]);
    assert!(!is_kept(&node));
    let annotation =
        &cluster.arrived()[0].body["metadata"]["annotations"]["skewguard.dev/boot-image-verdict"];
    let annotation: Value = serde_json::from_str(annotation.as_str().unwrap()).unwrap();
    assert_eq!(annotation["verdict"], "Disabled");
}

/// It is neither told nor in the way.
#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_read_is_none() {
    let (node, log) = (switched_off(), Log::default());
    node.write(UNTOLD_VERDICT_PATH, "{ damaged");
    let cluster = Cluster::new(|_, _| status(201));
    node.run(&cluster, &log, HOUR).await;
    assert_eq!(cluster.paths(), [""; 0]);
}
