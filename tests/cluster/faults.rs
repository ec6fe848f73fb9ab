//! Faults that only the test API server can be made to have.

use crate::cluster::node::{Node, Over, transports};
use crate::cluster::target::{bootstrap, join};
use crate::support::apiserver::{
    ADMIN_TOKEN, ApiServer, BOOTSTRAP_TOKEN, BOOTSTRAP_USER, Fault, Options, Validity,
};

fn server(options: Options) -> ApiServer {
    ApiServer::start(options)
}

/// What a refused node's report prints when it talks to that server.
fn said(server: &ApiServer, over: Over) -> (Vec<String>, i32) {
    let node = Node::refused("worker-7", over);
    bootstrap(server, &node);
    let (said, status) = node.report();
    for secret in [BOOTSTRAP_TOKEN, ADMIN_TOKEN, "PRIVATE KEY"] {
        assert!(!said.contains(secret), "{over:?}");
    }
    (said.lines().map(str::to_owned).collect(), status)
}

/// Cuts the random part from a line.
fn without_dice(line: &str) -> String {
    match line.split_once("worker-7-") {
        Some((start, rest)) => format!("{start}worker-7-…{}", rest.get(16..).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[test]
fn without_the_crd_the_event_still_arrives() {
    for over in transports() {
        let server = server(Options {
            crd: false,
            ..Options::default()
        });
        let (lines, status) = said(&server, over);
        assert_eq!(
            lines
                .iter()
                .map(|line| without_dice(line))
                .collect::<Vec<_>>(),
            [
                "skewguard: report not delivered: 404: the cluster has no bootimagereports.skewguard.dev (the server gives no reason); to have reports: oc skewguard render manifests | oc apply -f -",
                "skewguard: event delivered: worker-7-…"
            ],
            "{over:?}"
        );
        assert_eq!(status, 1, "{over:?}");
        assert_eq!(
            server.objects("events")[0]["regarding"]["kind"],
            "Namespace"
        );
    }
}

#[test]
fn without_the_role_the_journal_names_it() {
    for over in transports() {
        let server = server(Options {
            granted: false,
            ..Options::default()
        });
        let (lines, status) = said(&server, over);
        let expected = |channel: &str, resource: &str, plural: &str, group: &str| {
            format!(
                "skewguard: {channel} not delivered: 403: this identity may not create {resource}: the Role skewguard-report in the \
                 namespace skewguard is missing there; this grants it: oc skewguard render manifests | oc apply -f - \
                 ({plural} is forbidden: User \"{BOOTSTRAP_USER}\" cannot create resource \"{plural}\" in API group \"{group}\" in the \
                 namespace \"skewguard\")"
            )
        };
        assert_eq!(
            lines
                .iter()
                .map(|line| without_dice(line))
                .collect::<Vec<_>>(),
            [
                expected(
                    "report",
                    "bootimagereports.skewguard.dev",
                    "bootimagereports",
                    "skewguard.dev"
                ),
                expected("event", "events.events.k8s.io", "events", "events.k8s.io")
            ],
            "{over:?}"
        );
        assert_eq!(status, 1);
    }
}

#[test]
fn one_channels_trouble_is_not_the_others() {
    let faults = [
        Fault::Status {
            code: 500,
            retry_after: None,
        },
        Fault::Status {
            code: 429,
            retry_after: Some(1),
        },
        Fault::Status {
            code: 422,
            retry_after: None,
        },
        Fault::ResetConnection,
        Fault::PlainHttp,
        Fault::Close,
        Fault::Garbage,
        Fault::Huge,
        Fault::Page(200),
        Fault::Page(201),
        Fault::Page(403),
        Fault::Page(404),
        Fault::Redirect("https://elsewhere.example.com/".to_owned()),
    ];
    let test = |over: Over, fault: &Fault| {
        let server = server(Options {
            faults: vec![fault.clone()],
            ..Options::default()
        });
        let (lines, status) = said(&server, over);
        assert_eq!(lines.len(), 2, "{over:?} {fault:?}: {lines:?}");
        assert!(
            lines[0].starts_with("skewguard: report not delivered: "),
            "{over:?} {fault:?}: {lines:?}"
        );
        assert!(
            lines[1].starts_with("skewguard: event delivered: worker-7-"),
            "{over:?} {fault:?}: {lines:?}"
        );
        assert_eq!(status, 1);
    };
    // All at once: a node waits for a random part of a few seconds before it reports.
    for over in transports() {
        std::thread::scope(|scope| {
            for fault in &faults {
                scope.spawn(|| test(over, fault));
            }
        });
    }
}

#[test]
fn certificates_that_do_not_fit_are_told_apart() {
    for over in transports() {
        for (validity, words) in [
            (
                Validity::WrongName,
                "the server's certificate is not for 127.0.0.1",
            ),
            (
                Validity::UnknownCa,
                "the server's certificate is not signed by the CA in the kubeconfig",
            ),
            (Validity::Expired, "the server's certificate has expired"),
            (
                Validity::NotYetValid,
                "the server's certificate is not valid yet",
            ),
        ] {
            let server = server(Options {
                validity,
                ..Options::default()
            });
            let (lines, status) = said(&server, over);
            assert!(
                lines.iter().all(|line| line.contains(words)) && lines.len() == 2,
                "{over:?} {validity:?}: {lines:?}"
            );
            assert_eq!(status, 1);
            assert!(
                server.seen().iter().all(|seen| seen.path.is_empty()),
                "nothing is sent before the server is known"
            );
        }
    }
}

#[test]
fn a_node_that_is_not_registered_yet_is_tried_again() {
    for over in transports() {
        let server = server(Options::default());
        let node = Node::new("worker-0", over);
        node.write(
            "var/lib/skewguard/verdict.json",
            &serde_json::to_string(&crate::cluster::node::verdict("rhcos-4.18-allowed")).unwrap(),
        );
        join(&server, &node);
        server.fault(Fault::Status {
            code: 404,
            retry_after: None,
        });
        let (said, status) = node.report();
        assert!(
            said.starts_with("skewguard: node label not delivered: 404: the cluster has no nodes"),
            "{said}"
        );
        assert!(
            said.ends_with("the kubelet has not registered this Node yet\n"),
            "{said}"
        );
        assert_eq!(status, 1);
        let (said, status) = node.report();
        assert_eq!(
            (said.as_str(), status),
            ("skewguard: node label delivered: worker-0\n", 0),
            "{over:?}"
        );
    }
}

#[test]
fn a_kubelet_that_gives_no_name_is_named() {
    let server = server(Options::default());
    for over in transports() {
        let joined = || {
            let node = Node::new("worker-0", over);
            node.write(
                "var/lib/skewguard/verdict.json",
                &serde_json::to_string(&crate::cluster::node::verdict("rhcos-4.18-allowed"))
                    .unwrap(),
            );
            join(&server, &node);
            node
        };
        let (pem, kubeconfig) = (
            "var/lib/kubelet/pki/kubelet-client-current.pem",
            "var/lib/kubelet/kubeconfig",
        );
        let gone = joined();
        std::fs::remove_file(gone.path(pem)).unwrap();
        let other = joined();
        other.write(pem, &{
            let pair = server.client("system:admin", "system:masters");
            format!("{}{}", pair.certificate, pair.key_sec1())
        });
        let token = joined();
        token.write(
            kubeconfig,
            &server.kubeconfig(&format!("token: {ADMIN_TOKEN}")),
        );
        for (node, why) in [
            (
                gone,
                "users[kubelet].user.client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem: there is no such file",
            ),
            (
                other,
                "its client certificate is not a node's: its common name is \"system:admin\", not \"system:node:NAME\"",
            ),
            (token, "has no client certificate"),
        ] {
            let said = format!(
                "skewguard: node label not delivered: /var/lib/kubelet/kubeconfig: {why}\n"
            );
            assert_eq!(node.report(), (said, 1), "{over:?}");
        }
    }
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_named() {
    for over in transports() {
        for (text, words) in [
            (None, "/etc/kubernetes/kubeconfig: there is no such file"),
            (Some(""), "/etc/kubernetes/kubeconfig: "),
            (Some("[[[["), "/etc/kubernetes/kubeconfig: "),
            (
                Some("current-context: nowhere\n"),
                "/etc/kubernetes/kubeconfig: ",
            ),
        ] {
            let node = Node::refused("worker-7", over);
            if let Some(text) = text {
                node.write("etc/kubernetes/kubeconfig", text);
            }
            let (said, status) = node.report();
            assert!(
                said.lines().count() == 2 && said.lines().all(|line| line.contains(words)),
                "{over:?}: {said}"
            );
            assert_eq!(status, 1);
        }
    }
}

/// The unit has MemoryMax=64M. Without bounds the worst YAML took 214 MB.
#[test]
fn a_hostile_kubeconfig_takes_no_more_memory_than_the_unit_has() {
    let node = Node::refused("worker-7", transports()[0]);
    node.write(
        "etc/kubernetes/kubeconfig",
        &format!("[{}", ":,".repeat(256 * 1024 - 1)),
    );
    let agent = node.command();
    let mut limited = std::process::Command::new("/bin/sh");
    limited
        .args(["-c", "ulimit -d 65536 && exec \"$0\" \"$@\" --once"])
        .arg(agent.get_program())
        .args(agent.get_args());
    let output = limited.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("/etc/kubernetes/kubeconfig: is larger or deeper than any kubeconfig"),
        "{said}"
    );
}

#[test]
fn the_message_on_the_console_follows() {
    use skewguard::console::{Context, update};
    let server = server(Options {
        granted: false,
        ..Options::default()
    });
    let node = Node::refused("worker-7", Over::Curl);
    bootstrap(&server, &node);
    let root = skewguard::node::Root::open(&node.path("")).unwrap();
    let issue = || std::fs::read_to_string(node.path("etc/issue")).unwrap();
    node.write("etc/issue", "\\S\n");
    update(
        &root,
        &crate::cluster::node::verdict("rhcos-4.12-refused"),
        &Context::default(),
    )
    .unwrap();
    let before = issue();
    node.report();
    let cannot = issue();
    assert_ne!(cannot, before);
    assert!(
        cannot.contains("403, the Role skewguard-report is missing there"),
        "{cannot}"
    );
    let granted = self::server(Options::default());
    bootstrap(&granted, &node);
    node.report();
    let knows = issue();
    let report = granted.objects("bootimagereports")[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(knows.contains(&report) && !knows.contains("403"), "{knows}");
    assert!(knows.ends_with("\\S\n"), "what was there is still there");
}
