//! `render machineconfig` and `render node-disruption-policy`.

use super::ignition::assert_fields_of_spec;
use super::{Desk, POLICY, data, file, program, repository, unit_names};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Read;
use std::process::Command;
use xz2::read::XzDecoder;

const SMALL: &[&str] = &[
    "machineconfig",
    "--role",
    "worker",
    "--policy",
    "policy.json",
    "--binary",
    "embed",
];

#[test]
fn one_object_with_policy_units_and_binary() {
    let desk = Desk::new();
    let elf = program(5000);
    desk.file("embed", &elf);
    let (exit, out, err) = desk.render(SMALL);
    assert_eq!((exit, err.as_str()), (0, ""));

    let object: Value = serde_saphyr::from_str(&out).unwrap();
    assert_eq!(object["apiVersion"], "machineconfiguration.openshift.io/v1");
    assert_eq!(object["kind"], "MachineConfig");
    assert_eq!(object["metadata"]["name"], "99-worker-skewguard");
    assert_eq!(
        object["metadata"]["labels"]["machineconfiguration.openshift.io/role"],
        "worker"
    );
    let config = &object["spec"]["config"];
    assert_eq!(config["ignition"]["version"], "3.0.0");
    assert_fields_of_spec(config, "3.0.0");
    assert_eq!(
        data(&file(config, "/etc/skewguard/policy.json")["contents"]["source"]),
        POLICY.as_bytes()
    );
    let mut unpacked = Vec::new();
    let packed = data(&file(config, "/etc/skewguard/skewguard.xz")["contents"]["source"]);
    XzDecoder::new(&packed[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    assert_eq!(unpacked, elf);
    assert_eq!(
        unit_names(config),
        [
            "skewguard-unpack.service",
            "skewguard-unpack-later.service",
            "skewguard.service",
            "skewguard-report.service"
        ]
    );
}

#[test]
fn gzip_for_images_without_xz() {
    let desk = Desk::new();
    let elf = program(5000);
    desk.file("embed", &elf);
    let (exit, out, err) = desk.render(&[SMALL, &["--compression", "gzip"]].concat());
    assert_eq!((exit, err.as_str()), (0, ""));
    let object: Value = serde_saphyr::from_str(&out).unwrap();
    let config = &object["spec"]["config"];
    let packed = data(&file(config, "/etc/skewguard/skewguard.gz")["contents"]["source"]);
    let mut unpacked = Vec::new();
    GzDecoder::new(&packed[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    assert_eq!(unpacked, elf);
    // A binary that came packed is packed as it is asked for: an embed.gz gives the same bytes.
    desk.file("embed", packed);
    assert_eq!(desk.render(SMALL), {
        desk.file("embed", &elf);
        desk.render(SMALL)
    });
    let (exit, _, err) = desk.render(&[SMALL, &["--compression", "zstd"]].concat());
    assert_eq!(exit, 2);
    assert!(err.contains("[possible values: xz, gzip]"), "{err}");
}

#[test]
fn the_head_says_how_to_apply_it_and_what_it_does_to_the_pool() {
    let desk = Desk::new();
    desk.file("embed", program(5000));
    let (_, out, _) = desk.render(SMALL);
    let head: Vec<&str> = out
        .lines()
        .take_while(|line| line.starts_with('#'))
        .collect();
    let object: Value = serde_saphyr::from_str(&out).unwrap();
    let [json, yaml] = [
        object.to_string().len(),
        out.len() - head.iter().map(|line| line.len() + 1).sum::<usize>(),
    ]
    .map(|size| format!("{},{:03}", size / 1000, size % 1000));
    let packed = out
        .split("On-cluster layering: fits, ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    assert_eq!(
        head.join("\n"),
        format!(
            "\
# Apply it with `oc apply --server-side -f -`, or `oc create -f -`. Plain `oc apply` keeps a copy of the object in an annotation, which
# is limited to 262,144 bytes, and fails where the binary is in it.
#
# A new MachineConfig reboots the pool's existing nodes, one after another, unless the cluster's node disruption policy exempts these
# files and units FIRST (OpenShift 4.17 and later):
#   oc skewguard render node-disruption-policy | oc apply --server-side --field-manager=skewguard -f -
# Removing it (`oc delete mc`) rolls the pool out in the same way: take these exemptions away last.
#
# Policy: mode Enforce, 1 limit, sha256:3e4c651b35531d523c0e6b3633d8c1f2f5da0e03bcd44f056b53e6841ee3b7da.
# Binary: for x86_64, 5,136 bytes packed, 5,120 unpacked. Nodes of another architecture go on without it.
# Machine Config Operator: fits, {json} of 1,258,291 bytes (this MachineConfig, without the rest of the pool's).
# On-cluster layering: fits, {packed} of 1,048,576 bytes (the same, packed, in a ConfigMap).
# Assisted and agent-based installs: fits, {yaml} of 1,048,576 bytes (this file, among their manifests).
# HyperShift: fits, {yaml} of 1,048,576 bytes (the larger of this file and the NodePool's whole config, packed).
# Check with --rendered that it fits beside the rest of the pool's config, 200 to 300 KiB as a rule."
        )
    );
}

#[test]
fn the_policy_alone_for_nodes_that_have_the_rest() {
    let desk = Desk::new();
    let (exit, out, err) =
        desk.render(&["machineconfig", "--policy", "policy.json", "--policy-only"]);
    assert_eq!((exit, err.as_str()), (0, ""));
    let object: Value = serde_saphyr::from_str(&out).unwrap();
    assert_eq!(
        object["spec"]["config"]["storage"]["files"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(object["spec"]["config"].get("systemd"), None);
    assert!(out.contains("\n# Binary: none, from the nodes' boot image or their user data.\n"));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let desk = Desk::new();
    desk.file("embed", program(5000));
    assert_eq!(desk.render(SMALL), desk.render(SMALL));
}

#[test]
fn what_does_not_fit_is_refused_with_the_figures() {
    let desk = Desk::new();
    desk.file("embed", program(950_000));
    let (exit, out, err) = desk.render(SMALL);
    assert_eq!((exit, out.as_str()), (1, ""));
    assert!(err.starts_with("skewguard: too large: 1,27"), "{err}");
    for part in [
        " of the 1,572,864 bytes that etcd takes",
        "the limit is 80 %, 1,258,291 bytes",
        "render pointer",
        "boot image",
    ] {
        assert!(err.contains(part), "{part:?} is not in {err}");
    }
}

#[test]
fn the_sum_with_the_rendered_one_is_refused_too() {
    let desk = Desk::new();
    desk.file("embed", program(500_000));
    assert_eq!(desk.render(SMALL).0, 0);
    let rendered = |bytes: usize| {
        let url = format!("data:,{}", "x".repeat(bytes));
        let files = [serde_json::json!({"path": "/etc/cluster", "contents": {"source": url}})];
        serde_json::json!({"kind": "MachineConfig", "metadata": {"name": "rendered-worker-0"}, "spec": {"config": {"storage": {"files": files}}}}).to_string()
    };
    desk.file("rendered.json", rendered(300_000));
    let args = [SMALL, &["--rendered", "rendered.json"]].concat();
    let (exit, out, err) = desk.render(&args);
    assert_eq!((exit, err.as_str()), (0, ""));
    assert!(
        out.contains(" of 1,258,291 bytes (the pool's rendered MachineConfig)."),
        "{out:.1500}"
    );
    assert!(!out.contains("--rendered "), "it was checked");

    desk.file("rendered.json", rendered(600_000));
    let (exit, out, err) = desk.render(&args);
    assert_eq!((exit, out.as_str()), (1, ""));
    assert!(
        err.contains("      600,161 bytes  everything else in the pool's rendered MachineConfig\n"),
        "{err}"
    );
}

#[test]
fn what_other_ways_cannot_carry_is_a_warning() {
    let desk = Desk::new();
    desk.file("embed", program(800_000));
    let (exit, out, err) = desk.render(SMALL);
    assert_eq!(exit, 0);
    for text in [&out, &err] {
        let unwrapped = text.replace("\n#  ", "");
        assert!(unwrapped.contains("too large for: On-cluster layering; Assisted and agent-based installs; HyperShift. "), "{text:.1500}");
    }
    assert!(
        out.contains("# HyperShift: DOES NOT FIT, 1,0"),
        "{out:.1500}"
    );
}

#[test]
fn pools_with_a_catch_are_a_warning() {
    let desk = Desk::new();
    for (role, catch) in [
        ("infra", "/config/infra"),
        ("workers", "--role workers: is it worker? If not, new nodes"),
        ("master", "before there is a release"),
    ] {
        let (exit, out, err) = desk.render(&[
            "machineconfig",
            "--role",
            role,
            "--policy",
            "policy.json",
            "--policy-only",
        ]);
        assert_eq!(exit, 0);
        assert!(
            err.starts_with("skewguard: warning: ") && err.contains(catch),
            "{err}"
        );
        assert!(out.contains("# Warning: "), "{out}");
        assert!(
            out.contains(&format!("  name: 99-{role}-skewguard\n")),
            "{out}"
        );
    }
    let (exit, _, err) = desk.render(&[
        "machineconfig",
        "--role",
        "Infra Nodes",
        "--policy",
        "policy.json",
        "--policy-only",
    ]);
    assert_eq!(exit, 2);
    assert!(
        err.contains("is not the name of a machine config pool"),
        "{err}"
    );
}

#[test]
fn a_policy_with_mistakes_never_reaches_a_cluster() {
    let desk = Desk::new();
    desk.file("bad.json", POLICY.replace("Enforce", "Enfroce"));
    for what in ["machineconfig", "ignition"] {
        let (exit, out, err) = desk.render(&[what, "--policy", "bad.json", "--policy-only"]);
        assert_eq!((exit, out.as_str()), (1, ""));
        assert_eq!(
            err,
            "\
skewguard: bad.json is not a policy to put on nodes (`oc skewguard policy lint` checks it)
bad.json:4:11: error: mode: \"Enfroce\" is unknown; it acts as \"Warn\"
  help: did you mean \"Enforce\"?
"
        );
    }
}

#[test]
fn a_policy_with_warnings_is_rendered_and_they_are_said() {
    let desk = Desk::new();
    desk.file("odd.json", POLICY.replace("4.13.0", "4.13.1"));
    let (exit, out, err) = desk.render(&["machineconfig", "--policy", "odd.json", "--policy-only"]);
    assert_eq!(exit, 0);
    assert!(out.contains("kind: MachineConfig\n"));
    assert!(
        err.contains("odd.json:5:38: warning: limits[0].minimumOCPVersion: images do not name"),
        "{err}"
    );
}

#[test]
fn files_that_are_not_what_they_should_be() {
    let desk = Desk::new();
    desk.file("script", "#!/bin/sh\n");
    desk.file("empty", "");
    desk.file("embed", program(10));
    let mut foreign = program(10);
    foreign[18] = 243;
    desk.file("riscv", foreign);
    let huge = desk.file("huge", "");
    std::fs::File::options()
        .write(true)
        .open(huge)
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    for (args, wanted) in [
        (
            "--policy absent.json --binary embed",
            "absent.json: No such file or directory",
        ),
        (
            "--policy . --binary embed",
            ".: is a directory, not a regular file",
        ),
        (
            "--policy empty --binary embed",
            "empty: is empty, so not a policy; `oc skewguard policy init` writes one",
        ),
        (
            "--policy huge --binary embed",
            "huge: is larger than 262,144 bytes",
        ),
        (
            "--policy policy.json --binary script",
            "script: is not a program (64-bit ELF, or that packed with xz or gzip)",
        ),
        (
            "--policy policy.json --binary empty",
            "empty: is not a program",
        ),
        (
            "--policy policy.json --binary riscv",
            "riscv: is a program for another machine (ELF machine 243)",
        ),
        (
            "--policy policy.json --binary huge",
            "huge: is larger than 33,554,432 bytes",
        ),
        (
            "--policy policy.json --binary embed --rendered policy.json",
            "policy.json: is not a rendered MachineConfig",
        ),
        (
            "--policy policy.json --binary embed --rendered script",
            "script: is not JSON",
        ),
    ] {
        let (exit, out, err) = desk.line(&format!("machineconfig {args}"));
        assert_eq!((exit, out.as_str()), (1, ""), "{args}: {err}");
        assert!(err.contains(wanted), "{wanted:?} is not in {err}");
    }
}

#[test]
fn the_policy_may_come_through_standard_input() {
    let desk = Desk::new();
    let huge = desk.file("huge", "");
    std::fs::File::options()
        .write(true)
        .open(huge)
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    let args = |policy| {
        [
            "render",
            "machineconfig",
            "--role",
            "worker",
            "--policy-only",
            "--policy",
            policy,
        ]
    };
    let rendered = |file: &str| {
        let stdin = std::fs::File::open(desk.0.path().join(file)).unwrap();
        Command::new(env!("CARGO_BIN_EXE_kubectl-skewguard"))
            .args(args("-"))
            .stdin(stdin)
            .output()
            .unwrap()
    };
    assert_eq!(
        String::from_utf8(rendered("policy.json").stdout).unwrap(),
        desk.render(&args("policy.json")[1..]).1
    );
    let refused = rendered("huge");
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(refused.stderr).unwrap(),
        "skewguard: <stdin>: is larger than 262,144 bytes\n"
    );
}

#[test]
fn the_node_disruption_policy_covers_exactly_what_the_machine_config_changes() {
    let desk = Desk::new();
    desk.file("embed", program(10));
    let delivered = ["xz", "gzip"].map(|packed| -> Value {
        let (_, out, _) = desk.render(&[SMALL, &["--compression", packed]].concat());
        serde_saphyr::from_str(&out).unwrap()
    });
    let (exit, out, err) = desk.render(&["node-disruption-policy"]);
    assert_eq!((exit, err.as_str()), (0, ""));
    let object: Value = serde_saphyr::from_str(&out).unwrap();
    assert_eq!(object["kind"], "MachineConfiguration");
    assert_eq!(object["metadata"], json!({ "name": "cluster" }));
    let policy = &object["spec"]["nodeDisruptionPolicy"];
    for entry in [&policy["files"], &policy["units"]]
        .into_iter()
        .flat_map(|list| list.as_array().unwrap())
    {
        assert_eq!(
            entry["actions"],
            json!([{ "type": "None" }]),
            "{entry}: no reboot, no drain, no restart"
        );
    }
    let names = |lists: &[&Value], key: &str| -> BTreeSet<String> {
        lists
            .iter()
            .flat_map(|list| list.as_array().unwrap())
            .map(|entry| entry[key].as_str().unwrap().to_owned())
            .collect()
    };
    let config = delivered.each_ref().map(|object| &object["spec"]["config"]);
    assert_eq!(
        names(&[&policy["files"]], "path"),
        names(&config.map(|config| &config["storage"]["files"]), "path")
    );
    assert_eq!(
        names(&[&policy["units"]], "name"),
        names(&config.map(|config| &config["systemd"]["units"]), "name")
    );
}

/// It names none of the entries: a server-side apply under the same field manager takes them away.
#[test]
fn the_way_back_of_the_node_disruption_policy_takes_its_own_entries_alone() {
    let desk = Desk::new();
    let (_, forth, _) = desk.render(&["node-disruption-policy"]);
    let (exit, back, err) = desk.render(&["node-disruption-policy", "--remove"]);
    assert_eq!((exit, err.as_str()), (0, ""));
    let object: Value = serde_saphyr::from_str(&back).unwrap();
    assert_eq!(
        object,
        json!({ "apiVersion": "operator.openshift.io/v1", "kind": "MachineConfiguration", "metadata": { "name": "cluster" }, "spec": {} })
    );
    // Both say what the help says.
    let (_, help, _) = desk.render(&["node-disruption-policy", "--help"]);
    let line = |text: &str| text.replace(" |\n    oc", " | oc");
    for command in [
        "oc skewguard render node-disruption-policy --remove | oc apply --server-side --field-manager=skewguard -f -",
    ] {
        for text in [&forth, &back, &line(&help)] {
            assert!(text.contains(command), "{text}");
        }
    }
    for text in [&forth, &back, &help] {
        assert!(text.contains(" `oc delete` it: "), "{text}");
    }
}

/// The commands under a heading of a help text, and those of docs/quick-start.md, word by word.
#[test]
fn the_recipe_of_the_help_is_that_of_the_quick_start() {
    let words = |text: &str| -> Vec<String> {
        let text = text.replace("&&\n", "\n").replace("\\\n", " ");
        text.split_whitespace().map(str::to_owned).collect()
    };
    let (_, help, _) = Desk::new().render(&["machineconfig", "--help"]);
    let (_, recipe) = help
        .split_once("From nothing to a pool that warns")
        .unwrap();
    let (_, recipe) = recipe.split_once("reboot.\n").unwrap();
    let (recipe, _) = recipe.split_once("\n\n").unwrap();
    let page = std::fs::read_to_string(repository().join("docs/quick-start.md")).unwrap();
    let blocks = page.split("```").skip(1).step_by(2);
    let commands: Vec<String> = blocks.flat_map(|block| words(&block[2..])).collect();
    let commands = commands.join(" ");
    // Each of its commands, and in their order.
    let mut rest = commands.as_str();
    for command in recipe.split("&&\n") {
        let command = words(command).join(" ");
        let at = rest
            .find(&command)
            .unwrap_or_else(|| panic!("{command}: {rest}"));
        rest = &rest[at + command.len()..];
    }
    assert!(rest.contains("audit --print-commands labels"), "{rest}");
}
