//! What can become of a machine. Each fate makes one machine, what the cluster shows of it, and what is
//! true of it.

mod checks;
pub(super) mod claims;
mod hosted;
mod instance;
mod karpenter;
mod names;
mod nodes;
mod reported;
mod requests;
mod tls;
mod two_clusters;
mod without;

use super::cluster::{Cluster, World};
use super::truth::Truth;

pub(super) type Fate = (&'static str, fn(&mut Cluster) -> Truth);

pub(super) fn of(world: World) -> Vec<Fate> {
    match world {
        World::Machines => [
            requests::ALL,
            tls::ALL,
            names::ALL,
            instance::ALL,
            nodes::ALL,
            checks::ALL,
            claims::ALL,
            karpenter::ALL,
            reported::ALL,
        ]
        .concat(),
        World::Hosts => [
            instance::HOSTS,
            reported::HOSTS,
            requests::ALL,
            names::ALL,
            nodes::ALL,
            claims::ALL,
        ]
        .concat(),
        World::Loners => without::LONERS.to_vec(),
        World::Agents => without::AGENTS.to_vec(),
        World::Hosted => hosted::ALL.to_vec(),
        World::TwoClusters => two_clusters::ALL.to_vec(),
    }
}
