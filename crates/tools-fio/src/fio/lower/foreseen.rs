//! Files as a job will find them. fio lays out the files of all jobs, one job after another, before it starts the first
//! job. So a job finds the files of the jobs before it at their full length.

use super::places::{Found, Places, RecordedFiles, RecordingRequest};
use plumb_tools::FileError;
use std::collections::BTreeMap;

/// Lengths by path of the files that earlier jobs lay out.
pub(super) type LaidOut = BTreeMap<String, u64>;

/// The system as the next job will find it.
pub(super) struct Foreseen<'a> {
    pub(super) places: &'a mut dyn Places,
    pub(super) laid_out: &'a LaidOut,
}

impl Places for Foreseen<'_> {
    fn find(&mut self, path: &str) -> Found {
        match (self.places.find(path), self.laid_out.get(path)) {
            (Found::Absent, Some(&bytes)) => Found::Regular { bytes },
            (Found::Regular { bytes }, Some(&laid_out)) => Found::Regular { bytes: bytes.max(laid_out) },
            (found, _) => found,
        }
    }

    fn free_bytes(&mut self, path: &str) -> Option<u64> {
        self.places.free_bytes(path)
    }

    fn files_below(&mut self, directory: &str) -> Vec<String> {
        self.places.files_below(directory)
    }

    fn recording(&mut self, asked: &RecordingRequest) -> Result<RecordedFiles, FileError> {
        self.places.recording(asked)
    }

    fn device_node(&mut self, major: u32, minor: u32) -> Option<String> {
        self.places.device_node(major, minor)
    }

    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>> {
        self.places.cpus_of_node(node)
    }
}
