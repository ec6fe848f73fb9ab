//! Options that stand before the command, as people write them for `oc` (pure).

use std::ffi::OsString;

/// Those of several commands, with the number of arguments that follow each as values.
const OPTIONS: [(&str, usize); 11] = [
    ("--context", 1),
    ("--kubeconfig", 1),
    ("--request-timeout", 1),
    ("--insecure-skip-tls-verify", 0),
    ("--namespace", 1),
    ("-n", 1),
    ("-A", 0),
    ("--policy", 1),
    ("--target", 1),
    ("--output", 1),
    ("-o", 1),
];

/// The arguments with such options moved to the end: each is one of the command's.
pub(super) fn behind_the_command(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args = args.into_iter();
    let mut all: Vec<OsString> = args.by_ref().take(1).collect();
    let mut moved = Vec::new();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        let Some((_, values)) = OPTIONS.iter().find(|(option, _)| *option == name) else {
            all.push(arg);
            break;
        };
        let follow = if text.contains('=') { 0 } else { *values };
        moved.push(arg);
        moved.extend(args.by_ref().take(follow));
    }
    all.extend(args);
    // What follows `--` are no options.
    let end = all.iter().position(|arg| arg == "--").unwrap_or(all.len());
    all.splice(end..end, moved);
    all
}
