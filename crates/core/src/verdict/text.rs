//! The verdict for a person at a terminal (pure).

use super::lines::Lines;
use crate::verdict::{
    BootImageStatus, Finding, Machine, OverrideSource, RuleResult, Target, Verdict,
};
use crate::version::{ImageVersion, OsFamily};

/// The verdict first, then why, then what it was made from.
pub fn render(verdict: &Verdict) -> String {
    let mut lines = Lines::new(&format!("{}: {}", verdict.headline(), verdict.sentence()));
    lines.add("action", &verdict.done());
    lines.add("reason", verdict.reason.as_str());
    images(&mut lines, verdict);
    if let Some(machine) = machine(&verdict.machine) {
        lines.add("machine", &machine);
    }
    let Target {
        release,
        pool,
        machine_config,
        os_image_url,
    } = &verdict.target;
    let [release, pool] = [release, pool].map(|value| value.as_deref().unwrap_or("unknown"));
    let name = verdict.product().release();
    lines.add("target", &format!("{name} {release}, pool {pool}"));
    for detail in [machine_config, os_image_url].into_iter().flatten() {
        lines.add("", detail);
    }
    policy(&mut lines, verdict);
    if let Some(given) = verdict.r#override {
        let place = match given.source {
            OverrideSource::KernelArgument => "kernel argument",
            OverrideSource::File => crate::OVERRIDE_PATH,
            OverrideSource::Other(_) => given.source.as_str(),
        };
        lines.add("override", &format!("{} ({place})", given.value.as_str()));
    }
    if let Some(ostree) = &verdict.deployment.ostree {
        lines.add("deployment", ostree);
    }
    let mut out = lines.text;
    if !verdict.findings.is_empty() {
        out.push('\n');
        out.push_str(&table(&verdict.findings));
    }
    if !verdict.warnings.is_empty() {
        out.push_str("\nwarnings\n");
        for warning in &verdict.warnings {
            out.push_str(&format!("  - {warning}\n"));
        }
    }
    out
}

/// The boot image, and what was judged in its place.
fn images(lines: &mut Lines, verdict: &Verdict) {
    if verdict.boot_image.is_none() {
        lines.add("boot image", "unknown: no source on this node names it");
    }
    for (name, what, image) in [
        ("boot image", "", &verdict.boot_image),
        (
            "judged",
            "the booted deployment, ",
            &verdict.deployment.image,
        ),
    ] {
        if let Some(image) = image {
            lines.add(name, &format!("{what}{} ({})", image.version, known(image)));
            let path = image.path.as_deref().unwrap_or("an unknown place");
            lines.add("", &format!("read from {path}"));
        }
    }
}

/// The policy, and which of its limits applied.
fn policy(lines: &mut Lines, verdict: &Verdict) {
    let Some(policy) = &verdict.policy else {
        return lines.add("policy", "none delivered");
    };
    let limit = match verdict.limit() {
        Some("any") => "limit for any release".to_owned(),
        Some(release) => format!("limit for {release}"),
        None => "no rule applied".to_owned(),
    };
    let mode = policy.mode.as_deref().unwrap_or("unknown");
    lines.add("policy", &format!("{} (mode {mode}, {limit})", policy.path));
    if let Some(digest) = &policy.digest {
        lines.add("", digest);
    }
}

fn known(image: &BootImageStatus) -> String {
    let built = image
        .build_date
        .as_ref()
        .map(|date| format!("built {date}"));
    let known: Vec<String> = image.systems().into_iter().chain(built).collect();
    if known.is_empty() {
        "version scheme unknown".to_owned()
    } else {
        known.join(", ")
    }
}

/// The machine as far as it is known, whether or not a rule asks for it.
fn machine(machine: &Machine) -> Option<String> {
    let Machine {
        architecture,
        cpu,
        boot_free_mib,
        secure_boot,
        fips,
        shim,
    } = machine;
    let known: Vec<String> = [
        // The name of a level says the architecture.
        cpu.clone().or_else(|| architecture.clone()),
        boot_free_mib.map(|free| format!("{free} MiB free in /boot")),
        secure_boot.map(|on| format!("Secure Boot {}", if on { "on" } else { "off" })),
        fips.filter(|on| *on).map(|_| "FIPS mode".to_owned()),
        shim.as_ref().map(|shim| format!("shim {shim}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// Makes a row for each rule; a rule that did not pass has its message in a line below.
fn table(findings: &[Finding]) -> String {
    let mut out = format!("  {:<26}{:<14}{:<24}{}\n", "rule", "result", "have", "want");
    for finding in findings {
        let have = finding.have.as_deref().unwrap_or("unknown");
        let row = format!(
            "  {:<26}{:<14}{have:<23} {}",
            finding.rule.as_str(),
            finding.result.as_str(),
            finding.want
        );
        out.push_str(row.trim_end());
        out.push('\n');
        if finding.result != RuleResult::Pass {
            out.push_str(&format!("    {}\n", finding.message));
        }
        if let Some(url) = &finding.url {
            out.push_str(&format!("    {url}\n"));
        }
    }
    out
}

/// The parts of a version, in one line.
pub fn image(version: &ImageVersion) -> String {
    if !version.is_known() {
        return format!("{version}: no known scheme");
    }
    let unknown = || "unknown".to_owned();
    let [base, of] = version.names();
    let own = match version.os_release() {
        Some(own) if own.minor.is_none() && version.os_family() == Some(OsFamily::Rhcos) => {
            format!("{own} (minor unknown)")
        }
        Some(own) => own.to_string(),
        None => unknown(),
    };
    let ocp = version.ocp.map_or_else(unknown, |ocp| ocp.to_string());
    let date = version.build_date.clone().unwrap_or_else(unknown);
    let build = version
        .build_number
        .map_or_else(unknown, |build| build.to_string());
    format!(
        "{version}: scheme {}, {base} {own}, {of} {ocp}, built {date}, build {build}",
        version.scheme
    )
}
