//! Standard output and standard error. Neither may end a measurement: their reader may go away, and the file that they
//! lead to may have no room. The exit code of a run is its own all the same. Only what prints reports for as long as they are
//! read ends with its reader.
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

/// Why standard output takes no more, once that is so.
static LOST: OnceLock<String> = OnceLock::new();

/// Whether pages go to standard error, because a stream has standard output.
static PAGES_ELSEWHERE: AtomicBool = AtomicBool::new(false);

/// Sends pages to standard error from now on: standard output is for something else.
pub(crate) fn page_to_standard_error() {
    PAGES_ELSEWHERE.store(true, Ordering::Relaxed);
}

/// Whether [`page_to_standard_error`] was called.
pub(crate) fn pages_are_elsewhere() -> bool {
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
    let text = shown(text);
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that went away has what it wanted.
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
    let text = shown(text);
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Early::Unread,
        _ => Early::Failed(Stopped::io(format!("standard output: {error}"))),
    })
}

/// What waits for the screen to be given back; absent where it is not taken.
static HELD: Mutex<Option<String>> = Mutex::new(None);

/// Keeps what goes to standard error until [`release_complaints`]: the terminal is a screen.
pub(crate) fn hold_complaints() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Writes what was kept. A panic that came while something was being kept must not wait for itself.
pub(crate) fn release_complaints() {
    let held = HELD.try_lock().ok().and_then(|mut held| held.take());
    if let Some(held) = held {
        let _ = io::stderr().lock().write_all(held.as_bytes());
    }
}

/// Writes to standard error. What cannot be written is dropped: there is no other place to say so.
pub fn complain(text: std::fmt::Arguments<'_>) {
    let text = text.to_string();
    let text = shown(&text);
    if let Some(held) = &mut *HELD.lock().unwrap_or_else(PoisonError::into_inner) {
        held.push_str(&text);
        return;
    }
    // In one piece: launchers of several processes print what comes from each as it comes.
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
    fn data_is_no_command_of_a_runner() {
        let text = "error: a\n::error::x\n  ::set-env name=A::b\n##[error]c\n##vso[task.x]d\n::1 port\n## title\n";
        assert_eq!(
            without_commands(text),
            "error: a\n\\u003a:error::x\n  \\u003a:set-env name=A::b\n\\u0023#[error]c\n\\u0023#vso[task.x]d\n::1 port\n## title\n"
        );
    }
}
