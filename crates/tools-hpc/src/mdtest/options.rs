//! mdtest's options.

use crate::aiori::BACKENDS;
use plumb_tools::Support::{Ignored, NotYet};
use plumb_tools::options::Takes::{Flag, Number, Size, Text};
use plumb_tools::options::{Opt, Table, both, letter, long};

/// All options except those of the back ends. Source: mdtest 4.1.0+dev, its `-h`.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    letter('a', Text, "Back end: POSIX or DUMMY").or("POSIX"),
    letter('b', Number, "Branches of the tree: directories in each directory").or("1"),
    letter('B', Number, "No barriers between phases").or("0").but(NotYet("mdtest itself refuses it")),
    letter('c', Flag, "Rank 0 creates and removes for all"),
    letter('C', Flag, "Only create"),
    letter('d', Text, "Directory, or directories with @ between them").or("./out"),
    letter('D', Flag, "Directories only, no files"),
    letter('e', Size, "Bytes to read from each file").or("0"),
    letter('E', Flag, "Only read"),
    letter('f', Number, "First number of tasks to run with").or("1"),
    letter('F', Flag, "Files only, no directories"),
    letter('G', Number, "Seed of the data; by the clock when absent").or("-1"),
    letter('i', Number, "Iterations").or("1"),
    letter('I', Size, "Items in each directory of the tree").or("0"),
    letter('k', Flag, "Create files with mknod"),
    letter('l', Number, "Last number of tasks to run with").or("0"),
    letter('L', Flag, "Items only in the leaves of the tree"),
    letter('n', Size, "Items of each task").or("0"),
    letter('N', Number, "Stride between tasks: each phase works on the items of another task").or("0"),
    letter('p', Number, "Delay before directories and files of each iteration, seconds").or("0"),
    letter('P', Flag, "Print rates and times"),
    letter('r', Flag, "Only remove"),
    letter('R', Flag, "Stat and read in random order"),
    letter('s', Number, "Stride between numbers of tasks").or("1"),
    letter('S', Flag, "All tasks share the same files; no directories"),
    letter('t', Flag, "Count the change to a task's own directory").but(Ignored("no task changes its directory")),
    letter('T', Flag, "Only stat"),
    letter('u', Flag, "A tree of its own for each task"),
    letter('U', Flag, "Rename directories"),
    letter('v', Flag, "Verbosity, one more each time"),
    letter('V', Number, "Verbosity").or("0"),
    letter('w', Size, "Bytes to write to each file").or("0"),
    letter('W', Number, "Stonewall: create files for this many seconds, then until all tasks created as many as the fastest").or("0"),
    letter('x', Text, "File that keeps how many items a stonewall let through"),
    both('X', "verify-read", Flag, "Verify what is read"),
    letter('y', Flag, "fsync each file after writing"),
    letter('Y', Flag, "sync at the end of each phase, in its time"),
    letter('z', Number, "Depth of the tree").or("0"),
    letter('Z', Flag, "Print times instead of rates"),
    long("dataPacketType", Text, "Data packets: offset, incompressible, timestamp or random").or("t"),
    long("print-all-procs", Flag, "Print the results of each task"),
    long("random-seed", Number, "Seed of the random order").or("0"),
    long("run-cmd-before-phase", Text, "Command that each task runs before each phase of items"),
    long("run-cmd-after-phase", Text, "Command that each task runs at the end of each phase of items, in its time"),
    long("allow-system", Flag, "Run these commands, which are refused without it (Plumb's own option)"),
    long("saveRankPerformanceDetails", Text, "Write the results of each task to this CSV file"),
    long("savePerOpDataCSV", Text, "Write the time of each operation on a file to CSV files whose names begin so"),
    long("showRankStatistics", Flag, "Show statistics of single tasks, too"),
    long("verify-write", Flag, "Read back and compare each file's data before it is closed"),
    long("warningAsErrors", Flag, "A failed operation ends the run"),
];

pub(super) const TABLE: Table = Table(&[OPTIONS, BACKENDS]);
