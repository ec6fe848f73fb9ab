//! Steps of the way that are of no set (pure): what an update needs, and what it breaks.

use super::Walk;
use crate::audit::installed_from::broken;
use crate::audit::operator::value;
use crate::audit::results::BootImageAudit;
use crate::audit::results::installed_from::InstalledFrom;
use crate::audit::results::path::{By, Event, Step, StepKind};
use crate::hops::{self, Gate};
use crate::version::Release;
use skewguard_cluster::kinds::target::is_okd;
use skewguard_cluster::names::count;

impl Walk<'_> {
    /// Adds the steps before the update to a release.
    pub(super) fn by_release(&mut self, hop: Release, now: &BootImageAudit) {
        if hop.minor <= self.own.minor {
            return;
        }
        let gates = hops::gates(hop.minor);
        let gates: Vec<&Gate> = gates.filter(|gate| self.is_shut(gate, now)).collect();
        for gate in gates {
            let step = self.acknowledged(gate, hop);
            self.path.steps.push(step);
            let platforms = gate.platforms.join(" and ");
            if !platforms.is_empty() {
                self.path.by_itself.push(format!(
                    "on {} the operator begins to update the images of MachineSets ({platforms}), once the update is complete: nodes that are made \
                     meanwhile come too early, and it does not ask whether a pool is paused",
                    gate.to
                ));
            }
        }
        self.operators_value(hop, now);
        self.streams(hop);
        self.nodes(hop);
    }

    /// Tells whether the operator of the release before asks for it.
    fn is_shut(&self, gate: &Gate, now: &BootImageAudit) -> bool {
        let objects = self.lookup.objects;
        if objects.is_okd() {
            return false;
        }
        if let Some(architecture) = &gate.architecture {
            let mut nodes = objects.nodes.iter();
            return nodes.any(|node| node.architecture.as_ref() == Some(architecture));
        }
        let platforms = value::platforms(&now.sets);
        let is_of = platforms
            .iter()
            .any(|own| gate.platforms.iter().any(|of| of == own));
        let managed = objects.managed.as_ref();
        is_of && !objects.is_azure_stack && !managed.is_some_and(|managed| managed.has_entries())
    }

    fn acknowledged(&self, gate: &Gate, hop: Release) -> Step {
        let what = match (&gate.architecture, &self.lookup.objects.managed) {
            (Some(_), _) => "the cluster has aarch64 nodes, whose boot loader has to be new enough",
            (None, Some(_)) => {
                "images of MachineSets are updated by default from then on, and managedBootImages says nothing"
            }
            (None, None) => {
                "images of MachineSets are updated by default from then on, unless managedBootImages, which was not read, says something"
            }
        };
        Step {
            kind: StepKind::Acknowledge,
            subject: "ConfigMap openshift-config/admin-acks".to_owned(),
            name: "the administrator".to_owned(),
            pool: None,
            by: Some(self.by(hop, Event::UpdateStarts)),
            not_before: hops::before(hop.minor)
                .filter(|before| *before > self.own.minor)
                .map(|before| before.to_string()),
            remedy: Some(format!(
                "acknowledge it: `oc -n openshift-config patch configmap admin-acks --type merge -p '{{\"data\":{{\"{}\":\"true\"}}}}'`",
                gate.ack
            )),
            holds_to: None,
            effects: Vec::new(),
            because: what.to_owned(),
            certain: gate.architecture.is_some() || self.lookup.objects.managed.is_some(),
        }
    }

    fn operators_value(&mut self, hop: Release, now: &BootImageAudit) {
        let Some(blocks) = value::blocks(self.lookup.objects, &now.sets) else {
            return;
        };
        let before = hops::before(hop.minor).map(|before| before.to_string());
        if before.as_ref() != Some(&blocks.on) {
            return;
        }
        let on = &blocks.on;
        let step = Step {
            kind: match blocks.is_certain {
                true => StepKind::OperatorValue,
                false => StepKind::FindOut,
            },
            subject: "MachineConfiguration cluster".to_owned(),
            name: "the operator".to_owned(),
            pool: None,
            by: Some(self.by(hop, Event::UpdateStarts)),
            not_before: Some(on.clone()),
            remedy: Some(format!(
                "set bootImageSkewEnforcement once the images are changed (`oc skewguard audit -o wide` on {on} has the command)"
            )),
            holds_to: None,
            effects: Vec::new(),
            because: blocks.because(&self.name(hop)),
            certain: blocks.is_certain,
        };
        self.path.steps.push(step);
    }

    /// Adds which stream pools get with a release, where that is new.
    fn streams(&mut self, hop: Release) {
        let objects = self.lookup.objects;
        let installed = objects.history.installed.as_deref();
        let release = objects.release.as_deref();
        let says = match hops::keeps(hop.minor, installed) {
            _ if release.is_some_and(is_okd) => None,
            Some(stream) if objects.default_stream.is_none() => {
                Some(format!("pools stay on {stream}: installed as 4.x"))
            }
            _ => None,
        };
        let is_new = |says: &String| !self.path.by_itself.contains(says);
        let says = says.filter(is_new);
        self.path.by_itself.extend(says);
    }

    /// Adds joined nodes that the update breaks.
    fn nodes(&mut self, hop: Release) {
        let all = broken(&self.lookup, self.policy, Some(&hop.to_string()));
        for nodes in all {
            let pool = nodes.pool.clone().unwrap_or_default();
            let image = nodes.boot_image.as_ref().map(|image| image.version.clone());
            let key = (
                "Node",
                pool,
                format!("{} {image:?} {:?}", nodes.issue, nodes.to_know),
            );
            if !self.done.insert((key, nodes.to_know.is_some())) {
                continue;
            }
            match &nodes.to_know {
                Some(why) if nodes.remedy.is_none() => self.path.not_compared.push(format!(
                    "{} of {}: {why}",
                    nodes.issue,
                    count(nodes.count, "node")
                )),
                _ => {
                    let by = self.by(hop, Event::PoolRolls);
                    self.path.steps.push(of_nodes(nodes, by));
                }
            }
        }
    }
}

fn of_nodes(nodes: InstalledFrom, by: By) -> Step {
    let because = match &nodes.to_know {
        Some(why) => format!("they may have {}: {}; {why}", nodes.issue, nodes.reason),
        None => format!("{}: {}", nodes.issue, nodes.reason),
    };
    Step {
        kind: StepKind::Nodes,
        subject: format!("nodes {}", nodes.names()),
        name: format!("{} ({})", count(nodes.count, "node"), nodes.names()),
        by: Some(by),
        not_before: None,
        holds_to: None,
        effects: Vec::new(),
        because,
        certain: nodes.to_know.is_none(),
        pool: nodes.pool,
        remedy: nodes.remedy,
    }
}
