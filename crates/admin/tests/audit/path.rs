//! `--path`: what is to do on the way to a later release, by when.

use super::audit;
use super::real::list;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

fn items(release: &str, sets: &[(&str, &str)]) -> Vec<Value> {
    let text = std::fs::read_to_string("tests/data/cases/installed-long-ago/objects.json").unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let mut items = all["items"].as_array().unwrap().clone();
    items[0]["status"]["desired"]["version"] = json!(release);
    items[0]["status"]["history"][0]["version"] = json!(release);
    let set = items.pop().unwrap();
    items.extend(sets.iter().map(|(name, image)| {
        let mut set = set.clone();
        set["metadata"]["name"] = json!(name);
        let value = &mut set["spec"]["template"]["spec"]["providerSpec"]["value"];
        value["image"]["name"] = json!(image);
        set
    }));
    items
}

const OLD: &str = "rhcos-412.86.202301311551-0-nutanix.x86_64.qcow2";
const NEW: &str = "rhcos-418.94.202501221327-0-nutanix.x86_64.qcow2";

/// A cluster of 4.18.20, which was installed as 4.10.3.
fn cluster() -> Vec<Value> {
    let mut sets = vec![("c1-old", OLD), ("c1-copy", "copied")];
    sets.extend(["c1-a", "c1-b"].map(|name| (name, NEW)));
    let mut all = items("4.18.20", &sets);
    // Its own images are those of 4.18.
    let own = all[1]["data"]["stream"].as_str().unwrap();
    let own = own.replace("9.6.20251015-1", "418.94.202501221327-0");
    all[1]["data"]["stream"] = json!(own);
    all
}

fn of(items: &[Value], more: &[&str]) -> (String, String, Exit) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("objects.json");
    std::fs::write(&path, list(items.to_vec())).unwrap();
    let (out, err, exit) = audit(&[&["--from", path.to_str().unwrap()], more].concat());
    let named = |text: String| text.replace(path.to_str().unwrap(), "objects.json");
    (named(out), named(err), exit)
}

fn path_of(items: &[Value], to: &str, more: &[&str]) -> Value {
    let (out, err, _) = of(items, &[&["--path", to, "-o", "json"], more].concat());
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    found["path"].clone()
}

#[test]
fn the_way_is_told_by_when_something_has_to_be_done() {
    for (form, file) in [
        ("text", "path.txt"),
        ("markdown", "path.md"),
        ("json", "path-json.txt"),
    ] {
        let (mut out, err, exit) = of(&cluster(), &["--path", "5.0", "-o", form]);
        assert_eq!((&*err, exit), ("", Exit::Unknown), "{form}");
        if form == "json" {
            let found: Value = serde_json::from_str(&out).unwrap();
            out = serde_json::to_string_pretty(&found["path"]).unwrap() + "\n";
        }
        crate::support::expected::assert_file(&format!("audit/expected/{file}"), &out);
        for never in ["safe", "ready for", "offered to"] {
            assert!(!out.contains(never), "{form}: {out}");
        }
    }
}

/// What ClusterVersion's history does not say shortens no way.
#[test]
fn a_history_that_was_not_read_leaves_a_step_to_find_out() {
    let step = |change: &dyn Fn(&mut Value)| {
        let mut items = items("4.21.4", &[("c1-a", NEW)]);
        change(&mut items[0]["status"]);
        let more = ["--path", "5.0", "--fail-on", "later"];
        let (out, err, exit) = of(&items, &[&more[..], &["-o", "json"]].concat());
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        let steps = found["path"]["steps"].as_array().unwrap().clone();
        let is_of_value = |step: &&Value| step["subject"] == "MachineConfiguration cluster";
        let step = steps.iter().find(is_of_value).cloned();
        (
            step.map(|step| (step["kind"].clone(), step["because"].clone())),
            exit,
        )
    };
    let certain = "it takes 4.10.3, the release installed, and blocks 5.0 until then; not possible before 4.22";
    let open = "it may take the release installed, which ClusterVersion's history does not say, and may block 5.0 until then; not possible before 4.22";
    let said = |kind: &str, because: &str| Some((json!(kind), json!(because)));
    assert_eq!(
        step(&|_| ()),
        (said("OperatorValue", certain), Exit::Refused)
    );
    let whole: [&dyn Fn(&mut Value); 3] = [
        &|status| status["history"] = Value::Null,
        &|status| status["history"][1]["version"] = Value::Null,
        &|status| status["history"][1]["state"] = Value::Null,
    ];
    for change in whole {
        assert_eq!(step(change), (said("FindOut", open), Exit::Unknown));
    }
    let new = |status: &mut Value| status["history"][1]["version"] = json!("4.14.3");
    assert_eq!(step(&new), (None, Exit::Done));
}

#[test]
fn what_makes_no_way_is_an_error() {
    let set = [("c1-a", NEW)];
    for (release, to, says) in [
        ("4.18.20", "4.18", "the cluster is at 4.18.20 already"),
        ("4.18.20", "4.17.3", "the cluster is at 4.18.20 already"),
        (
            "4.23.1",
            "5.0",
            "no update is known that leads from 4.23 to 5.0",
        ),
        (
            "4.23.1",
            "5.1",
            "no update is known that leads from 4.23 to 5.1",
        ),
        (
            "4.22.1",
            "5.9",
            "no update is known that leads from 4.22 to 5.9",
        ),
    ] {
        let (_, err, exit) = of(&items(release, &set), &["--path", to]);
        assert!(err.contains(says), "{release} {to}: {err}");
        assert_eq!(exit, Exit::Failed, "{err}");
    }
    for more in [&["--target", "5.0"][..], &["--since", "x.json"]] {
        let (_, err, exit) = of(
            &items("4.18.20", &set),
            &[&["--path", "5.0"], more].concat(),
        );
        assert_eq!(exit, Exit::Usage, "{err}");
    }
    for form in ["csv", "html", "junit", "sarif"] {
        let (_, err, _) = of(&items("4.18.20", &set), &["--path", "5.0", "-o", form]);
        assert!(
            err.contains("--path: -o text, wide, json, yaml and markdown have it"),
            "{err}"
        );
    }
}

#[test]
fn a_pipeline_may_fail_by_its_steps() {
    let [old, new, copy] = [OLD, NEW, "copied"].map(|image| items("4.21.3", &[("c1-a", image)]));
    let installed = |mut items: Vec<Value>| {
        items[0]["status"]["history"][1]["version"] = json!("4.18.1");
        items
    };
    for (items, fail_on, status) in [
        (old.clone(), "later", Exit::Refused),
        (old, "unknown", Exit::Done),
        (installed(new.clone()), "later", Exit::Done),
        // The operator's value.
        (new, "later", Exit::Refused),
        (installed(copy), "later", Exit::Unknown),
    ] {
        let (out, err, exit) = of(&items, &["--path", "5.0", "--fail-on", fail_on]);
        assert_eq!(exit, status, "{out}{err}");
    }
}

/// Only what may be done now is a command.
#[test]
fn a_script_has_what_may_be_done_now() {
    let set = |name: &str, ami: &str| super::real::machine_set(name, &super::real::aws(ami));
    let of_release = |release: &str| {
        let mut all = items(release, &[]);
        all.truncate(1);
        all.push(set("old", "ami-057fe628c533932e2"));
        all
    };
    let fix = |release: &str| {
        of(
            &of_release(release),
            &["--path", "5.0", "--print-commands", "fix"],
        )
        .0
    };
    assert!(
        fix("4.14.30").contains("oc patch machinesets"),
        "{}",
        fix("4.14.30")
    );
    assert!(
        !fix("4.12.50").contains("\n    oc patch machinesets"),
        "{}",
        fix("4.12.50")
    );
    let steps = path_of(&of_release("4.12.50"), "5.0", &[]);
    let image = steps["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["kind"] == "Image");
    assert_eq!(image.unwrap()["notBefore"], "4.13", "{steps:#}");
}

/// A NodePool goes its own way, from its own release on.
#[test]
fn a_node_pool_goes_its_own_way() {
    let text = std::fs::read_to_string("tests/data/audit/hypershift.json").unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let found = path_of(all["items"].as_array().unwrap(), "5.0", &[]);
    for step in found["steps"].as_array().unwrap() {
        assert!(
            step["because"].is_string() && step["certain"].is_boolean(),
            "{step:#}"
        );
    }
}

/// Each published image at each hop, by the command at one release, and by the way's steps: nothing that a hop refuses
/// is without a step before it, no step is for what every hop allows, and no remedy fails where it is said to pass.
/// `SKEWGUARD_PATHS=1` takes all images instead of a sample.
#[test]
fn the_ways_steps_say_what_each_hop_says() {
    let all = std::env::var_os("SKEWGUARD_PATHS").is_some();
    let text = std::fs::read_to_string("tests/data/boot-images.tsv").unwrap();
    let versions: std::collections::BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.split('\t').next())
        .filter(|word| word.contains('-') && word.contains('.'))
        .collect();
    let step = if all { 1 } else { versions.len() / 12 + 1 };
    let versions: Vec<&str> = versions.into_iter().step_by(step).collect();
    assert!(versions.len() > 5, "{versions:?}");
    let names: Vec<(String, String)> = versions
        .iter()
        .enumerate()
        .map(|(n, version)| {
            (
                format!("s{n}"),
                format!("rhcos-{version}-nutanix.x86_64.qcow2"),
            )
        })
        .collect();
    let sets: Vec<(&str, &str)> = names.iter().map(|(a, b)| (&**a, &**b)).collect();
    let dir = tempfile::tempdir().unwrap();
    for (n, limits) in [
        Value::Null,
        json!([{ "deniedVersions": [] }, { "release": "4.20", "rhelMajors": [9] }, { "release": "5.0", "minimumRHCOSVersion": "9.6" }]),
        json!([{ "deniedVersions": [] }, { "release": "4.19", "minimumRHCOSVersion": "9.4" }, { "release": "4.21", "deniedVersions": [] }, { "release": "5.0", "maximumRHCOSVersion": "9.6" }]),
    ]
    .into_iter()
    .enumerate()
    {
        let file = dir.path().join(format!("{n}.json"));
        let policy = json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "BootImageSkewPolicy", "mode": "Warn", "limits": limits });
        std::fs::write(&file, policy.to_string()).unwrap();
        let named = ["--policy", file.to_str().unwrap()];
        let named: &[&str] = if limits.is_null() { &[] } else { &named };
        let (steps, refused) = agree(&items("4.18.20", &sets), named);
        assert_remedies(&steps.iter().collect::<Vec<_>>(), &refused);
        let mut clouds = items("4.18.20", &[]);
        let providers = AMIS.map(in_virginia).into_iter();
        let providers = providers.chain(ON_GCP.map(|name| super::real::gcp(&format!("projects/rhcos-cloud/global/images/{name}"))));
        clouds.extend(providers.enumerate().map(|(n, provider)| super::real::machine_set(&format!("c{n}"), &provider)));
        let _ = agree(&clouds, named);
    }
}

/// AMIs of us-east-1: 4.3, 4.5, 4.8, 4.12, 4.14, 4.17, RHEL 9.6.
const AMIS: [&str; 7] = [
    "ami-0977ca1ccf6948db9",
    "ami-08f17f5bd2210c9fa",
    "ami-06e6531aef9359b1e",
    "ami-0b9c602d07818c309",
    "ami-0e8b36c7affdb2e40",
    "ami-0463e565b20b32acf",
    "ami-015c3d8cbbc8f493d",
];

const ON_GCP: [&str; 4] = [
    "rhcos-46-82-202009222340-0-gcp-x86-64",
    "rhcos-412-86-202303211731-0-gcp-x86-64",
    "rhcos-414-92-202309201615-0-gcp-x86-64",
    "rhcos-9-8-20260403-0-gcp-x86-64",
];

fn in_virginia(ami: &str) -> Value {
    let mut provider = super::real::aws(ami);
    provider["placement"] = json!({ "availabilityZone": "us-east-1a", "region": "us-east-1" });
    provider
}

const HOPS: [&str; 6] = ["4.18", "4.19", "4.20", "4.21", "4.22", "5.0"];

/// The steps, and what is refused of some objects at a hop.
fn agree<'a>(
    items: &[Value],
    policy: &'a [&str],
) -> (Vec<Value>, impl Fn(&[Value], &str) -> Vec<String> + use<'a>) {
    let refused = move |items: &[Value], hop: &str| -> Vec<String> {
        let (out, err, _) = of(items, &[policy, &["--target", hop, "-o", "json"]].concat());
        let found: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        let sets = found["sets"].as_array().unwrap().iter();
        let refused = sets.filter(|set| set["action"] == "Block");
        refused
            .map(|set| set["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let hops = HOPS.map(|hop| (hop, refused(items, hop)));
    let path = path_of(items, "5.0", policy);
    let steps = path["steps"].as_array().unwrap().clone();
    let sets = items.iter().filter(|item| item["kind"] == "MachineSet");
    for name in sets.map(|set| set["metadata"]["name"].as_str().unwrap()) {
        let subject = format!("MachineSet openshift-machine-api/{name}");
        let own = steps
            .iter()
            .filter(|step| step["kind"] == "Image" && step["subject"] == *subject);
        let own: Vec<&str> = own
            .map(|step| step["by"]["release"].as_str().unwrap_or("4.18"))
            .collect();
        let is_refused =
            |(_, refused): &&(&str, Vec<String>)| refused.iter().any(|own| own == name);
        let first: Vec<&str> = hops
            .iter()
            .find(is_refused)
            .map(|(hop, _)| *hop)
            .into_iter()
            .collect();
        assert_eq!(own, first, "{name} {policy:?} {hops:?}");
    }
    (steps, refused)
}

/// Each image that is offered passes at every hop from which on it may be set.
fn assert_remedies(steps: &[&Value], refused: &dyn Fn(&[Value], &str) -> Vec<String>) {
    let remedies: std::collections::BTreeSet<(String, String, String)> = steps
        .iter()
        .filter(|step| step["holdsTo"].is_string())
        .map(|step| {
            let remedy = step["remedy"].as_str().unwrap();
            let version = remedy.split_once("upload ").unwrap().1;
            let version = version.split(',').next().unwrap().to_owned();
            let word = |name: &str| step[name].as_str().unwrap_or("4.18").to_owned();
            (version, word("notBefore"), word("holdsTo"))
        })
        .collect();
    for (version, from, to) in remedies {
        let name = format!("rhcos-{version}-nutanix.x86_64.qcow2");
        let items = items("4.18.20", &[("new", &name)]);
        let place = |hop: &str| HOPS.iter().position(|own| *own == hop).unwrap();
        for hop in &HOPS[place(&from)..=place(&to)] {
            assert!(refused(&items, hop).is_empty(), "{version} {hop}");
        }
    }
}
