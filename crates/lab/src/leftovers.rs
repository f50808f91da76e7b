//! Files that killed processes left and that no journal lists.

use crate::surroundings::Surroundings;
use crate::{agent, preflight, vm};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Age after which an unfinished image counts as abandoned.
const UNFINISHED_AGE: Duration = Duration::from_secs(3600);

/// Removes the files of runs, mkfs trials and virtual machines whose process is gone, and returns their paths. Removes
/// only directories that this user owns, that no other user can write to, and whose lock is free.
///
/// Call this before [`recover`](crate::recover): test data of killed runs is on file systems that a journal lists.
pub fn remove_leftovers(surroundings: &Surroundings) -> Vec<PathBuf> {
    let temporary = std::env::temp_dir();
    let mut removed = agent::jobs::remove_left(&surroundings.state);
    removed.extend(preflight::mkfs::remove_left(&temporary));
    removed.extend(vm::machine::remove_left(&temporary));
    removed.extend(remove_unfinished_images(&surroundings.cache));
    removed
}

/// Removes virtual machine images that a killed process did not finish. The cache is Plumb's own directory; temporary
/// names are `.tmp` and six more characters (crate tempfile).
fn remove_unfinished_images(cache: &Path) -> Vec<PathBuf> {
    let is_half_made = |entry: &std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_temporary = name
            .strip_prefix(".tmp")
            .is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let Ok(found) = entry.metadata() else { return false };
        let age = found.modified().ok().and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
        let is_own = found.is_file() && found.uid() == rustix::process::geteuid().as_raw();
        is_temporary && is_own && age > UNFINISHED_AGE
    };
    let entries = std::fs::read_dir(cache).into_iter().flatten().flatten().filter(is_half_made);
    entries.map(|entry| entry.path()).filter(|path| std::fs::remove_file(path).is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects: unfinished images, which may have gigabytes, are removed; finished images and recent files stay.
    #[test]
    fn only_unfinished_images_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        for name in [".tmpAb12Cd", ".tmpYoung1", "initrd.img", ".tmp-notes"] {
            std::fs::write(cache.path().join(name), "x").unwrap();
        }
        for name in [".tmpAb12Cd", "initrd.img", ".tmp-notes"] {
            let file = std::fs::File::open(cache.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - 2 * UNFINISHED_AGE).unwrap();
        }
        assert_eq!(remove_unfinished_images(cache.path()), [cache.path().join(".tmpAb12Cd")]);
        assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 3);
    }
}
