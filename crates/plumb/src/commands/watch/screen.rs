//! The live screen.

use super::{Beat, Early, Watcher, clock, host, spoken};
use plumb_cli::exit::Stopped;
use plumb_cli::session;
use plumb_cli::terminal::{Interrupt, Key, Screen, painted, window};
use plumb_engine::signals::StopFlag;
use plumb_report::watch::{DeviceHistory, PictureState, Title, WatchScreen};
use plumb_result::watch::Watched;
use std::io;
use std::time::Instant;

/// Draws until a key, a signal, or the given number of intervals ends it.
pub(super) fn run(watcher: &mut Watcher, mut beat: Beat, stop: StopFlag) -> Result<(), Early> {
    let mut picture = Picture {
        title: Title { host: host(), clock: clock(), interval: spoken(beat.interval), state: PictureState::Live },
        history: DeviceHistory::default(),
        seen: None,
    };
    let mut terminal = Screen::take(Interrupt::Key).map_err(failed)?;
    terminal.show(picture.painted()).map_err(failed)?;
    loop {
        if picture.wait(&mut terminal, beat.advance(), stop).map_err(failed)? == Waited::Ended {
            return Ok(());
        }
        // While the picture stands still the history goes on.
        let seen = watcher.interval()?;
        picture.history.push(&seen.devices);
        if picture.title.state == PictureState::Live {
            picture.title.clock = clock();
            picture.seen = Some(seen);
            terminal.show(picture.painted()).map_err(failed)?;
        }
        if !beat.goes_on() {
            return Ok(());
        }
    }
}

fn failed(error: io::Error) -> Early {
    Early::Failed(Stopped::io(format!("the terminal: {error}")))
}

/// The end of a wait.
#[derive(PartialEq, Eq)]
enum Waited {
    /// The interval is over.
    Over,
    /// The user or a signal ends the program.
    Ended,
}

/// The contents of the screen.
struct Picture {
    title: Title,
    history: DeviceHistory,
    seen: Option<Watched>,
}

impl Picture {
    fn painted(&self) -> ratatui::buffer::Buffer {
        let Picture { title, history, seen } = self;
        painted(window(), &WatchScreen { now: seen.as_ref(), history, title, colour: session::style().colour })
    }

    /// Follows keys and changes of the window until `end`.
    fn wait(&mut self, terminal: &mut Screen, end: Instant, stop: StopFlag) -> io::Result<Waited> {
        while Instant::now() < end {
            if stop.requested() {
                return Ok(Waited::Ended);
            }
            let key = match terminal.key(end) {
                // Where the terminal went away, SIGHUP came first.
                Err(_) if stop.requested() => return Ok(Waited::Ended),
                key => key?,
            };
            match key {
                Some(Key::Quit) => return Ok(Waited::Ended),
                Some(Key::Pause) => {
                    self.title.state = match self.title.state {
                        PictureState::Live => PictureState::Paused,
                        PictureState::Paused => PictureState::Live,
                    };
                }
                Some(Key::Redraw) => terminal.clear()?,
                Some(Key::Other) | None if !terminal.is_resized() => continue,
                Some(Key::Other) | None => {}
            }
            terminal.show(self.painted())?;
        }
        Ok(Waited::Over)
    }
}
