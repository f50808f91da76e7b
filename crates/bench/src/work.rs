//! The engine's input for a run.

use plumb_engine::Part;
use plumb_engine::sim::{CarriedDebt, SimRun};
use plumb_workload::Workload;
use std::path::Path;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) workload: &'a Workload,
    /// The workers that this process runs.
    pub(crate) part: Part,
    pub(crate) base: &'a Path,
    pub(crate) content_seed: u64,
    pub(crate) sim_run: SimRun,
    pub(crate) sim_debt: CarriedDebt,
}
