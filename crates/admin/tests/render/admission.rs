//! `render admission`: refuses the Machines whose image an audit found to be refused, and no other.

use super::{Desk, repository};
use crate::support::machines::{clusters, machines};
use cel::extractors::This;
use cel::{Context, Program, Value as CelValue};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;

const AMI: &str = "ami-0a1b2c3d4e5f60718";

/// A row of an audit.
pub(crate) fn set(verdict: &str, field: &str, image: &str) -> Value {
    let platform = match field {
        "ami.id" => "aws",
        "disks[0].image" => "gcp",
        "template" => "vmware",
        _ => "azure",
    };
    json!({ "kind": "MachineSet", "name": "worker-a", "verdict": verdict, "platform": platform, "imageField": format!("spec.template.spec.providerSpec.value.{field}"),
        "image": image, "bootImage": { "version": "412.86.202303211731-0", "scheme": "Legacy" }, "message": "boot image is OCP 4.12; the minimum is 4.13.0",
        "remedy": "set ami.id to ami-0new" })
}

/// The audit of a policy.
pub(crate) fn audit(policy: &str, sets: &[Value]) -> Value {
    let digest: String = Sha256::digest(policy)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageAudit", "policy": { "path": "policy.json", "digest": format!("sha256:{digest}"), "mode": "Enforce" }, "sets": sets })
}

fn policy(mode: &str) -> String {
    super::POLICY.replace("Enforce", mode)
}

/// The two objects that are printed, and the warnings.
pub(crate) fn rendered(mode: &str, sets: &[Value]) -> (Vec<Value>, String) {
    let desk = Desk::new();
    let policy = policy(mode);
    desk.file("policy.json", &policy);
    desk.file("audit.json", audit(&policy, sets).to_string());
    let (status, out, err) = desk.line("admission --policy policy.json --audit audit.json");
    assert_eq!(status, 0, "{err}");
    (serde_saphyr::from_multiple(&out).unwrap(), err)
}

/// What an API server says to a Machine: `None` where it takes it, else the message. An expression
/// that fails counts as taken (`failurePolicy: Ignore`).
pub(crate) fn denied(objects: &[Value], object: &Value) -> Option<String> {
    fn split(This(text): This<Arc<String>>, at: Arc<String>) -> CelValue {
        let parts = text.split(at.as_str()).map(|part| part.to_owned().into());
        parts.collect::<Vec<CelValue>>().into()
    }
    let spec = &objects[0]["spec"];
    let mut variables = std::collections::HashMap::new();
    let run = |expression: &str, variables: &std::collections::HashMap<String, CelValue>| {
        let expression = expression.replace("variables.", "variables_");
        let program =
            Program::compile(&expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
        let mut context = Context::default();
        context.add_function("split", split).unwrap();
        let _ = context.add_function("dyn", |value: CelValue| value);
        context.add_variable("object", object).unwrap();
        for (name, value) in variables {
            context.add_variable_from_value(name.clone(), value.clone());
        }
        program.execute(&context).ok()
    };
    for variable in spec["variables"].as_array().unwrap() {
        let value = run(variable["expression"].as_str().unwrap(), &variables)?;
        variables.insert(
            format!("variables_{}", variable["name"].as_str().unwrap()),
            value,
        );
    }
    let validation = &spec["validations"][0];
    match run(validation["expression"].as_str().unwrap(), &variables)? {
        CelValue::Bool(true) => None,
        _ => match run(
            validation["messageExpression"].as_str().unwrap(),
            &variables,
        )? {
            CelValue::String(message) => Some(message.to_string()),
            other => panic!("{other:?}"),
        },
    }
}

/// The list of images of this number.
fn list(objects: &[Value], n: usize) -> Option<&str> {
    let variables = objects[0]["spec"]["variables"].as_array().unwrap();
    let name = format!("list{n}");
    let found = variables.iter().find(|variable| variable["name"] == name)?;
    found["expression"].as_str()
}

fn machine(value: Value) -> Value {
    json!({ "kind": "Machine", "metadata": { "name": "m" }, "spec": { "providerSpec": { "value": value } } })
}

#[test]
fn a_machine_of_a_refused_image_is_denied_and_told_why() {
    let (objects, err) = rendered(
        "Enforce",
        &[
            set("Refused", "ami.id", AMI),
            set("Allowed", "ami.id", "ami-0new"),
            set("Undetermined", "ami.id", "ami-0x"),
        ],
    );
    assert_eq!(err, "");
    assert_eq!(
        denied(&objects, &machine(json!({ "ami": { "id": AMI } }))).as_deref(),
        Some(
            "boot image ami-0a1b2c3d4e5f60718 (412.86.202303211731-0) is refused by the skew policy: boot image is OCP 4.12; the minimum is \
              4.13.0; fix: set ami.id to ami-0new; annotation skewguard.dev/allow-boot-image lets one Machine through"
        )
    );
    let mut exempt = machine(json!({ "ami": { "id": AMI } }));
    exempt["metadata"]["annotations"] = json!({ "skewguard.dev/allow-boot-image": "" });
    for passes in [
        exempt,
        machine(json!({ "ami": { "id": "ami-0new" } })),
        machine(json!({ "ami": { "id": "ami-0x" } })),
        machine(json!({ "ami": { "id": "ami-0a1b2c3d4e5f6071" } })),
        machine(json!({ "ami": { "id": "" } })),
        machine(json!({ "ami": { "filters": [] } })),
        machine(json!({ "ami": { "id": 7 } })),
        machine(json!({})),
        json!({ "kind": "Machine", "metadata": { "name": "m" }, "spec": {} }),
        json!({ "kind": "Machine", "metadata": { "name": "m" } }),
    ] {
        assert_eq!(denied(&objects, &passes), None, "{passes}");
    }
    let infrastructure =
        json!({ "kind": "AWSMachine", "metadata": {}, "spec": { "ami": { "id": AMI } } });
    assert!(denied(&objects, &infrastructure).is_some());
}

/// A template of a set and of a control plane's failure domain is changed in two places.
#[test]
fn sets_of_one_image_have_one_fix_or_the_audits() {
    let of = |fixes: [&str; 2]| {
        let sets = fixes.map(|fix| {
            let mut set = set("Refused", "template", "rhcos-old");
            set["remedy"] = json!(fix);
            set
        });
        let (objects, _) = rendered("Enforce", &sets);
        denied(&objects, &machine(json!({ "template": "rhcos-old" }))).unwrap()
    };
    assert!(of(["set template", "set template"]).contains("; fix: set template; annotation"));
    let said = of(["set template", "set failureDomains"]);
    let audit = "; fix: `oc skewguard audit` has one for each set of this image; annotation";
    assert!(said.contains(audit), "{said}");
}

/// Anybody with the bootstrap identity can make a report.
#[test]
fn a_claim_denies_no_machine() {
    let mut claim = set("Refused", "ami.id", AMI);
    claim["knownBy"] = json!("Report");
    let mut known = set("Refused", "ami.id", "ami-0published");
    known["knownBy"] = json!("Published");
    let (objects, err) = rendered("Enforce", &[claim, known]);
    let of = |ami: &str| denied(&objects, &machine(json!({ "ami": { "id": ami } })));
    assert_eq!(of(AMI), None);
    assert!(of("ami-0published").is_some());
    assert!(
        err.contains(&format!(
            "{AMI}: a report alone says what it is, which is a claim"
        )),
        "{err}"
    );
}

/// What `audit -o json` and then `render admission` print for these objects: the audit, and the two
/// documents.
fn through_the_door(list: &Value, policy: &str, more: &[&str]) -> (Value, Vec<Value>) {
    let desk = Desk::new();
    desk.file("policy.json", policy);
    desk.file("objects.json", list.to_string());
    let mut audit = Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"));
    audit.args(["audit", "--policy", "policy.json", "-o", "json"]);
    audit.args(more).args(["--from", "objects.json"]);
    let output = audit.current_dir(desk.folder()).output().unwrap();
    desk.file("audit.json", &output.stdout);
    let audit = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let (status, out, err) = desk.line("admission --policy policy.json --audit audit.json");
    assert_eq!(status, 0, "{err}");
    (audit, serde_saphyr::from_multiple(&out).unwrap())
}

fn policy_of(minimum: &str) -> String {
    super::POLICY
        .replace("4.13.0", minimum)
        .replace(", \"minimumRHCOSVersion\": \"9.2\"", "")
}

/// From `audit -o json` to the API server: the machines of a refused set are denied, those of others
/// and the same machine with another image are not.
#[test]
fn on_each_platform_the_machines_of_refused_sets_are_denied() {
    let mut platforms = BTreeSet::new();
    for (name, objects) in clusters() {
        for minimum in ["4.13.0", "4.19.0"] {
            let (audit, documents) = through_the_door(&objects, &policy_of(minimum), &[]);
            let mut refused = 0;
            for asked in machines(&objects, &audit) {
                let about = format!("{name}, {minimum}: {}", asked.about);
                let said = denied(&documents, &asked.machine);
                let other = denied(&documents, &asked.with_another_image);
                assert_eq!(other, None, "{about}");
                if asked.is_denied {
                    let said = said.unwrap_or_else(|| panic!("{about}"));
                    assert!(said.contains("is refused by the skew policy"), "{said}");
                    assert!(!said.contains("...; annotation"), "cut: {said}");
                    platforms.insert(asked.platform);
                    refused += 1;
                } else {
                    assert_eq!(said, None, "{about}");
                }
            }
            // The nodes of one image contradict each other there.
            let is_open = minimum == "4.13.0" || name.starts_with("openstack");
            assert!(refused > 0 || is_open, "{name}");
        }
    }
    let platforms: Vec<&str> = platforms.iter().map(String::as_str).collect();
    assert_eq!(
        platforms,
        [
            "aws",
            "azure",
            "gcp",
            "ibmcloud",
            "metal",
            "nutanix",
            "openstack",
            "powervs",
            "vmware"
        ]
    );
}

/// Machines as actuators and people leave them: nulls, missing parts, other types.
#[test]
fn a_machine_that_names_no_image_is_taken() {
    let old = "projects/p/global/images/old";
    let sets = [
        set("Refused", "disks[0].image", old),
        set("Refused", "ami.id", AMI),
        set("Refused", "image.resourceID", "/old"),
    ];
    let (objects, err) = rendered("Enforce", &sets);
    assert_eq!(err, "");
    for spec in [
        json!({ "kind": "GCPMachineProviderSpec", "disks": null }),
        json!({ "kind": "GCPMachineProviderSpec", "disks": [{ "boot": false, "image": old }, { "boot": true, "image": "new" }] }),
        json!({ "kind": "GCPMachineProviderSpec", "disks": [{ "image": old }] }),
        json!({ "kind": "AWSMachineProviderConfig", "ami": null }),
        json!({ "kind": "AWSMachineProviderConfig", "ami": { "id": null } }),
        json!({ "kind": "AzureMachineProviderSpec", "image": { "offer": "", "publisher": "", "resourceID": "", "sku": "", "version": "" } }),
        json!({ "kind": "VSphereMachineProviderSpec", "template": AMI }),
        json!({ "kind": 7 }),
        json!({ "disks": [{}], "image": {}, "ami": {} }),
    ] {
        assert_eq!(denied(&objects, &machine(spec.clone())), None, "{spec}");
    }
    let disks = json!([{ "image": "data" }, { "boot": true, "image": old }]);
    for spec in [
        json!({ "kind": "GCPMachineProviderSpec", "disks": disks }),
        json!({ "disks": disks, "ami": null }),
        json!({ "kind": "AWSMachineProviderConfig", "ami": { "id": AMI, "arn": null } }),
    ] {
        assert!(denied(&objects, &machine(spec.clone())).is_some(), "{spec}");
    }
}

/// Audited for 4.22, applied to a cluster of 4.21, which allows the image (its source: the field).
#[test]
fn an_audit_for_another_release_is_refused_unless_asked_for() {
    let case = repository().join("tests/data/cases");
    let desk = Desk::new();
    // An issue of one's own refuses in 4.22 what the shipped one only says.
    let policy = std::fs::read_to_string(case.join("policy.json")).unwrap();
    let mut policy: Value = serde_json::from_str(&policy).unwrap();
    let issues = policy["knownIssues"].as_array_mut().unwrap();
    let is_it = |issue: &&mut Value| issue["id"] == "RPMOSTreeBefore2023.5";
    let issue = issues.iter_mut().find(is_it).unwrap();
    issue["id"] = json!("OfOurOwn");
    issue.as_object_mut().unwrap().remove("effect");
    desk.file("policy.json", policy.to_string());
    let objects = case.join("admission-for-a-later-release/objects.json");
    let audit = |target: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"))
            .args(["audit", "--policy", "policy.json", "-o", "json"])
            .args(target)
            .arg("--from")
            .arg(&objects)
            .current_dir(desk.folder())
            .output()
            .unwrap();
        desk.file("audit.json", &output.stdout);
    };
    let render = |more: &[&str]| {
        let args = [
            "admission",
            "--policy",
            "policy.json",
            "--audit",
            "audit.json",
        ];
        desk.render(&[&args, more].concat())
    };
    audit(&["--target", "4.22"]);
    let (status, out, err) = render(&[]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(
        err.contains("the audit is for 4.22.0, and the cluster is 4.21.3")
            && err.contains("--any-release"),
        "{err}"
    );
    let (status, out, err) = render(&["--any-release"]);
    assert_eq!(status, 0, "{err}");
    let fact = "The audit is for 4.22.0, and the cluster is 4.21.3.";
    assert!(err.contains(fact) && out.contains(fact), "{err}{out}");
    assert!(out.contains("ami-a"));
    for own in [&[][..], &["--target", "4.21.3"]] {
        audit(own);
        let (status, out, err) = render(&[]);
        assert_eq!((status, err.as_str()), (0, ""), "{own:?}");
        assert!(!out.contains("ami-a"), "4.21 allows it");
    }
}

#[test]
fn the_mode_decides_what_follows_and_none_lifts_it() {
    for (mode, actions) in [
        ("Enforce", json!(["Deny"])),
        ("Warn", json!(["Warn", "Audit"])),
    ] {
        let (objects, _) = rendered(mode, &[set("Refused", "ami.id", AMI)]);
        assert_eq!(objects[1]["spec"]["validationActions"], actions);
        assert_eq!(objects[0]["spec"]["failurePolicy"], "Ignore");
        // An API server may have stopped to read parameters of a core kind.
        assert_eq!(objects[0]["spec"]["paramKind"], Value::Null);
        // A leaked bootstrap token, a joined node and an admin are told the same: nothing asks who it is.
        assert!(!objects[0].to_string().contains("userInfo"));
        assert_eq!(objects[1]["spec"]["paramRef"], Value::Null);
        for rule in objects[0]["spec"]["matchConstraints"]["resourceRules"]
            .as_array()
            .unwrap()
        {
            assert_eq!(
                rule["operations"],
                json!(["CREATE"]),
                "a Machine that exists is never touched"
            );
        }
    }
    let desk = Desk::new();
    desk.file("policy.json", policy("None"));
    desk.file("audit.json", audit(&policy("None"), &[]).to_string());
    let (status, out, err) = desk.line("admission --policy policy.json --audit audit.json");
    // As where nothing is refused: it takes an earlier one's place. The audit is not needed for it.
    assert_eq!((status, err.as_str()), (0, ""));
    let head = "# Policy: mode None, 1 limit, sha256:";
    assert!(
        out.starts_with(head) && out.contains("\n# Refused images: 0.\n"),
        "{out}"
    );
    let objects: Vec<Value> = serde_saphyr::from_multiple(&out).unwrap();
    let (of_nothing, _) = rendered("Warn", &[]);
    assert_eq!(objects, of_nothing);
    let enforced = rendered("Enforce", &[set("Refused", "ami.id", AMI)]).0;
    let names = |objects: &[Value]| -> Vec<Value> {
        let name = |object: &Value| json!([object["kind"], object["metadata"]]);
        objects.iter().map(name).collect()
    };
    assert_eq!(names(&objects), names(&enforced));
    assert_eq!(
        denied(&objects, &machine(json!({ "ami": { "id": AMI } }))),
        None
    );
    assert_eq!(
        desk.render(&["admission", "--policy", "policy.json"]),
        (0, out, String::new())
    );
    // Another mode needs it.
    desk.file("policy.json", policy("Warn"));
    let (status, out, err) = desk.render(&["admission", "--policy", "policy.json"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "skewguard: name the audit of this policy: --audit FILE\n"
    );
}

#[test]
fn what_may_not_be_refused_for_all_is_left_out_and_said() {
    let other_pool = set("Allowed", "ami.id", AMI);
    let (objects, err) = rendered(
        "Enforce",
        &[
            set("Refused", "ami.id", AMI),
            other_pool,
            set("Refused", "bootVolume", "x"),
            set("Refused", "ami.id", "a\tb"),
            set("Refused", "template", "a\nb"),
        ],
    );
    assert_eq!(list(&objects, 0), Some("{}"));
    assert_eq!(list(&objects, 1), None);
    assert_eq!(err.lines().count(), 4, "{err}");
    assert_eq!(
        denied(&objects, &machine(json!({ "ami": { "id": AMI } }))),
        None
    );
}

/// As the audit writes the rows of HyperShift's NodePools, whose nodes no Machine of this cluster makes.
#[test]
fn an_image_of_a_node_pool_is_left_out_and_said() {
    let row = |platform: &str, field: &str, image: &str| {
        let mut row = set("Refused", "", image);
        row["kind"] = json!("NodePool");
        row["platform"] = json!(platform);
        row["imageField"] = json!(field);
        row
    };
    let rows = [
        row(
            "azure",
            "spec.platform.azure.image.imageID",
            "/subscriptions/0/old.vhd",
        ),
        row(
            "openstack",
            "spec.platform.openstack.imageName",
            "rhcos-412",
        ),
        row("aws", "spec.platform.aws.ami", AMI),
        row("powervs", "spec.platform.powervs.image.name", "rhcos-411"),
    ];
    let (objects, err) = rendered("Enforce", &rows);
    assert_eq!(list(&objects, 0), Some("{}"));
    for image in ["/subscriptions/0/old.vhd", "rhcos-412", AMI, "rhcos-411"] {
        assert!(
            err.contains(&format!("left out: {image}: no Machine has its field")),
            "{err}"
        );
    }
}

/// Exceptions are the audit's: neither nodes nor an API server know them. One that expired is none.
#[test]
fn a_set_with_an_exception_is_denied_and_that_is_said() {
    let excepted = |until: &str, ran_out: bool| {
        let mut row = set("Refused", "ami.id", AMI);
        row["exception"] = json!({ "reason": "moved in May", "until": until, "ranOut": ran_out });
        row
    };
    let machine = machine(json!({ "ami": { "id": AMI } }));
    let (objects, err) = rendered("Enforce", &[excepted("2099-12-31", false)]);
    assert!(denied(&objects, &machine).is_some());
    assert_eq!(
        err,
        "skewguard: warning: MachineSet/worker-a is excepted in the audit alone; its image is refused here, too.\n"
    );
    let (objects, err) = rendered("Enforce", &[excepted("2020-12-31", true)]);
    assert!(denied(&objects, &machine).is_some());
    assert_eq!(err, "");
}

/// By the summary, which counts all sets.
#[test]
fn an_audit_of_some_sets_is_refused() {
    let desk = Desk::new();
    let policy = policy("Enforce");
    desk.file("policy.json", &policy);
    let mut audit = audit(&policy, &[set("Refused", "ami.id", AMI)]);
    audit["summary"] = json!({ "sets": 2, "wouldBeRefused": 1 });
    desk.file("audit.json", audit.to_string());
    let (status, out, err) = desk.line("admission --policy policy.json --audit audit.json");
    assert_eq!((status, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "skewguard: audit.json: the audit shows 1 of 2 rows; make it again without --only, --since, -n and names of sets\n"
    );
}

/// Names and messages are data: they cannot leave their string in YAML or CEL, nor make a line of
/// their own.
#[test]
fn hostile_names_and_messages_stay_in_their_place() {
    let name = "'; true || \" }} {{ ${x} # --- kind: Secret";
    let mut hostile = set("Refused", "template", name);
    hostile["message"] = json!("x\n---\nkind: Secret\t\u{202e}\"'");
    hostile["remedy"] = json!("\u{1b}[31m".repeat(2000));
    let (objects, err) = rendered("Enforce", &[hostile, set("Refused", "template", "plain")]);
    assert_eq!((err.as_str(), objects.len()), ("", 2));
    let told = denied(&objects, &machine(json!({ "template": name }))).unwrap();
    assert!(
        told.len() <= 1024 && told.chars().all(|c| matches!(c, ' '..='~')),
        "{told}"
    );
    assert!(denied(&objects, &machine(json!({ "template": "plain" }))).is_some());
    assert_eq!(
        denied(&objects, &machine(json!({ "template": "kind: Secret" }))),
        None
    );
}

#[test]
fn a_thousand_images_fit_and_more_are_an_error_that_says_what_to_do() {
    let many = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|n| set("Refused", "ami.id", &format!("ami-{n:017x}")))
            .collect()
    };
    let (objects, _) = rendered("Enforce", &many(1000));
    for n in [0, 500, 999] {
        let ami = format!("ami-{n:017x}");
        let said = denied(&objects, &machine(json!({ "ami": { "id": ami } })));
        assert!(said.unwrap().contains(&ami));
    }
    let lists: Vec<&str> = (0..).map_while(|n| list(&objects, n)).collect();
    assert!(lists.len() > 1);
    assert!(lists.iter().all(|list| list.len() < 100_000));
    assert!(objects[0].to_string().len() < 1 << 20);
    let desk = Desk::new();
    desk.file("audit.json", audit(super::POLICY, &many(1001)).to_string());
    let (status, out, err) = desk.line("admission --policy policy.json --audit audit.json");
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(
        err.contains("1001 images are refused") && err.contains("Correct the machine sets first"),
        "{err}"
    );
}

#[test]
fn the_audit_has_to_be_one_of_this_policy() {
    let desk = Desk::new();
    for (json, words) in [
        (
            "{}".to_owned(),
            "is not what `oc skewguard audit -o json` prints",
        ),
        ("[]".to_owned(), "is not what `oc"),
        (
            audit("another", &[]).to_string(),
            "made with another policy",
        ),
        (
            audit(super::POLICY, &[])
                .to_string()
                .replace("BootImageAudit", "List"),
            "is not what `oc",
        ),
    ] {
        desk.file("audit.json", json);
        let (status, out, err) = desk.line("admission --policy policy.json --audit audit.json");
        assert_eq!((status, out.as_str()), (1, ""));
        assert!(err.contains(words), "{err}");
    }
}
