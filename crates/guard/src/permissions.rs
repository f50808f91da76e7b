//! Files and devices that the user allows to be overwritten: `PLUMB_ALLOW=path-or-serial[,…]`, `--plumb-allow`,
//! `--destroy`, and `allow` in the configuration file.

use super::device::DeviceNumber;
use super::path_resolution::{Identity, mount_id};
use super::quoted::{escaped, shell_quoted, split_names};
use super::space::WhenFull;
use rustix::fs::{FileType, Mode, OFlags};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Maximum depth of a path. Source: `PATH_MAX`, limits.h(0p).
const DEPTH_MAX: usize = 2048;

/// One file, directory or device that may be overwritten, as the user named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// This file, or all files in and below this directory.
    Path(PathBuf),
    /// The device with this serial, or the file or directory with this name in the working directory.
    Named(String),
    /// The device with this serial.
    Serial(String),
}

/// Permissions of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Entries in the order in which they were named.
    pub allow: Vec<Allow>,
    /// Treatment of a file system that would become too full.
    pub when_full: WhenFull,
}

impl Permissions {
    /// Returns permissions that allow nothing.
    pub fn none() -> Permissions {
        Permissions::default()
    }

    /// Parses the value of `PLUMB_ALLOW`, names separated by commas. `\,` is a comma in a name and `\\` a backslash.
    /// Blanks around a name and empty names are dropped. Names that start with `/`, `./` or `../` are paths. Every
    /// text is valid: a name that does not exist allows nothing.
    pub fn parse(text: &str) -> Permissions {
        let allow = split_names(text).iter().map(|name| Allow::from_name(name)).collect();
        Permissions { allow, ..Permissions::default() }
    }

    /// Formats the permissions so that [`parse`](Permissions::parse) gives the same.
    pub fn text(&self) -> String {
        self.allow.iter().map(|allow| escaped(&allow.to_string())).collect::<Vec<_>>().join(",")
    }

    /// Adds the names of `--plumb-allow` or `--destroy`.
    pub fn extend(&mut self, more: Permissions) {
        self.allow.extend(more.allow);
    }

    /// Returns `true` if an existing file was named itself. Another path to the same file counts. A symbolic link in
    /// the last component of a name is never followed.
    pub(crate) fn names_file(&self, file: Identity) -> bool {
        self.entries().any(|(entry, _)| entry == file)
    }

    /// Returns `true` if an open regular file, an entry of `directory`, is in or below a named directory. Its
    /// location counts, not the path that led there, so a symbolic link out of that directory covers nothing. Nor are
    /// files on a mount below it, files with a second hard link, or anything in the root directory covered.
    pub(super) fn cover(&self, directory: BorrowedFd<'_>, file: BorrowedFd<'_>) -> bool {
        let allowed: Vec<Identity> =
            self.entries().filter(|(_, kind)| *kind == FileType::Directory).map(|(entry, _)| entry).collect();
        !allowed.is_empty() && lies_below(directory, file, &allowed).unwrap_or(false)
    }

    /// Returns the existing files and directories with the given names.
    fn entries(&self) -> impl Iterator<Item = (Identity, FileType)> {
        self.allow.iter().filter_map(|allow| {
            let path = match allow {
                Allow::Path(path) => path.as_path(),
                Allow::Named(name) => Path::new(name),
                Allow::Serial(_) => return None,
            };
            let stat = rustix::fs::lstat(path).ok()?;
            Some((Identity::from_stat(&stat), FileType::from_raw_mode(stat.st_mode)))
        })
    }

    /// Returns `true` if a device was named by one of its serials.
    pub(crate) fn names_device(&self, serials: &[String]) -> bool {
        self.allow.iter().any(|allow| match allow {
            Allow::Named(name) | Allow::Serial(name) => serials.contains(name),
            Allow::Path(_) => false,
        })
    }

    /// Returns `true` if a block device was named by the path of a node; links such as
    /// `/dev/disk/by-id/…` are followed.
    pub(super) fn names_device_node(&self, number: DeviceNumber) -> bool {
        self.allow.iter().any(|allow| match allow {
            Allow::Path(path) => DeviceNumber::of_path(path) == Some(number),
            Allow::Named(_) | Allow::Serial(_) => false,
        })
    }

    /// Returns the setting that allows one more name in addition to those given, quoted for a shell.
    pub(crate) fn setting_with(&self, name: &str) -> String {
        let typed = self.allow.iter().filter(|allow| !matches!(allow, Allow::Serial(_))).cloned();
        let allow = typed.chain([Allow::Named(name.to_owned())]).collect();
        format!("PLUMB_ALLOW={}", shell_quoted(&Permissions { allow, ..Permissions::default() }.text()))
    }
}

impl Allow {
    fn from_name(name: &str) -> Allow {
        let is_path = ["/", "./", "../"].iter().any(|start| name.starts_with(start));
        if is_path { Allow::Path(name.into()) } else { Allow::Named(name.to_owned()) }
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allow::Path(path) => path.display().fmt(f),
            Allow::Named(name) | Allow::Serial(name) => f.write_str(name),
        }
    }
}

fn lies_below(directory: BorrowedFd<'_>, file: BorrowedFd<'_>, allowed: &[Identity]) -> rustix::io::Result<bool> {
    let stat = rustix::fs::fstat(file)?;
    let mount = mount_id(directory);
    let is_one_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1;
    if !is_one_file || mount_id(file) != mount {
        return Ok(false);
    }
    let up = |from: BorrowedFd<'_>| {
        crate::raw_open::openat(from, "..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    };
    let root = Identity::from_stat(&rustix::fs::stat("/")?);
    let mut here =
        crate::raw_open::openat(directory, ".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let device = Identity::from_stat(&rustix::fs::fstat(&here)?).device;
    for _ in 0..DEPTH_MAX {
        let identity = Identity::from_stat(&rustix::fs::fstat(&here)?);
        if identity == root || identity.device != device || mount_id(here.as_fd()) != mount {
            return Ok(false);
        }
        if allowed.contains(&identity) {
            return Ok(true);
        }
        here = up(here.as_fd())?;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn named(name: &str) -> Allow {
        Allow::Named(name.to_owned())
    }

    #[test]
    fn names_are_split_at_commas_and_distinguished_from_paths() {
        let read = Permissions::parse(r" /data/a b.img, S4EVNX0M1 ,,./c\,d,loop:/x.img,back\\slash");
        assert_eq!(
            read.allow,
            [
                Allow::Path("/data/a b.img".into()),
                named("S4EVNX0M1"),
                Allow::Path("./c,d".into()),
                named("loop:/x.img"),
                named(r"back\slash"),
            ]
        );
        assert_eq!(Permissions::parse(""), Permissions::none());
        assert_eq!(Permissions::parse(r"a\").allow, [named("a")]);
    }

    #[test]
    fn the_printed_setting_allows_what_it_names_and_keeps_what_was_allowed() {
        let given = Permissions::parse(r"/x\,y,SER");
        let setting = given.setting_with("/it's here");
        assert_eq!(setting, r"PLUMB_ALLOW='/x\,y,SER,/it'\''s here'");
        assert_eq!(Permissions::none().setting_with("/a/b.img"), "PLUMB_ALLOW=/a/b.img");
        let value = r"/x\,y,SER,/it's here";
        assert_eq!(Permissions::parse(value).allow.last(), Some(&Allow::Path("/it's here".into())));
    }

    fn path(path: &Path) -> Permissions {
        Permissions { allow: vec![Allow::Path(path.into())], ..Permissions::default() }
    }

    #[test]
    fn a_file_is_named_by_any_path_to_it_but_not_through_a_symlink_nor_by_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let link = dir.path().join("link");
        symlink(&file, &link).unwrap();
        let identity = Identity::from_stat(&rustix::fs::stat(&file).unwrap());
        let names = |named: &Path| path(named).names_file(identity);
        assert!(names(&file));
        assert!(names(&dir.path().join("./../").join(dir.path().file_name().unwrap()).join("file")));
        assert!(!names(&link));
        assert!(!names(dir.path()));
        assert!(!names(&dir.path().join("absent")));
        let serial = Permissions { allow: vec![Allow::Serial(file.display().to_string())], ..Permissions::default() };
        assert!(!serial.names_file(identity), "a serial is not a path");
    }

    fn covers(permissions: &Permissions, file: &Path) -> bool {
        let directory = std::fs::File::open(file.parent().unwrap()).unwrap();
        permissions.cover(directory.as_fd(), std::fs::File::open(file).unwrap().as_fd())
    }

    // Protects everything that a named directory only leads to: other directories, mounts, and files
    // with a second hard link.
    #[test]
    fn a_directory_covers_the_files_in_it_and_below_it_and_nothing_that_lies_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let (named, outside) = (dir.path().join("named"), dir.path().join("outside"));
        for directory in [named.join("deep/er"), outside.clone()] {
            std::fs::create_dir_all(directory).unwrap();
        }
        let file = |at: &Path| {
            std::fs::write(at, "x").unwrap();
            at.to_owned()
        };
        let (direct, below) = (file(&named.join("file")), file(&named.join("deep/er/file")));
        let precious = file(&outside.join("precious"));
        let allowed = path(&named);
        assert!(covers(&allowed, &direct) && covers(&allowed, &below));
        assert!(!covers(&allowed, &precious));
        symlink(&outside, named.join("link")).unwrap();
        assert!(!covers(&allowed, &named.join("link/precious")), "through a link out of it");
        symlink(&named, outside.join("back")).unwrap();
        assert!(covers(&allowed, &outside.join("back/file")), "its location counts, not the path");
        assert!(!covers(&path(&outside.join("back")), &direct), "a link is not the directory");
        std::fs::hard_link(&precious, named.join("second")).unwrap();
        assert!(!covers(&allowed, &named.join("second")), "it has another location too");
        assert!(!covers(&path(Path::new("/")), &direct), "the root directory covers nothing");
        assert!(!covers(&path(&direct), &below), "a file covers only itself");
    }

    #[test]
    fn root_a_directory_does_not_cover_mounts_below_it() {
        if !crate::testing::is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (named, outside) = (dir.path().join("named"), dir.path().join("outside"));
        for directory in [&named.join("mount"), &outside] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::fs::write(outside.join("precious"), "x").unwrap();
        let mount = |words: &[&str]| assert!(crate::testing::run("mount", words));
        let point = named.join("mount");
        for source in [["--bind", outside.to_str().unwrap()], ["-ttmpfs", "tmpfs"]] {
            mount(&[source[0], source[1], point.to_str().unwrap()]);
            let file = point.join("precious");
            std::fs::write(&file, "x").unwrap();
            let covered = (covers(&path(&named), &file), covers(&path(&point), &file));
            assert!(crate::testing::run("umount", &[point.to_str().unwrap()]));
            assert_eq!(covered, (false, true), "{source:?}");
        }
    }

    #[test]
    fn a_device_is_named_by_its_serial_only_and_whole() {
        let serials = ["WD-123".to_owned(), "naa.5000".to_owned()];
        assert!(Permissions::parse("WD-123").names_device(&serials));
        assert!(Permissions::parse("other,naa.5000").names_device(&serials));
        assert!(!Permissions::parse("WD-12,/dev/sda").names_device(&serials));
    }
}
