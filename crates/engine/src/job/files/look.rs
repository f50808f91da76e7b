//! Descriptors of a job's files for looking at: workers open theirs for themselves, in other processes perhaps.

use super::open::allow_open_files;
use super::{FileUse, JobTarget};
use crate::observer::TargetView;
use plumb_workload::{Phase, Work};
use rustix::fs::OFlags;
use std::fs::File;
use std::os::fd::AsFd;

/// So many files of all targets of a phase together are looked at; of more, some that are evenly spread.
const LOOKED_MAX: usize = 256;

/// Descriptors that are left to others.
const SPARE_DESCRIPTORS: usize = 1000;

/// Files of one target, open to be looked at.
pub(crate) struct Look {
    pub(crate) name: String,
    files: Vec<File>,
    /// How many it has.
    count: usize,
}

impl Look {
    /// Whether not all files are open.
    pub(crate) fn note(&self) -> Option<String> {
        let Look { name, files, count } = self;
        (!files.is_empty() && files.len() < *count).then(|| {
            format!(
                "evidence: {} of the {count} files of `{name}` were looked at; how much of all was in memory, or never \
                 written, is reckoned from them",
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

/// How descriptors are shared out.
struct Share {
    /// Files of one target.
    each: usize,
    /// One of so many targets is looked at.
    step: usize,
}

fn share(targets: usize) -> Share {
    let targets = targets.max(1);
    Share { each: (LOOKED_MAX / targets).max(1), step: targets.div_ceil(LOOKED_MAX) }
}

/// Opens what the workers of a phase have open. What cannot be opened is not looked at.
pub(crate) fn look<'a>(phase: &Phase, targets: impl Iterator<Item = (&'a str, &'a JobTarget)>) -> Vec<Look> {
    // A file that is open is removed more cheaply: where calls on names are measured, nothing is open.
    let is_looked_at = |name: &str| {
        let mut groups = phase.workers.iter().filter(|group| group.target == name);
        groups.clone().next().is_some()
            && groups.all(|group| !matches!(group.work, Work::Job(_)) || FileUse::of(&group.backend) == FileUse::Opened)
    };
    let wanted: Vec<_> = targets.filter(|(name, _)| is_looked_at(name)).collect();
    let Share { each, step } = share(wanted.len());
    // Where it cannot be raised, there are fewer.
    let _ = allow_open_files(LOOKED_MAX + SPARE_DESCRIPTORS);
    let open = |name: &str, target: &JobTarget| {
        let count = target.paths.count();
        let taken = each.min(count);
        let mut door = target.door();
        let files = (0..taken)
            .filter_map(|place| door.open_to_read(&target.paths.path(place * count / taken), OFlags::NONBLOCK).ok())
            .collect();
        Look { name: name.to_owned(), files, count }
    };
    wanted.into_iter().step_by(step).map(|(name, target)| open(name, target)).collect()
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
            assert!(opened <= LOOKED_MAX, "{targets}: {opened}");
            assert!(targets == 0 || opened >= LOOKED_MAX / 2, "{targets}: {opened}");
        }
    }
}
