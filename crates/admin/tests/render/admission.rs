//! `render admission`: refuses the Machines whose image an audit found to be refused, and no other.

use super::Desk;
use cel::extractors::This;
use cel::{Context, Program, Value as CelValue};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;

const AMI: &str = "ami-0a1b2c3d4e5f60718";

/// A row of an audit.
pub(crate) fn set(verdict: &str, field: &str, image: &str) -> Value {
    json!({ "kind": "MachineSet", "name": "worker-a", "verdict": verdict, "imageField": format!("spec.template.spec.providerSpec.value.{field}"),
        "image": image, "bootImage": { "version": "412.86.202303211731-0" }, "message": "boot image is OCP 4.12; the minimum is 4.13.0",
        "remedy": "set ami.id to ami-0new" })
}

/// The audit of a policy.
fn audit(policy: &str, sets: &[Value]) -> Value {
    let digest: String = Sha256::digest(policy)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageAudit", "policy": { "digest": format!("sha256:{digest}"), "mode": "Enforce" }, "sets": sets })
}

fn policy(mode: &str) -> String {
    super::POLICY.replace("Enforce", mode)
}

/// The three objects that are printed, and the warnings.
pub(crate) fn rendered(mode: &str, sets: &[Value]) -> (Vec<Value>, String) {
    let desk = Desk::new();
    let policy = policy(mode);
    desk.file("policy.json", &policy);
    desk.file("audit.json", audit(&policy, sets).to_string());
    let (status, out, err) = desk.render(&[
        "admission",
        "--policy",
        "policy.json",
        "--audit",
        "audit.json",
    ]);
    assert_eq!(status, 0, "{err}");
    (serde_saphyr::from_multiple(&out).unwrap(), err)
}

/// What an API server says to a Machine: `None` where it takes it, else the message. An expression
/// that fails counts as taken (`failurePolicy: Ignore`).
fn denied(objects: &[Value], object: &Value) -> Option<String> {
    fn split(This(text): This<Arc<String>>, at: Arc<String>) -> CelValue {
        let parts = text.split(at.as_str()).map(|part| part.to_owned().into());
        parts.collect::<Vec<CelValue>>().into()
    }
    let spec = &objects[1]["spec"];
    let mut variables = std::collections::HashMap::new();
    let run = |expression: &str, variables: &std::collections::HashMap<String, CelValue>| {
        let expression = expression.replace("variables.", "variables_");
        let program =
            Program::compile(&expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
        let mut context = Context::default();
        context.add_function("split", split).unwrap();
        let _ = context.add_function("dyn", |value: CelValue| value);
        context.add_variable("object", object).unwrap();
        context.add_variable("params", &objects[0]).unwrap();
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
              4.13.0. set ami.id to ami-0new; annotation skewguard.dev/allow-boot-image lets one Machine through"
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

#[test]
fn every_platforms_field_is_found() {
    for (field, image, value) in [
        ("ami.id", AMI, json!({ "ami": { "id": AMI } })),
        (
            "disks[].image",
            "projects/p/global/images/old",
            json!({ "disks": [{ "image": "data" }, { "boot": true, "image": "projects/p/global/images/old" }] }),
        ),
        (
            "image",
            "a:b:c:1",
            json!({ "image": { "publisher": "a", "offer": "b", "sku": "c", "version": "1" } }),
        ),
        (
            "image.marketplace",
            "a:b:c:1",
            json!({ "image": { "marketplace": { "publisher": "a", "offer": "b", "sku": "c", "version": "1" } } }),
        ),
        (
            "image.resourceID",
            "/resourceGroups/g/old",
            json!({ "image": { "resourceID": "/resourceGroups/g/old" } }),
        ),
        ("template", "rhcos old", json!({ "template": "rhcos old" })),
        ("image", "rhcos-old", json!({ "image": "rhcos-old" })),
        (
            "image.uuid",
            "u",
            json!({ "image": { "type": "uuid", "uuid": "u" } }),
        ),
        (
            "image.imageRef.name",
            "n",
            json!({ "image": { "imageRef": { "name": "n" } } }),
        ),
    ] {
        let (objects, err) = rendered("Enforce", &[set("Refused", field, image)]);
        assert_eq!(err, "", "{field}");
        assert!(denied(&objects, &machine(value)).is_some(), "{field}");
        assert_eq!(
            denied(
                &objects,
                &machine(json!({ "image": {}, "disks": [{}], "ami": {} }))
            ),
            None,
            "{field}"
        );
    }
}

#[test]
fn the_mode_decides_what_follows_and_none_prints_nothing() {
    for (mode, actions) in [
        ("Enforce", json!(["Deny"])),
        ("Warn", json!(["Warn", "Audit"])),
    ] {
        let (objects, _) = rendered(mode, &[set("Refused", "ami.id", AMI)]);
        assert_eq!(objects[2]["spec"]["validationActions"], actions);
        assert_eq!(
            objects[2]["spec"]["paramRef"]["parameterNotFoundAction"],
            "Allow"
        );
        assert_eq!(objects[1]["spec"]["failurePolicy"], "Ignore");
        for rule in objects[1]["spec"]["matchConstraints"]["resourceRules"]
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
    let (status, out, err) = desk.render(&[
        "admission",
        "--policy",
        "policy.json",
        "--audit",
        "audit.json",
    ]);
    assert_eq!((status, out.as_str()), (1, ""), "{err}");
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
    assert_eq!(objects[0]["data"]["images"], "");
    assert_eq!(err.lines().count(), 4, "{err}");
    assert_eq!(
        denied(&objects, &machine(json!({ "ami": { "id": AMI } }))),
        None
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
    assert_eq!((err.as_str(), objects.len()), ("", 3));
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
    assert!(
        denied(
            &objects,
            &machine(json!({ "ami": { "id": format!("ami-{:017x}", 999) } }))
        )
        .is_some()
    );
    assert!(objects[0].to_string().len() < 1 << 20);
    let desk = Desk::new();
    desk.file("audit.json", audit(super::POLICY, &many(1001)).to_string());
    let (status, out, err) = desk.render(&[
        "admission",
        "--policy",
        "policy.json",
        "--audit",
        "audit.json",
    ]);
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
            "not the JSON of `oc skewguard audit --output json`",
        ),
        ("[]".to_owned(), "not the JSON of"),
        (
            audit("another", &[]).to_string(),
            "made with another policy",
        ),
        (
            audit(super::POLICY, &[])
                .to_string()
                .replace("BootImageAudit", "List"),
            "not the JSON of",
        ),
    ] {
        desk.file("audit.json", json);
        let (status, out, err) = desk.render(&[
            "admission",
            "--policy",
            "policy.json",
            "--audit",
            "audit.json",
        ]);
        assert_eq!((status, out.as_str()), (1, ""));
        assert!(err.contains(words), "{err}");
    }
}
