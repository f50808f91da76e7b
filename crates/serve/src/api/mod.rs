//! The same for programs: JSON under `/api/v1`, described by OpenAPI 3.1.

mod documents;
mod lists;
mod upload;

use crate::app::App;
use crate::fault::Fault;
use axum::Router;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa::ToSchema;

/// Largest upload, bytes.
pub(crate) const UPLOAD_BYTES_MAX: usize = 64 << 20;

/// The description of the API.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Plumb results",
        description = "Stored results of storage benchmarks: runs, comparisons, histories, machines, studies, gates and conformance."
    ),
    paths(
        lists::runs,
        lists::values,
        lists::places,
        lists::machines,
        lists::studies,
        lists::gates,
        lists::conformances,
        documents::run,
        documents::numbers,
        documents::compare,
        documents::comparison,
        documents::changes,
        documents::study,
        documents::gate,
        documents::conformance,
        upload::results,
    ),
    components(schemas(ApiError)),
    modifiers(&Security)
)]
struct Description;

/// Declares the token that other machines need.
struct Security;

impl utoipa::Modify for Security {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        openapi.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// Reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ApiError {
    pub error: String,
}

/// A fault as JSON.
#[derive(Debug)]
pub(crate) struct ApiFault(pub Fault);

impl<E: Into<Fault>> From<E> for ApiFault {
    fn from(error: E) -> ApiFault {
        ApiFault(error.into())
    }
}

impl IntoResponse for ApiFault {
    fn into_response(self) -> Response {
        self.0.log();
        (self.0.status(), Json(ApiError { error: self.0.to_string() })).into_response()
    }
}

/// A JSON answer. `axum::Json` would add serde_json's `raw_value` to all crates of the same build, and so to the `plumb` of
/// packages.
pub(crate) struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self.0) {
            Ok(text) => json_text(text),
            Err(error) => ApiFault(Fault::Database(error.to_string())).into_response(),
        }
    }
}

/// Returns the part of a path that names a run or a document.
pub(crate) fn named(path: Result<Path<String>, PathRejection>) -> Result<String, Fault> {
    let wrong = || Fault::Request("the name in the address is not UTF-8".to_owned());
    let Path(name) = path.map_err(|_| wrong())?;
    if name.contains('\0') { Err(wrong()) } else { Ok(name) }
}

/// Answers with a text that is JSON already.
fn json_text(text: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

/// Answers with a document in the form that commands print with `--json`.
fn document(of: &impl Serialize) -> Result<String, Fault> {
    plumb_document::json::to_string(of).map_err(|error| Fault::Database(error.to_string()))
}

async fn openapi() -> Response {
    json_text(Description::openapi().to_json().unwrap_or_default())
}

/// Returns the routes of the API.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/openapi.json", get(openapi))
        .route("/runs", get(lists::runs))
        .route("/runs/{id}", get(documents::run))
        .route("/values", get(lists::values))
        .route("/places", get(lists::places))
        .route("/numbers", get(documents::numbers))
        .route("/compare", get(documents::compare))
        .route("/comparisons/{id}", get(documents::comparison))
        .route("/changes", get(documents::changes))
        .route("/machines", get(lists::machines))
        .route("/studies", get(lists::studies))
        .route("/studies/{id}", get(documents::study))
        .route("/gates", get(lists::gates))
        .route("/gates/{id}", get(documents::gate))
        .route("/conformance", get(lists::conformances))
        .route("/conformance/{id}", get(documents::conformance))
        .route("/results", post(upload::results))
        .fallback(async || ApiFault(Fault::NotFound("the API has no such address".to_owned())))
        .method_not_allowed_fallback(async || {
            let error = "this address does not take this method".to_owned();
            (StatusCode::METHOD_NOT_ALLOWED, Json(ApiError { error }))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects programs that read the description: it is valid for the version that it names, and describes every route.
    #[test]
    fn the_description_is_openapi_3_1_and_has_every_address() {
        let description: serde_json::Value = serde_json::from_str(&Description::openapi().to_json().unwrap()).unwrap();
        assert!(description["openapi"].as_str().unwrap().starts_with("3.1"), "{}", description["openapi"]);
        let paths = description["paths"].as_object().unwrap();
        assert_eq!(paths.len(), 16, "{:?}", paths.keys());
        assert!(paths.keys().all(|path| path.starts_with("/api/v1/")));
    }
}
