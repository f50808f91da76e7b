//! A file system with one defect after the other. The case named for each defect must catch it: a suite
//! that cannot fail proves nothing.

use super::fuse::{self, Defect};
use crate::run::{Report, Request, run};
use crate::{Outcome, cases};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// Each defect, with the cases that must fail with it, and pass without it.
pub(super) const DEFECTS: &[(Defect, &[&str])] = &[
    (Defect::ChmodIgnored, &["chmod.sets"]),
    (Defect::ChownIgnored, &["chown.sets"]),
    (Defect::ModeLosesSpecialBits, &["chmod.special-bits"]),
    (Defect::LinkCountOne, &["make.link"]),
    (Defect::LinkIsCopy, &["make.link"]),
    (Defect::NewFilesAreRoots, &["make.owner"]),
    (Defect::SetgidIgnored, &["make.setgid-directory"]),
    (Defect::FifoRefused, &["make.fifo"]),
    (Defect::SymlinkCut, &["make.symlink"]),
    (Defect::UnlinkKeeps, &["unlink.removes"]),
    (Defect::UnlinkedIsDead, &["unlink.open-content"]),
    (Defect::UnlinkedHasLink, &["unlink.open-links"]),
    (Defect::RmdirTakesAll, &["rmdir.not-empty"]),
    (Defect::RmdirSaysBusy, &["rmdir.not-empty"]),
    (Defect::RenameKeepsOld, &["rename.moves"]),
    (Defect::RenameRefusesTarget, &["rename.replaces"]),
    (Defect::RenameWithGap, &["rename.atomic"]),
    (Defect::RenameChangesInode, &["rename.moves"]),
    (Defect::ExchangeReplaces, &["rename.exchange"]),
    (Defect::WriteLosesByte, &["write.extends", "append.moves-to-end"]),
    (Defect::WriteAtZero, &["write.extends", "append.atomic"]),
    (Defect::TruncateIgnored, &["truncate.sets", "open.trunc"]),
    (Defect::TruncateLeavesGarbage, &["truncate.sets", "truncate.shrink-then-grow"]),
    (Defect::SizeRounded, &["truncate.sets", "write.extends"]),
    (Defect::ReadStopsEarly, &["write.extends"]),
    (Defect::ChangeTimeFrozen, &["chmod.times[regular]", "link.times[regular]", "times.monotonic"]),
    (Defect::ModificationTimeFrozen, &["write.times", "truncate-longer.times"]),
    (Defect::DirectoryTimesFrozen, &["mkdir.times", "unlink.times[fifo]", "rename.times[regular]"]),
    (Defect::ReadChangesTimes, &["read.times"]),
    (Defect::OmitIgnored, &["utimensat.omit"]),
    (Defect::WholeSeconds, &["utimensat.nanoseconds"]),
    (Defect::WholeMicroseconds, &["times.granularity"]),
    (Defect::DeviceNumberLost, &["make.device-number"]),
    (Defect::Times32Bit, &["times.y2038", "times.clamped"]),
    (Defect::NoTimesBefore1970, &["times.before-1970"]),
    (Defect::ReaddirLosesEntry, &["readdir.lists", "readdir.under-change"]),
    (Defect::ReaddirRepeats, &["readdir.lists", "readdir.under-change"]),
    (Defect::NamesIgnoreCase, &["names.unicode"]),
    (Defect::NamesMustBeText, &["names.bytes"]),
    (Defect::NamesOf100, &["names.name-max"]),
    (Defect::LongNameIsMissing, &["names.name-max-errno"]),
    (Defect::SameInode, &["stat.dev-ino"]),
    (Defect::XattrForgets, &["xattr.sets", "xattr.survives"]),
    (Defect::XattrIgnoresFlags, &["xattr.create-replace"]),
    (Defect::XattrListsNothing, &["xattr.sets"]),
    (Defect::FallocateKeepsSize, &["fallocate.extends"]),
    (Defect::PunchKeepsData, &["fallocate.punch-hole"]),
    (Defect::SeekSkipsData, &["seek.hole-data", "seek.no-data-in-holes"]),
    (Defect::CopyRangeShifts, &["copy-range.copies"]),
    (Defect::FsyncFails, &["fsync.works"]),
    (Defect::ModeOfOpenMatters, &["open.mode-of-new"]),
    (Defect::LocksNotKept, &["locks.fcntl-excludes", "locks.ofd-excludes"]),
    (Defect::FlocksNotKept, &["locks.flock-excludes"]),
    (Defect::ErrorIsIo, &["rmdir.not-empty", "rename.not-empty"]),
    (Defect::Hangs, &["make.symlink"]),
    (
        Defect::NoPermissionChecks,
        &["mkdir.eacces-search", "unlink.eacces-parent", "open-read.permission[other]", "chmod.eperm-owner"],
    ),
];

const SERVED: &[Defect] = &{
    let mut served = [Defect::Nothing; DEFECTS.len() + 1];
    let mut at = 0;
    while at < DEFECTS.len() {
        served[at + 1] = DEFECTS[at].0;
        at += 1;
    }
    served
};

/// Runs cases on the file system with a defect; `None` if it cannot be mounted here.
fn found(number: usize, only: &[&str]) -> Option<Report> {
    let base = tempfile::tempdir().unwrap();
    let (source, place) = (base.path().join("source"), base.path().join("mounted"));
    for path in [&source, &place] {
        std::fs::create_dir(path).unwrap();
    }
    // Without this option the server must check permissions itself, and this one does not.
    let options = if SERVED[number] == Defect::NoPermissionChecks { "" } else { ",default_permissions" };
    fuse::serve(&source, &place, Arc::new(AtomicUsize::new(number)), SERVED, options, None).ok()?;
    // Without a defect nothing hangs, however busy the machine is.
    let limit = Duration::from_secs(if number == 0 { 120 } else { 2 });
    let report = run_on(&place, only, limit);
    fuse::stop(&place);
    Some(report)
}

fn run_on(place: &Path, only: &[&str], limit: Duration) -> Report {
    let directory = place.join("cases");
    std::fs::create_dir(&directory).unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    let only: Vec<String> = only.iter().map(|pattern| (*pattern).to_owned()).collect();
    let request = Request {
        directory: &directory,
        jobs: 2,
        only: &only,
        without: &[],
        limit,
        with_calls: false,
        repeat: true,
        in_user_namespace: false,
        progress: &mut |_, _| {},
        stop: &|| false,
    };
    run(request).unwrap()
}

pub(super) fn is_failure(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Fail(..) | Outcome::Timeout | Outcome::Broken(_))
}

#[test]
fn root_each_defect_is_caught_by_its_cases() {
    let all = cases();
    let mut every: Vec<&str> = DEFECTS.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
    every.sort_unstable();
    every.dedup();
    let Some(report) = found(0, &every) else {
        assert!(std::env::var_os("CI").is_none(), "FUSE cannot be mounted");
        return eprintln!("SKIPPED: FUSE cannot be mounted here: it needs root and /dev/fuse");
    };
    assert_eq!(report.done.len(), every.len());
    let mut wrong = Vec::new();
    for done in &report.done {
        if done.outcome != Outcome::Pass {
            wrong.push(format!("without a defect: {}: {:?}", all[done.case].id, done.outcome));
        }
    }
    for (index, (defect, ids)) in DEFECTS.iter().enumerate() {
        let report = found(index + 1, ids).unwrap();
        for id in *ids {
            let done = report.done.iter().find(|done| all[done.case].id == *id).unwrap();
            if !is_failure(&done.outcome) {
                wrong.push(format!("{defect:?}: {id}: {:?}", done.outcome));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
