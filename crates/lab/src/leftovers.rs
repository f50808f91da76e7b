//! Files that killed processes left, apart from what journals list.

use crate::surroundings::Surroundings;
use crate::{agent, preflight, vm};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An image that nothing was written to for so long is not being made any more.
const HALF_MADE_AGE: Duration = Duration::from_secs(3600);

/// Removes the files of runs, trials of mkfs and virtual machines whose process is gone. Only directories that this user
/// owns, that no other user can write to, and whose lock is free. Returns what was removed.
///
/// Test data of killed runs lies on what a journal lists: call it before [`recover`](crate::recover).
pub fn remove_leftovers(surroundings: &Surroundings) -> Vec<PathBuf> {
    let temporary = std::env::temp_dir();
    let mut removed = agent::jobs::remove_left(&surroundings.state);
    removed.extend(preflight::mkfs::remove_left(&temporary));
    removed.extend(vm::machine::remove_left(&temporary));
    removed.extend(remove_half_made(&surroundings.cache));
    removed
}

/// Removes images of virtual machines that a killed process did not finish. The cache is Plumb's own directory, and tempfile's
/// names are `.tmp` with six more characters.
fn remove_half_made(cache: &Path) -> Vec<PathBuf> {
    let is_half_made = |entry: &std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_temporary = name
            .strip_prefix(".tmp")
            .is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let Ok(found) = entry.metadata() else { return false };
        let age = found.modified().ok().and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
        let is_own = found.is_file() && found.uid() == rustix::process::geteuid().as_raw();
        is_temporary && is_own && age > HALF_MADE_AGE
    };
    let entries = std::fs::read_dir(cache).into_iter().flatten().flatten().filter(is_half_made);
    entries.map(|entry| entry.path()).filter(|path| std::fs::remove_file(path).is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects: what a kill left while an image was made, gigabytes perhaps, goes; images and young files stay.
    #[test]
    fn only_half_made_images_go() {
        let cache = tempfile::tempdir().unwrap();
        for name in [".tmpAb12Cd", ".tmpYoung1", "initrd.img", ".tmp-notes"] {
            std::fs::write(cache.path().join(name), "x").unwrap();
        }
        for name in [".tmpAb12Cd", "initrd.img", ".tmp-notes"] {
            let file = std::fs::File::open(cache.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - 2 * HALF_MADE_AGE).unwrap();
        }
        assert_eq!(remove_half_made(cache.path()), [cache.path().join(".tmpAb12Cd")]);
        assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 3);
    }
}
