//! The times of a cluster: when it was as it is read, and how far its logs go (pure).

use crate::cluster::Cluster;
use crate::moment::Moment;
use std::path::Path;

/// Seconds between two signs of life of Nodes in one gather, at most.
const GATHERING: u64 = 1_800;

const HALF_A_YEAR: u64 = 182 * 86_400;

impl Cluster {
    /// The time that it shows: of a live cluster, when it was read; else the newest time in it, if there is
    /// one.
    pub fn clock(&self) -> Option<Moment> {
        let hosted = self.ignition_servers.values().filter_map(|log| log.last);
        let newest = self.newest_of_objects();
        let newest = newest.max(self.logs.end()).max(hosted.max());
        self.read_at
            .filter(|_| self.is_live)
            .or(newest)
            .or(self.read_at)
    }

    /// Tells whether something in it is about as new as the time at which it was read: a live cluster, or a
    /// Node's sign of life.
    pub fn has_clock(&self) -> bool {
        self.is_live || !self.heartbeats.is_empty()
    }

    /// As far as all machine-config-servers' logs go: those of a gather that is older than the objects go to
    /// its own time.
    pub fn end_of_logs(&self, now: Moment) -> Option<Moment> {
        let newest = self.heartbeat();
        let time_of = |gather: &Path| {
            let folders = self.heartbeats_by_folder.iter();
            let own = folders.filter(|(folder, _)| folder.starts_with(gather));
            let own = own.map(|(_, at)| *at).max();
            own.filter(|own| Some(own.plus(GATHERING)) < newest)
                .unwrap_or(now)
        };
        self.logs.reach(now, &time_of)
    }

    /// A moment after the logs' lines, for the years that they leave out: by the objects where these say it.
    pub(crate) fn clock_of_years(&self) -> Option<Moment> {
        let newest = self.newest_of_objects();
        if self.has_clock() {
            return newest.or(self.read_at);
        }
        // Logs may be read long after objects that have no clock.
        let later = newest.map(|newest| newest.plus(HALF_A_YEAR));
        let later = later.min(self.read_at).max(newest);
        later.or(self.read_at)
    }

    /// The newest time of an object. A Node's clock that is far ahead of most Nodes' does not count.
    pub fn newest_of_objects(&self) -> Option<Moment> {
        self.newest.max(self.heartbeat())
    }

    /// The newest sign of life of a node: about when the objects were read.
    pub fn heartbeat(&self) -> Option<Moment> {
        let mut heartbeats = self.heartbeats.clone();
        heartbeats.sort_unstable();
        let middle = heartbeats.len().saturating_sub(1) / 2;
        let latest = heartbeats.get(middle).map(|middle| middle.plus(600));
        let seen = heartbeats.into_iter().filter(|at| Some(*at) <= latest);
        seen.max()
    }

    /// Takes this for one of the times at which it was as it is read.
    pub fn saw(&mut self, at: Option<Moment>) {
        self.newest = self.newest.max(at);
    }
}
