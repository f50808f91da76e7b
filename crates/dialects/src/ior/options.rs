//! IOR's options; the names are its directives, for scripts and `-O`.

use crate::aiori::{BACKENDS, Opt, Support, Takes};
use Support::{Ignored, Never, NotYet, Works};
use Takes::{Directives, Flag, Number, Script, Size, Text};

const fn short(letter: char, name: &'static str, takes: Takes, default: &'static str, what: &'static str) -> Opt {
    Opt { letter: Some(letter), name: Some(name), takes, default, what, support: Works }
}

const fn long(name: &'static str, takes: Takes, default: &'static str, what: &'static str) -> Opt {
    Opt { letter: None, name: Some(name), takes, default, what, support: Works }
}

const PRINTED: Support = Ignored("it is only printed");
const GPU: Support = Never("Plumb does not transfer GPU data");

/// All of them but those of the back ends. Source: IOR 4.1.0+dev, its `-h` and user guide.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    short('a', "api", Text, "POSIX", "Back end: POSIX, MMAP, MPIIO or DUMMY"),
    short('A', "refNum", Number, "0", "Number to print"),
    short('b', "blockSize", Size, "1048576", "Contiguous bytes to write per task and segment"),
    short('c', "collective", Flag, "", "Collective I/O, with -a MPIIO"),
    short('C', "reorderTasksConstant", Flag, "", "Read what another task wrote: a constant distance away"),
    short('d', "interTestDelay", Number, "0", "Delay before each phase, seconds"),
    short('D', "deadlineForStonewalling", Number, "0", "Stonewall: stop each phase after N seconds"),
    short('e', "fsync", Flag, "", "fsync at the end of the write phase, in its time"),
    short('E', "useExistingTestFile", Flag, "", "Do not remove the file before writing"),
    short('f', "script", Script, "", "Script of tests"),
    short('F', "filePerProc", Flag, "", "A file for each task"),
    short('g', "intraTestBarriers", Flag, "", "Barriers between open, transfers and close"),
    short('G', "setTimeStampSignature", Number, "0", "Seed of the data; by the clock when absent"),
    short('i', "repetitions", Number, "1", "Repetitions"),
    Opt { support: Ignored("`plumb show` finds stragglers"), ..short('j', "outlierThreshold", Number, "0", "Warn of tasks that are this many seconds off the mean") },
    short('k', "keepFile", Flag, "", "Keep the files"),
    short('K', "keepFileWithError", Flag, "", "Keep the files where data was wrong"),
    short('l', "dataPacketType", Text, "t", "Data packets: offset, incompressible, timestamp or random"),
    short('m', "multiFile", Flag, "", "Another file for each repetition"),
    short('M', "memoryPerNode", Text, "", "Memory of each node to use up: 2g, 75%"),
    short('N', "numTasks", Number, "-1", "Number of tasks that take part"),
    short('o', "testFile", Text, "testFile", "The file, or files with @ between them"),
    short('O', "directives", Directives, "", "Directives, as in scripts: name=value, with commas between them"),
    short('Q', "taskPerNodeOffset", Number, "1", "Distance of -C and -Z, in nodes"),
    short('r', "readFile", Flag, "", "Read"),
    short('R', "checkRead", Flag, "", "Read and verify"),
    short('s', "segmentCount", Size, "1", "Segments of the file"),
    short('t', "transferSize", Size, "262144", "Bytes of a transfer"),
    short('T', "maxTimeDuration", Number, "0", "Start no repetition after N minutes"),
    short('u', "uniqueDir", Flag, "", "A directory for each task's file, with -F"),
    short('v', "verbose", Flag, "", "Verbosity, one more each time"),
    short('w', "writeFile", Flag, "", "Write"),
    short('W', "checkWrite", Flag, "", "Read and verify after writing"),
    Opt { support: Ignored("Plumb reports short transfers"), ..short('x', "singleXferAttempt", Flag, "", "Do not continue short transfers") },
    short('X', "reorderTasksRandomSeed", Number, "0", "Seed of -Z"),
    Opt { support: NotYet("leave it out"), ..short('y', "dualMount", Flag, "", "A mount point for each socket") },
    short('Y', "fsyncPerWrite", Flag, "", "fsync after each write"),
    short('z', "randomOffset", Flag, "", "Random order of a block's transfers; twice: blocks at random places"),
    short('Z', "reorderTasksRandom", Flag, "", "Read what a random other task wrote; twice: each file once"),
    Opt { support: GPU, ..long("allocateBufferOnGPU", Number, "0", "Memory of a GPU") },
    Opt { support: GPU, ..long("GPUid", Number, "-1", "Which GPU") },
    Opt { support: GPU, ..long("GPUDirect", Flag, "", "GPUDirect") },
    Opt { support: Ignored("Plumb prints its own findings"), ..long("debug", Text, "", "A word to print") },
    long("dryRun", Flag, "", "Touch no file, and print as if it were done"),
    long("interIODelay", Number, "0", "Delay after each transfer, µs"),
    long("memoryPerTask", Size, "0", "Memory to use up for each task"),
    long("minTimeDuration", Number, "0", "Repeat transfers for at least N seconds"),
    Opt { support: PRINTED, ..long("numNodes", Number, "-1", "Number of nodes") },
    Opt { support: PRINTED, ..long("numTasksOnNode0", Number, "-1", "Tasks of the first node") },
    Opt { support: PRINTED, ..long("platform", Text, "", "Name of the platform") },
    long("random-offset-seed", Number, "-1", "Seed of -z"),
    long("randomPrefill", Size, "0", "Fill the file before random writes, by blocks of this size"),
    long("savePerOpDataCSV", Text, "", "Write each transfer's time to CSV files whose names begin so"),
    long("saveRankPerformanceDetailsCSV", Text, "", "Write the times of each task to this CSV file"),
    long("stoneWallingStatusFile", Text, "", "File that keeps how many transfers a stonewall let through"),
    long("stoneWallingWearOut", Flag, "", "Behind the stonewall, go on until all tasks did as many transfers as the fastest"),
    long("stoneWallingWearOutIterations", Size, "0", "Stop after N transfers"),
    Opt { support: PRINTED, ..long("summaryAlways", Flag, "", "Print a summary after each test") },
    long("summaryFile", Text, "", "File for the summary"),
    long("summaryFormat", Text, "default", "default, JSON or CSV"),
    Opt { support: Ignored("use --posix.odirect"), ..long("useo_direct", Flag, "", "The former name of --posix.odirect") },
    Opt { support: Ignored("errors of I/O end a test"), ..long("warningAsErrors", Flag, "", "Warnings are errors") },
];

/// All of them.
pub(super) const ROWS: &[&[Opt]] = &[OPTIONS, BACKENDS];
