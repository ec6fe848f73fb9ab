//! FIPS mode of a pool's nodes, by its MachineConfigs (pure). For a cluster in FIPS mode the installer makes
//! `99-worker-fips` and `99-master-fips` (openshift/installer `pkg/asset/machines/machineconfig/fips.go`).

use super::config_pool::{ConfigPool, pool_of_config};
use crate::cluster::Cluster;

impl Cluster {
    /// Tells whether new nodes of a pool are in FIPS mode; `None` where no MachineConfig that was read says
    /// it.
    pub fn fips_of(&self, pool: &str) -> Option<bool> {
        let current = self.config_pools.get(pool).and_then(ConfigPool::config);
        let current = current.and_then(|name| self.configs.get(name)?.fips);
        if current.is_some() {
            return current;
        }
        let configs = self.configs.values();
        let mut said = configs.filter_map(|config| Some((config, config.fips?)));
        let own = said
            .clone()
            .filter(|(config, _)| pool_of_config(&config.name) == Some(pool));
        let mut own = own.map(|(_, fips)| fips);
        if let Some(first) = own.next() {
            return own.all(|fips| fips == first).then_some(first);
        }
        // A pool of one's own has the workers' MachineConfigs, too.
        let asks = |role: &str| role == pool || role == "worker" && pool != "master";
        said.any(|(config, fips)| fips && config.role.as_deref().is_some_and(asks))
            .then_some(true)
    }
}
