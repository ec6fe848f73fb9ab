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
        let delivered = "skewguard: report to the machine-config-server delivered: worker-7-";
        assert!(said.contains(delivered), "{over:?}: {said}");
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
        let message = body["errorMessage"].as_str().unwrap();
        assert!(message.starts_with("Node worker-7"), "{message}");
        assert!(message.contains(&verdict.boot_image.unwrap().version));
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

/// A server of another CA, one without such a path, and an address that is none: the report and the
/// Event are delivered all the same.
#[test]
fn a_server_that_takes_no_failures_costs_nothing_else() {
    let [over, ..] = transports()[..] else {
        panic!("no transport");
    };
    let (server, other) = (
        ApiServer::start(Options::default()),
        ApiServer::start(Options::default()),
    );
    for (ca, annotations, why) in [
        (other.ca_pem(), json!({ KEY: server.url() }), "certificate"),
        (
            server.ca_pem(),
            json!({ KEY: format!("{}/older", server.url()) }),
            "404: the machine-config-server does not take it",
        ),
        (
            server.ca_pem(),
            json!({ KEY: "http://10.0.0.1:22623" }),
            "node-annotations.json: does not start with https://",
        ),
        (server.ca_pem(), json!({}), "has no machineConfigServerURL"),
    ] {
        let node = refused(&server, over, true);
        node.write(CA, &ca);
        node.write(ANNOTATIONS, &annotations.to_string());
        let (said, status) = node.report();
        assert_eq!(status, 1, "{said}");
        assert!(said.contains(why), "{why}: {said}");
        let failed = "report to the machine-config-server not delivered: ";
        assert!(said.contains(failed), "{said}");
        for kind in ["report", "event"] {
            let delivered = format!("skewguard: {kind} delivered: worker-7-");
            assert!(said.contains(&delivered), "{said}");
        }
    }
}
