//! A failure that the Machine Config Server is told, as machine-config-operator#6124 takes it.

use crate::cluster::node::{Node, Over, transports, verdict};
use crate::cluster::target::bootstrap;
use crate::support::apiserver::{ApiServer, Logged, Options};
use serde_json::json;

const CA: &str = "etc/machine-config-daemon/mcs-ca-bundle.crt";
const ANNOTATIONS: &str = "etc/machine-config-daemon/node-annotations.json";
const KEY: &str = "machineconfiguration.openshift.io/machineConfigServerURL";

/// A refused node of a cluster whose server takes failures, with a policy that wants it told or not.
fn refused(server: &ApiServer, over: Over, wanted: bool) -> Node {
    let node = Node::refused("worker-7", over);
    let mut verdict = json!(verdict("rhcos-4.12-refused"));
    if wanted {
        verdict["policy"]["reportToMachineConfigServer"] = json!(true);
    }
    node.write("run/skewguard/verdict.json", &verdict.to_string());
    node.write(CA, &server.ca_pem());
    node.write(ANNOTATIONS, &json!({ KEY: server.url() }).to_string());
    bootstrap(server, &node);
    node
}

fn told(server: &ApiServer) -> Vec<Logged> {
    let mut seen = server.seen();
    seen.retain(|seen| seen.path == "/v1/node-failure");
    seen
}

/// Also where there is neither CRD nor Role; once a boot, and without a credential.
#[test]
fn a_refused_node_tells_the_machine_config_server() {
    for over in transports() {
        let server = ApiServer::start(Options {
            crd: false,
            granted: false,
            ..Options::default()
        });
        let node = refused(&server, over, true);
        let (said, _) = node.report();
        let taken = "skewguard: report to the machine-config-server taken: worker-7-";
        assert!(said.contains(taken), "{over:?}: {said}");
        let told = self::told(&server);
        assert_eq!(told.len(), 1, "{over:?}: {said}");
        assert_eq!((told[0].user.as_str(), told[0].status), ("", 202));
        let verdict = verdict("rhcos-4.12-refused");
        let body = &told[0].body;
        assert_eq!(
            (&body["pool"], &body["nodeID"], &body["stage"]),
            (&json!("worker"), &json!("worker-7"), &json!("boot-image"))
        );
        assert_eq!(body["imageURL"], json!(verdict.target.os_image_url));
        // The server keeps 200 bytes, and puts the node's name before them.
        assert_eq!(
            body["errorMessage"],
            "BelowMinimumOCPVersion: boot image is OCP 4.12; the minimum is 4.13.0 (boot image 412.86.202303211731-0)"
        );
        // Five fields, and nothing else.
        assert_eq!(body.as_object().unwrap().len(), 5);

        let (said, _) = node.report();
        assert!(!said.contains("machine-config-server"), "{said}");
        assert_eq!(self::told(&server).len(), 1);
        let other = "8c1f6b1e-8f0a-4d5e-9d55-0a1b2c3d4e5f\n";
        node.write("proc/sys/kernel/random/boot_id", other);
        node.report();
        assert_eq!(self::told(&server).len(), 2, "a later boot");
    }
}

#[test]
fn without_the_switch_or_the_ca_the_server_hears_nothing() {
    let [over, ..] = transports()[..] else {
        panic!("no transport");
    };
    let server = ApiServer::start(Options::default());
    let (said, status) = refused(&server, over, false).report();
    assert_eq!((status, said.matches(" delivered: ").count()), (0, 2));
    let node = refused(&server, over, true);
    std::fs::remove_file(node.path(CA)).unwrap();
    let (said, status) = node.report();
    assert_eq!(
        (status, said.matches("delivered").count()),
        (0, 2),
        "{said}"
    );
    assert!(told(&server).is_empty());
}

/// A policy's own words may be long.
#[test]
fn a_long_reason_is_cut_to_what_the_server_keeps() {
    let [over, ..] = transports()[..] else {
        panic!("no transport");
    };
    let server = ApiServer::start(Options::default());
    let node = refused(&server, over, true);
    let mut verdict = json!(verdict("rhcos-4.12-refused"));
    verdict["policy"]["reportToMachineConfigServer"] = json!(true);
    verdict["message"] = json!("\u{e9}\"".repeat(200));
    node.write("run/skewguard/verdict.json", &verdict.to_string());
    node.report();
    let [told] = told(&server).try_into().unwrap();
    let message = told.body["errorMessage"].as_str().unwrap();
    assert!(message.starts_with("BelowMinimumOCPVersion: "), "{message}");
    assert!((150..=200).contains(&message.len()), "{message}");
}

/// A server of another CA, one without such a path, and an address that is none: the report
/// and the Event are delivered all the same, and nothing is missing.
#[test]
fn a_server_that_takes_no_failures_costs_nothing_else() {
    for over in transports() {
        let (server, other) = (
            ApiServer::start(Options::default()),
            ApiServer::start(Options::default()),
        );
        let twice = format!(r#"{{ "{KEY}": "{0}", "{KEY}": "{0}" }}"#, server.url());
        for (ca, annotations, why) in [
            (
                other.ca_pem(),
                json!({ KEY: server.url() }).to_string(),
                "TLS failed: the server's certificate is not signed by a CA in /etc/machine-config-daemon/mcs-ca-bundle.crt (",
            ),
            (
                server.ca_pem(),
                json!({ KEY: format!("{}/older", server.url()) }).to_string(),
                "404: the machine-config-server does not take it\n",
            ),
            (
                server.ca_pem(),
                json!({ KEY: "http://10.0.0.1:22623" }).to_string(),
                "node-annotations.json: does not start with https://\n",
            ),
            (
                server.ca_pem(),
                json!({ KEY: "https://core@10.0.0.1:22623" }).to_string(),
                "node-annotations.json: has a user in it\n",
            ),
            (
                server.ca_pem(),
                "{}".to_owned(),
                "has no machineConfigServerURL\n",
            ),
            (
                server.ca_pem(),
                twice,
                "node-annotations.json: cannot be read: a field is duplicate, at line 1 column ",
            ),
        ] {
            let node = refused(&server, over, true);
            node.write(CA, &ca);
            node.write(ANNOTATIONS, &annotations);
            let (said, status) = node.report();
            assert_eq!(status, 0, "{over:?}: {said}");
            assert!(said.contains(why), "{over:?}: {why}: {said}");
            let failed = "report to the machine-config-server not delivered: ";
            assert!(said.contains(failed), "{said}");
            for words in ["kubeconfig", "credentials"] {
                assert!(!said.contains(words), "{words}: {said}");
            }
            for kind in ["report", "event"] {
                let delivered = format!("skewguard: {kind} delivered: worker-7-");
                assert!(said.contains(&delivered), "{said}");
            }
        }
    }
}
