//! The file that gives its blocks to those of a worker, where blocks are exchanged. It is written to, and the user said its
//! name: it passes the guard as such, whatever the job's own files are called.

use super::JobTarget;
use super::error::{JobFilesError, job_words};
use crate::backend::move_extents::Donor;
use crate::guard::{Create, Door, FoundName};
use crate::os::{self, Space};
use plumb_workload::blocks::fio::FileRange;
use plumb_workload::{Backend, Bytes, WorkerGroup};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Opens the donor of a worker and gives it its blocks.
///
/// # Errors
/// [`JobFilesError`].
pub(crate) fn open(target: &JobTarget, base: &Path, group: &WorkerGroup) -> Result<Option<Donor>, JobFilesError> {
    let Backend::MoveExtents { in_place, .. } = group.backend else { return Ok(None) };
    let Some(Passed { file, path }) = pass(&mut target.said_door(), base, group)? else { return Ok(None) };
    let range = range_of(group);
    if !in_place && range.length.0 > 0 {
        os::take_space(file.as_fd(), Space::Grow, range.start.0, range.length.0)
            .map_err(|error| JobFilesError::call(path, "reserve the blocks of", error.into()))?;
    }
    Ok(Some(Donor { file, in_place }))
}

/// A donor that may be written to.
pub(super) struct Passed {
    file: File,
    path: PathBuf,
}

/// Lets the donor of a group pass the guard; `None` where it has none.
///
/// # Errors
/// [`JobFilesError`].
pub(super) fn pass(door: &mut Door, base: &Path, group: &WorkerGroup) -> Result<Option<Passed>, JobFilesError> {
    let Backend::MoveExtents { donor, .. } = &group.backend else { return Ok(None) };
    let path = base.join(donor);
    let there = match door.look(&path).map_err(job_words)? {
        FoundName::File { occupied_bytes, .. } => occupied_bytes,
        _ => 0,
    };
    door.admit(&path, range_of(group).length.0.saturating_sub(there)).map_err(job_words)?;
    let file = door.open(&path, Create::IfMissing).map_err(job_words)?.file;
    Ok(Some(Passed { file, path }))
}

fn range_of(group: &WorkerGroup) -> FileRange {
    let first = group.work.fio().and_then(|stream| stream.ranges.first().copied());
    first.unwrap_or(FileRange { start: Bytes(0), length: Bytes(0) })
}
