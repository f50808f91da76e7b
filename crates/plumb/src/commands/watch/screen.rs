//! The live screen of `plumb watch`.

use super::{Beat, Early, Watcher, clock, host, interval_text};
use plumb_cli::exit::Stopped;
use plumb_cli::session;
use plumb_cli::terminal::{Interrupt, Key, Screen, painted, window};
use plumb_engine::signals::StopFlag;
use plumb_report::watch::{DeviceHistory, PictureState, Title, WatchScreen};
use plumb_result::watch::Watched;
use std::io;
use std::time::Instant;

/// Draws until a key, a signal, or the last interval.
pub(super) fn run(watcher: &mut Watcher, mut beat: Beat, stop: StopFlag) -> Result<(), Early> {
    let mut picture = Picture {
        title: Title {
            host: host(),
            clock: clock(),
            interval: interval_text(beat.interval),
            state: PictureState::Live,
        },
        history: DeviceHistory::default(),
        seen: None,
    };
    let mut terminal = Screen::take(Interrupt::Key).map_err(failed)?;
    terminal.show(picture.painted()).map_err(failed)?;
    loop {
        if picture.wait(&mut terminal, beat.advance(), stop).map_err(failed)? == Waited::Ended {
            return Ok(());
        }
        // The history continues while the display is paused.
        let seen = watcher.interval()?;
        picture.history.push(&seen.devices);
        if picture.title.state == PictureState::Live {
            picture.title.clock = clock();
            picture.seen = Some(seen);
            terminal.show(picture.painted()).map_err(failed)?;
        }
        if !beat.continues() {
            return Ok(());
        }
    }
}

fn failed(error: io::Error) -> Early {
    Early::Failed(Stopped::io(format!("the terminal: {error}")))
}

#[derive(PartialEq, Eq)]
enum Waited {
    Over,
    Ended,
}

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

    /// Handles keys and changes of the window until `end`.
    fn wait(&mut self, terminal: &mut Screen, end: Instant, stop: StopFlag) -> io::Result<Waited> {
        while Instant::now() < end {
            if stop.requested() {
                return Ok(Waited::Ended);
            }
            let key = match terminal.key(end) {
                // A vanished terminal sends SIGHUP before reads fail.
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
