use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView, share};
use crate::plan;
use crate::text::{percent, short};
use plumb_result::{Interval, PhaseMeasurement};
use plumb_workload::{CachePolicy, OpKind};

/// A second pass so many times as fast as the first was remembered by something.
const FASTER: f64 = 1.3;
/// Above this share of what was asked of the block device, something below it answered.
const BELOW_SHARE: f64 = 0.10;
/// A pass shorter than this has no rate that one-second intervals can show.
const MIN_PASS_NS: u64 = 2_000_000_000;

pub(crate) static CHECK: Check = Check {
    code: "A7",
    title: "Cache below the kernel",
    what: "Whether something below the page cache remembered the data: a hypervisor, a RAID card, the drive's own \
           memory, or the backing file of a loop device. The bytes did leave the file system, so this warns and does \
           not fail; the tier shows what the lowest visible device moved.",
    why: "O_DIRECT goes round one cache of several. A virtual disk that the host caches reads at memory speed the \
          second time, and a comparison then measures which side ran second.",
    how: "Where a phase reads its range twice with O_DIRECT, or two phases read it alike, the rates of the two \
          passes; and reads charged to Plumb against those that the leaf devices served.",
    threshold: "the second direct pass at least 1.3 times as fast as the first, or more than 10 % of the reads \
                answered between the asked device and the lowest one, warns",
    fix: "Use a set well beyond that cache, or turn the cache off: `losetup --direct-io=on` for a loop device, cache \
          mode `none` for a virtual disk.",
    judges: &[Judge::Phase(look)],
};

fn look(view: &PhaseView<'_>) -> Outcome {
    if view.traffic.app_read == 0 || view.ground != Ground::Device || !view.wants_device_reads() {
        return Outcome::NotApplicable;
    }
    if let Some(below) = answered_below(view)
        && below > BELOW_SHARE
    {
        let message = format!(
            "{} of the reads that left the file system were answered from memory below it, and never reached {}.",
            percent(below),
            view.leaves().first().map_or("the device", |leaf| leaf.name.as_str()),
        );
        return Outcome::warn(format!("{} answered below", percent(below)), message);
    }
    match passes(view).or_else(|| against_earlier(view)) {
        None => Outcome::skipped("the range was not read twice with O_DIRECT, long enough to compare"),
        Some(ratio) => {
            let observed = format!("second pass {} times as fast", short(ratio));
            if ratio >= FASTER {
                let message = format!(
                    "The second pass was {} times as fast as the first: a cache below the kernel remembered the data.",
                    short(ratio)
                );
                Outcome::warn(observed, message)
            } else {
                Outcome::pass(observed)
            }
        }
    }
}

/// Share of the reads charged to Plumb that no leaf device served.
fn answered_below(view: &PhaseView<'_>) -> Option<f64> {
    let own = view.traffic.own.as_ref().ok()?;
    let device = view.traffic.device.as_ref().ok()?;
    share(own.read_bytes.saturating_sub(device.read_bytes), own.read_bytes)
}

/// Rate of the second pass over that of the first, within one phase.
fn passes(view: &PhaseView<'_>) -> Option<f64> {
    let once_each = view.plan.workers.iter().all(plan::covers_once) && plan::is_closed(view.plan);
    if view.plan.cache != CachePolicy::Direct || view.traffic.app_write > 0 || !once_each {
        return None;
    }
    let range = view.measured.working_set_bytes.filter(|range| *range > 0 && view.traffic.app_read >= 2 * range)?;
    let first = reached_ns(&view.measured.intervals, range)?;
    let second = reached_ns(&view.measured.intervals, 2 * range)?.saturating_sub(first);
    (first >= MIN_PASS_NS && second >= MIN_PASS_NS).then(|| first as f64 / second as f64)
}

/// When so many bytes had been read, by interpolation within the interval.
fn reached_ns(intervals: &[Interval], bytes: u64) -> Option<u64> {
    let mut so_far = 0;
    for interval in intervals {
        let here = interval.ops.get(&OpKind::Read).map_or(0, |op| op.bytes);
        if here > 0 && so_far + here >= bytes {
            let part = (bytes - so_far) as f64 / here as f64;
            return Some(interval.start_ns + (interval.length_ns as f64 * part) as u64);
        }
        so_far += here;
    }
    None
}

/// Rate of this phase over that of the first earlier phase that read the same in the same way.
fn against_earlier(view: &PhaseView<'_>) -> Option<f64> {
    if view.plan.cache != CachePolicy::Direct || !view.plan.workers.iter().all(plan::covers_once) {
        return None;
    }
    let alike = view.earlier.iter().find(|measured| {
        let plan = view.workload.phase.iter().find(|plan| plan.name == measured.name);
        plan.is_some_and(|plan| plan.cache == CachePolicy::Direct && plan.workers == view.plan.workers)
    })?;
    let long_enough = |measured: &PhaseMeasurement| measured.wall_ns >= MIN_PASS_NS;
    if !long_enough(alike) || !long_enough(view.measured) {
        return None;
    }
    let read = |measured: &PhaseMeasurement| measured.per_second(measured.ops.get(&OpKind::Read)?.bytes);
    let before = read(alike).filter(|rate| *rate > 0.0)?;
    read(view.measured).map(|rate| rate / before)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::CachePolicy;

    fn two_passes(second_as_fast: f64) -> Scene {
        Scene::reading(800 * MIB)
            .cache(CachePolicy::Direct)
            .working_set(400 * MIB)
            .pass_seconds(&[(13.0, 400 * MIB), (13.0 / second_as_fast, 400 * MIB)])
    }

    #[test]
    fn a_second_pass_that_is_faster_betrays_a_cache() {
        assert_eq!(two_passes(1.0).level("A7"), Some(Level::Pass));
        assert_eq!(two_passes(1.25).level("A7"), Some(Level::Pass));
        assert_eq!(two_passes(1.35).level("A7"), Some(Level::Warn));
    }

    #[test]
    fn one_pass_is_no_evidence() {
        assert_eq!(Scene::reading(400 * MIB).cache(CachePolicy::Direct).level("A7"), Some(Level::Skipped));
    }

    #[test]
    fn a_cached_backing_file_is_named_and_not_taken_for_the_page_cache() {
        let scene = Scene::reading(1000 * MIB).on_loop().device_read(0);
        assert_eq!(scene.level("A7"), Some(Level::Warn));
        assert_eq!(scene.level("A1"), Some(Level::Pass));
        assert_eq!(Scene::reading(1000 * MIB).device_read(900 * MIB).on_loop().level("A7"), Some(Level::Skipped));
    }

    #[test]
    fn two_like_phases_are_two_passes() {
        let same = Scene::reading(1000 * MIB).cache(CachePolicy::Direct);
        assert_eq!(same.after_itself_at(1.0).level_last("A7"), Some(Level::Pass));
        let same = Scene::reading(1000 * MIB).cache(CachePolicy::Direct);
        assert_eq!(same.after_itself_at(0.5).level_last("A7"), Some(Level::Warn));
    }
}
