//! Parses arguments into settings.

use plumb_tools::Support::NotYet;
use plumb_tools::options::Takes::{Nothing, Value};
use plumb_tools::options::{DoubleDash, Grammar, Opt, Table, Word, Words, both, long};

/// Path of dbench's own load file in Debian's package.
const LOAD_FILE: &str = "/usr/share/dbench/client.txt";

const CLIENTS_MAX: u32 = 4096;

/// All options. Source: the help of dbench 4.00.
#[rustfmt::skip]
const OPTIONS: &[Opt] = &[
    both('t', "timelimit", Value("SECONDS"), "measured time, after a fifth of it as a warm-up (600)"),
    both('c', "loadfile", Value("FILE"), "load file (that of Debian's package dbench)"),
    both('D', "directory", Value("DIR"), "working directory (.)"),
    both('s', "sync", Nothing, "open files with O_SYNC"),
    both('S', "sync-dir", Nothing, "flush directories after each change"),
    both('F', "fsync", Nothing, "flush after each write"),
    long("no-resolve", Nothing, "do not look up names that do not exist"),
    long("skip-cleanup", Nothing, "keep the files"),
    both('?', "help", Nothing, "print this"),
    both('R', "target-rate", Value("MB/S"), "").but(NotYet("use `plumb trace replay`")),
    both('T', "tcp-options", Value("TEXT"), "").but(NotYet("of tbench; use `plumb net`")),
    both('x', "xattr", Nothing, "").but(NotYet("leave it out")),
    long("clients-per-process", Value("N"), "").but(NotYet("each client is a process")),
    long("one-byte-write-fix", Nothing, "").but(NotYet("leave it out")),
    long("stat-check", Nothing, "").but(NotYet("leave it out")),
    long("fake-io", Nothing, "").but(NotYet("leave it out")),
    long("per-client-results", Nothing, "").but(NotYet("use `plumb show`")),
];

/// The rules of popt(3), except that `--` is unknown.
const WORDS: Grammar =
    Grammar { short_equals: true, double_dash: DoubleDash::Unknown, ..Grammar::getopt(Table(&[OPTIONS])) };

pub fn help() -> String {
    let row = |row: &Opt| {
        let letter = row.letter.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let value = if row.takes.is_flag() { String::new() } else { format!("={}", row.takes.value()) };
        let what = match row.support {
            NotYet(why) => format!("(not yet: {why})"),
            _ => row.what.to_owned(),
        };
        format!("  {letter}{:<30}{what}\n", format!("--{}{value}", row.name))
    };
    format!("Usage: dbench [OPTION...] CLIENTS\n{}", OPTIONS.iter().map(row).collect::<String>())
}

/// The request of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Help,
    Run(DbenchSettings),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DbenchSettings {
    pub clients: u32,
    /// Measured time, seconds.
    pub time_s: u64,
    /// Path of the load file.
    pub load: String,
    pub directory: String,
    /// Open files with `O_SYNC`.
    pub sync_open: bool,
    /// Flush directories after each change.
    pub sync_directories: bool,
    /// Flush after each write.
    pub flush_writes: bool,
    /// Do not look up names that do not exist.
    pub no_resolve: bool,
    /// Keep the files after the run.
    pub keeps: bool,
}

impl DbenchSettings {
    /// Returns the seconds before the measurement starts.
    pub fn warmup_s(&self) -> u64 {
        self.time_s / 5
    }
}

/// Parses the arguments after `dbench`.
///
/// # Errors
/// The message to print.
pub fn read(words: &[String]) -> Result<Action, String> {
    let mut settings = DbenchSettings {
        clients: 0,
        time_s: 600,
        load: LOAD_FILE.to_owned(),
        directory: ".".to_owned(),
        sync_open: false,
        sync_directories: false,
        flush_writes: false,
        no_resolve: false,
        keeps: false,
    };
    let mut clients = None;
    let mut words = Words::new(WORDS, words);
    while let Some(word) = words.next() {
        let (row, value) = match word {
            Ok(Word::Option(row, value)) => (row, value),
            Ok(Word::Operand(word)) => {
                clients = clients.or(Some(word));
                continue;
            }
            Err(unknown) => return Err(format!("Invalid option {}: unknown option", unknown.word)),
        };
        let more_letters = words.is_in_cluster();
        let invalid = |why: &str| Err(format!("Invalid option {}: {why}", words.word()));
        if more_letters {
            return invalid("give each option by itself");
        }
        if let NotYet(why) = row.support {
            return Err(format!("--{} is not supported: {why}", row.name));
        }
        if value.is_some() && row.takes.is_flag() {
            return invalid("it takes no value");
        }
        if value.is_none() && row.takes.needs_value() {
            return invalid("missing argument");
        }
        let value = value.unwrap_or_default();
        match row.name {
            "help" => return Ok(Action::Help),
            "timelimit" => {
                let seconds = value.parse::<u64>().ok().filter(|seconds| (1..=u64::from(u32::MAX)).contains(seconds));
                let Some(seconds) = seconds else { return invalid(&format!("`{value}` is not a number of seconds")) };
                settings.time_s = seconds;
            }
            "loadfile" => settings.load = value,
            "directory" => settings.directory = value,
            "sync" => settings.sync_open = true,
            "sync-dir" => settings.sync_directories = true,
            "fsync" => settings.flush_writes = true,
            "no-resolve" => settings.no_resolve = true,
            _ => settings.keeps = true,
        }
    }
    let Some(text) = clients else { return Err("You need to specify NPROCS".to_owned()) };
    let clients = text.parse::<u32>().ok().filter(|count| (1..=CLIENTS_MAX).contains(count));
    settings.clients = clients.ok_or_else(|| format!("`{text}` clients: a number from 1 to {CLIENTS_MAX} expected"))?;
    Ok(Action::Run(settings))
}
