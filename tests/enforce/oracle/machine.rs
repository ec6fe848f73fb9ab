//! The node of a history: its files, its clock, and what a power cut takes of them.

use super::model::{HELD, Hours, Image, MAYBE, ON, UNREADABLE};
use crate::faults::cut_off::node::{CERTIFICATE, CONFIG, Place, State, copy, set_time};
use crate::faults::{KILL, program, trace_of};
use crate::support::certificate::signed;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

pub(super) const RECORD: &str = "etc/skewguard/boot-image.json";
pub(super) const SERVED: &str = "etc/mcs-machine-config-content.json";
const SPACE: &str = r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce","onUndetermined":"Refuse","limits":[{"minimumBootFreeMiB":32}]}"#;
const DEPLOYMENTS: &str = "sysroot/ostree/deploy/rhcos/deploy";

/// What a power cut takes of what was renamed and not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    Nothing,
    /// The new name of a file reached the disk, and not its content.
    Content,
    /// Not even the name.
    Name,
}

pub(super) struct Machine<'a> {
    pub(super) place: &'a Place,
    pub(super) boot: u32,
    pub(super) clock: Hours,
    /// The boot of the installation, which has its argument.
    installed: u32,
    /// A /var that is mounted after the first boot, with this certificate.
    late: Option<String>,
    is_read_only: bool,
    certificates: Vec<String>,
}

fn tree(image: Image) -> PathBuf {
    let tree = match image {
        Image::Refused => crate::enforce::REFUSED,
        Image::Allowed | Image::Space => crate::enforce::ALLOWED,
    };
    crate::enforce::sample(tree)
}

fn mount(args: &[&str], at: &Path) {
    let status = Command::new("mount").args(args).arg(at).status();
    assert!(status.expect("mount starts").success());
}

impl<'a> Machine<'a> {
    pub(super) fn new(place: &'a Place, image: Image) -> Self {
        let machine = Self {
            place,
            boot: 0,
            clock: 0,
            installed: 1,
            late: None,
            is_read_only: false,
            certificates: Vec::new(),
        };
        place.clear();
        machine.lay(image, &["."]);
        for rest in ["boot/ostree/rhcos-2", "boot/loader/entries/ostree-2.conf"] {
            let _ = fs::remove_dir_all(place.path(rest));
        }
        machine.fill(false);
        fs::create_dir_all(place.path("var/lib")).expect("made");
        let files = [
            ("etc/hostname", "worker-3\n"),
            ("etc/machine-id", "0123456789abcdef0123456789abcdef"),
            (
                "etc/kubernetes/kubeconfig",
                crate::faults::cut_off::futures::NOBODY,
            ),
        ];
        for (path, text) in files {
            place.write(path, text);
        }
        machine
    }

    /// Puts folders of an image's tree there.
    fn lay(&self, image: Image, folders: &[&str]) {
        for folder in folders {
            copy(&tree(image).join(folder), &self.place.path(folder));
        }
        if image == Image::Space {
            let _ = fs::remove_file(self.place.path(SERVED));
            self.place.write("etc/skewguard/policy.json", SPACE);
        }
    }

    pub(super) fn is_first(&self) -> bool {
        self.boot == self.installed
    }

    /// The next boot, with the argument of a first one on that and where it is repeated.
    pub(super) fn reboots(&mut self, is_repeated: bool, words: &str) {
        self.boot += 1;
        self.place.reboot(self.boot);
        let first = if self.is_first() || is_repeated {
            "ignition.firstboot "
        } else {
            ""
        };
        let line = self.place.read("proc/cmdline");
        let line = line.replace("ignition.firstboot ", "");
        let (_, line) = line.split_once("BOOT_IMAGE").expect("a real one");
        self.place
            .write("proc/cmdline", &format!("{first}{words} BOOT_IMAGE{line}"));
        if self.is_first() {
            self.set_written(self.clock);
        }
        if let Some(certificate) = self.late.take_if(|_| self.boot > self.installed) {
            let var = self.place.path("var");
            fs::create_dir_all(&var).expect("made");
            mount(&["-t", "tmpfs", "tmpfs"], &var);
            self.place.write(CERTIFICATE, &certificate);
        }
    }

    pub(super) fn set_written(&self, clock: Hours) {
        let off = Duration::from_secs(clock.unsigned_abs() * 3600);
        let now = SystemTime::now();
        let time = if clock < 0 { now - off } else { now + off };
        set_time(&self.place.path(CONFIG), time);
    }

    fn command(&self, shim: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.arg(args[0]).arg("--root").arg(self.place.root());
        command.args(&args[1..]);
        if self.clock != 0 {
            command.env("LD_PRELOAD", shim);
            command.env("SKEWGUARD_TEST_CLOCK", (self.clock * 3600).to_string());
        }
        command
    }

    pub(super) fn run(&self, shim: &Path, args: &[&str]) -> Output {
        self.command(shim, args).output().expect("skewguard starts")
    }

    /// What `skewguard.service` makes of this boot; once the config has its new name that does not
    /// run, and `check` says what it would.
    pub(super) fn decides(&self, shim: &Path) -> (char, Value) {
        let (output, verdict) = if self.place.path(CONFIG).exists() {
            let output = self.run(shim, &["enforce"]);
            let verdict = self.place.read("run/skewguard/verdict.json");
            (output, verdict)
        } else {
            let output = self.run(shim, &["check", "--output", "json"]);
            let verdict = String::from_utf8_lossy(&output.stdout).into_owned();
            (output, verdict)
        };
        let verdict: Value = serde_json::from_str(&verdict).unwrap_or_default();
        let is = |flag: &str| verdict["deployment"][flag] == true;
        let reason = verdict["reason"].as_str().unwrap_or_default();
        let is_lost = matches!(reason, "PolicyInvalid" | "TargetUnknown");
        let fate = match output.status.code() {
            Some(3) => HELD,
            Some(0) if is("mayHaveJoined") => MAYBE,
            Some(0) if is_lost && !is("rebased") && !is("firstBootFinished") => UNREADABLE,
            Some(0) => ON,
            code => panic!("{code:?}: {}", String::from_utf8_lossy(&output.stderr)),
        };
        (fate, verdict)
    }

    /// A certificate, signed that many hours from now; unreadable for `None`. Its number.
    pub(super) fn certificate(&mut self, hours: Option<Hours>, is_late: bool) -> Option<usize> {
        let text = match hours {
            Some(hours) => signed(hours.unsigned_abs() / 24),
            None => String::new(),
        };
        if is_late {
            self.late = Some(text.clone());
        } else {
            let _ = fs::remove_file(self.place.path(CERTIFICATE));
            self.place.write(CERTIFICATE, &text);
        }
        self.certificates.push(text);
        hours.map(|_| self.certificates.len())
    }

    /// The file with another inode, time and size.
    pub(super) fn copied(&self) {
        let text = self.place.read(CERTIFICATE);
        if !text.is_empty() {
            fs::remove_file(self.place.path(CERTIFICATE)).expect("removed");
            self.place.write(CERTIFICATE, &format!("# moved\n{text}"));
        }
    }

    /// Another deployment, of the same base or of another.
    pub(super) fn deploys(&self, commit: &str, origin: Option<&str>, release: Option<&str>) {
        let origin = origin.map_or_else(
            || {
                let first = fs::read_dir(self.place.path(DEPLOYMENTS)).expect("listed");
                let name = first.map(|entry| entry.expect("one").path()).min();
                fs::read_to_string(name.expect("an origin")).expect("read")
            },
            str::to_owned,
        );
        let name = format!("{}.0", commit.repeat(10));
        self.place
            .write(&format!("{DEPLOYMENTS}/{name}.origin"), &origin);
        self.boots_deployment(&name);
        if let Some(release) = release {
            for path in ["usr/lib/os-release", "etc/os-release"] {
                let _ = fs::remove_file(self.place.path(path));
            }
            self.place.write(
                "usr/lib/os-release",
                &format!("ID=rhcos\nOSTREE_VERSION={release}\n"),
            );
        }
    }

    pub(super) fn boots_deployment(&self, name: &str) {
        let links = self.place.path("sysroot/ostree/boot.1/rhcos");
        for link in fs::read_dir(links).expect("listed") {
            let link = link.expect("one").path().join("0");
            fs::remove_file(&link).expect("removed");
            symlink(format!("../../../deploy/rhcos/deploy/{name}"), link).expect("linked");
        }
    }

    /// The image's own again.
    pub(super) fn rolls_back(&self, image: Image) {
        let first = tree(image).join(DEPLOYMENTS);
        let origin = fs::read_dir(first).expect("listed").next().expect("one");
        let name = origin.expect("one").file_name();
        let name = name.to_str().expect("a name");
        self.boots_deployment(name.strip_suffix(".origin").expect("an origin"));
        self.lay(image, &["usr"]);
    }

    /// A new /etc on the same machine.
    pub(super) fn reinstalls(&mut self, image: Image) {
        let machine_id = self.place.read("etc/machine-id");
        fs::remove_dir_all(self.place.path("etc")).expect("removed");
        self.lay(image, &["etc"]);
        self.place.write("etc/machine-id", &machine_id);
        self.place.write(
            "etc/kubernetes/kubeconfig",
            crate::faults::cut_off::futures::NOBODY,
        );
        self.installed = self.boot + 1;
    }

    /// Its /etc and /var on another image.
    pub(super) fn seeds(&self, image: Image) {
        for folder in ["sysroot", "usr"] {
            fs::remove_dir_all(self.place.path(folder)).expect("removed");
        }
        let _ = fs::remove_file(self.place.path("etc/os-release"));
        self.lay(image, &["sysroot", "usr"]);
        let served = tree(image).join(SERVED);
        fs::copy(served, self.place.path(SERVED)).expect("copied");
    }

    pub(super) fn etc_takes_nothing(&mut self) {
        let etc = self.place.path("etc/skewguard");
        fs::create_dir_all(&etc).expect("made");
        mount(&["--bind", etc.to_str().expect("a path")], &etc);
        mount(&["-o", "remount,bind,ro"], &etc);
        self.is_read_only = true;
    }

    pub(super) fn fill(&self, is_full: bool) {
        let kernel = self.place.path("boot/ostree/rhcos-1/kernel");
        let _ = fs::remove_file(&kernel);
        if is_full {
            fs::write(kernel, vec![0; 48 << 20]).expect("written");
        }
    }

    /// Runs a command that is killed as it is about to make the `nth` of these calls. What it has
    /// renamed by then and not synced; `None` if there is no such call.
    pub(super) fn cut(&self, args: &[&str], (call, nth): (&str, usize)) -> Option<Unsynced> {
        let inject = format!("{call}:{KILL}:when={nth}");
        let calls = ["renameat", "fsync", call];
        let (output, trace) = trace_of(self.place.root(), args, &calls, Some(&inject), true);
        let is_killed = output.status.code().is_none() || output.status.code() > Some(128);
        is_killed.then(|| Unsynced::read(&trace, self.place.root()))
    }
}

/// What tells one state from another on the disk, or also in /run: all but times and temporary
/// files.
pub(super) fn fingerprint(place: &Place, with_run: bool) -> String {
    let of_disk = |line: &&str| !line.contains("\"time\"");
    let text = place.fingerprint();
    let text = text.lines().filter(of_disk).collect::<Vec<_>>().join("\n");
    match text.find("\nrun/").filter(|_| !with_run) {
        Some(at) => {
            let rest = text.find("\nsysroot/").unwrap_or(text.len());
            format!("{}{}", &text[..at], &text[rest..])
        }
        None => text,
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        for (path, is) in [("etc/skewguard", self.is_read_only), ("var", true)] {
            if is {
                let mut umount = Command::new("umount");
                let _ = umount.arg("-q").arg(self.place.path(path)).output();
            }
        }
    }
}

/// What a run has renamed without syncing.
pub(super) struct Unsynced {
    /// Files whose content was not synced.
    content: BTreeSet<PathBuf>,
    /// Files whose name was not.
    name: BTreeSet<PathBuf>,
}

impl Unsynced {
    /// From the lines of strace(1), which names the paths of descriptors. Of a system with a journal
    /// a later fsync(2) of anything takes names along; of another one it does not.
    fn read(trace: &str, root: &Path) -> Self {
        let (mut content, mut name) = (BTreeSet::new(), BTreeSet::new());
        let mut synced = BTreeSet::new();
        for line in trace.lines().filter(|line| line.ends_with(" = 0")) {
            let paths: Vec<_> = line
                .split('<')
                .skip(1)
                .filter_map(|rest| rest.split('>').next())
                .map(PathBuf::from)
                .collect();
            let names: Vec<_> = line.split('"').skip(1).step_by(2).collect();
            match (&paths[..], &names[..]) {
                ([from, to], [old, new]) if line.contains(" renameat(") => {
                    let target = to.join(new);
                    match synced.contains(&from.join(old)) {
                        true => content.remove(&target),
                        false => content.insert(target.clone()),
                    };
                    name.insert(target);
                }
                ([path], []) if line.contains(" fsync(") => {
                    name.retain(|target: &PathBuf| target.parent() != Some(path));
                    synced.insert(path.clone());
                }
                _ => {}
            }
        }
        let ours = |path: &PathBuf| {
            path.starts_with(root.join("etc")) || path.starts_with(root.join("var"))
        };
        content.retain(ours);
        name.retain(ours);
        Self { content, name }
    }

    /// The power fails. `before`: the files as they were when the run began.
    pub(super) fn lose(&self, root: &Path, State(before): &State, loss: Loss) {
        match loss {
            Loss::Nothing => {}
            Loss::Content => {
                for path in self.content.iter().filter(|path| path.exists()) {
                    fs::write(path, "").expect("emptied");
                }
            }
            Loss::Name => {
                for path in self.name.iter().chain(&self.content) {
                    let old = before.join(path.strip_prefix(root).expect("below"));
                    let _ = fs::remove_file(path);
                    if old.is_file() {
                        fs::copy(old, path).expect("copied");
                    }
                }
            }
        }
    }
}
