//! The pruning job's script, run by bash with a stand-in for `oc`.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A cluster that lists its reports in these pages. Its `oc delete` deletes nothing, so that the
/// test sees what `oc patch` was given.
const OC: &str = r#"cd "${0%/*}"
case $1 in
    get)
        token=${3##*continue=}
        [ "$2 ${3%continue=*}" = '--raw /apis/skewguard.dev/v1alpha1/namespaces/skewguard/bootimagereports?limit=20&' ] || exit 9
        cat "page${token:-0}" || exit
        exit "$GET_STATUS" ;;
    delete | patch) echo "$@" >>done ;;
esac
"#;

/// Runs the script of the manifest as its container would. Returns the calls of `oc`, and whether
/// the job succeeded.
fn prune(pages: &[Vec<Value>], get_status: i32) -> (Vec<String>, bool) {
    let lists: Vec<String> = pages
        .iter()
        .enumerate()
        .map(|(n, items)| list(items, (n + 1 < pages.len()).then_some(n + 1)).to_string())
        .collect();
    prune_text(&lists, get_status)
}

/// A page, as an API server gives it.
fn list(items: &[Value], next: Option<usize>) -> Value {
    let next = next.map_or(String::new(), |next| next.to_string());
    json!({ "apiVersion": "skewguard.dev/v1alpha1", "items": items, "metadata": { "continue": next, "resourceVersion": "7" } })
}

/// [`prune`] of pages as text.
fn prune_text(pages: &[String], get_status: i32) -> (Vec<String>, bool) {
    prune_after(None, pages, get_status)
}

/// [`prune_text`] of reports that are older than so many days, as somebody may set it.
fn prune_after(days: Option<u32>, pages: &[String], get_status: i32) -> (Vec<String>, bool) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/manifests/prune/prune.yaml");
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&std::fs::read_to_string(manifest).unwrap()).unwrap();
    let job = documents
        .iter()
        .find(|document| document["kind"] == "CronJob")
        .unwrap();
    let container = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    let words = |field: &str| {
        container[field]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let dir = tempfile::tempdir().unwrap();
    for (n, page) in pages.iter().enumerate() {
        std::fs::write(dir.path().join(format!("page{n}")), page).unwrap();
    }
    let oc = dir.path().join("oc");
    crate::support::script::script(&oc, OC);
    let command = words("command");
    let status = Command::new(&command[0])
        .args(&command[1..])
        .args(words("args"))
        .env("PATH", format!("{}:/usr/bin:/bin", dir.path().display()))
        .env("GET_STATUS", get_status.to_string())
        // As with `readOnlyRootFilesystem`.
        .env("TMPDIR", "/proc")
        .envs(container["env"].as_array().unwrap().iter().map(|entry| {
            (
                entry["name"].as_str().unwrap(),
                entry["value"].as_str().unwrap(),
            )
        }))
        .envs(days.map(|days| ("KEEP_DAYS", days.to_string())))
        .status()
        .unwrap();
    let done = std::fs::read_to_string(dir.path().join("done")).unwrap_or_default();
    (done.lines().map(str::to_owned).collect(), status.success())
}

fn date(days_ago: u32) -> String {
    let output = Command::new("date")
        .args([
            "-u",
            "-d",
            &format!("-{days_ago} days"),
            "+%Y-%m-%dT%H:%M:%SZ",
        ])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn report(name: &str, days_ago: u32) -> Value {
    json!({
        "metadata": { "creationTimestamp": date(days_ago), "managedFields": [{ "manager": "skewguard" }], "name": name, "namespace": "skewguard" },
        "report": { "scope": { "resources": [{ "name": "worker", "resource": "machineconfigpools" }] } }
    })
}

const DELETE: &str =
    "delete bootimagereports.skewguard.dev -n skewguard --ignore-not-found --wait=false --";
const PATCH: &str = r#"patch bootimagereports.skewguard.dev -n skewguard --type=merge -p {"metadata":{"finalizers":null}} --"#;

#[test]
fn reports_older_than_thirty_days_and_two_hours_go_and_the_others_stay() {
    let reports = [
        report("a-0123456789abcdef", 31),
        report("b-0123456789abcdef", 29),
        report("c-0123456789abcdef", 400),
    ];
    assert_eq!(
        prune(&[reports.into()], 0),
        (
            vec![format!("{DELETE} a-0123456789abcdef c-0123456789abcdef")],
            true
        )
    );
}

/// The alert BootImageRefused counts the reports of two hours: they stay, whatever is set.
#[test]
fn reports_of_the_last_two_hours_stay_in_any_case() {
    let output = |ago: &str| {
        let output = Command::new("date")
            .args(["-u", "-d", ago, "+%Y-%m-%dT%H:%M:%SZ"])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let (mut young, mut old) = (
        report("a-0123456789abcdef", 0),
        report("b-0123456789abcdef", 0),
    );
    young["metadata"]["creationTimestamp"] = output("-110 minutes").into();
    old["metadata"]["creationTimestamp"] = output("-130 minutes").into();
    let page = list(&[young, old], None).to_string();
    assert_eq!(
        prune_after(Some(0), std::slice::from_ref(&page), 0),
        (vec![format!("{DELETE} b-0123456789abcdef")], true)
    );
    assert_eq!(prune_after(Some(1), &[page], 0), (Vec::new(), true));
}

#[test]
fn every_page_is_read() {
    let page = |letter: char| {
        (0..60)
            .map(|n| report(&format!("{letter}{n}-0123456789abcdef"), 31))
            .collect::<Vec<_>>()
    };
    let (done, succeeded) = prune(&[page('a'), Vec::new(), page('b')], 0);
    let mut names: Vec<&str> = done
        .iter()
        .flat_map(|line| line.strip_prefix(DELETE).unwrap().split_whitespace())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        (names.len(), done.len(), succeeded),
        (120, 3, true),
        "at most 50 at a time"
    );
}

#[test]
fn a_finalizer_is_taken_from_what_is_to_go() {
    let mut held = report("a-0123456789abcdef", 31);
    held["metadata"]["deletionTimestamp"] = json!(date(1));
    held["metadata"]["finalizers"] = json!(["example.com/stay"]);
    let (done, succeeded) = prune(&[vec![held, report("b-0123456789abcdef", 31)]], 0);
    assert_eq!(
        done,
        [
            format!("{DELETE} a-0123456789abcdef b-0123456789abcdef"),
            format!("{PATCH} a-0123456789abcdef")
        ]
    );
    assert!(succeeded);
}

#[test]
fn what_a_report_says_is_not_taken_for_a_name() {
    let mut liar = report("b-0123456789abcdef", 1);
    let says = r#""creationTimestamp":"2001-01-01T00:00:00Z","deletionTimestamp":"x","name":"a-0123456789abcdef","namespace":"skewguard""#;
    liar["report"]["verdict"]["message"] = json!(format!("{says}\"{says}\\\"{says}"));
    liar["report"]["more"] = json!([{ "name": "\"continue\":\"1", "value": says }]);
    assert_eq!(prune(&[vec![liar]], 0), (Vec::new(), true));
}

/// What the bootstrap identity can set before OpenShift 4.17: labels, annotations and
/// managedFields, with keys like those of the metadata.
#[test]
fn what_a_reports_metadata_says_is_not_taken_for_a_name() {
    let lies = json!({
        "creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": "2001-01-01T00:00:00Z", "continue": "1", "items": "x",
        "name": "--all", "namespace": "skewguard", "metadata": "\\", "a\\": "\\\"", "\"name": "\",\"name\":\"-h"
    });
    let mut liar = report("b-0123456789abcdef", 1);
    for field in ["annotations", "labels"] {
        liar["metadata"][field] = lies.clone();
    }
    liar["metadata"]["managedFields"] =
        json!([{ "items": [{ "metadata": lies }], "fieldsV1": lies, "metadata": lies }, lies]);
    liar["metadata"]["ownerReferences"] = json!([lies]);
    liar["items"] = json!([{ "metadata": lies }]);
    liar["report"]["metadata"] = lies.clone();
    let young = liar.clone();
    assert_eq!(
        prune(&[vec![young.clone()]], 0),
        (Vec::new(), true),
        "and no other page is asked for"
    );

    let mut old = liar;
    old["metadata"]["creationTimestamp"] = json!(date(31));
    old["metadata"]["name"] = json!("c-0123456789abcdef");
    assert_eq!(
        prune(&[vec![young.clone(), old, young]], 0),
        (vec![format!("{DELETE} c-0123456789abcdef")], true)
    );
}

/// No API server takes such a name; if one did, it would still be no argument.
#[test]
fn only_names_are_arguments() {
    let names = [
        "--all", "-h", "", "a b", "a\nb", "a\tb", "'a'", "a\"b", "a\\", "A", "../a", "$(id)", ".a",
        "next:1", "é",
    ];
    let reports: Vec<Value> = names.iter().map(|name| report(name, 31)).collect();
    assert_eq!(prune(&[reports], 0), (Vec::new(), true));
}

#[test]
fn a_page_that_is_cut_off_or_no_list_deletes_nothing() {
    let whole = list(&[report("a-0123456789abcdef", 31)], None).to_string();
    let found = (vec![format!("{DELETE} a-0123456789abcdef")], true);
    assert_eq!(prune_text(std::slice::from_ref(&whole), 0), found);
    for at in (0..whole.len()).step_by(31) {
        let (done, succeeded) = prune_text(&[whole[..at].to_owned()], 0);
        assert_eq!((done, succeeded), (Vec::new(), false), "{at}");
    }
    let token = whole.replace(r#""continue":"""#, r#""continue":"1&limit=--all""#);
    assert_eq!(prune_text(&[token], 0), (Vec::new(), false));
}

#[test]
fn names_are_found_however_the_json_is_written() {
    let page = list(
        &[
            report("a-0123456789abcdef", 31),
            report("b-0123456789abcdef", 1),
            report("c.d-0123456789abcdef", 31),
        ],
        None,
    );
    let pretty = serde_json::to_string_pretty(&page).unwrap();
    assert_eq!(
        prune_text(&[pretty.replace('\n', "\r\n"), page.to_string()], 0),
        (
            vec![format!("{DELETE} a-0123456789abcdef c.d-0123456789abcdef")],
            true
        )
    );
}

fn hostile_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        "items|metadata|name|creationTimestamp|deletionTimestamp|continue",
        "--all|next:|\\\\|\"|\\\\\"|[{}\\[\\],:\\\\\"]{0,8}",
        "2001-01-01T00:00:00Z",
    ];
    let leaf = prop_oneof![
        word.clone().prop_map(Value::from),
        Just(Value::Null),
        any::<i32>().prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_report_makes_another_name(more in prop::collection::vec(hostile_json(), 3), key in "[a-z\"\\\\{]{1,5}", old in any::<bool>()) {
        let mut report = report("a-0123456789abcdef", if old { 31 } else { 1 });
        report["metadata"]["annotations"] = more[0].clone();
        report["metadata"]["managedFields"] = json!([more[1], { "fieldsV1": more[1] }]);
        report["metadata"][&key] = more[2].clone();
        report[&key] = more[0].clone();
        report["report"] = more[2].clone();
        let expected = if old { vec![format!("{DELETE} a-0123456789abcdef")] } else { Vec::new() };
        prop_assert_eq!(prune(&[vec![report]], 0), (expected, true));
    }
}

#[test]
fn nothing_to_delete_deletes_nothing() {
    assert_eq!(prune(&[Vec::new()], 0), (Vec::new(), true));
    assert_eq!(
        prune(&[vec![report("a-0123456789abcdef", 1)]], 0),
        (Vec::new(), true)
    );
}

#[test]
fn a_listing_that_fails_fails_the_job() {
    assert_eq!(
        prune(&[vec![report("a-0123456789abcdef", 31)]], 1),
        (Vec::new(), false)
    );
}
