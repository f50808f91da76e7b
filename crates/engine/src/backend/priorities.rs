//! I/O priorities that some of a worker's ops get.

use crate::backend::Slot;
use crate::op::BlockOp;
use crate::priority_cells::{PriorityClass, classes, kind_of};
use crate::rng::Rng;
use plumb_workload::OpKind;
use plumb_workload::process::{CommandPriority, IoPriority};

/// Encodes a priority as the kernel does: class, hint and level in one word. Source: linux/ioprio.h.
fn word(priority: IoPriority) -> u16 {
    (u16::from(priority.class) << 13) | ((priority.hint & 0x3ff) << 3) | u16::from(priority.level & 7)
}

/// Draws priorities. The shares for one kind and size of op divide the same 100 %: with 10 % at one priority and 20 %
/// at another, 70 % have none.
#[derive(Debug)]
pub(crate) struct Priorities {
    table: Vec<CommandPriority>,
    classes: Vec<PriorityClass>,
    /// Class of the last submitted op, by slot.
    in_slots: Vec<Option<usize>>,
    rng: Rng,
}

impl Priorities {
    /// Prepares for `depth` ops in flight; `None` if no op has its own priority.
    pub(crate) fn new(table: &[CommandPriority], depth: u32, rng: Rng) -> Option<Box<Priorities>> {
        (!table.is_empty()).then(|| {
            let (table, classes) = (table.to_vec(), classes(table));
            Box::new(Priorities { table, classes, in_slots: vec![None; depth as usize], rng })
        })
    }

    /// Returns the priority word for the op submitted in this slot; `None` if it keeps its thread's priority. Draws
    /// once for each read and write.
    pub(crate) fn draw(&mut self, op: &BlockOp, slot: Slot) -> Option<u16> {
        let drawn = self.drawn(op);
        let class = PriorityClass { kind: op.kind, priority: drawn };
        if let Some(in_slot) = self.in_slots.get_mut(usize::from(slot)) {
            *in_slot = self.classes.iter().position(|known| *known == class);
        }
        drawn.map(word)
    }

    /// Returns the class of the op in this slot, as an index into [`classes`].
    pub(crate) fn class_in(&self, slot: Slot) -> Option<usize> {
        self.in_slots.get(usize::from(slot)).copied().flatten()
    }

    fn drawn(&mut self, op: &BlockOp) -> Option<IoPriority> {
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            return None;
        }
        let drawn = self.rng.below(100) as u32;
        let mut reached = 0;
        self.table
            .iter()
            .filter(|entry| {
                kind_of(entry.of) == op.kind && entry.size.is_none_or(|size| size.0 == u64::from(op.length))
            })
            .find(|entry| {
                reached += u32::from(entry.percent);
                drawn < reached
            })
            .map(|entry| entry.priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;
    use plumb_workload::process::OpPriority;

    fn entry(size: Option<u64>, percent: u8, level: u8) -> CommandPriority {
        let priority = IoPriority { class: 1, level, hint: 0 };
        CommandPriority { of: OpPriority::Read, size: size.map(Bytes), percent, priority }
    }

    /// Protects the shares: they add up as configured, ops of other kinds and sizes get none, and
    /// the word matches the kernel's.
    #[test]
    fn shares_of_reads_get_their_priorities() {
        let table = [entry(Some(4096), 25, 3), entry(Some(4096), 50, 5)];
        let mut priorities = Priorities::new(&table, 1, Rng::new(7)).unwrap();
        let read = BlockOp::load(OpKind::Read, 0, 0, 4096);
        let drawn: Vec<Option<u16>> = (0..10_000).map(|_| priorities.draw(&read, 0)).collect();
        let share = |wanted: Option<u16>| drawn.iter().filter(|&&found| found == wanted).count();
        assert!((2300..2700).contains(&share(Some(1 << 13 | 3))), "{}", share(Some(1 << 13 | 3)));
        assert!((4800..5200).contains(&share(Some(1 << 13 | 5))));
        assert!((2300..2700).contains(&share(None)));
        assert_eq!(priorities.draw(&BlockOp { kind: OpKind::Write, ..read }, 0), None);
        assert_eq!(priorities.class_in(0), None, "writes have no priorities here");
        assert_eq!(priorities.draw(&BlockOp { length: 8192, ..read }, 0), None);
        assert_eq!(priorities.class_in(0), Some(0), "a read with the priority of its thread");
        assert!(Priorities::new(&[], 1, Rng::new(7)).is_none());
    }
}
