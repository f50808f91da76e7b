//! The block stream of a job.

use super::clone::JobClone;
use super::error::JobFault;
use super::facts::{Layout, by_kind, ops_limit, smallest};
use crate::fio::options::direction::{Generator, KindSizes, NORANDOMMAP, RANDOM_GENERATOR, RANDSEED};
use crate::fio::options::queue::SubmitMode;
use crate::fio::options::zones::{ZONEMODE, ZONERANGE, ZONESKIP, ZoneMode};
use crate::fio::value::direction::{AccessOrder as FioOrder, Ops};
use crate::fio::value::distribution::RandomDistribution;
use crate::fio::value::{Compat, FileRegion};
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::{
    AccessOrder, AsFio, AsFioWhen, Coverage, JobSize, OffsetDistribution, RandomGenerator, Seeding, SizeShare, Stream,
    TrimAmid, Zone, ZoneStride,
};
use plumb_workload::{BlockStream, Bytes};
use std::os::unix::ffi::OsStrExt;

/// Returns a job's ops: generated or recorded.
pub(super) fn ops(copy: &mut JobClone<'_>, layout: &Layout) -> BlockStream {
    match copy.recorded.clone() {
        Some(recorded) => super::replay::recording(copy, &recorded).into(),
        None => stream(copy, layout).into(),
    }
}

fn stream(copy: &mut JobClone<'_>, layout: &Layout) -> Stream {
    let work = &copy.job.direction;
    let (read_percent, trims) = match work.rw.ops {
        Ops::Read => (Some(100), false),
        Ops::Write => (Some(0), false),
        Ops::ReadWrite => (Some(work.read_percent), false),
        Ops::Trim => (None, true),
        Ops::TrimWrite => (Some(0), true),
    };
    let is_random = copy.is_random();
    let sizes = work.sizes();
    let aligned = |align: Option<u64>, sizes: &KindSizes| {
        Bytes(align.filter(|align| is_random && *align > 0).unwrap_or_else(|| smallest(sizes)))
    };
    let align = ByKind {
        read: aligned(work.blocks.ba.read, &sizes.read),
        write: aligned(work.blocks.ba.write, &sizes.write),
        trim: aligned(work.blocks.ba.trim, &sizes.trim),
    };
    let percent = |percent: u32| u8::try_from(percent.min(100)).unwrap_or(100);
    let opens = copy.job.files.openfiles;
    let stream = Stream {
        read_percent,
        trims,
        order: match work.rw.order {
            FioOrder::Sequential { skip_bytes } => AccessOrder::Sequential { skip_bytes },
            FioOrder::Random { ops_per_draw } => AccessOrder::Random { ops_per_draw: ops_per_draw.max(1) },
        },
        sequencer: work.sequencer,
        sizes: by_kind(sizes.map(size)),
        unaligned_sizes: work.blocks.bs_unaligned,
        sizes_by_order: work.blocks.bs_is_seq_rand,
        align,
        random_percent: by_kind(work.random.percentage_random.map(percent)),
        distribution: distribution(copy),
        coverage: Coverage::Again,
        generator: match work.random.generator {
            Generator::Tausworthe64 => RandomGenerator::Taus258,
            // As in fio, an explicit generator is kept even if it is too narrow.
            Generator::Tausworthe if copy.is_given(&RANDOM_GENERATOR) => RandomGenerator::Taus88Only,
            Generator::Tausworthe | Generator::Lfsr => RandomGenerator::Taus88,
        },
        seed: copy.seed,
        // As in fio 3.42. Before, offsets did not follow from a seed unless `randrepeat` was off.
        seeding: Seeding::All,
        // An explicit seed applies to the whole job. The default one restarts with each loop.
        reseed_each_loop: !copy.is_given(&RANDSEED) && work.random.randrepeat,
        worker_number: copy.thread_number,
        ranges: layout.ranges.clone(),
        file_choice: copy.job.files.service,
        open_files: opens.filter(|open| (*open as usize) < copy.names.count()),
        io_bytes: layout.io_bytes,
        max_ops: ops_limit(work.region.number_ios),
        loops: u64::from(copy.job.identity.loops.max(1)),
        repeat_until_time: copy.job.stop.time_based && copy.job.stop.runtime.is_some(),
        fill_device: copy.job.files.fill_device,
        ranges_per_trim: work.ops.num_range,
        trim_amid: trim_amid(copy),
        zones: None,
        no_overlap_in_flight: false,
    };
    Stream { coverage: coverage(copy), zones: zones(copy), no_overlap_in_flight: no_overlap(copy), ..stream }
}

fn size(sizes: KindSizes) -> JobSize {
    match sizes {
        KindSizes::Fixed(bytes) => JobSize::Fixed(Bytes(bytes)),
        KindSizes::Range(range) => JobSize::Range { low: Bytes(range.low), high: Bytes(range.high) },
        KindSizes::Split(shares) => JobSize::Split(
            shares.iter().map(|share| SizeShare { size: Bytes(share.bytes), percent: share.percent }).collect(),
        ),
    }
}

/// Returns the offset distribution. By default, a curve reaches every block, as
/// intended; with `--compat=strict`, draws are fio's own.
fn distribution(copy: &JobClone<'_>) -> OffsetDistribution {
    let work = &copy.job.direction;
    if let Some(steady) = work.steady_state.wanted() {
        return OffsetDistribution::SteadyState(steady);
    }
    match &work.random.distribution {
        RandomDistribution::Uniform => OffsetDistribution::Uniform,
        RandomDistribution::Curved { curve, center } => {
            let path = |number| copy.names.path(number);
            let hashes = (0..copy.names.count()).filter_map(path).map(|path| name_hash(path.as_os_str().as_bytes()));
            let when = match copy.compat {
                Compat::Strict => AsFioWhen::Always,
                Compat::Meant => AsFioWhen::EveryBlockReached,
            };
            let as_fio = AsFio { when, name_hashes: hashes.collect() };
            OffsetDistribution::Curved { curve: *curve, center: *center, as_fio: Some(as_fio) }
        }
        RandomDistribution::Zoned(zones) => OffsetDistribution::Zoned(by_kind(zones.clone().map(|zones| {
            zones.iter().map(|zone| Zone { access_percent: zone.access_percent, size: zone.size }).collect()
        }))),
        RandomDistribution::ZonedBytes(zones) => OffsetDistribution::ZonedBytes(by_kind(zones.clone().map(|zones| {
            zones.iter().map(|zone| Zone { access_percent: zone.access_percent, size: Bytes(zone.size) }).collect()
        }))),
        RandomDistribution::Sequence(blocks) if work.random.sequence_goes_on => {
            OffsetDistribution::SequenceOnward(blocks.clone())
        }
        RandomDistribution::Sequence(blocks) => OffsetDistribution::Sequence(blocks.clone()),
    }
}

/// Returns the hash that seeds fio's draws for a file. Source: Jenkins, "Hash functions for hash table lookup" (2006),
/// lookup3. fio uses single bytes for each 12-byte block except the last.
fn name_hash(name: &[u8]) -> u32 {
    /// fio's initial value, in place of lookup3's constant.
    const START: u32 = 0x61c8_8647;
    const PIECE: usize = 12;
    const MIX: [u32; 6] = [4, 6, 8, 16, 19, 4];
    const FINAL: [u32; 7] = [14, 11, 25, 16, 4, 14, 24];
    let mut state = [START.wrapping_add(name.len() as u32); 3];
    let mut rest = name;
    while rest.len() > PIECE {
        for (word, &byte) in state.iter_mut().zip(rest.iter().step_by(4)) {
            *word = word.wrapping_add(byte.into());
        }
        for (step, by) in MIX.into_iter().enumerate() {
            let (to, from, other) = (step % 3, (step + 2) % 3, (step + 1) % 3);
            state[to] = state[to].wrapping_sub(state[from]) ^ state[from].rotate_left(by);
            state[from] = state[from].wrapping_add(state[other]);
        }
        rest = &rest[PIECE..];
    }
    for (place, &byte) in rest.iter().enumerate() {
        state[place / 4] = state[place / 4].wrapping_add(u32::from(byte) << (8 * (place % 4)));
    }
    if !rest.is_empty() {
        for (step, by) in FINAL.into_iter().enumerate() {
            let (to, from) = ((step + 2) % 3, (step + 1) % 3);
            state[to] = (state[to] ^ state[from]).wrapping_sub(state[from].rotate_left(by));
        }
    }
    state[2]
}

fn coverage(copy: &mut JobClone<'_>) -> Coverage {
    let work = &copy.job.direction;
    if !copy.is_random() {
        return Coverage::default();
    }
    if work.steady_state.is_on {
        if !copy.is_given(&RANDOM_GENERATOR) {
            copy.fix("random_generator=lfsr is set, because sprandom needs it");
        }
        if !copy.is_given(&NORANDOMMAP) {
            copy.fix("norandommap is set, because sprandom needs it");
        }
        return Coverage::Again;
    }
    if copy.has_own_alignment() && !work.random.norandommap {
        copy.fix("norandommap is set, because `ba` differs from the block size and covered blocks cannot be tracked");
    }
    if work.random.distribution != RandomDistribution::Uniform {
        if !work.random.norandommap {
            copy.fix("norandommap is set, because a non-uniform distribution repeats blocks");
        }
        return Coverage::Again;
    }
    match work.random.generator {
        Generator::Lfsr => Coverage::OnceByRegister,
        _ if copy.forgets_blocks() => Coverage::Again,
        _ => Coverage::Once,
    }
}

fn trim_amid(copy: &JobClone<'_>) -> Option<TrimAmid> {
    let trim = &copy.job.trim;
    let percent = u8::try_from(trim.percentage.min(100)).ok().filter(|percent| *percent > 0)?;
    Some(TrimAmid {
        percent,
        backlog: ops_limit(trim.backlog),
        batch: trim.backlog_batch,
        expects_zeros: trim.verify_zero,
    })
}

fn zones(copy: &mut JobClone<'_>) -> Option<ZoneStride> {
    let zones = &copy.job.zones;
    if zones.mode != ZoneMode::Strided {
        without_strides(copy);
        return None;
    }
    let Some(size) = zones.size_bytes else {
        let why = "a stride is from zone to zone";
        copy.refuse(JobFault::Needs { option: "zonemode=strided", needs: "zonesize", why });
        return None;
    };
    let open = copy.job.files.openfiles.map_or(copy.names.count(), |open| (open as usize).min(copy.names.count()));
    if open > 1 {
        copy.fix("zones are ignored, because strides need a single open file");
        return None;
    }
    let skip = match zones.skip {
        FileRegion::Bytes(bytes) => bytes,
        FileRegion::Percent(percent) => {
            copy.unsupported("zoneskip", format!("{percent} % has no base; use bytes"));
            0
        }
        FileRegion::Zones(count) => u64::from(count).saturating_mul(size),
    };
    Some(ZoneStride { size: Bytes(size), range: Bytes(zones.range_bytes.unwrap_or(size)), skip: Bytes(skip) })
}

/// Rejects or warns about options that apply only to strides. Source: `fixup_options` in fio's `init.c`, since 3.13.
fn without_strides(copy: &mut JobClone<'_>) {
    let zones = &copy.job.zones;
    if zones.mode != ZoneMode::None {
        return;
    }
    if zones.size_bytes.is_some() {
        copy.refuse(match copy.is_given(&ZONEMODE) {
            true => {
                let why = "zonesize has no meaning without zones; remove one of them";
                JobFault::Contradiction { first: "zonemode=none", second: "zonesize", why }
            }
            false => {
                let why = "the default is zonemode=none; fio before 3.13 took a zonesize for strided zones";
                JobFault::Needs { option: "zonesize", needs: "zonemode=strided", why }
            }
        });
        return;
    }
    let given = [(ZONESKIP.name(), copy.is_given(&ZONESKIP)), (ZONERANGE.name(), copy.is_given(&ZONERANGE))];
    for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
        copy.warnings.push(format!("{option} has no effect without zonemode=strided and zonesize"));
    }
}

fn no_overlap(copy: &mut JobClone<'_>) -> bool {
    if !copy.job.direction.ops.serialize_overlap {
        return false;
    }
    let one_reader_or_depth = !(copy.writes() || copy.trims()) || copy.job.queue.iodepth <= 1;
    if one_reader_or_depth && copy.job.queue.submit_mode == SubmitMode::Inline {
        copy.fix("serialize_overlap is ignored, because reads, or ops one at a time, never overlap");
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::name_hash;

    // Protects: the hashes of names of any length equal those of fio 3.33, because offsets depend on them.
    #[test]
    fn names_are_hashed_as_fio_hashes_them() {
        for (name, hash) in
            [("", 0x61c8_8647), ("a", 0x6bbe_9f77), ("j0.0.0", 0x4bdf_8118), ("/a/longer/directory/x.0.0", 0x6aeb_d76e)]
        {
            assert_eq!(name_hash(name.as_bytes()), hash, "{name}");
        }
    }
}
