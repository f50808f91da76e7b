//! The paths of a job's files, made when they are needed: a hundred thousand of them are one pattern.

use plumb_workload::job::Names;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The paths of a job's files.
#[derive(Debug, Clone)]
pub(crate) enum Paths {
    /// Each said.
    Said(Vec<PathBuf>),
    /// Made from a number, that stands between the pieces.
    Numbered {
        /// What stands around the number; one piece more than there are numbers.
        pieces: Vec<Vec<u8>>,
        count: usize,
    },
}

impl Paths {
    /// Relative ones begin at `base`.
    pub(crate) fn new(names: &Names, base: &Path) -> Paths {
        match names {
            Names::Said(paths) => Paths::Said(paths.iter().map(|path| within(base, path)).collect()),
            Names::Numbered { path, count } => {
                let path = within(base, path).into_os_string().into_vec();
                let mut pieces = vec![Vec::new()];
                let mut rest = path.as_slice();
                while let Some((&first, tail)) = rest.split_first() {
                    if rest.starts_with(b"{}") {
                        pieces.push(Vec::new());
                        rest = &rest[2..];
                    } else {
                        if let Some(piece) = pieces.last_mut() {
                            piece.push(first);
                        }
                        rest = tail;
                    }
                }
                Paths::Numbered { pieces, count: *count as usize }
            }
        }
    }

    /// How many.
    pub(crate) fn count(&self) -> usize {
        match self {
            Paths::Said(paths) => paths.len(),
            Paths::Numbered { count, .. } => *count,
        }
    }

    /// The path of a file; empty where there is no such file.
    pub(crate) fn path(&self, number: usize) -> PathBuf {
        match self {
            Paths::Said(paths) => paths.get(number).cloned().unwrap_or_default(),
            Paths::Numbered { pieces, .. } => {
                let number = number.to_string();
                PathBuf::from(OsString::from_vec(pieces.join(number.as_bytes())))
            }
        }
    }

    /// Whether their names were made up by the language that they come from.
    pub(crate) fn are_generated(&self) -> bool {
        matches!(self, Paths::Numbered { .. })
    }
}

/// A path that begins at `base` where it is relative. The working directory itself adds nothing to it, so that messages
/// name files as the user did.
fn within(base: &Path, path: &Path) -> PathBuf {
    match base.as_os_str().as_bytes() {
        b"" | b"." => path.to_owned(),
        _ => base.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_stands_wherever_the_pattern_has_it() {
        let names = |path: &str| Names::Numbered { path: path.into(), count: 12 };
        let paths = Paths::new(&names("dir.{}/job.0.{}"), Path::new("/base"));
        assert_eq!((paths.count(), paths.path(11)), (12, PathBuf::from("/base/dir.11/job.0.11")));
        assert_eq!(Paths::new(&names("/abs/only"), Path::new("/base")).path(3), PathBuf::from("/abs/only"));
        assert_eq!(Paths::new(&names("{}"), Path::new(".")).path(3), PathBuf::from("3"));
        let said = Paths::new(&Names::Said(vec!["a".into(), "/b".into()]), Path::new("/base"));
        assert_eq!((said.path(0), said.path(1), said.path(2)), ("/base/a".into(), "/b".into(), PathBuf::new()));
    }
}
