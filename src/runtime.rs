//! The loop that waits for sockets and clocks.

use std::future::Future;
use std::io::Error;
use std::pin::Pin;

/// Runs `work` to its end. Its type is erased: so the loop that does this is in a program once.
///
/// # Errors
/// The system has no epoll instance or eventfd left (epoll_create(2), eventfd(2)).
pub(crate) fn run(work: Pin<&mut dyn Future<Output = ()>>) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work);
    Ok(())
}
