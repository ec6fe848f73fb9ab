//! The loop that waits for sockets and clocks.

use std::future::Future;
use std::io::Error;
use std::pin::Pin;
use std::task::Poll;

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

/// Work that is polled in one place, without a task for each.
pub(crate) type Work<'a, T> = Vec<Pin<Box<dyn Future<Output = T> + 'a>>>;

/// Waits for the first of these that is done, and takes it out. They begin in their order.
pub(crate) async fn first_done<T>(work: &mut Work<'_, T>) -> T {
    std::future::poll_fn(|context| {
        for at in 0..work.len() {
            if let Some(one) = work.get_mut(at)
                && let Poll::Ready(done) = one.as_mut().poll(context)
            {
                drop(work.remove(at));
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    })
    .await
}
