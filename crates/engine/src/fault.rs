//! Passes op failures from a worker, which may be another process, to the coordinator: as text of
//! fixed size in shared memory.
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
    /// Writes the text, cut to fit.
    pub(crate) fn write(&self, text: &[u8]) {
        let length = text.len().min(TEXT_BYTES);
        for (cell, byte) in self.bytes.iter().zip(&text[..length]) {
            cell.store(*byte, Relaxed);
        }
        self.length.store(length as u64, Release);
    }

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
    /// 0 if it was not a system error.
    errno: AtomicU64,
    path: TextCell,
    message: TextCell,
}

/// A worker's report about itself, apart from its recorder.
#[repr(C)]
pub(crate) struct ReportCells {
    faults: FaultCells,
    /// Reason why it could not start, failed, or died.
    pub(crate) failure: TextCell,
    /// Requested features that could not be used, one per line.
    pub(crate) fallbacks: TextCell,
    /// Name of the backend that really ran.
    pub(crate) backend: TextCell,
    pub(crate) ended_at: AtomicU64,
    /// Not 0 after its last ring of the bell. A process that exits before that has died.
    pub(crate) reported_done: AtomicU64,
    /// Not 0 while its clock has stopped and it waits for the snapshot of the machine.
    pub(crate) awaits_snapshot: AtomicU64,
    /// Not 0 if it panicked.
    panicked: AtomicU64,
    /// ID of its process or thread; 0 until it has started.
    pub(crate) pid: AtomicU64,
    /// Not 0 if it ended for another reason than a limit or a stop.
    pub(crate) failed: AtomicU64,
    pub(crate) usage: UsageCells,
    pub(crate) times: TimeCells,
    /// Number of items that it had done at the stonewall of its phase, plus 1; 0 without a stonewall.
    pub(crate) at_wall: AtomicU64,
    /// Ops that count as done although nothing was executed, by kind.
    pub(crate) dry: [DryCells; OpKind::COUNT],
    /// Not 0 if its load also reads.
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

/// Resources used by a worker: CPU time, context switches, page faults.
#[repr(C)]
pub(crate) struct UsageCells {
    pub(crate) cpu_user_ns: AtomicU64,
    pub(crate) cpu_system_ns: AtomicU64,
    /// Voluntary context switches: it slept.
    pub(crate) sleeps: AtomicU64,
    /// Involuntary context switches: it was preempted.
    pub(crate) preemptions: AtomicU64,
    /// Page faults with I/O.
    pub(crate) major_faults: AtomicU64,
    /// Page faults without I/O.
    pub(crate) minor_faults: AtomicU64,
    /// Time that it was runnable but waited for a CPU, ns.
    pub(crate) queue_wait_ns: AtomicU64,
    /// Number of times that it was scheduled, plus 1; 0 if the kernel does not count.
    pub(crate) queue_turns: AtomicU64,
}

/// Durations of parts of a worker's own work.
#[repr(C)]
pub(crate) struct TimeCells {
    /// Longest total time of the calls for one record, ns; 0 if a record is a single call.
    pub(crate) longest_record_ns: AtomicU64,
    /// Time to make the content of one write, ns. If writes differ in length, `fill_cost_bytes` is
    /// the length of that write.
    pub(crate) fill_cost_ns: AtomicU64,
    /// Length of the write that took `fill_cost_ns`; 0 if all writes take equally long.
    pub(crate) fill_cost_bytes: AtomicU64,
    /// Time to verify the content of one read, ns.
    pub(crate) check_cost_ns: AtomicU64,
    /// Time to read back after its load, ns.
    pub(crate) read_back_ns: AtomicU64,
    /// Time from the start of a script's first step to the end of its last, ns; 0 for other work.
    pub(crate) steps_ns: AtomicU64,
}

/// Progress of a worker's source.
#[repr(C)]
struct YieldedCells {
    /// Number of yielded ops, plus 1; 0 until the worker reports it.
    ops: AtomicU64,
    /// Number of yielded ops that were not executed, stored in `undone` or not.
    undone_count: AtomicU64,
    /// Numbers of the first of those ops.
    undone: [AtomicU64; UNDONE_KEPT],
}

/// Maximum number of unexecuted ops to store. Unwritten pages take no memory.
const UNDONE_KEPT: usize = 8192;

/// Ops of one kind that count as done although nothing was executed.
#[repr(C)]
pub(crate) struct DryCells {
    pub(crate) count: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

/// Progress of a worker's source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Yielded {
    /// Number of ops, including delays.
    pub(crate) ops: u64,
    /// Numbers, from 1 and ascending, of ops that failed or were drawn but not started before a limit or
    /// the end of the phase.
    pub(crate) undone: Vec<u64>,
    /// Total number of such ops; more than `undone` holds, if there were too many.
    pub(crate) undone_count: u64,
}

impl Yielded {
    #[inline]
    pub(crate) fn count(&mut self) {
        self.ops += 1;
    }

    /// Records that the last op was not executed.
    #[cold]
    pub(crate) fn last_is_undone(&mut self) {
        self.undone_count += 1;
        if self.undone.len() < UNDONE_KEPT {
            self.undone.push(self.ops);
        }
    }
}

// SAFETY: repr(C), only atomics and arrays of them; all zeros is valid.
unsafe impl Shareable for ReportCells {}

/// Reports of all workers of a phase.
pub(crate) struct Reports {
    cells: SharedSlice<ReportCells>,
}

impl Reports {
    /// Allocates empty reports for `workers` workers.
    pub(crate) fn new(workers: usize) -> io::Result<Reports> {
        Ok(Reports { cells: SharedSlice::new(workers)? })
    }

    pub(crate) fn worker(&self, number: usize) -> &ReportCells {
        &self.cells[number]
    }

    /// Returns the stored failures of all workers, in the order of the workers.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        self.cells.iter().flat_map(ReportCells::faults).collect()
    }
}

impl ReportCells {
    /// Sets the end time, unless it is already set.
    pub(crate) fn ends_at(&self, now: Ticks) {
        let _ = self.ended_at.compare_exchange(0, now, Release, Relaxed);
    }

    /// Adds a note about a requested feature that could not be used.
    pub(crate) fn add_fallback(&self, note: &str) {
        let mut notes = self.fallbacks.read();
        if !notes.is_empty() {
            notes.push(b'\n');
        }
        notes.extend_from_slice(note.as_bytes());
        self.fallbacks.write(&notes);
    }

    /// Records the reason of a failure, unless one is already recorded.
    pub(crate) fn fail(&self, reason: &str) {
        if self.failed.swap(1, AcqRel) == 0 {
            self.failure.write(reason.as_bytes());
        }
    }

    /// Records the message of a panic, replacing any earlier failure.
    pub(crate) fn panic(&self, reason: &str) {
        self.failed.store(1, Relaxed);
        self.failure.write(reason.as_bytes());
        self.panicked.store(1, Release);
    }

    /// Returns the message of its panic.
    pub(crate) fn panic_reason(&self) -> Option<String> {
        let panicked = self.panicked.load(Acquire) != 0;
        panicked.then(|| String::from_utf8_lossy(&self.failure.read()).into_owned())
    }

    /// Returns `true` if it ended for another reason than a limit or a stop.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Acquire) != 0
    }

    /// Returns the progress of its source; `None` if it was never reported, or if too many ops were not executed.
    pub(crate) fn yielded(&self) -> Option<Yielded> {
        let ops = self.yielded.ops.load(Acquire).checked_sub(1)?;
        let undone_count = self.yielded.undone_count.load(Relaxed);
        let undone = self.yielded.undone.get(..undone_count as usize)?.iter().map(|cell| cell.load(Relaxed)).collect();
        Some(Yielded { ops, undone, undone_count })
    }

    /// Reports the progress of its source.
    pub(crate) fn set_yielded(&self, yielded: &Yielded) {
        for (cell, number) in self.yielded.undone.iter().zip(&yielded.undone) {
            cell.store(*number, Relaxed);
        }
        self.yielded.undone_count.store(yielded.undone_count, Relaxed);
        self.yielded.ops.store(yielded.ops + 1, Release);
    }

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

/// Writer of one worker's failures.
pub(crate) struct FaultLog<'a> {
    cells: &'a ReportCells,
}

impl<'a> FaultLog<'a> {
    /// Creates the log over a worker's cells. Only one may exist per worker.
    pub(crate) fn new(cells: &'a ReportCells) -> FaultLog<'a> {
        FaultLog { cells }
    }

    /// Stores a failure if there is room.
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

    /// Marks the worker as failed.
    #[cold]
    pub(crate) fn fail(&mut self, reason: &str) {
        self.cells.fail(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the next phase: the files left by a process are reconstructed from these numbers. If one were missing,
    /// the phase would look for files that do not exist.
    #[test]
    fn undone_ops_are_reported_completely_or_not_at_all() {
        let reports = Reports::new(1).unwrap();
        let report = reports.worker(0);
        assert_eq!(report.yielded(), None, "it has reported nothing");
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
        assert_eq!(report.yielded(), None, "too many to store");
    }

    #[test]
    fn a_failure_keeps_its_location_and_the_rest_is_dropped() {
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
