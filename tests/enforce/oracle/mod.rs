//! Histories of nodes, boot after boot, against what the rules say of them ([`model`]), which is
//! written apart from the code: what Ignition and earlier installations leave, clocks, kills and
//! power cuts.

mod machine;
mod model;

use crate::faults::cut_off::node::{CONFIG, Place};
use crate::support::world;
use Step::*;
use machine::{Loss, Machine, RECORD, SERVED};
use model::{Certificate as Seen, HELD, Hours, Image, MAYBE, Model, Text, UNREADABLE};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const DAY: Hours = 24;
const YEARS: Hours = 20 * 365 * DAY;

/// From now to a minute after 1970.
fn of_1970() -> Hours {
    let now = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_secs();
    -Hours::try_from(now / 3600).expect("hours")
}

/// What happens to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The next boot's decision.
    Boot,
    /// With the argument of a first boot, whose removal was not synced.
    Again,
    Off,
    /// `report --once` on this boot.
    Report,
    /// The clock from now on.
    Clock(Hours),
    /// The kubelet's certificate, by when it was signed.
    Certificate(Hours),
    Unreadable,
    /// The same on a /var that is mounted once the first boot is over.
    Late(Hours),
    Copied,
    Record(Text),
    Config(Text),
    ConfigTouched,
    /// The served config, where the policy is.
    Served,
    MachineId,
    /// The daemon's pod ran on a Node.
    Annotated,
    /// The report labelled the Node.
    Labelled,
    /// Packages or kernel arguments.
    Deployed,
    Rebased,
    RolledBack,
    /// A new /etc, and the /var that was there.
    Reinstalled,
    EtcTakesNothing,
    /// /etc and /var on another image, which is allowed.
    Seeded,
    Kernel,
    Entry,
    Full(bool),
}

/// A node, and what it may be by the rules: more than one thing after a kill alone.
struct History<'a> {
    machine: Machine<'a>,
    models: Vec<Model>,
    story: Vec<String>,
    shim: &'a Path,
    /// The certificate of a /var that is still to be mounted.
    late: Option<Seen>,
    /// It has one that no time shows to be old.
    is_fresh: bool,
}

impl<'a> History<'a> {
    fn new(place: &'a Place, image: Image, shim: &'a Path) -> Self {
        Self {
            machine: Machine::new(place, image),
            models: vec![Model::new(image)],
            story: vec![format!("{image:?}")],
            shim,
            late: None,
            is_fresh: false,
        }
    }

    fn each(&mut self, change: impl Fn(&mut Model)) {
        self.models.iter_mut().for_each(change);
    }

    /// Does a step. The fate of a boot, and what is wrong with it.
    fn step(&mut self, step: Step) -> Option<(char, Option<String>)> {
        self.story.push(format!("{step:?}"));
        let place = self.machine.place;
        match step {
            Boot | Again | Off => {
                let words = if step == Off { "skewguard=off" } else { "" };
                return Some(self.boots(step == Again, words));
            }
            Report => {
                self.machine.run(self.shim, &["report", "--once"]);
                let is_first = self.machine.is_first();
                let reported = self.models.iter().flat_map(|it| it.reported(is_first));
                self.models = reported.collect();
            }
            Clock(hours) => {
                self.machine.clock = hours;
                self.each(|it| it.clock = hours);
            }
            Certificate(hours) | Late(hours) => {
                self.certificate(Some(hours), step != Certificate(hours))
            }
            Unreadable => self.certificate(None, false),
            Copied => self.machine.copied(),
            Record(text) => {
                let path = place.path(RECORD);
                let _ = fs::remove_file(&path);
                if text == Text::Damaged {
                    fs::write(path, "").expect("emptied");
                }
                self.each(|it| it.record = None);
            }
            Config(text) => self.config(text),
            ConfigTouched => {
                self.machine.set_written(0);
                self.each(|it| it.written = 0);
            }
            Served => {
                place.write(SERVED, "");
                self.each(|it| it.served = Text::Damaged);
            }
            MachineId => place.write("etc/machine-id", &"e".repeat(32)),
            Annotated => {
                place.write("etc/machine-config-daemon/node-annotation.json.bak", "{}");
                self.each(|it| it.is_annotated = true);
            }
            Labelled => self.labelled(),
            _ => self.changes(step),
        }
        None
    }

    /// A step that is about the system.
    fn changes(&mut self, step: Step) {
        let (place, image) = (self.machine.place, self.models[0].image);
        match step {
            Deployed => self.machine.deploys("facade", None, None),
            Rebased => {
                let origin = "[origin]\ncontainer-image-reference=ostree-unverified-registry:quay.io/ocp:4.18\n";
                let release = Some("418.94.202501221327-0");
                self.machine.deploys("decade", Some(origin), release);
                self.each(|it| it.is_rebased = true);
            }
            RolledBack => {
                self.machine.rolls_back(image);
                self.each(|it| it.is_rebased = false);
            }
            Reinstalled => {
                self.machine.reinstalls(image);
                self.each(|it| {
                    *it = Model {
                        boot: it.boot,
                        clock: it.clock,
                        certificate: it.certificate,
                        file_system: it.file_system,
                        label: it.label,
                        has_room: it.has_room,
                        is_alone: it.is_alone,
                        is_rebased: it.is_rebased,
                        ..Model::new(it.image)
                    }
                });
            }
            EtcTakesNothing => {
                self.machine.etc_takes_nothing();
                self.each(|it| it.takes_files = false);
            }
            Seeded => {
                self.machine.seeds(Image::Allowed);
                self.each(|it| it.image = Image::Allowed);
            }
            Kernel | Entry => {
                let path = match step {
                    Kernel => "boot/ostree/rhcos-2",
                    _ => "boot/loader/entries/ostree-2.conf",
                };
                fs::create_dir_all(place.path(path)).expect("made");
                self.each(|it| it.is_alone = false);
            }
            Full(is_full) => {
                self.machine.fill(is_full);
                self.each(|it| it.has_room = !is_full);
            }
            _ => unreachable!("{step:?}"),
        }
    }

    fn certificate(&mut self, hours: Option<Hours>, is_late: bool) {
        let number = self.machine.certificate(hours, is_late);
        let signed = hours.unwrap_or_default();
        self.is_fresh |= signed > -DAY;
        if is_late {
            self.late = Some(Seen { number, signed });
        } else {
            self.each(|it| it.certificate = Some(Seen { number, signed }));
        }
    }

    fn config(&mut self, text: Text) {
        let place = self.machine.place;
        match text {
            Text::Gone => fs::rename(place.path(CONFIG), place.path(&format!("{CONFIG}.bak")))
                .expect("renamed"),
            _ => place.write(CONFIG, ""),
        }
        self.each(|it| (it.config, it.written) = (text, 0));
    }

    fn labelled(&mut self) {
        let boot = self.machine.boot;
        let state = serde_json::json!({ "apiVersion": "skewguard.dev/v1alpha1", "kind": "ReportState",
            "installation": format!("{boot:08}-1111-1111-1111-111111111111"), "nodePatch": "00" });
        let path = "var/lib/skewguard/report-state.json";
        self.machine.place.write(path, &state.to_string());
        self.each(|it| it.label = Some(boot));
    }

    fn reboots(&mut self, is_again: bool, words: &str) -> bool {
        self.machine.reboots(is_again, words);
        let is_first = self.machine.is_first();
        let boot = self.machine.boot;
        let mounted = self.late.take_if(|_| !is_first);
        let clock = self.machine.clock;
        self.each(|it| {
            it.boot = boot;
            if is_first {
                it.written = clock;
            }
            if mounted.is_some() {
                (it.certificate, it.file_system, it.label) = (mounted, 1, None);
            }
        });
        is_first || is_again
    }

    fn boots(&mut self, is_again: bool, words: &str) -> (char, Option<String>) {
        let is_first = self.reboots(is_again, words);
        let (fate, verdict) = self.machine.decides(self.shim);
        let before = std::mem::take(&mut self.models);
        let mut wanted = BTreeSet::new();
        for mut model in before {
            let expected = model.enforce(is_first, !words.is_empty());
            wanted.insert(expected);
            if expected == fate {
                self.models.push(model);
            }
        }
        let mut wrong = None;
        if self.models.is_empty() {
            wrong = Some(format!("{fate}, not {wanted:?}: {}", verdict["message"]));
        }
        let is_said = verdict["warnings"]
            .as_array()
            .is_some_and(|all| !all.is_empty());
        let is_joined = verdict["deployment"]["firstBootFinished"] == true;
        if matches!(fate, MAYBE | UNREADABLE) && (!is_said || is_joined) {
            wrong = Some(format!("{fate} without a word: {verdict}"));
        }
        self.story.push(format!("{fate}"));
        (fate, wrong)
    }
}

/// What was found wrong, from all threads.
#[derive(Default)]
struct Findings {
    boots: AtomicUsize,
    wrong: Mutex<Vec<String>>,
}

impl Findings {
    fn wrong(&self, story: &[String], what: &str) {
        let line = format!("{}: {what}", story.join(", "));
        self.wrong.lock().expect("a lock").push(line);
    }

    /// Plays a history; its fates. It ends where one is wrong.
    fn play(&self, history: &mut History<'_>, steps: &[Step]) -> String {
        let mut fates = String::new();
        for step in steps {
            if let Some((fate, wrong)) = history.step(*step) {
                self.boots.fetch_add(1, Ordering::Relaxed);
                fates.push(fate);
                if let Some(what) = wrong {
                    self.wrong(&history.story, &what);
                    break;
                }
            }
        }
        fates
    }
}

/// The histories that must show, with their fates.
fn told() -> Vec<(Image, Vec<Step>, &'static str)> {
    let (damaged, gone) = (Text::Damaged, Text::Gone);
    let refused: &[(&[Step], &str)] = &[
        // A kept certificate that was looked at, then copied; any clock.
        (
            &[
                Certificate(-400 * DAY),
                Boot,
                Copied,
                Boot,
                Clock(YEARS),
                Boot,
                Clock(of_1970()),
                Boot,
            ],
            "HHHH",
        ),
        (&[Certificate(0), Boot, Copied, Boot, Boot], "HHH"),
        (
            &[
                Clock(of_1970()),
                Certificate(-30 * DAY),
                Boot,
                Copied,
                Clock(0),
                Boot,
            ],
            "HH",
        ),
        // A /var that is mounted late, or a certificate that cannot be read at first.
        (&[Late(-2 * DAY), Boot, Boot, Boot], "HHH"),
        (
            &[Clock(-8), Late(-30 * DAY), Boot, Clock(0), Boot, Boot],
            "HHH",
        ),
        (
            &[Clock(8), Late(-30 * DAY), Boot, Boot, Clock(0), Boot],
            "HHH",
        ),
        (
            &[
                Unreadable,
                Boot,
                Certificate(-30 * DAY),
                Boot,
                Unreadable,
                Boot,
                Certificate(-30 * DAY),
                Boot,
            ],
            "HHWH",
        ),
        (&[Clock(of_1970()), Late(-30 * DAY), Boot, Boot], "HW"),
        (&[Clock(YEARS), Late(-30 * DAY), Boot, Boot], "HW"),
        (&[Late(0), Boot, Boot], "HW"),
        // A record that was cut.
        (
            &[Certificate(-30 * DAY), Boot, Record(damaged), Boot, Boot],
            "HHH",
        ),
        (
            &[
                Certificate(-30 * DAY),
                Boot,
                Record(gone),
                Boot,
                Report,
                Boot,
            ],
            "HHH",
        ),
        (&[Boot, Record(damaged), Config(damaged), Boot], "HU"),
        (&[Boot, Record(damaged), Served, Boot], "HU"),
        // A refusal whose hold stood.
        (&[Boot, Config(damaged), Boot, Boot], "HHH"),
        (&[Boot, Served, Boot, Report, Boot], "HHH"),
        (&[Boot, Served, Off, Boot], "HGH"),
        (&[Boot, Config(damaged), Rebased, Boot], "HG"),
        (&[Boot, Config(damaged), Certificate(0), Boot], "HG"),
        (&[Boot, Config(damaged), Annotated, Boot], "HG"),
        // What is no identity, and what is a new installation.
        (&[Boot, MachineId, Boot, ConfigTouched, Boot], "HHH"),
        (&[Certificate(0), Boot, Reinstalled, Boot, Boot], "HHH"),
        (
            &[Off, Certificate(0), Boot, Labelled, Reinstalled, Boot, Boot],
            "GGHH",
        ),
        (&[Certificate(-30 * DAY), Boot, Again, Boot], "HHH"),
        (&[EtcTakesNothing, Boot, Boot], "HH"),
        // It joined two minutes after the first run, without a rebase.
        (&[Off, Certificate(0), Boot, Deployed, Boot], "GGG"),
        (&[Clock(2), Off, Certificate(0), Boot, Boot], "GGG"),
        (
            &[Clock(8), Off, Certificate(0), Boot, Clock(0), Boot],
            "GGG",
        ),
        (
            &[
                Clock(YEARS),
                Off,
                Certificate(0),
                Boot,
                Record(damaged),
                Boot,
                Boot,
            ],
            "GGWW",
        ),
        (
            &[Off, Certificate(0), Record(damaged), Boot, Report, Boot],
            "GWW",
        ),
        (&[Off, Unreadable, Boot], "GW"),
        (&[Off, Labelled, Boot], "GG"),
        (&[Certificate(-30 * DAY), Off, Annotated, Boot], "GG"),
        // Rebased with the config there, in two steps, and back.
        (&[Off, Rebased, Boot, Boot], "GGG"),
        (&[Off, Rebased, Record(damaged), Boot], "GG"),
        (
            &[
                Boot,
                Rebased,
                Boot,
                Config(gone),
                Annotated,
                RolledBack,
                Boot,
            ],
            "HGG",
        ),
        (&[Boot, Record(gone), Config(gone), Boot], "HW"),
        (&[Boot, Deployed, Boot], "HH"),
        // The record of a seed.
        (&[Boot, Seeded, Boot, Boot], "HGG"),
    ];
    let space: &[(&[Step], &str)] = &[
        (&[Boot, Record(gone), Kernel, Full(true), Boot], "GG"),
        (&[Boot, Record(gone), Entry, Full(true), Boot], "GG"),
        (
            &[Boot, Kernel, Full(true), Boot, Record(damaged), Boot],
            "GGG",
        ),
        (&[Full(true), Boot, Full(false), Boot], "HG"),
        (&[Full(true), Boot, Boot], "HH"),
    ];
    let of = |image, all: &[(&[Step], &'static str)]| -> Vec<_> {
        all.iter()
            .map(|(steps, fates)| (image, steps.to_vec(), *fates))
            .collect()
    };
    let mut told = of(Image::Refused, refused);
    told.extend(of(Image::Space, space));
    told
}

/// Histories in which each thing meets each other thing.
fn pairs() -> Vec<Vec<Step>> {
    let (damaged, gone) = (Text::Damaged, Text::Gone);
    let parts: [&[&[Step]]; 5] = [
        &[
            &[],
            &[Clock(8)],
            &[Clock(-8)],
            &[Clock(of_1970())],
            &[Clock(YEARS)],
        ],
        &[
            &[],
            &[Certificate(-400 * DAY)],
            &[Certificate(0)],
            &[Unreadable],
            &[Late(-400 * DAY)],
            &[Late(0)],
        ],
        &[&[Boot], &[Off], &[Boot, Report]],
        &[&[], &[Record(damaged)], &[Record(gone)]],
        &[
            &[],
            &[Copied],
            &[MachineId],
            &[ConfigTouched],
            &[Config(damaged)],
            &[Served],
            &[Certificate(0)],
            &[Unreadable],
            &[Annotated],
            &[Labelled],
            &[Rebased],
            &[Deployed],
            &[Again],
            &[Clock(0)],
            &[Config(gone)],
            &[Reinstalled],
        ],
    ];
    let mut open: BTreeSet<[usize; 4]> = BTreeSet::new();
    for (a, first) in parts.iter().enumerate() {
        for (b, second) in parts.iter().enumerate().skip(a + 1) {
            let all = (0..first.len()).flat_map(|n| (0..second.len()).map(move |m| [a, n, b, m]));
            open.extend(all);
        }
    }
    let mut random = 1_u64;
    let mut found = Vec::new();
    while let Some([a, n, b, m]) = open.pop_first() {
        let chosen: Vec<usize> = (0..parts.len())
            .map(|part| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let any = usize::try_from(random >> 33).expect("31 bits") % parts[part].len();
                [(a, n), (b, m)]
                    .into_iter()
                    .find(|it| it.0 == part)
                    .map_or(any, |it| it.1)
            })
            .collect();
        open.retain(|[a, n, b, m]| chosen[*a] != *n || chosen[*b] != *m);
        let steps = chosen
            .iter()
            .enumerate()
            .flat_map(|(part, n)| parts[part][*n]);
        found.push(steps.copied().chain([Boot, Boot]).collect());
    }
    found
}

/// The command that is killed at each of its changes, after these steps.
const KILLED: [(&[Step], Step); 6] = [
    (&[], Boot),
    (&[Certificate(-400 * DAY)], Boot),
    (&[Certificate(0)], Boot),
    (&[Certificate(-400 * DAY), Boot], Again),
    (&[Off, Certificate(0)], Boot),
    (&[Boot], Report),
];

/// System calls that a run is killed at.
const CALLS: [&str; 6] = [
    "renameat",
    "fsync",
    "unlinkat",
    "linkat",
    "symlinkat",
    "mkdirat",
];

/// A run that is killed wherever it changes something, and the power that fails then: what later
/// boots make of what is left. Where the power stays the report comes first.
fn kills(findings: &Findings, place: &Place, shim: &Path, (steps, killed): (&[Step], Step)) {
    let mut history = History::new(place, Image::Refused, shim);
    findings.play(&mut history, steps);
    let (args, is_first): (&[&str], _) = match killed {
        Report => (&["report", "--once"], history.machine.is_first()),
        _ => (&["enforce"], history.reboots(killed == Again, "")),
    };
    let before = place.save();
    let left = history.models.iter().flat_map(|it| match killed {
        Report => it.reported(is_first),
        _ => it.cut(is_first),
    });
    let left: Vec<_> = left.collect();
    let boot = history.machine.boot;
    let (story, mut seen) = (history.story.clone(), BTreeSet::new());
    let kills = CALLS
        .iter()
        .flat_map(|call| (1..200).map(move |nth| (*call, nth)));
    let mut over = BTreeSet::new();
    for (call, nth) in kills {
        place.load(&before);
        if over.contains(call) {
            continue;
        }
        let Some(unsynced) = history.machine.cut(args, (call, nth)) else {
            over.insert(call);
            continue;
        };
        let (was_held, state) = (place.is_held(), place.save());
        for (loss, steps) in [
            (Loss::Nothing, &[Report, Boot][..]),
            (Loss::Nothing, &[Boot, Boot]),
            (Loss::Content, &[Boot, Boot]),
            (Loss::Name, &[Boot, Boot]),
        ] {
            place.load(&state);
            unsynced.lose(place.root(), &before, loss);
            let is_mended = steps[0] == Report;
            if !seen.insert((was_held, is_mended, machine::fingerprint(place, is_mended))) {
                continue;
            }
            history.models.clone_from(&left);
            history.story.clone_from(&story);
            history.machine.boot = boot;
            let what = format!("{killed:?} killed at {call} {nth}, {loss:?} lost");
            history.story.push(what);
            let fates = findings.play(&mut history, steps);
            if was_held && !history.is_fresh && fates.contains(|fate| fate != HELD) {
                findings.wrong(&history.story, "it was held, and is let in");
            }
        }
    }
}

/// All histories, those that are told by their fates, too.
fn all(dir: &Path) -> String {
    let shim = dir.join("clock.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/enforce/oracle/clock.c");
    let cc = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&shim)
        .arg(source)
        .status();
    assert!(cc.expect("cc starts").success());
    let findings = Findings::default();
    let told = told();
    let pairs: Vec<_> = pairs()
        .into_iter()
        .map(|steps| (Image::Refused, steps, ""))
        .collect();
    let histories = [&told[..], &pairs].concat();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (next, findings, shim, histories) = (&next, &findings, &shim, &histories);
            scope.spawn(move || {
                let place = Place::new(dir, &format!("node{thread}"));
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if let Some(killed) = KILLED.get(n) {
                        kills(findings, &place, shim, *killed);
                    } else if let Some((image, steps, fates)) = histories.get(n - KILLED.len()) {
                        let mut history = History::new(&place, *image, shim);
                        let played = findings.play(&mut history, steps);
                        if !fates.is_empty() && played != *fates {
                            findings.wrong(&history.story, &format!("told: {fates}"));
                        }
                    } else {
                        break;
                    }
                }
            });
        }
    });
    let boots = findings.boots.into_inner();
    let wrong = findings.wrong.into_inner().expect("a lock");
    let said = format!(
        "{} histories, {boots} boots, {} wrong",
        histories.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}\n{said}", wrong.join("\n"));
    assert!(boots > 500, "{said}");
    said
}

/// In a mount namespace of its own: /boot and a late /var are file systems, and the report's first
/// request is not spread over seconds at random.
#[test]
fn every_history_comes_to_what_the_rules_say() {
    let script = "mount -t tmpfs -o mode=755 tmpfs \"$W\"\nmount --bind /dev/zero /dev/urandom";
    let name = "enforce::oracle::every_history_comes_to_what_the_rules_say";
    world::alone(name, &[], script, "", |dir| {
        eprintln!("{}", all(Path::new(dir)));
    });
}
