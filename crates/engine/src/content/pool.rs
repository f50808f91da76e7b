//! Verification in separate threads: read data is copied and queued, so that the loop can go on.

use super::check::{ExpectedStamp, Scratch, check};
use super::error::ContentError;
use super::mismatch::Mismatch;
use super::mismatch_reporter::MismatchReporter;
use super::rules::StampRules;
use crate::op::BlockOp;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

#[derive(Debug)]
pub(super) struct Pool {
    tasks: Option<Sender<Task>>,
    /// Receives free buffers, with the results of their checks.
    done: Receiver<CheckedRead>,
    free: Vec<Vec<u8>>,
    /// Number of buffers that may still be allocated.
    unmade: usize,
    threads: Vec<JoinHandle<()>>,
    found: Vec<Mismatch>,
}

struct Task {
    op: BlockOp,
    expected: ExpectedStamp,
    read: Vec<u8>,
}

struct CheckedRead {
    buffer: Vec<u8>,
    found: Option<Mismatch>,
}

impl Pool {
    /// Starts `count` threads on these CPUs, or on the caller's CPUs if the list is empty. Up
    /// to `ahead` reads may wait.
    pub(super) fn start(
        count: u32,
        cpus: &[u32],
        ahead: usize,
        rules: &Arc<StampRules>,
        reporter: &Arc<MismatchReporter>,
    ) -> Result<Pool, ContentError> {
        let (tasks, waiting) = bounded::<Task>(ahead);
        let waiting = Arc::new(Mutex::new(waiting));
        let (report, done) = unbounded();
        let (ready, started) = unbounded();
        let mut threads = Vec::new();
        for number in 0..count.max(1) {
            let (waiting, report, ready) = (Arc::clone(&waiting), report.clone(), ready.clone());
            let (rules, reporter, cpus) = (Arc::clone(rules), Arc::clone(reporter), cpus.to_vec());
            let thread = std::thread::Builder::new().name(format!("plumb-verify-{number}")).spawn(move || {
                let pinned = pin(&cpus);
                let failed = pinned.is_err();
                // The receiver is gone if another thread failed to start.
                let sent = ready.send(pinned);
                drop(ready);
                if !failed && sent.is_ok() {
                    work(&waiting, &report, &rules, &reporter);
                }
            });
            threads.push(thread.map_err(ContentError::Thread)?);
        }
        drop(ready);
        for pinned in started.iter() {
            pinned?;
        }
        let unmade = ahead + count.max(1) as usize;
        Ok(Pool { tasks: Some(tasks), done, free: Vec::new(), unmade, threads, found: Vec::new() })
    }

    /// Queues a read for verification. Waits if too many reads are queued. Returns a mismatch of an earlier
    /// read, if there is one.
    pub(super) fn check(&mut self, op: &BlockOp, expected: ExpectedStamp, read: &[u8]) -> Result<(), Box<Mismatch>> {
        while let Ok(done) = self.done.try_recv() {
            self.take(done);
        }
        while self.free.is_empty() && self.unmade == 0 {
            match self.done.recv() {
                Ok(done) => self.take(done),
                Err(_) => return Err(ContentError::ThreadsGone.into()),
            }
        }
        let mut buffer = self.free.pop().unwrap_or_else(|| {
            self.unmade -= 1;
            Vec::new()
        });
        buffer.clear();
        buffer.extend_from_slice(read);
        let sent =
            self.tasks.as_ref().is_some_and(|tasks| tasks.send(Task { op: *op, expected, read: buffer }).is_ok());
        match self.found.pop() {
            Some(found) => Err(found.into()),
            None if sent => Ok(()),
            None => Err(ContentError::ThreadsGone.into()),
        }
    }

    fn take(&mut self, done: CheckedRead) {
        self.free.push(done.buffer);
        self.found.extend(done.found);
    }

    /// Waits for all checks and returns the mismatches not returned before.
    pub(super) fn finish(mut self) -> Vec<Mismatch> {
        self.tasks = None;
        while let Ok(done) = self.done.recv() {
            self.take(done);
        }
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                self.found.push(ContentError::ThreadEnded.into());
            }
        }
        self.found
    }
}

fn pin(cpus: &[u32]) -> Result<(), ContentError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(ContentError::NoCpu { cpu });
        }
        set.set(cpu as usize);
    }
    sched_setaffinity(None, &set).map_err(|errno| ContentError::Cpus { cpus: cpus.to_vec(), source: errno.into() })
}

fn work(
    waiting: &Mutex<Receiver<Task>>,
    report: &Sender<CheckedRead>,
    rules: &StampRules,
    reporter: &MismatchReporter,
) {
    let mut scratch = Scratch::default();
    loop {
        let task = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Task { op, expected, read }) = task else { return };
        let found = check(rules, &op, &read, &expected, &mut scratch, |_| true)
            .err()
            .map(|mismatch| reporter.report(Some(rules), &op, &read, mismatch));
        if report.send(CheckedRead { buffer: read, found }).is_err() {
            return;
        }
    }
}
