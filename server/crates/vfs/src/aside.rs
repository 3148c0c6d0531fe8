//! Work on the texts of large files from tasks of the runtime, which has few threads and other tasks.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Up to this many bytes the work is done before the threads could change places.
const LARGE: u64 = 1 << 20;

/// Does work on this many bytes; where they are many, other tasks go on meanwhile.
pub fn aside<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        let flavor = Handle::try_current().map(|it| it.runtime_flavor());
        flavor.is_ok_and(|it| it == RuntimeFlavor::MultiThread)
    };
    if LARGE < bytes && has_threads() { block_in_place(work) } else { work() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    /// The work waits for another task, which the only thread of the runtime has to run.
    #[test]
    fn other_tasks_go_on() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.unwrap();
        let task = runtime.spawn(async {
            let (said, heard) = oneshot::channel();
            tokio::spawn(async { said.send("heard").unwrap() });
            aside(LARGE + 1, || heard.blocking_recv().unwrap())
        });
        assert_eq!(runtime.block_on(task).unwrap(), "heard");
    }

    #[tokio::test]
    async fn one_thread_does_it_itself() {
        assert_eq!(aside(LARGE + 1, || 1), 1);
    }

    #[test]
    fn no_runtime_is_needed() {
        assert_eq!(aside(LARGE + 1, || 1), 1);
    }
}
