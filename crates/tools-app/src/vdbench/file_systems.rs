//! Definitions of file systems (FSD) and of workloads on their files (FWD).

use super::general::{Host, on_hosts};
use super::operation::{OPERATIONS, Operation};
use super::parse::{Parameter, size};
use super::storage::Transfers;
use super::usage_error::{Placed, Reason};
use super::values::{at_least_one, by_share, count_of, open_flags, percent, skew, threads, transfers};

/// Limits of files, and of directories on the last level, in a file system.
const FILES_MAX: u64 = 1 << 32;
const LEAVES_MAX: u64 = 1 << 24;

/// Name of the workload definition for creating files, and its default threads and transfer size.
const FORMAT: &str = "format";
const FORMAT_THREADS: u64 = 8;
const FORMAT_TRANSFER: u64 = 128 << 10;

const DEPTH_MAX: u64 = 32;

/// A file system definition (FSD).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileStorage {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) anchor: String,
    pub(super) depth: u64,
    pub(super) width: u64,
    /// Number of files in each directory of the last level.
    pub(super) files: u64,
    /// File sizes, each with its percentage.
    pub(super) sizes: Transfers,
    pub(super) direct: bool,
    /// `count=(START,COUNT)`: the definition stands for COUNT numbered ones.
    pub(super) counted: Option<(u64, u64)>,
}

/// A workload definition for files (FWD).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileWork {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) file_systems: Vec<String>,
    pub(super) operation: Operation,
    pub(super) transfers: Transfers,
    pub(super) is_random: bool,
    pub(super) picks_random: bool,
    pub(super) threads: u64,
    /// Percentage of reads, in a mix of reads and writes.
    pub(super) read_percent: Option<u8>,
    pub(super) skew: Option<f64>,
    /// Number of random blocks per file; `None` means as many as the file has.
    pub(super) stop_after: Option<u64>,
    /// The file system to which files are copied or moved.
    pub(super) target: Option<String>,
    pub(super) direct: bool,
}

/// Returns the index of an operation in [`OPERATIONS`].
pub(super) fn operation(text: &str) -> Result<u64, Reason> {
    let lower = text.to_ascii_lowercase();
    let place = OPERATIONS.iter().position(|(word, _)| *word == lower);
    place.map(|place| place as u64).ok_or_else(|| Reason::UnknownOperation { value: text.to_owned() })
}

/// Returns `true` if files bypass the page cache.
fn opens_direct(parameter: &Parameter) -> Result<bool, Reason> {
    let opened = open_flags(parameter)?;
    match opened.sync {
        true => Err(Reason::not_supported(
            &parameter.key,
            &parameter.joined_values(),
            "use o_direct for files, or leave it out",
        )),
        false => Ok(opened.direct),
    }
}

fn is_key(key: &str, full: &str) -> bool {
    key.len() > 1 && full.starts_with(key)
}

impl Default for FileStorage {
    fn default() -> FileStorage {
        FileStorage {
            name: String::new(),
            line: 0,
            anchor: String::new(),
            depth: 1,
            width: 1,
            files: 10,
            sizes: Transfers::Fixed(4096),
            direct: false,
            counted: None,
        }
    }
}

impl FileStorage {
    pub(super) fn set(&mut self, parameter: &Parameter) -> Result<(), Reason> {
        let value = &parameter.values[0];
        let count = || at_least_one(parameter, size(value));
        match parameter.key.as_str() {
            key if is_key(key, "anchor") => self.anchor = value.clone(),
            key if is_key(key, "count") => self.counted = Some(count_of(parameter)?),
            key if is_key(key, "depth") => self.depth = count()?,
            key if is_key(key, "width") => self.width = count()?,
            key if is_key(key, "files") => self.files = count()?,
            key if is_key(key, "sizes") => {
                self.sizes = by_share(parameter, "a size such as 4k, or (SIZE,PERCENT,…)", size)?;
            }
            key if is_key(key, "openflags") => self.direct = opens_direct(parameter)?,
            key if is_key(key, "distribution") && value.eq_ignore_ascii_case("bottom") => {}
            key if is_key(key, "distribution") => {
                let way_out = "all files are in the directories of the last level: use distribution=bottom";
                return Err(Reason::not_supported(key, value, way_out));
            }
            // Without effect, because one host has all files.
            key if is_key(key, "shared") => {}
            // Used by data validation, which is rejected where a run requests it.
            key if is_key(key, "journal") => {}
            "log" if value.eq_ignore_ascii_case("no") => {}
            key => {
                let way_out = match key {
                    "wss" | "workingsetsize" | "totalsize" | "total_size" => "use fewer `files=`",
                    "host" | "hd" => "name the host in the file workload definition",
                    "cleanup" => "it is obsolete: files are removed after each run",
                    "log" => "`plumb trace record` records a run",
                    _ => "vdbench has no such parameter: check its spelling",
                };
                return Err(Reason::Key { key: key.to_owned(), definition: "file system definition", way_out });
            }
        }
        Ok(())
    }

    /// Checks that nothing is missing or too large.
    pub(super) fn check(&self) -> Result<(), Placed> {
        if self.anchor.is_empty() {
            return Err((self.line, Reason::Missing { definition: self.definition(), key: "anchor" }));
        }
        if self.sizes == Transfers::Fixed(0) {
            let found = "files of 0 bytes cannot be read or written";
            return Err((self.line, Reason::together(self.definition(), found, "use `sizes=` above 0")));
        }
        self.files_in_all().map(|_| ())
    }

    /// Returns the definitions that `count=` stands for, or only this one.
    pub(super) fn expanded(self) -> Vec<FileStorage> {
        let Some((start, count)) = self.counted else { return vec![self] };
        let one = |number: u64| FileStorage {
            name: format!("{}{number}", self.name),
            anchor: format!("{}{number}", self.anchor),
            counted: None,
            ..self.clone()
        };
        (start..start + count).map(one).collect()
    }

    /// Returns the name for messages.
    pub(super) fn definition(&self) -> String {
        format!("fsd={}", self.name)
    }

    /// Returns `true` if `other` has the same numbers and sizes of files and directories.
    pub(super) fn is_like(&self, other: &FileStorage) -> bool {
        let shape = |one: &FileStorage| (one.depth, one.width, one.files, one.sizes.clone());
        shape(self) == shape(other)
    }

    /// Returns the number of directories below the anchor.
    pub(super) fn directories_in_all(&self) -> u64 {
        (1..=self.depth as u32).map(|level| self.width.saturating_pow(level)).fold(0, u64::saturating_add)
    }

    /// Returns the number of files.
    pub(super) fn files_in_all(&self) -> Result<u64, Placed> {
        let depth = u32::try_from(self.depth).ok().filter(|depth| u64::from(*depth) <= DEPTH_MAX);
        let leaves = depth.and_then(|depth| self.width.checked_pow(depth)).filter(|leaves| *leaves <= LEAVES_MAX);
        let files = leaves.and_then(|leaves| leaves.checked_mul(self.files)).filter(|files| *files <= FILES_MAX);
        files.ok_or_else(|| (self.line, Reason::TooManyFiles { definition: self.definition() }))
    }
}

impl Default for FileWork {
    fn default() -> FileWork {
        FileWork {
            name: String::new(),
            line: 0,
            file_systems: Vec::new(),
            operation: Operation::Read,
            transfers: Transfers::Fixed(4096),
            is_random: false,
            picks_random: false,
            threads: 1,
            read_percent: None,
            skew: None,
            stop_after: None,
            target: None,
            direct: false,
        }
    }
}

impl FileWork {
    pub(super) fn set(&mut self, parameter: &Parameter, hosts: &[Host]) -> Result<(), Reason> {
        let value = &parameter.values[0];
        let lower = value.to_ascii_lowercase();
        let order = |way_out| match lower.as_str() {
            _ if parameter.values.len() > 1 => {
                Err(Reason::not_supported(&parameter.key, &parameter.joined_values(), way_out))
            }
            word if word.len() > 1 && "random".starts_with(word) => Ok(true),
            word if word.len() > 1 && "sequential".starts_with(word) => Ok(false),
            _ => Err(parameter.value("random or sequential")),
        };
        match parameter.key.as_str() {
            "fsd" => self.file_systems = parameter.values.clone(),
            "fileio" => {
                self.is_random = order("threads do not share files or remove them first: use random or sequential")?
            }
            key if is_key(key, "fileselect") => self.picks_random = order("use random or sequential")?,
            key if is_key(key, "operations") => self.operation = OPERATIONS[operation(value)? as usize].1,
            key if is_key(key, "xfersizes") => self.transfers = transfers(parameter)?,
            key if is_key(key, "threads") => self.threads = threads(parameter)?,
            key if is_key(key, "rdpct") || is_key(key, "readpct") => {
                self.read_percent = Some(percent(parameter, value)?);
            }
            key if is_key(key, "skew") => self.skew = skew(parameter)?,
            key if is_key(key, "host") || key == "hd" => on_hosts(parameter, hosts)?,
            key if is_key(key, "target") => self.target = Some(value.clone()),
            key if is_key(key, "stopafter") => self.stop_after = Some(at_least_one(parameter, size(value))?),
            key if is_key(key, "openflags") => self.direct = opens_direct(parameter)?,
            key => {
                let way_out = "vdbench has no such parameter: check its spelling";
                return Err(Reason::Key { key: key.to_owned(), definition: "file workload definition", way_out });
            }
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), Placed> {
        let moves = matches!(self.operation, Operation::Read | Operation::Write);
        if self.stop_after.is_some() && !self.is_random && moves {
            let found = "`stopafter` in sequence is not supported";
            return Err((self.line, Reason::together(self.definition(), found, "use fileio=random")));
        }
        Ok(())
    }

    /// Sets the default transfer size if the definition is for creating files. Defaults of other definitions
    /// do not apply to it.
    pub(super) fn for_format(self) -> FileWork {
        if self.is_format() { FileWork { transfers: Transfers::Fixed(FORMAT_TRANSFER), ..self } } else { self }
    }

    /// Returns `true` if the definition is for creating files.
    pub(super) fn is_format(&self) -> bool {
        self.name == FORMAT
    }

    /// Returns the default definition for creating files.
    pub(super) fn usual_format() -> FileWork {
        FileWork { name: FORMAT.to_owned(), threads: FORMAT_THREADS, ..FileWork::default() }.for_format()
    }

    /// Returns the name for messages.
    pub(super) fn definition(&self) -> String {
        format!("fwd={}", self.name)
    }

    /// Returns `true` if it copies or moves files.
    pub(super) fn copies(&self) -> bool {
        matches!(self.operation, Operation::Copy | Operation::Move)
    }

    /// Returns the counted operations: its operation, or reads and writes.
    pub(super) fn counts(&self) -> Vec<Operation> {
        match (self.operation, self.read_percent) {
            (Operation::Read | Operation::Write, Some(1..=99)) => vec![Operation::Read, Operation::Write],
            (Operation::Read | Operation::Write, Some(100)) => vec![Operation::Read],
            (Operation::Read | Operation::Write, Some(_)) => vec![Operation::Write],
            (Operation::Format, _) => vec![Operation::Write],
            (operation, _) => vec![operation],
        }
    }
}
