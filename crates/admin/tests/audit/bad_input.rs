//! Files that are cut off, huge, of other types, or written to deceive who reads the result.

use super::{POLICY, audit, audit_text, fixture};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

#[test]
fn a_file_that_is_cut_off_is_named_and_never_called_good() {
    let whole = fixture("openstack.json");
    for end in (0..whole.len() - 2).step_by(211) {
        let (out, err, exit) = audit_text(&whole[..end], &[]);
        assert_eq!(exit, Exit::Failed, "{end}");
        assert!(
            format!("{out}{err}").contains("objects.json: is "),
            "{end}: {out}{err}"
        );
    }
}

#[test]
fn objects_without_kind_and_name_are_found_by_their_file() {
    let (out, err, exit) = audit_text("{\"a\":1}{\"b\":2}", &[]);
    assert_eq!((out.as_str(), exit), ("", Exit::Failed));
    let lines: Vec<&str> = err
        .lines()
        .filter(|line| line.contains("has no kind"))
        .collect();
    assert!(
        matches!(lines[..], [line] if line.starts_with("skewguard: ") && line.contains("objects.json: has no kind: `oc get -o json`")),
        "{err}"
    );
}

#[test]
fn what_is_no_list_of_objects_is_said_to_be_none() {
    for (text, why) in [
        ("", "is empty"),
        (
            "{17}",
            "is not a JSON object of the cluster: key must be a string at line 1 column 2",
        ),
        (
            &format!(
                "{{\"metadata\":{}{}}}",
                "[".repeat(100_000),
                "]".repeat(100_000)
            ),
            "is not a JSON object of the cluster: recursion limit exceeded",
        ),
        (
            "17",
            "is neither JSON nor YAML of the cluster: has no kind; `oc get -o json` prints what is read\n",
        ),
        (
            "- kind: Node\n",
            "is neither JSON nor YAML of the cluster: has no kind",
        ),
        (
            "kind: Node\nmetadata: {name: x",
            "is neither JSON nor YAML of the cluster: is not valid YAML (",
        ),
        (
            "kind: Node\nspec: &a {}\nstatus: *a\n",
            "has a YAML alias, which is not supported: line 3, column 9",
        ),
        (
            "---\n---\n",
            "is neither JSON nor YAML of the cluster: has no kind",
        ),
        (
            "kind: Event\n---\nmetadata: {}\n",
            "is neither JSON nor YAML of the cluster: has no kind",
        ),
        (
            &format!("kind: Node\nspec: {}", "[".repeat(100_000)),
            "is not valid YAML (recursion limit exceeded at line 2, column ",
        ),
        (
            &format!("kind: Node\nspec: [{}]\n", "a,".repeat(1 << 20)),
            "is larger or deeper than is read",
        ),
        (
            &format!(
                "{{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[{}{{}}]}}",
                "{},".repeat(200_000)
            ),
            "more than 200000 objects",
        ),
    ] {
        let (out, err, exit) = audit_text(text, &[]);
        assert_eq!((out.as_str(), exit), ("", Exit::Failed));
        assert!(
            err.starts_with("skewguard: objects.json: ") && err.contains(why),
            "{err}"
        );
        assert!(
            err.ends_with(
                "there is nothing to audit in objects.json: no set of machines was read, and no machine or node without one; \
                 `oc skewguard audit --print-commands` prints a script that gathers what is read\n"
            ),
            "{err}"
        );
    }
    let (_, err, exit) = audit(&["--policy", POLICY, "--from", "/nonexistent.json"]);
    assert!(
        exit == Exit::Failed && err.contains("/nonexistent.json: No such file or directory"),
        "{err}"
    );
}

#[test]
fn a_policy_that_is_none_is_an_error() {
    let (_, err, exit) = audit(&[
        "--policy",
        "tests/data/audit/aws.json",
        "--from",
        "tests/data/audit/aws.json",
    ]);
    assert!(
        exit == Exit::Failed && err.contains("this is a List of ClusterVersion, not a policy"),
        "{err}"
    );
}

/// Any value is replaced by one of another type: no crash, and no set is lost without being named.
#[test]
fn any_value_may_be_of_another_type() {
    fn places(value: &Value, at: String, all: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                places(value, format!("{at}/{}", name.replace('/', "~1")), all)
            }),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .for_each(|(n, value)| places(value, format!("{at}/{n}"), all)),
            _ => {}
        }
        all.push(at);
    }
    for name in ["vsphere.json", "hypershift.json"] {
        let whole: Value = serde_json::from_str(&fixture(name)).unwrap();
        let mut all = Vec::new();
        places(&whole["items"], "/items".to_owned(), &mut all);
        for place in all.iter().filter(|place| {
            place.matches('/').count() > 2
                && !place.ends_with("/kind")
                && !place.ends_with("/apiVersion")
        }) {
            let value = whole.pointer(place).unwrap();
            let mut broken = whole.clone();
            *broken.pointer_mut(place).unwrap() = if value.is_string() {
                json!({ "x": [17] })
            } else {
                json!("x")
            };
            let (out, err, exit) = audit_text(&broken.to_string(), &["--output", "json"]);
            let audit: Value =
                serde_json::from_str(&out).unwrap_or_else(|_| panic!("{place}: {err}"));
            let left_out = audit["unread"]
                .as_array()
                .unwrap()
                .iter()
                .any(|unread| unread["hidesSets"] == true);
            assert!(!(left_out && exit == Exit::Done), "{place}");
        }
    }
}

/// A field of another type is named, and the rest of its object is read.
#[test]
fn a_field_of_another_type_is_named() {
    let mut whole: Value = serde_json::from_str(&fixture("vsphere.json")).unwrap();
    let items = whole["items"].as_array_mut().unwrap();
    let find = |items: &mut Vec<Value>, kind: &str, nth: usize| {
        let mut of_kind = items
            .iter()
            .enumerate()
            .filter(|(_, item)| item["kind"] == kind);
        of_kind.nth(nth).unwrap().0
    };
    let (set, other, node) = (
        find(items, "MachineSet", 0),
        find(items, "MachineSet", 1),
        find(items, "Node", 0),
    );
    items[set]["spec"]["template"]["spec"]["providerSpec"]["value"]["template"] = json!(17);
    items[other]["spec"]["replicas"] = json!("three");
    items[other]["status"] = json!([]);
    items[node]["metadata"]["labels"] = json!("none");
    let name = |n: usize| items[n]["metadata"]["name"].as_str().unwrap().to_owned();
    let names = [name(set), name(other), name(node)];
    let (out, err, exit) = audit_text(&whole.to_string(), &["--output", "json"]);
    let audit: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let row = |name: &str| {
        let mut sets = audit["sets"].as_array().unwrap().iter();
        sets.find(|set| set["name"] == name).unwrap().clone()
    };
    assert_eq!(row(&names[0])["verdict"], "Undetermined");
    assert!(
        row(&names[0])
            .to_string()
            .contains("the field of its image is no text"),
        "{out}"
    );
    let unread: Vec<String> = audit["unread"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unread| format!("{}: {}", unread["what"], unread["why"]).replace('"', ""))
        .filter(|unread| unread.ends_with("is not understood"))
        .collect();
    assert_eq!(
        unread,
        [
            format!(
                "Node {}: metadata.labels is not an object: what it says is not understood",
                names[2]
            ),
            format!(
                "MachineSet openshift-machine-api/{}: spec.replicas is not a number, status is not an object: what it says is not understood",
                names[1]
            ),
        ]
    );
    assert_ne!(exit, Exit::Done);
}

#[test]
fn names_and_images_cannot_move_a_cursor() {
    let hostile = "a\u{1b}[2J\u{202e}b\r\n\u{9b}31mc\\S";
    let mut whole: Value = serde_json::from_str(&fixture("vsphere.json")).unwrap();
    fn poison(value: &mut Value, hostile: &str) {
        match value {
            Value::Object(fields) => fields
                .iter_mut()
                .filter(|(name, _)| *name != "kind" && *name != "apiVersion")
                .for_each(|(_, value)| poison(value, hostile)),
            Value::Array(items) => items.iter_mut().for_each(|value| poison(value, hostile)),
            Value::String(text) => text.push_str(hostile),
            _ => {}
        }
    }
    poison(&mut whole["items"], hostile);
    for form in ["text", "wide", "json", "yaml"] {
        let (out, err, _) = audit_text(&whole.to_string(), &["--output", form]);
        assert!(out.contains("u{1b}"), "{out}");
        assert!(
            format!("{out}{err}")
                .bytes()
                .all(|byte| matches!(byte, b'\n' | b' '..=b'~')),
            "{out}"
        );
    }
    let long =
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n".repeat(1 << 20) } });
    let (out, _, _) = audit_text(&long.to_string(), &["--output", "json"]);
    assert!(out.len() < 4096, "{}", out.len());
}
