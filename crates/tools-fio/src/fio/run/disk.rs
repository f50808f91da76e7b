//! Local facts that fio's options refer to: machine size and files.

use super::recorded;
use plumb_text::bounded;
use plumb_tools::FileError;
use plumb_tools_fio::fio::lower::{Found, Places, RecordedFiles, RecordingRequest};
use plumb_tools_fio::fio::{Files, Machine, MissingFile};
use plumb_tools_run::cpus::read_list;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Returns the facts that job files can refer to.
pub(super) fn this_machine() -> Machine {
    let environment = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
    let environment = BTreeMap::from_iter(environment);
    Machine {
        environment,
        cpus: configured_cpus(),
        page_bytes: rustix::param::page_size() as u64,
        memory_mib: plumb_engine::ram_bytes() >> 20,
    }
}

/// Returns the CPUs that this process may run on.
pub(crate) fn allowed_cpus() -> Vec<u32> {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return vec![0] };
    let most = u32::try_from(rustix::thread::CpuSet::MAX_CPU).unwrap_or(u32::MAX);
    (0..most).filter(|&cpu| allowed.is_set(cpu as usize)).collect()
}

/// Returns the number of configured CPUs, like `sysconf(_SC_NPROCESSORS_CONF)`.
fn configured_cpus() -> u32 {
    let listed = read_list("/sys/devices/system/cpu/possible").map(|cpus| cpus.len());
    let count = listed.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Reads files from disk. Standard input can be read only once.
#[derive(Debug, Default)]
pub(crate) struct DiskFiles {
    stdin_taken: bool,
}

impl Files for DiskFiles {
    fn read(&mut self, path: &str) -> Result<String, MissingFile> {
        let missing = |reason: String| MissingFile { reason };
        let bytes = if path == "-" {
            if std::mem::replace(&mut self.stdin_taken, true) {
                return Err(missing("standard input has already been read".to_owned()));
            }
            bounded::bytes_of(std::io::stdin(), bounded::INPUT_BYTES_MAX)
        } else {
            bounded::read(path)
        };
        let bytes = bytes.map_err(|error| missing(error.to_string()))?;
        // Comments may be in any encoding.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Places for DiskFiles {
    fn find(&mut self, path: &str) -> Found {
        let Ok(metadata) = std::fs::metadata(path) else {
            return if Path::new(path).symlink_metadata().is_ok() { Found::Unreadable } else { Found::Absent };
        };
        let kind = metadata.file_type();
        if kind.is_file() {
            Found::Regular { bytes: metadata.len() }
        } else if kind.is_dir() {
            Found::Directory
        } else if kind.is_block_device() {
            // The size of a block device is the offset of its end.
            let end = File::open(path).and_then(|mut device| device.seek(SeekFrom::End(0)));
            end.map_or(Found::Unreadable, |bytes| Found::Block { bytes })
        } else {
            Found::Character
        }
    }

    fn free_bytes(&mut self, path: &str) -> Option<u64> {
        let mut place = Path::new(path);
        while !place.exists() {
            place = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        }
        // `f_bfree` includes the blocks reserved for root. A job that fills the file system ends with ENOSPC anyway.
        rustix::fs::statvfs(place).ok().map(|found| found.f_bfree.saturating_mul(found.f_frsize))
    }

    fn files_below(&mut self, directory: &str) -> Vec<String> {
        let mut files = Vec::new();
        below(Path::new(directory), &mut files);
        files
    }

    fn recording(&mut self, asked: &RecordingRequest) -> Result<RecordedFiles, FileError> {
        recorded::files(asked).map_err(|error| FileError::Recording(error.into()))
    }

    fn device_node(&mut self, major: u32, minor: u32) -> Option<String> {
        recorded::device_node(major, minor)
    }

    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>> {
        read_list(&format!("/sys/devices/system/node/node{node}/cpulist"))
    }
}

fn below(directory: &Path, files: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            below(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path().to_string_lossy().into_owned());
        }
    }
}
