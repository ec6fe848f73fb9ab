//! The driver with tokio's paused clock, against a cluster of a few lines.

use crate::inside::report::sample;
use crate::inside::report::stage::{Arrived, Cluster, Log, Node, refused, status};
use crate::node::STATE_PATH;
use crate::report::answer::Channel;
use crate::report::output::{ClusterKnows, Level};
use crate::report::run::{End, Env, run};
use crate::transport::{Failure, Response, TransportError};
use crate::verdict::Action;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

const REPORTS: &str = "/apis/skewguard.dev/v1alpha1/namespaces/skewguard/bootimagereports";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/skewguard/events";
const NO_ROLE: &str = "403, the Role skewguard-report is missing there";
const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_refused_node_reports_once_and_says_it_again_every_two_hours() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    assert_eq!(
        node.run(&cluster, &log, 5 * HOUR).await,
        None,
        "it watches as long as the node is held"
    );
    assert_eq!(cluster.paths(), [REPORTS, EVENTS, EVENTS, EVENTS]);
    let arrived = cluster.arrived();
    let report = &arrived[0].body["metadata"]["name"];
    for event in &arrived[1..] {
        assert_eq!(
            (
                &event.body["regarding"]["name"],
                &event.body["regarding"]["uid"]
            ),
            (report, &Value::from("uid-1"))
        );
    }
    let names: std::collections::BTreeSet<_> = arrived[1..]
        .iter()
        .map(|event| event.body["metadata"]["name"].to_string())
        .collect();
    assert_eq!(
        names.len(),
        3,
        "each Event has a name of its own: {names:?}"
    );
    assert!(arrived[2].at >= 2 * HOUR && arrived[2].at < 2 * HOUR + Duration::from_secs(60));
    assert!(
        arrived
            .iter()
            .all(|arrived| arrived.channel != Channel::Node)
    );
    assert_eq!(
        *log.knows.lock().unwrap(),
        [ClusterKnows::Told(Some(
            report.as_str().unwrap().to_owned()
        ))]
    );
}

/// At the first boot the report may start before there is an address; and a lease may end.
#[tokio::test(start_paused = true)]
async fn the_console_is_told_of_each_address_as_it_comes() {
    let (node, log, cluster) = (
        Node::refused(),
        Log::default(),
        Cluster::new(|_, _| status(201)),
    );
    let started = Instant::now();
    let lease = |identity: &mut crate::node::identity::Identity| {
        let addresses: &[&str] = match started.elapsed().as_secs() {
            ..100 => &[],
            100..300 => &["2001:db8::7"],
            _ => &["192.0.2.7", "2001:db8::7"],
        };
        identity.addresses = addresses
            .iter()
            .map(|address| (*address).to_owned())
            .collect();
    };
    let now = || UNIX_EPOCH + Duration::from_secs(1_772_323_200);
    let mut parts = node.parts(&cluster, &log, &now);
    lease(&mut parts.identity);
    parts.refresh = &lease;
    assert!(
        tokio::time::timeout(Duration::from_secs(400), run(parts))
            .await
            .is_err()
    );
    let addresses: Vec<Option<String>> = log.addresses.lock().unwrap().clone();
    let mut changes = addresses.clone();
    changes.dedup();
    assert_eq!(
        changes,
        [
            None,
            Some("2001:db8::7".to_owned()),
            Some("192.0.2.7".to_owned())
        ],
        "{addresses:?}"
    );
}

/// The console is busy while `enforce` or `allow` has the lock.
#[tokio::test(start_paused = true)]
async fn a_console_that_is_busy_is_told_again() {
    let (node, log, cluster) = (
        Node::refused(),
        Log::default(),
        Cluster::new(|_, _| status(201)),
    );
    *log.busy.lock().unwrap() = 7;
    node.run(&cluster, &log, HOUR).await;
    assert!(matches!(
        log.knows.lock().unwrap()[..],
        [ClusterKnows::Told(Some(_))]
    ));
    assert_eq!(
        *log.addresses.lock().unwrap(),
        [Some("10.0.1.23".to_owned())],
        "once, when it is taken in"
    );
}

#[tokio::test(start_paused = true)]
async fn a_later_boot_repeats_nothing_and_the_console_knows_at_once() {
    let (node, cluster) = (Node::refused(), Cluster::new(|_, _| status(201)));
    node.run(&cluster, &Log::default(), HOUR).await;
    assert_eq!(cluster.paths(), [REPORTS, EVENTS]);
    let (later, log) = (Cluster::new(|_, _| status(201)), Log::default());
    node.run(&later, &log, HOUR / 2).await;
    assert_eq!(later.paths(), [""; 0]);
    assert!(matches!(
        log.knows.lock().unwrap()[..],
        [ClusterKnows::Told(Some(_))]
    ));
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_finds_it_there_is_delivered() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|_, _| {
        Ok(Response {
            status: 409,
            retry_after: None,
            body: br#"{"kind":"Status","reason":"AlreadyExists"}"#.into(),
        })
    });
    node.run(&cluster, &log, HOUR).await;
    assert_eq!(cluster.paths(), [REPORTS, EVENTS]);
    assert!(matches!(
        log.knows.lock().unwrap()[..],
        [ClusterKnows::Told(Some(_))]
    ));
    assert!(
        log.lines
            .lock()
            .unwrap()
            .iter()
            .any(|(_, line)| line.starts_with("report was delivered before: ip-10-0-1-23"))
    );
}

#[tokio::test(start_paused = true)]
async fn once_let_through_a_node_says_no_more_that_it_is_refused() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let watch = async {
        tokio::time::sleep(HOUR).await;
        node.root.remove("/run/skewguard/refused").unwrap();
        std::future::pending::<()>().await;
    };
    let ended =
        tokio::select! { ended = node.run(&cluster, &log, 9 * HOUR) => ended, () = watch => None };
    assert_eq!(ended, Some(End::Done));
    assert_eq!(cluster.paths(), [REPORTS, EVENTS]);
}

#[tokio::test(start_paused = true)]
async fn without_the_crd_the_event_is_about_the_namespace() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|_, path| status(if path == REPORTS { 404 } else { 201 }));
    node.run(&cluster, &log, 24 * HOUR).await;
    let arrived = cluster.arrived();
    let reports = arrived.iter().filter(|arrived| arrived.path == REPORTS);
    let reports = reports.count();
    assert!((10..30).contains(&reports), "{reports} tries in a day");
    assert_eq!(arrived[1].body["regarding"]["kind"], "Namespace");
    let expected = [
        ClusterKnows::CannotBeTold("404, it has no bootimagereports.skewguard.dev".to_owned()),
        ClusterKnows::Told(None),
    ];
    assert_eq!(*log.knows.lock().unwrap(), expected);
    // The next boot tries again.
    let next = Cluster::new(|_, _| status(201));
    node.run(&next, &log, HOUR).await;
    assert_eq!(next.paths()[0], REPORTS);
}

#[tokio::test(start_paused = true)]
async fn a_crd_that_comes_after_the_refusal_gets_its_report_on_this_boot() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|at, path| {
        status(if path == REPORTS && at < HOUR {
            404
        } else {
            201
        })
    });
    node.run(&cluster, &log, 3 * HOUR).await;
    let arrived = cluster.arrived();
    let told: Vec<&Arrived> = arrived.iter().filter(|it| it.at >= HOUR).collect();
    let paths: Vec<&str> = told.iter().map(|told| told.path.as_str()).collect();
    assert_eq!(paths, [REPORTS, EVENTS]);
    let name = told[0].body["metadata"]["name"].as_str().unwrap();
    assert_eq!(told[1].body["regarding"]["name"], name);
    assert_eq!(
        log.knows.lock().unwrap().last(),
        Some(&ClusterKnows::Told(Some(name.to_owned())))
    );
}

/// A worker of RHEL packages, which has joined long ago.
#[tokio::test(start_paused = true)]
async fn a_system_that_is_made_of_packages_is_not_watched() {
    let (node, log) = (Node::new(), Log::default());
    node.write("/proc/cmdline", "root=/dev/vda1 ro");
    node.write("/etc/kubernetes/kubeconfig", "");
    node.write("/var/lib/kubelet/kubeconfig", "");
    let cluster = Cluster::new(|_, _| status(200));
    *cluster.node.lock().unwrap() = Some("worker-0");
    let end = node.run(&cluster, &log, Duration::from_secs(1)).await;
    assert_eq!((end, cluster.paths()), (Some(End::Done), vec![]));
    assert_eq!(*log.lines.lock().unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn what_a_person_has_to_mend_is_tried_slowly_and_said() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|_, _| status(403));
    node.run(&cluster, &log, 24 * HOUR).await;
    let sent = cluster.paths().len();
    assert!(
        (40..120).contains(&sent),
        "{sent} requests in a day on two channels"
    );
    assert_eq!(
        *log.knows.lock().unwrap(),
        [ClusterKnows::CannotBeTold(NO_ROLE.to_owned())]
    );
    let lines = log.lines.lock().unwrap();
    let about_the_report: Vec<&String> = lines
        .iter()
        .map(|(_, line)| line)
        .filter(|line| line.starts_with("report "))
        .collect();
    assert!(
        about_the_report[0].starts_with(
            "report not delivered: 403: this identity may not create bootimagereports"
        ),
        "{lines:?}"
    );
    let waits = about_the_report[..4]
        .iter()
        .map(|line| line.rsplit_once("next try in ").unwrap().1)
        .collect::<Vec<_>>();
    assert_eq!(
        waits,
        ["6 s", "11 s", "42 s", "600 s"],
        "an API server that is just starting forbids everything; three requests a minute"
    );
}

/// A kube-apiserver that restarts forbids everything until it has read the Roles: for up to 1.6 s,
/// seen in 11 of 11 restarts.
#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_just_starting_does_not_put_the_report_off() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|at, _| match at.as_millis() {
        0..1_200_000 => refused(),
        1_200_000..1_300_000 => status(403),
        _ => status(201),
    });
    node.run(&cluster, &log, HOUR).await;
    let delivered = cluster
        .arrived()
        .into_iter()
        .find(|arrived| arrived.path == REPORTS && arrived.at.as_secs() >= 1300)
        .unwrap();
    assert!(
        delivered.at.as_secs() < 1400,
        "delivered at {:?}",
        delivered.at
    );
    assert!(
        matches!(log.knows.lock().unwrap()[..], [ClusterKnows::Told(_), ..]),
        "nobody is sent after a Role: {:?}",
        log.knows
    );
}

#[tokio::test(start_paused = true)]
async fn the_console_says_what_stands_in_the_way_by_now() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|at, _| if at < HOUR { status(403) } else { refused() });
    node.run(&cluster, &log, 8 * HOUR).await;
    assert_eq!(
        *log.knows.lock().unwrap(),
        [
            ClusterKnows::CannotBeTold(NO_ROLE.to_owned()),
            ClusterKnows::NotYet
        ]
    );
}

/// A stamp that cannot be examined once must not tell the cluster, and the console, that a held
/// node goes on.
#[tokio::test(start_paused = true)]
async fn a_node_whose_stamp_cannot_be_looked_at_stays_held() {
    let (node, log) = (Node::refused(), Log::default());
    node.root.remove("/run/skewguard/refused").unwrap();
    std::os::unix::fs::symlink("refused", node.dir.path().join("run/skewguard/refused")).unwrap();
    assert!(
        node.root.exists("/run/skewguard/refused").is_err(),
        "a loop"
    );
    let cluster = Cluster::new(|_, _| status(201));
    assert_eq!(node.run(&cluster, &log, HOUR).await, None, "it watches");
    let report = &cluster.arrived()[0].body["report"];
    assert_eq!(
        (
            &report["verdict"]["action"],
            &report["verdict"]["gate"]["held"]
        ),
        (&json!("Block"), &json!(true))
    );
}

/// `skewguard allow` while the API server was away: afterwards the report tells how the node stands
/// then, and when the verdict was made.
#[tokio::test(start_paused = true)]
async fn a_refusal_that_was_lifted_meanwhile_is_not_told_as_one() {
    let allowed = |node: &Node, rewritten: bool| {
        node.root.remove("/run/skewguard/refused").unwrap();
        if rewritten {
            // The run of skewguard.service that follows writes this.
            let mut verdict = sample::refused();
            (verdict.action, verdict.gate) = (Action::Proceed, None);
            node.write(
                "/run/skewguard/verdict.json",
                &serde_json::to_string(&verdict).unwrap(),
            );
        }
    };
    for rewritten in [false, true] {
        let (node, log) = (Node::refused(), Log::default());
        let cluster = Cluster::new(|at, _| if at < HOUR { refused() } else { status(201) });
        let meanwhile = async {
            tokio::time::sleep(HOUR / 2).await;
            allowed(&node, rewritten);
            std::future::pending::<()>().await;
        };
        let written = SystemTime::now();
        let _ = tokio::select! { ended = node.run(&cluster, &log, 2 * HOUR) => ended, () = meanwhile => None };
        let arrived = cluster.arrived();
        let told: Vec<&Arrived> = arrived
            .iter()
            .filter(|arrived| arrived.at >= HOUR)
            .collect();
        assert_eq!(
            told.iter()
                .map(|told| told.path.as_str())
                .collect::<Vec<_>>(),
            [REPORTS, EVENTS],
            "rewritten: {rewritten}"
        );
        let report = &told[0].body["report"];
        assert_eq!(
            (
                &report["verdict"]["action"],
                &report["verdict"]["gate"]["held"]
            ),
            (
                &json!("Proceed"),
                &if rewritten { Value::Null } else { json!(false) }
            )
        );
        assert_eq!(report["impact"]["level"], "Warning");
        assert!(
            told[1].body["note"]
                .as_str()
                .unwrap()
                .contains("breaks the boot image policy; it goes on to join"),
            "{}",
            told[1].body["note"]
        );
        let observed: SystemTime =
            humantime::parse_rfc3339(report["observedAt"].as_str().unwrap()).unwrap();
        let since = observed
            .duration_since(written - Duration::from_secs(2))
            .unwrap();
        assert!(
            since < Duration::from_secs(60),
            "when the verdict was written, not when it was sent: {since:?}"
        );
    }
}

/// The answer about the old verdict belongs to its own report.
#[tokio::test(start_paused = true)]
async fn a_new_verdict_waits_for_the_answer_that_is_on_its_way() {
    let (node, log) = (Node::refused(), Log::default());
    let mut cluster = Cluster::new(|_, _| status(201));
    cluster.patience = Duration::from_secs(600);
    let decided_again = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let mut verdict = sample::refused();
        verdict.reason = crate::verdict::Reason::DeniedVersion;
        let verdict = serde_json::to_string(&verdict).unwrap();
        node.write("/run/skewguard/verdict.json", &verdict);
        std::future::pending::<()>().await;
    };
    let _ = tokio::select! { ended = node.run(&cluster, &log, HOUR) => ended, () = decided_again => None };
    let arrived = cluster.arrived();
    let reports: Vec<_> = arrived
        .iter()
        .filter(|arrived| arrived.channel == Channel::Report)
        .map(|arrived| {
            (
                arrived.at.as_secs() >= 600,
                &arrived.body["report"]["verdict"]["reason"],
            )
        })
        .collect();
    let (old, new) = (json!("BelowMinimumOCPVersion"), json!("DeniedVersion"));
    assert_eq!(reports, [(false, &old), (true, &new)], "{:?}", log.lines);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_is_told() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|at, _| {
        if at < HOUR / 6 {
            refused()
        } else {
            status(201)
        }
    });
    node.run(&cluster, &log, HOUR / 2).await;
    let arrived = cluster.arrived();
    assert!(arrived.len() < 20, "{} requests", arrived.len());
    assert!(
        arrived
            .iter()
            .any(|arrived| arrived.path == REPORTS && arrived.at >= HOUR / 6)
    );
    assert!(matches!(
        log.knows.lock().unwrap()[..],
        [ClusterKnows::Told(_), ..]
    ));
    let first = arrived
        .iter()
        .filter(|arrived| arrived.path == EVENTS && arrived.at < Duration::from_secs(60))
        .count();
    assert!(first <= 3, "{first} Events in the first minute");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_gets_its_name_late_has_it_in_all_that_it_says() {
    let (node, log) = (Node::refused(), Log::default());
    let cluster = Cluster::new(|at, _| {
        if at < HOUR / 6 {
            refused()
        } else {
            status(201)
        }
    });
    let (now, started) = (
        || UNIX_EPOCH + Duration::from_secs(1_772_323_200),
        Instant::now(),
    );
    let name = |identity: &mut crate::node::identity::Identity| {
        identity.hostname = Some(
            if started.elapsed() < HOUR / 12 {
                "localhost"
            } else {
                "worker-3"
            }
            .to_owned(),
        );
    };
    let parts = Env {
        refresh: &name,
        ..node.parts(&cluster, &log, &now)
    };
    assert!(tokio::time::timeout(HOUR / 2, run(parts)).await.is_err());
    let arrived = cluster.arrived();
    let named = |arrived: &Arrived| {
        arrived.body["metadata"]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(
        named(&arrived[0]).starts_with("localhost-"),
        "{}",
        named(&arrived[0])
    );
    let report = named(
        arrived
            .iter()
            .rfind(|arrived| arrived.path == REPORTS)
            .unwrap(),
    );
    assert!(report.starts_with("worker-3-"), "{report}");
    let event = arrived
        .iter()
        .rfind(|arrived| arrived.path == EVENTS)
        .unwrap();
    assert!(named(event).starts_with("worker-3-"), "{}", named(event));
    assert_eq!(
        log.knows.lock().unwrap().last(),
        Some(&ClusterKnows::Told(Some(report)))
    );
}

#[tokio::test(start_paused = true)]
async fn a_joined_node_labels_itself_once() {
    let mut verdict = sample::refused();
    verdict.verdict = crate::verdict::Outcome::Allowed;
    verdict.action = crate::verdict::Action::Proceed;
    let (node, log) = (Node::with_verdict(&verdict), Log::default());
    node.write("/var/lib/kubelet/kubeconfig", "");
    let cluster = Cluster::new(|at, _| {
        status(if at < Duration::from_secs(60) {
            404
        } else {
            200
        })
    });
    *cluster.node.lock().unwrap() = Some("worker-0");
    assert_eq!(node.run(&cluster, &log, HOUR).await, Some(End::Done));
    let arrived = cluster.arrived();
    assert!(
        arrived.len() > 1,
        "a Node that the kubelet has yet to make is waited for"
    );
    assert!(arrived.iter().all(
        |arrived| arrived.path == "/api/v1/nodes/worker-0" && arrived.channel == Channel::Node
    ));
    assert_eq!(
        arrived[0].body["metadata"]["labels"]["skewguard.dev/boot-image"],
        "411.86.202308081056-0"
    );
    // Started again on the same boot.
    let next = Cluster::new(|_, _| status(200));
    *next.node.lock().unwrap() = Some("worker-0");
    assert_eq!(node.run(&next, &log, HOUR).await, Some(End::Done));
    assert_eq!(next.paths(), [""; 0]);
    // The next boot does it again: the Node may have been deleted and made anew, without its
    // labels.
    node.write("/proc/sys/kernel/random/boot_id", "boot-2\n");
    for _ in 0..2 {
        assert_eq!(node.run(&next, &log, HOUR).await, Some(End::Done));
        assert_eq!(next.paths(), ["/api/v1/nodes/worker-0"]);
    }
    next.forget();
    // Another Node needs its own label.
    *next.node.lock().unwrap() = Some("worker-1");
    assert_eq!(node.run(&next, &log, HOUR).await, Some(End::Done));
    assert_eq!(next.paths(), ["/api/v1/nodes/worker-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_joins_without_a_reboot_is_noticed() {
    let mut verdict = sample::refused();
    verdict.action = crate::verdict::Action::Proceed;
    let (node, log) = (Node::with_verdict(&verdict), Log::default());
    let cluster = Cluster::new(|_, _| status(201));
    let joins = async {
        tokio::time::sleep(HOUR).await;
        node.write("/var/lib/kubelet/kubeconfig", "");
        *cluster.node.lock().unwrap() = Some("worker-0");
        std::future::pending::<()>().await;
    };
    let ended =
        tokio::select! { ended = node.run(&cluster, &log, 9 * HOUR) => ended, () = joins => None };
    assert_eq!(ended, Some(End::Done));
    assert_eq!(cluster.paths(), [REPORTS, EVENTS, "/api/v1/nodes/worker-0"]);
}

/// The verdict that a refused boot left, on a later boot of the same node.
#[tokio::test(start_paused = true)]
async fn a_node_that_joined_after_a_refusal_tells_its_node_object_alone_that_it_proceeds() {
    for held in [true, false] {
        let (node, log) = (Node::new(), Log::default());
        let mut verdict = sample::refused();
        verdict.gate.as_mut().unwrap().held = held;
        node.keep(
            "/var/lib/skewguard/verdict.json",
            &serde_json::to_string(&verdict).unwrap(),
        );
        node.write("/var/lib/kubelet/kubeconfig", "");
        let cluster = Cluster::new(|_, _| status(200));
        *cluster.node.lock().unwrap() = Some("worker-0");
        assert_eq!(node.run(&cluster, &log, HOUR).await, Some(End::Done));
        assert_eq!(cluster.paths(), ["/api/v1/nodes/worker-0"]);
        let annotation = &cluster.arrived()[0].body["metadata"]["annotations"]["skewguard.dev/boot-image-verdict"];
        let annotation: Value = serde_json::from_str(annotation.as_str().unwrap()).unwrap();
        assert_eq!(
            (&annotation["verdict"], &annotation["action"]),
            (&json!("Refused"), &json!("Proceed"))
        );
        // The same patch is not sent again on this boot.
        cluster.forget();
        node.run(&cluster, &log, HOUR).await;
        assert_eq!(cluster.paths(), [""; 0]);
    }
}

/// /var of an earlier installation has the certificate of a Node that this one may not touch.
#[tokio::test(start_paused = true)]
async fn a_held_node_does_not_take_itself_for_the_node_of_an_old_certificate() {
    let (node, log) = (Node::refused(), Log::default());
    node.write("/var/lib/kubelet/kubeconfig", "");
    let cluster = Cluster::new(|_, _| status(201));
    *cluster.node.lock().unwrap() = Some("worker-0");
    assert_eq!(node.run(&cluster, &log, HOUR).await, None, "it watches");
    assert_eq!(cluster.paths(), [REPORTS, EVENTS]);
}

#[tokio::test(start_paused = true)]
async fn a_kubelets_kubeconfig_that_gives_no_name_is_said_once_and_looked_at_again() {
    let mut verdict = sample::refused();
    verdict.verdict = crate::verdict::Outcome::Allowed;
    verdict.action = crate::verdict::Action::Proceed;
    let (node, log, cluster) = (
        Node::with_verdict(&verdict),
        Log::default(),
        Cluster::new(|_, _| status(200)),
    );
    node.write("/var/lib/kubelet/kubeconfig", "");
    assert_eq!(node.run(&cluster, &log, HOUR).await, None);
    let said = [(
        Level::Warning,
        "node label not delivered: /var/lib/kubelet/kubeconfig: is odd".to_owned(),
    )];
    assert_eq!(*log.lines.lock().unwrap(), said);
    let now = || UNIX_EPOCH + Duration::from_secs(1_772_323_200);
    let mut parts = node.parts(&cluster, &log, &now);
    parts.once = true;
    assert_eq!(run(parts).await, End::Undelivered);
    let mended = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        *cluster.node.lock().unwrap() = Some("worker-0");
        std::future::pending::<()>().await;
    };
    let ended =
        tokio::select! { ended = node.run(&cluster, &log, HOUR) => ended, () = mended => None };
    assert_eq!(
        (ended, cluster.paths()),
        (Some(End::Done), vec!["/api/v1/nodes/worker-0".to_owned()])
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_that_never_joins_is_not_watched_for_ever() {
    let mut verdict = sample::refused();
    verdict.verdict = crate::verdict::Outcome::Allowed;
    verdict.action = crate::verdict::Action::Proceed;
    let (node, log, cluster) = (
        Node::with_verdict(&verdict),
        Log::default(),
        Cluster::new(|_, _| status(201)),
    );
    assert_eq!(node.run(&cluster, &log, 9 * HOUR).await, Some(End::Done));
    assert_eq!(cluster.paths(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_verdict_is_stated_once_a_boot() {
    let (node, log) = (Node::new(), Log::default());
    node.write("/etc/ignition-machine-config-encapsulated.json", "{}");
    let cluster = Cluster::new(|_, _| status(201));
    node.run(&cluster, &log, HOUR / 12).await;
    node.run(&cluster, &log, HOUR / 12).await;
    let arrived = cluster.arrived();
    assert_eq!(cluster.paths(), [EVENTS]);
    assert_eq!(
        (
            &arrived[0].body["reason"],
            &arrived[0].body["regarding"]["kind"]
        ),
        (&"NoVerdict".into(), &"Namespace".into())
    );
    let (level, line) = log.lines.lock().unwrap()[0].clone();
    assert_eq!(level, Level::Error);
    assert_eq!(
        line,
        "NoVerdict: skewguard.service ended without a verdict, so the boot image was not checked and the node goes on to join. See \
         journalctl -b -u skewguard.service"
    );
    node.write("/proc/sys/kernel/random/boot_id", "boot-2\n");
    node.run(&cluster, &log, HOUR / 12).await;
    assert_eq!(cluster.paths(), [EVENTS, EVENTS]);
}

/// The run was killed between the stamp and the verdict, or the disk was full, or the verdict is
/// too large to read.
#[tokio::test(start_paused = true)]
async fn a_held_node_without_a_verdict_is_not_said_to_go_on() {
    for verdict in [None, Some(" ".repeat(300 * 1024))] {
        let (node, log, cluster) = (
            Node::new(),
            Log::default(),
            Cluster::new(|_, _| status(201)),
        );
        node.write("/etc/ignition-machine-config-encapsulated.json", "{}");
        node.write("/run/skewguard/refused", "");
        if let Some(verdict) = &verdict {
            node.write("/run/skewguard/verdict.json", verdict);
        }
        node.run(&cluster, &log, HOUR).await;
        let arrived = cluster.arrived();
        assert_eq!(cluster.paths(), [EVENTS]);
        assert_eq!(
            (&arrived[0].body["reason"], &arrived[0].body["action"]),
            (&json!("NoVerdict"), &json!("Block"))
        );
        let (level, line) = log.lines.lock().unwrap()[0].clone();
        let said = "NoVerdict: skewguard.service ended without a verdict that can be read, but it holds the node back, which does not join the cluster";
        assert!(level == Level::Error && line.starts_with(said), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_boot_shows_by_a_config_put_aside_since_the_kernel_started() {
    let (node, log) = (Node::new(), Log::default());
    node.write("/etc/ignition-machine-config-encapsulated.json.bak", "{}");
    node.write("/proc/uptime", "600.00 1000.00\n");
    let cluster = Cluster::new(|_, _| status(201));
    node.run(&cluster, &log, HOUR).await;
    assert_eq!(cluster.paths(), [EVENTS]);
    // Up for a minute, and the config was renamed before that: an ordinary later boot.
    let (later, quiet) = (Node::new(), Cluster::new(|_, _| status(201)));
    later.write("/etc/ignition-machine-config-encapsulated.json.bak", "{}");
    later.write("/proc/uptime", "-1000 0\n");
    later.run(&quiet, &log, HOUR).await;
    assert_eq!(quiet.paths(), [""; 0]);
}

/// The reboot into an OS update, with a clock that is behind: the copy of /etc seems to be made in
/// this boot.
#[tokio::test(start_paused = true)]
async fn an_update_of_the_os_is_no_first_boot() {
    let updated = |node: &Node| {
        node.write("/etc/ignition-machine-config-encapsulated.json.bak", "{}");
        node.write("/proc/uptime", "600.00 1000.00\n");
    };
    let (checked, log) = (Node::new(), Log::default());
    let mut verdict = sample::refused();
    verdict.verdict = crate::verdict::Outcome::Allowed;
    verdict.action = crate::verdict::Action::Proceed;
    checked.keep(
        "/var/lib/skewguard/verdict.json",
        &serde_json::to_string(&verdict).unwrap(),
    );
    updated(&checked);
    let joined_before = Node::new();
    joined_before.write("/var/lib/kubelet/kubeconfig", "");
    updated(&joined_before);
    let cluster = Cluster::new(|_, _| status(200));
    *cluster.node.lock().unwrap() = Some("worker-0");
    for node in [checked, joined_before] {
        node.run(&cluster, &log, HOUR).await;
    }
    assert!(
        !cluster.paths().iter().any(|path| path == EVENTS),
        "{:?}",
        cluster.paths()
    );
    assert!(
        log.lines
            .lock()
            .unwrap()
            .iter()
            .all(|(_, line)| !line.contains("NoVerdict")),
        "{:?}",
        log.lines.lock().unwrap()
    );
}

/// skewguard came on a later day, and the clock was wrong when the kernel started.
#[tokio::test(start_paused = true)]
async fn a_node_that_has_joined_needs_no_verdict() {
    let (node, log) = (Node::new(), Log::default());
    for (path, text) in [
        ("/etc/ignition-machine-config-encapsulated.json.bak", "{}"),
        ("/proc/uptime", "1700000000.00 1000.00\n"),
    ] {
        node.write(path, text);
    }
    std::thread::sleep(Duration::from_millis(1100));
    for path in [
        "/var/lib/kubelet/kubeconfig",
        "/etc/machine-config-daemon/node-annotation.json.bak",
    ] {
        node.write(path, "");
    }
    let cluster = Cluster::new(|_, _| status(200));
    *cluster.node.lock().unwrap() = Some("worker-0");
    node.run(&cluster, &log, HOUR).await;
    assert_eq!(cluster.paths(), ["/api/v1/nodes/worker-0"]);
    let label = (Level::Info, "node label delivered: worker-0".to_owned());
    assert_eq!(*log.lines.lock().unwrap(), [label]);
}

#[tokio::test(start_paused = true)]
async fn a_hostile_verdict_is_no_verdict() {
    let hostile = [
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        "\u{0}\u{1}".to_owned(),
        "[".repeat(200_000),
        " ".repeat(300 * 1024),
        sample::REFUSED.replace("\"Refused\"", "5"),
        sample::REFUSED.replace("skewguard.dev/v1alpha1", "example.com/v1"),
        sample::REFUSED.replace("\"findings\": [", "\"findings\": [[], "),
    ];
    for verdict in hostile {
        let (node, log) = (Node::new(), Log::default());
        node.write("/run/skewguard/verdict.json", &verdict);
        let cluster = Cluster::new(|_, _| status(201));
        node.run(&cluster, &log, HOUR).await;
        assert_eq!(cluster.paths(), [EVENTS], "{verdict:.40}");
        let lines = log.lines.lock().unwrap();
        assert!(
            lines[0].1.contains("/run/skewguard/verdict.json: "),
            "{}",
            lines[0].1
        );
        assert!(
            lines[0].1.len() < 1200 && lines[0].1.bytes().all(|b| (b' '..=b'~').contains(&b)),
            "{}",
            lines[0].1
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_damaged_state_costs_one_request_and_no_report() {
    let (node, log) = (Node::refused(), Log::default());
    node.write(STATE_PATH, "{");
    let cluster = Cluster::new(|_, _| status(201));
    node.run(&cluster, &log, HOUR).await;
    assert_eq!(cluster.paths(), [REPORTS, EVENTS]);
    assert!(log.lines.lock().unwrap()[0].1.starts_with(STATE_PATH));
}

#[tokio::test(start_paused = true)]
async fn a_read_only_var_is_said_and_reported_all_the_same() {
    let (node, log) = (Node::refused(), Log::default());
    std::fs::create_dir_all(node.dir.path().join("var")).unwrap();
    std::fs::write(
        node.dir.path().join("var/lib"),
        "a file where a directory should be",
    )
    .unwrap();
    let cluster = Cluster::new(|_, _| status(201));
    node.run(&cluster, &log, HOUR).await;
    assert_eq!(cluster.paths(), [REPORTS, EVENTS]);
    let first = cluster.arrived()[0].body["metadata"]["name"].clone();
    let next = Cluster::new(|_, _| status(201));
    node.run(&next, &log, HOUR).await;
    assert_eq!(
        next.arrived()[0].body["metadata"]["name"],
        first,
        "the same name at the next boot, so a 409 and no second report"
    );
}

/// A look at the hold can take most of a minute, in which no answer is read.
#[tokio::test(start_paused = true)]
async fn the_hold_is_looked_at_between_requests() {
    let (node, log) = (Node::refused(), Log::default());
    let mut cluster = Cluster::new(|_, _| status(503));
    let started = Instant::now();
    cluster.patience = Duration::from_secs(29);
    assert_eq!(node.run(&cluster, &log, HOUR).await, None);
    let looks = log.looks.lock().unwrap().clone();
    let looks: Vec<Duration> = looks.into_iter().map(|at| at - started).collect();
    let asked: Vec<Duration> = cluster.arrived().iter().map(|one| one.at).collect();
    let under_way = |look: &&Duration| {
        let mut asked = asked.iter();
        asked.any(|at| at < *look && **look < *at + cluster.patience)
    };
    assert!(asked.len() > 20 && looks.len() > 60, "{asked:?} {looks:?}");
    let in_between = looks.iter().filter(under_way).count();
    // Report and Event may follow each other without a pause for a while.
    assert!(in_between < 4, "{in_between}: {looks:?} {asked:?}");
    let pauses = looks.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(pauses.max().unwrap() <= Duration::from_secs(150));
}

#[tokio::test(start_paused = true)]
async fn once_tries_everything_once() {
    for (answer, end) in [
        (201, End::Done),
        (503, End::Undelivered),
        (403, End::Undelivered),
    ] {
        let (node, log) = (Node::refused(), Log::default());
        let cluster = Cluster::new(move |_, _| status(answer));
        let now = || UNIX_EPOCH + Duration::from_secs(1_772_323_200);
        let mut parts = node.parts(&cluster, &log, &now);
        parts.once = true;
        assert_eq!(
            tokio::time::timeout(Duration::from_secs(60), run(parts))
                .await
                .unwrap(),
            end
        );
        assert_eq!(cluster.paths(), [REPORTS, EVENTS], "{answer}");
        let lines = log.lines.lock().unwrap();
        assert!(
            lines.iter().all(|(_, line)| !line.contains("next try")),
            "{lines:?}"
        );
    }
    // While an answer is still to come, nothing is sent again.
    let (node, log) = (Node::refused(), Log::default());
    let server = "https://api-int.c1.example.com:6443".to_owned();
    let timeout = TransportError {
        server: Some(server),
        failure: Failure::AnswerTimeout,
    };
    let mut cluster = Cluster::new(move |_, _| Err(timeout.clone()));
    cluster.patience = Duration::from_secs(30);
    let now = || UNIX_EPOCH + Duration::from_secs(1_772_323_200);
    let mut parts = node.parts(&cluster, &log, &now);
    parts.once = true;
    assert_eq!(
        tokio::time::timeout(Duration::from_secs(120), run(parts))
            .await
            .unwrap(),
        End::Undelivered
    );
    assert_eq!(cluster.paths(), [REPORTS, EVENTS]);
}
