//! Runs one phase on all services: starts it, polls it, and collects the results.

use super::client::{ServiceClient, ServiceError, words};
use super::{Patience, SharedClients};
use plumb_engine::signals::StopFlag;
use plumb_tools_app::elbencho::lower::PhaseKind;
use plumb_tools_app::elbencho::print::WorkDone;
use plumb_tools_app::elbencho::protocol::{self, FirstDone, ServiceResult, ServiceStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shortest interval between status requests, as in elbencho.
const POLL_MS_MIN: u64 = 25;
/// Pause after the first finished thread, in which other requests at hand are answered. As in elbencho.
const SETTLE: Duration = Duration::from_millis(5);
/// Interval between checks whether a phase is over.
const LOOK: Duration = Duration::from_millis(20);

/// A phase for the services.
pub(super) struct PhaseOrder<'a> {
    pub(super) kind: PhaseKind,
    pub(super) id: &'a str,
    /// Threads that each service has.
    pub(super) threads: u64,
    /// Longest time; `None` without a limit.
    pub(super) limit: Option<Duration>,
    /// Most milliseconds between status requests.
    pub(super) poll_ms: u64,
}

/// The end of a phase.
pub(super) struct PhaseEnd {
    /// Results, with the names of the services that have one.
    pub(super) results: Vec<(String, ServiceResult)>,
    /// Work when the first thread was seen to have finished, in the order of `results`.
    pub(super) first: Option<Vec<FirstDone>>,
    /// Errors, with the names of the services.
    pub(super) errors: Vec<String>,
    /// Whether the time limit ended the phase.
    pub(super) time_is_over: bool,
}

/// A running phase, seen by all its threads.
struct RunningPhase<'a> {
    order: &'a PhaseOrder<'a>,
    stop: StopFlag,
    began: Instant,
    patience: Patience,
    /// Work of each service at its last poll.
    live: Vec<Mutex<FirstDone>>,
    /// Work of all services when the first thread was seen to have finished.
    first: Mutex<Option<Vec<FirstDone>>>,
    failed: AtomicBool,
    time_is_over: AtomicBool,
    /// Threads of all services that have finished.
    over: AtomicU64,
    /// Mean CPU utilization at the last polls, of one service.
    cpu: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The progress of all services.
pub(super) struct PhaseSoFar {
    pub(super) elapsed: Duration,
    pub(super) done: WorkDone,
    pub(super) mixed: WorkDone,
    /// Number of services that still work.
    pub(super) active: usize,
    pub(super) cpu: u32,
}

/// Runs a phase. `show` gets the progress several times a second.
pub(super) fn run(
    clients: &SharedClients,
    order: &PhaseOrder<'_>,
    (stop, patience): (StopFlag, Patience),
    show: &mut dyn FnMut(&PhaseSoFar),
) -> PhaseEnd {
    let phase = RunningPhase {
        order,
        stop,
        began: Instant::now(),
        patience,
        live: clients.iter().map(|_| Mutex::default()).collect(),
        first: Mutex::new(None),
        failed: AtomicBool::new(false),
        time_is_over: AtomicBool::new(false),
        over: AtomicU64::new(0),
        cpu: AtomicU64::new(0),
    };
    let outcomes: Vec<Result<ServiceResult, ServiceError>> = std::thread::scope(|scope| {
        let phase = &phase;
        let begun: Vec<_> = clients
            .iter()
            .enumerate()
            .map(|(number, client)| {
                scope.spawn(move || {
                    let outcome = phase.of_service(number, client);
                    phase.failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    phase.over.fetch_add(1, Ordering::Relaxed);
                    outcome
                })
            })
            .collect();
        while !begun.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(LOOK);
            show(&phase.so_far());
        }
        let panicked = || Err(ServiceError::Failed("the thread that polls it panicked".to_owned()));
        begun.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
    });
    let first = locked(&phase.first).take();
    let mut end = PhaseEnd {
        results: Vec::new(),
        first: first.as_ref().map(|_| Vec::new()),
        errors: Vec::new(),
        time_is_over: phase.time_is_over.load(Ordering::Relaxed),
    };
    for (number, (client, outcome)) in clients.iter().zip(outcomes).enumerate() {
        match outcome {
            Ok(result) => {
                end.results.push((client.name.clone(), result));
                let own = first.as_ref().and_then(|first| first.get(number)).copied();
                end.first.iter_mut().for_each(|all| all.push(own.unwrap_or_default()));
            }
            Err(error) => end.errors.push(format!("{} {error}", client.name)),
        }
    }
    end
}

impl RunningPhase<'_> {
    /// Runs the phase on one service.
    fn of_service(&self, number: usize, client: &ServiceClient) -> Result<ServiceResult, ServiceError> {
        let order = self.order;
        let refused = client.get(&protocol::start_target(order.kind, order.id), self.patience.answer)?;
        if !refused.is_empty() {
            return Err(ServiceError::Refused(words(&String::from_utf8_lossy(&refused))));
        }
        let mut interrupted_at = None;
        loop {
            std::thread::sleep(self.interval());
            if interrupted_at.is_none() && self.must_end() {
                client.get(protocol::INTERRUPT, self.patience.work)?;
                interrupted_at = Some(Instant::now());
            }
            let status = ServiceStatus::parse(&client.get(protocol::STATUS, self.patience.answer)?)?;
            self.check(&status.id, status.threads_failed, &status.errors)?;
            *locked(&self.live[number]) = FirstDone { done: status.done, mixed: status.mixed };
            self.cpu.store(status.cpu.into(), Ordering::Relaxed);
            if status.threads_done > 0 && status.first_is_done {
                self.first_is_done();
            }
            if status.threads_done >= order.threads {
                break;
            }
            // The answer to an interruption comes after all threads have ended.
            if interrupted_at.is_some_and(|at| at.elapsed() > self.patience.answer) {
                return Err(ServiceError::Failed("its threads go on after an interruption".to_owned()));
            }
        }
        let result = ServiceResult::parse(&client.get(protocol::RESULT, self.patience.answer)?)?;
        self.check(&result.id, result.threads_failed, &result.errors)?;
        if result.elapsed_us.len() as u64 > order.threads {
            return Err(ServiceError::Failed(format!(
                "its result has the times of {} threads, and it was told to use {}",
                result.elapsed_us.len(),
                order.threads
            )));
        }
        Ok(result)
    }

    fn check(&self, id: &str, failed: u64, errors: &str) -> Result<(), ServiceError> {
        if id != self.order.id {
            return Err(ServiceError::Replaced);
        }
        match failed {
            0 => Ok(()),
            _ => Err(ServiceError::Failed(words(errors))),
        }
    }

    /// Returns `true` if the phase must end before its work is done.
    fn must_end(&self) -> bool {
        if self.order.limit.is_some_and(|limit| self.began.elapsed() >= limit) {
            self.time_is_over.store(true, Ordering::Relaxed);
            return true;
        }
        self.stop.requested() || self.failed.load(Ordering::Relaxed)
    }

    /// Keeps the work of all services when the first thread is seen to have finished.
    fn first_is_done(&self) {
        let mut first = locked(&self.first);
        if first.is_none() {
            std::thread::sleep(SETTLE);
            *first = Some(self.live.iter().map(|live| *locked(live)).collect());
        }
    }

    /// Returns the time until the next status request: a hundredth of the elapsed time, within limits.
    fn interval(&self) -> Duration {
        let elapsed = self.began.elapsed();
        let hundredth = u64::try_from(elapsed.as_millis() / 100).unwrap_or(u64::MAX);
        let mut interval = Duration::from_millis(hundredth.max(POLL_MS_MIN).min(self.order.poll_ms.max(1)));
        // A time limit is kept, however long the interval is.
        if let Some(left) = self.order.limit.and_then(|limit| limit.checked_sub(elapsed)) {
            interval = interval.min(left.max(Duration::from_millis(1)));
        }
        interval
    }

    fn so_far(&self) -> PhaseSoFar {
        let mut sum = FirstDone::default();
        for live in &self.live {
            let one = *locked(live);
            sum.done.add(one.done);
            sum.mixed.add(one.mixed);
        }
        PhaseSoFar {
            elapsed: self.began.elapsed(),
            done: sum.done,
            mixed: sum.mixed,
            active: self.live.len().saturating_sub(self.over.load(Ordering::Relaxed) as usize),
            cpu: u32::try_from(self.cpu.load(Ordering::Relaxed)).unwrap_or(u32::MAX),
        }
    }
}
