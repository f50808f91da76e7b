//! One line of a table: what ops of one kind came to in one phase.

use super::access::{self, Flushed};
use crate::format::{self, MISSING};
use crate::style::Ink;
use plumb_result::metric::{Stat, Subject};
use plumb_result::run::TierName;
use plumb_result::{Metric, MetricValue, PhaseResult, Quantity, RunResult};
use plumb_workload::OpKind;
use plumb_workload::phase::Phase;

/// From this mean size on, ops are judged by their bytes, and below it by their number.
const LARGE_BYTES: f64 = 65536.0;

/// Block I/O that lasted less is a burst: caches of devices and hosts take that much in.
const BURST_NS: u64 = 1_000_000_000;

/// What is said beside a rate: cautions make it doubtful, remarks only explain it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Aside {
    pub(super) cautions: Vec<String>,
    pub(super) remarks: Vec<String>,
}

impl Aside {
    /// All of it in one line; `None` where nothing is to be said.
    pub(super) fn words(&self) -> Option<String> {
        let all: Vec<&str> = self.cautions.iter().chain(&self.remarks).map(String::as_str).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// That line as it is printed, with the mark and the colour of a caution where one is in it.
    pub(super) fn marked(words: &str, is_caution: bool) -> (String, Ink) {
        if is_caution { (format!("⚠ {words}"), Ink::Caution) } else { (words.to_owned(), Ink::Faint) }
    }
}

/// What ops of one kind came to.
#[derive(Debug, Clone)]
pub(super) struct Row<'a> {
    pub(super) phase: &'a PhaseResult,
    /// As it was asked for; absent in results whose workload is not known.
    pub(super) plan: Option<&'a Phase>,
    pub(super) kind: OpKind,
    /// The rate by which ops of this size are compared.
    pub(super) rate: String,
    /// The other one.
    pub(super) also: String,
}

impl<'a> Row<'a> {
    /// The row of ops of this kind; `None` where the phase has none.
    pub(super) fn of(result: &'a RunResult, phase: &'a PhaseResult, kind: OpKind) -> Option<Row<'a>> {
        phase.metrics.get(&Metric::rate(kind))?;
        let plan = result.workload.phase.iter().find(|plan| plan.name == phase.name);
        let value = |metric: Metric| phase.metrics.get(&metric).and_then(|value| value.value);
        let (ops, bytes) = (value(Metric::rate(kind)), value(Metric::bandwidth(kind)));
        let (rate, also) = rates(kind, ops, bytes);
        Some(Row { phase, plan, kind, rate, also })
    }

    /// A quantile of the latency; [`MISSING`] where there were too few samples.
    pub(super) fn latency(&self, stat: Stat) -> String {
        let value = self.phase.metrics.get(&Metric::latency(self.kind, stat)).and_then(|value| value.value);
        value.map_or(MISSING.to_owned(), format::time)
    }

    /// Mean bytes of an op.
    pub(super) fn op_bytes(&self) -> Option<f64> {
        let done = self.phase.done.get(&self.kind).filter(|done| done.ops > 0 && done.bytes > 0);
        let by_rates = || {
            let value = |metric: Metric| self.phase.metrics.get(&metric).and_then(|value| value.value);
            Some(value(Metric::bandwidth(self.kind))? / value(Metric::rate(self.kind)).filter(|&rate| rate > 0.0)?)
        };
        done.map(|done| done.bytes as f64 / done.ops as f64).or_else(by_rates)
    }

    /// The tier of its bytes.
    pub(super) fn tier(&self) -> Option<MetricValue> {
        let value = |metric: Metric| self.phase.metrics.get(&metric).filter(|value| value.tier.is_some()).copied();
        value(Metric::bandwidth(self.kind)).or_else(|| value(Metric::rate(self.kind)))
    }

    /// That a server answered, which may have had it in its memory.
    pub(super) fn server_words(&self) -> Option<&'static str> {
        let is_server = self.tier()?.tier == Some(TierName::Server);
        match self.kind {
            OpKind::Read if is_server => Some("from the server's memory or storage"),
            OpKind::Write if is_server => Some("into the server's memory or storage"),
            _ => None,
        }
    }

    /// What answered, where that is this machine's memory or unknown.
    pub(super) fn not_device(&self) -> Option<String> {
        let value = self.tier()?;
        let way = if self.kind == OpKind::Write { "into" } else { "from" };
        match (value.tier?, value.device_share) {
            (TierName::Device | TierName::Server, _) => None,
            (TierName::Cache, _) => Some(format!("{way} memory")),
            (TierName::Mixed, Some(share)) => Some(format!("{} {way} memory", format::percent(1.0 - share))),
            (TierName::Mixed, None) => Some(format!("partly {way} memory")),
            (TierName::Unknown, _) => Some("memory or device unknown".to_owned()),
        }
    }

    /// Whether it is block I/O that was over too soon to say what longer work meets.
    pub(super) fn is_burst(&self) -> bool {
        let is_blocks = |plan: &Phase| plan.workers.iter().all(|group| group.work.has_queue());
        self.phase.wall_ns < BURST_NS && self.plan.is_some_and(is_blocks)
    }

    /// What is said beside the rate.
    pub(super) fn aside(&self) -> Aside {
        let ended_by_time = self.plan.and_then(|plan| plan.stop.time).is_some_and(|time| self.phase.wall_ns >= time.0);
        let longer = if ended_by_time { "use a longer time" } else { "use a larger file" };
        let burst = || format!("burst, too short to compare ({longer})");
        let server = self.server_words().map(str::to_owned);
        Aside { cautions: self.cautions(), remarks: server.into_iter().chain(self.is_burst().then(burst)).collect() }
    }

    /// What keeps its rate from being taken at its face, each in a few words.
    fn cautions(&self) -> Vec<String> {
        let flushed = self.plan.and_then(access::flushed).filter(|_| self.kind == OpKind::Write);
        let unflushed = |flushed: Flushed| match flushed {
            Flushed::InTime => None,
            flushed => Some(access::flushed_words(flushed).to_owned()),
        };
        [self.not_device(), flushed.and_then(unflushed)].into_iter().flatten().collect()
    }

    /// Whether its rate counts the flush at the end of the phase, and its latency only the calls before.
    pub(super) fn flush_is_not_in_latency(&self) -> bool {
        let buffered = |plan: &Phase| plan.cache_mode() != "direct" && access::flushed(plan) == Some(Flushed::InTime);
        let flushes_itself = || {
            [OpKind::Fsync, OpKind::Fdatasync].iter().any(|kind| {
                self.phase
                    .metrics
                    .get(&Metric::rate(*kind))
                    .is_some_and(|value| value.value.is_some_and(|rate| rate > 0.0))
            })
        };
        self.kind == OpKind::Write && self.plan.is_some_and(buffered) && !flushes_itself()
    }
}

/// The rate by which ops of this size are compared, and the other one.
pub(super) fn rates(kind: OpKind, ops: Option<f64>, bytes: Option<f64>) -> (String, String) {
    let is_io = matches!(kind, OpKind::Read | OpKind::Write | OpKind::Trim);
    let number = |ops: f64| if is_io { format::iops(ops) } else { format::per_second(ops) };
    match (bytes, ops) {
        (Some(bytes), Some(ops)) if ops > 0.0 && bytes / ops >= LARGE_BYTES => (format::rate_si(bytes), number(ops)),
        (Some(bytes), Some(ops)) => (number(ops), format::rate_si(bytes)),
        (Some(bytes), None) => (format::rate_si(bytes), String::new()),
        (None, Some(ops)) => (number(ops), String::new()),
        (None, None) => (MISSING.to_owned(), String::new()),
    }
}

/// They accompany other ops, and have their numbers in `--json`, not a line of the page.
const ACCOMPANY: [OpKind; 3] = [OpKind::Open, OpKind::Close, OpKind::Evict];

/// The rows of a phase: what gave it its name comes first.
pub(super) fn rows<'a>(result: &'a RunResult, phase: &'a PhaseResult) -> Vec<Row<'a>> {
    let mut kinds: Vec<OpKind> = OpKind::ALL.iter().copied().filter(|&kind| worth_a_line(phase, kind)).collect();
    kinds.sort_by_key(|kind| kind.name() != phase.name);
    kinds.into_iter().filter_map(|kind| Row::of(result, phase, kind)).collect()
}

fn worth_a_line(phase: &PhaseResult, kind: OpKind) -> bool {
    let present = phase.metrics.contains_key(&Metric::rate(kind));
    let accompanies = ACCOMPANY.contains(&kind);
    present && (!accompanies || phase.metrics.keys().all(|metric| !is_other_op(metric, kind)))
}

fn is_other_op(metric: &Metric, kind: OpKind) -> bool {
    matches!(metric.subject, Subject::Op(other) if other != kind && !ACCOMPANY.contains(&other))
}

/// Transactions a second, where a phase counts them.
pub(super) fn transactions(phase: &PhaseResult) -> Option<String> {
    let value = phase.metrics.get(&Metric { subject: Subject::Transaction, quantity: Quantity::Rate })?;
    Some(value.value.map_or(MISSING.to_owned(), format::per_second))
}

/// Where a worker finished this much before the last one, as a share of the time, its rate has a line of its own.
const MUCH_EARLIER: f64 = 0.05;

/// Rates until the first worker finished, where the others went on for long enough to make it another load.
pub(super) fn until_first_done(phase: &PhaseResult, kind: OpKind) -> Option<(String, String)> {
    let first = phase.first_done.as_ref()?;
    if phase.wall_ns.saturating_sub(first.at_ns) as f64 <= MUCH_EARLIER * phase.wall_ns as f64 {
        return None;
    }
    let value = |metric: Metric| first.metrics.get(&metric).and_then(|value| value.value);
    let ops = value(Metric::rate(kind))?;
    Some(rates(kind, Some(ops), value(Metric::bandwidth(kind))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::metric::Unit;
    use plumb_result::run::FirstDone;

    fn phase(first_at_ns: u64) -> PhaseResult {
        let value =
            |value| MetricValue { value: Some(value), unit: Unit::OpsPerSecond, tier: None, device_share: None };
        let rate = Metric::rate(OpKind::Stat);
        PhaseResult {
            name: "stat".to_owned(),
            wall_ns: 1_000_000_000,
            metrics: [(rate, value(1000.0))].into(),
            done: [].into(),
            replay: None,
            fidelity: Vec::new(),
            network: Vec::new(),
            steps: Vec::new(),
            first_done: Some(FirstDone { at_ns: first_at_ns, metrics: [(rate, value(1500.0))].into() }),
            notes: Vec::new(),
            caches: None,
            limiter: None,
            ranks: None,
        }
    }

    // Protects readers from a rate during which half of the workers had nothing left to do.
    #[test]
    fn a_worker_that_finished_early_has_a_line() {
        let (rate, _) = until_first_done(&phase(500_000_000), OpKind::Stat).unwrap();
        assert_eq!(rate, format::per_second(1500.0));
        assert!(until_first_done(&phase(990_000_000), OpKind::Stat).is_none());
        assert!(until_first_done(&phase(500_000_000), OpKind::Unlink).is_none());
    }

    // Protects: what a server answered is not called a device's, and a share of memory is not called the device's either.
    #[test]
    fn each_tier_is_said_in_its_words() {
        let said = |kind, tier, share| {
            let value =
                MetricValue { value: Some(1.0), unit: Unit::OpsPerSecond, tier: Some(tier), device_share: share };
            let phase = PhaseResult { metrics: [(Metric::rate(kind), value)].into(), ..phase(1) };
            let row = Row { phase: &phase, plan: None, kind, rate: String::new(), also: String::new() };
            (row.not_device(), row.server_words())
        };
        let memory = |words: &str| (Some(words.to_owned()), None);
        assert_eq!(said(OpKind::Read, TierName::Device, Some(1.0)), (None, None));
        assert_eq!(
            said(OpKind::Read, TierName::Server, Some(1.0)),
            (None, Some("from the server's memory or storage"))
        );
        assert_eq!(
            said(OpKind::Write, TierName::Server, Some(1.0)),
            (None, Some("into the server's memory or storage"))
        );
        assert_eq!(said(OpKind::Read, TierName::Mixed, Some(0.39)), memory("61 % from memory"));
        assert_eq!(said(OpKind::Write, TierName::Cache, None), memory("into memory"));
    }

    // Protects: large ops are compared by bytes, small ones by number, and files are not I/O operations.
    #[test]
    fn the_size_of_ops_decides_how_they_are_compared() {
        let set = |kind, ops, bytes| rates(kind, Some(ops), bytes).0;
        assert_eq!(set(OpKind::Read, 100.0, Some(100.0 * 1048576.0)), "105 MB/s");
        assert_eq!(set(OpKind::Read, 12_600.0, Some(12_600.0 * 4096.0)), "12.6 k IOPS");
        assert_eq!(set(OpKind::Unlink, 7_800.0, None), "7.80 k/s");
    }
}
