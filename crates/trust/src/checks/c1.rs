use crate::check::{Check, Judge, Outcome, grade};
use crate::evidence::{Ground, PhaseView, Traffic, is_virtual_disk};
use crate::load_comparison::alike;
use crate::shares::{CACHE_SHARE, share};
use crate::text::{bytes, percent};
use plumb_result::observe::{Counters, DeviceCounters, LayerKind, ProcessIo, Seen};
use plumb_result::{Level, LoadDeclared, LoadProcess, Remedy, UnderLoad};
use plumb_workload::{CachePolicy, OpKind};

/// Above this share of the device's time, others were part of the number.
const WARN_SHARE: f64 = 0.02;
/// Above this share, the number does not describe this load.
const FAIL_SHARE: f64 = 0.10;
/// Bytes that any living system writes and reads within a phase.
const TOLERATED_BYTES: u64 = 1 << 20;
/// Tolerated bytes if writers are out of sight: includes the structures that a file system
/// creates for its first files.
const UNSEEN_TOLERATED_BYTES: u64 = 16 << 20;
/// A file system that copies on write may write its own structures several times as large as the load's bytes.
const AMPLIFICATION: u64 = 4;
/// Cost of a request on a disk that seeks, in bytes that it could move in that time: about 8 ms at 130 MB/s.
const SEEK_BYTES: f64 = (1 << 20) as f64;
/// Cost of a request on flash, with one request at a time: 80 µs at 550 MB/s are 44 kB, 70 µs at 3.5 GB/s 245
/// kB. This is the lower end, so that small writes of a living system do not weigh more than they take.
/// Requests in flight together share it.
const FLASH_BYTES: f64 = (64 << 10) as f64;
/// The kernel may split a larger direct request, so that ops no longer count requests.
const UNSPLIT_BYTES: u64 = 64 << 10;
/// The largest request that a neighbour is assumed to make.
const LARGEST_REQUEST_BYTES: f64 = (1 << 20) as f64;
/// A block of metadata that an op may dirty.
const METADATA_BYTES: u64 = 4096;
/// Bytes that a flush may commit: a journal's descriptor, metadata and commit blocks, or a log tree.
const COMMIT_BYTES: u64 = 64 << 10;
/// The smallest request: a page.
const SMALLEST_REQUEST_BYTES: f64 = 4096.0;

pub(crate) static CHECK: Check = Check {
    code: "C1",
    title: "Others' I/O",
    what: "Whether other processes used the device during the phase, and how much of its time they took. What a file \
           system adds by itself (journal, metadata, readahead) belongs to the load. So reads beyond those the kernel \
           charged to Plumb count as foreign. Writes beyond Plumb's count only as far as other processes were seen \
           writing, and so do reads through a layer that reads by itself (parity RAID, snapshots, a loop device). A \
           loop device over memory, a RAM disk and zram are checked as well; tmpfs has no device to check. In a phase \
           without reads and writes there is no expected amount of I/O, so the check only notes.",
    why: "Cao et al., \"On the Performance Variation in Modern Storage Stacks\", FAST 2017: a quarter of the \
          configurations vary by more than 10 % between runs; other activity is the first suspect. Bytes alone \
          misjudge it both ways: a neighbour's write of 1 MiB is a third of the bytes of a small random load and a \
          thousandth of its time on a disk, while many small writes are few bytes compared with a large stream and \
          each of them is a seek. So each request counts as the bytes the device could have moved in that time.",
    how: "Bytes the leaf devices moved, less what was charged to Plumb; `/proc/*/io` of the most active processes, \
          which do not count where none of the active ones has a file on the devices, and are read behind a phase only if \
          the devices moved more than 1 MiB; requests from /proc/diskstats. Ops of up to 64 KiB under O_DIRECT, and a write before each fsync, are the \
          load's own; the other requests are divided by bytes. A request counts as 1 MiB on a disk that seeks and as \
          64 KiB, divided by the ops in flight, on flash; all of it times the share of the phase in which the device \
          was busy.",
    threshold: "more than 2 % of the device's time, and more than 1 MiB, warns; more than 10 % fails; noted where the \
                phase moved no data, or all it read came from memory, or the load was declared (`--under-load`); writes that \
                the load does not explain, where some processes are out of sight, fail only if they are also more than \
                4 times the load's, which a file system that copies on write could add, and else warn. A declared load that moves more than \
                1.2 times as many bytes on one side of a comparison warns, more than 1.5 times as many fails",
    settled: "2 % and 10 % as in A1, of time instead of bytes. Judged by bytes alone, a small random load was rejected \
              because of a neighbour's journal, and a log because of ten writes at the same time; both are tests now. \
              The cost of a request follows from hardware: 8 ms at 130 MB/s are 1 MiB; on flash 80 µs at 550 MB/s are \
              44 kB and 70 µs at 3.5 GB/s 245 kB, of which the lower end is used. Found in 300 of 300 runs on \
              simulated devices, with no false alarm in 1000 clean ones (docs/calibration.md). Of a load without a witness, \
              4 KiB for each change, 64 KiB for each flush, a fiftieth of the bytes and 16 MiB are taken for the file \
              system's. A declared load is in most cases a program that takes what the device leaves it, so its own rate \
              depends on the side that is measured: below a factor of 1.2 it is taken to be the same.",
    fix: &[Remedy::words("Stop the named process or wait for it, or use a separate device."), Remedy::DeclareLoad],
    judges: &[Judge::Phase(examine), Judge::Comparison(alike)],
};

/// Returns `true` if I/O of other processes between two samples can change the answer of this check. It cannot if the
/// devices moved no more than is tolerated; then the counters of processes need not be read.
pub fn others_can_matter(before: &Counters, after: &Counters) -> bool {
    let moved = |(name, after): (&String, &Seen<DeviceCounters>)| {
        let (after, before) = (after.value()?, before.devices.get(name)?.value()?);
        let read_bytes = after.read_bytes.saturating_sub(before.read_bytes);
        Some(read_bytes.saturating_add(after.write_bytes.saturating_sub(before.write_bytes)))
    };
    let moved: Option<u64> = after.devices.iter().map(moved).sum();
    after.devices.is_empty() || moved.is_none_or(|bytes| bytes > TOLERATED_BYTES)
}

/// I/O of others during a phase.
struct OthersIo<'a> {
    device: &'a DeviceCounters,
    foreign: Foreign,
    /// Bytes that the device wrote beyond the load's.
    beyond: u64,
    /// Share of the device's time.
    of_time: f64,
}

impl OthersIo<'_> {
    /// Returns a level if it is more than any living system does.
    fn level(&self) -> Option<Level> {
        if self.foreign.bytes() > TOLERATED_BYTES { grade(self.of_time, WARN_SHARE, FAIL_SHARE) } else { None }
    }
}

/// Divides the devices' traffic into the load's part and that of others; if that is impossible, returns
/// the outcome of the check.
fn others_io<'a>(view: &'a PhaseView<'_>) -> Result<OthersIo<'a>, Outcome> {
    match &view.ground {
        Ground::Nothing => return Err(Outcome::NotApplicable),
        // tmpfs has no device. A loop device over memory, a RAM disk and zram have one, which others can keep busy.
        Ground::Memory if view.leaves().is_empty() => return Err(Outcome::NotApplicable),
        Ground::Remote => return Err(Outcome::skipped("other clients of a server cannot be seen from here")),
        Ground::Unseen(reason) => return Err(Outcome::skipped(reason.clone())),
        Ground::Device | Ground::Memory => {}
    }
    let device = view.traffic.device.as_ref().map_err(|reason| Outcome::skipped(reason.clone()))?;
    if !others_can_matter(&view.seen.before, &view.seen.after) {
        return Err(Outcome::pass("the devices moved too little for others to matter"));
    }
    let named = view.seen.other_io.as_result();
    let (named_reads, named_writes) = named.as_ref().map_or((0, 0), |list| {
        (list.iter().map(|other| other.read_bytes).sum(), list.iter().map(|other| other.write_bytes).sum())
    });
    let reads = match &view.traffic.own {
        Ok(own) => {
            let beyond = device.read_bytes.saturating_sub(own.read_bytes);
            if reads_by_itself(view) { beyond.min(named_reads) } else { beyond }
        }
        Err(_) => device.read_bytes.saturating_sub(view.traffic.app_read).min(named_reads),
    };
    // Over RAID use the array's own counters, since a mirror or parity writes more than it is given.
    let written = view.traffic.top.filter(|_| view.has_layer(LayerKind::Md)).unwrap_or(*device).write_bytes;
    let beyond = written.saturating_sub(view.traffic.app_write.saturating_mul(view.traffic.copies));
    let foreign = Foreign { reads, writes: beyond.min(named_writes) };
    Ok(OthersIo { device, foreign, beyond, of_time: share_of_time(view, device, foreign) })
}

/// Returns the process that moved most, if it is visible and moved more than any living system does.
fn culprit<'a>(view: &'a PhaseView<'_>) -> Option<&'a ProcessIo> {
    let list = view.seen.other_io.as_result().ok()?;
    let largest = list.iter().max_by_key(|other| other.read_bytes + other.write_bytes)?;
    (largest.read_bytes + largest.write_bytes > TOLERATED_BYTES).then_some(largest)
}

/// Returns the load of others in a phase, if it was a part of the phase's numbers.
pub(crate) fn load_of(view: &PhaseView<'_>) -> Option<UnderLoad> {
    let io = others_io(view).ok()?;
    let (foreign, of_time) = match (io.level(), unseen_writes(view, &io)) {
        (Some(_), _) => (io.foreign, io.of_time),
        (None, Some(unseen)) => (Foreign { writes: unseen.bytes, ..io.foreign }, unseen.of_time),
        (None, None) => return None,
    };
    if view.traffic.app_read + view.traffic.app_write == 0 || all_from_memory(view) {
        return None;
    }
    let seconds = (view.measured.wall_ns as f64 / 1e9).max(f64::MIN_POSITIVE);
    Some(UnderLoad {
        declared: LoadDeclared::No,
        phase: view.measured.name.clone(),
        device_share: of_time,
        processor_share: 0.0,
        read_bytes_per_second: foreign.reads as f64 / seconds,
        write_bytes_per_second: foreign.writes as f64 / seconds,
        by: culprit(view).map(|process| LoadProcess {
            command: process.command.clone(),
            pid: process.pid,
            with_children: process.with_children,
        }),
    })
}

fn examine(view: &PhaseView<'_>) -> Outcome {
    let io = match others_io(view) {
        Ok(io) => io,
        Err(outcome) => return outcome,
    };
    let foreign = io.foreign.bytes();
    let observed = format!("{} by others ({} of the device's time)", bytes(foreign), percent(io.of_time));
    let Some(level) = io.level() else { return none_named(view, &io, observed) };
    let hidden = hidden(view);
    let who = match culprit(view) {
        Some(process) => format!(
            "most of it by {} (process {}: {} read, {} written)",
            describe_process(process),
            process.pid,
            bytes(process.read_bytes),
            bytes(process.write_bytes)
        ),
        None => match hidden {
            Some(reason) => format!("and who did cannot be seen: {reason}"),
            None => "by no visible process: a rebuild, a scrub or another guest".to_owned(),
        },
    };
    let message =
        format!("Others used about {} of the device's time ({}), {who}.", percent(io.of_time), bytes(foreign));
    // Without reads and writes there is no expected traffic to compare with. And the device's other users did not
    // slow down reads from memory.
    let is_expected = view.traffic.app_read + view.traffic.app_write > 0 && !all_from_memory(view);
    let outcome = Outcome::found(if is_expected { level } else { Level::Note }, observed, message);
    match (hidden, culprit(view)) {
        (Some(_), None) => outcome.remedies(out_of_sight_remedies()),
        _ => outcome,
    }
}

/// Returns the reason if some processes are out of sight.
fn hidden<'a>(view: &'a PhaseView<'_>) -> Option<&'a str> {
    match (view.seen.other_io.as_result(), &view.seen.hidden_io) {
        (Ok(_), hidden) => hidden.as_deref(),
        (Err(reason), _) => Some(reason),
    }
}

fn out_of_sight_remedies() -> Vec<Remedy> {
    vec![Remedy::RunAsRoot, Remedy::words("Use a device of its own."), Remedy::DeclareLoad]
}

/// The kernel adds the I/O of ended children to the parent that waited for them.
fn describe_process(process: &ProcessIo) -> String {
    match process.with_children {
        true => format!("programs that {} ran and waited for, or by itself", process.command),
        false => process.command.clone(),
    }
}

/// Writes that neither the load nor a named process explains.
struct UnseenWrites {
    bytes: u64,
    /// Share of the device's time.
    of_time: f64,
    level: Level,
}

/// Returns writes of processes out of sight, if they are more than a file system adds by itself. They reject a run
/// only if they are also more than a file system that copies on write could add.
fn unseen_writes(view: &PhaseView<'_>, io: &OthersIo<'_>) -> Option<UnseenWrites> {
    hidden(view)?;
    let beyond = io.beyond.saturating_sub(io.foreign.writes);
    let bytes = beyond.saturating_sub(added_by_itself(view)).saturating_sub(dirty_before(view));
    let of_time = share_of_time(view, io.device, Foreign { reads: 0, writes: bytes });
    if bytes <= UNSEEN_TOLERATED_BYTES || all_from_memory(view) {
        return None;
    }
    let level = match grade(of_time, WARN_SHARE, FAIL_SHARE)? {
        Level::Fail if bytes <= view.traffic.app_write.saturating_mul(AMPLIFICATION) => Level::Warn,
        level => level,
    };
    Some(UnseenWrites { bytes, of_time, level })
}

/// Judges a phase in which no visible process took much. It does not pass if some processes are out of sight and the
/// device wrote more than a file system adds by itself.
fn none_named(view: &PhaseView<'_>, io: &OthersIo<'_>, observed: String) -> Outcome {
    let Some(reason) = hidden(view) else { return Outcome::pass(observed) };
    if let Some(unseen) = unseen_writes(view, io) {
        let message = format!(
            "The device wrote {} more than this load explains ({} of its time), and who wrote them cannot be seen: {reason}.",
            bytes(unseen.bytes),
            percent(unseen.of_time)
        );
        // Without reads and writes there is no expected traffic to compare with.
        let is_expected = view.traffic.app_read + view.traffic.app_write > 0;
        let level = if is_expected { unseen.level } else { Level::Warn };
        return Outcome::found(level, observed, message).remedies(out_of_sight_remedies());
    }
    let beyond = io.beyond.saturating_sub(io.foreign.writes);
    // Direct writes are on the device, so others can have written only the rest. Buffered ones may still be in
    // memory, and then all of the device's writes may be others'.
    let is_little = view.cache() == CachePolicy::Direct
        && (beyond <= TOLERATED_BYTES
            || share_of_time(view, io.device, Foreign { reads: 0, writes: beyond }) <= WARN_SHARE);
    if (view.traffic.app_write > 0 && !is_little) || view.traffic.own.is_err() {
        return Outcome::skipped(format!("what other processes wrote cannot be seen ({reason})"));
    }
    Outcome::pass(observed)
}

/// Returns the dirty pages of the machine when the clock started: the device writes them sooner
/// or later, for any process.
fn dirty_before(view: &PhaseView<'_>) -> u64 {
    view.seen.before.memory.value().map_or(0, |memory| memory.dirty_bytes.saturating_add(memory.writeback_bytes))
}

/// Returns the bytes that a file system may write on its own for this load: a block of metadata for each op, a commit
/// for each flush, and a little of everything. With data in the journal, all of it twice.
fn added_by_itself(view: &PhaseView<'_>) -> u64 {
    const FLUSHES: [OpKind; 3] = [OpKind::Fsync, OpKind::Fdatasync, OpKind::EndFsync];
    let flushes: u64 = FLUSHES.iter().map(|kind| view.ops(*kind)).sum();
    let changes: u64 = view
        .measured
        .ops
        .iter()
        .filter(|(kind, _)| !matches!(kind, OpKind::Read) && !FLUSHES.contains(kind))
        .map(|(_, op)| op.count)
        .sum();
    let journaled = view
        .facts()
        .any(|facts| facts.filesystem.value().is_some_and(|fs| fs.options.iter().any(|one| one == "data=journal")));
    let app_write = view.traffic.app_write;
    let twice = if journaled { app_write } else { 0 };
    changes
        .saturating_mul(METADATA_BYTES)
        .saturating_add(flushes.saturating_mul(COMMIT_BYTES))
        .saturating_add(app_write / 50)
        .saturating_add(twice)
}

/// Returns `true` if the phase only read, and hardly any of it came from the devices.
fn all_from_memory(view: &PhaseView<'_>) -> bool {
    let Traffic { app_read, app_write, .. } = view.traffic;
    let served = view.traffic.read_sources().ok().and_then(|sources| share(sources.device, app_read));
    app_write == 0 && served.is_some_and(|served| served <= CACHE_SHARE)
}

/// Bytes that others moved.
#[derive(Clone, Copy)]
struct Foreign {
    reads: u64,
    writes: u64,
}

impl Foreign {
    const fn bytes(self) -> u64 {
        self.reads + self.writes
    }
}

/// Returns the share of the device's time that others took, 0–1.
///
/// A request costs an overhead and its bytes. Only the ratio of the two is needed, since the load itself shows the
/// speed of the device: others' cost over the total cost is their share of the time in which the device was busy.
fn share_of_time(view: &PhaseView<'_>, device: &DeviceCounters, foreign: Foreign) -> f64 {
    let overhead = request_bytes(view);
    let requests = |all: u64, all_bytes: u64, foreign_bytes: u64, kind: OpKind| {
        others_requests(view, Direction { requests: all, bytes: all_bytes, foreign_bytes, kind })
    };
    let others_requests = requests(device.reads, device.read_bytes, foreign.reads, OpKind::Read)
        + requests(device.writes, device.write_bytes, foreign.writes, OpKind::Write);
    let others = others_requests * overhead + (foreign.reads + foreign.writes) as f64;
    let all_requests = (device.reads + device.writes + device.flushes.unwrap_or(0)) as f64;
    // Compare with the load if that is larger: others' I/O matters little to reads from memory.
    let moved = (device.read_bytes + device.write_bytes).max(view.traffic.app_read + view.traffic.app_write) as f64;
    let all = (all_requests.max(others_requests) * overhead + moved).max(others);
    if all > 0.0 { others / all * busy_share(view, device) } else { 0.0 }
}

/// One direction of the device's traffic.
struct Direction {
    requests: u64,
    bytes: u64,
    foreign_bytes: u64,
    kind: OpKind,
}

/// Returns the number of requests of others. Small direct ops are the load's own requests, and the rest are
/// others'. Otherwise others' requests are assumed to be as large as all, but each requested flush had a request of
/// the load's own before it.
fn others_requests(view: &PhaseView<'_>, direction: Direction) -> f64 {
    let Direction { requests, bytes, foreign_bytes, kind } = direction;
    if foreign_bytes == 0 || requests == 0 || bytes == 0 {
        return 0.0;
    }
    let foreign_bytes = foreign_bytes as f64;
    let beside = |own: u64| requests.saturating_sub(own) as f64;
    let by_bytes = requests as f64 * foreign_bytes / bytes as f64;
    let estimate = match kind {
        _ if ops_are_requests(view) => beside(view.ops(kind)),
        OpKind::Write => {
            let flushes = [OpKind::Fsync, OpKind::Fdatasync, OpKind::EndFsync].map(|kind| view.ops(kind));
            by_bytes.min(beside(flushes.iter().sum()))
        }
        _ => by_bytes,
    };
    estimate.clamp(foreign_bytes / LARGEST_REQUEST_BYTES, (foreign_bytes / SMALLEST_REQUEST_BYTES).max(1.0))
}

fn ops_are_requests(view: &PhaseView<'_>) -> bool {
    view.cache() == CachePolicy::Direct
        && view.plan.workers.iter().all(|group| group.work.largest_op_bytes().is_some_and(|most| most <= UNSPLIT_BYTES))
}

/// Returns the cost of a request, in bytes that the device could move in that time. Hypervisors report
/// all their disks as rotational.
fn request_bytes(view: &PhaseView<'_>) -> f64 {
    let seeks = view.leaves().iter().any(|leaf| {
        leaf.rotational == Some(true)
            && (leaf.kind == LayerKind::Sim || !view.is_virtual_machine())
            && !is_virtual_disk(leaf)
    });
    if seeks { SEEK_BYTES } else { FLASH_BYTES / view.measured.in_flight_mean.max(1.0) }
}

/// Returns the share of the phase in which the devices were busy; 1 if they do not report it.
fn busy_share(view: &PhaseView<'_>, device: &DeviceCounters) -> f64 {
    let passed_ms = view.seen.after.at_ns.saturating_sub(view.seen.before.at_ns) as f64 / 1e6;
    let leaves = view.leaves().len().max(1) as f64;
    if device.busy_ms == 0 || passed_ms <= 0.0 {
        return 1.0;
    }
    (device.busy_ms as f64 / leaves / passed_ms).min(1.0)
}

/// Returns `true` if a layer makes reads of its own: parity of a partial stripe, a snapshot's original,
/// readahead of a backing file.
fn reads_by_itself(view: &PhaseView<'_>) -> bool {
    const PLAIN: [LayerKind; 4] = [LayerKind::Disk, LayerKind::Partition, LayerKind::Crypt, LayerKind::Sim];
    view.has_layer(LayerKind::Loop)
        || (view.traffic.app_write > 0 && view.layers().any(|layer| !PLAIN.contains(&layer.kind)))
}

#[cfg(test)]
mod tests {
    use super::{TOLERATED_BYTES, others_can_matter};
    use crate::fixture::{MIB, Scene};
    use plumb_result::observe::{Counters, DeviceCounters, Seen};
    use plumb_result::{Level, Remedy};
    use plumb_workload::CachePolicy;

    #[test]
    fn a_quiet_machine_passes() {
        assert_eq!(Scene::reading(1000 * MIB).level("C1"), Some(Level::Pass));
        assert_eq!(Scene::writing(1000 * MIB).level("C1"), Some(Level::Pass));
        // Readahead, metadata and a journal are the load's own.
        assert_eq!(
            Scene::reading(1000 * MIB).device_read(1001 * MIB).own_read(1001 * MIB).level("C1"),
            Some(Level::Pass)
        );
        assert_eq!(Scene::writing(MIB).device_write(5 * MIB).level("C1"), Some(Level::Pass));
        assert_eq!(Scene::stats(1000).device_write(4 * MIB).level("C1"), Some(Level::Pass));
    }

    // Protects: the I/O of processes is only read if it can change the answer, and
    // is never reported missing otherwise.
    #[test]
    fn processes_are_not_examined_if_devices_hardly_moved() {
        let little = Scene::writing(MIB).device_write(MIB / 2).unseen_others("not read");
        assert_eq!(little.level("C1"), Some(Level::Pass));
        let much = Scene::writing(MIB).device_write(5 * MIB).unseen_others("not read");
        assert_eq!(much.level("C1"), Some(Level::Skipped), "what others wrote cannot be seen");
        let devices = |bytes: u64| {
            let counters = DeviceCounters { write_bytes: bytes, ..DeviceCounters::default() };
            Counters { devices: [("vda".to_owned(), Seen::Yes(counters))].into(), ..Counters::default() }
        };
        assert!(!others_can_matter(&devices(0), &devices(TOLERATED_BYTES)));
        assert!(others_can_matter(&devices(0), &devices(TOLERATED_BYTES + 1)));
        assert!(
            others_can_matter(&Counters::default(), &devices(0)),
            "a device that was not seen before may have moved"
        );
        assert!(others_can_matter(&Counters::default(), &Counters::default()), "no device is known");
    }

    #[test]
    fn a_concurrent_reader_is_named() {
        let scene =
            |other: u64| Scene::reading(1000 * MIB).device_read((1000 + other) * MIB).other("updatedb", other * MIB, 0);
        assert_eq!(scene(20).level("C1"), Some(Level::Pass));
        assert_eq!(scene(21).level("C1"), Some(Level::Warn));
        let finding = scene(200).finding("C1").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("updatedb"), "{}", finding.message);
    }

    /// Memory answered: others on the disk did not slow it down.
    #[test]
    fn others_on_a_disk_that_was_not_needed_are_noted() {
        let cached = Scene::reading(1000 * MIB).cache(CachePolicy::AsIs).own_read(0);
        let scene = cached.device_read(0).device_write(600 * MIB).other("backup", 0, 600 * MIB);
        assert_eq!(scene.level("C1"), Some(Level::Note));
    }

    #[test]
    fn a_writer_counts_only_if_the_device_wrote_more_than_the_load() {
        let scene = |wrote: u64| Scene::writing(1000 * MIB).device_write(wrote * MIB).other("backup", 0, 500 * MIB);
        assert_eq!(scene(1000).level("C1"), Some(Level::Pass));
        assert_eq!(scene(1500).level("C1"), Some(Level::Fail));
    }

    /// A resync reads without any process.
    #[test]
    fn reads_without_a_process_still_count() {
        let finding = Scene::reading(1000 * MIB).device_read(2000 * MIB).finding("C1").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("no visible process"), "{}", finding.message);
    }

    /// A loop device over memory has counters like any other.
    #[test]
    fn a_concurrent_writer_on_a_loop_device_over_memory_is_named() {
        let scene = |wrote: u64| {
            Scene::writing(1000 * MIB)
                .leaf_layer(|disk| {
                    disk.kind = plumb_result::observe::LayerKind::Loop;
                    disk.settings.insert("medium".to_owned(), "memory".to_owned());
                })
                .device_write((1000 + wrote) * MIB)
                .other("fio", 0, wrote * MIB)
        };
        assert_eq!(scene(0).level("C1"), Some(Level::Pass));
        let finding = scene(500).finding("C1").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("fio"), "{}", finding.message);
        assert_eq!(Scene::writing(MIB).in_memory().level("C1"), None, "tmpfs has no device");
    }

    /// Readahead of the backing file belongs to the load.
    #[test]
    fn a_loop_device_may_read_ahead() {
        let scene = || Scene::reading(1000 * MIB).on_loop().device_read(1100 * MIB);
        assert_eq!(scene().level("C1"), Some(Level::Pass));
        assert_eq!(scene().other("updatedb", 90 * MIB, 0).level("C1"), Some(Level::Warn));
    }

    #[test]
    fn the_second_copy_of_a_mirror_belongs_to_the_load() {
        let scene = Scene::writing(1000 * MIB).mirror(1000 * MIB).other("backup", 0, 1000 * MIB);
        assert_eq!(scene.level("C1"), Some(Level::Pass));
    }

    /// 400 direct reads of 4 KiB take a disk 4 s, and a journal's three writes during them 30 ms: 43 % of the bytes,
    /// and 1 % of the time.
    #[test]
    fn a_neighbours_journal_does_not_reject_a_small_random_load() {
        let load = |others: u64, requests: u64| {
            Scene::reading(400 * 4096)
                .cache(CachePolicy::Direct)
                .rotational(true)
                .device_write(others)
                .device_requests(400, requests)
                .other("jbd2/vda", 0, others)
        };
        assert_eq!(load(1_200_000, 3).level("C1"), Some(Level::Pass));
        // The same number of bytes in small requests are as many seeks as the load's own.
        assert_eq!(load(1_200_000, 290).level("C1"), Some(Level::Fail));
    }

    /// 1000 appends that are each made durable, and a neighbour's ten large writes.
    #[test]
    fn a_log_is_not_rejected_for_ten_concurrent_writes() {
        let log = |requests: u64| {
            Scene::writing(1000 * 4096)
                .fsyncs(1000, 800_000)
                .flushes(1000)
                .device_write(1000 * 4096 + 2 * MIB)
                .device_requests(0, requests)
                .other("rsyslogd", 0, 2 * MIB)
        };
        assert_eq!(log(1010).level("C1"), Some(Level::Pass));
        assert_eq!(log(1500).level("C1"), Some(Level::Fail));
    }

    /// On flash a neighbour's stream next to 4 KiB reads takes the link, although the number of reads is larger.
    #[test]
    fn a_stream_next_to_small_reads_is_seen_by_its_bytes() {
        let load = |others: u64| {
            Scene::reading(100_000 * 4096)
                .cache(CachePolicy::Direct)
                .device_write(others * MIB)
                .device_requests(100_000, others)
                .other("backup", 0, others * MIB)
        };
        assert_eq!(load(100).level("C1"), Some(Level::Pass));
        assert_eq!(load(500).level("C1"), Some(Level::Warn));
        assert_eq!(load(5000).level("C1"), Some(Level::Fail));
    }

    /// A load of ten reads per second leaves the device idle; others' I/O rarely meets it.
    #[test]
    fn an_idle_device_has_time_for_others() {
        let load = || Scene::reading(1000 * MIB).device_read(1500 * MIB).other("updatedb", 500 * MIB, 0);
        assert_eq!(load().busy(1.0).level("C1"), Some(Level::Fail));
        assert_eq!(load().busy(0.2).level("C1"), Some(Level::Warn));
        assert_eq!(load().busy(0.05).level("C1"), Some(Level::Pass));
    }

    #[test]
    fn metadata_has_no_expectation() {
        let scene = Scene::stats(1000).device_read(100 * MIB).other("updatedb", 100 * MIB, 0);
        assert_eq!(scene.level("C1"), Some(Level::Note));
    }

    /// An ordinary user cannot read the counters of others, even if one of their own processes moved a little.
    #[test]
    fn writes_of_processes_out_of_sight_are_a_caution() {
        let hidden = |scene: Scene| scene.hidden_others("the I/O of 70 of 75 processes is hidden from this user");
        let little = hidden(Scene::reading(1000 * MIB).device_write(16 * MIB));
        assert_eq!(little.level("C1"), Some(Level::Pass));
        let neighbour = || hidden(Scene::reading(1000 * MIB).device_write(1900 * MIB).other("bash", 0, 4096));
        let finding = neighbour().finding("C1").unwrap();
        assert_eq!(finding.level, Level::Fail, "a load of reads makes a file system write next to nothing");
        assert!(finding.message.contains("1.9 GiB more than this load explains"), "{}", finding.message);
        assert!(finding.message.contains("hidden from this user"), "{}", finding.message);
        let load = neighbour().judge().under_load.expect("the verdict names the load");
        assert_eq!((load.by.is_none(), load.write_bytes_per_second > 0.0), (true, true), "{load:?}");
        let refused = Scene::reading(1000 * MIB).device_write(1900 * MIB).unseen_others("EACCES");
        assert_eq!(refused.level("C1"), Some(Level::Fail));
        let reader = hidden(Scene::reading(1000 * MIB).device_read(1900 * MIB)).finding("C1").unwrap();
        assert_eq!(reader.level, Level::Fail);
        assert!(reader.message.contains("cannot be seen: the I/O of 70 of 75"), "{}", reader.message);
        assert!(reader.remedies.contains(&Remedy::RunAsRoot), "{:?}", reader.remedies);
        // Bytes that a file system adds are not a neighbour's: a stream, a log, and a journal of data.
        let stream = |cache: CachePolicy, written: u64| {
            let mut scene = hidden(Scene::writing(1000 * MIB).cache(cache).device_write(written * MIB));
            scene.measured().ops.values_mut().for_each(|op| op.count = 1000);
            scene.level("C1")
        };
        let buffered = CachePolicy::AsIs;
        assert_eq!(stream(buffered, 1010), Some(Level::Skipped), "the load's own may be in memory");
        assert_eq!(stream(CachePolicy::Direct, 1010), Some(Level::Pass), "1 % is little for any writer");
        assert_eq!(stream(CachePolicy::Direct, 1030), Some(Level::Skipped));
        assert_eq!(stream(buffered, 1500), Some(Level::Warn), "a file system that copies on write could add as much");
        assert_eq!(stream(buffered, 6000), Some(Level::Fail), "none adds five times the load");
        let log = Scene::writing(1000 * 4096).fsyncs(1000, 800_000).flushes(1000).device_write(1000 * 20_480);
        assert_eq!(hidden(log.device_requests(0, 3000)).level("C1"), Some(Level::Skipped));
        let journal = hidden(Scene::writing(1000 * MIB).device_write(2010 * MIB).mount_option("data=journal"));
        assert_eq!(journal.level("C1"), Some(Level::Skipped));
        assert_eq!(hidden(Scene::reading(1000 * MIB)).level("C1"), Some(Level::Pass), "nothing was written");
    }

    #[test]
    fn a_parent_is_not_blamed_for_the_programs_it_ran() {
        let mut scene = Scene::reading(1000 * MIB).device_read(1900 * MIB).other("sleep", 900 * MIB, 0);
        if let Seen::Yes(others) = &mut scene.seen().other_io {
            others[0].with_children = true;
        }
        let message = scene.finding("C1").unwrap().message;
        assert!(message.contains("by programs that sleep ran and waited for, or by itself"), "{message}");
        // The verdict above the table agrees.
        let load = scene.judge().under_load.unwrap();
        assert_eq!(load.source(), "programs run by sleep (pid 4711)");
    }

    #[test]
    fn writers_that_were_not_seen_are_not_absent() {
        assert_eq!(Scene::writing(2 * MIB).unseen_others("EPERM").level("C1"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).unseen_devices("x").level("C1"), Some(Level::Skipped));
    }
}
