//! Addresses of pages, API and assets, with all protection around them.

use crate::app::App;
use crate::fault::Fault;
use crate::{api, assets, metrics, pages, protection};
use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::get;
use std::sync::Arc;
use std::time::Duration;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

/// Longest time between a request's head and the head of its answer.
const DEADLINE: Duration = Duration::from_secs(60);

/// Returns the routes with all protection around them.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(pages::runs::page))
        .route("/runs", get(pages::runs::page))
        .route("/runs/{id}", get(pages::run::page))
        .route("/compare", get(pages::compare::page))
        .route("/comparisons/{id}", get(pages::compare::stored))
        .route("/history", get(pages::history::page))
        .route("/machines", get(pages::machines::page))
        .route("/changes", get(pages::machines::changes))
        .route("/studies", get(pages::studies::list))
        .route("/studies/{id}", get(pages::studies::page))
        .route("/studies/{id}/events", get(pages::studies::events))
        .route("/gates", get(pages::gates::list))
        .route("/gates/{id}", get(pages::gates::page))
        .route("/conformance", get(pages::conformance::list))
        .route("/conformance/{id}", get(pages::conformance::page))
        .route("/assets/{name}", get(assets::asset))
        .route("/metrics", get(metrics::metrics))
        .nest("/api/v1", api::routes())
        .fallback(async || Fault::NotFound("no page has this address".to_owned()))
        .method_not_allowed_fallback(async || {
            (StatusCode::METHOD_NOT_ALLOWED, "this address does not take this method\n")
        })
        .layer(RequestBodyLimitLayer::new(api::UPLOAD_BYTES_MAX))
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, DEADLINE))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), protection::protect))
        .layer(CompressionLayer::new())
        .with_state(app)
}
