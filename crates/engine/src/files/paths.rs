//! The paths of a job's files, made when they are needed: a hundred thousand of them are one pattern.

use plumb_workload::files::Names;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The paths of a job's files.
#[derive(Debug, Clone)]
pub(crate) enum Paths {
    /// Each said.
    Said(Vec<PathBuf>),
    /// Made from a number.
    Numbered {
        pieces: Vec<PathPiece>,
        count: usize,
        /// Files of one directory.
        per_directory: Option<usize>,
    },
    /// Each made up by another tool's rules.
    Made(Vec<PathBuf>),
}

/// A piece of a path that is made from a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathPiece {
    Text(Vec<u8>),
    /// The number of the file, in its directory where there are several.
    Number,
    /// The number of the directory.
    Directory,
}

impl Paths {
    /// Relative ones begin at `base`.
    pub(crate) fn new(names: &Names, base: &Path) -> Paths {
        let all = |paths: &[PathBuf]| paths.iter().map(|path| within(base, path)).collect();
        match names {
            Names::Said(paths) => Paths::Said(all(paths)),
            Names::Made(paths) => Paths::Made(all(paths)),
            // Its files are numbered, and so many that no list of them is made.
            Names::Postmark(run) => Paths::Said(paths_within(base, run.directories())),
            // Written by whoever goes through them; what lies in the file system before is their places.
            Names::Trees(names) => Paths::Made(all(&names.places)),
            Names::Numbered { path, count, per_directory } => {
                let path = within(base, path).into_os_string().into_vec();
                let directories = per_directory.is_some();
                Paths::Numbered {
                    pieces: pieces(&path, directories),
                    count: *count as usize,
                    per_directory: per_directory.map(|each| each.max(1) as usize),
                }
            }
        }
    }

    /// How many.
    pub(crate) fn count(&self) -> usize {
        match self {
            Paths::Said(paths) | Paths::Made(paths) => paths.len(),
            Paths::Numbered { count, .. } => *count,
        }
    }

    /// The path of a file; empty where there is no such file.
    pub(crate) fn path(&self, number: usize) -> PathBuf {
        match self {
            Paths::Said(paths) | Paths::Made(paths) => paths.get(number).cloned().unwrap_or_default(),
            Paths::Numbered { pieces, per_directory, .. } => {
                let (directory, file) = per_directory.map_or((0, number), |each| (number / each, number % each));
                let mut path = Vec::new();
                for piece in pieces {
                    match piece {
                        PathPiece::Text(text) => path.extend_from_slice(text),
                        PathPiece::Number => path.extend_from_slice(file.to_string().as_bytes()),
                        PathPiece::Directory => path.extend_from_slice(directory.to_string().as_bytes()),
                    }
                }
                PathBuf::from(OsString::from_vec(path))
            }
        }
    }

    /// Returns the paths of all files, in the order of their numbers.
    pub(crate) fn into_list(self) -> Vec<PathBuf> {
        match self {
            Paths::Said(paths) | Paths::Made(paths) => paths,
            Paths::Numbered { .. } => (0..self.count()).map(|number| self.path(number)).collect(),
        }
    }

    /// Whether their names were made up by the language that they come from.
    pub(crate) fn are_generated(&self) -> bool {
        matches!(self, Paths::Numbered { .. } | Paths::Made(_))
    }
}

/// A pattern in pieces.
fn pieces(path: &[u8], directories: bool) -> Vec<PathPiece> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut rest = path;
    while let Some((&first, tail)) = rest.split_first() {
        let (piece, length) = if rest.starts_with(b"{}") {
            (PathPiece::Number, 2)
        } else if directories && rest.starts_with(b"{dir}") {
            (PathPiece::Directory, 5)
        } else {
            text.push(first);
            rest = tail;
            continue;
        };
        pieces.push(PathPiece::Text(std::mem::take(&mut text)));
        pieces.push(piece);
        rest = &rest[length..];
    }
    pieces.push(PathPiece::Text(text));
    pieces
}

/// Returns the directories that the user typed, joined to `base`.
pub(crate) fn typed(typed: &[PathBuf], base: &Path) -> Vec<PathBuf> {
    typed.iter().map(|path| if path.as_os_str().is_empty() { base.to_owned() } else { within(base, path) }).collect()
}

/// Returns the paths, joined to `base`.
pub(crate) fn paths_within(base: &Path, paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().map(|path| within(base, &path)).collect()
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
        let names = |path: &str| Names::Numbered { path: path.into(), count: 12, per_directory: None };
        let paths = Paths::new(&names("dir.{}/job.0.{}"), Path::new("/base"));
        assert_eq!((paths.count(), paths.path(11)), (12, PathBuf::from("/base/dir.11/job.0.11")));
        assert_eq!(Paths::new(&names("/abs/only"), Path::new("/base")).path(3), PathBuf::from("/abs/only"));
        assert_eq!(Paths::new(&names("{}"), Path::new(".")).path(3), PathBuf::from("3"));
        let tree = Names::Numbered { path: "r0/d{dir}/r0-f{}".into(), count: 6, per_directory: Some(3) };
        let tree = Paths::new(&tree, Path::new("/base"));
        assert_eq!((tree.path(2), tree.path(3)), ("/base/r0/d0/r0-f2".into(), "/base/r0/d1/r0-f0".into()));
        let said = Paths::new(&Names::Said(vec!["a".into(), "/b".into()]), Path::new("/base"));
        assert_eq!((said.path(0), said.path(1), said.path(2)), ("/base/a".into(), "/b".into(), PathBuf::new()));
    }
}
