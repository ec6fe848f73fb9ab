//! FIPS mode of a pool's nodes, by its MachineConfigs (pure). For a cluster in FIPS mode the installer makes
//! `99-worker-fips` and `99-master-fips` (openshift/installer `pkg/asset/machines/machineconfig/fips.go`).

use super::config_pool::{ConfigPool, MachineConfig};
use std::collections::BTreeMap;

/// `spec.fips` of MachineConfigs, and which of them a pool's nodes get.
#[derive(Debug, Default)]
pub struct Fips {
    /// By the name of each rendered one.
    rendered: BTreeMap<String, bool>,
    /// The roles of the others that ask for it.
    roles: Vec<String>,
    /// The rendered one of each pool.
    pools: BTreeMap<String, String>,
}

impl Fips {
    pub fn add_config(&mut self, config: MachineConfig) {
        match config.fips {
            Some(fips) if config.name.starts_with("rendered-") => {
                self.rendered.insert(config.name, fips);
            }
            Some(true) => self.roles.extend(config.role),
            _ => {}
        }
    }

    pub fn add_pool(&mut self, pool: &ConfigPool) {
        let config = pool.config().map(str::to_owned);
        self.pools.extend(pool.name.clone().zip(config));
    }

    /// Tells whether new nodes of a pool are in FIPS mode; `None` where no MachineConfig that was read says
    /// it.
    pub fn of(&self, pool: &str) -> Option<bool> {
        let current = self.pools.get(pool);
        if let Some(fips) = current.and_then(|name| self.rendered.get(name)) {
            return Some(*fips);
        }
        let is_own = |name: &str| {
            let of = name.strip_prefix("rendered-");
            of.and_then(|of| of.rsplit_once('-'))
                .is_some_and(|(of, _)| of == pool)
        };
        let mut rendered = (self.rendered.iter())
            .filter(|(name, _)| is_own(name))
            .map(|(_, fips)| *fips);
        if let Some(first) = rendered.next() {
            return rendered.all(|fips| fips == first).then_some(first);
        }
        // A pool of one's own has the workers' MachineConfigs, too.
        let worker = (pool != "master").then_some("worker");
        let asks = |role: &String| role == pool || Some(role.as_str()) == worker;
        self.roles.iter().any(asks).then_some(true)
    }
}
