//! What elbencho's words ask of this machine.

use plumb_dialects::elbencho::lower::{Found, Places};
use plumb_dialects::fio::value::lists;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;

/// The machine's own files and processors.
pub struct Disk;

/// A list of numbers of the kernel's, such as `0-3,8`.
fn numbers(path: &str) -> Option<Vec<u32>> {
    lists::cpus(std::fs::read_to_string(path).ok()?.trim()).ok()
}

impl Places for Disk {
    fn look(&mut self, path: &str) -> Found {
        let Ok(metadata) = std::fs::metadata(path) else { return Found::Absent };
        let kind = metadata.file_type();
        if kind.is_dir() {
            Found::Directory
        } else if kind.is_file() {
            Found::File { bytes: metadata.len() }
        } else if kind.is_block_device() {
            // The end of a block device is its size.
            let end = File::open(path).and_then(|mut device| device.seek(SeekFrom::End(0)));
            Found::Device { bytes: end.unwrap_or(0) }
        } else {
            Found::Other
        }
    }

    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>> {
        numbers(&format!("/sys/devices/system/node/node{node}/cpulist"))
    }

    fn nodes(&mut self) -> Vec<u32> {
        numbers("/sys/devices/system/node/online").unwrap_or_else(|| vec![0])
    }

    fn cpus(&mut self) -> Vec<u32> {
        numbers("/sys/devices/system/cpu/online").unwrap_or_else(|| vec![0])
    }
}
