//! Runs the same work at the loads of a ladder.

use super::{Done, RepeatRequest, RepeatedSoFar, tier, verdict};
use plumb_bench::kept::with_kept_files;
use plumb_bench::{Bench, Parts, Progress, RunError, RunOutcome};
use plumb_result::repeat::{LADDER_SCHEMA, LadderRepeat, LadderResult, LadderStep, LadderStream};
use plumb_workload::{FullLoad, Ladder, Workload};

/// Runs a workload at each load of its ladder, one run each. Files of its test directory are laid out once.
///
/// # Errors
/// The first run fails. An error in a later one ends the ladder, and is returned with the results so far.
pub fn ladder(
    bench: &mut Bench,
    request: &RepeatRequest<'_>,
    ladder: &Ladder,
    progress: &mut dyn Progress,
) -> Result<(LadderResult, Option<RunError>), RunError> {
    let workload = request.run.workload;
    let mut repeated = RepeatedSoFar::new(request);
    let mut full = None;
    let mut steps: Vec<LadderStep> = Vec::new();
    let label = format!("ladder of {}", workload.name);
    let ((), left_behind) = with_kept_files(bench, workload, request.run.base, &label, |bench| {
        full = match ladder.of {
            FullLoad::Requested => Some(requested_rate(workload)),
            FullLoad::Peak => {
                let once = Workload { repeat: None, ..workload.clone() };
                let peak = repeated.run(bench, &once, "as fast as it goes", progress)?;
                peak.as_ref().and_then(done).and_then(|done| done.rate)
            }
        };
        // Without a full load, percentages have no meaning.
        let Some(full) = full else { return Ok(()) };
        let loads = ladder.percent.iter().map(|percent| (*percent, false));
        let most = (ladder.percent.len() + ladder.again.len()) as u32;
        for (done, (percent, is_again)) in (0..).zip(loads.chain(ladder.again.iter().map(|percent| (*percent, true)))) {
            progress.parts(Parts { done, most, budget: None });
            let peak = Some(full).filter(|_| ladder.of == FullLoad::Peak);
            let load = ladder.step(workload, percent, peak);
            let label = format!("{percent} % of {full:.0} ops/s{}", if is_again { ", again" } else { "" });
            let Some(outcome) = repeated.run(bench, &load, &label, progress)? else { break };
            steps.push(step(&load, &outcome, percent, is_again));
        }
        Ok::<(), RunError>(())
    })?;
    repeated.of.notes.extend(left_behind);
    repeated.tag(bench, "ladder");
    let error = repeated.error.take();
    let again = ladder.again.iter().filter_map(|percent| repeat_of(&steps, *percent, ladder.within)).collect();
    let limit = ladder.limit.map(|limit| limit.0);
    let result = LadderResult {
        schema: LADDER_SCHEMA.to_owned(),
        verdict_note: String::new(),
        verdict: verdict(&repeated.verdicts),
        of: repeated.of,
        full,
        limit_ns: limit,
        within_limit: limit.and_then(|limit| within_limit(&steps, limit)),
        overall_response_ns: overall_response(&steps),
        steps,
        again,
        within: ladder.within,
    };
    Ok((result, error))
}

/// Returns the sum of the rates of all workers.
fn requested_rate(workload: &Workload) -> f64 {
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers);
    groups
        .filter_map(|group| {
            let open = group.pace.open?;
            Some(open.rate.0 * if open.shared { 1.0 } else { f64::from(group.count) })
        })
        .sum()
}

fn done(outcome: &RunOutcome) -> Option<Done> {
    outcome.measurement.phases.first().map(Done::from_measurement)
}

fn step(load: &Workload, outcome: &RunOutcome, percent: f64, is_again: bool) -> LadderStep {
    let done = done(outcome);
    let times = done.as_ref().map(Done::times);
    LadderStep {
        percent,
        asked: requested_rate(load),
        rate: done.as_ref().and_then(|done| done.rate),
        response_ns: times.and_then(|times| times.mean()),
        response_p99_ns: times.and_then(|times| times.carried_quantile(0.99)).map(|ns| ns as f64),
        tier: outcome.result.phases.first().and_then(tier),
        is_again,
        run: outcome.result.id.clone(),
        streams: streams(load, outcome),
    }
}

/// Returns the share of each group in all ops, if there are several.
fn streams(load: &Workload, outcome: &RunOutcome) -> Vec<LadderStream> {
    let (Some(phase), Some(measured)) = (load.phase.first(), outcome.measurement.phases.first()) else {
        return Vec::new();
    };
    if phase.workers.len() < 2 {
        return Vec::new();
    }
    let all = requested_rate(load);
    let count: u64 = measured.workers.iter().map(|worker| worker.count).sum();
    let stream = |(number, group): (usize, &plumb_workload::WorkerGroup)| {
        let name = group.name.clone().unwrap_or_else(|| format!("workers.{number}"));
        let own = measured
            .workers
            .iter()
            .filter(|worker| worker.name.rsplit_once('/').map_or(worker.name.as_str(), |(group, _)| group) == name);
        let own: u64 = own.map(|worker| worker.count).sum();
        let rate =
            group.pace.open.map_or(0.0, |open| open.rate.0 * if open.shared { 1.0 } else { f64::from(group.count) });
        LadderStream { name, asked: rate / all, done: (count > 0).then(|| own as f64 / count as f64) }
    };
    phase.workers.iter().enumerate().map(stream).collect()
}

/// Compares a repeated load with the last run of the same load before it.
fn repeat_of(steps: &[LadderStep], percent: f64, within: f64) -> Option<LadderRepeat> {
    let of = |is_again: bool| {
        steps.iter().rev().find(|step| step.is_again == is_again && (step.percent - percent).abs() < f64::EPSILON)
    };
    let (first, second) = (of(false)?, of(true)?);
    let ratio = |of: fn(&LadderStep) -> Option<f64>| Some(of(second)? / of(first)?);
    let (rate, response) = (ratio(|step| step.rate), ratio(|step| step.response_ns));
    let close = |ratio: f64| (ratio - 1.0).abs() <= within;
    Some(LadderRepeat { percent, rate, response, holds: rate.zip(response).map(|(a, b)| close(a) && close(b)) })
}

/// Returns `true` if the mean response time is within the limit at every load.
fn within_limit(steps: &[LadderStep], limit_ns: u64) -> Option<bool> {
    let times: Option<Vec<f64>> = steps.iter().map(|step| step.response_ns).collect();
    let times = times.filter(|times| !times.is_empty())?;
    Some(times.iter().all(|time| *time <= limit_ns as f64))
}

/// Returns the area under the curve of response time over achieved rate, divided by the highest rate. Below the
/// lowest load, its own time applies; between two loads the curve is straight. Repeated loads are left out.
fn overall_response(steps: &[LadderStep]) -> Option<f64> {
    let points = steps.iter().filter(|step| !step.is_again).map(|step| Some((step.rate?, step.response_ns?)));
    let mut points: Vec<(f64, f64)> = points.collect::<Option<_>>()?;
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (lowest, highest) = (points.first()?, points.last()?);
    let under: f64 = points.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0).sum();
    Some((lowest.0 * lowest.1 + under) / highest.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(percent: f64, rate: f64, response_ms: f64, is_again: bool) -> LadderStep {
        LadderStep {
            percent,
            asked: rate,
            rate: Some(rate),
            response_ns: Some(response_ms * 1e6),
            response_p99_ns: None,
            tier: None,
            is_again,
            run: String::new(),
            streams: Vec::new(),
        }
    }

    // 10 ops/s at 1 ms from 0, then straight to 100 ops/s at 3 ms: (10 + 90 · 2) / 100 = 1.9 ms.
    #[test]
    fn the_overall_response_time_is_the_mean_over_the_load() {
        let steps = [at(100.0, 100.0, 3.0, false), at(10.0, 10.0, 1.0, false), at(10.0, 10.0, 9.0, true)];
        assert!((overall_response(&steps).unwrap() - 1.9e6).abs() < 1.0);
        let flat = [at(50.0, 50.0, 2.0, false), at(100.0, 100.0, 2.0, false)];
        assert!((overall_response(&flat).unwrap() - 2e6).abs() < 1.0);
        assert_eq!(overall_response(&[]), None);
        let unknown = LadderStep { response_ns: None, ..at(50.0, 50.0, 2.0, false) };
        assert_eq!(overall_response(&[unknown]), None);
    }

    #[test]
    fn a_repeated_load_must_give_the_same_result() {
        let steps = [
            at(100.0, 50.0, 2.0, false),
            at(100.0, 100.0, 2.0, false),
            at(10.0, 10.0, 1.0, false),
            at(100.0, 96.0, 2.0, true),
            at(10.0, 10.0, 1.1, true),
        ];
        let full = repeat_of(&steps, 100.0, 0.05).unwrap();
        assert_eq!((full.rate, full.holds), (Some(0.96), Some(true)), "the later of two first runs is compared");
        assert_eq!(repeat_of(&steps, 10.0, 0.05).unwrap().holds, Some(false), "the response time is 10 % longer");
        assert!(repeat_of(&steps, 50.0, 0.05).is_none());
    }

    #[test]
    fn a_limit_holds_at_every_load_or_not_at_all() {
        let steps = [at(100.0, 100.0, 31.0, false), at(10.0, 10.0, 1.0, false)];
        assert_eq!(within_limit(&steps, 30_000_000), Some(false));
        assert_eq!(within_limit(&steps, 31_000_000), Some(true));
        assert_eq!(within_limit(&[], 30_000_000), None);
    }
}
