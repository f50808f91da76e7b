//! All data of a study: its plan, its plots, its runs and their results.

use crate::conduct::{BuildRecord, FrozenStudy};
use crate::plan::{HostPlan, Plan};
use plumb_document::json::JsonError;
use plumb_lab::protocol::DeviceRecord;
use plumb_lab::vm::Accel;
use plumb_result::{Conformance, RunResult};
use plumb_store::{Filter, ResultStore, RunRow, StoreError, StudyPlotRow, StudyRunStatus};
use std::collections::BTreeMap;

/// One run of a study, in any state.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRun {
    pub status: StudyRunStatus,
    /// The reason if it failed or was rejected.
    pub reason: Option<String>,
    /// Number of the build of its plot that it ran on.
    pub build: Option<u32>,
    /// Duration in seconds.
    pub seconds: Option<f64>,
    /// Number of its earlier results that were rejected.
    pub rejected_before: u32,
    /// `None` until it has a result.
    pub result: Option<RunResult>,
    /// Conformance report of the file system, if the run tested that.
    pub conformance: Option<Conformance>,
    /// Work of the block devices during the run.
    pub devices: BTreeMap<String, DeviceRecord>,
}

/// All data of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyEvidence {
    pub id: String,
    /// Start of the study, RFC 3339.
    pub created_at: String,
    pub plan: Plan,
    /// Its runs, in the plan's order.
    pub records: Vec<StudyRun>,
    /// Its plots, in the plan's order.
    pub plots: Vec<StudyPlotRow>,
    /// The last build of each plot, in the same order; empty in studies of older versions.
    pub builds: Vec<BuildRecord>,
}

/// Returns the retracted runs of a study, with the reason.
fn retracted(store: &dyn ResultStore, study: &str) -> Result<BTreeMap<String, String>, StoreError> {
    let rows = store.list(&Filter { study: Some(study.to_owned()), ..Filter::default() })?;
    let reason = |row: RunRow| {
        let reason = row.retraction().map(|mark| format!("retracted by {}: {}", mark.author, mark.reason))?;
        Some((row.id, reason))
    };
    Ok(rows.into_iter().filter_map(reason).collect())
}

impl StudyEvidence {
    /// Loads a study from the store. `id` must be complete.
    pub fn load(store: &dyn ResultStore, id: &str) -> Result<StudyEvidence, StoreError> {
        let FrozenStudy { id, plan } = FrozenStudy::open(store, id)?;
        let unreadable = |what: &'static str| {
            let (path, id) = (store.location().to_owned(), id.clone());
            move |error: JsonError| StoreError::Unreadable { path, id, what, reason: error.to_string() }
        };
        let mut records = Vec::new();
        let mut retracted = retracted(store, &id)?;
        for row in store.study_runs(&id)? {
            let devices = match &row.devices {
                None => BTreeMap::new(),
                Some(text) => plumb_document::json::from_str(text).map_err(unreadable("the devices' counts"))?,
            };
            let result = row.run_id.as_deref().map(|run| store.get(run)).transpose()?;
            let conformance = row.conformance_id.as_deref().map(|id| store.conformance(id)).transpose()?;
            let retraction = row.run_id.as_ref().and_then(|run| retracted.remove(run));
            let is_left_out = retraction.is_some() && row.status == StudyRunStatus::Done;
            records.push(StudyRun {
                status: if is_left_out { StudyRunStatus::Rejected } else { row.status },
                reason: retraction.or(row.reason),
                build: row.build,
                seconds: row.seconds,
                rejected_before: row.rejected_before,
                result,
                conformance,
                devices,
            });
        }
        let plots = store.study_plots(&id)?;
        let builds = plots
            .iter()
            .map(|plot| match &plot.built {
                None => Ok(BuildRecord::default()),
                Some(text) => plumb_document::json::from_str(text).map_err(unreadable("what a plot's build ran")),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let created_at = store.study(&id)?.row.created_at;
        Ok(StudyEvidence { id, created_at, plan, records, plots, builds })
    }

    /// Returns the results that count, with the index of their run.
    pub(super) fn accepted(&self) -> impl Iterator<Item = (usize, &RunResult)> {
        self.records
            .iter()
            .enumerate()
            .filter(|(_, record)| record.status == StudyRunStatus::Done)
            .filter_map(|(index, record)| Some((index, record.result.as_ref()?)))
    }

    /// Returns `true` if any run was interpreted by an emulator, so that its times are meaningless.
    pub(super) fn is_emulated(&self) -> bool {
        self.records.iter().zip(&self.plan.runs).any(|(record, run)| {
            let host = self.plan.plots.get(run.plot as usize).and_then(|plot| self.plan.hosts.get(&plot.host));
            let Some(HostPlan::Vm(vm)) = host else { return false };
            // QEMU's own translator reports this name in CPUID; KVM reports another.
            let seen = record.result.as_ref().and_then(|result| result.environment.virtualisation.value());
            record.result.is_some() && (vm.accel == Accel::Tcg || seen.is_some_and(|name| name == "qemu"))
        })
    }
}
