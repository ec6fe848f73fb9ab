//! The `skewguard` command: arguments in, exit status out. Everything else is in the library.

use skewguard::cli::{Io, run};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

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
