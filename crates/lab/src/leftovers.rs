//! Files that killed processes left, apart from what journals list.

use crate::surroundings::Surroundings;
use crate::{agent, preflight, vm};
use std::path::PathBuf;

/// Removes the files of runs, trials of mkfs and virtual machines whose process is gone. Only directories that this user
/// owns, that no other user can write to, and whose lock is free. Returns what was removed.
///
/// Test data of killed runs lies on what a journal lists: call it before [`recover`](crate::recover).
pub fn remove_leftovers(surroundings: &Surroundings) -> Vec<PathBuf> {
    let temporary = std::env::temp_dir();
    let mut removed = agent::jobs::remove_left(&surroundings.state);
    removed.extend(preflight::mkfs::remove_left(&temporary));
    removed.extend(vm::machine::remove_left(&temporary));
    removed
}
