use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::shares::share;
use crate::text::{bytes, percent};
use plumb_result::Remedy;
use plumb_workload::CachePolicy;

/// Above this share in the cache, a cold read did not start cold.
const RESIDENT_SHARE: f64 = 0.01;
/// With less than this share in the cache, a warm read did not start warm.
const WARM_SHARE: f64 = 0.99;

pub(crate) static CHECK: Check = Check {
    code: "A2",
    title: "Resident before the clock",
    what: "How much of the files was in the page cache when the clock started.",
    why: "Eviction is asynchronous: POSIX_FADV_DONTNEED and drop_caches skip dirty and mapped pages and report \
          nothing. A dropped cache is not necessarily a cold one, so Plumb checks again (posix_fadvise(2), proc(5)).",
    how: "cachestat(2) from Linux 6.5 on, else mincore(2) on a mapping, just before the clock starts.",
    threshold: "`cold`: more than 1 % resident warns; otherwise noted",
    settled: "By reasoning: 1 % is half of what A1 warns about, so a start that passes here cannot make A1 warn within \
              one pass.",
    fix: &[Remedy::words(
        "Flush the files (fdatasync), evict them (POSIX_FADV_DONTNEED, or drop_caches as root), then check again.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    // Direct reads bypass resident pages; memory file systems are always resident.
    let in_question = matches!(view.ground, Ground::Device | Ground::Remote);
    if view.traffic.app_read == 0 || view.cache() == CachePolicy::Direct || !in_question {
        return Outcome::NotApplicable;
    }
    let resident = match view.resident() {
        Ok(resident) => resident,
        Err(reason) => return Outcome::skipped(reason),
    };
    let Some(share) = share(resident.resident_bytes, resident.total_bytes) else {
        return Outcome::pass("the files were empty");
    };
    let observed = format!("{} of {} resident", percent(share), bytes(resident.total_bytes));
    match view.cache() {
        CachePolicy::Cold if share > RESIDENT_SHARE => Outcome::warn(
            observed,
            format!("{} of the files were still in memory at the start, despite `cache = \"cold\"`.", percent(share)),
        ),
        CachePolicy::Warm if share < WARM_SHARE => Outcome::note(
            observed,
            format!("Only {} of the files were in memory at the start, despite `cache = \"warm\"`.", percent(share)),
        )
        .remedy("Use smaller files, or free memory."),
        CachePolicy::AsIs if share > RESIDENT_SHARE => {
            Outcome::note(observed, format!("{} of the files were in memory at the start.", percent(share)))
                .remedy(Remedy::setting("cache", "cold", "Start with cold caches to measure the device"))
        }
        _ => Outcome::pass(observed),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::CachePolicy;

    #[test]
    fn a_cold_read_must_start_cold() {
        assert_eq!(Scene::reading(100 * MIB).resident(MIB).level("A2"), Some(Level::Pass));
        assert_eq!(Scene::reading(100 * MIB).resident(MIB + 4096).level("A2"), Some(Level::Warn));
    }

    #[test]
    fn other_policies_are_noted() {
        let half = || Scene::reading(100 * MIB).resident(50 * MIB);
        assert_eq!(half().cache(CachePolicy::AsIs).level("A2"), Some(Level::Note));
        assert_eq!(half().cache(CachePolicy::Warm).level("A2"), Some(Level::Note));
        assert_eq!(
            Scene::reading(100 * MIB).resident(100 * MIB).cache(CachePolicy::Warm).level("A2"),
            Some(Level::Pass)
        );
        assert_eq!(half().cache(CachePolicy::Direct).level("A2"), None);
    }

    #[test]
    fn unexamined_files_are_skipped() {
        assert_eq!(Scene::reading(100 * MIB).unseen_files("mincore: EPERM").level("A2"), Some(Level::Skipped));
    }
}
