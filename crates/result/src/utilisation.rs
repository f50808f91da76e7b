//! Utilisation of an emulated consumer of the bytes read, such as an accelerator in training.

use crate::measurement::PhaseMeasurement;
use plumb_workload::Phase;
use serde::Serialize;

/// Utilisation of the emulated consumer of a group of readers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Utilisation {
    /// Name of the measured phase.
    pub phase: String,
    /// Name of the group of readers.
    pub group: String,
    /// Number of whole batches read; each is one step of the consumer.
    pub steps: u64,
    /// Time that the consumer was busy with these batches, ns.
    pub busy_ns: u64,
    /// Time from the first read to the end of the consumer's last step, ns.
    pub total_ns: u64,
    /// `busy_ns` / `total_ns`, at most 1; `null` if no whole batch was read.
    pub share: Option<f64>,
}

impl Utilisation {
    /// Returns the utilisation of each group of a measured phase whose reads have a consumer.
    pub fn per_group<'a>(plan: &'a Phase, measured: &'a PhaseMeasurement) -> impl Iterator<Item = Utilisation> + 'a {
        plan.workers.iter().enumerate().filter_map(|(number, group)| {
            let consumer = group.pace.consumer?;
            let name = group.name.clone().unwrap_or_else(|| format!("workers.{number}"));
            let own = |worker: &str| worker.rsplit_once('/').map_or(worker, |(group, _)| group) == name;
            let workers = || measured.workers.iter().filter(|worker| own(&worker.name));
            let bytes: u64 = workers().map(|worker| worker.bytes).sum();
            let wall_ns = workers().map(|worker| worker.started_ns + worker.wall_ns).max().unwrap_or(0);
            let steps = bytes / consumer.batch.0.max(1);
            let busy_ns = steps.saturating_mul(consumer.busy.0);
            // The last batch is complete when the last read ends, and its step follows. If reads wait for the
            // consumer, its steps follow one another.
            let total_ns = wall_ns.saturating_add(consumer.busy.0).max(busy_ns);
            let share = (steps > 0).then(|| busy_ns as f64 / total_ns as f64);
            Some(Utilisation { phase: plan.name.clone(), group: name, steps, busy_ns, total_ns, share })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::WorkerMeasurement;
    use plumb_workload::pace::Consumer;
    use plumb_workload::{Blocks, Bytes, Nanos, Pace, WorkerGroup};

    fn utilisation(bytes: u64, wall_ns: u64) -> Utilisation {
        let consumer = Consumer { batch: Bytes(100), busy: Nanos(10), ahead: 2 };
        let pace = Pace { consumer: Some(consumer), ..Pace::default() };
        let plan = Phase::new("epoch", vec![WorkerGroup { pace, ..WorkerGroup::new("data", Blocks::default()) }]);
        let worker = |number: u32| WorkerMeasurement {
            name: format!("workers.0/{number}"),
            bytes: bytes / 2,
            wall_ns,
            ..WorkerMeasurement::default()
        };
        let measured = PhaseMeasurement { workers: vec![worker(0), worker(1)], ..PhaseMeasurement::default() };
        Utilisation::per_group(&plan, &measured).next().unwrap()
    }

    // Protects: storage that is half as fast as the consumer keeps it busy for half of the time, and one that is faster for all of it.
    #[test]
    fn a_consumer_is_busy_for_as_long_as_its_steps_take() {
        let slow = utilisation(1_000, 190);
        assert_eq!((slow.steps, slow.busy_ns, slow.total_ns, slow.share), (10, 100, 200, Some(0.5)));
        let fast = utilisation(1_000, 80);
        assert_eq!((fast.total_ns, fast.share), (100, Some(1.0)));
        let none = utilisation(98, 190);
        assert_eq!((none.steps, none.share), (0, None));
    }
}
