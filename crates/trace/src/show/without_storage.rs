//! Counts ops on files without storage, such as `/dev/null`, separately from the load.

use crate::names::Names;
use crate::record::Record;

/// Device files without a medium.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console"];

/// Directories of files that the kernel generates.
const DIRECTORIES: [&str; 3] = ["/dev/pts/", "/proc/", "/sys/"];

/// Maximum number of files that a note names.
const NAMED_MAX: usize = 3;

fn is_without_storage(name: &str) -> bool {
    DEVICES.contains(&name) || DIRECTORIES.iter().any(|directory| name.starts_with(directory))
}

/// Counts of ops that the sheet leaves out.
#[derive(Debug, Default)]
pub(super) struct WithoutStorage {
    /// For each file number: whether the file has no storage.
    files: Vec<bool>,
    ops: u64,
    bytes: u64,
    names: Vec<String>,
}

impl WithoutStorage {
    /// Learns the names of new files.
    pub(super) fn add_names(&mut self, names: &Names) {
        for name in names.files().iter().skip(self.files.len()) {
            let name = name.to_string();
            let is_without_storage = is_without_storage(&name);
            self.files.push(is_without_storage);
            if is_without_storage && self.names.len() <= NAMED_MAX && !self.names.contains(&name) {
                self.names.push(name);
            }
        }
    }

    /// Counts a record of such a file. Returns `false` for all others.
    pub(super) fn count(&mut self, record: &Record) -> bool {
        if !self.files.get(record.file as usize).is_some_and(|is_without_storage| *is_without_storage) {
            return false;
        }
        self.ops += 1;
        if record.act.moves_data() {
            self.bytes = self.bytes.saturating_add(record.moved());
        }
        true
    }

    /// Describes the ops that were left out, in a sentence.
    pub(super) fn note(&self) -> Option<String> {
        if self.ops == 0 {
            return None;
        }
        let mut names: Vec<&str> = self.names.iter().take(NAMED_MAX).map(String::as_str).collect();
        if self.names.len() > NAMED_MAX {
            names.push("others");
        }
        let names = match names.split_last() {
            Some((last, before @ [_, ..])) => format!("{} and {last}", before.join(", ")),
            _ => names.concat(),
        };
        let plural = if self.ops == 1 { "op" } else { "ops" };
        Some(format!(
            "{} {plural} on {names} ({} MiB) are left out: they reach no storage.",
            self.ops,
            self.bytes >> 20
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: files whose names only begin alike are not left out.
    #[test]
    fn devices_without_a_medium_are_left_out() {
        for name in ["/dev/null", "/dev/zero", "/proc/self/maps", "/sys/block/sda/stat", "/dev/pts/3"] {
            assert!(is_without_storage(name), "{name}");
        }
        for name in ["/dev/nullx", "/dev/sda", "/process", "/data/dev/null", "null", ""] {
            assert!(!is_without_storage(name), "{name}");
        }
    }
}
