//! Runs that this process makes by itself.

use super::super::begun::BegunRun;
use super::super::{Bench, RunRequest};
use super::{MeasuredRun, Mode, ResolvedRun};
use crate::fit::{Policies, fit};
use crate::outcome::RunError;
use crate::progress::Progress;
use plumb_engine::Part;

pub(in crate::run) struct Alone;

impl Mode for Alone {
    fn resolve(&self, bench: &Bench, request: &RunRequest<'_>) -> Result<ResolvedRun, RunError> {
        resolve_here(bench, request)
    }

    fn measure(
        &self,
        bench: &mut Bench,
        run: &BegunRun<'_>,
        progress: &mut dyn Progress,
    ) -> Result<MeasuredRun, RunError> {
        let work = run.work(bench, run.workload, Part::All);
        let (measured, own) =
            run.observe(bench, work, None, progress, |engine, stop, evidence| engine.measure(work, stop, evidence));
        progress.run_ended();
        Ok(MeasuredRun { measurement: measured?, own, of_ranks: None })
    }
}

/// Resolves a request for this host.
pub(super) fn resolve_here(bench: &Bench, request: &RunRequest<'_>) -> Result<ResolvedRun, RunError> {
    let mut workload = bench.resolve_here(request.workload, request.base)?;
    let not_had = match request.policies {
        Policies::AsWritten => Vec::new(),
        Policies::Fitted => fit(&mut workload, request.base),
    };
    Ok(ResolvedRun { workload, not_had })
}
