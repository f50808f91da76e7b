//! Progress of a study: a live line or a screen on a terminal, otherwise one line per finished step.

use plumb_cli::live_screen::LiveScreen;
use plumb_cli::output::error_line;
use plumb_cli::progress::StatusLine;
use plumb_cli::session;
use plumb_cli::stream::Streams;
use plumb_lab::protocol::HostWork;
use plumb_report::format;
use plumb_result::stream::is_stream_line;
use plumb_store::StudyRunStatus;
use plumb_study::conduct::{ConductEvent, ConductWatcher, LeftBasis, Position, TimeLeft};
use plumb_study::plan::Levels;
use plumb_workload_text::native;
use std::io::IsTerminal;
use std::sync::atomic::Ordering;

pub(super) struct StudyReporter {
    status: StatusLine,
    live: bool,
    head: String,
    /// Current run, for the streams.
    part: String,
    streams: Option<Streams>,
    /// The screen; `None` once the user closed it or the study ended.
    screen: Option<LiveScreen>,
}

impl StudyReporter {
    pub(super) fn new() -> StudyReporter {
        let live = std::io::stderr().is_terminal();
        StudyReporter {
            status: StatusLine::on_standard_error(),
            live,
            head: String::new(),
            part: String::new(),
            streams: None,
            screen: None,
        }
    }

    /// Also forwards the interval reports of runs to streams.
    pub(super) fn with_streams(streams: Streams) -> StudyReporter {
        let mut reporter = StudyReporter::new();
        reporter.streams = Some(streams);
        reporter
    }

    /// Opens the screen. Keeps the live line if the terminal does not support a screen.
    pub(super) fn open_screen(&mut self, study: &str) {
        self.screen = LiveScreen::open().ok();
        if let Some(screen) = &self.screen {
            screen.study(|progress| study.clone_into(&mut progress.name));
            self.status.hide(true);
        }
    }

    /// Returns the screen. Shows the live line again after the user closed the screen.
    fn screen(&mut self) -> Option<&mut LiveScreen> {
        if self.screen.as_ref().is_some_and(|screen| screen.is_closed().load(Ordering::Relaxed)) {
            self.screen = None;
            self.status.hide(false);
        }
        self.screen.as_mut()
    }

    fn line(&mut self, line: &str) {
        if !is_stream_line(line) {
            let what = line.trim().to_owned();
            self.status.say(format!("{} · {what}", self.head));
            if let Some(screen) = self.screen() {
                screen.show_preparation(&what);
            }
            return;
        }
        // Skips lines of another version that this one cannot read.
        let Ok(line) = plumb_document::json::from_str(line) else { return };
        if let Some(screen) = self.screen() {
            screen.streamed(&line);
        }
        if let Some(streams) = &mut self.streams {
            streams.pass_on(line, &self.part);
        }
    }

    pub(super) fn print_line(&self, text: &str) {
        let text = session::error_style().wrap(text, 2);
        self.status.aside(|| error_line!("{text}"));
    }

    pub(super) fn show(&self, text: &str) {
        self.status.say(text.trim().to_owned());
    }

    pub(super) fn clear(&mut self) {
        self.screen = None;
        self.status.end();
    }

    fn position(&mut self, position: &Position) {
        let left = left(position);
        if let Some(screen) = self.screen() {
            screen.study(|study| {
                (study.ended, study.runs) = (position.ended, position.runs);
                left.trim_start_matches([' ', '·']).clone_into(&mut study.left);
            });
        }
    }

    fn trouble(&mut self, what: &str) {
        if let Some(screen) = self.screen() {
            screen.study(|study| what.clone_into(&mut study.trouble));
        }
        self.print_line(what);
    }
}

impl Drop for StudyReporter {
    fn drop(&mut self) {
        self.clear();
    }
}

impl ConductWatcher for StudyReporter {
    fn event(&mut self, event: &ConductEvent<'_>) {
        match event {
            ConductEvent::Plot { position, levels, build } => {
                let again = if *build > 1 { format!(", build {build}") } else { String::new() };
                self.head = format!("plot {} of {}{again}{}", position.plot, position.plots, in_brackets(levels));
                if !self.live {
                    self.print_line(&format!("{}: building", self.head));
                }
                self.status.say(format!("{}: building{}", self.head, left(position)));
                self.position(position);
                let head = self.head.clone();
                if let Some(screen) = self.screen() {
                    screen.study_stage(&head, "", "building", None);
                }
            }
            ConductEvent::Run { position, levels, workload, work } => {
                let Position { plot, plots, ended, runs, .. } = position;
                let place = format!("plot {plot} of {plots}, run {} of {runs}", ended + 1);
                let levels = in_brackets(levels);
                self.head = format!("{place} · {workload}{levels}{}", left(position));
                self.part = format!("{place}{levels}");
                self.status.say(self.head.clone());
                self.position(position);
                let part = self.part.clone();
                if let Some(screen) = self.screen() {
                    // A text that only the host can complete has no known times yet.
                    let known = match work {
                        HostWork::Native { toml } => native::parse(workload, toml).ok(),
                        HostWork::Dialect { .. } | HostWork::Conformance(_) => None,
                    };
                    screen.study_stage(&part, workload, "beginning", known.as_ref());
                }
            }
            ConductEvent::Line(line) => self.line(line),
            ConductEvent::RunEnded { position, number, rejected_before, status, reason } => {
                self.position(position);
                if let Some(screen) = self.screen() {
                    screen.study(|study| match status {
                        StudyRunStatus::Rejected => study.rejected += 1,
                        StudyRunStatus::Failed => study.failed += 1,
                        _ => {}
                    });
                }
                let well = *status == StudyRunStatus::Done;
                if well && self.live {
                    return;
                }
                let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                let again = if *rejected_before > 0 { ", made again:" } else { "" };
                let text = format!(
                    "run {number} of {}{again} {}{reason}{}",
                    position.runs,
                    status.name(),
                    if self.live { String::new() } else { left(position) }
                );
                if well { self.print_line(&text) } else { self.trouble(&text) }
            }
            ConductEvent::Trouble(what) => self.trouble(&format!("warning: {what}")),
        }
    }
}

fn in_brackets(levels: &Levels) -> String {
    if levels.is_empty() {
        return String::new();
    }
    let levels: Vec<String> = levels.iter().map(|(name, level)| format!("{name} {level}")).collect();
    format!(" ({})", levels.join(", "))
}

/// Formats the remaining time: ` · about 12 min left`.
fn left(position: &Position) -> String {
    let Some(TimeLeft { seconds, basis }) = position.left.filter(|left| left.seconds >= 1.0) else {
        return String::new();
    };
    let time = format::time(seconds * 1e9);
    match basis {
        LeftBasis::Assumed => format!(" · {time} left by the plan, nothing measured yet"),
        LeftBasis::Measured => format!(" · about {time} left"),
        LeftBasis::AtMost => format!(" · at most about {time} left"),
    }
}
