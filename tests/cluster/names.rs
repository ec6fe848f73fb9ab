//! Clusters with DNS of their own: the site's DNS has only `api.NAME`; `api-int.NAME` resolves once a kubelet runs.

use crate::apiserver::{ApiServer, Options};
use crate::cluster::{bootstrap, join};
use crate::node::{Node, transports, verdict};
use std::process::Command;

const INSIDE: &str = "SKEWGUARD_TEST_NAMES";

/// Runs the test called `name` again, in a world with these hosts(5) and no other DNS.
fn with_hosts(name: &str, hosts: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("hosts"), hosts).unwrap();
    std::fs::write(dir.path().join("resolv.conf"), "nameserver 127.0.0.1\n").unwrap();
    let script = "set -eu; for file in hosts resolv.conf; do mount --bind \"$W/$file\" /etc/$file; done\n\
                  exec \"$0\" --exact \"$1\" --nocapture --test-threads=1";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--fork", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env("W", dir.path())
        .env(INSIDE, "1")
        .output()
        .unwrap_or_else(|error| panic!("unshare: {error}; install the Debian package util-linux"));
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{}: {text}\n(needs user namespaces: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
        output.status
    );
}

#[test]
fn a_node_without_the_clusters_own_dns_reports_by_the_public_name() {
    let name = "names::a_node_without_the_clusters_own_dns_reports_by_the_public_name";
    with_hosts(name, "127.0.0.1 localhost api.c1.skewguard.test\n", || {
        for over in transports() {
            let server = |public: &str| ApiServer::start(Options { public: public.to_owned(), ..Options::default() });
            let cluster = server("api-int.c1.skewguard.test");
            let node = Node::refused("worker-7", over);
            bootstrap(&cluster, &node);
            let (said, status) = node.report();
            assert_eq!((said.matches(" delivered: ").count(), status), (2, 0), "{over:?}: {said}");
            // The certificate is for api-int.c1 alone, so that name was asked for and checked.
            let host = format!("api.c1.skewguard.test:{}", cluster.address.port());
            assert_eq!(cluster.seen().iter().map(|seen| seen.host.as_str()).collect::<Vec<_>>(), [&host, &host], "{over:?}");

            let joined = Node::new("worker-0", over);
            joined.write("var/lib/skewguard/verdict.json", &serde_json::to_string(&verdict("rhcos-4.18-allowed")).unwrap());
            join(&cluster, &joined);
            assert_eq!(joined.report(), ("skewguard: node label delivered: worker-0\n".to_owned(), 0), "{over:?}");

            // Another server behind the public name gets nothing.
            let other = server("api.c1.skewguard.test");
            let text = std::fs::read_to_string(node.path("etc/kubernetes/kubeconfig")).unwrap();
            let port = |server: &ApiServer| format!(":{}", server.address.port());
            node.write("etc/kubernetes/kubeconfig", &text.replace(&port(&cluster), &port(&other)));
            std::fs::remove_dir_all(node.path("var")).unwrap();
            let (said, status) = node.report();
            assert!(status == 1 && said.contains("the server's certificate is not"), "{over:?}: {said}");
            assert!(other.seen().iter().all(|seen| seen.path.is_empty()), "{over:?}");

            // If neither resolves, the error names the one in the kubeconfig.
            let nowhere = server("api-int.c2.skewguard.test");
            bootstrap(&nowhere, &node);
            let (said, status) = node.report();
            let named = "the name api-int.c2.skewguard.test could not be resolved: check the node's DNS";
            assert!(status == 1 && said.lines().all(|line| line.contains(named)), "{over:?}: {said}");
        }
    });
}
