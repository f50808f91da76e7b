//! Calls of a program over files of which only the names exist: each succeeds, does
//! nothing, and takes its configured delay.

use super::command::run_command;
use super::op::{Call, CallOp};
use super::rules::StepRules;
use super::trees::{TreeFiles, WallMark};
use super::wait::WaitAfterOp;
use crate::backend::{Completion, SyncBackend};
use crate::clock::Clock;
use crate::content::Mismatch;
use plumb_workload::files::Names;
use plumb_workload::program::{TreeStep, TreeWork};
use plumb_workload::{NullDelays, NullFiles, OpKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The files of a null target.
#[derive(Clone)]
pub(crate) struct NamesOnly {
    /// Trees, if the names belong to trees: workers walk through them as through real ones.
    pub(super) trees: Option<Arc<TreeFiles>>,
    pub(super) count: u64,
    pub(super) delays: NullDelays,
    /// Results of earlier phases, such as the items completed before the last stonewall.
    pub(super) mark: Arc<WallMark>,
}

impl NamesOnly {
    pub(crate) fn new(files: &NullFiles) -> NamesOnly {
        let trees = match &files.names {
            Names::Trees(names) => Some(Arc::new(TreeFiles::new((**names).clone(), Path::new("")))),
            _ => None,
        };
        NamesOnly { trees, count: files.names.count() as u64, delays: files.delays, mark: Arc::default() }
    }
}

/// A worker's calls.
pub(super) struct NullCalls {
    delays: NullDelays,
    rules: Arc<Vec<StepRules>>,
    clock: Clock,
    /// Wait after the current op.
    wait: WaitAfterOp,
}

impl NullCalls {
    pub(super) fn new(delays: NullDelays, clock: Clock) -> NullCalls {
        NullCalls { delays, rules: Arc::default(), clock, wait: WaitAfterOp::default() }
    }

    /// Returns the wait after an op with these rules, in millionths of its own time.
    fn waits_ppm(rules: Option<&StepRules>) -> u64 {
        match rules {
            Some(StepRules::Tree(step)) => step.waits_ppm,
            _ => 0,
        }
    }

    fn make(&self, op: &CallOp) -> Completion {
        if op.call == Call::Command {
            return run_command(self.rules.get(usize::from(op.rules)));
        }
        let (sleep_ns, moved) = self.cost(std::hint::black_box(op));
        if sleep_ns > 0 {
            std::thread::sleep(Duration::from_nanos(sleep_ns));
        }
        Ok(moved)
    }

    /// Sets the rules of the following steps.
    pub(super) fn use_rules(&mut self, rules: &Arc<Vec<StepRules>>) {
        self.rules = Arc::clone(rules);
    }

    /// Returns the total delay of an op's calls, ns, and the bytes that they move.
    fn cost(&self, op: &CallOp) -> (u64, u64) {
        let delays = &self.delays;
        match (op.call, self.rules.get(usize::from(op.rules))) {
            (Call::Tree, Some(StepRules::Tree(step))) => self.of_item(step, op.kind),
            (Call::Open, _) if op.kind == OpKind::Create => (delays.create.0, 0),
            (Call::Close, _) => (delays.close.0, 0),
            (Call::Sync, _) => (delays.sync.0, 0),
            _ if op.kind.moves_bytes() => (delays.transfer.0, op.length),
            _ => (0, 0),
        }
    }

    /// Like [`cost`](Self::cost), for an item of a tree, which one op opens, writes or reads, and closes.
    fn of_item(&self, step: &TreeStep, kind: OpKind) -> (u64, u64) {
        let NullDelays { create, close, transfer, .. } = self.delays;
        let opened = match step.does_in(kind) {
            TreeWork::Make(item) if !item.exists => create.0,
            TreeWork::Make(_) | TreeWork::Read { .. } => 0,
            _ => return (0, 0),
        };
        let bytes = step.item_bytes();
        let moved = if bytes > 0 { transfer.0 } else { 0 };
        (opened.saturating_add(moved).saturating_add(close.0), bytes)
    }
}

impl SyncBackend for NullCalls {
    type Op = CallOp;

    #[inline]
    fn execute(&mut self, op: &CallOp) -> Completion {
        match NullCalls::waits_ppm(self.rules.get(usize::from(op.rules))) {
            0 => self.make(op),
            ppm => {
                let mut wait = WaitAfterOp::default();
                let made = wait.timed(ppm, &self.clock, || self.make(op));
                self.wait = wait;
                made
            }
        }
    }

    fn after(&mut self, _op: &CallOp, _moved: u64) -> Result<(), Box<Mismatch>> {
        std::mem::take(&mut self.wait).wait(&self.clock);
        Ok(())
    }

    fn works_between_ops(&self) -> bool {
        self.rules.iter().any(|rules| NullCalls::waits_ppm(Some(rules)) > 0)
    }

    fn path_of(&self, _op: &CallOp) -> PathBuf {
        PathBuf::from("null")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::program::{MakeItem, Renewal};
    use plumb_workload::{Bytes, Nanos};

    fn calls(step: TreeWork) -> NullCalls {
        let [create, close, sync, transfer] = [1, 20, 300, 4000].map(Nanos);
        let mut calls = NullCalls::new(NullDelays { create, close, sync, transfer }, Clock::monotonic());
        calls.use_rules(&Arc::new(vec![StepRules::Tree(Box::new(TreeStep::new(step)))]));
        calls
    }

    // Protects IOR's and mdtest's DUMMY: each call sleeps for its own delay, and data counts as moved.
    #[test]
    fn each_call_takes_its_own_delay() {
        let of = |kind, call| calls(TreeWork::Stat).cost(&CallOp { length: 7, ..CallOp::new(kind, call) });
        assert_eq!(of(OpKind::Create, Call::Open), (1, 0));
        assert_eq!(of(OpKind::Open, Call::Open), (0, 0));
        assert_eq!(of(OpKind::Close, Call::Close), (20, 0));
        assert_eq!(of(OpKind::Sync, Call::Sync), (300, 0));
        assert_eq!(of(OpKind::Fsync, Call::Fsync), (0, 0));
        assert_eq!(of(OpKind::Write, Call::Write), (4000, 7));
        let item = |step, kind| calls(step).cost(&CallOp::new(kind, Call::Tree));
        let make =
            |bytes, exists| TreeWork::Make(MakeItem { bytes: Bytes(bytes), flush: false, exists, reads_back: false });
        assert_eq!(item(make(0, false), OpKind::Create), (21, 0));
        assert_eq!(item(make(9, false), OpKind::Create), (4021, 9));
        assert_eq!(item(make(9, true), OpKind::Create), (4020, 9));
        assert_eq!(item(TreeWork::Read { bytes: Bytes(5) }, OpKind::Read), (4020, 5));
        assert_eq!(item(TreeWork::Stat, OpKind::Stat), (0, 0));
        assert_eq!(item(TreeWork::Unlink, OpKind::Unlink), (0, 0));
        let renewal = Renewal { bytes: Bytes(5), items: 1, stride: 0, reads_only: false };
        let renewed = |kind| item(TreeWork::Renew(renewal), kind);
        let kinds = [OpKind::Stat, OpKind::Read, OpKind::Unlink, OpKind::Create];
        assert_eq!(kinds.map(renewed), [(0, 0), (4020, 5), (0, 0), (4021, 5)]);
    }
}
