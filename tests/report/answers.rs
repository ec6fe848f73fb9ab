use skewguard::report::answer::{Answer, Channel, SendError};
use skewguard::report::api::Retry;
use skewguard::report::transport::{Failure, Response, TransportError};
use std::time::Duration;

fn answer(channel: Channel, status: u16, body: &str) -> Answer {
    Answer::read(channel, Ok(Response { status, retry_after: None, body: body.as_bytes().to_vec() }))
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
    assert_eq!(answer(Channel::Report, 201, body), Answer::Delivered { uid, already: false });
    let node = r#"{"kind":"PartialObjectMetadata","metadata":{"name":"worker-0"}}"#;
    assert_eq!(answer(Channel::Node, 200, node), Answer::Delivered { uid: None, already: false });
}

#[test]
fn already_there_is_delivered_but_another_conflict_is_not() {
    let exists = r#"{"kind":"Status","message":"\"a\" already exists","reason":"AlreadyExists","code":409}"#;
    assert_eq!(answer(Channel::Report, 409, exists), Answer::Delivered { uid: None, already: true });
    assert_eq!(answer(Channel::Event, 409, exists), Answer::Delivered { uid: None, already: true });
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
             missing there; dist/manifests/base/role.yaml grants it: skewguard render manifests | oc apply -f - \
             (bootimagereports.skewguard.dev is forbidden: User \"a\" cannot create resource \"bootimagereports\")"
                .to_owned()
        )
    );
    let (retry, said) = why(answer(Channel::Event, 403, FORBIDDEN));
    assert_eq!(retry, Retry::SlowlyIfRepeated);
    assert!(said.starts_with("403: this identity may not create events.events.k8s.io: the Role skewguard-report"), "{said}");
    // The Role is there; naming it would send the admin the wrong way.
    for message in [
        r#"bootimagereports.skewguard.dev \"a\" is forbidden: exceeded quota: q, requested: count/bootimagereports.skewguard.dev=1"#,
        r#"bootimagereports.skewguard.dev \"a\" is forbidden: unable to create new content in namespace skewguard because it is being terminated"#,
        r#"admission webhook \"a.example.com\" denied the request: no"#,
    ] {
        let body = format!(r#"{{"kind":"Status","message":"{message}","reason":"Forbidden","code":403}}"#);
        let said = why(answer(Channel::Report, 403, &body));
        assert_eq!(said, (Retry::SlowlyIfRepeated, format!("403: the cluster forbids it ({})", message.replace('\\', ""))));
    }
}

#[test]
fn a_yes_that_no_api_server_gives_is_no_delivery() {
    let said = "but not as an API server answers: is it a load balancer, a proxy or another server that stands there?";
    for status in [200, 201, 202, 204] {
        for body in ["", "<html>Log in</html>", r#"{"kind":"Status","status":"Success","metadata":{}}"#, r#"{"metadata":{"uid":"u"}}"#] {
            assert_eq!(why(answer(Channel::Report, status, body)), (Retry::Slowly, format!("{status}, {said}")), "{body}");
            assert_eq!(why(answer(Channel::Node, status, body)).0, Retry::Slowly);
        }
    }
    for status in [401, 403, 404, 409, 422] {
        assert_eq!(why(answer(Channel::Event, status, "<html>")), (Retry::Slowly, format!("{status}, {said}")));
    }
}

#[test]
fn a_404_is_another_thing_on_every_channel() {
    let body = "404 page not found\n";
    let report = why(answer(Channel::Report, 404, body));
    assert_eq!(report.0, Retry::NextBoot);
    assert_eq!(
        report.1,
        "404: the cluster has no bootimagereports.skewguard.dev (the server gives no reason); not tried again on this boot. \
         To have reports: skewguard render manifests | oc apply -f -"
    );
    assert_eq!(why(answer(Channel::Event, 404, body)).0, Retry::Slowly);
    let namespace = r#"{"kind":"Status","message":"namespaces \"skewguard\" not found","reason":"NotFound","code":404}"#;
    for channel in [Channel::Report, Channel::Event] {
        let said = "404: the cluster has no such namespace (namespaces \"skewguard\" not found); it is made by: skewguard render manifests | oc apply -f -";
        assert_eq!(why(answer(channel, 404, namespace)), (Retry::Slowly, said.to_owned()));
    }
    assert_eq!(why(answer(Channel::Node, 404, body)).0, Retry::Backoff);
}

#[test]
fn what_a_person_has_to_mend_is_retried_slowly_and_what_passes_is_not() {
    for status in [400, 401, 405, 413, 415, 422] {
        assert_eq!(why(answer(Channel::Report, status, FORBIDDEN)).0, Retry::Slowly, "{status}");
    }
    for status in [408, 429, 500, 502, 503, 504] {
        assert_eq!(why(answer(Channel::Report, status, FORBIDDEN)).0, Retry::Backoff, "{status}");
    }
    let after = Response { status: 429, retry_after: Some(Duration::from_secs(7)), body: Vec::new() };
    assert_eq!(why(Answer::read(Channel::Event, Ok(after))).0, Retry::After(Duration::from_secs(7)));
    let failure = |failure| SendError::Transport(TransportError { server: "https://api-int.c1.example.com:6443".to_owned(), failure });
    assert_eq!(why(Answer::read(Channel::Event, Err(failure(Failure::Refused)))).0, Retry::Backoff);
    assert_eq!(why(Answer::read(Channel::Event, Err(failure(Failure::Redirect { status: 302 })))).0, Retry::Slowly);
    let setup = Answer::read(Channel::Event, Err(SendError::Setup("/etc/kubernetes/kubeconfig: there is no such file".to_owned())));
    assert_eq!(why(setup), (Retry::Slowly, "/etc/kubernetes/kubeconfig: there is no such file".to_owned()));
}

#[test]
fn hostile_bodies_are_no_reason() {
    for body in ["", "{", "[]", "null", "{\"metadata\":5}", "{\"metadata\":{\"name\":\"a\",\"uid\":{}}}", &"[".repeat(100_000)] {
        assert_eq!(why(answer(Channel::Report, 201, body)).0, Retry::Slowly, "{:.20}", body);
        assert_eq!(why(answer(Channel::Report, 409, body)).0, Retry::Slowly);
    }
    let long = format!(r#"{{"metadata":{{"name":"a","uid":"{}"}}}}"#, "u\\u001b".repeat(1000));
    match answer(Channel::Report, 201, &long) {
        Answer::Delivered { uid: Some(uid), .. } => assert!(uid.len() <= 64 && uid.is_ascii(), "{uid}"),
        other => panic!("{other:?}"),
    }
}
