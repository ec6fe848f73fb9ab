//! Differences between a policy and the cluster's Machine Config Operator (pure).

pub(crate) mod skew;
pub(crate) mod value;

use crate::audit::results::upkeep::{Difference, OperatorDifference};
use crate::audit::results::{ClusterSkew, Oldest};
use crate::operator::{self, Mismatch, Operator, OperatorLimits, OperatorSettings};
use crate::policy::{Bound, Limit, Mode, Policy, choose};
use crate::version::{ImageVersion, OcpMinor, OsFamily, Release, Scheme};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::metadata::Condition;
use skewguard_cluster::kinds::target::parsed;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Their differences, and a doubt: the operator's limits for this release are not known.
pub(crate) fn differences(
    objects: &Objects,
    policy: &Policy,
    release: Option<&str>,
) -> (Vec<OperatorDifference>, Option<String>) {
    let Some(cluster) = &objects.skew else {
        return (Vec::new(), None);
    };
    let mut found: Vec<OperatorDifference> = opted_out(cluster, policy).into_iter().collect();
    let Some(release) = parsed(release) else {
        return (found, None);
    };
    let limits = match operator::for_release(release.minor) {
        Operator::Limits(limits) => limits,
        Operator::NoLimits => return (found, None),
        Operator::Unknown => return (found, Some(unknown(release.minor))),
    };
    for (limit, pools) in chosen(objects, policy, release) {
        found.extend(limit_differences(&limits, limit, &pools, release.minor));
        found.extend(value_difference(cluster, &limits, limit, &pools));
    }
    (found, None)
}

/// The operator's reading of an SCOS image `9.0.YYYYMMDD`, where the cluster names one as its oldest
/// or has one: it reads RHEL 9.0, below its minimum, and blocks updates (openshift/machine-config-operator,
/// `checkRHCOSVersionSkew` of pkg/operator/status.go and its test with 9.0.20251023-0).
pub(crate) fn stream_note(
    objects: &Objects,
    oldest: Option<&Oldest>,
    release: Option<&str>,
) -> Option<String> {
    let cluster = objects.skew.as_ref().filter(|skew| skew.mode != "None")?;
    let release = parsed(release)?;
    let Operator::Limits(limits) = operator::for_release(release.minor) else {
        return None;
    };
    let is_below =
        |image: &ImageVersion| is_stream_9(image) && limits.minimum_rhel.major >= STREAM_9;
    let named = cluster.rhcos_version.as_deref().map(ImageVersion::parse);
    let oldest = oldest.map(|oldest| ImageVersion::parse(&oldest.boot_image.version));
    let (version, begin) = match (named.filter(is_below), oldest.filter(is_below)) {
        (Some(named), _) => (named.text.clone(), "the cluster names"),
        (None, Some(oldest)) => (oldest.text.clone(), "do not name"),
        (None, None) => return None,
    };
    let what = format!(
        "{begin} {version} as the oldest boot image of the cluster (bootImageSkewEnforcement)"
    );
    Some(format!(
        "{what}: the Machine Config Operator of {} takes SCOS 9.0 for RHEL 9.0, which is below its minimum {}, and blocks updates. Name the \
         release of OKD that the image came with (mode Manual, OCPVersion), or update the image",
        release.minor, limits.minimum_rhel
    ))
}

const STREAM_9: u16 = 9;

/// Tells whether it is an image of CentOS Stream 9 by a name that looks like RHEL 9.0.
pub(crate) fn is_stream_9(image: &ImageVersion) -> bool {
    let is_9 = image.rhel.is_some_and(|rhel| rhel.major == STREAM_9);
    is_9 && image.scheme == Scheme::RhelVersioned && image.os_family() == Some(OsFamily::Scos)
}

fn unknown(release: OcpMinor) -> String {
    format!(
        "the limits of the Machine Config Operator of {release} are not known to this release of oc skewguard, so the policy was not compared with them"
    )
}

fn opted_out(cluster: &ClusterSkew, policy: &Policy) -> Option<OperatorDifference> {
    (cluster.mode == "None" && policy.mode == Mode::Enforce).then(|| OperatorDifference {
        what: Difference::OptedOut,
        field: None,
        operator: cluster.mode.clone(),
        policy: policy.mode_text.clone(),
        message:
            "the cluster opted out (bootImageSkewEnforcement, mode None), and the policy enforces"
                .to_owned(),
    })
}

/// The policy's limit for each pool of the cluster, and the pools that it is for; empty where one
/// limit is for all of them.
fn chosen<'a>(
    objects: &Objects,
    policy: &'a Policy,
    release: Release,
) -> Vec<(Option<&'a Limit>, Vec<String>)> {
    let mut all: Vec<(Option<&Limit>, Vec<String>)> = Vec::new();
    for pool in objects.config_pools.keys() {
        let limit = choose(&policy.limits, Some(release), Some(pool));
        match all.iter_mut().find(|(known, _)| *known == limit) {
            Some((_, pools)) => pools.push(pool.clone()),
            None => all.push((limit, vec![pool.clone()])),
        }
    }
    match &mut *all {
        [] => all.push((choose(&policy.limits, Some(release), None), Vec::new())),
        [(_, pools)] => pools.clear(),
        _ => {}
    }
    all
}

/// ` for pool worker`, or nothing.
fn for_pools(pools: &[String]) -> String {
    match pools {
        [] => String::new(),
        [pool] => format!(" for pool {pool}"),
        several => format!(" for pools {}", several.join(", ")),
    }
}

fn limit_differences(
    operator: &OperatorLimits,
    limit: Option<&Limit>,
    pools: &[String],
    release: OcpMinor,
) -> Vec<OperatorDifference> {
    let difference = |mismatch: Mismatch| {
        let Mismatch {
            field,
            operator,
            policy,
            order,
        } = mismatch;
        let what = match order {
            Some(Ordering::Less) => "accepts older boot images than the operator",
            Some(_) => "refuses boot images that the operator accepts",
            None if policy.is_none() => "has no such limit",
            None => "cannot be compared with the operator",
        };
        let policy = policy.unwrap_or_else(|| "none".to_owned());
        OperatorDifference {
            what: Difference::Limit,
            field: Some(field),
            message: format!(
                "{field} for {release} is {operator} in the Machine Config Operator and {policy} in the policy{}: the policy {what}",
                for_pools(pools)
            ),
            operator,
            policy,
        }
    };
    operator
        .mismatches(limit)
        .into_iter()
        .map(difference)
        .collect()
}

/// The cluster's own value, where the operator and the policy say different things to it.
fn value_difference(
    cluster: &ClusterSkew,
    operator: &OperatorLimits,
    limit: Option<&Limit>,
    pools: &[String],
) -> Option<OperatorDifference> {
    let own = |field| limit.and_then(|limit| limit.rule(field)?.as_ref().ok());
    let (ocp, rhcos) = (
        cluster.ocp_version.as_deref(),
        cluster.rhcos_version.as_deref(),
    );
    let accepted = operator.accepts(ocp, rhcos)?;
    let (value, own) = match (ocp, rhcos) {
        (Some(ocp), _) => {
            let own = own("minimumOCPVersion").and_then(|own| match own {
                Bound::Ocp(own) => Some(parsed(Some(ocp))? >= *own),
                _ => None,
            });
            (format!("OCP {ocp}"), own)
        }
        (None, rhcos) => {
            let rhcos = rhcos?;
            let own = own("minimumRHCOSVersion").and_then(|own| match own {
                Bound::Version(family, _, own) => {
                    Some(own.compare(&ImageVersion::parse(rhcos), *family)?.is_ge())
                }
                _ => None,
            });
            (format!("RHCOS {rhcos}"), own)
        }
    };
    let own = own?;
    let word = |accepted| if accepted { "accepts" } else { "refuses" };
    (own != accepted).then(|| OperatorDifference {
        what: Difference::Value,
        field: None,
        operator: word(accepted).to_owned(),
        policy: word(own).to_owned(),
        message: format!(
            "the cluster names {value} as its oldest boot image: the Machine Config Operator {} it, and the policy{} {} it",
            word(accepted),
            for_pools(pools),
            word(own)
        ),
    })
}

/// Source of a policy that follows the cluster's operator.
///
/// # Errors
/// Something of it was not read, or the limits of the release are not known.
pub(crate) fn operator_settings(objects: &Objects) -> Result<OperatorSettings, String> {
    let release = objects
        .release
        .as_deref()
        .ok_or("ClusterVersion `version` was not read, so the release is not known; `oc get clusterversion version -o json` prints it")?;
    let parsed: Release = release
        .parse()
        .map_err(|_| format!("the release of the cluster, {release}, is not x.y.z"))?;
    let limits = match operator::for_release(parsed.minor) {
        Operator::Limits(limits) => limits,
        Operator::NoLimits => {
            return Err(format!(
                "the Machine Config Operator of {} has no limits for boot images; it has them from {} on. `oc skewguard policy init` alone writes a policy with those",
                parsed.minor,
                operator::FIRST
            ));
        }
        Operator::Unknown => {
            let known: Vec<String> = operator::known().map(|minor| minor.to_string()).collect();
            return Err(format!(
                "the limits of the Machine Config Operator of {} are not known to this release of oc skewguard, which knows {}; take a newer one",
                parsed.minor,
                known.join(", ")
            ));
        }
    };
    if objects.managed.is_none() {
        return Err(
            "MachineConfiguration `cluster` was not read, so it is not known whether the cluster opted out"
                .to_owned(),
        );
    }
    let pools = objects
        .config_pools
        .iter()
        .map(|(name, pool)| (name.clone(), pool.stream.clone()))
        .collect();
    Ok(OperatorSettings {
        release: parsed,
        limits,
        cluster_id: objects.cluster_id.clone(),
        mode: objects.skew.as_ref().map(|skew| skew.mode.clone()),
        pools,
        default_stream: objects.default_stream.clone(),
    })
}

/// Conditions of ClusterOperator `machine-config` that stand against an update, in words.
pub(crate) fn complaints(operators: &BTreeMap<String, Vec<Condition>>) -> Vec<String> {
    let wanted = [
        ("Degraded", "True"),
        ("Upgradeable", "False"),
        ("Available", "False"),
    ];
    let all = operators.get("machine-config").into_iter().flatten();
    let against = all.filter(|found| wanted.contains(&(&*found.kind, &*found.status)));
    let says = |found: &Condition| {
        let Condition {
            kind,
            status,
            reason,
            message,
            ..
        } = found;
        format!("ClusterOperator machine-config, {kind}={status} ({reason}): {message}")
    };
    against.map(says).collect()
}
