//! The one live line, on standard error, when that is a terminal; and findings as they become true, on standard error
//! whatever it is.

use crate::output::error_line;
use crate::session;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plumb_engine::Live;
use plumb_report::{Style, format, run as page};
use plumb_result::{Finding, Level, OpCounts, Tier};
use plumb_study::Progress;
use plumb_workload::OpKind;
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
    /// Codes that were told in this comparison.
    told: BTreeSet<String>,
    /// Those of them that were taken back.
    withdrawn: BTreeSet<String>,
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
            told: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
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
        self.bar.set_message(format!("{}{text}", self.prefix));
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Progress for LiveLine {
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
            None => None,
            Some(_) if finding.level < Level::Fail || !self.told.insert(finding.code.clone()) => return,
            Some(block) => Some(format!("{block}; said once, all runs with {} are left out", finding.code)),
        };
        self.tell(&page::told(finding, aside.as_deref(), &self.style));
    }

    fn withdrawn(&mut self, finding: &Finding) {
        let mut of_block = || self.told.contains(&finding.code) && self.withdrawn.insert(finding.code.clone());
        if self.block.is_none() || of_block() {
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
            format!("{} {}", format::rate_si(bytes), format::per_second(rate))
        } else {
            format::per_second(rate)
        };
        let p99 = ops.p99_ns.map_or(format::MISSING.to_owned(), |ns| format::time(ns as f64));
        let left = live.time_ns.map_or(String::new(), |time_ns| {
            format!(" · {} left", format::time(time_ns.saturating_sub(live.elapsed_ns) as f64))
        });
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
