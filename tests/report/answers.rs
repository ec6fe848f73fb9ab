use crate::report::answer::{Answer, Channel, Retry};
use crate::transport::{Failure, Response, TransportError};
use std::time::Duration;

fn answer(channel: Channel, status: u16, body: &str) -> Answer {
    Answer::read(
        channel,
        Ok(Response {
            status,
            retry_after: None,
            body: body.as_bytes().to_vec(),
        }),
    )
}

fn why(answer: Answer) -> (Retry, String) {
    match answer {
        Answer::Failed { retry, why, .. } => (retry, why),
        Answer::Delivered { .. } => panic!("delivered"),
    }
}

const FORBIDDEN: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"bootimagereports.skewguard.dev is forbidden: User \"a\" cannot create resource \"bootimagereports\"","reason":"Forbidden","code":403}"#;

#[test]
fn created_is_delivered_and_tells_the_uid() {
    let body = r#"{"kind":"BootImageReport","metadata":{"name":"a","uid":"7c1f6b1e-8f0a-4d5e-9d55-0a1b2c3d4e5f"}}"#;
    let uid = Some("7c1f6b1e-8f0a-4d5e-9d55-0a1b2c3d4e5f".to_owned());
    assert_eq!(
        answer(Channel::Report, 201, body),
        Answer::Delivered {
            uid,
            already: false
        }
    );
    let node = r#"{"kind":"PartialObjectMetadata","metadata":{"name":"worker-0"}}"#;
    assert_eq!(
        answer(Channel::Node, 200, node),
        Answer::Delivered {
            uid: None,
            already: false
        }
    );
}

#[test]
fn already_there_is_delivered_but_another_conflict_is_not() {
    let exists =
        r#"{"kind":"Status","message":"\"a\" already exists","reason":"AlreadyExists","code":409}"#;
    assert_eq!(
        answer(Channel::Report, 409, exists),
        Answer::Delivered {
            uid: None,
            already: true
        }
    );
    assert_eq!(
        answer(Channel::Event, 409, exists),
        Answer::Delivered {
            uid: None,
            already: true
        }
    );
    assert_eq!(why(answer(Channel::Node, 409, exists)).0, Retry::Backoff);
    let quota = r#"{"kind":"Status","message":"the object has been modified","reason":"Conflict","code":409}"#;
    assert_eq!(why(answer(Channel::Report, 409, quota)).0, Retry::Backoff);
}

#[test]
fn a_403_names_the_role_and_the_manifest_that_grants_it() {
    assert_eq!(
        why(answer(Channel::Report, 403, FORBIDDEN)),
        (
            Retry::SlowlyIfRepeated,
            "403: this identity may not create bootimagereports.skewguard.dev: the Role skewguard-report in the namespace skewguard is \
             missing there; this grants it: oc skewguard render manifests | oc apply -f - \
             (bootimagereports.skewguard.dev is forbidden: User \"a\" cannot create resource \"bootimagereports\")"
                .to_owned()
        )
    );
    let (retry, said) = why(answer(Channel::Event, 403, FORBIDDEN));
    assert_eq!(retry, Retry::SlowlyIfRepeated);
    assert!(
        said.starts_with(
            "403: this identity may not create events.events.k8s.io: the Role skewguard-report"
        ),
        "{said}"
    );
    // The Role is there, so the message must not blame it.
    for message in [
        r#"bootimagereports.skewguard.dev \"a\" is forbidden: exceeded quota: q, requested: count/bootimagereports.skewguard.dev=1"#,
        r#"bootimagereports.skewguard.dev \"a\" is forbidden: unable to create new content in namespace skewguard because it is being terminated"#,
        r#"admission webhook \"a.example.com\" denied the request: no"#,
    ] {
        let body =
            format!(r#"{{"kind":"Status","message":"{message}","reason":"Forbidden","code":403}}"#);
        let said = why(answer(Channel::Report, 403, &body));
        assert_eq!(
            said,
            (
                Retry::SlowlyIfRepeated,
                format!(
                    "403: the cluster forbids it ({})",
                    message.replace('\\', "")
                )
            )
        );
    }
}

#[test]
fn a_yes_that_no_api_server_gives_is_no_delivery() {
    let said = "not a Kubernetes API response; check for a load balancer or proxy at this address";
    for status in [200, 201, 202, 204] {
        for body in [
            "",
            "<html>Log in</html>",
            r#"{"kind":"Status","status":"Success","metadata":{}}"#,
            r#"{"metadata":{"uid":"u"}}"#,
        ] {
            assert_eq!(
                why(answer(Channel::Report, status, body)),
                (Retry::Slowly, format!("{status}, {said}")),
                "{body}"
            );
            assert_eq!(why(answer(Channel::Node, status, body)).0, Retry::Slowly);
        }
    }
    for status in [401, 403, 404, 409, 422] {
        assert_eq!(
            why(answer(Channel::Event, status, "<html>")),
            (Retry::Slowly, format!("{status}, {said}"))
        );
    }
}

#[test]
fn a_404_is_another_thing_on_every_channel() {
    let body = "404 page not found\n";
    let report = why(answer(Channel::Report, 404, body));
    assert_eq!(report.0, Retry::Unserved);
    assert_eq!(
        report.1,
        "404: the cluster has no bootimagereports.skewguard.dev (the server gives no reason); \
         to have reports: oc skewguard render manifests | oc apply -f -"
    );
    assert_eq!(why(answer(Channel::Event, 404, body)).0, Retry::Slowly);
    let namespace = r#"{"kind":"Status","message":"namespaces \"skewguard\" not found","reason":"NotFound","code":404}"#;
    for channel in [Channel::Report, Channel::Event] {
        let said = "404: the cluster has no such namespace (namespaces \"skewguard\" not found); it is made by: oc skewguard render manifests | oc apply -f -";
        assert_eq!(
            why(answer(channel, 404, namespace)),
            (Retry::Slowly, said.to_owned())
        );
    }
    assert_eq!(why(answer(Channel::Node, 404, body)).0, Retry::Backoff);
}

#[test]
fn what_a_person_has_to_mend_is_retried_slowly_and_what_passes_is_not() {
    for status in [400, 401, 405, 413, 415, 422] {
        assert_eq!(
            why(answer(Channel::Report, status, FORBIDDEN)).0,
            Retry::Slowly,
            "{status}"
        );
    }
    for status in [408, 429, 500, 502, 503, 504] {
        assert_eq!(
            why(answer(Channel::Report, status, FORBIDDEN)).0,
            Retry::Backoff,
            "{status}"
        );
    }
    let after = Response {
        status: 429,
        retry_after: Some(Duration::from_secs(7)),
        body: Vec::new(),
    };
    assert_eq!(
        why(Answer::read(Channel::Event, Ok(after))).0,
        Retry::After(Duration::from_secs(7))
    );
    let failure = |failure| TransportError {
        server: Some("https://api-int.c1.example.com:6443".to_owned()),
        failure,
    };
    assert_eq!(
        why(Answer::read(Channel::Event, Err(failure(Failure::Refused)))).0,
        Retry::Backoff
    );
    assert_eq!(
        why(Answer::read(
            Channel::Event,
            Err(failure(Failure::Redirect(302)))
        ))
        .0,
        Retry::Slowly
    );
    let setup = Answer::read(
        Channel::Event,
        Err(TransportError::setup(
            "/etc/kubernetes/kubeconfig: there is no such file",
        )),
    );
    assert_eq!(
        why(setup),
        (
            Retry::Slowly,
            "/etc/kubernetes/kubeconfig: there is no such file".to_owned()
        )
    );
}

#[test]
fn hostile_bodies_are_no_reason() {
    for body in [
        "",
        "{",
        "[]",
        "null",
        "{\"metadata\":5}",
        "{\"metadata\":{\"name\":\"a\",\"uid\":{}}}",
        &"[".repeat(100_000),
    ] {
        assert_eq!(
            why(answer(Channel::Report, 201, body)).0,
            Retry::Slowly,
            "{:.20}",
            body
        );
        assert_eq!(why(answer(Channel::Report, 409, body)).0, Retry::Slowly);
    }
    let long = format!(
        r#"{{"metadata":{{"name":"a","uid":"{}"}}}}"#,
        "u\\u001b".repeat(1000)
    );
    match answer(Channel::Report, 201, &long) {
        Answer::Delivered { uid: Some(uid), .. } => {
            assert!(uid.len() <= 64 && uid.is_ascii(), "{uid}")
        }
        other => panic!("{other:?}"),
    }
}

fn event(status: u16, retry_after: Option<u64>, body: &str) -> (Retry, String) {
    let response = Response {
        status,
        retry_after: retry_after.map(Duration::from_secs),
        body: body.as_bytes().to_vec(),
    };
    why(Answer::read(Channel::Event, Ok(response)))
}

const ROLE: &str = "the Role skewguard-report in the namespace skewguard is missing there; this grants it: \
                    oc skewguard render manifests | oc apply -f -";

fn status(message: &str) -> String {
    format!(r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{message}"}}"#)
}

#[test]
fn each_status_says_what_helps_and_when_to_try_again() {
    let escape = status("no\\u001b[2J");
    let role = status("events is forbidden: User \\\"a\\\" cannot create resource \\\"events\\\"");
    let quota = status("events \\\"a\\\" is forbidden: exceeded quota: q");
    let namespace = status("namespaces \\\"skewguard\\\" not found");
    let table = [
        (
            401,
            None,
            &escape,
            Retry::Slowly,
            "401: the API server does not know this identity: its token or certificate has expired, or is from another cluster or from before the CA was replaced (no\\u{1b}[2J)",
        ),
        (
            403,
            None,
            &role,
            Retry::SlowlyIfRepeated,
            &format!(
                "403: this identity may not create events.events.k8s.io: {ROLE} (events is forbidden: User \"a\" cannot create resource \"events\")"
            ),
        ),
        (
            403,
            None,
            &quota,
            Retry::SlowlyIfRepeated,
            "403: the cluster forbids it (events \"a\" is forbidden: exceeded quota: q)",
        ),
        (
            404,
            None,
            &escape,
            Retry::Slowly,
            "404: the cluster has no events.events.k8s.io (no\\u{1b}[2J); Kubernetes has it from 1.19 on",
        ),
        (
            404,
            None,
            &namespace,
            Retry::Slowly,
            "404: the cluster has no such namespace (namespaces \"skewguard\" not found); it is made by: oc skewguard render manifests | oc apply -f -",
        ),
        (
            409,
            None,
            &escape,
            Retry::Backoff,
            "409: there is such an object already (no\\u{1b}[2J)",
        ),
        (
            422,
            None,
            &escape,
            Retry::Slowly,
            "422: the cluster does not take this object: its CRD or admission policy may be of another release of skewguard (no\\u{1b}[2J)",
        ),
        (
            429,
            Some(7),
            &escape,
            Retry::After(Duration::from_secs(7)),
            "429: the API server cannot do it now (no\\u{1b}[2J)",
        ),
        (
            503,
            None,
            &escape,
            Retry::Backoff,
            "503: the API server cannot do it now (no\\u{1b}[2J)",
        ),
        (
            503,
            Some(86_400),
            &escape,
            Retry::After(Duration::from_secs(3600)),
            "503: the API server cannot do it now (no\\u{1b}[2J)",
        ),
    ];
    for (code, retry_after, body, retry, text) in table {
        assert_eq!(event(code, retry_after, body), (retry, text.to_owned()));
    }
}

fn foreign(status: u16) -> (Retry, String) {
    let why = "not a Kubernetes API response; check for a load balancer or proxy at this address";
    (Retry::Slowly, format!("{status}, {why}"))
}

#[test]
fn what_is_no_status_object_is_not_passed_on_and_not_taken_for_an_api_server() {
    for body in [
        "",
        "<html>",
        "{}",
        r#"{"message":"m"}"#,
        r#"{"kind":"Status","message":5}"#,
        r#"{"kind":"Pod","message":"m"}"#,
    ] {
        for code in [408, 429, 500, 502] {
            let said =
                format!("{code}: the API server cannot do it now (the server gives no reason)");
            assert_eq!(event(code, None, body), (Retry::Backoff, said));
        }
        for code in [400, 401, 403, 405, 409, 413, 421, 422] {
            assert_eq!(event(code, None, body), foreign(code), "{body}");
        }
    }
    // What Go's servers answer for a path that nothing serves (net/http, NotFound), and what older
    // API servers answer.
    for body in ["404 page not found\n", r#"{"paths":["/api"]}"#] {
        assert!(
            event(404, None, body)
                .1
                .starts_with("404: the cluster has no events.events.k8s.io"),
            "{body}"
        );
    }
    for body in ["", " <html>"] {
        assert_eq!(event(404, None, body), foreign(404), "{body}");
    }
    assert!(
        event(422, None, r#"{"kind":"Status"}"#)
            .1
            .starts_with("422: the cluster does not take this object")
    );
}

#[test]
fn a_missing_grant_is_seen_behind_long_names() {
    let name = "n".repeat(253);
    let body = status(&format!(
        "nodes \\\"{name}\\\" is forbidden: User \\\"system:node:{name}\\\" cannot create resource \\\"nodes\\\""
    ));
    assert!(
        event(403, None, &body)
            .1
            .starts_with("403: this identity may not create"),
        "{body}"
    );
}
