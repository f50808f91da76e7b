//! Device names of this machine.

use plumb_result::blocks::DeviceNumber;
use plumb_tools_classic::iostat::DeviceNames;
use rustix::fs::FileType;
use std::path::Path;

/// Looks up names in `/dev`.
pub(crate) struct ThisMachine;

/// Returns the last component of a link's target.
fn linked(link: impl AsRef<Path>) -> Option<String> {
    let target = std::fs::read_link(link).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

/// Returns the names in a directory, sorted.
fn names_in(directory: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

impl DeviceNames for ThisMachine {
    fn resolve(&mut self, word: &str) -> String {
        let Ok(path) = std::fs::canonicalize(word) else { return word.to_owned() };
        path.strip_prefix("/dev").unwrap_or(&path).to_string_lossy().into_owned()
    }

    fn number(&mut self, name: &str) -> Option<DeviceNumber> {
        // An absolute name replaces the directory.
        let seen = rustix::fs::stat(Path::new("/dev").join(name)).ok()?;
        let is_block = FileType::from_raw_mode(seen.st_mode) == FileType::BlockDevice;
        is_block
            .then(|| DeviceNumber { major: rustix::fs::major(seen.st_rdev), minor: rustix::fs::minor(seen.st_rdev) })
    }

    fn of_registered(&mut self, name: &str) -> Option<String> {
        linked(Path::new("/dev/mapper").join(name))
    }

    fn registered(&mut self, number: DeviceNumber) -> Option<String> {
        names_in("/dev/mapper").into_iter().find(|name| self.number(&format!("mapper/{name}")) == Some(number))
    }

    fn has_type(&mut self, kind: &str) -> bool {
        Path::new(&format!("/dev/disk/by-{kind}")).is_dir()
    }

    fn of_persistent(&mut self, kind: &str, name: &str) -> Option<String> {
        linked(format!("/dev/disk/by-{kind}/{name}"))
    }

    fn persistent(&mut self, kind: &str, name: &str) -> Option<String> {
        let directory = format!("/dev/disk/by-{kind}");
        let leads_here = |link: &String| linked(format!("{directory}/{link}")).is_some_and(|found| found == name);
        names_in(&directory).into_iter().find(leads_here)
    }

    fn is_directory(&mut self, path: &str) -> bool {
        Path::new(path).is_dir()
    }
}
