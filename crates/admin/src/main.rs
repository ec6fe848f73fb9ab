//! The `kubectl-skewguard` command, which `oc skewguard` runs: arguments in, exit status out.
//! Everything else is in the library.

use skewguard_admin::cli::{Io, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
    run(
        std::env::args_os(),
        &mut Io {
            out: &mut out,
            err: &mut err,
        },
    )
    .into()
}
