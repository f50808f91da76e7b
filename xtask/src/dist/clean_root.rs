//! A minimal Debian in a directory, to install packages in and inspect what they leave behind.

use super::machine::Machine;
use super::work_directory;
use crate::packages::is_root;
use crate::tools::run;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian release for test installations.
pub(super) const SUITE: &str = "bookworm";

/// A root directory, removed at the end.
pub(super) struct CleanRoot {
    dir: tempfile::TempDir,
    mounts: Vec<PathBuf>,
}

/// Every file of a root, with metadata that shows changes.
pub(super) type Listing = BTreeMap<PathBuf, (u32, u64, i64)>;

/// Returns the archive of a Debian, kept between checks; the first call needs Debian's mirror.
pub(super) fn archive(machine: Machine, suite: &str) -> Result<PathBuf> {
    let roots = work_directory().join("roots");
    std::fs::create_dir_all(&roots)?;
    let kept = roots.join(format!("{suite}-{}.tar", machine.debian()));
    if !kept.exists() {
        let part = roots.join(format!("{suite}-{}.part.tar", machine.debian()));
        let mut make = Command::new("mmdebstrap");
        make.args(["--quiet", &format!("--architectures={}", machine.debian())]);
        if machine.is_own() {
            make.arg("--variant=minbase");
        } else {
            // A root for another machine is only unpacked: its programs are emulated, but its installation scripts need
            // not run.
            make.args(["--variant=extract", "--include=libc6,libgcc-s1"]);
        }
        run(make.arg(suite).arg(&part).arg("http://deb.debian.org/debian"))?;
        std::fs::rename(part, &kept)?;
    }
    Ok(kept)
}

impl CleanRoot {
    pub(super) fn unpack(machine: Machine, suite: &str) -> Result<CleanRoot> {
        ensure!(is_root(), "checking installs packages in a root directory: run it as root");
        let dir = tempfile::Builder::new().prefix("plumb-root-").tempdir()?;
        run(Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(archive(machine, suite)?)
            .arg("--directory")
            .arg(dir.path()))?;
        Ok(CleanRoot { dir, mounts: Vec::new() })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Mounts the kernel's file systems, and the root itself: a directory that is not a mount point has no line in
    /// `/proc/self/mountinfo`, by which Plumb finds the file system under a path.
    pub(super) fn mount(&mut self) -> Result<()> {
        let root = self.path().to_owned();
        run(Command::new("mount").arg("--bind").args([&root, &root]))?;
        self.mounts.push(root);
        for (kind, name) in [("proc", "proc"), ("sysfs", "sys"), ("devtmpfs", "dev")] {
            let place = self.path().join(name);
            run(Command::new("mount").args(["-t", kind, kind]).arg(&place))?;
            self.mounts.push(place);
        }
        Ok(())
    }

    pub(super) fn unmount(&mut self) -> Result<()> {
        while let Some(place) = self.mounts.pop() {
            run(Command::new("umount").arg(&place))?;
        }
        Ok(())
    }

    /// Returns a command in it, with a login environment.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("chroot");
        command.arg(self.path()).args(words).env_clear();
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root").env("LC_ALL", "C");
        command
    }

    /// Runs a command in it; an exit code other than 0 is an error.
    pub(super) fn succeed(&self, words: &[&str]) -> Result<String> {
        let output = self.command(words).output().with_context(|| words.join(" "))?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`{}`: {}\n{printed}{complaint}", words.join(" "), output.status);
        Ok(printed)
    }

    /// Lists its current files; nothing may be mounted.
    pub(super) fn listing(&self) -> Result<Listing> {
        ensure!(self.mounts.is_empty(), "something is mounted");
        let mut listing = Listing::new();
        list(self.path(), self.path(), &mut listing)?;
        Ok(listing)
    }
}

impl Drop for CleanRoot {
    fn drop(&mut self) {
        let _ = self.unmount();
    }
}

fn list(root: &Path, dir: &Path, listing: &mut Listing) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let facts = path.symlink_metadata()?;
        // A directory's size and time change with temporary files.
        let (size, changed) = if facts.is_dir() { (0, 0) } else { (facts.len(), facts.mtime()) };
        listing.insert(path.strip_prefix(root)?.to_owned(), (facts.mode(), size, changed));
        if facts.is_dir() {
            list(root, &path, listing)?;
        }
    }
    Ok(())
}

/// Returns the differences between two listings, except for a package manager's logs.
pub(super) fn difference(before: &Listing, after: &Listing) -> Vec<String> {
    let is_record = |path: &Path| {
        ["var/lib/dpkg/status", "var/lib/dpkg/status-old", "var/log/dpkg.log", "var/log/alternatives.log"]
            .iter()
            .any(|record| path == Path::new(record))
            || ["var/lib/dpkg/lock", "var/lib/dpkg/lock-frontend", "var/lib/dpkg/triggers"]
                .iter()
                .any(|record| path.starts_with(record))
    };
    let mut different = Vec::new();
    for path in before.keys().chain(after.keys().filter(|path| !before.contains_key(*path))) {
        let what = match (before.get(path), after.get(path)) {
            (None, Some(_)) => "left behind",
            (Some(_), None) => "removed",
            (Some(one), Some(other)) if one != other => "changed",
            _ => continue,
        };
        if !is_record(path) {
            different.push(format!("{what}: /{}", path.display()));
        }
    }
    different
}

#[cfg(test)]
mod tests {
    use super::{Listing, difference};
    use std::path::PathBuf;

    #[test]
    fn what_is_left_is_found() {
        let of = |names: &[(&str, u64)]| -> Listing {
            names.iter().map(|(name, size)| (PathBuf::from(name), (0o100_644, *size, 0))).collect()
        };
        let before = of(&[("etc/passwd", 1), ("bin/sh", 2), ("var/lib/dpkg/status", 3)]);
        let after = of(&[("etc/passwd", 9), ("usr/bin/plumb", 4), ("var/lib/dpkg/status", 5)]);
        assert_eq!(
            difference(&before, &after),
            ["removed: /bin/sh", "changed: /etc/passwd", "left behind: /usr/bin/plumb"]
        );
        assert_eq!(difference(&before, &before), [""; 0]);
    }
}
