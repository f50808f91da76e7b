//! Uploads: results of Plumb and files of other tools, with a token that may write.

use super::{ApiError, ApiFault, Json, UPLOAD_BYTES_MAX};
use crate::access::{Access, bearer_access};
use crate::app::App;
use crate::fault::Fault;
use crate::parameters::Parameters;
use axum::body::{Body, to_bytes};
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use jiff::Timestamp;
use plumb_import::{ForeignFile, read_results};
use plumb_postgres::ShareError;
use plumb_result::RunResult;
use plumb_store::{Imported, StoreError};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Outcome of the upload of one run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UploadedRun {
    /// Id of the run, a UUIDv7.
    run: String,
    workload: String,
    /// `added`, `completed`, `unchanged` or `reread`.
    imported: &'static str,
}

/// Adds results: one of Plumb, a list as `plumb export` writes it, or the file of another tool. A result that is stored already
/// changes nothing; another result under its id is refused. All of a file is read before any of it is stored.
#[utoipa::path(
    post, path = "/api/v1/results",
    params(
        ("from" = Option<String>, Query, description = "The tool that wrote the file, if it is not recognised"),
        ("name" = Option<String>, Query, description = "Name of the file")
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file, at most 64 MiB"),
    responses((status = 200, body = Vec<UploadedRun>), (status = "4XX", body = ApiError), (status = "5XX", body = ApiError)),
    security(("token" = []))
)]
pub(crate) async fn results(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Vec<UploadedRun>>, ApiFault> {
    // A browser sends no such header by itself, so that no other site can upload with a visitor's rights.
    match bearer_access(&app, &headers).await? {
        Access::Write => {}
        Access::Read => return Err(Fault::Forbidden("this token may only read".to_owned()).into()),
        Access::None => {
            let text = "an upload needs a token that may write, in the header Authorization: Bearer TOKEN";
            return Err(Fault::Token(text.to_owned()).into());
        }
    }
    let parameters = Parameters::parse(query.as_deref())?;
    let turn = Arc::clone(&app.uploads).try_acquire_owned().map_err(|_| Fault::Busy)?;
    let too_large = |_| Fault::TooLarge(format!("an upload has at most {} MiB", UPLOAD_BYTES_MAX >> 20));
    let bytes = to_bytes(body, UPLOAD_BYTES_MAX).await.map_err(too_large)?;
    let from = parameters.get("from").map(str::to_owned);
    let name = parameters.get("name").unwrap_or("upload").to_owned();
    let stored = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let file = ForeignFile { name: &name, bytes: &bytes, changed_at: Timestamp::now() };
        let results = read_results(&file, from.as_deref()).map_err(|error| Fault::Request(error.to_string()))?;
        let imported = app.database.import(&results).map_err(refused)?;
        let rows: Vec<UploadedRun> = results.iter().zip(imported).map(uploaded).collect();
        app.counters.uploaded.fetch_add(rows.len() as u64, std::sync::atomic::Ordering::Relaxed);
        Ok::<_, Fault>(rows)
    });
    Ok(Json(stored.await.unwrap_or_else(|panic| Err(Fault::Database(panic.to_string())))?))
}

fn uploaded((result, imported): (&RunResult, Imported)) -> UploadedRun {
    let imported = match imported {
        Imported::Added => "added",
        Imported::Completed => "completed",
        Imported::Unchanged => "unchanged",
        Imported::Reread => "reread",
    };
    UploadedRun { run: result.id.clone(), workload: result.workload.name.clone(), imported }
}

fn refused(error: StoreError) -> Fault {
    match error {
        StoreError::OtherResult { .. } | StoreError::Begun { .. } => Fault::Conflict(error.to_string()),
        StoreError::Time { .. } => Fault::Request(error.to_string()),
        StoreError::Shared(error) if error.downcast_ref().is_some_and(ShareError::is_of_rights) => {
            Fault::Forbidden("the server may only read its database".to_owned())
        }
        other => other.into(),
    }
}
