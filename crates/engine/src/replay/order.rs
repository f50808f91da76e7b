//! Computes the calls that a recorded call waits for.
//!
//! A call never waits for one that was still running when it began: the two overlapped, so neither can have caused the
//! other. Source of the rules by resource: Weiss et al., "ROOT: Replaying Multithreaded Traces with Resource-Oriented
//! Ordering", SOSP 2013: names in the order of their generations, descriptors and files in stages.

use super::call::{CallAct, NO_SLOT, RecordedCall};
use plumb_workload::ReplayOrder;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Dependency of a call, in one word: twice the number of the other call, plus 1 if waiting for its start is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WaitFor(u64);

impl WaitFor {
    pub(super) fn end_of(number: u64) -> WaitFor {
        WaitFor(number << 1)
    }

    pub(super) fn beginning_of(number: u64) -> WaitFor {
        WaitFor(number << 1 | 1)
    }

    pub(super) fn number(self) -> u64 {
        self.0 >> 1
    }

    pub(super) fn is_beginning(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A call that used a resource.
#[derive(Debug, Clone, Copy)]
struct ResourceUse {
    number: u64,
    lane: u32,
    end_ns: u64,
}

/// The recent users of a resource, and the last call that changed it.
#[derive(Debug, Clone, Default)]
struct ResourceUses {
    changed: Option<ResourceUse>,
    /// The last user of each lane since that change.
    used: Vec<ResourceUse>,
}

/// A call whose dependencies are being collected.
struct Dependencies<'a> {
    user: ResourceUse,
    at_ns: u64,
    waits: &'a mut Vec<WaitFor>,
    /// End of the latest dependency.
    after_ns: &'a mut u64,
}

impl Dependencies<'_> {
    fn wait_for(&mut self, other: ResourceUse) {
        if other.number == self.user.number || other.end_ns > self.at_ns {
            return;
        }
        *self.after_ns = (*self.after_ns).max(other.end_ns);
        // Calls of the same lane run in order anyway.
        let wait = WaitFor::end_of(other.number);
        if other.lane != self.user.lane && !self.waits.contains(&wait) {
            self.waits.push(wait);
        }
    }

    fn uses(&mut self, users: &mut ResourceUses) {
        if let Some(changed) = users.changed {
            self.wait_for(changed);
        }
        match users.used.iter_mut().find(|user| user.lane == self.user.lane) {
            Some(user) => *user = ResourceUse { end_ns: self.user.end_ns.max(user.end_ns), ..self.user },
            None => users.used.push(self.user),
        }
    }

    fn changes(&mut self, users: &mut ResourceUses) {
        if let Some(changed) = users.changed {
            self.wait_for(changed);
        }
        for user in users.used.drain(..) {
            self.wait_for(user);
        }
        users.changed = Some(self.user);
    }
}

/// Parents of directories and files. There are few directories and many names, so each name's
/// ancestors are found by walking up.
#[derive(Debug, Clone, Default)]
pub(super) struct Ancestors {
    /// Parent directory of each file, followed by the parent of each directory; `u32::MAX` above the root.
    pub(super) parents: Vec<u32>,
}

/// Computes the dependencies of each call.
pub(super) struct Order {
    rule: ReplayOrder,
    ancestors: Ancestors,
    names: Vec<ResourceUses>,
    /// Number of the object (the bytes) currently under each name.
    objects: Vec<u32>,
    data: Vec<ResourceUses>,
    /// Recent uses of each slot.
    descriptors: Vec<ResourceUses>,
    slot_objects: Vec<u32>,
    /// Calls that have not ended, ordered by their end.
    flying: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Ended calls in order of their ends; `ended_from` is the position of the first one.
    ended: VecDeque<ResourceUse>,
    ended_from: u64,
    /// Position in `ended` up to which each lane has read.
    read_until: Vec<u64>,
    /// End of each lane's last call.
    lane_ends: Vec<Option<u64>>,
}

/// Number of ended calls kept. A lane that reads too rarely misses the earlier ones.
const ENDED_MAX: usize = 4096;

impl Order {
    pub(super) fn new(rule: ReplayOrder, ancestors: Ancestors, files: usize, lanes: usize) -> Order {
        let names = ancestors.parents.len().max(files);
        Order {
            rule,
            ancestors,
            names: vec![ResourceUses::default(); if rule == ReplayOrder::Resource { names } else { 0 }],
            objects: (0..files as u32).collect(),
            data: vec![ResourceUses::default(); files],
            descriptors: Vec::new(),
            slot_objects: Vec::new(),
            flying: BinaryHeap::new(),
            ended: VecDeque::new(),
            ended_from: 0,
            read_until: vec![0; lanes],
            lane_ends: vec![None; lanes],
        }
    }

    /// Collects the dependencies of a call into `waits`. Returns the think time between the end of the last dependency
    /// and the call, ns, and the number of calls in flight at its start.
    pub(super) fn next(
        &mut self,
        call: &RecordedCall,
        number: u64,
        lane: u32,
        slot: u32,
        waits: &mut Vec<WaitFor>,
    ) -> (u64, u32) {
        let user = ResourceUse { number, lane, end_ns: call.end_ns() };
        let mut after_ns = self.lane_ends[lane as usize].filter(|end_ns| *end_ns <= call.at_ns).unwrap_or(0);
        while let Some(&Reverse((end_ns, other, other_lane))) = self.flying.peek()
            && end_ns <= call.at_ns
        {
            self.flying.pop();
            if self.ended.len() == ENDED_MAX {
                self.ended.pop_front();
                self.ended_from += 1;
            }
            self.ended.push_back(ResourceUse { number: other, lane: other_lane, end_ns });
        }
        let in_flight = self.flying.len() as u32;
        let mut dependencies = Dependencies { user, at_ns: call.at_ns, waits, after_ns: &mut after_ns };
        match self.rule {
            ReplayOrder::None | ReplayOrder::Thread => {}
            ReplayOrder::Total => {
                // Wait for the start of the previous call, and so for everything that it waited for.
                for ended in self.ended.drain(..) {
                    self.ended_from += 1;
                    dependencies.wait_for(ended);
                }
                if number > 0 {
                    dependencies.waits.push(WaitFor::beginning_of(number - 1));
                }
            }
            ReplayOrder::Inferred => {
                let read_until = &mut self.read_until[lane as usize];
                let from = read_until.saturating_sub(self.ended_from) as usize;
                let mut seen = 0_u64;
                for ended in self.ended.iter().skip(from).rev() {
                    if seen >> (ended.lane & 63) & 1 == 0 {
                        seen |= 1 << (ended.lane & 63);
                        dependencies.wait_for(*ended);
                    }
                }
                *read_until = self.ended_from + self.ended.len() as u64;
            }
            ReplayOrder::Resource => self.by_resource(call, slot, user, waits, &mut after_ns),
        }
        self.flying.push(Reverse((user.end_ns, number, lane)));
        let last = &mut self.lane_ends[lane as usize];
        *last = Some(last.unwrap_or(0).max(user.end_ns));
        (call.at_ns.saturating_sub(after_ns), in_flight)
    }

    fn by_resource(
        &mut self,
        call: &RecordedCall,
        slot: u32,
        user: ResourceUse,
        waits: &mut Vec<WaitFor>,
        after_ns: &mut u64,
    ) {
        let Order { ancestors, names, objects, data, descriptors, slot_objects, .. } = self;
        let mut dependencies = Dependencies { user, at_ns: call.at_ns, waits, after_ns };
        let above = |dependencies: &mut Dependencies<'_>, names: &mut [ResourceUses], file: u32| {
            let mut at = ancestors.parents.get(file as usize).copied().unwrap_or(u32::MAX);
            while let Some(users) = names.get_mut(at as usize) {
                dependencies.uses(users);
                at = ancestors.parents.get(at as usize).copied().unwrap_or(u32::MAX);
            }
        };
        if slot != NO_SLOT && descriptors.len() <= slot as usize {
            descriptors.resize(slot as usize + 1, ResourceUses::default());
            slot_objects.resize(slot as usize + 1, u32::MAX);
        }
        let by_name = slot == NO_SLOT || call.act == CallAct::Open;
        let file = call.file as usize;
        if by_name {
            above(&mut dependencies, names, call.file);
            let changes = call.result >= 0
                && (call.act.changes_names() || call.act == CallAct::Open && call.aux & 0o100 != 0)
                && call.act != CallAct::Link;
            match names.get_mut(file) {
                Some(users) if changes => dependencies.changes(users),
                Some(users) => dependencies.uses(users),
                None => {}
            }
            if call.act.has_other() {
                let other = call.aux as u32;
                above(&mut dependencies, names, other);
                if let Some(users) = names.get_mut(other as usize) {
                    if call.result >= 0 { dependencies.changes(users) } else { dependencies.uses(users) }
                }
            }
        }
        let mut object = objects.get(file).copied().unwrap_or(u32::MAX);
        if call.result >= 0 {
            let next = data.len() as u32;
            let has_two = call.aux as usize != file && (call.aux as usize) < objects.len();
            if call.act.has_other() && has_two {
                objects[call.aux as usize] = object;
            }
            let leaves = matches!(call.act, CallAct::Unlink | CallAct::Rmdir) || call.act == CallAct::Rename && has_two;
            if leaves && let Some(under) = objects.get_mut(file) {
                *under = next;
                data.push(ResourceUses::default());
            }
        }
        if slot != NO_SLOT {
            let at = slot as usize;
            match call.act {
                CallAct::Open => {
                    dependencies.changes(&mut descriptors[at]);
                    slot_objects[at] = object;
                }
                CallAct::Close => dependencies.changes(&mut descriptors[at]),
                _ => {
                    dependencies.uses(&mut descriptors[at]);
                    if slot_objects[at] != u32::MAX {
                        object = slot_objects[at];
                    }
                }
            }
        }
        if let Some(users) = data.get_mut(object as usize) {
            match call.act {
                CallAct::Write | CallAct::Trim | CallAct::Truncate | CallAct::Allocate => dependencies.changes(users),
                CallAct::Open if call.aux & 0o1000 != 0 => dependencies.changes(users),
                CallAct::Read | CallAct::Fsync | CallAct::Fdatasync | CallAct::SyncRange => dependencies.uses(users),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::UNKNOWN_NS;
    use super::*;

    fn call(at_ns: u64, took_ns: u64, act: CallAct, file: u32) -> RecordedCall {
        RecordedCall { at_ns, took_ns, offset: 0, length: 1, result: 1, aux: 0, file, task: 0, handle: 0, act }
    }

    /// Returns, for each call, the numbers of the calls whose end it waits for.
    fn ends(rule: ReplayOrder, parents: &[u32], calls: &[(u32, u32, RecordedCall)]) -> Vec<Vec<u64>> {
        let mut order = Order::new(rule, Ancestors { parents: parents.to_vec() }, parents.len(), 4);
        let each = calls.iter().enumerate().map(|(number, (lane, slot, call))| {
            let mut waits = Vec::new();
            order.next(call, number as u64, *lane, *slot, &mut waits);
            waits.into_iter().filter(|wait| !wait.is_beginning()).map(WaitFor::number).collect()
        });
        each.collect()
    }

    const TOP: u32 = u32::MAX;

    #[test]
    fn a_file_is_used_between_its_creation_and_its_removal() {
        let made = RecordedCall { aux: 0o100, ..call(0, 1, CallAct::Open, 0) };
        let calls = [
            (0, NO_SLOT, call(0, 1, CallAct::Mkdir, 1)),
            (1, 0, RecordedCall { at_ns: 2, ..made }),
            (2, NO_SLOT, call(4, 1, CallAct::Stat, 0)),
            (1, 0, call(5, 1, CallAct::Write, 0)),
            (3, NO_SLOT, call(8, 1, CallAct::Unlink, 0)),
        ];
        let found = ends(ReplayOrder::Resource, &[1, TOP], &calls);
        assert_eq!(found, [vec![], vec![0], vec![0, 1], vec![], vec![0, 1, 2]]);
    }

    #[test]
    fn overlapping_calls_are_not_ordered() {
        let calls = [
            (0, 0, call(0, 10, CallAct::Write, 0)),
            (1, 0, call(5, 10, CallAct::Write, 0)),
            (2, 0, call(12, 1, CallAct::Read, 0)),
            (3, 0, call(20, 1, CallAct::Read, 0)),
        ];
        assert_eq!(ends(ReplayOrder::Resource, &[TOP], &calls), [vec![], vec![], vec![], vec![1]]);
        assert_eq!(ends(ReplayOrder::Total, &[TOP], &calls), [vec![], vec![], vec![0], vec![2, 1]]);
        assert_eq!(ends(ReplayOrder::Thread, &[TOP], &calls), vec![Vec::<u64>::new(); 4]);
    }

    #[test]
    fn inferred_order_waits_for_the_last_call_of_every_other_thread() {
        let calls = [
            (0, NO_SLOT, call(0, 1, CallAct::Stat, 0)),
            (0, NO_SLOT, call(2, 1, CallAct::Stat, 0)),
            (1, NO_SLOT, call(4, 1, CallAct::Stat, 0)),
            (2, NO_SLOT, call(6, 1, CallAct::Stat, 0)),
            (2, NO_SLOT, call(8, 1, CallAct::Stat, 0)),
        ];
        assert_eq!(ends(ReplayOrder::Inferred, &[TOP], &calls), [vec![], vec![], vec![1], vec![2, 1], vec![]]);
    }

    #[test]
    fn think_times_start_at_the_last_end_and_depths_count_unfinished_calls() {
        let mut order = Order::new(ReplayOrder::Thread, Ancestors::default(), 1, 2);
        let mut next = |call: RecordedCall, number, lane| order.next(&call, number, lane, NO_SLOT, &mut Vec::new());
        assert_eq!(next(call(100, 50, CallAct::Stat, 0), 0, 0), (100, 0));
        assert_eq!(next(call(120, 100, CallAct::Stat, 0), 1, 1), (120, 1));
        assert_eq!(next(call(170, 5, CallAct::Stat, 0), 2, 0), (20, 1));
        assert_eq!(next(call(300, UNKNOWN_NS, CallAct::Stat, 0), 3, 1), (80, 0));
    }

    #[test]
    fn a_renamed_file_keeps_its_bytes_and_the_old_name_gets_others() {
        let rename = RecordedCall { aux: 1, ..call(2, 1, CallAct::Rename, 0) };
        let calls = [
            (0, NO_SLOT, call(0, 1, CallAct::Write, 0)),
            (1, NO_SLOT, rename),
            (2, NO_SLOT, call(4, 1, CallAct::Read, 1)),
            (3, NO_SLOT, call(6, 1, CallAct::Write, 0)),
        ];
        assert_eq!(ends(ReplayOrder::Resource, &[TOP, TOP], &calls), [vec![], vec![0], vec![1, 0], vec![1]]);
    }
}
