//! A first run that is killed at every system call that changes something, mended by the report, by
//! the next boot or not at all, killed again in the mend, and what later boots make of it.
//!
//! The truth is kept here, apart from the agent: whether a node was ever held, and what the server
//! got. States that differ in nothing but temporary files are followed once.

pub(crate) mod futures;
pub(crate) mod node;

use super::{CHANGES, KILL, traced};
use crate::support::world;
use node::{Place, State};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the node is made from, and so what is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Image {
    /// Refused by its version.
    Old,
    /// Refused by the space in its /boot.
    Small,
    Allowed,
}

/// What an earlier installation left on /var.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Var {
    New,
    Certificate,
    /// What it told the cluster, and its verdict.
    Told,
    Both,
}

#[derive(Debug, Clone, Copy)]
struct World {
    image: Image,
    var: Var,
    /// The clock was not set when Ignition wrote the config.
    is_1970: bool,
}

fn worlds() -> Vec<World> {
    let mut worlds = Vec::new();
    for image in [Image::Old, Image::Small, Image::Allowed] {
        for var in [Var::New, Var::Certificate, Var::Told, Var::Both] {
            worlds.extend([false, true].map(|is_1970| World {
                image,
                var,
                is_1970,
            }));
        }
    }
    worlds
}

/// What was done to a node so far.
#[derive(Debug, Clone)]
struct Life {
    /// In words.
    story: String,
    /// The boot it is on.
    boot: u32,
    /// A boot of it was held, and nothing has let it go since.
    was_held: bool,
}

/// The runs of one sweep.
#[derive(Default)]
struct Sweep {
    runs: AtomicUsize,
    wrong: Mutex<Vec<String>>,
}

impl Sweep {
    fn wrong(&self, what: String) {
        self.wrong.lock().expect("a lock").push(what);
    }

    /// Does this in all places at once, for every one of `items`.
    fn each<T: Sync>(&self, places: &[Place], items: &[T], work: impl Fn(&Place, &T) + Sync) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for place in places {
                let (next, work) = (&next, &work);
                scope.spawn(move || {
                    while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                        work(place, item);
                    }
                });
            }
        });
    }

    /// Every state in which a kill leaves these nodes while they run a command, and the one in which
    /// it comes to its end.
    fn cut(
        &self,
        places: &[Place],
        from: &[(Life, State)],
        args: &[&str],
        calls: &[&'static str],
        every: usize,
    ) -> Vec<(Life, State)> {
        let found = Mutex::new(BTreeMap::new());
        let mut kills = Vec::new();
        for (life, state) in from {
            let place = &places[0];
            place.load(state);
            let (output, trace) = traced(place.root(), args, calls, None);
            self.runs.fetch_add(1, Ordering::Relaxed);
            if output.status.code() == Some(2) {
                self.wrong(format!("{}: {args:?}: {output:?}", life.story));
            }
            self.keep(place, life, &format!("{} to its end", args[0]), &found);
            let count = |call: &str| trace.matches(&format!(" {call}(")).count();
            for call in calls {
                kills.extend((1..=count(call)).map(|nth| (life, state, *call, nth)));
            }
        }
        let kills: Vec<_> = kills.into_iter().step_by(every).collect();
        self.each(places, &kills, |place, (life, state, call, nth)| {
            place.load(state);
            let inject = format!("{call}:{KILL}:when={nth}");
            let (output, _) = traced(place.root(), args, &[call], Some(&inject));
            self.runs.fetch_add(1, Ordering::Relaxed);
            let what = format!("{} killed at {call} {nth}", args[0]);
            if output.status.success() {
                self.wrong(format!("{}, {what}: it is not killed", life.story));
            }
            self.keep(place, life, &what, &found);
        });
        found.into_inner().expect("a lock").into_values().collect()
    }

    fn keep(
        &self,
        place: &Place,
        life: &Life,
        what: &str,
        found: &Mutex<BTreeMap<String, (Life, State)>>,
    ) {
        let life = Life {
            story: format!("{}, {what}", life.story),
            was_held: life.was_held || place.is_held(),
            ..*life
        };
        let key = format!("{} {}", life.was_held, place.fingerprint());
        if !found.lock().expect("a lock").contains_key(&key) {
            let state = place.save();
            found
                .lock()
                .expect("a lock")
                .entry(key)
                .or_insert((life, state));
        }
    }
}

/// System calls after which another run finds something else.
const STEPS: [&str; 5] = ["mkdirat", "linkat", "symlinkat", "unlinkat", "renameat"];

/// All of one world. `every`: one in so many kills.
fn sweep(sweep: &Sweep, places: &[Place], world: World, every: usize, is_deep: bool) -> usize {
    let base = node::base(&places[0], world);
    let life = Life {
        story: format!("{world:?}"),
        boot: 1,
        was_held: false,
    };
    let first = sweep.cut(places, &[(life, base)], &["enforce"], &CHANGES, every);
    if world.image == Image::Allowed {
        for (life, _) in first.iter().filter(|(life, _)| life.was_held) {
            sweep.wrong(format!("{}: an allowed node is held", life.story));
        }
    }
    // Mended by the report, which may be killed, too; or not.
    let report = ["report", "--once"];
    let (steps, every_step) = if is_deep {
        (&STEPS[..], every)
    } else {
        (&[][..], 1)
    };
    let mended = sweep.cut(places, &first, &report, steps, every_step);
    let mut lives = [&first[..], &mended].concat();
    if is_deep {
        // By the next boot, which is killed.
        let second = first.iter().map(|(life, state)| {
            places[0].load(state);
            places[0].reboot(2);
            let life = Life {
                boot: 2,
                ..life.clone()
            };
            (life, places[0].save())
        });
        let second: Vec<_> = second.collect();
        let cut = sweep.cut(places, &second, &["enforce"], &STEPS, every);
        let reported = sweep.cut(places, &cut, &report, &[], 1);
        lives.extend([cut, reported].concat());
    }
    sweep.each(places, &lives, |place, (life, state)| {
        futures::follow(sweep, place, world, life, state);
    });
    lives.len()
}

fn all(dir: &Path, summary: &Path) {
    let is_all = std::env::var("SKEWGUARD_TEST_FAULTS").is_ok_and(|wanted| wanted == "all");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let places: Vec<Place> = (0..threads)
        .map(|n| Place::new(dir, &format!("node{n}")))
        .collect();
    let sweep_of = Sweep::default();
    let mut said = String::new();
    // The sample has a few kills of every third world.
    let some = if is_all { 1 } else { 3 };
    for (n, world) in worlds().into_iter().enumerate().step_by(some) {
        let is_deep = is_all && world.var == Var::Both && world.is_1970;
        let every = if is_all { 1 } else { 23 + n % 5 };
        let before = sweep_of.runs.load(Ordering::Relaxed);
        let states = sweep(&sweep_of, &places, world, every, is_deep);
        let runs = sweep_of.runs.load(Ordering::Relaxed) - before;
        said.push_str(&format!("{world:?}: {states} states, {runs} runs\n"));
        std::fs::write(summary, &said).expect("written");
    }
    let wrong = sweep_of.wrong.into_inner().expect("a lock");
    let runs = sweep_of.runs.into_inner();
    said.push_str(&format!("{runs} runs, {} wrong\n", wrong.len()));
    std::fs::write(summary, &said).expect("written");
    assert!(wrong.is_empty(), "{}\n{said}", wrong.join("\n"));
    assert!(runs > 500, "{said}");
}

/// In a mount namespace of its own: /boot is a file system, and no first request is spread over
/// seconds at random.
#[test]
fn a_node_that_was_held_stays_so_and_no_other_is_whatever_was_cut_off() {
    let summary = tempfile::NamedTempFile::new().expect("a temporary file");
    let script = format!(
        "mount -t tmpfs -o mode=755 tmpfs \"$W\"\nmount --bind /dev/zero /dev/urandom\nexport SKEWGUARD_TEST_SUMMARY='{}'",
        summary.path().display()
    );
    let name =
        "faults::cut_off::a_node_that_was_held_stays_so_and_no_other_is_whatever_was_cut_off";
    world::alone(name, &[], &script, "", |dir| {
        let summary = std::env::var("SKEWGUARD_TEST_SUMMARY").expect("set");
        all(Path::new(dir), Path::new(&summary));
    });
    eprint!("{}", std::fs::read_to_string(summary).expect("read"));
}
