//! Nodes of the sweep: a place in which they run, and their files apart from it.

use super::{Image, Var, World};
use crate::faults::{files, is_temporary, skewguard};
use crate::support::certificate::signed;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) const CONFIG: &str = "etc/ignition-machine-config-encapsulated.json";
pub(crate) const CERTIFICATE: &str = "var/lib/kubelet/pki/kubelet-client-current.pem";
const MACHINE: &str = "0123456789abcdef0123456789abcdef";
/// The id of the earlier installation.
pub(super) const EARLIER_ID: &str = "99999999-1111-1111-1111-111111111111";

/// A directory that a node runs in. Its /boot is a file system with 64 MiB.
pub(crate) struct Place {
    root: PathBuf,
}

/// The files of a node that does not run.
#[derive(Clone)]
pub(crate) struct State(pub(crate) PathBuf);

static STATES: AtomicUsize = AtomicUsize::new(0);

impl Place {
    pub(crate) fn new(dir: &Path, name: &str) -> Self {
        let root = dir.join(name);
        fs::create_dir_all(root.join("boot")).expect("made");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"])
            .arg(root.join("boot"))
            .status();
        assert!(status.expect("mount starts").success());
        for folder in ["boot/ostree/rhcos-1", "boot/loader/entries/ostree-1.conf"] {
            fs::create_dir_all(root.join(folder)).expect("made");
        }
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn clear(&self) {
        for entry in fs::read_dir(&self.root).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_symlink() || path.is_file() {
                fs::remove_file(path).expect("removed");
            } else if !path.ends_with("boot") {
                fs::remove_dir_all(path).expect("removed");
            }
        }
    }

    /// Makes this the node that runs here.
    pub(crate) fn load(&self, State(state): &State) {
        self.clear();
        copy(state, &self.root);
    }

    pub(crate) fn save(&self) -> State {
        let number = STATES.fetch_add(1, Ordering::Relaxed);
        let state = self.root.with_file_name(format!("state{number}"));
        copy(&self.root, &state);
        State(state)
    }

    pub(crate) fn is_held(&self) -> bool {
        self.path("run/skewguard/refused").exists()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let bytes = fs::read(self.path(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// What tells one state from another: all but times, and temporary files.
    pub(crate) fn fingerprint(&self) -> String {
        let mut text = String::new();
        for (path, bytes) in files(&self.root) {
            if !is_temporary(&path) && !path.starts_with("proc/") {
                let bytes = String::from_utf8_lossy(&bytes).into_owned();
                // When the last Event was.
                let bytes: Vec<_> = bytes
                    .lines()
                    .filter(|line| !line.contains("\"at\""))
                    .collect();
                text.push_str(&format!("{path}\n{}\n", bytes.join("\n")));
            }
        }
        text
    }

    /// The next boot: /run is empty.
    pub(crate) fn reboot(&self, boot: u32) {
        let _ = fs::remove_dir_all(self.path("run"));
        self.write("run/ostree-booted", "");
        let id = format!("{boot:08}-1111-1111-1111-111111111111\n");
        self.write("proc/sys/kernel/random/boot_id", &id);
        let line = self.read("proc/cmdline").replace("ignition.firstboot ", "");
        let first = if boot == 1 { "ignition.firstboot " } else { "" };
        self.write("proc/cmdline", &format!("{first}{line}"));
    }

    /// The kubelet has got a certificate.
    pub(super) fn join(&self) {
        let _ = fs::remove_file(self.path(CERTIFICATE));
        self.write(CERTIFICATE, &signed(0));
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
        let target = to.join(entry.file_name());
        if kind.is_symlink() {
            symlink(fs::read_link(path).expect("a link"), target).expect("linked");
        } else if kind.is_file() {
            fs::copy(&path, &target).expect("copied");
            let time = entry.metadata().and_then(|data| data.modified());
            set_time(&target, time.expect("a time"));
        } else if kind.is_dir() && !path.ends_with("boot") {
            copy(&path, &target);
        }
    }
}

pub(crate) fn set_time(path: &Path, time: SystemTime) {
    let file = fs::File::options().write(true).open(path).expect("opened");
    file.set_modified(time).expect("set");
}

/// The node as Ignition leaves it, with what an earlier installation left on /var.
pub(super) fn base(place: &Place, world: World) -> State {
    let tree = match world.image {
        Image::Old => "rhcos-4.12-refused",
        Image::Small | Image::Allowed => "rhcos-4.18-allowed",
    };
    let tree = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/trees")
        .join(tree);
    let fresh = || {
        place.clear();
        copy(&tree, place.root());
        place.write("etc/hostname", "worker-3\n");
        place.write("etc/machine-id", MACHINE);
        place.write("etc/kubernetes/kubeconfig", super::futures::NOBODY);
        if world.image == Image::Small {
            let _ = fs::remove_file(place.path("etc/mcs-machine-config-content.json"));
            place.write("etc/skewguard/policy.json", super::futures::SPACE);
        }
        place.reboot(1);
    };
    let day = |days: u64| UNIX_EPOCH + Duration::from_secs(days * 24 * 60 * 60);
    if matches!(world.var, Var::Told | Var::Both) {
        fresh();
        place.write("proc/sys/kernel/random/boot_id", EARLIER_ID);
        super::futures::tell(place);
        for name in fs::read_dir(place.path("var/lib/skewguard")).expect("what it left") {
            set_time(&name.expect("an entry").path(), day(20_200));
        }
    } else {
        fresh();
    }
    let left = place.root().with_file_name("left");
    let _ = fs::remove_dir_all(&left);
    let has_left = place.path("var").exists();
    if has_left {
        copy(&place.path("var"), &left);
    }
    fresh();
    if has_left {
        let _ = fs::remove_dir_all(place.path("var"));
        copy(&left, &place.path("var"));
    }
    // The message is in /etc, and so is not kept.
    let _ = fs::remove_file(place.path("var/lib/skewguard/issue.saved"));
    if matches!(world.var, Var::Certificate | Var::Both) {
        place.write(CERTIFICATE, &signed(400));
        set_time(&place.path(CERTIFICATE), day(20_250));
    }
    let now = SystemTime::now();
    set_time(
        &place.path(CONFIG),
        if world.is_1970 {
            day(0) + Duration::from_secs(30)
        } else {
            now
        },
    );
    place.save()
}

/// `skewguard` here.
pub(super) fn run(place: &Place, args: &[&str]) -> (Option<i32>, String) {
    let output = skewguard(place.root(), args);
    let said = [&output.stdout[..], &output.stderr]
        .map(String::from_utf8_lossy)
        .concat();
    (output.status.code(), said)
}
