//! Clusters with DNS of their own: the site's DNS has only `api.NAME`; `api-int.NAME` resolves once
//! a kubelet runs.

use crate::cluster::node::{Node, transports, verdict};
use crate::cluster::target::{bootstrap, join};
use crate::support::apiserver::{ApiServer, Options};
use crate::support::world::alone;

/// Runs the test called `name` again, in a world with these hosts(5) and no other DNS.
fn with_hosts(name: &str, hosts: &str, test: impl FnOnce()) {
    let script = format!(
        "printf '{}' >\"$W/hosts\"; echo nameserver 127.0.0.1 >\"$W/resolv.conf\"\n\
         for file in hosts resolv.conf; do mount --bind \"$W/$file\" /etc/$file; done",
        hosts.escape_default()
    );
    alone(&format!("cluster::names::{name}"), &[], &script, "", |_| {
        test()
    });
}

#[test]
fn a_node_without_the_clusters_own_dns_reports_by_the_public_name() {
    let name = "a_node_without_the_clusters_own_dns_reports_by_the_public_name";
    with_hosts(name, "127.0.0.1 localhost api.c1.skewguard.test\n", || {
        for over in transports() {
            let server = |public: &str| {
                ApiServer::start(Options {
                    public: public.to_owned(),
                    ..Options::default()
                })
            };
            let cluster = server("api-int.c1.skewguard.test");
            let node = Node::refused("worker-7", over);
            bootstrap(&cluster, &node);
            let (said, status) = node.report();
            assert_eq!(
                (said.matches(" delivered: ").count(), status),
                (2, 0),
                "{over:?}: {said}"
            );
            // The certificate is for api-int.c1 alone, so that name was asked for and checked.
            let host = format!("api.c1.skewguard.test:{}", cluster.address.port());
            assert_eq!(
                cluster
                    .seen()
                    .iter()
                    .map(|seen| seen.host.as_str())
                    .collect::<Vec<_>>(),
                [&host, &host],
                "{over:?}"
            );

            let joined = Node::new("worker-0", over);
            joined.write(
                "var/lib/skewguard/verdict.json",
                &serde_json::to_string(&verdict("rhcos-4.18-allowed")).unwrap(),
            );
            join(&cluster, &joined);
            assert_eq!(
                joined.report(),
                ("skewguard: node label delivered: worker-0\n".to_owned(), 0),
                "{over:?}"
            );

            // Another server behind the public name gets nothing.
            let other = server("api.c1.skewguard.test");
            let text = std::fs::read_to_string(node.path("etc/kubernetes/kubeconfig")).unwrap();
            let port = |server: &ApiServer| format!(":{}", server.address.port());
            node.write(
                "etc/kubernetes/kubeconfig",
                &text.replace(&port(&cluster), &port(&other)),
            );
            std::fs::remove_dir_all(node.path("var")).unwrap();
            let (said, status) = node.report();
            assert!(
                status == 1 && said.contains("the server's certificate is not"),
                "{over:?}: {said}"
            );
            assert!(
                other.seen().iter().all(|seen| seen.path.is_empty()),
                "{over:?}"
            );

            // If neither resolves, the error names the one in the kubeconfig.
            let nowhere = server("api-int.c2.skewguard.test");
            bootstrap(&nowhere, &node);
            let (said, status) = node.report();
            let named = "the name api-int.c2.skewguard.test could not be resolved: check the DNS of this machine";
            assert!(
                status == 1 && said.lines().all(|line| line.contains(named)),
                "{over:?}: {said}"
            );
        }
    });
}
