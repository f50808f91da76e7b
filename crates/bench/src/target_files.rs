//! Cached pages and extents of the files of a phase's targets.

use plumb_engine::TargetView;
use plumb_probe::{extents, residency};
use plumb_result::Seen;
use plumb_result::observe::{Extents, Residency};
use std::collections::BTreeMap;

pub(crate) fn residency_of(targets: &[TargetView<'_>]) -> BTreeMap<String, Seen<Residency>> {
    of_files(targets, |target| {
        let seen = residency::sum(target.files.iter().map(|&file| residency::of_fd(file)));
        seen.map(|seen| Residency {
            total_bytes: of_all(target, seen.total_bytes),
            resident_bytes: of_all(target, seen.resident_bytes),
            dirty_bytes: of_all(target, seen.dirty_bytes),
            writeback_bytes: of_all(target, seen.writeback_bytes),
            ..seen
        })
    })
}

pub(crate) fn extents_of(targets: &[TargetView<'_>]) -> BTreeMap<String, Seen<Extents>> {
    of_files(targets, |target| {
        let seen = extents::sum(target.files.iter().map(|&file| extents::of_fd(file)));
        seen.map(|seen| Extents {
            total_bytes: of_all(target, seen.total_bytes),
            hole_bytes: of_all(target, seen.hole_bytes),
            unwritten_bytes: of_all(target, seen.unwritten_bytes),
            extents: of_all(target, seen.extents),
            encoded_bytes: of_all(target, seen.encoded_bytes),
            ..seen
        })
    })
}

/// Files with more extents than this are not listed a second time, because listing them takes as long as some phases.
const LISTED_AGAIN_MAX: u64 = 10_000;

/// Reads the extents of targets again whose files had few.
pub(crate) fn few_extents_of(
    targets: &[TargetView<'_>],
    before: &BTreeMap<String, Seen<Extents>>,
) -> BTreeMap<String, Seen<Extents>> {
    let has_few = |target: &&TargetView<'_>| {
        before.get(target.name).and_then(Seen::value).is_some_and(|seen| seen.extents <= LISTED_AGAIN_MAX)
    };
    extents_of(&targets.iter().filter(has_few).cloned().collect::<Vec<_>>())
}

/// Scales a sum over the examined files to all files of the target.
fn of_all(target: &TargetView<'_>, seen: u64) -> u64 {
    let (all, examined) = (target.file_count.max(target.files.len()) as u128, target.files.len().max(1) as u128);
    u64::try_from(u128::from(seen) * all / examined).unwrap_or(u64::MAX)
}

fn of_files<T>(targets: &[TargetView<'_>], read: impl Fn(&TargetView<'_>) -> Seen<T>) -> BTreeMap<String, Seen<T>> {
    let seen = |target: &TargetView<'_>| match (target.files.is_empty(), target.file_count) {
        (false, _) => read(target),
        (true, 0) => Seen::no("it has no files that are open all the time"),
        (true, count) => Seen::no(format!("none of its {count} files could be opened for checking")),
    };
    BTreeMap::from_iter(targets.iter().map(|target| (target.name.to_owned(), seen(target))))
}
