//! Records of single ops. The worker keeps them in memory, writes them out between two ops when its buffer is full, and
//! the coordinator reads them after the phase.
//!
//! A worker's records go to an unnamed file in the directory for temporary files (`TMPDIR`), which it shares with the
//! coordinator as a thread or as a process. Writing a full buffer takes some tens of microseconds every thousand ops.
//! With one op in flight, this is outside of every op's time. With several, the ops in flight are reaped that much
//! later. A killed worker loses the records that it had not written out.

use crate::backend::Errno;
use crate::clock::{Clock, Ticks};
use crate::fault::ReportCells;
use crate::op::{Operation, Role};
use plumb_workload::OpKind;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedOp {
    /// Time of submission since the phase's start, including its ramp, ns.
    pub submit_ns: u64,
    /// Time at which it was known to be complete, since the same start, ns.
    pub complete_ns: u64,
    pub kind: OpKind,
    /// Purpose. A note was not executed: it shows where the job opened or closed a file.
    pub role: Role,
    /// Number of the file within the target.
    pub file: u32,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Requested number of bytes.
    pub length: u64,
    /// Bytes moved, or the system's error number.
    pub result: Result<u64, Errno>,
    /// Duration of the submission in ns, if it is timed separately from waiting.
    pub submission_ns: Option<u64>,
    /// Whether it was executed in the worker's ramp.
    pub in_ramp: bool,
    /// Position in the worker's order of submission, from 0. Ops submitted together have equal times,
    /// and complete in any order.
    pub sequence: u64,
}

/// Number of words per record.
const WORDS: usize = 8;

const RECORD_BYTES: usize = WORDS * 8;

/// Number of records kept in memory before they are written out.
const BUFFERED_RECORDS: usize = 1024;

/// Number of records read at once.
const READ_AT_ONCE: usize = 1024;

impl LoggedOp {
    fn encode(&self) -> [u64; WORDS] {
        let (result, failed) = match self.result {
            Ok(moved) => (moved, 0),
            Err(errno) => (errno.0 as u64, 1),
        };
        let is = |role: Role| u64::from(self.role == role);
        let submission = u64::from(self.submission_ns.is_some());
        let roles = is(Role::ReadBack) << 1 | is(Role::AtClose) << 4 | is(Role::Note) << 5;
        let flags: u64 = failed | roles | submission << 2 | u64::from(self.in_ramp) << 3;
        [
            self.submit_ns,
            self.complete_ns,
            self.offset,
            self.length,
            result,
            self.submission_ns.unwrap_or(0),
            u64::from(self.file),
            self.kind as u64 | flags << 8 | self.sequence << 16,
        ]
    }

    fn decode(words: [u64; WORDS]) -> Option<LoggedOp> {
        let [submit_ns, complete_ns, offset, length, result, submission_ns, file, kind] = words;
        let flag = |bit: u32| kind >> (8 + bit) & 1 == 1;
        Some(LoggedOp {
            submit_ns,
            complete_ns,
            kind: *OpKind::ALL.get((kind & 0xff) as usize)?,
            role: match (flag(1), flag(4), flag(5)) {
                (true, ..) => Role::ReadBack,
                (_, true, _) => Role::AtClose,
                (.., true) => Role::Note,
                (false, false, false) => Role::Load,
            },
            file: file as u32,
            offset,
            length,
            result: if flag(0) { Err(Errno(result as i32)) } else { Ok(result) },
            submission_ns: flag(2).then_some(submission_ns),
            in_ramp: flag(3),
            sequence: kind >> 16,
        })
    }
}

/// Creates an unnamed file for the records of one worker.
pub(crate) fn log_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// Times and result of an op, from a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpOutcome {
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
    /// Bytes moved, or the error.
    pub(crate) result: Result<u64, Errno>,
    /// End of the submission, if it is timed.
    pub(crate) handed_at: Option<Ticks>,
    /// Sequence number from [`OpLog::number`].
    pub(crate) sequence: u64,
}

/// Writer of the records, owned by one worker.
pub(crate) struct OpLog<'a> {
    file: &'a File,
    report: &'a ReportCells,
    clock: Clock,
    zero: Ticks,
    in_ramp: bool,
    numbered: u64,
    buffer: Vec<u8>,
    /// Set after a write to the file failed.
    full: bool,
}

impl<'a> OpLog<'a> {
    /// Creates an empty log. Only one may exist per worker.
    pub(crate) fn new(file: &'a File, report: &'a ReportCells, clock: Clock, zero: Ticks) -> OpLog<'a> {
        let buffer = Vec::with_capacity(BUFFERED_RECORDS * RECORD_BYTES);
        OpLog { file, report, clock, zero, in_ramp: false, numbered: 0, buffer, full: false }
    }

    /// Sets whether the next ops are part of the ramp.
    pub(crate) fn set_in_ramp(&mut self, in_ramp: bool) {
        self.in_ramp = in_ramp;
    }

    /// Returns the sequence number for the next submitted op.
    pub(crate) fn number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered - 1
    }

    #[inline(never)]
    pub(crate) fn keep<O: Operation>(&mut self, op: &O, outcome: OpOutcome) {
        let submit_ns = self.clock.ns_between(self.zero, outcome.start);
        // Its duration must equal the one in the histogram. Rounding both ends separately could differ by a nanosecond.
        let complete_ns = submit_ns + self.clock.ns_between(outcome.start, outcome.end);
        let record = LoggedOp {
            submit_ns,
            complete_ns,
            kind: op.kind(),
            role: op.role(),
            file: op.file(),
            offset: op.offset(),
            length: op.length(),
            result: outcome.result,
            submission_ns: outcome.handed_at.map(|at| self.clock.ns_between(outcome.start, at)),
            in_ramp: self.in_ramp,
            sequence: outcome.sequence,
        };
        for word in record.encode() {
            self.buffer.extend_from_slice(&word.to_ne_bytes());
        }
        if self.buffer.len() == BUFFERED_RECORDS * RECORD_BYTES {
            self.write_out();
        }
    }

    /// Writes out the records in memory.
    pub(crate) fn write_out(&mut self) {
        if !self.full
            && let Err(error) = self.file.write_all(&self.buffer)
        {
            self.full = true;
            let place = std::env::temp_dir();
            let note = format!("the op log ends early: {}: {error}; set TMPDIR to another directory", place.display());
            self.report.add_fallback(&note);
        }
        self.buffer.clear();
    }
}

/// Reads a worker's records in the order in which they were stored. Ends at the first incomplete one.
pub(crate) struct LogReader<'a> {
    file: &'a File,
    /// Number of bytes read from the file.
    at: u64,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that were returned.
    taken: usize,
}

impl<'a> LogReader<'a> {
    pub(crate) fn new(file: &'a File) -> LogReader<'a> {
        LogReader { file, at: 0, buffer: Vec::new(), taken: 0 }
    }

    fn refill(&mut self) {
        self.buffer.resize(READ_AT_ONCE * RECORD_BYTES, 0);
        self.taken = 0;
        let mut filled = 0;
        while filled < self.buffer.len() {
            match self.file.read_at(&mut self.buffer[filled..], self.at + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.at += filled as u64;
        self.buffer.truncate(filled);
    }
}

impl Iterator for LogReader<'_> {
    type Item = LoggedOp;

    fn next(&mut self) -> Option<LoggedOp> {
        if self.taken == self.buffer.len() {
            self.refill();
        }
        let record = self.buffer.get(self.taken..self.taken + RECORD_BYTES)?;
        self.taken += RECORD_BYTES;
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(record.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().ok()?);
        }
        LoggedOp::decode(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Reports;
    use crate::op::BlockOp;

    // Protects the log: records are read back complete and in order, whether they fit the buffer or not.
    #[test]
    fn every_op_is_read_back_in_order() {
        let file = log_file().unwrap();
        let reports = Reports::new(1).unwrap();
        let mut log = OpLog::new(&file, reports.worker(0), Clock::monotonic(), 1_000);
        let count = BUFFERED_RECORDS as u64 * 2 + 7;
        for number in 0..count {
            log.set_in_ramp(number < 10);
            let mut op = BlockOp::load(OpKind::Write, 3, number * 4096, 4096);
            op.role = if number % 2 == 0 { Role::Load } else { Role::ReadBack };
            let result = if number == 5 { Err(Errno(libc::ENOSPC)) } else { Ok(512) };
            let start = 1_000 + number * 10;
            let (handed_at, sequence) = ((number == 6).then_some(start + 2), log.number());
            log.keep(&op, OpOutcome { start, end: start + 7, result, handed_at, sequence });
        }
        log.write_out();
        let ops: Vec<LoggedOp> = LogReader::new(&file).collect();
        assert_eq!(ops.len() as u64, count);
        assert!(ops.iter().zip(0..).all(|(op, number)| (op.offset, op.sequence) == (number * 4096, number)));
        assert_eq!((ops[4].submit_ns, ops[4].complete_ns, ops[4].file, ops[4].length), (40, 47, 3, 4096));
        assert_eq!((ops[5].result, ops[5].role), (Err(Errno(libc::ENOSPC)), Role::ReadBack));
        assert_eq!((ops[6].submission_ns, ops[7].submission_ns), (Some(2), None));
        assert_eq!((ops[9].in_ramp, ops[10].in_ramp), (true, false));
    }

    // Protects consistency: log and histogram agree on the duration of each op, for any tick length of the clock.
    #[test]
    fn durations_equal_those_of_the_histogram() {
        let file = log_file().unwrap();
        let reports = Reports::new(1).unwrap();
        let clock = Clock::best();
        let mut log = OpLog::new(&file, reports.worker(0), clock, 1_000);
        let spans: Vec<(Ticks, Ticks)> =
            (0..2_000).map(|number| (1_000 + number * 37, 1_000 + number * 38 + 11)).collect();
        for &(start, end) in &spans {
            let sequence = log.number();
            log.keep(
                &BlockOp::load(OpKind::Read, 0, 0, 512),
                OpOutcome { start, end, result: Ok(512), handed_at: None, sequence },
            );
        }
        log.write_out();
        for (op, &(start, end)) in LogReader::new(&file).zip(&spans) {
            assert_eq!(op.complete_ns - op.submit_ns, clock.ns_between(start, end), "from tick {start} to {end}");
        }
    }
}
