//! The demands of each release's Machine Config Operator on boot images (pure). It is in no
//! object of a cluster: the limits are constants of its source.

use crate::lint::starter::with_known_issues;
use crate::policy::{Bound, Limit, Policy, VersionBound, choose};
use crate::template::Object;
use crate::version::{ImageVersion, OcpMinor, Release, RhelVersion, compare_rhel};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The oldest boot images that an operator accepts: below one of the two it blocks updates of the
/// cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperatorLimits {
    pub(crate) minimum_ocp: Release,
    pub(crate) minimum_rhel: RhelVersion,
}

/// A minimum of the operator that the policy does not have as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The field of a limit.
    pub(crate) field: &'static str,
    pub(crate) operator: String,
    /// The policy's value; `None` where the limit has none.
    pub(crate) policy: Option<String>,
    /// The policy's beside the operator's; `None` where they cannot be compared.
    pub(crate) order: Option<Ordering>,
}

impl OperatorLimits {
    /// Minimums that the policy's limit for this release has otherwise; `None` is a policy without
    /// such a limit.
    pub(crate) fn mismatches(&self, limit: Option<&Limit>) -> Vec<Mismatch> {
        let minimums = [
            ("minimumOCPVersion", self.minimum_ocp.to_string()),
            ("minimumRHCOSVersion", self.minimum_rhel.to_string()),
        ];
        let mismatch = |(field, operator): (&'static str, String)| {
            let own = limit.and_then(|limit| limit.rule(field));
            let (policy, order) = match own {
                None => (None, None),
                Some(Err(json)) => (Some(json.clone()), None),
                Some(Ok(Bound::Ocp(own))) => {
                    (Some(own.to_string()), Some(own.cmp(&self.minimum_ocp)))
                }
                Some(Ok(Bound::Version(.., own))) => (Some(own.to_string()), self.order_of(own)),
                Some(Ok(_)) => (Some(String::new()), None),
            };
            Mismatch {
                field,
                operator,
                policy,
                order,
            }
        };
        let is_other = |mismatch: &Mismatch| mismatch.order != Some(Ordering::Equal);
        minimums
            .into_iter()
            .map(mismatch)
            .filter(is_other)
            .collect()
    }

    /// The operator's answer to this value for the oldest boot image: the OCP release first, as it does it. 0.0.0
    /// stands for one that it does not know.
    pub(crate) fn accepts(&self, ocp: Option<&str>, rhcos: Option<&str>) -> Option<bool> {
        match (ocp, rhcos) {
            (Some(ocp), _) => {
                let release = ocp.parse::<Release>().ok();
                let release = release.filter(|release| release.minor.major > 0)?;
                Some(release >= self.minimum_ocp)
            }
            (None, Some(rhcos)) => {
                let own = ImageVersion::parse(rhcos).rhel?;
                Some(compare_rhel(own, self.minimum_rhel)?.is_ge())
            }
            (None, None) => None,
        }
    }

    /// The order of a policy's minimum beside that of the operator.
    fn order_of(&self, own: &VersionBound) -> Option<Ordering> {
        match own {
            VersionBound::Release(own) => compare_rhel(*own, self.minimum_rhel),
            // An image is at least as new as the first one of its RHEL release.
            VersionBound::Image(own) => {
                let order = compare_rhel(own.rhel?, self.minimum_rhel)?;
                Some(order.then(Ordering::Greater))
            }
        }
    }
}

/// Knowledge of the operator of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    /// It has these limits.
    Limits(OperatorLimits),
    /// It has none: it came before [`FIRST`].
    NoLimits,
    /// This program does not know the release.
    Unknown,
}

/// The first release whose operator has limits. (4.21 has the setting as a technology preview,
/// without limits.)
pub(crate) const FIRST: OcpMinor = minor(4, 22);

/// `OCPVersionBootImageSkewLimit` and `RHCOSVersionBootImageSkewLimit` in
/// `pkg/controller/common/constants.go` of openshift/machine-config-operator, by release branch
/// (release-4.22, release-4.23 and release-5.0, read on 2026-08-20). Branches of releases to come
/// are left out: their limits may still move.
const LIMITS: [(OcpMinor, OperatorLimits); 3] = [
    (minor(4, 22), limits((4, 13, 0), (9, 2))),
    (minor(4, 23), limits((4, 13, 0), (9, 2))),
    (minor(5, 0), limits((4, 13, 0), (9, 2))),
];

const fn minor(major: u16, minor: u16) -> OcpMinor {
    OcpMinor { major, minor }
}

const fn limits(ocp: (u16, u16, u32), rhel: (u16, u16)) -> OperatorLimits {
    OperatorLimits {
        minimum_ocp: Release {
            minor: minor(ocp.0, ocp.1),
            patch: ocp.2,
        },
        minimum_rhel: RhelVersion {
            major: rhel.0,
            minor: Some(rhel.1),
        },
    }
}

/// The releases for which a policy has the limits of the operator.
pub(crate) fn followed(policy: &Policy) -> Vec<OcpMinor> {
    let is_followed = |(minor, limits): &(OcpMinor, OperatorLimits)| {
        let release = Release {
            minor: *minor,
            patch: 0,
        };
        let limit = choose(&policy.limits, Some(release), None);
        limits.mismatches(limit).is_empty()
    };
    LIMITS
        .into_iter()
        .filter(is_followed)
        .map(|(minor, _)| minor)
        .collect()
}

/// The releases whose limits are known.
pub(crate) fn known() -> impl Iterator<Item = OcpMinor> {
    LIMITS.into_iter().map(|(release, _)| release)
}

/// Words on a release that is newer than any of its major version whose limits are known.
pub(crate) fn unknown_release(release: &str) -> Option<String> {
    let asked = release.parse::<Release>().ok()?.minor;
    let newest = known().filter(|known| known.major <= asked.major).max()?;
    let after = match known().any(|known| known > newest) {
        true => format!("{}.x after {newest}", newest.major),
        false => format!("after {newest}"),
    };
    (asked > newest).then(|| {
        format!("{release}: this version of skewguard knows no release {after}; the policy's nearest lower limit is used")
    })
}

/// Tells whether a release is later than the next of its major version.
pub(crate) fn is_far_ahead(release: OcpMinor) -> bool {
    let own = known().filter(|known| known.major == release.major);
    own.max()
        .is_none_or(|newest| release.minor > newest.minor + 1)
}

/// The operator of a release.
pub(crate) fn for_release(release: OcpMinor) -> Operator {
    let known = LIMITS.iter().find(|(known, _)| *known == release);
    match known {
        Some((_, limits)) => Operator::Limits(*limits),
        None if release.major == FIRST.major && release < FIRST => Operator::NoLimits,
        None => Operator::Unknown,
    }
}

/// Sources of a policy that follows the operator of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperatorSettings {
    pub(crate) release: Release,
    pub(crate) limits: OperatorLimits,
    pub(crate) cluster_id: Option<String>,
    /// `Automatic`, `Manual` or `None`; absent where the operator has not written its status.
    pub(crate) mode: Option<String>,
    /// The pools, each with the OS image stream that it names.
    pub(crate) pools: BTreeMap<String, Option<String>>,
    /// The stream of the pools that name none.
    pub(crate) default_stream: Option<String>,
}

impl OperatorSettings {
    /// Tells whether the cluster opted out.
    pub(crate) fn is_opt_out(&self) -> bool {
        self.mode.as_deref() == Some("None")
    }

    /// A policy with the operator's limits: it warns, or does nothing where the cluster opted out.
    pub(crate) fn policy(&self) -> String {
        let policy = Object::new(
            include_str!("operator-policy.json"),
            &[
                ("description", &self.description()),
                ("mode", &if self.is_opt_out() { "None" } else { "Warn" }),
                ("release", &self.release.minor),
                ("ocp", &self.limits.minimum_ocp),
                ("rhel", &self.limits.minimum_rhel),
                ("first", &FIRST),
            ],
        );
        // Of texts and lists JSON can always be made.
        with_known_issues(&serde_json::to_string_pretty(&policy).unwrap_or_default())
    }

    /// Origin of the policy, for its readers.
    fn description(&self) -> String {
        let cluster = match &self.cluster_id {
            Some(id) => format!("cluster {id}"),
            None => "a cluster".to_owned(),
        };
        let shown = |(pool, own): (&String, &Option<String>)| match own
            .as_ref()
            .or(self.default_stream.as_ref())
        {
            Some(stream) => format!("{pool} ({stream})"),
            None => pool.clone(),
        };
        let pools: Vec<String> = self.pools.iter().map(shown).collect();
        let pools = match pools.is_empty() {
            true => String::new(),
            false => format!(", pools {}", pools.join(", ")),
        };
        let opt_out = match self.is_opt_out() {
            true => {
                " Mode None, because the cluster opted out (bootImageSkewEnforcement, mode None)."
            }
            false => "",
        };
        let release = self.release;
        format!("Made from {cluster}, release {release}{pools}.{opt_out}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::API_VERSION;

    /// Also not of 4.23, which is made from the code base of 5.0.
    #[test]
    fn a_limit_of_one_release_is_not_that_of_an_earlier_one() {
        let follows = |limits: &str| {
            let policy = format!(
                r#"{{"apiVersion":"{API_VERSION}","kind":"BootImageSkewPolicy","mode":"Warn","limits":[{limits}]}}"#
            );
            let followed = followed(&crate::policy::parse(policy.as_bytes()).unwrap());
            followed.iter().map(OcpMinor::to_string).collect::<Vec<_>>()
        };
        let own = |release: &str| {
            format!(r#"{{{release}"minimumOCPVersion":"4.13.0","minimumRHCOSVersion":"9.2"}}"#)
        };
        let of_5 = r#"{"release":"5.0","rhelMajors":[10]}"#;
        let any = own("");
        for limits in [format!("{any},{of_5}"), format!("{of_5},{any}")] {
            assert_eq!(follows(&limits), ["4.22", "4.23"]);
        }
        let of_4_23 = own(r#""release":"4.23","#);
        assert_eq!(follows(&of_4_23), ["4.23", "5.0"]);
        assert_eq!(follows(&format!("{of_5},{of_4_23}")), ["4.23"]);
    }

    #[test]
    fn a_release_that_is_not_in_the_table_is_not_guessed() {
        let table = [
            ((3, 11), "unknown"),
            ((4, 12), "none"),
            ((4, 21), "none"),
            ((4, 22), "4.13.0 9.2"),
            ((4, 23), "4.13.0 9.2"),
            ((4, 24), "unknown"),
            ((5, 0), "4.13.0 9.2"),
            ((5, 1), "unknown"),
        ];
        for ((major, minor), wanted) in table {
            let said = match for_release(OcpMinor { major, minor }) {
                Operator::Limits(limits) => {
                    format!("{} {}", limits.minimum_ocp, limits.minimum_rhel)
                }
                Operator::NoLimits => "none".to_owned(),
                Operator::Unknown => "unknown".to_owned(),
            };
            assert_eq!(said, wanted, "{major}.{minor}");
        }
    }
}
