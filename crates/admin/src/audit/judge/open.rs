//! The verdict on what is known of an image (pure), worded for who reads the cluster's objects: the node's words
//! are about its own files. A rule that only the node can evaluate leaves it open.

use super::image_judge::{Judge, without_warnings};
use super::known_version::KnownVersion;
use super::published::of_release;
use super::set::Set;
use crate::audit::cluster::image::Image;
use crate::audit::results::set::KnownBy;
use crate::data::is_ami;
use crate::verdict::words::About;
use crate::verdict::{Outcome, Reason, RuleResult, Verdict};
use crate::version::{ImageVersion, OsFamily};

/// The verdict, which is open for this reason.
pub(super) fn left_open(verdict: Verdict, reason: Reason, message: String) -> Verdict {
    Verdict {
        verdict: Outcome::Undetermined,
        reason,
        message,
        ..verdict
    }
}

/// The verdict on a known version; of an unknown one says why it is unknown, for which a claim may be the reason.
pub(super) fn by_what_is_known(
    set: &Set,
    known: Option<&KnownVersion>,
    claim: Option<&KnownVersion>,
    judge: Judge<'_>,
) -> Verdict {
    let mut verdict = judge.verdict(known.map(|known| &known.version));
    if let Some(why) = known.and_then(|known| open_question(set, known, judge)) {
        verdict = left_open(verdict, Reason::NoRuleEvaluated, why);
    }
    if verdict.reason == Reason::BootImageUnknown {
        let claim = claim.and_then(|known| Some(&*known.claim.as_ref()?.says));
        let why = claim.or(set.image.why_not);
        let why = why.unwrap_or_else(|| in_no_list(&set.image));
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
fn in_no_list(image: &Image) -> &'static str {
    if ami(image).is_some() {
        "the AMI is not listed for its region, and no node made from it is labelled"
    } else {
        "no node made from this image has a label, and its name says no version"
    }
}

/// The ID of the AMI that the image is.
pub(super) fn ami(image: &Image) -> Option<&str> {
    let value = image.value.as_deref()?;
    value.rsplit('/').next().filter(|id| is_ami(id))
}

/// Reason why a node may be refused although what is known of its image is allowed: only the node can tell,
/// or its aleph says more than the image's name does.
fn open_question(set: &Set, known: &KnownVersion, judge: Judge<'_>) -> Option<String> {
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
        let images = of_release(ocp, set.any_platform(), &set.image);
        !images.is_empty() && images.iter().all(passes)
    };
    (is_open && !ocp.is_some_and(all_pass)).then(|| {
        format!(
            "the image's name says no more than OCP {}, and the policy asks for more",
            ocp.map_or_else(|| "unknown".to_owned(), |ocp| ocp.to_string())
        )
    })
}
