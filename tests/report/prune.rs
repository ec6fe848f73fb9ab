//! The pruning job's script, run by bash with an `oc` of the test's.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Runs the script of the manifest as its container would; what `oc` was told to delete, and whether the job succeeded.
fn prune(listing: &str, get_status: i32) -> (String, bool) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/manifests/prune/prune.yaml");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(manifest).unwrap()).unwrap();
    let job = documents.iter().find(|document| document["kind"] == "CronJob").unwrap();
    let container = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
    let words = |field: &str| container[field].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let dir = tempfile::tempdir().unwrap();
    let oc = dir.path().join("oc");
    std::fs::write(dir.path().join("listing"), listing).unwrap();
    let script = "#!/bin/sh\ncd \"${0%/*}\"\ncase $1 in get) cat listing; exit $GET_STATUS;; delete) echo \"$@\" >>deleted;; esac\n";
    std::fs::write(&oc, script).unwrap();
    std::fs::set_permissions(&oc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = words("command");
    let status = Command::new(&command[0])
        .args(&command[1..])
        .args(words("args"))
        .env("PATH", format!("{}:/usr/bin:/bin", dir.path().display()))
        .env("GET_STATUS", get_status.to_string())
        .envs(container["env"].as_array().unwrap().iter().map(|entry| (entry["name"].as_str().unwrap(), entry["value"].as_str().unwrap())))
        .status()
        .unwrap();
    (std::fs::read_to_string(dir.path().join("deleted")).unwrap_or_default(), status.success())
}

fn date(days_ago: u32) -> String {
    let output = Command::new("date").args(["-u", "-d", &format!("-{days_ago} days"), "+%Y-%m-%dT%H:%M:%SZ"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn reports_older_than_thirty_days_go_and_the_others_stay() {
    let listing = format!("a-0123456789abcdef   {}\nb-0123456789abcdef   {}\nc-0123456789abcdef   {}\n", date(31), date(29), date(400));
    let expected = "delete bootimagereports.skewguard.dev -n skewguard --ignore-not-found a-0123456789abcdef c-0123456789abcdef\n";
    assert_eq!(prune(&listing, 0), (expected.to_owned(), true));
}

#[test]
fn nothing_to_delete_deletes_nothing() {
    assert_eq!(prune("", 0), (String::new(), true));
    assert_eq!(prune(&format!("a-0123456789abcdef   {}\n", date(1)), 0), (String::new(), true));
}

#[test]
fn a_listing_that_fails_fails_the_job() {
    let (_, succeeded) = prune("", 1);
    assert!(!succeeded);
}
