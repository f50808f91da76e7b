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
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Names under which the server answers. A page of another site whose name was rebound to this address sends that site's name,
/// and gets nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// Returns the names of this machine for itself.
    pub fn loopback(port: u16) -> AllowedHosts {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        AllowedHosts(names.iter().map(|name| format!("{name}:{port}")).collect())
    }

    /// Adds a name, with the port if visitors type one.
    pub fn add(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    fn contains(&self, host: &str) -> bool {
        self.0.iter().any(|known| known.eq_ignore_ascii_case(host))
    }
}

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

/// Requests of one sender at once.
const BURST: f64 = 400.0;

/// Requests of one sender a second, in the long run.
const PER_SECOND: f64 = 100.0;

/// Senders that are remembered.
const SENDERS_MAX: usize = 4096;

/// Limits the rate of each sender: a bucket that fills at [`PER_SECOND`]. The crate `governor` does this too, but its map of
/// senders has no bound that spares those it knows.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter(Mutex<BTreeMap<IpAddr, Bucket>>);

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl RateLimiter {
    fn admits(&self, sender: IpAddr, now: Instant) -> bool {
        let mut senders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if senders.len() >= SENDERS_MAX && !senders.contains_key(&sender) {
            // A full bucket is the same as none.
            senders.retain(|_, bucket| bucket.filled(now) < BURST);
            if senders.len() >= SENDERS_MAX {
                return false;
            }
        }
        let bucket = senders.entry(sender).or_insert(Bucket { left: BURST, at: now });
        bucket.left = bucket.filled(now);
        bucket.at = now;
        let admitted = bucket.left >= 1.0;
        if admitted {
            bucket.left -= 1.0;
        }
        admitted
    }
}

impl Bucket {
    fn filled(&self, now: Instant) -> f64 {
        (self.left + now.saturating_duration_since(self.at).as_secs_f64() * PER_SECOND).min(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    // Protects other senders from one that floods.
    #[test]
    fn a_flood_is_cut_and_others_are_served() {
        let limiter = RateLimiter::default();
        let (flooder, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let now = Instant::now();
        let admitted = (0..1000).filter(|_| limiter.admits(flooder, now)).count();
        assert_eq!(admitted, BURST as usize);
        assert!(limiter.admits(other, now));
        assert!(limiter.admits(flooder, now + Duration::from_secs(1)));
    }

    // Protects the server's memory from senders with many addresses.
    #[test]
    fn senders_are_bounded() {
        let limiter = RateLimiter::default();
        let now = Instant::now();
        let address = |number: usize| IpAddr::from((number as u32).to_be_bytes());
        assert_eq!((0..2 * SENDERS_MAX).filter(|&number| limiter.admits(address(number), now)).count(), SENDERS_MAX);
        let later = now + Duration::from_secs(1);
        assert!(limiter.admits(address(3 * SENDERS_MAX), later), "full buckets are forgotten");
    }
}
