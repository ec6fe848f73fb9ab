//! Every body against the cluster's OpenAPI documents and the CRD, whatever the verdict and the
//! node say.

use crate::inside::report::sample;
use crate::node::identity::Identity;
use crate::report::event::{Event, EventSubject, Regarding};
use crate::report::inventory::NodePatch;
use crate::report::objects::{BootImageReport, ReportInput};
use crate::report::situation;
use crate::support::apiserver::admission::{Admission, Request};
use crate::support::apiserver::schema::{Crd, Schema};
use crate::verdict::{Finding, GateStatus, Reason, RuleResult, Verdict, Wanted};
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

static CRD: LazyLock<Crd> = LazyLock::new(|| {
    Crd::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/manifests/base/crd.yaml"))
});
static EVENT: LazyLock<Schema> =
    LazyLock::new(|| Schema::of_kind("apis_events.k8s.io_v1", "io.k8s.api.events.v1.Event"));
static META: LazyLock<Schema> = LazyLock::new(|| {
    Schema::of_kind(
        "apis_events.k8s.io_v1",
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    )
});

static ADMISSION: LazyLock<Admission> = LazyLock::new(|| {
    Admission::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/manifests/admission"))
});

const BOOTSTRAP: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const NONE: [&str; 0] = [];

/// The messages of one policy against what a node makes.
fn denied(policy: &str, object: &Value) -> Vec<String> {
    let request = Request {
        operation: "CREATE",
        user: BOOTSTRAP,
        namespace: "skewguard",
        object,
        old: None,
    };
    ADMISSION.denials_of(policy, request)
}

fn report(verdict: &Verdict, identity: &Identity, seconds: u64) -> Value {
    serde_json::to_value(BootImageReport::new(&ReportInput {
        progress: None,
        verdict,
        identity,
        remediation: &verdict.message,
        installation: "00112233445566778899aabbccddeeff",
        observed: UNIX_EPOCH + Duration::from_secs(seconds),
    }))
    .unwrap()
}

fn check(verdict: &Verdict, identity: &Identity, seconds: u64) {
    // The report reads the verdict from a file, and there makes its text printable and bounded.
    let verdict = &situation::bound(verdict.clone());
    let mut report = report(verdict, identity, seconds);
    assert_eq!(META.errors(&report["metadata"]), NONE);
    assert_eq!(CRD.prune(&mut report), NONE);
    assert_eq!(CRD.errors(&report), NONE);
    assert_eq!(denied("skewguard-reports", &report), NONE);
    assert!(printable(&report), "{report}");

    let name = report["metadata"]["name"].as_str().unwrap();
    let now = UNIX_EPOCH + Duration::from_secs(seconds);
    for (about, regarding) in [
        (
            EventSubject::Verdict(verdict),
            Regarding::report(name, Some(&verdict.message)),
        ),
        (
            EventSubject::NoVerdict { held: false },
            Regarding::namespace(),
        ),
    ] {
        let event =
            serde_json::to_value(Event::new(about, name, regarding, identity, now)).unwrap();
        assert_eq!(EVENT.errors(&event), NONE);
        assert_eq!(denied("skewguard-events", &event), NONE);
        assert!(
            event["note"].as_str().unwrap().len() <= 1024
                && event["reportingInstance"].as_str().unwrap().len() <= 128
        );
        assert!(printable(&event), "{event}");
    }

    let patch = serde_json::to_value(NodePatch::new(verdict)).unwrap();
    assert_eq!(META.errors(&patch["metadata"]), NONE);
    assert!(printable(&patch), "{patch}");
}

fn printable(value: &Value) -> bool {
    match value {
        Value::String(text) => text.bytes().all(|b| (b' '..=b'~').contains(&b)),
        Value::Array(items) => items.iter().all(printable),
        Value::Object(fields) => fields.values().all(printable),
        _ => true,
    }
}

#[test]
fn the_bodies_of_an_ordinary_refusal_are_valid() {
    check(&sample::refused(), &sample::identity(), 1_772_323_200);
    check(&sample::refused(), &Identity::default(), 0);
}

#[test]
fn the_bodies_of_every_sample_tree_are_valid() {
    let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees");
    let mut seen = 0;
    for tree in std::fs::read_dir(trees)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        let root = crate::node::Root::open(&tree).unwrap();
        let verdict = situation::decide_now(&root).unwrap();
        check(&verdict, &Identity::from_files(&root), 1_772_323_200);
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
}

/// Text as a hostile file may hold it.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        "[\u{0}-\u{1f}\u{7f}-\u{9f}\u{202e}\\\\]{0,40}",
        Just("x".repeat(5000)),
        Just("\"".repeat(5000)),
        Just("\u{1b}".repeat(5000)),
        Just("\u{1b}".repeat(400))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_of_a_verdict_or_a_node_makes_a_body_invalid(
        texts in proptest::collection::vec(text(), 12),
        lists in 0_usize..200,
        seconds in any::<u64>().prop_map(|seconds| seconds >> 20),
        build_number in any::<u32>(),
    ) {
        let mut verdict = sample::refused();
        let text = |n: usize| Some(texts[n].clone());
        verdict.message = texts[0].clone();
        let image = verdict.boot_image.as_mut().unwrap();
        (image.version, image.rhel_version, image.path, image.build_number) = (texts[1].clone(), text(2), text(3), Some(build_number));
        verdict.target.pool = text(4);
        verdict.target.os_image_url = text(5);
        let policy = verdict.policy.as_mut().unwrap();
        (policy.digest, policy.mode, policy.help_url) = (text(6), text(7), text(8));
        verdict.deployment.ostree = text(9);
        verdict.gate = Some(GateStatus { held: false, units: vec![texts[10].clone(); lists], error: text(10) });
        verdict.warnings = vec![texts[11].clone(); lists];
        let finding = Finding {
            rule: Reason::DeniedVersion, result: RuleResult::Fail, have: text(1), want: texts[2].clone(), message: texts[3].clone(),
            wanted: Some(Wanted::Another), why: text(9), entry: text(10), issue: text(7), url: text(8),
        };
        verdict.findings = vec![finding; lists];
        // An identity is made printable and bounded where it is read.
        let node = tempfile::tempdir().unwrap();
        let platform = format!("ignition.platform.id={}", texts[3]);
        let files = [("etc/hostname", &texts[0]), ("etc/machine-id", &texts[1]), ("sys/class/dmi/id/product_uuid", &texts[2]), ("proc/cmdline", &platform)];
        for (path, content) in files {
            let path = node.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let identity = Identity::from_files(&crate::node::Root::open(node.path()).unwrap());
        check(&verdict, &identity, seconds);
    }
}
