//! What is shown and sent while a measurement goes on: the live line or the live screen, and the streams.

use crate::args::MeanwhileArguments;
use crate::common::Common;
use crate::exit::Stopped;
use crate::live_screen::{LiveScreen, hindrance};
use crate::progress::{LiveLine, LiveWarnings};
use crate::session;
use crate::stream::{StandardOutput, Streams};
use plumb_study::{Both, Progress};

/// What watches the runs of a command.
pub struct Meanwhile {
    shown: Shown,
    streams: Streams,
}

/// What a terminal shows of a run.
enum Shown {
    Line(LiveLine),
    /// The line is hidden, and takes over where the user closes the screen.
    Screen(LiveScreen, LiveLine),
}

impl Meanwhile {
    /// Opens what is asked for.
    ///
    /// # Errors
    /// A stream or the screen cannot be opened.
    pub fn open(arguments: &MeanwhileArguments, warnings: LiveWarnings, common: &Common) -> Result<Meanwhile, Stopped> {
        let hindrance = hindrance().filter(|_| arguments.live);
        let standard_output = match (arguments.live && hindrance.is_none(), common.json) {
            (true, _) => StandardOutput::Screen,
            (false, true) => StandardOutput::Json,
            (false, false) => StandardOutput::Page,
        };
        let streams = Streams::open(&arguments.stream, standard_output)?;
        let mut line = LiveLine::with_warnings(warnings);
        if let Some(why) = hindrance {
            session::announce(&format!("note: --live is off here: {why}"));
        }
        if standard_output != StandardOutput::Screen {
            return Ok(Meanwhile { shown: Shown::Line(line), streams });
        }
        let screen = LiveScreen::open().map_err(|error| Stopped::io(format!("--live: the terminal: {error}")))?;
        line.hide_until(screen.is_closed());
        Ok(Meanwhile { shown: Shown::Screen(screen, line), streams })
    }

    /// Watches a run.
    pub fn watch<T>(&mut self, run: impl FnOnce(&mut dyn Progress) -> T) -> T {
        match &mut self.shown {
            Shown::Line(line) => run(&mut Both(line, &mut self.streams)),
            Shown::Screen(screen, line) => run(&mut Both(&mut Both(line, screen), &mut self.streams)),
        }
    }

    /// Which of several runs of one workload begins.
    pub fn repeat(&mut self, number: u32, of: u32) {
        match &mut self.shown {
            Shown::Line(line) => line.repeat(number, of),
            Shown::Screen(screen, line) => {
                screen.repeat(number, of);
                line.repeat(number, of);
            }
        }
        if of > 1 {
            self.streams.block(&format!("run {number} of {of}"));
        }
    }

    /// Takes away what is shown: what comes next is a page.
    pub fn clear(&mut self) {
        match &mut self.shown {
            Shown::Line(line) => line.clear(),
            Shown::Screen(screen, line) => {
                screen.close();
                line.clear();
            }
        }
    }
}
