//! Panics, which are bugs of Plumb. A worker's panic is caught in its main function, which ends the run in an orderly
//! way. The hook reports any panic with a backtrace that names functions.
//!
//! A worker process is a copy of the one thread that forked it. Locks that other threads held at that moment
//! are never released in the copy. The most important ones are the standard library's locks for backtraces and
//! for its own panic report. The hook therefore takes no lock in a forked process. A worker process ends
//! inside the hook, because the C library and the unwinder take locks as well while they search for a stack
//! frame (glibc before 2.35: `dl_iterate_phdr`).

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::io::{Write, stderr};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Once, OnceLock};

/// Whether any thread of the process has panicked.
static HAPPENED: AtomicBool = AtomicBool::new(false);

/// Completed once the hook handles forked processes.
static KNOWS_FORKS: Once = Once::new();

/// Set only in a worker process, after the fork.
static WORKER_PROCESS: OnceLock<WorkerProcess> = OnceLock::new();

/// A worker process, for its panic hook.
struct WorkerProcess {
    /// Whether the forking thread was the only one of its process, so that no other can have held a lock.
    is_whole_copy: bool,
    /// Reports the panic to the coordinator and ends the process.
    end: Box<dyn Fn(&CaughtPanic) + Send + Sync>,
    /// Set once a thread of the process is ending it.
    ends: AtomicBool,
}

thread_local! {
    /// Source location of the thread's last panic, which its payload does not contain.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Replaces the standard hook: prints thread, location, message and a backtrace, even if `RUST_BACKTRACE` is unset.
pub fn install_hook() {
    set_hook(|panic| {
        HAPPENED.store(true, Relaxed);
        let place = place_of(panic);
        // A single write, so that reports of several workers do not mix. Errors are ignored: there is no
        // other way to report them.
        let _ = stderr().lock().write_all(report(panic, place.as_deref(), &Backtrace::force_capture()).as_bytes());
        // This fails if one of the thread's last destructors panics, when its storage is gone.
        let _ = PLACE.try_with(|kept| kept.set(place));
    });
    KNOWS_FORKS.call_once(|| ());
}

/// Makes the hook of this process call `first` before it reports a panic. Forked processes do not call it.
pub fn before_report(first: impl Fn() + Send + Sync + 'static) {
    let report = std::panic::take_hook();
    set_hook(move |panic| {
        first();
        report(panic);
    });
}

/// Makes the hook safe for forks if it is not from [`install_hook`]. The standard hook takes locks. Call this before a
/// fork: setting a hook takes a lock that every panic takes as well.
pub(crate) fn prepare_for_forks() {
    KNOWS_FORKS.call_once(|| set_hook(std::panic::take_hook()));
}

/// Sets up a worker process after the fork: a panic calls `end`, which reports it and ends the process.
pub(crate) fn become_worker_process(is_whole_copy: bool, end: impl Fn(&CaughtPanic) + Send + Sync + 'static) {
    let process = WorkerProcess { is_whole_copy, end: Box::new(end), ends: AtomicBool::new(false) };
    // This fails only in a worker process that forks another one, which none does.
    let _ = WORKER_PROCESS.set(process);
}

/// Sets the hook of this process. Forked processes inherit it, and then use the report without locks.
fn set_hook(here: impl Fn(&PanicHookInfo<'_>) + Send + Sync + 'static) {
    let process = std::process::id();
    std::panic::set_hook(Box::new(move |panic| match std::process::id() == process {
        true => here(panic),
        false => report_forked(panic),
    }));
}

/// Reports a panic of a forked process without locks. Ends a worker process.
fn report_forked(panic: &PanicHookInfo<'_>) {
    let place = place_of(panic);
    let worker = WORKER_PROCESS.get();
    let text = match worker.is_some_and(|worker| worker.is_whole_copy) {
        true => report(panic, place.as_deref(), &Backtrace::force_capture()),
        false => report(panic, place.as_deref(), &NO_BACKTRACE),
    };
    write_unlocked(text.as_bytes());
    let Some(worker) = worker else { return };
    if !worker.ends.swap(true, Relaxed) {
        (worker.end)(&CaughtPanic { place, message: message_of(panic.payload()).to_owned() });
    }
    // Another thread of the process is ending it.
    loop {
        std::thread::park();
    }
}

/// Printed instead of the backtrace of a forked process.
const NO_BACKTRACE: &str =
    "No backtrace: this is a forked process, in which a backtrace could wait for a lock forever.";

/// Writes to standard error without the lock of [`std::io::Stderr`].
fn write_unlocked(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(stderr(), bytes) {
            Ok(written @ 1..) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            // There is no other way to report this.
            Ok(0) | Err(_) => return,
        }
    }
}

/// Returns `true` if any thread of this process, or one of its worker processes, has panicked. The program's
/// exit code is then 4.
pub fn happened() -> bool {
    HAPPENED.load(Relaxed)
}

/// Records a worker's panic, which may have happened in another process.
pub(crate) fn happened_in_worker() {
    HAPPENED.store(true, Relaxed);
}

/// Environment variable with the name of a worker, or of the coordinator (`main`), that must panic when the clock
/// starts. Tests check the clean-up.
const TEST_PANIC: &str = "PLUMB_PANIC_WORKER";

/// Returns `true` if a test asks the worker of this name to panic.
pub(crate) fn is_requested_by_test(worker: &str) -> bool {
    std::env::var_os(TEST_PANIC).is_some_and(|name| name == worker)
}

/// Panics for a test. A separate function, so that the test finds its name in the backtrace.
#[inline(never)]
pub(crate) fn panic_on_purpose() -> ! {
    panic!("{TEST_PANIC} names this worker")
}

fn place_of(panic: &PanicHookInfo<'_>) -> Option<String> {
    panic.location().map(ToString::to_string)
}

fn report(panic: &PanicHookInfo<'_>, place: Option<&str>, backtrace: &dyn std::fmt::Display) -> String {
    let current = std::thread::current();
    let thread = current.name().unwrap_or("without a name");
    // File names in the message may contain escape sequences.
    let message = plumb_text::visible(message_of(panic.payload()));
    let place = place.unwrap_or("an unknown place");
    format!(
        "error: thread `{thread}` panicked at {place}: {message}\n{backtrace}\nThis is a defect of Plumb. Please report it with the \
         lines above.\n"
    )
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

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
    use crate::phase::{PhaseRun, Unwatched, run_phase};
    use crate::phase_error::PhaseError;
    use crate::plan::{GroupRun, WorkerRules};
    use crate::signals::StopFlag;
    use crate::terms::Ended;
    use plumb_workload::{OnError, RunAs, When};
    use std::backtrace::Backtrace;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::time::Duration;

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

    /// Runs a worker that panics next to one that works until it is stopped.
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
        run_phase(clock, run, StopFlag::detached(), &mut Unwatched).err().expect("the phase fails")
    }

    // Protects the phase: a panic ends it in an orderly way, in threads, in processes and on virtual time, before and
    // after the barrier, even if a failing worker leaves the others alone.
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

    /// Far longer than a run takes. Before the fix, it never ended.
    const LIMIT: Duration = Duration::from_secs(120);

    // Protects a fixed bug: a worker process was forked while another thread held the standard library's backtrace
    // lock. Its panic waited for that lock forever, and so did the run.
    #[test]
    fn a_worker_process_panics_while_another_thread_prints_backtraces() {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let goes_on = Arc::clone(&is_over);
        let printer = std::thread::spawn(move || {
            let mut printed = 0;
            while !goes_on.load(Relaxed) {
                printed += Backtrace::force_capture().to_string().len();
                // Start the runs once function names are resolved: from then on the loop holds the
                // lock most of the time.
                let _ = sender.try_send(());
            }
            printed
        });
        receiver.recv().unwrap();
        let (end, ends) = crossbeam_channel::bounded(1);
        std::thread::spawn(move || {
            for number in 0..20 {
                let error = run(Clock::best(), RunAs::Process, OnError::Stop, At::Work);
                check(&error, &format!("run {number}"));
            }
            end.send(()).unwrap();
        });
        let ended = ends.recv_timeout(LIMIT);
        is_over.store(true, Relaxed);
        assert!(printer.join().unwrap() > 0);
        ended.expect("each run ends, and its error has the worker's message");
    }

    fn check(error: &PhaseError, what: &str) {
        let PhaseError::Panicked { worker, reason } = error else { panic!("{what}: {error}") };
        assert_eq!(worker, "defective", "{what}");
        assert!(reason.contains("a number: ParseIntError"), "{what}: {reason}");
        assert!(error.to_string().contains("a defect of Plumb"), "{what}: {error}");
    }
}
