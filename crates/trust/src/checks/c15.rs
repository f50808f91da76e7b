use crate::check::{Check, Judge, Outcome, grade};
use crate::evidence::PhaseView;
use crate::text::{count, nanos, percent};
use plumb_result::{Level, Pause, PauseCause, Remedy};
use plumb_workload::RunAs;

/// Above this share of the phase, pauses moved the number.
const WARN_SHARE: f64 = 0.02;
/// Above this share, the number does not describe the load.
pub(crate) const FAIL_SHARE: f64 = 0.10;

pub(crate) static CHECK: Check = Check {
    code: "C15",
    title: "Pauses",
    what: "Whether Plumb stood still during the phase: stopped by a signal (`kill -STOP`, Ctrl-Z, cpulimit), suspended \
           with the machine, frozen with its control group, or in a virtual machine that its host did not run.",
    why: "The clock goes on while the load does not: a run of 14 s that was stopped for 4 s shows a rate that falls by a \
          third and one op of 4 s, and neither is the storage's. Checks of trends and levels (E2, E3, E7, C13) say so \
          instead of judging such a phase.",
    how: "A thread that sleeps for 10 ms at a time. Where it oversleeps and the kernel has not counted the time as \
          waiting for a processor (`/proc/thread-self/schedstat`), it stood still: stopped if a `SIGCONT` arrived; \
          suspended if `CLOCK_BOOTTIME` went on without `CLOCK_MONOTONIC`; else stalled, from 100 ms on, unless the \
          hypervisor counts the time as stolen.",
    threshold: "any pause is noted; more than 2 % of the phase warns, more than 10 % fails",
    settled: "By reasoning: the limits of C5. A stop counts from 10 ms on, since its signal is the witness; without a \
              witness only 100 ms do, which is more than late timers and page faults take.",
    fix: &[Remedy::words("Run it again without the pause.")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() || view.is_at_rest() {
        return Outcome::NotApplicable;
    }
    if let Err(reason) = view.seen.processors.pauses.as_result() {
        return Outcome::skipped(reason);
    }
    let pauses = pauses(view);
    let (Some(longest), share) = (pauses.iter().map(|pause| pause.length_ns).max(), paused_share(view)) else {
        return Outcome::pass("it ran all the time");
    };
    let total_ns: u64 = pauses.iter().map(|pause| pause.length_ns).sum();
    let long = nanos(total_ns as f64);
    let times = count(pauses.len() as u64, "pause");
    let observed = format!("{times}, {long} together ({}), the longest {}", percent(share), nanos(longest as f64));
    if by_workers_of_their_own(view, longest) {
        let message =
            format!("Plumb's coordinator stood still for {long}; its workers, processes of their own, went on.");
        return Outcome::note(observed, message);
    }
    let why = why(&pauses);
    let level = grade(share, WARN_SHARE, FAIL_SHARE).unwrap_or(Level::Note);
    Outcome::found(level, observed, format!("{why} for {long} of the phase ({}), in {times}.", percent(share)))
}

/// Returns the pauses of the phase, without stalls that the control group's quota explains (C5).
fn pauses<'a>(view: &'a PhaseView<'_>) -> Vec<&'a Pause> {
    let all = view.seen.processors.pauses.value().map_or(&[][..], Vec::as_slice);
    let stalled_ns: u64 =
        all.iter().filter(|pause| pause.cause == PauseCause::Stalled).map(|pause| pause.length_ns).sum();
    let held_ns = view.seen.limits.cpu_quota.value().map_or(0, |quota| quota.throttled_us.saturating_mul(1000));
    let is_quota = held_ns >= stalled_ns / 2 && held_ns > 0;
    all.iter().filter(|pause| pause.cause != PauseCause::Stalled || !is_quota).collect()
}

/// Returns the share of the phase in which Plumb stood still, 0–1. Some clocks exclude suspension.
pub(crate) fn paused_share(view: &PhaseView<'_>) -> f64 {
    let paused_ns: u64 = pauses(view).iter().map(|pause| pause.length_ns).sum();
    match view.measured.wall_ns {
        0 => 0.0,
        wall_ns => (paused_ns as f64 / wall_ns as f64).min(1.0),
    }
}

/// Returns the reason if pauses make a phase's seconds useless for trends and levels.
pub(crate) fn breaks_series(view: &PhaseView<'_>) -> Option<String> {
    (paused_share(view) > WARN_SHARE).then(|| "the process stood still for a part of the phase (C15)".to_owned())
}

/// Returns `true` if workers are processes, and none of their ops took as long as the pause: then the
/// signal only stopped the coordinator.
fn by_workers_of_their_own(view: &PhaseView<'_>, longest_ns: u64) -> bool {
    let apart = view.plan.workers.iter().all(|group| group.run_as == RunAs::Process) && !view.plan.workers.is_empty();
    let longest_op = view.measured.ops.values().filter_map(|op| op.service.max()).max();
    apart && longest_op.is_some_and(|op_ns| op_ns < longest_ns / 2)
}

fn why(pauses: &[&Pause]) -> &'static str {
    let has = |cause: PauseCause| pauses.iter().any(|pause| pause.cause == cause);
    match (has(PauseCause::Stopped), has(PauseCause::Suspended), has(PauseCause::Stalled)) {
        (true, false, false) => "A signal (SIGSTOP or Ctrl-Z) stopped Plumb",
        (false, true, false) => "The machine was suspended",
        (false, false, _) => "Plumb stood still, in a frozen control group or a stalled virtual machine,",
        _ => "Plumb was stopped, suspended or frozen",
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene, noisy};
    use plumb_result::{Level, PauseCause};
    use plumb_workload::RunAs;

    #[test]
    fn a_phase_without_a_pause_passes() {
        assert_eq!(Scene::reading(MIB).level("C15"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).virtual_time().level("C15"), None);
        assert_eq!(Scene::reading(MIB).unseen_pauses("x").level("C15"), Some(Level::Skipped));
    }

    #[test]
    fn pauses_are_graded_and_named() {
        let paused = |cause, share| Scene::reading(MIB).paused(cause, share).finding("C15").unwrap();
        for (share, level) in [(0.01, Level::Note), (0.03, Level::Warn), (0.11, Level::Fail)] {
            assert_eq!(paused(PauseCause::Stopped, share).level, level, "{share}");
        }
        let stopped = paused(PauseCause::Stopped, 0.4).message;
        assert_eq!(stopped, "A signal (SIGSTOP or Ctrl-Z) stopped Plumb for 4 s of the phase (40 %), in 1 pause.");
        assert!(paused(PauseCause::Suspended, 2.0).message.starts_with("The machine was suspended for 20 s"));
        assert!(paused(PauseCause::Stalled, 0.4).message.contains("frozen control group"));
    }

    /// The review's trap: 4 s of 14, which E7 called a falling rate.
    #[test]
    fn a_pause_is_neither_a_trend_nor_a_level() {
        let rates = noisy(14, 0.01, 3, |second| if (8..12).contains(&second) { 1.0 } else { 100e6 });
        let falling = noisy(12, 0.01, 3, |second| 100e6 * (1.0 - second as f64 * 0.07));
        for rates in [&rates, &falling] {
            let scene = || Scene::reading(1000 * MIB).rates(rates);
            let stopped = scene().paused(PauseCause::Stopped, 0.4);
            assert_eq!(stopped.level("E7"), Some(Level::Note), "only that it is short");
            for code in ["E2", "E3", "C13"] {
                assert!(stopped.level(code).is_none_or(|level| level == Level::Skipped), "{code}");
            }
            assert_eq!(stopped.judge().findings[0].code, "C15");
        }
        assert_eq!(
            Scene::reading(1000 * MIB).rates(&falling).level("E7"),
            Some(Level::Warn),
            "without a pause it falls"
        );
    }

    #[test]
    fn workers_that_went_on_are_not_called_paused() {
        let apart = Scene::reading(MIB).paused(PauseCause::Stopped, 0.4).run_as(RunAs::Process);
        assert_eq!(apart.level("C15"), Some(Level::Note));
        let together =
            Scene::reading(MIB).paused(PauseCause::Stopped, 0.4).run_as(RunAs::Process).longest_op(4_000_000_000);
        assert_eq!(together.level("C15"), Some(Level::Fail));
    }
}
