//! mdtest's options.

use crate::aiori::{BACKENDS, Opt, Support, Takes};
use Support::{Ignored, NotYet, Works};
use Takes::{Flag, Number, Size, Text};

const fn short(letter: char, takes: Takes, default: &'static str, what: &'static str) -> Opt {
    Opt { letter: Some(letter), name: None, takes, default, what, support: Works }
}

const fn long(name: &'static str, takes: Takes, default: &'static str, what: &'static str) -> Opt {
    Opt { letter: None, name: Some(name), takes, default, what, support: Works }
}

/// All of them but those of the back ends. Source: mdtest 4.1.0+dev, its `-h`.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    short('a', Text, "POSIX", "Back end: POSIX or DUMMY"),
    short('b', Number, "1", "Branches of the tree: directories in each directory"),
    Opt { support: NotYet("mdtest itself refuses it"), ..short('B', Number, "0", "No barriers between phases") },
    short('c', Flag, "", "Rank 0 creates and removes for all"),
    short('C', Flag, "", "Only create"),
    short('d', Text, "./out", "Directory, or directories with @ between them"),
    short('D', Flag, "", "Directories only, no files"),
    short('e', Size, "0", "Bytes to read from each file"),
    short('E', Flag, "", "Only read"),
    short('f', Number, "1", "First number of tasks to run with"),
    short('F', Flag, "", "Files only, no directories"),
    short('G', Number, "-1", "Seed of the data; by the clock when absent"),
    short('i', Number, "1", "Iterations"),
    short('I', Size, "0", "Items in each directory of the tree"),
    short('k', Flag, "", "Create files with mknod"),
    short('l', Number, "0", "Last number of tasks to run with"),
    short('L', Flag, "", "Items only in the leaves of the tree"),
    short('n', Size, "0", "Items of each task"),
    short('N', Number, "0", "Stride between tasks: each phase works on the items of another task"),
    short('p', Number, "0", "Delay before directories and files of each iteration, seconds"),
    short('P', Flag, "", "Print rates and times"),
    short('r', Flag, "", "Only remove"),
    short('R', Flag, "", "Stat and read in random order"),
    short('s', Number, "1", "Stride between numbers of tasks"),
    short('S', Flag, "", "All tasks share the same files; no directories"),
    Opt { support: Ignored("no task changes its directory"), ..short('t', Flag, "", "Count the change to a task's own directory") },
    short('T', Flag, "", "Only stat"),
    short('u', Flag, "", "A tree of its own for each task"),
    short('U', Flag, "", "Rename directories"),
    short('v', Flag, "", "Verbosity, one more each time"),
    short('V', Number, "0", "Verbosity"),
    short('w', Size, "0", "Bytes to write to each file"),
    short('W', Number, "0", "Stonewall: create files for this many seconds, then until all tasks created as many as the fastest"),
    short('x', Text, "", "File that keeps how many items a stonewall let through"),
    Opt { letter: Some('X'), ..long("verify-read", Flag, "", "Verify what is read") },
    short('y', Flag, "", "fsync each file after writing"),
    short('Y', Flag, "", "sync at the end of each phase, in its time"),
    short('z', Number, "0", "Depth of the tree"),
    short('Z', Flag, "", "Print times instead of rates"),
    long("dataPacketType", Text, "t", "Data packets: offset, incompressible, timestamp or random"),
    long("print-all-procs", Flag, "", "Print the results of each task"),
    long("random-seed", Number, "0", "Seed of the random order"),
    long("run-cmd-before-phase", Text, "", "Command that each task runs before each phase of items"),
    long("run-cmd-after-phase", Text, "", "Command that each task runs at the end of each phase of items, in its time"),
    long("allow-system", Flag, "", "Run these commands, which are refused without it (Plumb's own option)"),
    long("saveRankPerformanceDetails", Text, "", "Write the results of each task to this CSV file"),
    long("savePerOpDataCSV", Text, "", "Write the time of each operation on a file to CSV files whose names begin so"),
    long("showRankStatistics", Flag, "", "Show statistics of single tasks, too"),
    long("verify-write", Flag, "", "Read back and compare what was written to a file before it is closed"),
    long("warningAsErrors", Flag, "", "A failed operation ends it"),
];

/// All of them.
pub(super) const ROWS: &[&[Opt]] = &[OPTIONS, BACKENDS];
