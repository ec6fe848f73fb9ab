//! The texts for `/etc/issue`, the motd, the console and the kernel log, made from a verdict
//! (pure).
//!
//! All of them are plain ASCII and fit on a terminal of 80x24. Text from a file or the network can
//! neither move the cursor nor start an agetty escape.

use super::fix::{
    Fix, NEWER, OLDER, OTHER, fix, installed_over, other_cpu, update_shim, without_ssh,
};
use super::known::Context;
pub(super) use super::page::LINES as LINES_MAX;
use super::page::{Page, Printer, TEXT, ascii};
use crate::policy::POLICY_PATH;
use crate::text::cut;
use crate::verdict::{
    ClusterKnows, Fate, Finding, Judged, LetThrough, OverrideSource, Reason, Verdict,
};

/// Longest path of this program that fits on the line after an address, in characters. Instead of a
/// longer one only its name is shown.
const PROGRAM_MAX: usize = 28;

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// The node is refused and held back.
    Refused,
    /// The node should be held back, but could not be.
    NotHeld,
    /// The node goes on although a rule fails.
    Warned,
}

/// What the verdict's message is about; `None` if it has none.
pub(super) fn case(verdict: &Verdict) -> Option<Case> {
    // Whoever let the node through with `skewguard allow` has read the message.
    let by_a_person = verdict.let_through == Some(LetThrough::Override)
        && verdict
            .r#override
            .is_some_and(|r#override| r#override.source == OverrideSource::File);
    match verdict.fate() {
        Fate::Held => Some(Case::Refused),
        Fate::NotHeld => Some(Case::NotHeld),
        Fate::LetThrough if !by_a_person => Some(Case::Warned),
        Fate::LetThrough | Fate::Unchecked | Fate::Free | Fate::PastFirstBoot => None,
    }
}

/// Whether the verdict has a message. If not, all texts are empty.
pub(crate) fn is_shown(verdict: &Verdict) -> bool {
    case(verdict).is_some()
}

/// The message for `/etc/issue`, with an empty line at its end.
///
/// It has at most 20 lines of 79 columns, so that the login prompt below it still fits on a
/// terminal of 80x24. Backslashes are doubled for agetty(8).
pub(crate) fn issue(verdict: &Verdict, context: &Context) -> String {
    whole(verdict, context, Printer::Agetty)
}

/// The line next to the login prompt: the headline once more, for whom the message has scrolled
/// away.
pub(super) fn at_prompt(verdict: &Verdict) -> String {
    let Some(case) = case(verdict) else {
        return String::new();
    };
    let mut page = Page::new(Printer::Agetty);
    page.line(&format!("*** {} ***", headline(case, verdict)));
    page.finish()
}

/// The message for `/etc/motd.d`, which people read once they are logged in.
pub(crate) fn motd(verdict: &Verdict, context: &Context) -> String {
    whole(verdict, context, Printer::Plain)
}

/// The short form for `/dev/console`: at most six lines of 79 columns.
pub(crate) fn short(verdict: &Verdict, context: &Context) -> String {
    let Some(case) = case(verdict) else {
        return String::new();
    };
    let mut page = Page::new(Printer::Plain);
    page.line(&format!("skewguard: {}", headline(case, verdict)));
    page.line(&format!("  found:  {}", found(verdict)));
    page.line(&format!("  needed: {}", needed(verdict)));
    match case {
        Case::Refused => page.line(&format!("  let in: {}", allow(context))),
        Case::NotHeld | Case::Warned => consequence(case, verdict)
            .iter()
            .for_each(|line| page.line(&format!("  {line}"))),
    }
    page.line("  more:   above the login prompt, and journalctl -u skewguard");
    page.finish()
}

/// One line for the kernel log, without its priority.
pub(crate) fn kernel_log(verdict: &Verdict) -> String {
    let Some(case) = case(verdict) else {
        return String::new();
    };
    let what = match case {
        Case::Refused => "node refused",
        Case::NotHeld => "node should be refused but could not be held back",
        Case::Warned => "node let through with a warning",
    };
    cut(
        &ascii(&format!(
            "skewguard: {what}: {} ({})",
            verdict.message, verdict.reason
        )),
        400,
    )
}

/// What to change so that the next node of this kind is allowed, with the field to change: one or
/// two sentences for a report.
pub(crate) fn remedy(verdict: &Verdict) -> String {
    let Fix { what, field, .. } = fix_of(verdict);
    let begins = field.starts_with(char::is_uppercase) && !what.ends_with(['.', ':']);
    let (stop, end) = (
        if begins { "." } else { "" },
        if field.ends_with('.') { "" } else { "." },
    );
    ascii(&format!("{what}{stop} {field}{end}"))
}

fn whole(verdict: &Verdict, context: &Context, printer: Printer) -> String {
    let Some(case) = case(verdict) else {
        return String::new();
    };
    let mut page = Page::new(printer);
    page.line(&format!("*** {} ***", headline(case, verdict)));
    for line in consequence(case, verdict) {
        page.line(&line);
    }
    page.line("");
    page.item("Found", &found(verdict), 1);
    page.item("", &found_where(verdict), 1);
    page.item("Needed", &needed(verdict), 2);
    page.item("", &source(verdict), 1);
    let fix = fix_of(verdict);
    page.item("Fix", &fix.what, 1);
    page.item("", &fix.field, 1);
    if fix.from_cluster {
        page.item(
            "Images",
            "oc get cm coreos-bootimages -n openshift-machine-config-operator -oyaml",
            1,
        );
    }
    if case == Case::Refused {
        let_in(&mut page, context, printer);
    }
    more(&mut page, verdict);
    page.item("Cluster", &cluster(&context.cluster), 2);
    page.line("");
    page.finish()
}

/// How messages begin, after `*** `.
pub(super) const HEADLINES: [&str; 6] = [
    "NODE REFUSED: ITS BOOT",
    "NODE NOT HELD BACK, BUT ITS BOOT",
    "WARNING: THE BOOT",
    "NODE REFUSED: ITS CPU",
    "NODE NOT HELD BACK, BUT ITS CPU",
    "WARNING: THE CPU",
];

fn fix_of(verdict: &Verdict) -> Fix {
    match verdict.reason {
        Reason::CpuBelowMinimum => return other_cpu(),
        // Its payload is the booted deployment's: the boot image's own has the same shim.
        Reason::ShimBelowMinimum if verdict.judged == Judged::BootedDeployment => {
            return update_shim();
        }
        _ => {}
    }
    if verdict.judged == Judged::BootedDeployment {
        return installed_over(wanted(verdict));
    }
    fix(
        verdict.platform.as_deref(),
        &verdict.target,
        wanted(verdict),
    )
}

fn headline(case: Case, verdict: &Verdict) -> String {
    let image = match verdict.reason {
        Reason::BelowMinimumOcpVersion | Reason::BelowMinimumRhcosVersion => {
            "IS TOO OLD FOR THIS CLUSTER"
        }
        Reason::TooManyReleasesBehind => "IS TOO MANY RELEASES BEHIND",
        Reason::AboveMaximumRhcosVersion => "IS NEWER THAN ALLOWED",
        Reason::DeniedVersion => "IS DENIED BY THE POLICY",
        Reason::RhelMajorUnsupported => "HAS THE WRONG RHEL MAJOR",
        Reason::KnownIssue => "IS KNOWN TO FAIL WITH THIS RELEASE",
        Reason::CpuBelowMinimum => "IS TOO OLD FOR THIS CLUSTER",
        Reason::BootSpaceBelowMinimum => "HAS TOO LITTLE SPACE",
        Reason::ShimBelowMinimum => "IS TOO OLD FOR SECURE BOOT",
        Reason::BootImageUnknown => "IS NOT KNOWN",
        _ => "CANNOT BE JUDGED",
    };
    let subject = verdict.subject().to_uppercase();
    match case {
        Case::Refused => format!("NODE REFUSED: ITS {subject} {image}"),
        Case::NotHeld => format!("NODE NOT HELD BACK, BUT ITS {subject} {image}"),
        Case::Warned => format!("WARNING: THE {subject} OF THIS NODE {image}"),
    }
}

/// What this means for the node, in at most two lines.
fn consequence(case: Case, verdict: &Verdict) -> Vec<String> {
    let gate_error = verdict.gate.as_ref().and_then(|gate| gate.error.as_deref());
    match case {
        Case::Refused => {
            let held =
                "It will not join: skewguard holds back its OS update and its kubelet.".to_owned();
            let partly = gate_error.map(|error| format!("In doubt: {error}"));
            std::iter::once(held).chain(partly).collect()
        }
        Case::NotHeld => vec![
            format!(
                "It could not be held: {}",
                gate_error.unwrap_or("no cause known")
            ),
            "It may join on its old OS. To prevent it, power off or delete its Machine.".to_owned(),
        ],
        Case::Warned => vec![
            format!("It is let through, because {}.", verdict.why_let_through()),
            "If its OS update hangs or it does not join, this is the likely cause.".to_owned(),
        ],
    }
}

fn found(verdict: &Verdict) -> String {
    let Some(image) = verdict.judged_image() else {
        return "nothing: no file on this node names its boot image".to_owned();
    };
    let systems = image.systems();
    let known = if systems.is_empty() {
        "not understood".to_owned()
    } else {
        systems.join(", ")
    };
    format!(
        "{} {} ({})",
        verdict.image_name(),
        cut(&image.version, 34),
        cut(&known, 22)
    )
}

fn found_where(verdict: &Verdict) -> String {
    let path = verdict
        .judged_image()
        .and_then(|image| image.path.as_deref());
    let over = verdict
        .boot_image
        .as_ref()
        .filter(|_| verdict.judged == Judged::BootedDeployment);
    let over = over
        .map(|image| format!("; it replaced boot image {}", image.version))
        .unwrap_or_default();
    path.map(|path| format!("read from {path}{over}"))
        .unwrap_or_default()
}

fn needed(verdict: &Verdict) -> String {
    let failed: Vec<String> = verdict.failures().map(need).collect();
    if failed.is_empty() {
        "a version that can be judged (the policy: onUndetermined: Refuse)".to_owned()
    } else {
        failed.join("; ")
    }
}

fn need(finding: &Finding) -> String {
    let Finding {
        want,
        have,
        message,
        ..
    } = finding;
    let have = have.as_deref().unwrap_or("unknown");
    match finding.rule {
        Reason::DeniedVersion => {
            // Only the message has the reason that the policy gives.
            let rest = message
                .split_once(&format!(" {have} is "))
                .map_or(message.as_str(), |(_, rest)| rest);
            format!("another version; this one is {rest}")
        }
        Reason::RhelMajorUnsupported => format!("RHEL {want} (it has {have})"),
        Reason::BelowMinimumOcpVersion => format!("OCP {want} or newer (it has {have})"),
        Reason::BelowMinimumRhcosVersion => format!("RHCOS {want} or newer (it has {have})"),
        Reason::AboveMaximumRhcosVersion => format!("RHCOS {want} or older (it has {have})"),
        Reason::TooManyReleasesBehind => format!("{want} (it is {have})"),
        Reason::KnownIssue => {
            // Only the message has the reason that the policy gives.
            let issue = message
                .split_once(" has known issue ")
                .map_or(message.as_str(), |(_, issue)| issue);
            format!("{want}; this one has {issue}")
        }
        Reason::CpuBelowMinimum => format!("a CPU of {want} or newer (it is {have})"),
        Reason::BootSpaceBelowMinimum => format!("{want} (there are {have})"),
        Reason::ShimBelowMinimum => format!("shim {want} or newer (it has {have})"),
        _ => message.clone(),
    }
}

/// Where to read about a known issue, or else by which limit of which policy.
fn source(verdict: &Verdict) -> String {
    let first = verdict.failures().next();
    match first.and_then(|finding| finding.url.as_ref()) {
        Some(url) => format!("see {url}"),
        None => by_policy(verdict),
    }
}

fn by_policy(verdict: &Verdict) -> String {
    let policy = verdict.policy.as_ref();
    let path = policy.map_or(POLICY_PATH, |policy| policy.path.as_str());
    let limit = policy
        .and_then(|policy| policy.limit_release.as_deref())
        .unwrap_or("any");
    let pool = verdict.target.pool.as_deref().unwrap_or("unknown");
    let cluster = verdict.target.release.as_deref().unwrap_or("unknown");
    format!(
        "by {path}: pool {}, limit {limit}, cluster {cluster}",
        cut(pool, 16)
    )
}

/// Which image the node needs instead of its own.
fn wanted(verdict: &Verdict) -> &'static str {
    match verdict.reason {
        Reason::BelowMinimumOcpVersion
        | Reason::BelowMinimumRhcosVersion
        | Reason::TooManyReleasesBehind => NEWER,
        Reason::AboveMaximumRhcosVersion => OLDER,
        Reason::BootSpaceBelowMinimum | Reason::ShimBelowMinimum => NEWER,
        Reason::KnownIssue => match verdict.failures().next() {
            Some(finding) if finding.want.ends_with(" or newer") => NEWER,
            _ => OTHER,
        },
        Reason::RhelMajorUnsupported => verdict.failures().next().map_or(OTHER, wanted_major),
        _ => OTHER,
    }
}

/// A newer one if all allowed majors are above the image's, an older one if all are below.
fn wanted_major(finding: &Finding) -> &'static str {
    let Some(have) = finding
        .have
        .as_deref()
        .and_then(|have| have.parse::<u16>().ok())
    else {
        return OTHER;
    };
    let allowed: Vec<u16> = finding
        .want
        .split(" or ")
        .filter_map(|major| major.parse().ok())
        .collect();
    match allowed.as_slice() {
        [] => OTHER,
        allowed if allowed.iter().all(|major| *major > have) => NEWER,
        allowed if allowed.iter().all(|major| *major < have) => OLDER,
        _ => OTHER,
    }
}

fn let_in(page: &mut Page, context: &Context, printer: Printer) {
    let command = allow(context);
    let (first, second) = match (printer, &context.address) {
        (Printer::Plain, _) => (Some(command), None),
        // agetty has no escape for "IPv4 or IPv6, whichever there is". It prints those it has, and
        // prints again when an address comes or goes.
        (Printer::Agetty, None) => {
            page.item_of_escapes("Let in", r"ssh core@\4 or \6");
            (None, Some(command))
        }
        (Printer::Agetty, Some(address)) => match format!("ssh core@{address}, then: {command}") {
            whole if whole.len() <= TEXT => (Some(whole), None),
            // IPv6 addresses are long, and a command that is cut is useless.
            _ => (Some(format!("ssh core@{address}, then:")), Some(command)),
        },
    };
    if let Some(first) = first {
        page.item("Let in", &first, 1);
    }
    match second {
        Some(command) => page.item("", &format!("{command} (or boot with skewguard=off)"), 1),
        None => page.item("", without_ssh(std::env::consts::ARCH), 1),
    }
}

fn allow(context: &Context) -> String {
    let program = if context.program.len() > PROGRAM_MAX {
        "skewguard"
    } else {
        &context.program
    };
    ascii(&format!("sudo {program} allow"))
}

fn more(page: &mut Page, verdict: &Verdict) {
    page.item(
        "More",
        "journalctl -u skewguard, /run/skewguard/verdict.json",
        1,
    );
    let help = verdict
        .policy
        .iter()
        .flat_map(|policy| [&policy.help_text, &policy.help_url])
        .flatten();
    page.item(
        "",
        &help.map(String::as_str).collect::<Vec<_>>().join(" "),
        2,
    );
}

fn cluster(knows: &ClusterKnows) -> String {
    match knows {
        ClusterKnows::NotYet => "not told yet (journalctl -u skewguard-report)".to_owned(),
        ClusterKnows::Told(Some(name)) => {
            let told = format!("told: oc get bootimagereport -n skewguard {name}");
            // A name that is cut finds nothing. Without a name the command lists all reports.
            if told.len() > TEXT {
                "told: oc get bootimagereport -n skewguard".to_owned()
            } else {
                told
            }
        }
        ClusterKnows::Told(None) => "told: oc get events -n skewguard".to_owned(),
        ClusterKnows::CannotBeTold(why) => format!("cannot be told: {why}"),
    }
}
