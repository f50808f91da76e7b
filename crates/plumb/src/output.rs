//! Standard output and standard error. Neither may end a measurement: their reader may go away, and the file that they
//! lead to may have no room. The exit code of a run is its own all the same. Only what prints reports for as long as they are
//! read ends with its reader.

use crate::exit::Stopped;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Why standard output takes no more, once that is so.
static LOST: OnceLock<String> = OnceLock::new();

/// Whether pages go to standard error, because a stream has standard output.
static PAGES_ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Sends pages to standard error from now on: standard output is for something else.
pub fn page_to_standard_error() {
    PAGES_ELSEWHERE.store(true, Ordering::Relaxed);
}

/// Whether [`page_to_standard_error`] was called.
pub fn pages_are_elsewhere() -> bool {
    PAGES_ELSEWHERE.load(Ordering::Relaxed)
}

/// Writes to standard output, or where pages go instead. What cannot be written is dropped, and all that comes after it;
/// [`lost`] says why.
pub fn print(text: &str) {
    if pages_are_elsewhere() {
        return complain(format_args!("{text}"));
    }
    if LOST.get().is_some() {
        return;
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that went away has what it wanted.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = LOST.set(error.to_string());
        }
        _ => {}
    }
}

/// Why some of the output is not where it should be.
pub fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// How a row of reports ended before its end.
pub enum Early {
    /// Nobody reads any more.
    Unread,
    /// With an error.
    Failed(Stopped),
}

impl From<Stopped> for Early {
    fn from(stopped: Stopped) -> Early {
        Early::Failed(stopped)
    }
}

/// Writes one of several reports to standard output, at once, so that its reader has each as soon as it is there.
pub fn write(text: &str) -> Result<(), Early> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Early::Unread,
        _ => Early::Failed(Stopped::io(format!("standard output: {error}"))),
    })
}

/// What waits for the screen to be given back; absent where it is not taken.
static HELD: Mutex<Option<String>> = Mutex::new(None);

/// Keeps what goes to standard error until [`release_complaints`]: the terminal is a screen.
pub fn hold_complaints() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Writes what was kept. A panic that came while something was being kept must not wait for itself.
pub fn release_complaints() {
    let held = HELD.try_lock().ok().and_then(|mut held| held.take());
    if let Some(held) = held {
        let _ = io::stderr().lock().write_all(held.as_bytes());
    }
}

/// Writes to standard error. What cannot be written is dropped: there is no other place to say so.
pub fn complain(text: std::fmt::Arguments<'_>) {
    if let Some(held) = &mut *HELD.lock().unwrap_or_else(PoisonError::into_inner) {
        let _ = std::fmt::Write::write_fmt(held, text);
        return;
    }
    // In one piece: launchers of several processes print what comes from each as it comes.
    let _ = io::stderr().lock().write_all(text.to_string().as_bytes());
}

/// [`complain`], in the form of `eprint`.
macro_rules! error_text {
    ($($text:tt)*) => { $crate::output::complain(format_args!($($text)*)) };
}

/// [`complain`], in the form of `eprintln`.
macro_rules! error_line {
    ($($text:tt)*) => { $crate::output::complain(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {error_line, error_text};
