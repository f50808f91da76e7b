//! Reads elbencho's log of ops, `--opslog`: a JSON object per line, one at the start of an op and one at its end.
//! Source: elbencho's help and its output. Times are whole milliseconds.

use crate::error::LineProblem;
use crate::lines::{LineParser, SECOND_NS, Sink, scaled};
use crate::pending::Ticket;
use crate::record::{Record, RecordedAct, Task};
use std::collections::HashMap;

#[derive(Default)]
pub(crate) struct OpsLog {
    /// Current op of each worker, and its start time.
    begun: HashMap<u32, (Ticket, u64)>,
}

/// Whether a line looks like one of the log.
pub(crate) fn is_ops_log(line: &str) -> bool {
    line.trim_start().starts_with('{') && line.contains("\"worker_rank\"") && line.contains("\"op_name\"")
}

/// Returns the value of a key; text without its quotes. Values contain no quotes or commas.
fn field<'a>(line: &'a str, key: &'static str) -> Result<&'a str, LineProblem> {
    let after = line.split_once(&format!("\"{key}\":")).ok_or(LineProblem::Missing { what: key })?.1.trim_start();
    let end = match after.strip_prefix('"') {
        Some(text) => return text.split_once('"').map(|(text, _)| text).ok_or(LineProblem::Missing { what: key }),
        None => after.find([',', '}']).unwrap_or(after.len()),
    };
    Ok(after[..end].trim())
}

/// Parses `2026-11-20T19:38:12.429+0000` without its date: ns since midnight. Assumes that a log is shorter than a
/// day, or that its days follow one another.
fn time(text: &str) -> Option<u64> {
    let clock = text.split_once('T')?.1.split(['+', '-', 'Z']).next()?;
    let mut fields = clock.split(':');
    let mut whole = |unit: u64| fields.next().and_then(|word| scaled(word, unit * SECOND_NS));
    whole(3600)?.checked_add(whole(60)?)?.checked_add(whole(1)?)
}

impl LineParser for OpsLog {
    fn line(&mut self, line: &str, sink: &mut Sink) -> Result<(), LineProblem> {
        let number = |key: &'static str| -> Result<u64, LineProblem> {
            let word = field(line, key)?;
            word.parse().map_err(|_| LineProblem::NoNumber { word: word.to_owned(), what: key })
        };
        let date = field(line, "date")?;
        let at_ns = time(date).ok_or_else(|| LineProblem::NoNumber { word: date.to_owned(), what: "date" })?;
        let at_ns = sink.since_first(at_ns);
        let worker = number("worker_rank")? as u32;
        if field(line, "is_finished")? == "true" {
            let Some((ticket, began_ns)) = self.begun.remove(&worker) else { return Ok(()) };
            let has_failed = field(line, "is_error")? == "true";
            if let Some(record) = sink.pending.ended(ticket) {
                record.took_ns = at_ns.saturating_sub(began_ns);
                record.result = if has_failed { -5 } else { record.result };
            }
            return Ok(());
        }
        let name = field(line, "op_name")?;
        let bare = name.trim_start_matches(['p', 'a']).trim_start_matches("io_");
        let act = RecordedAct::named(bare).or_else(|| RecordedAct::named(name)).unwrap_or(RecordedAct::Other);
        let file = sink.names.path(field(line, "entry_name")?);
        let range = Record::ranged(at_ns, file, act, number("offset")?, number("length")?);
        let task = sink.names.task(Task { process: 0, thread: worker, command: "elbencho".to_owned() });
        let ticket = sink.pending.begun(Record { task, ..range });
        self.begun.insert(worker, (ticket, at_ns));
        Ok(())
    }
}
