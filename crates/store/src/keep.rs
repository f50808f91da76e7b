//! Files for documents that the database could not store: next to it, or in a directory that has room.

use plumb_guard::OutputFile;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Error from saving a document after every directory failed.
#[derive(Debug, thiserror::Error)]
#[error("it cannot be saved to a file either: {}", attempts(.0))]
pub struct KeepError(Vec<(PathBuf, io::Error)>);

fn attempts(failed: &[(PathBuf, io::Error)]) -> String {
    failed.iter().map(|(path, error)| format!("{}: {error}", path.display())).collect::<Vec<_>>().join("; ")
}

/// Writes a document next to the database, else into the working directory, else into the temporary directory, and
/// flushes it. Returns its absolute path. An existing file of that name is left alone, and the next directory is tried.
///
/// # Errors
/// Returns [`KeepError`] if none of the three directories accepts the file; no partial file remains.
pub fn save_next_to(database: &Path, name: &str, document: &[u8]) -> Result<PathBuf, KeepError> {
    let beside = database.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    let directories = [beside.map(Path::to_owned), Some(PathBuf::from(".")), Some(std::env::temp_dir())];
    let mut failed = Vec::new();
    for directory in directories.into_iter().flatten() {
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        let path = directory.join(name);
        match write_new(&path, document) {
            Ok(()) => return Ok(path),
            Err(error) => failed.push((path, error)),
        }
    }
    Err(KeepError(failed))
}

/// Creates the file, complete or not at all. It follows no link and replaces nothing.
fn write_new(path: &Path, document: &[u8]) -> io::Result<()> {
    let mut file = OutputFile::made_up("the result", path).private().create_new()?;
    file.write_all(document).and_then(|()| file.sync_all()).inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_goes_next_to_the_database_and_replaces_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("plumb.db");
        let kept = save_next_to(&database, "one.json", b"{}").unwrap();
        assert_eq!(kept, directory.path().join("one.json"));
        std::os::unix::fs::symlink("elsewhere", directory.path().join("link.json")).unwrap();
        assert!(write_new(&directory.path().join("link.json"), b"x").is_err());
        assert!(write_new(&kept, b"x").is_err());
        assert_eq!(std::fs::read(&kept).unwrap(), b"{}");
        // The last resort is the shared temporary directory, so the file must be private.
        assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!directory.path().join("elsewhere").exists());
    }

    #[test]
    fn a_missing_directory_falls_back_to_the_next_one() {
        let directory = tempfile::tempdir().unwrap();
        let not_there = directory.path().join("not-there/plumb.db");
        let name = format!("plumb-keep-test-{}.json", std::process::id());
        let kept = save_next_to(&not_there, &name, b"{}").unwrap();
        assert_eq!(kept, std::env::current_dir().unwrap().join(&name));
        std::fs::remove_file(kept).unwrap();
    }
}
