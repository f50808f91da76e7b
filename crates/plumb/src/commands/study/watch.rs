//! How far a study is: one live line on a terminal, else a line for everything that ends.

use crate::output::error_line;
use crate::session;
use crate::stream::Streams;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plumb_report::format;
use plumb_result::stream::is_stream_line;
use plumb_store::StudyRunStatus;
use plumb_study::conduct::{ConductEvent, ConductWatcher, LeftBasis, Position, TimeLeft};
use plumb_study::plan::Levels;
use std::io::IsTerminal;

/// Tells on standard error.
pub struct StudyReporter {
    bar: ProgressBar,
    live: bool,
    head: String,
    /// Which run goes on, for the streams.
    part: String,
    streams: Option<Streams>,
}

impl StudyReporter {
    /// Says nothing yet.
    pub fn new() -> StudyReporter {
        let live = std::io::stderr().is_terminal();
        let target = if live { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        StudyReporter { bar, live, head: String::new(), part: String::new(), streams: None }
    }

    /// Says nothing yet, and passes on what runs report each second.
    pub fn with_streams(streams: Streams) -> StudyReporter {
        let mut reporter = StudyReporter::new();
        reporter.streams = Some(streams);
        reporter
    }

    fn line(&mut self, line: &str) {
        if !is_stream_line(line) {
            return self.bar.set_message(format!("{} · {}", self.head, line.trim()));
        }
        // What another version sends and this one cannot read is left out.
        if let (Some(streams), Ok(line)) = (&mut self.streams, plumb_document::json::from_str(line)) {
            streams.pass_on(line, &self.part);
        }
    }

    /// A line that stays.
    pub fn tell(&self, text: &str) {
        let text = session::error_style().wrap(text, 2);
        self.bar.suspend(|| error_line!("{text}"));
    }

    /// A line that is shown on a terminal until the next one comes.
    pub fn show(&self, text: &str) {
        self.bar.set_message(text.trim().to_owned());
    }

    /// Takes the live line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
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
                    self.tell(&format!("{}: building", self.head));
                }
                self.bar.set_message(format!("{}: building{}", self.head, left(position)));
            }
            ConductEvent::Run { position, levels, workload } => {
                self.head = format!(
                    "plot {} of {}, run {} of {} · {workload}{}{}",
                    position.plot,
                    position.plots,
                    position.ended + 1,
                    position.runs,
                    in_brackets(levels),
                    left(position)
                );
                self.bar.set_message(self.head.clone());
                self.part = format!(
                    "plot {} of {}, run {} of {}{}",
                    position.plot,
                    position.plots,
                    position.ended + 1,
                    position.runs,
                    in_brackets(levels)
                );
            }
            ConductEvent::Line(line) => self.line(line),
            ConductEvent::RunEnded { position, status, reason } => {
                let well = *status == StudyRunStatus::Done;
                if well && self.live {
                    return;
                }
                let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                self.tell(&format!(
                    "run {} of {} {}{reason}{}",
                    position.ended,
                    position.runs,
                    status.name(),
                    if self.live { String::new() } else { left(position) }
                ));
            }
            ConductEvent::Trouble(what) => self.tell(&format!("warning: {what}")),
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

/// ` · about 12 min left`.
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
