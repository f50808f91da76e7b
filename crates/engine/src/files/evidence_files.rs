//! A job's files, open so that the evidence about them can be read. Workers open their own, perhaps in other processes.

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

/// This many files of all targets of a phase together are checked; of more, some that are evenly spread.
const FILES_MAX: usize = 256;

/// Descriptors that are left to others.
const SPARE_DESCRIPTORS: usize = 1000;

/// Files of one target, open to be checked.
pub(crate) struct EvidenceFiles {
    pub(crate) name: String,
    files: Vec<File>,
    /// How many it has.
    count: usize,
    /// There are more targets than are checked, and it is none of those.
    passed_over: bool,
}

impl EvidenceFiles {
    /// One file under its own name; `None` where it keeps nothing to look at.
    pub(crate) fn of_file(name: &str, path: &Path) -> Option<EvidenceFiles> {
        // To open a pipe or a terminal is something that others see.
        let kind = path.metadata().ok()?.file_type();
        let keeps = kind.is_file() || kind.is_block_device();
        let fd = keeps.then(|| {
            crate::raw_open::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, rustix::fs::Mode::empty())
        })?;
        Some(EvidenceFiles { name: name.to_owned(), files: vec![File::from(fd.ok()?)], count: 1, passed_over: false })
    }

    /// Whether not all files are open.
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

    /// Puts the files into a view of the target.
    pub(crate) fn fill<'a>(&'a self, view: &mut TargetView<'a>) {
        view.files = self.files.iter().map(AsFd::as_fd).collect();
        view.file_count = self.count;
    }
}

/// Says that some targets of a phase are not checked; `None` where all are.
pub(crate) fn note(evidence: &[EvidenceFiles]) -> Option<String> {
    let passed_over = evidence.iter().filter(|files| files.passed_over).count();
    (passed_over > 0).then(|| {
        format!(
            "evidence: {} of the phase's {} targets were checked, as many as can be open at once; checks that need all of \
             them (what was in memory, written to the device, or never written) are skipped",
            evidence.len() - passed_over,
            evidence.len()
        )
    })
}

/// How descriptors are shared out.
struct Share {
    /// Files of one target.
    each: usize,
    /// One of this many targets is checked.
    step: usize,
}

fn share(targets: usize) -> Share {
    let targets = targets.max(1);
    Share { each: (FILES_MAX / targets).max(1), step: targets.div_ceil(FILES_MAX) }
}

/// Files under names of their own, that can be checked.
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

/// Whether a group's files are open while it works.
fn has_open_files(group: &WorkerGroup) -> bool {
    match &group.work {
        Work::Blocks(_) => FileUse::of(&group.backend) == FileUse::Opened,
        Work::Program(program) => program.is_over_file_set() || program.transfers().next().is_some(),
        Work::Copy(_) | Work::Replay(_) => true,
        Work::Net(_) => false,
    }
}

/// Opens what the workers of a phase have open. What cannot be opened is not checked.
pub(crate) fn open<'a>(phase: &Phase, targets: impl Iterator<Item = (&'a str, Named<'a>)>) -> Vec<EvidenceFiles> {
    // A file that is open is removed more cheaply: where calls on names are measured, nothing is open.
    let is_checked = |name: &str| {
        let mut groups = phase.workers.iter().filter(|group| group.target == name);
        groups.clone().next().is_some() && groups.all(has_open_files)
    };
    let wanted: Vec<_> = targets.filter(|(name, _)| is_checked(name)).collect();
    let Share { each, step } = share(wanted.len());
    // Where it cannot be raised, there are fewer.
    let _ = allow_open_files(FILES_MAX + SPARE_DESCRIPTORS);
    let open = |(place, (name, target)): (usize, (&str, Named<'_>))| {
        let count = target.count();
        let passed_over = !place.is_multiple_of(step);
        let taken = if passed_over { 0 } else { each.min(count) };
        let mut door = target.door();
        let files = (0..taken)
            .filter_map(|place| door.open_to_read(&target.path(place * count / taken), OFlags::NONBLOCK).ok())
            .collect();
        EvidenceFiles { name: name.to_owned(), files, count, passed_over }
    };
    wanted.into_iter().enumerate().map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of ten thousand jobs must leave descriptors to its workers.
    #[test]
    fn the_number_of_descriptors_is_bounded() {
        for targets in [0, 1, 3, 255, 256, 257, 10_000] {
            let Share { each, step } = share(targets);
            let opened = each * targets.div_ceil(step);
            assert!(opened <= FILES_MAX, "{targets}: {opened}");
            assert!(targets == 0 || opened >= FILES_MAX / 2, "{targets}: {opened}");
        }
    }

    /// Who reads the evidence must know that it is of a part.
    #[test]
    fn targets_that_are_passed_over_are_told() {
        let evidence = |passed_over: &[bool]| -> Vec<EvidenceFiles> {
            let files = |&passed_over| EvidenceFiles { name: String::new(), files: Vec::new(), count: 1, passed_over };
            passed_over.iter().map(files).collect()
        };
        assert_eq!(note(&evidence(&[false, false])), None);
        let told = note(&evidence(&[false, true, false, true, true])).unwrap();
        assert!(told.starts_with("evidence: 2 of the phase's 5 targets were checked"), "{told}");
    }
}
