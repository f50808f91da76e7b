//! Rights of a request, by the token in its header `Authorization`.

use crate::app::App;
use crate::fault::Fault;
use crate::readers::Effort;
use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plumb_store::{ServedStore, TokenScope};

/// Rights of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// It has no token, or one that is unknown or revoked.
    None,
    Read,
    Write,
}

/// Longest token, in bytes. Plumb's have 70.
const TOKEN_BYTES_MAX: usize = 256;

/// Returns what the bearer of a token may do. Browsers do not send this header by themselves, so another site cannot use it.
pub(crate) async fn bearer_access(app: &App, headers: &HeaderMap) -> Result<Access, Fault> {
    match authorization(headers) {
        Some(("Bearer", token)) => token_access(app, token.to_owned()).await,
        _ => Ok(Access::None),
    }
}

/// Returns whether a visitor may read: with a token as bearer, or as the password that a browser asks for.
pub(crate) async fn visitor_access(app: &App, headers: &HeaderMap) -> Result<Access, Fault> {
    match authorization(headers) {
        Some(("Basic", pair)) => match password(pair) {
            // A password never writes: a browser sends it to every form's address.
            Some(token) => Ok(token_access(app, token).await?.min(Access::Read)),
            None => Ok(Access::None),
        },
        _ => bearer_access(app, headers).await,
    }
}

/// Returns the scheme, in its usual letters, and the rest of the header.
fn authorization(headers: &HeaderMap) -> Option<(&'static str, &str)> {
    let (scheme, rest) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let known = ["Bearer", "Basic"].into_iter().find(|known| known.eq_ignore_ascii_case(scheme))?;
    Some((known, rest.trim()))
}

/// Returns the password of `Basic` credentials. Source: RFC 7617.
fn password(pair: &str) -> Option<String> {
    let text = String::from_utf8(STANDARD.decode(pair).ok()?).ok()?;
    Some(text.split_once(':')?.1.to_owned())
}

async fn token_access(app: &App, token: String) -> Result<Access, Fault> {
    if token.is_empty() || token.len() > TOKEN_BYTES_MAX {
        return Ok(Access::None);
    }
    let read = move |store: &dyn ServedStore| Ok(store.token_scope(&token)?);
    Ok(match app.readers.read(Effort::Brief, read).await? {
        None => Access::None,
        Some(TokenScope::Read) => Access::Read,
        Some(TokenScope::Write) => Access::Write,
    })
}
