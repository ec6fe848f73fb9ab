//! Servers that are down, slow or hostile, or are no API servers.

use crate::cluster::way::{
    block_on, bootstrap, both, event, failure, limits, loaded, send, transport,
};
use crate::support::apiserver::{ApiServer, BOOTSTRAP_TOKEN, Fault, Options};
use skewguard::report::answer::{Answer, Channel, Retry};
use skewguard::transport::{CURL, Choice, Failure, Limits, Transport};
use std::path::PathBuf;
use std::time::Duration;

/// Each fault has the same text over both transports.
#[test]
fn every_fault_has_its_name() {
    let server = ApiServer::start(Options::default());
    let max = Limits::default().body;
    type Fits = fn(&Failure) -> bool;
    let table: [(Fault, Fits); 11] = [
        (Fault::ResetConnection, |f| matches!(f, Failure::Reset(_))),
        (Fault::SilentConnection, |f| *f == Failure::ConnectTimeout),
        (Fault::PlainHttp, |f| matches!(f, Failure::Tls(_))),
        (Fault::Garbage, |f| matches!(f, Failure::Malformed(_))),
        (Fault::Close, |f| matches!(f, Failure::Reset(_))),
        (Fault::Reset, |f| matches!(f, Failure::Reset(_))),
        (Fault::Hang, |f| *f == Failure::AnswerTimeout),
        (Fault::Drip, |f| *f == Failure::AnswerTimeout),
        (Fault::Huge, |f| matches!(f, Failure::TooLarge(524_288))),
        (Fault::HugeWithLength, |f| {
            matches!(f, Failure::TooLarge(524_288))
        }),
        (
            Fault::Redirect("https://elsewhere.example.com/".to_owned()),
            |f| *f == Failure::Redirect(302),
        ),
    ];
    assert_eq!(max, 524_288);
    for (fault, fits) in table {
        for choice in both() {
            server.fault(fault.clone());
            let failure = failure(choice, &bootstrap(&server), &event("e"));
            assert!(fits(&failure), "{choice:?} {fault:?}: {failure:?}");
        }
    }
    assert!(server.objects("events").is_empty());
}

#[test]
fn a_server_that_comes_up_late_gets_the_report() {
    let server = ApiServer::start(Options {
        refuse_for: Duration::from_secs(3600),
        ..Options::default()
    });
    for (n, choice) in both().into_iter().enumerate() {
        server.set_up(false);
        let request = event(&format!("event-{n}"));
        let over = transport(choice, &bootstrap(&server), limits());
        let statuses = block_on(async {
            let refused = over.send(&request).await.unwrap_err().failure;
            assert_eq!(refused, Failure::Refused, "{choice:?}");
            server.set_up(true);
            // Until the listener is there.
            loop {
                if let Ok(response) = over.send(&request).await {
                    return response.status;
                }
            }
        });
        assert_eq!(statuses, 201, "{choice:?}");
        // A kept connection is cut; the next request notices, and does not hang.
        server.set_up(false);
        let failure = block_on(over.send(&event("late"))).unwrap_err().failure;
        assert!(
            matches!(failure, Failure::Refused | Failure::Reset(_)),
            "{choice:?} {failure:?}"
        );
    }
}

#[test]
fn a_name_that_does_not_resolve_is_named() {
    let server = ApiServer::start(Options::default());
    let text = server
        .kubeconfig("token: no-such-token")
        .replace("127.0.0.1", "api-int.skewguard.invalid");
    // The name to connect to, whatever the certificate is to be for.
    let renamed = text.replace(
        "    server:",
        "    tls-server-name: kubernetes.default\n    server:",
    );
    assert_ne!(text, renamed);
    for (choice, text) in both()
        .into_iter()
        .flat_map(|choice| [(choice, &text), (choice, &renamed)])
    {
        let failure = failure(choice, &loaded(text), &event("e"));
        let host = match &failure {
            Failure::Resolve(host, _) => host,
            other => panic!("{choice:?} {other:?}"),
        };
        assert_eq!(host, "api-int.skewguard.invalid");
    }
}

#[test]
fn statuses_are_explained_and_retry_after_is_heard() {
    let read = |result| match Answer::read(Channel::Event, result) {
        Answer::Failed { retry, why, .. } => Err((retry, why)),
        Answer::Delivered { already, .. } => Ok(already),
    };
    let server = ApiServer::start(Options::default());
    let ask = |choice: Choice, token: &str, name: &str| {
        let kubeconfig = loaded(&server.kubeconfig(&format!("token: {token}")));
        read(block_on(
            transport(choice, &kubeconfig, limits()).send(&event(name)),
        ))
    };
    for choice in both() {
        for (code, retry_after, retry) in [
            (429, Some(7), Retry::After(Duration::from_secs(7))),
            (503, Some(1), Retry::After(Duration::from_secs(1))),
            (503, None, Retry::Backoff),
            (500, None, Retry::Backoff),
            (422, None, Retry::Slowly),
        ] {
            server.fault(Fault::Status { code, retry_after });
            let (found, why) = ask(choice, BOOTSTRAP_TOKEN, "e").unwrap_err();
            assert_eq!(found, retry, "{choice:?} {code}");
            assert!(why.ends_with(&format!("(scripted {code})")), "{why}");
        }
        let name = format!("twice-{choice:?}").to_lowercase();
        assert_eq!(ask(choice, BOOTSTRAP_TOKEN, &name), Ok(false));
        assert_eq!(
            ask(choice, BOOTSTRAP_TOKEN, &name),
            Ok(true),
            "{choice:?}: it exists already"
        );
        let (retry, why) = ask(choice, "other", "e").unwrap_err();
        assert!(
            retry == Retry::Slowly && why.starts_with("401: ") && why.ends_with("(Unauthorized)"),
            "{choice:?}: {why}"
        );
    }
    let server = ApiServer::start(Options {
        granted: false,
        ..Options::default()
    });
    for choice in both() {
        let (_, why) = read(block_on(
            transport(choice, &bootstrap(&server), limits()).send(&event("e")),
        ))
        .unwrap_err();
        let user = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
        let message = format!(
            "events is forbidden: User \"{user}\" cannot create resource \"events\" in API group \"events.k8s.io\" in the namespace \"skewguard\""
        );
        let role = "the Role skewguard-report in the namespace skewguard is missing there; this grants it: \
                    oc skewguard render manifests | oc apply -f -";
        assert_eq!(
            why,
            format!("403: this identity may not create events.events.k8s.io: {role} ({message})"),
            "{choice:?}"
        );
    }
}

#[test]
fn a_curl_that_is_not_there_or_is_no_curl_is_a_failure_of_ours() {
    let server = ApiServer::start(Options::default());
    let table = [
        (
            "/nonexistent/curl",
            "/nonexistent/curl: No such file or directory (os error 2)",
        ),
        ("/bin/false", "curl: exit 1: "),
        ("/bin/true", "curl: exit 0: "),
    ];
    for (program, says) in table {
        let transport = Transport::new(
            Choice::Curl,
            &bootstrap(&server),
            limits(),
            PathBuf::from(program),
        )
        .unwrap();
        let error = block_on(transport.send(&event("e"))).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{}: the request could not be sent: {says}", server.url()),
            "{program}"
        );
    }
    assert!(server.seen().is_empty());
}

/// A curl that does not keep its own time limit is killed, and so is one whose caller gives up.
#[test]
fn no_curl_stays_behind() {
    let server = ApiServer::start(Options {
        faults: vec![Fault::Hang],
        ..Options::default()
    });
    assert!(
        PathBuf::from(CURL).exists(),
        "{CURL} is missing: install the Debian package curl"
    );
    let over = transport(
        Choice::Curl,
        &bootstrap(&server),
        Limits {
            total: Duration::from_secs(3600),
            ..Limits::default()
        },
    );
    let port = server.address.port();
    block_on(async {
        let gave_up = tokio::time::timeout(Duration::from_secs(2), over.send(&event("e"))).await;
        assert!(gave_up.is_err());
        assert!(
            crate::cluster::secrets::curls_to(port).is_empty(),
            "who gives up kills it and waits for its end"
        );
    });
    assert_eq!(server.seen().len(), 1);
    let _ = send(Choice::Curl, &bootstrap(&server), &event("e")).unwrap();
}

/// skewguard-report.service has `MemoryMax=64M`: a body of 1 GiB must not get the node's report
/// killed.
#[test]
fn a_body_of_a_gibibyte_does_not_fill_the_memory() {
    for over in crate::cluster::node::transports() {
        let faults = vec![Fault::Huge, Fault::HugeWithLength];
        let server = ApiServer::start(Options {
            faults,
            ..Options::default()
        });
        let node = crate::cluster::node::Node::refused("worker-7", over);
        crate::cluster::target::bootstrap(&server, &node);
        // prlimit(1) gives each of its processes that much memory (RLIMIT_DATA).
        let (said, status) = node.report_within(32 << 20);
        assert_eq!(
            said.matches("the answer is longer than 524288 bytes; the rest was not read")
                .count(),
            2,
            "{over:?}: {said}"
        );
        assert_eq!(status, 1);
    }
}
