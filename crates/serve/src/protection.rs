//! Checks of every request: the name that it was sent to, the rate of its sender, its token; and the headers of every answer.

use crate::access::{Access, visitor_access};
use crate::api::ApiFault;
use crate::app::{App, Rates, Visitors};
use crate::fault::Fault;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// Headers of every answer. Pages have no inline script and no inline style.
const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Checks a request, and adds headers to its answer.
pub(crate) async fn protect(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let mut refused = refusal(&app, &request);
    if refused.is_none() && app.options.visitors == Visitors::NeedToken {
        let headers = request.headers().clone();
        refused = without_token(&app, &headers).await;
    }
    let response = match refused {
        Some(fault) => refusing(fault, is_api),
        None => next.run(request).await,
    };
    app.counters.count(response.status());
    with_headers(response)
}

/// Returns why a request is refused for its sender or its host.
fn refusal(app: &App, request: &Request) -> Option<Fault> {
    if app.options.rates == Rates::Limited
        && let Some(peer) = request.extensions().get::<SocketAddr>()
        && !app.rates.admits(peer.ip(), Instant::now())
    {
        return Some(Fault::TooOften);
    }
    let of_uri = |uri: &Uri| uri.authority().map(|authority| authority.as_str().to_owned());
    let of_header = || request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
    let host = of_uri(request.uri()).or_else(of_header);
    let is_known = host.is_some_and(|host| app.options.hosts.contains(&host));
    (!is_known).then_some(Fault::Host)
}

/// Returns why a visitor may not read.
async fn without_token(app: &App, headers: &HeaderMap) -> Option<Fault> {
    match visitor_access(app, headers).await {
        Ok(Access::Read | Access::Write) => None,
        Ok(Access::None) => Some(Fault::Token("reading needs a token: type it as the password".to_owned())),
        Err(fault) => Some(fault),
    }
}

/// Returns a refusal in the form that the address promises: JSON of the API, or a page.
fn refusing(fault: Fault, is_api: bool) -> Response {
    let header = match &fault {
        Fault::TooOften => Some((header::RETRY_AFTER, "1")),
        // The browser asks for the password.
        Fault::Token(_) => Some((header::WWW_AUTHENTICATE, "Basic realm=\"Plumb\", charset=\"UTF-8\"")),
        _ => None,
    };
    let mut response = if is_api { ApiFault(fault).into_response() } else { fault.into_response() };
    if let Some((name, value)) = header {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    // Results change, and may be confidential.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
    response
}
