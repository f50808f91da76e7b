//! The steady-state rule over rounds of virtual time.

use super::record::Progress;
use plumb_stats::steady;
use plumb_workload::Steady;

/// The steady-state rule at work.
#[derive(Debug, Clone, Default)]
pub(super) struct Rounds {
    /// End of the round at hand; `None` where no rule was asked for.
    pub(super) end_ns: Option<u64>,
    last: Progress,
    amounts: Vec<f64>,
    pub(super) met: bool,
}

impl Rounds {
    /// Ends a round; true where the phase is to stop.
    pub(super) fn end_round(&mut self, progress: Progress, asked: &Steady) -> bool {
        let bytes = progress.bytes - self.last.bytes;
        let amount = if progress.bytes > 0 { bytes } else { progress.ops - self.last.ops };
        self.last = progress;
        self.amounts.push(amount as f64);
        self.end_ns = self.end_ns.map(|end_ns| end_ns.saturating_add(asked.round.0.max(1)));
        let rule =
            steady::Rule { window: asked.window, range: asked.range, slope: asked.slope, rounds_max: asked.max_rounds };
        self.met = steady::snia(&self.amounts, &rule).is_some();
        self.met || self.amounts.len() >= asked.max_rounds as usize
    }
}
