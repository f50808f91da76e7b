//! What is told while a run goes on: the line of `--eta`, `--status-interval`, triggers, the log of all bandwidth.

use super::output::Output;
use super::trigger::Watch;
use plumb_dialects::fio::Fio;
use plumb_dialects::fio::invocation::Eta as When;
use plumb_dialects::fio::lower::Lowered;
use plumb_dialects::fio::print::{Eta, Remaining, eta_line};
use plumb_dialects::fio::value::direction::{Ops, Order};
use plumb_engine::signals::StopFlag;
use plumb_engine::{LoggedOp, PhaseNow, WorkerNow, WorkerState};
use plumb_result::measurement::Moved;
use plumb_result::{Measurement, PhaseMeasurement};
use plumb_study::Progress;
use plumb_workload::{OpKind, Phase};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Between two looks at the clock an interval may be this much shorter than it should be.
const SLACK: Duration = Duration::from_millis(100);

/// Every so often.
#[derive(Debug)]
struct Every {
    length: Duration,
    last: Instant,
}

impl Every {
    fn new(length: plumb_workload::Nanos) -> Every {
        Every { length: Duration::from_nanos(length.0), last: Instant::now() }
    }

    fn is_due(&mut self) -> bool {
        let due = self.last.elapsed() + SLACK >= self.length;
        if due {
            self.last = Instant::now();
        }
        due
    }
}

/// Where the line of progress goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Nowhere,
    /// Rewritten on standard error.
    Error,
    /// Rewritten on standard output, where results go to a file.
    Output,
}

/// Looks on while the jobs run.
pub struct Watching<'a> {
    fio: &'a Fio,
    lowered: &'a Lowered,
    stop: StopFlag,
    trigger: Watch,
    shown: Shown,
    new_line: Option<Every>,
    interval: Option<Every>,
    /// Characters of the line that stands.
    width: usize,
    /// When the clock of each phase started, milliseconds since 1970.
    pub phase_starts_unix_ms: Vec<u64>,
}

/// Milliseconds since 1970.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl<'a> Watching<'a> {
    /// Looks on from now.
    pub fn new(fio: &'a Fio, lowered: &'a Lowered, output: &Output, stop: StopFlag) -> Watching<'a> {
        let invocation = &fio.invocation;
        let shown = match invocation.eta {
            When::Never => Shown::Nowhere,
            When::Always if output.is_file() => Shown::Output,
            When::Always => Shown::Error,
            When::Auto if output.is_normal() && std::io::stderr().is_terminal() => Shown::Error,
            When::Auto => Shown::Nowhere,
        };
        Watching {
            fio,
            lowered,
            stop,
            trigger: Watch::new(&invocation.trigger),
            shown,
            new_line: invocation.eta_newline.map(Every::new),
            interval: invocation.eta_interval.map(Every::new),
            width: 0,
            phase_starts_unix_ms: Vec::new(),
        }
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.width > 0 {
            self.write(&format!("\r{:width$}\r", "", width = self.width));
            self.width = 0;
        }
    }

    fn write(&self, text: &str) {
        // A reader that went away is no reason to end a measurement.
        let _ = match self.shown {
            Shown::Nowhere => Ok(()),
            Shown::Error => std::io::stderr().write_all(text.as_bytes()),
            Shown::Output => {
                let mut stdout = std::io::stdout();
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
            }
        };
    }

    fn show(&mut self, live: &Live) {
        if self.shown == Shown::Nowhere || !self.interval.as_mut().is_none_or(Every::is_due) {
            return;
        }
        let line = eta_line(&self.eta(live));
        let text = format!("\r{line:width$}", width = self.width);
        self.width = line.chars().count();
        self.write(&text);
        if self.new_line.as_mut().is_some_and(Every::is_due) {
            self.write("\n");
            self.width = 0;
        }
    }

    fn eta(&self, live: &Live) -> Eta {
        let at = self.phase_starts_unix_ms.len().saturating_sub(1);
        let running = self.lowered.jobs.iter().filter(|copy| copy.phase == at).count();
        let running = u32::try_from(running).unwrap_or(u32::MAX);
        let seconds = live.interval.length_ns.max(1) as f64 / 1e9;
        let rates = |pick: fn(&plumb_result::OpCounts) -> u64| {
            [OpKind::Read, OpKind::Write, OpKind::Trim]
                .map(|kind| live.interval.ops.get(&kind).map_or(0, |done| (pick(done) as f64 / seconds) as u64))
        };
        let phases = &self.lowered.workload.phase;
        let elapsed_s = self.phase_starts_unix_ms.first().map_or(0, |start| unix_ms().saturating_sub(*start) / 1000);
        let of_this = live.time_ns.map(|time_ns| time_ns.saturating_sub(live.elapsed_ns));
        let later: Option<u64> = phases.iter().skip(at + 1).map(longest_ns).sum();
        let remaining = match (of_this, later) {
            (Some(this), Some(later)) => Remaining::Known { elapsed_s, left_s: (this + later).div_ceil(1_000_000_000) },
            _ => Remaining::Unknown,
        };
        Eta {
            running,
            files_open: running,
            limit: None,
            states: condensed(&self.states(at)),
            remaining,
            bytes_per_second: rates(|done| done.bytes),
            iops: rates(|done| done.count),
            ..Eta::default()
        }
    }

    /// A letter for each copy, as fio has them.
    fn states(&self, at: usize) -> Vec<char> {
        let letter = |job: usize| {
            let rw = self.fio.jobs[job].direction.rw;
            let letter = match rw.ops {
                Ops::Read => 'r',
                Ops::Write => 'w',
                Ops::Trim => 'd',
                Ops::ReadWrite | Ops::TrimWrite => 'm',
            };
            if matches!(rw.order, Order::Sequential { .. }) { letter.to_ascii_uppercase() } else { letter }
        };
        let state = |copy: &plumb_dialects::fio::lower::LoweredJob| match copy.phase.cmp(&at) {
            std::cmp::Ordering::Less => '_',
            std::cmp::Ordering::Equal => letter(copy.job),
            std::cmp::Ordering::Greater => 'P',
        };
        self.lowered.jobs.iter().map(state).collect()
    }
}

/// How long a phase lasts by time, where all of its workers have a time.
fn longest_ns(phase: &Phase) -> Option<u64> {
    let times: Option<Vec<u64>> = phase
        .workers
        .iter()
        .map(|group| group.limit.time.map(|time| time.0 + group.ramp.0 + group.start.delay.0))
        .collect();
    times?.into_iter().max()
}

/// `R(2),_(1)`.
fn condensed(states: &[char]) -> String {
    let runs = states.chunk_by(|a, b| a == b).map(|run| format!("{}({})", run[0], run.len()));
    runs.collect::<Vec<String>>().join(",")
}

impl Progress for Watching<'_> {
    fn clock_starts(&mut self, _phase: &str) {
        self.phase_starts_unix_ms.push(unix_ms());
    }

    fn live(&mut self, live: &Live, _tier: Tier) {
        self.trigger.look(self.stop);
        self.show(live);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_states_are_counted() {
        assert_eq!(condensed(&['R', 'R', '_', 'P']), "R(2),_(1),P(1)");
    }
}
