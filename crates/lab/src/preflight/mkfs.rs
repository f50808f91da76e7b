//! Tries mkfs on a sparse file of the device's size. Options that are unknown to the tool or do not go together show
//! up before a device is touched.

use crate::claim::{DirectoryClaim, FoundDirectory};
use crate::command::{Command, CommandError, NoWitness};
use crate::recipe::{btrfs, mkfs};
use crate::step::{Btrfs, Mkfs};
use plumb_engine::guard::OutputFile;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Size of the trial file if the size of the device is unknown.
const ASSUMED_BYTES: u64 = 4 << 30;

/// Tools without a dry run write their tables, so the trial file is no larger than this.
const WRITTEN_BYTES_MAX: u64 = 64 << 30;

/// Time limit of a trial.
const LIMIT: Duration = Duration::from_secs(60);

const FILES_PREFIX: &str = "plumb-mkfs-";

/// Age of an abandoned directory of earlier versions, which had no lock. Their trials were always shorter.
const UNLOCKED_AGE: Duration = Duration::from_secs(3600);

/// Removes the files of trials whose process was killed.
pub(crate) fn remove_left(parent: &Path) -> Vec<PathBuf> {
    let mut removed = DirectoryClaim::remove_left(parent, FILES_PREFIX, |_| true);
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(FILES_PREFIX) && is_unlocked_trial(&path) {
            removed.extend(std::fs::remove_dir_all(&path).is_ok().then_some(path));
        }
    }
    removed
}

/// Returns `true` for an old directory of this user that contains only trial files.
fn is_unlocked_trial(path: &Path) -> bool {
    let is_trial_file = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("device"));
        number.is_some_and(|number| number.parse::<u32>().is_ok()) && entry.file_type().is_ok_and(|kind| kind.is_file())
    };
    let Ok(Some(found)) = FoundDirectory::open(path) else { return false };
    found.age() > UNLOCKED_AGE
        && std::fs::read_dir(path).is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(is_trial_file)))
}

/// Returns the tool's reason for refusing its options on a device of this size, if any.
pub(super) fn refusal(step: &Mkfs, bytes: Option<u64>) -> Option<String> {
    // Dry runs: mke2fs(8) `-n` and mkfs.xfs(8) `-N` print what they would do.
    let dry = match step.fs.as_str() {
        "ext2" | "ext3" | "ext4" => Some("-n"),
        "xfs" => Some("-N"),
        _ => None,
    };
    let (_dir, files) = files(&[bytes], dry.is_none())?;
    let command = mkfs::command(step, &files[0]).ok()?;
    let command = match dry {
        // Before the user's own options and the device.
        Some(dry) => command.first_arg(dry),
        None => command,
    };
    refusal_of_command(&command, &files)
}

/// Returns the reason why mkfs.btrfs refuses its options on devices of these sizes, if any.
pub(super) fn refusal_of_btrfs(step: &Btrfs, sizes: &[Option<u64>]) -> Option<String> {
    let (_dir, files) = files(sizes, true)?;
    refusal_of_command(&btrfs::command(step, &files), &files)
}

/// Creates sparse files of these sizes; `None` if this machine cannot create such large ones.
fn files(sizes: &[Option<u64>], written: bool) -> Option<(DirectoryClaim, Vec<PathBuf>)> {
    let dir = DirectoryClaim::new(&std::env::temp_dir(), FILES_PREFIX).ok()?;
    let mut files = Vec::new();
    for (number, bytes) in sizes.iter().enumerate() {
        let bytes = bytes.unwrap_or(ASSUMED_BYTES);
        let path = dir.path().join(format!("device{}", number + 1));
        let bytes = if written { bytes.min(WRITTEN_BYTES_MAX) } else { bytes };
        OutputFile::made_up("the image", &path).create_new().ok()?.set_len(bytes).ok()?;
        files.push(path);
    }
    Some((dir, files))
}

fn refusal_of_command(command: &Command, files: &[PathBuf]) -> Option<String> {
    match command.clone().with_timeout(LIMIT).run(&mut NoWitness, None) {
        Ok(_) | Err(CommandError::Interrupted { .. } | CommandError::TooLong { .. } | CommandError::Start { .. }) => {
            None
        }
        // A missing program is reported once for the step.
        Err(CommandError::Missing { .. }) => None,
        // A full directory of temporary files does not concern the device.
        Err(CommandError::Failed { stderr, .. }) if stderr.contains("No space left") => None,
        // The lines after the first are usage text.
        Err(CommandError::Failed { stderr, .. }) => {
            let first = stderr.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given");
            Some(without_files(&format!("`{command}` is refused: {first}"), files))
        }
    }
}

/// Replaces the paths of the trial files, which mean nothing to the user.
fn without_files(text: &str, files: &[PathBuf]) -> String {
    let named = |text: String, (number, path): (usize, &PathBuf)| {
        let name = if files.len() == 1 { "DEVICE".to_owned() } else { format!("DEVICE{}", number + 1) };
        text.replace(&Path::new(path).display().to_string(), &name)
    };
    files.iter().enumerate().fold(text.to_owned(), named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command;

    /// Protects: `plumb clean` removes the directories of killed study plans, of this and earlier versions, and nothing
    /// else with such a name.
    #[test]
    fn trials_of_killed_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let made = |name: &str, files: &[&str], age: Duration| {
            let path = parent.path().join(name);
            std::fs::create_dir(&path).unwrap();
            files.iter().for_each(|file| std::fs::write(path.join(file), "").unwrap());
            let dir = std::fs::File::open(&path).unwrap();
            dir.set_modified(std::time::SystemTime::now() - age).unwrap();
        };
        let living = DirectoryClaim::new(parent.path(), FILES_PREFIX).unwrap();
        made("plumb-mkfs-left", &["lock", "device1"], Duration::ZERO);
        made("plumb-mkfs-earlier", &["device1", "device2"], 2 * UNLOCKED_AGE);
        made("plumb-mkfs-young", &["device1"], Duration::ZERO);
        made("plumb-mkfs-notes", &["device1", "notes"], 2 * UNLOCKED_AGE);
        let removed = remove_left(parent.path());
        assert_eq!(removed, ["plumb-mkfs-left", "plumb-mkfs-earlier"].map(|name| parent.path().join(name)));
        assert!(living.path().exists());
    }

    // Protects: an option that mkfs refuses is reported before anything is built; a valid one is not.
    #[test]
    fn options_are_tried_without_a_device() {
        if command::find("mkfs.ext4").is_none() {
            eprintln!("SKIPPED: needs mkfs.ext4");
            return;
        }
        let step = |options: &str| -> Mkfs {
            plumb_document::json::from_str(&format!(r#"{{"fs": "ext4", "device": "@d", "options": [{options}]}}"#))
                .unwrap()
        };
        assert_eq!(refusal(&step(r#""-E", "lazy_itable_init=0""#), Some(64 << 20)), None);
        assert_eq!(refusal(&step(""), None), None);
        // Also tries a device of 100 TiB: nothing is written.
        assert_eq!(refusal(&step(""), Some(100 << 40)), None);
        let text = refusal(&step(r#""-E", "no_such=1""#), Some(64 << 20)).unwrap();
        assert!(text.contains("no_such") && text.contains("DEVICE") && !text.contains("plumb-mkfs-"), "{text}");
        let text = refusal(&step(r#""-O", "no_such_feature""#), Some(64 << 20)).unwrap();
        assert!(text.contains("no_such_feature"), "{text}");
        let text = refusal(&step(""), Some(4096)).unwrap();
        assert!(text.contains("mkfs.ext4"), "{text}");
    }
}
