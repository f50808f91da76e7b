//! Judges whether storage is good enough for a use: several runs of its load, compared with published limits.
//!
//! The unit is a run. A number is the geometric mean of the runs with its 95 % t interval on the log scale
//! (`plumb_stats::estimate`). A limit is met if the whole interval is on its good side, and missed if the whole
//! interval is on its bad side.

use plumb_bench::run::{failed, rejected_because};
use plumb_bench::{Bench, Parts, Progress, RunError, RunOutcome, RunRequest};
use plumb_engine::sim::SimRun;
use plumb_result::assertion::{Assertion, Comparator};
use plumb_result::compare::LeftOut;
use plumb_result::medians::medians;
use plumb_result::metric::{Quantity, Stat, Subject};
use plumb_result::run::TierName;
use plumb_result::verdict::{LOAD, under_undeclared_load};
use plumb_result::{
    FIT_FOR_SCHEMA, Finding, FitAnswer, FitFor, FitLimit, FitNumber, Level, Metric, PhaseResult, RunResult, RunVerdict,
};
use plumb_stats::estimate::sample;
use plumb_workload::OpKind;
use plumb_workload::named::Use;
use std::time::{Duration, Instant};

pub const CONFIDENCE: f64 = 0.95;

/// With fewer runs, an interval is too wide to answer anything.
pub(crate) const LEAST_RUNS: usize = 3;

/// A condition of a use, with its publisher.
#[derive(Debug, Clone, PartialEq)]
pub struct FitCondition {
    pub assertion: Assertion,
    /// Publisher and reference.
    pub source: String,
}

/// The runs of a use's load.
pub struct FitRuns {
    /// The runs, in their order.
    pub outcomes: Vec<RunOutcome>,
    /// The error that ended the last of them early.
    pub cut_short: Option<String>,
}

/// Runs a load up to `runs` times, but starts no run that would end after `budget` at the length of the last
/// one. A signal ends it.
///
/// # Errors
/// A run cannot begin.
pub fn measure(
    bench: &mut Bench,
    request: &RunRequest<'_>,
    runs: u32,
    budget: Duration,
    progress: &mut dyn Progress,
) -> Result<FitRuns, RunError> {
    let begun = Instant::now();
    let mut measured = FitRuns { outcomes: Vec::new(), cut_short: None };
    let mut longest = Duration::ZERO;
    for run_index in 0..runs {
        if measured.outcomes.len() >= LEAST_RUNS && begun.elapsed() + longest > budget {
            break;
        }
        let one = Instant::now();
        progress.parts(Parts { done: run_index, most: runs, budget: None });
        progress.block(&format!("run {} of {runs}", run_index + 1));
        let outcome =
            match bench.run(&RunRequest { sim_run: SimRun { run_index, ..request.sim_run }, ..*request }, progress) {
                Err(RunError::EndedEarly { error, outcome }) => {
                    measured.cut_short = Some(error);
                    *outcome
                }
                outcome => outcome?,
            };
        longest = longest.max(one.elapsed());
        let is_last = outcome.result.partial || measured.cut_short.is_some();
        measured.outcomes.push(outcome);
        if is_last {
            break;
        }
    }
    Ok(measured)
}

/// Judges the runs of a use's load by its conditions; `numbers` are also shown, each `PHASE/METRIC`.
pub fn judge(wanted: &Use, path: &str, measured_at: &str, conditions: &[FitCondition], runs: &[&RunResult]) -> FitFor {
    let (rejected, good): (Vec<&RunResult>, Vec<&RunResult>) =
        runs.iter().partition(|run| run.verdict == RunVerdict::Reject);
    let enough = good.len() >= LEAST_RUNS;
    // Without an accepted run, show the measured numbers anyway.
    let shown = if enough { &good } else { runs };
    let mut limits: Vec<FitLimit> = conditions.iter().flat_map(|condition| limits(condition, shown)).collect();
    let numbers = wanted.numbers.iter().filter_map(|name| {
        let (phase, metric) = name.split_once('/')?;
        Some(number(phase, metric.parse().ok()?, shown))
    });
    let mut refused_because = Vec::new();
    let loads = shown.iter().filter_map(|run| run.under_load.clone());
    let under_load = loads.max_by(|one, other| one.device_share.total_cmp(&other.device_share));
    if !enough && !rejected.is_empty() {
        let mut codes: Vec<&str> = Vec::new();
        for finding in rejected.iter().flat_map(|run| failed(run)) {
            if !codes.contains(&finding.code.as_str()) {
                codes.push(&finding.code);
            }
        }
        if let Some(load) = under_load.as_ref().filter(|_| codes.iter().all(|code| LOAD.contains(code))) {
            refused_because.push(under_undeclared_load(load));
        }
        // The findings give the reasons.
        let (rejected, all) = (rejected.len(), runs.len());
        refused_because.push(format!("The checks rejected {rejected} of {all} runs ({}).", codes.join(", ")));
    }
    let all_rejected = !refused_because.is_empty();
    for limit in &mut limits {
        let reason = not_the_device(&limit.number);
        // A row must not answer `yes` while the whole is refused.
        if all_rejected || reason.is_some() {
            limit.answer = FitAnswer::Refused;
        }
        refused_because.extend(reason.filter(|reason| !refused_because.contains(reason)));
    }
    let answer = match refused_because.as_slice() {
        [] => FitAnswer::of_all(limits.iter().map(|limit| limit.answer)),
        _ => FitAnswer::Refused,
    };
    FitFor {
        schema: FIT_FOR_SCHEMA.to_owned(),
        use_name: wanted.name.to_owned(),
        workload: wanted.load.to_owned(),
        path: path.to_owned(),
        measured_at: measured_at.to_owned(),
        answer,
        answer_note: String::new(),
        numbers: numbers.collect(),
        limits,
        note: wanted.note.to_owned(),
        runs: runs.iter().map(|run| run.id.clone()).collect(),
        left_out: match enough {
            true => rejected.iter().map(|run| left_out(run, path)).collect(),
            false => Vec::new(),
        },
        checks: medians(shown).map_or(Vec::new(), |all| all.result.checks.into_iter().filter(is_warning).collect()),
        refused_because,
        under_load,
    }
}

fn is_warning(finding: &Finding) -> bool {
    matches!(finding.level, Level::Warn | Level::Fail)
}

fn left_out(run: &RunResult, path: &str) -> LeftOut {
    LeftOut { run: run.id.clone(), side: path.to_owned(), reason: rejected_because(run) }
}

/// Evaluates a condition in each phase that it applies to. If no phase has its metric, it cannot be judged.
fn limits(condition: &FitCondition, runs: &[&RunResult]) -> Vec<FitLimit> {
    let Assertion { metric, .. } = condition.assertion;
    let phases: Vec<&str> = match (&condition.assertion.phase, runs.first()) {
        (Some(phase), _) => vec![phase],
        (None, Some(run)) => {
            let measuring = run.phases.iter().filter(|phase| phase.metrics.contains_key(&metric));
            measuring.map(|phase| phase.name.as_str()).collect()
        }
        (None, None) => Vec::new(),
    };
    let phases = if phases.is_empty() { vec![""] } else { phases };
    phases.into_iter().map(|phase| limit(condition, phase, runs)).collect()
}

fn limit(condition: &FitCondition, phase: &str, runs: &[&RunResult]) -> FitLimit {
    let FitCondition { assertion, source } = condition;
    let mut number = number(phase, assertion.metric, runs);
    let mut answer = answer(assertion, &number);
    if answer == FitAnswer::CannotTell
        && matches!(assertion.op, Comparator::Less | Comparator::AtMost)
        && let Some(lower) =
            below(assertion.metric).into_iter().map(|lower| self::number(phase, lower, runs)).find(is_measured)
    {
        // A lower percentile is not larger. If even that one misses the limit, the limit is missed.
        if self::answer(assertion, &lower) == FitAnswer::No {
            answer = FitAnswer::No;
        }
        number = FitNumber { metric: assertion.metric, instead: Some(lower.metric), ..lower };
    }
    FitLimit { condition: assertion.text.clone(), source: source.clone(), limit: assertion.value, answer, number }
}

fn is_measured(number: &FitNumber) -> bool {
    number.lo.is_some()
}

fn answer(assertion: &Assertion, number: &FitNumber) -> FitAnswer {
    let (Some(lo), Some(hi)) = (number.lo, number.hi) else { return FitAnswer::CannotTell };
    match [lo, hi].map(|end| assertion.op.holds(end, assertion.value)) {
        [true, true] => FitAnswer::Yes,
        [false, false] => FitAnswer::No,
        _ => FitAnswer::Borderline,
    }
}

/// Returns the lower percentiles of the same times, the nearest first.
fn below(metric: Metric) -> Vec<Metric> {
    let (Quantity::Latency(stat) | Quantity::Response(stat)) = metric.quantity else { return Vec::new() };
    let Some(quantile) = stat.quantile() else { return Vec::new() };
    let mut lower: Vec<Stat> =
        Stat::ALL.iter().copied().filter(|stat| stat.quantile().is_some_and(|one| one < quantile)).collect();
    lower.reverse();
    let of = |stat| match metric.quantity {
        Quantity::Response(_) => Quantity::Response(stat),
        _ => Quantity::Latency(stat),
    };
    lower.into_iter().map(|stat| Metric { quantity: of(stat), ..metric }).collect()
}

/// Returns a number of all runs; without a value if one of them lacks it.
fn number(phase: &str, metric: Metric, runs: &[&RunResult]) -> FitNumber {
    let phases: Vec<&PhaseResult> =
        runs.iter().filter_map(|run| run.phases.iter().find(|one| one.name == phase)).collect();
    let values: Vec<f64> =
        phases.iter().filter_map(|phase| phase.metrics.get(&metric)?.value).filter(|value| *value > 0.0).collect();
    let estimate = (values.len() == runs.len()).then(|| sample(&values).ok()).flatten();
    let interval = estimate.and_then(|estimate| estimate.interval(CONFIDENCE).ok());
    FitNumber {
        phase: phase.to_owned(),
        metric,
        unit: metric.unit(),
        value: interval.map(|interval| interval.value),
        lo: interval.map(|interval| interval.lo),
        hi: interval.map(|interval| interval.hi),
        instead: None,
        tier: phases.iter().filter_map(|phase| tier(phase, metric)).max_by_key(|tier| *tier != TierName::Device),
    }
}

/// Returns the tier of the bytes that a metric is about: for a flush, those that were written.
fn tier(phase: &PhaseResult, metric: Metric) -> Option<TierName> {
    let kind = match metric.subject {
        Subject::Op(OpKind::Fsync | OpKind::Fdatasync) => OpKind::Write,
        Subject::Op(kind) => kind,
        Subject::Transaction | Subject::Cpu | Subject::Device => return None,
    };
    if !kind.moves_bytes() {
        return None;
    }
    phase.metrics.get(&Metric::bandwidth(kind))?.tier
}

/// Returns the reason if a number with a limit does not describe the device.
fn not_the_device(number: &FitNumber) -> Option<String> {
    let FitNumber { phase, metric, .. } = number;
    match number.tier {
        Some(TierName::Device) => None,
        // There is no number to refuse.
        None if !is_measured(number) => None,
        None => Some(format!("{phase}: nothing shows whether the device or memory did what {metric} counts.")),
        Some(tier @ (TierName::Cache | TierName::Mixed | TierName::Server | TierName::Unknown)) => {
            let who = match tier {
                TierName::Cache => "memory, not the device",
                TierName::Mixed => "partly memory",
                TierName::Server => "a server, whose memory and storage cannot be told apart from here",
                _ => "unknown storage",
            };
            Some(format!("{phase}: {metric} is that of {who} (tier {}).", tier.name()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(metric: &str, lo: f64, hi: f64) -> FitNumber {
        let metric: Metric = metric.parse().unwrap();
        FitNumber {
            phase: "wal".to_owned(),
            metric,
            unit: metric.unit(),
            value: Some((lo * hi).sqrt()),
            lo: Some(lo),
            hi: Some(hi),
            instead: None,
            tier: Some(TierName::Device),
        }
    }

    #[test]
    fn an_answer_needs_the_whole_interval_on_one_side() {
        let below: Assertion = "fdatasync.lat.p99 < 10ms".parse().unwrap();
        let above: Assertion = "write.iops >= 50/s".parse().unwrap();
        for (assertion, lo, hi, expected) in [
            (&below, 8e6, 9e6, FitAnswer::Yes),
            (&below, 8e6, 1e7, FitAnswer::Borderline),
            (&below, 1e7, 1e7, FitAnswer::No),
            (&above, 50.0, 60.0, FitAnswer::Yes),
            (&above, 49.0, 60.0, FitAnswer::Borderline),
            (&above, 40.0, 49.0, FitAnswer::No),
        ] {
            assert_eq!(answer(assertion, &number(&assertion.metric.to_string(), lo, hi)), expected, "{lo} – {hi}");
        }
        let missing = FitNumber { lo: None, ..number("fdatasync.lat.p99", 1.0, 2.0) };
        assert_eq!(answer(&below, &missing), FitAnswer::CannotTell);
    }

    #[test]
    fn lower_percentiles_come_nearest_first() {
        let lower = |name: &str| below(name.parse().unwrap()).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(lower("fdatasync.lat.p99"), ["fdatasync.lat.p90", "fdatasync.lat.p50"]);
        assert_eq!(lower("read.resp.p90"), ["read.resp.p50"]);
        assert!(lower("read.lat.mean").is_empty() && lower("read.bw").is_empty());
    }

    #[test]
    fn all_limits_must_hold() {
        use FitAnswer::{Borderline, CannotTell, No, NoLimit, Yes};
        for (answers, expected) in [
            (vec![Yes, No], No),
            (vec![Borderline, CannotTell, No], No),
            (vec![Yes, Borderline], Borderline),
            (vec![Borderline, CannotTell], CannotTell),
            (vec![Yes, Yes], Yes),
            (vec![], NoLimit),
        ] {
            assert_eq!(FitAnswer::of_all(answers.iter().copied()), expected, "{answers:?}");
        }
    }

    // Protects: only numbers of the device can answer, and an unmeasured number is not refused.
    #[test]
    fn other_tiers_are_refused_with_a_reason() {
        let of = |tier| FitNumber { tier, ..number("fdatasync.lat.p99", 1.0, 2.0) };
        assert_eq!(not_the_device(&of(Some(TierName::Device))), None);
        for tier in [TierName::Cache, TierName::Mixed, TierName::Server, TierName::Unknown] {
            let reason = not_the_device(&of(Some(tier))).unwrap();
            assert!(reason.contains(tier.name()) && reason.starts_with("wal: "), "{reason}");
        }
        assert!(not_the_device(&of(None)).is_some());
        assert_eq!(not_the_device(&FitNumber { lo: None, ..of(None) }), None);
    }
}
