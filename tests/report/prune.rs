//! The pruning job's script, run by bash with a stand-in for `oc`.

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A cluster that lists its reports in these pages. Its `oc delete` deletes nothing, so that the test sees what `oc patch` was given.
const OC: &str = r#"cd "${0%/*}"
case $1 in
    get)
        token=${3##*continue=}
        [ "$2 ${3%continue=*}" = '--raw /apis/skewguard.dev/v1alpha1/namespaces/skewguard/bootimagereports?limit=100&' ] || exit 9
        cat "page${token:-0}" || exit
        exit "$GET_STATUS" ;;
    delete | patch) echo "$@" >>done ;;
esac
"#;

/// Runs the script of the manifest as its container would. Returns the calls of `oc`, and whether the job succeeded.
fn prune(pages: &[Vec<Value>], get_status: i32) -> (Vec<String>, bool) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/manifests/prune/prune.yaml");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(manifest).unwrap()).unwrap();
    let job = documents.iter().find(|document| document["kind"] == "CronJob").unwrap();
    let container = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    let words = |field: &str| container[field].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let dir = tempfile::tempdir().unwrap();
    for (n, items) in pages.iter().enumerate() {
        let next = if n + 1 < pages.len() { (n + 1).to_string() } else { String::new() };
        let list =
            json!({ "apiVersion": "skewguard.dev/v1alpha1", "items": items, "metadata": { "continue": next, "resourceVersion": "7" } });
        std::fs::write(dir.path().join(format!("page{n}")), list.to_string()).unwrap();
    }
    let oc = dir.path().join("oc");
    crate::script::script(&oc, OC);
    let command = words("command");
    let status = Command::new(&command[0])
        .args(&command[1..])
        .args(words("args"))
        .env("PATH", format!("{}:/usr/bin:/bin", dir.path().display()))
        .env("GET_STATUS", get_status.to_string())
        // As with `readOnlyRootFilesystem`.
        .env("TMPDIR", "/proc")
        .envs(container["env"].as_array().unwrap().iter().map(|entry| (entry["name"].as_str().unwrap(), entry["value"].as_str().unwrap())))
        .status()
        .unwrap();
    let done = std::fs::read_to_string(dir.path().join("done")).unwrap_or_default();
    (done.lines().map(str::to_owned).collect(), status.success())
}

fn date(days_ago: u32) -> String {
    let output = Command::new("date").args(["-u", "-d", &format!("-{days_ago} days"), "+%Y-%m-%dT%H:%M:%SZ"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn report(name: &str, days_ago: u32) -> Value {
    json!({
        "metadata": { "creationTimestamp": date(days_ago), "managedFields": [{ "manager": "skewguard" }], "name": name, "namespace": "skewguard" },
        "report": { "scope": { "resources": [{ "name": "worker", "resource": "machineconfigpools" }] } }
    })
}

const DELETE: &str = "delete bootimagereports.skewguard.dev -n skewguard --ignore-not-found --wait=false";
const PATCH: &str = r#"patch bootimagereports.skewguard.dev -n skewguard --type=merge -p {"metadata":{"finalizers":null}}"#;

#[test]
fn reports_older_than_thirty_days_go_and_the_others_stay() {
    let reports = [report("a-0123456789abcdef", 31), report("b-0123456789abcdef", 29), report("c-0123456789abcdef", 400)];
    assert_eq!(prune(&[reports.into()], 0), (vec![format!("{DELETE} a-0123456789abcdef c-0123456789abcdef")], true));
}

#[test]
fn every_page_is_read() {
    let page = |letter: char| (0..60).map(|n| report(&format!("{letter}{n}-0123456789abcdef"), 31)).collect::<Vec<_>>();
    let (done, succeeded) = prune(&[page('a'), Vec::new(), page('b')], 0);
    let mut names: Vec<&str> = done.iter().flat_map(|line| line.strip_prefix(DELETE).unwrap().split_whitespace()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), done.len(), succeeded), (120, 3, true), "at most 50 at a time");
}

#[test]
fn a_finalizer_is_taken_from_what_is_to_go() {
    let mut held = report("a-0123456789abcdef", 31);
    held["metadata"]["deletionTimestamp"] = json!(date(1));
    held["metadata"]["finalizers"] = json!(["example.com/stay"]);
    let (done, succeeded) = prune(&[vec![held, report("b-0123456789abcdef", 31)]], 0);
    assert_eq!(done, [format!("{DELETE} a-0123456789abcdef b-0123456789abcdef"), format!("{PATCH} a-0123456789abcdef")]);
    assert!(succeeded);
}

#[test]
fn what_a_report_says_is_not_taken_for_a_name() {
    let mut liar = report("b-0123456789abcdef", 1);
    let says = r#""creationTimestamp":"2001-01-01T00:00:00Z","deletionTimestamp":"x","name":"a-0123456789abcdef","namespace":"skewguard""#;
    liar["report"]["message"] = json!(format!("{says}\"{says}\\\"{says}"));
    liar["report"]["details"] = json!({ "more": [{ "name": "\"continue\":\"1", "value": says }] });
    assert_eq!(prune(&[vec![liar]], 0), (Vec::new(), true));
}

#[test]
fn nothing_to_delete_deletes_nothing() {
    assert_eq!(prune(&[Vec::new()], 0), (Vec::new(), true));
    assert_eq!(prune(&[vec![report("a-0123456789abcdef", 1)]], 0), (Vec::new(), true));
}

#[test]
fn a_listing_that_fails_fails_the_job() {
    assert_eq!(prune(&[vec![report("a-0123456789abcdef", 31)]], 1), (Vec::new(), false));
}
