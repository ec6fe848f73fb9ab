//! `render pointer`.

use super::ignition::assert_fields_of_spec;
use super::{Desk, file, unit_names};
use serde_json::{Value, json};

const URL: &str = "https://mirror.example.com/skewguard";

fn hash() -> String {
    "0123456789abcdef".repeat(8)
}

fn render(desk: &Desk, more: &[&str]) -> (i32, String, String) {
    desk.render(&[&["pointer", "--url", URL, "--sha512", &hash()], more].concat())
}

#[test]
fn the_addition_fetches_the_binary_and_runs_it() {
    let (exit, out, err) = render(&Desk::new(), &[]);
    assert_eq!(exit, 0);
    assert_eq!(
        err,
        "skewguard: warning: Ignition waits in the initramfs until https://mirror.example.com/skewguard answers, and fails if it gives \
         anything but that SHA-512: such a node does not boot at all. Keep the URL up as long as a MachineSet names it.\n"
    );
    let config: Value = serde_json::from_str(&out).unwrap();
    assert_fields_of_spec(&config, "3.0.0");
    let binary = file(&config, "/usr/local/bin/skewguard");
    assert_eq!(binary["mode"], 0o755);
    assert_eq!(
        binary["contents"],
        json!({"source": URL, "verification": {"hash": format!("sha512-{}", hash())}})
    );
    assert_eq!(
        unit_names(&config),
        ["skewguard.service", "skewguard-report.service"]
    );
    for unit in config["systemd"]["units"].as_array().unwrap() {
        assert!(
            unit["contents"]
                .as_str()
                .unwrap()
                .contains("/usr/local/bin/skewguard "),
            "{unit}"
        );
    }
}

#[test]
fn user_data_of_a_cluster_gets_it_and_stays_below_the_limit_of_aws() {
    let desk = Desk::new();
    // As the installer writes it, with a CA of usual size.
    let ca = format!("data:text/plain;charset=utf-8;base64,{}", "A".repeat(1600));
    let user_data = json!({
        "ignition": {
            "config": {"merge": [{"source": "https://api-int.c.example.com:22623/config/worker"}]},
            "security": {"tls": {"certificateAuthorities": [{"source": ca}]}},
            "version": "3.2.0",
        }
    });
    desk.file("user-data", user_data.to_string());
    let (exit, out, err) = render(&desk, &["--user-data", "user-data"]);
    assert_eq!(exit, 0);
    assert!(out.len() < 16_384, "{} bytes", out.len());
    assert!(!err.contains("AWS"), "{err}");
    let merged: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(merged["ignition"], user_data["ignition"]);
    assert_fields_of_spec(&merged, "3.2.0");

    let mut large = user_data;
    large["storage"] = json!({"files": [{"path": "/etc/a", "contents": {"source": format!("data:,{}", "x".repeat(16_000))}}]});
    desk.file("user-data", large.to_string());
    let (exit, _, err) = render(&desk, &["--user-data", "user-data"]);
    assert_eq!(exit, 0);
    assert!(err.contains("bytes; AWS takes at most 16,384."), "{err}");
}

#[test]
fn credentials_in_the_url_are_a_warning_and_never_shown() {
    let (exit, out, err) = Desk::new().render(&[
        "pointer",
        "--url",
        "https://me:s3cret@h/x?sig=s3cret",
        "--sha512",
        &hash(),
    ]);
    assert_eq!(exit, 0);
    assert!(
        out.contains(r#""source":"https://me:s3cret@h/x?sig=s3cret""#),
        "{out}"
    );
    assert!(
        err.contains("until https://h/x answers")
            && err.contains("warning: the URL has credentials in it"),
        "{err}"
    );
    assert!(!err.contains("s3cret"), "{err}");
}

#[test]
fn user_data_of_spec_2_gets_fields_of_spec_2() {
    let desk = Desk::new();
    desk.file("user-data", r#"{"ignition":{"config":{"append":[{"source":"https://api-int:22623/config/worker"}]},"version":"2.2.0"}}"#);
    let (exit, out, _) = render(&desk, &["--user-data", "user-data"]);
    assert_eq!(exit, 0);
    assert_fields_of_spec(&serde_json::from_str(&out).unwrap(), "2.2.0");
}

#[test]
fn what_cannot_work_is_refused_with_a_remedy() {
    let desk = Desk::new();
    desk.file("list", "[]");
    desk.file("future", r#"{"ignition":{"version":"4.0.0"}}"#);
    let hash = hash();
    for (args, wanted) in [
        (
            vec!["--url", "skewguard", "--sha512", &hash],
            "skewguard: --url is not one that Ignition fetches: it takes https, http, s3, tftp and, from spec 3.2.0, gs\n",
        ),
        (
            vec![
                "--url",
                "https://mirror.example.com/100%/skewguard",
                "--sha512",
                &hash,
            ],
            "skewguard: --url is not one that Ignition fetches: invalid percent-encoded octet at index 30; what is not allowed there has to be \
             percent-encoded\n",
        ),
        (
            vec![
                "--url",
                "https://me:pass@mirror.example.com:https/?sig=s3cret",
                "--sha512",
                &hash,
            ],
            "skewguard: --url is not one that Ignition fetches: unexpected character at index 35;",
        ),
        (
            vec!["--url", URL, "--sha512", "d41d8cd98f"],
            "skewguard: --sha512 is not a SHA-512, 128 hexadecimal digits; get it with: sha512sum skewguard",
        ),
        (
            vec!["--url", URL, "--sha512", &hash, "--user-data", "list"],
            "skewguard: list: is not an Ignition config (it has no ignition.version); write it with: oc extract",
        ),
        (
            vec!["--url", URL, "--sha512", &hash, "--user-data", "future"],
            "skewguard: future: has Ignition spec \"4.0.0\"; known are 2.2.0 and 3.x.0",
        ),
        (
            vec!["--url", URL, "--sha512", &hash, "--user-data", "absent"],
            "skewguard: absent: No such file or directory",
        ),
        (
            vec![
                "--url",
                "gs://bucket/skewguard",
                "--sha512",
                &hash,
                "--spec",
                "3.0.0",
            ],
            "gs came with spec 3.2.0",
        ),
    ] {
        let (exit, out, err) = desk.render(&[&["pointer"], &args[..]].concat());
        assert_eq!((exit, out.as_str()), (1, ""), "{args:?}");
        assert!(err.contains(wanted), "{wanted:?} is not in {err}");
    }
}
