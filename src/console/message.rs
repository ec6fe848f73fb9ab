//! The texts (pure): from a verdict to what stands on `/etc/issue`, in the motd, on the console and in the kernel log.
//!
//! All of them hold on a terminal of 80x24, are plain ASCII, and never let text from a file or the network move a cursor or start an
//! agetty escape.

use super::page::{COLUMNS, Page, Printer, ascii, cut};
use super::platform::{Fix, Wanted, fix};
use crate::policy::POLICY_PATH;
use crate::verdict::{Action, Finding, Outcome, Reason, Verdict};

/// What a message says beside the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The node's address for `ssh`. `None` where it is not known yet: `/etc/issue` then says agetty's `\4`, which follows the network.
    pub address: Option<String>,
    /// The full path of this program on the node.
    pub program: String,
    /// Whether the cluster knows.
    pub cluster: ClusterKnows,
}

impl Default for Context {
    fn default() -> Self {
        Self { address: None, program: DEFAULT_PROGRAM.to_owned(), cluster: ClusterKnows::NotYet }
    }
}

/// Whether the cluster knows of the verdict, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterKnows {
    /// Nothing was delivered yet.
    NotYet,
    /// A report was delivered: the name of the `BootImageReport`, where one was made.
    Reported {
        /// `metadata.name`.
        name: Option<String>,
    },
    /// It cannot be told, and why.
    NotReportable {
        /// One clause, such as "the CRD bootimagereports.skewguard.dev is missing".
        why: String,
    },
}

/// Where the RPM and the MachineConfig put this program.
const DEFAULT_PROGRAM: &str = "/usr/bin/skewguard";

/// Longest path of this program that leaves its line whole; a cut command would be worse than one found through `$PATH`.
const PROGRAM_MAX: usize = 30;

/// What is to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    /// The node is held back.
    Refused,
    /// It was to be held back, but could not be.
    NotHeld,
    /// It goes on although a rule fails: warn mode.
    Warned,
}

fn case(verdict: &Verdict) -> Option<Case> {
    let deployment = &verdict.deployment;
    match (verdict.verdict, verdict.action) {
        (_, Action::Block) => match &verdict.gate {
            Some(gate) if !gate.held => Some(Case::NotHeld),
            _ => Some(Case::Refused),
        },
        // Once the node has left its boot image behind there is nothing left to warn of.
        (Outcome::Refused, Action::Proceed) => {
            let past = deployment.rebased || deployment.on_target || deployment.first_boot_finished;
            (!past).then_some(Case::Warned)
        }
        (Outcome::Disabled | Outcome::NoPolicy | Outcome::Allowed | Outcome::Undetermined, Action::Proceed) => None,
    }
}

/// Whether the verdict is one for the console. Where it is not, the texts are empty and whatever was shown before is taken away.
pub fn is_shown(verdict: &Verdict) -> bool {
    case(verdict).is_some()
}

/// The message for the top of `/etc/issue`, with an empty line at its end; empty where there is nothing to say.
///
/// At most 19 lines of 79 columns, so that the login prompt below stays on a terminal of 80x24. Backslashes are doubled for agetty(8).
pub fn issue(verdict: &Verdict, context: &Context) -> String {
    whole(verdict, context, Printer::Agetty)
}

/// The message for `/etc/motd.d`, read by somebody who is logged in; empty where there is nothing to say.
pub fn motd(verdict: &Verdict, context: &Context) -> String {
    whole(verdict, context, Printer::Plain)
}

/// The short form for `/dev/console`: at most five lines of 79 columns; empty where there is nothing to say.
pub fn short(verdict: &Verdict, context: &Context) -> String {
    let Some(case) = case(verdict) else { return String::new() };
    let mut page = Page::new(Printer::Plain);
    page.line(&format!("skewguard: {}", headline(case, verdict)));
    page.line(&format!("  found:  {}", found(verdict)));
    page.line(&format!("  needed: {}", needed(verdict)));
    match case {
        Case::Refused | Case::NotHeld => page.line(&format!("  let in: {}", allow(context))),
        Case::Warned => page.line("  The boot goes on: the policy only warns."),
    }
    page.line("  more:   journalctl -u skewguard, and above the login prompt");
    page.finish()
}

/// One line for the kernel log, without its priority; empty where there is nothing to say.
pub fn kernel_log(verdict: &Verdict) -> String {
    let Some(case) = case(verdict) else { return String::new() };
    let what = match case {
        Case::Refused => "node refused",
        Case::NotHeld => "node should be refused but could not be held back",
        Case::Warned => "boot image not allowed, but the policy only warns",
    };
    cut(&ascii(&format!("skewguard: {what}: {} ({})", verdict.message, verdict.reason)), 400)
}

fn whole(verdict: &Verdict, context: &Context, printer: Printer) -> String {
    let Some(case) = case(verdict) else { return String::new() };
    let mut page = Page::new(printer);
    page.line(&format!("*** {} ***", headline(case, verdict)));
    page.paragraph(&consequence(case, verdict), 2);
    page.line("");
    page.item("Found", &found(verdict), 1);
    page.item("", &found_where(verdict), 1);
    page.item("Needed", &needed(verdict), 2);
    page.item("", &by_policy(verdict), 1);
    let Fix { what, field } = fix(verdict.platform.as_deref(), verdict.target.pool.as_deref(), wanted(verdict));
    page.item("Fix", &what, 1);
    page.item("", &field, 1);
    page.item("", "oc get cm coreos-bootimages -n openshift-machine-config-operator -oyaml", 1);
    match case {
        Case::Refused | Case::NotHeld => let_in(&mut page, context, printer),
        Case::Warned => {}
    }
    more(&mut page, verdict);
    page.item("Cluster", &cluster(&context.cluster), 1);
    page.line("");
    page.finish()
}

fn headline(case: Case, verdict: &Verdict) -> String {
    let image = image_is(verdict);
    match case {
        Case::Refused => format!("THIS NODE IS REFUSED: ITS BOOT IMAGE {image}"),
        Case::NotHeld => format!("NODE NOT HELD BACK, ALTHOUGH ITS BOOT IMAGE {image}"),
        Case::Warned => format!("WARNING: THE BOOT IMAGE OF THIS NODE {image}"),
    }
}

fn image_is(verdict: &Verdict) -> &'static str {
    match verdict.reason {
        Reason::BelowMinimumOcpVersion | Reason::BelowMinimumRhcosVersion => "IS TOO OLD",
        Reason::TooManyReleasesBehind => "IS TOO FAR BEHIND",
        Reason::AboveMaximumRhcosVersion => "IS TOO NEW",
        Reason::DeniedVersion => "IS DENIED",
        Reason::RhelMajorUnsupported => "HAS THE WRONG RHEL",
        _ => "IS NOT KNOWN",
    }
}

fn consequence(case: Case, verdict: &Verdict) -> String {
    let gate_error = verdict.gate.as_ref().and_then(|gate| gate.error.as_deref());
    match (case, gate_error) {
        (Case::Refused, None) => "It will not join the cluster: its OS update and its kubelet are held back.".to_owned(),
        (Case::Refused, Some(error)) => format!("Its OS update and its kubelet are held back, but not wholly: {error}"),
        (Case::NotHeld, error) => {
            format!("It may join the cluster on its old OS. Holding it failed: {}", error.unwrap_or("no cause known"))
        }
        (Case::Warned, _) => "The boot goes on, because the policy only warns. If the OS update hangs or the node \
            does not join, this is why."
            .to_owned(),
    }
}

fn found(verdict: &Verdict) -> String {
    let Some(image) = &verdict.boot_image else { return "no boot image version: no file on this node names it".to_owned() };
    let known =
        [image.rhel_version.as_ref().map(|rhel| format!("RHEL {rhel}")), image.ocp_version.as_ref().map(|ocp| format!("OCP {ocp}"))];
    let known: Vec<String> = known.into_iter().flatten().collect();
    let known = if known.is_empty() { "not understood".to_owned() } else { known.join(", ") };
    format!("boot image {} ({})", cut(&image.version, 34), cut(&known, 24))
}

fn found_where(verdict: &Verdict) -> String {
    match verdict.boot_image.as_ref().and_then(|image| image.path.as_deref()) {
        Some(path) => format!("read from {path}"),
        None => String::new(),
    }
}

fn needed(verdict: &Verdict) -> String {
    let failed: Vec<String> = verdict.failures().map(need).collect();
    if failed.is_empty() { "a version that can be judged; the policy refuses unknown ones".to_owned() } else { failed.join("; ") }
}

fn need(finding: &Finding) -> String {
    let Finding { want, have, message, .. } = finding;
    let have = have.as_deref().unwrap_or("unknown");
    match finding.rule {
        Reason::DeniedVersion => {
            // Only the sentence has the policy's own reason in it.
            let rest = message.strip_prefix(&format!("boot image {have} is ")).unwrap_or(message);
            format!("another version; this one is {rest}")
        }
        Reason::RhelMajorUnsupported => format!("RHEL {want} (it has {have})"),
        Reason::BelowMinimumOcpVersion => format!("OCP {want} or newer (it has {have})"),
        Reason::BelowMinimumRhcosVersion => format!("RHCOS {want} or newer (it has {have})"),
        Reason::AboveMaximumRhcosVersion => format!("RHCOS {want} or older (it has {have})"),
        Reason::TooManyReleasesBehind => format!("{want} (it is {have})"),
        _ => message.clone(),
    }
}

fn by_policy(verdict: &Verdict) -> String {
    let policy = verdict.policy.as_ref();
    let path = policy.map_or(POLICY_PATH, |policy| policy.path.as_str());
    let limit = policy.and_then(|policy| policy.limit_release.as_deref()).unwrap_or("any release");
    let pool = verdict.target.pool.as_deref().unwrap_or("unknown");
    format!("by {path}, limit for {limit}; pool {pool}")
}

fn wanted(verdict: &Verdict) -> Wanted {
    match verdict.reason {
        Reason::BelowMinimumOcpVersion | Reason::BelowMinimumRhcosVersion | Reason::TooManyReleasesBehind => Wanted::Newer,
        Reason::AboveMaximumRhcosVersion => Wanted::Older,
        _ => Wanted::Other,
    }
}

fn let_in(page: &mut Page, context: &Context, printer: Printer) {
    let command = allow(context);
    match (printer, &context.address) {
        (Printer::Plain, _) => page.item("Let in", &command, 1),
        (Printer::Agetty, None) => page.item_with_escape("Let in", "ssh core@", "\\4", &format!(", then: {command}")),
        (Printer::Agetty, Some(address)) => page.item("Let in", &format!("ssh core@{address}, then: {command}"), 1),
    }
    page.item("", "or, without ssh, boot with the kernel argument skewguard=off", 1);
}

fn allow(context: &Context) -> String {
    let program = if context.program.len() > PROGRAM_MAX { "skewguard" } else { &context.program };
    format!("sudo {program} allow")
}

fn more(page: &mut Page, verdict: &Verdict) {
    let help = verdict.policy.as_ref().map(|policy| (policy.help_text.as_deref(), policy.help_url.as_deref()));
    page.item("More", "journalctl -u skewguard, /run/skewguard/verdict.json", 1);
    let (text, url) = help.unwrap_or_default();
    let help: Vec<&str> = [text, url].into_iter().flatten().collect();
    page.item("", &help.join(" "), 2);
}

fn cluster(knows: &ClusterKnows) -> String {
    match knows {
        ClusterKnows::NotYet => "not told yet (journalctl -u skewguard-report)".to_owned(),
        ClusterKnows::Reported { name: Some(name) } => format!("told: oc get bootimagereport -n skewguard {name}"),
        ClusterKnows::Reported { name: None } => "told: oc get events -n skewguard".to_owned(),
        ClusterKnows::NotReportable { why } => format!("cannot be told: {why}"),
    }
}

const _: () = assert!(COLUMNS < 80);
