use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::plan;
use crate::text::{percent, short};

/// Below this share of the asked depth, another load was measured.
const WARN_BELOW: f64 = 0.80;

pub(crate) static CHECK: Check = Check {
    code: "B1",
    title: "Queue depth",
    what: "Whether as many ops were in flight as were asked for. Loads with a rate or with think time choose their \
           own depth and are not held to it; nor is one op at a time, which the ops' own latency fills.",
    why: "An engine that cannot hold 32 ops in flight measures depth 1 under the name of depth 32: buffered \
          asynchronous I/O completes while it is submitted, and a missing io_uring falls back to one call at a time.",
    how: "Mean ops in flight of every worker, by Little's law from the service times.",
    threshold: "less than 80 % of the asked depth warns",
    settled: "By reasoning: a rate rises at most in proportion to the depth, and the first and last ops of a phase, \
              whose queue is filling and draining, are part of the mean; 80 % is the plan's starting value. Tried on \
              simulated devices: one op in flight instead of 32 was told in 300 of 300 runs, and nothing in 1000 clean \
              ones (docs/calibration.md).",
    fix: "Use `backend = \"io-uring\"` with `cache = \"direct\"`, or as many workers as the depth.",
    judges: &[Judge::Phase(look)],
};

fn look(view: &PhaseView<'_>) -> Outcome {
    let workers = &view.measured.workers;
    let asked: u64 = workers.iter().map(|worker| u64::from(worker.depth_asked)).sum();
    // Null ops complete as they are submitted: there is nothing to be in flight.
    if asked <= 1 || !plan::is_closed(view.plan) || view.ground == Ground::Nothing || view.measured.count() == 0 {
        return Outcome::NotApplicable;
    }
    let reached: f64 = workers.iter().map(|worker| worker.in_flight_mean).sum();
    let share = reached / asked as f64;
    let observed = format!("asked {asked}, got {} ({})", short(reached), percent(share));
    if share >= WARN_BELOW {
        return Outcome::pass(observed);
    }
    let message = format!("Asked for {asked} ops in flight, got {}.", short(reached));
    match view.measured.fallbacks.first() {
        Some(fallback) => Outcome::warn(observed, message).remedy(format!("The reason is known: {fallback}.")),
        None => Outcome::warn(observed, message),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::{Nanos, Pace};

    #[test]
    fn depth_must_be_reached() {
        assert_eq!(Scene::reading(MIB).depth(32, 25.6).level("B1"), Some(Level::Pass));
        let finding = Scene::reading(MIB).depth(32, 1.0).finding("B1").unwrap();
        assert_eq!((finding.level, finding.message.as_str()), (Level::Warn, "Asked for 32 ops in flight, got 1."));
        assert_eq!(Scene::reading(MIB).depth(32, 25.5).level("B1"), Some(Level::Warn));
    }

    #[test]
    fn a_load_that_chooses_its_own_depth_is_not_held_to_one() {
        let think = Pace::Think { time: Nanos(1000), every: 1 };
        assert_eq!(Scene::reading(MIB).depth(32, 1.0).pace(think).level("B1"), None);
        assert_eq!(Scene::reading(MIB).depth(1, 0.4).level("B1"), None);
    }
}
