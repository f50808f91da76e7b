//! The API, tokens and uploads.

#![allow(clippy::disallowed_methods)] // tests write files

mod common;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use common::{Answer, EXT4, HOST, SCRIPT, Site, TMPFS, hostile, result};
use plumb_serve::{AppOptions, Visitors};
use plumb_store::{Store, TokenScope, TokenStore};
use serde_json::Value;

fn json(answer: &Answer) -> Value {
    assert_eq!(answer.headers["content-type"], "application/json", "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

#[tokio::test]
async fn lists_and_documents_are_json() {
    let site = Site::new();
    let runs = json(&site.get("/api/v1/runs?n=2").await);
    assert_eq!(runs["total"], 3);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2);
    let next = runs["next"].as_str().unwrap();
    let rest = json(&site.get(&format!("/api/v1/runs?n=2&after={next}")).await);
    assert_eq!(rest["runs"][0]["id"], EXT4);
    assert_eq!(rest["next"], Value::Null);
    let numbers = rest["runs"][0]["phases"][0]["numbers"].as_array().unwrap();
    assert!(numbers.iter().any(|number| number["tier"] == "device"), "{numbers:?}");
    let run = json(&site.get("/api/v1/runs/00000000000a").await);
    assert_eq!((&run["schema"], &run["id"]), (&Value::from("plumb.result/1"), &Value::from(EXT4)));
    let comparison = json(&site.get(&format!("/api/v1/compare?a={EXT4}&b={TMPFS}")).await);
    assert_eq!(comparison["schema"], "plumb.compare/1");
    for address in ["values", "places", "machines", "studies", "gates", "conformance", "numbers", "openapi.json"] {
        let answer = site.get(&format!("/api/v1/{address}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{address}: {}", answer.body);
        json(&answer);
    }
    assert!(site.get("/metrics").await.body.ends_with("# EOF\n"));
}

#[tokio::test]
async fn faults_are_json_with_their_status() {
    let site = Site::new();
    for (address, status) in [
        ("/api/v1/runs?verdict=good", 400),
        ("/api/v1/runs?n=0", 400),
        ("/api/v1/runs/ffff", 404),
        ("/api/v1/runs/%FF", 400),
        ("/api/v1/runs/%00", 400),
        ("/api/v1/compare", 400),
        ("/api/v1/compare?a=SELECT+1&b=last", 400),
        ("/api/v1/changes?a=last", 400),
        ("/api/v1/studies/none", 404),
        ("/api/v1/conformance/none", 404),
        ("/api/v1/gates/none", 404),
        ("/api/v1/nothing", 404),
        ("/api/v1/results", 405),
    ] {
        let answer = site.get(address).await;
        assert_eq!(answer.status.as_u16(), status, "{address}: {}", answer.body);
        assert!(json(&answer)["error"].is_string(), "{address}: {}", answer.body);
    }
}

const READ: &str = "plumb_read";
const WRITE: &str = "plumb_write";

/// Returns a server with a token of each kind.
fn with_tokens(visitors: Visitors) -> Site {
    Site::with_options(AppOptions { visitors, ..AppOptions::loopback(8780) }, |store| {
        store.import(&result("try-ext4", EXT4, "2024-05-01T12:00:00Z")).unwrap();
        store.add_token(READ, "reader", TokenScope::Read).unwrap();
        store.add_token(WRITE, "writer", TokenScope::Write).unwrap();
    })
}

/// Returns the credentials that a browser sends for a password.
fn basic(password: &str) -> String {
    use base64::Engine;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("anyone:{password}")))
}

// Protects results of a team from everybody else.
#[tokio::test]
async fn without_a_token_nothing_is_read() {
    let site = with_tokens(Visitors::NeedToken);
    for address in ["/", "/runs", &format!("/runs/{EXT4}"), "/api/v1/runs", "/metrics", "/api/v1/openapi.json", "/x"] {
        let answer = site.get(address).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{address}");
        assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Basic"), "the browser asks");
        assert!(!answer.body.contains("ext4"), "{}", answer.body);
        for wrong in ["Bearer plumb_other", "Bearer", "Basic !!", "Bearer  ", &basic("x"), &format!("Token {READ}")] {
            assert_eq!(site.get_as(address, wrong).await.status, StatusCode::UNAUTHORIZED, "{address} {wrong}");
        }
    }
    for right in [format!("Bearer {READ}"), format!("bearer {WRITE}"), basic(READ), basic(WRITE)] {
        assert_eq!(site.get_as("/runs", &right).await.status, StatusCode::OK, "{right}");
    }
    Store::open(&site.database).unwrap().revoke_token("reader").unwrap();
    assert_eq!(site.get_as("/runs", &format!("Bearer {READ}")).await.status, StatusCode::UNAUTHORIZED);
}

async fn upload(site: &Site, authorization: Option<&str>, query: &str, body: impl Into<Body>) -> Answer {
    let mut request = Request::post(format!("/api/v1/results{query}")).header("host", HOST);
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    site.send(request.body(body.into()).unwrap()).await
}

// Protects the database: only a bearer of a token that may write adds to it, also on this machine, and never a browser's password.
#[tokio::test]
async fn uploads_need_a_token_that_may_write() {
    for visitors in [Visitors::Known, Visitors::NeedToken] {
        let site = with_tokens(visitors);
        let text = plumb_document::json::to_string(&hostile()).unwrap();
        for (authorization, status) in [
            (None, StatusCode::UNAUTHORIZED),
            (Some(format!("Bearer {READ}")), StatusCode::FORBIDDEN),
            (Some(basic(WRITE)), StatusCode::UNAUTHORIZED),
        ] {
            let answer = upload(&site, authorization.as_deref(), "", text.clone()).await;
            assert_eq!(answer.status, status, "{authorization:?}: {}", answer.body);
        }
        assert_eq!(Store::open(&site.database).unwrap().list(&Default::default()).unwrap().len(), 1);
    }
}

#[tokio::test]
async fn results_and_files_of_other_tools_are_added_once() {
    let site = with_tokens(Visitors::Known);
    let bearer = format!("Bearer {WRITE}");
    let text = plumb_document::json::to_string(&hostile()).unwrap();
    let first = upload(&site, Some(&bearer), "", text.clone()).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    assert_eq!(json(&first)[0]["imported"], "added");
    assert_eq!(json(&first)[0]["workload"], SCRIPT);
    assert_eq!(json(&upload(&site, Some(&bearer), "", text).await)[0]["imported"], "unchanged");
    let mut other = hostile();
    other.workload.seed = other.workload.seed.wrapping_add(1);
    let other = plumb_document::json::to_string(&other).unwrap();
    assert_eq!(upload(&site, Some(&bearer), "", other).await.status, StatusCode::CONFLICT);
    let dd = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.5 s, 429 MB/s\n";
    let of_dd = upload(&site, Some(&bearer), "?name=dd.txt", dd).await;
    assert_eq!((of_dd.status, &json(&of_dd)[0]["imported"]), (StatusCode::OK, &Value::from("added")), "{}", of_dd.body);
    assert_eq!(json(&site.get("/api/v1/runs?tool=dd").await)["total"], 1);
}

// Protects the server's memory and the database from files that hold no results.
#[tokio::test]
async fn hostile_uploads_are_refused_and_store_nothing() {
    let site = with_tokens(Visitors::Known);
    let bearer = format!("Bearer {WRITE}");
    let deep = "[".repeat(100_000);
    let bodies: [Vec<u8>; 6] = [
        Vec::new(),
        b"{}".to_vec(),
        b"{\"schema\":\"plumb.result/1\"}".to_vec(),
        b"\xff\xfe\x00".to_vec(),
        deep.into_bytes(),
        vec![b'x'; 1 << 20],
    ];
    for body in bodies {
        let head = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let answer = upload(&site, Some(&bearer), "", body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{head}: {}", answer.body);
    }
    let huge = Request::post("/api/v1/results").header("host", HOST).header("authorization", &bearer);
    let huge = huge.header("content-length", "68719476736").body(Body::empty()).unwrap();
    assert_eq!(site.send(huge).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(Store::open(&site.database).unwrap().list(&Default::default()).unwrap().len(), 1);
}
