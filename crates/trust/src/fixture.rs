//! Scenes for the tests of the checks: a healthy run on a healthy machine, from which each test bends one thing.

use crate::evidence::{ComparisonView, Side};
use crate::factors::factor;
use crate::judge::{Judgement, judge, judge_comparison};
use plumb_result::observe::{
    BlockLayer, Counters, CpuTimes, DeviceCounters, Extents, FileSystem, LayerKind, MemoryCounters, OwnIo, ProcessIo,
    Residency, TargetFacts,
};
use plumb_result::{
    EndMeasurement, Fault, Finding, Histogram, Interval, Level, Measurement, Observations, OpCounts, OpMeasurement,
    PhaseMeasurement, PhaseObservations, Seen, WorkerMeasurement,
};
use plumb_workload::{
    BlockSize, Blocks, Bytes, CachePolicy, ClockScope, End, FileTarget, Flow, Flush, Mix, OpKind, Pace, Pick, Prepare,
    Size, Step, Stop, Target, Work, WorkerGroup, Workload,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
const WALL_NS: u64 = 10_000_000_000;
const BLOCK: u64 = 4096;
const TARGET: &str = "data";

/// One phase over one file on ext4 on a disk `vda`, 10 s long, in which nothing is wrong.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) workload: Workload,
    pub(crate) measurement: Measurement,
    pub(crate) observations: Observations,
}

impl Scene {
    /// A cold sequential read of so many bytes, all of them from the device.
    pub(crate) fn reading(bytes: u64) -> Scene {
        let work = Work::Blocks(Blocks { mix: Mix::READ, ..Blocks::default() });
        Scene::new(work, OpKind::Read, bytes / BLOCK, bytes).cache(CachePolicy::Cold).device_read(bytes).own_read(bytes)
    }

    /// A buffered sequential write of so many bytes, flushed inside the clock.
    pub(crate) fn writing(bytes: u64) -> Scene {
        let work = Work::Blocks(Blocks { mix: Mix::WRITE, ..Blocks::default() });
        let mut scene = Scene::new(work, OpKind::Write, bytes / BLOCK, bytes).device_write(bytes).flushes(1);
        scene.measured().end = EndMeasurement { flush_ns: Some(1_000_000), inside_clock: true };
        scene
    }

    /// So many stats.
    pub(crate) fn stats(count: u64) -> Scene {
        let steps = vec![Step::Stat { file: Pick::Random }];
        Scene::new(Work::Flow(Flow { steps, count_transactions: false }), OpKind::Stat, count, 0)
    }

    fn new(work: Work, kind: OpKind, count: u64, bytes: u64) -> Scene {
        let target = Target::File(FileTarget {
            path: PathBuf::from("data"),
            size: Some(Size::Bytes(Bytes(bytes))),
            prepare: Prepare::Write,
            content: Default::default(),
        });
        let phase = plumb_workload::Phase {
            name: "p".to_owned(),
            cache: CachePolicy::AsIs,
            memory_pressure: None,
            ramp: Default::default(),
            stop: Stop::default(),
            end: End::default(),
            workers: vec![WorkerGroup::new(TARGET, work)],
        };
        let workload = Workload {
            name: "scene".to_owned(),
            description: String::new(),
            seed: 1,
            target: BTreeMap::from([(TARGET.to_owned(), target)]),
            phase: vec![phase],
        };
        // At least one op, so that a read of nothing is an op that moved nothing.
        let count = count.max(1);
        let mut service = Histogram::new();
        service.record_n(WALL_NS / count, count);
        let op = OpMeasurement { count, bytes, service, response: None };
        let interval = |second: u64| Interval {
            start_ns: second * 1_000_000_000,
            length_ns: 1_000_000_000,
            ops: BTreeMap::from([(kind, OpCounts { count: count / 10, bytes: bytes / 10, ..OpCounts::default() })]),
        };
        let worker = WorkerMeasurement {
            name: "workers.0/0".to_owned(),
            backend: "psync".to_owned(),
            count,
            bytes,
            wall_ns: WALL_NS,
            cpu_user_ns: WALL_NS / 20,
            cpu_system_ns: WALL_NS / 10,
            depth_asked: 1,
            in_flight_mean: 1.0,
            ..WorkerMeasurement::default()
        };
        let measured = PhaseMeasurement {
            name: "p".to_owned(),
            wall_ns: WALL_NS,
            ops: BTreeMap::from([(kind, op)]),
            intervals: (0..10).map(interval).collect(),
            cpu_user_ns: worker.cpu_user_ns,
            cpu_system_ns: worker.cpu_system_ns,
            workers: vec![worker],
            in_flight_mean: 1.0,
            working_set_bytes: Some(bytes),
            clock: "tsc".to_owned(),
            clock_cost_ns: 10.0,
            ..PhaseMeasurement::default()
        };
        let mut scene = Scene {
            workload,
            measurement: Measurement { phases: vec![measured], interrupted: false },
            observations: Observations { phases: vec![quiet_phase(bytes)], ..Observations::default() },
        };
        scene.observations.targets.insert(TARGET.to_owned(), ext4_on_vda());
        let environment = &mut scene.observations.environment;
        environment.hostname = "here".to_owned();
        environment.kernel = "6.1.0".to_owned();
        environment.virtualisation = Seen::Yes("none".to_owned());
        environment.clocksource = Seen::Yes("tsc".to_owned());
        scene
    }

    // What it comes to.

    pub(crate) fn judge(&self) -> Judgement {
        judge(&self.workload, &self.measurement, &self.observations)
    }

    /// The worst finding of this check.
    pub(crate) fn finding(&self, code: &str) -> Option<Finding> {
        self.judge().findings.into_iter().find(|finding| finding.code == code)
    }

    pub(crate) fn level(&self, code: &str) -> Option<Level> {
        self.finding(code).map(|finding| finding.level)
    }

    /// The level in the last phase.
    pub(crate) fn level_last(&self, code: &str) -> Option<Level> {
        let last = self.measurement.phases.last().map(|phase| phase.name.clone());
        let found = self.judge().findings.into_iter().find(|finding| finding.code == code && finding.phase == last);
        found.map(|finding| finding.level)
    }

    pub(crate) fn side<'a>(&'a self, name: &'a str, runs: u32) -> Side<'a> {
        Side { name, environment: &self.observations.environment, targets: &self.observations.targets, runs }
    }

    // What can be bent.

    fn plan(&mut self) -> &mut plumb_workload::Phase {
        self.workload.phase.last_mut().expect("a scene has a phase")
    }

    pub(crate) fn measured(&mut self) -> &mut PhaseMeasurement {
        self.measurement.phases.last_mut().expect("a scene has a phase")
    }

    pub(crate) fn seen(&mut self) -> &mut PhaseObservations {
        self.observations.phases.last_mut().expect("a scene has a phase")
    }

    fn facts(&mut self) -> &mut TargetFacts {
        self.observations.targets.get_mut(TARGET).expect("a scene has a target")
    }

    fn fs(&mut self) -> &mut FileSystem {
        match &mut self.facts().filesystem {
            Seen::Yes(fs) => fs,
            Seen::No(_) => panic!("this scene has no file system"),
        }
    }

    fn disk(&mut self) -> &mut BlockLayer {
        self.facts().stack.last_mut().expect("a scene has a disk")
    }

    fn with(mut self, bend: impl FnOnce(&mut Scene)) -> Scene {
        bend(&mut self);
        self
    }

    fn after(self, bend: impl FnOnce(&mut Counters)) -> Scene {
        self.with(|scene| bend(&mut scene.seen().after))
    }

    /// Changes the counters of the first leaf.
    fn device(self, bend: impl FnOnce(&mut DeviceCounters)) -> Scene {
        self.with(|scene| {
            let leaf = scene.facts().leaves[0].clone();
            match scene.seen().after.devices.get_mut(&leaf) {
                Some(Seen::Yes(counters)) => bend(counters),
                _ => panic!("{leaf} is not seen in this scene"),
            }
        })
    }

    pub(crate) fn cache(self, policy: CachePolicy) -> Scene {
        self.with(|scene| scene.plan().cache = policy)
    }

    pub(crate) fn pace(self, pace: Pace) -> Scene {
        self.with(|scene| scene.plan().workers[0].pace = pace)
    }

    pub(crate) fn flush(self, flush: Flush) -> Scene {
        self.with(|scene| {
            scene.plan().end.flush = flush;
            scene.measured().end.flush_ns = None;
        })
    }

    pub(crate) fn flush_clock(self, clock: ClockScope) -> Scene {
        self.with(|scene| {
            scene.plan().end.clock = clock;
            scene.measured().end.inside_clock = clock == ClockScope::Inside;
        })
    }

    pub(crate) fn prepare(self, prepare: Prepare) -> Scene {
        self.with(|scene| match scene.workload.target.get_mut(TARGET) {
            Some(Target::File(file)) => file.prepare = prepare,
            _ => panic!("this scene has no file"),
        })
    }

    pub(crate) fn block(self, bytes: u64) -> Scene {
        self.with(|scene| match &mut scene.plan().workers[0].work {
            Work::Blocks(blocks) => blocks.block = BlockSize::Fixed(Bytes(bytes)),
            Work::Flow(_) => panic!("this scene has no blocks"),
        })
    }

    pub(crate) fn also_writes(self) -> Scene {
        self.with(|scene| match &mut scene.plan().workers[0].work {
            Work::Blocks(blocks) => blocks.mix = Mix { read: 50, write: 50, trim: 0 },
            Work::Flow(_) => panic!("this scene has no blocks"),
        })
    }

    /// A phase that is in the workload and never ran.
    pub(crate) fn further_phase(self, name: &str) -> Scene {
        self.with(|scene| {
            let mut phase = scene.plan().clone();
            phase.name = name.to_owned();
            scene.workload.phase.push(phase);
        })
    }

    /// The same phase once before, at so many times the speed.
    pub(crate) fn after_itself_at(self, speed: f64) -> Scene {
        self.with(|scene| {
            let (mut plan, mut measured, mut seen) =
                (scene.plan().clone(), scene.measured().clone(), scene.seen().clone());
            for name in [&mut plan.name, &mut measured.name, &mut seen.name] {
                *name = "before".to_owned();
            }
            measured.wall_ns = (measured.wall_ns as f64 / speed) as u64;
            scene.workload.phase.insert(0, plan);
            scene.measurement.phases.insert(0, measured);
            scene.observations.phases.insert(0, seen);
        })
    }

    pub(crate) fn device_read(self, bytes: u64) -> Scene {
        self.device(|counters| counters.read_bytes = bytes)
    }

    pub(crate) fn device_write(self, bytes: u64) -> Scene {
        self.device(|counters| counters.write_bytes = bytes)
    }

    pub(crate) fn flushes(self, count: u64) -> Scene {
        self.device(|counters| counters.flushes = Some(count))
    }

    pub(crate) fn flushes_uncounted(self) -> Scene {
        self.device(|counters| counters.flushes = None)
    }

    pub(crate) fn own_read(self, bytes: u64) -> Scene {
        self.after(|after| after.own = Seen::Yes(OwnIo { read_bytes: bytes, ..OwnIo::default() }))
    }

    pub(crate) fn unseen_own(self, reason: &str) -> Scene {
        self.after(|after| after.own = Seen::no(reason))
    }

    pub(crate) fn unseen_devices(self, reason: &str) -> Scene {
        self.after(|after| after.devices.values_mut().for_each(|seen| *seen = Seen::no(reason)))
    }

    pub(crate) fn unseen_cpu(self, reason: &str) -> Scene {
        self.after(|after| after.cpu = Seen::no(reason))
    }

    pub(crate) fn unseen_memory(self, reason: &str) -> Scene {
        self.after(|after| after.memory = Seen::no(reason))
    }

    /// Share of the processor time of the phase.
    pub(crate) fn steal(self, share: f64) -> Scene {
        self.after(|after| after.cpu = Seen::Yes(CpuTimes { total_s: 100.0, idle_s: 50.0, steal_s: 100.0 * share }))
    }

    fn memory(self, bend: impl FnOnce(&mut MemoryCounters)) -> Scene {
        self.after(|after| match &mut after.memory {
            Seen::Yes(memory) => bend(memory),
            Seen::No(_) => panic!("memory is not seen in this scene"),
        })
    }

    pub(crate) fn swapped_pages(self, pages: u64) -> Scene {
        self.memory(|memory| memory.swap_out_pages = pages)
    }

    pub(crate) fn own_swap(self, bytes: u64) -> Scene {
        self.memory(|memory| memory.own_swap_bytes = bytes)
    }

    /// Share of the time of the phase.
    pub(crate) fn memory_stall(self, share: f64) -> Scene {
        self.memory(|memory| memory.stall_us = Some((WALL_NS as f64 / 1e3 * share) as u64))
    }

    pub(crate) fn resident(self, bytes: u64) -> Scene {
        self.with(|scene| match scene.seen().resident_before.get_mut(TARGET) {
            Some(Seen::Yes(pages)) => pages.resident_bytes = bytes,
            _ => panic!("pages are not seen in this scene"),
        })
    }

    pub(crate) fn dirty(self, bytes: u64) -> Scene {
        self.with(|scene| match scene.seen().dirty_after.get_mut(TARGET) {
            Some(Seen::Yes(pages)) => pages.dirty_bytes = bytes,
            _ => panic!("pages are not seen in this scene"),
        })
    }

    fn extents(self, bend: impl FnOnce(&mut Extents)) -> Scene {
        self.with(|scene| match scene.seen().extents_before.get_mut(TARGET) {
            Some(Seen::Yes(extents)) => bend(extents),
            _ => panic!("extents are not seen in this scene"),
        })
    }

    pub(crate) fn holes(self, bytes: u64) -> Scene {
        self.extents(|extents| extents.hole_bytes = bytes)
    }

    pub(crate) fn unwritten(self, bytes: u64) -> Scene {
        self.extents(|extents| extents.unwritten_bytes = bytes)
    }

    pub(crate) fn encoded(self, bytes: u64) -> Scene {
        self.extents(|extents| extents.encoded_bytes = bytes)
    }

    /// Neither residency, nor dirty pages, nor extents.
    pub(crate) fn unseen_files(self, reason: &str) -> Scene {
        self.with(|scene| {
            let seen = scene.seen();
            seen.resident_before
                .values_mut()
                .chain(seen.dirty_after.values_mut())
                .for_each(|one| *one = Seen::no(reason));
            seen.extents_before.values_mut().for_each(|one| *one = Seen::no(reason));
        })
    }

    pub(crate) fn other(self, command: &str, read_bytes: u64, write_bytes: u64) -> Scene {
        let process = ProcessIo { pid: 4711, command: command.to_owned(), read_bytes, write_bytes };
        self.with(|scene| scene.seen().other_io = Seen::Yes(vec![process]))
    }

    pub(crate) fn unseen_others(self, reason: &str) -> Scene {
        self.with(|scene| scene.seen().other_io = Seen::no(reason))
    }

    pub(crate) fn kernel_log(self, line: &str) -> Scene {
        self.with(|scene| scene.seen().kernel_log = Seen::Yes(vec![line.to_owned()]))
    }

    pub(crate) fn unseen_kernel_log(self, reason: &str) -> Scene {
        self.with(|scene| scene.seen().kernel_log = Seen::no(reason))
    }

    pub(crate) fn clock_step(self, ns: i64) -> Scene {
        self.with(|scene| scene.seen().clock_step_ns = Seen::Yes(ns))
    }

    pub(crate) fn null_ceiling(self, ops: f64) -> Scene {
        self.with(|scene| scene.seen().null_ceiling_ops = Seen::Yes(ops))
    }

    pub(crate) fn short(self, count: u64) -> Scene {
        self.with(|scene| scene.measured().short_count = count)
    }

    pub(crate) fn no_ops(self) -> Scene {
        self.with(|scene| scene.measured().ops.clear())
    }

    pub(crate) fn fault(self, message: &str) -> Scene {
        self.with(|scene| {
            let fault = Fault {
                op: OpKind::Read,
                path: PathBuf::from("data"),
                offset: 4096,
                length: 4096,
                errno: Some(5),
                message: message.to_owned(),
            };
            scene.measured().faults.push(fault);
            scene.measured().fault_count = 1;
        })
    }

    pub(crate) fn fsyncs(self, count: u64, each_ns: u64) -> Scene {
        self.with(|scene| {
            let mut service = Histogram::new();
            service.record_n(each_ns, count);
            let op = OpMeasurement { count, bytes: 0, service, response: None };
            scene.measured().ops.insert(OpKind::Fsync, op);
        })
    }

    pub(crate) fn op_time(self, ns: u64) -> Scene {
        self.with(|scene| {
            for op in scene.measured().ops.values_mut() {
                op.service = Histogram::new();
                op.service.record_n(ns, op.count);
            }
        })
    }

    pub(crate) fn clock_cost(self, ns: f64) -> Scene {
        self.with(|scene| scene.measured().clock_cost_ns = ns)
    }

    pub(crate) fn virtual_time(self) -> Scene {
        self.with(|scene| scene.measured().clock = "virtual".to_owned())
    }

    pub(crate) fn depth(self, asked: u32, reached: f64) -> Scene {
        self.with(|scene| {
            scene.plan().workers[0].depth = asked;
            scene.measured().workers[0].depth_asked = asked;
            scene.measured().workers[0].in_flight_mean = reached;
        })
    }

    /// Shares of one processor.
    pub(crate) fn cpu(self, user: f64, system: f64) -> Scene {
        self.with(|scene| {
            let worker = &mut scene.measured().workers[0];
            worker.cpu_user_ns = (WALL_NS as f64 * user).round() as u64;
            worker.cpu_system_ns = (WALL_NS as f64 * system).round() as u64;
        })
    }

    pub(crate) fn fill(self, ns: u64) -> Scene {
        self.with(|scene| scene.measured().workers[0].fill_ns = ns)
    }

    pub(crate) fn working_set(self, bytes: u64) -> Scene {
        self.with(|scene| scene.measured().working_set_bytes = Some(bytes))
    }

    pub(crate) fn no_working_set(self) -> Scene {
        self.with(|scene| scene.measured().working_set_bytes = None)
    }

    /// Passes one after another, each of so many seconds and bytes, at a constant rate in intervals of one second.
    pub(crate) fn pass_seconds(self, passes: &[(f64, u64)]) -> Scene {
        self.with(|scene| {
            let total: f64 = passes.iter().map(|(seconds, _)| seconds).sum();
            let by = |time: f64| -> f64 {
                let (mut start, mut moved) = (0.0, 0.0);
                for (seconds, bytes) in passes {
                    moved += (((time - start) / seconds).clamp(0.0, 1.0)) * *bytes as f64;
                    start += seconds;
                }
                moved
            };
            let measured = scene.measured();
            measured.wall_ns = (total * 1e9) as u64;
            measured.intervals = (0..total.ceil() as u64)
                .map(|second| {
                    let end = (second as f64 + 1.0).min(total);
                    let bytes = by(end).round() as u64 - by(second as f64).round() as u64;
                    Interval {
                        start_ns: second * 1_000_000_000,
                        length_ns: ((end - second as f64) * 1e9) as u64,
                        ops: BTreeMap::from([(OpKind::Read, OpCounts { bytes, ..OpCounts::default() })]),
                    }
                })
                .collect();
        })
    }

    pub(crate) fn in_memory(self) -> Scene {
        self.with(|scene| {
            scene.fs().kind = "tmpfs".to_owned();
            scene.fs().in_memory = true;
            scene.facts().stack.clear();
            scene.facts().leaves.clear();
            scene.seen().after.devices.clear();
        })
    }

    pub(crate) fn remote(self) -> Scene {
        self.with(|scene| {
            scene.fs().kind = "nfs4".to_owned();
            scene.fs().remote = true;
            scene.facts().stack.clear();
            scene.facts().leaves.clear();
        })
    }

    pub(crate) fn filesystem(self, kind: &str) -> Scene {
        self.with(|scene| {
            scene.fs().kind = kind.to_owned();
            scene.fs().options = vec!["inode64".to_owned(), "relatime".to_owned(), "rw".to_owned()];
            scene.fs().features.clear();
        })
    }

    pub(crate) fn mount_option(self, option: &str) -> Scene {
        self.with(|scene| scene.fs().options.push(option.to_owned()))
    }

    pub(crate) fn free(self, share: f64) -> Scene {
        self.with(|scene| scene.fs().free_bytes = (scene.fs().size_bytes as f64 * share).round() as u64)
    }

    pub(crate) fn write_cache(self, word: &str) -> Scene {
        self.with(|scene| scene.disk().write_cache = Some(word.to_owned()))
    }

    pub(crate) fn scheduler(self, word: &str) -> Scene {
        self.with(|scene| scene.disk().scheduler = Some(word.to_owned()))
    }

    pub(crate) fn serial(self, serial: &str) -> Scene {
        self.with(|scene| scene.disk().serial = Some(serial.to_owned()))
    }

    /// A SATA link that carries so many bytes a second.
    pub(crate) fn link(self, bytes_per_second: u64) -> Scene {
        let gigabits = format!("{} Gbps", bytes_per_second as f64 / 1e8);
        self.with(|scene| {
            scene.disk().settings.insert("sata_link_speed".to_owned(), gigabits);
        })
    }

    pub(crate) fn no_block_sizes(self) -> Scene {
        self.with(|scene| scene.disk().physical_block_bytes = None)
    }

    pub(crate) fn partition(self, start: u64, physical: u64) -> Scene {
        self.with(|scene| {
            scene.disk().physical_block_bytes = Some(physical);
            let partition = BlockLayer {
                name: "vda1".to_owned(),
                kind: LayerKind::Partition,
                below: vec!["vda".to_owned()],
                start_bytes: Some(start),
                ..BlockLayer::default()
            };
            scene.facts().stack.insert(0, partition);
        })
    }

    pub(crate) fn on_loop(self) -> Scene {
        self.with(|scene| {
            let layer = BlockLayer {
                name: "loop0".to_owned(),
                kind: LayerKind::Loop,
                below: vec!["vda".to_owned()],
                backing_file: Some("/images/a".to_owned()),
                ..BlockLayer::default()
            };
            scene.facts().stack.insert(0, layer);
        })
    }

    /// A RAID 1 of two disks, to which so many bytes are written.
    pub(crate) fn mirror(self, written: u64) -> Scene {
        let array = DeviceCounters { read_bytes: 4096, write_bytes: written, ..DeviceCounters::default() };
        self.device_write(2 * written).with(|scene| {
            let idle = DeviceCounters { read_bytes: 4096, ..DeviceCounters::default() };
            scene.seen().before.devices.insert("md0".to_owned(), Seen::Yes(idle));
            scene.seen().after.devices.insert("md0".to_owned(), Seen::Yes(array));
            let layer = BlockLayer {
                name: "md0".to_owned(),
                kind: LayerKind::Md,
                below: vec!["vda".to_owned(), "vdb".to_owned()],
                settings: BTreeMap::from([("level".to_owned(), "raid1".to_owned())]),
                ..BlockLayer::default()
            };
            scene.facts().stack.insert(0, layer);
        })
    }

    pub(crate) fn simulated(self, device: &str) -> Scene {
        self.with(|scene| {
            scene.facts().filesystem = Seen::no("a simulated device has no file system");
            scene.facts().leaves = vec!["sim".to_owned()];
            scene.facts().stack = vec![BlockLayer {
                name: "sim".to_owned(),
                kind: LayerKind::Sim,
                model: Some(device.to_owned()),
                ..BlockLayer::default()
            }];
        })
    }

    pub(crate) fn relabel(&mut self, device: &str, mount_point: &str, uuid: &str) {
        self.fs().mount_point = mount_point.to_owned();
        self.fs().source = format!("/dev/{device}");
        self.fs().uuid = Seen::Yes(uuid.to_owned());
        let layer = &mut self.facts().stack[0];
        layer.name = device.to_owned();
        layer.number = format!("7:{}", device.len());
        layer.backing_file = Some(format!("/images/{uuid}"));
    }

    pub(crate) fn rename_leaf(&mut self, name: &str) {
        self.disk().name = name.to_owned();
        self.facts().leaves = vec![name.to_owned()];
    }

    pub(crate) fn kernel(self, release: &str) -> Scene {
        self.with(|scene| scene.observations.environment.kernel = release.to_owned())
    }

    pub(crate) fn sysctl(self, name: &str, value: &str) -> Scene {
        self.with(|scene| {
            scene.observations.environment.facts.insert(name.to_owned(), value.to_owned());
        })
    }

    pub(crate) fn clocksource(self, name: &str) -> Scene {
        self.with(|scene| scene.observations.environment.clocksource = Seen::Yes(name.to_owned()))
    }

    pub(crate) fn virtualisation(self, name: &str) -> Scene {
        self.with(|scene| scene.observations.environment.virtualisation = Seen::Yes(name.to_owned()))
    }

    pub(crate) fn unseen_virtualisation(self, reason: &str) -> Scene {
        self.with(|scene| scene.observations.environment.virtualisation = Seen::no(reason))
    }

    pub(crate) fn cgroup_memory(self, bytes: u64) -> Scene {
        self.with(|scene| scene.observations.environment.cgroup.memory_bytes = Some(bytes))
    }
}

/// Two scenes held against each other.
pub(crate) struct Compared(Vec<Finding>);

pub(crate) fn compare(baseline: &Scene, candidate: &Scene, runs: u32, varying: Option<&str>) -> Compared {
    let view = ComparisonView {
        baseline: baseline.side("A", runs),
        candidate: candidate.side("B", runs),
        varying: varying.map(|word| factor(word).expect("a known factor")),
    };
    Compared(judge_comparison(&view))
}

impl Compared {
    pub(crate) fn finding(&self, code: &str) -> Option<Finding> {
        self.0.iter().find(|finding| finding.code == code).cloned()
    }

    pub(crate) fn level(&self, code: &str) -> Option<Level> {
        self.finding(code).map(|finding| finding.level)
    }
}

fn quiet_phase(bytes: u64) -> PhaseObservations {
    let by_target = |pages: Residency| BTreeMap::from([(TARGET.to_owned(), Seen::Yes(pages))]);
    let pages = Residency { total_bytes: bytes, dirty_known: true, ..Residency::default() };
    let extents = Extents { total_bytes: bytes, extents: 1, ..Extents::default() };
    PhaseObservations {
        name: "p".to_owned(),
        before: quiet_counters(0),
        after: quiet_counters(WALL_NS),
        resident_before: by_target(pages),
        dirty_after: by_target(pages),
        extents_before: BTreeMap::from([(TARGET.to_owned(), Seen::Yes(extents))]),
        other_io: Seen::Yes(Vec::new()),
        kernel_log: Seen::Yes(Vec::new()),
        clock_step_ns: Seen::Yes(0),
        null_ceiling_ops: Seen::no("not measured"),
    }
}

fn quiet_counters(at_ns: u64) -> Counters {
    let device = DeviceCounters { flushes: Some(0), ..DeviceCounters::default() };
    Counters {
        at_ns,
        devices: BTreeMap::from([("vda".to_owned(), Seen::Yes(device))]),
        own: Seen::Yes(OwnIo::default()),
        cpu: Seen::Yes(CpuTimes { total_s: at_ns as f64 / 1e8, idle_s: at_ns as f64 / 2e8, steal_s: 0.0 }),
        memory: Seen::Yes(MemoryCounters { available_bytes: 8 * GIB, stall_us: Some(0), ..MemoryCounters::default() }),
    }
}

fn ext4_on_vda() -> TargetFacts {
    let options = ["data=ordered", "relatime", "rw"];
    TargetFacts {
        path: "/mnt".to_owned(),
        filesystem: Seen::Yes(FileSystem {
            kind: "ext4".to_owned(),
            mount_point: "/mnt".to_owned(),
            source: "/dev/vda".to_owned(),
            options: options.map(str::to_owned).to_vec(),
            features: BTreeMap::from([("block_size".to_owned(), "4096".to_owned())]),
            size_bytes: 1000 * GIB,
            free_bytes: 500 * GIB,
            ..FileSystem::default()
        }),
        stack: vec![BlockLayer {
            name: "vda".to_owned(),
            kind: LayerKind::Disk,
            scheduler: Some("none".to_owned()),
            write_cache: Some("write back".to_owned()),
            logical_block_bytes: Some(512),
            physical_block_bytes: Some(4096),
            ..BlockLayer::default()
        }],
        leaves: vec!["vda".to_owned()],
        unseen: Vec::new(),
    }
}
