//! Limits that refuse the boot images of the releases that they are for.

use super::bounds::minor;
use super::published::NEWEST_RELEASES;
use super::{Lint, Rule};
use crate::data::{PUBLISHED, is_of_release};
use crate::policy::json::Located;
use crate::policy::{Circumstances, Limit, Mode, Policy, choose_for, parse};
use crate::template::Holes;
use crate::verdict::{
    BootImage, Facts, ImageSource, Machine, Outcome, PolicyInput, Target, TargetInput, decide,
};
use crate::version::{ImageVersion, OcpMinor, OsFamily, Release};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Before this release no node knows its own.
const FIRST: OcpMinor = OcpMinor { major: 4, minor: 8 };

/// Images that were published for a release and an architecture, of one family, the newest first.
#[derive(Debug)]
struct OwnImages {
    release: OcpMinor,
    architecture: &'static str,
    images: Vec<ImageVersion>,
}

static OWN_IMAGES: LazyLock<Vec<OwnImages>> = LazyLock::new(|| {
    let releases: Vec<OcpMinor> = NEWEST_RELEASES
        .into_iter()
        .flat_map(|newest| (0..=newest.minor).map(move |minor| OcpMinor { minor, ..newest }))
        .filter(|release| *release >= FIRST)
        .collect();
    let versions: BTreeSet<(&str, &str)> = PUBLISHED
        .images
        .iter()
        .map(|image| (image.version, image.architecture))
        .collect();
    let mut all: BTreeMap<_, BTreeSet<ImageVersion>> = BTreeMap::new();
    for (text, architecture) in versions {
        let version = ImageVersion::parse(text);
        let family = version.os_family().map(OsFamily::name);
        let own = releases
            .iter()
            .filter(|release| is_of_release(&version, **release, None));
        for release in own {
            let key = (*release, architecture, family);
            all.entry(key).or_default().insert(version.clone());
        }
    }
    let of_release =
        |((release, architecture, _), images): (_, BTreeSet<ImageVersion>)| OwnImages {
            release,
            architecture,
            images: images.into_iter().rev().collect(),
        };
    all.into_iter().map(of_release).collect()
});

/// Reports each limit that refuses all images of a release that it is for. One that is already said to be
/// above its release, or newer than what this program knows, is left out.
pub(super) fn check(lint: &mut Lint, whole: &Located<'_>, json: &str) {
    let Ok(policy) = parse(json.as_bytes()) else {
        return;
    };
    let limits = whole.object(crate::policy::fields::POLICY).ok();
    let limits = limits.and_then(|policy| policy.get("limits"));
    let Some(items) = limits.as_ref().and_then(Located::items) else {
        return;
    };
    lint.enforces = policy.mode == Mode::Enforce;
    for (index, at) in items.enumerate() {
        let releases = refused(&policy, index);
        let is_said = lint.report.findings.iter().any(|finding| {
            finding.is_of(&[Rule::OCPAboveTarget, Rule::NewerThanPublished])
                && finding.path.starts_with(&format!("{}.", at.path))
        });
        if releases.is_empty() || is_said {
            continue;
        }
        let own = policy.limits.get(index).and_then(|limit| limit.release);
        let rule = match own.map(minor) {
            None => Rule::OldReleasesRefused,
            Some(own) if releases.contains(&own) => Rule::OwnReleaseRefused,
            Some(_) => Rule::LaterReleasesRefused,
        };
        let them = if releases.len() == 1 { "it" } else { "them" };
        let holes: &Holes<'_> = &[("releases", &ranges(&releases)), ("them", &them)];
        lint.say(&at, rule, holes);
    }
}

/// The releases of which the limit refuses every image, for some architecture and pool.
fn refused(policy: &Policy, index: usize) -> BTreeSet<OcpMinor> {
    let Some(limit) = policy.limits.get(index) else {
        return BTreeSet::new();
    };
    let alone = alone(policy, limit);
    let refuses = |own: &&OwnImages| {
        let is_for = |pool: &Option<&str>| is_limit_for(policy, index, own, *pool);
        pools(limit).iter().any(is_for)
            && own
                .images
                .iter()
                .all(|image| is_refused(&alone, own, image))
    };
    let own = OWN_IMAGES.iter().filter(refuses);
    own.map(|own| own.release).collect()
}

/// The pools that a limit is for; no pool where it is for any.
fn pools(limit: &Limit) -> Vec<Option<&str>> {
    match &limit.pools {
        Some(pools) => pools.iter().map(|pool| Some(pool.as_str())).collect(),
        None => vec![None],
    }
}

/// Tells whether nodes of this release, architecture and pool get the limit.
fn is_limit_for(policy: &Policy, index: usize, own: &OwnImages, pool: Option<&str>) -> bool {
    let Some(limit) = policy.limits.get(index) else {
        return false;
    };
    let family = own.images.first().and_then(ImageVersion::os_family);
    let platforms = limit.when.platforms.iter().flatten().next();
    let node = Circumstances {
        platform: platforms.map(String::as_str),
        architecture: Some(own.architecture),
        secure_boot: limit.when.secure_boot,
        fips: limit.when.fips,
        family,
        okd: Some(family != Some(OsFamily::Rhcos)),
    };
    let release = Release {
        minor: own.release,
        patch: 0,
    };
    let chosen = choose_for(&policy.limits, Some(release), pool, node);
    chosen.is_ok_and(|chosen| chosen.is_some_and(|chosen| std::ptr::eq(chosen, limit)))
}

/// The policy with this limit alone, for every node.
fn alone(policy: &Policy, limit: &Limit) -> PolicyInput {
    let limit = Limit {
        rules: limit.rules.clone(),
        ..Limit::default()
    };
    PolicyInput::Valid {
        path: String::new(),
        digest: String::new(),
        policy: Policy {
            mode: Mode::Enforce,
            limits: vec![limit],
            known_issues: Vec::new(),
            warnings: Vec::new(),
            ..policy.clone()
        },
    }
}

fn is_refused(policy: &PolicyInput, own: &OwnImages, image: &ImageVersion) -> bool {
    let target = Target {
        release: Some(format!("{}.0", own.release)),
        ..Target::default()
    };
    let facts = Facts {
        boot_image: Some(BootImage {
            version: image.clone(),
            source: ImageSource::Aleph,
            path: String::new(),
        }),
        machine: Machine {
            architecture: Some(own.architecture.to_owned()),
            ..Machine::default()
        },
        ..Facts::new(policy.clone(), TargetInput::Read(target))
    };
    decide(&facts).verdict == Outcome::Refused
}

/// `4.8 to 4.12, 4.15`: neighbours among the releases that images are known of.
fn ranges(releases: &BTreeSet<OcpMinor>) -> String {
    let all: BTreeSet<OcpMinor> = OWN_IMAGES.iter().map(|own| own.release).collect();
    let mut ranges: Vec<(OcpMinor, OcpMinor)> = Vec::new();
    let mut before = None;
    for release in &all {
        match ranges.last_mut() {
            _ if !releases.contains(release) => before = None,
            Some((_, last)) if before == Some(*last) => {
                *last = *release;
                before = Some(*release);
            }
            _ => {
                ranges.push((*release, *release));
                before = Some(*release);
            }
        }
    }
    let shown = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}
