//! What becomes of a node in the boots that follow, and what must hold there.

use super::node::{CONFIG, EARLIER_ID, Place, State, run};
use super::{Image, Life, Sweep, Var, World};
use crate::support::apiserver::{ApiServer, BOOTSTRAP_TOKEN, Options};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::Ordering;

/// A cluster that does not answer.
pub(crate) const NOBODY: &str = "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    server: https://127.0.0.1:1\n  name: local\n\
    contexts:\n- context:\n    cluster: local\n    user: kubelet\n  name: kubelet\ncurrent-context: kubelet\nusers:\n- name: kubelet\n  user:\n    token: x\n";

pub(super) const SPACE: &str = r#"{"apiVersion":"skewguard.dev/v1alpha1","kind":"BootImageSkewPolicy","mode":"Enforce","limits":[{"minimumOCPVersion":"4.13.0","minimumBootFreeMiB":100}]}"#;

const RECORD: &str = "etc/skewguard/boot-image.json";
const LAST_BOOT: u32 = 4;

fn answers(place: &Place, server: &ApiServer) {
    let user = format!("token: {BOOTSTRAP_TOKEN}");
    place.write("etc/kubernetes/kubeconfig", &server.kubeconfig(&user));
}

/// A whole first boot, of which the cluster is told.
pub(super) fn tell(place: &Place) {
    let server = ApiServer::start(Options::default());
    answers(place, &server);
    run(place, &["enforce"]);
    run(place, &["report", "--once"]);
}

/// A node that goes on from a state, and what is known of it.
struct Walk<'a> {
    sweep: &'a Sweep,
    place: &'a Place,
    world: World,
    life: Life,
    server: ApiServer,
    answers: bool,
}

pub(super) fn follow(sweep: &Sweep, place: &Place, world: World, life: &Life, state: &State) {
    let walk = || {
        place.load(state);
        Walk {
            sweep,
            place,
            world,
            life: life.clone(),
            server: ApiServer::start(Options::default()),
            answers: false,
        }
    };
    walk().stays_as_it_is();
    walk().goes_on_with_off();
    walk().goes_on();
}

impl Walk<'_> {
    fn is(&self, holds: bool, what: &str) {
        if !holds {
            self.sweep.wrong(format!("{}: {what}", self.life.story));
        }
    }

    fn run(&mut self, args: &[&str]) -> (Option<i32>, String) {
        self.sweep.runs.fetch_add(1, Ordering::Relaxed);
        run(self.place, args)
    }

    fn reboot(&mut self, what: &str) {
        self.life.boot += 1;
        self.life
            .story
            .push_str(&format!(", boot {}{what}", self.life.boot));
        self.place.reboot(self.life.boot);
    }

    /// `enforce` to its end.
    fn decides(&mut self) -> bool {
        let (code, said) = self.run(&["enforce"]);
        let held = self.place.is_held();
        self.is(
            held == (code == Some(3)),
            &format!("stamp and exit status differ: {code:?} {said}"),
        );
        let issue = self.place.read("etc/issue");
        let messages = issue.matches("NODE REFUSED").count();
        self.is(
            messages == usize::from(held),
            &format!("{messages} messages, held: {held}"),
        );
        self.is(self.place.path(RECORD).exists(), "there is no record");
        if held {
            self.is(
                self.world.image != Image::Allowed,
                "an allowed node is held",
            );
        }
        self.life.was_held |= held;
        held
    }

    /// `report`, and what it says that the cluster knows.
    fn reports(&mut self) {
        let (_, said) = self.run(&["report", "--once"]);
        let (_, status) = self.run(&["status"]);
        let has = !self.server.objects("bootimagereports").is_empty();
        let is_told = status.contains("told: oc get") || said.contains("was delivered before");
        self.is(!is_told || has, &format!("told, they say: {status}{said}"));
        if self.place.is_held() {
            self.is(
                has == self.answers,
                &format!("the server has {has}: {said}"),
            );
        }
        let state = self.place.read("var/lib/skewguard/report-state.json");
        self.is(
            !self.answers || !self.place.is_held() || !state.contains(EARLIER_ID),
            "what it told is the earlier installation's",
        );
    }

    /// Three more boots; the server answers from the second of them on.
    fn stays_as_it_is(mut self) {
        let mut was_let_in = false;
        while self.life.boot < LAST_BOOT {
            self.reboot("");
            let was_held = self.life.was_held;
            let held = self.decides();
            self.is(held || !was_held, "a refused node is let in");
            // No run was on its first boot, and its config has no time: it may have joined.
            let has_certificate = matches!(self.world.var, Var::Certificate | Var::Both);
            self.is(
                held || self.world.image != Image::Old || self.world.is_1970 && has_certificate,
                "an old image is let in",
            );
            self.is(!held || !was_let_in, "a node that was let in is held");
            was_let_in |= !held;
            if self.life.boot > 2 {
                answers(self.place, &self.server);
                self.answers = true;
            }
            self.reports();
        }
    }

    /// `skewguard=off` on the next boot, and the cluster is told what it does not know. It holds again
    /// without that.
    fn goes_on_with_off(mut self) {
        let was_held = self.life.was_held;
        self.reboot(" with off");
        self.place.write("run/skewguard/override", "off");
        let held = self.decides();
        self.is(!held, "it is held although it is switched off");
        answers(self.place, &self.server);
        self.answers = true;
        self.reports();
        if was_held {
            let reports = self.server.objects("bootimagereports");
            let actions: Vec<_> = reports
                .iter()
                .map(|report| report["report"]["verdict"]["action"].clone())
                .collect();
            self.is(
                actions == ["Proceed"],
                &format!("a refusal is lost: {reports:?}"),
            );
        }
        self.reboot("");
        let held = self.decides();
        self.is(held || !was_held, "a refused node is let in after off");
    }

    /// It joins, or is rebased, because nothing holds it or somebody lets it go.
    fn goes_on(mut self) {
        if self.world.image == Image::Allowed {
            return;
        }
        let is_rebased = self.place.is_held();
        if is_rebased {
            let (code, said) = self.run(&["allow"]);
            self.is(code == Some(0), &said);
            self.rebase();
        } else {
            self.place.join();
        }
        let what = if is_rebased {
            " after allow and a rebase"
        } else {
            " having joined"
        };
        for _ in 0..2 {
            self.reboot(what);
            let (_, said) = self.run(&["enforce"]);
            self.is(!self.place.is_held(), &format!("it is held: {said}"));
        }
    }

    /// Into another OS, which has a copy of /etc.
    fn rebase(&self) {
        let deploy = "sysroot/ostree/deploy/rhcos/deploy";
        let commit = format!("{}.0", "decade".repeat(11).get(..64).unwrap_or_default());
        let origin = "[origin]\ncontainer-image-reference=ostree-unverified-registry:quay.io/other@sha256:1\n";
        self.place
            .write(&format!("{deploy}/{commit}.origin"), origin);
        let boot = self.place.path("sysroot/ostree/boot.0/rhcos/b007");
        fs::create_dir_all(&boot).expect("made");
        let _ = symlink(
            format!("../../../deploy/rhcos/deploy/{commit}"),
            boot.join("0"),
        );
        let line = self.place.read("proc/cmdline");
        let (before, after) = line.split_once("ostree=").expect("an argument");
        let after = after.split_once(' ').map_or("", |(_, after)| after);
        self.place.write(
            "proc/cmdline",
            &format!("{before}ostree=/ostree/boot.0/rhcos/b007/0 {after}"),
        );
        let config = self.place.read(CONFIG);
        self.place.write(CONFIG, &config);
    }
}
