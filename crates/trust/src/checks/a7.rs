use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::passes;
use crate::shares::share;
use crate::text::{percent, short};
use plumb_result::Remedy;
use plumb_result::observe::{BlockLayer, LayerKind};
use plumb_workload::{CachePolicy, OpKind};

/// A second pass this many times as fast as the first came from a cache.
const FASTER: f64 = 1.3;
/// Above this share of the requests to the block device, something below it answered.
const BELOW_SHARE: f64 = 0.10;

pub(crate) static CHECK: Check = Check {
    code: "A7",
    title: "Cache below the kernel",
    what: "Whether something below the page cache answered from memory: a hypervisor, a RAID card, the drive's own \
           cache, or the cached backing file of a loop device. The bytes did leave the file system, so this warns and \
           does not fail. Where neither `cold` nor `direct` was asked for, it is noted. The tier shows what the lowest \
           visible device served.",
    why: "O_DIRECT bypasses only one of several caches. A virtual disk that the host caches reads at memory speed the \
          second time, and a comparison then measures which side ran second.",
    how: "Bytes charged to Plumb (/proc/self/io) against bytes the leaf devices served. And where a phase reads its \
          range twice with O_DIRECT (in order, as a permutation, or at uniform random offsets, where the second pass \
          mostly meets the same blocks), or two phases read it alike: the rates of both passes, each 2 s or longer.",
    threshold: "more than 10 % of the bytes read answered between the file system and the lowest device warns \
                (`as-is`, `warm`: noted); a second direct pass at least 1.3 times as fast as the first warns",
    settled: "By reasoning: two passes of 2 s over a quiet device differ by a few per cent, and a cache answers \
              several times as fast; 1.3 lies between. 10 % as in A1.",
    fix: &[Remedy::words(
        "Read a file much larger than that cache, or turn the cache off: `losetup --direct-io=on` for a loop device, \
          cache mode `none` for a virtual disk.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_at_rest() {
        return at_rest(view);
    }
    if view.traffic.app_read == 0 || view.ground != Ground::Device {
        return Outcome::NotApplicable;
    }
    if let Some(found) = answered_below(view) {
        return found;
    }
    if !view.wants_device_reads() {
        return Outcome::NotApplicable;
    }
    match second_over_first(view) {
        None => Outcome::skipped(once_only(view)),
        Some(ratio) => {
            let observed = format!("second pass {} times as fast", short(ratio));
            if ratio >= FASTER {
                let message = format!(
                    "The second pass was {} times as fast as the first: a cache below the kernel.",
                    short(ratio)
                );
                Outcome::warn(observed, message)
            } else {
                Outcome::pass(observed)
            }
        }
    }
}

/// Predicts the cache for later reads: the page cache of a loop device's backing file, unless
/// the loop device bypasses it.
fn at_rest(view: &PhaseView<'_>) -> Outcome {
    let Some(first) = view.loop_device().filter(|_| view.ground == Ground::Device) else {
        return Outcome::NotApplicable;
    };
    let caches = |layer: &&BlockLayer| layer.settings.get("dio").is_none_or(|direct| direct != "1");
    let mut loops = view.layers().filter(|layer| layer.kind == LayerKind::Loop);
    let Some(layer) = loops.find(caches) else {
        return Outcome::pass(format!("{} uses direct I/O on its backing file", first.name));
    };
    let message = format!("Direct reads may come from memory: the backing file of {} is cached.", layer.name);
    Outcome::warn(format!("{} has no direct I/O", layer.name), message)
        .remedy(format!("Run `losetup --direct-io=on /dev/{}`, or read a file much larger than memory.", layer.name))
}

/// Returns a finding if many reads left the file system and reached no leaf device.
fn answered_below(view: &PhaseView<'_>) -> Option<Outcome> {
    // Without Plumb's own counter, reads that left the file system cannot be distinguished from those that did not.
    view.traffic.own.as_ref().ok()?;
    view.traffic.device.as_ref().ok()?;
    let sources = view.traffic.read_sources().ok()?;
    let app = view.traffic.app_read;
    let below = share(sources.below, app).filter(|below| *below > BELOW_SHARE)?;
    let device = format!("{} served {}", view.leaf_names(), percent(share(sources.device, app)?));
    let observed = format!("{} answered below the file system, {device}", percent(below));
    let outcome = |message: String| {
        // A read through the page cache does not ask for the device.
        if view.wants_device_reads() { Outcome::warn(observed, message) } else { Outcome::note(observed, message) }
    };
    Some(match view.loop_device() {
        Some(layer) => outcome(format!(
            "{} of the bytes read came from the cached backing file of {}; {device}.",
            percent(below),
            layer.name
        ))
        .remedy(format!("Run `losetup --direct-io=on /dev/{}`, or read a file much larger than memory.", layer.name)),
        None => {
            outcome(format!("{} of the bytes read came from memory below the file system; {device}.", percent(below)))
        }
    })
}

/// Returns the ratio of two rates that a cache below would make different.
fn second_over_first(view: &PhaseView<'_>) -> Option<f64> {
    if view.cache() != CachePolicy::Direct {
        return None;
    }
    let phases = || passes::against_earlier(view, OpKind::Read).map(|against| against.ratio);
    passes::pass_ratio(view, OpKind::Read).or_else(phases)
}

/// Explains why one pass is not evidence, and what would be.
fn once_only(view: &PhaseView<'_>) -> String {
    const WAY_OUT: &str = "two direct passes of 2 s or more would show a cache below the kernel";
    match passes::made(view, OpKind::Read) {
        _ if view.cache() != CachePolicy::Direct => format!("the reads were not direct; {WAY_OUT}"),
        Some(made) if made < 2.0 => format!("the range was read {} times; {WAY_OUT}", times(made)),
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
    fn a_faster_second_pass_shows_a_cache() {
        assert_eq!(two_passes(1.0).level("A7"), Some(Level::Pass));
        assert_eq!(two_passes(1.25).level("A7"), Some(Level::Pass));
        assert_eq!(two_passes(1.35).level("A7"), Some(Level::Warn));
    }

    #[test]
    fn one_pass_is_not_evidence() {
        let finding = Scene::reading(400 * MIB).cache(CachePolicy::Direct).finding("A7").unwrap();
        assert_eq!(finding.level, Level::Skipped);
        assert!(finding.message.contains("read 1 times"), "{}", finding.message);
    }

    /// Uniform random offsets reach 63 % of the blocks in the first pass, and most of them again in the second.
    #[test]
    fn random_offsets_show_a_cache_as_well() {
        let random = |ratio: f64| two_passes(ratio).pattern(Pattern::Random).level("A7");
        assert_eq!(random(1.35), Some(Level::Warn));
        assert_eq!(random(1.0), Some(Level::Pass));
        // A skewed pattern becomes faster without any cache, so it is not evidence.
        assert_eq!(two_passes(1.35).pattern(Pattern::Zipf { theta: 1.1 }).level("A7"), Some(Level::Skipped));
    }

    #[test]
    fn a_cached_backing_file_is_not_mistaken_for_the_page_cache() {
        let scene = Scene::reading(1000 * MIB).on_loop().device_read(0);
        assert_eq!(scene.level("A7"), Some(Level::Warn));
        assert_eq!(scene.level("A1"), Some(Level::Pass));
        let finding = scene.finding("A7").unwrap();
        assert_eq!(
            finding.message,
            "100 % of the bytes read came from the cached backing file of loop0; vda served 0 %."
        );
        assert!(finding.remedy.contains("losetup --direct-io=on /dev/loop0"), "{}", finding.remedy);
        assert_eq!(Scene::reading(1000 * MIB).device_read(900 * MIB).on_loop().level("A7"), Some(Level::Skipped));
    }

    #[test]
    fn at_rest_the_cache_of_a_loop_device_is_predicted() {
        let over = |direct: &str| {
            Scene::reading(MIB).on_loop().at_rest().with_layer("loop0", |layer| {
                layer.settings.insert("dio".to_owned(), direct.to_owned());
            })
        };
        let finding = over("0").finding("A7").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.remedy.contains("losetup --direct-io=on /dev/loop0"), "{}", finding.remedy);
        assert_eq!(over("1").level("A7"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).at_rest().level("A7"), None, "a plain disk");
    }

    #[test]
    fn two_identical_phases_are_two_passes() {
        let same = Scene::reading(1000 * MIB).cache(CachePolicy::Direct);
        assert_eq!(same.after_itself_at(1.0).level_last("A7"), Some(Level::Pass));
        let same = Scene::reading(1000 * MIB).cache(CachePolicy::Direct);
        assert_eq!(same.after_itself_at(0.5).level_last("A7"), Some(Level::Warn));
    }
}
