//! The record of single ops: kept in memory by the worker that does them, written out between two ops when that is full,
//! and read by the coordinator after the phase.
//!
//! A worker's records go to a file without a name in the directory for temporary files (`TMPDIR`), which it shares with
//! the coordinator whether it is a thread or a process. What a full buffer costs, some tens of microseconds in a
//! thousand ops, lies outside of every op's time with one op in flight; with several, those in flight are reaped later
//! by it. A worker that is killed takes with it what it had not written out.

use crate::backend::Errno;
use crate::clock::{Clock, Ticks};
use crate::fault::ReportCells;
use crate::op::{Operation, Role};
use plumb_workload::OpKind;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// One op, as it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedOp {
    /// When it was handed over, from the phase's start, its ramp included, ns.
    pub submit_ns: u64,
    /// When it was known to be over, from the same start, ns.
    pub complete_ns: u64,
    /// What it did.
    pub kind: OpKind,
    /// What it was for. Of a note, nothing was done: it shows where the job opened or closed a file.
    pub role: Role,
    /// Which of the target's files it went to.
    pub file: u32,
    /// Where in the file, bytes.
    pub offset: u64,
    /// Bytes asked for.
    pub length: u64,
    /// Bytes moved, or the system's error number.
    pub result: Result<u64, Errno>,
    /// How long handing it over took, ns; only where that is timed apart from waiting.
    pub submission_ns: Option<u64>,
    /// It was done in the worker's ramp.
    pub in_ramp: bool,
    /// Its place in the order in which the worker's ops were handed over, from 0. Those that are handed over together have
    /// one time, and complete in any order.
    pub sequence: u64,
}

/// Words of a record.
const WORDS: usize = 8;

const RECORD_BYTES: usize = WORDS * 8;

/// Records in memory before they are written out.
const KEPT: usize = 1024;

/// Records read at once.
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

/// A file for the records of one worker, which nobody else can open.
pub(crate) fn log_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// An op and its times, as a loop knows them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpOutcome {
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
    /// Bytes moved, or the error.
    pub(crate) result: Result<u64, Errno>,
    /// When handing it over was done, where that is timed.
    pub(crate) handed_at: Option<Ticks>,
    /// Of [`OpLog::number`].
    pub(crate) sequence: u64,
}

/// The writing side, held by one worker.
pub(crate) struct OpLog<'a> {
    file: &'a File,
    report: &'a ReportCells,
    clock: Clock,
    /// The phase's start.
    zero: Ticks,
    in_ramp: bool,
    numbered: u64,
    buffer: Vec<u8>,
    /// The file took no more.
    full: bool,
}

impl<'a> OpLog<'a> {
    /// An empty log. Only one may exist for each worker.
    pub(crate) fn new(file: &'a File, report: &'a ReportCells, clock: Clock, zero: Ticks) -> OpLog<'a> {
        let buffer = Vec::with_capacity(KEPT * RECORD_BYTES);
        OpLog { file, report, clock, zero, in_ramp: false, numbered: 0, buffer, full: false }
    }

    /// Whether what follows is done in the ramp.
    pub(crate) fn set_in_ramp(&mut self, in_ramp: bool) {
        self.in_ramp = in_ramp;
    }

    /// The number of an op that is handed over.
    pub(crate) fn number(&mut self) -> u64 {
        self.numbered += 1;
        self.numbered - 1
    }

    /// Keeps an op.
    #[inline(never)]
    pub(crate) fn keep<O: Operation>(&mut self, op: &O, outcome: OpOutcome) {
        let submit_ns = self.clock.ns_between(self.zero, outcome.start);
        // An op takes what the histogram says: both ends rounded by themselves can lie a nanosecond further apart, or closer.
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
        if self.buffer.len() == KEPT * RECORD_BYTES {
            self.write_out();
        }
    }

    /// Writes out what is in memory.
    pub(crate) fn write_out(&mut self) {
        if !self.full
            && let Err(error) = self.file.write_all(&self.buffer)
        {
            self.full = true;
            let place = std::env::temp_dir();
            let note =
                format!("the record of single ops ends early: {}: {error}; set TMPDIR elsewhere", place.display());
            self.report.add_fallback(&note);
        }
        self.buffer.clear();
    }
}

/// Reads a worker's records in the order in which they were kept. Ends at the first that is not whole.
pub(crate) struct LogReader<'a> {
    file: &'a File,
    /// Bytes read from the file.
    at: u64,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were handed out.
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

    // Protects: what is logged is read back whole and in order, whether it fits the buffer or not.
    #[test]
    fn every_op_comes_back_in_order() {
        let file = log_file().unwrap();
        let reports = Reports::new(1).unwrap();
        let mut log = OpLog::new(&file, reports.worker(0), Clock::monotonic(), 1_000);
        let count = KEPT as u64 * 2 + 7;
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

    // Protects: the log and the histogram agree on the time of each op, whatever the ticks of the clock are.
    #[test]
    fn an_op_takes_what_the_histogram_says() {
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
