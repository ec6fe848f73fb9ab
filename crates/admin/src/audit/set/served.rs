//! The release at which the next node of a set is judged (pure).

use crate::audit::results::set::{ReleaseBy, SetKind};
use skewguard_cluster::cluster::Cluster as Objects;
use skewguard_cluster::kinds::config_pool::Served;
use skewguard_cluster::kinds::target::meant_release;

/// A release, and who says that it is the one of the next node.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeRelease {
    /// Absent where it is unknown.
    pub(crate) release: Option<String>,
    pub(crate) by: ReleaseBy,
    /// The config that the set's pool serves, and that was not read.
    pub(crate) unread: Option<String>,
}

impl NodeRelease {
    /// The release that a set's pool serves now. The nodes of a NodePool are of its own release.
    pub(crate) fn now(
        kind: SetKind,
        release: Option<&String>,
        pool: Option<&str>,
        objects: &Objects,
    ) -> Self {
        let of = |release: Option<&String>, by| Self {
            release: release.cloned(),
            by,
            unread: None,
        };
        let own = objects.release.as_ref();
        let is_of_class = matches!(kind, SetKind::EC2NodeClass | SetKind::OpenshiftEC2NodeClass);
        if kind == SetKind::NodePool || is_of_class && release.is_some() {
            return of(release.or(own), ReleaseBy::NodePool);
        }
        match objects.served(pool) {
            Served::Release(release) if Some(&release) != own => {
                of(Some(&release), ReleaseBy::Pool)
            }
            Served::Release(_) | Served::Cluster { is_read: true } => of(own, ReleaseBy::Cluster),
            Served::Cluster { is_read: false } => of(own, ReleaseBy::PoolUnread),
            Served::Unread(config) => Self {
                unread: Some(config),
                ..of(None, ReleaseBy::Pool)
            },
        }
    }

    /// The release that was asked about instead.
    pub(crate) fn asked(self, asked: Option<&str>, objects: &Objects) -> Self {
        let Some(asked) = asked else {
            return self;
        };
        let own = self.release.as_deref().or(objects.release.as_deref());
        Self {
            release: Some(meant_release(own, asked)),
            by: ReleaseBy::Target,
            unread: None,
        }
    }
}
