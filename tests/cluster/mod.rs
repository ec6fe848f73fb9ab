//! The cluster tier: everything that goes over the wire, against an API server over real TLS, with
//! both transports.
//!
//! By default that is the test API server of tests/support, which checks every body against the
//! cluster's OpenAPI documents. With `SKEWGUARD_TEST_KUBECONFIG` naming an administrator's
//! kubeconfig, [`suite`] runs `skewguard report` against that cluster instead; it applies
//! dist/manifests where they are missing, and takes away whatever it made.
//!
//! `SKEWGUARD_TEST_PROGRAM` names another `skewguard` to run as the agent than the one that cargo
//! built: the dist tier gives what ships.

mod age;
mod attack;
mod broken_servers;
mod faults;
mod kubeconfigs;
mod machines;
mod names;
mod node;
mod node_failure;
mod program;
mod real;
mod reinstalled;
mod secrets;
mod stalled;
mod suite;
mod target;
mod tls;
mod way;
