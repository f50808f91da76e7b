//! Loads from files at another scale, and on simulated devices.
//!
//! A native file states its sizes for [`Scale::moderate`]. Everything with a size or a length keeps its proportion to
//! that. On a simulated device, each target becomes a range or a file set of the same size.

use super::{MIB, NamedWorkload, RunPlace, Scale};
use crate::native;
use plumb_workload::phase::{Phase, WorkerGroup};
use plumb_workload::target::{SimTarget, Target};
use plumb_workload::units::{Bytes, Nanos, Size};
use plumb_workload::{SimDevice, Workload};
use std::collections::BTreeMap;

/// Minimum number of files that each worker of a file set owns. With fewer, there is nothing to choose from.
const FILES_PER_WORKER: u64 = 4;

/// Minimum size, with room for the largest block of any load.
const LEAST_BYTES: u64 = 4 * MIB;

/// Size below which another scale changes the number of files. Larger files change their size instead.
const SMALL_FILE_BYTES: u64 = 2 * LEAST_BYTES;

/// Minimum number of files, which is the number that readers start with.
const LEAST_FILES: u32 = 8;

/// Maximum number of files that can be open at once.
const MOST_FILES: u32 = 1 << 20;

/// Returns the workload of a file in [`super::LOADS`], at a scale.
///
/// # Panics
/// If the file is not a valid workload. A test reads all of them.
pub(super) fn written(named: &NamedWorkload, text: &str, scale: &Scale) -> Workload {
    let mut workload = native::parse(named.name, text).unwrap_or_else(|error| panic!("{error}"));
    named.about.clone_into(&mut workload.description);
    workload.seed = scale.seed;
    let by = Proportions::from_scale(scale);
    for target in workload.target.values_mut() {
        by.scale_target(target);
    }
    let Workload { target: targets, phase: phases, .. } = &mut workload;
    for phase in phases {
        by.scale_phase(phase, targets);
    }
    if let RunPlace::Sim(device) = &scale.place {
        for target in workload.target.values_mut() {
            if let Some(simulated) = on(device, target) {
                *target = simulated;
            }
        }
        // A simulated device keeps no data that could be verified.
        workload.phase.iter_mut().flat_map(|phase| &mut phase.workers).for_each(|group| group.verify = None);
    }
    workload
}

/// A scale relative to the moderate one.
struct Proportions {
    bytes: f64,
    files: f64,
    time: f64,
    files_most: u64,
}

impl Proportions {
    fn from_scale(scale: &Scale) -> Proportions {
        let written = Scale::moderate(RunPlace::Directory);
        let share = |wanted: u64, written: u64| wanted as f64 / written as f64;
        Proportions {
            bytes: share(scale.file_bytes, written.file_bytes),
            files: share(scale.files(), written.files),
            time: share(scale.time_ns.max(1), written.time_ns),
            files_most: scale.files(),
        }
    }

    /// Scales sizes of one MiB and more to whole MiB. At the moderate scale, all sizes stay exact.
    fn scale_bytes(&self, bytes: &mut Bytes) {
        if self.bytes != 1.0 && bytes.0 >= MIB {
            let wanted = (bytes.0 as f64 * self.bytes).min(i64::MAX as f64) as u64;
            *bytes = Bytes((wanted / MIB * MIB).max(bytes.0.min(LEAST_BYTES)));
        }
    }

    /// Scales an offset, which may become 0.
    fn scale_offset(&self, offset: &mut Bytes) {
        if self.bytes != 1.0 {
            *offset = Bytes((offset.0 as f64 * self.bytes).min(i64::MAX as f64) as u64 / MIB * MIB);
        }
    }

    fn scale_size(&self, size: &mut Size) {
        if let Size::Bytes(bytes) = size {
            self.scale_bytes(bytes);
        }
    }

    fn scale_files(&self, files: u64) -> u64 {
        ((files as f64 * self.files) as u64).max(FILES_PER_WORKER)
    }

    fn scale_time(&self, time: &mut Nanos) {
        if time.0 > 0 {
            *time = Nanos(((time.0 as f64 * self.time) as u64).max(1));
        }
    }

    fn scale_target(&self, target: &mut Target) {
        match target {
            Target::File(file) => file.size.iter_mut().for_each(|size| self.scale_size(size)),
            Target::Files(files) if files.size.fixed().is_some_and(|bytes| bytes.0 < SMALL_FILE_BYTES) => {
                let count = (f64::from(files.count) * self.bytes) as u32;
                files.count = count.clamp(LEAST_FILES, MOST_FILES);
            }
            Target::Files(files) => self.scale_size(&mut files.size),
            Target::Tree(tree) => tree.files = self.scale_files(tree.files),
            _ => {}
        }
    }

    fn scale_phase(&self, phase: &mut Phase, targets: &BTreeMap<String, Target>) {
        let is_tree = |group: &WorkerGroup| matches!(targets.get(&group.target), Some(Target::Tree(_)));
        let length_of = |target: &str| match targets.get(target) {
            Some(Target::File(file)) => Some(file.size?.fixed()?.0),
            Some(Target::Files(files)) => files.size.fixed()?.0.checked_mul(u64::from(files.count)),
            _ => None,
        };
        phase.stop.time.iter_mut().for_each(|time| self.scale_time(time));
        phase.stop.bytes.iter_mut().for_each(|bytes| self.scale_bytes(bytes));
        self.scale_time(&mut phase.ramp);
        for group in &mut phase.workers {
            if is_tree(group) {
                let most = (self.files_most / FILES_PER_WORKER).max(1);
                group.count = group.count.min(u32::try_from(most).unwrap_or(u32::MAX));
                group.limit.passes = group.limit.passes.map(|passes| self.scale_files(passes));
            }
            if let Some(own) = group.work.blocks_mut() {
                own.span.iter_mut().for_each(|span| self.scale_bytes(span));
                self.scale_offset(&mut own.offset);
                self.scale_offset(&mut own.offset_increment);
                // Rounding and the minimum size must not move a range beyond the end of its file.
                if let (Some(span), Some(most)) = (&mut own.span, length_of(&group.target)) {
                    span.0 = span.0.min(most);
                    own.offset.0 = own.offset.0.min(most - span.0);
                    let last = own.offset_increment.0.saturating_mul(u64::from(group.count.max(1)) - 1);
                    if last > most - span.0 - own.offset.0 {
                        own.offset_increment = Bytes(0);
                    }
                }
            }
        }
    }
}

/// Returns a target on files as a simulated device; `None` if it is not in the test directory.
fn on(device: &SimDevice, target: &Target) -> Option<Target> {
    let most = |bytes: u64| Bytes(bytes.min(i64::MAX as u64));
    let range = |bytes: u64| SimTarget {
        device: device.clone(),
        size: most(bytes),
        files: None,
        preallocated_percent: 0,
        shares: None,
    };
    let simulated = match target {
        Target::File(file) => range(file.size?.fixed()?.0),
        Target::Files(files) => range(files.size.fixed()?.0.saturating_mul(u64::from(files.count))),
        Target::Tree(tree) => SimTarget {
            files: Some(tree.files),
            preallocated_percent: tree.preallocated_percent,
            ..range(tree.files.saturating_mul(tree.size.mean().0.max(1)))
        },
        _ => return None,
    };
    Some(Target::Sim(simulated))
}
