//! Steps that go from root to root with each item, and steps that renew items.

use crate::program::op::CallOp;
use plumb_workload::OpKind;
use plumb_workload::program::{Renewal, TreeEntry, TreeName, TreeNames, TreeStep, TreeWork};

/// Position in a round: one item of each root, with one or more ops on each item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Kinds of the ops on each item, in order.
    kinds: &'static [OpKind],
    /// Index of the next kind.
    part: usize,
    /// Root of the current item.
    root: u32,
}

impl Round {
    /// Creates the round of a step that goes across roots; `None` for other steps.
    pub(super) fn for_step(step: &TreeStep) -> Option<Round> {
        step.is_across_roots().then(|| Round { kinds: step.kinds(), part: 0, root: 0 })
    }

    /// Returns `true` at the start of a round.
    #[inline]
    pub(super) fn is_at_start(&self) -> bool {
        self.part == 0 && self.root == 0
    }

    /// Returns the current op on item `item`. The create of a renewal uses the item that comes after the existing ones.
    pub(super) fn op(&self, names: &TreeNames, step: &TreeStep, worker: u32, item: u64, op: CallOp) -> CallOp {
        let kind = self.kinds.get(self.part).copied().unwrap_or(op.kind);
        let owners = u64::from(names.owners.max(1));
        let (far, item) = match step.does {
            TreeWork::Renew(Renewal { stride, items, .. }) => {
                let far = (u64::from(self.root) + 1) * u64::from(stride) % owners;
                if kind == OpKind::Create { (far, item + items) } else { (owners - far, item) }
            }
            _ => (u64::from(step.shift), item),
        };
        let owner = ((u64::from(worker) + far) % owners) as u32;
        let file = names.number(TreeName { root: self.root, owner, entry: TreeEntry::Item(step.items, item) });
        CallOp { kind, file, ..op }
    }

    /// Moves on to the next op. Returns `true` at the end of the round.
    #[inline]
    pub(super) fn go_on(&mut self, roots: u32) -> bool {
        self.part += 1;
        self.part == self.kinds.len() && self.leave_item(roots)
    }

    /// Skips the remaining ops on the current item. Returns `true` at the end of the round.
    pub(super) fn leave_item(&mut self, roots: u32) -> bool {
        self.part = 0;
        self.root += 1;
        let is_over = self.root >= roots;
        if is_over {
            self.root = 0;
        }
        is_over
    }

    /// Returns `true` if more ops follow on the item of the last yielded op.
    pub(super) fn is_within_item(&self) -> bool {
        self.part > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::trees::paths::TreeFiles;
    use crate::program::trees::walk::TreeWalk;
    use crate::program::trees::wall::WallMark;
    use plumb_workload::Bytes;
    use plumb_workload::program::{ItemName, ItemOrder};
    use std::path::Path;
    use std::sync::Arc;

    fn files(owners: u32, roots: u32) -> Arc<TreeFiles> {
        let item = ItemName { prefix: "file-".to_owned(), suffix: String::new(), shared: true };
        let names = TreeNames {
            places: vec!["out".into()],
            root: "_".to_owned(),
            roots,
            directory: String::new(),
            own_trees: false,
            branch: 1,
            depth: 0,
            owners,
            items: vec![item],
            tree_shift: 0,
            per_directory: 20,
            leaves_only: false,
            flat: true,
        };
        Arc::new(TreeFiles::new(names, Path::new("")))
    }

    fn renew(items: u64, count: u64) -> TreeStep {
        let renewal = Renewal { bytes: Bytes(8), items, stride: 1, reads_only: false };
        TreeStep { count: Some(count), ..TreeStep::new(TreeWork::Renew(renewal)) }
    }

    /// Returns the ops of a worker as `kind path`; those on items in `missing` fail.
    fn ops(files: &Arc<TreeFiles>, step: &TreeStep, worker: u32, mark: &WallMark, missing: &[&str]) -> Vec<String> {
        let mut walk = TreeWalk::new(files, step, 0, worker, mark).unwrap();
        let mut made = Vec::new();
        while let Some(op) = walk.next(None, mark, &mut None) {
            let path = files.names.path(files.names.name(op.file)).display().to_string();
            if missing.contains(&path.as_str()) {
                walk.failed(&op);
            }
            made.push(format!("{} {path}", op.kind.name()));
        }
        made
    }

    // Protects md-workbench's step: the calls match those of the real tool's rank 1 of 3 with -D 2 -P 4 -I 1 -O
    // 1, as printed by `-v -v`.
    #[test]
    fn the_oldest_item_is_replaced_by_a_new_one() {
        let (files, mark) = (files(3, 2), WallMark::default());
        let first = [
            "stat out/0_0/file-0",
            "read out/0_0/file-0",
            "unlink out/0_0/file-0",
            "create out/2_0/file-4",
            "stat out/2_1/file-0",
            "read out/2_1/file-0",
            "unlink out/2_1/file-0",
            "create out/0_1/file-4",
        ];
        assert_eq!(ops(&files, &renew(4, 1), 1, &mark, &[]), first);
        // The next phase continues at the end of this one, and so does the removal of the rest.
        assert_eq!(
            ops(&files, &renew(4, 1), 1, &mark, &[])[..4],
            first[..4].iter().map(|op| next(op)).collect::<Vec<_>>()
        );
        let unlink = TreeStep { count: Some(2), order: ItemOrder::Numbered, ..TreeStep::new(TreeWork::Unlink) };
        let left = ["0_0/file-2", "0_0/file-3", "0_1/file-2", "0_1/file-3"]
            .map(|path| format!("unlink out/{}", path.replacen('0', "1", 1)));
        assert_eq!(ops(&files, &unlink, 1, &mark, &[]), left);
        assert_eq!(ops(&files, &unlink, 2, &mark, &[])[0], "unlink out/2_0/file-0", "the other worker renewed nothing");
    }

    /// Returns the same op on the next item.
    fn next(op: &str) -> String {
        op.replace("file-4", "file-5").replace("file-0", "file-1")
    }

    // Protects: a missing item is skipped without further ops on it, and the next one is not.
    #[test]
    fn a_missing_item_is_skipped() {
        let (files, mark) = (files(1, 2), WallMark::default());
        let made = ops(&files, &renew(3, 2), 0, &mark, &["out/0_1/file-0", "out/0_0/file-1"]);
        let kinds: Vec<&str> = made.iter().map(|op| op.split(' ').next().unwrap()).collect();
        let whole = ["stat", "read", "unlink", "create"];
        assert_eq!(kinds, [&whole[..], &["stat"], &["stat"], &whole].concat());
        assert_eq!(mark.renewed(0), 2);
        let reads = TreeStep {
            does: TreeWork::Renew(Renewal { bytes: Bytes(8), items: 3, stride: 1, reads_only: true }),
            ..renew(3, 2)
        };
        assert_eq!(ops(&files, &reads, 0, &mark, &[])[0], "stat out/0_0/file-2");
        assert_eq!(ops(&files, &reads, 0, &mark, &[]).len(), 8);
        assert_eq!(mark.renewed(0), 2, "items that are only read stay");
    }

    // Protects the order in which items are created in advance: one in each root, then the next in each.
    #[test]
    fn items_are_created_across_roots() {
        let step =
            TreeStep { order: ItemOrder::AcrossRoots, count: Some(2), first: 3, ..TreeStep::new(TreeWork::Unlink) };
        let made = ops(&files(2, 2), &step, 1, &WallMark::default(), &[]);
        assert_eq!(
            made,
            ["1_0/file-3", "1_1/file-3", "1_0/file-4", "1_1/file-4"].map(|path| format!("unlink out/{path}"))
        );
    }
}
