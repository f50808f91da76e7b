//! The options, one row each: the parser and the help read them.

use crate::Support;
use Support::{Ignored, Never, NotYet, Works};

/// What an option takes, as help shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// `on` or `off`; nothing is `on`.
    Flag,
    /// A whole number.
    Number,
    /// A number with a fraction.
    Ratio,
    /// A number of bytes, with K, M, G, T.
    Size,
    /// Any text.
    Text,
    /// Words with commas between them.
    List,
}

impl Takes {
    fn shown(self) -> &'static str {
        match self {
            Takes::Flag => "[=on|off]",
            Takes::Number | Takes::Ratio => "=N",
            Takes::Size => "=SIZE",
            Takes::Text => "=STRING",
            Takes::List => "=[LIST,...]",
        }
    }
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// Its name, after two dashes.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Its default; empty where it has none.
    pub default: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Whether it is supported.
    pub support: Support,
}

const fn opt(name: &'static str, takes: Takes, default: &'static str, what: &'static str) -> Opt {
    Opt { name, takes, default, what, support: Works }
}

const fn but(name: &'static str, takes: Takes, default: &'static str, support: Support) -> Opt {
    Opt { name, takes, default, what: "", support }
}

use Takes::{Flag, List, Number, Ratio, Size, Text};

const DRAWN: Support = Ignored("fileio draws evenly");

/// Those of all tests. Source: the help of sysbench 1.0.20.
#[rustfmt::skip]
pub const GENERAL: &[Opt] = &[
    opt("threads", Number, "1", "threads"),
    opt("events", Number, "0", "most requests and flushes, of all threads; 0: no limit"),
    opt("time", Number, "10", "seconds; 0: no limit"),
    opt("report-interval", Number, "0", "print what was done every N seconds; 0: only at the end"),
    opt("percentile", Number, "95", "percentile of latencies, 1 to 100; 0: none"),
    opt("rate", Number, "0", "requests and flushes a second, at random times, of all threads; 0: as many as there can be"),
    opt("histogram", Flag, "off", "print how many latencies there are of each size"),
    opt("rand-seed", Number, "0", "seed of random places; 0: another one each time"),
    opt("help", Flag, "off", "print help"),
    opt("version", Flag, "off", "print the version"),
    opt("num-threads", Number, "", "--threads"),
    opt("max-requests", Number, "", "--events"),
    opt("max-time", Number, "", "--time"),
    opt("tx-rate", Number, "", "--rate"),
    but("forced-shutdown", Text, "off", Ignored("a run ends at its time")),
    but("thread-stack-size", Size, "64K", Ignored("threads have stacks of their own")),
    but("verbosity", Number, "3", Ignored("messages are as with 3")),
    but("debug", Flag, "off", Ignored("there is no debugging output")),
    but("rand-type", Text, "special", DRAWN),
    but("rand-spec-iter", Number, "12", DRAWN),
    but("rand-spec-pct", Number, "1", DRAWN),
    but("rand-spec-res", Number, "75", DRAWN),
    but("rand-pareto-h", Ratio, "0.2", DRAWN),
    but("report-checkpoints", List, "", NotYet("use --report-interval")),
    opt("validate", Flag, "off", "write blocks with a checksum and their offset, and check what is read"),
    but("config-file", Text, "", NotYet("give the options themselves")),
    but("luajit-cmd", Text, "", Never("there is no Lua")),
];

/// Those of fileio.
#[rustfmt::skip]
pub const FILEIO: &[Opt] = &[
    opt("file-num", Number, "128", "number of files"),
    opt("file-block-size", Size, "16384", "bytes of a request"),
    opt("file-total-size", Size, "2G", "bytes of all files together"),
    opt("file-test-mode", Text, "", "what run does: seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw"),
    opt("file-io-mode", Text, "sync", "by which calls: sync, async, mmap"),
    opt("file-async-backlog", Number, "128", "with async, requests in flight of each thread"),
    opt("file-extra-flags", List, "", "how files are opened: sync, dsync, direct"),
    opt("file-fsync-freq", Number, "100", "flush all files behind every N requests; 0: never"),
    opt("file-fsync-all", Flag, "off", "flush its file behind each write"),
    opt("file-fsync-end", Flag, "on", "flush all files at the end"),
    opt("file-fsync-mode", Text, "fsync", "how: fsync or fdatasync"),
    opt("file-merged-requests", Number, "0", "in sequence, N blocks in a request; 0: one"),
    opt("file-rw-ratio", Ratio, "1.5", "reads for each write, of rndrw"),
];

/// An option by its name, in which dashes and underscores are the same.
pub(super) fn find(name: &str) -> Option<&'static Opt> {
    let name = name.replace('_', "-");
    GENERAL.iter().chain(FILEIO).find(|row| row.name == name)
}

fn rows(rows: &[Opt]) -> String {
    let head = |row: &Opt| format!("--{}{}", row.name, row.takes.shown());
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

/// What `sysbench fileio help` prints.
pub fn help_of_test() -> String {
    format!("fileio options:\n{}\n", rows(FILEIO))
}

/// What `sysbench --help` prints.
pub fn help() -> String {
    format!(
        "Usage:\n  sysbench [options]... [testname] [command]\n\nCommands: prepare run cleanup help\n\nGeneral options:\n{}\n\
         Tests:\n  fileio - File I/O test\n\nSee 'sysbench fileio help' for its options.\n",
        rows(GENERAL)
    )
}
