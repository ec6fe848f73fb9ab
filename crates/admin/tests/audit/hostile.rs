//! A server whose answers are too long, without end, cut or never there: what is not read is named, and ends
//! nothing else.

use super::served::{Served, serve};
use super::{POLICY, audit, fixture, run};
use crate::support::apiserver::{ADMIN_TOKEN, Fault, Lists, Options};
use crate::support::script::script;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn objects(name: &str) -> Vec<Value> {
    let list: Value = serde_json::from_str(&fixture(name)).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// A report of so many bytes.
fn report(name: &str, bytes: usize) -> Value {
    json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageReport",
        "metadata": { "name": name, "namespace": "skewguard" },
        "report": { "message": "x".repeat(bytes) } })
}

fn told(served: &Served, more: &[&str]) -> (Value, Exit) {
    let kubeconfig = served.kubeconfig.to_str().unwrap();
    let args = ["--policy", POLICY, "-o", "json", "--kubeconfig", kubeconfig];
    let (out, err, exit) = audit(&[&args, more].concat());
    let found = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    (found, exit)
}

/// The limits that a list was asked for with.
fn limits(served: &Served, plural: &str) -> Vec<usize> {
    let seen = served.server.seen();
    let of = |path: &str| {
        let (_, query) = path.split_once(&format!("/{plural}?"))?;
        let limit = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("limit="));
        limit?.parse().ok()
    };
    seen.iter().filter_map(|seen| of(&seen.path)).collect()
}

/// 75 reports of 40,000 characters that JSON writes as six bytes each, and sets with the largest annotations.
#[test]
fn a_page_that_is_too_long_is_asked_for_in_smaller_ones() {
    let mut all = objects("openstack.json");
    all.extend((0..75).map(|n| report(&format!("r{n}"), 240_000)));
    let mut set = all
        .iter()
        .find(|object| object["kind"] == "MachineSet")
        .unwrap()
        .clone();
    set["metadata"]["annotations"] = json!({ "note": "x".repeat(256 << 10) });
    let plain = told(&serve(Lists::of(all.clone()), Options::default()), &[]);
    assert_eq!(plain.1, Exit::Done);
    for n in 0..70 {
        set["metadata"]["name"] = json!(format!("large-{n}"));
        all.push(set.clone());
    }
    let served = serve(Lists::of(all), Options::default());
    let (found, exit) = told(&served, &[]);
    assert_eq!((&found["unread"], exit), (&json!([]), Exit::Done));
    let before = plain.0["summary"]["sets"].as_u64().unwrap();
    assert_eq!(found["summary"]["sets"], before + 70);
    assert_eq!(limits(&served, "bootimagereports"), [250, 125, 62, 70]);
    assert_eq!(limits(&served, "machinesets")[..3], [250, 125, 62]);
}

const TOO_LONG: &str = "the answer is longer than 16 MiB, also of one object alone";

#[test]
fn one_object_that_is_too_long_costs_its_kind_alone() {
    let mut all = objects("openstack.json");
    all.push(report("r", 17 << 20));
    let (found, exit) = told(&serve(Lists::of(all.clone()), Options::default()), &[]);
    let what = "bootimagereports.skewguard.dev";
    let unread = json!([{ "what": what, "why": TOO_LONG, "hidesSets": false }]);
    assert_eq!((&found["unread"], exit), (&unread, Exit::Done));
    let mut set = all
        .iter()
        .find(|object| object["kind"] == "MachineSet")
        .unwrap()
        .clone();
    all.pop();
    set["metadata"]["annotations"] = json!({ "note": "x".repeat(17 << 20) });
    set["metadata"]["name"] = json!("large");
    all.push(set);
    let (found, exit) = told(&serve(Lists::of(all), Options::default()), &[]);
    let what = "machinesets.machine.openshift.io";
    let unread = json!([{ "what": what, "why": TOO_LONG, "hidesSets": true }]);
    assert_eq!((&found["unread"], exit), (&unread, Exit::Failed));
}

/// Two tokens that take turns; the same one; pages without objects, and with ever more of them.
#[test]
fn a_list_without_end_is_named_and_the_rest_is_read() {
    const NO_END: &str = "the server's list has no end: a page has nothing new, or names one as the next that was read before";
    const MANY: &str = "there are more than 100000: only the first were read";
    for (token, why, most) in [
        ("again", NO_END, 2),
        ("turns", NO_END, 3),
        ("next", NO_END, 1),
        ("more", MANY, 21),
    ] {
        let mut all = objects("openstack.json");
        all.push(report("r", 1));
        let mut lists = Lists::of(all);
        lists.endless = [("bootimagereports".to_owned(), token.to_owned())].into();
        let served = serve(lists, Options::default());
        let (found, exit) = told(&served, &[]);
        let what = "bootimagereports.skewguard.dev";
        let unread = json!([{ "what": what, "why": why, "hidesSets": false }]);
        assert_eq!((&found["unread"], exit), (&unread, Exit::Done), "{token}");
        assert_eq!(limits(&served, "bootimagereports").len(), most, "{token}");
    }
}

/// A 403 and a 404 of what every API server has are the same: it was not read.
#[test]
fn nodes_that_are_not_there_are_not_read() {
    let broken = vec![("/api/v1/nodes?", Fault::Page(404))];
    let options = Options {
        broken,
        ..Options::default()
    };
    let served = serve(Lists::of(objects("openstack.json")), options);
    let (found, exit) = told(&served, &[]);
    let why = "404: the server says that it has none of this kind, which every API server has";
    let unread = json!([{ "what": "nodes", "why": why, "hidesSets": true }]);
    assert_eq!((&found["unread"], exit), (&unread, Exit::Failed));
}

const NO_ANSWER: &str = "no answer in time: the server did not answer, or not whole";

#[test]
fn a_kind_that_hangs_or_is_cut_is_named_and_the_rest_is_read() {
    let cut = "the connection was cut off";
    for (plural, fault, why, exit) in [
        ("clusteroperators", Fault::Hang, NO_ANSWER, Exit::Done),
        ("clusteroperators", Fault::Close, cut, Exit::Done),
        ("baremetalhosts", Fault::Hang, NO_ANSWER, Exit::Failed),
        ("baremetalhosts", Fault::Drip, NO_ANSWER, Exit::Failed),
        ("clusteroperators", Fault::Huge, TOO_LONG, Exit::Done),
    ] {
        let options = Options {
            broken: vec![(plural, fault.clone())],
            ..Options::default()
        };
        let served = serve(Lists::of(objects("openstack.json")), options);
        let (found, ended) = told(&served, &["--request-timeout", "2s"]);
        let unread = &found["unread"];
        assert_eq!(unread.as_array().unwrap().len(), 1, "{fault:?}: {unread}");
        assert_eq!((&unread[0]["why"], ended), (&json!(why), exit), "{fault:?}");
        let what = unread[0]["what"].as_str().unwrap();
        assert!(what.starts_with(plural), "{what}");
    }
}

/// After three requests without an answer no other waits.
#[test]
fn a_server_that_says_nothing_more_is_not_asked_again() {
    let options = || Options {
        broken: vec![("/api/v1/", Fault::Hang), ("/apis/", Fault::Hang)],
        ..Options::default()
    };
    for command in ["audit", "why"] {
        let served = serve(Lists::of(objects("openstack.json")), options());
        let kubeconfig = served.kubeconfig.to_str().unwrap();
        let began = Instant::now();
        let args = [
            command,
            "--request-timeout",
            "1s",
            "--kubeconfig",
            kubeconfig,
        ];
        let (out, err, exit) = run(&args);
        assert!(began.elapsed() < Duration::from_secs(10), "{command}");
        assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{command}");
        assert_eq!(served.server.seen().len(), 4, "{command}: {err}");
        for says in [
            "skewguard: clusterversions.config.openshift.io: no answer in time: the server did not answer, or not whole\n",
            "skewguard: nodes: not asked: the server did not answer 3 requests before it\n",
        ] {
            assert!(err.contains(says), "{command}: {err}");
        }
    }
}

/// Of Nodes that `why` asks for one by one the first that stalls is the last.
#[test]
fn a_node_that_stalls_keeps_no_other_waiting() {
    let node = |n: usize| {
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("n{n}") },
            "status": { "conditions": [{ "type": "Ready", "status": "Unknown" }] } })
    };
    let mut all = objects("openstack.json");
    all.extend((0..20).map(node));
    let options = Options {
        broken: vec![("/api/v1/nodes/", Fault::Hang)],
        ..Options::default()
    };
    let served = serve(Lists::of(all), options);
    let kubeconfig = served.kubeconfig.to_str().unwrap();
    let args = [
        "why",
        "-o",
        "json",
        "--request-timeout",
        "1s",
        "--kubeconfig",
        kubeconfig,
    ];
    let (out, err, exit) = run(&args);
    assert_eq!(exit, Exit::Done, "{err}");
    let found: Value = serde_json::from_str(&out).unwrap();
    let unread =
        json!({ "what": "nodes c1-worker-2 and 21 more", "why": NO_ANSWER, "hidesSets": false });
    let all = found["unread"].as_array().unwrap();
    assert!(all.contains(&unread), "{all:#?}");
    let seen = served.server.seen();
    let of_nodes = seen.iter().filter(|seen| seen.path.contains("/nodes/"));
    assert_eq!(of_nodes.count(), 1);
}

/// An editor leaves a line break behind a token, a script two tokens in one.
#[test]
fn a_token_with_a_line_break_is_trimmed_or_named() {
    const NONE: &str =
        "is no token: it is empty, or has a space, a line break or another character that none has";
    let server = serve(Lists::of(objects("openstack.json")), Options::default());
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (config, file, program) = (path("config"), path("token"), path("login"));
    let in_file = format!("tokenFile: {file}");
    let by_program =
        format!("exec: {{apiVersion: client.authentication.k8s.io/v1, command: {program}}}");
    let told = |token: &str, user: &str| {
        std::fs::write(&file, token).unwrap();
        let credential = json!({ "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": { "token": token } });
        script(Path::new(&program), &format!("cat <<'E'\n{credential}\nE"));
        let user = match user {
            "" => format!("token: {}", json!(token)),
            user => user.to_owned(),
        };
        std::fs::write(&config, server.server.kubeconfig(&user)).unwrap();
        audit(&["--policy", POLICY, "--kubeconfig", &config])
    };
    let of_program = format!("exec: {program}");
    for (user, field) in [
        ("", "token"),
        (&*in_file, "tokenFile"),
        (&*by_program, &*of_program),
    ] {
        let (out, err, exit) = told(&format!("{ADMIN_TOKEN}\r\n"), user);
        assert_eq!((err.as_str(), exit), ("", Exit::Done), "{field}: {out}");
        for token in ["a\nb", "a b", "", "\n", "\u{e9}"] {
            let (out, err, exit) = told(token, user);
            let wanted = format!("skewguard: {config}: users[kubelet].user.{field}: {NONE}\n");
            assert_eq!((out.as_str(), err, exit), ("", wanted, Exit::Failed));
        }
    }
}

/// 300 MB, which are not kept.
#[test]
fn a_program_for_credentials_may_not_print_without_end() {
    let server = serve(Lists::of(objects("openstack.json")), Options::default());
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("login");
    script(&program, "exec cat /dev/zero");
    let user = format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, command: {}}}",
        program.display()
    );
    let config = dir.path().join("config");
    std::fs::write(&config, server.server.kubeconfig(&user)).unwrap();
    let (out, err, exit) = audit(&["--kubeconfig", config.to_str().unwrap()]);
    let wanted = format!(
        "skewguard: {}: users[kubelet].user.exec: {}: printed more than 1048576 bytes; run it by hand to see why\n",
        config.display(),
        program.display()
    );
    assert_eq!((out.as_str(), err, exit), ("", wanted, Exit::Failed));
}

/// The address is told, and who logs in there is not.
#[test]
fn a_password_in_the_servers_address_is_not_told() {
    let server = serve(Lists::of(objects("openstack.json")), Options::default());
    let text = std::fs::read_to_string(&server.kubeconfig).unwrap();
    let url = server.server.url();
    let with =
        |url: &str| std::fs::write(&server.kubeconfig, text.replace(&server.server.url(), url));
    with(&url.replace("https://", "https://u:S3cr3t@")).unwrap();
    let (found, exit) = told(&server, &[]);
    assert_eq!(
        (&found["origin"]["server"], exit),
        (&json!(url), Exit::Done)
    );
    with("https://u:S3cr3t@127.0.0.1:1").unwrap();
    let (out, err, exit) = audit(&["--kubeconfig", server.kubeconfig.to_str().unwrap()]);
    let refused = "connection refused: nothing listens there, or a firewall rejects it";
    let wanted =
        format!("skewguard: {refused}; trying again\nskewguard: https://127.0.0.1:1: {refused}\n");
    assert_eq!((out.as_str(), err, exit), ("", wanted, Exit::Failed));
}

#[test]
fn a_device_is_no_file() {
    for device in ["/dev/zero", "/dev/urandom", "/dev/null"] {
        for command in ["audit", "why"] {
            let (out, err, exit) = run(&[command, "--from", device]);
            assert_eq!((out.as_str(), exit), ("", Exit::Failed));
            let wanted = format!("skewguard: {device}: is a device, not a file\n");
            assert!(err.starts_with(&wanted), "{err}");
        }
    }
    // Zeros are an archive without files.
    let zeros = dir_with_zeros();
    let (_, err, _) = run(&["audit", "--from", zeros.1.to_str().unwrap()]);
    let wanted = "zeros.tar: is broken, or was cut short: goes on behind its end\n";
    assert!(err.contains(wanted), "{err}");
}

fn dir_with_zeros() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("zeros.tar");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(20 << 20).unwrap();
    (dir, path)
}

/// A log of 3 MB whose times go back and forth, each error of any of thousands of requests. The kernel gives the
/// program no more than 100 MiB of memory of its own (setrlimit(2), `RLIMIT_DATA`).
#[test]
fn a_log_whose_times_go_back_and_forth_takes_little_memory() {
    let mut log = String::new();
    let mut n = 0;
    while log.len() < 3 << 20 {
        let hour = [10, 11][n % 2];
        let time = format!("{hour}:{:02}:{:02}.000000", n / 60 % 60, n % 60);
        let address = format!("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255);
        log += &format!(
            "I0820 {time}       1 api.go:119] Pool \"worker\" requested by address:\"{address}:40312\" User-Agent:\"Ignition/2.14.0\" Accept-Header: \"application/vnd.coreos.ignition+json;version=3.3.0, */*;q=0.1\"\n"
        );
        if n % 50 == 0 {
            log += &format!(
                "E0820 {time}       1 api.go:136] couldn't get config for req: {{worker 0xc0}}, error: could not fetch pool. err: x{n}\n"
            );
        }
        n += 1;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mcs-1.log"), log).unwrap();
    let machine = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": { "name": "m", "namespace": "openshift-machine-api", "creationTimestamp": "2026-08-20T10:00:00Z" } });
    std::fs::write(dir.path().join("machine.json"), machine.to_string()).unwrap();
    let run = |kib: u32| {
        let limited = format!("ulimit -d {kib} && exec \"$0\" why -o json --from \"$1\"");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_kubectl-skewguard")]);
        command.arg(dir.path()).output().unwrap()
    };
    let output = run(100 << 10);
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(
        found["serverLog"]["requests"], n,
        "{:#}",
        found["serverLog"]
    );
    assert!(!run(1 << 10).status.success(), "the limit works");
}
