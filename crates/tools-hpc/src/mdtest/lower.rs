//! Lowers one iteration to a workload: mdtest's phases in order, each with its barrier, on one tree of names.

use super::result::Test;
use super::settings::MdtestSettings;
use plumb_workload::files::Names;
use plumb_workload::program::{
    ItemName, ItemOrder, MakeItem, Packets, Program, ProgramContent, ScratchTarget, Step, TreeNames, TreeStep,
    TreeWork, Wall,
};
use plumb_workload::{
    Bytes, ClockScope, End, Flush, Nanos, NullFiles, NullTarget, OnError, Phase, Start, Target, Work, WorkerGroup,
    Workload,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

const TARGET: &str = "trees";
/// Kinds of items: directories, the temporary name during renames, files.
const DIRECTORIES: u16 = 0;
const ASIDE: u16 = 1;
const FILES: u16 = 2;

/// Group of rank 0 that creates files for all.
pub(super) const MAKER: &str = "rank-0";

/// Group of the ranks that wait while rank 0 works for all.
pub(super) const OTHERS: &str = "others";

/// Facts that the settings do not contain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Index of the iteration, from 0.
    pub iteration: u32,
    /// Number of tasks that take part.
    pub tasks: u32,
    /// Seed of the data, and of random orders that have no own seed.
    pub seed: i32,
    /// Items before an earlier run's stonewall.
    pub items_at_wall: Option<u64>,
    /// Whether to remove the directories: they were created for this run, and this is its last iteration.
    pub removes_places: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    pub workload: Workload,
    /// The facts that it was lowered from.
    pub facts: Facts,
    /// Number of items per task.
    pub items: u64,
    /// Number of directories per tree.
    pub tree_directories: u64,
}

/// Returns the names of an iteration.
pub(super) fn names(settings: &MdtestSettings, tasks: u32, iteration: u32) -> TreeNames {
    let item = |prefix: &str, suffix: &str| ItemName {
        prefix: if settings.order.shared { format!("{prefix}.mdtest.shared.") } else { format!("{prefix}.mdtest.") },
        suffix: suffix.to_owned(),
        shared: settings.order.shared,
    };
    let names = TreeNames {
        places: settings.tree.directories.iter().map(PathBuf::from).collect(),
        root: format!("test-dir.{iteration}-"),
        roots: u32::try_from(settings.loops()).unwrap_or(u32::MAX),
        directory: "mdtest_tree.".to_owned(),
        own_trees: settings.order.unique,
        branch: settings.tree.branch,
        depth: settings.tree.depth,
        owners: tasks,
        items: vec![item("dir", ""), item("dir", "-XX"), item("file", "")],
        tree_shift: if settings.order.unique { settings.order.stride } else { 0 },
        per_directory: 1,
        leaves_only: settings.tree.leaves_only,
        flat: false,
    };
    if names.problem().is_some() {
        // The count is computed only for valid names.
        return names;
    }
    TreeNames { per_directory: settings.per_directory_of(&names), ..names }
}

/// Returns the order of stat on directories.
pub(super) fn directory_order(settings: &MdtestSettings, facts: &Facts) -> ItemOrder {
    match settings.order.random_seed {
        // mdtest adds the rank to a given seed.
        Some(0) => ItemOrder::Shuffled { seed: facts.seed.cast_unsigned() },
        Some(seed) => ItemOrder::Shuffled { seed },
        None => ItemOrder::Numbered,
    }
}

/// Returns the order of stat and reads on files.
pub(super) fn file_order(settings: &MdtestSettings, facts: &Facts, names: &TreeNames) -> ItemOrder {
    let has_wall = settings.stonewall.wall_s > 0 || facts.items_at_wall.is_some();
    match directory_order(settings, facts) {
        // In a tree with branches, the items before a stonewall are the first ones in the order of creation.
        ItemOrder::Numbered if has_wall && names.branch > 1 && names.depth > 0 => ItemOrder::DepthFirst,
        order => order,
    }
}

pub fn lower(settings: &MdtestSettings, facts: &Facts) -> Lowered {
    let names = names(settings, facts.tasks, facts.iteration);
    let lowering = Lowering { settings, facts, names: &names };
    let named = Names::Trees(Box::new(names.clone()));
    let target = match settings.dummy {
        None => Target::Scratch(ScratchTarget { path: PathBuf::new(), names: named, typed: Vec::new() }),
        Some(delays) => Target::Null(NullTarget {
            size: Bytes(settings.data.write_bytes.max(1)),
            files: Some(Box::new(NullFiles { names: named, delays })),
        }),
    };
    let workload = Workload {
        name: "mdtest".to_owned(),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([(TARGET.to_owned(), target)]),
        phase: lowering.phases(),
        repeat: None,
    };
    Lowered {
        workload,
        facts: facts.clone(),
        items: facts.items_at_wall.unwrap_or(u64::MAX).min(settings.items_each(&names)),
        tree_directories: names.directories(),
    }
}

struct Lowering<'a> {
    settings: &'a MdtestSettings,
    facts: &'a Facts,
    names: &'a TreeNames,
}

impl Lowering<'_> {
    fn phases(&self) -> Vec<Phase> {
        let settings = self.settings;
        let mut phases = Vec::new();
        if settings.phases.creates {
            phases.push(self.tree(Test::TreeCreation));
        }
        if settings.tree.directories_too && self.names.per_directory > 0 {
            self.directories(&mut phases);
        }
        if settings.tree.files_too && self.names.per_directory > 0 {
            self.files(&mut phases);
        }
        if settings.phases.removes {
            phases.push(self.tree(Test::TreeRemoval));
        }
        phases
    }

    /// Returns a group of `count` workers with these steps.
    fn group(&self, count: u32, steps: Vec<TreeStep>) -> WorkerGroup {
        let log_ops = self.settings.output.op_csv.is_some() && steps.iter().any(|step| step.items == FILES);
        let steps = steps.into_iter().map(|step| Step::Trees(Box::new(step)));
        let command = |line: &Option<String>| line.clone().map(|line| Step::Command { line });
        let sync = self.settings.data.syncs.then_some(Step::Sync {});
        let mut steps: Vec<Step> = steps.chain(sync).chain(command(&self.settings.commands.after)).collect();
        if steps.is_empty() {
            // A worker that only runs a command before the clock has an empty step during it.
            steps.push(Step::Delay { time: Nanos(0) });
        }
        let program = Program {
            content: ProgramContent::Packets(Packets {
                kind: self.settings.data.packets,
                seed: self.facts.seed,
                worker: 0,
            }),
            checks: self.settings.data.verifies_reads,
            log_ops,
            before: command(&self.settings.commands.before).into_iter().collect(),
            ..Program::new(steps)
        };
        WorkerGroup {
            count,
            // mdtest reports failures and continues.
            on_error: if self.settings.warnings_are_errors { OnError::Stop } else { OnError::Continue },
            ..WorkerGroup::new(TARGET, Work::Program(Box::new(program)))
        }
    }

    fn phase(test: Test, workers: Vec<WorkerGroup>) -> Phase {
        Phase { end: End { flush: Flush::None, clock: ClockScope::Outside }, ..Phase::new(test.phase(), workers) }
    }

    /// Returns the creation or removal of trees: by rank 0 if they are shared, else each by its own task.
    fn tree(&self, test: Test) -> Phase {
        let settings = self.settings;
        let does = match test {
            Test::TreeCreation => TreeWork::MakeDirectories,
            _ => TreeWork::RemoveDirectories,
        };
        let all_owners = settings.order.unique && settings.order.collective;
        let count = if settings.order.unique && !settings.order.collective { self.facts.tasks } else { 1 };
        let mut group = self.group(count, vec![TreeStep { all_owners, ..TreeStep::new(does) }]);
        let Work::Program(program) = &mut group.work else { return Phase::new(test.phase(), vec![group]) };
        // mdtest syncs and runs commands only around phases of items.
        program.steps.retain(|step| matches!(step, Step::Trees(_)));
        program.before.clear();
        let step = |does| Step::Trees(Box::new(TreeStep::new(does)));
        if test == Test::TreeCreation {
            program.before = vec![step(TreeWork::MakePlaces), step(TreeWork::MakeRoots)];
        } else {
            program.after = vec![step(TreeWork::RemoveRoots)];
            if self.facts.removes_places {
                program.after.push(step(TreeWork::RemovePlaces));
            }
        }
        Lowering::phase(test, vec![group])
    }

    /// Returns a phase of all tasks, each on the items of another task.
    fn items(&self, test: Test, shifts: u32, step: TreeStep) -> Phase {
        let shift = self.settings.order.stride.saturating_mul(shifts) % self.facts.tasks.max(1);
        Lowering::phase(test, vec![self.group(self.facts.tasks, vec![TreeStep { shift, ..step }])])
    }

    /// Returns a phase of rank 0 alone, on the items of all tasks.
    fn alone(&self, test: Test, step: TreeStep) -> Phase {
        self.by_rank_0(test, TreeStep { all_owners: true, ..step })
    }

    /// Returns a phase of rank 0 alone. The other ranks only run their commands.
    fn by_rank_0(&self, test: Test, step: TreeStep) -> Phase {
        let mut groups = vec![self.group(1, vec![step])];
        if self.settings.has_commands() && self.facts.tasks > 1 {
            let others = self.group(self.facts.tasks - 1, Vec::new());
            groups.push(WorkerGroup { name: Some(OTHERS.to_owned()), ..others });
        }
        Lowering::phase(test, groups)
    }

    /// Adds the delay before items of one kind.
    fn delayed(&self, phases: &mut [Phase], first: usize) {
        let Some(group) = phases.get_mut(first).and_then(|phase| phase.workers.first_mut()) else { return };
        if let (Work::Program(program), true) = (&mut group.work, self.settings.repetition.delay_s > 0) {
            program
                .before
                .insert(0, Step::Delay { time: Nanos(u64::from(self.settings.repetition.delay_s) * 1_000_000_000) });
        }
    }

    fn directories(&self, phases: &mut Vec<Phase>) {
        let settings = self.settings;
        let first = phases.len();
        let step = |does| TreeStep { items: DIRECTORIES, ..TreeStep::new(does) };
        let rank_0_or_all = |test: Test, shifts: u32, does: TreeWork| match settings.order.collective {
            true => self.alone(test, step(does)),
            false => self.items(test, shifts, step(does)),
        };
        let order = directory_order(settings, self.facts);
        if settings.phases.creates {
            phases.push(rank_0_or_all(Test::DirectoryCreation, 0, TreeWork::Mkdir));
        }
        if settings.phases.stats {
            phases.push(self.items(Test::DirectoryStat, 1, TreeStep { order, ..step(TreeWork::Stat) }));
        }
        if settings.phases.reads && settings.has_commands() {
            // mdtest reads no directories, but runs its commands around that phase.
            phases.push(Lowering::phase(Test::DirectoryRead, vec![self.group(self.facts.tasks, Vec::new())]));
        }
        if settings.phases.renames && self.names.items_each() > 1 {
            phases.push(self.items(Test::DirectoryRename, 1, step(TreeWork::Rename { aside: ASIDE })));
        }
        if settings.phases.removes {
            phases.push(rank_0_or_all(Test::DirectoryRemoval, 3, TreeWork::Rmdir));
        }
        self.delayed(phases, first);
    }

    fn files(&self, phases: &mut Vec<Phase>) {
        let settings = self.settings;
        let first = phases.len();
        let step = |does| TreeStep { items: FILES, direct: settings.data.direct, ..TreeStep::new(does) };
        // After a stonewall, only the items before it exist, in this run or an earlier one.
        let limited =
            |step: TreeStep| match (settings.phases.creates && settings.stonewall.wall_s > 0, self.facts.items_at_wall)
            {
                (true, _) => TreeStep { wall: Some(Wall::AsFar), ..step },
                (false, Some(count)) if !settings.phases.creates => TreeStep { count: Some(count), ..step },
                (false, _) => step,
            };
        if settings.phases.creates {
            phases.push(self.file_creation(step));
        }
        let order = file_order(settings, self.facts, self.names);
        let ordered = |does| TreeStep { order, ..step(does) };
        if settings.phases.stats {
            phases.push(self.items(Test::FileStat, 1, limited(ordered(TreeWork::Stat))));
        }
        if settings.phases.reads {
            let bytes = Bytes(settings.data.read_bytes);
            phases.push(self.items(Test::FileRead, 2, limited(ordered(TreeWork::Read { bytes }))));
        }
        if settings.phases.removes {
            let unlink = limited(step(TreeWork::Unlink));
            phases.push(match (settings.order.collective, settings.order.shared) {
                (true, _) => self.alone(Test::FileRemoval, unlink),
                // Rank 0 removes shared files.
                (false, true) => self.by_rank_0(Test::FileRemoval, unlink),
                (false, false) => self.items(Test::FileRemoval, 3, unlink),
            });
        }
        self.delayed(phases, first);
    }

    fn file_creation(&self, step: impl Fn(TreeWork) -> TreeStep) -> Phase {
        let settings = self.settings;
        let item = MakeItem {
            bytes: Bytes(settings.data.write_bytes),
            flush: settings.data.flushes_files && settings.data.write_bytes > 0,
            exists: settings.order.collective,
            reads_back: settings.data.verifies_writes,
        };
        let does = if settings.tree.makes_nodes { TreeWork::Mknod } else { TreeWork::Make(item) };
        if settings.order.collective {
            // Rank 0 creates all files; then every task opens and writes its own.
            let empty = MakeItem { bytes: Bytes(0), flush: false, exists: false, reads_back: false };
            let made = TreeStep { all_owners: true, ..step(TreeWork::Make(empty)) };
            let mut maker = WorkerGroup { name: Some(MAKER.to_owned()), ..self.group(1, vec![made]) };
            if let Work::Program(program) = &mut maker.work {
                // Rank 0 runs its commands together with all tasks.
                program.before.clear();
                program.steps.retain(|step| !matches!(step, Step::Command { .. }));
            }
            let ranks = self.group(self.facts.tasks, vec![step(TreeWork::Make(item))]);
            let start = Start { after: vec![MAKER.to_owned()], ..Start::default() };
            return Lowering::phase(Test::FileCreation, vec![maker, WorkerGroup { start, ..ranks }]);
        }
        let wall = (settings.stonewall.wall_s > 0)
            .then(|| Wall::After(Nanos(u64::from(settings.stonewall.wall_s) * 1_000_000_000)));
        self.items(Test::FileCreation, 0, TreeStep { wall, ..step(does) })
    }
}
