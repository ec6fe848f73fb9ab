//! Programs that tests make.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a shell script that can be run at once, over one that is there.
///
/// Another process writes it: a descriptor open for writing that a test beside this one inherits,
/// between its fork and exec, would make the script "busy" (ETXTBSY, execve(2)).
pub(crate) fn script(path: &Path, text: &str) {
    let mut install = Command::new("install")
        .args(["-m", "755", "/dev/stdin"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("install");
    install
        .stdin
        .take()
        .expect("a pipe")
        .write_all(format!("#!/bin/sh\n{text}\n").as_bytes())
        .expect("written");
    assert!(
        install.wait().expect("install").success(),
        "{}",
        path.display()
    );
}
