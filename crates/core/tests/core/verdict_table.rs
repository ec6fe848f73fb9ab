//! The state table: every state under every override, against `verdict_table.tsv`, and its rows by
//! example.

use crate::inside::core::samples::node;
use crate::policy::{Mode, Policy, parse};
use crate::verdict::{
    Action, BootImage, BootImageStatus, Deployment, Facts, ImageSource, Judged, Outcome, Override,
    OverrideSource, OverrideWord, PolicyInput, Reason, Stage, Target, TargetInput, Verdict, decide,
};
use crate::version::ImageVersion;
use serde_json::json;
use std::sync::Mutex;

/// RHEL 9.4 and OCP 4.16 or newer, for targets from 4.21 on.
fn policy(mode: &str, on_undetermined: &str, api_version: &str) -> Policy {
    let policy = json!({
        "apiVersion": api_version, "kind": "BootImageSkewPolicy", "mode": mode, "onUndetermined": on_undetermined,
        "limits": [{ "release": "4.21", "minimumOCPVersion": "4.16.0", "minimumRHCOSVersion": "9.4" }],
    });
    parse(policy.to_string().as_bytes()).unwrap()
}

/// What a boot image is to that policy.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Image {
    Unnamed,
    Undecodable,
    /// SCOS: the rules are RHCOS's.
    OfAnotherFamily,
    TooOld,
    /// Its OCP release is too old, its RHEL is not.
    HalfTooOld,
    NewEnough,
    /// Names RHEL only: one rule passes, one is not evaluated.
    NewEnoughAsFarAsKnown,
}

/// What the target is to that policy.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TargetKind {
    Absent,
    Unreadable,
    WithLimit,
    WithoutLimit,
    ReleaseUnknown,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum PolicyKind {
    Absent,
    Invalid,
    Valid {
        mode: Mode,
        refuse_undetermined: bool,
        other_version: bool,
        any_release: bool,
    },
}

#[derive(Debug, Clone, Copy)]
struct Case {
    policy: PolicyKind,
    word: Option<OverrideWord>,
    image: Image,
    /// What was put in place of the image.
    booted: Option<Image>,
    target: TargetKind,
    stage: Stage,
}

impl Case {
    fn judged(&self) -> Image {
        self.booted.unwrap_or(self.image)
    }

    fn has_limit(&self) -> bool {
        match self.policy {
            PolicyKind::Valid {
                any_release: false, ..
            } => self.target == TargetKind::WithLimit,
            PolicyKind::Valid {
                any_release: true, ..
            } => self.target != TargetKind::Unreadable,
            PolicyKind::Absent | PolicyKind::Invalid => false,
        }
    }
}

fn facts(case: &Case) -> Facts {
    let image = |text: &str| {
        Some(BootImage {
            version: ImageVersion::parse(text),
            source: ImageSource::Aleph,
            path: "/sysroot/.aleph-version.json".to_owned(),
        })
    };
    let release = |release: Option<&str>| {
        TargetInput::Read(Target {
            release: release.map(str::to_owned),
            pool: Some("worker".to_owned()),
            ..Target::default()
        })
    };
    let image = |kind: Image| match kind {
        Image::Unnamed => None,
        Image::Undecodable => image("9.6.2026030314"),
        Image::OfAnotherFamily => image("9.0.20250827-0"),
        Image::TooOld => image("411.86.202308081056-0"),
        Image::HalfTooOld => image("415.94.202409040013-0"),
        Image::NewEnough => image("418.94.202501221327-0"),
        Image::NewEnoughAsFarAsKnown => image("9.6.20250523-0"),
    };
    let target = match case.target {
        TargetKind::Absent => TargetInput::Absent,
        TargetKind::Unreadable => TargetInput::Unreadable,
        TargetKind::WithLimit => release(Some("4.22.1")),
        TargetKind::WithoutLimit => release(Some("4.20.9")),
        TargetKind::ReleaseUnknown => release(None),
    };
    Facts {
        boot_image: image(case.image),
        replaced_by: case.booted.and_then(image),
        deployment: Deployment {
            stage: case.stage,
            ..Deployment::default()
        },
        r#override: case.word.map(|value| Override {
            value,
            source: OverrideSource::File,
        }),
        ..Facts::new(input(case.policy), target)
    }
}

/// The policy of that kind; each is parsed once.
fn input(kind: PolicyKind) -> PolicyInput {
    static PARSED: Mutex<Vec<(PolicyKind, PolicyInput)>> = Mutex::new(Vec::new());
    let mut parsed = PARSED.lock().unwrap();
    if let Some((_, input)) = parsed.iter().find(|(known, _)| *known == kind) {
        return input.clone();
    }
    let path = "/etc/skewguard/policy.json".to_owned();
    let input = match kind {
        PolicyKind::Absent => PolicyInput::Absent,
        PolicyKind::Invalid => PolicyInput::Invalid {
            path,
            digest: Some("sha256:11".to_owned()),
            error: "is not a valid policy".to_owned(),
        },
        PolicyKind::Valid {
            mode,
            refuse_undetermined,
            other_version,
            any_release,
        } => {
            let mode = match mode {
                Mode::Enforce => "Enforce",
                Mode::Warn => "Warn",
                Mode::None => "None",
            };
            let on_undetermined = if refuse_undetermined {
                "Refuse"
            } else {
                "Proceed"
            };
            let api_version = if other_version {
                "skewguard.dev/v1"
            } else {
                "skewguard.dev/v1alpha1"
            };
            let mut policy = policy(mode, on_undetermined, api_version);
            if any_release {
                policy.limits[0].release = None;
            }
            PolicyInput::Valid {
                path,
                digest: "sha256:00".to_owned(),
                policy,
            }
        }
    };
    parsed.push((kind, input.clone()));
    input
}

impl Case {
    /// The words of its state, in the order of the table's columns.
    fn words(&self) -> [&'static str; 7] {
        let (policy, on_undetermined, api_version) = match self.policy {
            PolicyKind::Absent => ("absent", "", ""),
            PolicyKind::Invalid => ("invalid", "", ""),
            PolicyKind::Valid {
                mode,
                refuse_undetermined,
                other_version,
                ..
            } => (
                match mode {
                    Mode::Enforce => "Enforce",
                    Mode::Warn => "Warn",
                    Mode::None => "None",
                },
                if refuse_undetermined {
                    "Refuse"
                } else {
                    "Proceed"
                },
                if other_version { "other" } else { "ours" },
            ),
        };
        [
            policy,
            on_undetermined,
            api_version,
            match self.target {
                TargetKind::Absent => "absent",
                TargetKind::Unreadable => "unreadable",
                _ => "read",
            },
            if self.has_limit() { "yes" } else { "no" },
            match self.stage {
                Stage::OnTarget => "on target",
                Stage::Rebased => "rebased",
                Stage::FirstBootFinished => "first boot over",
                Stage::MayHaveJoined => "may have joined",
                Stage::Unreadable => "unreadable",
                Stage::FirstBoot => "first boot",
            },
            match self.judged() {
                Image::Unnamed => "unnamed",
                Image::Undecodable => "undecodable",
                Image::OfAnotherFamily => "another family",
                Image::TooOld | Image::HalfTooOld => "too old",
                Image::NewEnough | Image::NewEnoughAsFarAsKnown => "new enough",
            },
        ]
    }
}

/// A row of `verdict_table.tsv`.
struct Row {
    state: Vec<&'static str>,
    verdict: &'static str,
    reason: &'static str,
    /// The columns of the overrides, by the words of [`WORDS`].
    actions: Vec<&'static str>,
}

/// The overrides, in the order of their columns.
const WORDS: [Option<OverrideWord>; 5] = [
    None,
    Some(OverrideWord::Off),
    Some(OverrideWord::Warn),
    Some(OverrideWord::Enforce),
    Some(OverrideWord::Unreadable),
];

impl Row {
    fn all() -> Vec<Self> {
        let lines = include_str!("verdict_table.tsv").lines();
        let mut lines = lines.filter(|line| !line.starts_with('#'));
        let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
        assert_eq!(
            names.join(" "),
            "policy onUndetermined apiVersion target limit deployment image verdict reason none off warn enforce unreadable"
        );
        let row = |line: &'static str| {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells.len(), names.len(), "{line}");
            Self {
                state: cells[..7].to_vec(),
                verdict: cells[7],
                reason: cells[8],
                actions: cells[9..].to_vec(),
            }
        };
        lines.map(row).collect()
    }

    fn matches(&self, case: &Case) -> bool {
        self.state
            .iter()
            .zip(case.words())
            .all(|(cell, word)| *cell == "any" || *cell == word)
    }

    /// Verdict, reason, action, and why a refusal does not block.
    fn says(&self, case: &Case) -> String {
        let column = WORDS.iter().position(|word| *word == case.word).unwrap();
        match self.actions[column] {
            "Disabled" => "Disabled (OverrideOff) Proceed".to_owned(),
            action => format!("{} ({}) {action}", self.verdict, self.reason),
        }
    }
}

const STAGES: [Stage; 6] = [
    Stage::OnTarget,
    Stage::Rebased,
    Stage::FirstBootFinished,
    Stage::MayHaveJoined,
    Stage::Unreadable,
    Stage::FirstBoot,
];

fn every_case() -> Vec<Case> {
    let mut policies = vec![PolicyKind::Absent, PolicyKind::Invalid];
    for mode in [Mode::Enforce, Mode::Warn, Mode::None] {
        for refuse_undetermined in [false, true] {
            for other_version in [false, true] {
                for any_release in [false, true] {
                    policies.push(PolicyKind::Valid {
                        mode,
                        refuse_undetermined,
                        other_version,
                        any_release,
                    });
                }
            }
        }
    }
    let images = [
        Image::Unnamed,
        Image::Undecodable,
        Image::OfAnotherFamily,
        Image::TooOld,
        Image::HalfTooOld,
        Image::NewEnough,
        Image::NewEnoughAsFarAsKnown,
    ];
    let targets = [
        TargetKind::Absent,
        TargetKind::Unreadable,
        TargetKind::WithLimit,
        TargetKind::WithoutLimit,
        TargetKind::ReleaseUnknown,
    ];
    let mut cases = Vec::new();
    for policy in policies {
        for word in WORDS {
            for image in images {
                for booted in [
                    None,
                    Some(Image::TooOld),
                    Some(Image::NewEnoughAsFarAsKnown),
                ] {
                    for target in targets {
                        for stage in STAGES {
                            cases.push(Case {
                                policy,
                                word,
                                image,
                                booted,
                                target,
                                stage,
                            });
                        }
                    }
                }
            }
        }
    }
    cases
}

#[test]
fn every_state_is_decided_by_the_table() {
    let cases = every_case();
    assert_eq!(cases.len(), 26 * 5 * 7 * 3 * 5 * 6);
    let rows = Row::all();
    let (mut blocked, mut reached) = (0, vec![false; rows.len()]);
    for case in &cases {
        let verdict = decide(&facts(case));
        let why = verdict.let_through.map(|why| format!(": {why}"));
        let decided = format!(
            "{} ({}) {}{}",
            verdict.verdict,
            verdict.reason,
            verdict.action,
            why.unwrap_or_default()
        );
        let row = rows.iter().position(|row| row.matches(case)).unwrap();
        assert_eq!(decided, rows[row].says(case), "row {}: {case:?}", row + 1);
        reached[row] = true;
        let digest = verdict
            .policy
            .as_ref()
            .and_then(|policy| policy.digest.as_deref());
        let given = match case.policy {
            PolicyKind::Absent => None,
            PolicyKind::Invalid => Some("sha256:11"),
            PolicyKind::Valid { .. } => Some("sha256:00"),
        };
        assert_eq!(digest, given, "{case:?}");
        blocked += usize::from(verdict.blocks());
    }
    let unreached = reached.iter().position(|reached| !reached);
    assert_eq!(
        unreached.map(|row| row + 1),
        None,
        "a row that nothing reaches"
    );
    // Too old are 2 images, and each of the 7 if an older one replaced it, at 1 target by the limit
    // for a release and at 4 by the other limit. Held undetermined are 2 images, at 1 and 3 targets.
    // Three overrides and modes hold: Enforce without an override, and `enforce` over Enforce or
    // Warn. With Proceed they hold what is too old at the first boot; with Refuse also what is
    // undetermined, and all of it again at an unreadable stage. Under Enforce with an unreadable
    // override only Refuse holds.
    let (too_old, undetermined) = ((2 + 7) * (1 + 4), 2 * (1 + 3));
    assert_eq!(
        blocked,
        3 * (too_old + 2 * (too_old + undetermined)) + 2 * (too_old + undetermined)
    );
}

#[test]
fn every_verdict_says_what_it_was_made_from() {
    for case in every_case() {
        let facts = facts(&case);
        let verdict = decide(&facts);
        assert_eq!(
            (verdict.api_version.as_str(), verdict.kind.as_str()),
            ("skewguard.dev/v1alpha1", "BootImageVerdict")
        );
        assert!(
            !verdict.message.is_empty() && !verdict.message.contains('\n'),
            "{case:?}"
        );
        assert_eq!(
            verdict.boot_image.as_ref(),
            facts
                .boot_image
                .as_ref()
                .map(BootImageStatus::from)
                .as_ref()
        );
        assert_eq!(
            verdict.judged == Judged::BootedDeployment,
            case.booted.is_some()
        );
        assert_eq!(
            verdict.judged_image().is_some(),
            case.judged() != Image::Unnamed
        );
        let wrong = if case.booted.is_some() {
            "boot image"
        } else {
            "booted deployment"
        };
        let mut texts = verdict
            .findings
            .iter()
            .map(|finding| &finding.message)
            .chain([&verdict.message]);
        assert!(
            verdict.reason == Reason::AlreadyOnTarget || !texts.any(|text| text.contains(wrong)),
            "{verdict:?}"
        );
        assert_eq!(verdict.policy.is_some(), case.policy != PolicyKind::Absent);
        assert_eq!(verdict.r#override, facts.r#override);
        assert_eq!(
            (&verdict.deployment.ostree, verdict.deployment.stage),
            (&facts.deployment.ostree, case.stage)
        );
        // Findings are kept wherever a limit was found, also where they no longer decide.
        assert_eq!(
            verdict.findings.len(),
            if case.has_limit() { 2 } else { 0 },
            "{case:?}"
        );
        if case.word.is_none() {
            let json = serde_json::to_string(&verdict).unwrap();
            assert_eq!(serde_json::from_str::<Verdict>(&json).unwrap(), verdict);
        }
    }
}

fn verdict(mode: &str, image: &str) -> Verdict {
    decide(&node(
        image,
        "4.22.1",
        policy(mode, "Proceed", "skewguard.dev/v1alpha1"),
    ))
}

#[test]
fn the_rows_by_example() {
    let refused = verdict("Enforce", "411.86.202308081056-0");
    assert_eq!(
        (refused.verdict, refused.action),
        (Outcome::Refused, Action::Block)
    );
    assert_eq!(
        refused.message,
        "boot image is OCP 4.11; the minimum is 4.16.0"
    );
    let warned = verdict("Warn", "411.86.202308081056-0");
    assert_eq!(
        (warned.verdict, warned.action, &warned.message),
        (Outcome::Refused, Action::Proceed, &refused.message)
    );
    assert_eq!(warned.findings, refused.findings);
    let allowed = verdict("Enforce", "9.6.20250523-0");
    assert_eq!(
        (allowed.verdict, allowed.message.as_str()),
        (
            Outcome::Allowed,
            "the boot image is within the policy's limits"
        )
    );
    assert_eq!(
        allowed.policy.unwrap().limit_release.as_deref(),
        Some("4.21")
    );
}

/// An unknown mode must not hold a node. An override is given by a person now, so it applies.
#[test]
fn an_unknown_mode_warns_and_can_be_lifted() {
    let mut facts = node(
        "411.86.202308081056-0",
        "4.22.1",
        policy("EnforceLater", "Proceed", "skewguard.dev/v1alpha1"),
    );
    let verdict = decide(&facts);
    assert_eq!(
        (verdict.verdict, verdict.action),
        (Outcome::Refused, Action::Proceed)
    );
    assert_eq!(
        verdict.policy.unwrap().mode.as_deref(),
        Some("EnforceLater")
    );
    assert_eq!(
        verdict.warnings,
        ["unknown policy mode \"EnforceLater\" acts as Warn"]
    );
    facts.r#override = Some(Override {
        value: OverrideWord::Enforce,
        source: OverrideSource::KernelArgument,
    });
    assert_eq!(decide(&facts).action, Action::Block);
}

#[test]
fn a_release_that_is_none_is_unknown_and_said_so() {
    let verdict = decide(&node(
        "411.86.202308081056-0",
        "latest",
        policy("Enforce", "Refuse", "skewguard.dev/v1alpha1"),
    ));
    assert_eq!(
        (verdict.reason, verdict.action),
        (Reason::NoLimitForTarget, Action::Proceed)
    );
    assert_eq!(
        verdict.message,
        "the policy has no limit for release latest and pool worker"
    );
    assert_eq!(
        verdict.warnings,
        [
            "target release \"latest\" is ignored: not an OCP release: write x.y or x.y.z, such as 4.21 or 4.21.3"
        ]
    );
}

#[test]
fn pre_releases_and_nightlies_find_the_limit_of_their_release() {
    for release in [
        "4.21.0-0.nightly-2026-05-20-043516",
        "4.21.0-okd-scos.3",
        "4.21.0-ec.3",
        "4.21.0-rc.1",
        "5.0.0-ec.2",
    ] {
        let verdict = decide(&node(
            "411.86.202308081056-0",
            release,
            policy("Enforce", "Proceed", "skewguard.dev/v1alpha1"),
        ));
        assert_eq!(
            (verdict.verdict, verdict.warnings.len()),
            (Outcome::Refused, 0),
            "{release}"
        );
    }
    let verdict = decide(&node(
        "411.86.202308081056-0",
        "4.20.0-okd-scos.3",
        policy("Enforce", "Proceed", "skewguard.dev/v1alpha1"),
    ));
    assert_eq!(verdict.reason, Reason::NoLimitForTarget);
}

/// No other limit decides in place of one that may be the node's: it boots, whatever the policy says
/// of what cannot be judged.
#[test]
fn a_limit_that_nobody_can_tell_is_undetermined_and_named() {
    for (limit, message) in [
        (
            serde_json::json!({ "pools": { "all": true } }),
            "limits[0] may be the limit for this node: its pools are not understood",
        ),
        (
            serde_json::json!({ "when": { "architectures": ["x86_64"], "secureBoot": true } }),
            "limits[0] may be the limit for this node: the architecture is unknown",
        ),
    ] {
        let mut policy = super::samples::with("/onUndetermined", "Refuse".into());
        policy["limits"].as_array_mut().unwrap().insert(0, limit);
        let policy = crate::policy::parse(policy.to_string().as_bytes()).unwrap();
        let verdict = decide(&super::samples::node(
            "48.84.202109241901-0",
            "4.22.1",
            policy,
        ));
        assert_eq!(
            (verdict.verdict, verdict.reason, verdict.action),
            (
                Outcome::Undetermined,
                Reason::LimitUndecided,
                Action::Proceed
            )
        );
        assert_eq!(verdict.message, message);
        assert!(verdict.warnings.contains(&verdict.message));
        assert_eq!(verdict.policy.unwrap().limit_release, None);
    }
}
