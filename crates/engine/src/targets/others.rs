//! Replaces a process's own files with those of another process, for a phase that only reads. A process may find data
//! that it wrote itself in its own cache.

use super::{FileSet, OpenFiles, OpenTarget, OpenTargets, OpenTree, TargetContext, TreeRoot};
use crate::guard::IoMode;
use crate::observer::Observer;
use crate::others::number;
use crate::prepare::PrepareError;
use crate::program::TreeState;
use crate::terms::Stamping;
use crate::tree::{TreeError, TreeShape};
use plumb_workload::{Phase, Target, Workload};
use rustix::fs::OFlags;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// A process's own targets, set aside while files of another process replace them.
#[derive(Default)]
pub(crate) struct Aside(Vec<(String, OpenTarget)>);

/// Location and state of a target's files, as one process sends them to another.
#[derive(Debug, PartialEq, Eq)]
struct Offer<'a> {
    /// Seed of the block stamps, or of the sizes of a file set.
    seed: u64,
    /// Path of the first file, or root of a file set. Empty if the contents are unknown.
    path: &'a Path,
    /// See [`TreeState::to_bytes`].
    state: &'a [u8],
}

impl<'a> Offer<'a> {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.seed.to_le_bytes());
        for part in [self.path.as_os_str().as_bytes(), self.state] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
    }

    /// Reads the first offer and advances `bytes` past it.
    fn read(bytes: &mut &'a [u8]) -> Option<Offer<'a>> {
        let seed = number(bytes)?;
        let mut part = || {
            let length = number(bytes)?;
            let (part, rest) = bytes.split_at_checked(length.try_into().ok()?)?;
            *bytes = rest;
            Some(part)
        };
        Some(Offer { seed, path: Path::new(OsStr::from_bytes(part()?)), state: part()? })
    }
}

/// Error from using the files of another process.
#[derive(Debug, thiserror::Error)]
enum OthersError {
    /// The message could not be parsed.
    #[error("its message cannot be read")]
    Message,
    /// The other process itself does not know which of its files remain.
    #[error("the contents of its file set are unknown")]
    Unknown,
    /// The files cannot be opened. The message omits paths, so that all ranks that fail alike print the same text.
    #[error("{0}")]
    Open(#[source] std::io::Error),
    #[error(transparent)]
    Prepare(PrepareError),
    #[error(transparent)]
    Shape(#[from] TreeError),
}

impl From<PrepareError> for OthersError {
    fn from(error: PrepareError) -> OthersError {
        match error {
            PrepareError::Read { source, .. } => OthersError::Open(source),
            error => OthersError::Prepare(error),
        }
    }
}

impl OpenTargets {
    /// Replaces the targets of a read-only phase with those of another process, if there is one. A target that cannot
    /// be opened keeps the own files, and `fallbacks` names it.
    pub(crate) fn use_others_files(
        &mut self,
        phase: &Phase,
        surroundings: &TargetContext<'_>,
        observer: &mut dyn Observer,
        fallbacks: &mut Vec<String>,
    ) -> Aside {
        let workload = surroundings.workload;
        let mut names = workload.read_of_others(phase).peekable();
        let mut aside = Aside::default();
        if names.peek().is_none() {
            return aside;
        }
        let offers = || self.offers(workload, phase);
        let Some(bytes) = observer.exchange_files(&offers) else { return aside };
        let mut rest = bytes.as_slice();
        for name in names {
            let taken = match Offer::read(&mut rest) {
                Some(offer) => self.of_others(name, &offer, workload),
                None => Err(OthersError::Message),
            };
            match taken {
                Ok(target) => {
                    let own = self.targets.insert(name.to_owned(), target);
                    aside.0.extend(own.map(|own| (name.to_owned(), own)));
                }
                Err(why) => fallbacks.push(format!(
                    "reads-own: a rank reads its own files of `{name}`, because it cannot read those of another rank: {why}"
                )),
            }
        }
        aside
    }

    /// Restores the process's own files.
    pub(crate) fn restore_own_files(&mut self, aside: Aside) {
        self.targets.extend(aside.0);
    }

    /// Writes an offer for each target that another process reads, after flushing its files.
    fn offers(&self, workload: &Workload, phase: &Phase) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        for name in workload.read_of_others(phase) {
            let (mut seed, mut path, mut state) = (0, Path::new(""), Vec::new());
            match self.targets.get(name) {
                Some(OpenTarget::Files(open)) => {
                    for file in &open.files {
                        // The client of a network file system may still hold written data.
                        let done = file.file().sync_data();
                        done.map_err(|error| format!("cannot flush {}: {error}", file.path().display()))?;
                    }
                    seed = open.stamping.map_or(0, |stamping| stamping.seed);
                    path = open.files.iter().next().map_or(path, |file| file.path());
                }
                Some(OpenTarget::Tree(tree)) => {
                    if let Some(known) = &tree.files.state {
                        (seed, path, state) = (workload.seed, tree.path(), known.to_bytes());
                    }
                }
                _ => {}
            }
            Offer { seed, path, state: &state }.write(&mut bytes);
        }
        Ok(bytes)
    }

    /// Opens the files that another process offers as a replacement for an own target.
    fn of_others(&self, name: &str, offer: &Offer<'_>, workload: &Workload) -> Result<OpenTarget, OthersError> {
        if offer.path.as_os_str().is_empty() {
            return Err(OthersError::Unknown);
        }
        match (self.targets.get(name), workload.target.get(name)) {
            (Some(OpenTarget::Files(own)), _) => {
                let files = own.files.of_others(offer.path)?;
                let stamping = own.stamping.map(|own| Stamping { seed: offer.seed, ..own });
                let OpenFiles { kind, content, .. } = *own;
                Ok(OpenTarget::Files(OpenFiles { files, kind, mode: IoMode::Buffered, content, stamping }))
            }
            (Some(OpenTarget::Tree(own)), Some(Target::Tree(target))) => {
                let shape = Arc::new(TreeShape::new(target, offer.seed)?);
                let state = TreeState::from_bytes(Arc::clone(&shape), offer.state).ok_or(OthersError::Unknown)?;
                let fd = plumb_probe::read_only::open(offer.path, OFlags::DIRECTORY);
                let fd = fd.map_err(|error| OthersError::Open(error.into()))?;
                let root = TreeRoot::OfOthers { fd, path: offer.path.to_owned() };
                let files = FileSet { shape, state: Some(state) };
                Ok(OpenTarget::Tree(OpenTree { root, files, content: own.content }))
            }
            _ => Err(OthersError::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_round_trip_and_truncated_ones_are_rejected() {
        let one = Offer { seed: 7, path: Path::new("/mnt/a b/data.0"), state: b"" };
        let other = Offer { seed: u64::MAX, path: Path::new(""), state: b"state" };
        let mut bytes = Vec::new();
        one.write(&mut bytes);
        other.write(&mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!((Offer::read(&mut rest), Offer::read(&mut rest)), (Some(one), Some(other)));
        assert_eq!(Offer::read(&mut rest), None);
        for length in 0..bytes.len() {
            let mut cut = &bytes[..length];
            assert!(Offer::read(&mut cut).is_none() || Offer::read(&mut cut).is_none(), "{length}");
        }
    }
}
