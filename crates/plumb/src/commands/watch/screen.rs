//! The live screen.

use super::{Beat, Early, Watcher, clock, host, spoken, style};
use crate::exit::Stopped;
use crate::terminal::{Interrupt, Key, Screen, Size, size};
use plumb_engine::signals::StopFlag;
use plumb_report::watch::{DeviceHistory, PictureState, Title, screen};
use plumb_result::watch::Watched;
use std::time::Instant;

/// Draws until a key, a signal, or the given number of intervals ends it.
pub(super) fn run(watcher: &mut Watcher, mut beat: Beat, stop: StopFlag) -> Result<(), Early> {
    let failed = |error: std::io::Error| Early::Failed(Stopped::io(format!("the terminal: {error}")));
    let terminal = Screen::take(Interrupt::Key).map_err(failed)?;
    let mut picture = Picture {
        title: Title { host: host(), clock: clock(), interval: spoken(beat.interval), state: PictureState::Live },
        history: DeviceHistory::default(),
        seen: None,
        drawn_for: size(),
    };
    terminal.draw(&picture.lines()).map_err(failed)?;
    loop {
        let end = beat.advance();
        while Instant::now() < end {
            if stop.requested() {
                return Ok(());
            }
            match terminal.key(end) {
                Some(Key::Quit) => return Ok(()),
                Some(Key::Pause) => {
                    picture.title.state = match picture.title.state {
                        PictureState::Live => PictureState::Paused,
                        PictureState::Paused => PictureState::Live,
                    };
                    terminal.draw(&picture.lines()).map_err(failed)?;
                }
                Some(Key::Other) | None => {}
            }
            if picture.drawn_for != size() {
                terminal.draw(&picture.lines()).map_err(failed)?;
            }
        }
        // While the picture stands still the history goes on.
        let seen = watcher.interval()?;
        picture.history.push(&seen.devices);
        if picture.title.state == PictureState::Live {
            picture.title.clock = clock();
            picture.seen = Some(seen);
            terminal.draw(&picture.lines()).map_err(failed)?;
        }
        if !beat.goes_on() {
            return Ok(());
        }
    }
}

/// What is on the screen.
struct Picture {
    title: Title,
    history: DeviceHistory,
    seen: Option<Watched>,
    drawn_for: Size,
}

impl Picture {
    fn lines(&mut self) -> Vec<String> {
        self.drawn_for = size();
        let style = plumb_report::Style { width: self.drawn_for.columns, ..style() };
        match &self.seen {
            Some(seen) => screen(seen, &self.history, &self.title, &style, self.drawn_for.rows),
            None => vec![format!("plumb watch · {} · looking for {} …", self.title.host, self.title.interval)],
        }
    }
}
