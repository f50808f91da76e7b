//! Facts about this host that lowering asks for.

use plumb_engine::guard::OutputFile;
use plumb_tools::FileError;
use plumb_tools_app::elbencho::ElbenchoSettings;
use plumb_tools_app::elbencho::lower::{Found, Places};
use plumb_tools_app::elbencho::tree::{self, Entry};
use plumb_tools_run::cpus::read_list;
use plumb_tools_run::simulated;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The host's files and CPUs, and simulated devices.
#[derive(Default)]
pub(crate) struct HostPlaces {
    /// Whether the phases work in directories, so that a simulated device has a file system.
    pub in_directories: bool,
}

impl HostPlaces {
    /// Returns the places for these settings.
    pub(super) fn new(settings: &ElbenchoSettings) -> HostPlaces {
        let phases = settings.phases;
        let in_directories = phases.mkdirs || phases.deldirs || phases.stat || phases.delfiles;
        HostPlaces { in_directories }
    }
}

impl Places for HostPlaces {
    fn find(&mut self, path: &str) -> Found {
        if let Ok(Some(bytes)) = simulated::device_bytes(path) {
            let is_device = !self.in_directories && !path.trim_end_matches('/').contains('/');
            return if is_device { Found::Device { bytes } } else { Found::Directory };
        }
        let Ok(metadata) = std::fs::metadata(path) else { return Found::Absent };
        let kind = metadata.file_type();
        if kind.is_dir() {
            Found::Directory
        } else if kind.is_file() {
            Found::File { bytes: metadata.len() }
        } else if kind.is_block_device() {
            // The end offset of a block device is its size.
            let end = File::open(path).and_then(|mut device| device.seek(SeekFrom::End(0)));
            Found::Device { bytes: end.unwrap_or(0) }
        } else {
            Found::Other
        }
    }

    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>> {
        read_list(&format!("/sys/devices/system/node/node{node}/cpulist"))
    }

    fn nodes(&mut self) -> Vec<u32> {
        read_list("/sys/devices/system/node/online").unwrap_or_else(|| vec![0])
    }

    fn cpus(&mut self) -> Vec<u32> {
        read_list("/sys/devices/system/cpu/online").unwrap_or_else(|| vec![0])
    }

    fn tree_file(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        plumb_text::bounded::read(path).map_err(FileError::io(path))
    }

    fn look_through(&mut self, path: &str) -> Result<Vec<Entry>, FileError> {
        let mut entries = Vec::new();
        look_through(Path::new(path), Path::new(""), &mut entries)?;
        Ok(entries)
    }

    fn keep_tree(&mut self, path: &str, text: &str) -> Result<(), FileError> {
        let failed = FileError::io(path);
        match plumb_text::bounded::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(there) if there.is_empty() || there.starts_with(tree::ENCODED.as_bytes()) => {}
            Ok(_) => {
                return Err(FileError::NotAScan { path: path.to_owned() });
            }
            Err(error) => return Err(failed(error)),
        }
        OutputFile::named("--treescan", path).replace(text.as_bytes()).map_err(|error| failed(error.into()))
    }
}

/// Lists the contents of a directory below `top`, each directory before its contents. Links are followed to
/// files, but not into directories.
fn look_through(top: &Path, below: &Path, entries: &mut Vec<Entry>) -> Result<(), FileError> {
    let directory = top.join(below);
    let failed = |source: io::Error| FileError::Io { path: directory.display().to_string(), source };
    for found in std::fs::read_dir(&directory).map_err(failed)? {
        let found = found.map_err(failed)?;
        let below = below.join(found.file_name());
        let path = || below.as_os_str().as_bytes().to_vec();
        // A dangling link is neither a file nor a directory.
        let Ok(metadata) = std::fs::metadata(found.path()) else { continue };
        if metadata.is_file() {
            entries.push(Entry::File { path: path(), bytes: metadata.len() });
        } else if metadata.is_dir() {
            entries.push(Entry::Directory { path: path() });
            if found.file_type().map_err(failed)?.is_dir() {
                look_through(top, &below, entries)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects trees from special files, and from links that form a cycle.
    #[test]
    fn a_scan_follows_links() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        std::fs::create_dir_all(path("a/b")).unwrap();
        std::fs::write(path("a/f"), b"123").unwrap();
        std::os::unix::fs::symlink(path("a"), path("a/b/round")).unwrap();
        std::os::unix::fs::symlink("f", path("a/link")).unwrap();
        std::os::unix::fs::symlink("nothing", path("a/gone")).unwrap();
        let mut found = HostPlaces::default().look_through(top.path().to_str().unwrap()).unwrap();
        let at = |name: &[u8]| {
            let is =
                |entry: &Entry| matches!(entry, Entry::Directory { path } | Entry::File { path, .. } if path == name);
            found.iter().position(is).unwrap()
        };
        assert!(at(b"a") < at(b"a/b") && at(b"a/b") < at(b"a/b/round"), "{found:?}");
        found.sort_by_key(|entry| format!("{entry:?}"));
        let directory = |path: &str| Entry::Directory { path: path.into() };
        let file = |path: &str| Entry::File { path: path.into(), bytes: 3 };
        let mut expected = [directory("a"), directory("a/b"), directory("a/b/round"), file("a/f"), file("a/link")];
        expected.sort_by_key(|entry| format!("{entry:?}"));
        assert_eq!(found, expected);
    }

    // Protects the user's files: only a tree file is overwritten.
    #[test]
    fn only_a_tree_file_is_overwritten() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("list");
        let name = path.to_str().unwrap();
        HostPlaces::default().keep_tree(name, "# encoding=base64\nd YQ==\n").unwrap();
        HostPlaces::default().keep_tree(name, "# encoding=base64\n").unwrap();
        assert_eq!(HostPlaces::default().tree_file(name).unwrap(), b"# encoding=base64\n");
        std::fs::write(&path, "my own").unwrap();
        assert!(
            HostPlaces::default()
                .keep_tree(name, "# encoding=base64\n")
                .unwrap_err()
                .to_string()
                .contains("not the result of a scan")
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"my own");
    }
}
