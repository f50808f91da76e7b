//! Answers of `plumb gate` over time, and one of them.

use super::frame::{Frame, Section, html};
use super::words::{Link, Mark, counted, minute};
use crate::app::App;
use crate::fault::Fault;
use crate::parameters::{Parameters, address};
use crate::readers::Effort;
use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Html;
use plumb_report::format;
use plumb_store::{GateRow, ServedStore, StoreError};
use std::sync::Arc;

/// The answers of a gate, with the sign and the class of each.
const ANSWERS: [(Mark, &str); 4] = [
    (Mark { word: "pass", class: "good" }, "✓"),
    (Mark { word: "regression", class: "bad" }, "✗"),
    (Mark { word: "suspected", class: "caution" }, "!"),
    (Mark { word: "cannot tell", class: "faint" }, "?"),
];

/// Answers in a series: the newest.
const SERIES_MAX: usize = 40;

#[derive(Template)]
#[template(path = "gates.html")]
struct GatesPage {
    frame: Frame,
    /// Lists of one answer, with their lengths.
    answers: Vec<Link>,
    /// The answer that is listed; empty for all.
    chosen: String,
    series: Vec<GateSeries>,
    gates: Vec<GateLine>,
}

/// The gates of a candidate against a baseline, oldest first.
struct GateSeries {
    candidate: String,
    baseline: String,
    workloads: String,
    answers: Vec<GateSign>,
    last: String,
}

/// An answer as a sign that leads to its gate.
struct GateSign {
    address: String,
    sign: &'static str,
    class: &'static str,
    /// The answer in words, for those who do not see the sign.
    title: String,
}

struct GateLine {
    answered: Link,
    candidate: String,
    baseline: String,
    workloads: String,
    answer: Mark,
    worst: String,
}

pub(crate) async fn list(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Result<Html<String>, Fault> {
    let parameters = Parameters::parse(query.as_deref())?;
    let chosen = parameters.get("answer").unwrap_or_default().to_owned();
    if !chosen.is_empty() && ANSWERS.iter().all(|(mark, _)| mark.word != chosen) {
        let known = ANSWERS.map(|(mark, _)| mark.word).join(", ");
        return Err(Fault::Request(format!("`answer={chosen}` is none of: {known}")));
    }
    let rows = app.readers.read(Effort::Long, |store: &dyn ServedStore| Ok(store.gates()?)).await?;
    let count = |word: &str| rows.iter().filter(|row| row.answer == word).count();
    let page = GatesPage {
        frame: Frame::new("Gates", Section::Gates),
        answers: ANSWERS
            .iter()
            .map(|(Mark { word, .. }, _)| Link {
                name: format!("{} {word}", count(word)),
                address: address("/gates", "answer", word),
            })
            .collect(),
        series: series(&rows),
        gates: rows.iter().filter(|row| chosen.is_empty() || row.answer == chosen).map(line).collect(),
        chosen,
    };
    Ok(html(&page))
}

/// Groups gates by what they judged, those with the newest answer first.
fn series(rows: &[GateRow]) -> Vec<GateSeries> {
    let mut all: Vec<GateSeries> = Vec::new();
    for row in rows {
        let workloads = row.workloads.join(", ");
        let is_same = |known: &&mut GateSeries| {
            (&known.candidate, &known.baseline, &known.workloads) == (&row.candidate, &row.baseline, &workloads)
        };
        match all.iter_mut().find(is_same) {
            Some(known) => known.answers.push(sign(row)),
            None => all.push(GateSeries {
                candidate: row.candidate.clone(),
                baseline: row.baseline.clone(),
                workloads,
                answers: vec![sign(row)],
                last: minute(&row.answered_at),
            }),
        }
    }
    for one in &mut all {
        one.answers.truncate(SERIES_MAX);
        one.answers.reverse();
    }
    all
}

fn sign(row: &GateRow) -> GateSign {
    let (mark, sign) = answer(row);
    GateSign {
        address: format!("/gates/{}", row.id),
        sign,
        class: mark.class,
        title: format!("{}, {}", mark.word, minute(&row.answered_at)),
    }
}

fn answer(row: &GateRow) -> (Mark, &'static str) {
    let unknown = ANSWERS[ANSWERS.len() - 1];
    ANSWERS.into_iter().find(|(mark, _)| mark.word == row.answer).unwrap_or(unknown)
}

fn line(row: &GateRow) -> GateLine {
    GateLine {
        answered: Link { name: minute(&row.answered_at), address: format!("/gates/{}", row.id) },
        candidate: row.candidate.clone(),
        baseline: row.baseline.clone(),
        workloads: row.workloads.join(", "),
        answer: answer(row).0,
        worst: row
            .worst
            .as_ref()
            .map_or_else(String::new, |(name, ratio)| format!("{name}: {}×", format::ratio(*ratio))),
    }
}

#[derive(Template)]
#[template(path = "report.html")]
struct GatePage {
    frame: Frame,
    up: Link,
    note: String,
    report: String,
}

pub(crate) async fn page(State(app): State<Arc<App>>, Path(text): Path<String>) -> Result<Html<String>, Fault> {
    let read = move |store: &dyn ServedStore| {
        let missing = || StoreError::NotFound { path: store.location().to_owned(), text: text.clone() };
        let id = store.find_gate(&text)?.ok_or_else(missing)?;
        let gate = store.gate(&id)?;
        Ok((gate.runs.len(), plumb_stored_report::gate_report(&gate, store)?))
    };
    let (runs, report) = app.readers.read(Effort::Long, read).await?;
    let page = GatePage {
        frame: Frame::new(&report.title, Section::Gates),
        up: Link { name: "Gates".to_owned(), address: "/gates".to_owned() },
        note: counted(runs as u64, "run", "runs"),
        report: report.html_content(),
    };
    Ok(html(&page))
}
