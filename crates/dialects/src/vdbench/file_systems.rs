//! Definitions of file systems and of the work on their files: FSD and FWD.

use super::definitions::Transfers;
use super::parse::{Parameter, size};
use super::values::{at_least_one, by_share, percent, threads, transfers};

/// Most files, and most directories of the last level, of a file system.
const FILES_MAX: u64 = 1 << 32;
const LEAVES_MAX: u64 = 1 << 24;

/// Most levels of directories.
const DEPTH_MAX: u64 = 32;

/// A file system definition.
#[derive(Debug, Clone, PartialEq)]
pub struct FileStorage {
    pub(super) name: String,
    pub(super) anchor: String,
    pub(super) depth: u64,
    pub(super) width: u64,
    /// Files in each directory of the last level.
    pub(super) files: u64,
    /// Sizes, each with its per cent.
    pub(super) sizes: Transfers,
    pub(super) direct: bool,
}

/// What is done to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Opened, read and closed.
    Read,
    /// Opened, written and closed.
    Write,
    /// A directory is made.
    Mkdir,
    /// A file is made, without contents, and closed.
    Create,
    /// Opened and closed.
    Open,
    /// The same; the closes are what is counted.
    Close,
    /// Removed.
    Delete,
    /// `stat`.
    Getattr,
    /// Its times are set.
    Setattr,
}

/// The words for operations.
pub(super) const OPERATIONS: [(&str, Operation); 9] = [
    ("read", Operation::Read),
    ("write", Operation::Write),
    ("mkdir", Operation::Mkdir),
    ("create", Operation::Create),
    ("open", Operation::Open),
    ("close", Operation::Close),
    ("delete", Operation::Delete),
    ("getattr", Operation::Getattr),
    ("setattr", Operation::Setattr),
];

/// A workload definition for files.
#[derive(Debug, Clone, PartialEq)]
pub struct FileWork {
    pub(super) name: String,
    pub(super) file_systems: Vec<String>,
    pub(super) operation: Operation,
    pub(super) transfers: Transfers,
    pub(super) is_random: bool,
    pub(super) picks_random: bool,
    pub(super) threads: u64,
    /// A mix of reads and writes, per cent of reads.
    pub(super) read_percent: Option<u8>,
    pub(super) skew: Option<f64>,
    /// Blocks of a file, at random; as many as it has when absent.
    pub(super) stop_after: Option<u64>,
    pub(super) direct: bool,
}

/// The place of an operation in the list of words.
pub(super) fn operation(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    match OPERATIONS.iter().position(|(word, _)| *word == lower) {
        Some(place) => Ok(place as u64),
        None if ["rmdir", "access", "copy", "move"].contains(&lower.as_str()) => {
            Err(format!("operation `{text}` is not supported; use plumb run, or leave it out"))
        }
        None => {
            let words: Vec<&str> = OPERATIONS.iter().map(|(word, _)| *word).collect();
            Err(format!("unknown operation `{text}`; use one of {}", words.join(", ")))
        }
    }
}

/// Whether files are opened around the page cache.
fn open_flags(parameter: &Parameter) -> Result<bool, String> {
    let other =
        parameter.values.iter().find(|flag| !["o_direct", "directio"].contains(&flag.to_ascii_lowercase().as_str()));
    match other {
        Some(flag) => Err(format!("open flag `{flag}` is not supported for files; use o_direct, or leave it out")),
        None => Ok(true),
    }
}

/// A size, or sizes with their per cent. Files may be empty.
fn sizes(parameter: &Parameter) -> Result<Transfers, String> {
    by_share(parameter, |text| size(text).ok_or_else(|| format!("`{text}` is no size of a file")))
}

fn is_key(key: &str, full: &str) -> bool {
    key.len() > 1 && full.starts_with(key)
}

impl Default for FileStorage {
    fn default() -> FileStorage {
        FileStorage {
            name: String::new(),
            anchor: String::new(),
            depth: 0,
            width: 0,
            files: 0,
            sizes: Transfers::Fixed(0),
            direct: false,
        }
    }
}

impl FileStorage {
    pub(super) fn set(&mut self, parameter: &Parameter) -> Result<(), String> {
        let value = &parameter.values[0];
        let count = || at_least_one(parameter, size(value));
        match parameter.key.as_str() {
            key if is_key(key, "anchor") => self.anchor = value.clone(),
            key if is_key(key, "depth") => self.depth = count()?,
            key if is_key(key, "width") => self.width = count()?,
            key if is_key(key, "files") => self.files = count()?,
            key if is_key(key, "sizes") => self.sizes = sizes(parameter)?,
            key if is_key(key, "openflags") => self.direct = open_flags(parameter)?,
            key if is_key(key, "distribution") && value.eq_ignore_ascii_case("bottom") => {}
            key if is_key(key, "distribution") => {
                return Err("files in all directories are not supported; use distribution=bottom".to_owned());
            }
            // One host has all of them.
            key if is_key(key, "shared") => {}
            key => return Err(format!("`{key}` of a file system definition is not supported; remove it")),
        }
        Ok(())
    }

    /// What is missing or too much.
    pub(super) fn check(&self) -> Result<(), String> {
        let missing = [
            ("anchor", self.anchor.is_empty()),
            ("depth", self.depth == 0),
            ("width", self.width == 0),
            ("files", self.files == 0),
            ("sizes", self.sizes == Transfers::Fixed(0)),
        ];
        if let Some((key, _)) = missing.into_iter().find(|(_, is_missing)| *is_missing) {
            return Err(format!("fsd={} lacks its `{key}=`", self.name));
        }
        self.files_in_all().map(|_| ())
    }

    /// All its files.
    pub(super) fn files_in_all(&self) -> Result<u64, String> {
        let depth = u32::try_from(self.depth).ok().filter(|depth| u64::from(*depth) <= DEPTH_MAX);
        let leaves = depth.and_then(|depth| self.width.checked_pow(depth)).filter(|leaves| *leaves <= LEAVES_MAX);
        let files = leaves.and_then(|leaves| leaves.checked_mul(self.files)).filter(|files| *files <= FILES_MAX);
        files.ok_or_else(|| format!("fsd={} has too many files or directories; make it smaller", self.name))
    }
}

impl Default for FileWork {
    fn default() -> FileWork {
        FileWork {
            name: String::new(),
            file_systems: Vec::new(),
            operation: Operation::Read,
            transfers: Transfers::Fixed(4096),
            is_random: false,
            picks_random: false,
            threads: 1,
            read_percent: None,
            skew: None,
            stop_after: None,
            direct: false,
        }
    }
}

impl FileWork {
    pub(super) fn set(&mut self, parameter: &Parameter) -> Result<(), String> {
        let value = &parameter.values[0];
        let lower = value.to_ascii_lowercase();
        let order = |others: &str| match lower.as_str() {
            _ if parameter.values.len() > 1 => {
                Err(format!("`{}` with {others} is not supported; use random or sequential", parameter.key))
            }
            word if word.len() > 1 && "random".starts_with(word) => Ok(true),
            word if word.len() > 1 && "sequential".starts_with(word) => Ok(false),
            word => Err(format!("`{}={word}`: random or sequential expected", parameter.key)),
        };
        match parameter.key.as_str() {
            "fsd" => self.file_systems = parameter.values.clone(),
            "fileio" => self.is_random = order("shared files, or files that are removed first,")?,
            key if is_key(key, "fileselect") => self.picks_random = order("further words")?,
            key if is_key(key, "operations") => self.operation = OPERATIONS[operation(value)? as usize].1,
            key if is_key(key, "xfersizes") => self.transfers = transfers(parameter)?,
            key if is_key(key, "threads") => self.threads = threads(parameter, value)?,
            key if is_key(key, "rdpct") || is_key(key, "readpct") => self.read_percent = Some(percent(value)?),
            key if is_key(key, "skew") => {
                let skew = value.parse::<f64>().ok().filter(|skew| *skew > 0.0 && *skew <= 100.0);
                let wrong = || format!("a skew of `{value}`: a number above 0, at most 100, expected");
                self.skew = Some(skew.ok_or_else(wrong)?);
            }
            key if is_key(key, "stopafter") => self.stop_after = Some(at_least_one(parameter, value.parse().ok())?),
            key if is_key(key, "openflags") => self.direct = open_flags(parameter)?,
            key => return Err(format!("`{key}` of a file workload definition is not supported; remove it")),
        }
        Ok(())
    }

    /// What its file systems and parameters cannot be together.
    pub(super) fn check(&self) -> Result<(), String> {
        let moves = matches!(self.operation, Operation::Read | Operation::Write);
        if self.stop_after.is_some() && !self.is_random && moves {
            return Err(format!("fwd={}: `stopafter` is not supported in sequence; use fileio=random", self.name));
        }
        Ok(())
    }

    /// What is counted of it: the operation, or reads and writes.
    pub(super) fn counts(&self) -> Vec<Operation> {
        match (self.operation, self.read_percent) {
            (Operation::Read | Operation::Write, Some(1..=99)) => vec![Operation::Read, Operation::Write],
            (Operation::Read | Operation::Write, Some(100)) => vec![Operation::Read],
            (Operation::Read | Operation::Write, Some(_)) => vec![Operation::Write],
            (operation, _) => vec![operation],
        }
    }
}
