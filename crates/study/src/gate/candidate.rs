//! Measures one side alone: a candidate to compare with history, or the beginning of a history.

use jiff::Timestamp;
use plumb_bench::{Bench, Parts, Place, Policies, Progress, RunError, RunRequest};
use plumb_engine::sim::SimRun;
use plumb_result::RunResult;
use plumb_workload::{Target, Workload};
use std::time::{Duration, Instant};

/// Runs of each work in a session: their mean is then close to that of the session, and more of them
/// add nothing about other sessions.
pub(super) const RUNS: u32 = 6;

/// A place that is measured alone.
pub struct AloneRequest<'a> {
    pub place: &'a Place,
    /// The works, resolved for the place.
    pub works: &'a [Workload],
    /// Time limit; the first run of each work is made in any case. On simulated devices, in their own time.
    pub budget: Duration,
    /// Seed of simulated devices.
    pub seed: u64,
    /// Plot number of a simulated device: each session has its own, in time order.
    pub session: u32,
    /// Start of the newest earlier session: a session on a simulated device is dated a day later.
    pub newest: Option<Timestamp>,
    /// As typed, for the record.
    pub command: &'a str,
}

/// The measurement of one side.
pub struct Alone {
    /// All runs, rejected ones included.
    pub results: Vec<RunResult>,
    pub spent: Duration,
    /// Whether a signal ended it early.
    pub interrupted: bool,
}

/// Returns the newest run of each work, adapted to a place: a work on a simulated device moves to the
/// simulated device of the place. `None` if a work was measured on storage and the place is a simulated
/// device, or the other way round.
pub fn works_at(baseline: &[RunResult], place: &Place) -> Option<Vec<Workload>> {
    let mut newest: Vec<&RunResult> = Vec::new();
    let mut sorted: Vec<&RunResult> = baseline.iter().filter(|result| result.imported.is_none()).collect();
    sorted.sort_by(|one, other| other.started_at.cmp(&one.started_at));
    for result in sorted {
        if !newest.iter().any(|known| known.workload.name == result.workload.name) {
            newest.push(result);
        }
    }
    newest.into_iter().map(|result| at(&result.workload, place)).collect()
}

fn at(workload: &Workload, place: &Place) -> Option<Workload> {
    let mut workload = workload.clone();
    for target in workload.target.values_mut() {
        match (target, place) {
            (Target::Sim(target), Place::Sim(device)) => target.device = device.clone(),
            (Target::Sim(_), Place::Directory(_)) => return None,
            (Target::Null(_), _) | (_, Place::Directory(_)) => {}
            (_, Place::Sim(_)) => return None,
        }
    }
    Some(workload)
}

/// Time between sessions of simulated devices.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Returns the time to add to `now` so that dates are a day after the newest session.
fn a_day_after(newest: Option<Timestamp>, now: Timestamp) -> Duration {
    let ahead = newest.map(|newest| newest.duration_since(now).as_nanos() + DAY.as_nanos() as i128);
    ahead.and_then(|ns| u64::try_from(ns).ok()).map_or(Duration::ZERO, Duration::from_nanos)
}

/// Returns the start of the newest of these runs; `None` without any known time.
pub fn newest(results: &[RunResult]) -> Option<Timestamp> {
    results.iter().filter_map(|result| result.started_at.parse().ok()).max()
}

/// Runs each work in turn, round by round.
///
/// # Errors
/// A run cannot be made.
pub fn measure_alone(
    bench: &mut Bench,
    request: &AloneRequest<'_>,
    progress: &mut dyn Progress,
) -> Result<Alone, RunError> {
    bench.begin_comparison();
    let started = Instant::now();
    let mut simulated = Duration::ZERO;
    bench.ahead = match request.place {
        Place::Sim(_) => a_day_after(request.newest, Timestamp::now()),
        Place::Directory(_) => Duration::ZERO,
    };
    let mut results: Vec<RunResult> = Vec::new();
    for round in 0..RUNS {
        let spent = started.elapsed() + simulated;
        if round > 0 && spent + spent / round > request.budget {
            break;
        }
        for (number, work) in request.works.iter().enumerate() {
            let works = request.works.len() as u32;
            progress.parts(Parts {
                done: round * works + number as u32,
                most: RUNS * works,
                budget: Some(request.budget),
            });
            progress.block(&format!("run {} of {RUNS}", round + 1));
            let run = RunRequest {
                workload: work,
                policies: Policies::Fitted,
                base: request.place.base(),
                command: request.command,
                dialect: None,
                sim_run: SimRun {
                    // Each workload has its own random draws, so that the numbers of a gate can vary independently.
                    seed: request.seed.wrapping_add(number as u64),
                    run_index: request.session.saturating_mul(RUNS).saturating_add(round),
                    plot_index: request.session,
                },
            };
            let Some(outcome) = bench.run_of_many(&run, progress)? else {
                return Ok(Alone { results, spent: started.elapsed() + simulated, interrupted: true });
            };
            if outcome.result.partial {
                return Ok(Alone { results, spent: started.elapsed() + simulated, interrupted: true });
            }
            if matches!(request.place, Place::Sim(_)) {
                simulated += outcome.simulated();
            }
            results.push(outcome.result);
        }
    }
    Ok(Alone { results, spent: started.elapsed() + simulated, interrupted: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_sessions_are_a_day_apart() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-05-03T12:00:00Z");
        assert_eq!(a_day_after(None, now), Duration::ZERO);
        assert_eq!(a_day_after(Some(at("2026-05-01T12:00:00Z")), now), Duration::ZERO);
        assert_eq!(a_day_after(Some(now), now), DAY);
        assert_eq!(a_day_after(Some(at("2026-05-07T12:00:00Z")), now), 5 * DAY);
    }
}
