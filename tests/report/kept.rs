//! Files that another release left on the node: those of an older one are read, unknown words of a
//! newer one are passed on.

use crate::console;
use crate::inside::report::sample;
use crate::inside::report::stage::{Cluster, Log, Node, refused, status};
use crate::node::{KEPT_VERDICT_PATH, RECORD_PATH, RUN_VERDICT_PATH, Record};
use crate::report::ledger::{Ledger, STATE_PATH};
use crate::report::situation::{LastRun, read};
use crate::verdict::{Action, Reason, Stage, Verdict};
use serde_json::{Value, json};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// A node as the oldest agent left it (`tests/data/kept`).
fn left_by_the_oldest() -> Node {
    let node = Node::new();
    node.write(KEPT_VERDICT_PATH, include_str!("../data/kept/verdict.json"));
    node.write(RECORD_PATH, include_str!("../data/kept/boot-image.json"));
    node.write(STATE_PATH, include_str!("../data/kept/report-state.json"));
    node.write(
        "/var/lib/skewguard/issue.saved",
        include_str!("../data/kept/issue.saved"),
    );
    node.write("/etc/issue", include_str!("../data/kept/issue"));
    node.write("/usr/lib/issue", "\\S\n");
    std::os::unix::fs::symlink(
        "../usr/lib/issue",
        node.dir.path().join("etc/issue.skewguard-saved"),
    )
    .unwrap();
    node
}

#[test]
fn what_the_oldest_agent_kept_is_read() {
    let node = left_by_the_oldest();
    let LastRun::Verdict(observed) = read(&node.root) else {
        panic!("no verdict")
    };
    let verdict = observed.verdict;
    assert!(verdict.blocks() && verdict.gate.as_ref().is_some_and(|gate| gate.held));
    assert_eq!(
        (verdict.reason, verdict.deployment.stage),
        (Reason::BelowMinimumOcpVersion, Stage::FirstBoot)
    );
    let record = Record::load(&node.root).unwrap().unwrap();
    assert_eq!(record.image().unwrap().text, "412.86.202303211731-0");
    let state = Ledger::load(&node.root, None).unwrap();
    let report = state.known_report("worker-3-a17216e094f6e4ff").unwrap();
    assert_eq!(
        report.uid.as_deref(),
        Some("7c1f6b1e-8f0a-4d5e-9d55-0a1b2c3d4e5f")
    );
    assert_eq!(
        state.last_event("worker-3-a17216e094f6e4ff"),
        Some(1_772_323_200)
    );
    console::restore(&node.root).unwrap();
    assert_eq!(
        std::fs::read_to_string(node.dir.path().join("etc/issue")).unwrap(),
        "\\S\n"
    );
    assert_eq!(
        node.root.read_link("/etc/issue").unwrap().unwrap(),
        "../usr/lib/issue",
        "the link itself is back"
    );
}

/// A verdict with words and fields of a later release.
fn of_a_later_release() -> Value {
    let mut verdict: Value = serde_json::from_str(sample::REFUSED).unwrap();
    verdict["verdict"] = json!("Quarantined");
    verdict["action"] = json!("Delay");
    verdict["reason"] = json!("FirmwareTooOld");
    verdict["letThrough"] = json!("Operator");
    verdict["judged"] = json!("StagedDeployment");
    verdict["findings"][0]["rule"] = json!("FirmwareTooOld");
    verdict["findings"][0]["result"] = json!("Deferred");
    verdict["bootImage"]["scheme"] = json!("Calendar");
    verdict["bootImage"]["source"] = json!("Firmware");
    verdict["override"] = json!({ "value": "delay", "source": "Policy", "until": "2030-01-01" });
    verdict["gate"]["since"] = json!(5);
    verdict["firmware"] = json!({ "version": "1.2" });
    verdict
}

/// A refusal that the newer agent could not deliver is not lost with an agent that is older.
#[tokio::test(start_paused = true)]
async fn a_verdict_of_a_later_release_is_told_in_its_own_words() {
    for path in [RUN_VERDICT_PATH, KEPT_VERDICT_PATH] {
        let (node, log, cluster) = (
            Node::new(),
            Log::default(),
            Cluster::new(|_, _| status(201)),
        );
        node.write(path, &of_a_later_release().to_string());
        node.write("/run/skewguard/refused", "");
        node.run(&cluster, &log, HOUR).await;
        let arrived = cluster.arrived();
        assert_eq!(arrived.len(), 2, "report and Event: {:?}", log.lines);
        let impact = &arrived[0].body["report"]["impact"];
        let report = &arrived[0].body["report"]["verdict"];
        let words = ["verdict", "action", "reason"].map(|field| report[field].clone());
        assert_eq!(
            words,
            [
                json!("Quarantined"),
                json!("Delay"),
                json!("FirmwareTooOld")
            ]
        );
        assert_eq!(report["gate"]["held"], json!(true));
        assert_eq!(
            (
                &report["findings"][0]["rule"],
                &report["findings"][0]["result"]
            ),
            (&json!("FirmwareTooOld"), &json!("Deferred"))
        );
        assert_eq!(
            (
                &report["bootImage"]["scheme"],
                &report["bootImage"]["source"]
            ),
            (&json!("Calendar"), &json!("Firmware"))
        );
        assert_eq!(
            report["override"],
            json!({ "value": "delay", "source": "Policy" })
        );
        assert_eq!(
            impact["level"], "Error",
            "it is held, whatever it is called"
        );
        assert_eq!(
            (&arrived[1].body["reason"], &arrived[1].body["action"]),
            (&json!("FirmwareTooOld"), &json!("Delay"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn one_unknown_word_does_not_lose_a_refusal() {
    let words = ["reason", "letThrough", "judged"];
    for word in words {
        let mut verdict: Value = serde_json::from_str(sample::REFUSED).unwrap();
        verdict[word] = json!("Later");
        let (node, cluster) = (
            Node::new(),
            Cluster::new(|at, _| if at < HOUR { refused() } else { status(201) }),
        );
        node.write(RUN_VERDICT_PATH, &verdict.to_string());
        node.write("/run/skewguard/refused", "");
        node.run(&cluster, &Log::default(), 2 * HOUR).await;
        let report = cluster
            .arrived()
            .into_iter()
            .find(|arrived| arrived.at >= HOUR && arrived.path.ends_with("bootimagereports"))
            .unwrap();
        assert_eq!(
            (
                &report.body["report"]["verdict"]["verdict"],
                &report.body["report"]["verdict"]["action"]
            ),
            (&json!("Refused"), &json!("Block")),
            "{word}"
        );
    }
}

#[test]
fn a_phase_and_a_cause_of_a_later_release_do_not_lose_what_was_told() {
    let node = Node::new();
    node.write(
        STATE_PATH,
        r#"{ "apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState", "reports": [{ "name": "worker-0-1" }],
             "firstBoot": { "machineId": "1", "total": 90, "waited": 9, "stall":
                { "phase": "Firmware", "report": "worker-0-1", "causes": ["NoSpace", "MoonTooFull"] } } }"#,
    );
    let state = Ledger::load(&node.root, None).unwrap();
    assert!(state.known_report("worker-0-1").is_some());
    let first_boot = state.first_boot.clone().unwrap();
    let stall = first_boot.stall.unwrap();
    let causes: Vec<_> = stall.causes.iter().map(|cause| cause.as_str()).collect();
    assert_eq!((first_boot.total, stall.phase.as_str()), (90, "Unknown"));
    assert_eq!(causes, ["NoSpace", "MoonTooFull"]);
    state.save(&node.root).unwrap();
    assert!(Ledger::load(&node.root, None).is_ok());
}

#[test]
fn an_unknown_action_never_blocks_and_unknown_words_come_back_as_they_were() {
    let later = of_a_later_release();
    let verdict: Verdict = serde_json::from_value(later.clone()).unwrap();
    assert!(!verdict.blocks() && verdict.action != Action::Block);
    let again = serde_json::to_value(&verdict).unwrap();
    for field in [
        "verdict",
        "action",
        "reason",
        "letThrough",
        "judged",
        "findings",
        "bootImage",
    ] {
        assert_eq!(again[field], later[field], "{field}");
    }
    for (word, kept) in [
        ("a\u{1b}[2Jb\nc", "a?[2Jb?c".to_owned()),
        (&"x".repeat(1000), "x".repeat(64)),
        ("", String::new()),
    ] {
        let reason: Reason = serde_json::from_value(json!(word)).unwrap();
        assert_eq!(reason.as_str(), kept);
    }
}
