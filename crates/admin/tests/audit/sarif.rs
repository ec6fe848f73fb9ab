//! `-o sarif`: valid by the schema of SARIF 2.1.0, each set with the line of its image.

use super::fleet::{cluster, kubeconfig};
use super::{POLICY, audit, fixture};
use crate::support::apiserver::ADMIN_TOKEN;
use serde_json::{Value, json};
use skewguard_admin::cli::Exit;

/// The log, which the schema takes.
fn sarif(args: &[&str]) -> (Value, Exit) {
    let (out, err, exit) = audit(&[&["--policy", POLICY, "-o", "sarif"], args].concat());
    let log: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
    let schema = std::fs::read_to_string("tests/data/sarif/sarif-2.1.0.json").unwrap();
    let schema = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&log)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0], "{log}");
    (log, exit)
}

/// Name, rule, level, file and line of each result.
fn results(log: &Value) -> Vec<[String; 5]> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let results = log["runs"][0]["results"].as_array().unwrap().iter();
    results
        .map(|result| {
            let location = &result["locations"][0];
            let place = &location["physicalLocation"];
            [
                text(&location["logicalLocations"][0]["fullyQualifiedName"]),
                text(&result["ruleId"]),
                text(&result["level"]),
                text(&place["artifactLocation"]["uri"]),
                text(&place["region"]["startLine"]),
            ]
        })
        .collect()
}

#[test]
fn a_set_has_the_line_of_its_image() {
    let file = "tests/data/audit/aws.json";
    let (log, exit) = sarif(&["--from", file]);
    assert_eq!(exit, Exit::Refused);
    let text = fixture("aws.json");
    let found = results(&log);
    let names: Vec<&str> = found.iter().map(|[name, ..]| name.as_str()).collect();
    let names: Vec<&str> = names
        .iter()
        .map(|name| name.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(
        names,
        ["c1-old", "c1-reported", "c1-unknown", "c1-wrong-region"]
    );
    for ([name, rule, level, uri, line], image) in found.iter().zip([
        "ami-0old000000000001",
        "ami-0rep000000000001",
        "ami-0unk000000000001",
        "ami-0own000000000002",
    ]) {
        let line: usize = line.parse().unwrap();
        let line = text.lines().nth(line - 1).unwrap();
        assert!(line.contains(image), "{name}: {line}");
        assert_eq!(uri, file);
        let wanted = match rule.as_str() {
            "BelowMinimumOCPVersion" => "error",
            _ => "warning",
        };
        assert_eq!(level, wanted, "{rule}");
    }
    let said = log["runs"][0]["results"][0]["message"]["text"]
        .as_str()
        .unwrap();
    assert!(
        said.contains("the minimum is 4.13.0\n") && said.contains("\nfix: "),
        "{said}"
    );
}

/// GitHub rejects a file with a result that has none.
#[test]
fn nodes_that_the_update_breaks_have_a_place() {
    let file = "tests/data/audit/aws.json";
    let (log, _) = sarif(&["--from", file, "--target", "4.22"]);
    let found = results(&log);
    let [name, rule, level, uri, line] = found.last().unwrap();
    assert_eq!(
        [rule, level, uri, line],
        ["BornBeforeKernelSigningKey", "note", file, "1"]
    );
    assert_eq!(
        name,
        "pool worker, installed from 412.86.202301311551-0: BornBeforeKernelSigningKey"
    );
    // Of a folder a file: GitHub shows no folder.
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("all.json"), fixture("aws.json")).unwrap();
    let from = dir.path().to_str().unwrap();
    let (log, _) = sarif(&["--from", from, "--target", "4.22"]);
    let [.., uri, _] = results(&log).pop().unwrap();
    assert_eq!(uri, format!("file://{from}/all.json"));
}

/// As a repository keeps them: YAML in folders, with names that a URI has not as they are.
#[test]
fn manifests_of_a_repository_have_their_lines() {
    let dir = tempfile::tempdir().unwrap();
    let list: Value = serde_json::from_str(&fixture("aws.json")).unwrap();
    let folder = dir.path().join("a #1/b");
    std::fs::create_dir_all(&folder).unwrap();
    let mut text = "# sets\n".to_owned();
    for item in list["items"].as_array().unwrap() {
        text += &format!("---\n{}", serde_saphyr::to_string(item).unwrap());
    }
    std::fs::write(folder.join("sets 100%.yaml"), &text).unwrap();
    let from = dir.path().to_str().unwrap();
    let (log, _) = sarif(&["--from", from, "--only", "refused"]);
    for [name, _, _, uri, line] in results(&log) {
        assert_eq!(uri, format!("file://{from}/a%20%231/b/sets%20100%25.yaml"));
        let line = text
            .lines()
            .nth(line.parse::<usize>().unwrap() - 1)
            .unwrap();
        assert!(line.contains("ami-0"), "{name}: {line}");
    }
    assert_eq!(results(&log).len(), 1);
}

/// A set with an exception is suppressed; what is in an archive has the archive's name.
#[test]
fn what_does_not_count_is_suppressed() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let exceptions =
        json!({ "exceptions": [{ "set": "c1-old", "reason": "OPS-1", "until": "2999-12-31" }] });
    std::fs::write(path("exceptions.json"), exceptions.to_string()).unwrap();
    let archive = std::fs::File::create(path("objects.tar")).unwrap();
    let mut archive = tar::Builder::new(archive);
    archive
        .append_path_with_name("tests/data/audit/aws.json", "aws.json")
        .unwrap();
    archive.finish().unwrap();
    let args = [
        "--exceptions",
        &path("exceptions.json"),
        "--from",
        &path("objects.tar"),
    ];
    let (log, _) = sarif(&args);
    let old = &log["runs"][0]["results"][0];
    assert_eq!(old["level"], "note");
    assert!(
        old["suppressions"][0]["justification"]
            .as_str()
            .unwrap()
            .contains("OPS-1")
    );
    assert_eq!(log["runs"][0]["results"][1]["suppressions"], Value::Null);
    let [_, _, _, uri, line] = &results(&log)[0];
    assert_eq!(
        (uri.clone(), line.as_str()),
        (format!("file://{}", path("objects.tar")), "1")
    );
}

/// A run for each cluster, of another category; objects of a server are in no file.
#[test]
fn clusters_are_runs() {
    let served = ["aws.json", "openstack.json"].map(|name| cluster(name, name));
    let dir = tempfile::tempdir().unwrap();
    let contexts = [
        ("a", "a", &served[0], ADMIN_TOKEN),
        ("b", "b", &served[1], ADMIN_TOKEN),
    ];
    let config = kubeconfig(dir.path(), &contexts);
    super::fleet::with_a_dead_end(&config);
    let (log, exit) = sarif(&["--all-contexts", "--kubeconfig", config.to_str().unwrap()]);
    assert_eq!(exit, Exit::Failed);
    let runs = log["runs"].as_array().unwrap();
    let about: Vec<_> = runs
        .iter()
        .map(|run| {
            (
                run["automationDetails"]["id"].as_str().unwrap(),
                run["results"].as_array().unwrap().len(),
            )
        })
        .collect();
    assert_eq!(
        about,
        [
            ("skewguard/gone", 0),
            ("skewguard/a", 4),
            ("skewguard/b", 0)
        ]
    );
    assert_eq!(runs[0]["invocations"][0]["executionSuccessful"], false);
    assert_eq!(
        runs[1]["results"][0]["locations"][0]["physicalLocation"],
        Value::Null
    );
}

#[test]
fn an_exception_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("exceptions.yaml");
    let list = "exceptions: [{set: c1-old, reason: OPS-2, until: 2999-12-31}]\n";
    std::fs::write(&file, list).unwrap();
    let aws = ["--from", "tests/data/audit/aws.json", "--exceptions"];
    let (log, _) = sarif(&[&aws[..], &[file.to_str().unwrap()]].concat());
    let results = log["runs"][0]["results"].as_array().unwrap();
    let texts = results
        .iter()
        .map(|result| result["message"]["text"].as_str());
    let text = texts.flatten().find(|text| text.contains("OPS-2")).unwrap();
    assert!(
        text.contains("\nexcepted until 2999-12-31: OPS-2"),
        "{text}"
    );
    let (page, ..) = audit(&["--from", "tests/data/audit/vsphere.json", "-o", "html"]);
    assert!(
        page.contains(">installed with 4.21.3: probably 4.21<"),
        "{page}"
    );
}
