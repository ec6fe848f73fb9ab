//! Servers that are no API server, and servers that do not answer: one sentence, whatever was asked, and no
//! longer than a request may take.

use super::run;
use super::served::{Served, serve};
use crate::support::apiserver::{Fault, Lists, Options};
use skewguard_admin::cli::Exit;

const REMEDY: &str = "look at `server` of the kubeconfig, such as https://api.CLUSTER.DOMAIN:6443";

/// Commands that read a cluster.
const COMMANDS: [&[&str]; 3] = [&["audit"], &["why"], &["policy", "init", "--from-cluster"]];

fn always(fault: Fault) -> Served {
    serve(
        Lists::of(Vec::new()),
        Options {
            faults: vec![fault; 1000],
            ..Options::default()
        },
    )
}

fn said(served: &Served, command: &[&str]) -> String {
    let kubeconfig = ["--kubeconfig", served.kubeconfig.to_str().unwrap()];
    let (out, err, exit) = run(&[command, &kubeconfig].concat());
    assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{command:?}");
    err.replace(&served.server.url(), "URL")
}

#[test]
fn another_server_is_told_in_one_sentence() {
    for (fault, what) in [
        (
            Fault::Page(200),
            "it answers /api with 200 and a page of HTML",
        ),
        (
            Fault::Page(401),
            "it answers /api with 401 and a page of HTML",
        ),
        (
            Fault::Page(403),
            "it answers /api with 403 and a page of HTML",
        ),
        (
            Fault::Page(404),
            "it answers /api with 404 and a page of HTML",
        ),
        (
            Fault::Redirect("https://login.example.com/?token=x".to_owned()),
            "it answers /api with 302 and names another place",
        ),
        (Fault::PlainHttp, "it does not speak TLS on this port"),
        (
            Fault::Garbage,
            "it speaks TLS on this port, and something else than HTTP",
        ),
    ] {
        let served = always(fault.clone());
        for command in COMMANDS {
            assert_eq!(
                said(&served, command),
                format!("skewguard: URL: this is not a Kubernetes API server: {what}; {REMEDY}\n"),
                "{fault:?} {command:?}"
            );
        }
    }
}

/// A load balancer without a server behind it.
#[test]
fn a_page_of_a_load_balancer_is_asked_for_again() {
    let served = always(Fault::Page(503));
    let wanted = format!(
        "skewguard: 503; the response is not from a Kubernetes API server; trying again\n\
         skewguard: URL: this is not a Kubernetes API server: it answers /api with 503 and a page of HTML; {REMEDY}\n"
    );
    assert_eq!(said(&served, &["audit"]), wanted);
}

/// It is asked once: the tries together have the time of one request.
#[test]
fn a_server_that_hangs_is_left_when_the_time_is_up() {
    let whole = "no answer in time: the server did not answer, or not whole";
    let silent = "no answer in time: the server said nothing, not even in TLS; a firewall may drop what is sent to it";
    for (fault, command, what) in [
        (Fault::Hang, "audit", whole),
        (Fault::Hang, "why", whole),
        (Fault::Drip, "audit", whole),
        (Fault::SilentConnection, "audit", silent),
    ] {
        let served = always(fault.clone());
        assert_eq!(
            said(&served, &[command, "--request-timeout", "2s"]),
            format!("skewguard: URL: {what}\n"),
            "{fault:?}"
        );
        assert!(served.server.seen().len() <= 1, "{fault:?}");
    }
}

#[test]
fn a_connection_that_breaks_is_tried_again_and_told_without_a_number() {
    for (fault, what) in [
        (Fault::Close, "the connection was cut off"),
        (
            Fault::ResetConnection,
            "the server cannot be reached: Connection reset by peer",
        ),
    ] {
        let wanted = format!("skewguard: {what}; trying again\nskewguard: URL: {what}\n");
        assert_eq!(said(&always(fault), &["audit"]), wanted);
    }
}
