//! The terminal as a screen. It is restored however its use ends.
//!
//! ratatui finds changed cells, and crossterm writes them. Three of their parts are not used:
//!
//! - crossterm's events. After the terminal is gone, `event::poll` uses 100 % of a processor and never returns, despite
//!   its timeout (crossterm issue 793, open in 0.29). Half of a sequence, as Alt-[ sends, blocks it until the next key.
//!   Its SIGWINCH handler stays installed, and interrupts system calls of workers.
//! - crossterm's size, which is that of `/dev/tty`. Output may go to another terminal, and without a terminal it runs `tput`.
//! - `ratatui::Terminal`, which needs that size, and prints to standard error if it is dropped without a terminal.

use crate::output;
use plumb_engine::panics;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::style::{Attribute, SetAttribute};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, tcflush, tcgetattr, tcgetwinsize, tcsetattr,
};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, stdin, stdout};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Value that disables a special character: `_POSIX_VDISABLE`.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

const KEY_WAIT: Duration = Duration::from_millis(100);

/// Largest window to draw in: a terminal can claim any size, and each cell takes memory.
const LARGEST: Rect = Rect { x: 0, y: 0, width: 1000, height: 500 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// q, Escape, Ctrl-C.
    Quit,
    /// p or the space bar.
    Pause,
    /// Ctrl-L, after another program wrote to the terminal.
    Redraw,
    Other,
}

impl Key {
    /// Parses bytes that arrived together. Arrows and other keys that send several bytes begin with Escape, too.
    fn parse(bytes: &[u8]) -> Key {
        match bytes {
            [0x1b] => Key::Quit,
            [0x1b, ..] => Key::Other,
            _ => bytes.iter().find_map(|byte| Key::of_byte(*byte)).unwrap_or(Key::Other),
        }
    }

    fn of_byte(byte: u8) -> Option<Key> {
        const CTRL_C: u8 = 3;
        const CTRL_L: u8 = 12;
        match byte {
            b'q' | b'Q' | CTRL_C => Some(Key::Quit),
            b'p' | b'P' | b' ' => Some(Key::Pause),
            CTRL_L => Some(Key::Redraw),
            _ => None,
        }
    }
}

/// The terminal in screen mode. It is restored on drop, and before a panic of any thread is reported.
pub struct Screen {
    backend: CrosstermBackend<BufWriter<Stdout>>,
    /// Cells that the terminal shows.
    shown: Buffer,
    /// Whether standard input is a terminal, whose keys are read.
    has_keys: bool,
}

/// Whether the terminal is in screen mode.
static TAKEN: Mutex<bool> = Mutex::new(false);

fn is_taken() -> bool {
    *TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn give_back() {
    let was_taken = std::mem::take(&mut *TAKEN.lock().unwrap_or_else(PoisonError::into_inner));
    if was_taken {
        // On an error, the terminal is gone.
        let _ = execute!(stdout(), SetAttribute(Attribute::Reset), Show, LeaveAlternateScreen);
        // Drops unread keys, which would otherwise reach the shell.
        let _ = tcflush(stdin(), QueueSelector::IFlush);
        let _ = disable_raw_mode();
        output::release_complaints();
    }
}

/// Meaning of Ctrl-C in screen mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    Key,
    /// A signal, as usual.
    Signal,
}

impl Screen {
    /// Enters screen mode: an alternate screen, no cursor, unbuffered keys.
    pub fn take(interrupt: Interrupt) -> io::Result<Screen> {
        let has_keys = stdin().is_terminal();
        if has_keys {
            enable_raw_mode()?;
            if interrupt == Interrupt::Signal
                && let Err(error) = keep_interrupt()
            {
                let _ = disable_raw_mode();
                return Err(error);
            }
            // Drops keys that were typed earlier.
            tcflush(stdin(), QueueSelector::IFlush)?;
        }
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = true;
        let backend = CrosstermBackend::new(BufWriter::new(stdout()));
        let mut screen = Screen { backend, shown: Buffer::empty(window()), has_keys };
        output::hold_complaints();
        static GIVEN_BACK_ON_PANIC: Once = Once::new();
        GIVEN_BACK_ON_PANIC.call_once(|| panics::before_report(give_back));
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        screen.clear()?;
        Ok(screen)
    }

    /// Clears the screen, including text of other programs.
    pub fn clear(&mut self) -> io::Result<()> {
        self.backend.clear()?;
        self.shown.reset();
        Ok(())
    }

    /// Returns `true` if the window's size has changed.
    pub fn is_resized(&self) -> bool {
        window() != self.shown.area
    }

    pub fn show(&mut self, next: Buffer) -> io::Result<()> {
        // After a panic of another thread, the terminal is the shell's again.
        if !is_taken() {
            return Err(io::Error::other("the screen is closed"));
        }
        if next.area != self.shown.area {
            self.shown = Buffer::empty(next.area);
            self.backend.clear()?;
        }
        self.backend.draw(self.shown.diff(&next).into_iter())?;
        Backend::flush(&mut self.backend)?;
        self.shown = next;
        Ok(())
    }

    /// Waits for a key until `end`, but for at most a tenth of a second.
    ///
    /// # Errors
    /// The terminal is gone: reading its input fails or reaches the end.
    pub fn key(&self, end: Instant) -> io::Result<Option<Key>> {
        let left = end.saturating_duration_since(Instant::now()).min(KEY_WAIT);
        if !self.has_keys {
            std::thread::sleep(left);
            return Ok(None);
        }
        let input = stdin();
        let wait = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        let mut bytes = [0u8; 32];
        let count = match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&wait)) {
            Ok(0) => return Ok(None),
            Ok(_) => rustix::io::read(&input, &mut bytes),
            Err(error) => Err(error),
        };
        match count {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(Some(Key::parse(&bytes[..count]))),
            // A signal arrived, or another program read the key.
            Err(Errno::INTR | Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Keeps Ctrl-C as a signal in raw mode. Disables the keys that suspend and kill, which would leave the shell with this screen.
fn keep_interrupt() -> io::Result<()> {
    let mut modes = tcgetattr(stdin())?;
    modes.local_modes.insert(LocalModes::ISIG);
    modes.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
    modes.special_codes[SpecialCodeIndex::VQUIT] = NO_KEY;
    Ok(tcsetattr(stdin(), OptionalActions::Now, &modes)?)
}

/// Returns `true` if `TERM` names a terminal with a screen.
pub fn has_screen() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Returns the area of the window; 80 columns and 24 lines if the terminal's size is unknown.
pub fn window() -> Rect {
    let size = tcgetwinsize(stdout()).ok();
    let or = |value: Option<u16>, default: u16| value.filter(|value| *value > 0).unwrap_or(default);
    let [columns, rows] = [or(size.map(|size| size.ws_col), 80), or(size.map(|size| size.ws_row), 24)];
    Rect::new(0, 0, columns, rows).intersection(LARGEST)
}

/// Draws a screen for a window of this area.
pub fn painted(area: Rect, screen: impl Widget) -> Buffer {
    let mut buffer = Buffer::empty(area);
    screen.render(area, &mut buffer);
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a key that sends several bytes is not read as letters, and keys that arrive together are all seen.
    #[test]
    fn keys_by_their_bytes() {
        for (bytes, key) in [
            (b"q".as_slice(), Key::Quit),
            (b"\x03", Key::Quit),
            (b"\x1b", Key::Quit),
            (b"\x1b[A", Key::Other),
            (b"\x1bOP", Key::Other),
            (b"\x1bq", Key::Other),
            (b" ", Key::Pause),
            (b"xp", Key::Pause),
            (b"\x0c", Key::Redraw),
            ("é".as_bytes(), Key::Other),
            (b"\xff", Key::Other),
        ] {
            assert_eq!(Key::parse(bytes), key, "{bytes:?}");
        }
    }
}
