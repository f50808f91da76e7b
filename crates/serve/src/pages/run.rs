//! One run: its report, and where it belongs.

use super::frame::{Frame, Section, html};
use super::words::{Link, Mark, minute, trust};
use crate::app::App;
use crate::fault::Fault;
use crate::parameters::{Parameters, address};
use crate::readers::Effort;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Redirect, Response};
use plumb_report::format;
use plumb_report::run::short_id;
use plumb_result::Interval;
use plumb_store::{MarkKind, PhaseIntervals, ServedStore, StoreError, rfc3339};
use std::sync::Arc;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: Frame,
    id: String,
    short: String,
    started: String,
    workload: Link,
    trust: Mark,
    tags: Vec<Link>,
    remarks: Vec<Remark>,
    /// The command as typed; empty if unknown.
    command: String,
    comparison: Option<String>,
    /// Address of the changes since the run before, of the same workload on the same machine.
    changes: Option<String>,
    history: Option<String>,
    content: Content,
}

/// A retraction, its withdrawal, or a note.
struct Remark {
    kind: &'static str,
    text: String,
    author: String,
    at: String,
}

enum Content {
    /// The report, as `plumb report --html` writes it.
    Report(String),
    /// A run without a result, with what it measured until it ended.
    Partial { reason: String, rows: Vec<Second> },
}

/// One interval of a run without a result.
struct Second {
    phase: String,
    until: String,
    op: &'static str,
    rate: String,
    bytes: String,
    p99: String,
}

pub(crate) async fn page(State(app): State<Arc<App>>, Path(text): Path<String>) -> Result<Response, Fault> {
    let asked = text.clone();
    let read = move |store: &dyn ServedStore| {
        let id = store.find(&text)?;
        if id != text {
            return Ok((id, None));
        }
        let page = run_page(store, &id)?;
        Ok((id, Some(page)))
    };
    let (id, page): (String, Option<Html<String>>) = app.readers.read(Effort::Long, read).await?;
    Ok(match page {
        Some(page) => page.into_response(),
        // `last` moves, so no browser may remember where this went.
        None => {
            debug_assert_ne!(id, asked);
            Redirect::temporary(&format!("/runs/{id}")).into_response()
        }
    })
}

fn run_page(store: &dyn ServedStore, id: &str) -> Result<Html<String>, Fault> {
    let row = store.run(id)?;
    let content = match store.get(id) {
        Ok(result) => {
            let report = plumb_stored_report::run_report(&result, &[id.to_owned()], Some(store))?;
            Content::Report(report.html_content())
        }
        Err(StoreError::NoResult { status, reason, .. }) => Content::Partial {
            reason: reason.map_or(status.clone(), |reason| format!("{status}: {reason}")),
            rows: store.intervals(id)?.iter().flat_map(seconds).collect(),
        },
        Err(error) => return Err(error.into()),
    };
    let comparison = store.comparison_of(id)?;
    let changes =
        store.run_before(id)?.map(|before| Parameters::new([("a", &before), ("b", &row.id)]).address("/changes"));
    let history = row
        .paths
        .first()
        .map(|path| Parameters::new([("workload", &row.workload), ("path", path)]).address("/history"));
    let title = format!("{}, {}", row.workload, minute(&row.started_at));
    let link = |parameter: &str, name: &str| Link { name: name.to_owned(), address: address("/runs", parameter, name) };
    let page = RunPage {
        frame: Frame::new(&title, Section::Runs),
        short: short_id(id).to_owned(),
        started: minute(&row.started_at),
        trust: trust(&row),
        workload: link("workload", &row.workload),
        remarks: row.marks.iter().map(remark).collect(),
        tags: row.tags.iter().map(|tag| link("tag", tag)).collect(),
        command: row.command,
        comparison,
        changes,
        history,
        content,
        id: row.id,
    };
    Ok(html(&page))
}

fn remark(mark: &plumb_store::Mark) -> Remark {
    let kind = match mark.kind {
        MarkKind::Retraction => "Retracted",
        MarkKind::Reinstatement => "Reinstated",
        MarkKind::Note => "Note",
    };
    Remark { kind, text: mark.reason.clone(), author: mark.author.clone(), at: minute(&rfc3339(mark.at)) }
}

fn seconds(phase: &PhaseIntervals) -> Vec<Second> {
    let of_interval = |interval: &Interval| {
        let seconds = interval.length_ns as f64 / 1e9;
        let until = format::time((interval.start_ns + interval.length_ns) as f64);
        let row = |(kind, ops): (&plumb_workload::OpKind, &plumb_result::OpCounts)| Second {
            phase: phase.name.clone(),
            until: until.clone(),
            op: kind.name(),
            rate: format::per_second(ops.count as f64 / seconds),
            bytes: if ops.bytes > 0 { format::rate_si(ops.bytes as f64 / seconds) } else { String::new() },
            p99: ops.p99_ns.map_or(format::MISSING.to_owned(), |ns| format::time(ns as f64)),
        };
        interval.ops.iter().map(row).collect::<Vec<_>>()
    };
    phase.intervals.iter().flat_map(of_interval).collect()
}
