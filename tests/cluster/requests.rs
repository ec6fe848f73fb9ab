//! What a first boot that does not finish sends and asks, with the bootstrap identity.

use crate::cluster::node::{Node, transports};
use crate::support::apiserver::{ApiServer, BOOTSTRAP_USER, Lists, Options};
use serde_json::json;
use skewguard::kubeconfig::Allow;
use skewguard::node::Root;
use skewguard::node::identity::Identity;
use skewguard::report::answer::Channel;
use skewguard::report::client::{Client, Network};
use skewguard::report::event::{About, Event, Regarding};
use skewguard::report::stall::{LIST, Newest, Phase};
use skewguard::transport::{Limits, Request};
use std::time::SystemTime;

#[test]
fn a_request_is_found_over_the_wire_on_the_second_page() {
    for over in transports() {
        let made = "2026-05-04T10:11:12Z";
        let mut requests: Vec<_> = (0..59)
            .map(|n| {
                Lists::signing_request(
                    &format!("csr-{n}"),
                    &format!("worker-{}", n + 10),
                    made,
                    json!({}),
                )
            })
            .collect();
        requests.push(Lists::signing_request(
            "csr-mine",
            "worker-1.example.com",
            made,
            json!({}),
        ));
        let server = ApiServer::start(Options {
            lists: Lists::of(requests),
            ..Options::default()
        });
        let node = Node::new("worker-1", over);
        server.write_kubeconfigs(&node.path(""));
        let root = Root::open(&node.path("")).unwrap();
        let network = Network {
            root: &root,
            kubeconfig: Some((&root, "/kubeconfig")),
            allow: Allow { insecure: false },
            limits: Limits::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let mut newest = Newest::default();
        let mut path = LIST.to_owned();
        for page in 0.. {
            let request = Request {
                method: "GET",
                path,
                body: Vec::new(),
            };
            let answer = runtime
                .block_on(network.send(Channel::Event, request))
                .unwrap();
            assert_eq!(answer.status, 200, "{over:?}");
            let next = newest.look("worker-1", &answer.body).unwrap();
            if next.is_empty() {
                assert_eq!(page, 1, "{over:?}");
                break;
            }
            assert_eq!(
                newest.clause(),
                "it has no certificate request of this node"
            );
            let next =
                percent_encoding::utf8_percent_encode(&next, percent_encoding::NON_ALPHANUMERIC);
            path = format!("{LIST}&continue={next}");
        }
        assert_eq!(
            newest.clause(),
            "its certificate request csr-mine of 2026-05-04T10:11:12Z waits for approval"
        );
        assert!(server.seen().iter().all(|seen| seen.user == BOOTSTRAP_USER));
    }
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
    let network = Network {
        root: &root,
        kubeconfig: Some((&root, "/kubeconfig")),
        allow: Allow { insecure: false },
        limits: Limits::default(),
    };
    let report = "worker-1-0123456789abcdef";
    let identity = Identity {
        hostname: Some("worker-1".to_owned()),
        ..Identity::default()
    };
    let event = Event::new(
        About::WentOn(Phase::Pull),
        report,
        Regarding::report(report, None),
        &identity,
        SystemTime::now(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let answer = runtime
        .block_on(network.send(Channel::Event, event.request()))
        .unwrap();
    assert_eq!(
        answer.status,
        201,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
}
