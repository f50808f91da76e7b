//! The file that donates blocks to a worker's files when blocks are exchanged. It is written to, and the user named it,
//! so the guard treats it as user-named even if the job's own files have generated names.

use super::JobTarget;
use super::error::{JobFilesError, into_job_error};
use crate::backend::move_extents::Donor;
use crate::guard::{Create, Door, FoundName};
use crate::os::{self, Space};
use plumb_workload::blocks::fio::FileRange;
use plumb_workload::{Backend, Bytes, WorkerGroup};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Opens the donor of a worker and allocates its blocks.
///
/// # Errors
/// [`JobFilesError`] if the guard or the system refuses.
pub(crate) fn open(target: &JobTarget, base: &Path, group: &WorkerGroup) -> Result<Option<Donor>, JobFilesError> {
    let Backend::MoveExtents { in_place, .. } = group.backend else { return Ok(None) };
    let Some(Passed { file, path }) = pass(&mut target.user_named_door(), base, group)? else { return Ok(None) };
    let range = range_of(group);
    if !in_place && range.length.0 > 0 {
        os::take_space(file.as_fd(), Space::Grow, range.start.0, range.length.0)
            .map_err(|error| JobFilesError::call(path, "reserve the blocks of", error.into()))?;
    }
    Ok(Some(Donor { file, in_place }))
}

/// A donor that has passed the guard.
pub(super) struct Passed {
    file: File,
    path: PathBuf,
}

/// Passes the donor of a group through the guard; `None` if the group has no donor.
///
/// # Errors
/// [`JobFilesError`] if the guard or the system refuses.
pub(super) fn pass(door: &mut Door, base: &Path, group: &WorkerGroup) -> Result<Option<Passed>, JobFilesError> {
    let Backend::MoveExtents { donor, .. } = &group.backend else { return Ok(None) };
    let path = base.join(donor);
    let occupied_bytes = match door.find(&path).map_err(into_job_error)? {
        FoundName::File { occupied_bytes, .. } => occupied_bytes,
        _ => 0,
    };
    door.admit(&path, range_of(group).length.0.saturating_sub(occupied_bytes)).map_err(into_job_error)?;
    let file = door.open(&path, Create::IfMissing).map_err(into_job_error)?.file;
    Ok(Some(Passed { file, path }))
}

fn range_of(group: &WorkerGroup) -> FileRange {
    let first = group.work.fio().and_then(|stream| stream.ranges.first().copied());
    first.unwrap_or(FileRange { start: Bytes(0), length: Bytes(0) })
}
