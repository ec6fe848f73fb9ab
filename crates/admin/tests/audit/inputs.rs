//! What `--from` reads: several gathers, several clusters, archives, and what was cut short.

use super::{POLICY, audit, audit_text, fixture, run};
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;
use std::io::Write;
use std::path::{Path, PathBuf};

const CASES: &str = "tests/data/cases";

/// What is found in these files: the sets with their verdicts, what was not read, the exit status.
fn found(from: &[&str]) -> (Vec<String>, Vec<String>, Exit) {
    let policy = format!("{CASES}/policy.json");
    let args = [&["--policy", policy.as_str(), "-o", "json", "--from"], from].concat();
    let (out, err, exit) = audit(&args);
    let audit: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let list = |name: &str, show: fn(&Value) -> String| {
        audit[name].as_array().unwrap().iter().map(show).collect()
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert_eq!(text(&audit["kind"]), "BootImageAudit");
    (
        list("sets", |set| {
            format!(
                "{} {} {}",
                set["verdict"].as_str().unwrap(),
                set["name"].as_str().unwrap(),
                set["image"].as_str().unwrap_or_default()
            )
        }),
        list("unread", |unread| {
            format!(
                "{}: {}",
                unread["what"].as_str().unwrap(),
                unread["why"].as_str().unwrap()
            )
        }),
        exit,
    )
}

/// Files of several clusters, whatever they are packed with: both commands name the clusters, by the ClusterVersion's ID,
/// else by the Infrastructure, with a file of each.
#[test]
fn one_cluster_at_a_time() {
    let two = Path::new(CASES).join("two-clusters");
    let [a, b] = ["a", "b"].map(|name| format!("{CASES}/two-clusters/{name}.json"));
    let dir = tempfile::tempdir().unwrap();
    let packed = dir.path().join("gathers.tgz");
    std::fs::write(&packed, gzip(&tar_of(&two))).unwrap();
    let without: Vec<String> = [&a, &b]
        .map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let mut list: Value = serde_json::from_str(&text).unwrap();
            let items = list["items"].as_array_mut().unwrap();
            items.retain(|item| item["kind"] != "ClusterVersion");
            let path = dir.path().join(Path::new(file).file_name().unwrap());
            std::fs::write(&path, list.to_string()).unwrap();
            path.to_str().unwrap().to_owned()
        })
        .into();
    for (from, by) in [
        (vec![b.as_str(), &a], "clusterID"),
        (vec![two.to_str().unwrap()], "clusterID"),
        (vec![packed.to_str().unwrap()], "clusterID"),
        (vec![&without[0], &without[1]], "apiServerURL"),
    ] {
        for command in ["audit", "why"] {
            let (out, err, exit) = run(&[&[command, "--from"], &*from].concat());
            assert_eq!((out.as_str(), exit), ("", Exit::Failed), "{from:?}");
            let begin = format!("skewguard: objects of 2 clusters were read, by their {by}: ");
            assert!(err.starts_with(&begin), "{err}");
            assert!(err.contains("a.json") && err.contains("b.json"), "{err}");
            let end = "; name the files of one at a time\n";
            assert!(err.ends_with(end), "{err}");
        }
    }
}

/// The older copy says no `resourceVersion`: what the newer one says counts, and it is said.
const UNDECIDED: &str = "MachineSet openshift-machine-api/old: was read twice, and differs; without metadata.resourceVersion \
    it is not known which is newer: audit each gather by itself";

/// A set that was changed for the worse between two gathers, with a file as `gzip` leaves it.
#[test]
fn of_two_gathers_the_newer_object_counts() {
    let gathers = [1, 2].map(|n| format!("{CASES}/two-gathers/must-gather.local.{n}"));
    let [first, second] = gathers.each_ref().map(String::as_str);
    let wanted = [
        "Refused old rhcos-410.84.202205191234-0".to_owned(),
        "Refused old2 rhcos-410.84.202205191234-0".to_owned(),
    ];
    // In one folder, and within each other.
    let dir = tempfile::tempdir().unwrap();
    let both = Path::new(first).parent().unwrap();
    std::fs::write(dir.path().join("both.tar.gz"), gzip(&tar_of(both))).unwrap();
    std::fs::create_dir(dir.path().join("more")).unwrap();
    std::fs::write(dir.path().join("more/again.tar"), tar_of(both)).unwrap();
    let nested = dir.path().to_str().unwrap();
    let within = format!("{nested}/both.tar.gz");
    let froms = [
        vec![first, second],
        vec![second, first],
        vec![both.to_str().unwrap()],
        vec![nested],
        vec![&within],
    ];
    for from in froms {
        let (sets, unread, exit) = found(&from);
        assert_eq!((sets.as_slice(), exit), (&wanted[..], Exit::Refused));
        assert_eq!(unread, [UNDECIDED]);
    }
    let dir = tempfile::tempdir().unwrap();
    let archives: Vec<String> = gathers
        .iter()
        .map(|gather| {
            let name = Path::new(gather).file_name().unwrap().to_str().unwrap();
            let path = dir.path().join(format!("{name}.tgz"));
            std::fs::write(&path, gzip(&tar_of(Path::new(gather)))).unwrap();
            path.to_str().unwrap().to_owned()
        })
        .collect();
    let (sets, unread, exit) = found(&[&archives[1], &archives[0]]);
    assert_eq!((sets.as_slice(), exit), (&wanted[..], Exit::Refused));
    assert_eq!(unread, [UNDECIDED]);
}

fn set(version: Option<&str>, uid: &str, template: &str) -> Value {
    let mut set = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": { "name": "w", "namespace": "openshift-machine-api", "uid": uid },
        "spec": { "replicas": 1, "template": { "spec": { "providerSpec": { "value":
            { "kind": "OpenstackProviderSpec", "image": template, "userDataSecret": { "name": "worker-user-data" } } } } } } });
    if let Some(version) = version {
        set["metadata"]["resourceVersion"] = json!(version);
    }
    set
}

/// Numbers, not text: 100000 is newer than 99999. And what cannot be decided is said.
#[test]
fn the_newest_is_known_by_its_resource_version() {
    let (old, new) = ("rhcos-410.84.202205191234-0", "rhcos-418.94.202501221327-0");
    for (first, second, wanted, exit) in [
        (Some("99999"), Some("100000"), new, Exit::Done),
        (Some("100000"), Some("99999"), old, Exit::Refused),
        (None, Some("1"), new, Exit::Failed),
        (Some("7"), Some("7"), "", Exit::Failed),
    ] {
        let text = format!("{}{}", set(first, "u", old), set(second, "u", new));
        let (out, _, found) = audit_text(&text, &["-o", "json"]);
        let audit: Value = serde_json::from_str(&out).unwrap();
        let wanted = Some(wanted).filter(|wanted| !wanted.is_empty());
        assert_eq!(
            (&audit["sets"][0]["image"], found),
            (&json!(wanted), exit),
            "{first:?} {second:?}"
        );
        assert_eq!(audit["sets"].as_array().unwrap().len(), 1);
    }
    for (first, second) in [
        (set(None, "u", new), set(None, "u", old)),
        (set(Some("2"), "u", new), set(Some("1"), "v", old)),
    ] {
        let (out, _, exit) = audit_text(&format!("{first}{second}"), &["-o", "json"]);
        let audit: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(exit, Exit::Failed, "{audit}");
        assert!(
            audit["unread"][0]["why"]
                .as_str()
                .unwrap()
                .ends_with("audit each gather by itself"),
            "{audit}"
        );
    }
}

/// `oc get -o yaml` that was killed: whatever was written, the audit is not called whole.
#[test]
fn a_yaml_list_that_ends_early_is_named() {
    let case = format!("{CASES}/list-cut-short/truncated.yaml");
    let (sets, unread, exit) = found(&[&case]);
    assert_eq!((sets.len(), exit), (1, Exit::Failed));
    assert_eq!(
        unread,
        [format!(
            "{case}: ends early: the last lines of a list say its kind, and they are missing"
        )]
    );
    let whole = std::fs::read_to_string(format!("{CASES}/list-cut-short/whole.yaml")).unwrap();
    let (_, _, exit) = found(&[&format!("{CASES}/list-cut-short/whole.yaml")]);
    assert_ne!(exit, Exit::Failed);
    let end = whole.find("\nkind: List").unwrap();
    let cuts = whole.match_indices('\n').map(|(at, _)| at + 1);
    for cut in cuts
        .filter(|cut| *cut <= end)
        .step_by(3)
        .chain([end / 2, end])
    {
        let (out, err, exit) = audit_text(&whole[..cut], &[]);
        // Both sets are there at the very end, and one is refused.
        assert!(
            matches!(exit, Exit::Failed | Exit::Refused),
            "{cut}: {out}{err}"
        );
        assert!(format!("{out}{err}").contains("objects.json: "), "{cut}");
    }
}

/// `oc get machineset x -o yaml` that was killed. Some cuts are YAML all the same.
#[test]
fn a_yaml_object_that_ends_early_is_named() {
    let object: Value =
        serde_json::from_str(&fixture("real/insights/machineset-gcp.json")).unwrap();
    let whole = serde_saphyr::to_string(&object).unwrap();
    let (out, err, exit) = audit_text(&whole, &[]);
    assert_ne!(exit, Exit::Failed, "{out}{err}");
    let status = whole.find("\nstatus:").unwrap() + 1;
    let lines = whole.match_indices('\n').map(|(at, _)| at + 1);
    let line_ends = lines.filter(|cut| *cut <= status);
    let within_lines = (1..whole.len()).filter(|cut| !whole[..*cut].ends_with('\n'));
    for cut in line_ends
        .chain(within_lines.step_by(7))
        .chain([whole.len() - 1])
    {
        let (out, err, exit) = audit_text(&whole[..cut], &[]);
        assert_eq!(exit, Exit::Failed, "{cut}: {out}{err}");
    }
    for (text, why) in [
        (
            &whole[..whole.find("\nspec:").unwrap() + 1],
            "it has no spec",
        ),
        (&whole[..status], "it has no status"),
        (whole.trim_end(), "its last line has no end"),
    ] {
        let (out, err, _) = audit_text(text, &[]);
        let said = format!("{out}{err}");
        // Lines are broken at spaces.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = format!("ends early: {why}; `oc get -o yaml` prints all of it");
        assert!(said.contains(&wanted), "{why}: {said}");
    }
}

/// A person leaves out what the server adds, and an editor the last end of a line.
#[test]
fn a_yaml_object_that_a_person_wrote_is_whole() {
    let mut object: Value =
        serde_json::from_str(&fixture("real/insights/machineset-gcp.json")).unwrap();
    object.as_object_mut().unwrap().remove("status");
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "generation"] {
        metadata.remove(field);
    }
    // As controller-gen writes it.
    metadata["creationTimestamp"] = Value::Null;
    let text = serde_saphyr::to_string(&object).unwrap();
    for text in [&*text, text.trim_end()] {
        let (out, err, exit) = audit_text(text, &[]);
        assert_ne!(exit, Exit::Failed, "{out}{err}");
    }
}

/// `oc get --raw '/apis/.../machinesets?limit=1'` prints the first page only.
#[test]
fn a_page_of_a_list_is_not_the_list() {
    let list = json!({ "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSetList",
        "metadata": { "continue": "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "remainingItemCount": 3 },
        "items": [set(None, "u", "rhcos-418.94.202501221327-0")] });
    for text in [list.to_string(), serde_saphyr::to_string(&list).unwrap()] {
        let (out, _, exit) = audit_text(&text, &[]);
        assert_eq!(exit, Exit::Failed, "{out}");
        assert!(out.contains("it is one page of a list"), "{out}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = xz2::write::XzEncoder::new(Vec::new(), 6);
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// As `tar cf` packs a folder.
fn tar_of(folder: &Path) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    let name = folder.file_name().unwrap();
    archive.append_dir_all(name, folder).unwrap();
    archive.into_inner().unwrap()
}

const MUST_GATHER: &str = "tests/data/audit/must-gather.local.1";

/// The folders and files that `oc adm must-gather` of 4.20 leaves beside the objects: logs that are
/// packed, an archive of the Insights Operator, a page of events (openshift/must-gather,
/// `collection-scripts`; openshift/oc, `pkg/cli/admin/mustgather`).
fn must_gather(dir: &Path) -> PathBuf {
    let root = dir.join("must-gather.local.4020");
    let copied = std::process::Command::new("cp")
        .args(["-r", MUST_GATHER])
        .arg(&root)
        .status()
        .unwrap();
    assert!(copied.success());
    let image = root.join("registry-example-com-sha256-0");
    let put = |path: &str, bytes: &[u8]| {
        let path = image.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    put("../event-filter.html", b"<html>kind: Node</html>");
    put("../must-gather.logs", b"[must-gather] OUT");
    put("../timestamp", b"2026-01-01");
    put("version", b"openshift/must-gather\n4.20.0-0\n");
    put("gather.logs", b"INFO: Collecting");
    put(
        "audit_logs/kube-apiserver/m-audit-2026.log.gz",
        &gzip(b"{\"kind\":\"Event\"}"),
    );
    put(
        "namespaces/n/pods/p/c/c/logs/rotated/0.log.20260101-1.gz",
        b"cut",
    );
    put("etcd_info/member_list.json", b"{\"members\":[]}");
    put(
        "monitoring/prometheus/rules.json",
        b"{\"status\":\"success\"}",
    );
    put(
        "insights-data/insights-2026-01-01-000000.tar.gz",
        &gzip(b"not read"),
    );
    put(
        "namespaces/n/core/events.yaml",
        b"---\napiVersion: v1\nitems:\n- involvedObject:\n    kind: Node\n  kind: Event\nkind: EventList\n",
    );
    root
}

/// What the Insights Operator keeps, as its archive has it (openshift/insights-operator, `docs/gathered-data.md`
/// and `pkg/gatherers/clusterconfig`). What typed clients list has neither `kind` nor `apiVersion`, and no link to
/// itself since Kubernetes 1.20.
#[test]
fn an_insights_archive_says_kinds_by_paths() {
    let bare = |name: &str| {
        let mut object: Value =
            serde_json::from_str(&fixture(&format!("real/insights/{name}.json"))).unwrap();
        let fields = object.as_object_mut().unwrap();
        fields.remove("kind");
        fields.remove("apiVersion");
        fields["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("selfLink");
        object
    };
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("insights-2026-11-26-101010");
    for (path, object) in [
        ("config/version.json", bare("version-without-kind")),
        (
            "config/infrastructure.json",
            bare("infrastructure-without-kind"),
        ),
        (
            "config/node/n-0.us-east-2.compute.internal.json",
            bare("node-without-kind"),
        ),
        (
            "config/machines/openshift-machine-api/w.json",
            bare("machine-worker"),
        ),
        (
            "config/machineconfigpools/worker.json",
            bare("machineconfigpool"),
        ),
        (
            "config/controlplanemachinesets/openshift-machine-api/cluster.json",
            bare("controlplanemachineset"),
        ),
        (
            "machinesets/openshift-machine-api/gcp.json",
            bare("machineset-gcp"),
        ),
        // Others have neither, too.
        (
            "config/pod/openshift-etcd/etcd.json",
            json!({ "metadata": { "name": "etcd", "ownerReferences": [{ "kind": "Node", "name": "n" }] } }),
        ),
        (
            "config/node/logs/n-0.json",
            json!({ "metadata": { "name": "log" } }),
        ),
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, object.to_string()).unwrap();
    }
    let tar = dir.path().join("insights.tar.gz");
    std::fs::write(&tar, gzip(&tar_of(&root))).unwrap();
    for from in [&root, &tar] {
        let (out, err, _) = audit(&[
            "--policy",
            POLICY,
            "-o",
            "json",
            "--from",
            from.to_str().unwrap(),
        ]);
        let audit: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        let version = bare("version-without-kind");
        assert_eq!(audit["origin"]["clusterID"], version["spec"]["clusterID"]);
        assert_eq!(audit["release"], version["status"]["desired"]["version"]);
        let kinds: Vec<&str> = audit["sets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|set| set["kind"].as_str().unwrap())
            .collect();
        for kind in ["MachineSet", "ControlPlaneMachineSet", "MachineConfigPool"] {
            assert!(kinds.contains(&kind), "{kind}: {audit}");
        }
        let unread = audit["unread"].to_string();
        assert!(!unread.contains("no kind"), "{unread}");
    }
}

/// A folder may have objects in files that no one would look into: they are named, and others are not.
#[test]
fn objects_in_files_without_an_ending_are_named() {
    let object = set(Some("1"), "u", "rhcos-418.94.202501221327-0");
    let yaml = serde_saphyr::to_string(&object).unwrap();
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(yaml.encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let packed = gzip(yaml.as_bytes());
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("files");
    std::fs::create_dir(&root).unwrap();
    for (name, bytes) in [
        ("a.json", object.to_string().as_bytes()),
        ("machinesets.txt", yaml.as_bytes()),
        (
            "nodes",
            br#"{"apiVersion":"v1","kind":"NodeList","items":[]}"#,
        ),
        ("of-powershell.TXT", &wide),
        (
            "notes.txt",
            b"the kind: of notes that one writes\n        kind: Node\n",
        ),
        ("version", b"4.20.0\n"),
        ("pods", b"kind: PodList\nitems: []\n"),
        ("gather.logs", b"kind: Node\n"),
        ("cut.gz", packed.get(..packed.len() - 12).unwrap()),
        ("notes.gz", &gzip(b"notes that one writes\n")),
        ("sets.txt.gz", &packed),
    ] {
        std::fs::write(root.join(name), bytes).unwrap();
    }
    let tar = dir.path().join("files.tgz");
    std::fs::write(&tar, gzip(&tar_of(&root))).unwrap();
    let why =
        "has objects of a cluster, and no ending of JSON or YAML: name it itself, or rename it";
    for (from, shown) in [
        (&root, format!("{}/NAME", root.display())),
        (&tar, format!("files/NAME in {}", tar.display())),
    ] {
        let (sets, mut unread, exit) = found(&[from.to_str().unwrap()]);
        assert_eq!((sets.len(), exit), (1, Exit::Failed));
        unread.sort();
        let cut = "ends early: it was cut short";
        let files = [
            ("cut.gz", cut),
            ("machinesets.txt", why),
            ("nodes", why),
            ("of-powershell.TXT", why),
            ("sets.txt.gz", why),
        ];
        assert_eq!(
            unread,
            files.map(|(name, why)| format!("{}: {why}", shown.replace("NAME", name)))
        );
    }
    // By its own name it is read.
    let (sets, unread, _) = found(&[root.join("machinesets.txt").to_str().unwrap()]);
    assert_eq!((sets.len(), unread), (1, Vec::new()));
}

/// Sets and what was not read, as JSON without the names of files.
fn sets(from: &str) -> (Value, Vec<String>, Exit) {
    let (out, err, exit) = audit(&["--policy", POLICY, "-o", "json", "--from", from]);
    let audit: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{from}: {err}"));
    let unread = audit["unread"].as_array().unwrap().iter();
    let said = unread.map(|unread| {
        format!(
            "{}: {}",
            unread["what"].as_str().unwrap(),
            unread["why"].as_str().unwrap()
        )
    });
    (audit["sets"].clone(), said.collect(), exit)
}

#[test]
fn a_must_gather_is_read_however_it_is_packed() {
    let dir = tempfile::tempdir().unwrap();
    let root = must_gather(dir.path());
    let (wanted, unread, exit) = sets(root.to_str().unwrap());
    assert_eq!(wanted, sets(MUST_GATHER).0);
    let insights = "insights-data, files: 1: copies of the Insights Operator; --from reads one where it is named by itself";
    assert_eq!(unread, [insights]);
    assert_eq!(exit, Exit::Refused);
    let tar = tar_of(&root);
    let nested = {
        let mut archive = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_ustar();
        let packed = gzip(&tar);
        header.set_size(packed.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, "case/0040-must-gather.tar.gz", &*packed)
            .unwrap();
        archive.into_inner().unwrap()
    };
    for (name, bytes) in [
        ("m.tar", tar.clone()),
        ("m.tar.gz", gzip(&tar)),
        ("m.tgz", gzip(&tar)),
        ("m.tar.xz", xz(&tar)),
        // The content tells, not the name.
        ("download", gzip(&tar)),
        ("m.yaml", gzip(&tar)),
        ("twice.gz", gzip(&gzip(&tar))),
        ("case.tar", nested.clone()),
        ("case.tgz", gzip(&nested)),
    ] {
        let file = dir.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let (found, unread, found_exit) = sets(file.to_str().unwrap());
        assert_eq!((found, found_exit), (wanted.clone(), exit), "{name}");
        assert_eq!(unread, [insights], "{name}");
        std::fs::remove_file(file).unwrap();
    }
    // An archive in a folder.
    let folder = dir.path().join("case");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("m.tar.gz"), gzip(&tar)).unwrap();
    assert_eq!(sets(folder.to_str().unwrap()).0, wanted);
    // Nothing was unpacked to where the archive is.
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn text_is_read_however_it_is_packed_or_encoded() {
    let text = fixture("aws.json");
    let wide = |swap: bool| {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        let order = |unit: u16| {
            if swap {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        };
        units.flat_map(order).collect::<Vec<u8>>()
    };
    let dir = tempfile::tempdir().unwrap();
    let wanted = sets("tests/data/audit/aws.json");
    for (name, bytes) in [
        ("a.json.gz", gzip(text.as_bytes())),
        ("a.json", gzip(text.as_bytes())),
        ("a.yaml.gz", text.clone().into_bytes()),
        ("a.json.xz", xz(text.as_bytes())),
        ("members.json.gz", {
            let (first, second) = text.as_bytes().split_at(text.len() / 2);
            [gzip(first), gzip(second)].concat()
        }),
        ("powershell.json", wide(false)),
        ("big-endian.json", wide(true)),
        ("marked.json", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
    ] {
        let file = dir.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(sets(file.to_str().unwrap()), wanted, "{name}");
    }
}

/// Each file that is not read is named, and the rest is read.
#[test]
fn what_is_not_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let good = fixture("openstack.json");
    std::fs::write(path("good.json"), &good).unwrap();
    let said = |name: &str, bytes: &[u8]| {
        std::fs::write(path(name), bytes).unwrap();
        let (_, unread, exit) = sets(dir.path().to_str().unwrap());
        std::fs::remove_file(path(name)).unwrap();
        assert_eq!(
            (unread.len(), exit),
            (1, Exit::Failed),
            "{name}: {unread:?}"
        );
        unread[0].replace(&format!("{}/", dir.path().display()), "")
    };
    let zipped = |name: &str, magic: &[u8]| said(name, &[magic, &[0; 600]].concat());
    assert_eq!(
        zipped("m.zip", b"PK\x03\x04"),
        "m.zip: is packed with zip, which is not read: unpack it first (`unzip`)"
    );
    assert_eq!(
        zipped("m.tar.zst", b"\x28\xb5\x2f\xfd"),
        "m.tar.zst: is packed with zstd, which is not read: unpack it first (`zstd -d`)"
    );
    assert_eq!(
        zipped("a.yaml.bz2", b"BZh9"),
        "a.yaml.bz2: is packed with bzip2, which is not read: unpack it first (`bunzip2`)"
    );
    assert_eq!(
        said("link.json.gz", &gzip(good.as_bytes())[..200]),
        "link.json.gz: ends early: it was cut short"
    );
    let mut broken = gzip(good.as_bytes());
    let middle = broken.len() / 2;
    broken[middle..middle + 40].fill(0xff);
    let broken = said("b.yaml.gz", &broken);
    assert!(
        broken.starts_with("b.yaml.gz: is broken, or was cut short: "),
        "{broken}"
    );
    std::os::unix::fs::symlink(path("good.json"), path("link.json")).unwrap();
    let (_, unread, exit) = sets(dir.path().to_str().unwrap());
    assert_eq!(exit, Exit::Failed);
    assert!(
        unread[0].ends_with("link.json: is a link, which is not followed: name what it leads to")
    );
}

/// At whatever byte an archive ends, it is named; also where that is between two of its files.
#[test]
fn an_archive_that_is_cut_short_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let tar = tar_of(Path::new(MUST_GATHER));
    let packed = gzip(&tar);
    let file = dir.path().join("m.tar");
    let cut = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let (out, err, exit) = audit(&["--policy", POLICY, "--from", file.to_str().unwrap()]);
        let text = format!("{out}{err}");
        assert!(
            text.contains("m.tar: ") || text.contains("m.tar:\n"),
            "{}: {text}",
            bytes.len()
        );
        assert!(matches!(exit, Exit::Failed | Exit::Refused));
    };
    // The last two blocks say the end.
    for end in (512..tar.len() - 1024).step_by(512 * 7) {
        cut(&tar[..end]);
        cut(&tar[..end + 100]);
    }
    for end in (20..packed.len()).step_by(packed.len() / 20) {
        cut(&packed[..end]);
    }
    cut(&packed[..packed.len() - 1]);
}

/// Paths that lead out, links, devices, names in both of tar's long forms: nothing is written, and
/// no link is followed.
#[test]
fn a_hostile_archive_is_only_read() {
    let dir = tempfile::tempdir().unwrap();
    let text = fixture("openstack.json");
    let outside = dir.path().join("outside.json");
    std::fs::write(&outside, &text).unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    let mut entry = |kind: tar::EntryType, name: &[u8], link: Option<&Path>, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        if let Some(link) = link {
            header.set_link_name(link).unwrap();
        }
        header.set_cksum();
        archive.append(&header, bytes).unwrap();
    };
    entry(
        tar::EntryType::Regular,
        b"../../escaped.json",
        None,
        text.as_bytes(),
    );
    entry(tar::EntryType::Symlink, b"s.json", Some(&outside), b"");
    entry(tar::EntryType::Link, b"h\x1b[2J.json", Some(&outside), b"");
    entry(tar::EntryType::Char, b"c.json", None, b"");
    entry(tar::EntryType::Fifo, b"f.json", None, b"");
    let bytes = archive.into_inner().unwrap();
    let file = dir.path().join("in/x.tar");
    std::fs::create_dir(dir.path().join("in")).unwrap();
    std::fs::write(&file, bytes).unwrap();
    let (out, err, exit) = audit(&["--policy", POLICY, "--from", file.to_str().unwrap()]);
    assert_eq!(exit, Exit::Failed, "{err}");
    assert!(!out.contains('\u{1b}'));
    let plain = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        plain.matches("is a link, which is not followed").count(),
        2,
        "{out}"
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
}

/// Names of more than 100 bytes, as GNU's tar and Go's write them.
#[test]
fn long_names_are_read() {
    let node = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  labels: {{node-role.kubernetes.io/worker: '', skewguard.dev/boot-image: 418.94.202501221327-0}}\n"
        )
    };
    let long = format!("{}/core/nodes/a.aleph.json", "d".repeat(150));
    let aleph = r#"{"build":"412.86.202301311551-0"}"#;
    let mut archive = tar::Builder::new(Vec::new());
    let mut put = |name: &str, text: &str, is_pax: bool| {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        if is_pax {
            header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_path("short").unwrap();
            header.set_cksum();
            archive
                .append_pax_extensions([("path", name.as_bytes())])
                .unwrap();
            archive.append(&header, text.as_bytes()).unwrap();
        } else {
            archive
                .append_data(&mut header, name, text.as_bytes())
                .unwrap();
        }
    };
    put(&long, aleph, false);
    put(&long.replace("a.aleph", "b.aleph"), aleph, true);
    put(
        "nodes.yaml",
        &format!("{}---\n{}", node("a"), node("b")),
        true,
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.tar");
    std::fs::write(&file, archive.into_inner().unwrap()).unwrap();
    let (out, err, _) = audit(&[
        "--policy",
        POLICY,
        "-o",
        "json",
        "--from",
        file.to_str().unwrap(),
    ]);
    let audit: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    assert_eq!(
        audit["warnings"],
        json!([]),
        "both alephs found their node: {audit}"
    );
    assert_eq!(audit["unread"], json!([]));
}

/// A folder or archive without anything of the cluster's may be the wrong one.
#[test]
fn what_has_no_objects_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    std::fs::write(empty.join("pods.yaml"), "kind: Pod\n").unwrap();
    let archive = dir.path().join("zeros.tar");
    std::fs::write(&archive, vec![0; 10240]).unwrap();
    for path in [&empty, &archive] {
        let (_, unread, exit) = found(&["tests/data/audit/openstack.json", path.to_str().unwrap()]);
        assert_eq!(exit, Exit::Failed);
        assert!(
            unread[0].contains("has no objects that the audit reads"),
            "{unread:?}"
        );
    }
}

/// `oc get nodes -o yaml` of a large cluster: 5,000 nodes are more than 300,000 values.
#[test]
fn five_thousand_nodes_are_read_from_yaml() {
    let mut text = "apiVersion: v1\nitems:\n".to_owned();
    let lines: String = (0..40)
        .map(|n| format!("      example.com/label-{n}: \"{n}\"\n"))
        .collect();
    for n in 0..5000 {
        text += &format!(
            "- apiVersion: v1\n  kind: Node\n  metadata:\n    annotations:\n{lines}    labels:\n      node-role.kubernetes.io/worker: \"\"\n      \
             skewguard.dev/boot-image: 418.94.202501221327-0\n    name: worker-{n}\n    resourceVersion: \"{n}\"\n    uid: u{n}\n  spec:\n    \
             providerID: aws:///us-east-1a/i-{n}\n  status:\n    images:\n    - names:\n      - quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{n}\n"
        );
    }
    text += "kind: List\nmetadata:\n  resourceVersion: \"\"\n";
    let (out, err, exit) = audit_text(&text, &["-o", "json"]);
    let audit: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    assert_eq!(audit["sets"][0]["nodes"][0]["count"], 5000);
    assert_eq!(exit, Exit::Done);
}
