//! HostedClusters whose conditions say why their machines do not come (pure).

use super::case::Case;
use super::failures::FailureKind;
use super::finding::{Finding, sentence};
use super::rows::row;
use super::subject::Subject;
use skewguard_cluster::cluster::Cluster;
use skewguard_cluster::kinds::{Condition, HostedCluster, NodePool};

/// Conditions by which the cloud can be asked in the name of a cluster (openshift/hypershift
/// `hostedcluster_conditions.go`).
const CLOUD: [&str; 4] = [
    "ValidAWSIdentityProvider",
    "ValidGCPCredentials",
    "ValidGCPWorkloadIdentity",
    "PlatformCredentialsFound",
];

/// Conditions without which its machines may not come.
const POSSIBLE: [&str; 11] = [
    "ValidAWSKMSConfig",
    "ValidAzureKMSConfig",
    "ValidOIDCConfiguration",
    "ValidReleaseImage",
    "ValidReleaseInfo",
    "IgnitionServerValidReleaseInfo",
    "IgnitionEndpointAvailable",
    "InfrastructureReady",
    "AWSDefaultSecurityGroupCreated",
    "KubeAPIServerAvailable",
    "EtcdAvailable",
];

/// The condition by which the cloud cannot be asked in its name.
fn without_cloud(cluster: &HostedCluster) -> Option<&Condition> {
    let mut conditions = cluster.conditions.iter();
    conditions.find(|one| CLOUD.contains(&&*one.kind) && !one.is_true())
}

/// HostedClusters that cannot ask their cloud, where no Machine and none of these NodePools tells of it.
pub(super) fn clusters_without_cloud<'a>(
    facts: &'a Cluster,
    told: &[&NodePool],
) -> Vec<&'a HostedCluster> {
    let is_silent = |cluster: &&HostedCluster| {
        let namespace = cluster.control_plane();
        let mut machines = facts.all_machines();
        without_cloud(cluster).is_some()
            && !machines.any(|machine| machine.metadata.namespace == namespace)
            && !told.iter().any(|pool| is_of(pool, cluster))
    };
    facts.hosted_clusters.iter().filter(is_silent).collect()
}

fn is_of(pool: &NodePool, cluster: &HostedCluster) -> bool {
    let (own, of) = (&cluster.metadata, &pool.metadata);
    own.namespace == of.namespace && pool.cluster.as_ref() == Some(&own.name)
}

impl<'a> Case<'a> {
    /// The NodePool of its Machine.
    pub(super) fn own_node_pool(&self) -> Option<&'a NodePool> {
        let named = self.machine?.node_pool.as_deref()?;
        let mut pools = self.facts.node_pools.iter();
        pools.find(|pool| pool.metadata.full_name() == named)
    }

    pub(super) fn hosted_cluster(&self) -> Option<&'a HostedCluster> {
        let mut all = self.facts.hosted_clusters.iter();
        match self.subject {
            Subject::HostedCluster(cluster) => Some(cluster),
            Subject::NodePool(pool) => all.find(|cluster| is_of(pool, cluster)),
            subject => all.find(|cluster| subject.is_in(&cluster.control_plane())),
        }
    }

    /// Puts what its HostedCluster says against it into the evidence, each in words.
    pub(super) fn see_hosted_cluster(&mut self) -> Vec<String> {
        let Some(cluster) = self.hosted_cluster() else {
            return Vec::new();
        };
        let object = format!("HostedCluster {}", cluster.metadata.full_name());
        let is_bad = |one: &&Condition| {
            let is_possible = POSSIBLE.contains(&&*one.kind) && one.status == "False";
            is_possible || CLOUD.contains(&&*one.kind) && !one.is_true()
        };
        let mut all = Vec::new();
        for one in cluster.conditions.iter().filter(is_bad) {
            self.see_condition_of(&object, one);
            all.push(self.cluster_says(&object, one));
        }
        all
    }

    /// `HostedCluster clusters/hc1 says ValidAWSKMSConfig is False: …`.
    fn cluster_says(&mut self, cluster: &str, condition: &Condition) -> String {
        let Condition { kind, status, .. } = condition;
        let says = sentence(&condition.says());
        self.says(row!(HostedClusterSays cluster, kind, status, says))
    }

    /// Adds what its HostedCluster says against it, each as a possible cause.
    pub(super) fn beside_hosted_cluster(&mut self, finding: Finding) -> Finding {
        let all = self.see_hosted_cluster().into_iter();
        self.with_all(finding, all.map(|says| row!(PossibleCause says)))
    }

    /// The cloud cannot be asked in the name of a hosted cluster: told of a Machine of which nothing else says
    /// why it has no instance, or else of the cluster itself.
    pub(super) fn of_hosted_cloud(&mut self) -> Option<Finding> {
        let cluster = self.hosted_cluster()?;
        let condition = without_cloud(cluster)?;
        let (space, of) = (&cluster.metadata.namespace, &cluster.metadata.name);
        let cluster = format!("HostedCluster {space}/{of}");
        self.see_hosted_cluster();
        let all = matches!(self.subject, Subject::HostedCluster(_));
        let (kind, says) = (&condition.kind, self.cluster_says(&cluster, condition));
        let mut finding = self.tell(row!(CloudNotAsked all, cluster, kind, says, space, of));
        finding.failure = Some(FailureKind::CredentialsInvalid);
        Some(finding)
    }
}
