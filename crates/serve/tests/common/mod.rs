//! A store with a few runs, and a client without a network.

#![allow(dead_code, unreachable_pub)] // each test file uses its part

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use plumb_result::gate::GATE_SCHEMA;
use plumb_result::{Conformance, Gate, POSIX_SCHEMA, PosixCase, RunResult, Tool};
use plumb_serve::{App, AppOptions, ServedDatabase, router};
use plumb_store::Store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tower::ServiceExt;

pub const EXT4: &str = "018f0000-0000-7000-8000-00000000000a";
pub const TMPFS: &str = "018f0000-0000-7000-8000-00000000001b";
pub const HOSTILE: &str = "018f0000-0000-7000-8000-00000000002c";

/// The host name that requests name, and that the server answers to.
pub const HOST: &str = "127.0.0.1:8780";

/// Returns a result of `crates/report/tests/data` under another id.
pub fn result(name: &str, id: &str, started_at: &str) -> RunResult {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/data").join(format!("{name}.json"));
    let mut result: RunResult = plumb_document::json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    result.id = id.to_owned();
    result.started_at = started_at.to_owned();
    result
}

/// A text that would start a script, if a page did not escape it.
pub const SCRIPT: &str = "<script>alert(1)</script>\"'&";

/// Returns a result in which every name that a file can bring is hostile.
pub fn hostile() -> RunResult {
    let mut result = result("run-mail", HOSTILE, "2024-05-03T12:00:00Z");
    result.workload.name = SCRIPT.to_owned();
    result.environment.hostname = SCRIPT.to_owned();
    result.environment.kernel = SCRIPT.to_owned();
    result.environment.cpu = SCRIPT.to_owned();
    result.tool.name = SCRIPT.to_owned();
    for facts in result.target.values_mut() {
        facts.path = SCRIPT.to_owned();
        facts.stack.iter_mut().for_each(|layer| layer.model = Some(SCRIPT.to_owned()));
    }
    for phase in &mut result.phases {
        phase.name = SCRIPT.to_owned();
        phase.notes = vec![SCRIPT.to_owned()];
    }
    for finding in &mut result.checks {
        finding.message = SCRIPT.to_owned();
        finding.remedy = SCRIPT.to_owned();
    }
    result
}

/// Returns a conformance report with hostile names.
pub fn conformance() -> Conformance {
    let case: PosixCase = serde_json::from_value(serde_json::json!({
        "id": format!("rename.{SCRIPT}"), "level": "SHALL", "outcome": "fail", "checks": 1, "failed": 1,
        "what": SCRIPT, "expected": SCRIPT, "got": SCRIPT, "url": SCRIPT
    }))
    .unwrap();
    Conformance {
        schema: POSIX_SCHEMA.to_owned(),
        id: "018f0000-0000-7000-8000-00000000003d".to_owned(),
        started_at: "2024-05-03T12:00:00Z".to_owned(),
        tool: Tool { name: "plumb".to_owned(), version: "0.1.0".to_owned() },
        path: SCRIPT.to_owned(),
        filesystem: SCRIPT.to_owned(),
        kernel: SCRIPT.to_owned(),
        user: "user".to_owned(),
        level: "SHALL".to_owned(),
        seconds: 1.0,
        facts: BTreeMap::new(),
        cases: vec![case],
        stopped: false,
    }
}

/// Returns a gate whose names are hostile.
pub fn gate(answer: &str) -> Gate {
    let side = serde_json::json!({ "name": SCRIPT, "source": "measured", "runs": 8 });
    let number = serde_json::json!({
        "workload": SCRIPT, "phase": SCRIPT, "metric": "read.iops", "answer": answer, "note": SCRIPT,
        "baseline_value": 1000.0, "candidate_value": 900.0, "ratio": 0.9, "lo": 0.88, "hi": 0.92, "confidence": 0.94,
        "p_worse": 0.001, "p_worse_adjusted": 0.001, "p_beyond": 0.9, "unit": "block", "units": 8
    });
    serde_json::from_value(serde_json::json!({
        "schema": GATE_SCHEMA, "answer": answer, "note": SCRIPT, "promise": SCRIPT, "baseline": side, "candidate": side,
        "design": "interleaved", "margin": 0.05, "error_rate": 0.05, "numbers": [number],
        "looks": { "done": 1, "planned": 1, "level": 0.05 }, "seconds": 12.5, "left_out": [], "notes": [SCRIPT],
        "runs": [EXT4, "018f0000-0000-7000-8000-00000000ffff"], "seed": 1
    }))
    .unwrap()
}

pub const GATE: &str = "018f0000-0000-7000-8000-00000000005f";

/// A server over a database of its own.
pub struct Site {
    pub router: Router,
    pub app: Arc<App>,
    pub database: PathBuf,
    _directory: TempDir,
}

/// An answer with its whole body.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
}

impl Site {
    /// Starts a server over a store with three runs, one of them hostile.
    pub fn new() -> Site {
        Site::with(|store| {
            store.import(&result("try-ext4", EXT4, "2024-05-01T12:00:00Z")).unwrap();
            store.import(&result("try-tmpfs", TMPFS, "2024-05-02T12:00:00Z")).unwrap();
            store.import(&hostile()).unwrap();
        })
    }

    pub fn with(fill: impl FnOnce(&mut Store)) -> Site {
        Site::with_options(AppOptions::loopback(8780), fill)
    }

    pub fn with_options(options: AppOptions, fill: impl FnOnce(&mut Store)) -> Site {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("plumb.db");
        let mut store = Store::open(&database).unwrap();
        fill(&mut store);
        drop(store);
        let app = Arc::new(App::new(ServedDatabase::Local(database.clone()), options));
        Site { router: router(Arc::clone(&app)), app, database, _directory: directory }
    }

    pub async fn get(&self, address: &str) -> Answer {
        self.send(Request::get(address).header("host", HOST).body(Body::empty()).unwrap()).await
    }

    /// Requests an address with a header `Authorization`.
    pub async fn get_as(&self, address: &str, authorization: &str) -> Answer {
        let request = Request::get(address).header("host", HOST).header("authorization", authorization);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 64 << 20).await.unwrap();
        Answer { status: parts.status, headers: parts.headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }
}
