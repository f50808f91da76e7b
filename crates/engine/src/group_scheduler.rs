//! When the workers of a phase's groups start, and whom the end of a worker ends.

use crate::clock::{Clock, Ticks};
use crate::control::{ControlBlock, Departure};
use crate::plan::{Ends, GroupRun};

/// From the decision to start to the start, so that every worker sees it in time.
const RELEASE_DELAY_NS: u64 = 300_000;

/// The delay where there is only one worker, which is to be woken and has no other to start at the same time as.
const RELEASE_DELAY_ALONE_NS: u64 = 60_000;

/// The same for each worker beyond: to wake them takes so long.
const RELEASE_DELAY_EACH_NS: u64 = 5_000;

/// From the decision that this many workers start to their start. On virtual time everybody sees everything at once.
pub(crate) fn release_delay(clock: &Clock, workers: usize) -> Ticks {
    match workers {
        _ if clock.is_virtual() => 0,
        1 => clock.ticks(RELEASE_DELAY_ALONE_NS),
        _ => clock.ticks(RELEASE_DELAY_NS + RELEASE_DELAY_EACH_NS * workers as u64),
    }
}

/// How a worker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is at work, or waits.
    Present,
    /// It has ended.
    Over,
    /// It has ended otherwise than by a limit or a stop.
    Failed,
}

/// Watches over the groups of a phase.
pub(crate) struct GroupScheduler {
    clock: Clock,
    groups: Vec<GroupRun>,
    /// Workers of each group.
    members: Vec<Vec<usize>>,
    /// By worker.
    group_of: Vec<usize>,
    /// By group.
    released: Vec<bool>,
    over: Vec<bool>,
    left: Vec<usize>,
    ends_run: bool,
}

impl GroupScheduler {
    /// Of these groups, and workers that belong to them.
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

    /// The phase begins: those that wait for nobody start.
    pub(crate) fn begin(&mut self, control: &ControlBlock, at: Ticks) {
        self.release(control, at, |group| group.after.is_empty());
    }

    /// Whether the end of a worker has ended the whole run.
    pub(crate) fn ends_run(&self) -> bool {
        self.ends_run
    }

    /// Looks who has ended since the last look, ends whom that ends, and starts who has waited for it.
    pub(crate) fn look(&mut self, control: &ControlBlock, standing: impl Fn(usize) -> Standing, now: Ticks) {
        let mut news = false;
        for worker in 0..self.over.len() {
            let stands = if self.over[worker] { Standing::Present } else { standing(worker) };
            if stands == Standing::Present {
                continue;
            }
            news = true;
            self.over[worker] = true;
            self.left[self.group_of[worker]] -= 1;
            self.end(control, self.group_of[worker], stands);
        }
        if news {
            let left = self.left.clone();
            let at = now + release_delay(&self.clock, 0);
            self.release(control, at, |group| group.after.iter().all(|&other| left[other] == 0));
        }
    }

    /// Does what the end of a worker of this group does.
    fn end(&mut self, control: &ControlBlock, group: usize, stands: Standing) {
        match &self.groups[group].ends {
            Ends::Itself => {}
            Ends::GroupsIfFailed(_) | Ends::PhaseIfFailed | Ends::RunIfFailed if stands != Standing::Failed => {}
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

    /// Starts the workers of groups that may start, each group after its delay.
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
            move |worker| if over.contains(&worker) { Standing::Over } else { Standing::Present }
        };
        group_scheduler.look(&control, of(&[0]), 2_000);
        assert_eq!(control.go_at(2), None);
        group_scheduler.look(&control, of(&[0, 1]), 3_000);
        assert_eq!(control.go_at(2), Some(3_000 + RELEASE_DELAY_NS + 50));
    }

    #[test]
    fn an_end_ends_whom_it_is_said_to_end() {
        let ends = |ends: Ends| GroupRun { ends, ..GroupRun::default() };
        for (rule, stands, stopped, ends_run) in [
            (Ends::Itself, Standing::Failed, [false, false, false], false),
            (Ends::Groups(vec![1]), Standing::Over, [false, true, false], false),
            (Ends::Phase, Standing::Over, [true, true, true], false),
            (Ends::Run, Standing::Over, [true, true, true], true),
            (Ends::RunIfFailed, Standing::Over, [false, false, false], false),
            (Ends::RunIfFailed, Standing::Failed, [true, true, true], true),
        ] {
            let groups = [ends(rule.clone()), ends(Ends::Itself), ends(Ends::Itself)];
            let (control, mut group_scheduler) = group_scheduler(&groups, &[0, 1, 2]);
            group_scheduler.begin(&control, 1);
            group_scheduler.look(&control, |worker| if worker == 0 { stands } else { Standing::Present }, 2);
            let found = [0, 1, 2].map(|worker| control.worker(worker).stop_requested());
            assert_eq!((found, group_scheduler.ends_run()), (stopped, ends_run), "{rule:?} {stands:?}");
        }
    }
}
