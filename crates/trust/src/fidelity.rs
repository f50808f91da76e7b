//! Compares a replay with its recording, line by line, each with a verdict. Pure.

use crate::host_evidence::HostEvidence;
use plumb_result::{
    FidelityLine, FidelityUnit, FidelityVerdict, PhaseMeasurement, PhaseResult, ReplayMeasurement, ReplayedSum,
};
use plumb_workload::{ReplayOrder, Timing};

/// Bounds of a line: a pass up to the first, a warning up to the second.
type Bounds = [f64; 2];

/// A replay at its own times is as long as its recording. Source: the specification of traces, from the accuracy of
/// fio (1.5 % to 18.7 %) and of absolute deadlines (0.02 %).
const LENGTH: Bounds = [0.001, 0.01];

/// Largest lag of an op after its time, in ns, for 99 % of them. Source: Anderson et al., "Buttress", FAST
/// 2004, which keep 100 us.
const LAG_NS: Bounds = [100_000.0, 1_000_000.0];

/// Shares of ops or bytes that may be missing, or have a different outcome.
const MISSING: Bounds = [0.0, 0.001];

/// Shares of kinds of ops.
const MIX: Bounds = [0.001, 0.01];

/// Largest difference of the shares of gaps up to any length.
const GAPS: Bounds = [0.05, 0.2];

/// Root mean square of the differences of rates, over their mean.
const RATES: Bounds = [0.05, 0.2];

fn judge(value: f64, bounds: Bounds) -> FidelityVerdict {
    match value {
        value if value <= bounds[0] => FidelityVerdict::Pass,
        value if value <= bounds[1] => FidelityVerdict::Warn,
        _ => FidelityVerdict::Fail,
    }
}

fn off(recorded: f64, replayed: f64) -> f64 {
    match recorded {
        0.0 => f64::from(u8::from(replayed != 0.0)),
        recorded => (replayed / recorded - 1.0).abs(),
    }
}

struct Sheet(Vec<FidelityLine>);

impl Sheet {
    /// Adds a line for numbers that should be the same.
    fn same(&mut self, name: &str, unit: FidelityUnit, numbers: [f64; 2], bounds: Option<Bounds>) -> &mut FidelityLine {
        let [recorded, replayed] = numbers;
        let verdict = bounds.map_or(FidelityVerdict::Info, |bounds| judge(off(recorded, replayed), bounds));
        self.line(name, unit, Some(recorded), replayed, verdict, bounds)
    }

    /// Adds a line for a number that should be small.
    fn small(&mut self, name: &str, unit: FidelityUnit, value: f64, bounds: Option<Bounds>) -> &mut FidelityLine {
        let verdict = bounds.map_or(FidelityVerdict::Info, |bounds| judge(value, bounds));
        self.line(name, unit, None, value, verdict, bounds)
    }

    fn line(
        &mut self,
        name: &str,
        unit: FidelityUnit,
        recorded: Option<f64>,
        replayed: f64,
        verdict: FidelityVerdict,
        bounds: Option<Bounds>,
    ) -> &mut FidelityLine {
        let allowed = bounds.map(|bounds| bounds[0]);
        let about = String::new();
        let (name, host) = (name.to_owned(), None);
        self.0.push(FidelityLine { name, host, verdict, unit, recorded, replayed, allowed, about });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

/// Returns the sheet of a phase; empty if it replays nothing.
pub(crate) fn sheet(measured: &PhaseMeasurement) -> Vec<FidelityLine> {
    let Some(replay) = &measured.replay else { return Vec::new() };
    let mut sheet = Sheet(Vec::new());
    times(&mut sheet, measured, replay);
    amounts(&mut sheet, measured, replay);
    order(&mut sheet, replay);
    sheet.0
}

/// Lines that are also reported for each of several hosts.
const OF_HOSTS: [&str; 6] = ["length", "lag p99", "own lag p99", "gaps", "ops", "outcomes that differ"];

/// Adds the lines of each of several hosts to the sheets of all of them.
pub fn fidelity_of_hosts(phases: &mut [PhaseResult], hosts: &[HostEvidence]) {
    if hosts.len() < 2 {
        return;
    }
    for phase in phases.iter_mut().filter(|phase| !phase.fidelity.is_empty()) {
        for host in hosts {
            let Some(measured) = host.measurement.phases.iter().find(|one| one.name == phase.name) else { continue };
            let lines = sheet(measured).into_iter().filter(|line| OF_HOSTS.contains(&line.name.as_str()));
            phase.fidelity.extend(lines.map(|line| FidelityLine { host: Some(host.name.clone()), ..line }));
        }
    }
}

fn times(sheet: &mut Sheet, measured: &PhaseMeasurement, replay: &ReplayMeasurement) {
    let is_timed = matches!(replay.timing, Timing::Recorded { .. });
    let timed = |bounds| is_timed.then_some(bounds);
    let lengths = [replay.recorded_length_ns as f64, replay.replayed_length_ns as f64];
    sheet.same("length", FidelityUnit::Ns, lengths, timed(LENGTH));
    if let Some(lag) = &measured.start_lag {
        for (name, quantile, bounds) in [("lag p50", 0.5, None), ("lag p99", 0.99, timed(LAG_NS))] {
            sheet.small(name, FidelityUnit::Ns, lag.quantile(quantile).unwrap_or(0) as f64, bounds);
        }
        sheet.small("lag max", FidelityUnit::Ns, lag.max().unwrap_or(0) as f64, None);
        let line = sheet.small("own lag p99", FidelityUnit::Ns, replay.own_lag_p99_ns as f64, timed(LAG_NS));
        line.about =
            "behind all that they had to wait for: the rest are calls that took longer than recorded".to_owned();
    }
    let took_ns = measured.in_flight_mean * measured.wall_ns as f64;
    if let Some(recorded_ns) = replay.recorded_busy_ns.filter(|recorded_ns| *recorded_ns > 0) {
        let line = sheet.same("time in calls", FidelityUnit::Ns, [recorded_ns as f64, took_ns], None);
        line.about = "all calls together; the storage decides".to_owned();
    }
    if let Some(distance) = replay.gap_distance {
        sheet.small("gaps", FidelityUnit::Share, distance, timed(GAPS));
    }
    if let Some(error) = replay.rate_error {
        sheet.small("rates", FidelityUnit::Share, error, timed(RATES));
    }
}

fn amounts(sheet: &mut Sheet, measured: &PhaseMeasurement, replay: &ReplayMeasurement) {
    let recorded_ops: u64 = replay.recorded.values().map(|sum| sum.ops).sum();
    let recorded_bytes: u64 = replay.recorded.values().map(|sum| sum.bytes).sum();
    sheet.same("ops", FidelityUnit::Ops, [recorded_ops as f64, replay.begun as f64], Some(MISSING));
    sheet.same("bytes", FidelityUnit::Bytes, [recorded_bytes as f64, measured.bytes() as f64], Some(MISSING));
    let replayed_ops = measured.count();
    let share = |count: u64, of: u64| count as f64 / of.max(1) as f64;
    let kinds = replay.recorded.keys().chain(measured.ops.keys());
    let apart = kinds.map(|kind| {
        let recorded = replay.recorded.get(kind).map_or(0, |sum: &ReplayedSum| sum.ops);
        let replayed = measured.ops.get(kind).map_or(0, |op| op.count);
        (share(recorded, recorded_ops) - share(replayed, replayed_ops)).abs()
    });
    sheet.small("mix", FidelityUnit::Share, apart.fold(0.0, f64::max), Some(MIX));
    let failed: u64 = replay.recorded.values().map(|sum| sum.failed).sum();
    let different = share(replay.different_count, replay.begun);
    let line = sheet.small("outcomes that differ", FidelityUnit::Share, different, Some(MISSING));
    let each = replay.different.iter().take(3).map(|outcome| {
        format!(
            "{} {} of {}: {}, not {}",
            outcome.count,
            outcome.kind.name(),
            outcome.path,
            in_words(outcome.replayed),
            in_words(outcome.recorded)
        )
    });
    line.about = each.collect::<Vec<_>>().join("; ");
    if line.about.is_empty() && failed > 0 {
        line.about = format!("{failed} failed as recorded");
    }
    if !replay.left_out.is_empty() {
        let left_out: u64 = replay.left_out.values().sum();
        let line = sheet.small("left out", FidelityUnit::Ops, left_out as f64, None);
        line.verdict = FidelityVerdict::Warn;
        line.about =
            replay.left_out.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ");
    }
    if replay.opened_beside > 0 {
        let line = sheet.small("opened in addition", FidelityUnit::Ops, replay.opened_beside as f64, None);
        line.about = "files that were open before, inherited, or duplicated".to_owned();
    }
}

fn in_words(result: i64) -> String {
    match result {
        ..0 => {
            let text = std::io::Error::from_raw_os_error(i32::try_from(-result).unwrap_or(0)).to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
        0 => "no error".to_owned(),
        _ => "another length".to_owned(),
    }
}

fn order(sheet: &mut Sheet, replay: &ReplayMeasurement) {
    let share = |count: u64| count as f64 / replay.begun.max(1) as f64;
    // Only a total order promises it; the others allow calls of several threads to overtake each other.
    let promised = replay.order == Some(ReplayOrder::Total);
    let line = sheet.small("overtaken", FidelityUnit::Share, share(replay.overtaken), promised.then_some([0.0, 0.0]));
    line.about = match replay.order {
        Some(ReplayOrder::None) => "in no order".to_owned(),
        Some(ReplayOrder::Thread) => "in the order of each thread".to_owned(),
        Some(ReplayOrder::Resource) => "in the order of each thread and each resource".to_owned(),
        Some(ReplayOrder::Inferred) => "in the order of each thread, behind what had ended".to_owned(),
        Some(ReplayOrder::Total) => "in the recorded order".to_owned(),
        None => "from one queue".to_owned(),
    };
    let line = sheet.small("held back", FidelityUnit::Share, share(replay.held), None);
    line.about = match replay.order {
        Some(_) => "it was time, and what they wait for was not done".to_owned(),
        None => "it was time, and the queue was full".to_owned(),
    };
    if replay.order.is_none() && replay.held > 0 {
        line.verdict = FidelityVerdict::Warn;
    }
    if replay.threads != replay.threads_recorded {
        let line = sheet.same(
            "threads",
            FidelityUnit::Ops,
            [f64::from(replay.threads_recorded), f64::from(replay.threads)],
            None,
        );
        line.verdict =
            if replay.threads < replay.threads_recorded { FidelityVerdict::Warn } else { FidelityVerdict::Info };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::{DifferentOutcome, Histogram, OpMeasurement};
    use plumb_workload::OpKind;
    use std::collections::BTreeMap;

    fn kept() -> PhaseMeasurement {
        let sum = ReplayedSum { ops: 1000, failed: 3, bytes: 4_096_000 };
        let replay = ReplayMeasurement {
            timing: Timing::default(),
            order: Some(ReplayOrder::Total),
            threads: 2,
            threads_recorded: 2,
            recorded: BTreeMap::from([(OpKind::Read, sum)]),
            recorded_length_ns: 1_000_000_000,
            replayed_length_ns: 1_000_500_000,
            recorded_busy_ns: Some(500_000_000),
            begun: 1000,
            overtaken: 0,
            held: 0,
            own_lag_p99_ns: 10_000,
            own_lag_max_ns: 50_000,
            gap_distance: Some(0.01),
            rate_error: Some(0.0),
            different: Vec::new(),
            different_count: 0,
            opened_beside: 0,
            closes_of_others: 0,
            left_out: BTreeMap::new(),
            counts: None,
        };
        let op = OpMeasurement { count: 1000, bytes: 4_096_000, ..OpMeasurement::default() };
        let mut lag = Histogram::default();
        (0..1000).for_each(|_| lag.record(20_000));
        PhaseMeasurement {
            replay: Some(Box::new(replay)),
            ops: BTreeMap::from([(OpKind::Read, op)]),
            in_flight_mean: 0.5,
            start_lag: Some(lag),
            ..PhaseMeasurement::default()
        }
    }

    fn changed(change: impl FnOnce(&mut ReplayMeasurement)) -> PhaseMeasurement {
        let mut measured = kept();
        change(measured.replay.as_mut().unwrap());
        measured
    }

    fn verdict(measured: &PhaseMeasurement, name: &str) -> FidelityVerdict {
        sheet(measured).into_iter().find(|line| line.name == name).unwrap_or_else(|| panic!("{name}")).verdict
    }

    #[test]
    fn a_faithful_replay_passes() {
        let lines = sheet(&kept());
        let failed: Vec<_> = lines.iter().filter(|line| line.verdict > FidelityVerdict::Pass).collect();
        assert!(failed.is_empty(), "{failed:?}");
        assert!(lines.len() > 8);
        assert!(sheet(&PhaseMeasurement::default()).is_empty());
    }

    #[test]
    fn deviations_warn_and_fail() {
        use FidelityVerdict::{Fail, Info, Warn};
        let length = |ns| changed(|replay| replay.replayed_length_ns = ns);
        assert_eq!(verdict(&length(1_005_000_000), "length"), Warn);
        assert_eq!(verdict(&length(1_187_000_000), "length"), Fail);
        let untimed = changed(|replay| {
            (replay.timing, replay.replayed_length_ns) = (Timing::AsFastAsPossible, 1);
        });
        assert_eq!(verdict(&untimed, "length"), Info);
        assert_eq!(verdict(&changed(|replay| replay.different_count = 1), "outcomes that differ"), Warn);
        assert_eq!(verdict(&changed(|replay| replay.begun = 900), "ops"), Fail);
        assert_eq!(verdict(&changed(|replay| replay.overtaken = 1), "overtaken"), Fail);
        let in_threads = changed(|replay| (replay.overtaken, replay.order) = (1, Some(ReplayOrder::Thread)));
        assert_eq!(verdict(&in_threads, "overtaken"), Info);
        assert_eq!(verdict(&changed(|replay| replay.threads = 1), "threads"), Warn);
        let mut late = kept();
        late.start_lag.as_mut().unwrap().record(5_000_000);
        (0..20).for_each(|_| late.start_lag.as_mut().unwrap().record(5_000_000));
        assert_eq!(verdict(&late, "lag p99"), Fail);
    }

    #[test]
    fn outcomes_that_differ_are_named() {
        let measured = changed(|replay| {
            replay.different_count = 2;
            let path = "a/b".to_owned();
            replay.different = vec![DifferentOutcome { kind: OpKind::Open, recorded: 0, replayed: -2, count: 2, path }];
        });
        let line = sheet(&measured).into_iter().find(|line| line.name == "outcomes that differ").unwrap();
        assert_eq!((line.verdict, line.replayed), (FidelityVerdict::Fail, 0.002));
        assert_eq!(line.about, "2 open of a/b: no such file or directory, not no error");
    }
}
