//! Options of planning a study.

use plumb_workload_text::native::Override;

/// Options of planning a study.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// One of the file's scales; `None` for the file without overrides.
    pub scale: Option<String>,
    /// Replaces the seed of the file.
    pub seed: Option<u64>,
    /// Allows fewer plots than a claim needs; every verdict is then `cannot-tell`.
    pub exploratory: bool,
    /// Declares the load of other programs a part of the set-up.
    pub under_load: bool,
    /// Changes by their full paths: `design.plots=2`.
    pub set: Vec<Override>,
    /// Hosts whose agents make the runs, instead of this machine or the hosts in the file.
    pub hosts: Vec<String>,
}
