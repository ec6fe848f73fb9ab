//! The texts for `/etc/issue`, the motd, the console and the kernel log, made from a verdict
//! (pure).
//!
//! All of them are plain ASCII and fit on a terminal of 80x24. Text from a file or the network can
//! neither move the cursor nor start an agetty escape.

use super::context::Context;
use super::fix::{Fix, fix, images, installed_over, or_boot, other_cpu, update_shim, without_ssh};
pub(super) use super::page::LINES as LINES_MAX;
use super::page::{Page, Printer, TEXT, ascii};
use crate::node::units::FIRSTBOOT;
use crate::policy::POLICY_PATH;
use crate::text::cut;
use crate::verdict::words::{ConsoleWords, OPENINGS, Remedy, fill};
use crate::verdict::{
    ClusterKnows, Fate, Judged, LetThrough, OverrideSource, Reason, Verdict, Wanted,
};
use crate::version::OcpMinor;

/// The first release whose images read Ignition 3; older ones read Ignition 2 alone.
const SPEC_3: OcpMinor = OcpMinor { major: 4, minor: 6 };

/// Longest path of this program that fits on the line after an address, in characters. Instead of a
/// longer one only its name is shown.
const PROGRAM_MAX: usize = 28;

/// The console's message about this node, if there is one.
pub(super) fn words(verdict: &Verdict) -> Option<ConsoleWords> {
    // Whoever let the node through with `skewguard allow` has read the message.
    let by_a_person = verdict.let_through == Some(LetThrough::Override)
        && verdict
            .r#override
            .is_some_and(|r#override| r#override.source == OverrideSource::File);
    let said = verdict.fate() != Fate::LetThrough || !by_a_person;
    verdict.fate_words().console.filter(|_| said)
}

/// The verdict has a message. If not, all texts are empty.
pub(crate) fn is_shown(verdict: &Verdict) -> bool {
    words(verdict).is_some()
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
    let Some(words) = words(verdict) else {
        return String::new();
    };
    let mut page = Page::new(Printer::Agetty);
    page.line(&format!("*** {} ***", headline(&words, verdict)));
    page.finish()
}

/// The message for `/etc/motd.d`, which people read once they are logged in.
pub(crate) fn motd(verdict: &Verdict, context: &Context) -> String {
    whole(verdict, context, Printer::Plain)
}

/// The short form for `/dev/console`: at most six lines of 79 columns.
pub(crate) fn short(verdict: &Verdict, context: &Context) -> String {
    let Some(words) = words(verdict) else {
        return String::new();
    };
    let mut page = Page::new(Printer::Plain);
    page.line(&format!("skewguard: {}", headline(&words, verdict)));
    page.line(&format!("  found:  {}", found(verdict)));
    let (label, text) = need(verdict);
    page.line(&format!(
        "  {:8}{text}",
        format!("{}:", label.to_ascii_lowercase())
    ));
    match verdict.fate() {
        Fate::Held => page.line(&format!("  let in: {}", allow(context))),
        _ => consequence(&words, verdict, context).for_each(|line| page.line(&format!("  {line}"))),
    }
    page.line("  more:   above the login prompt, and journalctl -u skewguard");
    page.finish()
}

/// One line for the kernel log, without its priority.
pub(crate) fn kernel_log(verdict: &Verdict) -> String {
    let Some(words) = words(verdict) else {
        return String::new();
    };
    cut(
        &ascii(&format!(
            "skewguard: {}: {} ({})",
            words.log,
            verdict.sentence(),
            verdict.reason
        )),
        400,
    )
}

/// The change that allows the next node of this kind, with the field to change: one or two
/// sentences for a report.
pub(crate) fn remedy(verdict: &Verdict) -> String {
    let caveat = caveat(verdict).map(|(label, text)| format!(" {label}: {text}."));
    let whom = match verdict.fate() {
        Fate::Held | Fate::NotHeld => "",
        _ => "For new machines (keep this one if it joins): ",
    };
    let fix = sentences(&fix_of(verdict));
    format!("{whom}{fix}{}", caveat.unwrap_or_default())
}

/// The boot image, and how to get a newer one, for the note about the first boot.
pub(crate) fn newer_image(verdict: &Verdict) -> String {
    let fix = another_image(verdict, Wanted::Newer);
    format!("This one is {}. {}", found(verdict), sentences(&fix))
}

fn sentences(Fix { what, field, .. }: &Fix) -> String {
    let begins = field.starts_with(char::is_uppercase) && !what.ends_with(['.', ':']);
    let (stop, end) = (
        if begins { "." } else { "" },
        if field.ends_with('.') { "" } else { "." },
    );
    ascii(&format!("{what}{stop} {field}{end}"))
}

fn whole(verdict: &Verdict, context: &Context, printer: Printer) -> String {
    let Some(words) = words(verdict) else {
        return String::new();
    };
    let page = |spare| page(&words, verdict, context, printer, spare);
    // A node that goes on although it is refused says it briefly.
    let most = match verdict.fate() {
        Fate::LetThrough | Fate::Warned => 1,
        _ => LINES_MAX,
    };
    page(page(0).room().min(most)).finish()
}

/// The message, with so many lines more than its shortest form: for the first texts that need them.
fn page(
    words: &ConsoleWords,
    verdict: &Verdict,
    context: &Context,
    printer: Printer,
    spare: usize,
) -> Page {
    let mut page = Page::with_spare(printer, spare);
    page.line(&format!("*** {} ***", headline(words, verdict)));
    for line in consequence(words, verdict, context) {
        page.line(&line);
    }
    page.line("");
    page.item("Found", &found(verdict), 1);
    page.item("", &found_where(verdict), 1);
    let (label, text) = need(verdict);
    page.item(label, &text, 1);
    page.item("", &source(verdict), 2);
    match verdict.fate() {
        Fate::Unchecked => page.item("Next", next(verdict), 1),
        _ => help(&mut page, verdict),
    }
    if verdict.fate() == Fate::Held {
        let_in(&mut page, context, printer);
    }
    if let Some(warning) = verdict.warnings.first() {
        page.extra("Warning", warning);
    }
    more(&mut page, verdict);
    page.item("Cluster", &cluster(context), 2);
    page.line("");
    page
}

/// What is needed, or why the image was not checked.
fn need(verdict: &Verdict) -> (&'static str, String) {
    match verdict.fate() {
        Fate::Unchecked => ("Why", verdict.sentence()),
        _ => ("Needed", verdict.needed()),
    }
}

/// The next step for whoever reads that a node could not be checked.
fn next(verdict: &Verdict) -> &'static str {
    match verdict.reason {
        Reason::PolicyInvalid => "Correct the policy: oc skewguard policy lint says what is wrong.",
        Reason::LimitUndecided => {
            "See oc skewguard policy lint. Else: a newer skewguard, or a limit without what the node cannot tell."
        }
        Reason::NoLimitForTarget => {
            "Give the policy a limit for it, or one without release, pools and when."
        }
        Reason::TargetUnknown => {
            "Nothing for this node. A limit for any release, pool and node needs no target."
        }
        Reason::BootImageUnknown | Reason::BootImageUndecodable => {
            "Nothing for this node. onUndetermined: Refuse would hold such nodes."
        }
        _ => {
            "Nothing for this node. To have such nodes judged: a newer skewguard, or a limit for them (oc skewguard policy lint)."
        }
    }
}

fn help(page: &mut Page, verdict: &Verdict) {
    let fix = fix_of(verdict);
    let caveat = caveat(verdict);
    let is_first = matches!(caveat, Some(("First", _)));
    let say = |page: &mut Page, is_now: bool| {
        if let Some((label, text)) = caveat.as_ref().filter(|_| is_now) {
            page.item(label, text, 1);
        }
    };
    say(page, is_first);
    page.item("Fix", &fix.what, 1);
    page.item("", &fix.field, 2);
    say(page, !is_first);
    let of_cluster = images(verdict.product(), verdict.wanted());
    match &caveat {
        _ if !fix.from_cluster => {}
        Some(_) => page.extra("Images", of_cluster),
        None => page.item("Images", of_cluster, 1),
    }
}

/// The line is the first of a message, of this release or of an earlier one.
pub(super) fn is_first_line(line: &[u8]) -> bool {
    let headline = line.strip_prefix(b"*** ").unwrap_or_default();
    let is_part = |rest: &[u8]| rest.starts_with(b"BOOT") || rest.starts_with(b"CPU");
    OPENINGS
        .iter()
        .filter_map(|opening| headline.strip_prefix(opening.as_bytes()))
        .any(is_part)
}

fn fix_of(verdict: &Verdict) -> Fix {
    let installed_over_image = verdict.judged == Judged::BootedDeployment;
    match verdict.reason_words().remedy {
        Remedy::Hardware => other_cpu(),
        // Its payload is the booted deployment's: the boot image's own has the same shim.
        Remedy::BootLoader if installed_over_image => update_shim(verdict.product()),
        Remedy::Image | Remedy::BootLoader => another_image(verdict, verdict.wanted()),
    }
}

fn another_image(verdict: &Verdict, wanted: Wanted) -> Fix {
    match verdict.judged {
        Judged::BootedDeployment => installed_over(wanted),
        _ => fix(
            verdict.platform.as_deref(),
            &verdict.target,
            wanted,
            verdict.product(),
        ),
    }
}

/// What the fix alone does not mend, with its label: one line.
fn caveat(verdict: &Verdict) -> Option<(&'static str, String)> {
    let is_hardware = |rule: Reason| rule.words().remedy == Remedy::Hardware;
    let mut charges = verdict.charges();
    let product = verdict.product();
    let image = verdict.judged_image()?;
    let release = image
        .ocp_version
        .as_deref()
        .and_then(|ocp| ocp.parse().ok());
    if is_hardware(verdict.reason) {
        return None;
    }
    if let Some(hardware) = charges.find(|finding| is_hardware(finding.rule)) {
        let need = hardware.need(product, true);
        return Some(("Also", format!("other hardware: {need}")));
    }
    if release.is_some_and(|release: OcpMinor| release < SPEC_3) {
        let text = "convert its user data to Ignition 3; newer images read only that";
        return Some(("First", text.to_owned()));
    }
    product.is_mixed().then(|| {
        let cluster = if product.is_okd { "OKD" } else { "OpenShift" };
        let family = product.family.name();
        let text = format!("the image is {family}, this is {cluster}: take one of {cluster}");
        ("Note", text)
    })
}

fn headline(words: &ConsoleWords, verdict: &Verdict) -> String {
    let value = |name: &str| match name {
        "part" => Some(verdict.part().to_ascii_uppercase()),
        "headline" => Some(verdict.reason_words().headline.to_owned()),
        _ => None,
    };
    fill(words.headline, &value).unwrap_or_default()
}

/// The consequence for the node, in at most two lines.
fn consequence(
    words: &ConsoleWords,
    verdict: &Verdict,
    context: &Context,
) -> impl Iterator<Item = String> {
    let error = verdict.gate.as_ref().and_then(|gate| gate.error.as_deref());
    let unknown = (verdict.fate() == Fate::NotHeld).then_some("no cause known");
    let why = verdict.why_let_through();
    let boot = context.boot.as_ref();
    let boot = boot.map(|boot| format!(" (booted {boot})"));
    words.lines.into_iter().filter_map(move |line| {
        fill(line, &|name| match name {
            "error" => error.or(unknown).map(str::to_owned),
            "why" => Some(why.clone()),
            "boot" => Some(boot.clone().unwrap_or_default()),
            "held" => Some(what_is_held(verdict).to_owned()),
            _ => None,
        })
    })
}

/// Without a loaded unit of the usual name the OS update may run all the same.
fn what_is_held(verdict: &Verdict) -> &'static str {
    let units = verdict.gate.as_ref().map(|gate| &gate.units);
    match units.is_none_or(|units| units.is_empty() || units.iter().any(|unit| unit == FIRSTBOOT)) {
        true => "OS update and kubelet",
        false => "kubelet",
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
    let version = format!("{} {}", verdict.image_name(), cut(&image.version, 34));
    let room = TEXT.saturating_sub(version.len() + " ()".len());
    format!("{version} ({})", cut(&known, room))
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

/// The page about a known issue, or else the limit and the policy that decided.
fn source(verdict: &Verdict) -> String {
    let first = verdict.charges().next();
    match first.and_then(|finding| finding.url.as_ref()) {
        Some(url) => format!("see {url}"),
        None => by_policy(verdict),
    }
}

fn by_policy(verdict: &Verdict) -> String {
    let policy = verdict.policy.as_ref();
    let path = policy.map_or(POLICY_PATH, |policy| policy.path.as_str());
    let limit = verdict.limit().map(|limit| format!("limit {limit}"));
    let limit = limit.as_deref().unwrap_or("no rule applied");
    let pool = verdict.target.pool.as_deref().unwrap_or("unknown");
    let cluster = verdict.target.release.as_deref().unwrap_or("unknown");
    let of = format!("pool {}, {limit}, cluster {cluster}", cut(pool, 16));
    match format!("by {path}: {of}") {
        whole if whole.len() <= TEXT => whole,
        _ => format!("policy: {of}"),
    }
}

fn let_in(page: &mut Page, context: &Context, printer: Printer) {
    let command = allow(context);
    let (first, second) = match (printer, &context.address) {
        (Printer::Plain, _) => (Some(command), None),
        _ if context.is_secret => (Some(command), None),
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
        Some(command) => {
            let or_boot = or_boot(std::env::consts::ARCH);
            page.item("", &format!("{command} ({or_boot})"), 1);
        }
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
        "journalctl -u skewguard, /run/skewguard/verdict.json, oc skewguard why",
        1,
    );
    let policy = verdict.policy.iter();
    let help = policy.flat_map(|policy| [&policy.help_text, &policy.help_url]);
    let mut help: Vec<&str> = help.flatten().map(String::as_str).collect();
    // A long text may be cut, an address not.
    if help.concat().len() >= TEXT {
        help.reverse();
    }
    page.item("", &help.join(" "), 2);
}

fn cluster(context: &Context) -> String {
    match &context.cluster {
        ClusterKnows::NotYet => "not told yet (journalctl -u skewguard-report)".to_owned(),
        ClusterKnows::Told(Some(name)) => {
            let told = format!("told: oc get bootimagereport -n skewguard {name}");
            // A name that is cut finds nothing, and it has the host's. Without a name the command
            // lists all reports.
            if told.len() > TEXT || context.is_secret {
                "told: oc get bootimagereport -n skewguard".to_owned()
            } else {
                told
            }
        }
        ClusterKnows::Told(None) => "told: oc get events -n skewguard".to_owned(),
        ClusterKnows::CannotBeTold(why) => format!("cannot be told: {why}"),
    }
}
