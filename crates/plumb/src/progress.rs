//! The one live line, on standard error, when that is a terminal; and findings as they become true, on standard error
//! whatever it is.

use crate::output::error_line;
use crate::session;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plumb_engine::Live;
use plumb_report::{Style, format, run as page};
use plumb_result::{Finding, Level, OpCounts, Tier};
use plumb_study::Progress;
use plumb_workload::{OpKind, Workload};
use std::collections::BTreeSet;
use std::io::IsTerminal;

/// The live line.
pub struct LiveLine {
    bar: ProgressBar,
    prefix: String,
    history: Vec<f64>,
    style: Style,
    /// The run of a comparison that goes on; absent where one run is all there is.
    block: Option<String>,
    /// Which of several runs of one workload this is.
    repeat: String,
    phases: PhaseClock,
    /// Whether warnings are printed as they become true; the page has them at the end.
    warnings: LiveWarnings,
    /// Codes that were printed in this comparison.
    told: BTreeSet<String>,
    /// Those of them that were taken back.
    withdrawn: BTreeSet<String>,
}

/// Which findings are printed as they become true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveWarnings {
    /// Only those that reject the run: whoever watches may stop it.
    FailuresOnly,
    /// All.
    All,
}

/// Which phase of how many runs, and what is left.
#[derive(Debug, Default)]
struct PhaseClock {
    /// Longest time of each phase, ns; absent where its amount of work ends it.
    times_ns: Vec<Option<u64>>,
    /// Phases that have begun.
    begun: usize,
}

impl PhaseClock {
    /// `phase 3 of 11`; nothing where there is only one.
    fn place(&self) -> String {
        match self.times_ns.len() {
            0 | 1 => String::new(),
            all => format!("phase {} of {all} · ", self.begun.clamp(1, all)),
        }
    }

    /// The most that is left, `elapsed_ns` into the current phase; absent where that phase has no time.
    fn left_ns(&self, elapsed_ns: u64) -> Option<u64> {
        let current = self.begun.checked_sub(1)?;
        let now = (*self.times_ns.get(current)?)?.saturating_sub(elapsed_ns);
        let later: u64 = self.times_ns.iter().skip(self.begun).flatten().sum();
        Some(now + later)
    }
}

/// Seconds that the sparkline shows.
const HISTORY: usize = 16;

impl LiveLine {
    /// A line, or nothing at all where standard error is no terminal.
    pub fn new() -> LiveLine {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(4)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        LiveLine {
            bar,
            prefix: String::new(),
            history: Vec::new(),
            style: session::error_style(),
            block: None,
            repeat: String::new(),
            phases: PhaseClock::default(),
            warnings: LiveWarnings::FailuresOnly,
            told: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
        }
    }

    /// The same, with these findings printed above it.
    pub fn with_warnings(warnings: LiveWarnings) -> LiveLine {
        let mut line = LiveLine::new();
        line.warnings = warnings;
        line
    }

    /// Which of several runs of one workload begins.
    pub fn repeat(&mut self, number: u32, of: u32) {
        if of > 1 {
            self.repeat = format!("run {number} of {of} · ");
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// A line that stays, above the live one.
    fn tell(&self, text: &str) {
        self.bar.suspend(|| error_line!("{text}"));
    }

    fn say(&self, text: &str) {
        self.bar.set_message(format!("{}{}{}{text}", self.prefix, self.repeat, self.phases.place()));
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Progress for LiveLine {
    fn run_begins(&mut self, workload: &Workload) {
        let times_ns = workload.phase.iter().map(|phase| Some((phase.ramp.0 + phase.stop.time?.0).max(1))).collect();
        self.phases = PhaseClock { times_ns, begun: 0 };
    }

    fn phase_begins(&mut self, _phase: &str) {
        self.phases.begun += 1;
    }

    fn preparing(&mut self, what: &str) {
        self.history.clear();
        self.say(what);
    }

    fn block(&mut self, what: &str) {
        self.prefix = format!("{what} · ");
        self.block = Some(what.to_owned());
    }

    /// Of a comparison, only what rejects its runs, and each check once: it tends to be the same in every block.
    fn found(&mut self, finding: &Finding) {
        let aside = match &self.block {
            None if finding.level < Level::Fail && self.warnings == LiveWarnings::FailuresOnly => return,
            None => None,
            Some(_) if finding.level < Level::Fail || !self.told.insert(finding.code.clone()) => return,
            Some(block) => Some(format!("{block}; printed once; all runs with {} are left out", finding.code)),
        };
        self.tell(&page::found(finding, aside.as_deref(), &self.style));
    }

    fn withdrawn(&mut self, finding: &Finding) {
        let mut of_block = || self.told.contains(&finding.code) && self.withdrawn.insert(finding.code.clone());
        let of_run = self.block.is_none() && (finding.level == Level::Fail || self.warnings == LiveWarnings::All);
        if of_run || of_block() {
            self.tell(&page::withdrawn(finding, &self.style));
        }
    }

    fn live(&mut self, live: &Live, tier: Tier) {
        let seconds = live.interval.length_ns as f64 / 1e9;
        // The kind that took the most time, estimated from its median: of a write and its flush, the flush.
        let time_ns = |ops: &OpCounts| ops.count.saturating_mul(ops.p50_ns.unwrap_or(0));
        let busiest = live.interval.ops.iter().filter(|(_, ops)| ops.count > 0).max_by_key(|(_, ops)| time_ns(ops));
        let Some((kind, ops)) = busiest else {
            self.history.push(0.0);
            return self.say(&format!("{}  nothing completed in the last second", live.phase));
        };
        let rate = ops.count as f64 / seconds;
        let bytes = ops.bytes as f64 / seconds;
        self.history.push(if bytes > 0.0 { bytes } else { rate });
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
        let speed = if bytes > 0.0 {
            format!("{} {}", format::rate_si(bytes), format::iops(rate))
        } else {
            format::per_second(rate)
        };
        let p99 = ops.p99_ns.map_or(format::MISSING.to_owned(), |ns| format::time(ns as f64));
        let left = self.phases.left_ns(live.elapsed_ns);
        let left = left.map_or(String::new(), |ns| format!(" · about {} left", format::time_brief(ns as f64)));
        let verb =
            if *kind == OpKind::Read || *kind == OpKind::Write { String::new() } else { format!("{} ", kind.name()) };
        self.say(&format!(
            "{}  {verb}{speed} {} p99 {p99} · in flight {:.1} · {}{left}",
            live.phase,
            format::sparkline(self.history.iter().copied().map(Some)),
            live.in_flight,
            match tier {
                Tier::Mixed { device_share } => format!("device {}", format::percent(device_share)),
                tier => tier.name().to_owned(),
            }
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: what is left is of the whole run, and is not made up where the current phase ends by its amount of work.
    #[test]
    fn what_is_left_is_of_all_phases() {
        let mut phases = PhaseClock { times_ns: vec![None, Some(4), Some(3)], begun: 1 };
        assert_eq!((phases.place().as_str(), phases.left_ns(1)), ("phase 1 of 3 · ", None));
        phases.begun = 2;
        assert_eq!((phases.place().as_str(), phases.left_ns(1)), ("phase 2 of 3 · ", Some(6)));
        assert_eq!(phases.left_ns(9), Some(3));
    }
}
