use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView, share};
use crate::passes;
use crate::text::{percent, short};
use plumb_workload::{CachePolicy, OpKind};

/// A second pass so many times as fast as the first was remembered by something.
const FASTER: f64 = 1.3;
/// Above this share of what was asked of the block device, something below it answered.
const BELOW_SHARE: f64 = 0.10;

pub(crate) static CHECK: Check = Check {
    code: "A7",
    title: "Cache below the kernel",
    what: "Whether something below the page cache remembered the data: a hypervisor, a RAID card, the drive's own \
           memory, or the backing file of a loop device. The bytes did leave the file system, so this warns and does \
           not fail; the tier shows what the lowest visible device moved.",
    why: "O_DIRECT goes round one cache of several. A virtual disk that the host caches reads at memory speed the \
          second time, and a comparison then measures which side ran second.",
    how: "Where a phase reads its range twice with O_DIRECT (in order, as a permutation, or at uniform random places, of \
          which the second pass meets most again), or two phases read it alike, the rates of the two passes, each of 2 s \
          or more; and reads charged to Plumb against those that the leaf devices served.",
    threshold: "the second direct pass at least 1.3 times as fast as the first, or more than 10 % of the reads \
                answered between the asked device and the lowest one, warns",
    settled: "By reasoning: two passes of 2 s over a quiet device differ by a few per cent, and a cache answers \
              several times as fast; 1.3, the plan's starting value, lies between. 10 % as in A1.",
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
    match second_over_first(view) {
        None => Outcome::skipped(once_only(view)),
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

/// The two rates that a cache below would tell apart.
fn second_over_first(view: &PhaseView<'_>) -> Option<f64> {
    if view.cache() != CachePolicy::Direct {
        return None;
    }
    let phases = || passes::against_earlier(view, OpKind::Read).map(|against| against.ratio);
    passes::within(view, OpKind::Read).or_else(phases)
}

/// Why one pass tells nothing, and what would.
fn once_only(view: &PhaseView<'_>) -> String {
    const WAY_OUT: &str = "two direct passes of 2 s or more would show whether something below remembers the data";
    match passes::made(view, OpKind::Read) {
        _ if view.cache() != CachePolicy::Direct => format!("the reads were not direct, and {WAY_OUT}"),
        Some(made) if made < 2.0 => format!("the range was read {} times, and {WAY_OUT}", times(made)),
        _ => WAY_OUT.to_owned(),
    }
}

fn times(passes: f64) -> String {
    if passes < 0.095 { "less than 0.1".to_owned() } else { short(passes) }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::{CachePolicy, Pattern};

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
        let finding = Scene::reading(400 * MIB).cache(CachePolicy::Direct).finding("A7").unwrap();
        assert_eq!(finding.level, Level::Skipped);
        assert!(finding.message.contains("read 1 times"), "{}", finding.message);
    }

    /// Uniform random places meet 63 % of the blocks in the first pass and most of them again in the second.
    #[test]
    fn random_places_betray_a_cache_as_well() {
        let random = |ratio: f64| two_passes(ratio).pattern(Pattern::Random).level("A7");
        assert_eq!(random(1.35), Some(Level::Warn));
        assert_eq!(random(1.0), Some(Level::Pass));
        // A skewed pattern speeds up without any cache: it says nothing.
        assert_eq!(two_passes(1.35).pattern(Pattern::Zipf { theta: 1.1 }).level("A7"), Some(Level::Skipped));
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
