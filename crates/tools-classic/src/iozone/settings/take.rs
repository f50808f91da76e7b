//! Dispatches each option to its group.

use super::telemetry::telemetry;
use super::{IozoneSettings, Seen, buffers, calls, children, files, pace, pattern, reports, selection, sizes};
use crate::iozone::getopt::ReadOption;
use crate::iozone::size::whole;
use crate::iozone::{IozoneUsageError, Machine};

/// An option and its value.
pub(super) struct Given<'a> {
    pub(super) name: &'static str,
    /// Empty for an option without a value.
    pub(super) word: &'a str,
}

impl Given<'_> {
    /// Returns the value as a number, parsed like atoi(3).
    pub(super) fn number(&self) -> i64 {
        whole(self.word)
    }
}

type TakeGroup = fn(&mut IozoneSettings, &mut Seen, &Given) -> Result<bool, IozoneUsageError>;

const GROUPS: [TakeGroup; 9] = [
    sizes::take,
    selection::take,
    files::take,
    calls::take,
    buffers::take,
    children::take,
    pace::take,
    pattern::take,
    reports::take,
];

pub(super) fn take(
    settings: &mut IozoneSettings,
    seen: &mut Seen,
    option: &ReadOption,
    machine: &mut dyn Machine,
) -> Result<(), IozoneUsageError> {
    let given = Given { name: option.name, word: option.value.as_deref().unwrap_or_default() };
    match given.name {
        "M" => settings.messages.echo.push(format!("\n\tMachine = {}\n", machine.uname().trim_end())),
        "X" => {
            settings.telemetry.writes = Some(telemetry(given.word, "write", machine)?);
            settings.messages.line(format!("Using write telemetry file \"{}\"", given.word));
        }
        "Y" => {
            settings.telemetry.reads = Some(telemetry(given.word, "read", machine)?);
            settings.messages.line(format!("Using read telemetry file \"{}\"", given.word));
        }
        name => {
            for take in GROUPS {
                if take(settings, seen, &given)? {
                    return Ok(());
                }
            }
            return Err(IozoneUsageError::say(255, format!("Unsupported Plus option -> {name} <-\n")));
        }
    }
    Ok(())
}
