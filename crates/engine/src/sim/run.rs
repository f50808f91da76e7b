//! One run on virtual time: its devices, and where its time stands between phases.

use super::device::{Device, NamedDevice, Served, SimRun};
use super::observe::{self, AtEnd, AtStart};
use crate::backend::Completion;
use crate::clock::Ticks;
use crate::op::{BlockOp, Operation};
use crate::virtual_time;
use plumb_result::PhaseObservations;
use plumb_result::measurement::Fault;
use plumb_workload::{CachePolicy, Flush, OpKind, SimTarget};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A device of a run, for all who use it: its workers are on one thread, and nobody waits for it.
#[derive(Debug, Clone)]
pub(crate) struct SimDevice(Arc<Mutex<NamedDevice>>);

impl PartialEq for SimDevice {
    fn eq(&self, other: &SimDevice) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SimDevice {}

impl SimDevice {
    pub(super) fn lock(&self) -> MutexGuard<'_, NamedDevice> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an op on a numbered file over, now.
    #[inline]
    pub(super) fn submit(&self, op: &impl Operation, file: u64) -> Served {
        let mut served = self.lock().device.submit(now_ns(), op, file);
        served.done_ns = served.done_ns.min(LATEST_NS);
        served
    }

    /// Counts an op as done, when it is.
    #[inline]
    pub(super) fn finish(&self, served: &Served) {
        self.lock().device.finish(served);
    }

    /// Hands an op on a numbered file over, and waits until it is done.
    #[inline]
    pub(crate) fn serve(&self, op: &impl Operation, file: u64) -> Completion {
        let served = self.submit(op, file);
        virtual_time::sleep_until(ticks_at(served.done_ns));
        self.finish(&served);
        served.completion
    }

    /// Sets what the page cache holds from here on.
    pub(crate) fn set_cache(&self, cache: CachePolicy) {
        self.lock().device.set_cache(cache);
    }

    /// Whether a worker's op is done before its next one is taken.
    pub(crate) fn is_serial(&self) -> bool {
        self.lock().device.is_serial()
    }

    /// The target that it is, which stands for its path.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(&self.lock().target)
    }
}

/// The latest time of devices.
const LATEST_NS: u64 = virtual_time::LATEST - virtual_time::BEGINNING;

/// The time of devices, which begins with their run.
pub(super) fn now_ns() -> u64 {
    virtual_time::now() - virtual_time::BEGINNING
}

/// A time of devices, as workers see it.
pub(super) fn ticks_at(ns: u64) -> Ticks {
    ns.saturating_add(virtual_time::BEGINNING)
}

/// One run: its devices, in the order of their targets, and the time.
#[derive(Debug)]
pub(crate) struct Simulation {
    devices: Vec<SimDevice>,
    now: Ticks,
    before: Option<AtStart>,
    after: Option<AtEnd>,
}

impl Simulation {
    /// The devices of a run at virtual time 0. The kernel calls them `sim0`, `sim1` … in this order.
    pub(crate) fn new<'a>(targets: impl IntoIterator<Item = (&'a str, &'a SimTarget)>, run: SimRun) -> Simulation {
        let devices = (0..)
            .zip(targets)
            .map(|(number, (name, target))| NamedDevice {
                target: name.to_owned(),
                device: Device::new(target, number, run),
            })
            .map(|named| SimDevice(Arc::new(Mutex::new(named))))
            .collect();
        Simulation { devices, now: virtual_time::BEGINNING, before: None, after: None }
    }

    /// The device of a target.
    pub(crate) fn device(&self, target: &str) -> Option<SimDevice> {
        self.devices.iter().find(|device| device.lock().target == target).cloned()
    }

    /// A phase begins where the last one ended, with this in the page cache.
    pub(crate) fn begin_phase(&mut self, cache: CachePolicy) {
        virtual_time::set(self.now);
        for device in &self.devices {
            device.lock().device.begin_phase(cache);
        }
        (self.before, self.after) = (None, None);
    }

    /// The ramp is over.
    pub(crate) fn clock_starts(&mut self) {
        self.before = Some(observe::at_start(&self.devices, now_ns()));
        for device in &self.devices {
            device.lock().device.start_measuring();
        }
    }

    /// The clock has stopped.
    pub(crate) fn clock_stopped(&mut self) {
        self.after = Some(observe::at_end(&self.devices, now_ns()));
    }

    /// Flushes what the phase has written, on all devices at once, and says how long the last one took, ns. `None` where
    /// there was nothing to flush.
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

    /// What a probe would have seen around the phase, which is over. `None` where its clock never ran.
    pub(crate) fn end_phase(&mut self, name: &str) -> Option<PhaseObservations> {
        self.now = virtual_time::now();
        let (before, after) = (self.before.take()?, self.after.take()?);
        Some(observe::phase(name, &self.devices, before, after))
    }
}
