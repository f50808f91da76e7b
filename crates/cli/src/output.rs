//! Standard output and standard error. Their errors never end a measurement: the reader may close the pipe, and the disk of a file
//! may be full. A run keeps its exit code. Only commands that print reports until stopped end when the reader closes the pipe.
//!
//! This module passes all text through [`plumb_text::visible`], which keeps the colours that pages mark and escapes every other
//! control character. [`redraw`] updates a status line in place.

use crate::exit::Stopped;
use plumb_text::visible;
use plumb_text::visible::screen_line;
use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The first error of standard output, after which nothing more is written.
static LOST: OnceLock<String> = OnceLock::new();

/// Whether pages go to standard error, because a stream uses standard output.
static PAGES_ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Sends later pages to standard error: a stream uses standard output.
pub(crate) fn page_to_standard_error() {
    PAGES_ELSEWHERE.store(true, Ordering::Relaxed);
}

/// Returns `true` after [`page_to_standard_error`].
pub(crate) fn pages_are_elsewhere() -> bool {
    PAGES_ELSEWHERE.load(Ordering::Relaxed)
}

/// Writes to standard output, or to standard error after [`page_to_standard_error`]. After the first error, drops this
/// and all later text; [`lost`] returns the error.
pub fn print(text: &str) {
    if pages_are_elsewhere() {
        return complain(format_args!("{text}"));
    }
    if LOST.get().is_some() {
        return;
    }
    let text = shown(text);
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that closed the pipe has all that it wanted.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = LOST.set(error.to_string());
        }
        _ => {}
    }
}

/// Writes CI runner commands, such as GitHub annotations, to standard output, or to standard error if a program reads standard
/// output. The caller has escaped the data as the runner requires.
pub(crate) fn print_commands(text: &str, is_for_program: bool) {
    let text = visible(text);
    let written = match is_for_program || pages_are_elsewhere() {
        true => io::stderr().lock().write_all(text.as_bytes()),
        false => {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        }
    };
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error.to_string());
    }
}

/// Escapes text for output. GitHub and Azure runners execute commands in any output line, so a line that looks like a command is
/// escaped as well: it can only come from data with a line feed.
fn shown(text: &str) -> Cow<'_, str> {
    static IN_RUNNER: OnceLock<bool> = OnceLock::new();
    let in_runner =
        IN_RUNNER.get_or_init(|| ["GITHUB_ACTIONS", "TF_BUILD"].iter().any(|name| std::env::var_os(name).is_some()));
    let text = visible(text);
    if *in_runner { Cow::Owned(without_commands(&text)) } else { text }
}

fn without_commands(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            let command = line.trim_start();
            let is_command =
                command.strip_prefix("::").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
                    || command.strip_prefix("##").is_some_and(|rest| rest.starts_with('[') || rest.starts_with("vso["));
            match command.chars().next().filter(|_| is_command) {
                Some(first) => {
                    let (indent, rest) = (&line[..line.len() - command.len()], &command[1..]);
                    format!("{indent}\\u{:04x}{rest}", u32::from(first))
                }
                None => line.to_owned(),
            }
        })
        .collect()
}

/// Returns the error that cut off standard output.
pub fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Reason for the early end of a command that prints reports until stopped.
pub enum Early {
    /// The reader closed the pipe.
    Unread,
    Failed(Stopped),
}

impl From<Stopped> for Early {
    fn from(stopped: Stopped) -> Early {
        Early::Failed(stopped)
    }
}

/// Writes and flushes one of several reports, so that a reader sees each without delay.
pub fn write(text: &str) -> Result<(), Early> {
    let text = shown(text);
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Early::Unread,
        _ => Early::Failed(Stopped::io(format!("standard output: {error}"))),
    })
}

/// Text held back while the screen is open; `None` otherwise.
static HELD: Mutex<Option<String>> = Mutex::new(None);

/// Holds back text for standard error until [`release_complaints`], while the terminal is a screen.
pub(crate) fn hold_complaints() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Writes the text that was held back. Only tries the lock, since a panic may come from a thread that holds it.
pub(crate) fn release_complaints() {
    let held = HELD.try_lock().ok().and_then(|mut held| held.take());
    if let Some(held) = held {
        let _ = io::stderr().lock().write_all(held.as_bytes());
    }
}

/// Writes to standard error. Ignores errors: there is no other place to report them.
pub fn complain(text: std::fmt::Arguments<'_>) {
    let text = text.to_string();
    let text = shown(&text);
    if let Some(held) = &mut *HELD.lock().unwrap_or_else(PoisonError::into_inner) {
        held.push_str(&text);
        return;
    }
    // One write, since launchers of several processes interleave their output.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Overwrites the current line on standard error. `before` and `after` move the cursor; `text` is data and gets escaped.
pub fn redraw(before: &str, text: &str, after: &str) {
    // A closed pipe must not end a measurement.
    let _ = io::stderr().lock().write_all(format!("{before}{}{after}", screen_line(text)).as_bytes());
}

/// [`complain`], in the form of `eprint`.
#[macro_export]
macro_rules! error_text {
    ($($text:tt)*) => { $crate::output::complain(format_args!($($text)*)) };
}

/// [`complain`], in the form of `eprintln`.
#[macro_export]
macro_rules! error_line {
    ($($text:tt)*) => { $crate::output::complain(format_args!("{}\n", format_args!($($text)*))) };
}

pub use crate::{error_line, error_text};

#[cfg(test)]
mod tests {
    use super::*;

    // Protects pipelines: a file name with a line feed cannot inject a runner command, and `::1` stays readable.
    #[test]
    fn data_is_never_a_runner_command() {
        let text = "error: a\n::error::x\n  ::set-env name=A::b\n##[error]c\n##vso[task.x]d\n::1 port\n## title\n";
        assert_eq!(
            without_commands(text),
            "error: a\n\\u003a:error::x\n  \\u003a:set-env name=A::b\n\\u0023#[error]c\n\\u0023#vso[task.x]d\n::1 port\n## title\n"
        );
    }
}
