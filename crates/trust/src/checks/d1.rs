use crate::check::{Check, Judge, Outcome};
use crate::evidence::{ComparisonView, RunView};
use crate::factors::fullness_gap;
use crate::text::percent;
use plumb_result::Remedy;
use plumb_result::observe::FileSystem;

/// Below this share free, allocation is part of the number.
const WARN_FREE: f64 = 0.15;
/// Below this share free, it is most of it.
const FAIL_FREE: f64 = 0.05;
/// If two sides differ by more than this, fullness is a difference of its own.
pub(crate) const GAP: f64 = 0.05;

pub(crate) static CHECK: Check = Check {
    code: "D1",
    title: "Fullness",
    what: "How full the file systems were, and whether the two sides of a comparison were equally full.",
    why: "Full and aged file systems fragment new files. Smith and Seltzer, \"File System Aging\", SIGMETRICS 1997; \
          Kadekodi et al., \"Geriatrix\", ATC 2018: ageing costs up to 80 % on SSDs, and changes rankings.",
    how: "Free and total size by statvfs(3).",
    threshold: "less than 15 % free warns, less than 5 % fails; sides that differ by more than 5 points warn",
    settled: "By reasoning: ext4 itself keeps 5 % free against fragmentation (mke2fs(8), reserved blocks); 15 % is \
              three times that.",
    fix: &[Remedy::words("Free some space, or make a new file system of the same size on both sides.")],
    judges: &[Judge::Run(examine), Judge::Comparison(compare)],
};

fn examine(view: &RunView<'_>) -> Outcome {
    // A file system in memory does not slow down as it fills.
    let filesystems = view.observations.targets.values().filter_map(|facts| facts.filesystem.value());
    let fullest = filesystems
        .filter(|fs| !fs.in_memory && fs.size_bytes > 0)
        .min_by(|one, other| one.free_share().total_cmp(&other.free_share()));
    let Some(fs) = fullest else { return Outcome::NotApplicable };
    let free = fs.free_share();
    let observed = format!("{} free on {}", percent(free), fs.mount_point);
    let message = |fs: &FileSystem| format!("Only {} of the {} at {} is free.", percent(free), fs.kind, fs.mount_point);
    const REMEDY: &str = "Free some space, or use another file system.";
    if free < FAIL_FREE {
        Outcome::fail(observed, message(fs)).remedy(REMEDY)
    } else if free < WARN_FREE {
        Outcome::warn(observed, message(fs)).remedy(REMEDY)
    } else {
        Outcome::pass(observed)
    }
}

fn compare(view: &ComparisonView<'_>) -> Outcome {
    let Some(gap) = fullness_gap(&view.baseline, &view.candidate) else { return Outcome::NotApplicable };
    let observed = format!(
        "{} free on {}, {} on {}",
        percent(gap.baseline_free),
        view.baseline.name,
        percent(gap.candidate_free),
        view.candidate.name
    );
    // Slightly more than five points is five points: shares of whole blocks are never exact.
    if gap.points() > GAP + 1e-9 {
        let message = format!(
            "The sides are not equally full: {} free on {}, {} on {}.",
            percent(gap.baseline_free),
            view.baseline.name,
            percent(gap.candidate_free),
            view.candidate.name
        );
        Outcome::warn(observed, message)
    } else {
        Outcome::pass(observed)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene, compare};
    use plumb_result::Level;

    #[test]
    fn a_full_file_system_is_graded() {
        for (free, level) in [(0.15, Level::Pass), (0.149, Level::Warn), (0.05, Level::Warn), (0.049, Level::Fail)] {
            assert_eq!(Scene::reading(MIB).free(free).level("D1"), Some(level), "{free}");
        }
    }

    #[test]
    fn memory_and_bare_devices_have_no_fullness() {
        assert_eq!(Scene::reading(MIB).in_memory().level("D1"), None);
    }

    #[test]
    fn sides_must_be_equally_full() {
        let level =
            |free| compare(&Scene::reading(MIB).free(0.50), &Scene::reading(MIB).free(free), 6, None).level("D1");
        assert_eq!(level(0.45), Some(Level::Pass));
        assert_eq!(level(0.44), Some(Level::Warn));
        assert_eq!(level(0.56), Some(Level::Warn));
    }
}
