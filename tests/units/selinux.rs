//! What our units and the agent do, against the compiled SELinux policies of RHEL 8.0 to 10
//! (`tests/data/selinux.tsv`; its first line names the sources): in which domain each program runs,
//! and that this domain may do it. A need that no row of the table answers fails, too.

use super::{DIRECTIVES, folder};
use crate::console::install::{FIRST_BOOT_ISSUE, FIRST_BOOT_MOTD, MOTD, PROMPT, STATE};
use crate::kubeconfig::BOOTSTRAP_KUBECONFIG;
use crate::node::KUBELET_KUBECONFIG;
use crate::node::STAMP_PATH;
use crate::node::{
    ENCAPSULATED_PATH, KEPT_VERDICT_PATH, OVERRIDE_PATH, RECORD_PATH, RUN_VERDICT_PATH,
    SERVED_PATH, STATE_PATH, UNTOLD_VERDICT_PATH,
};
use skewguard_admin::render::units;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// PID 1, the agent, and the shell of the unit that unpacks.
const INIT: &str = "init_t";
const AGENT: &str = "unconfined_service_t";
const SHELL: &str = "initrc_t";

/// The policies that were compiled, and the systemd of their release: a directive that it does not
/// know asks nothing of the policy.
const RELEASES: [(&str, u16); 6] = [
    ("RHEL8.0", 239),
    ("RHEL8.1-8.2", 239),
    ("RHEL9.3", 252),
    ("RHEL9.5", 252),
    ("RHEL10.0", 257),
    ("RHEL10-next", 257),
];

/// What some policy denies, and why nothing of ours comes to it.
const DENIED: [(&str, &str, &str, &str); 10] = [
    (
        INIT,
        "var_lib_t",
        "dir",
        "no unit has StateDirectory=: the agent makes /var/lib/skewguard itself",
    ),
    (
        INIT,
        "initrc_var_run_t",
        "file",
        "the unpacked binary has the type of /usr/bin before anything executes it",
    ),
    (AGENT, "initrc_var_run_t", "file", "the same"),
    (AGENT, "var_run_t", "file", "the same"),
    (
        INIT,
        AGENT,
        "process",
        "only siginh is denied: no program of ours relies on an inherited signal state",
    ),
    (
        INIT,
        "proc_kmsg_t",
        "file",
        "ProtectKernelLogs= came with systemd 244; RHEL 8 has 239",
    ),
    (
        "syslogd_t",
        "tmpfs_t",
        "file",
        "a journal entry is small enough for a datagram",
    ),
    (
        "local_login_t",
        "var_run_t",
        "file",
        "the message for logins is in /etc/motd.d, not in /run; the note on a stalled first boot is seen at logins only where \
         the OS makes /run/motd.d, with a type of its own",
    ),
    ("sshd_t", "var_run_t", "file", "the same"),
    (
        "getty_t",
        "var_run_t",
        "file",
        "/run/agetty.reload is made by agetty itself, never by `agetty --reload` of the agent",
    ),
];

/// One thing that has to be allowed: to whom, on what, and which permissions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Need {
    domain: &'static str,
    object: String,
    class: &'static str,
    permissions: &'static str,
    /// The systemd that first asks for it.
    since: u16,
    why: String,
}

fn need(
    domain: &'static str,
    object: impl Into<String>,
    class: &'static str,
    permissions: &'static str,
    why: &str,
) -> Need {
    Need {
        domain,
        object: object.into(),
        class,
        permissions,
        since: 0,
        why: why.to_owned(),
    }
}

struct Row {
    release: String,
    source: String,
    target: String,
    class: String,
    permissions: BTreeSet<String>,
    allowed: String,
}

fn rows() -> Vec<Row> {
    let set = |text: &str| text.split(' ').map(str::to_owned).collect();
    let text = include_str!("../data/selinux.tsv");
    let rows = text
        .lines()
        .skip(2)
        .map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>())
        .map(|cells| {
            let [release, source, target, class, permissions, allowed, _] =
                cells.try_into().expect("seven cells");
            Row {
                release,
                source,
                target,
                class,
                permissions: set(&permissions),
                allowed,
            }
        });
    rows.collect()
}

/// The type of a file of ours or of one that we use. What is not in the table of contexts is made
/// in a directory that is, and takes its type.
fn type_of(path: &str) -> String {
    match path {
        "/bin/sh" => return "shell_exec_t".to_owned(),
        "/usr/bin/systemctl" => return "systemd_systemctl_exec_t".to_owned(),
        _ if path.starts_with("/usr/bin/") => return "bin_t".to_owned(),
        _ => {}
    }
    let labels = include_str!("../data/selinux-labels.tsv")
        .lines()
        .skip(1)
        .map(|line| line.split('\t').collect::<Vec<_>>());
    let labels: BTreeMap<&str, &str> = labels
        .map(|cells| (cells[1], cells[3].split(':').nth(2).expect("a type")))
        .collect();
    let mut at = path;
    loop {
        match (labels.get(at), at.rsplit_once('/')) {
            (Some(found), _) => return (*found).to_owned(),
            (None, Some((parent, _))) if !parent.is_empty() => at = parent,
            (None, _) => break,
        }
    }
    let tops = [
        ("/etc", "etc_t"),
        ("/run", "var_run_t"),
        ("/var/lib", "var_lib_t"),
        ("/proc", "proc_t"),
        ("/sys", "sysfs_t"),
    ];
    let top = tops
        .iter()
        .find(|(top, _)| path.starts_with(top))
        .unwrap_or_else(|| panic!("{path}: which type?"));
    top.1.to_owned()
}

/// Every unit in every form of delivery.
fn all_units() -> Vec<(String, String)> {
    let read = |name: &str| {
        (
            name.to_owned(),
            fs::read_to_string(folder().join(name)).expect("a unit"),
        )
    };
    let delivered = units::for_packed(&super::packed())
        .into_iter()
        .chain(units::for_fetched());
    let delivered = delivered.map(|unit| (format!("{} (delivered)", unit.name), unit.contents));
    [read(units::SERVICE), read(units::REPORT_SERVICE)]
        .into_iter()
        .chain(delivered)
        .collect()
}

/// What a unit asks of the policy.
fn needs_of(name: &str, text: &str) -> Vec<Need> {
    let mut needs = Vec::new();
    let unpacked = units::for_packed(&super::packed()).iter().any(|unit| {
        let chcon = unit.contents.find(&format!(
            "chcon --reference=/usr/bin {}",
            units::UNPACKED_PATH
        ));
        chcon.is_some() && chcon < unit.contents.find("/usr/bin/mv ")
    });
    let program_type = |program: &str| match program {
        units::UNPACKED_PATH if unpacked => "bin_t".to_owned(),
        _ => type_of(program),
    };
    for (line, (directive, value)) in text
        .lines()
        .filter_map(|line| Some((line, line.split_once('=')?)))
        .filter(|(line, _)| !line.starts_with('#'))
    {
        let why = format!("{name}: {line}");
        let before = needs.len();
        match directive {
            "ExecStart" | "ExecStartPre" | "ExecStop" => {
                let words: Vec<&str> = value
                    .trim_start_matches(['-', '+'])
                    .split_ascii_whitespace()
                    .collect();
                let own = program_type(words[0]);
                let domain = if own == "shell_exec_t" { SHELL } else { AGENT };
                needs.push(need(INIT, own.clone(), "file", "execute", &why));
                needs.push(need(INIT, own.clone(), "type_transition process", "", &why));
                needs.push(need(INIT, domain, "process", "transition", &why));
                if domain == AGENT {
                    needs.push(need(domain, own, "file", "entrypoint", &why));
                }
                // Programs that it runs in its turn.
                for program in words
                    .iter()
                    .skip(1)
                    .map(|word| word.trim_matches('\''))
                    .filter(|word| program_of_ours(word))
                {
                    needs.push(need(
                        domain,
                        program_type(program),
                        "file",
                        "execute execute_no_trans",
                        &why,
                    ));
                }
                needs.extend(written_by(&words, domain, &why));
            }
            "ConditionPathExists" | "ConditionFileIsExecutable" | "AssertPathExists" => {
                let path = value.trim_start_matches(['|', '!']);
                needs.push(need(INIT, program_type(path), "file", "getattr", &why));
            }
            "StateDirectory"
            | "CacheDirectory"
            | "LogsDirectory"
            | "RuntimeDirectory"
            | "ConfigurationDirectory" => {
                let parent = match directive {
                    "StateDirectory" => "/var/lib",
                    "RuntimeDirectory" => "/run",
                    _ => panic!("{why}: which directory?"),
                };
                // Made where it is missing; its mode is changed at every start, whoever made it.
                needs.push(need(
                    INIT,
                    type_of(parent),
                    "dir",
                    "search getattr create add_name setattr",
                    &why,
                ));
            }
            "ReadWritePaths" => {
                needs.extend(
                    value
                        .split(' ')
                        .map(|path| path.trim_start_matches('-'))
                        .map(|path| need(INIT, type_of(path), "dir", "mounton", &why)),
                );
            }
            "PrivateTmp" => needs.push(need(
                INIT,
                "tmp_t",
                "dir",
                "create add_name write mounton",
                &why,
            )),
            "PrivateDevices" => {
                needs.push(need(INIT, "device_t", "dir", "mounton", &why));
                needs.push(need(INIT, "null_device_t", "chr_file", "create", &why));
            }
            "ProtectSystem" => {
                needs.extend(
                    ["root_t", "usr_t", "boot_t", "var_t"]
                        .map(|top| need(INIT, top, "dir", "mounton", &why)),
                );
                needs.push(need(INIT, "fs_t", "filesystem", "remount", &why));
            }
            "ProtectHome" => needs.extend(
                ["home_root_t", "admin_home_t", "user_tmp_t"]
                    .map(|home| need(INIT, home, "dir", "mounton", &why)),
            ),
            "ProtectKernelTunables" => {
                needs.extend(
                    ["sysctl_t", "sysfs_t", "sysctl_irq_t"]
                        .map(|tree| need(INIT, tree, "dir", "mounton", &why)),
                );
                needs.push(need(INIT, "proc_t", "file", "mounton", &why));
            }
            "ProtectKernelModules" => {
                needs.push(need(INIT, "modules_object_t", "dir", "mounton", &why))
            }
            "ProtectControlGroups" => needs.push(need(INIT, "cgroup_t", "dir", "mounton", &why)),
            "ProtectKernelLogs" => needs.push(need(INIT, "proc_kmsg_t", "file", "mounton", &why)),
            "ProtectProc" => needs.push(need(INIT, "proc_t", "dir", "mounton", &why)),
            "NoNewPrivileges" => needs.push(need(INIT, AGENT, "process2", "nnp_transition", &why)),
            _ => {}
        }
        let since = DIRECTIVES
            .iter()
            .find(|(known, _)| *known == directive)
            .map_or(0, |(_, since)| *since);
        needs[before..]
            .iter_mut()
            .for_each(|need| need.since = since);
    }
    needs
}

fn program_of_ours(word: &str) -> bool {
    word.starts_with("/usr/bin/") && word != "/usr/bin"
        || word == units::UNPACKED_PATH
        || word == units::FETCHED_PATH
}

/// What the lines of the unit that unpacks do to the file.
fn written_by(words: &[&str], domain: &'static str, why: &str) -> Vec<Need> {
    let made = "initrc_var_run_t";
    match words[0] {
        "/usr/bin/mkdir" => vec![need(
            domain,
            "var_run_t",
            "dir",
            "create add_name write",
            why,
        )],
        "/bin/sh" => vec![
            need(
                SHELL,
                type_of(units::PACKED_PATHS[0]),
                "file",
                "read open",
                why,
            ),
            need(SHELL, "var_run_t", "dir", "write add_name search", why),
            need(SHELL, made, "file", "create write open", why),
        ],
        "/usr/bin/chmod" => vec![need(domain, made, "file", "setattr getattr", why)],
        "/usr/bin/chcon" => vec![
            need(domain, made, "file", "relabelfrom", why),
            need(domain, "bin_t", "file", "relabelto", why),
            need("bin_t", "tmpfs_t", "filesystem", "associate", why),
        ],
        "/usr/bin/mv" => vec![need(domain, "bin_t", "file", "rename unlink", why)],
        _ => Vec::new(),
    }
}

/// What the agent itself does to files, whichever unit runs it.
fn needs_of_the_agent() -> Vec<Need> {
    let mut needs = Vec::new();
    let drop_in = "/run/systemd/system/kubelet.service.d/50-skewguard.conf";
    let state = [
        RUN_VERDICT_PATH,
        STAMP_PATH,
        OVERRIDE_PATH,
        KEPT_VERDICT_PATH,
        UNTOLD_VERDICT_PATH,
        RECORD_PATH,
        STATE,
        STATE_PATH,
    ];
    for path in state
        .into_iter()
        .chain(["/etc/issue", PROMPT, MOTD, drop_in])
        .chain([FIRST_BOOT_ISSUE, FIRST_BOOT_MOTD])
    {
        needs.push(need(
            AGENT,
            type_of(path),
            "file",
            "create write open rename unlink",
            path,
        ));
        let (directory, _) = path.rsplit_once('/').expect("a directory");
        needs.push(need(
            AGENT,
            type_of(directory),
            "dir",
            "create add_name remove_name write",
            path,
        ));
    }
    needs.push(need(
        AGENT,
        type_of("/etc/issue"),
        "lnk_file",
        "create rename unlink link read",
        "/etc/issue is a link",
    ));
    let read = [
        ENCAPSULATED_PATH,
        SERVED_PATH,
        BOOTSTRAP_KUBECONFIG,
        KUBELET_KUBECONFIG,
        "/var/lib/kubelet/pki/kubelet-client-current.pem",
        "/sysroot/.coreos-aleph-version.json",
        "/ostree/deploy/rhcos/deploy/x.0.origin",
        "/proc/cmdline",
        "/sys/class/dmi/id/product_uuid",
    ];
    needs.extend(read.map(|path| need(AGENT, type_of(path), "file", "read open getattr", path)));
    for program in ["/usr/sbin/agetty", "/usr/bin/curl"] {
        needs.push(need(
            AGENT,
            type_of(program),
            "file",
            "execute execute_no_trans",
            program,
        ));
    }
    // Who reads what it writes.
    needs.push(need(
        INIT,
        type_of(drop_in),
        "file",
        "read open getattr",
        drop_in,
    ));
    for reader in ["getty_t", "local_login_t", "sshd_t"] {
        needs.push(need(
            reader,
            type_of("/etc/motd.d/skewguard"),
            "file",
            "read open getattr",
            "/etc/issue, /etc/motd.d",
        ));
    }
    needs.push(need(
        "getty_t",
        type_of(FIRST_BOOT_ISSUE),
        "file",
        "read open",
        FIRST_BOOT_ISSUE,
    ));
    needs.push(need(
        "getty_t",
        type_of("/run/agetty.reload"),
        "file",
        "watch read open getattr",
        "/run/agetty.reload",
    ));
    needs.push(need(
        AGENT,
        type_of("/run/agetty.reload"),
        "file",
        "open write setattr",
        "agetty --reload",
    ));
    needs.push(need(
        AGENT,
        "system_dbusd_t",
        "unix_stream_socket",
        "connectto",
        "D-Bus",
    ));
    needs.push(need(
        AGENT,
        INIT,
        "system",
        "reload status",
        "Manager.Reload",
    ));
    needs
}

/// What the table says against a need in a release; nothing where it is allowed.
fn objection(rows: &[Row], release: &str, need: &Need) -> Option<String> {
    let about = rows.iter().filter(|row| {
        (&*row.release, &*row.source, &*row.target, &*row.class)
            == (release, need.domain, &*need.object, need.class)
    });
    let about: Vec<&Row> = about.collect();
    if need.class.starts_with("type_transition") {
        let wanted = if need.object == "shell_exec_t" {
            SHELL
        } else {
            AGENT
        };
        return (!about.iter().any(|row| row.allowed == wanted))
            .then(|| format!("does not enter {wanted}"));
    }
    // Allowed as far as it can be: "y", or "no-type", where that policy knows the file by another
    // type, in another row.
    let unanswered = need.permissions.split(' ').find(|permission| {
        !about.iter().any(|row| {
            let denied = row
                .allowed
                .strip_prefix("n:")
                .is_some_and(|denied| denied.split(' ').any(|denied| denied == *permission));
            row.permissions.contains(*permission) && !denied
        })
    });
    unanswered.map(|permission| format!("{permission} is denied or not in the table"))
}

#[test]
fn every_policy_allows_what_the_units_and_the_agent_do() {
    let rows = rows();
    let mut needs = needs_of_the_agent();
    needs.extend(
        all_units()
            .iter()
            .flat_map(|(name, text)| needs_of(name, text)),
    );
    assert!(needs.len() > 150, "{} needs", needs.len());
    let mut objections = Vec::new();
    for (release, systemd) in RELEASES {
        for need in needs.iter().filter(|need| need.since <= systemd) {
            if let Some(objection) = objection(&rows, release, need) {
                let Need {
                    domain,
                    object,
                    class,
                    why,
                    ..
                } = need;
                objections.push(format!(
                    "{release}: {domain} {object} {class}: {objection} ({why})"
                ));
            }
        }
    }
    assert!(objections.is_empty(), "{}", objections.join("\n"));
}

#[test]
fn what_a_policy_denies_is_nothing_of_ours_and_the_reason_is_known() {
    let denied = rows()
        .into_iter()
        .filter(|row| row.allowed.starts_with("n:"))
        .map(|row| (row.source, row.target, row.class));
    let denied: BTreeSet<_> = denied.collect();
    let explained = DENIED
        .map(|(source, target, class, _)| (source.to_owned(), target.to_owned(), class.to_owned()));
    assert_eq!(denied, BTreeSet::from(explained));
}
