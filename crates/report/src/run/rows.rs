//! Rows of a table: the results of ops of one kind in one phase.

use super::access::{self, Flushed};
use crate::format::{self, MISSING};
use crate::style::Ink;
use plumb_result::metric::{Stat, Subject};
use plumb_result::run::TierName;
use plumb_result::{Metric, MetricValue, PhaseResult, Quantity, RunResult};
use plumb_workload::OpKind;
use plumb_workload::phase::Phase;

/// Mean op size from which ops are compared by bytes, and below which by their number.
const LARGE_BYTES: f64 = 65536.0;

/// Duration below which block I/O is a burst: caches of devices and hosts absorb that much.
const BURST_NS: u64 = 1_000_000_000;

/// Comments next to a rate: cautions make it doubtful, remarks only explain it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Aside {
    pub(super) cautions: Vec<String>,
    pub(super) remarks: Vec<String>,
}

impl Aside {
    /// Returns all comments in one line; `None` if there are none.
    pub(super) fn words(&self) -> Option<String> {
        let all: Vec<&str> = self.cautions.iter().chain(&self.remarks).map(String::as_str).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// Formats that line, with the mark and colour of a caution if it contains one.
    pub(super) fn marked(words: &str, is_caution: bool) -> (String, Ink) {
        if is_caution { (format!("⚠ {words}"), Ink::Caution) } else { (words.to_owned(), Ink::Faint) }
    }
}

/// Results of ops of one kind.
#[derive(Debug, Clone)]
pub(super) struct Row<'a> {
    pub(super) phase: &'a PhaseResult,
    /// The requested phase; `None` if the workload of a result is unknown.
    pub(super) plan: Option<&'a Phase>,
    pub(super) kind: OpKind,
    /// Rate by which ops of this size are compared.
    pub(super) rate: String,
    /// The other of the two rates.
    pub(super) also: String,
}

impl<'a> Row<'a> {
    /// Returns the row of a kind of op; `None` if the phase has none.
    pub(super) fn for_kind(result: &'a RunResult, phase: &'a PhaseResult, kind: OpKind) -> Option<Row<'a>> {
        phase.metrics.get(&Metric::rate(kind))?;
        let plan = result.workload.phase.iter().find(|plan| plan.name == phase.name);
        let value = |metric: Metric| phase.metrics.get(&metric).and_then(|value| value.value);
        let (ops, bytes) = (value(Metric::rate(kind)), value(Metric::bandwidth(kind)));
        let (rate, also) = rates(kind, ops, bytes);
        Some(Row { phase, plan, kind, rate, also })
    }

    /// Returns a quantile of the latency; [`MISSING`] if there were too few samples.
    pub(super) fn latency(&self, stat: Stat) -> String {
        let value = self.phase.metrics.get(&Metric::latency(self.kind, stat)).and_then(|value| value.value);
        value.map_or(MISSING.to_owned(), format::time)
    }

    /// Returns the mean bytes of an op.
    pub(super) fn op_bytes(&self) -> Option<f64> {
        let done = self.phase.done.get(&self.kind).filter(|done| done.ops > 0 && done.bytes > 0);
        let by_rates = || {
            let value = |metric: Metric| self.phase.metrics.get(&metric).and_then(|value| value.value);
            Some(value(Metric::bandwidth(self.kind))? / value(Metric::rate(self.kind)).filter(|&rate| rate > 0.0)?)
        };
        done.map(|done| done.bytes as f64 / done.ops as f64).or_else(by_rates)
    }

    /// Returns the tier of its bytes.
    pub(super) fn tier(&self) -> Option<MetricValue> {
        let value = |metric: Metric| self.phase.metrics.get(&metric).filter(|value| value.tier.is_some()).copied();
        value(Metric::bandwidth(self.kind)).or_else(|| value(Metric::rate(self.kind)))
    }

    /// Returns the comment that a server answered, possibly from its memory.
    pub(super) fn server_words(&self) -> Option<&'static str> {
        let is_server = self.tier()?.tier == Some(TierName::Server);
        match self.kind {
            OpKind::Read if is_server => Some("from the server's memory or storage"),
            OpKind::Write if is_server => Some("into the server's memory or storage"),
            _ => None,
        }
    }

    /// Returns the origin of the bytes if it is this machine's memory or unknown.
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

    /// Returns `true` for block I/O that was too short to represent longer work.
    pub(super) fn is_burst(&self) -> bool {
        let is_blocks = |plan: &Phase| plan.workers.iter().all(|group| group.work.has_queue());
        self.phase.wall_ns < BURST_NS && self.plan.is_some_and(is_blocks)
    }

    /// Returns the comments next to the rate.
    pub(super) fn aside(&self) -> Aside {
        let ended_by_time = self.plan.and_then(|plan| plan.stop.time).is_some_and(|time| self.phase.wall_ns >= time.0);
        let longer = if ended_by_time { "use a longer time" } else { "use a larger file" };
        let burst = || format!("burst, too short to compare ({longer})");
        let server = self.server_words().map(str::to_owned);
        Aside { cautions: self.cautions(), remarks: server.into_iter().chain(self.is_burst().then(burst)).collect() }
    }

    /// Returns the reasons not to take the rate at face value, each in a few words.
    fn cautions(&self) -> Vec<String> {
        let flushed = self.plan.and_then(access::flushed).filter(|_| self.kind == OpKind::Write);
        let unflushed = |flushed: Flushed| match flushed {
            Flushed::InTime => None,
            flushed => Some(access::flushed_words(flushed).to_owned()),
        };
        [self.not_device(), flushed.and_then(unflushed)].into_iter().flatten().collect()
    }

    /// Returns `true` if the rate includes the flush at the end of the phase, but the latency only the calls before it.
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

/// Returns the rate by which ops of this size are compared, and the other one.
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

/// Ops that accompany others. Their numbers are in `--json`, without a line on the page.
const ACCOMPANY: [OpKind; 3] = [OpKind::Open, OpKind::Close, OpKind::Evict];

/// Returns the rows of a phase, beginning with the op that the phase is named after.
pub(super) fn rows<'a>(result: &'a RunResult, phase: &'a PhaseResult) -> Vec<Row<'a>> {
    let mut kinds: Vec<OpKind> = OpKind::ALL.iter().copied().filter(|&kind| worth_a_line(phase, kind)).collect();
    kinds.sort_by_key(|kind| kind.name() != phase.name);
    kinds.into_iter().filter_map(|kind| Row::for_kind(result, phase, kind)).collect()
}

fn worth_a_line(phase: &PhaseResult, kind: OpKind) -> bool {
    let present = phase.metrics.contains_key(&Metric::rate(kind));
    let accompanies = ACCOMPANY.contains(&kind);
    present && (!accompanies || phase.metrics.keys().all(|metric| !is_other_op(metric, kind)))
}

fn is_other_op(metric: &Metric, kind: OpKind) -> bool {
    matches!(metric.subject, Subject::Op(other) if other != kind && !ACCOMPANY.contains(&other))
}

/// Returns transactions per second, if the phase counts them.
pub(super) fn transactions(phase: &PhaseResult) -> Option<String> {
    let value = phase.metrics.get(&Metric { subject: Subject::Transaction, quantity: Quantity::Rate })?;
    Some(value.value.map_or(MISSING.to_owned(), format::per_second))
}

/// If a worker finishes earlier than the last one by this share of the time, its rate has a separate line.
const MUCH_EARLIER: f64 = 0.05;

/// Returns the rates until the first worker finished, if the others continued long enough to make the load a different one.
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

    // Protects readers from a rate that includes time in which half of the workers had nothing left to do.
    #[test]
    fn a_worker_that_finished_early_has_a_line() {
        let (rate, _) = until_first_done(&phase(500_000_000), OpKind::Stat).unwrap();
        assert_eq!(rate, format::per_second(1500.0));
        assert!(until_first_done(&phase(990_000_000), OpKind::Stat).is_none());
        assert!(until_first_done(&phase(500_000_000), OpKind::Unlink).is_none());
    }

    // Protects: bytes from a server or from memory are not attributed to the device.
    #[test]
    fn each_tier_has_its_own_words() {
        let describe = |kind, tier, share| {
            let value =
                MetricValue { value: Some(1.0), unit: Unit::OpsPerSecond, tier: Some(tier), device_share: share };
            let phase = PhaseResult { metrics: [(Metric::rate(kind), value)].into(), ..phase(1) };
            let row = Row { phase: &phase, plan: None, kind, rate: String::new(), also: String::new() };
            (row.not_device(), row.server_words())
        };
        let memory = |words: &str| (Some(words.to_owned()), None);
        assert_eq!(describe(OpKind::Read, TierName::Device, Some(1.0)), (None, None));
        assert_eq!(
            describe(OpKind::Read, TierName::Server, Some(1.0)),
            (None, Some("from the server's memory or storage"))
        );
        assert_eq!(
            describe(OpKind::Write, TierName::Server, Some(1.0)),
            (None, Some("into the server's memory or storage"))
        );
        assert_eq!(describe(OpKind::Read, TierName::Mixed, Some(0.39)), memory("61 % from memory"));
        assert_eq!(describe(OpKind::Write, TierName::Cache, None), memory("into memory"));
    }

    // Protects: large ops are compared by bytes, small ones by number, and files are not counted as I/O operations.
    #[test]
    fn the_size_of_ops_decides_how_they_are_compared() {
        let set = |kind, ops, bytes| rates(kind, Some(ops), bytes).0;
        assert_eq!(set(OpKind::Read, 100.0, Some(100.0 * 1048576.0)), "105 MB/s");
        assert_eq!(set(OpKind::Read, 12_600.0, Some(12_600.0 * 4096.0)), "12.6 k IOPS");
        assert_eq!(set(OpKind::Unlink, 7_800.0, None), "7.80 k/s");
    }
}
