//! What the documents say of alerts, admission and fleets: their commands run as they stand there,
//! with a stand-in for `oc` and a served cluster, and leave nothing when they take it away again.

use crate::audit::served::{Served, serve};
use crate::render::repository;
use crate::support::apiserver::schema::Schema;
use crate::support::apiserver::{Lists, Options};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn page(name: &str) -> String {
    std::fs::read_to_string(repository().join("docs").join(name)).unwrap()
}

/// The one block of a page, or the one piece of code in a sentence, that has these words.
fn code(name: &str, words: &str) -> String {
    let page = page(name);
    let blocks = page.split("```").skip(1).step_by(2);
    let prose: Vec<&str> = page.split("```").step_by(2).collect();
    let prose = prose.join("");
    let pieces = prose.split('`').skip(1).step_by(2);
    let pieces = pieces.map(|piece| piece.replace('\n', " "));
    let blocks = blocks.map(|block| block.split_once('\n').unwrap_or_default().1.to_owned());
    let mut found: Vec<String> = blocks
        .chain(pieces)
        .filter(|code| code.contains(words))
        .collect();
    assert_eq!(found.len(), 1, "{name}: {words}: {found:?}");
    found.remove(0)
}

/// A desk with `oc` and the program, and a cluster to read.
struct Cluster {
    served: Served,
    dir: tempfile::TempDir,
}

impl Cluster {
    fn new() -> Self {
        let fixture = repository().join("tests/data/audit/aws.json");
        let list: Value = serde_json::from_slice(&std::fs::read(fixture).unwrap()).unwrap();
        let objects = list["items"].as_array().unwrap().clone();
        let cluster = Self {
            served: serve(Lists::of(objects), Options::default()),
            dir: tempfile::tempdir().unwrap(),
        };
        for folder in ["programs", "cluster", "desk"] {
            std::fs::create_dir(cluster.dir.path().join(folder)).unwrap();
        }
        let link = |from: &Path, name: &str| {
            std::os::unix::fs::symlink(from, cluster.dir.path().join("programs").join(name))
        };
        link(&repository().join("tests/dist/stand-in"), "oc").unwrap();
        link(
            Path::new(env!("CARGO_BIN_EXE_kubectl-skewguard")),
            "kubectl-skewguard",
        )
        .unwrap();
        std::fs::copy(
            repository().join("tests/data/audit/policy.json"),
            cluster.dir.path().join("desk/policy.json"),
        )
        .unwrap();
        cluster
    }

    fn run(&self, script: &str) {
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("bash")
            .args(["-eo", "pipefail", "-c", script])
            .current_dir(self.dir.path().join("desk"))
            .env("CLUSTER", self.dir.path().join("cluster"))
            .env("KUBECONFIG", &self.served.kubeconfig)
            .env(
                "PATH",
                format!("{}/programs:{path}", self.dir.path().display()),
            )
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{script}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn objects(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.dir.path().join("cluster"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn text(&self, object: &str) -> String {
        std::fs::read_to_string(self.dir.path().join("cluster").join(object)).unwrap()
    }
}

#[test]
fn what_the_pages_apply_is_gone_after_uninstalling() {
    let cluster = Cluster::new();
    for (page, words) in [
        (
            "install.md",
            "oc skewguard render manifests | oc apply -f -",
        ),
        ("audit.md", "--audit registry.example.com"),
        (
            "install.md",
            "render alerts --policy policy.json --target 4.22 | oc apply",
        ),
        (
            "install.md",
            "render admission --policy policy.json --audit audit.json",
        ),
        ("alerts.md", "oc skewguard render dashboard"),
    ] {
        cluster.run(&code(page, words).replace("DIGEST", &"0".repeat(64)));
    }
    let applied = cluster.objects();
    for object in [
        "AlertingRule.skewguard",
        "ClusterRole.skewguard-audit",
        "ConfigMap.grafana-dashboard-skewguard",
        "ConfigMap.skewguard-audit-policy",
        "CronJob.skewguard-audit",
        "ValidatingAdmissionPolicy.skewguard-machines",
        "ValidatingAdmissionPolicyBinding.skewguard-machines",
    ] {
        assert!(
            applied.iter().any(|name| name == object),
            "{object}: {applied:?}"
        );
    }
    let policy = cluster.text("ValidatingAdmissionPolicy.skewguard-machines");
    assert!(
        policy.contains("ami-0old000000000001"),
        "what the served cluster's audit found"
    );
    // What a page says beside the page of uninstalling.
    cluster.run(&code("alerts.md", "oc delete alertingrule"));
    cluster.run(&code("alerts.md", "oc delete configmap"));
    cluster.run(&code(
        "did-not-join.md",
        "oc delete validatingadmissionpolicybinding",
    ));
    assert_eq!(cluster.objects().len(), applied.len() - 3);

    cluster.run(&code(
        "install.md",
        "render alerts --policy policy.json --target 4.22 | oc apply",
    ));
    cluster.run(&code("install.md", "--ignore-not-found alertingrule"));
    cluster.run(&code("install.md", "oc label nodes --all"));
    assert_eq!(cluster.objects(), [""; 0]);
}

/// What the hub of Advanced Cluster Management takes: the fields and values that the
/// CustomResourceDefinitions of open-cluster-management.io have (config-policy-controller,
/// governance-policy-propagator, api) and those that the pages use.
fn schema(kind: &str) -> Schema {
    let text = json!({ "type": "string", "minLength": 1 });
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let list = |items: Value| json!({ "type": "array", "items": items, "minItems": 1 });
    let action = json!({ "enum": ["Inform", "inform", "Enforce", "enforce"] });
    let metadata = object(json!({ "name": text, "namespace": text }), json!(["name"]));
    let reference = |group: &str, kind: &str| {
        object(
            json!({ "apiGroup": { "const": group }, "kind": { "const": kind }, "name": text }),
            json!(["apiGroup", "kind", "name"]),
        )
    };
    let template = object(
        json!({
            "complianceType": { "enum": ["musthave", "mustonlyhave", "mustnothave"] },
            "objectDefinition": { "type": "object", "required": ["apiVersion", "kind"] }
        }),
        json!(["complianceType", "objectDefinition"]),
    );
    let configuration = object(
        json!({
            "remediationAction": action, "severity": { "enum": ["low", "medium", "high", "critical"] },
            "namespaceSelector": object(json!({ "include": list(text.clone()) }), json!([])),
            "object-templates": list(template)
        }),
        json!(["remediationAction", "object-templates"]),
    );
    let policy = object(
        json!({
            "remediationAction": action, "disabled": { "type": "boolean" },
            "policy-templates": list(object(json!({ "objectDefinition": { "type": "object" } }), json!(["objectDefinition"])))
        }),
        json!(["disabled", "policy-templates"]),
    );
    let selector = object(
        json!({ "labelSelector": object(json!({ "matchLabels": { "type": "object" } }), json!([])) }),
        json!([]),
    );
    let predicate = object(json!({ "requiredClusterSelector": selector }), json!([]));
    let (group, fields) = match kind {
        "Policy" => ("policy", json!({ "spec": policy })),
        "ConfigurationPolicy" => ("policy", json!({ "spec": configuration })),
        "PlacementBinding" => (
            "policy",
            json!({
                "placementRef": reference("cluster.open-cluster-management.io", "Placement"),
                "subjects": list(reference("policy.open-cluster-management.io", "Policy"))
            }),
        ),
        "Placement" => (
            "cluster",
            json!({ "spec": object(json!({ "predicates": list(predicate) }), json!([])) }),
        ),
        other => panic!("{other}"),
    };
    let version = if group == "policy" { "v1" } else { "v1beta1" };
    let mut properties = json!({ "apiVersion": { "const": format!("{group}.open-cluster-management.io/{version}") },
        "kind": { "const": kind }, "metadata": metadata });
    properties
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let required: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
    Schema::new(&object(properties, json!(required)))
}

#[test]
fn the_hub_takes_the_policy_of_the_recipes() {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&code("install.md", "kind: BootImageReport")).unwrap();
    let kinds: Vec<&str> = documents
        .iter()
        .map(|document| document["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["Policy", "PlacementBinding", "Placement"]);
    let inner = &documents[0]["spec"]["policy-templates"][0]["objectDefinition"];
    for object in documents.iter().chain([inner]) {
        let errors = schema(object["kind"].as_str().unwrap()).errors(object);
        assert_eq!(errors, [""; 0], "{object}");
    }
    let name = &documents[0]["metadata"]["name"];
    assert_eq!(&documents[1]["subjects"][0]["name"], name);
    assert_eq!(
        documents[1]["placementRef"]["name"],
        documents[2]["metadata"]["name"]
    );
    for document in &documents {
        assert_eq!(document["metadata"]["namespace"], "policies");
    }
    // What it looks for is what a report has.
    let wanted = &inner["spec"]["object-templates"][0]["objectDefinition"];
    let crd = repository().join("dist/manifests/base/crd.yaml");
    let crd: Value = serde_saphyr::from_str(&std::fs::read_to_string(crd).unwrap()).unwrap();
    let version = &crd["spec"]["versions"][0];
    let api = format!(
        "{}/{}",
        crd["spec"]["group"].as_str().unwrap(),
        version["name"].as_str().unwrap()
    );
    assert_eq!(
        (&wanted["apiVersion"], &wanted["kind"]),
        (&json!(api), &crd["spec"]["names"]["kind"])
    );
    let report = &version["schema"]["openAPIV3Schema"]["properties"]["report"];
    for (part, fields) in wanted["report"].as_object().unwrap() {
        for field in fields.as_object().unwrap().keys() {
            let known = &report["properties"][part]["properties"][field];
            assert!(known.is_object(), "{part}.{field}");
        }
    }
}

/// Each file of the generator is what the command beside it prints. Where that has templates of its
/// own, the controller must not read them as its own (`disable-templates`).
#[test]
fn the_generators_files_are_what_their_commands_print() {
    let text = code("install.md", "kind: PolicyGenerator");
    let generator: Value = serde_saphyr::from_str(&text).unwrap();
    let defaults = &generator["policyDefaults"];
    assert!(defaults["namespace"].is_string());
    let cluster = Cluster::new();
    let (mut files, mut templates) = (0, 0);
    for line in text.lines().filter(|line| line.contains("- path: ")) {
        let (path, command) = line.split_once('#').unwrap();
        let path = path.trim().trim_start_matches("- path: ").trim();
        // No binary is built for this test; what it would be does not matter here.
        let command = command.replace("--role worker", "--role worker --policy-only");
        cluster.run(&format!("{command} >{path}"));
        let printed = std::fs::read_to_string(cluster.dir.path().join("desk").join(path)).unwrap();
        files += 1;
        templates += usize::from(printed.contains("{{"));
    }
    let named: Vec<&Value> = generator["policies"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|policy| policy["manifests"].as_array().unwrap())
        .collect();
    assert_eq!((files, templates > 0), (named.len(), true));
    assert_eq!(
        defaults["configurationPolicyAnnotations"]["policy.open-cluster-management.io/disable-templates"],
        "true"
    );
}
