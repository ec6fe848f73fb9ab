//! Of machines that do not trust the machine-config-server. Whether the CAs are equal is the cluster's:
//! all of its Machines have one user data Secret.

use super::Fate;
use crate::lives::cluster::Cluster;
use crate::lives::moment::SECOND;
use crate::lives::truth::Truth;

pub(super) const ALL: &[Fate] = &[
    ("certificate-not-trusted", not_trusted),
    ("handshake-breaks", breaks),
];

const BAD: &str = "remote error: tls: bad certificate";

fn not_trusted(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    cluster.place(&born);
    let mut at = cluster.first_ask(&born);
    for _ in 0..cluster.dice.range(3, 12) {
        cluster.rejects_tls(&born.address, at, BAD);
        at += 5 * SECOND + cluster.dice.range(0, 300);
    }
    let truth = Truth::new("certificate-not-trusted", &born.name, &["NoRequest"]);
    if cluster.has_stale_user_data() {
        return truth.word(&["CA", "authority"]);
    }
    truth
        .word(&["name", "clock", "date"])
        .lie(&["Give the user data Secrets the present CA"])
}

/// It reaches the server, and they find no common ground, or the way there breaks.
fn breaks(cluster: &mut Cluster) -> Truth {
    let born = cluster.waiting();
    cluster.place(&born);
    let mut at = cluster.first_ask(&born);
    let error = cluster.dice.pick(&[
        "tls: client offered only unsupported versions: [302 301]",
        "client sent an HTTP request to an HTTPS server",
        "read tcp 10.0.0.4:22623->ADDRESS:41022: read: connection reset by peer",
    ]);
    let error = error.replace("ADDRESS", &born.address);
    for _ in 0..cluster.dice.range(3, 12) {
        cluster.rejects_tls(&born.address, at, &error);
        at += 5 * SECOND + cluster.dice.range(0, 300);
    }
    Truth::new("handshake-breaks", &born.name, &["NoRequest"])
        .word(&["handshake failed"])
        .word(&["unsupported versions", "HTTPS server", "reset by peer"])
}
