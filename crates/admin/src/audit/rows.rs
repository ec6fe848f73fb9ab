//! Rows of the audit (pure), one for each set: the verdict on what is known of its next node's image, and what helps.

use crate::audit::operator::skew;
use crate::audit::remedy::change::Change;
use crate::audit::remedy::choice::is_behind;
use crate::audit::remedy::effect::effects;
use crate::audit::remedy::{Remedy, remedy};
use crate::audit::results::effect::{Effect, EffectKind};
use crate::audit::results::set::{KnownBy, SetAudit};
use crate::audit::set::served::NodeRelease;
use crate::audit::set::{Set, repeated};
use crate::audit::sets::{self, node_classes, without_set};
use crate::audit::upkeep;
use crate::audit::verdict::cpu;
use crate::audit::verdict::evidence::{
    Judged, as_hosted, by_what_is_known, explained, guessed, left_open, with_horizon, with_pool,
};
use crate::audit::verdict::horizon::later;
use crate::audit::verdict::image_judge::Judge;
use crate::audit::verdict::issues::known_to_fail;
use crate::audit::verdict::missing_limit::missing_limit;
use crate::audit::versions::image_versions::Lookup;
use crate::audit::versions::known_version::{Claim, KnownVersion};
use crate::verdict::{BootImageStatus, Outcome, PolicyInput, PolicyStatus, Reason};
use crate::version::Release;
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::groups::MACHINE_API;
use skewguard_cluster::kinds::image::Image;
use skewguard_cluster::kinds::stream::OwnImage;
use skewguard_cluster::kinds::target::parsed;

/// The release that sets are judged for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Question<'a> {
    /// The release that was asked about, instead of each set's own.
    pub(crate) asked: Option<&'a str>,
    /// The release up to which a remedy has to hold, where that is another one.
    pub(crate) until: Option<Release>,
    pub(crate) takes_estimates: bool,
}

/// The rows of the sets, and what is known of all of them.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) sets: Vec<SetAudit>,
    /// The policy without a limit: that may be another one for each set.
    pub(crate) policy: Option<PolicyStatus>,
    /// Sets that make nodes, and the image of each.
    pub(crate) users: Vec<skew::User>,
    /// Whether all of these were read is unknown: Machines of one were not.
    pub(crate) lacks_machines: bool,
}

/// Judges every set.
pub(crate) fn rows(lookup: &Lookup<'_>, policy: &PolicyInput, question: Question<'_>) -> Rows {
    let all = sets::sets(lookup)
        .into_iter()
        .chain(node_classes::sets(lookup))
        .chain(without_set::without_set(lookup));
    let mut rows = Rows::default();
    for set in all {
        // A claim is nothing on which anybody should turn the cluster's updates off.
        let is_borne_out = |claim: &Claim| !claim.may_be_newer;
        let known =
            (set.known.clone()).filter(|known| known.claim.as_ref().is_none_or(is_borne_out));
        let makes_nodes = set.makes_nodes();
        let pool = set.image.pool.as_deref();
        let now = NodeRelease::now(set.kind, set.release.as_ref(), pool, lookup.objects);
        let served = parsed(now.release.as_deref());
        let at = now.asked(question.asked, lookup.objects);
        let of_set = at.release.clone();
        let set = upkeep::at_release(Set { served, at, ..set }, of_set.as_deref());
        let image = set.image.clone();
        let by = Judge {
            policy,
            release: of_set.as_deref(),
            image: &image,
            platform: image.platform.or(set.release_platform),
            fips: set.fips(lookup.objects),
            until: question.until,
        };
        let own = lookup.images_for(&image);
        let (row, policy) = judge(set, by, &own, lookup.objects, question.takes_estimates);
        rows.policy = policy.map(|policy| PolicyStatus {
            limit_release: None,
            ..policy
        });
        if makes_nodes {
            let known = known.filter(|_| row.boot_image.is_some());
            rows.lacks_machines |= row.nodes_unread && row.kind.group() == MACHINE_API;
            let user = row.object().to_string();
            rows.users.push((user, known.map(|known| known.version)));
        }
        rows.sets.push(row);
    }
    name_apart(&mut rows.sets);
    rows
}

/// Gives the rows of one set names of their own, by their parts.
fn name_apart(sets: &mut [SetAudit]) {
    let key = |set: &SetAudit| (set.kind.name(), set.namespace.clone(), set.name.clone());
    let several = repeated(sets.iter().map(key));
    for set in sets.iter_mut().filter(|set| several.contains(&key(set))) {
        let part = match &*set.parts {
            [] => set.image.as_deref().unwrap_or(set.group).to_owned(),
            parts => parts.join(","),
        };
        set.row_name = Some(format!("{}[{part}]", set.name));
    }
}

/// The row of a set, with the verdict on its next node as if the policy enforced, and the policy. `own` are the
/// cluster's own images that fit.
fn judge(
    set: Set,
    judge: Judge<'_>,
    own: &[&OwnImage],
    objects: &Objects,
    takes_estimates: bool,
) -> (SetAudit, Option<PolicyStatus>) {
    let (known, claim) = believed(&set, judge);
    let set = upkeep::checked(set, known.as_ref(), own, objects);
    let verdict = by_what_is_known(known.as_ref(), claim.as_ref(), judge);
    let judged = match known {
        Some(known) => with_horizon(verdict, known, judge),
        None => guessed(&set, verdict, claim, judge, takes_estimates, objects),
    };
    let judged = with_release(explained(judged, &set.at), &set, judge);
    let judged = as_hosted(with_pool(judged, &set, judge), &set, judge);
    let missing_limit = missing_limit(&judged.verdict, judge);
    let (judged, is_unreadable) = with_user_data(judged, &set);
    let judged = with_region(with_cpu(judged, &set), &set);
    let remedy = match (&missing_limit, &set.stub) {
        (_, Some(stub)) if is_unreadable && stub.is_of_spec_2() => {
            Remedy::elsewhere(stub.conversion())
        }
        (Some(limit), _) if !is_unreadable => Remedy::elsewhere(limit.says()),
        _ if is_unreadable || needs_remedy(&judged, &set, own) => remedy(&set, judge, own, objects),
        _ => Remedy::default(),
    };
    let mut known_issues = known_to_fail(judge, judged.version.as_ref());
    known_issues.extend(cpu::old_image(&set, judged.version.as_ref()));
    let (policy, also) = (judged.verdict.policy.clone(), judged.also);
    let row = SetAudit {
        known_issues,
        missing_limit,
        ..row(set, judged, remedy.and(also), objects)
    };
    (row, policy)
}

/// The version that decides. Else a claim, which decides nothing: a report alone, or a label that another node of
/// the image contradicts. Such a label is a claim if it would refuse the next node, today or later, or if the
/// other label is newer: nobody replaces an image by an older one.
fn believed(set: &Set, judge: Judge<'_>) -> (Option<KnownVersion>, Option<KnownVersion>) {
    let is_doubtful = |known: &KnownVersion| {
        let refuses = || {
            judge.verdict(Some(&known.version)).verdict == Outcome::Refused
                || !later(judge, &known.version).is_empty()
        };
        let claim = known.claim.as_ref();
        claim.is_some_and(|claim| {
            let is_open = claim.may_be_newer || claim.is_open;
            known.by == KnownBy::Report || is_open || refuses()
        })
    };
    match set.known.clone() {
        Some(known) if is_doubtful(&known) => (None, Some(known)),
        known => (known, None),
    }
}

/// Adds that the next node stops in the initramfs, where the image's Ignition does not read the user data, and
/// tells whether that decides: then nothing is allowed. An estimate counts until a node joined from the image.
fn with_user_data(judged: Judged, set: &Set) -> (Judged, bool) {
    let found = judged.version.as_ref().zip(set.stub.as_ref());
    let found = found.filter(|_| !set.is_stub_read);
    let Some((version, stub)) = found else {
        return (judged, false);
    };
    let is_unreadable = stub.is_unreadable(version);
    let why = match is_unreadable {
        true => Some(stub.unreadable(Some(version))),
        false => stub.perhaps_converted(version),
    };
    let Some(why) = why else {
        return (judged, false);
    };
    // A node that joined from the image says otherwise.
    let mut nodes = set.nodes.iter();
    let has_joined = nodes.any(|nodes| nodes.version.as_ref() == Some(&version.text));
    let is_likely = stub.is_known() || !has_joined;
    if is_likely && judged.verdict.verdict != Outcome::Refused {
        let comes_up = if stub.is_known() {
            "no node comes"
        } else {
            "maybe no node comes"
        };
        let message = format!("{comes_up} up from it: {why}");
        let verdict = left_open(judged.verdict, Reason::NoRuleEvaluated, message);
        return (Judged { verdict, ..judged }, is_unreadable);
    }
    let note = is_likely.then_some(why);
    (Judged { note, ..judged }, false)
}

/// Leaves open what is of one of two releases.
fn with_release(judged: Judged, set: &Set, judge: Judge<'_>) -> Judged {
    let Some(why) = set.release_open else {
        return judged;
    };
    let message = format!("its release is unknown: {why}");
    let verdict = left_open(judge.verdict(None), Reason::TargetUnknown, message);
    Judged {
        verdict,
        later: Vec::new(),
        ..judged
    }
}

/// Leaves open what no policy refuses: a set of a pool of RHEL 10 whose CPU cannot start it.
fn with_cpu(judged: Judged, set: &Set) -> Judged {
    let is_open = judged.verdict.verdict != Outcome::Refused;
    let Some([level, stream, least]) = cpu::too_low(set).filter(|_| is_open) else {
        return judged;
    };
    let message = format!(
        "no node comes up from it: {stream}, its pool's stream, needs a CPU of {least} (AVX2), and its instance type has {level}"
    );
    let verdict = left_open(judged.verdict, Reason::NoRuleEvaluated, message);
    Judged { verdict, ..judged }
}

/// Adds that no machine can be made: an AMI is there in its own region alone.
fn with_region(judged: Judged, set: &Set) -> Judged {
    let there = set
        .other_region
        .as_ref()
        .filter(|_| judged.version.is_some());
    let Some((own, wanted)) = there.zip(set.image.region.as_ref()) else {
        return judged;
    };
    let why = format!(
        "the AMI is of {own}, and the next machine is made in {wanted}, where it is not there"
    );
    if judged.verdict.verdict == Outcome::Refused {
        return Judged {
            note: Some(why),
            ..judged
        };
    }
    let message = format!("no machine is made from it: {why}");
    let verdict = left_open(judged.verdict, Reason::NoRuleEvaluated, message);
    Judged { verdict, ..judged }
}

/// Tells whether there is something to change: also where nothing refuses an image, and the cluster
/// has a newer one.
fn needs_remedy(judged: &Judged, set: &Set, own: &[&OwnImage]) -> bool {
    match (judged.verdict.verdict, &judged.version) {
        (Outcome::Refused, _) => true,
        _ if set.other_region.is_some() => true,
        // What a filter chooses nobody can know beforehand.
        (_, None) => set.image.site.chooser.is_some(),
        (outcome, Some(version)) => outcome == Outcome::Undetermined && is_behind(version, own),
    }
}

/// The whole row: with what the remedy does, and the command and the file for it.
fn row(set: Set, judged: Judged, remedy: Remedy, objects: &Objects) -> SetAudit {
    let effects = effects(&set, &remedy, objects);
    let is_bare = |effect: &Effect| effect.effect == EffectKind::NextMachineOnly;
    let change = remedy
        .change
        .or_else(|| Change::of_image(&set, remedy.image.as_deref()?));
    let change = change.as_ref();
    let command = change.filter(|_| effects.iter().all(is_bare));
    let file = change.filter(|_| set.owner.is_some());
    let (patch, patch_file) = (
        command.and_then(|change| change.command(&set)),
        file.and_then(|change| change.file(&set)).map(Box::new),
    );
    let first = judged.later.first().cloned().unwrap_or_default();
    SetAudit {
        patch,
        patch_file,
        release: set.at.release.clone(),
        release_by: set.at.by,
        remedy_holds_to: remedy.holds_to.map(|to| to.minor.to_string()),
        remedy_not_before: remedy.after.map(|after| after.to_string()),
        boot_image: judged.version.as_ref().map(BootImageStatus::from),
        known_by: judged.by,
        known_from: judged.from,
        estimate: judged.estimate.map(Box::new),
        verdict: judged.verdict.verdict,
        action: judged.verdict.action,
        reason: judged.verdict.reason,
        message: judged.verdict.message,
        refused_from: first.from,
        refused_until: first.until,
        refused_from_message: first.message,
        refused_windows: judged.later,
        to_know_by: judged.help.as_ref().and_then(|help| help.script),
        to_know: judged.help.map(|help| help.says.to_owned()),
        remedy: remedy.text,
        want_image: remedy.image,
        want_version: remedy.version,
        effect: effects.first().map(|effect| effect.effect),
        effects,
        ..of_facts(set, judged.note)
    }
}

/// The row as far as the facts make it.
fn of_facts(set: Set, note: Option<String>) -> SetAudit {
    let kept = set.upkeep.as_ref().and_then(upkeep::note_of);
    let Image {
        pool,
        platform,
        architecture,
        region,
        stream,
        field,
        value,
        ..
    } = set.image;
    SetAudit {
        pool,
        platform: platform.map(|platform| platform.id().to_owned()),
        architecture,
        region,
        stream,
        image_field: field.map(|field| format!("{}{field}", set.path)),
        image: value,
        parts: set.parts,
        inactive: set.is_inactive,
        members: set.members,
        replicas: set.replicas,
        managed: set.managed,
        upkeep: set.upkeep,
        made_from_another: set.is_made_from_another,
        could_be_kept: set.could_be_kept,
        nodes: set.nodes,
        nodes_unread: set.nodes_unread,
        notes: kept.into_iter().chain(set.notes).chain(note).collect(),
        ..SetAudit::of(set.kind, &set.namespace, set.name)
    }
}
