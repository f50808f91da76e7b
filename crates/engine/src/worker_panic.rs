//! What becomes of a worker that panics, which is a defect of Plumb: it fails by itself, and the others go on.
//!
//! Release builds do not unwind (`panic = "abort"`). The hook, which runs before that, says that the worker failed, and
//! does not return: a process exits, a thread sleeps until the program ends, with all that it holds. Where a build can
//! unwind, the thread goes that way.
#![allow(unsafe_code)]

use crate::barrier::Barrier;
use plumb_workload::RunAs;
use std::cell::OnceCell;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Once};

thread_local! {
    /// The worker that the calling thread is, whether of this process or a process of its own.
    static WORKER: OnceCell<(Arc<Barrier>, RunAs)> = const { OnceCell::new() };
}

/// Whether a thread that panics must sleep, since nothing can unwind it.
static SLEEPS: AtomicBool = AtomicBool::new(cfg!(panic = "abort"));

/// Installs the hook, once for the process. It comes behind the one that was there, which says what happened.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            // It is gone where a thread's last destructors run, and then the worker was over.
            let worker = WORKER.try_with(|worker| worker.get().cloned());
            if let Ok(Some((barrier, run_as))) = worker {
                end(&barrier, run_as, panic);
            }
        }));
    });
}

/// From here on the calling thread is this worker.
pub(crate) fn is_worker(barrier: &Arc<Barrier>, run_as: RunAs) {
    WORKER.with(|worker| {
        worker.get_or_init(|| (Arc::clone(barrier), run_as));
    });
}

fn end(barrier: &Barrier, run_as: RunAs, panic: &PanicHookInfo<'_>) {
    let sleeps = run_as == RunAs::Thread && SLEEPS.load(Relaxed);
    let payload = panic.payload();
    let said = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
    let reason = format!("the worker panicked{place}: {}; this is a bug in Plumb", said.unwrap_or("no reason"));
    barrier.panicked(&reason, sleeps);
    if run_as == RunAs::Process {
        // SAFETY: ends the process without running the exit handlers of the parent that it was copied from.
        unsafe { libc::_exit(0) }
    }
    if sleeps {
        loop {
            std::thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barrier::WorkerSpec;
    use crate::clock::Clock;
    use crate::control::CommonLimit;
    use crate::observer::Live;
    use crate::phase::{PhaseRun, PhaseWatcher, run_phase};
    use crate::phase_error::PhaseError;
    use crate::plan::{GroupRun, WorkerRules};
    use crate::signals::StopFlag;
    use crate::terms::Ended;
    use plumb_result::measurement::Fault;
    use plumb_workload::{OnError, When};

    struct Nobody;

    impl PhaseWatcher for Nobody {
        fn clock_starts(&mut self) {}
        fn interval(&mut self, _live: &Live) {}
        fn clock_stopped(&mut self, _processes: &[u32]) {}
        fn flush(&mut self) -> Result<Option<u64>, Box<Fault>> {
            Ok(None)
        }
    }

    fn worker(name: &str, on_error: OnError, body: impl FnOnce(&Barrier) + Send + 'static) -> WorkerSpec {
        WorkerSpec {
            name: name.to_owned(),
            group: 0,
            depth: 1,
            cpu: None,
            rules: WorkerRules { on_error, ..WorkerRules::default() },
            body: Box::new(|barrier| {
                body(barrier);
                Ok(Ended::Done)
            }),
        }
    }

    /// How each worker of a phase ended: one panics before its start, one behind it, and the last goes on.
    fn ends(run_as: RunAs, on_error: OnError) -> Result<Vec<Option<String>>, PhaseError> {
        let panics = || -> u32 { "none".parse().expect("a number") };
        let workers = vec![
            worker("early", on_error, move |_| {
                panics();
            }),
            worker("late", on_error, move |barrier| {
                let _passed = barrier.pass();
                panics();
            }),
            worker("good", on_error, |barrier| {
                if let Some(mut passed) = barrier.pass() {
                    passed.stop_clock();
                }
            }),
        ];
        let run = PhaseRun {
            name: "panics".to_owned(),
            groups: vec![GroupRun::default()],
            run_as: vec![run_as; workers.len()],
            workers,
            ramp_ns: 0,
            time_ns: None,
            limit: CommonLimit::default(),
            when: When::AllDone,
            steady: None,
            working_set_bytes: None,
            flush_inside_clock: true,
            board: None,
            replay: None,
            others: None,
        };
        let outcome = run_phase(Clock::best(), run, StopFlag::detached(), &mut Nobody)?;
        Ok(outcome.measurement.workers.into_iter().map(|worker| worker.ended_by).collect())
    }

    /// The phase ends, and ends well for who did not panic.
    fn they_fail_by_themselves() {
        for run_as in [RunAs::Thread, RunAs::Process] {
            let ends = ends(run_as, OnError::Leave).unwrap();
            let [Some(early), Some(late), None] = &ends[..] else { panic!("{run_as:?}: {ends:?}") };
            for reason in [early, late] {
                assert!(reason.contains("worker_panic.rs"), "{run_as:?}: {reason}");
                assert!(reason.contains("a number: ParseIntError"), "{run_as:?}: {reason}");
            }
        }
    }

    #[test]
    fn workers_that_panic_fail_by_themselves() {
        they_fail_by_themselves();
    }

    /// As in a release. It happens in another process: a thread that sleeps in the hook keeps the test runner, which takes
    /// its own hook back, from ending.
    #[test]
    fn workers_that_panic_fail_by_themselves_where_nothing_unwinds() {
        const WITHIN: &str = "PLUMB_TEST_SLEEPS_IN_PANIC";
        if std::env::var_os(WITHIN).is_some() {
            SLEEPS.store(true, Relaxed);
            let held = std::panic::catch_unwind(they_fail_by_themselves);
            std::process::exit(if held.is_ok() { 0 } else { 1 });
        }
        let (_, tests) = module_path!().split_once("::").unwrap();
        let name = format!("{tests}::workers_that_panic_fail_by_themselves_where_nothing_unwinds");
        let program = std::env::current_exe().unwrap();
        let output = std::process::Command::new(program)
            .args(["--exact", &name, "--nocapture", "--test-threads=2"])
            .env(WITHIN, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(said.matches("panicked at").count(), 4, "two threads and two processes: {said}");
    }

    #[test]
    fn a_panic_ends_the_phase_as_any_failure_does() {
        let error = ends(RunAs::Thread, OnError::Stop).expect_err("it cannot start").to_string();
        assert!(error.contains("early") && error.contains("the worker panicked"), "{error}");
    }
}
