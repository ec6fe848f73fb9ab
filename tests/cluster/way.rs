//! The two transports, so that a test runs over both.

use crate::support::apiserver::{ApiServer, BOOTSTRAP_TOKEN};
use serde_json::json;
use skewguard::kubeconfig::{Allow, Kubeconfig, load};
use skewguard::node::Root;
use skewguard::transport::{
    CURL, Choice, Failure, Limits, Request, Response, Transport, TransportError,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Both, unless this is the embed build, which has only curl.
pub(crate) fn both() -> Vec<Choice> {
    assert!(
        Path::new(CURL).exists(),
        "{CURL} is missing: install the Debian package curl"
    );
    if cfg!(feature = "tls") {
        vec![Choice::Tls, Choice::Curl]
    } else {
        vec![Choice::Curl]
    }
}

/// A kubeconfig as a node finds it: written, then loaded.
pub(crate) fn loaded(text: &str) -> Kubeconfig {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("kubeconfig"), text).unwrap();
    load(
        &Root::open(dir.path()).unwrap(),
        "/kubeconfig",
        Allow { insecure: true },
    )
    .unwrap()
}

/// The bootstrap identity of this server.
pub(crate) fn bootstrap(server: &ApiServer) -> Kubeconfig {
    loaded(&server.kubeconfig(&format!("token: {BOOTSTRAP_TOKEN}")))
}

/// Short enough for tests that wait for the end of it; curl counts in whole seconds.
pub(crate) fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(1),
        total: Duration::from_secs(2),
        ..Limits::default()
    }
}

pub(crate) fn transport(choice: Choice, kubeconfig: &Kubeconfig, limits: Limits) -> Transport {
    Transport::new(choice, kubeconfig, limits, PathBuf::from(CURL)).unwrap()
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Sends one request with the limits of a test that does not wait.
pub(crate) fn send(
    choice: Choice,
    kubeconfig: &Kubeconfig,
    request: &Request,
) -> Result<Response, TransportError> {
    block_on(transport(choice, kubeconfig, Limits::default()).send(request))
}

/// The failure of one request, with short limits.
pub(crate) fn failure(choice: Choice, kubeconfig: &Kubeconfig, request: &Request) -> Failure {
    let answer = block_on(transport(choice, kubeconfig, limits()).send(request));
    answer
        .map(|response| response.status)
        .expect_err(&format!("over {choice:?}"))
        .failure
}

/// An Event that the cluster accepts from a node; its name begins with `name`.
pub(crate) fn event(name: &str) -> Request {
    let body = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": { "name": format!("{name}-0123456789abcdef.1"), "namespace": "skewguard" },
        "eventTime": "2026-01-02T03:04:05.678901Z",
        "reportingController": "skewguard.dev/agent", "reportingInstance": "worker-0",
        "action": "Refuse", "reason": "BelowMinimumOCPVersion", "type": "Warning", "note": "quotes \" and \\ and ~",
        "regarding": { "apiVersion": "v1", "kind": "Namespace", "name": "skewguard", "namespace": "skewguard" },
    });
    Request {
        method: "POST",
        path: "/apis/events.k8s.io/v1/namespaces/skewguard/events".to_owned(),
        body: body.to_string().into_bytes(),
    }
}
