//! The options in one table, which the parser and the help use.

use plumb_tools::Support::{self, Ignored, Never, NotYet, Works};
use plumb_tools::options::Takes::{self, Flag, List, Number, Ratio, Size, Text};
use plumb_tools::options::{Opt, Table, long};

/// Returns the placeholder of a value in help.
fn shown(takes: Takes) -> &'static str {
    match takes {
        Flag => "[=on|off]",
        Number | Ratio => "=N",
        Size => "=SIZE",
        List => "=[LIST,...]",
        _ => "=STRING",
    }
}

const DRAWN: Support = Ignored("fileio draws evenly");

/// Options of all tests. Source: the help of sysbench 1.0.20.
#[rustfmt::skip]
pub(crate) const GENERAL: &[Opt] = &[
    long("threads", Number, "threads").or("1"),
    long("events", Number, "limit of requests and flushes, in all threads; 0: no limit").or("0"),
    long("time", Number, "seconds; 0: no limit").or("10"),
    long("report-interval", Number, "print an interim report every N seconds; 0: only at the end").or("0"),
    long("percentile", Number, "percentile of latencies, 1 to 100; 0: none").or("95"),
    long("rate", Number, "requests and flushes per second, at random times, in all threads; 0: unlimited").or("0"),
    long("histogram", Flag, "print a histogram of latencies").or("off"),
    long("rand-seed", Number, "seed of random offsets; 0: a new one each time").or("0"),
    long("help", Flag, "print help").or("off"),
    long("version", Flag, "print the version").or("off"),
    long("num-threads", Number, "--threads"),
    long("max-requests", Number, "--events"),
    long("max-time", Number, "--time"),
    long("tx-rate", Number, "--rate"),
    long("forced-shutdown", Text, "").or("off").but(Ignored("a run ends at its time")),
    long("thread-stack-size", Size, "").or("64K").but(Ignored("threads have stacks of their own")),
    long("verbosity", Number, "").or("3").but(Ignored("messages are as with 3")),
    long("debug", Flag, "").or("off").but(Ignored("there is no debugging output")),
    long("rand-type", Text, "").or("special").but(DRAWN),
    long("rand-spec-iter", Number, "").or("12").but(DRAWN),
    long("rand-spec-pct", Number, "").or("1").but(DRAWN),
    long("rand-spec-res", Number, "").or("75").but(DRAWN),
    long("rand-pareto-h", Ratio, "").or("0.2").but(DRAWN),
    long("report-checkpoints", List, "").but(NotYet("use --report-interval")),
    long("validate", Flag, "write blocks with a checksum and their offset, and check what is read").or("off"),
    long("config-file", Text, "").but(NotYet("give the options themselves")),
    long("luajit-cmd", Text, "").but(Never("there is no Lua")),
];

#[rustfmt::skip]
pub(crate) const FILEIO: &[Opt] = &[
    long("file-num", Number, "number of files").or("128"),
    long("file-block-size", Size, "bytes of a request").or("16384"),
    long("file-total-size", Size, "bytes of all files together").or("2G"),
    long("file-test-mode", Text, "mode of run: seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw"),
    long("file-io-mode", Text, "calls: sync, async, mmap").or("sync"),
    long("file-async-backlog", Number, "with async, requests in flight per thread").or("128"),
    long("file-extra-flags", List, "open flags: sync, dsync, direct"),
    long("file-fsync-freq", Number, "flush all files after every N requests; 0: never").or("100"),
    long("file-fsync-all", Flag, "flush the file after each write").or("off"),
    long("file-fsync-end", Flag, "flush all files at the end").or("on"),
    long("file-fsync-mode", Text, "flush by fsync or fdatasync").or("fsync"),
    long("file-merged-requests", Number, "blocks per sequential request; 0: one").or("0"),
    long("file-rw-ratio", Ratio, "reads per write in rndrw").or("1.5"),
];

/// Finds an option by name. Dashes and underscores are equivalent.
pub(super) fn find(name: &str) -> Option<&'static Opt> {
    Table(&[GENERAL, FILEIO]).named(&name.replace('_', "-"))
}

fn rows(rows: &[Opt]) -> String {
    let head = |row: &Opt| format!("--{}{}", row.name, shown(row.takes));
    let width = rows.iter().map(|row| head(row).len()).max().unwrap_or(0);
    let row = |row: &Opt| {
        let default = if row.default.is_empty() { String::new() } else { format!(" [{}]", row.default) };
        let what = match row.support {
            Works => row.what.to_owned(),
            Ignored(why) => format!("(ignored: {why})"),
            NotYet(why) => format!("(not yet: {why})"),
            Never(why) => format!("(never: {why})"),
        };
        format!("  {:<width$} {what}{default}\n", head(row))
    };
    rows.iter().map(row).collect()
}

/// Returns the page of `sysbench fileio help`.
pub(crate) fn help_of_test() -> String {
    format!("fileio options:\n{}\n", rows(FILEIO))
}

/// Returns the page of `sysbench --help`.
pub fn help() -> String {
    format!(
        "Usage:\n  sysbench [options]... [testname] [command]\n\nCommands: prepare run cleanup help\n\nGeneral options:\n{}\n\
         Tests:\n  fileio - File I/O test\n\nSee 'sysbench fileio help' for its options.\n",
        rows(GENERAL)
    )
}
