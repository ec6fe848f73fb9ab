//! A thousand machines and 50 MB of log, in the memory that they may take.

use super::DATA;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const MACHINES: usize = 1_000;
const SERVERS: usize = 3;
const LOG_BYTES: usize = 50_000_000;

fn address(n: usize) -> String {
    format!("10.{}.{}.7", n >> 8 & 255, n & 255)
}

/// As many machines as a whole one says, each with an address of its own.
fn machines() -> Value {
    let path = format!(
        "{DATA}/refused/namespaces/openshift-machine-api/machine.openshift.io/machines/c1-x7k2p-worker-us-east-2a-7qz4k.yaml"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let one: Value = serde_saphyr::from_str(&text).unwrap();
    let machine = |n: usize| {
        let mut machine = one.clone();
        machine["metadata"]["name"] = format!("worker-{n:04}").into();
        machine["metadata"]["uid"] = format!("uid-{n}").into();
        machine["spec"]["providerID"] = format!("aws:///us-east-2a/i-{n:017x}").into();
        machine["status"]["addresses"] = json!([{ "type": "InternalIP", "address": address(n) }]);
        machine
    };
    json!({ "apiVersion": "v1", "kind": "List", "items": (0..MACHINES).map(machine).collect::<Vec<_>>() })
}

/// The log of a server that everybody asks for an hour, a third of them in vain.
fn log(server: usize) -> String {
    let mut text = String::new();
    let mut n = server;
    while text.len() < LOG_BYTES / SERVERS {
        let seconds = 9 * 3600 + n / 16 % 3600;
        let time = format!(
            "{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        );
        let address = address(n * 7 % MACHINES);
        writeln!(text, "2026-08-20T{time}.000000000Z I0820 {time}.000000       1 api.go:119] Pool \"worker\" requested by address:\"{address}:40312\" User-Agent:\"Ignition/2.14.0\" Accept-Header: \"application/vnd.coreos.ignition+json;version=3.3.0, */*;q=0.1\"").unwrap();
        if n.is_multiple_of(3) {
            writeln!(text, "2026-08-20T{time}.000000000Z E0820 {time}.000000       1 api.go:136] couldn't get config for req: {{machineConfigPool:worker version:0xc000a2d20}}, error: could not get controllerconfig: x").unwrap();
        }
        n += 1;
    }
    text
}

/// The kernel gives the program no more than 150 MB of memory of its own (setrlimit(2),
/// `RLIMIT_DATA`).
#[test]
fn a_thousand_machines_and_50_mb_of_log_fit_into_150_mb() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("objects.json"), machines().to_string()).unwrap();
    for server in 0..SERVERS {
        let name = format!("machine-config-server-{server}.log");
        std::fs::write(dir.path().join(name), log(server)).unwrap();
    }
    let run = |kib: u32| {
        let command = format!("ulimit -d {kib} && exec \"$0\" why -o json --from \"$1\"");
        Command::new("sh")
            .args(["-c", &command])
            .arg(env!("CARGO_BIN_EXE_kubectl-skewguard"))
            .arg(dir.path())
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
            .output()
            .unwrap()
    };
    let output = run(150_000);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{:?}", output.stderr));
    assert_eq!(report["machines"].as_array().unwrap().len(), MACHINES);
    assert_eq!(report["serverLog"]["servers"], SERVERS);
    assert!(report["serverLog"]["requests"].as_u64().unwrap() > 100_000);
    // The limit works: with too little memory the program ends.
    assert!(!run(1024).status.success());
}
