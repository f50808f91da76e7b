//! One run on virtual time: its devices, and its clock between phases.

use super::carry::CarriedDebt;
use super::device::{Device, NamedDevice, Served, SimRun};
use super::observe::{self, AtEnd, AtStart};
use crate::backend::Completion;
use crate::clock::Ticks;
use crate::op::{BlockOp, Operation};
use crate::virtual_time;
use plumb_result::PhaseObservations;
use plumb_result::measurement::Fault;
use plumb_result::observe::Counters;
use plumb_workload::{Bytes, CachePolicy, Flush, OpKind, SimTarget};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A target's device, or its part of one, shared by its users. Its workers are on one thread, so the lock never blocks.
#[derive(Debug, Clone)]
pub(crate) struct SimDevice {
    device: Arc<Mutex<NamedDevice>>,
    target: Arc<str>,
    /// Offset of its part on the device.
    start: u64,
    /// Number of files, or 0 for none: file `n` begins at the `n`th equal part.
    files: u64,
    file_bytes: u64,
    /// Lengths of the files that have one, for programs that query them.
    lengths: Arc<Mutex<HashMap<u64, u64>>>,
}

impl PartialEq for SimDevice {
    fn eq(&self, other: &SimDevice) -> bool {
        Arc::ptr_eq(&self.device, &other.device) && self.target == other.target
    }
}

impl Eq for SimDevice {}

impl SimDevice {
    pub(super) fn lock(&self) -> MutexGuard<'_, NamedDevice> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new(device: Arc<Mutex<NamedDevice>>, target: &str, sim: &SimTarget, start: u64) -> SimDevice {
        let files = sim.files.unwrap_or(0);
        let file_bytes = sim.size.0.checked_div(files).unwrap_or(0);
        SimDevice { device, target: Arc::from(target), start, files, file_bytes, lengths: Arc::default() }
    }

    /// Submits an op on a numbered file at the current time.
    #[inline]
    pub(super) fn submit(&self, op: &impl Operation, file: u64) -> Served {
        let start = if self.files > 0 { self.start + file % self.files * self.file_bytes } else { self.start };
        let mut served = self.lock().device.submit(now_ns(), op, start);
        served.done_ns = served.done_ns.min(LATEST_NS);
        served
    }

    /// Counts an op at its completion.
    #[inline]
    pub(super) fn finish(&self, served: &Served) {
        self.lock().device.finish(served);
    }

    /// Submits an op on a numbered file and waits until it completes.
    #[inline]
    pub(crate) fn serve(&self, op: &impl Operation, file: u64) -> Completion {
        let served = self.submit(op, file);
        virtual_time::sleep_until(ticks_at(served.done_ns));
        self.finish(&served);
        served.completion
    }

    /// Sets the length of a file.
    pub(crate) fn set_length(&self, file: u64, bytes: u64) {
        let mut lengths = self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > 0 {
            lengths.insert(file, bytes);
        } else {
            lengths.remove(&file);
        }
    }

    /// Returns the length of a file, bytes.
    pub(crate) fn length(&self, file: u64) -> u64 {
        let lengths = self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
        lengths.get(&file).copied().unwrap_or(0)
    }

    /// Changes the contents of the page cache from now on.
    pub(crate) fn set_cache(&self, cache: CachePolicy) {
        self.lock().device.set_cache(cache);
    }

    /// Returns `true` if each op of a worker completes before its next one starts.
    pub(crate) fn is_serial(&self) -> bool {
        self.lock().device.is_serial()
    }

    /// Returns the target's name in place of a path.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(&*self.target)
    }
}

/// Latest time of a device.
const LATEST_NS: u64 = virtual_time::LATEST - virtual_time::BEGINNING;

/// Returns the device time, which starts with the run.
pub(super) fn now_ns() -> u64 {
    virtual_time::now() - virtual_time::BEGINNING
}

/// Converts a device time to the workers' ticks.
pub(super) fn ticks_at(ns: u64) -> Ticks {
    ns.saturating_add(virtual_time::BEGINNING)
}

/// One run: its devices, in the order of their targets, and its clock.
#[derive(Debug)]
pub(crate) struct Simulation {
    /// Whole devices, by the targets that own them.
    devices: Vec<SimDevice>,
    /// Parts of devices that other targets share.
    parts: Vec<SimDevice>,
    now: Ticks,
    before: Option<AtStart>,
    after: Option<AtEnd>,
}

impl Simulation {
    /// Creates the devices of a run at virtual time 0. The kernel's names for them are `sim0`, `sim1` … in this order.
    pub(crate) fn new<'a>(targets: impl IntoIterator<Item = (&'a str, &'a SimTarget)>, run: SimRun) -> Simulation {
        let (owners, sharers): (Vec<_>, Vec<_>) = targets.into_iter().partition(|(_, target)| target.shares.is_none());
        let (mut devices, mut parts) = (Vec::with_capacity(owners.len()), Vec::new());
        for (number, (name, target)) in (0..).zip(owners) {
            let sharers = sharers.iter().filter(|(_, sharer)| sharer.shares.as_deref() == Some(name));
            let mut placed = Vec::new();
            let mut bytes = target.size.0;
            for (sharer, part) in sharers {
                placed.push((*sharer, *part, bytes));
                bytes = bytes.saturating_add(part.size.0);
            }
            let whole = SimTarget { size: Bytes(bytes), ..target.clone() };
            let device = Device::new(&whole, number, run);
            let device = Arc::new(Mutex::new(NamedDevice { target: name.to_owned(), device }));
            let part_of = |(sharer, part, start)| SimDevice::new(Arc::clone(&device), sharer, part, start);
            parts.extend(placed.into_iter().map(part_of));
            devices.push(SimDevice::new(device, name, target, 0));
        }
        Simulation { devices, parts, now: virtual_time::BEGINNING, before: None, after: None }
    }

    /// Slows all devices down by the debt of earlier runs.
    pub(crate) fn owing(self, debt: CarriedDebt) -> Simulation {
        for device in &self.devices {
            device.lock().device.slow_down(debt.share());
        }
        self
    }

    /// Returns the device of a target.
    pub(crate) fn device(&self, target: &str) -> Option<SimDevice> {
        self.devices.iter().chain(&self.parts).find(|device| &*device.target == target).cloned()
    }

    /// Begins a phase at the end of the last one, with this page cache state.
    pub(crate) fn begin_phase(&mut self, cache: CachePolicy) {
        virtual_time::set(self.now);
        for device in &self.devices {
            device.lock().device.begin_phase(cache);
        }
        (self.before, self.after) = (None, None);
    }

    /// Ends the ramp: takes the observations at the start of the clock.
    pub(crate) fn clock_starts(&mut self) {
        self.before = Some(observe::at_start(&self.devices, now_ns()));
        for device in &self.devices {
            device.lock().device.start_measuring();
        }
    }

    /// Returns the current counters of the devices.
    pub(crate) fn counters(&self) -> Counters {
        observe::counters(&self.devices, now_ns())
    }

    /// Takes the observations at the end of the clock.
    pub(crate) fn clock_stopped(&mut self) {
        self.after = Some(observe::at_end(&self.devices, now_ns()));
    }

    /// Flushes the phase's writes on all devices at once. Returns the time until the last one finished, ns; `None`
    /// if there was nothing to flush.
    pub(crate) fn flush(&mut self, flush: Flush) -> Result<Option<u64>, Box<Fault>> {
        let kind = match flush {
            Flush::None | Flush::Close => return Ok(None),
            Flush::Fsync => OpKind::Fsync,
            Flush::Fdatasync => OpKind::Fdatasync,
        };
        let op = BlockOp::load(kind, 0, 0, 0);
        let start_ns = now_ns();
        let mut done_ns = None;
        let mut failed = None;
        for device in &self.devices {
            let mut named = device.lock();
            if !named.device.was_written_this_phase() {
                continue;
            }
            let served = named.device.submit(start_ns, &op, 0);
            named.device.finish(&served);
            done_ns = done_ns.max(Some(served.done_ns));
            if let Err(errno) = served.completion {
                let message = format!("flushing at the end of the phase: {}", errno.text());
                let path = PathBuf::from(&named.target);
                let fault = Fault { op: kind, path, offset: 0, length: 0, errno: Some(errno.0), message };
                failed.get_or_insert(Box::new(fault));
            }
        }
        if let Some(done_ns) = done_ns {
            virtual_time::sleep_until(ticks_at(done_ns));
        }
        match failed {
            Some(fault) => Err(fault),
            None => Ok(done_ns.map(|done_ns| done_ns - start_ns)),
        }
    }

    /// Returns the observations around the finished phase; `None` if its clock never ran.
    pub(crate) fn end_phase(&mut self, name: &str) -> Option<PhaseObservations> {
        self.now = virtual_time::now();
        let (before, after) = (self.before.take()?, self.after.take()?);
        Some(observe::phase(name, &self.devices, before, after))
    }
}
