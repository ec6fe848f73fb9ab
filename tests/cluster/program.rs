//! The whole program with its own TLS: servers that a cluster may have, and servers that must be
//! refused. The dist tier runs this with the binaries that ship, whose ring is built another way
//! (docs/dev/size.md).

#![cfg(feature = "tls")]

use crate::cluster::node::{Node, Over, verdict};
use crate::cluster::target::{bootstrap, join};
use crate::support::apiserver::{ApiServer, BOOTSTRAP_USER, Key, Options, Tls, Validity};

const BOTH: [Tls; 2] = [Tls::Only12, Tls::Only13];

/// All at once: a node waits for a random part of a few seconds before it reports.
fn on_each(all: impl IntoIterator<Item = Options>, test: impl Fn(&ApiServer, &str) + Sync) {
    std::thread::scope(|scope| {
        for options in all {
            let test = &test;
            scope.spawn(move || {
                let what = format!("{:?} {:?} {:?}", options.key, options.tls, options.validity);
                test(&ApiServer::start(options), &what);
            });
        }
    });
}

fn every_key_and_version() -> impl Iterator<Item = Options> {
    [Key::Rsa, Key::P256, Key::P384]
        .into_iter()
        .flat_map(|key| {
            BOTH.map(|tls| Options {
                key,
                tls,
                ..Options::default()
            })
        })
}

/// What a refused node's report prints when it talks to that server, and its exit status.
fn refused_node(server: &ApiServer) -> (String, i32) {
    let node = Node::refused("worker-7", Over::Tls);
    bootstrap(server, &node);
    node.report()
}

#[test]
fn every_key_and_version_is_spoken() {
    on_each(every_key_and_version(), |server, what| {
        let (said, status) = refused_node(server);
        assert_eq!(
            (status, said.matches(" delivered: ").count()),
            (0, 2),
            "{what}: {said}"
        );
        let seen = server.seen();
        assert!(
            seen.len() == 2 && seen.iter().all(|seen| seen.user == BOOTSTRAP_USER),
            "{what}"
        );
    });
}

#[test]
fn the_kubelets_key_signs() {
    on_each(every_key_and_version(), |server, what| {
        let node = Node::new("worker-0", Over::Tls);
        node.write(
            "var/lib/skewguard/verdict.json",
            &serde_json::to_string(&verdict("rhcos-4.18-allowed")).unwrap(),
        );
        bootstrap(server, &node);
        join(server, &node);
        assert_eq!(
            node.report(),
            ("skewguard: node label delivered: worker-0\n".to_owned(), 0),
            "{what}"
        );
        assert_eq!(
            server.seen().pop().unwrap().user,
            "system:node:worker-0",
            "{what}"
        );
    });
}

/// In [`Validity::UnknownCa`] only the signature on the certificate is wrong, in
/// [`Validity::WrongKey`] only the one on the handshake.
#[test]
fn a_server_that_cannot_prove_itself_gets_nothing() {
    let wrong = [
        Validity::UnknownCa,
        Validity::WrongKey,
        Validity::WrongName,
        Validity::Expired,
    ];
    let all = [Key::P256, Key::P384].into_iter().flat_map(|key| {
        wrong.into_iter().flat_map(move |validity| {
            BOTH.map(|tls| Options {
                key,
                tls,
                validity,
                ..Options::default()
            })
        })
    });
    on_each(all, |server, what| {
        let (said, status) = refused_node(server);
        assert_eq!(
            (status, said.matches(" not delivered: ").count()),
            (1, 2),
            "{what}: {said}"
        );
        let seen = server.seen();
        assert!(
            !seen.is_empty() && seen.iter().all(|seen| seen.path.is_empty()),
            "{what}: nothing was sent"
        );
    });
}
