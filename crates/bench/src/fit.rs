//! Adapts cache policies to the storage.

use plumb_probe::stack;
use plumb_workload::{CachePolicy, Target, Workload};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The origin of a workload's cache policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policies {
    /// Set by the user: a policy that the storage cannot provide is refused.
    AsWritten,
    /// Set by Plumb for a named workload that must run anywhere: a policy that the storage cannot provide
    /// is dropped, with a note.
    Fitted,
}

/// A request of a phase that could not be met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotHad {
    pub(crate) phase: String,
    /// The request, the reason, and the substitute.
    pub(crate) note: String,
}

/// Replaces `cold` and `direct` by `as-is` if test data is in memory, where there is no cache to empty or to bypass.
pub(crate) fn fit(workload: &mut Workload, base: &Path) -> Vec<NotHad> {
    // Reading a device stack takes longer than a whole simulated run, so only do it where it matters.
    let in_directory = |target: &Target| matches!(target, Target::File(_) | Target::Files(_) | Target::Tree(_));
    if !workload.target.values().any(in_directory) {
        return Vec::new();
    }
    let Some(kind) = memory_kind(base) else { return Vec::new() };
    let mut not_had = Vec::new();
    for phase in &mut workload.phase {
        let (requested, reason) = match phase.cache {
            CachePolicy::Cold => ("a cold cache", "can never be cold"),
            CachePolicy::Direct => ("bypassing the cache", "has no device below its cache"),
            CachePolicy::AsIs | CachePolicy::Warm => continue,
        };
        let in_test_directory = |name: &String| workload.target.get(name).is_some_and(Target::is_in_test_dir);
        if !phase.workers.iter().all(|group| in_test_directory(&group.target)) {
            continue;
        }
        phase.cache = CachePolicy::AsIs;
        let note = format!("{requested}: not possible, because {kind} is in memory and {reason}; measured as it is");
        not_had.push(NotHad { phase: phase.name.clone(), note });
    }
    not_had
}

/// Returns the kind of the file system under a path if it is in memory.
fn memory_kind(base: &Path) -> Option<String> {
    let facts = stack::of_path(base);
    facts.filesystem.value().filter(|filesystem| filesystem.in_memory).map(|filesystem| filesystem.kind.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload_text::named::{RunPlace, Scale, try_workload};

    #[test]
    fn storage_in_memory_is_accepted_and_each_phase_reports_it() {
        let shm = Path::new("/dev/shm");
        if memory_kind(shm).as_deref() != Some("tmpfs") {
            assert!(std::env::var_os("CI").is_none(), "needs a tmpfs on /dev/shm");
            return eprintln!("SKIPPED: there is no tmpfs on /dev/shm");
        }
        let mut workload = try_workload(&Scale::moderate(RunPlace::Directory));
        let asking = |workload: &Workload| {
            let asks = |policy| matches!(policy, CachePolicy::Cold | CachePolicy::Direct);
            workload.phase.iter().filter(|phase| asks(phase.cache)).map(|phase| phase.name.clone()).collect::<Vec<_>>()
        };
        let asked = asking(&workload);
        let not_had = fit(&mut workload, shm);
        assert!(!asked.is_empty());
        assert_eq!(not_had.iter().map(|one| one.phase.clone()).collect::<Vec<_>>(), asked);
        assert!(not_had.iter().all(|one| one.note.contains("tmpfs is in memory")));
        assert_eq!(asking(&workload), [""; 0]);
    }

    #[test]
    fn other_storage_keeps_its_policies() {
        let sys = Path::new("/proc");
        let mut workload = try_workload(&Scale::moderate(RunPlace::Directory));
        let before = workload.clone();
        assert_eq!(fit(&mut workload, sys), []);
        assert_eq!(workload, before);
    }
}
