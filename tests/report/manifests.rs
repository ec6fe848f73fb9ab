//! dist/manifests: they are complete, are valid by the cluster's OpenAPI documents, and admit what
//! nodes send and nothing else.

use crate::inside::report::sample;
use crate::node::identity::Identity;
use crate::report::event::{Event, EventSubject, Regarding};
use crate::report::objects::{BootImageReport, ReportInput};
use crate::support::apiserver::admission::{self, Admission};
use crate::support::apiserver::schema::{Crd, Schema};
use serde_json::{Value, json};
use skewguard_admin::render::manifests::{Audit, ImageReference, Manifests};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

const BOOTSTRAP: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/manifests")
}

fn documents(yaml: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
    documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect()
}

fn rendered(base_only: bool, prune: bool) -> Vec<Value> {
    let manifests = Manifests {
        base_only,
        prune,
        ..Manifests::default()
    };
    documents(&manifests.to_yaml())
}

/// What kustomize builds from a directory: its resources, and those of the directories among them,
/// in their order.
fn built(dir: &Path) -> Vec<Value> {
    let kustomization = std::fs::read_to_string(dir.join("kustomization.yaml")).unwrap();
    let kustomization = documents(&kustomization).remove(0);
    let resources = kustomization["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| dir.join(entry.as_str().unwrap()));
    let named: Vec<PathBuf> = resources.collect();
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
            && !path.ends_with("kustomization.yaml")
    });
    for path in found {
        assert!(
            named.contains(&path),
            "{} is in no kustomization",
            path.display()
        );
    }
    named
        .iter()
        .flat_map(|path| {
            if path.is_dir() {
                built(path)
            } else {
                documents(&std::fs::read_to_string(path).unwrap())
            }
        })
        .collect()
}

fn find<'a>(documents: &'a [Value], kind: &str, name: &str) -> &'a Value {
    documents
        .iter()
        .find(|document| document["kind"] == kind && document["metadata"]["name"] == name)
        .unwrap_or_else(|| panic!("there is no {kind} {name}"))
}

#[test]
fn render_prints_what_kustomize_builds() {
    assert_eq!(rendered(false, false), built(&dir()));
    assert_eq!(rendered(true, false), built(&dir().join("base")));
    let with_prune: Vec<Value> = built(&dir())
        .into_iter()
        .chain(built(&dir().join("prune")))
        .collect();
    assert_eq!(rendered(false, true), with_prune);
}

#[test]
fn render_prints_what_kustomize_builds_with_every_component() {
    let policy = "{\n  \"mode\": \"Warn # ---\\u00e9\"\n}\n".to_owned();
    let digest = "0123456789abcdef".repeat(4);
    let image = format!("registry.example.com:5000/skewguard-cli@sha256:{digest}");
    let audit = Audit {
        image: image.parse().unwrap(),
        policy: policy.clone(),
    };
    let manifests = Manifests {
        base_only: false,
        prune: true,
        audit: Some(audit),
        hosted: false,
    };
    // What kustomize makes of `images` and `configMapGenerator` of the audit's kustomization.
    let mut audit = built(&dir().join("audit"));
    let job = audit
        .iter_mut()
        .find(|document| document["kind"] == "CronJob");
    let containers = "/spec/jobTemplate/spec/template/spec/containers/0/image";
    *job.unwrap().pointer_mut(containers).unwrap() = json!(image);
    let metadata = json!({ "name": "skewguard-audit-policy", "namespace": "skewguard" });
    let data = json!({ "policy.json": policy });
    let policy =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
    let rest = audit.split_off(1);
    let of_hosted: Vec<Value> = [
        built(&dir()),
        built(&dir().join("prune")),
        audit,
        vec![policy],
        rest,
    ]
    .concat();
    let expected = [of_hosted.clone(), built(&dir().join("audit/standalone"))].concat();
    let hosted = Manifests {
        hosted: true,
        ..manifests.clone()
    };
    assert_eq!(documents(&hosted.to_yaml()), of_hosted);
    assert_eq!(documents(&manifests.to_yaml()), expected);
    let mut names: Vec<String> = expected
        .iter()
        .map(|object| format!("{} {}", object["kind"], object["metadata"]))
        .collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "an object twice");
}

#[test]
fn an_image_is_a_name_and_nothing_else() {
    let digest = format!("r.io/a@sha256:{}", "00".repeat(32));
    for good in ["skewguard-cli", "localhost:5000/a_b/c:1.2", &digest] {
        assert_eq!(good.parse::<ImageReference>().unwrap().to_string(), good);
    }
    let long = "a".repeat(513);
    let placeholder = digest.replace(&"00".repeat(32), "DIGEST");
    for bad in [
        "",
        "a b",
        &digest[..71],
        &placeholder,
        "a\"",
        "a\nb: c",
        "a#",
        "-a",
        ":a",
        "a:",
        "a\\",
        "{a}",
        "\u{e9}",
        &long,
    ] {
        assert!(bad.parse::<ImageReference>().is_err(), "{bad:?}");
    }
}

#[test]
fn a_fresh_cluster_can_take_them_in_their_order() {
    let all = rendered(false, true);
    let first = |kind: &str| {
        all.iter()
            .position(|document| document["kind"] == kind)
            .unwrap()
    };
    assert_eq!(first("Namespace"), 0);
    let namespaced = all
        .iter()
        .filter(|document| document["metadata"]["namespace"] != Value::Null);
    assert!(
        namespaced
            .into_iter()
            .all(|document| document["metadata"]["namespace"] == "skewguard")
    );
    for (before, after) in [
        ("Role", "RoleBinding"),
        (
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ),
    ] {
        assert!(first(before) < first(after), "{before} before {after}");
    }
    // No object of a kind that the same stream defines: its API would not be served yet.
    assert!(
        all.iter()
            .all(|document| document["kind"] != "BootImageReport")
    );
    let mut names: Vec<String> = all
        .iter()
        .map(|document| format!("{}/{}", document["kind"], document["metadata"]["name"]))
        .collect();
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "each object once");
}

#[test]
fn every_object_is_valid_for_the_api_server() {
    let rbac = |kind: &str| {
        Schema::of_kind(
            "apis_rbac.authorization.k8s.io_v1",
            &format!("io.k8s.api.rbac.v1.{kind}"),
        )
    };
    let mut checked = 0;
    for document in rendered(false, true) {
        let schema = match document["kind"].as_str().unwrap() {
            kind @ ("Role" | "RoleBinding" | "ClusterRole") => rbac(kind),
            "CustomResourceDefinition" => Schema::of_kind(
                "apis_apiextensions.k8s.io_v1",
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
            ),
            _ => continue,
        };
        assert_eq!(
            schema.errors(&document),
            Vec::<String>::new(),
            "{}",
            document["metadata"]["name"]
        );
        checked += 1;
    }
    assert_eq!(checked, 7);
}

#[test]
fn nodes_may_create_two_kinds_of_objects_and_nothing_else() {
    let base = rendered(true, false);
    let expected = json!([
        { "apiGroups": ["skewguard.dev"], "resources": ["bootimagereports"], "verbs": ["create"] },
        { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"] }
    ]);
    assert_eq!(find(&base, "Role", "skewguard-report")["rules"], expected);
    let subjects = &find(&base, "RoleBinding", "skewguard-report")["subjects"];
    assert_eq!(
        *subjects,
        json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": BOOTSTRAP }])
    );
    let reader = find(&base, "ClusterRole", "skewguard-reader");
    assert_eq!(reader["rules"][0]["verbs"], json!(["get", "list", "watch"]));
    assert_eq!(
        reader["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-cluster-reader"],
        "true"
    );
}

/// The job's pod meets what the namespace enforces (Kubernetes, "Pod Security Standards",
/// restricted), and has only the rights that its script uses.
#[test]
fn the_pruning_job_is_let_in_and_may_do_what_it_does() {
    let all = rendered(false, true);
    assert_eq!(
        find(&all, "Namespace", "skewguard")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"],
        "restricted"
    );
    let pod = &find(&all, "CronJob", "skewguard-prune")["spec"]["jobTemplate"]["spec"]["template"]
        ["spec"];
    assert_eq!(
        pod["securityContext"],
        json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } })
    );
    for kind in [
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "volumes",
        "initContainers",
    ] {
        assert!(pod.get(kind).is_none(), "{kind}");
    }
    let containers = pod["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    let context = &containers[0]["securityContext"];
    assert_eq!(
        (
            &context["allowPrivilegeEscalation"],
            &context["capabilities"]
        ),
        (&json!(false), &json!({ "drop": ["ALL"] }))
    );
    assert!(context.get("privileged").is_none() && containers[0].get("ports").is_none());
    assert_eq!(
        containers[0]["resources"]["limits"],
        json!({ "memory": "512Mi" })
    );
    let role = find(&all, "Role", "skewguard-prune");
    // `oc patch` gets each object first.
    assert_eq!(
        role["rules"],
        json!([{ "apiGroups": ["skewguard.dev"], "resources": ["bootimagereports"], "verbs": ["get", "list", "delete", "patch"] }])
    );
    let account = json!([{ "kind": "ServiceAccount", "name": pod["serviceAccountName"], "namespace": "skewguard" }]);
    assert_eq!(
        find(&all, "RoleBinding", "skewguard-prune")["subjects"],
        account
    );
}

/// apiextensions' `ValidateStructural`: every level has a type, and what is bounded stays so.
#[test]
fn the_crd_is_structural_and_every_length_is_bounded() {
    fn walk(at: &str, schema: &Value, seen: &mut usize) {
        let kind = schema["type"]
            .as_str()
            .unwrap_or_else(|| panic!("{at}: no type"));
        assert!(
            schema["description"].is_string() || at.ends_with("[]"),
            "{at}: nothing for `oc explain`"
        );
        assert!(
            schema.get("enum").is_none(),
            "{at}: a closed enum locks later agents out"
        );
        *seen += 1;
        match kind {
            "string" => {
                assert!(schema["maxLength"].is_u64(), "{at}: no maxLength");
                assert_eq!(
                    schema["pattern"], "^[ -~]*$",
                    "{at}: `oc get` prints it as it is"
                );
            }
            "array" => {
                assert!(schema.get("maxItems").is_some(), "{at}: no maxItems");
                walk(&format!("{at}[]"), &schema["items"], seen);
            }
            "object" => {
                // The length of a map's keys cannot be bounded.
                let open = [
                    "x-kubernetes-preserve-unknown-fields",
                    "additionalProperties",
                ]
                .map(|key| schema.get(key).is_some());
                assert!(
                    schema["properties"].is_object() && open == [false; 2],
                    "{at}: takes what it does not know"
                );
                for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                    walk(&format!("{at}.{name}"), schema, seen);
                }
            }
            _ => {}
        }
    }
    let base = rendered(true, false);
    let crd = find(
        &base,
        "CustomResourceDefinition",
        "bootimagereports.skewguard.dev",
    );
    assert_eq!(crd["spec"]["names"]["shortNames"], json!(["bir"]));
    let version = &crd["spec"]["versions"][0];
    let report = &version["schema"]["openAPIV3Schema"]["properties"]["report"];
    let mut seen = 0;
    walk(".report", report, &mut seen);
    assert!(seen > 60, "{seen}");
    assert_eq!(
        report["x-kubernetes-validations"][0]["rule"],
        "self == oldSelf"
    );
    for column in version["additionalPrinterColumns"].as_array().unwrap() {
        let path = column["jsonPath"].as_str().unwrap();
        if path == ".metadata.creationTimestamp" {
            continue;
        }
        let steps = path
            .replace("[0]", "")
            .split('.')
            .skip(1)
            .map(|step| format!("/properties/{step}"))
            .collect::<String>();
        let field = version["schema"]["openAPIV3Schema"].pointer(&steps);
        assert!(
            field.is_some(),
            "column {}: {path} is no field",
            column["name"]
        );
    }
}

#[test]
fn a_report_never_changes() {
    let rule = "self == oldSelf";
    let report = sample_report()["report"].clone();
    let mut other = report.clone();
    other["verdict"]["new"] = json!({ "deep": 1 });
    assert!(cel(rule, &[("self", &report), ("oldSelf", &report)]).unwrap());
    assert!(!cel(rule, &[("self", &other), ("oldSelf", &report)]).unwrap());
}

fn cel(expression: &str, variables: &[(&str, &Value)]) -> Result<bool, String> {
    admission::holds(
        &cel::Program::compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}")),
        variables,
    )
}

/// The messages of one policy against a request.
fn denied(policy: &str, user: &str, operation: &str, object: &Value) -> Vec<String> {
    static ADMISSION: LazyLock<Admission> =
        LazyLock::new(|| Admission::new(&rendered(false, false)));
    let request = admission::Request {
        operation,
        user,
        namespace: "skewguard",
        object,
        old: None,
    };
    ADMISSION.denials_of(policy, request)
}

fn sample_report() -> Value {
    let verdict = sample::refused();
    let source = ReportInput {
        progress: None,
        verdict: &verdict,
        identity: &sample::identity(),
        remediation: "Set a newer AMI.",
        installation: "00112233445566778899aabbccddeeff",
        observed: UNIX_EPOCH,
    };
    serde_json::to_value(BootImageReport::new(&source)).unwrap()
}

fn sample_event(about: EventSubject<'_>, regarding: Regarding, identity: &Identity) -> Value {
    let name = sample_report()["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    serde_json::to_value(Event::new(about, &name, regarding, identity, UNIX_EPOCH)).unwrap()
}

/// The same Event as the core API has it.
fn as_core(mut event: Value) -> Value {
    let fields = event.as_object_mut().unwrap();
    for (new, old) in [
        ("regarding", "involvedObject"),
        ("note", "message"),
        ("reportingController", "reportingComponent"),
    ] {
        if let Some(value) = fields.remove(new) {
            fields.insert(old.to_owned(), value);
        }
    }
    event
}

#[test]
fn the_policies_let_through_what_nodes_send() {
    let verdict = sample::refused();
    assert_eq!(
        denied("skewguard-reports", BOOTSTRAP, "CREATE", &sample_report()),
        [""; 0]
    );
    for (about, regarding) in [
        (
            EventSubject::Verdict(&verdict),
            Regarding::report("a-0123456789abcdef", Some("uid")),
        ),
        (EventSubject::Verdict(&verdict), Regarding::namespace()),
        (
            EventSubject::NoVerdict { held: false },
            Regarding::namespace(),
        ),
    ] {
        for identity in [sample::identity(), Identity::default()] {
            let event = sample_event(about, regarding.clone(), &identity);
            assert_eq!(
                denied("skewguard-events", BOOTSTRAP, "CREATE", &event),
                [""; 0]
            );
            assert_eq!(
                denied(
                    "skewguard-core-events",
                    BOOTSTRAP,
                    "CREATE",
                    &as_core(event)
                ),
                [""; 0]
            );
        }
    }
}

#[test]
fn the_policies_stop_what_nodes_do_not_send() {
    let set = |object: &Value, pointer: &str, value: Value| {
        let mut object = object.clone();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[field] = value;
        object
    };
    let report = sample_report();
    let managed = |size: usize| json!([{ "manager": "x".repeat(size) }]);
    for (object, message) in [
        (
            set(&report, "/metadata/name", json!("anything")),
            "a report is named after the host, a dash and 16 hex digits",
        ),
        (
            set(
                &report,
                "/metadata/name",
                json!(format!("{}-0123456789abcdef", "a".repeat(64))),
            ),
            "a report is named after the host, a dash and 16 hex digits",
        ),
        (
            set(
                &report,
                "/metadata/generateName",
                json!("a-0123456789abcdef"),
            ),
            "a report has a name and no other metadata",
        ),
        (
            set(&report, "/metadata/finalizers", json!(["example.com/stay"])),
            "a report has a name and no other metadata",
        ),
        (
            set(&report, "/metadata/ownerReferences", json!([])),
            "a report has a name and no other metadata",
        ),
        (
            set(&report, "/metadata/managedFields", managed(16_384)),
            "a report's managedFields have at most 16384 characters; <, > and & count as six",
        ),
        (
            set(
                &report,
                "/metadata/managedFields",
                json!([{ "manager": "<".repeat(2_730) }]),
            ),
            "a report's managedFields have at most 16384 characters; <, > and & count as six",
        ),
        (
            set(
                &report,
                "/report/warnings",
                json!(vec!["x".repeat(1024); 39]),
            ),
            "a report has at most 40960 characters; <, > and & count as six",
        ),
        (
            set(
                &report,
                "/report/warnings",
                json!(["<".repeat(2_048), ">".repeat(2_048), "&".repeat(2_730)]),
            ),
            "a report has at most 40960 characters; <, > and & count as six",
        ),
    ] {
        assert_eq!(
            denied("skewguard-reports", BOOTSTRAP, "CREATE", &object),
            [message]
        );
        assert_eq!(
            denied("skewguard-reports", "system:admin", "CREATE", &object),
            [""; 0],
            "only the bootstrap identity is held"
        );
    }
    assert_eq!(
        denied("skewguard-reports", BOOTSTRAP, "UPDATE", &report),
        ["a node's report is made once and never changed"]
    );

    let event = sample_event(
        EventSubject::NoVerdict { held: false },
        Regarding::namespace(),
        &Identity::default(),
    );
    let about = "an Event is about a BootImageReport or the namespace skewguard";
    let named = "what an Event is about is named by apiVersion, kind, namespace, name and uid";
    let printable = "note (at most 1024 characters), reason, action and reportingInstance (128) are printable ASCII";
    let of_report = set(
        &set(&event, "/regarding/kind", json!("BootImageReport")),
        "/regarding/name",
        json!("a-0123456789abcdef"),
    );
    for (object, message) in [
        (
            set(&of_report, "/regarding/name", json!("x".repeat(81))),
            named,
        ),
        (set(&of_report, "/regarding/name", json!("x\u{9b}")), named),
        (
            set(
                &event,
                "/regarding/apiVersion",
                json!("x".repeat(1_000_000)),
            ),
            named,
        ),
        (
            set(&event, "/regarding/apiVersion", json!("v1\u{7}")),
            named,
        ),
        (set(&event, "/regarding/uid", json!("\u{202e}")), named),
        (set(&event, "/regarding/name", json!("kube-system")), about),
        (
            set(&event, "/metadata/managedFields", managed(4096)),
            "an Event's managedFields have at most 4096 characters",
        ),
        (set(&event, "/reason", json!("\u{8}")), printable),
        (
            set(&event, "/reportingInstance", json!("\u{9b}")),
            printable,
        ),
        (set(&event, "/regarding/uid", json!("x".repeat(129))), named),
        (set(&event, "/regarding/fieldPath", json!("x")), named),
        (
            set(&event, "/metadata/name", json!("anything")),
            "an Event is named after the report and a number",
        ),
        (
            set(&event, "/metadata/labels", json!({ "a": "b" })),
            "an Event has a name and no other metadata",
        ),
        (
            set(&event, "/reportingController", json!("kubelet")),
            "reportingController must be skewguard.dev/agent",
        ),
        (set(&event, "/regarding/kind", json!("Pod")), about),
        (set(&event, "/regarding/namespace", json!("default")), about),
        (set(&event, "/regarding/kind", Value::Null), about),
        (set(&event, "/note", json!("x".repeat(1025))), printable),
        (
            set(&event, "/series", json!({ "count": 2 })),
            "an Event is about one object, and no series",
        ),
    ] {
        assert_eq!(
            denied("skewguard-events", BOOTSTRAP, "CREATE", &object),
            [message]
        );
        let core = denied(
            "skewguard-core-events",
            BOOTSTRAP,
            "CREATE",
            &as_core(object),
        );
        assert_eq!(core.len(), 1, "{core:?}");
    }
    let core = as_core(event.clone());
    for (pointer, value) in [
        ("/reason", json!("x".repeat(129))),
        ("/action", json!("x".repeat(129))),
        ("/reportingInstance", json!("x".repeat(129))),
    ] {
        let message = "message (at most 1024 characters), reason, action and reportingInstance (128) are printable ASCII";
        assert_eq!(
            denied(
                "skewguard-core-events",
                BOOTSTRAP,
                "CREATE",
                &set(&core, pointer, value)
            ),
            [message],
            "{pointer}"
        );
    }
    for source in [json!({ "host": "x" }), json!({ "component": "x" })] {
        let denied = denied(
            "skewguard-core-events",
            BOOTSTRAP,
            "CREATE",
            &set(&core, "/source", source),
        );
        assert_eq!(denied, ["a node's Event has no source"]);
    }
    let denied_type = denied(
        "skewguard-core-events",
        BOOTSTRAP,
        "CREATE",
        &set(&core, "/type", json!("x".repeat(1000))),
    );
    assert_eq!(denied_type, ["type is Normal or Warning"]);
    // An API server sets this on every Event.
    assert_eq!(
        denied(
            "skewguard-core-events",
            BOOTSTRAP,
            "CREATE",
            &set(&core, "/source", json!({}))
        ),
        [""; 0]
    );
    assert_eq!(
        denied("skewguard-events", BOOTSTRAP, "UPDATE", &event),
        ["a node's Event is made once and never changed"]
    );
}

#[test]
fn the_policies_select_the_resources_they_are_for() {
    let all = rendered(false, false);
    for (policy, group, resource) in [
        ("skewguard-reports", "skewguard.dev", "bootimagereports"),
        ("skewguard-events", "events.k8s.io", "events"),
        ("skewguard-core-events", "", "events"),
    ] {
        let constraints =
            &find(&all, "ValidatingAdmissionPolicy", policy)["spec"]["matchConstraints"];
        assert_eq!(
            constraints["namespaceSelector"],
            json!({ "matchLabels": { "kubernetes.io/metadata.name": "skewguard" } })
        );
        let rule = &constraints["resourceRules"][0];
        assert_eq!(
            (&rule["apiGroups"], &rule["resources"][0]),
            (&json!([group]), &json!(resource))
        );
        assert_eq!(rule["operations"], json!(["CREATE", "UPDATE"]));
        // Fields that the API server would default: in a list that is replaced whole they would
        // differ at every `oc apply`.
        let defaults = (
            &constraints["matchPolicy"],
            &constraints["objectSelector"],
            &rule["scope"],
        );
        assert_eq!(defaults, (&json!("Equivalent"), &json!({}), &json!("*")));
    }
}

/// Go's regular expressions repeat at most a thousand times.
#[test]
fn every_pattern_is_one_that_the_api_server_compiles() {
    for document in rendered(false, false) {
        for count in document
            .to_string()
            .split(['{', ',', '}'])
            .filter_map(|piece| piece.parse::<u64>().ok())
        {
            assert!(
                count <= 1000 || !document["kind"].as_str().unwrap().starts_with("Validating"),
                "{count}"
            );
        }
    }
}

/// The default table of an ordinary refusal, in 120 columns.
#[test]
fn a_list_of_reports_fits_a_terminal() {
    let base = rendered(true, false);
    let crd = find(
        &base,
        "CustomResourceDefinition",
        "bootimagereports.skewguard.dev",
    );
    let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"]
        .as_array()
        .unwrap()
        .clone();
    let report = json!({
        "metadata": { "creationTimestamp": "30d" },
        "report": {
            "verdict": {
                "action": "Proceed", "reason": "BelowMinimumRHCOSVersion", "target": { "pool": "worker" },
                "bootImage": { "version": "411.86.202308081056-0" }
            },
            "progress": { "phase": "Rebase" }
        }
    });
    let name = "ip-10-0-141-23.ec2.internal-a17216e094f6e4ff";
    let width = columns
        .iter()
        .filter(|column| column["priority"] != 1)
        .map(|column| {
            let cell = report
                .pointer(&column["jsonPath"].as_str().unwrap().replace('.', "/"))
                .unwrap()
                .as_str()
                .unwrap();
            3 + cell.len().max(column["name"].as_str().unwrap().len())
        });
    assert!(name.len() + width.sum::<usize>() <= 120);
    assert!(
        columns
            .iter()
            .all(|column| column["priority"] == 1 || column["name"] != "Host"),
        "the name says it"
    );
}

/// The API server returns quantities in one form; any other form would differ at every `oc apply`.
#[test]
fn the_number_of_reports_is_bounded() {
    let base = rendered(true, false);
    let hard = &find(&base, "ResourceQuota", "skewguard-reports")["spec"]["hard"];
    assert_eq!(
        *hard,
        json!({ "count/bootimagereports.skewguard.dev": "10k" })
    );
}

/// docs/reference.md: what reports take in etcd at most, and what an ordinary report and its Event
/// have.
#[test]
fn figures_of_the_documents() {
    let page = std::fs::read_to_string(dir().join("../../docs/reference.md")).unwrap();
    // Wherever its lines break.
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let policy = std::fs::read_to_string(dir().join("admission/reports.yaml")).unwrap();
    let bound = |of: &str| {
        let (_, rest) = policy.split_once(&format!("[dyn(object.{of})])")).unwrap();
        let (_, bound) = rest.split_once(" <= ").unwrap();
        bound
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .unwrap()
            .parse::<usize>()
            .unwrap()
    };
    // The name, its namespace, the uid and what else each object has.
    let rest = 656;
    let megabytes = 10_000 * (bound("report") + bound("metadata.managedFields") + rest) / 1_000_000;
    assert!(
        page.contains(&format!(
            "10,000 reports are at most {megabytes} MB in etcd"
        )),
        "{megabytes}"
    );
    let kilobytes = |body: &Value| body.to_string().len() as f64 / 1000.0;
    let folder = dir().join("../../tests/data/sent");
    let sent = |file: &str| {
        serde_json::from_str(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap()
    };
    let (report, event) = (
        kilobytes(&sent("report.json")),
        kilobytes(&sent("event.json")),
    );
    assert!(
        page.contains(&format!(
            "An ordinary report has {report:.1} KB as it is sent, its Event {event:.1} KB"
        )),
        "{report:.1} {event:.1}"
    );
}

#[test]
fn the_crd_keeps_every_field_of_a_report() {
    let crd = Crd::read(&dir().join("base/crd.yaml"));
    let mut report = sample_report();
    assert_eq!(crd.prune(&mut report), [""; 0]);
    assert_eq!(crd.errors(&report), Vec::<String>::new());
}
