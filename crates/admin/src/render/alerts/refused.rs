//! The boot images that a policy refuses, as PromQL over the label that joined nodes have (pure).
//!
//! No rule is written a second time here. The decision itself is asked about every OCP release and
//! every RHEL release that a version can name, and on both sides of every day that the policy
//! compares with; the decoder is asked how these are written. Every rule is about the OCP release
//! alone, or about the RHEL release and the day, or about the text.

use super::pattern::{ANYTHING, any_of};
use crate::decider::Decider;
use crate::policy::{
    Affects, Bound, Effect, KnownIssue, Limit, Policy, Scope, VersionBound, When, choose,
};
use crate::version::{ImageVersion, OcpMinor, OsFamily, Release, RhelVersion, Scheme};
use skewguard_cluster::names::count;
use std::collections::{BTreeMap, BTreeSet};

/// The label as kube-state-metrics exports it.
pub(super) const LABEL: &str = "label_skewguard_dev_boot_image";

/// The label of a node whose boot image is unknown.
const UNKNOWN: &str = "unknown";

/// The longest expression, in bytes.
const EXPRESSION_MAX: usize = 64 << 10;

/// Days as `YYYYMMDD`, as the decoder takes them: of this century, and in the calendar.
const DAY: &str = "20(?:[0-9]{2}(?:(?:0[13578]|1[02])(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)(?:0[1-9]|[12][0-9]|30)|\
                   02(?:0[1-9]|1[0-9]|2[0-8]))|(?:[02468][048]|[13579][26])0229)";

const TIME: &str = "(?:[01][0-9]|2[0-3])[0-5][0-9]";

/// A build number: 32 bits, without leading zeros.
const BUILD: &str = "(?:0|[1-9][0-9]{0,8}|[1-3][0-9]{9}|4(?:[01][0-9]{8}|2(?:[0-8][0-9]{7}|9(?:[0-3][0-9]{6}|4(?:[0-8][0-9]{5}|\
                     9(?:[0-5][0-9]{4}|6(?:[0-6][0-9]{3}|7(?:[01][0-9]{2}|2(?:[0-8][0-9]|9[0-5])))))))))";

const ARCH: &str = "(?:s390x|ppc64le|aarch64|x86_64)?";

/// Nodes that a policy refuses, as far as a label can say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// A series for each refused version that a node has, its value the number of nodes; `None`
    /// where nothing is refused.
    pub expression: Option<String>,
    /// A series for each node that has a refused version.
    pub nodes: Option<String>,
    /// Parts of the policy that are left out, and why.
    pub left_out: Vec<String>,
}

impl Refused {
    /// For nodes of a cluster of `release`; `None` takes the limits for any release.
    ///
    /// # Errors
    /// The expression would be larger than Prometheus should evaluate. The text says what to do.
    pub(crate) fn new(policy: &Policy, release: Option<Release>) -> Result<Self, String> {
        let limit = choose(&policy.limits, release, None);
        let (words, left_out) = texts(policy, limit, release);
        let mut judge = ReleaseDecider::new(policy, limit, release);
        let mut selectors = Vec::new();
        let decoded = decoded(&mut judge, &days(policy, limit));
        if !decoded.is_empty() {
            selectors.push(format!(
                "kube_node_labels{{{LABEL}=~\"{}\",{LABEL}=~\"{}\"}}",
                well_formed(),
                decoded.join("|")
            ));
        }
        if !words.is_empty() && judge.decider.is_in_force() {
            let words = any_of(words);
            // Every node without the label has the empty one here.
            selectors.push(format!(
                "kube_node_labels{{{LABEL}!=\"\",{LABEL}!=\"{UNKNOWN}\",{LABEL}=~\"{words}\"}}"
            ));
        }
        let nodes = (!selectors.is_empty()).then(|| {
            let nodes = selectors.join("\n    or\n    ");
            // Two instances of kube-state-metrics are one node.
            format!("  group by (node, {LABEL}) (\n    {nodes}\n  )\n")
        });
        let expression = nodes
            .as_ref()
            .map(|nodes| format!("count by ({LABEL}) (\n{nodes})"));
        let len = expression.as_ref().map_or(0, String::len);
        if len > EXPRESSION_MAX {
            return Err(format!(
                "the versions that the policy denies make an expression of {len} bytes; Prometheus should not evaluate more than \
                 {EXPRESSION_MAX} every 30 seconds. Deny them by their common beginning, with * at its end, or by a minimum",
            ));
        }
        Ok(Self {
            expression,
            nodes,
            left_out,
        })
    }
}

/// Parts of the policy that no label tells.
fn left_out(policy: &Policy, limit: Option<&Limit>, release: Option<Release>) -> Vec<String> {
    let mut fields = limit.iter().flat_map(|limit| &limit.rules);
    let parts = [
        (
            release.is_none() && policy.limits.iter().any(|limit| limit.release.is_some()),
            "limits for certain releases: name the cluster's with --target",
        ),
        (
            policy.limits.iter().any(|limit| limit.pools.is_some()),
            "limits for certain pools: the metric does not say a node's pool",
        ),
        (
            policy.limits.iter().any(Limit::is_narrowed),
            "limits with conditions: the metric does not say more than a node's boot image",
        ),
        (
            fields.any(|(field, _)| field.contains("FCOS")),
            "minimumFCOSVersion and maximumFCOSVersion: `audit` has them",
        ),
    ];
    let parts = parts.into_iter().filter(|(is_left_out, _)| *is_left_out);
    let mut left_out: Vec<String> = parts.map(|(_, part)| part.to_owned()).collect();
    let is_conditional = |issue: &&KnownIssue| {
        let scope = issue.scope.as_ref();
        !scope.is_ok_and(is_about_images_alone)
    };
    let is_for = |issue: &&KnownIssue| {
        let targets = issue
            .scope
            .as_ref()
            .ok()
            .and_then(|scope| scope.targets.as_ref());
        targets
            .zip(release)
            .is_none_or(|(range, release)| range.contains(release))
    };
    let conditional = first_boot_issues(policy)
        .filter(is_conditional)
        .filter(is_for);
    let conditional: Vec<&str> = conditional.map(|issue| &*issue.id).collect();
    if !conditional.is_empty() {
        left_out.push(format!(
            "{} with conditions ({}): the metric does not say more than a node's boot image",
            count(conditional.len(), "known issue"),
            conditional.join(", ")
        ));
    }
    left_out
}

/// The versions that are denied by their text, with [`ANYTHING`] where more may follow; and what is
/// left out.
fn texts(
    policy: &Policy,
    limit: Option<&Limit>,
    release: Option<Release>,
) -> (BTreeSet<String>, Vec<String>) {
    let mut left_out = left_out(policy, limit, release);
    let known = first_boot_issues(policy).filter_map(|issue| {
        let scope = issue.scope.as_ref().ok()?;
        let is_meant = match (&scope.targets, release) {
            (None, _) => true,
            (Some(range), Some(release)) => range.contains(release),
            (Some(_), None) => false,
        };
        (is_meant && is_about_images_alone(scope)).then_some(&scope.images)
    });
    let known = known.flatten().map(|(_, bound)| bound);
    let denied = bounds(limit).chain(known).flat_map(|bound| match bound {
        Bound::Denied(denied) => denied.entries.as_slice(),
        _ => &[],
    });
    let is_of_label = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let (words, others): (Vec<_>, Vec<_>) =
        denied.map(|entry| entry.version.clone()).partition(|text| {
            let beginning = text.strip_suffix(ANYTHING).unwrap_or(text);
            beginning.chars().all(is_of_label)
        });
    if !others.is_empty() {
        left_out.push(format!(
            "{} denied versions with characters that a label cannot have",
            others.len()
        ));
    }
    (words.into_iter().collect(), left_out)
}

fn is_about_images_alone(scope: &Scope) -> bool {
    let is_about_rhcos = |(_, bound): &(_, Bound)| match bound {
        Bound::Version(family, ..) => *family == OsFamily::Rhcos,
        bound => !bound.is_about_machine(),
    };
    scope.when == When::default() && scope.images.iter().all(is_about_rhcos)
}

/// The bounds of a limit that are understood.
fn bounds(limit: Option<&Limit>) -> impl Iterator<Item = &Bound> {
    let rules = limit.into_iter().flat_map(|limit| &limit.rules);
    rules.filter_map(|(_, bound)| bound.as_ref().ok())
}

/// The known issues that a node is refused for.
fn first_boot_issues(policy: &Policy) -> impl Iterator<Item = &KnownIssue> {
    let issues = policy.known_issues.iter();
    issues.filter(|issue| issue.affects == Affects::FirstBoot && issue.effect == Effect::Refuse)
}

/// The days that the policy compares with, sorted, by the RHEL release that it compares them for.
fn days(policy: &Policy, limit: Option<&Limit>) -> BTreeMap<RhelVersion, BTreeSet<String>> {
    let mut days: BTreeMap<RhelVersion, BTreeSet<String>> = BTreeMap::new();
    let scopes = policy
        .known_issues
        .iter()
        .filter_map(|issue| issue.scope.as_ref().ok());
    let known = scopes
        .flat_map(|scope| &scope.images)
        .map(|(_, bound)| bound);
    for bound in bounds(limit).chain(known) {
        let Bound::Version(.., VersionBound::Image(image)) = bound else {
            continue;
        };
        if let (Some(rhel), Some(day)) = (image.rhel, &image.build_date) {
            days.entry(rhel).or_default().insert(day.clone());
        }
    }
    days
}

/// The decision, asked about releases.
struct ReleaseDecider {
    decider: Decider,
    /// An image that says nothing but what is set, and the scheme that it is asked about in.
    image: ImageVersion,
}

impl ReleaseDecider {
    fn new(policy: &Policy, limit: Option<&Limit>, release: Option<Release>) -> Self {
        let mut image = ImageVersion::parse("418.94.202501010000-0");
        (image.rhel, image.ocp) = (None, None);
        // What is decided by the text is not asked here.
        let is_text = |bound: &Bound| matches!(bound, Bound::Denied(_));
        let mut limits = Vec::from_iter(limit.cloned());
        for limit in &mut limits {
            let rules = &mut limit.rules;
            rules.retain(|(_, bound)| !bound.as_ref().is_ok_and(is_text));
        }
        let mut known_issues: Vec<KnownIssue> = first_boot_issues(policy).cloned().collect();
        known_issues.retain_mut(|issue| {
            issue.scope.as_mut().is_ok_and(|scope| {
                let is_asked = is_about_images_alone(scope);
                scope.images.retain(|(_, bound)| !is_text(bound));
                is_asked && !scope.images.is_empty()
            })
        });
        let policy = Policy {
            known_issues,
            limits,
            warnings: Vec::new(),
            ..policy.clone()
        };
        let release = release.map(|release| release.to_string());
        let decider = Decider::new(policy, release, None);
        Self { decider, image }
    }

    fn refuses_ocp(&mut self, ocp: OcpMinor) -> bool {
        let mut image = self.image.clone();
        image.ocp = Some(ocp);
        self.decider.refuses(image)
    }

    fn refuses_rhel(&mut self, rhel: RhelVersion, day: &str) -> bool {
        let mut image = self.image.clone();
        (image.rhel, image.build_date) = (Some(rhel), Some(day.to_owned()));
        self.decider.refuses(image)
    }

    /// The days on which images of a RHEL release are refused. `days` are those that the policy
    /// compares with: on all days between two of them the answer is the same.
    fn refused_days(&mut self, rhel: RhelVersion, days: Option<&BTreeSet<String>>) -> Days {
        let Some(days) = days else {
            return match self.refuses_rhel(rhel, "2025-01-01") {
                true => Days::All,
                false => Days::These(BTreeSet::new()),
            };
        };
        let mut answers = BTreeMap::new();
        let (mut refused, mut is_all) = (BTreeSet::new(), true);
        for day in calendar() {
            let class = (days.range(..day.clone()).count(), days.contains(&day));
            let answer = answers
                .entry(class)
                .or_insert_with(|| self.refuses_rhel(rhel, &day));
            match answer {
                true => drop(refused.insert(day.replace('-', ""))),
                false => is_all = false,
            }
        }
        match is_all {
            true => Days::All,
            false => Days::These(refused),
        }
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Days {
    All,
    These(BTreeSet<String>),
}

/// Every day that a version can name, `YYYY-MM-DD`.
fn calendar() -> impl Iterator<Item = String> {
    let all = (2000..2100).flat_map(|year| (1..=12).map(move |month| (year, month)));
    all.flat_map(|(year, month)| (1..=31).map(move |day| format!("{year}{month:02}{day:02}")))
        .filter_map(|stamp| ImageVersion::parse(&format!("9.6.{stamp}-0")).build_date)
}

/// Expressions for the versions that are decoded and refused. Together with [`well_formed`] they
/// match no other.
fn decoded(
    judge: &mut ReleaseDecider,
    days: &BTreeMap<RhelVersion, BTreeSet<String>>,
) -> Vec<String> {
    let mut found = Vec::new();
    // Nothing of what is refused begins like a version of the other scheme: a legacy one begins
    // with 4, a RHEL major is below 40.
    for (stamp, digits) in [(LONG, 12), (SHORT, 8)] {
        let mut first = ocp_fields(stamp);
        first.retain(|_, ocp| judge.refuses_ocp(*ocp));
        if !first.is_empty() {
            let first = any_of(first.keys());
            found.push(format!(
                "{first}(?:[a-z][^.]*)?[.][^.]*[.][0-9]{{{digits}}}[-.].*"
            ));
        }
    }
    let mut first = layered_fields();
    first.retain(|_, ocp| judge.refuses_ocp(*ocp));
    if !first.is_empty() {
        let first = any_of(first.keys());
        found.push(format!("{first}[.][^.]*[.][^.]*[.][0-9]{{12}}-.*"));
    }
    for (scheme, before, fields, after) in [
        (
            Scheme::Legacy,
            "4[^.]+[.]",
            legacy_rhel_fields(),
            "(?:[0-9]{4})?[-.].*",
        ),
        (Scheme::RhelVersioned, "", rhel_fields(), "(?:-.*)?"),
        (
            Scheme::LayeredBuild,
            "[45][.][^.]*[.]",
            rhel_fields(),
            "[0-9]{4}-.*",
        ),
    ] {
        // The RHEL release of some schemes bounds that of OCP.
        judge.image.scheme = scheme;
        let mut groups: BTreeMap<Days, Vec<String>> = BTreeMap::new();
        for (field, rhel) in fields {
            let refused = judge.refused_days(rhel, days.get(&rhel));
            groups.entry(refused).or_default().push(field);
        }
        for (days, fields) in groups {
            let fields = any_of(fields);
            match days {
                Days::All => found.push(format!("{before}{fields}[.].*")),
                Days::These(days) if days.is_empty() => {}
                Days::These(days) => {
                    found.push(format!("{before}{fields}[.]{}{after}", any_of(days)));
                }
            }
        }
    }
    found
}

/// Versions that the decoder understands and that name a release, with each number in its range.
pub(super) fn well_formed() -> String {
    let [long, short] = [LONG, SHORT].map(|stamp| any_of(ocp_fields(stamp).keys()));
    let legacy = any_of(legacy_rhel_fields().keys());
    let rhel = any_of(rhel_fields().keys());
    let layered = any_of(layered_fields().keys());
    format!(
        "{long}{ARCH}[.]{legacy}[.]{DAY}{TIME}[-.]{BUILD}|{short}{ARCH}[.]{legacy}[.]{DAY}[-.]{BUILD}|\
         {rhel}[.]{DAY}(?:-{BUILD})?|{layered}[.]{rhel}[.]{DAY}{TIME}-{BUILD}"
    )
}

/// Stamps of both lengths. The decoder reads `410` as 4.1 with the short one.
const LONG: &str = "202001010000";
const SHORT: &str = "20200101";

/// The spellings of a part of a version that the decoder reads, and what it reads.
fn read<T>(
    spellings: impl Iterator<Item = String>,
    decode: impl Fn(&str) -> Option<T>,
) -> BTreeMap<String, T> {
    spellings
        .filter_map(|part| decode(&part).map(|read| (part, read)))
        .collect()
}

/// Spellings of each OCP release in a legacy version with a stamp of this length.
fn ocp_fields(stamp: &str) -> BTreeMap<String, OcpMinor> {
    read((40..=499).map(|n| n.to_string()), |first| {
        ImageVersion::parse(&format!("{first}.84.{stamp}-0")).ocp
    })
}

/// Spellings of each OCP release in the version of a layered build.
fn layered_fields() -> BTreeMap<String, OcpMinor> {
    let all = [4, 5]
        .into_iter()
        .flat_map(|major| (0..100).map(move |minor| format!("{major}.{minor}")));
    read(all, |first| {
        ImageVersion::parse(&format!("{first}.9.6.{LONG}-0")).ocp
    })
}

/// Spellings of each RHEL release in a legacy version.
fn legacy_rhel_fields() -> BTreeMap<String, RhelVersion> {
    read((1..=999).map(|n| n.to_string()), |second| {
        ImageVersion::parse(&format!("49.{second}.{LONG}-0")).rhel
    })
}

/// Spellings of each in a RHEL-versioned one.
fn rhel_fields() -> BTreeMap<String, RhelVersion> {
    let all = (1..100).flat_map(|major| (0..100).map(move |minor| format!("{major}.{minor}")));
    read(all, |field| {
        let version = ImageVersion::parse(&format!("{field}.{SHORT}-0"));
        version
            .rhel
            .filter(|_| version.scheme == Scheme::RhelVersioned)
    })
}
