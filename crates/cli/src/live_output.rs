//! Output during a measurement: the live line or the live screen, and the streams.

use crate::common::Common;
use crate::exit::Stopped;
use crate::live_screen::{LiveScreen, screen_obstacle};
use crate::progress::{LiveLine, LiveWarnings};
use crate::session;
use crate::stream::{StandardOutput, StreamArguments, Streams};
use clap::Args;
use plumb_bench::{Both, Parts, Progress};
use std::sync::atomic::Ordering;

/// Options for output during a measurement.
#[derive(Debug, Clone, Default, Args)]
pub struct LiveArguments {
    /// Show a full screen while it goes on: rates, latency, devices, findings, steady state. The page is printed at the end.
    #[arg(long)]
    pub live: bool,
    #[command(flatten)]
    pub stream: StreamArguments,
}

/// Streams, and whether the live screen is on.
pub struct Outlets {
    pub streams: Streams,
    /// Whether the screen was requested and is available.
    pub has_screen: bool,
}

impl Outlets {
    /// Opens the streams. Prints a note if a requested screen is unavailable.
    ///
    /// # Errors
    /// A stream cannot be opened.
    pub fn open(arguments: &LiveArguments, common: &Common) -> Result<Outlets, Stopped> {
        let screen_obstacle = screen_obstacle().filter(|_| arguments.live);
        let has_screen = arguments.live && screen_obstacle.is_none();
        let standard_output = match (has_screen, common.json) {
            (true, _) => StandardOutput::Screen,
            (false, true) => StandardOutput::Json,
            (false, false) => StandardOutput::Page,
        };
        let streams = Streams::open(&arguments.stream, standard_output)?;
        if let Some(why) = screen_obstacle {
            session::announce(&format!("note: --live is off here: {why}"));
        }
        Ok(Outlets { streams, has_screen })
    }
}

/// Observers of a command's runs: line, screen and streams.
pub struct LiveOutput {
    /// Live line; hidden while a screen is open, and shown after the user closes it.
    line: LiveLine,
    screen: LiveView,
    streams: Streams,
}

enum LiveView {
    /// Not requested, or closed by the user.
    None,
    /// Closed between two measurements, while a page is printed.
    Next,
    Open(LiveScreen),
}

impl LiveOutput {
    /// Opens the requested outputs.
    ///
    /// # Errors
    /// A stream cannot be opened.
    pub fn open(arguments: &LiveArguments, warnings: LiveWarnings, common: &Common) -> Result<LiveOutput, Stopped> {
        let Outlets { streams, has_screen } = Outlets::open(arguments, common)?;
        let screen = if has_screen { LiveView::Next } else { LiveView::None };
        Ok(LiveOutput { line: LiveLine::with_warnings(warnings), screen, streams })
    }

    /// Observes a run. Falls back to the line if the terminal has no screen.
    pub fn watch<T>(&mut self, run: impl FnOnce(&mut dyn Progress) -> T) -> T {
        self.open_screen();
        match &mut self.screen {
            LiveView::Open(screen) => run(&mut Both(&mut Both(&mut self.line, screen), &mut self.streams)),
            LiveView::None | LiveView::Next => run(&mut Both(&mut self.line, &mut self.streams)),
        }
    }

    /// Observes one of several runs of a workload.
    pub fn watch_repeat<T>(&mut self, number: u32, of: u32, run: impl FnOnce(&mut dyn Progress) -> T) -> T {
        self.line.repeat(number, of);
        self.open_screen();
        if of > 1 {
            self.line.parts(Parts { done: number - 1, most: of, budget: None });
            let part = format!("run {number} of {of}");
            self.streams.block(&part);
            if let LiveView::Open(screen) = &mut self.screen {
                screen.block(&part);
            }
        }
        self.watch(run)
    }

    fn open_screen(&mut self) {
        if let LiveView::Next = self.screen {
            self.screen = LiveScreen::open().map_or(LiveView::None, LiveView::Open);
            if let LiveView::Open(screen) = &self.screen {
                self.line.hide_until(screen.is_closed());
            }
        }
    }

    /// Removes the live output, so that a page can be printed.
    pub fn clear(&mut self) {
        if let LiveView::Open(screen) = &mut self.screen {
            let by_user = screen.is_closed().load(Ordering::Relaxed);
            screen.close();
            self.screen = if by_user { LiveView::None } else { LiveView::Next };
        }
        self.line.clear();
    }
}
