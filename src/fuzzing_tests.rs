use super::*;
use std::collections::BTreeMap;
use std::path::Path;

type Target = fn(&[u8]);

/// The target of `skewguard_admin::fuzzing`.
const OF_ADMINS: &str = "policy";

/// The agent's targets, by the name of its file in fuzz/fuzz_targets and of its folder in fuzz/corpus.
const TARGETS: [(&str, Target); 9] = [
    ("answer", answer),
    ("certificate", certificate),
    ("curl", curl),
    ("gzip", gzip),
    ("kubeconfig", kubeconfig),
    ("stall", stall),
    ("tree", tree),
    ("verdict", verdict),
    ("version", version),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn the_corpora_hold() {
    for (name, target) in TARGETS {
        let inputs = files(&fuzz().join("corpus").join(name));
        assert!(inputs.len() >= 3, "{name}: {}", inputs.len());
        for input in inputs {
            // The test's output names the input that fails.
            println!("{}", input.display());
            target(&std::fs::read(&input).unwrap());
        }
    }
}

#[test]
fn every_target_has_its_program_and_its_corpus() {
    let agents = TARGETS.iter().map(|(name, _)| *name);
    let mut names: Vec<String> = agents.chain([OF_ADMINS]).map(str::to_owned).collect();
    names.sort();
    let stems = |dir: &str| {
        files(&fuzz().join(dir))
            .iter()
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect()
    };
    let (programs, corpora): (Vec<String>, Vec<String>) = (stems("fuzz_targets"), stems("corpus"));
    assert_eq!((&programs, &corpora), (&names, &names));
    let manifest = std::fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for name in names {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        let program =
            std::fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(
            program.contains(&format!("::fuzzing::{name}(data)")),
            "{name}: {program}"
        );
    }
}

#[test]
fn the_corpora_are_small() {
    let size: BTreeMap<&str, u64> = TARGETS
        .iter()
        .map(|(name, _)| *name)
        .chain([OF_ADMINS])
        .map(|name| {
            (
                name,
                files(&fuzz().join("corpus").join(name))
                    .iter()
                    .map(|path| path.metadata().unwrap().len())
                    .sum(),
            )
        })
        .collect();
    assert!(size.values().sum::<u64>() < 1 << 20, "{size:?}");
}
