//! Reads kernel events as text: the output of `perf script` and of the tracefs file `trace`, and blkparse's default
//! format. Sources: perf-script(1), Documentation/trace/events.rst of Linux, blkparse(1), "DEFAULT OUTPUT".
//!
//! Events of system calls contain descriptors instead of paths, so files are named after their descriptors.

use crate::blocks::{BlockEvent, Blocks, SECTOR_BYTES, Step, letters};
use crate::calls::{Argument, Call, Effect};
use crate::error::LineProblem;
use crate::lines::{LineParser, SECOND_NS, Sink, integer, scaled};
use crate::pending::Ticket;
use crate::record::{RecordedAct, Task};
use crate::world::{Returned, Value, World};
use std::collections::HashMap;

/// Maximum number of threads tracked within a call.
const CALLING_MAX: usize = 1 << 16;

/// Reads events of `perf script` and tracefs.
#[derive(Default)]
pub(crate) struct Events {
    blocks: Blocks,
    world: World,
    calling: HashMap<u32, PendingCall>,
}

/// A call that has not returned.
struct PendingCall {
    call: &'static Call,
    arguments: Vec<Value>,
    began_ns: u64,
    /// Place reserved for its record, if it has one.
    ticket: Option<Ticket>,
}

/// The first part of an event's line.
struct Head<'a> {
    command: &'a str,
    process: u32,
    thread: u32,
    at_ns: u64,
    /// Name, such as `block:block_rq_issue` or `sys_pwrite64`.
    event: &'a str,
    fields: &'a str,
}

/// Splits a line. The command may contain blanks, so this searches for the processor's `[000]`.
fn head(line: &str) -> Option<Head<'_>> {
    let (before, after) = line.split_once(" [").map(|(before, after)| (before.trim(), after))?;
    let after = after.split_once(']')?.1.trim_start();
    // perf prints `command 12/34`, tracefs `command-34`.
    let (command, numbers) = before.rsplit_once([' ', '-'])?;
    let (process, thread) = numbers.split_once('/').unwrap_or((numbers, numbers));
    let (process, thread) = (process.parse().ok()?, thread.parse().ok()?);
    let mut words = after.splitn(2, ": ");
    let (time, rest) = (words.next()?, words.next()?.trim_start());
    // tracefs prints flags before the time.
    let time = time.rsplit(' ').next()?;
    let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == ':'));
    let (event, fields) = rest.split_at(end.unwrap_or(rest.len()));
    let (event, fields) = match event.strip_suffix(':') {
        Some(event) => (event, fields),
        None => (event, fields.strip_prefix(':').unwrap_or(fields)),
    };
    let at_ns = scaled(time, SECOND_NS)?;
    Some(Head { command: command.trim(), process, thread, at_ns, event, fields: fields.trim() })
}

/// Whether a line looks like an event.
pub(crate) fn is_event(line: &str) -> bool {
    line.starts_with("# tracer:") || head(line).is_some()
}

impl LineParser for Events {
    fn line(&mut self, line: &str, sink: &mut Sink) -> Result<(), LineProblem> {
        if line.starts_with('#') {
            return Ok(());
        }
        let missing = LineProblem::Missing { what: "command, thread, processor, time or event" };
        let Some(Head { command, process, thread, at_ns, event, fields }) = head(line) else {
            // perf and tracefs report lost events on lines of their own.
            return if line.contains("LOST") { Ok(()) } else { Err(missing) };
        };
        let at_ns = sink.since_first(at_ns);
        self.world.set_process(thread, process, command);
        let (_, name) = event.rsplit_once(':').unwrap_or(("", event));
        let step = match name {
            "block_bio_queue" => Step::Queued,
            "block_rq_issue" => Step::Issued,
            "block_rq_complete" | "block_bio_complete" => Step::Completed(error_of(fields)),
            _ => return self.call(name, fields, thread, at_ns, sink),
        };
        let Some((device, act, flags, offset, length)) = request(fields) else {
            return Err(LineProblem::Other { what: "expected device, kind and `sector + sectors`".to_owned() });
        };
        let Some(act) = act else { return Ok(()) };
        let task = sink.names.task(Task { process, thread, command: command.to_owned() });
        let event = BlockEvent { step, at_ns, device, act, flags, offset, length, task };
        self.blocks.event(&event, &mut sink.names, &mut sink.pending);
        Ok(())
    }
}

/// Device, act, flags, offset and length, from `254,0 WS … 2048 + 8 …`.
type Request = ((u32, u32), Option<RecordedAct>, u8, u64, u64);

fn request(fields: &str) -> Option<Request> {
    let mut words = fields.split_ascii_whitespace();
    let (major, minor) = words.next()?.split_once(',')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let rwbs = words.next()?;
    let (mut before, mut sector, mut sectors) = ("", None, None);
    while let Some(word) = words.next() {
        if word == "+" {
            (sector, sectors) = (before.parse::<u64>().ok(), words.next()?.parse::<u64>().ok());
            break;
        }
        before = word;
    }
    // A flush without bytes has sector 2^64-1.
    let length = sectors?.checked_mul(SECTOR_BYTES)?;
    let offset = if length == 0 { 0 } else { sector?.checked_mul(SECTOR_BYTES)? };
    let (act, flags) = letters(rwbs, length).map_or((None, 0), |(act, flags)| (Some(act), flags));
    Some((device, act, flags, offset, length))
}

/// Returns the number in brackets at the end.
fn error_of(fields: &str) -> i64 {
    let inside = fields.trim_end().strip_suffix(']').and_then(|text| text.rsplit_once('['));
    inside.and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

impl Events {
    /// Handles the start or end of a system call: perf's `sys_enter_read: fd: 0x3,
    /// …`, tracefs's `sys_read(fd: 3, …)`.
    fn call(&mut self, name: &str, fields: &str, thread: u32, at_ns: u64, sink: &mut Sink) -> Result<(), LineProblem> {
        let (ends, name) = match (name.strip_prefix("sys_exit_"), name.strip_prefix("sys_enter_")) {
            (Some(name), _) => (true, name),
            (_, Some(name)) => (false, name),
            _ => (fields.starts_with("->"), name.strip_prefix("sys_").unwrap_or(name)),
        };
        let Some(call) = Call::named(name) else { return Ok(()) };
        if ends {
            let Some(PendingCall { call: begun, arguments, began_ns, ticket }) = self.calling.remove(&thread) else {
                return Ok(());
            };
            let text = fields.trim_start_matches("->").trim();
            let result = integer(text.split(' ').next().unwrap_or(""))
                .ok_or_else(|| LineProblem::NoNumber { word: text.to_owned(), what: "result" })?;
            if begun != call {
                return Ok(());
            }
            let took_ns = at_ns.saturating_sub(began_ns);
            let (call, arguments, at_ns, is_thread) = (begun, arguments.as_slice(), began_ns, false);
            let returned = Returned { call, arguments, result, result_path: None, thread, at_ns, took_ns, is_thread };
            let record = self.world.record(&returned, &mut sink.names);
            if let Some(ticket) = ticket {
                sink.pending.fill(ticket, record);
            }
            return Ok(());
        }
        let inside =
            fields.strip_prefix('(').and_then(|rest| rest.rsplit_once(')')).map_or(fields, |(inside, _)| inside);
        let mut wanted = call.arguments();
        let arguments: Vec<Value> = inside
            .split(", ")
            .map(|field| {
                let word = field.split_once(": ").map_or("", |(_, word)| word);
                let number = integer(word.split(' ').next().unwrap_or(""));
                match (wanted.next(), number) {
                    // Pointers to memory that the event does not include.
                    (Some(Argument::Path | Argument::OtherPath | Argument::Ignored) | None, _) | (_, None) => {
                        Value::Unknown
                    }
                    // Descriptors are signed 32-bit numbers.
                    (Some(Argument::Descriptor | Argument::Directory), Some(number)) => {
                        Value::Descriptor(i64::from(number as i32), None)
                    }
                    (_, Some(number)) => Value::Number(number),
                }
            })
            .collect();
        if self.calling.len() < CALLING_MAX {
            // Without its path, an open only shows the descriptor that it returned.
            let begins = matches!(call.effect, Effect::Act(act) if act != RecordedAct::Open);
            let ticket = begins.then(|| sink.pending.reserve());
            self.calling.insert(thread, PendingCall { call, arguments, began_ns: at_ns, ticket });
        }
        Ok(())
    }
}

/// Reads blkparse's lines: `8,0 1 23 0.000123 456 Q WS 2048 + 8 [fio]`.
#[derive(Default)]
pub(crate) struct Blkparse {
    blocks: Blocks,
    /// Whether the summary has begun, which adds nothing.
    has_ended: bool,
}

/// Whether a line looks like one of blkparse's.
pub(crate) fn is_blkparse(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let is_device =
        |word: &str| word.split_once(',').is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok());
    words.next().is_some_and(is_device)
        && words.by_ref().take(2).filter(|word| word.parse::<u64>().is_ok()).count() == 2
        && words.next().is_some_and(|word| scaled(word, SECOND_NS).is_some())
}

impl LineParser for Blkparse {
    fn line(&mut self, line: &str, sink: &mut Sink) -> Result<(), LineProblem> {
        if self.has_ended || !line.trim_start().starts_with(|first: char| first.is_ascii_digit()) {
            self.has_ended = true;
            return Ok(());
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [device, _, _, time, process, action, rwbs, rest @ ..] = words.as_slice() else {
            return Err(LineProblem::Missing { what: "a field" });
        };
        let step = match *action {
            "Q" => Step::Queued,
            "D" => Step::Issued,
            "C" => Step::Completed(error_of(line)),
            _ => return Ok(()),
        };
        let at_ns =
            scaled(time, SECOND_NS).ok_or_else(|| LineProblem::NoNumber { word: (*time).to_owned(), what: "time" })?;
        let at_ns = sink.since_first(at_ns);
        // A flush has no range.
        let place = if rest.contains(&"+") { rest.join(" ") } else { "0 + 0".to_owned() };
        let Some((device, act, flags, offset, length)) = request(&format!("{device} {rwbs} {place}")) else {
            return Err(LineProblem::Other { what: "expected device, kind and `sector + sectors`".to_owned() });
        };
        let Some(act) = act else { return Ok(()) };
        let process = process.parse().unwrap_or(0);
        let command = line.rsplit_once('[').and_then(|(_, end)| end.strip_suffix(']')).unwrap_or("");
        let command = if command == "(null)" || matches!(step, Step::Completed(_)) { "" } else { command };
        let task = match step {
            Step::Completed(_) => 0,
            _ => sink.names.task(Task { process, thread: process, command: command.to_owned() }),
        };
        let event = BlockEvent { step, at_ns, device, act, flags, offset, length, task };
        self.blocks.event(&event, &mut sink.names, &mut sink.pending);
        Ok(())
    }
}
