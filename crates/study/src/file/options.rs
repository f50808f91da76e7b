//! How a study is to be planned.

use plumb_workload_text::native::Override;

/// How a study is to be planned.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// One of the file's scales; the file as it stands when absent.
    pub scale: Option<String>,
    /// Seed in place of the file's.
    pub seed: Option<u64>,
    /// Allow fewer plots than a claim needs; no verdict but `cannot-tell` then.
    pub exploratory: bool,
    /// Declare the load of other programs a part of the set-up.
    pub under_load: bool,
    /// Changes by their full paths: `design.plots=2`.
    pub set: Vec<Override>,
    /// Hosts whose agents make the runs, in place of this machine or of those that the file names.
    pub hosts: Vec<String>,
}
