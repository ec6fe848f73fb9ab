//! The verdict on the next node of a set, by the rules that decide on the node itself (pure).

use super::change::Change;
use super::effect::{self, effects};
use super::estimate;
use super::horizon::{Later, later};
use super::image_versions::Lookup;
use super::issues;
use super::known_version::KnownVersion;
use super::lookup_help::lookup_help;
use super::missing_limit::missing_limit;
use super::published::of_release;
use super::remedy::{Remedy, remedy};
use super::set::{RELEASE_IMAGE, Set};
use super::upkeep;
use crate::audit::cluster::target::is_okd;
use crate::audit::results::effect::{Effect, EffectKind};
use crate::audit::results::set::{KnownBy, NodeCount, SetAudit, SetKind};
use crate::audit::results::upkeep::Keeper;
use crate::data::{PUBLISHED, is_ami};
use crate::policy::{self, Mode, OnUndetermined};
use crate::verdict::words::About;
use crate::verdict::{
    Action, BootImage, BootImageStatus, Facts, ImageSource, Machine, Outcome, PolicyInput, Reason,
    RuleResult, Target, TargetInput, Verdict, decide,
};
use crate::version::{ImageVersion, OcpMinor, OsFamily, Release};

/// The verdict on the next node of a set, by the same rules as on the node itself: at its first
/// boot, and as if the policy enforced.
pub(crate) fn judge(
    mut set: Set,
    lookup: &Lookup<'_>,
    policy: &PolicyInput,
    release: Option<&str>,
    takes_estimates: bool,
) -> (SetAudit, Verdict) {
    upkeep::add_stream(&mut set, release);
    set.fips = fips(&set, lookup);
    let known = without_claim(&mut set, policy, release);
    let mut verdict = by_what_is_known(&set, known.as_ref(), policy, release);
    match &known {
        Some(known) => {
            set.known_by = known.by;
            set.known_from = Some(known.from.clone());
            set.boot_image = Some(BootImageStatus::from(&known.version));
            with_upkeep_of(&mut set, known, lookup);
        }
        None => estimated(
            &mut set,
            &mut verdict,
            lookup,
            policy,
            release,
            takes_estimates,
        ),
    }
    let version = known.as_ref().map(|known| &known.version);
    set.row.known_issues = issues::known_to_fail(policy, |policy| {
        self::verdict(&set, version, policy, release)
    });
    add_horizon(&mut set, known.as_ref(), &mut verdict, policy, release);
    set.could_be_kept = upkeep::could_be_kept(&set, lookup.objects);
    let missing_limit = missing_limit(&verdict, policy, set.image.pool.as_deref());
    let unreadable = unreadable(&mut set, version, &mut verdict, lookup);
    let elsewhere = |words| Remedy {
        is_elsewhere: true,
        ..Remedy::words(words)
    };
    let remedy = match (unreadable, &missing_limit) {
        (None, Some(limit)) => elsewhere(limit.says()),
        (Some(Unreadable::Convert(how)), _) if verdict.verdict != Outcome::Refused => {
            elsewhere(how)
        }
        (None, None) if !needs_remedy(&set, version, &verdict, lookup) => Remedy::default(),
        _ => {
            let judge = |version: &_| self::verdict(&set, Some(version), policy, release);
            remedy(&set, release, judge, lookup)
        }
    };
    let mut row = row(with_remedy(set, remedy, lookup), &verdict);
    row.missing_limit = missing_limit;
    (row, verdict)
}

fn row(set: Set, verdict: &Verdict) -> SetAudit {
    let image = set.image;
    SetAudit {
        pool: image.pool,
        platform: image.platform.map(|platform| platform.id().to_owned()),
        architecture: image.architecture,
        region: image.region,
        stream: image.stream,
        image_field: image.field.map(|field| format!("{}{field}", set.path)),
        image: image.value,
        verdict: verdict.verdict,
        action: verdict.action,
        reason: verdict.reason,
        message: verdict.message.clone(),
        ..set.row
    }
}

/// FIPS mode of its nodes. A NodePool's are of another cluster, with MachineConfigs of its own.
fn fips(set: &Set, lookup: &Lookup<'_>) -> Option<bool> {
    let pool = set.image.pool.as_deref();
    let is_here = set.kind != SetKind::NodePool;
    lookup.objects.fips.of(pool.filter(|_| is_here)?)
}

/// What is known of its image. A claim is none of it: a report, and a node's label while another node of the
/// image says otherwise, where it would refuse the next node, today or later, or where the other names a
/// newer one: nobody puts an older image in its place.
fn without_claim(
    set: &mut Set,
    policy: &PolicyInput,
    release: Option<&str>,
) -> Option<KnownVersion> {
    let known = set.known.take()?;
    let Some(claim) = known.claim.clone() else {
        return Some(known);
    };
    let refuses = || {
        verdict(set, Some(&known.version), policy, release).verdict == Outcome::Refused
            || refused_later(set, &known, policy, release).is_some()
    };
    if known.by != KnownBy::Report && !claim.may_be_newer && !refuses() {
        return Some(known);
    }
    if known.by == KnownBy::Report {
        set.known_by = known.by;
        set.known_from = Some(known.from);
    }
    set.claim = Some(claim.says);
    None
}

/// Adds the later release that would refuse a set. Where the release is unknown that leaves the verdict
/// open: the cluster may run it already.
fn add_horizon(
    set: &mut Set,
    known: Option<&KnownVersion>,
    verdict: &mut Verdict,
    policy: &PolicyInput,
    release: Option<&str>,
) {
    let is_open = verdict.verdict != Outcome::Refused;
    let known = known.filter(|_| is_open);
    let Some(later) = known.and_then(|known| refused_later(set, known, policy, release)) else {
        return;
    };
    if release.is_none_or(|release| release.parse::<Release>().is_err()) {
        verdict.verdict = Outcome::Undetermined;
        verdict.reason = Reason::TargetUnknown;
        verdict.message = "the cluster's release is unknown".to_owned();
        set.to_know = Some(NAME_RELEASE.to_owned());
    }
    set.refused_from = Some(later.from);
    set.refused_until = later.until;
    set.refused_from_message = Some(later.message);
}

/// The later release that would refuse the next node.
fn refused_later(
    set: &Set,
    known: &KnownVersion,
    policy: &PolicyInput,
    release: Option<&str>,
) -> Option<Later> {
    let PolicyInput::Valid { policy: limits, .. } = policy else {
        return None;
    };
    let judge = |release: &str| verdict(set, Some(&known.version), policy, Some(release));
    later(limits, release, judge)
}

/// Help where the release is unknown.
const NAME_RELEASE: &str = "name the cluster's release (--target), or its ClusterVersion: what `oc get clusterversion -o json` prints (--from)";

/// Adds to a set of unknown image what its release or an estimate says, and what would help.
fn estimated(
    set: &mut Set,
    verdict: &mut Verdict,
    lookup: &Lookup<'_>,
    policy: &PolicyInput,
    release: Option<&str>,
    takes_estimates: bool,
) {
    let help = lookup_help(set, lookup);
    let note = looked_for(set, lookup);
    set.notes.extend(note);
    if let Some((of_release, from)) = by_release(set, policy, release) {
        *verdict = of_release;
        set.known_by = KnownBy::Release;
        set.known_from = Some(from);
        return;
    }
    set.to_know_by = help.script;
    set.to_know = Some(help.says.to_owned());
    if let Some((found, version)) = estimate::estimate(set, lookup.objects) {
        let probable = self::verdict(set, Some(&version), policy, release);
        if takes_estimates && probable.verdict == Outcome::Refused {
            *verdict = probable;
        }
        verdict.message = format!("{}; {}", verdict.message, found.from);
        set.known_by = KnownBy::InstalledRelease;
        set.known_from = Some(found.from.clone());
        set.estimate = Some(Box::new(found));
    }
}

/// Replaces the note that the cluster keeps its image, where the image is an older one.
fn with_upkeep_of(set: &mut Set, known: &KnownVersion, lookup: &Lookup<'_>) {
    if let Some(upkeep) = upkeep::behind(set, known, lookup) {
        set.notes.retain(|note| *note != upkeep::KEPT_NOTE);
        set.notes.push(upkeep.reason.clone());
        set.managed = (upkeep.by == Keeper::MachineConfigOperator).then_some(true);
        set.upkeep = Some(upkeep);
    }
}

/// Tells whether there is something to change: also where nothing refuses an image, and the cluster
/// has a newer one.
fn needs_remedy(
    set: &Set,
    version: Option<&ImageVersion>,
    verdict: &Verdict,
    lookup: &Lookup<'_>,
) -> bool {
    verdict.verdict == Outcome::Refused
        || match version {
            // What a filter chooses nobody can know beforehand.
            None => set.image.site.chooser.is_some(),
            Some(version) => {
                verdict.verdict == Outcome::Undetermined && lookup.is_behind(&set.image, version)
            }
        }
}

/// Adds what to change, and what the change does.
fn with_remedy(mut set: Set, remedy: Remedy, lookup: &Lookup<'_>) -> Set {
    let effects = effects(&set, &remedy, lookup);
    let is_bare = |effect: &Effect| effect.effect == EffectKind::NextMachineOnly;
    let change = remedy
        .change
        .or_else(|| Change::of_image(&set, remedy.image.as_deref()?));
    let command = change
        .as_ref()
        .filter(|_| effects.iter().all(is_bare))
        .and_then(|change| change.command(&set));
    let file = change
        .filter(|_| set.owner.is_some())
        .and_then(|change| change.file(&set));
    set.row = SetAudit {
        remedy: remedy.text,
        want_image: remedy.image,
        want_version: remedy.version,
        patch: command,
        patch_file: file.map(Box::new),
        effect: effects.first().map(|effect| effect.effect),
        effects,
        ..set.row
    };
    set
}

/// The verdict on a node pool whose image is that of its release: where all images that were
/// published for the release get the same one. Agents have booted from an ISO of their own.
fn by_release(set: &Set, policy: &PolicyInput, release: Option<&str>) -> Option<(Verdict, String)> {
    let is_stock = set.kind == SetKind::NodePool
        && set.image.field.as_deref() == Some(RELEASE_IMAGE)
        && set.has_release_image;
    set.release.as_deref().filter(|_| is_stock)?;
    // Its image is that of the release that is asked about.
    let asked = release?;
    let minor = (asked.parse::<Release>().ok())
        .filter(|_| !is_okd(asked))?
        .minor;
    let images = images_of(set, minor);
    let verdicts: Vec<Verdict> = images
        .iter()
        .map(|version| verdict(set, Some(version), policy, release))
        .collect();
    let outcome = |verdict: &Verdict| (verdict.verdict, verdict.action == Action::Block);
    let first = verdicts.first()?;
    let is_one = verdicts
        .iter()
        .all(|verdict| outcome(verdict) == outcome(first));
    if !is_one || !matches!(first.verdict, Outcome::Allowed | Outcome::Refused) {
        return None;
    }
    let count = images.len();
    let does = match first.verdict {
        Outcome::Allowed => "pass",
        _ => "fail",
    };
    let says = format!("all {count} images published for {minor} {does}");
    let mut verdict = first.clone();
    verdict.message = format!("{says}: {}", verdict.message);
    Some((verdict, format!("{}: {says}", PUBLISHED.source())))
}

/// All images that were published for a release and fit a set.
fn images_of(set: &Set, release: OcpMinor) -> Vec<ImageVersion> {
    let platform = set.image.platform.or(set.release_platform);
    of_release(release, platform, &set.image)
}

/// Help for a node whose Ignition does not read its user data.
enum Unreadable {
    /// The user data is changed.
    Convert(String),
    /// The image is.
    Replace,
}

/// Tells what helps where the next node stops in the initramfs, because the image's Ignition does not
/// read the user data: then nothing is allowed. By an estimate alone it is a note.
fn unreadable(
    set: &mut Set,
    version: Option<&ImageVersion>,
    verdict: &mut Verdict,
    lookup: &Lookup<'_>,
) -> Option<Unreadable> {
    let (version, stub) = (version?, effect::stub(set, lookup.objects)?);
    if !stub.is_unreadable(version) {
        return None;
    }
    // Nodes that joined say otherwise.
    let secret = set.user_data.as_deref()?;
    if lookup.has_joined_by(&set.image, (&set.namespace, secret), version) {
        return None;
    }
    let why = stub.unreadable(Some(version));
    if !stub.is_known() {
        // A node that joined from the image says otherwise.
        let is_it = |nodes: &NodeCount| nodes.version.as_ref() == Some(&version.text);
        if !set.nodes.iter().any(is_it) {
            set.notes.push(why);
        }
        return None;
    }
    if verdict.verdict == Outcome::Refused {
        set.notes.push(why);
        return None;
    }
    verdict.verdict = Outcome::Undetermined;
    verdict.reason = Reason::NoRuleEvaluated;
    verdict.message = format!("no node comes up from it: {why}");
    Some(if stub.is_of_spec_2() {
        Unreadable::Convert(format!(
            "convert Secret {} to Ignition spec 3 (docs/audit.md); managedBootImages of MachineConfiguration cluster does so where it sets an image",
            set.user_data.as_deref().unwrap_or_default()
        ))
    } else {
        Unreadable::Replace
    })
}

/// The verdict, worded for who reads the cluster's objects: the node's words are about its own
/// files. A rule that only the node can evaluate leaves it open.
fn by_what_is_known(
    set: &Set,
    known: Option<&KnownVersion>,
    policy: &PolicyInput,
    release: Option<&str>,
) -> Verdict {
    let mut verdict = verdict(set, known.map(|known| &known.version), policy, release);
    // What only warns keeps no node back, also where only the node can tell.
    let refusing = without_warnings(policy);
    let judge = |version: &_| self::verdict(set, Some(version), &refusing, release);
    if let Some(why) = known.and_then(|known| open_question(set, known, judge)) {
        verdict.verdict = Outcome::Undetermined;
        verdict.reason = Reason::NoRuleEvaluated;
        verdict.message = why;
    }
    if verdict.reason == Reason::BootImageUnknown {
        let claim = set.claim.as_deref().or(set.image.why_not);
        let why = claim.unwrap_or_else(|| in_no_list(set));
        verdict.message = format!("the version is unknown: {why}");
    }
    if verdict.reason == Reason::NoRuleEvaluated
        && let Some(family) = known.and_then(|known| unjudged(&known.version, &verdict))
    {
        verdict.message = format!("the policy has no rule for images of {family}");
    }
    verdict
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
fn in_no_list(set: &Set) -> &'static str {
    if ami(set).is_some() {
        "the AMI is not listed for its region, and no node made from it is labelled"
    } else {
        "no node made from this image has a label, and its name says no version"
    }
}

fn ami(set: &Set) -> Option<&str> {
    let value = set.image.value.as_deref()?;
    value.rsplit('/').next().filter(|id| is_ami(id))
}

/// Lists in which an AMI was looked for.
fn looked_for(set: &Set, lookup: &Lookup<'_>) -> Option<String> {
    let ami = ami(set)?;
    if let Some(own) = lookup.elsewhere(&set.image) {
        return Some(format!(
            "{ami} is the image of {} (ConfigMap coreos-bootimages), and the next machine is made elsewhere",
            own.place()
        ));
    }
    let objects = lookup.objects;
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

/// Reason why a node may be refused although what is known of its image is allowed: only the node can tell,
/// or its aleph says more than the image's name does.
fn open_question(
    set: &Set,
    known: &KnownVersion,
    judge: impl Fn(&ImageVersion) -> Verdict,
) -> Option<String> {
    let verdict = judge(&known.version);
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
    let passes = |version: &ImageVersion| judge(version).verdict == Outcome::Allowed;
    let ocp = known.version.ocp;
    let all_pass = |ocp| {
        let images = images_of(set, ocp);
        !images.is_empty() && images.iter().all(passes)
    };
    (is_open && !ocp.is_some_and(all_pass)).then(|| {
        format!(
            "the image's name says no more than OCP {}, and the policy asks for more",
            ocp.map_or_else(|| "unknown".to_owned(), |ocp| ocp.to_string())
        )
    })
}

/// The policy as if its mode were `Enforce`. A node reads its own aleph, so that an image that is
/// unknown here is not refused as unknown there.
fn enforced(policy: &PolicyInput, is_known: bool) -> PolicyInput {
    let mut policy = policy.clone();
    if let PolicyInput::Valid { policy, .. } = &mut policy {
        policy.mode = Mode::Enforce;
        if !is_known {
            policy.on_undetermined = OnUndetermined::Proceed;
        }
    }
    policy
}

/// The policy without the known issues that only warn.
fn without_warnings(policy: &PolicyInput) -> PolicyInput {
    let mut policy = policy.clone();
    if let PolicyInput::Valid { policy, .. } = &mut policy {
        policy
            .known_issues
            .retain(|issue| issue.effect == policy::Effect::Refuse);
    }
    policy
}

pub(crate) fn verdict(
    set: &Set,
    version: Option<&ImageVersion>,
    policy: &PolicyInput,
    release: Option<&str>,
) -> Verdict {
    // Where a node would find it does not matter for the decision.
    let boot_image = version.map(|version| BootImage {
        version: version.clone(),
        source: ImageSource::Aleph,
        path: String::new(),
    });
    let target = Target {
        release: release.map(str::to_owned),
        pool: set.image.pool.clone(),
        ..Target::default()
    };
    let policy = enforced(policy, version.is_some());
    decide(&Facts {
        boot_image,
        platform: set.image.platform.map(|platform| platform.id().to_owned()),
        machine: Machine {
            architecture: set.image.architecture.clone(),
            fips: set.fips,
            ..Machine::default()
        },
        ..Facts::new(policy, TargetInput::Read(target))
    })
}
