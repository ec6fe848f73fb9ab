//! What a first boot that does not finish sends, with the bootstrap identity.

use crate::cluster::node::{Node, Over, transports, verdict};
use crate::support::apiserver::{ApiServer, BOOTSTRAP_USER, Options};
use serde_json::json;
use skewguard::kubeconfig::Allow;
use skewguard::node::Root;
use skewguard::node::identity::Identity;
use skewguard::report::answer::Channel;
use skewguard::report::client::{Client, Network};
use skewguard::report::event::{Event, EventSubject, Regarding};
use skewguard::report::output::{ClusterKnows, Level, Output};
use skewguard::report::run::{Env, run};
use skewguard::report::stall::{Phase, Progress, Unit, Units};
use skewguard::transport::Limits;
use skewguard::verdict::Verdict;
use std::time::{Duration, SystemTime};

/// A console that nobody reads.
struct Nobody;

impl Output for Nobody {
    fn line(&mut self, _: Level, _: &str) {}
    fn cluster_knows(&mut self, _: &Verdict, _: &ClusterKnows, _: Option<&str>) -> bool {
        true
    }
    fn first_boot(&mut self, _: Option<&Progress>) {}
    fn remediation(&self, _: &Verdict) -> String {
        String::new()
    }
}

/// Path at which the machine-config-server takes failures.
const FAILURE: &str = "/v1/node-failure";

/// With a password where Go prints one.
const JOURNAL: &str = "Trying to pull quay.io/a...\n\u{fffd}Error: initializing source docker://quay.io/a: pinging container registry quay.io: Get \"https://quay.io/v2/\": proxyconnect tcp: dial tcp: lookup http on 10.0.0.2:53: no such host, http://robot:hunter2#@proxy:3128\n";

/// With the admission policies that ship, and the schema of the CustomResourceDefinition.
#[test]
fn the_cluster_takes_the_cause_by_name_and_nothing_of_the_journal() {
    for over in transports() {
        let server = ApiServer::start(Options::default());
        let node = stalled(&server, over);
        let root = Root::open(&node.path("")).unwrap();
        let unit = |id: &str, active: &str, sub: &str| Unit {
            id: id.to_owned(),
            active: active.to_owned(),
            sub: sub.to_owned(),
            since: Duration::from_secs(61),
            ..Unit::default()
        };
        let units = [
            unit("machine-config-daemon-pull.service", "activating", "start"),
            unit(
                "machine-config-daemon-firstboot.service",
                "inactive",
                "dead",
            ),
        ];
        let units: Units = units.map(|unit| (unit.id.clone(), unit)).into();
        let env = Env {
            root: &root,
            identity: Identity {
                hostname: Some("worker-1".to_owned()),
                machine_id: Some("0123456789abcdef0123456789abcdef".to_owned()),
                ..Identity::default()
            },
            refresh: &|_| {},
            client: network(&root),
            output: Nobody,
            now: &SystemTime::now,
            chance: &|| 0.0,
            systemd: &|| Some(units.clone()),
            journal: &|_| Some(JOURNAL.into()),
            once: false,
        };
        let told = async {
            // The run has begun; it looks once a minute.
            tokio::time::sleep(Duration::from_millis(100)).await;
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(61)).await;
            tokio::time::resume();
            while ["bootimagereports", "events"]
                .iter()
                .any(|plural| server.objects(plural).is_empty())
                || !server.seen().iter().any(|seen| seen.path == FAILURE)
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        runtime().block_on(async {
            let deadline = Duration::from_secs(120);
            tokio::select! {
                _ = run(env) => panic!("{over:?}: it goes on looking"),
                told = tokio::time::timeout(deadline, told) => told.expect("report and Event"),
            }
        });
        let [report] = server.objects("bootimagereports").try_into().unwrap();
        let progress = &report["report"]["progress"];
        assert_eq!(
            *progress,
            json!({
                "phase": "Pull", "unit": "machine-config-daemon-pull.service", "activeState": "activating", "subState": "start",
                "restarts": 0, "minutes": 30, "cause": "ProxyInvalid",
                "message": "the proxy cannot be used: its URL is wrong, or it does not answer or refuses the node",
            }),
            "{over:?}"
        );
        let [event] = server.objects("events").try_into().unwrap();
        let note = event["note"].as_str().unwrap();
        assert!(note.contains("; cause ProxyInvalid: the proxy "), "{note}");
        for seen in server.seen() {
            let is_failure = seen.path == FAILURE;
            if is_failure {
                let told = ["pool", "nodeID", "stage", "errorMessage"].map(|name| &seen.body[name]);
                let cause = "ProxyInvalid: the proxy cannot be used: its URL is wrong, or it does not answer or refuses the node (phase Pull, 30 minutes)";
                assert_eq!(told, ["worker", "worker-1", "first-boot", cause]);
            }
            let as_whom = if is_failure {
                ("", 202)
            } else {
                (BOOTSTRAP_USER, 201)
            };
            assert_eq!((seen.user.as_str(), seen.status), as_whom);
            let body = seen.body.to_string();
            for secret in ["hunter2", "proxyconnect", "10.0.0.2"] {
                assert!(!body.contains(secret), "{secret}: {body}");
            }
        }
    }
}

/// A node that was let in, and whose first boot takes long already.
fn stalled(server: &ApiServer, over: Over) -> Node {
    let node = Node::new("worker-1", over);
    server.write_kubeconfigs(&node.path(""));
    let mut verdict = json!(verdict("rhcos-4.18-allowed"));
    verdict["policy"]["reportToMachineConfigServer"] = json!(true);
    let annotation = "machineconfiguration.openshift.io/machineConfigServerURL";
    let state = json!({
        "apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState",
        "firstBoot": { "total": 1790, "waited": 1790 },
    });
    for (path, text) in [
        ("run/skewguard/verdict.json", &*verdict.to_string()),
        (
            "etc/machine-config-daemon/mcs-ca-bundle.crt",
            &server.ca_pem(),
        ),
        (
            "etc/machine-config-daemon/node-annotations.json",
            &json!({ annotation: server.url() }).to_string(),
        ),
        ("etc/ignition-machine-config-encapsulated.json", "{}"),
    ] {
        node.write(path, text);
    }
    node.keep("var/lib/skewguard/report-state.json", state);
    node
}

fn network(root: &Root) -> Network<'_> {
    Network {
        root,
        kubeconfig: Some((root, "/kubeconfig")),
        allow: Allow { insecure: false },
        limits: Limits::default(),
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// With the admission policies that ship.
#[test]
fn the_cluster_takes_the_event_that_a_first_boot_goes_on() {
    let server = ApiServer::start(Options::default());
    let [over, ..] = transports()[..] else {
        panic!("a transport")
    };
    let node = Node::new("worker-1", over);
    server.write_kubeconfigs(&node.path(""));
    let root = Root::open(&node.path("")).unwrap();
    let report = "worker-1-0123456789abcdef";
    let identity = Identity {
        hostname: Some("worker-1".to_owned()),
        ..Identity::default()
    };
    let event = Event::new(
        EventSubject::WentOn(Phase::Pull),
        report,
        Regarding::report(report, None),
        &identity,
        SystemTime::now(),
    );
    let answer = runtime()
        .block_on(network(&root).send(Channel::Event, event.request()))
        .unwrap();
    assert_eq!(
        answer.status,
        201,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
}
