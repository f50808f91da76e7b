//! Files shared by several runs.

use crate::run::{Bench, RunError};
use plumb_engine::{EngineError, KeptFiles};
use plumb_workload::{Target, Workload};
use std::path::Path;

/// Runs a closure whose runs share the workload's targets with relative paths. Each of their files is laid out once and
/// removed at the end. The second value is a message about files that could not be removed; an error of the closure
/// drops it.
pub fn with_kept_files<T, E: From<RunError>>(
    bench: &mut Bench,
    workload: &Workload,
    base: &Path,
    label: &str,
    run: impl FnOnce(&mut Bench) -> Result<T, E>,
) -> Result<(T, Option<String>), E> {
    let has_files = workload.target.values().any(|target| {
        matches!(target, Target::File(file) if file.path.is_relative())
            || matches!(target, Target::Files(files) if files.path.is_relative())
    });
    if has_files && bench.keeps_files() {
        let kept = KeptFiles::create(&bench.engine.test_dirs, base, label);
        bench.engine.kept = Some(kept.map_err(|error| RunError::Engine(EngineError::TestDir(error)))?);
    }
    let outcome = run(bench);
    let removed = bench.engine.kept.take().map_or(Ok(()), KeptFiles::remove);
    let left_behind =
        removed.err().map(|error| format!("cannot clean up: {error}; `plumb clean` removes what is left"));
    Ok((outcome?, left_behind))
}
