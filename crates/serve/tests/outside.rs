//! Pages in a real browser, and the API in front of a program that tries what its description allows and forbids.

#![allow(clippy::disallowed_methods)] // tests write files

mod common;

use common::{EXT4, GATE, HOSTILE, Site, TMPFS, conformance, gate, result};
use plumb_serve::{App, AppOptions, ConnectionLimits, Rates, ServedDatabase, router, serve_connections};
use plumb_store::{Store, TokenScope, TokenStore};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Returns Python with these modules; `None` skips the test, which fails under CI.
fn python(modules: &str) -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../python-tests/bin/python");
    let import = format!("import {modules}");
    let has_them = Command::new(&python).args(["-c", &import]).output().is_ok_and(|output| output.status.success());
    if !has_them {
        skip(&format!("needs target/python-tests with `{modules}`, which `cargo xtask test --install` makes"));
    }
    has_them.then_some(python)
}

fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "under CI nothing may be skipped: {why}");
    eprintln!("SKIPPED: {why}");
}

/// Returns a server with runs, a history, a gate and a conformance report, without a limit of requests.
async fn start() -> (Site, SocketAddr) {
    let site = Site::new();
    let mut store = Store::open(&site.database).unwrap();
    for i in 0..60 {
        let id = format!("018f0000-0000-7000-8000-0000000001{i:02x}");
        store.import(&result("run-mail", &id, &format!("2024-05-01T12:00:{i:02}Z"))).unwrap();
    }
    store.save_conformance(&conformance()).unwrap();
    store.save_gate(GATE, &gate("regression")).unwrap();
    store.add_token("plumb_write", "test", TokenScope::Write).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = AppOptions { rates: Rates::ByProxy, ..AppOptions::loopback(address.port()) };
    let app = Arc::new(App::new(ServedDatabase::Local(site.database.clone()), options));
    tokio::spawn(serve_connections(listener, router(app), ConnectionLimits::default(), None, std::future::pending()));
    (site, address)
}

/// Runs a program next to the server. Returns what it printed, if it failed.
async fn failure(mut command: Command) -> Option<String> {
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (!output.status.success()).then_some(text)
}

// Protects visitors: a page without errors, that fits a phone, that a keyboard and a screen reader can use.
#[tokio::test(flavor = "multi_thread")]
async fn every_page_works_in_a_browser() {
    let Some(python) = python("playwright, axe_playwright_python") else { return };
    if !Path::new("/usr/bin/chromium").exists() {
        return skip("needs chromium");
    }
    let (_site, address) = start().await;
    let mut command = Command::new(python);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser.py");
    command.arg(script).arg(format!("http://{address}")).args([
        "/",
        "/runs?verdict=caution&fs=ext4",
        &format!("/runs/{EXT4}"),
        &format!("/runs/{HOSTILE}"),
        "/compare",
        &format!("/compare?run={EXT4}&run={TMPFS}"),
        "/history",
        "/history?workload=mail",
        "/machines",
        &format!("/changes?a={EXT4}&b={TMPFS}"),
        "/studies",
        "/gates",
        &format!("/gates/{GATE}"),
        "/conformance",
        "/conformance/last",
    ]);
    if let Some(text) = failure(command).await {
        panic!("{text}");
    }
}

// Protects programs: what the description of the API says holds, and nothing that is sent makes the server fail.
#[tokio::test(flavor = "multi_thread")]
async fn the_api_holds_its_description() {
    let Some(python) = python("schemathesis") else { return };
    let (_site, address) = start().await;
    let mut command = Command::new(python.with_file_name("schemathesis"));
    command
        .args(["run", &format!("http://{address}/api/v1/openapi.json"), "--url", &format!("http://{address}")])
        .args(["--header", "Authorization: Bearer plumb_write", "--max-examples", "25"])
        // A selection or an upload that has the right form can still select nothing, or be no result.
        .args(["--exclude-checks", "positive_data_acceptance", "--seed", "7"])
        .current_dir(env!("CARGO_TARGET_TMPDIR"));
    if let Some(text) = failure(command).await {
        panic!("{text}");
    }
}
