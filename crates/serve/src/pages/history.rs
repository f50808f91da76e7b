//! Histories: the numbers of a workload at a place over time, with the changes of their level.

use super::frame::{Frame, Section, html};
use super::words::{Link, counted, minute};
use crate::app::App;
use crate::fault::Fault;
use crate::parameters::Parameters;
use crate::readers::Effort;
use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Html;
use plumb_store::{PlaceRow, ServedStore};
use std::sync::Arc;

/// Newest runs that a history takes. Its charts draw at most 120 points.
const RUNS_MAX: u32 = 2000;

#[derive(Template)]
#[template(path = "places.html")]
struct PlacesPage {
    frame: Frame,
    places: Vec<PlaceLine>,
}

struct PlaceLine {
    workload: Link,
    host: String,
    path: String,
    runs: String,
    last: String,
}

#[derive(Template)]
#[template(path = "report.html")]
struct HistoryPage {
    frame: Frame,
    up: Link,
    note: String,
    report: String,
}

/// The places with a history, or the history of one.
pub(crate) async fn page(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Result<Html<String>, Fault> {
    let parameters = Parameters::parse(query.as_deref())?;
    let query = parameters.filter()?;
    if query == Default::default() {
        let places = app.readers.read(Effort::Brief, |store: &dyn ServedStore| Ok(store.places()?)).await?;
        let page = PlacesPage {
            frame: Frame::new("History", Section::History),
            places: places.into_iter().map(line).collect(),
        };
        return Ok(html(&page));
    }
    let named = [&query.workload, &query.path, &query.host].map(|name| name.as_deref().unwrap_or_default());
    let title = selection(named);
    let of = title.clone();
    let read = move |store: &dyn ServedStore| {
        let ids = store.matching_ids(&query, RUNS_MAX)?;
        if ids.is_empty() {
            return Err(Fault::NotFound(format!("no run with a result matches: {of}")));
        }
        Ok((ids.len(), plumb_stored_report::runs_report(&of, &ids, store)?.html_content()))
    };
    let (runs, report) = app.readers.read(Effort::Long, read).await?;
    let limited = if runs as u32 == RUNS_MAX { ", the newest" } else { "" };
    let page = HistoryPage {
        frame: Frame::new(&format!("History of {title}"), Section::History),
        up: Link { name: "History".to_owned(), address: "/history".to_owned() },
        note: format!(
            "{}{limited}. A change of level needs p below 0.001 and 5 % between the levels before and after it; of a series without a change, \
             the search finds one in about one of a thousand windows of 50 runs.",
            counted(runs as u64, "run", "runs")
        ),
        report,
    };
    Ok(html(&page))
}

/// Returns `random-read at /mnt/data on n1`, as far as the names are known.
fn selection([workload, path, host]: [&str; 3]) -> String {
    let mut text = if workload.is_empty() { "runs".to_owned() } else { workload.to_owned() };
    for (word, name) in [("at", path), ("on", host)] {
        if !name.is_empty() {
            text.push_str(&format!(" {word} {name}"));
        }
    }
    text
}

fn line(place: PlaceRow) -> PlaceLine {
    let PlaceRow { workload, host, path, runs, last_at } = place;
    let address = Parameters::new([("workload", &workload), ("host", &host), ("path", &path)]).address("/history");
    PlaceLine {
        workload: Link { name: workload, address },
        host,
        path,
        runs: counted(runs, "run", "runs"),
        last: minute(&last_at),
    }
}
