//! The one live line, on standard error, when that is a terminal; and findings as they become true, on standard error
//! whatever it is.

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

/// The live line.
pub struct LiveLine {
    line: StatusLine,
    prefix: String,
    history: Vec<f64>,
    style: Style,
    /// The run of a comparison that goes on; absent where one run is all there is.
    block: Option<String>,
    /// Which of several runs of one workload this is.
    repeat: String,
    phases: PhaseClock,
    /// Where the command makes several runs.
    whole: Option<Whole>,
    /// Whether warnings are printed as they become true; the page has them at the end.
    warnings: LiveWarnings,
    /// Codes that were printed in this comparison.
    told: BTreeSet<String>,
    /// Those of them that were taken back.
    withdrawn: BTreeSet<String>,
    /// A screen that has the terminal.
    hidden_until: Option<Arc<AtomicBool>>,
}

/// Which findings are printed as they become true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveWarnings {
    /// Only those that reject the run: whoever watches may stop it.
    FailuresOnly,
    /// All.
    All,
}

impl LiveWarnings {
    /// As asked for.
    pub fn of(common: &Common) -> LiveWarnings {
        if common.verbose { LiveWarnings::All } else { LiveWarnings::FailuresOnly }
    }
}

/// The least time between two drawings of a line.
const DRAWN_EVERY: Duration = Duration::from_millis(250);

/// A line that says what goes on, on standard error, when that is a terminal.
pub struct StatusLine {
    shown: Mutex<Shown>,
}

struct Shown {
    is_terminal: bool,
    is_hidden: bool,
    text: String,
    /// When it was drawn; absent where it is not there.
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
    /// Makes an empty line, which is drawn only if standard error is a terminal.
    pub fn on_standard_error() -> StatusLine {
        let is_terminal = std::io::stderr().is_terminal();
        StatusLine { shown: Mutex::new(Shown { is_terminal, is_hidden: false, text: String::new(), drawn: None }) }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces what it says.
    pub fn say(&self, text: String) {
        let mut shown = self.shown();
        shown.text = text;
        shown.draw();
    }

    /// Makes something else appear above it.
    pub fn aside(&self, tell: impl FnOnce()) {
        let mut shown = self.shown();
        let was_drawn = shown.drawn.is_some();
        shown.erase();
        tell();
        if was_drawn {
            shown.draw();
        }
    }

    /// Hides it while something else has the terminal, or lets it be seen again.
    pub fn hide(&self, is_hidden: bool) {
        let mut shown = self.shown();
        shown.erase();
        shown.is_hidden = is_hidden;
    }

    /// Removes it, until it says something again.
    pub fn end(&self) {
        self.shown().erase();
    }
}

/// ` · about 12 s left`, where the rest takes as long for each part as what is done; empty before enough of it is.
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

/// Which phase of how many runs, and what is left.
#[derive(Debug, Default)]
pub(crate) struct PhaseClock {
    /// Longest time of each phase, ns; absent where its amount of work ends it.
    times_ns: Vec<Option<u64>>,
    /// Phases that have begun.
    begun: usize,
}

impl PhaseClock {
    /// Before the first phase.
    pub(crate) fn of(workload: &Workload) -> PhaseClock {
        let time_ns = |phase: &plumb_workload::Phase| Some((phase.ramp.0 + phase.stop.time?.0).max(1));
        PhaseClock { times_ns: workload.phase.iter().map(time_ns).collect(), begun: 0 }
    }

    /// A phase begins.
    pub(crate) fn begins(&mut self) {
        self.begun += 1;
    }

    /// `phase 3 of 11`; nothing where there is only one.
    pub(crate) fn place(&self) -> String {
        match self.times_ns.len() {
            0 | 1 => String::new(),
            all => format!("phase {} of {all}", self.begun.clamp(1, all)),
        }
    }

    /// The longest time of the current phase, ns; absent where its amount of work ends it.
    pub(crate) fn time_ns(&self) -> Option<u64> {
        *self.times_ns.get(self.begun.checked_sub(1)?)?
    }

    /// The most that is left, `elapsed_ns` into the current phase; absent where that phase has no time.
    pub(crate) fn left_ns(&self, elapsed_ns: u64) -> Option<u64> {
        let current = self.begun.checked_sub(1)?;
        let now = (*self.times_ns.get(current)?)?.saturating_sub(elapsed_ns);
        let later: u64 = self.times_ns.iter().skip(self.begun).flatten().sum();
        Some(now + later)
    }

    /// Time that is left, in words: `about 12 s left`, or `at least …` where the amount of work ends a phase that is not over.
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

/// The runs of a command, and when they began.
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
    /// Makes a line, which is drawn only if standard error is a terminal.
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
            told: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            hidden_until: None,
        }
    }

    /// The same, with these findings printed above it.
    pub(crate) fn with_warnings(warnings: LiveWarnings) -> LiveLine {
        let mut line = LiveLine::on_standard_error();
        line.warnings = warnings;
        line
    }

    /// Which of several runs of one workload begins.
    pub fn repeat(&mut self, number: u32, of: u32) {
        if of > 1 {
            self.repeat = format!("run {number} of {of} · ");
        }
    }

    /// Shows nothing until this is so: a screen has the terminal until it is closed.
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

    /// Takes the line away.
    pub fn clear(&self) {
        self.line.end();
    }

    /// A line that stays, above the live one.
    fn tell(&self, text: &str) {
        self.line.aside(|| error_line!("{text}"));
    }

    /// Shows a text, with where in the run it is, and what is left `elapsed_ns` into the current phase.
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
        self.phases = PhaseClock::of(run.workload);
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

    /// Of a comparison, only what rejects its runs, and each check once: it tends to be the same in every block. Of a run, a
    /// check that was printed before is one short line.
    fn found(&mut self, finding: &Finding) {
        let aside = match &self.block {
            None if finding.level < Level::Fail && self.warnings == LiveWarnings::FailuresOnly => return,
            None if !self.told.insert(finding.code.clone()) => {
                return self.tell(&page::found_again(finding, &self.style));
            }
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

    // Protects: what is left is of the whole run, and is not made up where the current phase ends by its amount of work.
    #[test]
    fn what_is_left_is_of_all_phases() {
        let mut phases = PhaseClock { times_ns: vec![None, Some(4), Some(3)], begun: 1 };
        assert_eq!((phases.place().as_str(), phases.left_ns(1)), ("phase 1 of 3", None));
        phases.begins();
        assert_eq!((phases.place().as_str(), phases.left_ns(1)), ("phase 2 of 3", Some(6)));
        assert_eq!(phases.left_ns(9), Some(3));
    }

    // Protects: a rate of a few milliseconds is not used as a forecast.
    #[test]
    fn a_share_is_extrapolated_once_enough_is_done() {
        let of = |ms, done| left_of(Duration::from_millis(ms), done, 100.0);
        assert_eq!((of(500, 10.0).as_str(), of(2000, 0.0).as_str(), of(2000, 100.0).as_str()), ("", "", ""));
        assert_eq!(of(2000, 25.0), " · about 6.0 s left");
    }

    // Protects: the words do not promise an end where the amount of work decides it.
    #[test]
    fn what_is_left_is_said_with_its_bound() {
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
