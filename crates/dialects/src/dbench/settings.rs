//! From words to settings.

use crate::Support;
use Support::{NotYet, Works};

/// Where Debian's package has dbench's own load file.
const LOAD_FILE: &str = "/usr/share/dbench/client.txt";

/// Most clients.
const CLIENTS_MAX: u32 = 4096;

/// One option.
struct Opt {
    letter: Option<char>,
    name: &'static str,
    /// What its value is called; empty where it takes none.
    value: &'static str,
    what: &'static str,
    support: Support,
}

const fn opt(letter: Option<char>, name: &'static str, value: &'static str, what: &'static str) -> Opt {
    Opt { letter, name, value, what, support: Works }
}

const fn not_yet(letter: Option<char>, name: &'static str, value: &'static str, why: &'static str) -> Opt {
    Opt { letter, name, value, what: "", support: NotYet(why) }
}

/// All of them. Source: the help of dbench 4.00.
#[rustfmt::skip]
const OPTIONS: &[Opt] = &[
    opt(Some('t'), "timelimit", "SECONDS", "how long, behind a fifth of it as a warm-up (600)"),
    opt(Some('c'), "loadfile", "FILE", "load file (that of Debian's package dbench)"),
    opt(Some('D'), "directory", "DIR", "working directory (.)"),
    opt(Some('s'), "sync", "", "open files with O_SYNC"),
    opt(Some('S'), "sync-dir", "", "flush directories behind each change"),
    opt(Some('F'), "fsync", "", "flush behind each write"),
    opt(None, "no-resolve", "", "do not look for names that do not exist"),
    opt(None, "skip-cleanup", "", "keep the files"),
    opt(Some('?'), "help", "", "print this"),
    not_yet(Some('R'), "target-rate", "MB/S", "use `plumb trace replay`"),
    not_yet(Some('T'), "tcp-options", "TEXT", "of tbench; use `plumb net`"),
    not_yet(Some('x'), "xattr", "", "leave it out"),
    not_yet(None, "clients-per-process", "N", "each client is a process"),
    not_yet(None, "one-byte-write-fix", "", "leave it out"),
    not_yet(None, "stat-check", "", "leave it out"),
    not_yet(None, "fake-io", "", "leave it out"),
    not_yet(None, "per-client-results", "", "use `plumb show`"),
];

/// What `--help` prints.
pub fn help() -> String {
    let row = |row: &Opt| {
        let letter = row.letter.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let value = if row.value.is_empty() { String::new() } else { format!("={}", row.value) };
        let what = match row.support {
            NotYet(why) => format!("(not yet: {why})"),
            _ => row.what.to_owned(),
        };
        format!("  {letter}{:<30}{what}\n", format!("--{}{value}", row.name))
    };
    format!("Usage: dbench [OPTION...] CLIENTS\n{}", OPTIONS.iter().map(row).collect::<String>())
}

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The help.
    Help,
    /// A run.
    Run(Settings),
}

/// A command line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How many clients.
    pub clients: u32,
    /// Seconds.
    pub time_s: u64,
    /// The load file.
    pub load: String,
    /// The working directory.
    pub directory: String,
    /// `O_SYNC`.
    pub sync_open: bool,
    /// Directories are flushed.
    pub sync_directories: bool,
    /// Writes are flushed.
    pub flush_writes: bool,
    /// Names are not looked for.
    pub no_resolve: bool,
    /// Files stay.
    pub keeps: bool,
}

impl Settings {
    /// Seconds before anything is measured.
    pub fn warmup_s(&self) -> u64 {
        self.time_s / 5
    }
}

/// Reads the words behind `dbench`.
///
/// # Errors
/// In words.
pub fn read(words: &[String]) -> Result<Action, String> {
    let mut settings = Settings {
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
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (row, joined, letters) = if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            (OPTIONS.iter().find(|row| row.name == name), value, "")
        } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
            let letter = short.chars().next();
            let behind = &short[letter.map_or(0, char::len_utf8)..];
            let row = OPTIONS.iter().find(|row| row.letter == letter);
            let takes = row.is_some_and(|row| !row.value.is_empty());
            let value = behind.strip_prefix('=').unwrap_or(behind);
            (row, (takes && !value.is_empty()).then_some(value), if takes { "" } else { behind })
        } else {
            clients = clients.or(Some(word));
            continue;
        };
        let Some(row) = row else { return Err(format!("Invalid option {word}: unknown option")) };
        if !letters.is_empty() {
            return Err(format!("Invalid option {word}: give each option by itself"));
        }
        if let NotYet(why) = row.support {
            return Err(format!("--{} is not supported: {why}", row.name));
        }
        let value = match (row.value.is_empty(), joined) {
            (true, None) => "",
            (true, Some(_)) => return Err(format!("Invalid option {word}: it takes no value")),
            (false, Some(value)) => value,
            (false, None) => match rest.next() {
                Some(value) => value,
                None => return Err(format!("Invalid option {word}: missing argument")),
            },
        };
        match row.name {
            "help" => return Ok(Action::Help),
            "timelimit" => {
                let seconds = value.parse::<u64>().ok().filter(|seconds| (1..=u64::from(u32::MAX)).contains(seconds));
                settings.time_s =
                    seconds.ok_or_else(|| format!("Invalid option {word}: `{value}` is no number of seconds"))?;
            }
            "loadfile" => settings.load = value.to_owned(),
            "directory" => settings.directory = value.to_owned(),
            "sync" => settings.sync_open = true,
            "sync-dir" => settings.sync_directories = true,
            "fsync" => settings.flush_writes = true,
            "no-resolve" => settings.no_resolve = true,
            _ => settings.keeps = true,
        }
    }
    let Some(said) = clients else { return Err("You need to specify NPROCS".to_owned()) };
    let clients = said.parse::<u32>().ok().filter(|count| (1..=CLIENTS_MAX).contains(count));
    settings.clients = clients.ok_or_else(|| format!("`{said}` clients: a number from 1 to {CLIENTS_MAX} expected"))?;
    Ok(Action::Run(settings))
}
