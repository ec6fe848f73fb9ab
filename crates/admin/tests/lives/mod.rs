//! `oc skewguard why`, against lives whose truth is known: clusters whose machines end in known ways, what
//! such a cluster shows of them, and a gather that may lack some of it. What is said must never be certain
//! and wrong, whatever is missing; of a whole gather it must be the right stage, with its cause.
//!
//! The truth is written apart from the program: nothing here comes from it but its JSON and its texts.
//! `SKEWGUARD_LIVES=100000 cargo test --workspace --test it lives:: -- --nocapture` tries that many, of all
//! fates; `SKEWGUARD_LIVES_SEED` is the first cluster's seed, and `SKEWGUARD_LIVES_KEEP=DIR` keeps gathers
//! that failed, with truth and answer.

mod certificate;
mod cluster;
mod dice;
mod fates;
mod gather;
mod held;
mod machine;
mod moment;
mod server;
mod tally;
mod truth;

use cluster::{Cluster, World};
use gather::Missing;
use moment::HOUR;
use serde_json::Value;
use skewguard_admin::cli::Exit;
use std::path::Path;
use tally::{Life, Tally};
use truth::judge;

const LIVES: usize = 2000;
const LIVES_OF_A_CLUSTER: usize = 8;
/// Fates that the program does not tell yet, and what `held`, `gather` and `machine` name so: by hand they
/// are lived and held, too.
const NOT_YET: &[&str] = &[];

/// A gather, its truth, and what was said of it.
struct Answer {
    texts: Vec<String>,
    report: Option<Value>,
}

#[test]
fn what_is_certain_is_true() {
    let number = |name: &str| std::env::var(name).ok().map(|n| n.parse::<u64>().unwrap());
    let lives = number("SKEWGUARD_LIVES");
    let first = number("SKEWGUARD_LIVES_SEED").unwrap_or(1);
    let count = lives.map_or(LIVES, |lives| usize::try_from(lives).unwrap());
    let is_all = lives.is_some();
    let clusters = u64::try_from(count.div_ceil(LIVES_OF_A_CLUSTER)).unwrap();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let tally = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..u64::try_from(threads).unwrap())
            .map(|worker| {
                scope.spawn(move || {
                    let mut tally = Tally::new(is_all);
                    let step = usize::try_from(u64::try_from(threads).unwrap()).unwrap();
                    for seed in (first + worker..first + clusters).step_by(step) {
                        live(seed, is_all, &mut tally);
                    }
                    tally
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .fold(Tally::new(is_all), Tally::and)
    });
    if is_all {
        eprintln!("{tally}");
    }
    tally.hold();
}

/// One cluster, its gather, and what is said of it.
fn live(seed: u64, is_all: bool, tally: &mut Tally) {
    let mut cluster = people(seed, is_all);
    let missing = Missing::any(&mut cluster);
    let dir = tempfile::tempdir().unwrap();
    let birth = cluster.now - 5 * HOUR;
    gather::write(&mut cluster, missing, birth, dir.path());
    let answer = ask(dir.path(), seed.is_multiple_of(3) || is_all);
    let is_whole = missing == Missing::Nothing && cluster.balancers.is_empty();
    let about = format!(
        "seed {seed} ({:?}, {}, {} servers, missing: {missing:?}{})",
        cluster.world,
        cluster.release.name,
        cluster.servers.len(),
        if cluster.balancers.is_empty() {
            ""
        } else {
            ", NAT"
        },
    );
    let begin = tally.faults();
    held::check(&cluster, missing, &answer, &about, tally);
    for truth in &cluster.truths {
        let of: Vec<&Value> = machines(&answer)
            .into_iter()
            .filter(|machine| is_of(machine, &truth.names))
            .collect();
        let (worth, note) = judge(truth, &of, is_whole, missing.hides_machines());
        tally.add(Life {
            about: &about,
            truth,
            is_whole,
            worth,
            note,
            answers: of,
        });
    }
    if tally.faults() > begin {
        keep(seed, dir.path(), &cluster, &answer);
    }
}

fn is_of(machine: &Value, names: &[String]) -> bool {
    names.iter().any(|name| machine["name"] == **name)
}

fn machines(answer: &Answer) -> Vec<&Value> {
    match &answer.report {
        Some(report) => report["machines"].as_array().unwrap().iter().collect(),
        None => Vec::new(),
    }
}

/// The cluster with its machines, each with its fate.
fn people(seed: u64, is_all: bool) -> Cluster {
    let mut dice = dice::Dice::new(seed ^ 0x6c69_7665);
    let world = match dice.below(40) {
        0..=18 => World::Machines,
        19..=27 => World::Hosts,
        28..=31 => World::Loners,
        32..=34 => World::Agents,
        35..=38 => World::Hosted,
        _ => World::TwoClusters,
    };
    let mut cluster = Cluster::new(seed, world, is_all);
    let mut fates = fates::of(world);
    fates.retain(|(name, _)| cluster.is_due(name));
    if matches!(world, World::Machines | World::Hosts) {
        for _ in 0..cluster.dice.range(1, 4) {
            let born = cluster.waiting();
            cluster.join(&born);
        }
    }
    while cluster.truths.len() < LIVES_OF_A_CLUSTER {
        let (_, fate) = cluster.dice.pick(&fates);
        let truth = fate(&mut cluster);
        cluster.truths.push(truth);
    }
    if matches!(world, World::Machines | World::Hosts) {
        cluster.sets();
        let stale = usize::from(cluster.has_stale_user_data());
        cluster.user_data(&certificate::roots()[stale].clone());
    }
    cluster
}

fn ask(dir: &Path, is_text: bool) -> Answer {
    let from = dir.to_str().unwrap();
    let mut texts = Vec::new();
    let (json, err, exit) = crate::audit::run(&["why", "--from", from, "-o", "json"]);
    let report = (exit == Exit::Done).then(|| serde_json::from_str(&json).unwrap());
    texts.extend([json, err]);
    if is_text {
        let (text, err, _) = crate::audit::run(&["why", "--from", from]);
        texts.extend([text, err]);
    }
    Answer { texts, report }
}

fn keep(seed: u64, dir: &Path, cluster: &Cluster, answer: &Answer) {
    let Ok(root) = std::env::var("SKEWGUARD_LIVES_KEEP") else {
        return;
    };
    let to = Path::new(&root).join(seed.to_string());
    copy(dir, &to.join("gather"));
    std::fs::write(to.join("truth.txt"), format!("{:#?}", cluster.truths)).unwrap();
    std::fs::write(to.join("answer.txt"), answer.texts.join("\n")).unwrap();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
