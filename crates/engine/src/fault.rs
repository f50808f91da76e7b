//! Failures of ops on their way from a worker, which may be another process, to the coordinator: text of fixed size in
//! shared memory.
#![allow(unsafe_code)]

use crate::clock::Ticks;
use crate::pacer::SearchWords;
use crate::shared::{Shareable, SharedSlice};
use plumb_result::Fault;
use plumb_workload::OpKind;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU64};

const TEXT_BYTES: usize = 512;

/// Text of at most [`TEXT_BYTES`] bytes, written once.
#[repr(C)]
pub(crate) struct TextCell {
    length: AtomicU64,
    bytes: [AtomicU8; TEXT_BYTES],
}

impl TextCell {
    /// Writes the text, cut to what fits.
    pub(crate) fn write(&self, text: &[u8]) {
        let length = text.len().min(TEXT_BYTES);
        for (cell, byte) in self.bytes.iter().zip(&text[..length]) {
            cell.store(*byte, Relaxed);
        }
        self.length.store(length as u64, Release);
    }

    /// What was written.
    pub(crate) fn read(&self) -> Vec<u8> {
        let length = self.length.load(Acquire) as usize;
        self.bytes[..length.min(TEXT_BYTES)].iter().map(|cell| cell.load(Relaxed)).collect()
    }
}

#[repr(C)]
struct FaultCell {
    kind: AtomicU64,
    offset: AtomicU64,
    length: AtomicU64,
    /// 0 where it was no error of the system.
    errno: AtomicU64,
    path: TextCell,
    message: TextCell,
}

/// One worker's report about itself, apart from its recorder.
#[repr(C)]
pub(crate) struct ReportCells {
    faults: FaultCells,
    /// Why it could not start, or failed, or died.
    pub(crate) failure: TextCell,
    /// What was asked for and could not be used, a line each.
    pub(crate) fallbacks: TextCell,
    /// The backend that really ran.
    pub(crate) backend: TextCell,
    pub(crate) ended_at: AtomicU64,
    /// Not 0 when it has rung the bell for the last time: a process that ends before that has died.
    pub(crate) said_done: AtomicU64,
    /// Not 0 while its clock has stopped and it waits until the machine has been seen.
    pub(crate) awaits_look: AtomicU64,
    /// Not 0 when it panicked.
    panicked: AtomicU64,
    /// Its process number, or its thread's; 0 until it says so.
    pub(crate) pid: AtomicU64,
    /// Not 0 when it ended otherwise than by a limit or a stop.
    pub(crate) failed: AtomicU64,
    pub(crate) usage: UsageCells,
    pub(crate) times: TimeCells,
    /// One more than the items that it had done when it met the stonewall of its phase; 0 where it met none.
    pub(crate) at_wall: AtomicU64,
    /// Ops that count as done although nothing was done, by kind.
    pub(crate) dry: [DryCells; OpKind::COUNT],
    /// Not 0 when its load reads, too.
    pub(crate) load_reads: AtomicU64,
    /// Progress of the search for a depth, for jobs with a latency goal.
    pub(crate) search: SearchWords,
    yielded: YieldedCells,
}

/// The first failures of a worker.
#[repr(C)]
struct FaultCells {
    cells: [FaultCell; Fault::KEPT],
    kept: AtomicU64,
}

/// Resources that a worker used: CPU time, context switches, page faults.
#[repr(C)]
pub(crate) struct UsageCells {
    pub(crate) cpu_user_ns: AtomicU64,
    pub(crate) cpu_system_ns: AtomicU64,
    /// Voluntary context switches: how often it went to sleep by itself.
    pub(crate) sleeps: AtomicU64,
    /// Involuntary context switches: how often its processor was taken away.
    pub(crate) preemptions: AtomicU64,
    /// Page faults that needed I/O.
    pub(crate) major_faults: AtomicU64,
    /// Page faults that needed none.
    pub(crate) minor_faults: AtomicU64,
    /// Time that it was runnable and waited for a processor, ns.
    pub(crate) queue_wait_ns: AtomicU64,
    /// One more than the times that it was put on a processor; 0 where the kernel does not say.
    pub(crate) queue_turns: AtomicU64,
}

/// Durations of parts of a worker's own work.
#[repr(C)]
pub(crate) struct TimeCells {
    /// Longest time of all calls that were made of one record, ns; 0 where one call is all.
    pub(crate) longest_record_ns: AtomicU64,
    /// Time to make the content of one write, ns; of this many bytes, where writes differ in length.
    pub(crate) fill_cost_ns: AtomicU64,
    /// Bytes of the write that took `fill_cost_ns`; 0 where all writes take as long.
    pub(crate) fill_cost_bytes: AtomicU64,
    /// Time to verify the content of one read, ns.
    pub(crate) check_cost_ns: AtomicU64,
    /// Time of reading back after its load, ns.
    pub(crate) read_back_ns: AtomicU64,
    /// From the start of a script's first step to the end of its last, ns; 0 for other work.
    pub(crate) steps_ns: AtomicU64,
}

/// Progress of a worker's source.
#[repr(C)]
struct YieldedCells {
    /// One more than the ops that it yielded; 0 until the worker says so.
    ops: AtomicU64,
    /// How many of them were not done, kept or not.
    undone_count: AtomicU64,
    /// Their numbers, the first that there is room for.
    undone: [AtomicU64; UNDONE_KEPT],
}

/// This many ops that were not done are remembered by number. Pages that are not written take no memory.
const UNDONE_KEPT: usize = 8192;

/// Ops of a kind that count as done although nothing was done.
#[repr(C)]
pub(crate) struct DryCells {
    pub(crate) count: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// How far a worker's source came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Yielded {
    /// Ops, delays included.
    pub(crate) ops: u64,
    /// Numbers, from 1 and ascending, of those that failed, or that were drawn when a limit or the end of the phase came
    /// before them.
    pub(crate) undone: Vec<u64>,
    /// How many there are of them; more than are kept, where there were too many.
    pub(crate) undone_count: u64,
}

impl Yielded {
    /// Another op was yielded.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.ops += 1;
    }

    /// The last one was not done.
    #[cold]
    pub(crate) fn last_is_undone(&mut self) {
        self.undone_count += 1;
        if self.undone.len() < UNDONE_KEPT {
            self.undone.push(self.ops);
        }
    }
}

// SAFETY: repr(C), nothing but atomics and arrays of them; all zeros is valid.
unsafe impl Shareable for ReportCells {}

/// The reports of all workers of a phase.
pub(crate) struct Reports {
    cells: SharedSlice<ReportCells>,
}

impl Reports {
    /// Empty reports for this many workers.
    pub(crate) fn new(workers: usize) -> io::Result<Reports> {
        Ok(Reports { cells: SharedSlice::new(workers)? })
    }

    /// The report of one worker.
    pub(crate) fn worker(&self, number: usize) -> &ReportCells {
        &self.cells[number]
    }

    /// All workers' kept failures, in the order of the workers.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        self.cells.iter().flat_map(ReportCells::faults).collect()
    }
}

impl ReportCells {
    /// Keeps the time of its end, unless that is known already.
    pub(crate) fn ends_at(&self, now: Ticks) {
        let _ = self.ended_at.compare_exchange(0, now, Release, Relaxed);
    }

    /// Adds a line to what was asked for and could not be used.
    pub(crate) fn add_fallback(&self, note: &str) {
        let mut notes = self.fallbacks.read();
        if !notes.is_empty() {
            notes.push(b'\n');
        }
        notes.extend_from_slice(note.as_bytes());
        self.fallbacks.write(&notes);
    }

    /// Keeps why it failed, unless that is known already.
    pub(crate) fn fail(&self, reason: &str) {
        if self.failed.swap(1, AcqRel) == 0 {
            self.failure.write(reason.as_bytes());
        }
    }

    /// Keeps the message of its panic, in place of any earlier failure.
    pub(crate) fn panic(&self, reason: &str) {
        self.failed.store(1, Relaxed);
        self.failure.write(reason.as_bytes());
        self.panicked.store(1, Release);
    }

    /// The message of its panic.
    pub(crate) fn panic_reason(&self) -> Option<String> {
        let panicked = self.panicked.load(Acquire) != 0;
        panicked.then(|| String::from_utf8_lossy(&self.failure.read()).into_owned())
    }

    /// Whether it ended otherwise than by a limit or a stop.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Acquire) != 0
    }

    /// How far its source came; `None` where it never said so, or more was not done than can be remembered.
    pub(crate) fn yielded(&self) -> Option<Yielded> {
        let ops = self.yielded.ops.load(Acquire).checked_sub(1)?;
        let undone_count = self.yielded.undone_count.load(Relaxed);
        let undone = self.yielded.undone.get(..undone_count as usize)?.iter().map(|cell| cell.load(Relaxed)).collect();
        Some(Yielded { ops, undone, undone_count })
    }

    /// Says how far its source came.
    pub(crate) fn set_yielded(&self, yielded: &Yielded) {
        for (cell, number) in self.yielded.undone.iter().zip(&yielded.undone) {
            cell.store(*number, Relaxed);
        }
        self.yielded.undone_count.store(yielded.undone_count, Relaxed);
        self.yielded.ops.store(yielded.ops + 1, Release);
    }

    /// Its kept failures.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let kept = (self.faults.kept.load(Acquire) as usize).min(Fault::KEPT);
        let text = |cell: &TextCell| String::from_utf8_lossy(&cell.read()).into_owned();
        self.faults.cells[..kept]
            .iter()
            .filter_map(|cell| {
                Some(Fault {
                    op: *OpKind::ALL.get(cell.kind.load(Relaxed) as usize)?,
                    path: PathBuf::from(OsStr::from_bytes(&cell.path.read())),
                    offset: cell.offset.load(Relaxed),
                    length: cell.length.load(Relaxed),
                    errno: Some(cell.errno.load(Relaxed) as i32).filter(|&errno| errno != 0),
                    message: text(&cell.message),
                })
            })
            .collect()
    }
}

/// The writing side of one worker's failures.
pub(crate) struct FaultLog<'a> {
    cells: &'a ReportCells,
}

impl<'a> FaultLog<'a> {
    /// The log over a worker's cells. Only one may exist for each.
    pub(crate) fn new(cells: &'a ReportCells) -> FaultLog<'a> {
        FaultLog { cells }
    }

    /// Keeps a failure, as long as there is room.
    #[cold]
    pub(crate) fn keep(
        &mut self,
        kind: OpKind,
        offset: u64,
        length: u64,
        errno: Option<i32>,
        path: &Path,
        message: &str,
    ) {
        let kept = self.cells.faults.kept.load(Relaxed);
        let Some(cell) = self.cells.faults.cells.get(kept as usize) else { return };
        cell.kind.store(kind as u64, Relaxed);
        cell.offset.store(offset, Relaxed);
        cell.length.store(length, Relaxed);
        cell.errno.store(errno.unwrap_or(0) as u64, Relaxed);
        cell.path.write(path.as_os_str().as_bytes());
        cell.message.write(message.as_bytes());
        self.cells.faults.kept.store(kept + 1, Release);
    }

    /// The worker ends as failed.
    #[cold]
    pub(crate) fn fail(&mut self, reason: &str) {
        self.cells.fail(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process' files are followed by these numbers: with one missing, the next phase would look for what is not there.
    #[test]
    fn what_was_not_done_is_told_whole_or_not_at_all() {
        let reports = Reports::new(1).unwrap();
        let report = reports.worker(0);
        assert_eq!(report.yielded(), None, "it has said nothing");
        let mut yielded = Yielded::default();
        for number in 1..=10 {
            yielded.count();
            if number % 5 == 0 {
                yielded.last_is_undone();
            }
        }
        report.set_yielded(&yielded);
        assert_eq!(report.yielded().map(|yielded| (yielded.ops, yielded.undone)), Some((10, vec![5, 10])));
        (0..UNDONE_KEPT).for_each(|_| yielded.last_is_undone());
        report.set_yielded(&yielded);
        assert_eq!(report.yielded(), None, "too many to remember");
    }

    #[test]
    fn a_failure_keeps_its_address_and_the_rest_is_dropped() {
        let reports = Reports::new(1).unwrap();
        let mut log = FaultLog::new(reports.worker(0));
        for number in 0..Fault::KEPT as u64 + 5 {
            log.keep(OpKind::Write, number * 4096, 4096, Some(libc::ENOSPC), Path::new("a/b"), "No space left");
        }
        let faults = reports.faults();
        assert_eq!(faults.len(), Fault::KEPT);
        assert_eq!(faults[3].offset, 3 * 4096);
        assert_eq!((faults[0].errno, faults[0].path.as_path()), (Some(libc::ENOSPC), Path::new("a/b")));
    }
}
