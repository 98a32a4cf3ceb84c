//! Work shared among threads, none of which outlives the call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::view::View;

/// Bytes of a tensor that one thread reads before it asks for more work: some 100 microseconds.
const PART_BYTES: usize = 1 << 20;

/// One of the parts into which the tensors of a list are cut, the same whatever the number of threads: so are sums over them.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    /// Which tensor.
    pub(crate) view: usize,
    /// Which part of it.
    pub(crate) number: usize,
    /// How many parts it has.
    pub(crate) of: usize,
}

/// The parts of every tensor, in order.
pub(crate) fn parts<'a>(views: &'a [View<'a>]) -> impl Iterator<Item = Part> + 'a {
    views.iter().enumerate().flat_map(|(view, tensor)| {
        let of = parts_of(tensor);
        (0..of).map(move |number| Part { view, number, of })
    })
}

fn parts_of(view: &View) -> usize {
    (view.len() * view.dtype().size()).div_ceil(PART_BYTES).max(1)
}

/// The result of every job, on up to `threads` threads, the caller's among them. What a thread leaves undone that cannot be
/// started, or panics, the caller does.
pub(crate) fn each<R: Send>(jobs: usize, threads: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let threads = threads.min(jobs);
    if threads < 2 {
        return (0..jobs).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let some = || {
        let taken = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|job| *job < jobs));
        taken.map(|job| (job, work(job))).collect::<Vec<_>>()
    };
    let mut results: Vec<Option<R>> = (0..jobs).map(|_| None).collect();
    thread::scope(|scope| {
        let start = |_| thread::Builder::new().name("nanscope-scan".to_owned()).spawn_scoped(scope, some).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mine = some();
        let theirs = others.into_iter().filter_map(|other| other.join().ok()).flatten();
        for (job, result) in mine.into_iter().chain(theirs) {
            results[job] = Some(result);
        }
    });
    results.into_iter().enumerate().map(|(job, result)| result.unwrap_or_else(|| work(job))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_whatever_the_number_of_threads() {
        for threads in [0, 1, 2, 3, 64] {
            let runs = AtomicUsize::new(0);
            let results = each(17, threads, |job| {
                runs.fetch_add(1, Ordering::Relaxed);
                job * job
            });
            assert_eq!(results, (0..17).map(|job| job * job).collect::<Vec<_>>());
            assert_eq!(runs.into_inner(), 17);
        }
        assert!(each(0, 2, |job| job).is_empty());
    }

    #[test]
    fn what_a_thread_that_panics_leaves_undone_the_caller_does() {
        let caller = thread::current().id();
        let results = each(50, 2, |job| {
            // So that the other thread gets a job.
            thread::sleep(std::time::Duration::from_millis(1));
            assert_eq!(thread::current().id(), caller, "a thread that fails");
            job
        });
        assert_eq!(results, (0..50).collect::<Vec<_>>());
    }
}
