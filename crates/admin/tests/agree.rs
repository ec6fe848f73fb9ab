//! `audit` and `why` on the same input: where both speak of a Machine, a host, a report, user data, the
//! cluster or the time, they say the same. What is right is told by the objects, not by either program.

use crate::audit::real::nothing_is_kept;
use crate::audit::served::serve;
use crate::support::apiserver::{Lists, Options};
use serde_json::{Value, json};
use skewguard_admin::cli::{Exit, Io};
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::files::input;
use skewguard_cluster::kinds::machine::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(crate) const DATA: &str = "tests/data";

/// What the command prints to stdout and stderr, with its times, and its outcome.
fn run(args: &[&str]) -> (String, String, Exit) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["skewguard"].iter().chain(args);
    let io = &mut Io {
        out: &mut out,
        err: &mut err,
    };
    let exit = skewguard_admin::cli::run(args.map(std::ffi::OsString::from), io);
    let [out, err] = [out, err].map(|bytes| String::from_utf8(bytes).unwrap());
    (out, err, exit)
}

/// What both commands say of one input.
struct Said {
    audit: Value,
    text: String,
    why: Value,
    /// All Machines, and the explanation of each that was asked for by its name.
    each: Vec<(Machine, Value)>,
}

impl Said {
    fn of(from: &[&str]) -> Option<Self> {
        let ask = |command: &[&str]| run(&[command, &["--from"], from].concat());
        let (audit, _, exit) = ask(&["audit", "-o", "json"]);
        let (why, err, _) = ask(&["why", "-o", "json"]);
        // No set and no policy's release in it: the audit says so.
        if audit.is_empty() {
            assert!(exit != Exit::Done, "{from:?}");
            return None;
        }
        let audit: Value = serde_json::from_str(&audit).unwrap();
        // Several clusters are a list of audits, each with its own machines.
        if audit["kind"] == "BootImageAuditList" {
            return None;
        }
        let (text, _, _) = ask(&["audit"]);
        // Sets alone: why says that nothing there should become a Node.
        let why = serde_json::from_str(&why).unwrap_or_else(|_| {
            assert!(err.contains("nothing was read"), "{from:?}: {err}");
            json!({ "machines": [], "young": 0 })
        });
        Some(Self {
            audit,
            text,
            why,
            each: each_machine(from),
        })
    }

    fn on(objects: &Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("objects.json");
        std::fs::write(&file, objects.to_string()).unwrap();
        Self::of(&[file.to_str().unwrap()]).unwrap()
    }

    fn machines(&self) -> &Vec<Value> {
        self.why["machines"].as_array().unwrap()
    }

    /// Namespace and name of the Machines that the audit says wait.
    fn waiting(&self) -> BTreeSet<String> {
        names(self.audit["provisioned"].as_array().unwrap().iter())
    }
}

/// The Machines of an input that count, and what why says of each.
fn each_machine(from: &[&str]) -> Vec<(Machine, Value)> {
    let mut objects = Cluster::default();
    let paths: Vec<PathBuf> = from.iter().map(PathBuf::from).collect();
    input::read(&paths, &mut objects).unwrap();
    let ask = |machine: Machine| {
        let name = machine.metadata.full_name();
        let (out, _, _) = run(&[&["why", &name, "-o", "json", "--from"], from].concat());
        let why: Value = serde_json::from_str(&out).ok()?;
        Some((machine, why["machines"][0].clone()))
    };
    // Each run reads the whole input.
    objects
        .machines
        .into_iter()
        .take(12)
        .filter_map(ask)
        .collect()
}

fn names<'a>(of: impl Iterator<Item = &'a Value>) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    of.map(|one| format!("{}/{}", text(&one["namespace"]), text(&one["name"])))
        .collect()
}

/// The inputs below a folder.
pub(crate) fn sorted(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(DATA).join(folder);
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("policy.json") && !path.ends_with("README.md"))
        .collect();
    all.sort();
    all
}

/// The inputs of the tests of both commands, each as the arguments of `--from`.
pub(crate) fn inputs() -> Vec<Vec<PathBuf>> {
    let alone = ["audit", "cases", "cases-why"]
        .iter()
        .flat_map(|folder| sorted(folder));
    let mut all: Vec<_> = alone.map(|path| vec![path]).collect();
    let cluster = Path::new(DATA).join("why/cluster");
    all.extend(
        sorted("why")
            .into_iter()
            .map(|path| vec![cluster.clone(), path]),
    );
    all
}

fn each(check: impl Fn(&str, &Said) + std::panic::RefUnwindSafe) {
    let (mut read, mut wrong) = (0, Vec::new());
    for from in inputs() {
        let from: Vec<&str> = from.iter().map(|path| path.to_str().unwrap()).collect();
        if let Some(said) = Said::of(&from) {
            read += 1;
            let input = from.join(" ");
            let said = std::panic::AssertUnwindSafe(said);
            if std::panic::catch_unwind(|| check(&input, &said)).is_err() {
                wrong.push(input);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(read >= 50, "{read}");
}

/// A Machine that the audit says waits is explained by why, or one of its young ones; one that why sees
/// `Provisioned` waits for the audit, too.
fn same_machines(input: &str, said: &Said) {
    let explained = names(said.machines().iter());
    let waiting = said.waiting();
    let young = usize::try_from(said.why["young"].as_u64().unwrap()).unwrap();
    let lost: Vec<_> = waiting.difference(&explained).collect();
    assert!(lost.len() <= young, "{input}: why has no {lost:?}");
    let is_provisioned = |machine: &&Value| {
        let is_phase = |seen: &Value| {
            let source = seen["source"].as_str().unwrap();
            source.ends_with(", status.phase") && seen["text"] == "Provisioned"
        };
        machine["kind"] == "Machine"
            && !has_joined(machine)
            && machine["evidence"].as_array().unwrap().iter().any(is_phase)
    };
    let seen = names(said.machines().iter().filter(is_provisioned));
    let lost: Vec<_> = seen.difference(&waiting).collect();
    assert!(lost.is_empty(), "{input}: the audit has no {lost:?}");
}

/// It has a Node, or had one, for why.
fn has_joined(machine: &Value) -> bool {
    matches!(machine["stage"].as_str(), Some("Joined" | "NodeNotReady"))
}

/// Each Machine waits for both or for neither, has the same set for both, and its Node is the set's.
fn same_of_each_machine(input: &str, said: &Said) {
    let rows = said.audit["provisioned"].as_array().unwrap();
    let mut joined: BTreeMap<&str, usize> = BTreeMap::new();
    for (machine, why) in &said.each {
        let metadata = &machine.metadata;
        let row = rows
            .iter()
            .find(|row| row["namespace"] == *metadata.namespace && row["name"] == *metadata.name);
        let has_joined = has_joined(why);
        // A Node by the name of a request, or one that may not have been read, is why's alone.
        let is_sure = has_joined && why["isCertain"] == true;
        assert!(
            row.is_none() || !is_sure,
            "{input}: {}: waits for the audit, {}",
            metadata.name,
            why["sentence"]
        );
        let waits = machine.phase.as_deref() == Some("Provisioned") && !machine.is_deleting;
        assert!(
            row.is_some() || !waits || has_joined || machine.node.is_some(),
            "{input}: {}: waits for why alone: {}",
            metadata.name,
            why["sentence"]
        );
        assert!(
            row.is_none_or(|row| row["set"] == why["owner"]),
            "{input}: {row:?} {why:#}"
        );
        let has_node = why["evidence"].as_array().unwrap().iter().any(|seen| {
            seen["source"].as_str().unwrap().starts_with("Node ") && seen["text"] == "created"
        });
        if let (true, Some(owner)) = (has_node && row.is_none(), why["owner"].as_str()) {
            *joined.entry(owner).or_default() += 1;
        }
    }
    for (owner, count) in joined {
        let is_it =
            |set: &&Value| owner == format!("{} {}", set["kind"], set["name"]).replace('"', "");
        // Some sets have several rows, and sets of the two APIs one name.
        let sets = said.audit["sets"].as_array().unwrap().iter();
        let sets: Vec<&Value> = sets.filter(is_it).collect();
        if sets.is_empty() {
            continue;
        }
        let nodes = sets.iter().flat_map(|set| set["nodes"].as_array().unwrap());
        let nodes: u64 = nodes.map(|one| one["count"].as_u64().unwrap()).sum();
        assert!(
            nodes >= u64::try_from(count).unwrap(),
            "{input}: {owner}: why shows {count} Nodes, the audit counts {nodes}"
        );
    }
}

/// The age that the audit's text gives the oldest Machine that waits is that by why's clock.
fn same_time(input: &str, said: &Said) {
    let Some(line) = said
        .text
        .lines()
        .find(|line| line.contains(" to become a Node"))
    else {
        return;
    };
    let since = said.audit["provisioned"].as_array().unwrap();
    let since = since.iter().filter_map(|one| one["since"].as_str());
    let Some(since) = since.filter(|since| !since.is_empty()).min() else {
        return;
    };
    let now = seconds(said.why["time"].as_str().unwrap());
    let age = now.saturating_sub(seconds(since));
    let words: Vec<&str> = line.split([' ', ':', ',']).collect();
    let at = words.iter().position(|word| *word == "for").unwrap();
    let number: u64 = words[at + 1].parse().unwrap();
    let unit = match words[at + 2].trim_end_matches('s') {
        "day" => 86_400,
        "hour" => 3_600,
        "minute" => 60,
        "second" => 1,
        other => panic!("{input}: {other}"),
    };
    assert!(
        (number * unit..(number + 1) * unit).contains(&age),
        "{input}: {line}; by why's clock {age} s"
    );
}

fn seconds(time: &str) -> u64 {
    let time = humantime::parse_rfc3339_weak(time).unwrap();
    time.duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// The cluster is the same one.
fn same_cluster(input: &str, said: &Said) {
    for key in ["clusterID", "infrastructureName", "server", "release"] {
        let (audit, why) = (&said.audit["origin"][key], &said.why["origin"][key]);
        assert!(
            why.is_null() || audit == why,
            "{input}: {key}: {audit}, {why}"
        );
    }
}

/// A report that why takes for a Machine's is one that the audit knows, too.
fn same_reports(input: &str, said: &Said) {
    let audit = said.audit.to_string();
    for machine in said.machines() {
        let waits = said
            .waiting()
            .contains(&format!("{}/{}", machine["namespace"], machine["name"]).replace('"', ""));
        for seen in machine["evidence"].as_array().unwrap() {
            let source = seen["source"].as_str().unwrap();
            let Some(name) = source.strip_prefix("BootImageReport ") else {
                continue;
            };
            let name = name.split([',', ' ']).next().unwrap();
            let name = name.rsplit('/').next().unwrap();
            let refuses = seen["text"].as_str().unwrap().starts_with("Refused");
            let owner = machine["owner"].as_str().unwrap_or_default();
            let sets = said.audit["sets"].as_array().unwrap();
            let is_unknown = sets.iter().any(|set| {
                owner == format!("{} {}", set["kind"], set["name"]).replace('"', "")
                    && set["verdict"] == "Undetermined"
            });
            // Where the version is known otherwise, a claim says nothing of it.
            if waits && refuses && is_unknown {
                assert!(audit.contains(name), "{input}: the audit has no {name}");
            }
        }
    }
}

/// A set is not without concern for the audit whose user data why says its image cannot read.
fn same_user_data(input: &str, said: &Said) {
    for machine in said.machines() {
        let sentence = machine["sentence"].as_str().unwrap();
        let Some(owner) = machine["owner"].as_str() else {
            continue;
        };
        if !(sentence.contains("Ignition") && sentence.contains("spec")) {
            continue;
        }
        let sets = said.audit["sets"].as_array().unwrap();
        for set in sets {
            let name = format!("{} {}", set["kind"], set["name"]).replace('"', "");
            if name == owner {
                let notes = set.to_string();
                assert!(
                    set["verdict"] != "Allowed" || notes.contains("Ignition"),
                    "{input}: {sentence} {set:#}"
                );
            }
        }
    }
}

/// A host that is a Machine's for why makes no row of its own in the audit.
fn same_hosts(input: &str, objects: &[Value], said: &Said) {
    let hosts = objects.iter().filter(|one| one["kind"] == "BareMetalHost");
    let names: Vec<&str> = hosts
        .filter_map(|host| host["metadata"]["name"].as_str())
        .collect();
    let sets = said.audit["sets"].as_array().unwrap();
    let rows = sets.iter().filter(|set| set["kind"] == "BareMetalHost");
    let members: Vec<String> = rows.map(Value::to_string).collect();
    for name in names {
        let owned = said.machines().iter().any(|machine| {
            let evidence = machine["evidence"].as_array().unwrap();
            machine["kind"] == "Machine"
                && evidence.iter().any(|seen| {
                    let source = seen["source"].as_str().unwrap();
                    source.starts_with("BareMetalHost ") && source.contains(name)
                })
        });
        assert!(
            !owned || members.iter().all(|row| !row.contains(name)),
            "{input}: {name} is a Machine's"
        );
    }
}

#[test]
fn they_agree_on_every_input() {
    each(agree);
}

fn agree(input: &str, said: &Said) {
    same_machines(input, said);
    same_of_each_machine(input, said);
    same_time(input, said);
    same_cluster(input, said);
    same_reports(input, said);
    same_user_data(input, said);
}

fn machine(name: &str, spec: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": "openshift-machine-api",
            "uid": format!("uid-{name}"),
            "creationTimestamp": "2026-03-01T10:00:00Z",
            "ownerReferences": [{ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "w", "uid": "uid-w" }],
        },
        "spec": spec,
        "status": status,
    })
}

fn vsphere_spec(template: &str) -> Value {
    json!({ "value": {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "VSphereMachineProviderSpec",
        "template": template,
        "userDataSecret": { "name": "worker-user-data" },
    } })
}

fn vsphere_set(template: &str) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": { "name": "w", "namespace": "openshift-machine-api", "uid": "uid-w", "creationTimestamp": "2026-03-01T09:00:00Z" },
        "spec": { "replicas": 1, "template": { "spec": { "providerSpec": vsphere_spec(template) } } },
    })
}

fn list(items: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

/// A gather of months ago: its own newest time is the clock of both.
#[test]
fn of_an_old_gather_both_have_the_clock() {
    let up = json!({ "phase": "Provisioned", "lastUpdated": "2026-03-01T10:03:00Z" });
    let spec = json!({ "providerID": "vsphere://42-a", "providerSpec": vsphere_spec("t") });
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e", "namespace": "openshift-machine-api", "creationTimestamp": "2026-03-01T13:10:00Z" },
        "involvedObject": { "kind": "MachineSet", "name": "w", "namespace": "openshift-machine-api" },
        "reason": "Scaled", "message": "scaled", "type": "Normal", "lastTimestamp": "2026-03-01T13:10:00Z",
    });
    let objects = list(&[vsphere_set("t"), machine("w-1", &spec, &up), event]);
    let said = Said::on(&objects);
    agree("old gather", &said);
    assert!(said.text.contains("for 3 hours"), "{}", said.text);
    assert_eq!(said.why["time"], "2026-03-01T13:10:00Z");
}

/// A machine's report has its short host name, its addresses the long one.
#[test]
fn a_report_of_a_short_host_name_is_found_by_both() {
    let up = json!({
        "phase": "Provisioned",
        "lastUpdated": "2026-03-01T10:03:00Z",
        "addresses": [{ "type": "InternalDNS", "address": "w-9.example.com." }],
    });
    let spec = json!({ "providerID": "vsphere://42-a", "providerSpec": vsphere_spec("t") });
    let report = json!({
        "apiVersion": "skewguard.dev/v1alpha1",
        "kind": "BootImageReport",
        "metadata": { "name": "w-9-3f9a1c77d2e4b605", "namespace": "skewguard", "creationTimestamp": "2026-03-01T10:10:00Z" },
        "report": {
            "observedAt": "2026-03-01T10:10:00Z",
            "verdict": {
                "verdict": "Refused",
                "action": "Block",
                "reason": "BelowMinimumOCPVersion",
                "message": "boot image is OCP 4.6; the minimum is 4.13.0",
                "bootImage": { "version": "46.82.202011260640-0", "ocpVersion": "4.6", "rhelVersion": "8.2", "source": "Aleph" },
            },
            "node": { "hostname": "w-9" },
        },
    });
    let objects = list(&[vsphere_set("t"), machine("w-1", &spec, &up), report]);
    let said = Said::on(&objects);
    agree("short host name", &said);
    assert!(
        said.audit.to_string().contains("w-9-3f9a1c77d2e4b605"),
        "{:#}",
        said.audit
    );
    assert!(said.why.to_string().contains("w-9-3f9a1c77d2e4b605"));
}

/// The image's Ignition reads specs up to 3.1.0, the user data is of 3.2.0.
#[test]
fn user_data_that_an_image_cannot_read_is_a_concern_of_both() {
    let template = "rhcos-46.82.202011260640-0-vmware.x86_64.ova";
    let user_data = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "worker-user-data", "namespace": "openshift-machine-api" },
        // {"ignition":{"config":{"merge":[{"source":"https://api-int.c1.example.com:22623/config/worker"}]},"version":"3.2.0"}}
        "data": { "userData": "eyJpZ25pdGlvbiI6eyJjb25maWciOnsibWVyZ2UiOlt7InNvdXJjZSI6Imh0dHBzOi8vYXBpLWludC5jMS5leGFtcGxlLmNvbToyMjYyMy9jb25maWcvd29ya2VyIn1dfSwidmVyc2lvbiI6IjMuMi4wIn19" },
    });
    let up = json!({ "phase": "Provisioned", "lastUpdated": "2026-03-01T10:03:00Z" });
    let spec = json!({ "providerID": "vsphere://42-a", "providerSpec": vsphere_spec(template) });
    let waits = machine("w-1", &spec, &up);
    let objects = list(&[user_data, nothing_is_kept(), vsphere_set(template), waits]);
    let said = Said::on(&objects);
    agree("user data", &said);
    let set = &said.audit["sets"][0];
    assert!(set.to_string().contains("3.2.0"), "{set:#}");
}

/// The host of a Metal3Machine is its Machine's, in both.
#[test]
fn a_host_of_the_cluster_api_has_no_row_of_its_own() {
    let meta = |name: &str| json!({ "name": name, "namespace": "openshift-cluster-api", "uid": format!("uid-{name}"), "creationTimestamp": "2026-03-01T10:00:00Z" });
    let image = json!({ "url": "http://images.example.com/rhcos-412.86.202301311551-0-metal.x86_64.raw.gz", "checksum": "http://x/y" });
    let infrastructure = json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine", "name": "w-abcde-infra", "namespace": "openshift-cluster-api" });
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": meta("host-0"),
        "spec": { "online": true, "consumerRef": infrastructure, "image": image },
        "status": { "provisioning": { "state": "provisioned" }, "poweredOn": true },
    });
    let consumer = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine",
        "metadata": { "name": "w-abcde-infra", "namespace": "openshift-cluster-api", "uid": "uid-i", "creationTimestamp": "2026-03-01T10:00:00Z",
            "annotations": { "metal3.io/BareMetalHost": "openshift-cluster-api/host-0" },
            "ownerReferences": [{ "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": "w-abcde", "uid": "uid-w-abcde" }] },
        "spec": { "image": image },
    });
    let machine = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": meta("w-abcde"),
        "spec": { "clusterName": "c1", "infrastructureRef": infrastructure },
        "status": { "phase": "Provisioned", "lastUpdated": "2026-03-01T12:00:00Z" },
    });
    for objects in [
        vec![vsphere_set("t"), host.clone(), consumer, machine.clone()],
        vec![vsphere_set("t"), host.clone(), machine],
    ] {
        let said = Said::on(&list(&objects));
        agree("host", &said);
        same_hosts("host", &objects, &said);
        let sets = said.audit["sets"].as_array().unwrap();
        assert!(
            sets.iter().all(|set| set["kind"] != "BareMetalHost"),
            "{sets:#?}"
        );
        let asked = Said::on(&list(&objects));
        assert!(names(asked.machines().iter()).contains("openshift-cluster-api/w-abcde"));
    }
}

/// What is read from a server and from files of the same objects is the same: Events of every namespace.
#[test]
fn a_server_and_files_tell_the_same_of_a_cluster_api_machine() {
    let meta = |name: &str, time: &str| json!({ "name": name, "namespace": "openshift-cluster-api", "uid": format!("uid-{name}"), "creationTimestamp": time });
    let infrastructure = json!({ "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AWSMachine", "name": "w-1", "namespace": "openshift-cluster-api" });
    let words = "InsufficientInstanceCapacity: We currently do not have sufficient m5.xlarge capacity in us-east-1a";
    let objects = [
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": meta("w-1", "2026-03-01T10:00:00Z"),
            "spec": { "clusterName": "c1", "infrastructureRef": infrastructure }, "status": { "phase": "Provisioning" },
        }),
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": meta("w-1.1", "2026-03-01T10:05:00Z"),
            "involvedObject": { "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AWSMachine", "name": "w-1", "namespace": "openshift-cluster-api" },
            "type": "Warning", "reason": "FailedCreate", "message": words,
            "firstTimestamp": "2026-03-01T10:05:00Z", "lastTimestamp": "2026-03-01T10:25:00Z", "count": 3,
        }),
    ];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("objects.json");
    std::fs::write(&file, list(&objects).to_string()).unwrap();
    let served = serve(Lists::of(objects.to_vec()), Options::default());
    for from in [
        ["--from", file.to_str().unwrap()],
        ["--kubeconfig", served.kubeconfig.to_str().unwrap()],
    ] {
        let (out, err, exit) = run(&[&["why", "-o", "json"][..], &from].concat());
        assert_eq!(exit, Exit::Done, "{err}");
        let said: Value = serde_json::from_str(&out).unwrap();
        let sentence = said["machines"][0]["sentence"].as_str().unwrap();
        assert!(
            sentence.contains("InsufficientInstanceCapacity"),
            "{said:#}"
        );
    }
}
