//! md-workbench's options.

use crate::aiori::{BACKENDS, Opt, Support, Takes};
use Support::{Ignored, Works};
use Takes::{Flag, Number, Size, Text};

const fn both(letter: char, name: &'static str, takes: Takes, default: &'static str, what: &'static str) -> Opt {
    Opt { letter: Some(letter), name: Some(name), takes, default, what, support: Works }
}

const fn short(letter: char, takes: Takes, default: &'static str, what: &'static str) -> Opt {
    Opt { name: None, ..both(letter, "", takes, default, what) }
}

const fn long(name: &'static str, takes: Takes, default: &'static str, what: &'static str) -> Opt {
    Opt { letter: None, ..both(' ', name, takes, default, what) }
}

/// All of them but those of the back ends. Source: md-workbench of IOR 4.1.0+dev, its `-h`.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    both('1', "run-precreate", Flag, "", "Only create the objects"),
    both('2', "run-benchmark", Flag, "", "Only run the benchmark"),
    both('3', "run-cleanup", Flag, "", "Only remove what is left"),
    both('a', "api", Text, "POSIX", "Back end: POSIX or DUMMY"),
    both('D', "data-sets", Number, "10", "Data sets of each rank"),
    short('G', Number, "-1", "Seed of the data; by the clock when absent"),
    both('I', "obj-per-proc", Number, "1000", "Objects to renew in each data set and iteration"),
    both('L', "latency", Text, "", "Write the time of every operation of rank 0 to CSV files that begin so"),
    short('o', Text, "./out", "Directory of the data sets"),
    both('O', "offset", Number, "1", "Distance in ranks: whose objects a rank reads, and for whom it makes new ones"),
    both('P', "precreate-per-set", Number, "3000", "Objects of each data set"),
    both('q', "quiet", Flag, "", "Print only what was measured"),
    both('R', "iterations", Number, "3", "Iterations of the benchmark"),
    both('S', "object-size", Number, "3901", "Bytes of an object"),
    both('t', "waiting-time", Text, "0", "Wait behind each operation, as a share of its time: 1.0 waits as long as it took"),
    both('T', "adaptive-waiting", Flag, "", "Each iteration with eight waiting times: 0, then 0.0625, doubled up to 4"),
    Opt { support: Ignored("--process-reports and -L have the details"), ..both('v', "verbose", Flag, "", "Verbosity, one more each time") },
    both('w', "stonewall-timer", Number, "0", "Stonewall: end each iteration after this many seconds"),
    both('W', "stonewall-wear-out", Flag, "", "Behind the stonewall, go on until all ranks did as many as the fastest"),
    both('X', "verify-read", Flag, "", "Verify what is read"),
    long("dataPacketType", Text, "t", "Data packets: offset, incompressible, timestamp or random"),
    long("ignore-precreate-errors", Flag, "", "Go on where objects or data sets cannot be made"),
    long("latency-all", Flag, "", "With -L, the operations of all ranks"),
    long("print-detailed-stats", Flag, "", "Print counts, with tabs between them"),
    long("process-reports", Flag, "", "Print a line of each rank, too"),
    long("read-only", Flag, "", "The benchmark only asks about objects and reads them"),
    long("run-info-file", Text, "md-workbench.status", "File that keeps where the next run goes on"),
    long("start-item", Size, "0", "Number of the object to begin with"),
];

/// All of them.
pub(super) const ROWS: &[&[Opt]] = &[OPTIONS, BACKENDS];
