//! CPUs that RHEL 10 and CentOS Stream CoreOS 10 do not start on (pure): both are compiled for x86-64-v3
//! (okd-project/okd #2275).

use crate::audit::results::set::SetIssue;
use crate::audit::set::Set;
use crate::audit::upkeep;
use crate::audit::verdict::valid;
use crate::policy::{Affects, Bound, Effect, KnownIssue, Scope};
use crate::verdict::PolicyInput;
use crate::version::{ImageVersion, OcpMinor, Release, cpu_rank};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::image::Image;
use skewguard_cluster::kinds::node::Node;
use skewguard_cluster::kinds::target::{is_okd, parsed};

/// The architecture that the level is of, and the level.
const X86: &str = "x86_64";
const LEAST: &str = "x86-64-v3";

/// The stream of RHEL 10.
const RHEL_10: &str = "rhel-10";

/// The first release of OKD that has nothing but CentOS Stream CoreOS 10.
const OKD_10: Release = Release {
    minor: OcpMinor {
        major: 4,
        minor: 20,
    },
    patch: 0,
};

/// The level of a set's CPU: by its instance type, else by a node of its own that runs RHEL 10.
pub(crate) fn of_set(image: &Image, nodes: &[&Node]) -> Option<&'static str> {
    let runs = |node: &&Node| node.runs_rhel_10 == Some(true) && is_x86(node);
    let proven = || nodes.iter().any(runs).then_some(LEAST);
    image.instance_cpu.or_else(proven)
}

/// The level for the limits of a policy: x86-64-v3 is what such a machine has at least, and answers nothing that
/// asks for more.
pub(crate) fn for_limits(image: &Image, policy: &PolicyInput) -> Option<&'static str> {
    let limits = valid(policy).into_iter().flat_map(|policy| &policy.limits);
    let mut rules = limits.flat_map(|limit| &limit.rules);
    let asks_for_more = rules.any(|(_, bound)| match bound {
        Ok(Bound::Cpu(levels)) => {
            let level = levels.get(X86).and_then(|level| cpu_rank(X86, level));
            level > cpu_rank(X86, LEAST)
        }
        _ => false,
    });
    let level = image.instance_cpu?;
    (is_too_low(level) || !asks_for_more).then_some(level)
}

fn is_x86(node: &Node) -> bool {
    node.architecture.as_deref() == Some(X86)
}

fn is_too_low(level: &str) -> bool {
    cpu_rank(X86, level) < cpu_rank(X86, LEAST)
}

/// The level of a set's instances, where they cannot start RHEL 10, which its pool is of; and the levels.
pub(crate) fn too_low(set: &Set) -> Option<[&'static str; 3]> {
    let is_of_10 = set.image.stream.as_deref() == Some(RHEL_10);
    let level = set.image.instance_cpu.filter(|_| is_of_10)?;
    is_too_low(level).then_some([level, RHEL_10, LEAST])
}

/// A pool of RHEL 10 wants a boot image of RHEL 9 or later (openshift-docs #109617).
pub(crate) fn old_image(set: &Set, version: Option<&ImageVersion>) -> Option<SetIssue> {
    let is_of_10 = set.image.stream.as_deref() == Some(RHEL_10);
    let is_old = version?.rhel.is_some_and(|rhel| rhel.major < 9);
    (is_of_10 && is_old).then(|| SetIssue {
        id: "RHEL10NeedsRHEL9Image".to_owned(),
        reason: "its pool's stream is rhel-10, which wants a boot image of RHEL 9 or later"
            .to_owned(),
        url: Some("https://github.com/openshift/openshift-docs/pull/109617".to_owned()),
        effect: Effect::Warn.as_str(),
        in_policy: false,
    })
}

/// The issue of joined nodes.
pub(crate) fn issue() -> KnownIssue {
    KnownIssue {
        id: "CPUWithoutX8664V3".to_owned(),
        // No scope says it: `at_update` does.
        affects: Affects::FirstBoot,
        effect: Effect::Refuse,
        reason: "its CPU cannot start RHEL 10 and CentOS Stream CoreOS 10, which need x86-64-v3".to_owned(),
        remedy: Some(
            "give it another instance type; on vSphere another EVC mode of the cluster (Haswell or later), and power it off and on".to_owned(),
        ),
        url: Some("https://github.com/okd-project/okd/issues/2275".to_owned()),
        scope: Ok(Scope::default()),
    }
}

/// Tells whether a joined node has that issue at an update; the error is what is missing to tell. `spec` is
/// its Machine's.
pub(crate) fn at_update(
    node: &Node,
    spec: Option<&Image>,
    target: &str,
    objects: &Objects,
) -> Result<bool, &'static str> {
    if !is_x86(node) || node.runs_rhel_10 == Some(true) || !brings_10(node, target, objects) {
        return Ok(false);
    }
    let own = node.machine().cpu;
    let level = own.as_deref().or(spec.and_then(|image| image.instance_cpu));
    let level = level.ok_or("the level of the CPU is unknown")?;
    Ok(is_too_low(level))
}

/// Tells whether the update brings RHEL 10 to a node.
fn brings_10(node: &Node, target: &str, objects: &Objects) -> bool {
    if is_okd(target) {
        let running = parsed(objects.release.as_deref());
        let is_before = running.is_none_or(|running| running < OKD_10);
        return is_before && parsed(Some(target)).is_some_and(|target| target >= OKD_10);
    }
    let pool = node.pool.as_deref().filter(|_| node.node_pool.is_none());
    let stream = upkeep::stream(objects, None, pool);
    pool.is_some() && stream.as_deref() == Some(RHEL_10) && node.runs_rhel_10 == Some(false)
}
