//! Settings: given options, defaults, and rules.

use crate::aiori::{GivenOptions, Launched, OptionError, back_end_problem, more_ranks, value_error};
use plumb_workload::NullDelays;
use plumb_workload::program::{PacketKind, TreeNames};

/// Values printed for each test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prints {
    Rates,
    Times,
    Both,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MdtestSettings {
    /// The delays of `-a DUMMY`, which makes no call; `None` for POSIX.
    pub dummy: Option<NullDelays>,
    pub tree: TreeOptions,
    pub phases: TestPhases,
    pub order: TaskOrder,
    pub data: FileData,
    pub stonewall: Stonewall,
    pub repetition: Repetition,
    /// `-f`, `-l`, `-s`: first and last number of tasks, and the step.
    pub tasks: (u32, u32, u32),
    /// Ranks that exist.
    pub ranks: u32,
    /// The processes of the ranks; `None` for threads.
    pub launched: Option<Launched>,
    pub output: TestOutput,
    pub commands: PhaseCommands,
    /// `--warningAsErrors`: whether a failed operation ends the run.
    pub warnings_are_errors: bool,
}

/// The directory trees and their items.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeOptions {
    /// `-d`: directories that hold the trees.
    pub directories: Vec<String>,
    /// `-b`: directories in each directory of a tree.
    pub branch: u32,
    /// `-z`: levels below the top of a tree.
    pub depth: u32,
    /// `-n`: items per task; 0 if `-I` alone gives them.
    pub items: u64,
    /// `-I`: items per directory; 0 if `-n` alone gives them.
    pub per_directory: u64,
    /// `-L`: whether only leaves contain items.
    pub leaves_only: bool,
    /// `-D`: whether items are directories.
    pub directories_too: bool,
    /// `-F`: whether items are files.
    pub files_too: bool,
    /// `-k`: whether `mknod` creates the files.
    pub makes_nodes: bool,
}

impl TreeOptions {
    fn read(given: &GivenOptions) -> Result<TreeOptions, OptionError> {
        let places = given.text("d").unwrap_or("./out").split('@').filter(|place| !place.is_empty());
        let both = !given.is_set("D") && !given.is_set("F");
        Ok(TreeOptions {
            directories: places.map(str::to_owned).collect(),
            branch: given.small_count("b", 1)?,
            depth: given.small_count("z", 0)?,
            items: given.count("n", 0)?,
            per_directory: given.count("I", 0)?,
            leaves_only: given.is_set("L"),
            directories_too: (given.is_set("D") || both) && !given.is_set("S"),
            files_too: given.is_set("F") || both,
            makes_nodes: given.is_set("k"),
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TestPhases {
    /// `-C`: whether items are created.
    pub creates: bool,
    /// `-T`: whether items are statted.
    pub stats: bool,
    /// `-E`: whether files are read.
    pub reads: bool,
    /// `-r`: whether items are removed.
    pub removes: bool,
    /// `-U`: whether directories are renamed.
    pub renames: bool,
}

impl TestPhases {
    fn read(given: &GivenOptions) -> TestPhases {
        let phases = ["C", "T", "E", "r", "U"].map(|key| given.is_set(key));
        let all = phases.iter().all(|given| !given);
        let [creates, stats, reads, removes, renames] = phases.map(|given| given || all);
        TestPhases { creates, stats, reads, removes, renames }
    }
}

/// The items and order in which tasks work.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskOrder {
    /// `-u`: whether each task has its own tree.
    pub unique: bool,
    /// `-S`: whether all tasks share the same files.
    pub shared: bool,
    /// `-c`: whether rank 0 creates and removes for all tasks.
    pub collective: bool,
    /// `-N`: number of tasks by which each phase shifts the ranks.
    pub stride: u32,
    /// `-R`: seed of the order of stats and reads; 0 takes it from the clock.
    pub random_seed: Option<u32>,
}

/// The contents of files, and when they are flushed.
#[derive(Debug, Clone, PartialEq)]
pub struct FileData {
    /// `-w`: bytes written to each file.
    pub write_bytes: u64,
    /// `-e`: bytes read from each file.
    pub read_bytes: u64,
    /// `-G`: seed of the data.
    pub seed: Option<i32>,
    /// `--dataPacketType`: kind of data packets.
    pub packets: PacketKind,
    /// `-X`: whether the data that is read is compared.
    pub verifies_reads: bool,
    /// `--verify-write`: whether written data is read back.
    pub verifies_writes: bool,
    /// `--posix.odirect`: whether files are opened with `O_DIRECT`.
    pub direct: bool,
    /// `-y`: whether `fsync` follows the writes of each file.
    pub flushes_files: bool,
    /// `-Y`: whether `sync` ends each phase.
    pub syncs: bool,
}

impl FileData {
    fn read(given: &GivenOptions) -> Result<FileData, OptionError> {
        Ok(FileData {
            write_bytes: given.count("w", 0)?,
            read_bytes: given.count("e", 0)?,
            seed: given.number("G").filter(|&seed| seed != -1).and_then(|seed| i32::try_from(seed).ok()),
            packets: given.packets("dataPacketType")?,
            verifies_reads: given.is_set("X"),
            verifies_writes: given.is_set("verify-write"),
            direct: given.is_set("posix.odirect"),
            flushes_files: given.is_set("y"),
            syncs: given.is_set("Y"),
        })
    }
}

/// The stonewall of file creation.
#[derive(Debug, Clone, PartialEq)]
pub struct Stonewall {
    /// `-W`: seconds until the stonewall.
    pub wall_s: u32,
    /// `-x`: file that keeps the number of items before the stonewall.
    pub status_file: Option<String>,
}

/// The number of iterations, and the pause before each phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Repetition {
    /// `-i`: number of iterations.
    pub iterations: u32,
    /// `-p`: delay before each phase, in seconds.
    pub delay_s: u32,
}

/// Commands that each task runs around phases.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseCommands {
    /// `--run-cmd-before-phase`: run by each task before each phase of items.
    pub before: Option<String>,
    /// `--run-cmd-after-phase`: run by each task at the end of the phase, within its time.
    pub after: Option<String>,
}

/// The report: values, files and verbosity.
#[derive(Debug, Clone, PartialEq)]
pub struct TestOutput {
    /// `-P`, `-Z`: rates, times, or both.
    pub prints: Prints,
    /// `--print-all-procs`: whether the results of each task are printed.
    pub prints_all: bool,
    /// `--showRankStatistics`: whether statistics of single tasks are printed.
    pub rank_statistics: bool,
    /// `--saveRankPerformanceDetails`: path of the file with the results of each task.
    pub rank_csv: Option<String>,
    /// `--savePerOpDataCSV`: prefix of the names of files with single operations.
    pub op_csv: Option<String>,
    /// `-v`, `-V`: verbosity.
    pub verbosity: u32,
}

impl TestOutput {
    fn read(given: &GivenOptions) -> Result<TestOutput, OptionError> {
        Ok(TestOutput {
            prints: match (given.is_set("P"), given.is_set("Z")) {
                (true, _) => Prints::Both,
                (false, true) => Prints::Times,
                (false, false) => Prints::Rates,
            },
            prints_all: given.is_set("print-all-procs"),
            rank_statistics: given.is_set("showRankStatistics"),
            rank_csv: given.named("saveRankPerformanceDetails"),
            op_csv: given.named("savePerOpDataCSV"),
            verbosity: given.small_count("v", 0)?.max(given.small_count("V", 0)?),
        })
    }
}

pub(super) fn settings(given: &GivenOptions, launched: Option<&Launched>) -> Result<MdtestSettings, OptionError> {
    let dummy = match given.text("a").unwrap_or("POSIX") {
        posix if posix.eq_ignore_ascii_case("POSIX") => None,
        dummy if dummy.eq_ignore_ascii_case("DUMMY") => Some(given.dummy_delays()?),
        other => return Err(value_error("a", other, &back_end_problem(other, "POSIX or DUMMY"))),
    };
    let ranks = given.ranks(launched)?;
    let tasks = match given.small_count("l", 0)? {
        0 => (ranks, ranks, 1),
        last => (given.small_count("f", 1)?, last, given.small_count("s", 1)?.max(1)),
    };
    let random_seed = given.small_count("random-seed", 0)?;
    let settings = MdtestSettings {
        dummy,
        tree: TreeOptions::read(given)?,
        phases: TestPhases::read(given),
        order: TaskOrder {
            unique: given.is_set("u"),
            shared: given.is_set("S"),
            collective: given.is_set("c"),
            stride: given.small_count("N", 0)?,
            random_seed: (given.is_set("R") || random_seed > 0).then_some(random_seed),
        },
        data: FileData::read(given)?,
        stonewall: Stonewall { wall_s: given.small_count("W", 0)?, status_file: given.named("x") },
        repetition: Repetition { iterations: given.small_count("i", 1)?, delay_s: given.small_count("p", 0)? },
        commands: PhaseCommands {
            before: command(given, "run-cmd-before-phase", "--run-cmd-before-phase")?,
            after: command(given, "run-cmd-after-phase", "--run-cmd-after-phase")?,
        },
        output: TestOutput::read(given)?,
        tasks,
        ranks,
        launched: launched.cloned(),
        warnings_are_errors: given.is_set("warningAsErrors"),
    };
    settings.rules()?;
    Ok(settings)
}

/// Returns a command, if one is given and the user allows it.
fn command(given: &GivenOptions, key: &str, option: &'static str) -> Result<Option<String>, OptionError> {
    match given.named(key) {
        Some(line) if !given.is_set("allow-system") => Err(OptionError::Command { option, line }),
        line => Ok(line),
    }
}

impl MdtestSettings {
    fn rules(&self) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let places = self.tree.directories.len();
        match () {
            () if places == 0 => conflict("-d: no directory is named"),
            () if self.order.shared && self.order.collective => conflict("-c and -S do not go together"),
            () if self.order.unique && self.order.shared => conflict("-u and -S do not go together"),
            () if places > 1 && self.order.collective => conflict("-c needs a single directory"),
            () if places > 1 && self.order.stride > 0 => conflict("-N needs a single directory"),
            () if places > 1 && !self.order.unique => conflict("several directories need -u"),
            () if places > self.ranks as usize => conflict("there are more directories than tasks"),
            () if self.tree.branch < 1 && self.tree.depth > 0 => {
                conflict("-b: a tree with levels needs at least 1 branch")
            }
            () if self.tree.items > 0 && self.tree.per_directory > 0 && self.order.unique => {
                conflict("-n and -I do not go together with -u: give one of them")
            }
            () if self.tree.items > 0
                && self.tree.per_directory > 0
                && !self.tree.items.is_multiple_of(self.tree.per_directory) =>
            {
                conflict("-n must be a multiple of -I")
            }
            () if self.data.write_bytes > 0 && self.tree.makes_nodes => conflict("-k and -w do not go together"),
            () if (self.data.verifies_reads || self.data.verifies_writes) && self.dummy.is_some() => {
                conflict("-X and --verify-write need data, which -a DUMMY does not keep; leave them out")
            }
            () if self.data.verifies_reads && !self.phases.reads => conflict("-X needs the read phase, -E"),
            () if self.data.verifies_reads && self.data.read_bytes == 0 => conflict("-X needs bytes to read, -e"),
            () if self.phases.creates && self.phases.reads && self.data.read_bytes > self.data.write_bytes => {
                conflict("-e exceeds -w: more would be read than was written")
            }
            () if self.stonewall.wall_s > 0 && self.order.collective => conflict("-W and -c do not go together"),
            () if self.stonewall.wall_s > 0 && self.tree.items > 0 && self.tree.per_directory > 0 => {
                conflict("-W needs a single tree: give -n or -I, not both")
            }
            () if self.shuffles_after_wall()
                && self.tree.branch > 1
                && self.tree.depth > 0
                && !self.tree.leaves_only =>
            {
                conflict("-R after a stonewall needs a tree without branches: use -b 1")
            }
            () if self.tasks.0 > self.tasks.1 => conflict("-f exceeds -l: the first number of tasks is above the last"),
            () if self.tasks.1 > self.ranks => {
                Err(value_error("l", self.tasks.1.to_string(), more_ranks(self.launched.as_ref())))
            }
            () if self.order.collective && self.launched.is_some() => conflict(
                "-c: rank 0 makes the files of other processes only in one process; use --plumb-ranks without mpirun",
            ),
            () if self.order.shared && self.launched.is_some() && self.has_commands() => conflict(
                "-S with --run-cmd-before-phase or --run-cmd-after-phase is for ranks in one process; use --plumb-ranks without mpirun",
            ),
            () if self.output.op_csv.is_some() && self.launched.is_some() => conflict(
                "--savePerOpDataCSV is for ranks in one process: use --plumb-ranks without mpirun; `plumb show` has the latencies of all",
            ),
            () if self.tasks.0 == 0 => conflict("-f: 0 tasks do nothing"),
            () => self.names_problem(),
        }
    }

    /// Returns `true` if tasks run commands around phases.
    pub(crate) fn has_commands(&self) -> bool {
        self.commands.before.is_some() || self.commands.after.is_some()
    }

    /// Returns `true` if a random order would need the files before a stonewall, and these have no consecutive
    /// numbers. They are the first ones created, so their numbers are consecutive only in a tree without branches.
    fn shuffles_after_wall(&self) -> bool {
        let has_wall =
            if self.phases.creates { self.stonewall.wall_s > 0 } else { self.stonewall.status_file.is_some() };
        has_wall && self.order.random_seed.is_some() && self.tree.files_too && (self.phases.stats || self.phases.reads)
    }

    fn names_problem(&self) -> Result<(), OptionError> {
        let names = super::lower::names(self, self.tasks.1, 0);
        match names.problem() {
            None => Ok(()),
            Some((_, message, help)) => Err(OptionError::Tree { message, help }),
        }
    }

    /// Returns the number of trees that `-n` and `-I` together make, each in its own directory.
    pub fn loops(&self) -> u64 {
        match (self.tree.items, self.tree.per_directory) {
            (items, each) if items > 0 && each > 0 => items / each,
            _ => 1,
        }
    }

    /// Returns the items per directory, or per leaf if only leaves have items.
    pub(crate) fn per_directory_of(&self, names: &TreeNames) -> u64 {
        match self.tree.per_directory {
            0 if self.tree.leaves_only => self.tree.items / names.leaves().max(1),
            0 => self.tree.items / names.directories().max(1),
            each => each,
        }
    }

    /// Returns the items per task, in all its trees together.
    pub fn items_each(&self, names: &TreeNames) -> u64 {
        names.items_each().saturating_mul(names.roots.into())
    }
}
