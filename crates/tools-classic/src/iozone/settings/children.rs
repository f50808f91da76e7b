//! The processes or threads of a throughput test.

use super::{Given, IozoneSettings, Seen};
use crate::iozone::IozoneUsageError;
use plumb_workload::Nanos;

const CHILDREN_MAX: i64 = 1024;

/// The processes or threads of a throughput test.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildOptions {
    /// `-C`: whether the bytes of each child are printed.
    pub each_child: bool,
    /// Whether all children stop when the first one ends; `-x` switches it off.
    pub stonewall: bool,
    /// `-P`: first processor that children run on.
    pub bind: Option<u32>,
    /// Number of processors of this machine.
    pub processors: u32,
    /// `-d`: time between the starts of two children.
    pub start_delay: Nanos,
    /// The printed limits of `-l` and `-u`.
    pub limits: Option<(u32, u32)>,
}

/// The given numbers of processes or threads.
#[derive(Default)]
pub(super) struct ChildrenSeen {
    pub(super) counts: Vec<u32>,
    pub(super) lower: Option<u32>,
    pub(super) upper: Option<u32>,
    pub(super) throughput: bool,
    pub(super) threads: bool,
}

/// Handles an option about processes or threads; returns `false` for any other option.
pub(super) fn take(settings: &mut IozoneSettings, seen: &mut Seen, given: &Given) -> Result<bool, IozoneUsageError> {
    let number = given.number();
    match given.name {
        "C" => settings.children.each_child = true,
        "d" => settings.children.start_delay = Nanos((number.max(0) as u64).saturating_mul(1000)),
        "l" => {
            seen.children.lower = Some(children(number.max(1), 4)?);
            throughput(settings, seen, 5)?;
        }
        "u" => {
            seen.children.upper = Some(children(number.max(1), 6)?);
            throughput(settings, seen, 7)?;
        }
        "P" => {
            let processors = settings.children.processors;
            let first = u32::try_from(number).ok().filter(|first| *first < processors).unwrap_or(0);
            settings.messages.line(format!("Binding of processors beginning with {first} "));
            settings.children.bind = Some(first);
        }
        "t" => {
            if number > CHILDREN_MAX {
                return Err(IozoneUsageError::say(
                    14,
                    format!(
                        "invalid options: maximum streams for throughput is MAXSTREAMS\nNumchild {number} {}\n",
                        given.word
                    ),
                ));
            }
            seen.children.counts.push(if number <= 0 { 8 } else { number as u32 });
            throughput(settings, seen, 15)?;
        }
        "T" => seen.children.threads = true,
        "x" => {
            settings.messages.line("Stonewall disabled");
            settings.children.stonewall = false;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn children(number: i64, code: u8) -> Result<u32, IozoneUsageError> {
    match number > CHILDREN_MAX {
        true => Err(IozoneUsageError::say(code, "Invalid options: maximum streams for throughput is MAXSTREAMS\n")),
        false => Ok(number as u32),
    }
}

/// Returns the error of `-U` in a throughput test.
pub(super) fn remounts(code: u8) -> IozoneUsageError {
    IozoneUsageError::say(code, "Can not run throughput tests with unmount & remounts.\n")
}

fn throughput(settings: &IozoneSettings, seen: &mut Seen, code: u8) -> Result<(), IozoneUsageError> {
    seen.children.throughput = true;
    if settings.files.remount.is_some() { Err(remounts(code)) } else { Ok(()) }
}
