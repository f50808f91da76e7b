//! The live line, on standard error if that is a terminal. Also prints findings as soon as they are known,
//! on standard error of any kind.

use crate::common::Common;
use crate::output::{self, error_line};
use crate::session;
use crate::stream::measured;
use plumb_bench::{Parts, Progress, RunBegun, Second};
use plumb_report::live::{busiest, rate_of};
use plumb_report::{Style, format, run as page};
use plumb_result::{Finding, Level, Tier};
use plumb_workload::{OpKind, Workload};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The live line of a run or a comparison.
pub struct LiveLine {
    line: StatusLine,
    prefix: String,
    history: Vec<f64>,
    style: Style,
    /// Current run of a comparison; `None` for a single run.
    block: Option<String>,
    /// Number of this run among several of one workload.
    repeat: String,
    phases: PhaseClock,
    /// `None` for a command with a single run.
    whole: Option<Whole>,
    /// Findings that are printed at once; the page repeats them at the end.
    warnings: LiveWarnings,
    /// Codes that were printed in this comparison.
    printed: BTreeSet<String>,
    /// Printed codes that were withdrawn.
    withdrawn: BTreeSet<String>,
    /// Flag of a screen that uses the terminal.
    hidden_until: Option<Arc<AtomicBool>>,
}

/// Findings that are printed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveWarnings {
    /// Only those that reject the run, so that the user can stop it.
    FailuresOnly,
    All,
}

impl LiveWarnings {
    /// Returns the selection of the command line.
    pub fn from_arguments(common: &Common) -> LiveWarnings {
        if common.verbose { LiveWarnings::All } else { LiveWarnings::FailuresOnly }
    }
}

/// Shortest time between two redraws of a line.
const DRAWN_EVERY: Duration = Duration::from_millis(250);

/// A status line on standard error, if that is a terminal.
pub struct StatusLine {
    shown: Mutex<Shown>,
}

struct Shown {
    is_terminal: bool,
    is_hidden: bool,
    text: String,
    /// Time of the last redraw; `None` while the line is erased.
    drawn: Option<Instant>,
}

impl Shown {
    fn draw(&mut self) {
        if !self.is_terminal || self.is_hidden || self.drawn.is_some_and(|at| at.elapsed() < DRAWN_EVERY) {
            return;
        }
        let columns = rustix::termios::tcgetwinsize(std::io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        let text = plumb_report::cut(&self.text, if columns == 0 { Style::PLAIN.width } else { columns });
        output::redraw("\r\x1b[2K", &text, "");
        self.drawn = Some(Instant::now());
    }

    fn erase(&mut self) {
        if self.drawn.take().is_some() {
            output::redraw("\r\x1b[2K", "", "");
        }
    }
}

impl StatusLine {
    /// Creates an empty line, which is drawn only if standard error is a terminal.
    pub fn on_standard_error() -> StatusLine {
        let is_terminal = std::io::stderr().is_terminal();
        StatusLine { shown: Mutex::new(Shown { is_terminal, is_hidden: false, text: String::new(), drawn: None }) }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn say(&self, text: String) {
        let mut shown = self.shown();
        shown.text = text;
        shown.draw();
    }

    /// Erases the line, prints something above it, and redraws it.
    pub fn aside(&self, print: impl FnOnce()) {
        let mut shown = self.shown();
        let was_drawn = shown.drawn.is_some();
        shown.erase();
        print();
        if was_drawn {
            shown.draw();
        }
    }

    /// Hides the line while something else uses the terminal, or shows it again.
    pub fn hide(&self, is_hidden: bool) {
        let mut shown = self.shown();
        shown.erase();
        shown.is_hidden = is_hidden;
    }

    /// Removes the line until the next [`StatusLine::say`].
    pub fn end(&self) {
        self.shown().erase();
    }
}

/// Formats the remaining time, extrapolated from the finished share: ` · about 12 s left`. Empty until enough is finished.
pub fn left_by_share(began: Instant, done: f64, total: f64) -> String {
    left_of(began.elapsed(), done, total)
}

fn left_of(elapsed: Duration, done: f64, total: f64) -> String {
    const ENOUGH: Duration = Duration::from_secs(1);
    if elapsed < ENOUGH || done <= 0.0 || done >= total {
        return String::new();
    }
    let left_ns = elapsed.as_nanos() as f64 * (total - done) / done;
    format!(" · about {} left", format::time_brief(left_ns))
}

/// Current phase of a run, and the remaining time.
#[derive(Debug, Default)]
pub(crate) struct PhaseClock {
    /// Longest time of each phase, ns; `None` if its amount of work ends it.
    times_ns: Vec<Option<u64>>,
    /// Number of phases that have begun.
    begun: usize,
}

impl PhaseClock {
    /// Starts before the first phase.
    pub(crate) fn new(workload: &Workload) -> PhaseClock {
        let time_ns = |phase: &plumb_workload::Phase| Some((phase.ramp.0 + phase.stop.time?.0).max(1));
        PhaseClock { times_ns: workload.phase.iter().map(time_ns).collect(), begun: 0 }
    }

    /// Counts the start of a phase.
    pub(crate) fn begins(&mut self) {
        self.begun += 1;
    }

    /// Formats the position: `phase 3 of 11`; empty for a single phase.
    pub(crate) fn place(&self) -> String {
        match self.times_ns.len() {
            0 | 1 => String::new(),
            all => format!("phase {} of {all}", self.begun.clamp(1, all)),
        }
    }

    /// Returns the longest time of the current phase, ns; `None` if its amount of work ends it.
    pub(crate) fn time_ns(&self) -> Option<u64> {
        *self.times_ns.get(self.begun.checked_sub(1)?)?
    }

    /// Returns the longest remaining time, ns, at `elapsed_ns` into the current phase; `None` if that phase has no time limit.
    pub(crate) fn left_ns(&self, elapsed_ns: u64) -> Option<u64> {
        let current = self.begun.checked_sub(1)?;
        let now = (*self.times_ns.get(current)?)?.saturating_sub(elapsed_ns);
        let later: u64 = self.times_ns.iter().skip(self.begun).flatten().sum();
        Some(now + later)
    }

    /// Formats the remaining time: `about 12 s left`, or `at least …` if the amount of work ends a remaining phase.
    fn left(&self, elapsed_ns: u64) -> Option<String> {
        let at = self.begun.saturating_sub(1);
        let open = self.times_ns.get(at..).filter(|open| !open.is_empty())?;
        let elapsed_ns = if self.begun == 0 { 0 } else { elapsed_ns };
        let now = open[0].unwrap_or(0).saturating_sub(elapsed_ns);
        let left = now + open[1..].iter().flatten().sum::<u64>();
        let how = if open.iter().all(Option::is_some) { "about" } else { "at least" };
        (left > 0).then(|| format!("{how} {} left", format::time_brief(left as f64)))
    }
}

/// Runs of a command, and their start times.
struct Whole {
    parts: Parts,
    began: Instant,
    part_began: Instant,
}

impl Whole {
    fn left(&self) -> Option<String> {
        let left = self.parts.left(self.began.elapsed(), self.part_began.elapsed())?;
        Some(format!("about {} left", format::time_brief(left.as_nanos() as f64)))
    }
}

/// Seconds that the sparkline shows.
const HISTORY: usize = 16;

impl LiveLine {
    /// Creates a line, which is drawn only if standard error is a terminal.
    pub fn on_standard_error() -> LiveLine {
        LiveLine {
            line: StatusLine::on_standard_error(),
            prefix: String::new(),
            history: Vec::new(),
            style: session::error_style(),
            block: None,
            repeat: String::new(),
            phases: PhaseClock::default(),
            whole: None,
            warnings: LiveWarnings::FailuresOnly,
            printed: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            hidden_until: None,
        }
    }

    /// Creates a line that prints these findings above itself.
    pub(crate) fn with_warnings(warnings: LiveWarnings) -> LiveLine {
        let mut line = LiveLine::on_standard_error();
        line.warnings = warnings;
        line
    }

    /// Sets the number of the run among several of one workload.
    pub fn repeat(&mut self, number: u32, of: u32) {
        if of > 1 {
            self.repeat = format!("run {number} of {of} · ");
        }
    }

    /// Hides the line while a screen has the terminal, until `is_closed`.
    pub(crate) fn hide_until(&mut self, is_closed: Arc<AtomicBool>) {
        self.line.hide(true);
        self.hidden_until = Some(is_closed);
    }

    fn show_if_free(&mut self) {
        if self.hidden_until.as_ref().is_some_and(|is_closed| is_closed.load(Ordering::Relaxed)) {
            self.hidden_until = None;
            self.line.hide(false);
        }
    }

    pub fn clear(&self) {
        self.line.end();
    }

    /// Prints a permanent line above the live one.
    fn print_above(&self, text: &str) {
        self.line.aside(|| error_line!("{text}"));
    }

    /// Shows a text with the position in the run and the remaining time, `elapsed_ns` into the current phase.
    fn say(&mut self, text: &str, elapsed_ns: u64) {
        self.show_if_free();
        let place = self.phases.place();
        let gap = if place.is_empty() { "" } else { " · " };
        let left = self.whole.as_ref().and_then(Whole::left).or_else(|| self.phases.left(elapsed_ns));
        let left = left.map_or(String::new(), |left| format!(" · {left}"));
        self.line.say(format!("{}{}{place}{gap}{text}{left}", self.prefix, self.repeat));
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Progress for LiveLine {
    fn run_begins(&mut self, run: &RunBegun<'_>) {
        self.phases = PhaseClock::new(run.workload);
    }

    fn phase_begins(&mut self, _phase: &str) {
        self.phases.begins();
    }

    fn preparing(&mut self, what: &str) {
        self.history.clear();
        self.say(what, 0);
    }

    fn parts(&mut self, parts: Parts) {
        let now = Instant::now();
        let began = self.whole.as_ref().filter(|_| parts.done > 0).map_or(now, |whole| whole.began);
        self.whole = Some(Whole { parts, began, part_began: now });
    }

    fn block(&mut self, what: &str) {
        self.prefix = format!("{what} · ");
        self.block = Some(what.to_owned());
    }

    /// Prints a finding. In a comparison, prints only rejections, and each check once, since it tends to be the same in
    /// every block. In a run, a check that was printed before becomes one short line.
    fn found(&mut self, finding: &Finding) {
        let aside = match &self.block {
            None if finding.level < Level::Fail && self.warnings == LiveWarnings::FailuresOnly => return,
            None if !self.printed.insert(finding.code.clone()) => {
                return self.print_above(&page::found_again(finding, &self.style));
            }
            None => None,
            Some(_) if finding.level < Level::Fail || !self.printed.insert(finding.code.clone()) => return,
            Some(block) => Some(format!("{block}; printed once; all runs with {} are left out", finding.code)),
        };
        self.print_above(&page::found(finding, aside.as_deref(), &self.style));
    }

    fn withdrawn(&mut self, finding: &Finding) {
        let mut of_block = || self.printed.contains(&finding.code) && self.withdrawn.insert(finding.code.clone());
        let of_run = self.block.is_none() && (finding.level == Level::Fail || self.warnings == LiveWarnings::All);
        if of_run || of_block() {
            self.print_above(&page::withdrawn(finding, &self.style));
        }
    }

    fn live(&mut self, second: &Second<'_>) {
        let Second { live, tier, .. } = *second;
        let measured = measured(second);
        let Some((kind, ops)) = busiest(&measured) else {
            self.history.push(0.0);
            return self.say(&format!("{}  nothing completed in the last second", live.phase), live.elapsed_ns);
        };
        self.history.push(rate_of(ops));
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
        let speed = if ops.bytes > 0 {
            format!("{} {}", format::rate_si(ops.bytes_per_s), format::iops(ops.ops_per_s))
        } else {
            format::per_second(ops.ops_per_s)
        };
        let p99 = ops.p99_ns.map_or(format::MISSING.to_owned(), |ns| format::time(ns as f64));
        let verb =
            if kind == OpKind::Read || kind == OpKind::Write { String::new() } else { format!("{} ", kind.name()) };
        let text = format!(
            "{}  {verb}{speed} {} p99 {p99} · in flight {:.1} · {}",
            live.phase,
            format::sparkline(self.history.iter().copied().map(Some)),
            live.in_flight,
            match tier {
                Tier::Mixed { device_share } => format!("memory {}", format::percent(1.0 - device_share)),
                tier => tier.name().to_owned(),
            }
        );
        self.say(&text, live.elapsed_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the remaining time covers the whole run, and is unknown if the amount of work ends the current phase.
    #[test]
    fn the_remaining_time_covers_all_phases() {
        let mut phases = PhaseClock { times_ns: vec![None, Some(4), Some(3)], begun: 1 };
        assert_eq!((phases.place().as_str(), phases.left_ns(1)), ("phase 1 of 3", None));
        phases.begins();
        assert_eq!((phases.place().as_str(), phases.left_ns(1)), ("phase 2 of 3", Some(6)));
        assert_eq!(phases.left_ns(9), Some(3));
    }

    // Protects: a rate measured over a few milliseconds is not used as a forecast.
    #[test]
    fn a_share_is_extrapolated_once_enough_is_done() {
        let of = |ms, done| left_of(Duration::from_millis(ms), done, 100.0);
        assert_eq!((of(500, 10.0).as_str(), of(2000, 0.0).as_str(), of(2000, 100.0).as_str()), ("", "", ""));
        assert_eq!(of(2000, 25.0), " · about 6.0 s left");
    }

    // Protects: the text promises no end time if the amount of work decides it.
    #[test]
    fn the_remaining_time_names_its_bound() {
        const S: u64 = 1_000_000_000;
        let mut phases = PhaseClock { times_ns: vec![None, Some(4 * S), Some(3 * S)], begun: 0 };
        assert_eq!(phases.left(9 * S).as_deref(), Some("at least 7.0 s left"));
        phases.begins();
        assert_eq!(phases.left(9 * S).as_deref(), Some("at least 7.0 s left"));
        phases.begins();
        assert_eq!(phases.left(S).as_deref(), Some("about 6.0 s left"));
        assert_eq!(PhaseClock { times_ns: vec![None], begun: 1 }.left(S), None);
    }
}
