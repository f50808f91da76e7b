//! Load files of dbench: requests of a file server's client, one operation per line.
//!
//! ```text
//! NTCreateX "\clients\client1\a" 0x40 0x2 9938 NT_STATUS_OK
//! WriteX 9938 0 65536 65536 NT_STATUS_OK
//! Close 9938 NT_STATUS_OK
//! ```

use crate::op::OpKind;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Makes each worker a client that runs a load file repeatedly below the target's directory, worker N in
/// `clients/clientN`. It must be the program's only step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LoadFileStep {
    /// Path of the load file.
    pub path: PathBuf,
    /// Open files with `O_SYNC`, so that each write is durable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync_open: bool,
    /// Call `fdatasync` on the directory after each change to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync_directories: bool,
    /// Call `fsync` after each write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush_writes: bool,
    /// Do not search the directory for a name that does not exist. A server that treats `a` and `A` as the
    /// same name has to search.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_resolve: bool,
}

/// Bit in the options of `NTCreateX` that requests a directory.
const DIRECTORY: u64 = 1;

/// Maximum number of files that a client has open at once.
const OPEN_MAX: usize = 200;

/// Maximum bytes that an operation moves.
const MOVED_MAX: u64 = 64 << 20;

/// Action of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadAct {
    /// `NTCreateX`: opens a file or directory, and creates it if requested and missing.
    Open {
        /// Opens a directory instead of a file.
        directory: bool,
        /// Creates the file or directory if missing.
        create: bool,
        /// Truncates the file to length 0.
        truncate: bool,
    },
    /// `Close`
    Close,
    /// `ReadX`
    Read,
    /// `WriteX`
    Write,
    /// `Flush`
    Flush,
    /// `LockX`
    Lock,
    /// `UnlockX`
    Unlock,
    /// `Rename`
    Rename,
    /// `Unlink`
    Unlink,
    /// `Mkdir`
    Mkdir,
    /// `Rmdir`
    Rmdir,
    /// `Deltree`: removes the files of a tree but keeps its directories.
    Deltree,
    /// `QUERY_PATH_INFORMATION`
    QueryPath,
    /// `QUERY_FILE_INFORMATION`
    QueryFile,
    /// `QUERY_FS_INFORMATION`
    QueryFileSystem,
    /// `SET_FILE_INFORMATION`: sets older timestamps.
    SetFile,
    /// `FIND_FIRST`
    Find,
    /// `Sleep`
    Sleep,
}

impl LoadAct {
    /// Returns the kind of op that the action is counted as.
    pub fn kind(self) -> OpKind {
        match self {
            LoadAct::Open { .. } => OpKind::Open,
            LoadAct::Close => OpKind::Close,
            LoadAct::Read => OpKind::Read,
            LoadAct::Write => OpKind::Write,
            LoadAct::Flush => OpKind::Fsync,
            LoadAct::Lock => OpKind::Lock,
            LoadAct::Unlock => OpKind::Unlock,
            LoadAct::Rename => OpKind::Rename,
            LoadAct::Unlink => OpKind::Unlink,
            LoadAct::Mkdir => OpKind::Mkdir,
            LoadAct::Rmdir => OpKind::Rmdir,
            LoadAct::Deltree => OpKind::RemoveTree,
            LoadAct::QueryPath => OpKind::Stat,
            LoadAct::QueryFile => OpKind::Fstat,
            LoadAct::QueryFileSystem => OpKind::Statfs,
            LoadAct::SetFile => OpKind::Utimens,
            LoadAct::Find => OpKind::Readdir,
            LoadAct::Sleep => OpKind::Delay,
        }
    }
}

/// One operation of a load file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOp {
    pub act: LoadAct,
    /// Whether the operation must succeed.
    pub succeeds: bool,
    /// Index of its name in [`LoadFile::names`].
    pub name: u32,
    /// Index of the new name of a rename.
    pub new_name: u32,
    /// Slot of the open file.
    pub slot: u16,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Bytes requested; for `FIND_FIRST` the number of entries, for `Sleep` the time in µs.
    pub length: u64,
    pub moved: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadFile {
    pub ops: Vec<LoadOp>,
    /// Names, with `/` between components and no leading `/`.
    pub names: Vec<String>,
    /// Maximum number of files open at once.
    pub slots: usize,
}

/// Error from parsing a load file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct LoadFileError {
    /// Line number, from 1.
    pub line: usize,
    pub reason: String,
}

/// Names of the operations, each with the number of names and numbers that follow it.
const ACTS: [(&str, LoadAct, usize, usize); 18] = [
    ("NTCreateX", LoadAct::Open { directory: false, create: false, truncate: false }, 1, 3),
    ("Close", LoadAct::Close, 0, 1),
    ("ReadX", LoadAct::Read, 0, 4),
    ("WriteX", LoadAct::Write, 0, 4),
    ("Flush", LoadAct::Flush, 0, 1),
    ("LockX", LoadAct::Lock, 0, 3),
    ("UnlockX", LoadAct::Unlock, 0, 3),
    ("Rename", LoadAct::Rename, 2, 0),
    ("Unlink", LoadAct::Unlink, 1, 0),
    ("Mkdir", LoadAct::Mkdir, 1, 0),
    ("Rmdir", LoadAct::Rmdir, 1, 0),
    ("Deltree", LoadAct::Deltree, 1, 0),
    ("QUERY_PATH_INFORMATION", LoadAct::QueryPath, 1, 0),
    ("QUERY_FILE_INFORMATION", LoadAct::QueryFile, 0, 1),
    ("QUERY_FS_INFORMATION", LoadAct::QueryFileSystem, 0, 0),
    ("SET_FILE_INFORMATION", LoadAct::SetFile, 0, 1),
    ("FIND_FIRST", LoadAct::Find, 1, 2),
    ("Sleep", LoadAct::Sleep, 0, 1),
];

/// Splits a line into words; quoted words may contain spaces.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    for letter in line.chars() {
        match letter {
            '"' => (quoted, begun) = (!quoted, true),
            ' ' | '\t' | '\r' if !quoted => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            '\\' => {
                word.push('/');
                begun = true;
            }
            letter => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

#[derive(Default)]
struct Reading {
    file: LoadFile,
    known: std::collections::HashMap<String, u32>,
    /// Handle of each open file.
    open: Vec<Option<u64>>,
    words: Vec<String>,
}

impl Reading {
    /// Returns the index of a name, which must be below the target's directory.
    fn name(&mut self, at: usize) -> Result<u32, String> {
        let word = self.words.get(at).ok_or("a name is missing")?.clone();
        let inner =
            word.strip_prefix('/').ok_or_else(|| format!("`{word}` is not a name; names begin with \\ or /"))?;
        let is_odd = |part: &str| part.is_empty() || part == "." || part == ".." || part.contains('\0');
        // All clients share names that begin this way, and Plumb touches nothing else.
        if inner.split('/').any(is_odd) || !(inner == "clients" || inner.starts_with("clients/")) {
            return Err(format!("`{word}` is not below \\clients; Plumb touches nothing else"));
        }
        let next = self.file.names.len() as u32;
        let number = *self.known.entry(inner.to_owned()).or_insert(next);
        if number == next {
            self.file.names.push(inner.to_owned());
        }
        Ok(number)
    }

    fn number(&self, at: usize) -> Result<u64, String> {
        let word = self.words.get(at).ok_or("a number is missing")?;
        number(word).ok_or_else(|| format!("`{word}` is not a number"))
    }

    /// Returns the slot of an open file by its handle.
    fn slot(&self, handle: u64) -> Result<u16, String> {
        let found = self.open.iter().position(|open| *open == Some(handle));
        found.map(|at| at as u16).ok_or_else(|| format!("handle {handle} is not open here"))
    }

    fn opened(&mut self, handle: u64) -> Result<u16, String> {
        if self.open.contains(&Some(handle)) {
            return Err(format!("handle {handle} is open already; close it first"));
        }
        let at = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        if at >= OPEN_MAX {
            return Err(format!("more than {OPEN_MAX} files are open; close some"));
        }
        if at == self.open.len() {
            self.open.push(None);
        }
        self.open[at] = Some(handle);
        Ok(at as u16)
    }

    fn op(&mut self, succeeds: bool) -> Result<LoadOp, String> {
        let called = self.words[0].clone();
        let called = called.as_str();
        let found = ACTS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(called));
        let Some(&(_, act, names, numbers)) = found else {
            if called.starts_with(|letter: char| letter.is_ascii_digit()) {
                return Err("times are not supported; remove the first column".to_owned());
            }
            return Err(format!("unknown operation `{called}`"));
        };
        let mut op = LoadOp { act, succeeds, name: 0, new_name: 0, slot: 0, offset: 0, length: 0, moved: 0 };
        if names > 0 {
            op.name = self.name(1)?;
        }
        if names > 1 {
            op.new_name = self.name(2)?;
        }
        let first = names + 1;
        for at in 0..numbers {
            self.number(first + at)?;
        }
        match act {
            LoadAct::Open { .. } => {
                let (options, disposition) = (self.number(first)?, self.number(first + 1)?);
                let directory = options & DIRECTORY != 0;
                // SMB disposition 2 creates a file; 4 and 5 truncate one.
                let truncate = matches!(disposition, 4 | 5);
                op.act = LoadAct::Open { directory, create: truncate || disposition == 2, truncate };
                if succeeds {
                    op.slot = self.opened(self.number(first + 2)?)?;
                }
            }
            LoadAct::Close => {
                op.slot = self.slot(self.number(first)?)?;
                self.open[usize::from(op.slot)] = None;
            }
            LoadAct::Read | LoadAct::Write | LoadAct::Lock | LoadAct::Unlock => {
                op.slot = self.slot(self.number(first)?)?;
                (op.offset, op.length) = (self.number(first + 1)?, self.number(first + 2)?);
                op.moved = if numbers > 3 { self.number(first + 3)? } else { 0 };
                let end = op.offset.checked_add(op.length).filter(|end| i64::try_from(*end).is_ok());
                if end.is_none() {
                    return Err("the operation ends beyond the largest possible file".to_owned());
                }
                if numbers > 3 && (op.length > MOVED_MAX || op.moved > op.length) {
                    return Err(format!("at most {MOVED_MAX} bytes can be moved, and no more than requested"));
                }
            }
            LoadAct::Flush | LoadAct::QueryFile | LoadAct::SetFile => op.slot = self.slot(self.number(first)?)?,
            LoadAct::Find => op.length = self.number(first + 1)?,
            LoadAct::Sleep => op.length = self.number(first)?,
            _ => {}
        }
        Ok(op)
    }
}

impl LoadFile {
    /// Parses a load file of dbench 3 to 5. Lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// Returns the first invalid line.
    pub fn parse(text: &str) -> Result<LoadFile, LoadFileError> {
        let mut reading = Reading::default();
        for (number, line) in (1..).zip(text.lines()) {
            let words = words(line);
            if words.len() < 2 || words[0].starts_with('#') {
                continue;
            }
            let fails = |reason: String| LoadFileError { line: number, reason };
            let mut words = words;
            let Some(status) = words.pop() else { continue };
            let succeeds = match status.as_str() {
                "NT_STATUS_OK" | "*" | "0x00000000" | "0x0" => true,
                other if other.starts_with("NT_STATUS_") || other.starts_with("0x") => false,
                other => {
                    return Err(fails(format!(
                        "`{other}` is not a status; end the line with one such as NT_STATUS_OK"
                    )));
                }
            };
            reading.words = words;
            let op = reading.op(succeeds).map_err(fails)?;
            reading.file.ops.push(op);
        }
        reading.file.slots = reading.open.len();
        match reading.file.ops.is_empty() {
            true => {
                Err(LoadFileError { line: text.lines().count().max(1), reason: "there is no operation".to_owned() })
            }
            false => Ok(reading.file),
        }
    }

    /// Returns the number of bytes that the largest operation moves.
    pub fn largest_bytes(&self) -> u64 {
        let moves = self.ops.iter().filter(|op| op.act.kind().moves_bytes());
        moves.map(|op| op.length).max().unwrap_or(0)
    }
}
