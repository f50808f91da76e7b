//! Queueing models of storage media: one head over a spinning disk, or many flash channels behind a link.
//!
//! Both compute immediately when an op will complete. Times are virtual ns, passed in ascending order.

use crate::rng::Rng;
use plumb_workload::SimModel;

/// Factors on the nominal time of an op.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    /// Factor of the whole device: slow, drift, throttling, others' share …
    pub(super) device: f64,
    /// Factor of this op.
    pub(super) jitter: f64,
}

impl Stretch {
    /// Stretches time that this op does not share with others.
    pub(super) fn all(self, ns: f64) -> u64 {
        Stretch::bounded(ns * self.device * self.jitter)
    }

    /// 13 days, so that sums of absurd faults stay within `u64`; a phase is refused long before.
    pub(super) const LONGEST_NS: u64 = 1 << 50;

    /// Stretches time on a resource that all ops in flight share. The jitter of one op must not lower the ceiling.
    fn shared(self, ns: f64) -> u64 {
        Stretch::bounded(ns * self.device)
    }

    fn bounded(ns: f64) -> u64 {
        ((ns + 0.5) as u64).min(Stretch::LONGEST_NS)
    }
}

/// A range of bytes on the device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl Range {
    const fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Model of a storage medium.
#[derive(Debug, Clone)]
pub(super) enum Media {
    Disk(Disk),
    Flash(Box<Flash>),
}

impl Media {
    pub(super) fn new(model: SimModel, size_bytes: u64, rng: Rng) -> Media {
        match model {
            SimModel::Hdd => Media::Disk(Disk::new(size_bytes, rng)),
            SimModel::Ssd => Media::Flash(Box::new(Flash::new(FlashSpec::SSD))),
            SimModel::Nvme => Media::Flash(Box::new(Flash::new(FlashSpec::NVME))),
            SimModel::Ram => Media::Flash(Box::new(Flash::new(FlashSpec::RAM))),
        }
    }

    /// Returns the coefficient of variation of one op's time. A disk varies mostly by seek
    /// and rotation, which are drawn separately.
    pub(super) const fn jitter_cv(model: SimModel) -> f64 {
        match model {
            SimModel::Hdd => 0.02,
            SimModel::Ssd | SimModel::Nvme => 0.15,
            SimModel::Ram => 0.10,
        }
    }

    /// Returns the device's nominal throughput.
    pub(super) const fn bytes_per_second(model: SimModel) -> u64 {
        match model {
            SimModel::Hdd => Disk::BYTES_PER_SECOND,
            SimModel::Ssd => FlashSpec::SSD.bytes_per_second,
            SimModel::Nvme => FlashSpec::NVME.bytes_per_second,
            SimModel::Ram => FlashSpec::RAM.bytes_per_second,
        }
    }

    /// Returns the capacity of the link. It exceeds the nominal throughput, so that a
    /// lucky run does not look impossible.
    pub(super) const fn link_bytes_per_second(model: SimModel) -> u64 {
        match model {
            SimModel::Hdd => SATA_BYTES_PER_SECOND,
            SimModel::Ssd => FlashSpec::SSD.link_bytes_per_second,
            SimModel::Nvme => FlashSpec::NVME.link_bytes_per_second,
            SimModel::Ram => FlashSpec::RAM.link_bytes_per_second,
        }
    }

    /// Returns the completion time of a read. `queued` is the number of ops in flight before it.
    pub(super) fn read(&mut self, now_ns: u64, range: Range, queued: u64, stretch: Stretch) -> u64 {
        match self {
            Media::Disk(disk) => disk.read(now_ns, range, queued, stretch),
            Media::Flash(flash) => flash.serve(now_ns, flash.spec.read_ns, range.length, stretch),
        }
    }

    /// Returns the completion time of a write, into the device's own volatile cache while there is room.
    pub(super) fn write(&mut self, now_ns: u64, range: Range, stretch: Stretch) -> u64 {
        match self {
            Media::Disk(disk) => disk.write(now_ns, range, stretch),
            Media::Flash(flash) => {
                let done_ns = flash.serve(now_ns, flash.spec.write_ns, range.length, stretch);
                flash.last_write_ns = flash.last_write_ns.max(done_ns);
                done_ns
            }
        }
    }

    /// Returns the nominal device time of this write when a page cache writes it back, ns.
    pub(super) fn writeback_cost(&mut self, range: Range) -> f64 {
        match self {
            Media::Disk(disk) => disk.write_cost(range),
            Media::Flash(flash) => flash.link_ns(range.length),
        }
    }

    /// Returns the time at which everything written so far, and `writeback_ns` of deferred writes
    /// before it, is on the medium.
    pub(super) fn flush(&mut self, now_ns: u64, writeback_ns: f64, stretch: Stretch) -> u64 {
        match self {
            Media::Disk(disk) => disk.flush(now_ns, writeback_ns, stretch),
            Media::Flash(flash) => flash.flush(now_ns, writeback_ns, stretch),
        }
    }

    /// Keeps one server busy until `until_ns`.
    pub(super) fn hold(&mut self, until_ns: u64) {
        match self {
            Media::Disk(disk) => disk.head_free_ns = disk.head_free_ns.max(until_ns),
            Media::Flash(flash) => flash.occupy_earliest(until_ns),
        }
    }
}

/// SATA at 6 Gbit/s with 8b/10b coding.
const SATA_BYTES_PER_SECOND: u64 = 600_000_000;
/// PCIe 3.0 with four lanes, 8 GT/s each with 128b/130b coding.
const PCIE_BYTES_PER_SECOND: u64 = 3_938_000_000;

/// A 7200 rpm disk: one head, first come first served, with a volatile write cache.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    size_bytes: f64,
    rng: Rng,
    head_free_ns: u64,
    /// Position of the head.
    head: u64,
    /// End of the last read and of the last write. A stream that continues there needs no positioning.
    read_end: u64,
    write_end: u64,
    /// Time that the head still needs for the writes in the cache, which it does when idle.
    deferred_ns: u64,
}

impl Disk {
    const BYTES_PER_SECOND: u64 = 210_000_000;
    const NS_PER_BYTE: f64 = 1e9 / Disk::BYTES_PER_SECOND as f64;
    /// SATA, 6 Gbit/s.
    const LINK_NS_PER_BYTE: f64 = 1e9 / 550e6;
    const COMMAND_NS: f64 = 15_000.0;
    const ROTATION_NS: f64 = 60e9 / 7200.0;
    /// To the next track.
    const SEEK_SHORTEST_NS: f64 = 800_000.0;
    /// In addition, from the first track to the last.
    const SEEK_STROKE_NS: f64 = 11_000_000.0;
    /// The disk waits out a gap up to this length instead of seeking.
    const SKIP_BYTES: u64 = 1 << 20;
    /// Native command queueing holds this many ops.
    const QUEUE: u64 = 32;
    /// Positioning time of writes from the cache, which the disk sorts, relative to that of a lone op.
    const SORTED: f64 = 0.4;
    /// The write cache, as time: 64 MiB at the medium's rate.
    const WRITE_CACHE_NS: u64 = ((64 << 20) as f64 * Disk::NS_PER_BYTE) as u64;

    fn new(size_bytes: u64, rng: Rng) -> Disk {
        let size_bytes = size_bytes.max(1) as f64;
        Disk { size_bytes, rng, head_free_ns: 0, head: 0, read_end: 0, write_end: 0, deferred_ns: 0 }
    }

    /// Moves the head to the end of the range. Returns the seek and rotation time for a
    /// stream that last ended at `stream_end`.
    fn position(&mut self, range: Range, stream_end: u64) -> f64 {
        let from = std::mem::replace(&mut self.head, range.end());
        if let Some(gap) = range.offset.checked_sub(stream_end)
            && gap <= Disk::SKIP_BYTES
        {
            return gap as f64 * Disk::NS_PER_BYTE;
        }
        let distance = (from.abs_diff(range.offset) as f64 / self.size_bytes).min(1.0);
        // The arm accelerates half of the way and brakes the other half, so the time is proportional
        // to the root of the distance.
        let seek = Disk::SEEK_SHORTEST_NS + Disk::SEEK_STROKE_NS * distance.sqrt();
        seek + Disk::ROTATION_NS * self.rng.unit()
    }

    /// Writes out the cache during the head's idle time.
    fn settle(&mut self, now_ns: u64) {
        let idle_ns = now_ns.saturating_sub(self.head_free_ns);
        self.deferred_ns = self.deferred_ns.saturating_sub(idle_ns);
        self.head_free_ns = self.head_free_ns.max(now_ns);
    }

    fn read(&mut self, now_ns: u64, range: Range, queued: u64, stretch: Stretch) -> u64 {
        self.settle(now_ns);
        let position = self.position(range, self.read_end);
        self.read_end = range.end();
        // The disk serves the nearest of the queued ops. The root law gives the threefold gain at
        // depth 32 that such disks show.
        let nearest = 1.0 / (1.0 + queued.min(Disk::QUEUE - 1) as f64 / 4.0).sqrt();
        let nominal = Disk::COMMAND_NS + position * nearest + range.length as f64 * Disk::NS_PER_BYTE;
        self.head_free_ns += stretch.all(nominal);
        self.head_free_ns
    }

    fn write_cost(&mut self, range: Range) -> f64 {
        let position = self.position(range, self.write_end);
        self.write_end = range.end();
        position * Disk::SORTED + range.length as f64 * Disk::NS_PER_BYTE
    }

    fn write(&mut self, now_ns: u64, range: Range, stretch: Stretch) -> u64 {
        self.settle(now_ns);
        let cost_ns = stretch.all(Disk::COMMAND_NS + self.write_cost(range));
        let wanted_ns = self.deferred_ns + cost_ns;
        // Writes that do not fit into the cache take the head, in turn with the reads.
        let excess_ns = wanted_ns.saturating_sub(Disk::WRITE_CACHE_NS);
        self.deferred_ns = wanted_ns - excess_ns;
        let sent_ns = now_ns + stretch.all(Disk::COMMAND_NS + range.length as f64 * Disk::LINK_NS_PER_BYTE);
        if excess_ns == 0 {
            return sent_ns;
        }
        self.head_free_ns += excess_ns;
        sent_ns.max(self.head_free_ns)
    }

    fn flush(&mut self, now_ns: u64, writeback_ns: f64, stretch: Stretch) -> u64 {
        self.settle(now_ns);
        let deferred_ns = std::mem::take(&mut self.deferred_ns);
        self.head_free_ns += deferred_ns + stretch.shared(writeback_ns) + stretch.all(Disk::ROTATION_NS);
        self.head_free_ns
    }
}

/// Parameters of a device without moving parts. Each op holds one channel, and the link for its bytes.
#[derive(Debug, Clone, Copy)]
struct FlashSpec {
    read_ns: f64,
    write_ns: f64,
    flush_ns: f64,
    channels: usize,
    /// Throughput of the controller, below the capacity of the link.
    bytes_per_second: u64,
    link_bytes_per_second: u64,
    /// Link time of each command, regardless of its length: the ceiling on ops per second.
    command_ns: f64,
}

impl FlashSpec {
    /// 4 KiB: 80 µs read, 30 µs write; 95,000 ops/s at depth 32.
    const SSD: FlashSpec = FlashSpec {
        read_ns: 70_000.0,
        write_ns: 20_000.0,
        flush_ns: 500_000.0,
        channels: 32,
        bytes_per_second: 550_000_000,
        link_bytes_per_second: SATA_BYTES_PER_SECOND,
        command_ns: 3_000.0,
    };
    /// 4 KiB: 70 µs read, 20 µs write; 460,000 ops/s at depth 64.
    const NVME: FlashSpec = FlashSpec {
        read_ns: 67_800.0,
        write_ns: 17_800.0,
        flush_ns: 120_000.0,
        channels: 64,
        bytes_per_second: 3_500_000_000,
        link_bytes_per_second: PCIE_BYTES_PER_SECOND,
        command_ns: 1_000.0,
    };
    /// 4 KiB: 1 µs.
    const RAM: FlashSpec = FlashSpec {
        read_ns: 790.0,
        write_ns: 790.0,
        flush_ns: 1_000.0,
        channels: 16,
        bytes_per_second: 20_000_000_000,
        link_bytes_per_second: 25_000_000_000,
        command_ns: 5.0,
    };
}

const CHANNELS_MAX: usize = 64;

/// Flash or memory: parallel channels, and one link.
#[derive(Debug, Clone)]
pub(super) struct Flash {
    spec: FlashSpec,
    /// Time at which each channel becomes free: a binary heap with the earliest first.
    free_ns: [u64; CHANNELS_MAX],
    link_free_ns: u64,
    last_write_ns: u64,
}

impl Flash {
    fn new(spec: FlashSpec) -> Flash {
        Flash { spec, free_ns: [0; CHANNELS_MAX], link_free_ns: 0, last_write_ns: 0 }
    }

    fn link_ns(&self, length: u64) -> f64 {
        self.spec.command_ns + length as f64 * (1e9 / self.spec.bytes_per_second as f64)
    }

    /// Returns the link time in this run. Even a lucky run cannot exceed the link's capacity.
    fn stretched_link_ns(&self, length: u64, stretch: Stretch) -> u64 {
        let least_ns = length as f64 * (1e9 / self.spec.link_bytes_per_second as f64);
        stretch.shared(self.link_ns(length)).max(least_ns.ceil() as u64)
    }

    fn occupy_earliest(&mut self, until_ns: u64) {
        let heap = &mut self.free_ns[..self.spec.channels];
        let mut hole = 0;
        loop {
            let mut child = 2 * hole + 1;
            if child >= heap.len() {
                break;
            }
            if child + 1 < heap.len() && heap[child + 1] < heap[child] {
                child += 1;
            }
            if heap[child] >= until_ns {
                break;
            }
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = until_ns;
    }

    fn serve(&mut self, now_ns: u64, channel_ns: f64, length: u64, stretch: Stretch) -> u64 {
        let channel_done_ns = self.free_ns[0].max(now_ns) + stretch.all(channel_ns);
        self.occupy_earliest(channel_done_ns);
        // The link is a meter, not a queue: channels finish out of order, and a queue in order of submission would let
        // one late op hold the link idle.
        let link_ns = self.stretched_link_ns(length, stretch);
        self.link_free_ns = self.link_free_ns.max(now_ns) + link_ns;
        self.link_free_ns.max(channel_done_ns + link_ns)
    }

    fn flush(&mut self, now_ns: u64, writeback_ns: f64, stretch: Stretch) -> u64 {
        // Writeback also crosses the link, so it cannot be faster than the link.
        let most = self.spec.bytes_per_second as f64 / self.spec.link_bytes_per_second as f64;
        let stretch = Stretch { device: stretch.device.max(most), ..stretch };
        self.link_free_ns = self.link_free_ns.max(now_ns) + stretch.shared(writeback_ns);
        self.link_free_ns.max(self.last_write_ns) + stretch.all(self.spec.flush_ns)
    }
}
