//! The terminal as a screen: taken over, drawn upon, and given back as it was however watching ends.

use crate::output;
use plumb_text::visible::screen_line;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// A special key that is on no key: `_POSIX_VDISABLE`.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// How long a look for a key waits, in the tenths of a second of termios(3).
const WAIT_DECISECONDS: u8 = 1;

/// A key that means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// q, Escape, Ctrl-C.
    Quit,
    /// p or the space bar.
    Pause,
    /// Any other.
    Other,
}

/// The terminal, taken over. It is given back when this is dropped, and before a panic of any thread is reported.
pub struct Screen {
    /// Whether standard input is a terminal, whose keys are read.
    has_keys: bool,
}

/// How the terminal was, as long as it is taken over; nothing of it where its keys are not read.
static TAKEN: Mutex<Option<Option<Termios>>> = Mutex::new(None);

fn give_back() {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    // Nothing can be done where this fails: the terminal is gone.
    if let Some(was) = taken {
        let _ = put("\x1b[0m\x1b[?25h\x1b[?1049l");
        if let Some(was) = was {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &was);
        }
        output::release_complaints();
    }
}

/// What Ctrl-C is while the screen is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// A key.
    Key,
    /// The signal that it is anywhere else.
    Signal,
}

impl Screen {
    /// Takes it over: a second screen, no cursor, keys one by one.
    pub fn take(interrupt: Interrupt) -> std::io::Result<Screen> {
        let mut was = None;
        if std::io::stdin().is_terminal() {
            let before = tcgetattr(std::io::stdin())?;
            let mut raw = before.clone();
            raw.make_raw();
            raw.special_codes[SpecialCodeIndex::VMIN] = 0;
            raw.special_codes[SpecialCodeIndex::VTIME] = WAIT_DECISECONDS;
            if interrupt == Interrupt::Signal {
                raw.local_modes.insert(LocalModes::ISIG);
                // Whoever suspends or kills it by a key would be left with this screen.
                raw.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
                raw.special_codes[SpecialCodeIndex::VQUIT] = NO_KEY;
            }
            tcsetattr(std::io::stdin(), OptionalActions::Flush, &raw)?;
            was = Some(before);
        }
        let screen = Screen { has_keys: was.is_some() };
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(was);
        output::hold_complaints();
        static GIVEN_BACK_ON_PANIC: Once = Once::new();
        GIVEN_BACK_ON_PANIC.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        put("\x1b[?1049h\x1b[?25l\x1b[2J")?;
        Ok(screen)
    }

    /// Draws the lines from the top, over what is there.
    pub fn draw(&self, lines: &[String]) -> std::io::Result<()> {
        // The line break is before each line but the first: one behind the last would scroll.
        let lines: Vec<_> = lines.iter().map(|line| screen_line(line)).collect();
        put(&format!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n")))
    }

    /// Waits for a key, a tenth of a second at most and no longer than until `end`.
    pub fn key(&self, end: Instant) -> Option<Key> {
        let left = end.saturating_duration_since(Instant::now());
        let slice = Duration::from_millis(100 * u64::from(WAIT_DECISECONDS));
        if !self.has_keys || left < slice {
            std::thread::sleep(left.min(slice));
            if !self.has_keys || left > Duration::from_millis(1) {
                return None;
            }
        }
        let mut bytes = [0u8; 32];
        let count = rustix::io::read(std::io::stdin(), &mut bytes).ok()?;
        match &bytes[..count] {
            [] => None,
            // An arrow or another key that sends several bytes begins with Escape as well.
            [b'q' | b'Q' | 3, ..] | [0x1b] => Some(Key::Quit),
            [b'p' | b'P' | b' ', ..] => Some(Key::Pause),
            _ => Some(Key::Other),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Columns and lines of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

/// How large the window is; as of old where it does not say.
pub fn size() -> Size {
    let or = |value: u16, default| if value == 0 { default } else { usize::from(value) };
    let seen = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    seen.map_or(Size { columns: 80, rows: 24 }, |seen| Size { columns: or(seen.ws_col, 80), rows: or(seen.ws_row, 24) })
}

fn put(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
