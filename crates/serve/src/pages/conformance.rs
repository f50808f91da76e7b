//! Conformance of file systems: a matrix of the newest reports, and one report.

use super::frame::{Frame, Section, html};
use super::words::{Link, minute};
use crate::app::App;
use crate::fault::Fault;
use crate::readers::Effort;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Html;
use plumb_report::posix::matrix_content;
use plumb_result::{Conformance, PosixCase, PosixOutcome};
use plumb_store::{ConformanceRow, ServedStore};
use std::sync::Arc;

/// Columns of the matrix.
const COLUMNS_MAX: usize = 12;

#[derive(Template)]
#[template(path = "conformances.html")]
struct ConformancesPage {
    frame: Frame,
    reports: Vec<ReportLine>,
    matrix: Option<String>,
}

struct ReportLine {
    filesystem: Link,
    path: String,
    kernel: String,
    user: String,
    level: String,
    failures: u64,
    passed: u64,
    skipped: u64,
    tested: String,
}

pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Html<String>, Fault> {
    let read = |store: &dyn ServedStore| Ok((store.conformances()?, store.newest_conformances(COLUMNS_MAX)?));
    let (rows, newest) = app.readers.read(Effort::Long, read).await?;
    let page = ConformancesPage {
        frame: Frame::new("Conformance", Section::Conformance),
        reports: rows.into_iter().map(line).collect(),
        matrix: (!newest.is_empty()).then(|| matrix_content(&newest)),
    };
    Ok(html(&page))
}

fn line(row: ConformanceRow) -> ReportLine {
    ReportLine {
        filesystem: Link { name: row.filesystem, address: format!("/conformance/{}", row.id) },
        path: row.path,
        kernel: row.kernel,
        user: row.user,
        level: row.level,
        failures: row.failures,
        passed: row.passed,
        skipped: row.skipped,
        tested: minute(&row.tested_at),
    }
}

#[derive(Template)]
#[template(path = "conformance.html")]
struct ConformancePage {
    frame: Frame,
    report: Conformance,
    summary: String,
    failed: Vec<PosixCase>,
}

pub(crate) async fn page(State(app): State<Arc<App>>, Path(text): Path<String>) -> Result<Html<String>, Fault> {
    let report = app.readers.read(Effort::Long, move |store: &dyn ServedStore| Ok(store.conformance(&text)?)).await?;
    let count = |outcome| report.count(outcome);
    let summary = format!(
        "{} of {} cases hold, {} fail at level {}, {} were skipped.",
        count(PosixOutcome::Pass),
        report.cases.len(),
        report.failures(),
        report.level,
        count(PosixOutcome::Skip)
    );
    let is_shown = |case: &&PosixCase| !matches!(case.outcome, PosixOutcome::Pass | PosixOutcome::Skip);
    let failed = report.cases.iter().filter(is_shown).cloned().collect();
    let title = format!("{} at {}", report.filesystem, report.path);
    Ok(html(&ConformancePage { frame: Frame::new(&title, Section::Conformance), report, summary, failed }))
}
