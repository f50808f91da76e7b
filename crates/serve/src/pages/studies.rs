//! Studies: the plan, how far it has come, and the answer. The page of a study that runs follows it by events.

use super::frame::{Frame, Section, html};
use super::words::{Link, Mark, minute};
use crate::app::App;
use crate::fault::Fault;
use crate::readers::Effort;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Html;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream;
use plumb_report::format;
use plumb_store::{ServedStore, StudyRow, StudyRunRow, StudyRunStatus};
use plumb_study::answer::{StudyEvidence, answer};
use plumb_study::conduct::FrozenStudy;
use plumb_study::plan::words;
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Interval at which a follower of a study gets its state.
const FOLLOW_PERIOD: Duration = Duration::from_secs(1);

#[derive(Template)]
#[template(path = "studies.html")]
struct StudiesPage {
    frame: Frame,
    studies: Vec<StudyLine>,
}

struct StudyLine {
    name: Link,
    began: String,
    progress: Progress,
}

/// Progress of a study, in runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct Progress {
    /// Number of planned runs.
    pub runs: u32,
    /// Number of runs that have ended, successfully or not.
    pub ended: u32,
    pub failed: u32,
    pub rejected: u32,
    /// Whether a process conducts it now.
    pub running: bool,
    pub done: bool,
    /// All of this as a sentence.
    pub text: String,
}

impl Progress {
    pub(crate) fn new(row: &StudyRow) -> Progress {
        let mut text = format!("{} of {} runs have ended", row.ended, row.runs);
        for (count, word) in [(row.failed, "failed"), (row.rejected, "rejected")] {
            if count > 0 {
                text.push_str(&format!(", {count} {word}"));
            }
        }
        text.push_str(match (row.running, row.done) {
            (true, _) => "; it runs now",
            (false, true) => "",
            (false, false) => "; it waits for `plumb study resume`",
        });
        Progress {
            runs: row.runs,
            ended: row.ended,
            failed: row.failed,
            rejected: row.rejected,
            running: row.running,
            done: row.done,
            text,
        }
    }
}

pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Html<String>, Fault> {
    let studies = app.readers.read(Effort::Brief, |store: &dyn ServedStore| Ok(store.studies()?)).await?;
    let line = |row: &StudyRow| StudyLine {
        name: Link { name: row.name.clone(), address: format!("/studies/{}", row.id) },
        began: minute(&row.created_at),
        progress: Progress::new(row),
    };
    let page =
        StudiesPage { frame: Frame::new("Studies", Section::Studies), studies: studies.iter().map(line).collect() };
    Ok(html(&page))
}

#[derive(Template)]
#[template(path = "study.html")]
struct StudyPage {
    frame: Frame,
    id: String,
    name: String,
    progress: Progress,
    /// Address of the script, for a study that runs.
    script: Option<&'static str>,
    report: Option<String>,
    question: String,
    runs: Vec<RunLine>,
}

/// A planned run.
struct RunLine {
    number: u32,
    plot: u32,
    block: u32,
    levels: String,
    workload: String,
    state: Mark,
    seconds: String,
    reason: String,
    address: Option<String>,
}

pub(crate) async fn page(State(app): State<Arc<App>>, Path(text): Path<String>) -> Result<Html<String>, Fault> {
    app.readers.read(Effort::Long, move |store: &dyn ServedStore| study_page(store, &text)).await
}

fn study_page(store: &dyn ServedStore, text: &str) -> Result<Html<String>, Fault> {
    let id = store.find_study(text)?;
    let row = store.study(&id)?.row;
    let runs = store.study_runs(&id)?;
    let plan = FrozenStudy::open(store, &id)?.plan;
    let has_answer = runs.iter().any(|run| run.status == StudyRunStatus::Done);
    let report = match has_answer {
        true => {
            Some(plumb_stored_report::study_report(&answer(&StudyEvidence::load(store, &id)?), store)?.html_content())
        }
        false => None,
    };
    let line = |run: &StudyRunRow| {
        let planned = plan.runs.get(run.seq as usize);
        let cell = planned.and_then(|planned| plan.cells.get(planned.cell as usize));
        RunLine {
            number: run.seq + 1,
            plot: run.plot + 1,
            block: plan.plots.get(run.plot as usize).map_or(0, |plot| plot.block + 1),
            levels: cell.map(|cell| words::levels(&cell.levels)).unwrap_or_default(),
            workload: cell.map(|cell| cell.workload.clone()).unwrap_or_default(),
            state: state(run.status),
            seconds: run.seconds.map(|seconds| format::time(seconds * 1e9)).unwrap_or_default(),
            reason: run.reason.clone().unwrap_or_default(),
            address: address(run),
        }
    };
    let progress = Progress::new(&row);
    let page = StudyPage {
        frame: Frame::new(&row.name, Section::Studies),
        script: progress.running.then(|| crate::assets::SCRIPT_ADDRESS.as_str()),
        progress,
        report,
        question: plan.question.clone(),
        runs: runs.iter().map(line).collect(),
        name: row.name,
        id,
    };
    Ok(html(&page))
}

fn address(run: &StudyRunRow) -> Option<String> {
    let of_result = run.run_id.as_ref().map(|id| format!("/runs/{id}"));
    of_result.or_else(|| run.conformance_id.as_ref().map(|id| format!("/conformance/{id}")))
}

fn state(status: StudyRunStatus) -> Mark {
    let class = match status {
        StudyRunStatus::Done => "good",
        StudyRunStatus::Rejected => "caution",
        StudyRunStatus::Failed => "bad",
        StudyRunStatus::Running => "live",
        StudyRunStatus::Planned | StudyRunStatus::Skipped => "faint",
    };
    Mark { word: status.name(), class }
}

/// Sends the progress of a study whenever it changes, until it no longer runs.
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    Path(text): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Fault> {
    let place = Arc::clone(&app.followers).try_acquire_owned().map_err(|_| Fault::Busy)?;
    let id = app.readers.read(Effort::Brief, move |store: &dyn ServedStore| Ok(store.find_study(&text)?)).await?;
    let follower = Follower { app, id, known: None, ended: false, _place: place };
    let events = stream::unfold(follower, async |mut follower| Some((follower.next().await?, follower)));
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// A browser that follows a study.
struct Follower {
    app: Arc<App>,
    id: String,
    known: Option<Progress>,
    ended: bool,
    _place: tokio::sync::OwnedSemaphorePermit,
}

impl Follower {
    /// Waits for the next change. Returns `None` after the last one.
    async fn next(&mut self) -> Option<Result<Event, Infallible>> {
        while !self.ended {
            if self.known.is_some() {
                tokio::time::sleep(FOLLOW_PERIOD).await;
            }
            let id = self.id.clone();
            let read = move |store: &dyn ServedStore| Ok(Progress::new(&store.study(&id)?.row));
            // A busy database is asked again.
            let Ok(progress) = self.app.readers.read(Effort::Brief, read).await else {
                tokio::time::sleep(FOLLOW_PERIOD).await;
                continue;
            };
            if self.known.as_ref() != Some(&progress) {
                self.ended = !progress.running;
                let name = if self.ended { "end" } else { "progress" };
                let data = plumb_document::json::to_string(&progress).unwrap_or_default();
                self.known = Some(progress);
                return Some(Ok(Event::default().event(name).data(data)));
            }
        }
        None
    }
}
