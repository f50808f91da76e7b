use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::plan;
use crate::text::{percent, short};
use plumb_result::Remedy;

/// Below this share of the requested depth, another load was measured.
const WARN_BELOW: f64 = 0.80;

pub(crate) static CHECK: Check = Check {
    code: "B1",
    title: "Queue depth",
    what: "Whether as many ops were in flight as requested. Loads with a rate or think time choose their own depth and \
           are exempt; so is one op at a time per worker, which the op's own latency fills. A job with a latency goal \
           is judged by the depth it found, and workers without I/O not at all.",
    why: "An engine that cannot keep 32 ops in flight measures depth 1 under the name of depth 32: buffered \
          asynchronous I/O completes during submission, and without io_uring the fallback is one call at a time.",
    how: "Mean ops in flight of every worker, by Little's law from the service times.",
    threshold: "less than 80 % of the requested depth warns",
    settled: "By reasoning: a rate rises at most in proportion to the depth, and the mean includes the start and end \
              of a phase, while the queue fills and drains. On simulated devices, one op in flight instead of 32 was \
              found in 300 of 300 runs, with no false alarm in 1000 clean ones (docs/calibration.md).",
    fix: &[
        Remedy::setting("backend", "io-uring", "Use io_uring with direct I/O"),
        Remedy::words("Use as many workers as the depth."),
    ],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let workers = &view.measured.workers;
    let Some(asked) = view.depth_asked() else { return Outcome::NotApplicable };
    // The time between the ops of a worker with one op at a time is its own; B2 covers that.
    if view.plan.workers.iter().all(|group| group.depth <= 1) {
        return Outcome::NotApplicable;
    }
    // Null ops complete during submission: nothing can be in flight.
    if asked <= 1 || !plan::is_closed(view.plan) || view.ground == Ground::Nothing || view.measured.count() == 0 {
        return Outcome::NotApplicable;
    }
    let reached: f64 = workers.iter().map(|worker| worker.in_flight_mean).sum();
    let share = reached / asked as f64;
    let observed = format!("{} of {asked} in flight ({})", short(reached), percent(share));
    if share >= WARN_BELOW {
        return Outcome::pass(observed);
    }
    let message = format!("Only {} of {asked} requested ops were in flight.", short(reached));
    match view.measured.fallbacks.iter().find(|fallback| !fallback.starts_with("evidence: ")) {
        Some(fallback) => Outcome::warn(observed, message).remedy(format!("Reason: {fallback}.")),
        None => Outcome::warn(observed, message),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_result::measurement::DepthSearched;
    use plumb_workload::blocks::trace::Recording;
    use plumb_workload::pace::LatencyGoal;
    use plumb_workload::{Bytes, Nanos, Pace};

    #[test]
    fn depth_must_be_reached() {
        assert_eq!(Scene::reading(MIB).depth(32, 25.6).level("B1"), Some(Level::Pass));
        let finding = Scene::reading(MIB).depth(32, 1.0).finding("B1").unwrap();
        assert_eq!(
            (finding.level, finding.message.as_str()),
            (Level::Warn, "Only 1 of 32 requested ops were in flight.")
        );
        assert_eq!(Scene::reading(MIB).depth(32, 25.5).level("B1"), Some(Level::Warn));
    }

    #[test]
    fn a_load_that_chooses_its_own_depth_is_exempt() {
        let think = Pace::think(1, Nanos(1000));
        assert_eq!(Scene::reading(MIB).depth(32, 1.0).pace(think).level("B1"), None);
        let mut alone = Scene::reading(MIB).depth(1, 0.4);
        assert_eq!(alone.level("B1"), None);
        let another = alone.measured().workers[0].clone();
        alone.measured().workers.push(another);
        assert_eq!(alone.level("B1"), None, "one op at a time each");
    }

    /// Recorded times decide how many ops are in flight.
    #[test]
    fn a_replay_at_its_times_need_not_reach_its_cap() {
        let level = |speed_percent| {
            let mut recording = Recording::new("r".into(), Bytes(4096));
            recording.speed_percent = speed_percent;
            Scene::reading(MIB).depth(256, 1.0).recording(recording).level("B1")
        };
        assert_eq!((level(Some(100)), level(None)), (None, Some(Level::Warn)));
    }

    /// A search requests less than its largest depth, and no particular depth before its end.
    #[test]
    fn a_search_is_judged_by_the_depth_that_it_found() {
        let searched = |depth, found, reached| {
            let mut scene = Scene::writing(MIB).job(|_| {}).pace(goal()).depth(32, reached);
            scene.measured().workers[0].depth_search = Some(DepthSearched { depth, found });
            scene
        };
        assert_eq!(searched(4, true, 3.9).level("B1"), Some(Level::Pass));
        assert_eq!(searched(16, true, 3.9).level("B1"), Some(Level::Warn));
        assert_eq!(searched(16, false, 3.9).level("B1"), None);
        assert_eq!(Scene::writing(MIB).job(|_| {}).pace(goal()).depth(32, 3.9).level("B1"), None, "while it runs");
    }

    fn goal() -> Pace {
        let goal = LatencyGoal { latency: Nanos(1_000_000), window: Nanos(1_000_000), percent: 100.0, keep_on: false };
        Pace { latency_goal: Some(goal), ..Pace::default() }
    }

    /// A note about evidence does not explain a depth.
    #[test]
    fn only_a_missing_feature_explains_a_depth() {
        let scene = |fallback: &str| {
            let mut scene = Scene::reading(MIB).depth(32, 1.0);
            scene.measured().fallbacks = vec![fallback.to_owned()];
            scene.finding("B1").unwrap()
        };
        assert!(scene("io_uring: ENOSYS, psync used").remedy.contains("ENOSYS"));
        assert!(!scene("evidence: 2 of 3 files were looked at").remedy.contains("looked at"));
    }
}
