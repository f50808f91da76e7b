//! Records with programs in the kernel (BPF): stops no calls, and slows each by a fraction of a microsecond. Linux on
//! x86-64, and only with the right to load such programs. The sources are in `bpf/`; `cargo xtask bpf` compiles them.

use super::bio::PendingBio;
use super::event::{self, paths_of};
use super::kernel::{SharedTables, idle_calls_ns};
use super::records::{
    BITS_AT, CALL_TABLES_BYTES, CALLS_LOST_AT, CALLS_MAX, DEVICES_MAX, KEPT_AT, KEPT_BYTES, KEPT_MAX, PROCESSES_AT,
    PROCESSES_MAX, Paths, REQUEST_TABLES_BYTES, REQUESTS_LOST_AT,
};
use super::session::{IO_URING_REGISTER, IO_URING_SETUP, NUMBERS, REAPS, SUBMITS};
use super::slots::Slots;
use super::{CALIBRATION_CALLS, CALIBRATION_ROUNDS, CaptureError, NAP, Subject, kernel};
use aya::maps::{Map, MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader, include_bytes_aligned};
use std::error::Error;
use std::fs::File;
use std::io;
use std::sync::atomic::Ordering;
use std::thread;

/// The programs for calls and for block requests, compiled by `cargo xtask bpf`.
static CALL_PROGRAMS: &[u8] = include_bytes_aligned!("../../bpf/calls.bpf.o");
static REQUEST_PROGRAMS: &[u8] = include_bytes_aligned!("../../bpf/blocks.bpf.o");

/// A program and its tracepoint.
type Attached = (&'static str, &'static str);

const AT_CALLS: [Attached; 3] =
    [("call_begins", "sys_enter"), ("call_ends", "sys_exit"), ("forks", "sched_process_fork")];

/// Ops of io_uring. Kernels differ in the tracepoint for the end of an op: one of the two programs is rejected.
const AT_RINGS: [Attached; 2] = [("ring_begins", "io_uring_submit_req"), ("ring_registers", "io_uring_register")];
const AT_RING_ENDS: [Attached; 2] = [("ring_ends", "io_uring_complete"), ("ring_ends_formerly", "io_uring_complete")];

/// Block requests. Devices with request queues: their bios have lost the length by completion. Devices without: a bio
/// is all there is of a request.
const AT_REQUESTS: [Attached; 3] = [
    ("bio_queued", "block_bio_queue"),
    ("request_completed", "block_rq_complete"),
    ("bio_completed", "block_bio_complete"),
];
const AT_BIOS: [Attached; 2] = [("bio_ends", "block_bio_complete"), ("bio_begins", "block_bio_queue")];

/// Programs that are loaded in the kernel, and the tables that they share with this
/// process. Dropping it removes them.
struct Loaded {
    programs: Ebpf,
    tables: SharedTables,
}

impl Loaded {
    fn new(object: &[u8], loader: &mut EbpfLoader<'_>, tables_bytes: usize) -> Result<Loaded, CaptureError> {
        let programs = loader.load(object).map_err(refused("prepare programs"))?;
        let Some(Map::Array(tables)) = programs.map("tables") else {
            return Err(kernel("find the tables of programs")(io::ErrorKind::NotFound.into()));
        };
        let tables = SharedTables::new(tables.fd(), tables_bytes).map_err(kernel("map the tables of programs"))?;
        Ok(Loaded { programs, tables })
    }

    fn ring(&mut self) -> Result<RingBuf<MapData>, CaptureError> {
        let missing = || kernel("find the ring of programs")(io::ErrorKind::NotFound.into());
        RingBuf::try_from(self.programs.take_map("ring").ok_or_else(missing)?).map_err(refused("map the ring"))
    }

    fn attach(&mut self, types: &Btf, (name, tracepoint): Attached) -> Result<(), CaptureError> {
        let missing = || kernel("find a program")(io::Error::new(io::ErrorKind::NotFound, name));
        let program: &mut BtfTracePoint =
            self.programs.program_mut(name).ok_or_else(missing)?.try_into().map_err(refused("find a program"))?;
        program.load(tracepoint, types).map_err(refused("load a program"))?;
        program.attach().map(drop).map_err(refused("attach a program"))
    }

    fn attach_all(&mut self, types: &Btf, programs: &[Attached]) -> Result<(), CaptureError> {
        programs.iter().try_for_each(|program| self.attach(types, *program))
    }
}

/// The recorder: attached programs, which are removed on drop.
pub(super) struct Recorder {
    ring: RingBuf<MapData>,
    loaded: Loaded,
    slots: Option<Slots>,
    lost_at: usize,
    /// Whether the bits of operations are still to be passed on.
    awaits_bits: bool,
    /// Overhead of a recorded call, ns.
    pub(super) ns_per_call: Option<f64>,
    /// Whether ops of io_uring are recorded.
    pub(super) has_rings: bool,
}

impl Recorder {
    /// Loads and attaches the programs.
    pub(super) fn new(subject: &Subject) -> Result<Recorder, CaptureError> {
        let types = Btf::from_sys_fs().map_err(refused("read the kernel's types (BTF)"))?;
        match subject {
            Subject::Devices(devices, _) => Recorder::of_requests(devices, &types),
            _ => Recorder::of_calls(&types),
        }
    }

    fn of_requests(devices: &[(u32, u32)], types: &Btf) -> Result<Recorder, CaptureError> {
        let numbers: Vec<u32> = devices.iter().map(|(major, minor)| major << 20 | minor).collect();
        if numbers.len() > DEVICES_MAX {
            let error = io::Error::other(format!("{} devices; at most {DEVICES_MAX} at once", numbers.len()));
            return Err(kernel("record requests")(error));
        }
        let mut table = [0_u32; DEVICES_MAX];
        table[..numbers.len()].copy_from_slice(&numbers);
        let count = numbers.len() as u32;
        let mut loader = EbpfLoader::new();
        loader.override_global("devices", &table, true).override_global("devices_count", &count, true);
        let mut loaded = Loaded::new(REQUEST_PROGRAMS, &mut loader, REQUEST_TABLES_BYTES)?;
        let has_queue = |device: &u32| {
            std::fs::exists(format!("/sys/dev/block/{}:{}/mq", device >> 20, device & 0xf_ffff)).unwrap_or(true)
        };
        let programs = if numbers.iter().any(has_queue) { &AT_REQUESTS[..] } else { &AT_BIOS };
        loaded.attach_all(types, programs)?;
        Ok(Recorder {
            ring: loaded.ring()?,
            loaded,
            slots: Some(Slots::default()),
            lost_at: REQUESTS_LOST_AT,
            awaits_bits: true,
            ns_per_call: None,
            has_rings: false,
        })
    }

    fn of_calls(types: &Btf) -> Result<Recorder, CaptureError> {
        let null = File::open("/dev/null").map_err(kernel("/dev/null"))?;
        let alone_ns = idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        let calls = recorded_calls();
        let mut loader = EbpfLoader::new();
        loader.override_global("calls", &calls, true);
        let mut loaded = Loaded::new(CALL_PROGRAMS, &mut loader, CALL_TABLES_BYTES)?;
        loaded.attach_all(types, &AT_CALLS)?;
        // Older kernels have other events.
        let has_rings = AT_RING_ENDS.iter().any(|program| loaded.attach(types, *program).is_ok())
            && loaded.attach_all(types, &AT_RINGS).is_ok();
        let ring = loaded.ring()?;
        let mut recorder = Recorder {
            ring,
            loaded,
            slots: None,
            lost_at: CALLS_LOST_AT,
            awaits_bits: false,
            ns_per_call: None,
            has_rings,
        };
        let own = std::process::id();
        recorder.set(own, 1);
        let recorded_ns = idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        // Exclude this process.
        recorder.set(own, 0);
        recorder.ns_per_call = Some((recorded_ns - alone_ns).max(0.0));
        while recorder.ring.next().is_some() {}
        Ok(recorder)
    }

    fn set(&self, process: u32, flag: u8) {
        let process = process as usize;
        if process < PROCESSES_MAX {
            self.loaded.tables.set(PROCESSES_AT + process, flag);
        }
    }

    /// Starts recording a process.
    pub(super) fn add(&self, process: u32) {
        self.set(process, 1);
    }

    /// Returns the block requests that are not complete.
    pub(super) fn unfinished(&self) -> Vec<PendingBio> {
        let word = |at| self.loaded.tables.word(at).load(Ordering::Relaxed);
        let places = if self.slots.is_some() { 0..KEPT_MAX } else { 0..0 };
        places
            .filter_map(|place| PendingBio::new(std::array::from_fn(|n| word(KEPT_AT + place * KEPT_BYTES + 8 * n))))
            .collect()
    }

    /// Returns the number of records that did not fit into the ring or the slots.
    pub(super) fn drops(&self) -> u64 {
        self.loaded.tables.word(self.lost_at).load(Ordering::Relaxed)
    }

    /// Passes records on until `is_over` returns `true`, including all records written before that.
    pub(super) fn run(&mut self, take: &mut dyn FnMut(&[u8]), is_over: &mut dyn FnMut() -> bool) {
        loop {
            let over = is_over();
            let (tables, awaits_bits) = (&self.loaded.tables, &mut self.awaits_bits);
            // Programs write the bits before their first record with an operation, in either of the two.
            let mut hand_on = |record: &[u8]| {
                if *awaits_bits {
                    let bits = [0, 8].map(|at| tables.word(BITS_AT + at).load(Ordering::Acquire));
                    if bits[0] != 0 {
                        *awaits_bits = false;
                        take(&event::bits(bits));
                    }
                }
                take(record);
            };
            let mut taken = 0;
            while let Some(record) = self.ring.next() {
                hand_on(&record);
                taken += 1;
            }
            taken += self.slots.as_mut().map_or(0, |slots| slots.drain(tables, &mut hand_on));
            match (over, taken) {
                (true, 0) => return,
                (false, 0) => thread::sleep(NAP),
                _ => {}
            }
        }
    }
}

/// Returns [`Paths`] by call number; 0 for calls that are not recorded.
fn recorded_calls() -> [u8; CALLS_MAX] {
    let mut calls = [0; CALLS_MAX];
    for (number, name) in NUMBERS.iter().copied().chain([(IO_URING_SETUP, "")]) {
        calls[number as usize] = crate::calls::Call::named(name).map_or(Paths::None, paths_of) as u8;
    }
    let others = [(&SUBMITS[..], Paths::Submits), (&REAPS[..], Paths::Reaps), (&[IO_URING_REGISTER], Paths::Registers)];
    for (numbers, paths) in others {
        numbers.iter().for_each(|number| calls[*number as usize] = paths as u8);
    }
    calls
}

/// Converts an error of the loader with its causes. Of the kernel's verifier log, only the last lines matter.
fn refused<E: Error>(what: &'static str) -> impl FnOnce(E) -> CaptureError {
    move |error| {
        let mut text = error.to_string();
        let (mut source, mut kind) = (error.source(), io::ErrorKind::Other);
        while let Some(cause) = source {
            let reason = cause.to_string();
            if !text.contains(&reason) {
                text = format!("{text}: {reason}");
            }
            kind = cause.downcast_ref::<io::Error>().map_or(kind, io::Error::kind);
            source = cause.source();
        }
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let shown = match lines.as_slice() {
            [first, .., before, last] => [*first, before, last].join("; "),
            few => few.join("; "),
        };
        kernel(what)(io::Error::new(kind, shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects: the kernel's verifier accepts the programs for devices with and without a request queue. Tests of
    /// the command cannot choose between them.
    #[test]
    fn the_verifier_accepts_the_programs_for_all_devices() {
        for device in [(7, 0), (255, 0xf_ffff)] {
            if let Err(error) = Recorder::new(&Subject::Devices(vec![device], Vec::new())) {
                assert!(std::env::var_os("CI").is_none(), "under CI nothing may be skipped: {error}");
                eprintln!("SKIPPED: the kernel does not allow loading programs: {error}");
            }
        }
    }

    #[test]
    fn too_many_devices_are_refused() {
        let devices = (0..=DEVICES_MAX as u32).map(|minor| (7, minor)).collect();
        let Err(error) = Recorder::new(&Subject::Devices(devices, Vec::new())) else { panic!("more than fit") };
        // Without BTF, that error comes first.
        let message = error.to_string();
        assert!(message.ends_with("1025 devices; at most 1024 at once") || message.contains("BTF"), "{message}");
    }

    /// Protects: the first line gives the action; of a verifier's log only the end is kept.
    #[test]
    fn long_logs_of_the_verifier_are_cut() {
        let log = "program refused:\n0: r1 = 0\n1: r2 = 0\n\nR3 !read_ok\nprocessed 2 insns\n";
        let message = refused("load a program")(io::Error::new(io::ErrorKind::PermissionDenied, log)).to_string();
        assert_eq!(message, "cannot record: load a program: program refused:; R3 !read_ok; processed 2 insns");
    }
}
