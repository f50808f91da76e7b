use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::{ops_rate, percent};
use plumb_result::{Remedy, WorkerMeasurement};
use plumb_workload::{Arrival, OpenLoad, WorkerGroup};

/// Below this share of the requested rate, the storage could not keep up.
const KEPT_SHARE: f64 = 0.99;
/// Deviations up to this many standard deviations of a Poisson count are chance.
const CHANCE: f64 = 3.0;

pub(crate) static CHECK: Check = Check {
    code: "B4",
    title: "Rate missed",
    what: "Whether an open load (fixed rate, Poisson) reached the requested rate.",
    why: "Beyond saturation a queue grows for as long as the run lasts: the rate is then the storage's maximum, and \
          the response time depends on the length of the run. Schroeder et al., \"Open Versus Closed: A Cautionary \
          Tale\", NSDI 2006. Ops in flight when the clock stops, and three standard deviations of a Poisson count, are \
          chance and tolerated.",
    how: "Ops that each worker completed in its own time, against the requested rate over that time.",
    threshold: "less than 99 % of a requested rate warns",
    settled: "By reasoning: 1 % is a fifth of the margin of comparisons; three standard deviations of a Poisson count \
              are exceeded by chance in one of 740 phases that keep their rate.",
    fix: &[
        Remedy::words("Lower the rate, or read it as the storage's maximum and ignore its latencies."),
        Remedy::words("See where the knee is: `plumb sweep rate=auto`."),
    ],
    judges: &[Judge::Phase(examine)],
};

/// The requested and the completed ops of a group.
struct Kept {
    asked_per_second: f64,
    reached_per_second: f64,
    /// Whether the shortfall is more than chance.
    is_real: bool,
}

fn examine(view: &PhaseView<'_>) -> Outcome {
    let is_open = |group: &WorkerGroup| group.pace.open.is_some();
    if !view.plan.workers.iter().any(is_open) || view.ground == Ground::Nothing {
        return Outcome::NotApplicable;
    }
    let asked: usize = view.plan.workers.iter().map(|group| group.count as usize).sum();
    // Companions come after them.
    let Some(mut rest) = view.measured.workers.get(..asked) else {
        return Outcome::skipped("per-worker counts were not recorded");
    };
    let mut worst: Option<Kept> = None;
    for group in &view.plan.workers {
        let (own, others) = rest.split_at(group.count as usize);
        rest = others;
        if let Some(kept) = kept(group, own)
            && worst.as_ref().is_none_or(|worst| kept.share() < worst.share())
        {
            worst = Some(kept);
        }
    }
    let Some(worst) = worst else { return Outcome::skipped("no time passed") };
    let observed = format!(
        "{} of {} ({})",
        ops_rate(worst.reached_per_second),
        ops_rate(worst.asked_per_second),
        percent(worst.share())
    );
    if worst.share() >= KEPT_SHARE || !worst.is_real {
        return Outcome::pass(observed);
    }
    let message = format!(
        "Only {} of the requested {}: the storage is saturated, so waiting times grow with the run.",
        ops_rate(worst.reached_per_second),
        ops_rate(worst.asked_per_second)
    );
    Outcome::warn(observed, message)
}

impl Kept {
    fn share(&self) -> f64 {
        self.reached_per_second / self.asked_per_second
    }
}

fn kept(group: &WorkerGroup, workers: &[WorkerMeasurement]) -> Option<Kept> {
    let OpenLoad { rate, arrival, shared } = group.pace.open?;
    let seconds = |worker: &WorkerMeasurement| worker.wall_ns as f64 / 1e9;
    let longest_s = workers.iter().map(seconds).fold(0.0, f64::max);
    let due = if shared { rate.0 * longest_s } else { workers.iter().map(|worker| rate.0 * seconds(worker)).sum() };
    if due <= 0.0 {
        return None;
    }
    let done = workers.iter().map(|worker| worker.count).sum::<u64>() as f64;
    let in_flight = f64::from(group.count) * f64::from(group.depth);
    let chance = match arrival {
        Arrival::Fixed => in_flight,
        Arrival::Poisson => in_flight + CHANCE * due.sqrt(),
    };
    Some(Kept { asked_per_second: due / longest_s, reached_per_second: done / longest_s, is_real: due - done > chance })
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::{Arrival, Pace, PerSecond};

    /// 1000 per second are 10,000 in the scene's 10 s.
    fn open(arrival: Arrival, completed: u64) -> Option<Level> {
        Scene::reading(MIB).open(1000.0, arrival).completed(completed).level("B4")
    }

    #[test]
    fn a_rate_must_be_kept() {
        assert_eq!(open(Arrival::Fixed, 10_000), Some(Level::Pass));
        assert_eq!(open(Arrival::Fixed, 9_900), Some(Level::Pass));
        assert_eq!(open(Arrival::Fixed, 9_899), Some(Level::Warn));
    }

    /// The standard deviation of 10,000 Poisson arrivals is 100.
    #[test]
    fn chance_is_not_a_missed_rate() {
        assert_eq!(open(Arrival::Poisson, 9_750), Some(Level::Pass));
        assert_eq!(open(Arrival::Poisson, 9_650), Some(Level::Warn));
    }

    /// At one op per second, the op in flight at the end is a tenth of all.
    #[test]
    fn the_op_in_flight_at_the_end_is_not_missed() {
        let slow = Scene::reading(MIB).open(1.0, Arrival::Fixed);
        assert_eq!(slow.completed(9).level("B4"), Some(Level::Pass));
    }

    #[test]
    fn a_shared_rate_is_that_of_all_workers_together() {
        let shared = |each: u64| {
            let pace = Pace::open(PerSecond(1000.0), Arrival::Fixed, true);
            Scene::reading(MIB).pace(pace).completed(each).workers(4, 0).level("B4")
        };
        assert_eq!(shared(2500), Some(Level::Pass));
        assert_eq!(shared(2000), Some(Level::Warn));
    }

    #[test]
    fn without_the_workers_own_counts_it_is_skipped() {
        let mut blind = Scene::reading(MIB).open(1000.0, Arrival::Fixed).completed(10_000);
        blind.measured().workers.clear();
        assert_eq!(blind.level("B4"), Some(Level::Skipped));
    }

    #[test]
    fn a_closed_loop_has_no_rate_to_keep() {
        assert_eq!(Scene::reading(MIB).level("B4"), None);
    }
}
