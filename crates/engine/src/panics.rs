//! Panics, which are defects of Plumb. A worker's panic is caught where the worker begins and ends its run in order; the hook
//! reports any panic with a backtrace that names functions.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether any thread of the process has panicked.
static HAPPENED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Source position of the thread's last panic: the payload does not contain it.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Replaces the standard hook: prints thread, place, message and a backtrace, even if `RUST_BACKTRACE` is unset.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|panic| {
        HAPPENED.store(true, Relaxed);
        let place = panic.location().map(ToString::to_string);
        report(panic, place.as_deref());
        // The thread's storage is gone if one of its last destructors panics.
        let _ = PLACE.try_with(|kept| kept.set(place));
    }));
}

/// Whether any thread of this process, or one of its worker processes, has panicked. The exit code of the program is 4 then.
pub fn happened() -> bool {
    HAPPENED.load(Relaxed)
}

/// Records a worker's panic, which may have happened in a process of its own.
pub(crate) fn happened_in_worker() {
    HAPPENED.store(true, Relaxed);
}

/// The variable that names a worker, or the coordinator (`main`), to panic as the clock starts. Tests check the clean-up.
const ON_PURPOSE: &str = "PLUMB_PANIC_WORKER";

/// Whether the worker of this name is to panic on purpose.
pub(crate) fn is_on_purpose(worker: &str) -> bool {
    std::env::var_os(ON_PURPOSE).is_some_and(|name| name == worker)
}

/// Panics on purpose. A function of its own, so that a test finds its name in the backtrace.
#[inline(never)]
pub(crate) fn panic_on_purpose() -> ! {
    panic!("{ON_PURPOSE} names this worker")
}

fn report(panic: &PanicHookInfo<'_>, place: Option<&str>) {
    let current = std::thread::current();
    let thread = current.name().unwrap_or("without a name");
    // File names in it may hold escape sequences.
    let message = plumb_text::visible(message_of(panic.payload()));
    let place = place.unwrap_or("an unknown place");
    // In one call, so that the reports of several workers do not mix. Nothing can be done if it fails.
    let text = format!(
        "error: thread `{thread}` panicked at {place}: {message}\n{}\nThis is a defect of Plumb. Please report it with the lines \
         above.\n",
        Backtrace::force_capture()
    );
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// A panic that was caught.
#[derive(Debug, thiserror::Error)]
#[error("panicked at {}: {message}", place.as_deref().unwrap_or("an unknown place"))]
pub(crate) struct CaughtPanic {
    /// Source file, line and column; `None` if the hook is not installed.
    place: Option<String>,
    message: String,
}

/// Runs a worker, and catches its panic.
pub(crate) fn catch<T>(run: impl FnOnce() -> T) -> Result<T, CaughtPanic> {
    // Workers share only atomic cells, and locks that ignore poison.
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| CaughtPanic {
        place: PLACE.try_with(Cell::take).ok().flatten(),
        message: message_of(&*payload).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use crate::barrier::{Barrier, WorkerSpec};
    use crate::clock::Clock;
    use crate::control::CommonLimit;
    use crate::observer::Live;
    use crate::phase::{PhaseRun, PhaseWatcher, run_phase};
    use crate::phase_error::PhaseError;
    use crate::plan::{GroupRun, WorkerRules};
    use crate::signals::StopFlag;
    use crate::terms::Ended;
    use plumb_result::measurement::Fault;
    use plumb_workload::{OnError, RunAs, When};

    struct Idle;

    impl PhaseWatcher for Idle {
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

    #[derive(Clone, Copy, Debug)]
    enum At {
        Preparation,
        Work,
    }

    /// Runs a worker that panics, beside one that works until it is stopped.
    fn run(clock: Clock, run_as: RunAs, on_error: OnError, at: At) -> PhaseError {
        let panics = move |barrier: &Barrier| {
            let passed = matches!(at, At::Work).then(|| barrier.pass());
            let number: u32 = "none".parse().expect("a number");
            drop(passed);
            assert_eq!(number, 0, "unreachable");
        };
        let works = |barrier: &Barrier| {
            if let Some(mut passed) = barrier.pass() {
                while !barrier.stops() {
                    match barrier.clock().is_virtual() {
                        true => crate::virtual_time::sleep_until(barrier.clock().now() + 1_000_000),
                        false => std::thread::yield_now(),
                    }
                }
                passed.stop_clock();
            }
        };
        let workers = vec![worker("defective", on_error, panics), worker("good", on_error, works)];
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
        run_phase(clock, run, StopFlag::detached(), &mut Idle).err().expect("the phase fails")
    }

    // Protects: a panic ends the phase in order, in threads, processes and on virtual time, before and after the barrier,
    // and even where a failing worker leaves the others alone.
    #[test]
    fn a_panic_ends_the_phase_and_names_worker_and_message() {
        for on_error in [OnError::Stop, OnError::Leave] {
            for at in [At::Preparation, At::Work] {
                for run_as in [RunAs::Thread, RunAs::Process] {
                    check(&run(Clock::best(), run_as, on_error, at), &format!("{on_error:?} {at:?} {run_as:?}"));
                }
                check(
                    &run(Clock::virtual_time(), RunAs::Thread, on_error, at),
                    &format!("{on_error:?} {at:?} simulated"),
                );
            }
        }
    }

    fn check(error: &PhaseError, what: &str) {
        let PhaseError::Panicked { worker, reason } = error else { panic!("{what}: {error}") };
        assert_eq!(worker, "defective", "{what}");
        assert!(reason.contains("a number: ParseIntError"), "{what}: {reason}");
        assert!(error.to_string().contains("a defect of Plumb"), "{what}: {error}");
    }
}
