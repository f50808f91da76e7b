//! A job's files, open for the evidence checks. Workers open their own descriptors, perhaps in other processes.

use super::open::allow_open_files;
use super::{FileUse, JobTarget};
use crate::guard::Door;
use crate::observer::TargetView;
use crate::program::ScratchFiles;
use plumb_workload::{Phase, Work, WorkerGroup};
use rustix::fs::OFlags;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Maximum number of files to check, over all targets of a phase. If there are more, an
/// evenly spread sample is checked.
const FILES_MAX: usize = 256;

/// Descriptors to leave free for other purposes.
const SPARE_DESCRIPTORS: usize = 1000;

/// Files of one target, open for checks.
pub(crate) struct EvidenceFiles {
    pub(crate) name: String,
    files: Vec<File>,
    /// Total number of files of the target.
    count: usize,
    /// The target was left out of the sample, because the phase has too many targets.
    skipped: bool,
}

impl EvidenceFiles {
    /// Opens one file under its own name; `None` if it stores no data to check.
    pub(crate) fn open_file(name: &str, path: &Path) -> Option<EvidenceFiles> {
        // Opening a pipe or a terminal has visible effects on others.
        let kind = path.metadata().ok()?.file_type();
        let stores_data = kind.is_file() || kind.is_block_device();
        let fd = stores_data.then(|| {
            crate::raw_open::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, rustix::fs::Mode::empty())
        })?;
        Some(EvidenceFiles { name: name.to_owned(), files: vec![File::from(fd.ok()?)], count: 1, skipped: false })
    }

    /// Returns a note if only some of the files are open.
    pub(crate) fn note(&self) -> Option<String> {
        let EvidenceFiles { name, files, count, .. } = self;
        (!files.is_empty() && files.len() < *count).then(|| {
            format!(
                "evidence: {} of the {count} files of `{name}` were checked; the share in memory and the share never \
                 written are estimated from them",
                files.len()
            )
        })
    }

    /// Adds the files to a view of the target.
    pub(crate) fn fill<'a>(&'a self, view: &mut TargetView<'a>) {
        view.files = self.files.iter().map(AsFd::as_fd).collect();
        view.file_count = self.count;
    }
}

/// Returns a note if some targets of a phase are not checked; `None` if all are.
pub(crate) fn note(evidence: &[EvidenceFiles]) -> Option<String> {
    let skipped = evidence.iter().filter(|files| files.skipped).count();
    (skipped > 0).then(|| {
        format!(
            "evidence: {} of the phase's {} targets were checked, as many as can be open at once; checks that need all of \
             them (what was in memory, written to the device, or never written) are skipped",
            evidence.len() - skipped,
            evidence.len()
        )
    })
}

/// Division of the descriptors among targets.
struct Share {
    /// Number of files per target.
    each: usize,
    /// One in this many targets is checked.
    step: usize,
}

fn share(targets: usize) -> Share {
    let targets = targets.max(1);
    Share { each: (FILES_MAX / targets).max(1), step: targets.div_ceil(FILES_MAX) }
}

/// Named files that can be checked.
#[derive(Clone, Copy)]
pub(crate) enum Named<'a> {
    Job(&'a JobTarget),
    Scratch(&'a ScratchFiles),
}

impl Named<'_> {
    fn count(self) -> usize {
        match self {
            Named::Job(target) => target.paths.count(),
            Named::Scratch(files) => files.count(),
        }
    }

    fn path(self, number: usize) -> PathBuf {
        match self {
            Named::Job(target) => target.paths.path(number),
            Named::Scratch(files) => files.path(number),
        }
    }

    fn door(self) -> Door {
        match self {
            Named::Job(target) => target.door(),
            Named::Scratch(files) => files.door(),
        }
    }
}

/// Returns `true` if a group's files are open while it works.
fn has_open_files(group: &WorkerGroup) -> bool {
    match &group.work {
        Work::Blocks(_) => FileUse::for_backend(&group.backend) == FileUse::Opened,
        Work::Program(program) => program.is_over_file_set() || program.transfers().next().is_some(),
        Work::Copy(_) | Work::Replay(_) => true,
        Work::Net(_) => false,
    }
}

/// Opens the files that the workers of a phase have open. Files that cannot be opened are not checked.
pub(crate) fn open<'a>(phase: &Phase, targets: impl Iterator<Item = (&'a str, Named<'a>)>) -> Vec<EvidenceFiles> {
    // An open file is costlier to remove. If path-based calls are measured, open nothing.
    let is_checked = |name: &str| {
        let mut groups = phase.workers.iter().filter(|group| group.target == name);
        groups.clone().next().is_some() && groups.all(has_open_files)
    };
    let wanted: Vec<_> = targets.filter(|(name, _)| is_checked(name)).collect();
    let Share { each, step } = share(wanted.len());
    // If the limit cannot be raised, fewer files are checked.
    let _ = allow_open_files(FILES_MAX + SPARE_DESCRIPTORS);
    let open = |(place, (name, target)): (usize, (&str, Named<'_>))| {
        let count = target.count();
        let skipped = !place.is_multiple_of(step);
        let taken = if skipped { 0 } else { each.min(count) };
        let mut door = target.door();
        let files = (0..taken)
            .filter_map(|place| door.open_to_read(&target.path(place * count / taken), OFlags::NONBLOCK).ok())
            .collect();
        EvidenceFiles { name: name.to_owned(), files, count, skipped }
    };
    wanted.into_iter().enumerate().map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the workers: a run with ten thousand jobs must leave them descriptors.
    #[test]
    fn the_number_of_descriptors_is_bounded() {
        for targets in [0, 1, 3, 255, 256, 257, 10_000] {
            let Share { each, step } = share(targets);
            let opened = each * targets.div_ceil(step);
            assert!(opened <= FILES_MAX, "{targets}: {opened}");
            assert!(targets == 0 || opened >= FILES_MAX / 2, "{targets}: {opened}");
        }
    }

    /// Protects readers of the evidence: they must know that it covers only a part.
    #[test]
    fn skipped_targets_are_reported() {
        let evidence = |skipped: &[bool]| -> Vec<EvidenceFiles> {
            let files = |&skipped| EvidenceFiles { name: String::new(), files: Vec::new(), count: 1, skipped };
            skipped.iter().map(files).collect()
        };
        assert_eq!(note(&evidence(&[false, false])), None);
        let text = note(&evidence(&[false, true, false, true, true])).unwrap();
        assert!(text.starts_with("evidence: 2 of the phase's 5 targets were checked"), "{text}");
    }
}
