//! The verdict on an image of unknown version (pure): by the release that brings it, or by an estimate.

use super::estimate::estimate;
use super::image_judge::Judge;
use super::known_version::KnownVersion;
use super::lookup_help::lookup_help;
use super::open::ami;
use super::published::of_release;
use super::set::{RELEASE_IMAGE, Set};
use super::verdicts::Judged;
use crate::audit::cluster::target::is_okd;
use crate::audit::results::set::{KnownBy, SetKind};
use crate::data::PUBLISHED;
use crate::verdict::{Action, Outcome, Verdict};
use crate::version::Release;
use skewguard_cluster::cluster::Cluster as Objects;

/// The verdict by what its release or an estimate says, and what would help. `verdict` is that on an unknown
/// image, `claim` what is said of it.
pub(super) fn guessed(
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
        later: None,
        note: looked_for(set, objects),
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
    let minor = asked.parse::<Release>().ok()?.minor;
    let images = of_release(minor, set.any_platform(), &set.image);
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
