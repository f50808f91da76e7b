use crate::check::{Check, Judge, Outcome, grade};
use crate::evidence::PhaseView;
use crate::text::percent;

/// Above this share of the processor time, the hypervisor was part of the number.
const WARN_SHARE: f64 = 0.01;
/// Above this share, the machine was not ours.
const FAIL_SHARE: f64 = 0.05;

pub(crate) static CHECK: Check = Check {
    code: "C5",
    title: "Stolen processor time",
    what: "How much processor time the hypervisor gave to other guests.",
    why: "A guest that waits for its processor measures its neighbours: an I/O completes when the guest runs again, \
          and latency shows the hypervisor's schedule.",
    how: "`steal` of /proc/stat against all processor time of the phase.",
    threshold: "more than 1 % warns, more than 5 % fails",
    settled: "By reasoning: 5 % is the margin within which comparisons treat two as equal; 1 % is a fifth of it, and \
              20 ticks of the counter in 10 s on two processors.",
    fix: "Run when the host is quiet, or on a dedicated machine.",
    judges: &[Judge::Phase(look)],
};

fn look(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() {
        return Outcome::NotApplicable;
    }
    let (before, after) = match (view.seen.before.cpu.as_result(), view.seen.after.cpu.as_result()) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(reason), _) | (_, Err(reason)) => return Outcome::skipped(reason),
    };
    let total = after.total_s - before.total_s;
    if total <= 0.0 {
        return Outcome::skipped("too short for the kernel's processor times");
    }
    let share = ((after.steal_s - before.steal_s) / total).max(0.0);
    let observed = format!("{} stolen", percent(share));
    match grade(share, WARN_SHARE, FAIL_SHARE) {
        None => Outcome::pass(observed),
        Some(level) => Outcome::found(
            level,
            observed,
            format!("The hypervisor gave {} of the processor time to other guests.", percent(share)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn stolen_time_is_graded() {
        for (stolen, level) in
            [(0.0, Level::Pass), (0.01, Level::Pass), (0.02, Level::Warn), (0.05, Level::Warn), (0.06, Level::Fail)]
        {
            assert_eq!(Scene::reading(MIB).steal(stolen).level("C5"), Some(level), "{stolen}");
        }
    }

    #[test]
    fn unseen_is_skipped_and_virtual_time_cannot_be_stolen() {
        assert_eq!(Scene::reading(MIB).unseen_cpu("no /proc").level("C5"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).virtual_time().level("C5"), None);
    }
}
