//! IOR's options. The names are its directives, for scripts and `-O`.

use crate::aiori::BACKENDS;
use plumb_tools::Support::{self, Ignored, Never, NotYet};
use plumb_tools::options::Takes::{Directives, Flag, Number, Script, Size, Text};
use plumb_tools::options::{Opt, Table, both, long};

const PRINTED: Support = Ignored("it is only printed");
const GPU: Support = Never("Plumb does not transfer GPU data");

/// All options except those of the back ends. Source: IOR 4.1.0+dev, its `-h` and user guide.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    both('a', "api", Text, "Back end: POSIX, AIO, MMAP, MPIIO or DUMMY").or("POSIX"),
    both('A', "refNum", Number, "Number to print").or("0"),
    both('b', "blockSize", Size, "Contiguous bytes to write per task and segment").or("1048576"),
    both('c', "collective", Flag, "Collective I/O, with -a MPIIO"),
    both('C', "reorderTasksConstant", Flag, "Read the data of another task, a constant distance away"),
    both('d', "interTestDelay", Number, "Delay before each phase, seconds").or("0"),
    both('D', "deadlineForStonewalling", Number, "Stonewall: stop each phase after N seconds").or("0"),
    both('e', "fsync", Flag, "fsync at the end of the write phase, in its time"),
    both('E', "useExistingTestFile", Flag, "Do not remove the file before writing"),
    both('f', "script", Script, "Script of tests"),
    both('F', "filePerProc", Flag, "A file for each task"),
    both('g', "intraTestBarriers", Flag, "Barriers between open, transfers and close"),
    both('G', "setTimeStampSignature", Number, "Seed of the data; by the clock when absent").or("0"),
    both('i', "repetitions", Number, "Repetitions").or("1"),
    both('j', "outlierThreshold", Number, "Warn of tasks that are this many seconds off the mean").or("0").but(Ignored("`plumb show` finds stragglers")),
    both('k', "keepFile", Flag, "Keep the files"),
    both('K', "keepFileWithError", Flag, "Keep files with wrong data"),
    both('l', "dataPacketType", Text, "Data packets: offset, incompressible, timestamp or random").or("t"),
    both('m', "multiFile", Flag, "Another file for each repetition"),
    both('M', "memoryPerNode", Text, "Memory of each node to use up: 2g, 75%"),
    both('N', "numTasks", Number, "Number of tasks that take part").or("-1"),
    both('o', "testFile", Text, "The file, or files with @ between them").or("testFile"),
    both('O', "directives", Directives, "Directives, as in scripts: name=value, with commas between them"),
    both('Q', "taskPerNodeOffset", Number, "Distance of -C and -Z, in nodes").or("1"),
    both('r', "readFile", Flag, "Read"),
    both('R', "checkRead", Flag, "Read and verify"),
    both('s', "segmentCount", Size, "Segments of the file").or("1"),
    both('t', "transferSize", Size, "Bytes of a transfer").or("262144"),
    both('T', "maxTimeDuration", Number, "Start no repetition after N minutes").or("0"),
    both('u', "uniqueDir", Flag, "A directory for each task's file, with -F"),
    both('v', "verbose", Flag, "Verbosity, one more each time"),
    both('w', "writeFile", Flag, "Write"),
    both('W', "checkWrite", Flag, "Read and verify after writing"),
    both('x', "singleXferAttempt", Flag, "Do not continue short transfers").but(Ignored("Plumb reports short transfers")),
    both('X', "reorderTasksRandomSeed", Number, "Seed of -Z").or("0"),
    both('y', "dualMount", Flag, "A mount point for each socket").but(NotYet("leave it out")),
    both('Y', "fsyncPerWrite", Flag, "fsync after each write"),
    both('z', "randomOffset", Flag, "Random order of a block's transfers; twice: blocks at random places"),
    both('Z', "reorderTasksRandom", Flag, "Read the data of a random other task; twice: each file once"),
    long("allocateBufferOnGPU", Number, "Memory of a GPU").or("0").but(GPU),
    long("GPUid", Number, "Which GPU").or("-1").but(GPU),
    long("GPUDirect", Flag, "GPUDirect").but(GPU),
    long("debug", Text, "A word to print").but(Ignored("Plumb prints its own findings")),
    long("dryRun", Flag, "Print as usual, but touch no file"),
    long("interIODelay", Number, "Delay after each transfer, µs").or("0"),
    long("memoryPerTask", Size, "Memory to use up for each task").or("0"),
    long("minTimeDuration", Number, "Repeat transfers for at least N seconds").or("0"),
    long("numNodes", Number, "Number of nodes").or("-1").but(PRINTED),
    long("numTasksOnNode0", Number, "Tasks of the first node").or("-1").but(PRINTED),
    long("platform", Text, "Name of the platform").but(PRINTED),
    long("random-offset-seed", Number, "Seed of -z").or("-1"),
    long("randomPrefill", Size, "Fill the file before random writes, by blocks of this size").or("0"),
    long("savePerOpDataCSV", Text, "Write each transfer's time to CSV files whose names begin so"),
    long("saveRankPerformanceDetailsCSV", Text, "Write the times of each task to this CSV file"),
    long("stoneWallingStatusFile", Text, "File that keeps how many transfers a stonewall let through"),
    long("stoneWallingWearOut", Flag, "After the stonewall, continue until all tasks did as many transfers as the fastest"),
    long("stoneWallingWearOutIterations", Size, "Stop after N transfers").or("0"),
    long("summaryAlways", Flag, "Print a summary after each test").but(PRINTED),
    long("summaryFile", Text, "File for the summary"),
    long("summaryFormat", Text, "default, JSON or CSV").or("default"),
    long("useo_direct", Flag, "The former name of --posix.odirect").but(Ignored("use --posix.odirect")),
    long("warningAsErrors", Flag, "Warnings are errors").but(Ignored("errors of I/O end a test")),
];

pub(super) const TABLE: Table = Table(&[OPTIONS, BACKENDS]);
