//! `policy init` and `policy schema`: what they print and write, and what they leave alone.

use crate::inside::core::run;
use crate::lint::{lint, shape::REFERENCE, starter::STARTER};
use crate::policy::{LimitRelease, Mode, OnUndetermined, parse};

const NOTE: &str = "\
This policy warns and refuses nothing. Check it with `oc skewguard policy lint`
after editing; `oc skewguard policy init --file FILE` also describes its fields.
";

#[test]
fn init_prints_a_policy_that_warns_and_nothing_else() {
    let (exit, out, err) = run(&["policy", "init"]);
    assert_eq!((exit, err.as_str()), (0, NOTE));
    assert_eq!(out, *STARTER);
    let policy = parse(out.as_bytes()).unwrap();
    assert_eq!(
        (policy.mode, policy.on_undetermined),
        (Mode::Warn, OnUndetermined::Proceed)
    );
    let releases: Vec<_> = policy.limits.iter().map(|limit| limit.release).collect();
    let minor = |release: &str| Some(LimitRelease::Minor(release.parse().unwrap()));
    assert_eq!(releases, [None, minor("4.22"), minor("4.23")]);
    assert!(lint(out.as_bytes()).findings.is_empty());
}

#[test]
fn init_writes_the_policy_and_its_description() {
    let dir = tempfile::tempdir().unwrap();
    let (json, md) = (dir.path().join("policy.json"), dir.path().join("policy.md"));
    let (exit, out, err) = run(&["policy", "init", "--file", json.to_str().unwrap()]);
    assert_eq!((exit, err.as_str()), (0, ""));
    assert_eq!(
        out,
        format!("wrote {} and {}\n", json.display(), md.display())
    );
    assert_eq!(std::fs::read_to_string(&json).unwrap(), *STARTER);
    assert_eq!(std::fs::read_to_string(&md).unwrap(), *REFERENCE);
}

#[test]
fn init_never_overwrites_without_being_told() {
    for existing in ["policy.json", "policy.md"] {
        let dir = tempfile::tempdir().unwrap();
        let (json, existing) = (dir.path().join("policy.json"), dir.path().join(existing));
        std::fs::write(&existing, "mine").unwrap();
        let (exit, out, err) = run(&["policy", "init", "--file", json.to_str().unwrap()]);
        assert_eq!((exit, out.as_str()), (1, ""));
        assert_eq!(
            err,
            format!(
                "skewguard: {}: exists already; --force replaces it\n",
                existing.display()
            )
        );
        assert_eq!(std::fs::read_to_string(&existing).unwrap(), "mine");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);

        let (exit, _, _) = run(&[
            "policy",
            "init",
            "--force",
            "--file",
            json.to_str().unwrap(),
        ]);
        assert_eq!(exit, 0);
        assert_ne!(std::fs::read_to_string(&existing).unwrap(), "mine");
    }
}

#[test]
fn init_says_what_it_cannot_do() {
    let (exit, _, err) = run(&["policy", "init", "--file", "/nonexistent/policy.json"]);
    assert_eq!(
        (exit, err.as_str()),
        (
            1,
            "skewguard: /nonexistent/policy.json: No such file or directory\n"
        )
    );
    let (exit, _, err) = run(&["policy", "init", "--file", "policy.md"]);
    let want = "skewguard: policy.md: FILE is the policy, its description gets the ending .md; name it .json\n";
    assert_eq!((exit, err.as_str()), (1, want));
    let (exit, _, err) = run(&["policy", "init", "--force"]);
    assert!(exit == 2 && err.contains("--file <FILE>"), "{err}");
}

#[test]
fn schema_is_printed_as_it_is_kept() {
    let (exit, out, err) = run(&["policy", "schema"]);
    assert_eq!((exit, err.as_str()), (0, ""));
    assert_eq!(
        out,
        std::fs::read_to_string("src/lint/schema.json").unwrap()
    );
}

#[test]
fn each_command_says_what_it_is_for() {
    for (args, wanted) in [
        (
            &["policy", "--help"][..],
            &[
                "init",
                "lint",
                "schema",
                "policy.md, which describes its fields",
            ][..],
        ),
        (
            &["policy", "init", "--help"],
            &[
                "--file <FILE>",
                "--force",
                "refuses nothing",
                "oc skewguard policy init > policy.json",
            ],
        ),
        (
            &["policy", "lint", "--help"],
            &[
                "<FILE>...",
                "--output",
                "Exit status: 0 no errors",
                "policy lint --output json",
            ],
        ),
        (
            &["policy", "schema", "--help"],
            &["2020-12", "oc skewguard policy schema > policy.schema.json"],
        ),
    ] {
        let (exit, out, err) = run(args);
        assert_eq!((exit, err.as_str()), (0, ""));
        for text in wanted {
            assert!(out.contains(text), "{args:?}: {text}: {out}");
        }
        assert!(out.lines().all(|line| line.len() <= 100), "{out}");
    }
}
