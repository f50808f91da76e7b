//! A tree of files that describes a machine, for tests.

use crate::Sysroot;
use std::path::PathBuf;

/// A temporary tree, removed on drop.
pub(crate) struct Tree {
    directory: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn sys(&self) -> Sysroot {
        Sysroot::at(self.directory.path())
    }

    fn place(&self, path: &str) -> PathBuf {
        let place = self.directory.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().expect("a parent")).expect("directories");
        place
    }

    pub(crate) fn file(&self, path: &str, content: &str) -> &Tree {
        std::fs::write(self.place(path), content).expect("a file");
        self
    }

    /// Removes a file, or a directory with its contents.
    pub(crate) fn remove(&self, path: &str) -> &Tree {
        let place = self.place(path);
        let removed = if place.is_dir() { std::fs::remove_dir_all(place) } else { std::fs::remove_file(place) };
        removed.expect("something to remove");
        self
    }

    pub(crate) fn directory(&self, path: &str) -> &Tree {
        std::fs::create_dir_all(self.place(path)).expect("a directory");
        self
    }

    pub(crate) fn link(&self, path: &str, to: &str) -> &Tree {
        std::os::unix::fs::symlink(to, self.place(path)).expect("a link");
        self
    }

    /// Adds a block device at `place` under `/sys/devices`, with the kernel's links.
    pub(crate) fn block(&self, place: &str, number: &str, sectors: u64) -> &Tree {
        let name = place.rsplit('/').next().expect("a name");
        self.file(&format!("/sys/devices/{place}/dev"), &format!("{number}\n"))
            .file(&format!("/sys/devices/{place}/size"), &format!("{sectors}\n"))
            .link(&format!("/sys/dev/block/{number}"), &format!("../../devices/{place}"))
            .link(&format!("/sys/class/block/{name}"), &format!("../../devices/{place}"))
    }

    /// Declares that the device at `upper` is built on the one at `lower`.
    pub(crate) fn slave(&self, upper: &str, lower: &str) -> &Tree {
        let name = lower.rsplit('/').next().expect("a name");
        let up = "../".repeat(upper.split('/').count() + 1);
        self.link(&format!("/sys/devices/{upper}/slaves/{name}"), &format!("{up}{lower}"))
    }
}
