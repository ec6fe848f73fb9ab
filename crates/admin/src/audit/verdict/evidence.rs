//! The verdict on what is known of an image (pure). Its words are about the cluster's objects; a node's own are
//! about its files. A rule that only the node can evaluate leaves it open.

use crate::audit::results::set::{Estimate, KnownBy, RefusedWindow, SetKind};
use crate::audit::set::served::NodeRelease;
use crate::audit::set::{RELEASE_IMAGE, Set};
use crate::audit::verdict::estimate::estimate;
use crate::audit::verdict::horizon::later;
use crate::audit::verdict::image_judge::{Judge, without_warnings};
use crate::audit::verdict::lookup_help::{LookupHelp, NAME_RELEASE, ON_NODE, lookup_help};
use crate::audit::verdict::valid;
use crate::audit::versions::known_version::KnownVersion;
use crate::audit::versions::published::is_of_publisher;
use crate::audit::versions::why_not::words;
use crate::data::{PUBLISHED, is_ami};
use crate::verdict::words::About;
use crate::verdict::{Action, Outcome, Reason, RuleResult, Verdict};
use crate::version::{ImageVersion, OsFamily};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::image::{Image, WhyNot};
use skewguard_cluster::kinds::target::{is_okd, parsed};

/// The verdict on the next node, and what it goes by.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) version: Option<ImageVersion>,
    pub(crate) by: KnownBy,
    pub(crate) from: Option<String>,
    pub(crate) estimate: Option<Estimate>,
    /// Way to learn what is unknown.
    pub(crate) help: Option<LookupHelp>,
    pub(crate) later: Vec<RefusedWindow>,
    pub(crate) note: Option<String>,
    /// A change of the policy beside the set's.
    pub(crate) also: Option<&'static str>,
}

/// The verdict, which is open for this reason: it blocks nothing that was refused for another.
pub(crate) fn left_open(verdict: Verdict, reason: Reason, message: String) -> Verdict {
    let action = match verdict.verdict {
        Outcome::Refused => Action::Proceed,
        _ => verdict.action,
    };
    Verdict {
        verdict: Outcome::Undetermined,
        action,
        reason,
        message,
        ..verdict
    }
}

/// Says why a verdict is open that another release would turn.
pub(crate) fn explained(judged: Judged, at: &NodeRelease) -> Judged {
    let is_open = judged.verdict.reason == Reason::TargetUnknown;
    let Some(config) = at.unread.as_ref().filter(|_| is_open) else {
        return judged;
    };
    let message = format!("its pool serves {config}, which was not read: its release is unknown");
    Judged {
        verdict: left_open(judged.verdict, Reason::TargetUnknown, message),
        help: Some(READ_CONFIG.into()),
        ..judged
    }
}

const READ_CONFIG: &str = "read the MachineConfig that its pool serves to new nodes: what `oc get machineconfigs -o json` prints (--from)";

/// The verdict on a known version; of an unknown one says why it is unknown, for which a claim may be the reason.
pub(crate) fn by_what_is_known(
    known: Option<&KnownVersion>,
    claim: Option<&KnownVersion>,
    judge: Judge<'_>,
) -> Verdict {
    let mut verdict = judge.verdict(known.map(|known| &known.version));
    if let Some(why) = known.and_then(|known| open_question(known, judge)) {
        verdict = left_open(verdict, Reason::NoRuleEvaluated, why);
    }
    if verdict.reason == Reason::BootImageUnknown {
        let claim = claim.and_then(|known| Some(&*known.claim.as_ref()?.says));
        let why = claim.or(judge.image.why_not.map(words));
        let why = why.unwrap_or_else(|| in_no_list(judge.image));
        let is_in_field = judge.image.why_not == Some(WhyNot::FieldNotUnderstood);
        let field = judge.image.field.as_ref().filter(|_| is_in_field);
        let field = field.map_or_else(String::new, |field| format!(": {field}"));
        verdict.message = format!("the version is unknown: {why}{field}");
    }
    if let Some(family) = known.and_then(|known| of_okd(&known.version, judge.release))
        && verdict.verdict != Outcome::Refused
    {
        let cluster = match parsed(judge.release) {
            Some(_) => "the cluster is of OpenShift",
            None => "whether the cluster is OKD is unknown without its release",
        };
        let message = format!("images of {family} are OKD's, and {cluster}");
        verdict = left_open(verdict, Reason::NoRuleEvaluated, message);
    } else if verdict.reason == Reason::NoRuleEvaluated
        && let Some(family) = known.and_then(|known| unjudged(&known.version, &verdict))
    {
        verdict.message = format!("the policy has no rule for images of {family}");
    }
    verdict
}

/// Leaves open what a limit of one pool decides otherwise, where the pool of a set is unknown. Nodes of a custom
/// pool boot as `worker`, but for those whose user data asks for it: a Secret's name does not say that.
pub(crate) fn with_pool(judged: Judged, set: &Set, judge: Judge<'_>) -> Judged {
    let is_of_any = matches!(
        set.kind,
        SetKind::MachineSet
            | SetKind::Machine
            | SetKind::BareMetalHost
            | SetKind::MachineDeployment
    );
    let (true, Some(version)) = (is_of_any, &judged.version) else {
        return judged;
    };
    let limits = valid(judge.policy).map_or(&[][..], |policy| &policy.limits);
    let named = limits.iter().flat_map(|limit| limit.pools.iter().flatten());
    let pools: Vec<&str> = match set.image.pool.as_deref() {
        None => named.map(String::as_str).collect(),
        Some(pool) if set.is_pool_asked || BUILT_IN.contains(&pool) => return judged,
        Some(_) => vec!["worker"],
    };
    let decides_otherwise =
        |pool: &&str| judge.of_pool(pool, version).verdict != judged.verdict.verdict;
    let Some(pool) = pools.into_iter().find(decides_otherwise) else {
        return judged;
    };
    let message = format!("its pool is unknown, and the policy has another limit for pool {pool}");
    let verdict = left_open(judged.verdict, Reason::NoRuleEvaluated, message);
    Judged { verdict, ..judged }
}

/// Pools that every cluster has.
const BUILT_IN: [&str; 3] = ["master", "worker", "arbiter"];

/// The change of a policy whose limits for a release a NodePool's nodes do not use.
const HOSTED: &str =
    "give the policy limits without release, as `oc skewguard policy init --hosted` writes them";

/// Judges a NodePool as its nodes are, too: they do not know their release, and use the limits without one.
pub(crate) fn as_hosted(judged: Judged, set: &Set, judge: Judge<'_>) -> Judged {
    // Its image is that of the release that is asked about.
    let minor = parsed(judge.release).map(|release| release.minor);
    let known: Vec<ImageVersion> = match (&judged.version, minor) {
        (Some(version), _) => vec![version.clone()],
        (None, Some(minor)) if judged.by == KnownBy::Release => judge.published(minor),
        _ => Vec::new(),
    };
    if set.kind != SetKind::NodePool || known.is_empty() {
        return judged;
    }
    let hosted = Judge {
        release: None,
        ..judge
    };
    let verdicts = known.iter().map(|version| hosted.verdict(Some(version)));
    let refused = verdicts.filter(|verdict| verdict.verdict == Outcome::Refused);
    let refused: Vec<Verdict> = refused.collect();
    let is_refused = judged.verdict.verdict == Outcome::Refused;
    let count = refused.len();
    match refused.into_iter().next() {
        Some(verdict) if !is_refused && count < known.len() => {
            let message = format!(
                "{count} of {} images published for its release fail by the limits without release, which its nodes use",
                known.len()
            );
            let verdict = left_open(verdict, Reason::NoRuleEvaluated, message);
            Judged { verdict, ..judged }
        }
        Some(verdict) if !is_refused => Judged {
            verdict: Verdict {
                message: format!(
                    "{}, by the limits without release, which its nodes use",
                    verdict.message
                ),
                ..verdict
            },
            later: Vec::new(),
            ..judged
        },
        None if is_refused => Judged {
            verdict: Verdict {
                message: format!(
                    "{}; its nodes do not know their release, and the limits without one let them in",
                    judged.verdict.message
                ),
                ..judged.verdict
            },
            also: Some(HOSTED),
            ..judged
        },
        _ => judged,
    }
}

/// Adds the later releases that would refuse a known version. Where the release is unknown that leaves the verdict
/// open: the cluster may run it already.
pub(crate) fn with_horizon(verdict: Verdict, known: KnownVersion, judge: Judge<'_>) -> Judged {
    let is_open = verdict.verdict != Outcome::Refused;
    let refusals = match is_open {
        true => later(judge, &known.version),
        false => Vec::new(),
    };
    let is_named = parsed(judge.release).is_some();
    let (verdict, help) = if !refusals.is_empty() && !is_named {
        let message = "the cluster's release is unknown".to_owned();
        let verdict = left_open(verdict, Reason::TargetUnknown, message);
        (verdict, Some(NAME_RELEASE.into()))
    } else {
        let limits = valid(judge.policy).map_or(&[][..], |policy| &policy.limits);
        let is_understood = limits.iter().all(|limit| limit.unclear.is_empty());
        let is_of_node = verdict.reason == Reason::LimitUndecided && is_understood;
        (verdict, is_of_node.then(|| ON_NODE.into()))
    };
    Judged {
        verdict,
        version: Some(known.version),
        by: known.by,
        from: Some(known.from),
        estimate: None,
        help,
        later: refusals,
        note: None,
        also: None,
    }
}

/// The family of an image that is OKD's, where this release is none of OKD.
pub(crate) fn of_okd(version: &ImageVersion, release: Option<&str>) -> Option<&'static str> {
    let family = version.os_family()?;
    let is_of_okd = matches!(family, OsFamily::Fcos | OsFamily::Scos);
    (is_of_okd && !release.is_some_and(is_okd)).then(|| family.name())
}

/// The family of an image of OKD that none of the policy's rules is about.
fn unjudged(version: &ImageVersion, verdict: &Verdict) -> Option<&'static str> {
    let family = version.os_family()?;
    let own = match family {
        OsFamily::Fcos => [
            Reason::BelowMinimumFcosVersion,
            Reason::AboveMaximumFcosVersion,
        ],
        OsFamily::Scos => [
            Reason::BelowMinimumScosVersion,
            Reason::AboveMaximumScosVersion,
        ],
        OsFamily::Rhcos => return None,
    };
    let mut findings = verdict.findings.iter();
    (!findings.any(|finding| own.contains(&finding.rule))).then(|| family.name())
}

/// Reason why an image that is named is unknown.
fn in_no_list(image: &Image) -> &'static str {
    if ami(image).is_some() {
        "the AMI is not listed for its region, and no node made from it is labelled"
    } else if is_of_publisher(image) {
        "no image of this name is published, and no node made from it is labelled"
    } else {
        "no node made from this image has a label, and its name says no version"
    }
}

/// The ID of the AMI that the image is.
pub(crate) fn ami(image: &Image) -> Option<&str> {
    let value = image.value.as_deref()?;
    value.rsplit('/').next().filter(|id| is_ami(id))
}

/// Reason why a node may be refused although what is known of its image is allowed: only the node can tell,
/// or its aleph says more than the image's name does.
fn open_question(known: &KnownVersion, judge: Judge<'_>) -> Option<String> {
    // What only warns keeps no node back, also where only the node can tell.
    let refusing = without_warnings(judge.policy);
    let judge = Judge {
        policy: &refusing,
        ..judge
    };
    let verdict = judge.verdict(Some(&known.version));
    if verdict.verdict == Outcome::Allowed
        && let Some(finding) = verdict.findings.iter().find(|finding| {
            // What the version alone leaves open here, the node leaves open, too.
            finding.result == RuleResult::NotEvaluated && finding.rule.about() != About::Image
        })
    {
        return Some(format!(
            "its version is allowed, but only the node can tell: {}",
            finding.message
        ));
    }
    let ocp_alone = [
        Reason::BelowMinimumOcpVersion,
        Reason::TooManyReleasesBehind,
    ];
    // A version of Fedora CoreOS is whole without them.
    let is_open = known.by == KnownBy::ImageName
        && known.version.rhel.is_none()
        && known.version.os_family() != Some(OsFamily::Fcos)
        && verdict.verdict == Outcome::Allowed
        && verdict
            .findings
            .iter()
            .any(|finding| !ocp_alone.contains(&finding.rule));
    let passes = |version: &ImageVersion| judge.verdict(Some(version)).verdict == Outcome::Allowed;
    let ocp = known.version.ocp;
    let all_pass = |ocp| {
        let images = judge.published(ocp);
        !images.is_empty() && images.iter().all(passes)
    };
    (is_open && !ocp.is_some_and(all_pass)).then(|| {
        format!(
            "the image's name says no more than OCP {}, and the policy asks for more",
            ocp.map_or_else(|| "unknown".to_owned(), |ocp| ocp.to_string())
        )
    })
}

/// The verdict by what its release or an estimate says, and what would help. `verdict` is that on an unknown
/// image, `claim` what is said of it.
pub(crate) fn guessed(
    set: &Set,
    verdict: Verdict,
    claim: Option<KnownVersion>,
    judge: Judge<'_>,
    takes_estimates: bool,
    objects: &Objects,
) -> Judged {
    let help = lookup_help(set, claim.as_ref(), objects);
    let report = claim.filter(|claim| claim.by == KnownBy::Report);
    let (by, from) = report.map(|report| (report.by, report.from)).unzip();
    let unknown = Judged {
        verdict,
        version: None,
        by: by.unwrap_or_default(),
        from,
        estimate: None,
        help: None,
        later: Vec::new(),
        note: looked_for(set, objects),
        also: None,
    };
    if let Some((verdict, from)) = by_release(set, judge) {
        return Judged {
            verdict,
            by: KnownBy::Release,
            from: Some(from),
            ..unknown
        };
    }
    let Some((found, version)) = estimate(set, objects) else {
        return Judged {
            help: Some(help),
            ..unknown
        };
    };
    let probable = judge.verdict(Some(&version));
    let is_taken = takes_estimates && probable.verdict == Outcome::Refused;
    let verdict = if is_taken { probable } else { unknown.verdict };
    Judged {
        verdict: Verdict {
            message: format!("{}; {}", verdict.message, found.from),
            ..verdict
        },
        by: KnownBy::InstalledRelease,
        from: Some(found.from.clone()),
        estimate: Some(found),
        help: Some(help),
        ..unknown
    }
}

/// The verdict on a node pool whose image is that of its release: where all images that were
/// published for the release get the same one. Agents have booted from an ISO of their own.
fn by_release(set: &Set, judge: Judge<'_>) -> Option<(Verdict, String)> {
    let is_stock = set.kind == SetKind::NodePool
        && set.image.field.as_deref() == Some(RELEASE_IMAGE)
        && set.has_release_image
        && set.release.is_some();
    // Its image is that of the release that is asked about.
    let asked = judge.release.filter(|asked| is_stock && !is_okd(asked))?;
    let minor = parsed(Some(asked))?.minor;
    let images = judge.published(minor);
    let verdicts = images.iter().map(|version| judge.verdict(Some(version)));
    let mut verdicts: Vec<Verdict> = verdicts.collect();
    verdicts.dedup_by_key(|verdict| (verdict.verdict, verdict.action == Action::Block));
    let [verdict] = <[Verdict; 1]>::try_from(verdicts).ok()?;
    let does = match verdict.verdict {
        Outcome::Allowed => "pass",
        Outcome::Refused => "fail",
        _ => return None,
    };
    let count = images.len();
    let says = format!("all {count} images published for {minor} {does}");
    let message = format!("{says}: {}", verdict.message);
    let from = format!("{}: {says}", PUBLISHED.source());
    Some((Verdict { message, ..verdict }, from))
}

/// Lists in which an AMI was looked for.
fn looked_for(set: &Set, objects: &Objects) -> Option<String> {
    let ami = ami(&set.image)?;
    if let Some(place) = &set.elsewhere {
        return Some(format!(
            "{ami} is the image of {place} (ConfigMap coreos-bootimages), and the next machine is made elsewhere"
        ));
    }
    let config_map = if objects.own_images.is_empty() {
        "the ConfigMap coreos-bootimages was not read"
    } else {
        "it is not in the ConfigMap coreos-bootimages"
    };
    let streams = if objects.streams.is_empty() {
        ""
    } else {
        ", nor in the stream metadata that was named"
    };
    Some(format!(
        "{ami} is not among the {} AMIs of openshift/installer until {}{streams}; {config_map}",
        PUBLISHED.amis(),
        PUBLISHED.until,
    ))
}
