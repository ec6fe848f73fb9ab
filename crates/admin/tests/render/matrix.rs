//! Every output of `render` that a cluster takes, applied, applied again, applied in its next version,
//! and deleted, on an API server with defaults and owners of fields; alone, and beside every other.

use super::admission::{audit, set};
use super::{Desk, program};
use crate::support::apiserver::apply::merge_key;
use crate::support::apiserver::{ApiServer, Options};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One output: what is applied, and whose it is.
pub(super) struct Output {
    pub(super) name: &'static str,
    pub(super) objects: Vec<Value>,
    /// What takes it away, where that is no `oc delete`.
    removal: Option<Vec<Value>>,
}

pub(super) fn documents(yaml: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
    all.into_iter().filter(|one| !one.is_null()).collect()
}

/// A version of all that is rendered: a policy, an image of the program, a binary.
pub(super) fn outputs(version: u32) -> Vec<Output> {
    let desk = Desk::new();
    let policy = super::POLICY.replace("4.13.0", &format!("4.{}.0", 12 + version));
    desk.file("policy.json", &policy);
    desk.file("embed", program(10 * version as usize));
    let sets = [set("Refused", "ami.id", &format!("ami-{version}"))];
    desk.file("audit.json", audit(&policy, &sets).to_string());
    let image = format!("registry.example.com/skewguard-cli@sha256:{version:064}");
    let target = format!("4.1{version}");
    let render = |args: &[&str]| {
        let (status, out, err) = desk.render(args);
        assert_eq!((status, err.as_str()), (0, ""), "{args:?}");
        documents(&out)
    };
    let output = |name, args: &[&str]| Output {
        name,
        objects: render(args),
        removal: None,
    };
    let policy = ["--policy", "policy.json"];
    let with_policy = |args: &[&'static str]| [args, &policy].concat();
    let mut exemptions = output("node-disruption-policy", &["node-disruption-policy"]);
    exemptions.removal = Some(render(&["node-disruption-policy", "--remove"]));
    vec![
        output(
            "manifests",
            &[
                &with_policy(&["manifests", "--prune"])[..],
                &["--audit", &image],
            ]
            .concat(),
        ),
        output("auditor", &["manifests", "--auditor", "--why"]),
        exemptions,
        output(
            "machineconfig worker",
            &with_policy(&["machineconfig", "--binary", "embed"]),
        ),
        output(
            "machineconfig master",
            &[
                &with_policy(&["machineconfig", "--policy-only"])[..],
                &["--role", "arbiter"],
            ]
            .concat(),
        ),
        output(
            "alerts",
            &[&with_policy(&["alerts"])[..], &["--target", &target]].concat(),
        ),
        output(
            "admission",
            &with_policy(&["admission", "--audit", "audit.json"]),
        ),
        output("dashboard", &["dashboard"]),
    ]
}

fn path(object: &Value) -> String {
    let api = object["apiVersion"].as_str().unwrap();
    let root = if api.contains('/') { "apis" } else { "api" };
    let kind = object["kind"].as_str().unwrap().to_lowercase();
    let plural = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{kind}s"),
    };
    let name = object["metadata"]["name"].as_str().unwrap();
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{root}/{api}/namespaces/{namespace}/{plural}/{name}"),
        None => format!("/{root}/{api}/{plural}/{name}"),
    }
}

/// The live objects by their paths.
type Live = BTreeMap<String, Value>;

struct Cluster(ApiServer);

impl Cluster {
    /// With the cluster's own node disruption policy, which has an entry of an admin's.
    fn new() -> Self {
        let cluster = Self(ApiServer::start(Options::default()));
        let own = json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" }, "spec": {
            "managementState": "Managed", "managedBootImages": { "machineManagers": [] },
            "nodeDisruptionPolicy": { "files": [{ "path": "/etc/motd", "actions": [{ "type": "None" }] }] } } });
        cluster.apply_as("admin", &own).unwrap();
        cluster
    }

    fn apply_as(&self, manager: &str, object: &Value) -> Result<Value, String> {
        let uri = format!("{}?fieldManager={manager}", path(object));
        let (status, body) = self
            .0
            .ask("PATCH", &uri, "application/apply-patch+yaml", object);
        match status {
            200 => Ok(body),
            _ => Err(format!("{uri}: {status} {body}")),
        }
    }

    /// Applies what an output has, in its order.
    fn apply(&self, objects: &[Value]) -> Live {
        let apply = |object: &Value| {
            let live = self.apply_as("skewguard", object);
            (path(object), live.unwrap_or_else(|error| panic!("{error}")))
        };
        objects.iter().map(apply).collect()
    }

    fn delete(&self, output: &Output) {
        if let Some(removal) = &output.removal {
            self.apply(removal);
            return;
        }
        for object in &output.objects {
            let (status, body) = self.0.ask("DELETE", &path(object), "", &Value::Null);
            // What is in a namespace goes with it.
            let is_gone = status == 404 && object["metadata"]["namespace"] == "skewguard";
            assert!(status == 200 || is_gone, "{}: {body}", path(object));
        }
    }

    fn live(&self) -> Live {
        let get = |path: String| {
            let (status, object) = self.0.ask("GET", &path, "", &Value::Null);
            assert_eq!(status, 200, "{path}");
            (path, object)
        };
        self.0.applied().into_iter().map(get).collect()
    }
}

/// Where a live object differs from what is wanted of it, as GitOps controllers and client-side `oc
/// apply` compare: fields that the server adds are none, entries that it changes in a list are one.
fn differences(at: &str, wanted: &Value, live: &Value) -> Vec<String> {
    match (wanted, live) {
        (Value::Object(fields), Value::Object(_)) => fields
            .iter()
            .flat_map(|(name, value)| differences(&format!("{at}.{name}"), value, &live[name]))
            .collect(),
        (Value::Array(entries), Value::Array(all)) => {
            let field = at.rsplit('.').next().unwrap_or_default();
            let key = entries.first().and_then(|entry| merge_key(field, entry));
            let Some(key) = key else {
                return Vec::from_iter((wanted != live).then(|| format!("{at}: {wanted} {live}")));
            };
            let of = |entry: &Value| all.iter().find(|one| one[key] == entry[key]).cloned();
            entries
                .iter()
                .flat_map(|entry| {
                    differences(&format!("{at}[]"), entry, &of(entry).unwrap_or_default())
                })
                .collect()
        }
        _ => Vec::from_iter((wanted != live).then(|| format!("{at}: {wanted} {live}"))),
    }
}

fn assert_no_difference(name: &str, objects: &[Value], live: &Live) {
    for object in objects {
        let found = differences("", object, &live[&path(object)]);
        assert_eq!(found, [""; 0], "{name}: {}", path(object));
    }
}

/// Without what counts writes.
fn plain(live: &Live) -> Live {
    let mut live = live.clone();
    for object in live.values_mut() {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("uid");
        metadata.remove("resourceVersion");
    }
    live
}

#[test]
fn each_output_is_applied_again_and_anew_and_taken_away() {
    for (this, next) in outputs(1).into_iter().zip(outputs(2)) {
        let name = this.name;
        let cluster = Cluster::new();
        let before = plain(&cluster.live());
        let first = cluster.apply(&this.objects);
        assert_no_difference(name, &this.objects, &first);
        // Unchanged: not even written.
        assert_eq!(cluster.apply(&this.objects), first, "{name}");
        let second = cluster.apply(&next.objects);
        assert_no_difference(name, &next.objects, &second);
        let changes = ["dashboard", "auditor", "node-disruption-policy"];
        assert_eq!(
            plain(&second) == plain(&first),
            changes.contains(&name),
            "{name}"
        );
        // Nothing of the first is left in it.
        let fresh = Cluster::new();
        fresh.apply(&next.objects);
        assert_eq!(plain(&cluster.live()), plain(&fresh.live()), "{name}");
        cluster.delete(&next);
        assert_eq!(plain(&cluster.live()), before, "{name}");
    }
}

/// What an object needs that is not there.
fn dangling(live: &Live) -> BTreeSet<String> {
    let named = |kind: &str, namespace: &Value, name: &Value| {
        live.values().any(|object| {
            object["kind"] == kind
                && object["metadata"]["name"] == *name
                && object["metadata"]["namespace"] == *namespace
        })
    };
    let mut missing = BTreeSet::new();
    let mut need = |kind: &str, namespace: &Value, name: &Value| {
        if !named(kind, namespace, name) {
            missing.insert(format!("{kind} {namespace} {name}"));
        }
    };
    for object in live.values() {
        let own = &object["metadata"]["namespace"];
        if own == "skewguard" {
            need("Namespace", &Value::Null, own);
        }
        let role = &object["roleRef"];
        match role["kind"].as_str() {
            Some("ClusterRole") => need("ClusterRole", &Value::Null, &role["name"]),
            Some(kind) => need(kind, own, &role["name"]),
            None => {}
        }
        for subject in object["subjects"].as_array().into_iter().flatten() {
            if subject["kind"] == "ServiceAccount" {
                need("ServiceAccount", &subject["namespace"], &subject["name"]);
            }
        }
        let policy = &object["spec"]["policyName"];
        if !policy.is_null() {
            need("ValidatingAdmissionPolicy", &Value::Null, policy);
        }
        let pod = &object["spec"]["jobTemplate"]["spec"]["template"]["spec"];
        if pod.is_object() {
            need("ServiceAccount", own, &pod["serviceAccountName"]);
            for volume in pod["volumes"].as_array().into_iter().flatten() {
                need("ConfigMap", own, &volume["configMap"]["name"]);
            }
        }
    }
    missing
}

/// `kubectl kustomize` takes no two objects of one kind, namespace and name, not even equal ones; and
/// what is deleted with one output is nothing that another needs.
#[test]
fn any_two_outputs_combine_and_go_apart() {
    let all = outputs(1);
    for one in &all {
        for other in all.iter().filter(|other| other.name != one.name) {
            let pair = format!("{} and {}", one.name, other.name);
            let paths = |output: &Output| -> BTreeSet<String> {
                let paths: BTreeSet<String> = output.objects.iter().map(path).collect();
                assert_eq!(paths.len(), output.objects.len(), "{}", output.name);
                paths
            };
            let both: Vec<String> = paths(one).intersection(&paths(other)).cloned().collect();
            assert_eq!(both, [""; 0], "{pair}");

            let cluster = Cluster::new();
            let alone = cluster.apply(&other.objects);
            assert_eq!(dangling(&cluster.live()), BTreeSet::new(), "{}", other.name);
            cluster.apply(&one.objects);
            cluster.delete(one);
            let mut live = cluster.live();
            // The cluster's own object is in neither's way.
            let own = "/apis/operator.openshift.io/v1/machineconfigurations/cluster";
            let exemptions = live.remove(own).unwrap();
            let files = exemptions["spec"]["nodeDisruptionPolicy"]["files"].as_array();
            assert_eq!(files.unwrap()[0]["path"], "/etc/motd", "{pair}");
            let mut alone = alone.clone();
            if let Some(wanted) = alone.remove(own) {
                assert_eq!(
                    plain(&Live::from([(own.into(), wanted)])),
                    plain(&Live::from([(own.into(), exemptions)]))
                );
            }
            assert_eq!(live, alone, "{pair}");
            assert_eq!(dangling(&live), BTreeSet::new(), "{pair}");
        }
    }
}

/// No output has an object of the cluster's own that `oc delete -f` could take away, but for the one
/// that says so and has its own way back.
#[test]
fn nothing_of_the_clusters_own_is_deleted() {
    for output in outputs(1).iter().filter(|output| output.removal.is_none()) {
        for object in &output.objects {
            let name = object["metadata"]["name"].as_str().unwrap();
            let is_ours = name.contains("skewguard");
            assert!(is_ours, "{}: {}", output.name, path(object));
        }
    }
}

/// Namespaces that OpenShift has only where it has machines of its own.
const STANDALONE: [&str; 3] = [
    "openshift-machine-api",
    "openshift-machine-config-operator",
    "openshift-cluster-machine-approver",
];

#[test]
fn a_hosted_cluster_takes_what_is_rendered_for_it() {
    let desk = Desk::new();
    let audit = [
        "manifests",
        "--prune",
        "--policy",
        "policy.json",
        "--audit",
        "r.example.com/c@sha256:0000000000000000000000000000000000000000000000000000000000000000",
    ];
    for args in [&audit[..], &["manifests", "--auditor", "--why"]] {
        let render = |more: &[&str]| {
            let (status, out, err) = desk.render(&[args, more].concat());
            assert_eq!((status, err.as_str()), (0, ""));
            documents(&out)
        };
        let cluster = Cluster::new();
        cluster.0.lacks_namespaces(&STANDALONE);
        let hosted = render(&["--hosted"]);
        let live = cluster.apply(&hosted);
        assert_no_difference("hosted", &hosted, &live);
        let refused: Vec<Value> = render(&[])
            .into_iter()
            .filter(|object| cluster.apply_as("skewguard", object).is_err())
            .collect();
        assert!(!refused.is_empty());
        for object in refused {
            let namespace = object["metadata"]["namespace"].as_str().unwrap();
            assert!(STANDALONE.contains(&namespace), "{object}");
            assert!(!hosted.contains(&object));
        }
    }
}

/// Kubernetes has `podFailurePolicy` from 1.26 on (OpenShift 4.13), and policies of admission from
/// 1.30 on: `--base` is for 4.10 and later.
#[test]
fn an_older_cluster_gets_what_its_api_has() {
    let desk = Desk::new();
    let render = |more: &[&str]| {
        let args = [
            "manifests",
            "--prune",
            "--policy",
            "policy.json",
            "--audit",
            "r.example.com/c@sha256:0000000000000000000000000000000000000000000000000000000000000000",
        ];
        let (status, out, err) = desk.render(&[&args, more].concat());
        assert_eq!((status, err.as_str()), (0, ""));
        (documents(&out), out)
    };
    let (all, text) = render(&[]);
    let (base, base_text) = render(&["--base"]);
    assert!(text.contains("podFailurePolicy") && !base_text.contains("podFailurePolicy"));
    let kinds = |objects: &[Value]| -> BTreeSet<String> {
        let kind = |object: &Value| object["kind"].as_str().unwrap().to_owned();
        objects.iter().map(kind).collect()
    };
    let gone: Vec<String> = kinds(&all).difference(&kinds(&base)).cloned().collect();
    assert_eq!(
        gone,
        [
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding"
        ]
    );
    let cluster = Cluster::new();
    assert_no_difference("base", &base, &cluster.apply(&base));
}

#[test]
fn a_tag_is_named_as_what_it_is() {
    let desk = Desk::new();
    let (status, out, err) = desk
        .line("manifests --policy policy.json --audit registry.example.com/skewguard-cli:0.1.0");
    assert_eq!(status, 0);
    assert!(out.contains("image: \"registry.example.com/skewguard-cli:0.1.0\"\n"));
    assert_eq!(
        err,
        "skewguard: warning: --audit registry.example.com/skewguard-cli:0.1.0: a tag can be moved, and what runs then may read what the auditor \
         reads. Name the image by digest: NAME@sha256:DIGITS\n"
    );
}

/// Both jobs run where there is a control plane, also while no worker comes up.
#[test]
fn jobs_tolerate_and_prefer_the_control_plane() {
    let manifests = outputs(1).remove(0);
    let pods: Vec<Value> = manifests
        .objects
        .iter()
        .filter(|object| object["kind"] == "CronJob")
        .map(|object| object["spec"]["jobTemplate"]["spec"]["template"]["spec"].clone())
        .collect();
    assert_eq!(pods.len(), 2);
    for pod in pods {
        for (n, role) in ["control-plane", "master"].into_iter().enumerate() {
            let key = format!("node-role.kubernetes.io/{role}");
            assert_eq!(
                pod["tolerations"][n],
                json!({ "key": key, "operator": "Exists", "effect": "NoSchedule" })
            );
            let preferred = &pod["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
                [n];
            assert_eq!(
                *preferred,
                json!({ "weight": 100, "preference": { "matchExpressions": [{ "key": key, "operator": "Exists" }] } })
            );
        }
    }
}
