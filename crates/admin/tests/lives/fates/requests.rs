//! Of machines that ask for their config, or do not.

use super::Fate;
use crate::lives::cluster::{Born, Cluster};
use crate::lives::machine::of_gpu;
use crate::lives::moment::{MINUTE, SECOND};
use crate::lives::server::Log;
use crate::lives::truth::Truth;
use serde_json::Value;

pub(super) const ALL: &[Fate] = &[
    ("served-then-silent", served_then_silent),
    ("answer-lost-unseen", answer_lost_unseen),
    ("kubelet-without-api", kubelet_without_api),
    ("did-not-ask", did_not_ask),
    ("asked-as-another-address", asked_as_another_address),
    ("asked-in-unreadable-line", asked_in_unreadable_line),
    ("pool-missing", pool_missing),
    ("api-times-out", api_times_out),
    ("etcd-times-out", etcd_times_out),
    ("served-after-time-outs", served_after_time_outs),
    ("served-in-a-wave", served_in_a_wave),
    ("refused-by-bootstrap", refused_by_bootstrap),
    ("accept-unsupported", accept_unsupported),
    ("pipe-breaks", pipe_breaks),
    ("pipe-of-another", pipe_of_another),
    ("answers-never-arrive", answers_never_arrive),
    ("answer-arrives-at-last", answer_arrives_at_last),
    ("asks-at-each-boot", asks_at_each_boot),
    ("ignition-too-old", ignition_too_old),
    ("served-then-refused", served_then_refused),
    ("refused-beside-a-poll", refused_beside_a_poll),
    ("failure-report", failure_report),
    ("served-by-bootstrap", served_by_bootstrap),
];

const TIMED_OUT: &str = "could not fetch pool. err: the server was unable to return a response in the time allotted, but may still be processing the request (get machineconfigpools.machineconfiguration.openshift.io worker)";

fn waiting(cluster: &mut Cluster) -> Born {
    let born = cluster.waiting();
    cluster.place(&born);
    born
}

/// Nothing in the cluster tells these from each other.
fn silent(cluster: &mut Cluster) -> Born {
    let born = waiting(cluster);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    born
}

fn served_then_silent(cluster: &mut Cluster) -> Truth {
    let born = silent(cluster);
    Truth::new("served-then-silent", &born.name, &["FirstBoot"]).word(&["got its config", "served"])
}

fn answer_lost_unseen(cluster: &mut Cluster) -> Truth {
    let born = silent(cluster);
    Truth::new("answer-lost-unseen", &born.name, &["RequestRefused"]).untold()
}

fn kubelet_without_api(cluster: &mut Cluster) -> Truth {
    let born = silent(cluster);
    Truth::new("kubelet-without-api", &born.name, &["NoCertificate"]).untold()
}

fn did_not_ask(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    Truth::new("did-not-ask", &born.name, &["NoRequest"]).word(&["not asked", "no request"])
}

/// By its second interface, of which the Machine knows nothing.
fn asked_as_another_address(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let at = cluster.first_ask(&born);
    let other = format!("192.168.77.{}", 20 + cluster.born % 200);
    cluster.ask(&other, at);
    Truth::new("asked-as-another-address", &born.name, &["FirstBoot"]).untold()
}

/// Two servers' lines in one, or a line that lost its beginning.
fn asked_in_unreadable_line(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let at = cluster.first_ask(&born);
    let line = cluster.dice.pick(&[
        "ool \"worker\" requ\u{fffd}\u{fffd}ted by addr",
        "{\"ts\":\"x\",\"msg\":\"config served\",\"pool\":\"worker\"}",
        "I08",
    ]);
    let server = cluster.dice.below(cluster.servers.len());
    cluster.servers[server].1.raw(at, line.to_owned());
    Truth::new("asked-in-unreadable-line", &born.name, &["FirstBoot"]).untold()
}

/// Its set has user data of its own, of a pool that nobody made.
fn pool_missing(cluster: &mut Cluster) -> Truth {
    let mut born = cluster.waiting();
    born.set = "c1-x7k2p-gpu".to_owned();
    cluster.place(&born);
    let is_own = |object: &&mut Value| {
        object["kind"] == "Machine" && object["metadata"]["name"] == *born.name
    };
    let machine = cluster.objects.iter_mut().find(is_own).unwrap();
    for label in ["role", "type"] {
        machine["metadata"]["labels"]
            [format!("machine.openshift.io/cluster-api-machine-{label}")] = "gpu".into();
    }
    of_gpu(&mut machine["spec"]["providerSpec"]["value"]);
    let mut at = cluster.first_ask(&born);
    let client = cluster.release.ignition();
    for _ in 0..cluster.dice.range(2, 7) {
        let ask = cluster.ask_as(&born.address, at, "gpu", client);
        cluster.refuse(&ask, 120, "could not fetch pool. err: machineconfigpool.machineconfiguration.openshift.io \"gpu\" not found");
        at += 5 * SECOND + cluster.dice.range(0, 900);
    }
    Truth::new("pool-missing", &born.name, &["RequestRefused"]).word(&["gpu"])
}

/// As in a real cluster of 4.9: each answer comes a minute later, and Ignition asks on.
fn time_outs(cluster: &mut Cluster, born: &Born, rounds: i64) -> i64 {
    let mut at = cluster.first_ask(born);
    for _ in 0..rounds {
        let ask = cluster.ask(&born.address, at);
        let after = 60 * SECOND + cluster.dice.range(1, 9);
        cluster.refuse(&ask, after, TIMED_OUT);
        at += 15 * SECOND + cluster.dice.range(0, 40);
    }
    at
}

/// A neighbour asks at the same time, is refused in the same way, and is served later.
fn wave(cluster: &mut Cluster, born: &Born) {
    let neighbour = cluster.birth(cluster.now - born.at);
    let at = time_outs(cluster, &neighbour, 2);
    cluster.ask(&neighbour.address, at + 3 * MINUTE);
    cluster.joined(&neighbour, at + 9 * MINUTE);
}

fn api_times_out(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let rounds = cluster.dice.range(2, 9);
    time_outs(cluster, &born, rounds);
    if cluster.dice.percent(50) {
        wave(cluster, &born);
    }
    Truth::new("api-times-out", &born.name, &["RequestRefused"])
        .word(&["time allotted", "timed out", "time-out", "did not answer"])
        .lie(&["no MachineConfigPool"])
}

fn etcd_times_out(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let mut at = cluster.first_ask(&born);
    for _ in 0..cluster.dice.range(1, 4) {
        let ask = cluster.ask(&born.address, at);
        let after = 10 * SECOND + cluster.dice.range(100, 900);
        cluster.refuse(
            &ask,
            after,
            "could not fetch pool. err: etcdserver: request timed out",
        );
        at += 15 * SECOND;
    }
    Truth::new("etcd-times-out", &born.name, &["RequestRefused"]).word(&["timed out", "etcd"])
}

fn served_after_time_outs(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let at = time_outs(cluster, &born, 2);
    cluster.ask(&born.address, at + 2 * MINUTE);
    Truth::new("served-after-time-outs", &born.name, &["FirstBoot"])
        .word(&["got its config", "served"])
}

/// Its own answer comes at once; the neighbour's, asked two seconds later of the same server, fails.
fn served_in_a_wave(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let at = cluster.first_ask(&born);
    let mine = cluster.ask(&born.address, at);
    let neighbour = cluster.birth(cluster.now - born.at);
    let theirs = cluster.ask_of(mine.server, &neighbour.address, at + 2 * SECOND);
    cluster.refuse(&theirs, 60 * SECOND + 4, TIMED_OUT);
    cluster.ask(&neighbour.address, at + 5 * MINUTE);
    cluster.joined(&neighbour, at + 11 * MINUTE);
    Truth::new("served-in-a-wave", &born.name, &["FirstBoot"])
}

/// The bootstrap machine is still there, and its server answers.
fn refused_by_bootstrap(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let mut at = cluster.first_ask(&born);
    let mut log = Log::default();
    log.start(born.at - 40 * MINUTE, &cluster.release);
    let client = cluster.release.ignition();
    for _ in 0..cluster.dice.range(3, 9) {
        let from = format!("{}:{}", born.address, cluster.dice.range(32768, 60999));
        log.info(
            at,
            "api.go:119",
            cluster.release.request("worker", &from, client),
        );
        let printed = cluster.release.printed("worker", &mut cluster.dice);
        log.error(at + 1, "api.go:136", format!("couldn't get config for req: {printed}, error: refusing to serve bootstrap configuration to pool \"worker\""));
        at += 5 * SECOND;
    }
    let path = format!(
        "log-bundle/bootstrap/containers/machine-config-server-{}.log",
        cluster.dice.hex(12)
    );
    cluster.others.push((path, log));
    Truth::new("refused-by-bootstrap", &born.name, &["RequestRefused"]).word(&["bootstrap"])
}

fn accept_unsupported(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let mut at = cluster.first_ask(&born);
    for _ in 0..cluster.dice.range(3, 9) {
        let ask = cluster.ask_as(&born.address, at, "worker", "Ignition/1.9.0");
        let text = "unsupported Ignition version in Accept header: application/vnd.coreos.ignition+json;version=1.0.0";
        cluster.servers[ask.server]
            .1
            .error(at + 1, "api.go:132", text.to_owned());
        at += 5 * SECOND + cluster.dice.range(0, 900);
    }
    Truth::new("accept-unsupported", &born.name, &["RequestRefused"]).word(&[
        "unsupported",
        "Accept",
        "Ignition",
    ])
}

fn pipe_breaks(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let mut at = cluster.first_ask(&born);
    for _ in 0..cluster.dice.range(2, 6) {
        let ask = cluster.ask(&born.address, at);
        let after = 15 * SECOND + cluster.dice.range(0, 900);
        cluster.break_pipe(&ask, after);
        at += 15 * SECOND;
    }
    Truth::new("pipe-breaks", &born.name, &["RequestRefused"]).word(&[
        "broken pipe",
        "broke",
        "did not arrive",
        "not arrive",
        "connection",
    ])
}

/// A neighbour's answer breaks while this one's goes through, on the same server.
fn pipe_of_another(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let at = cluster.first_ask(&born);
    let neighbour = cluster.birth(cluster.now - born.at);
    let mine = cluster.ask(&born.address, at);
    let theirs = cluster.ask_of(mine.server, &neighbour.address, at - 15 * SECOND);
    cluster.break_pipe(&theirs, 15 * SECOND + 20);
    cluster.ask(&neighbour.address, at + 9 * SECOND);
    cluster.joined(&neighbour, at + 5 * MINUTE);
    Truth::new("pipe-of-another", &born.name, &["FirstBoot"]).lie(&["broken pipe"])
}

/// Ignition's own retries, which do not end. Nothing breaks on the server's side.
fn answers_never_arrive(cluster: &mut Cluster) -> Truth {
    let ago = cluster.dice.range(15, 30) * MINUTE;
    let born = cluster.birth(ago);
    cluster.place(&born);
    let mut at = cluster.first_ask(&born);
    while at < cluster.now - SECOND {
        cluster.ask(&born.address, at);
        at += 15 * SECOND + cluster.dice.range(0, 60);
    }
    Truth::new(
        "answers-never-arrive",
        &born.name,
        &["RequestRefused", "FirstBoot"],
    )
    .word(&["arrive", "answer", "receive", "reach"])
    .lie(&["reboot", "boots again", "started over", "boots,"])
}

/// Some tries, then one whose answer arrives: Ignition asks no more.
fn answer_arrives_at_last(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let mut at = cluster.first_ask(&born);
    for _ in 0..cluster.dice.range(3, 20) {
        cluster.ask(&born.address, at);
        at += 15 * SECOND + cluster.dice.range(0, 60);
    }
    Truth::new("answer-arrives-at-last", &born.name, &["FirstBoot"])
        .word(&["got its config", "served"])
        .word(&["as it seems"])
        .lie(&["boots,", "begin again"])
}

fn asks_at_each_boot(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let mut at = cluster.first_ask(&born);
    let mut boots = 0;
    while at < cluster.now - MINUTE && boots < 5 {
        cluster.ask(&born.address, at);
        at += cluster.dice.range(4, 9) * MINUTE;
        boots += 1;
    }
    Truth::new("asks-at-each-boot", &born.name, &["FirstBoot"]).word(&["times", "again", "boots"])
}

fn ignition_too_old(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let mut at = cluster.first_ask(&born);
    for _ in 0..cluster.dice.range(3, 8) {
        let ask = cluster.ask_as(&born.address, at, "worker", "Ignition/0.35.0");
        cluster.unconverted(&ask, "failed to convert config from spec v3.2 to v2.2: unable to convert Ignition spec v3 config to v2: SizeMiB and StartMiB in Storage.Disks.Partitions is not supported on 2.2");
        at += 5 * SECOND + cluster.dice.range(0, 900);
    }
    Truth::new("ignition-too-old", &born.name, &["RequestRefused"])
        .word(&["ignition", "convert", "spec"])
}

/// By time, whatever the servers' names are: first served, after a reboot refused.
fn served_then_refused(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let at = cluster.first_ask(&born);
    cluster.ask(&born.address, at);
    let mut at = at + cluster.dice.range(4, 15) * MINUTE;
    for _ in 0..cluster.dice.range(2, 5) {
        let ask = cluster.ask(&born.address, at);
        cluster.refuse(
            &ask,
            7 * SECOND,
            "could not fetch pool. err: etcdserver: request timed out",
        );
        at += 12 * SECOND;
    }
    Truth::new("served-then-refused", &born.name, &["RequestRefused"]).word(&["timed out", "etcd"])
}

/// A person tried the URL from the same network as the machine was refused.
fn refused_beside_a_poll(cluster: &mut Cluster) -> Truth {
    let born = waiting(cluster);
    let mut at = cluster.first_ask(&born);
    for _ in 0..3 {
        let ask = cluster.ask(&born.address, at);
        cluster.refuse(&ask, 300, "could not get controllerconfig: controllerconfigs.machineconfiguration.openshift.io \"machine-config-controller\" not found");
        at += 5 * SECOND;
    }
    cluster.ask_as(&born.address, at + MINUTE, "worker", "curl/7.76.1");
    Truth::new("refused-beside-a-poll", &born.name, &["RequestRefused"]).word(&["controllerconfig"])
}

/// It was made with the cluster, before any of these logs begin, and the bootstrap machine served it.
fn served_by_bootstrap(cluster: &mut Cluster) -> Truth {
    let born = cluster.birth(12 * 24 * 60 * MINUTE);
    cluster.place(&born);
    let truth = Truth::new("served-by-bootstrap", &born.name, &["Unknown", "FirstBoot"])
        .lie(&["user data, network or load balancer"]);
    // A CA that does not fit may be why it never asked.
    if cluster.has_stale_user_data() {
        return truth.perhaps("NoRequest");
    }
    truth.word(&["cannot be told"])
}

/// MCO #6124: anybody may post one.
fn failure_report(cluster: &mut Cluster) -> Truth {
    let born = silent(cluster);
    let at = (born.at + 12 * MINUTE).min(cluster.now - MINUTE);
    let stage = "firstboot-update";
    let error = "error running rpm-ostree rebase: exit status 1";
    if cluster.dice.percent(60) {
        let server = cluster.dice.below(cluster.servers.len());
        let text = format!(
            "Received failure report: pool=worker node={} stage={stage}",
            born.node
        );
        cluster.servers[server].1.info(at, "failure.go:88", text);
    }
    let namespace = cluster
        .dice
        .pick(&["default", "openshift-machine-config-operator"]);
    for n in 0..cluster.dice.range(1, 30) {
        let node = if n == 3 {
            born.node.clone()
        } else {
            format!("other-{n}")
        };
        pool_event(cluster, namespace, &node, at, stage, error);
    }
    pool_event(cluster, namespace, &born.node, at, stage, error);
    Truth::new("failure-report", &born.name, &["FirstBoot"])
        .word(&[stage, "rpm-ostree"])
        .claimed()
}

fn pool_event(
    cluster: &mut Cluster,
    namespace: &str,
    node: &str,
    at: i64,
    stage: &str,
    error: &str,
) {
    let about = (
        "machineconfiguration.openshift.io/v1",
        "MachineConfigPool",
        namespace,
        "worker",
    );
    let message = format!(
        "Node {node} failed during firstboot at stage '{stage}': {error} (image: quay.io/x@sha256:0)"
    );
    cluster.event(
        about,
        at,
        "FirstbootFailed",
        &message,
        "machine-config-server",
    );
}
