//! Records by programs in the kernel (BPF): no call is stopped for it, and each takes a fraction of a microsecond longer. Linux on x86-64, and
//! only with the right to load such programs.

use super::block_programs::{self, BioFields, EVENTS, KEPT_BYTES, Kept, NAMED_BYTES, RequestBits};
use super::event::paths_of;
use super::kernel::{Map, MapKind, ProgramKind, Ring, Slots, Table};
use super::kernel::{attach, attach_raw, attach_typed, idle_calls_ns, load, load_typed};
use super::programs::{self, BEGUN_BYTES, Maps, PROCESSES_MAX, Paths, Registers};
use super::ring_programs::{self, RingFields};
use super::session::{CALLS_MAX, IO_URING_REGISTER, IO_URING_SETUP, NUMBERS, REAPS, SUBMITS};
use super::tracefs::Tracefs;
use super::{CALIBRATION_CALLS, CALIBRATION_ROUNDS, CaptureError, Event, NAP, Subject, btf, kernel};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;

/// Bytes of the ring between the kernel and this process: a quarter of a million records.
const RING_BYTES: u32 = 32 << 20;

/// The recorder: programs at their tracepoints, which are removed with it.
pub(super) struct Recorder {
    ring: Ring,
    slots: Slots,
    maps: Maps,
    /// What a recorded call takes more, ns.
    pub(super) ns_per_call: Option<f64>,
    /// Ops of io_uring are recorded.
    pub(super) has_rings: bool,
    /// What requests are called, where they are read from the kernel's structures.
    pub(super) bits: RequestBits,
    attached: Vec<OwnedFd>,
}

impl Recorder {
    /// Has the kernel's programs run from now on.
    pub(super) fn new(subject: &Subject) -> Result<Recorder, CaptureError> {
        let map = |kind, key, value, entries| Map::new(kind, key, value, entries).map_err(kernel("make a map"));
        let ring = map(MapKind::Ring, 0, 0, RING_BYTES)?;
        let slots = Slots::new(matches!(subject, Subject::Devices(..))).map_err(kernel("make a map"))?;
        let maps = Maps {
            ring: ring.number(),
            slots: slots.number(),
            processes: Table::new(PROCESSES_MAX).map_err(kernel("make a map"))?,
            calls: Table::new(CALLS_MAX as u32).map_err(kernel("make a map"))?,
            drops: Map::of_bytes(8, 0).map_err(kernel("make a map"))?,
            begun: Map::of_bytes(BEGUN_BYTES, 0).map_err(kernel("make a map"))?,
            requests: map(MapKind::LeastRecentlyUsed, 8, 8, 1 << 16)?,
            kept: Map::of_bytes(KEPT_BYTES, 0).map_err(kernel("make a map"))?,
            named: Map::of_bytes(NAMED_BYTES, 0).map_err(kernel("make a map"))?,
        };
        let ring = Ring::new(ring, RING_BYTES as usize).map_err(kernel("map the ring"))?;
        let mut recorder = Recorder {
            ring,
            slots,
            maps,
            ns_per_call: None,
            has_rings: false,
            bits: RequestBits::default(),
            attached: Vec::new(),
        };
        match subject {
            Subject::Devices(devices, _) => recorder.attach_to_devices(devices)?,
            _ => recorder.attach_to_calls()?,
        }
        Ok(recorder)
    }

    fn attach_to_devices(&mut self, devices: &[(u32, u32)]) -> Result<(), CaptureError> {
        let devices: Vec<u32> = devices.iter().map(|(major, minor)| major << 20 | minor).collect();
        if let Ok((attached, bits)) = attach_to_structures(&self.maps, &devices) {
            self.attached.extend(attached);
            self.bits = bits;
            return Ok(());
        }
        let tracefs = Tracefs::open().map_err(kernel("open tracefs"))?;
        for (name, kind) in EVENTS {
            let described = "read the descriptions of block events";
            let event = Event::named(&tracefs, "block", name).map_err(kernel(described))?;
            let program = block_programs::of_event(&self.maps, &devices, kind, &event).map_err(kernel(described))?;
            let program = load(ProgramKind::Tracepoint, &program).map_err(kernel("load a program"))?;
            self.attached.push(attach(event.number, &program).map_err(kernel("attach a program"))?);
        }
        Ok(())
    }

    fn attach_to_calls(&mut self) -> Result<(), CaptureError> {
        let maps = &self.maps;
        for (number, name) in NUMBERS.iter().copied().chain([(IO_URING_SETUP, "")]) {
            let paths = crate::calls::Call::named(name).map_or(Paths::None, paths_of);
            maps.calls.set(number as u32, paths as u8);
        }
        let others =
            [(&SUBMITS[..], Paths::Submits), (&REAPS[..], Paths::Reaps), (&[IO_URING_REGISTER], Paths::Registers)];
        for (numbers, paths) in others {
            for number in numbers {
                maps.calls.set(*number as u32, paths as u8);
            }
        }
        let loaded = |kind, program: &[u8]| load(kind, program).map_err(kernel("load a program"));
        let tracefs = Tracefs::open().map_err(kernel("open tracefs"))?;
        let event =
            Event::named(&tracefs, "sched", "sched_process_fork").map_err(kernel("read the description of forks"))?;
        let child_at = event.place("child_pid").map_err(kernel("read the description of forks"))?;
        let fork = loaded(ProgramKind::Tracepoint, &programs::fork(maps, child_at))?;

        let null = File::open("/dev/null").map_err(kernel("/dev/null"))?;
        let alone_ns = idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        // Older kernels do not describe their types, or not to programs.
        let attached = match attach_typed_to_calls(maps) {
            Ok(attached) => attached,
            Err(_) => {
                let enter = loaded(ProgramKind::RawTracepoint, &programs::enter(maps))?;
                let exit = loaded(ProgramKind::RawTracepoint, &programs::exit(maps, Registers::Copied))?;
                let attached = |name, program| attach_raw(name, program).map_err(kernel("attach a program"));
                [attached("sys_enter", &enter)?, attached("sys_exit", &exit)?]
            }
        };
        self.attached.extend(attached);
        self.attached.push(attach(event.number, &fork).map_err(kernel("attach a program"))?);
        // Older kernels have other events, or do not describe their types.
        if let Ok(attached) = attach_to_rings(maps, &tracefs) {
            self.attached.extend(attached);
            self.has_rings = true;
        }
        let maps = &self.maps;
        let own = std::process::id();
        maps.processes.set(own, 1);
        let recorded_ns = idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        // From now on this process is not recorded.
        maps.processes.set(own, 0);
        self.ns_per_call = Some((recorded_ns - alone_ns).max(0.0));
        self.ring.drain(&mut |_| ());
        Ok(())
    }

    /// Records a process from now on.
    pub(super) fn add(&self, process: u32) {
        self.maps.processes.set(process, 1);
    }

    /// Requests to devices that are not complete.
    pub(super) fn unfinished(&self) -> Vec<Kept> {
        block_programs::kept(&self.maps.kept.bytes())
    }

    /// Calls that did not fit into the ring.
    pub(super) fn drops(&self) -> u64 {
        self.maps.drops.long(0)
    }

    /// Hands on what there is until the end, which `is_over` announces; what was written until then is handed on as well.
    pub(super) fn run(&mut self, take: &mut dyn FnMut(&[u8]), is_over: &mut dyn FnMut() -> bool) {
        loop {
            let over = is_over();
            let taken = self.ring.drain(take) + self.slots.drain(take);
            match (over, taken) {
                (true, 0) => return,
                (false, 0) => thread::sleep(NAP),
                _ => {}
            }
        }
    }
}

/// Has programs that know types run at each call.
fn attach_typed_to_calls(maps: &Maps) -> io::Result<[OwnedFd; 2]> {
    let types = btf::Types::of_kernel()?;
    let attached = |name, program: &[u8]| attach_typed(&load_typed(types.tracepoint(name)?, program)?);
    Ok([
        attached("sys_enter", &programs::enter(maps))?,
        attached("sys_exit", &programs::exit(maps, Registers::Direct))?,
    ])
}

/// Has programs that read the kernel's structures run at each request.
fn attach_to_structures(maps: &Maps, devices: &[u32]) -> io::Result<(Vec<OwnedFd>, RequestBits)> {
    let types = btf::Types::of_kernel()?;
    let attached = |number, program: &[u8]| attach_typed(&load_typed(number, program)?);
    // Of devices without request queues, a bio is all that there is of a request, from its begin to its end.
    let has_queue = |device: &u32| {
        std::fs::exists(format!("/sys/dev/block/{}:{}/mq", device >> 20, device & 0xf_ffff)).unwrap_or(true)
    };
    let programs = if devices.iter().any(has_queue) {
        let typed = EVENTS.iter().map(|(name, _)| block_programs::typed(maps, devices, &types, name));
        typed.collect::<io::Result<Vec<_>>>()?
    } else {
        let fields = BioFields::new(&types)?;
        vec![
            (types.tracepoint("block_bio_complete")?, block_programs::bio_ends(maps, devices, &fields)),
            (types.tracepoint("block_bio_queue")?, block_programs::bio_begins(maps, devices, &fields)),
        ]
    };
    let attached = programs.iter().map(|(number, program)| attached(*number, program));
    Ok((attached.collect::<io::Result<_>>()?, RequestBits::new(&types)?))
}

/// Has the kernel's programs run at each op of io_uring.
fn attach_to_rings(maps: &Maps, tracefs: &Tracefs) -> io::Result<[OwnedFd; 3]> {
    let begins = Event::named(tracefs, "io_uring", "io_uring_submit_req")?;
    let ends = Event::named(tracefs, "io_uring", "io_uring_complete")?;
    let registers = Event::named(tracefs, "io_uring", "io_uring_register")?;
    let types = btf::Types::of_kernel()?;
    let fields = RingFields::new(&types, &begins)?;
    let attached = |event: &Event, program: &[u8]| attach(event.number, &load(ProgramKind::Tracepoint, program)?);
    Ok([
        attached(&begins, &ring_programs::ring_begins(maps, &fields))?,
        attached(&ends, &ring_programs::ring_ends(maps, ends.place("req")?, ends.place("res")?))?,
        attached(&registers, &ring_programs::ring_registers(maps, registers.place("ctx")?))?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's verifier takes the programs for kernels that do not describe their types, too.
    #[test]
    fn programs_without_types_are_taken() {
        let recorder = match Recorder::new(&Subject::Devices(vec![(7, 0)], Vec::new())) {
            Ok(recorder) => recorder,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "under CI nothing may be skipped: {error}");
                return eprintln!("SKIPPED: the kernel lets nobody load programs: {error}");
            }
        };
        load(ProgramKind::RawTracepoint, &programs::enter(&recorder.maps)).unwrap();
        load(ProgramKind::RawTracepoint, &programs::exit(&recorder.maps, Registers::Copied)).unwrap();
        let tracefs = Tracefs::open().unwrap();
        for (name, kind) in EVENTS {
            let event = Event::named(&tracefs, "block", name).unwrap();
            let program = block_programs::of_event(&recorder.maps, &[7 << 20], kind, &event).unwrap();
            let program = load(ProgramKind::Tracepoint, &program).unwrap();
            attach(event.number, &program).unwrap();
        }
    }
}
