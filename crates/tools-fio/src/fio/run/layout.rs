//! Files to lay out before the run, for the first lines of normal output.

use plumb_tools_fio::fio::Fio;
use plumb_tools_fio::fio::lower::{Found, Lowered, Places};
use plumb_tools_fio::fio::print::MissingFiles;
use plumb_workload::{Backend, Target};
use std::collections::BTreeSet;

/// Returns the files of each copy that are too short and that no earlier copy lays out.
pub(super) fn layouts(fio: &Fio, lowered: &Lowered, places: &mut dyn Places) -> Vec<MissingFiles> {
    let mut seen = BTreeSet::new();
    let mut layouts = Vec::new();
    for copy in &lowered.jobs {
        let Some(group) = copy.group(&lowered.workload) else { continue };
        let (Some(Target::JobFiles(target)), Some(_)) =
            (lowered.workload.target.get(&group.target), group.work.stream())
        else {
            continue;
        };
        // Lowering has already inspected all files.
        if copy.fresh_files == 0 || group.files.create_on_open || !has_files(&group.backend) {
            continue;
        }
        let mut layout = MissingFiles { job: fio.jobs[copy.job].name.clone(), files: 0, bytes: 0 };
        for number in 0..target.names.count() {
            let (Some(path), Some(length)) =
                (target.names.path(number), target.lengths.get(number).or(target.lengths.last()))
            else {
                continue;
            };
            let present = match places.find(&path.to_string_lossy()) {
                Found::Absent => 0,
                Found::Regular { bytes } => bytes,
                // Devices have a fixed length.
                _ => continue,
            };
            if present < length.0 && seen.insert(path) {
                layout.files += 1;
                layout.bytes += length.0;
            }
        }
        if layout.files > 0 {
            layouts.push(layout);
        }
    }
    layouts
}

/// Whether a backend works within files, so that they need a length.
fn has_files(backend: &Backend) -> bool {
    !matches!(backend, Backend::Null | Backend::Sim | Backend::Files(_) | Backend::Socket { .. } | Backend::Truncate)
}
