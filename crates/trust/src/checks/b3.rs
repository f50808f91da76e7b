use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::plan;
use crate::shares::share;
use crate::text::{nanos, percent};
use plumb_result::{Histogram, Remedy};

/// Above this share of late starts, the service times omit part of the users' wait.
const LATE_SHARE: f64 = 0.001;
/// A start that is late by less than this share of the median service time changes no visible latency.
const OF_SERVICE: f64 = 0.1;
/// With fewer starts than this, the share is meaningless.
const MIN_STARTS: u64 = 100;

pub(crate) static CHECK: Check = Check {
    code: "B3",
    title: "Coordinated omission",
    what: "Whether the ops of an open load (fixed rate, Poisson) started when they were due. An op that waits inside \
           Plumb has that wait in its response time and not in its service time. A closed loop has no due times: its \
           latency is service time, and this check does not apply.",
    why: "Tene, \"How NOT to Measure Latency\": a loop that waits for a slow answer sends nothing meanwhile and so \
          omits the worst cases; a stall of one second then counts once instead of once per delayed op (1 ms became \
          195 ms at the 99th percentile in one demonstration). Starts late by less than a tenth of the service time \
          are tolerated, since at high rates an interval is shorter than any scheduler's.",
    how: "How late each op started, against the shortest interval of the requested rates.",
    threshold: "more than 0.1 % of the ops late by more than an interval (and by more than a tenth of the median service \
                time) warns; needs 100 ops",
    settled: "By reasoning: one op in a thousand is what a p99.9 rests on. An interval alone is no measure at high \
              rates (10 µs at 100 000/s, less than waking a thread takes), so a tenth of the service time is \
              tolerated, which no latency shows.",
    fix: &[
        Remedy::words("Read the response time, which counts from the due time."),
        Remedy::setting("depth", "32", "Keep more ops in flight so that they start on time"),
    ],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let Some(interval_ns) = plan::shortest_interval_ns(view.plan) else { return Outcome::NotApplicable };
    if view.ground == Ground::Nothing || view.measured.count() == 0 {
        return Outcome::NotApplicable;
    }
    let Some(lag) = &view.measured.start_lag else {
        return Outcome::skipped("start times were not recorded");
    };
    if lag.count() < MIN_STARTS {
        return Outcome::skipped(format!("{} starts are too few (minimum {MIN_STARTS})", lag.count()));
    }
    let tolerated_ns = interval_ns.max(OF_SERVICE * median_service_ns(view));
    let late = share(later_than(lag, tolerated_ns), lag.count()).unwrap_or(0.0);
    let p99 = lag.quantile(0.99).unwrap_or(0) as f64;
    let observed = format!("{} late by more than {}; start lag p99 {}", percent(late), nanos(tolerated_ns), nanos(p99));
    if late <= LATE_SHARE {
        return Outcome::pass(observed);
    }
    let message = format!(
        "{} of the ops started more than {} late; only the response time includes that wait.",
        percent(late),
        nanos(tolerated_ns)
    );
    let deepest = view.plan.workers.iter().map(|group| group.depth).max().unwrap_or(1);
    Outcome::warn(observed, message).remedies(vec![
        Remedy::words("Read the response time, which counts from the due time."),
        Remedy::Setting {
            key: "depth".into(),
            value: deepest.saturating_mul(2).to_string().into(),
            purpose: "Keep more ops in flight so that they start on time".into(),
        },
    ])
}

fn median_service_ns(view: &PhaseView<'_>) -> f64 {
    let mut service = Histogram::new();
    for op in view.measured.ops.values() {
        service.merge(&op.service);
    }
    service.quantile(0.5).unwrap_or(0) as f64
}

/// Counts starts that were certainly later: those of buckets that lie wholly beyond.
fn later_than(lag: &Histogram, limit_ns: f64) -> u64 {
    lag.buckets().filter(|bucket| bucket.lowest as f64 > limit_ns).map(|bucket| bucket.count).sum()
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::Arrival;

    const MS: u64 = 1_000_000;

    /// 10,000 ops of 1 ms at 1000 per second.
    fn open(late: u64, by_ns: u64) -> Scene {
        Scene::reading(MIB).op_time(MS).open(1000.0, Arrival::Fixed).lags(&[(1000, 10_000 - late), (by_ns, late)])
    }

    #[test]
    fn ops_must_start_when_they_are_due() {
        assert_eq!(open(10, 50 * MS).level("B3"), Some(Level::Pass));
        let finding = open(11, 50 * MS).finding("B3").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.remedy.contains("response time"), "{}", finding.remedy);
        // A start late by less than an interval does not matter.
        assert_eq!(open(5000, MS / 2).level("B3"), Some(Level::Pass));
    }

    /// At 1,000,000 per second, an interval is 1 µs, which no start keeps.
    #[test]
    fn lateness_hidden_by_service_times_is_no_omission() {
        let fast = |late_ns: u64| {
            Scene::reading(MIB).op_time(MS).open(1e6, Arrival::Poisson).lags(&[(late_ns, 10_000)]).level("B3")
        };
        assert_eq!(fast(90_000), Some(Level::Pass));
        assert_eq!(fast(110_000), Some(Level::Warn));
    }

    #[test]
    fn a_closed_loop_has_no_due_times() {
        assert_eq!(Scene::reading(MIB).level("B3"), None);
    }

    #[test]
    fn without_enough_starts_it_is_skipped() {
        let scene = || Scene::reading(MIB).open(1000.0, Arrival::Fixed);
        assert_eq!(scene().level("B3"), Some(Level::Skipped));
        assert_eq!(scene().lags(&[(50 * MS, 99)]).level("B3"), Some(Level::Skipped));
    }
}
