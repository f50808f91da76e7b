//! `--live`: a full screen of the run that goes on, drawn in a thread of its own so that the run waits for no terminal.

use crate::progress::PhaseClock;
use crate::session;
use crate::stream::{measured, place_of};
use crate::terminal::{Interrupt, Key, Screen, has_screen, painted, window};
use plumb_bench::{Progress, RunBegun, Second};
use plumb_engine::signals;
use plumb_report::live::{LivePicture, RunScreen, StudyProgress};
use plumb_result::stream::{StreamEvent, StreamMeasured, Streamed};
use plumb_result::{Finding, PhaseMeasurement};
use plumb_workload::Workload;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest wait for a key. After it the screen is drawn again if there is something new.
const KEY_TIME: Duration = Duration::from_millis(100);

/// The screen, until it is closed.
pub struct LiveScreen {
    shared: Arc<Shared>,
    phases: PhaseClock,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    picture: Mutex<Picture>,
    /// The runs are over.
    is_over: AtomicBool,
    /// Nothing is drawn any more: the runs are over, or the user has closed it, or the terminal is gone.
    is_closed: Arc<AtomicBool>,
}

#[derive(Default)]
struct Picture {
    live: LivePicture,
    /// Counts changes.
    version: u64,
}

impl Shared {
    fn picture(&self) -> MutexGuard<'_, Picture> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no screen here; `None` where there can be one.
pub(crate) fn hindrance() -> Option<&'static str> {
    if !io::stdout().is_terminal() || !io::stderr().is_terminal() {
        return Some("standard output and standard error are not both a terminal");
    }
    (!has_screen()).then_some("TERM names no terminal with a screen")
}

impl LiveScreen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The terminal's.
    pub fn open() -> io::Result<LiveScreen> {
        // A signal that came before the handlers are there would leave the terminal as a screen.
        signals::install()?;
        let shared = Arc::new(Shared::default());
        let terminal = Screen::take(Interrupt::Signal)?;
        let drawn = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("plumb-live".to_owned()).spawn(move || draw(&drawn, terminal))?;
        Ok(LiveScreen { shared, phases: PhaseClock::default(), thread: Some(thread) })
    }

    /// Set once it is closed and the terminal is free.
    pub fn is_closed(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.is_closed)
    }

    /// Gives the terminal back.
    pub fn close(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// A study changes: its parts, its plots, what went wrong.
    pub fn study(&self, how: impl FnOnce(&mut StudyProgress)) {
        self.change(|picture| how(picture.study.get_or_insert_default()));
    }

    /// A plot or a run of a study is prepared; of a run, what it does where that is known.
    pub fn study_stage(&mut self, part: &str, workload: &str, what: &str, of: Option<&Workload>) {
        self.phases = of.map_or_else(PhaseClock::default, PhaseClock::of);
        self.change(|picture| picture.study_stage(part, workload, what));
    }

    /// A line of what prepares a run.
    pub fn heard(&self, line: &str) {
        self.change(|picture| {
            // What is said during a phase is among its findings too.
            if picture.phase.is_empty() {
                line.clone_into(&mut picture.preparing);
            }
        });
    }

    /// A run of another process reports.
    pub fn streamed(&mut self, line: &Streamed) {
        let phase = line.phase.as_deref().unwrap_or_default();
        match (line.event, &line.measured, &line.finding) {
            (StreamEvent::RunBegins, ..) => self.change(|picture| picture.run_begins(&line.workload, &line.place)),
            (StreamEvent::PhaseBegins, ..) => self.phase_starts(phase),
            (StreamEvent::Interval, Some(measured), _) => self.second(measured.clone(), self.phases.time_ns()),
            (StreamEvent::PhaseEnds, Some(measured), _) => self.change(|picture| picture.phase_done(phase, measured)),
            (StreamEvent::Finding, _, Some(finding)) => self.change(|picture| picture.found(finding)),
            (StreamEvent::Withdrawn, _, Some(finding)) => self.change(|picture| picture.withdrawn(finding)),
            // How the run went is told by whoever conducts it.
            _ => {}
        }
    }

    fn phase_starts(&mut self, phase: &str) {
        self.phases.begins();
        let (place, time_ns, left_ns) = (self.phases.place(), self.phases.time_ns(), self.phases.left_ns(0));
        self.change(|picture| {
            picture.phase_begins(phase);
            (picture.phase_place, picture.time_ns, picture.left_ns) = (place, time_ns, left_ns);
        });
    }

    fn second(&self, measured: StreamMeasured, time_ns: Option<u64>) {
        let left_ns = self.phases.left_ns(measured.start_ns + measured.length_ns);
        self.change(|picture| {
            (picture.left_ns, picture.time_ns) = (left_ns, time_ns);
            picture.second(measured);
        });
    }

    fn change(&self, how: impl FnOnce(&mut LivePicture)) {
        let mut picture = self.shared.picture();
        how(&mut picture.live);
        picture.version += 1;
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        self.close();
    }
}

/// Draws what is new, until it is closed; the terminal is given back as this returns.
fn draw(shared: &Shared, mut terminal: Screen) {
    let mut drawn: Option<u64> = None;
    while !shared.is_over.load(Ordering::Relaxed) {
        if terminal.is_resized() {
            drawn = None;
        }
        // The lock is free again before the terminal is written to: one that stands still must not hold up the run.
        let next = {
            let picture = shared.picture();
            (drawn != Some(picture.version)).then(|| {
                drawn = Some(picture.version);
                painted(window(), &RunScreen { picture: &picture.live, colour: session::style().colour })
            })
        };
        if next.is_some_and(|next| terminal.show(next).is_err()) {
            break;
        }
        match terminal.key(Instant::now() + KEY_TIME) {
            Ok(Some(Key::Quit)) | Err(_) => break,
            Ok(Some(Key::Redraw)) if terminal.clear().is_ok() => drawn = None,
            Ok(_) => {}
        }
    }
    drop(terminal);
    shared.is_closed.store(true, Ordering::Relaxed);
}

impl Progress for LiveScreen {
    fn run_begins(&mut self, run: &RunBegun<'_>) {
        self.phases = PhaseClock::of(run.workload);
        let place = place_of(run.workload, run.base);
        self.change(|picture| picture.run_begins(&run.workload.name, &place));
    }

    fn preparing(&mut self, what: &str) {
        self.change(|picture| what.clone_into(&mut picture.preparing));
    }

    fn clock_starts(&mut self, phase: &str) {
        self.phase_starts(phase);
    }

    fn live(&mut self, second: &Second<'_>) {
        self.second(measured(second), second.live.time_ns);
    }

    fn phase_ended(&mut self, phase: &PhaseMeasurement) {
        self.change(|picture| picture.phase_ended(phase));
    }

    fn found(&mut self, finding: &Finding) {
        self.change(|picture| picture.found(finding));
    }

    fn withdrawn(&mut self, finding: &Finding) {
        self.change(|picture| picture.withdrawn(finding));
    }

    fn block(&mut self, what: &str) {
        self.change(|picture| what.clone_into(&mut picture.part));
    }
}
