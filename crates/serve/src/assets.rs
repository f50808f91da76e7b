//! Files that pages refer to: the style sheet, the icon, and the script of live pages. Their addresses change with their content, so that browsers keep them.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::LazyLock;

/// Rules of reports, and those of the frame around them.
static STYLE_SHEET: LazyLock<String> =
    LazyLock::new(|| format!("{}{}", plumb_report::full::style_sheet(), include_str!("../static/site.css")));

const ICON: &str = include_str!("../static/icon.svg");

/// Follows a study that runs.
const SCRIPT: &str = include_str!("../static/live.js");

/// Address of the script.
pub(crate) static SCRIPT_ADDRESS: LazyLock<String> = LazyLock::new(|| address("live", "js", SCRIPT));

/// Address of the style sheet.
pub(crate) static STYLE_SHEET_ADDRESS: LazyLock<String> = LazyLock::new(|| address("plumb", "css", &STYLE_SHEET));

/// Address of the icon.
pub(crate) static ICON_ADDRESS: LazyLock<String> = LazyLock::new(|| address("icon", "svg", ICON));

fn address(name: &str, ending: &str, content: &str) -> String {
    let hash = blake3::hash(content.as_bytes()).to_hex();
    format!("/assets/{name}-{}.{ending}", &hash[..12])
}

pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let is_at = |address: &str| address.strip_prefix("/assets/") == Some(&name);
    let (kind, content) = if is_at(&STYLE_SHEET_ADDRESS) {
        ("text/css; charset=utf-8", STYLE_SHEET.as_str())
    } else if is_at(&ICON_ADDRESS) {
        ("image/svg+xml", ICON)
    } else if is_at(&SCRIPT_ADDRESS) {
        ("text/javascript; charset=utf-8", SCRIPT)
    } else {
        return (StatusCode::NOT_FOUND, "no file has this address\n").into_response();
    };
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    (headers, content).into_response()
}
