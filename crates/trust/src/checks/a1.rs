use crate::check::{Check, Judge, Outcome, grade};
use crate::evidence::{Ground, PhaseView, share};
use crate::text::percent;
use plumb_result::Level;
use plumb_result::observe::LayerKind;
use plumb_workload::CachePolicy;

/// Above this share from memory, a cold or direct read misleads.
const WARN_SHARE: f64 = 0.02;
/// Above this share from memory, it is no read of the device.
const FAIL_SHARE: f64 = 0.10;
/// Above this share of holes or of compressed extents, device bytes cannot be held against file bytes.
const INCOMPARABLE_SHARE: f64 = 0.10;

pub(crate) static CHECK: Check = Check {
    code: "A1",
    title: "Read from the cache",
    what: "Whether the bytes that reads returned came from the device or from the page cache. What was asked for \
           decides: a cold or direct read must come from the device; a read `as-is` or `warm` may come from memory, \
           and then the rate is labelled `cache` and this check only notes it. A file system that lives in memory is \
           named once as such. What a phase wrote itself it may read from memory: that is a warning at most.",
    why: "A cached read is memory speed under a disk's name: on one ext4 the same 128 MiB read at 8.3 GB/s from the \
          cache and 0.6 GB/s from the disk (measured on ext4 over virtio, Linux 6.18). Tarasov et al., \"Benchmarking File \
          System Benchmarking: It *IS* Rocket Science\", HotOS 2011: the simplest benchmark spans orders of magnitude \
          with the cache.",
    how: "Bytes that reads returned, less `read_bytes` of /proc/self/io (what the kernel fetched for Plumb), checked \
          against the leaf devices' sectors in /proc/diskstats; the smaller of the two is believed, since others' \
          reads inflate the device's.",
    threshold: "cold or direct: more than 2 % from memory warns, more than 10 % fails; otherwise noted",
    settled: "By reasoning, from the plan's starting values: where memory is ten times as fast or more, a share s of \
              it makes a rate up to 1/(1 − s) too high. 2 % of memory is well inside the 5 % that comparisons call \
              equal, 10 % is twice that. Tried on simulated devices: cached reads were told in 300 of 300 runs, and \
              nothing in 1000 clean ones (docs/calibration.md).",
    fix: "Ask for a cold cache (`cache = \"cold\"`) or for O_DIRECT (`cache = \"direct\"`), or use a set larger than \
          memory.",
    judges: &[Judge::Phase(look)],
};

fn look(view: &PhaseView<'_>) -> Outcome {
    let app = view.traffic.app_read;
    if app == 0 {
        return Outcome::NotApplicable;
    }
    match &view.ground {
        Ground::Nothing => return Outcome::NotApplicable,
        Ground::Memory => return memory(view),
        Ground::Remote => return Outcome::skipped("the counters of a network file system's client are not read"),
        Ground::Unseen(reason) => return Outcome::skipped(reason.clone()),
        Ground::Device => {}
    }
    if view.blank_share().is_some_and(|blank| blank > INCOMPARABLE_SHARE) {
        return Outcome::skipped(
            "much of the file was never written, so there was nothing to come from a device (see A4)",
        );
    }
    if view.encoded_share().is_some_and(|encoded| encoded > INCOMPARABLE_SHARE) {
        return Outcome::skipped("the file is stored compressed, so device bytes cannot be held against its bytes");
    }
    // A loop device's backing file may be cached below the device that was asked; that is A7's to say.
    let layered = view.has_layer(LayerKind::Loop);
    let moved = if layered { view.traffic.read_past_page_cache() } else { view.traffic.read_from_device() };
    let moved = match moved {
        Ok(moved) => moved,
        Err(reason) => return Outcome::skipped(reason),
    };
    let from_memory = share(app.saturating_sub(moved.bytes), app).unwrap_or(0.0);
    let observed = format!("{} from memory ({})", percent(from_memory), moved.witness);
    let Some(level) = grade(from_memory, WARN_SHARE, FAIL_SHARE) else { return Outcome::pass(observed) };
    let message = format!("{} of the bytes that were read came from memory, not from the device", percent(from_memory));
    match view.cache() {
        CachePolicy::AsIs => Outcome::note(observed, format!("{message}.")),
        CachePolicy::Warm => Outcome::note(observed, format!("{message}, as a warm cache was asked for.")).remedy(""),
        CachePolicy::Cold if view.traffic.app_write > 0 => {
            Outcome::found(level.min(Level::Warn), observed, format!("{message}; the phase wrote it itself."))
                .remedy("Write and read in two phases, the second with a cold cache.")
        }
        CachePolicy::Cold => Outcome::found(level, observed, format!("{message}, though a cold cache was asked for."))
            .remedy("Read each block once (`pattern = \"permutation\"`), or use a larger set, or O_DIRECT."),
        CachePolicy::Direct => Outcome::found(
            level,
            observed,
            format!("{message}, though the file was opened with O_DIRECT."),
        )
        .remedy(
            "See A4 whether the file has holes or unwritten blocks; else the file system serves O_DIRECT from its cache: \
             use a cold cache instead.",
        ),
    }
}

fn memory(view: &PhaseView<'_>) -> Outcome {
    let observed = "no device beneath it";
    if view.wants_device_reads() {
        Outcome::warn(observed, "This storage lives in memory; no read of it can come from a device.")
            .remedy("Name a path on the storage that you mean to measure.")
    } else {
        Outcome::note(observed, "This storage lives in memory; its read rates are the memory's.")
            .remedy("Name a path on the storage that you mean to measure.")
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::CachePolicy;

    #[test]
    fn a_cold_read_from_the_device_passes_and_a_cached_one_fails() {
        assert_eq!(Scene::reading(1000 * MIB).level("A1"), Some(Level::Pass));
        let cached = Scene::reading(1000 * MIB).device_read(380 * MIB).own_read(380 * MIB);
        let finding = cached.finding("A1").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.starts_with("62 % of the bytes"), "{}", finding.message);
    }

    #[test]
    fn limits_are_exclusive() {
        for (moved, level) in [(980, Level::Pass), (979, Level::Warn), (900, Level::Warn), (899, Level::Fail)] {
            let scene = Scene::reading(1000 * MIB).device_read(moved * MIB).own_read(moved * MIB);
            assert_eq!(scene.level("A1"), Some(level), "{moved}");
        }
    }

    /// A neighbour who reads from the same disk must not make a cached read look real.
    #[test]
    fn reads_of_others_do_not_hide_a_cached_read() {
        let scene = Scene::reading(1000 * MIB).device_read(5000 * MIB).own_read(0);
        assert_eq!(scene.level("A1"), Some(Level::Fail));
    }

    #[test]
    fn who_asked_for_memory_gets_a_note() {
        for policy in [CachePolicy::AsIs, CachePolicy::Warm] {
            let scene = Scene::reading(1000 * MIB).cache(policy).device_read(0).own_read(0);
            assert_eq!(scene.level("A1"), Some(Level::Note), "{policy:?}");
        }
    }

    #[test]
    fn memory_file_systems_are_named_and_not_rejected() {
        assert_eq!(Scene::reading(MIB).in_memory().cache(CachePolicy::Direct).level("A1"), Some(Level::Warn));
        assert_eq!(Scene::reading(MIB).in_memory().cache(CachePolicy::AsIs).level("A1"), Some(Level::Note));
    }

    #[test]
    fn without_any_witness_it_is_skipped() {
        let finding =
            Scene::reading(MIB).unseen_devices("no permission").unseen_own("no permission").finding("A1").unwrap();
        assert_eq!(finding.level, Level::Skipped);
        assert!(finding.message.contains("no permission"), "{}", finding.message);
    }

    #[test]
    fn a_write_is_no_read() {
        assert_eq!(Scene::writing(MIB).level("A1"), None);
    }
}
