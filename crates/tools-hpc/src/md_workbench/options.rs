//! md-workbench's options.

use crate::aiori::BACKENDS;
use plumb_tools::Support::Ignored;
use plumb_tools::options::Takes::{Flag, Number, Size, Text};
use plumb_tools::options::{Opt, Table, both, letter, long};

/// All options except those of the back ends. Source: md-workbench of IOR 4.1.0+dev, its `-h`.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    both('1', "run-precreate", Flag, "Only create the objects"),
    both('2', "run-benchmark", Flag, "Only run the benchmark"),
    both('3', "run-cleanup", Flag, "Only remove the remaining objects"),
    both('a', "api", Text, "Back end: POSIX or DUMMY").or("POSIX"),
    both('D', "data-sets", Number, "Data sets of each rank").or("10"),
    letter('G', Number, "Seed of the data; by the clock when absent").or("-1"),
    both('I', "obj-per-proc", Number, "Objects to renew in each data set and iteration").or("1000"),
    both('L', "latency", Text, "Write the time of every operation of rank 0 to CSV files that begin so"),
    letter('o', Text, "Directory of the data sets").or("./out"),
    both('O', "offset", Number, "Distance in ranks: whose objects a rank reads, and for whom it makes new ones").or("1"),
    both('P', "precreate-per-set", Number, "Objects of each data set").or("3000"),
    both('q', "quiet", Flag, "Print only measured values"),
    both('R', "iterations", Number, "Iterations of the benchmark").or("3"),
    both('S', "object-size", Number, "Bytes of an object").or("3901"),
    both('t', "waiting-time", Text, "Wait after each operation, as a share of its time: 1.0 waits as long as it took").or("0"),
    both('T', "adaptive-waiting", Flag, "Each iteration with eight waiting times: 0, then 0.0625, doubled up to 4"),
    both('v', "verbose", Flag, "Verbosity, one more each time").but(Ignored("--process-reports and -L have the details")),
    both('w', "stonewall-timer", Number, "Stonewall: end each iteration after this many seconds").or("0"),
    both('W', "stonewall-wear-out", Flag, "After the stonewall, continue until all ranks did as many as the fastest"),
    both('X', "verify-read", Flag, "Verify what is read"),
    long("dataPacketType", Text, "Data packets: offset, incompressible, timestamp or random").or("t"),
    long("ignore-precreate-errors", Flag, "Continue if objects or data sets cannot be created"),
    long("latency-all", Flag, "With -L, the operations of all ranks"),
    long("print-detailed-stats", Flag, "Print counts, with tabs between them"),
    long("process-reports", Flag, "Print a line of each rank, too"),
    long("read-only", Flag, "The benchmark only stats and reads objects"),
    long("run-info-file", Text, "File that keeps the position of the next run").or("md-workbench.status"),
    long("start-item", Size, "Number of the object to begin with").or("0"),
];

pub(super) const TABLE: Table = Table(&[OPTIONS, BACKENDS]);
