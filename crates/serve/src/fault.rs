//! Reasons why a request has no answer. Pages name the cause, and never a path, an address or a setting of the server.

use crate::pages::frame::{Frame, Section, html};
use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use plumb_cli::output::error_line;
use plumb_store::StoreError;
use plumb_stored_report::StoredReportError;

/// Reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// Nothing has this address.
    #[error("{0}")]
    NotFound(String),
    /// The request is wrong.
    #[error("{0}")]
    Request(String),
    /// The request was sent to a name that is not the server's.
    #[error("the server does not answer under this name")]
    Host,
    /// The sender asks too often.
    #[error("too many requests; wait a second")]
    TooOften,
    /// The request needs a token.
    #[error("{0}")]
    Token(String),
    /// The token does not allow this.
    #[error("{0}")]
    Forbidden(String),
    /// Something else is stored under the same name.
    #[error("{0}")]
    Conflict(String),
    /// The body is too long.
    #[error("{0}")]
    TooLarge(String),
    /// Others are being served; the same request may succeed later.
    #[error("the server is busy; try again in a moment")]
    Busy,
    /// The database cannot be read. The reason goes to the server's log.
    #[error("the database could not be read; the server's log has the reason")]
    Database(String),
}

impl Fault {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Fault::NotFound(_) => StatusCode::NOT_FOUND,
            Fault::Request(_) => StatusCode::BAD_REQUEST,
            Fault::Host => StatusCode::MISDIRECTED_REQUEST,
            Fault::TooOften => StatusCode::TOO_MANY_REQUESTS,
            Fault::Token(_) => StatusCode::UNAUTHORIZED,
            Fault::Forbidden(_) => StatusCode::FORBIDDEN,
            Fault::Conflict(_) => StatusCode::CONFLICT,
            Fault::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Fault::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Fault::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Writes the reason to the server's log, where the answer does not have it.
    pub(crate) fn log(&self) {
        if let Fault::Database(reason) = self {
            error_line!("error: {reason}");
        }
    }
}

impl From<StoreError> for Fault {
    /// Words the errors that a visitor can do something about without the path of the database.
    fn from(error: StoreError) -> Fault {
        match error {
            StoreError::NotFound { text, .. } => Fault::NotFound(format!("nothing is stored under `{text}`")),
            StoreError::NoStudy { text, .. } => Fault::NotFound(format!("no study is stored under `{text}`")),
            StoreError::NoResult { id, status, .. } => {
                Fault::NotFound(format!("run {id} has no result: it is {status}"))
            }
            ambiguous @ StoreError::Ambiguous { .. } => Fault::Request(ambiguous.to_string()),
            StoreError::Busy { .. } => Fault::Busy,
            other => Fault::Database(other.to_string()),
        }
    }
}

impl From<StoredReportError> for Fault {
    fn from(error: StoredReportError) -> Fault {
        match error {
            StoredReportError::Store(error) => error.into(),
            StoredReportError::Json(error) => Fault::Database(error.to_string()),
        }
    }
}

#[derive(Template)]
#[template(path = "fault.html")]
struct FaultPage {
    frame: Frame,
    reason: String,
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        self.log();
        let title = match self.status() {
            StatusCode::NOT_FOUND => "Not found",
            StatusCode::MISDIRECTED_REQUEST => "Another name",
            StatusCode::TOO_MANY_REQUESTS => "Too many requests",
            StatusCode::BAD_REQUEST => "This request cannot be answered",
            StatusCode::UNAUTHORIZED => "A token is needed",
            StatusCode::SERVICE_UNAVAILABLE => "Busy",
            _ => "Something failed",
        };
        let page = FaultPage { frame: Frame::new(title, Section::None), reason: self.to_string() };
        (self.status(), html(&page)).into_response()
    }
}
