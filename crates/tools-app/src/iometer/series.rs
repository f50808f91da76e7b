//! The tests of a configuration.

use super::config::{Config, Cycle, TestType};

/// Limit of tests. More are probably a mistake.
const TESTS_MAX: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Index of the test's specification in each worker's list.
    pub spec_number: usize,
    /// Number of targets used by each worker; 0 for an idle one.
    pub targets: Vec<usize>,
    /// Queue depth, if it changes from test to test.
    pub depth: Option<u64>,
    /// Whether it is the first test of its access specifications.
    pub is_first: bool,
}

impl Cycle {
    /// Returns the numbers. The sequence is infinite if they grow.
    fn numbers(self) -> impl Iterator<Item = u64> {
        let mut at = Some(self.start);
        std::iter::from_fn(move || {
            let now = at?;
            at = match self.is_exponential && self.step != 1 {
                true => now.checked_mul(self.step),
                false => now.checked_add(self.step),
            };
            Some(now)
        })
    }

    /// Returns how many of `most` entities each step uses, until a step adds none.
    fn counts(self, most: usize) -> Vec<usize> {
        let mut counts: Vec<usize> = Vec::new();
        for number in self.numbers() {
            let count = usize::try_from(number).unwrap_or(most).min(most);
            if counts.last().is_some_and(|last| count <= *last) || count == 0 {
                break;
            }
            counts.push(count);
        }
        counts
    }
}

impl Config {
    /// Returns the tests in order; `None` if there are too many.
    pub fn tests(&self) -> Option<Vec<Test>> {
        let count = self.workers.iter().map(|worker| worker.specs.len()).max().unwrap_or(0);
        let mut tests = Vec::new();
        for spec_number in 0..count {
            // The targets that each worker could use; 0 if it is idle.
            let all: Vec<usize> = self
                .workers
                .iter()
                .map(|worker| {
                    let spec = worker.specs.get(spec_number).map(|&number| &self.specs[number]);
                    if spec.is_some_and(|spec| !spec.lines.is_empty()) { worker.targets.len() } else { 0 }
                })
                .collect();
            if all.iter().all(|targets| *targets == 0) {
                continue;
            }
            for (number, (targets, depth)) in self.steps(&all)?.into_iter().enumerate() {
                tests.push(Test { spec_number, targets, depth, is_first: number == 0 });
            }
            if tests.len() > TESTS_MAX {
                return None;
            }
        }
        Some(tests)
    }

    /// Returns the targets of each worker and the queue depth, step by step.
    fn steps(&self, all: &[usize]) -> Option<Vec<(Vec<usize>, Option<u64>)>> {
        let setup = &self.setup;
        let each = |most: usize| all.iter().map(|&own| own.min(most)).collect::<Vec<_>>();
        let working = |most: usize| {
            let mut left = most;
            let take = |&own: &usize| {
                let takes = own > 0 && left > 0;
                left -= usize::from(takes);
                if takes { own } else { 0 }
            };
            all.iter().map(take).collect::<Vec<_>>()
        };
        let together = |most: usize| {
            let mut left = most;
            let take = |&own: &usize| {
                let taken = own.min(left);
                left -= taken;
                taken
            };
            all.iter().map(take).collect::<Vec<_>>()
        };
        let (most, sum) = (all.iter().copied().max().unwrap_or(0), all.iter().sum());
        let busy = all.iter().filter(|own| **own > 0).count();
        let plain = |targets: Vec<Vec<usize>>| targets.into_iter().map(|targets| (targets, None)).collect();
        Some(match setup.test_type {
            TestType::Normal => vec![(all.to_vec(), None)],
            TestType::CycleTargets => plain(setup.targets.counts(most).into_iter().map(each).collect()),
            TestType::CycleWorkers => plain(setup.workers.counts(busy).into_iter().map(working).collect()),
            TestType::IncrementTargetsParallel | TestType::IncrementTargetsSerial => {
                plain(setup.targets.counts(sum).into_iter().map(together).collect())
            }
            TestType::CycleWorkersAndTargets => {
                let of = |workers: usize| {
                    let used = working(workers);
                    let most = used.iter().copied().max().unwrap_or(0);
                    let step = move |targets: usize| used.iter().map(|&own| own.min(targets)).collect::<Vec<_>>();
                    setup.targets.counts(most).into_iter().map(step).collect::<Vec<_>>()
                };
                plain(setup.workers.counts(busy).into_iter().flat_map(of).collect())
            }
            TestType::CycleQueue => self.depths()?.into_iter().map(|depth| (all.to_vec(), Some(depth))).collect(),
            TestType::CycleQueueAndTargets => {
                let depths = self.depths()?;
                let of = |targets: usize| depths.iter().map(move |&depth| (each(targets), Some(depth)));
                setup.targets.counts(most).into_iter().flat_map(of).collect()
            }
        })
    }

    /// Returns the queue depths up to the largest; `None` if they never reach it.
    fn depths(&self) -> Option<Vec<u64>> {
        let mut depths = Vec::new();
        for depth in self.setup.queue.numbers() {
            if depth > self.setup.queue_end {
                break;
            }
            if depths.len() >= TESTS_MAX || depths.last().is_some_and(|last| depth <= *last) {
                return None;
            }
            depths.push(depth);
        }
        Some(depths)
    }
}
