//! Secrets in what others wrote: of no form of `audit` and `why` do they come out, and of no message of `render`.

use super::{audit, audit_text, run};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// It stands in each secret, and nowhere else.
const MARK: &str = "S3cr3t";

fn set(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": { "name": name, "namespace": "openshift-machine-api" },
        "spec": { "replicas": 1, "template": { "spec": { "providerSpec": { "value": spec } } } },
    })
}

/// Images of a mirror that asks for a password, of a storage account by its signature, of a host.
fn objects() -> String {
    let url = format!("https://u:{MARK}@mirror.example.com/rhcos-412.86.202301311551-0");
    let metal = set(
        "metal",
        &json!({
            "kind": "BareMetalMachineProviderSpec",
            "image": {
                "url": format!("{url}-openstack.x86_64.qcow2.gz?sig={MARK}"),
                "checksum": format!("{url}.sha256sum"),
            },
        }),
    );
    let blob = "https://acct.blob.core.windows.net/vhd/rhcos-412.86.202301311551-0.vhd";
    let image = json!({ "resourceID": format!("{blob}?sv=2020&sig={MARK}") });
    let azure = set(
        "azure",
        &json!({ "kind": "AzureMachineProviderSpec", "image": image }),
    );
    let vsphere = set(
        "vsphere",
        &json!({ "kind": "VSphereMachineProviderSpec", "template": url }),
    );
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": { "name": "w-1", "namespace": "openshift-machine-api" },
        "spec": { "online": true, "userData": { "name": "worker-user-data" },
            "image": { "url": format!("{url}-metal.x86_64.raw.gz?token={MARK}"), "checksum": "x" } },
    });
    json!({ "apiVersion": "v1", "kind": "List", "items": [metal, azure, vsphere, host] })
        .to_string()
}

#[test]
fn images_have_no_user_password_or_query_in_any_form() {
    let objects = objects();
    for form in [
        "text", "wide", "json", "yaml", "csv", "html", "markdown", "junit", "sarif",
    ] {
        let (out, err, _) = audit_text(&objects, &["-o", form]);
        assert!(out.contains("412.86.202301311551-0"), "{form}: {err}{out}");
        assert!(!out.contains(MARK) && !err.contains(MARK), "{form}: {out}");
    }
    let (out, err, _) = audit_text(&objects, &["--print-commands", "fix"]);
    assert!(!out.contains(MARK) && !err.contains(MARK), "{out}");
    let (out, ..) = audit_text(&objects, &["-o", "json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    let rows = found["sets"].as_array().unwrap();
    let of = |field| {
        rows.iter()
            .map(|row| row[field].as_str().unwrap())
            .collect::<Vec<_>>()
    };
    let (mut names, mut images) = (of("name"), of("image"));
    names.sort_unstable();
    images.sort_unstable();
    assert_eq!(
        names,
        [
            "azure",
            "metal",
            "vsphere",
            "worker: rhcos-412.86.202301311551-0-metal.x86_64.raw.gz",
        ]
    );
    let mirror = "https://mirror.example.com/rhcos-412.86.202301311551-0";
    assert_eq!(
        images,
        [
            "https://acct.blob.core.windows.net/vhd/rhcos-412.86.202301311551-0.vhd".to_owned(),
            mirror.to_owned(),
            format!("{mirror}-metal.x86_64.raw.gz"),
            format!("{mirror}-openstack.x86_64.qcow2.gz"),
        ]
    );
}

/// What others say with a secret, and what is told of it.
const SAID: [(&str, &str); 25] = [
    (
        "https://p:S3cr3t@proxy.example.com:3128: EOF",
        "https://proxy.example.com:3128/: EOF",
    ),
    (
        "//p:S3cr3t@proxy.example.com: EOF",
        "//p:(hidden)@proxy.example.com: EOF",
    ),
    (
        "Authorization: Bearer eyJhbGciOiJSUzI1NiJ9.S3cr3t.c2ln: 401",
        "Authorization: Bearer (hidden): 401",
    ),
    (
        "Authorization: Basic YWS3cr3tc=, EOF",
        "Authorization: Basic (hidden), EOF",
    ),
    ("Cookie: id=S3cr3t; a=S3cr3t", "Cookie: (hidden)"),
    ("password=S3cr3t, EOF", "password=(hidden), EOF"),
    ("pass=S3cr3t, EOF", "pass=(hidden), EOF"),
    ("pwd=S3cr3t, EOF", "pwd=(hidden), EOF"),
    ("client_secret=A~S3cr3t~x EOF", "client_secret=(hidden) EOF"),
    (
        "client-key-data: LS0tS3cr3t EOF",
        "client-key-data: (hidden) EOF",
    ),
    ("sv=1&sig=S3cr3t%3D EOF", "sv=1&sig=(hidden) EOF"),
    ("token: sha256~S3cr3tTOKEN EOF", "token: (hidden) EOF"),
    ("ghp_S3cr3tS3cr3t EOF", "(hidden) EOF"),
    ("github_pat_S3cr3tS3cr3t EOF", "(hidden) EOF"),
    ("glpat-S3cr3tS3cr3t EOF", "(hidden) EOF"),
    ("xoxb-S3cr3tS3cr3t EOF", "(hidden) EOF"),
    ("hvs.S3cr3tS3cr3t EOF", "(hidden) EOF"),
    (
        "--username root --password S3cr3t EOF",
        "--password (hidden) EOF",
    ),
    ("curl -u root:S3cr3t EOF", "curl -u root:(hidden) EOF"),
    ("passwd \"S3cr3t x\" EOF", "passwd \"(hidden)\" EOF"),
    (
        "ipmitool -U admin -P S3cr3t power status",
        "-P (hidden) power status",
    ),
    (
        "ipmitool -U admin -PS3cr3t power status",
        "-P(hidden) power status",
    ),
    (
        "<a><Password>S3cr3t</Password></a> EOF",
        "<a><Password>(hidden)</Password></a> EOF",
    ),
    (
        "{\"auths\":{\"quay.io\":{\"auth\":\"S3cr3t\"}}} EOF",
        "{\"auths\":{\"quay.io\":{\"auth\":\"(hidden)\"}}} EOF",
    ),
    (
        "Secret \"aws-cloud-credentials\" not found",
        "Secret \"aws-cloud-credentials\" not found",
    ),
];

/// The forms of a command, as its own option names them.
fn forms(command: &str) -> Vec<String> {
    let all = skewguard_admin::cli::command();
    let command = all.find_subcommand(command).unwrap().clone();
    let mut root = clap::Command::new("oc").subcommand(command.clone());
    root.build();
    let built = root.find_subcommand(command.get_name()).unwrap();
    let output = built
        .get_arguments()
        .find(|argument| argument.get_id() == "output");
    let values = output.unwrap().get_possible_values();
    values
        .iter()
        .map(|value| value.get_name().to_owned())
        .collect()
}

/// Machines, Events, hosts and sets that say all of it, as whoever made them wrote it.
fn said() -> String {
    let machine = |n: usize, said: &str| {
        let cause = format!("error launching instance: {said}");
        let condition = json!({ "type": "MachineCreation", "status": "False", "reason": "Failed", "message": cause,
            "lastTransitionTime": "2026-08-20T08:00:00Z" });
        json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": { "name": format!("m-{n}"), "namespace": "openshift-machine-api", "uid": format!("u-{n}"),
                "creationTimestamp": "2026-08-20T08:00:00Z", "annotations": { "note": said } },
            "spec": { "providerSpec": { "value": { "kind": "AWSMachineProviderConfig", "ami": { "id": said } } } },
            "status": { "phase": "Failed", "errorReason": "InvalidConfiguration", "errorMessage": cause,
                "providerStatus": { "conditions": [condition] } } })
    };
    let event = |n: usize, said: &str| {
        json!({ "apiVersion": "v1", "kind": "Event",
            "metadata": { "name": format!("e-{n}"), "namespace": "openshift-machine-api" },
            "involvedObject": { "kind": "Machine", "name": format!("m-{n}"), "namespace": "openshift-machine-api", "uid": format!("u-{n}") },
            "reason": "FailedCreate", "message": said, "type": "Warning", "lastTimestamp": "2026-08-20T08:00:00Z" })
    };
    let host = |n: usize, said: &str| {
        json!({ "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": { "name": format!("h-{n}"), "namespace": "openshift-machine-api", "creationTimestamp": "2026-08-20T08:00:00Z" },
            "spec": { "online": true, "image": { "url": said, "checksum": "x" } },
            "status": { "operationalStatus": "error", "errorType": "provisioning error", "errorMessage": said,
                "provisioning": { "state": "provisioning" } } })
    };
    let set = |n: usize, said: &str| {
        let mut set = set(
            &format!("s-{n}"),
            &json!({ "kind": "AWSMachineProviderConfig", "ami": { "id": said } }),
        );
        set["metadata"]["annotations"] = json!({ "note": said });
        set["status"] = json!({ "errorReason": "InvalidConfiguration", "errorMessage": said });
        set
    };
    let all = SAID.iter().enumerate().flat_map(|(n, (said, _))| {
        [
            machine(n, said),
            event(n, said),
            host(n, said),
            set(n, said),
        ]
    });
    json!({ "apiVersion": "v1", "kind": "List", "items": all.collect::<Vec<_>>() }).to_string()
}

#[test]
fn words_of_others_have_no_secret_and_keep_their_cause() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("said.json");
    std::fs::write(&file, said()).unwrap();
    let from = file.to_str().unwrap();
    let mut whole = String::new();
    for command in ["audit", "why"] {
        let forms = forms(command);
        assert!(forms.len() >= 3, "{forms:?}");
        for form in forms {
            let (out, err, _) = run(&[command, "-o", &form, "--from", from]);
            assert!(!out.is_empty(), "{command} {form}: {err}");
            for line in out.lines().chain(err.lines()) {
                assert!(!line.contains(MARK), "{command} {form}: {line}");
            }
            if (command, form.as_str()) == ("why", "json") {
                whole = out;
            }
        }
    }
    let (out, err, _) = audit(&["--from", from, "--print-commands", "fix"]);
    assert!(!out.contains(MARK) && !err.contains(MARK), "{out}{err}");
    let found: Value = serde_json::from_str(&whole).unwrap();
    for (n, (_, told)) in SAID.iter().enumerate() {
        let machines = found["machines"].as_array().unwrap();
        let machine = machines.iter().find(|one| one["name"] == format!("m-{n}"));
        let told = Value::from(*told).to_string();
        let told = told.trim_matches('"');
        let machine = machine.unwrap().to_string();
        assert!(machine.contains(told), "{told}: {machine}");
    }
}

/// User data has the token of the machine-config-server's mirror, or whatever else somebody gave a set.
#[test]
fn user_data_that_is_not_understood_is_not_quoted() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("user-data");
    let url = format!("https://u:{MARK}@mirror.example.com/skewguard?token={MARK}");
    let sha512 = "a".repeat(128);
    let pointer = |url: &str| {
        let user_data = ["--user-data", file.to_str().unwrap()];
        let (out, err, exit) = run(&[
            &["render", "pointer", "--url", url, "--sha512", &sha512],
            &user_data[..],
        ]
        .concat());
        (out, err, exit)
    };
    for bad in [
        format!("password={MARK}"),
        format!("{{\"ignition\": \"{MARK}\"}}"),
        format!("{{\"ignition\": {{\"version\": \"3.2.0\"}}, \"storage\": \"{MARK}\"}}"),
        format!(
            "{{\"ignition\": {{\"version\": \"3.2.0\"}}, \"systemd\": {{\"units\": \"{MARK}\"}}}}"
        ),
        format!("{{\"ignition\": {{\"version\": \"3.2.0\", \"config\": \"{MARK}\""),
    ] {
        std::fs::write(&file, &bad).unwrap();
        let (out, err, exit) = pointer("https://mirror.example.com/skewguard");
        assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{bad}");
        assert!(!err.contains(MARK) && err.contains("user-data"), "{err}");
    }
    std::fs::write(&file, r#"{"ignition": {"version": "3.2.0"}}"#).unwrap();
    let (out, err, exit) = pointer(&url);
    assert!(out.contains(&url) && exit == Exit::Done, "{err}");
    assert!(err.contains("credentials") && !err.contains(MARK), "{err}");
    for url in [
        url.replace("https", "ftp"),
        format!("{url} x"),
        url.replace("mirror", "mirror mirror"),
    ] {
        let (out, err, exit) = pointer(&url);
        assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{url}");
        assert!(!err.contains(MARK) && err.contains("--url"), "{err}");
    }
}
