//! Lists: what is stored, a row each.

use super::{ApiError, ApiFault, Json};
use crate::app::App;
use crate::pages::studies::Progress;
use crate::parameters::{Parameters, key_text};
use crate::readers::Effort;
use axum::extract::{RawQuery, State};
use plumb_report::facts;
use plumb_store::{
    ConformanceRow, Filter, FoundRun, GateRow, MachineRow, PhaseNumbers, PlaceRow, ServedStore, StudyRow,
};
use serde::Serialize;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Runs in an answer.
const RUNS: u32 = 50;

/// Largest number of runs in an answer, by `n`.
const RUNS_MAX: u32 = 500;

/// Conditions on runs, all of which hold.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // describes what `Parameters` reads
pub(crate) struct RunConditions {
    /// Words, each of which is part of a name: workload, command, tool, host, kernel, path, file system, device, tag or id.
    q: Option<String>,
    /// Name of the machine.
    host: Option<String>,
    /// Model of a disk.
    model: Option<String>,
    /// Type of the file system.
    fs: Option<String>,
    /// Release of the kernel.
    kernel: Option<String>,
    /// Name of the workload.
    workload: Option<String>,
    /// The tool; `plumb` for Plumb's own runs.
    tool: Option<String>,
    tag: Option<String>,
    /// Path of a target.
    path: Option<String>,
    /// Whether the numbers can be trusted; any if empty.
    #[param(pattern = "^(pass|caution|reject|unknown)?$")]
    verdict: Option<String>,
    /// Outcome of the run; any if empty.
    #[param(pattern = "^(planned|running|ok|failed|aborted|skipped)?$")]
    status: Option<String>,
    /// Earliest start: a date (UTC) or a time; no limit if empty.
    #[param(pattern = "^([-+]?[0-9]{4}.*)?$")]
    from: Option<String>,
    /// Latest start: a date (UTC) or a time; no limit if empty.
    #[param(pattern = "^([-+]?[0-9]{4}.*)?$")]
    until: Option<String>,
}

/// Place in a list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // describes what `Parameters` reads
pub(crate) struct Paging {
    /// `next` of the answer before; the first page if empty.
    #[param(pattern = "^([0-9]{1,18}[.][0-9a-f-]{1,36})?$")]
    after: Option<String>,
    /// Number of runs, 50 without it.
    #[param(minimum = 1, maximum = 500)]
    n: Option<u32>,
}

/// One page of runs, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunList {
    /// Number of all runs that match.
    total: u64,
    runs: Vec<RunItem>,
    /// Value of `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A run in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunItem {
    /// A UUIDv7.
    id: String,
    /// RFC 3339, UTC.
    started_at: String,
    workload: String,
    tool: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Whether the numbers can be trusted; absent without a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_ns: Option<u64>,
    /// Empty if unknown.
    host: String,
    kernel: String,
    paths: Vec<String>,
    filesystems: Vec<String>,
    tags: Vec<String>,
    command: String,
    /// The first phases with their rates and 99 % latencies; `/runs/{id}` has all numbers.
    phases: Vec<PhaseItem>,
    phase_count: u64,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct PhaseItem {
    name: String,
    numbers: Vec<NumberItem>,
}

/// One number, with what answered it.
#[derive(Serialize, ToSchema)]
pub(crate) struct NumberItem {
    /// Such as `read.bw`.
    metric: String,
    /// `null` if not measured; never 0 then.
    value: Option<f64>,
    unit: &'static str,
    /// Origin of the bytes: `device`, `server`, `cache`, `mixed` or `unknown`; absent for times.
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_share: Option<f64>,
}

impl From<FoundRun> for RunItem {
    fn from(run: FoundRun) -> RunItem {
        RunItem {
            id: run.row.id,
            started_at: run.row.started_at,
            workload: run.row.workload,
            tool: run.tool,
            status: run.row.status.name(),
            reason: run.row.reason,
            verdict: run.row.verdict.map(|verdict| verdict.name()),
            wall_ns: run.row.wall_ns,
            host: run.row.host.unwrap_or_default(),
            kernel: run.kernel,
            paths: run.row.paths,
            filesystems: run.filesystems,
            tags: run.row.tags,
            command: run.row.command,
            phases: run.phases.into_iter().map(PhaseItem::from).collect(),
            phase_count: run.phase_count,
        }
    }
}

impl From<PhaseNumbers> for PhaseItem {
    fn from(phase: PhaseNumbers) -> PhaseItem {
        let number = |(metric, value): (plumb_result::Metric, plumb_result::MetricValue)| NumberItem {
            metric: metric.to_string(),
            value: value.value,
            unit: value.unit.symbol(),
            tier: value.tier.map(|tier| tier.name()),
            device_share: value.device_share,
        };
        PhaseItem { name: phase.name, numbers: phase.metrics.into_iter().map(number).collect() }
    }
}

/// Lists runs, newest first.
#[utoipa::path(
    get, path = "/api/v1/runs", params(RunConditions, Paging),
    responses((status = 200, body = RunList), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn runs(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Result<Json<RunList>, ApiFault> {
    let parameters = Parameters::parse(query.as_deref())?;
    let limit = Some(parameters.number("n", RUNS, RUNS_MAX)?);
    let filter = Filter { after: parameters.after()?, limit, ..parameters.filter()? };
    let read = move |store: &dyn ServedStore| Ok(store.search(&filter)?);
    let found = app.readers.read(Effort::Brief, read).await?;
    Ok(Json(RunList {
        total: found.total,
        next: found.next.as_ref().map(key_text),
        runs: found.runs.into_iter().map(RunItem::from).collect(),
    }))
}

/// Values that occur, for each condition; at most 500 of a kind.
#[derive(Serialize, ToSchema)]
pub(crate) struct Values {
    hosts: Vec<String>,
    models: Vec<String>,
    filesystems: Vec<String>,
    kernels: Vec<String>,
    workloads: Vec<String>,
    tools: Vec<String>,
    tags: Vec<String>,
}

/// Lists the values that conditions can have.
#[utoipa::path(
    get, path = "/api/v1/values",
    responses((status = 200, body = Values), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn values(State(app): State<Arc<App>>) -> Result<Json<Values>, ApiFault> {
    let known = app.readers.read(Effort::Brief, |store: &dyn ServedStore| Ok(store.known_values()?)).await?;
    Ok(Json(Values {
        hosts: known.hosts,
        models: known.models,
        filesystems: known.filesystems,
        kernels: known.kernels,
        workloads: known.workloads,
        tools: known.tools,
        tags: known.tags,
    }))
}

/// A workload at a place, and how often it ran there.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlaceItem {
    workload: String,
    host: String,
    path: String,
    runs: u64,
    last_at: String,
}

impl From<PlaceRow> for PlaceItem {
    fn from(row: PlaceRow) -> PlaceItem {
        let PlaceRow { workload, host, path, runs, last_at } = row;
        PlaceItem { workload, host, path, runs, last_at }
    }
}

/// Lists workloads that ran several times at a place.
#[utoipa::path(
    get, path = "/api/v1/places",
    responses((status = 200, body = Vec<PlaceItem>), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn places(State(app): State<Arc<App>>) -> Result<Json<Vec<PlaceItem>>, ApiFault> {
    let places = app.readers.read(Effort::Brief, |store: &dyn ServedStore| Ok(store.places()?)).await?;
    Ok(Json(places.into_iter().map(PlaceItem::from).collect()))
}

/// Hardware, and what ran on it.
#[derive(Serialize, ToSchema)]
pub(crate) struct MachineItem {
    id: String,
    host: String,
    arch: String,
    cpu: String,
    cpus: u64,
    ram_bytes: u64,
    virtualisation: Option<String>,
    kernels: Vec<String>,
    runs: u64,
    last_at: String,
    storage: Vec<StorageItem>,
}

/// Storage under a path of a machine.
#[derive(Serialize, ToSchema)]
pub(crate) struct StorageItem {
    path: String,
    /// Such as `ext4 on sda (SSD)`.
    stack: String,
    runs: u64,
    last_at: String,
}

impl From<MachineRow> for MachineItem {
    fn from(row: MachineRow) -> MachineItem {
        let storage = row.storage.into_iter().map(|storage| StorageItem {
            stack: storage.facts.as_ref().map(facts::storage).unwrap_or_default(),
            path: storage.path,
            runs: storage.runs,
            last_at: storage.last_at,
        });
        MachineItem {
            storage: storage.collect(),
            id: row.id,
            host: row.host,
            arch: row.arch,
            cpu: row.cpu,
            cpus: row.cpus,
            ram_bytes: row.ram_bytes,
            virtualisation: row.virtualisation,
            kernels: row.kernels,
            runs: row.runs,
            last_at: row.last_at,
        }
    }
}

/// Lists machines with their storage.
#[utoipa::path(
    get, path = "/api/v1/machines",
    responses((status = 200, body = Vec<MachineItem>), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn machines(State(app): State<Arc<App>>) -> Result<Json<Vec<MachineItem>>, ApiFault> {
    let machines = app.readers.read(Effort::Brief, |store: &dyn ServedStore| Ok(store.machines()?)).await?;
    Ok(Json(machines.into_iter().map(MachineItem::from).collect()))
}

/// A study in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct StudyItem {
    id: String,
    name: String,
    created_at: String,
    progress: Progress,
}

impl From<StudyRow> for StudyItem {
    fn from(row: StudyRow) -> StudyItem {
        let progress = Progress::new(&row);
        StudyItem { id: row.id, name: row.name, created_at: row.created_at, progress }
    }
}

/// Lists studies, newest first.
#[utoipa::path(
    get, path = "/api/v1/studies",
    responses((status = 200, body = Vec<StudyItem>), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn studies(State(app): State<Arc<App>>) -> Result<Json<Vec<StudyItem>>, ApiFault> {
    let studies = app.readers.read(Effort::Brief, |store: &dyn ServedStore| Ok(store.studies()?)).await?;
    Ok(Json(studies.into_iter().map(StudyItem::from).collect()))
}

/// A gate in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct GateItem {
    id: String,
    answered_at: String,
    /// `pass`, `regression`, `suspected` or `cannot tell`.
    answer: String,
    baseline: String,
    candidate: String,
    workloads: Vec<String>,
    /// Name of the number with the worst ratio, if any was measured.
    worst_number: Option<String>,
    /// Candidate by baseline, turned so that below 1 is worse.
    worst_ratio: Option<f64>,
    note: String,
}

impl From<GateRow> for GateItem {
    fn from(row: GateRow) -> GateItem {
        let GateRow { id, answered_at, answer, baseline, candidate, workloads, worst, note } = row;
        let (worst_number, worst_ratio) = worst.unzip();
        GateItem { id, answered_at, answer, baseline, candidate, workloads, worst_number, worst_ratio, note }
    }
}

/// Lists gates, newest first.
#[utoipa::path(
    get, path = "/api/v1/gates",
    responses((status = 200, body = Vec<GateItem>), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn gates(State(app): State<Arc<App>>) -> Result<Json<Vec<GateItem>>, ApiFault> {
    let rows = app.readers.read(Effort::Long, |store: &dyn ServedStore| Ok(store.gates()?)).await?;
    Ok(Json(rows.into_iter().map(GateItem::from).collect()))
}

/// A conformance report in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct ConformanceItem {
    id: String,
    tested_at: String,
    path: String,
    filesystem: String,
    kernel: String,
    user: String,
    level: String,
    failures: u64,
    passed: u64,
    skipped: u64,
}

impl From<ConformanceRow> for ConformanceItem {
    fn from(row: ConformanceRow) -> ConformanceItem {
        let ConformanceRow { id, tested_at, path, filesystem, kernel, user, level, failures, passed, skipped } = row;
        ConformanceItem { id, tested_at, path, filesystem, kernel, user, level, failures, passed, skipped }
    }
}

/// Lists conformance reports, newest first.
#[utoipa::path(
    get, path = "/api/v1/conformance",
    responses((status = 200, body = Vec<ConformanceItem>), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn conformances(State(app): State<Arc<App>>) -> Result<Json<Vec<ConformanceItem>>, ApiFault> {
    let rows = app.readers.read(Effort::Brief, |store: &dyn ServedStore| Ok(store.conformances()?)).await?;
    Ok(Json(rows.into_iter().map(ConformanceItem::from).collect()))
}
