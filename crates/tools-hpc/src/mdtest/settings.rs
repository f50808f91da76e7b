//! Settings: what was said, with defaults, and the rules of what goes together.

use crate::aiori::{Launched, OptionError, Said, back_end_problem, more_ranks, wrong};
use plumb_workload::NullDelays;
use plumb_workload::program::{PacketKind, TreeNames};

/// What is printed of each test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prints {
    /// Rates.
    Rates,
    /// Times.
    Times,
    /// Both.
    Both,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct MdtestSettings {
    /// The delays of `-a DUMMY`, which makes no call; `None` for POSIX.
    pub dummy: Option<NullDelays>,
    /// Directories that hold the trees.
    pub directories: Vec<String>,
    /// Directories in each directory of a tree.
    pub branch: u32,
    /// Levels below its top.
    pub depth: u32,
    /// Items of each task: what `-n` says; 0 where `-I` alone does.
    pub items: u64,
    /// Items in each directory: what `-I` says, 0 where `-n` alone does.
    pub per_directory: u64,
    /// Items only in the leaves.
    pub leaves_only: bool,
    /// Create.
    pub creates: bool,
    /// Stat.
    pub stats: bool,
    /// Read.
    pub reads: bool,
    /// Remove.
    pub removes: bool,
    /// Rename directories.
    pub renames: bool,
    /// Items that are directories.
    pub directories_too: bool,
    /// Items that are files.
    pub files_too: bool,
    /// A tree of its own for each task.
    pub unique: bool,
    /// All tasks share the same files.
    pub shared: bool,
    /// Rank 0 creates and removes for all.
    pub collective: bool,
    /// How far each phase shifts the tasks.
    pub stride: u32,
    /// Stat and read in an order with this seed; by the clock where it is 0.
    pub random_seed: Option<u32>,
    /// Written to each file.
    pub write_bytes: u64,
    /// Read from each file.
    pub read_bytes: u64,
    /// `fsync` of each file.
    pub flushes_files: bool,
    /// `sync` at the end of each phase.
    pub syncs: bool,
    /// Files come from `mknod`.
    pub makes_nodes: bool,
    /// Seconds until the stonewall.
    pub wall_s: u32,
    /// The file that keeps how many items it let through.
    pub status_file: Option<String>,
    /// Verify what is read.
    pub verifies_reads: bool,
    /// Read back what was written.
    pub verifies_writes: bool,
    /// Seed of the data.
    pub data_seed: Option<i32>,
    /// Data packets.
    pub packets: PacketKind,
    /// `O_DIRECT`.
    pub direct: bool,
    /// Iterations.
    pub iterations: u32,
    /// Delay, seconds.
    pub delay_s: u32,
    /// Numbers of tasks: first, last, and the stride between them.
    pub tasks: (u32, u32, u32),
    /// Ranks that there are.
    pub ranks: u32,
    /// Where they are processes: which.
    pub launched: Option<Launched>,
    /// What is printed.
    pub prints: Prints,
    /// The results of each task.
    pub prints_all: bool,
    /// Statistics of single tasks.
    pub rank_statistics: bool,
    /// Where the results of each task go.
    pub rank_csv: Option<String>,
    /// What each task runs before each phase of items.
    pub command_before: Option<String>,
    /// What each task runs at its end, in its time.
    pub command_after: Option<String>,
    /// What the names of the files begin with that have each operation on a file.
    pub op_csv: Option<String>,
    /// A failed operation ends it.
    pub warnings_are_errors: bool,
    /// Verbosity.
    pub verbosity: u32,
}

/// The settings of what was said.
pub(super) fn settings(said: &Said, launched: Option<&Launched>) -> Result<MdtestSettings, OptionError> {
    let dummy = match said.text("a").unwrap_or("POSIX") {
        posix if posix.eq_ignore_ascii_case("POSIX") => None,
        dummy if dummy.eq_ignore_ascii_case("DUMMY") => Some(said.dummy_delays()?),
        other => return Err(wrong("a", other, &back_end_problem(other, "POSIX or DUMMY"))),
    };
    let phases = ["C", "T", "E", "r", "U"].map(|key| said.is_set(key));
    let all = phases.iter().all(|said| !said);
    let [creates, stats, reads, removes, renames] = phases.map(|said| said || all);
    let both = !said.is_set("D") && !said.is_set("F");
    let shared = said.is_set("S");
    let ranks = said.ranks(launched)?;
    let tasks = match said.small_count("l", 0)? {
        0 => (ranks, ranks, 1),
        last => (said.small_count("f", 1)?, last, said.small_count("s", 1)?.max(1)),
    };
    let random_seed = said.small_count("random-seed", 0)?;
    let random_seed = (said.is_set("R") || random_seed > 0).then_some(random_seed);
    let directories: Vec<String> = said.text("d").unwrap_or("./out").split('@').map(str::to_owned).collect();
    let settings = MdtestSettings {
        dummy,
        directories: directories.into_iter().filter(|directory| !directory.is_empty()).collect(),
        branch: said.small_count("b", 1)?,
        depth: said.small_count("z", 0)?,
        items: said.count("n", 0)?,
        per_directory: said.count("I", 0)?,
        leaves_only: said.is_set("L"),
        creates,
        stats,
        reads,
        removes,
        renames,
        directories_too: (said.is_set("D") || both) && !shared,
        files_too: said.is_set("F") || both,
        unique: said.is_set("u"),
        shared,
        collective: said.is_set("c"),
        stride: said.small_count("N", 0)?,
        random_seed,
        write_bytes: said.count("w", 0)?,
        read_bytes: said.count("e", 0)?,
        flushes_files: said.is_set("y"),
        syncs: said.is_set("Y"),
        makes_nodes: said.is_set("k"),
        wall_s: said.small_count("W", 0)?,
        status_file: said.named("x"),
        verifies_reads: said.is_set("X"),
        verifies_writes: said.is_set("verify-write"),
        data_seed: said.number("G").filter(|&seed| seed != -1).and_then(|seed| i32::try_from(seed).ok()),
        packets: said.packets("dataPacketType")?,
        direct: said.is_set("posix.odirect"),
        iterations: said.small_count("i", 1)?,
        delay_s: said.small_count("p", 0)?,
        tasks,
        ranks,
        launched: launched.cloned(),
        prints: match (said.is_set("P"), said.is_set("Z")) {
            (true, _) => Prints::Both,
            (false, true) => Prints::Times,
            (false, false) => Prints::Rates,
        },
        prints_all: said.is_set("print-all-procs"),
        rank_statistics: said.is_set("showRankStatistics"),
        rank_csv: said.named("saveRankPerformanceDetails"),
        command_before: command(said, "run-cmd-before-phase", "--run-cmd-before-phase")?,
        command_after: command(said, "run-cmd-after-phase", "--run-cmd-after-phase")?,
        op_csv: said.named("savePerOpDataCSV"),
        warnings_are_errors: said.is_set("warningAsErrors"),
        verbosity: said.small_count("v", 0)?.max(said.small_count("V", 0)?),
    };
    settings.rules()?;
    Ok(settings)
}

/// A command, where one is given and the user allows it.
fn command(said: &Said, key: &str, option: &'static str) -> Result<Option<String>, OptionError> {
    match said.named(key) {
        Some(line) if !said.is_set("allow-system") => Err(OptionError::Command { option, line }),
        line => Ok(line),
    }
}

impl MdtestSettings {
    /// What does not go together.
    fn rules(&self) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let places = self.directories.len();
        match () {
            () if places == 0 => conflict("-d: no directory is named"),
            () if self.shared && self.collective => conflict("-c and -S do not go together"),
            () if self.unique && self.shared => conflict("-u and -S do not go together"),
            () if places > 1 && self.collective => conflict("-c needs a single directory"),
            () if places > 1 && self.stride > 0 => conflict("-N needs a single directory"),
            () if places > 1 && !self.unique => conflict("several directories need -u"),
            () if places > self.ranks as usize => conflict("there are more directories than tasks"),
            () if self.branch < 1 && self.depth > 0 => conflict("-b: a tree with levels needs at least 1 branch"),
            () if self.items > 0 && self.per_directory > 0 && self.unique => {
                conflict("-n and -I do not go together with -u: give one of them")
            }
            () if self.items > 0 && self.per_directory > 0 && !self.items.is_multiple_of(self.per_directory) => {
                conflict("-n must be a multiple of -I")
            }
            () if self.write_bytes > 0 && self.makes_nodes => conflict("-k and -w do not go together"),
            () if (self.verifies_reads || self.verifies_writes) && self.dummy.is_some() => {
                conflict("-X and --verify-write need data, which -a DUMMY does not keep; leave them out")
            }
            () if self.verifies_reads && !self.reads => conflict("-X needs the read phase, -E"),
            () if self.verifies_reads && self.read_bytes == 0 => conflict("-X needs bytes to read, -e"),
            () if self.creates && self.reads && self.read_bytes > self.write_bytes => {
                conflict("-e exceeds -w: more would be read than was written")
            }
            () if self.wall_s > 0 && self.collective => conflict("-W and -c do not go together"),
            () if self.wall_s > 0 && self.items > 0 && self.per_directory > 0 => {
                conflict("-W needs a single tree: give -n or -I, not both")
            }
            () if self.shuffles_behind_wall() && self.branch > 1 && self.depth > 0 && !self.leaves_only => {
                conflict("-R behind a stonewall needs a tree without branches: use -b 1")
            }
            () if self.tasks.0 > self.tasks.1 => conflict("-f exceeds -l: the first number of tasks is above the last"),
            () if self.tasks.1 > self.ranks => {
                Err(wrong("l", self.tasks.1.to_string(), more_ranks(self.launched.as_ref())))
            }
            () if self.collective && self.launched.is_some() => conflict(
                "-c: rank 0 makes the files of other processes only in one process; use --plumb-ranks without mpirun",
            ),
            () if self.shared && self.launched.is_some() && self.has_commands() => conflict(
                "-S with --run-cmd-before-phase or --run-cmd-after-phase is for ranks in one process; use --plumb-ranks without mpirun",
            ),
            () if self.op_csv.is_some() && self.launched.is_some() => conflict(
                "--savePerOpDataCSV is for ranks in one process: use --plumb-ranks without mpirun; `plumb show` has the latencies of all",
            ),
            () if self.tasks.0 == 0 => conflict("-f: 0 tasks do nothing"),
            () => self.names_problem(),
        }
    }

    /// Whether tasks run commands around phases.
    pub fn has_commands(&self) -> bool {
        self.command_before.is_some() || self.command_after.is_some()
    }

    /// Whether files in a random order are those that a stonewall let through, in this run or an earlier one: the first
    /// that were made, whose numbers follow each other only where no directory has several.
    fn shuffles_behind_wall(&self) -> bool {
        let has_wall = if self.creates { self.wall_s > 0 } else { self.status_file.is_some() };
        has_wall && self.random_seed.is_some() && self.files_too && (self.stats || self.reads)
    }

    fn names_problem(&self) -> Result<(), OptionError> {
        let names = super::lower::names(self, self.tasks.1, 0);
        match names.problem() {
            None => Ok(()),
            Some((_, message, help)) => Err(OptionError::Tree { message, help }),
        }
    }

    /// How often `-n` and `-I` together make a tree in a directory of its own.
    pub fn loops(&self) -> u64 {
        match (self.items, self.per_directory) {
            (items, each) if items > 0 && each > 0 => items / each,
            _ => 1,
        }
    }

    /// Items of a directory, of its leaves where only those have some.
    pub fn per_directory_of(&self, names: &TreeNames) -> u64 {
        match self.per_directory {
            0 if self.leaves_only => self.items / names.leaves().max(1),
            0 => self.items / names.directories().max(1),
            each => each,
        }
    }

    /// Items of each task, all its trees together.
    pub fn items_each(&self, names: &TreeNames) -> u64 {
        names.items_each().saturating_mul(names.roots.into())
    }
}
