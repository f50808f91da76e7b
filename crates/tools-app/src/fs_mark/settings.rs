//! Parses arguments into settings.

use plumb_tools::Support::NotYet;
use plumb_tools::options::Takes::{Nothing, Value};
use plumb_tools::options::{Grammar, Opt, Table, Word, Words, letter};
use strum::VariantArray;

/// Name of the log file unless `-l` is given.
pub const DEFAULT_LOG: &str = "fs_log.txt";

/// Limits of threads, files per thread, bytes of a name, and bytes of a write.
const THREADS_MAX: u64 = 64;
const FILES_MAX: u64 = 1_000_000;
const NAME_MAX: u64 = 128;
const WRITE_MAX: u64 = 1 << 20;

/// All options. Source: the usage text of fs_mark 3.3.
#[rustfmt::skip]
const OPTIONS: &[Opt] = &[
    letter('d', Value("DIR"), "directory; may be repeated"),
    letter('D', Value("N"), "subdirectories of each directory"),
    letter('F', Nothing, "run until the file system is full").but(NotYet("use -L with as many iterations as it takes")),
    letter('h', Nothing, "print this"),
    letter('k', Nothing, "keep the files"),
    letter('l', Value("FILE"), "log file, to which all lines are appended (fs_log.txt)"),
    letter('L', Value("N"), "iterations; keeps the files"),
    letter('n', Value("N"), "files of each thread (1000)"),
    letter('N', Value("N"), "with -D, number of files in a subdirectory before the next one"),
    letter('p', Value("N"), "bytes of a name (40)"),
    letter('r', Value("N"), "random bytes of a name (24)"),
    letter('s', Value("BYTES"), "size of a file (51200)"),
    letter('S', Value("0..6"), "how files are flushed (1): 0 not at all; 1 each before it is closed; 2 sync, and the first file; 3 all after the last write, in reverse; 4 sync, then 3; 5 all after the last write; 6 sync, then 5"),
    letter('t', Value("N"), "threads; a multiple of the directories (1)"),
    letter('v', Nothing, "print times of each call"),
    letter('w', Value("BYTES"), "bytes of a write (16384)"),
];

/// Returns the usage text, printed for `-h` and after errors.
pub fn usage() -> String {
    let line = |row: &Opt| {
        let why = match row.support {
            NotYet(why) => format!(" (not yet: {why})"),
            _ => String::new(),
        };
        format!("  {} {:<6} {}{why}\n", row.written(), row.takes.value(), row.what)
    };
    format!("Usage: fs_mark -d DIR [options]\n{}", OPTIONS.iter().map(line).collect::<String>())
}

/// Error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FsMarkUsageError {
    /// The usage was requested, or no option is given.
    #[error("")]
    Usage,
    /// The reason, printed before the usage.
    #[error("{0}")]
    Because(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum SyncMethod {
    None,
    /// Each file before it is closed.
    Each,
    /// `sync`, then the first file.
    First,
    /// All files after the last write, in reverse order.
    Backward,
    /// `sync`, then as [`SyncMethod::Backward`].
    SyncBackward,
    /// All files after the last write, in order.
    Forward,
    /// `sync`, then as [`SyncMethod::Forward`].
    SyncForward,
}

impl SyncMethod {
    pub(super) const ALL: &[SyncMethod] = SyncMethod::VARIANTS;
}

/// The subdirectories in which a directory's files are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directories {
    /// None: files are created in the directory itself.
    None,
    /// One of this many subdirectories, chosen by the time of the run.
    ByTime(u32),
    /// Each of this many subdirectories in turn.
    InTurn {
        count: u32,
        /// Files before the next subdirectory; 0 uses one subdirectory for all.
        files: u32,
    },
}

impl Directories {
    /// Returns the number of subdirectories.
    pub fn count(self) -> u32 {
        match self {
            Directories::None => 0,
            Directories::ByTime(count) | Directories::InTurn { count, .. } => count,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsMarkSettings {
    pub threads: Vec<String>,
    pub directories: Directories,
    /// Number of files per thread.
    pub files: u32,
    /// Size of a file, bytes.
    pub bytes: u64,
    /// Size of a write, bytes.
    pub write_bytes: u64,
    /// Length of a name, bytes.
    pub name_bytes: usize,
    /// Number of random bytes in a name.
    pub random_bytes: usize,
    pub sync: SyncMethod,
    pub iterations: u32,
    /// Keep the files after the run.
    pub keeps: bool,
    /// Print times of each call.
    pub verbose: bool,
    /// Path of the log file, to which lines are appended.
    pub log: String,
}

/// Parses the arguments after `fs_mark`.
///
/// # Errors
/// [`FsMarkUsageError`]
pub fn read(words: &[String]) -> Result<FsMarkSettings, FsMarkUsageError> {
    let because = |why: String| FsMarkUsageError::Because(why);
    let mut settings = FsMarkSettings {
        threads: Vec::new(),
        directories: Directories::None,
        files: 1000,
        bytes: 50 * 1024,
        write_bytes: 16 * 1024,
        name_bytes: 40,
        random_bytes: 24,
        sync: SyncMethod::Each,
        iterations: 1,
        keeps: false,
        verbose: false,
        log: DEFAULT_LOG.to_owned(),
    };
    let mut places: Vec<String> = Vec::new();
    let (mut threads, mut subdirectories, mut each) = (1, 0, None);
    for word in Words::new(Grammar::getopt(Table(&[OPTIONS])), words) {
        let (row, value) = match word {
            Ok(Word::Option(row, value)) => (row, value),
            Ok(Word::Operand(_)) => continue,
            Err(unknown) => return Err(because(format!("fs_mark: invalid option -- '{}'", unknown.letter))),
        };
        let letter = row.letter.unwrap_or_default();
        if let NotYet(why) = row.support {
            return Err(because(format!("fs_mark: -{letter} is not supported: {why}")));
        }
        if value.is_none() && row.takes.needs_value() {
            return Err(because(format!("fs_mark: option requires an argument -- '{letter}'")));
        }
        let value = value.unwrap_or_default();
        let within = |least: u64, most: u64| {
            let number = value.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
            number
                .ok_or_else(|| because(format!("fs_mark: -{letter} {value}: a number from {least} to {most} expected")))
        };
        match letter {
            'h' => return Err(FsMarkUsageError::Usage),
            'k' => settings.keeps = true,
            'v' => settings.verbose = true,
            'd' => places.push(value),
            'l' => settings.log = value,
            'D' => subdirectories = within(2, 256)? as u32,
            'N' => each = Some(within(0, FILES_MAX)? as u32),
            'L' => {
                settings.iterations = within(1, u64::from(u32::MAX))? as u32;
                settings.keeps = true;
            }
            'n' => settings.files = within(1, FILES_MAX)? as u32,
            'p' => settings.name_bytes = within(1, NAME_MAX)? as usize,
            'r' => settings.random_bytes = within(0, NAME_MAX)? as usize,
            's' => settings.bytes = within(0, i32::MAX as u64)?,
            'S' => settings.sync = SyncMethod::ALL[within(0, 6)? as usize],
            't' => threads = within(1, THREADS_MAX)?,
            _ => settings.write_bytes = within(1, WRITE_MAX)?,
        }
    }
    let count = places.len() as u64;
    if count == 0 {
        return Err(because("Must specify at least one directory with -d switch".to_owned()));
    }
    if count > THREADS_MAX {
        return Err(because(format!("Max number of threads (and directories) is {THREADS_MAX}")));
    }
    if settings.random_bytes > settings.name_bytes {
        let (random, all) = (settings.random_bytes, settings.name_bytes);
        return Err(because(format!("fs_mark: a name of {all} bytes (-p) cannot have {random} random ones (-r)")));
    }
    settings.directories = match (subdirectories, each) {
        (0, None) => Directories::None,
        (0, Some(_)) => {
            return Err(because(
                "Must specify at more than 1 subdirectory with -D switch for -N num_per_subdir to make sense"
                    .to_owned(),
            ));
        }
        (count, None) => Directories::ByTime(count),
        (count, Some(files)) => Directories::InTurn { count, files },
    };
    let threads = threads.max(count);
    if threads % count != 0 {
        return Err(because(format!(
            "Threads ({threads}) must be an even multiple the number of directories ({count}) and less than {THREADS_MAX} "
        )));
    }
    settings.threads = places.iter().cycle().take(threads as usize).cloned().collect();
    Ok(settings)
}
