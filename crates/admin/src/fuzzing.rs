//! Called by the fuzz target `policy` in `fuzz/`, and by `cargo test` on its corpus; the agent has
//! the others. In no build that ships.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

use crate::policy;
use crate::version::{OcpMinor, Release};

/// Policies: a limit is one of the policy's own, and lint finds an error in what cannot be read.
/// YAML is read as nodes get it: as JSON.
pub fn policy(data: &[u8]) {
    let read = policy::parse(&crate::yaml::for_nodes(data.to_vec()));
    if let Ok(read) = &read {
        read.warnings
            .iter()
            .for_each(|warning| assert_printable(warning));
        for (major, minor) in [(4, 6), (4, 21), (5, 0)] {
            let release = Release {
                minor: OcpMinor { major, minor },
                patch: 3,
            };
            for pool in [None, Some("worker"), Some("master")] {
                let chosen = policy::choose(&read.limits, Some(release), pool);
                assert!(chosen.is_none_or(|chosen| read.limits.contains(chosen)));
            }
        }
    }
    let report = crate::lint::lint(data);
    for finding in &report.findings {
        assert_printable(&finding.message);
        assert_printable(&finding.help);
    }
    assert!(read.is_ok() || report.errors > 0, "{read:?}");
}

fn assert_printable(text: &str) {
    assert!(
        text.bytes().all(|byte| matches!(byte, b' '..=b'~')),
        "{text:?}"
    );
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_corpus_holds() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/policy");
        let mut inputs = 0;
        for entry in std::fs::read_dir(corpus).unwrap() {
            let input = entry.unwrap().path();
            // The test's output names the input that fails.
            println!("{}", input.display());
            super::policy(&std::fs::read(&input).unwrap());
            inputs += 1;
        }
        assert!(inputs >= 3, "{inputs}");
    }
}
