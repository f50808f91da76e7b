//! Whole documents, in the forms that commands print with `--json` (`plumb schema` describes them).

use super::lists::RunConditions;
use super::{ApiError, ApiFault, Json, document, json_text, named};
use crate::app::App;
use crate::fault::Fault;
use crate::pages::compare::compared;
use crate::pages::studies::Progress;
use crate::parameters::Parameters;
use crate::readers::Effort;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use plumb_store::{FurtherColumns, ServedStore, StoreError, StudyRunRow};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// Runs whose numbers an answer has at most.
const RUNS_MAX: u32 = 2000;

type Name = Result<Path<String>, PathRejection>;

/// Returns a run as it was stored (`plumb.result/1`). `id` may be the beginning or the end of an id, or `last`.
#[utoipa::path(
    get, path = "/api/v1/runs/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Value), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn run(State(app): State<Arc<App>>, id: Name) -> Result<Response, ApiFault> {
    let id = named(id)?;
    let read = move |store: &dyn ServedStore| Ok(store.result_text(&store.find(&id)?)?);
    Ok(json_text(app.readers.read(Effort::Brief, read).await?))
}

/// Numbers, a row each.
#[derive(Serialize, ToSchema)]
pub(crate) struct NumberTable {
    /// Names of the columns.
    columns: Vec<String>,
    /// Rows, each as long as `columns`; `null` is not measured.
    rows: Vec<Vec<Value>>,
}

/// Returns every number of the newest 2,000 runs that match, oldest first: a history for a notebook.
#[utoipa::path(
    get, path = "/api/v1/numbers", params(RunConditions),
    responses((status = 200, body = NumberTable), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn numbers(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Json<NumberTable>, ApiFault> {
    let query = Parameters::parse(query.as_deref())?.filter()?;
    let read = move |store: &dyn ServedStore| {
        let ids = store.matching_ids(&query, RUNS_MAX)?;
        Ok(store.tidy(&ids, &FurtherColumns::default())?)
    };
    let table = app.readers.read(Effort::Long, read).await?;
    let cell = |cell: plumb_result::tidy::TidyCell| match cell {
        plumb_result::tidy::TidyCell::Number(number) => Value::from(number),
        other => other.as_text().map_or(Value::Null, Value::from),
    };
    let rows = table.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
    Ok(Json(NumberTable { columns: table.columns, rows }))
}

/// Compares the runs that two selections name (`plumb.compare/1`), as `plumb compare --from-store` does.
#[utoipa::path(
    get, path = "/api/v1/compare",
    params(
        ("a" = String, Query, description = "The baseline: an id, or conditions such as `tag:nightly work:random-read`"),
        ("b" = String, Query, description = "The candidate"),
        ("metrics" = Option<String>, Query, description = "Metrics, separated by commas")
    ),
    responses((status = 200, body = Value), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn compare(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Result<Response, ApiFault> {
    let parameters = Parameters::parse(query.as_deref())?;
    let sides = [side(&parameters, "a")?, side(&parameters, "b")?];
    let metrics = parameters.list("metrics");
    let read = move |store: &dyn ServedStore| document(&compared(store, &sides, &metrics)?);
    Ok(json_text(app.readers.read(Effort::Long, read).await?))
}

fn side(parameters: &Parameters, name: &str) -> Result<String, Fault> {
    let missing = || Fault::Request(format!("`{name}` is missing"));
    parameters.get(name).map(str::to_owned).ok_or_else(missing)
}

/// Returns a measured comparison (`plumb.compare/1`).
#[utoipa::path(
    get, path = "/api/v1/comparisons/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Value), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn comparison(State(app): State<Arc<App>>, id: Name) -> Result<Response, ApiFault> {
    let id = named(id)?;
    let read = move |store: &dyn ServedStore| {
        let missing = || StoreError::NotFound { path: store.location().to_owned(), text: id.clone() };
        let id = store.find_comparison(&id)?.ok_or_else(missing)?;
        document(&store.comparison(&id)?)
    };
    Ok(json_text(app.readers.read(Effort::Long, read).await?))
}

/// A fact in which two runs differ.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChangedFact {
    /// Path of the fact, such as `target.data.filesystem.options`.
    fact: String,
    /// `null` if the run does not have the fact.
    left: Option<String>,
    right: Option<String>,
}

/// Lists the facts in which two runs differ: machine, settings, storage, workload and results.
#[utoipa::path(
    get, path = "/api/v1/changes", params(("a" = String, Query), ("b" = String, Query)),
    responses((status = 200, body = Vec<ChangedFact>), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn changes(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
) -> Result<Json<Vec<ChangedFact>>, ApiFault> {
    let parameters = Parameters::parse(query.as_deref())?;
    let [left, right] = [side(&parameters, "a")?, side(&parameters, "b")?];
    let read = move |store: &dyn ServedStore| Ok(store.diff(&left, &right)?);
    let differences = app.readers.read(Effort::Long, read).await?;
    let fact = |one: plumb_store::FactDifference| ChangedFact { fact: one.fact, left: one.left, right: one.right };
    Ok(Json(differences.into_iter().map(fact).collect()))
}

/// A study, and how far each of its runs has come.
#[derive(Serialize, ToSchema)]
pub(crate) struct StudyDocument {
    id: String,
    name: String,
    created_at: String,
    progress: Progress,
    runs: Vec<StudyRunItem>,
}

/// A run of a study.
#[derive(Serialize, ToSchema)]
pub(crate) struct StudyRunItem {
    /// Position in the plan, from 1.
    number: u32,
    plot: u32,
    /// `planned`, `running`, `done`, `rejected`, `failed` or `skipped`.
    status: &'static str,
    reason: Option<String>,
    /// Id of its result.
    run: Option<String>,
    seconds: Option<f64>,
}

impl From<StudyRunRow> for StudyRunItem {
    fn from(row: StudyRunRow) -> StudyRunItem {
        StudyRunItem {
            number: row.seq + 1,
            plot: row.plot + 1,
            status: row.status.name(),
            reason: row.reason,
            run: row.run_id,
            seconds: row.seconds,
        }
    }
}

/// Returns a study and the state of its runs. `id` may be its name.
#[utoipa::path(
    get, path = "/api/v1/studies/{id}", params(("id" = String, Path)),
    responses((status = 200, body = StudyDocument), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn study(State(app): State<Arc<App>>, id: Name) -> Result<Json<StudyDocument>, ApiFault> {
    let id = named(id)?;
    let read = move |store: &dyn ServedStore| {
        let id = store.find_study(&id)?;
        Ok((store.study(&id)?.row, store.study_runs(&id)?))
    };
    let (row, runs) = app.readers.read(Effort::Brief, read).await?;
    Ok(Json(StudyDocument {
        progress: Progress::new(&row),
        id: row.id,
        name: row.name,
        created_at: row.created_at,
        runs: runs.into_iter().map(StudyRunItem::from).collect(),
    }))
}

/// Returns a gate (`plumb.gate/1`).
#[utoipa::path(
    get, path = "/api/v1/gates/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Value), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn gate(State(app): State<Arc<App>>, id: Name) -> Result<Response, ApiFault> {
    let id = named(id)?;
    let read = move |store: &dyn ServedStore| {
        let missing = || StoreError::NotFound { path: store.location().to_owned(), text: id.clone() };
        let id = store.find_gate(&id)?.ok_or_else(missing)?;
        document(&store.gate(&id)?)
    };
    Ok(json_text(app.readers.read(Effort::Long, read).await?))
}

/// Returns a conformance report (`plumb.posix/1`).
#[utoipa::path(
    get, path = "/api/v1/conformance/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Value), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError))
)]
pub(crate) async fn conformance(State(app): State<Arc<App>>, id: Name) -> Result<Response, ApiFault> {
    let id = named(id)?;
    let read = move |store: &dyn ServedStore| document(&store.conformance(&id)?);
    Ok(json_text(app.readers.read(Effort::Long, read).await?))
}
