//! Starts the workers of a phase's groups, and stops others when a worker ends.

use crate::clock::{Clock, Ticks};
use crate::control::{ControlBlock, Departure};
use crate::plan::{Ends, GroupRun};

/// Delay between the decision to start and the start, so that every worker sees it in time.
const RELEASE_DELAY_NS: u64 = 300_000;

/// The delay for a single worker, which only has to wake up.
const RELEASE_DELAY_ALONE_NS: u64 = 60_000;

/// Additional delay per worker, which is the time to wake it.
const RELEASE_DELAY_EACH_NS: u64 = 5_000;

/// Returns the delay between the decision to start this many workers and their start. On virtual
/// time, no delay is needed.
pub(crate) fn release_delay(clock: &Clock, workers: usize) -> Ticks {
    match workers {
        _ if clock.is_virtual() => 0,
        1 => clock.ticks(RELEASE_DELAY_ALONE_NS),
        _ => clock.ticks(RELEASE_DELAY_NS + RELEASE_DELAY_EACH_NS * workers as u64),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerStatus {
    /// It runs or waits.
    Active,
    /// It has ended by a limit or a stop.
    Ended,
    /// It has ended for another reason.
    Failed,
}

/// Starts and stops the groups of a phase.
pub(crate) struct GroupScheduler {
    clock: Clock,
    groups: Vec<GroupRun>,
    members: Vec<Vec<usize>>,
    /// Group of each worker.
    group_of: Vec<usize>,
    /// By group: whether its workers were released.
    released: Vec<bool>,
    over: Vec<bool>,
    left: Vec<usize>,
    ends_run: bool,
}

impl GroupScheduler {
    /// Creates the scheduler of these groups. `group_of` maps workers to groups.
    pub(crate) fn new(clock: Clock, groups: &[GroupRun], group_of: Vec<usize>) -> GroupScheduler {
        let mut members = vec![Vec::new(); groups.len()];
        for (worker, &group) in group_of.iter().enumerate() {
            members[group].push(worker);
        }
        GroupScheduler {
            clock,
            groups: groups.to_vec(),
            left: members.iter().map(Vec::len).collect(),
            members,
            over: vec![false; group_of.len()],
            group_of,
            released: vec![false; groups.len()],
            ends_run: false,
        }
    }

    /// Begins the phase: starts the groups that wait for no other.
    pub(crate) fn begin(&mut self, control: &ControlBlock, at: Ticks) {
        self.release(control, at, |group| group.after.is_empty());
    }

    /// Returns `true` if the end of a worker has ended the whole run.
    pub(crate) fn ends_run(&self) -> bool {
        self.ends_run
    }

    /// Finds workers that have ended since the last call. Stops the workers that this ends, and starts the
    /// groups that waited for it.
    pub(crate) fn update(&mut self, control: &ControlBlock, status: impl Fn(usize) -> WorkerStatus, now: Ticks) {
        let mut news = false;
        for worker in 0..self.over.len() {
            let reached = if self.over[worker] { WorkerStatus::Active } else { status(worker) };
            if reached == WorkerStatus::Active {
                continue;
            }
            news = true;
            self.over[worker] = true;
            self.left[self.group_of[worker]] -= 1;
            self.end(control, self.group_of[worker], reached);
        }
        if news {
            let left = self.left.clone();
            let at = now + release_delay(&self.clock, 0);
            self.release(control, at, |group| group.after.iter().all(|&other| left[other] == 0));
        }
    }

    /// Applies the group's rule for the end of a worker.
    fn end(&mut self, control: &ControlBlock, group: usize, status: WorkerStatus) {
        match &self.groups[group].ends {
            Ends::Itself => {}
            Ends::GroupsIfFailed(_) | Ends::PhaseIfFailed | Ends::RunIfFailed if status != WorkerStatus::Failed => {}
            Ends::Groups(groups) | Ends::GroupsIfFailed(groups) => {
                let workers = groups.iter().flat_map(|&group| &self.members[group]);
                workers.for_each(|&worker| control.stop_worker(worker));
            }
            Ends::Phase | Ends::PhaseIfFailed => control.request_stop(),
            Ends::Run | Ends::RunIfFailed => {
                self.ends_run = true;
                control.request_stop();
            }
        }
    }

    /// Releases the groups that may start, each after its delay.
    fn release(&mut self, control: &ControlBlock, at: Ticks, may_start: impl Fn(&GroupRun) -> bool) {
        let mut departures = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            if !self.released[number] && may_start(group) {
                self.released[number] = true;
                let at = at + self.clock.ticks(group.delay_ns);
                departures.extend(self.members[number].iter().map(|&worker| Departure { worker, at }));
            }
        }
        if !departures.is_empty() {
            control.release(departures.into_iter());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group_scheduler(groups: &[GroupRun], group_of: &[usize]) -> (ControlBlock, GroupScheduler) {
        let control = ControlBlock::new(groups.len(), group_of.len()).unwrap();
        (control, GroupScheduler::new(Clock::monotonic(), groups, group_of.to_vec()))
    }

    #[test]
    fn a_group_starts_after_the_last_worker_that_it_waits_for() {
        let waits = GroupRun { after: vec![0], delay_ns: 50, ..GroupRun::default() };
        let (control, mut group_scheduler) = group_scheduler(&[GroupRun::default(), waits], &[0, 0, 1]);
        group_scheduler.begin(&control, 1_000);
        assert_eq!([0, 1, 2].map(|worker| control.go_at(worker)), [Some(1_000), Some(1_000), None]);
        let of = |over: &'static [usize]| {
            move |worker| if over.contains(&worker) { WorkerStatus::Ended } else { WorkerStatus::Active }
        };
        group_scheduler.update(&control, of(&[0]), 2_000);
        assert_eq!(control.go_at(2), None);
        group_scheduler.update(&control, of(&[0, 1]), 3_000);
        assert_eq!(control.go_at(2), Some(3_000 + RELEASE_DELAY_NS + 50));
    }

    #[test]
    fn an_end_stops_the_configured_workers() {
        let ends = |ends: Ends| GroupRun { ends, ..GroupRun::default() };
        for (rule, status, stopped, ends_run) in [
            (Ends::Itself, WorkerStatus::Failed, [false, false, false], false),
            (Ends::Groups(vec![1]), WorkerStatus::Ended, [false, true, false], false),
            (Ends::Phase, WorkerStatus::Ended, [true, true, true], false),
            (Ends::Run, WorkerStatus::Ended, [true, true, true], true),
            (Ends::RunIfFailed, WorkerStatus::Ended, [false, false, false], false),
            (Ends::RunIfFailed, WorkerStatus::Failed, [true, true, true], true),
        ] {
            let groups = [ends(rule.clone()), ends(Ends::Itself), ends(Ends::Itself)];
            let (control, mut group_scheduler) = group_scheduler(&groups, &[0, 1, 2]);
            group_scheduler.begin(&control, 1);
            group_scheduler.update(&control, |worker| if worker == 0 { status } else { WorkerStatus::Active }, 2);
            let found = [0, 1, 2].map(|worker| control.worker(worker).stop_requested());
            assert_eq!((found, group_scheduler.ends_run()), (stopped, ends_run), "{rule:?} {status:?}");
        }
    }
}
