use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::{bytes, short};
use plumb_result::Remedy;
use plumb_workload::CachePolicy;

/// Below this ratio of working set to memory, the cache holds all of it.
const CLIFF_FROM: f64 = 0.5;
/// Up to this ratio, a little more or less memory changes everything.
const CLIFF_TO: f64 = 1.5;
/// Above this number of passes, a cold or newly written set meets its own blocks in the cache.
const AGAIN: f64 = 1.1;

pub(crate) static CHECK: Check = Check {
    code: "B6",
    title: "Working set against memory",
    what: "How the bytes the phase touches compare with the memory that can cache them. This only matters through the \
           page cache and where blocks are met again: direct I/O, and one pass over a cold or newly written file, are \
           exempt.",
    why: "Tarasov et al., HotOS 2011: around the size of the cache, a few MiB change a result by an order of \
          magnitude. In a published PostMark comparison of two kernels the working sets lay on both sides of that \
          cliff: −9 % and +140 %.",
    how: "Distinct bytes the phase could touch against the smaller of MemAvailable and the control group's memory \
          limit when the clock started.",
    threshold: "0.5 to 1.5 times the memory warns; less is noted",
    settled: "By reasoning: MemAvailable is an estimate, and other programs take their part of it. At half of it, a \
              working set fits even if the estimate is twice too high; at one and a half times, a third of it never \
              does. The published study of ext3 in `audits/` had working sets of 18 % and 114 % of memory.",
    fix: &[
        Remedy::words("Choose a working set well inside or well beyond memory."),
        Remedy::words("See where the cache ends: `plumb sweep size=64M,256M,1G,4G`."),
    ],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let moved = view.traffic.app_read + view.traffic.app_write;
    let in_question = matches!(view.ground, Ground::Device | Ground::Remote);
    if moved == 0 || !in_question || view.cache() == CachePolicy::Direct || view.is_virtual_time() {
        return Outcome::NotApplicable;
    }
    let Some(set) = view.measured.working_set_bytes else {
        return Outcome::skipped("the pattern does not limit what it touches");
    };
    let reads_what_is_there = view.traffic.app_read > 0 && !view.wants_device_reads();
    if !reads_what_is_there && moved as f64 <= AGAIN * set as f64 {
        return Outcome::NotApplicable;
    }
    let available = match view.seen.before.memory.as_result() {
        Ok(memory) => memory.available_bytes,
        Err(reason) => return Outcome::skipped(reason),
    };
    let memory = view.environment.cgroup.memory_bytes.map_or(available, |limit| limit.min(available));
    if memory == 0 {
        return Outcome::skipped("the available memory is not known");
    }
    let ratio = set as f64 / memory as f64;
    let observed = format!("{} against {} of memory ({})", bytes(set), bytes(memory), times(ratio));
    if ratio < CLIFF_FROM {
        Outcome::note(observed, format!("The working set of {} fits into memory: this measures the cache.", bytes(set)))
    } else if ratio <= CLIFF_TO {
        let message = format!(
            "The working set of {} is {} the memory of {}: a little more memory would change the result.",
            bytes(set),
            times(ratio),
            bytes(memory)
        );
        Outcome::warn(observed, message)
    } else {
        Outcome::pass(observed)
    }
}

fn times(ratio: f64) -> String {
    if ratio < 0.095 { format!("{ratio:.2} times") } else { format!("{} times", short(ratio)) }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{GIB, Scene};
    use plumb_result::Level;
    use plumb_workload::CachePolicy;

    /// The scene has 8 GiB of memory.
    fn set(bytes: u64) -> Scene {
        Scene::reading(20 * GIB).cache(CachePolicy::AsIs).working_set(bytes)
    }

    #[test]
    fn the_cliff_is_between_half_and_one_and_a_half() {
        assert_eq!(set(4 * GIB - 1).level("B6"), Some(Level::Note));
        assert_eq!(set(4 * GIB).level("B6"), Some(Level::Warn));
        assert_eq!(set(12 * GIB).level("B6"), Some(Level::Warn));
        assert_eq!(set(12 * GIB + 1).level("B6"), Some(Level::Pass));
    }

    #[test]
    fn a_control_group_makes_memory_smaller() {
        assert_eq!(set(3 * GIB).cgroup_memory(2 * GIB).level("B6"), Some(Level::Warn));
    }

    #[test]
    fn direct_io_and_single_passes_do_not_meet_a_block_again() {
        assert_eq!(set(GIB).cache(CachePolicy::Direct).level("B6"), None);
        assert_eq!(Scene::reading(8 * GIB).working_set(8 * GIB).level("B6"), None);
        assert_eq!(Scene::writing(8 * GIB).working_set(8 * GIB).level("B6"), None);
        assert_eq!(Scene::writing(9 * GIB).working_set(8 * GIB).level("B6"), Some(Level::Warn));
    }

    #[test]
    fn an_unbounded_pattern_is_skipped() {
        assert_eq!(Scene::reading(GIB).cache(CachePolicy::AsIs).no_working_set().level("B6"), Some(Level::Skipped));
    }
}
