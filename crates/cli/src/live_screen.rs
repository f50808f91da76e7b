//! `--live`: a full screen of the current run. A separate thread draws it, so that the run never waits for the terminal.

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

/// Longest wait for a key, after which the screen shows any changes.
const KEY_TIME: Duration = Duration::from_millis(100);

pub struct LiveScreen {
    shared: Arc<Shared>,
    phases: PhaseClock,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    picture: Mutex<Picture>,
    /// Set after the last run.
    is_over: AtomicBool,
    /// Set once nothing is drawn any more: after the last run, a close by the user, or a lost terminal.
    is_closed: Arc<AtomicBool>,
}

#[derive(Default)]
struct Picture {
    live: LivePicture,
    version: u64,
}

impl Shared {
    fn picture(&self) -> MutexGuard<'_, Picture> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the reason why there is no screen here, or `None` if there can be one.
pub(crate) fn screen_obstacle() -> Option<&'static str> {
    if !io::stdout().is_terminal() || !io::stderr().is_terminal() {
        return Some("standard output and standard error are not both a terminal");
    }
    (!has_screen()).then_some("TERM names no terminal with a screen")
}

impl LiveScreen {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// The terminal cannot be set up.
    pub fn open() -> io::Result<LiveScreen> {
        // A signal that arrives before the handlers are installed would leave the terminal in screen mode.
        signals::install()?;
        let shared = Arc::new(Shared::default());
        let terminal = Screen::take(Interrupt::Signal)?;
        let drawn = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("plumb-live".to_owned()).spawn(move || draw(&drawn, terminal))?;
        Ok(LiveScreen { shared, phases: PhaseClock::default(), thread: Some(thread) })
    }

    /// Returns a flag that is set once the screen is closed and the terminal restored.
    pub fn is_closed(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.shared.is_closed)
    }

    /// Restores the terminal.
    pub fn close(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    /// Updates the study's progress: its parts, plots and errors.
    pub fn study(&self, how: impl FnOnce(&mut StudyProgress)) {
        self.change(|picture| how(picture.study.get_or_insert_default()));
    }

    /// Shows that a plot or a run of a study is prepared. `of` is the run's workload, if known.
    pub fn study_stage(&mut self, part: &str, workload: &str, what: &str, of: Option<&Workload>) {
        self.phases = of.map_or_else(PhaseClock::default, PhaseClock::new);
        self.change(|picture| picture.study_stage(part, workload, what));
    }

    /// Shows a line from the preparation of a run.
    pub fn show_preparation(&self, line: &str) {
        self.change(|picture| {
            // Lines during a phase are shown as findings.
            if picture.phase.is_empty() {
                line.clone_into(&mut picture.preparing);
            }
        });
    }

    /// Shows an event of a run in another process.
    pub fn streamed(&mut self, line: &Streamed) {
        let phase = line.phase.as_deref().unwrap_or_default();
        match (line.event, &line.measured, &line.finding) {
            (StreamEvent::RunBegins, ..) => self.change(|picture| picture.run_begins(&line.workload, &line.place)),
            (StreamEvent::PhaseBegins, ..) => self.phase_starts(phase),
            (StreamEvent::Interval, Some(measured), _) => self.second(measured.clone(), self.phases.time_ns()),
            (StreamEvent::PhaseEnds, Some(measured), _) => self.change(|picture| picture.phase_done(phase, measured)),
            (StreamEvent::Finding, _, Some(finding)) => self.change(|picture| picture.found(finding)),
            (StreamEvent::Withdrawn, _, Some(finding)) => self.change(|picture| picture.withdrawn(finding)),
            // The conductor of a study reports how the run went.
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

/// Draws changes until the screen is closed, and restores the terminal on return.
fn draw(shared: &Shared, mut terminal: Screen) {
    let mut drawn: Option<u64> = None;
    while !shared.is_over.load(Ordering::Relaxed) {
        if terminal.is_resized() {
            drawn = None;
        }
        // Releases the lock before writing to the terminal: a blocked terminal must not block the run.
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
        self.phases = PhaseClock::new(run.workload);
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
