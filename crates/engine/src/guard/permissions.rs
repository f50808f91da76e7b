//! What the user has named as theirs to lose: `PLUMB_ALLOW=path-or-serial[,…]`, `--plumb-allow`, `--destroy`.

use super::device::DeviceNumber;
use super::quoted::shell_quoted;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One thing that may be overwritten, as the user named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// This file. A directory allows nothing: what lies in it is not named.
    Path(PathBuf),
    /// The device with this serial, or the file of this name in the working directory.
    Named(String),
}

/// What may be overwritten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Each thing, in the order in which it was named.
    pub allow: Vec<Allow>,
}

impl Permissions {
    /// Nothing may be overwritten.
    pub fn none() -> Permissions {
        Permissions::default()
    }

    /// Reads the value of `PLUMB_ALLOW`: names separated by commas. `\,` is a comma in a name, `\\` a backslash; blanks
    /// around a name and empty names are dropped. Whatever starts with `/`, `./` or `../` is a path. Every text is
    /// valid: a name that nothing bears allows nothing.
    pub fn parse(text: &str) -> Permissions {
        let mut allow = Vec::new();
        let mut name = String::new();
        let mut chars = text.chars();
        loop {
            match chars.next() {
                Some('\\') => name.extend(chars.next()),
                Some(c) if c != ',' => name.push(c),
                end => {
                    allow.extend(Allow::from_name(&std::mem::take(&mut name)));
                    if end.is_none() {
                        return Permissions { allow };
                    }
                }
            }
        }
    }

    /// The text from which [`parse`](Permissions::parse) reads the same.
    pub fn text(&self) -> String {
        self.allow.iter().map(|allow| escaped(&allow.to_string())).collect::<Vec<_>>().join(",")
    }

    /// Adds what `--plumb-allow` or `--destroy` named.
    pub fn extend(&mut self, more: Permissions) {
        self.allow.extend(more.allow);
    }

    /// Whether an existing file was named. The same file under another path counts, and a name is never followed
    /// through a symbolic link in its last place.
    pub(crate) fn names_file(&self, device: u64, inode: u64) -> bool {
        self.allow.iter().any(|allow| {
            let path = match allow {
                Allow::Path(path) => path.as_path(),
                Allow::Named(name) => Path::new(name),
            };
            path.symlink_metadata().is_ok_and(|meta| meta.dev() == device && meta.ino() == inode)
        })
    }

    /// Whether a device was named by one of its serials.
    pub(crate) fn names_device(&self, serials: &[String]) -> bool {
        self.allow.iter().any(|allow| match allow {
            Allow::Named(name) => serials.contains(name),
            Allow::Path(_) => false,
        })
    }

    /// Whether a block device was named by the path of a node of it; links are followed, as to `/dev/disk/by-id/…`.
    pub(super) fn names_device_node(&self, number: DeviceNumber) -> bool {
        self.allow.iter().any(|allow| match allow {
            Allow::Path(path) => DeviceNumber::of_path(path) == Some(number),
            Allow::Named(_) => false,
        })
    }

    /// The setting that allows one more name besides those already given, quoted for a shell.
    pub(crate) fn setting_with(&self, name: &str) -> String {
        let with_name = Permissions { allow: [self.allow.as_slice(), &[Allow::Named(name.to_owned())]].concat() };
        format!("PLUMB_ALLOW={}", shell_quoted(&with_name.text()))
    }
}

impl Allow {
    fn from_name(name: &str) -> Option<Allow> {
        let name = name.trim();
        let is_path = ["/", "./", "../"].iter().any(|start| name.starts_with(start));
        match name {
            "" => None,
            path if is_path => Some(Allow::Path(path.into())),
            _ => Some(Allow::Named(name.to_owned())),
        }
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allow::Path(path) => path.display().fmt(f),
            Allow::Named(name) => f.write_str(name),
        }
    }
}

fn escaped(name: &str) -> String {
    name.replace('\\', r"\\").replace(',', r"\,")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn named(name: &str) -> Allow {
        Allow::Named(name.to_owned())
    }

    #[test]
    fn names_are_split_at_commas_and_told_from_paths() {
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

    #[test]
    fn a_file_is_named_by_any_path_to_it_but_not_through_a_symlink_nor_by_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let link = dir.path().join("link");
        symlink(&file, &link).unwrap();
        let meta = file.metadata().unwrap();
        let names =
            |path: &Path| Permissions { allow: vec![Allow::Path(path.into())] }.names_file(meta.dev(), meta.ino());
        assert!(names(&file));
        assert!(names(&dir.path().join("./../").join(dir.path().file_name().unwrap()).join("file")));
        assert!(!names(&link));
        assert!(!names(dir.path()));
        assert!(!names(&dir.path().join("absent")));
    }

    #[test]
    fn a_device_is_named_by_its_serial_only_and_whole() {
        let serials = ["WD-123".to_owned(), "naa.5000".to_owned()];
        assert!(Permissions::parse("WD-123").names_device(&serials));
        assert!(Permissions::parse("other,naa.5000").names_device(&serials));
        assert!(!Permissions::parse("WD-12,/dev/sda").names_device(&serials));
    }
}
