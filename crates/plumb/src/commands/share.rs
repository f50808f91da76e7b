//! Results that a team shares in PostgreSQL: `plumb push`, `plumb pull`.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_cli::session;
use plumb_postgres::{Address, PullFilter, Pushed, ShareError, SharedRow, SharedStore};
use plumb_report::run::short_id;
use plumb_store::{Store, StoreError};
use serde::Serialize;

/// Output of `plumb push --json`.
#[derive(Debug, Default, Serialize)]
struct PushReport {
    destination: String,
    /// Runs that this push added.
    pushed: Vec<String>,
    /// Runs whose same result was there already.
    present: Vec<String>,
    refused: Vec<RefusedRun>,
    /// Number of runs that no attempt was made for, because the database failed.
    waiting: usize,
}

/// Output of `plumb pull --json`.
#[derive(Debug, Default, Serialize)]
struct PullReport {
    source: String,
    /// Runs that the local store lacked.
    pulled: Vec<String>,
    refused: Vec<RefusedRun>,
    /// Number of runs that no attempt was made for, because the database failed.
    waiting: usize,
}

/// A run that one of the stores does not take.
#[derive(Debug, Serialize)]
struct RefusedRun {
    run: String,
    reason: String,
}

pub(crate) fn push(to: &str, common: &Common) -> Result<End, Stopped> {
    let address = address(to, "--to")?;
    let mut store = session::store_to_change(common)?;
    let mut report = PushReport { destination: address.destination(), ..PushReport::default() };
    let queue = store.unpushed(&report.destination)?;
    let failure = match queue.is_empty() {
        true => None,
        false => match SharedStore::open_to_push(&address) {
            Ok(mut shared) => push_all(&queue, &mut store, &mut shared, &mut report)?,
            Err(error) => Some(error),
        },
    };
    report.waiting = queue.len() - report.pushed.len() - report.present.len() - report.refused.len();
    if common.json {
        session::print_json(&report)?;
    } else if queue.is_empty() {
        let count = store.count_pushed(&report.destination)?;
        output::print(&format!("nothing to push: {} in {}\n", are(count as usize), report.destination));
    } else {
        let PushReport { destination, pushed, present, refused, waiting } = &report;
        let (pushed, present) = (pushed.len(), present.len());
        output::print(&format!("{pushed} pushed, {present} there already, {} refused", refused.len()));
        output::print(&format!(", {waiting} waiting: {destination}\n"));
    }
    end(&report.refused, failure, report.waiting, "plumb push")
}

/// Pushes run by run, and notes each in the local store. Returns the error after which the rest waits.
fn push_all(
    queue: &[String],
    store: &mut Store,
    shared: &mut SharedStore,
    report: &mut PushReport,
) -> Result<Option<ShareError>, Stopped> {
    for id in queue {
        let run = match store.local_run(id) {
            Ok(run) => run,
            Err(error @ StoreError::Unreadable { .. }) => {
                report.refused.push(RefusedRun { run: id.clone(), reason: error.to_string() });
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match shared.push(&run) {
            Ok(pushed) => {
                store.note_pushed(id, &report.destination)?;
                match pushed {
                    Pushed::Added => report.pushed.push(id.clone()),
                    Pushed::Present => report.present.push(id.clone()),
                }
            }
            Err(error) if error.is_of_one_run() => {
                report.refused.push(RefusedRun { run: id.clone(), reason: error.to_string() });
            }
            Err(error) => return Ok(Some(error)),
        }
    }
    Ok(None)
}

pub(crate) fn pull(from: &str, filter: &PullFilter, common: &Common) -> Result<End, Stopped> {
    let address = address(from, "--from")?;
    let mut store = session::store(common)?;
    let mut report = PullReport { source: address.destination(), ..PullReport::default() };
    let mut shared = SharedStore::open_to_pull(&address).map_err(Stopped::io)?;
    let rows = shared.runs(filter).map_err(Stopped::io)?;
    let known = store.ids_with_result()?;
    let lacking: Vec<&SharedRow> = rows.iter().filter(|row| !known.contains(&row.id)).collect();
    let failure = pull_all(&lacking, &mut store, &mut shared, &mut report)?;
    report.waiting = lacking.len() - report.pulled.len() - report.refused.len();
    if common.json {
        session::print_json(&report)?;
    } else if lacking.is_empty() {
        output::print(&format!("nothing to pull: {} of {} here already\n", are(rows.len()), report.source));
    } else {
        let PullReport { source, pulled, refused, waiting } = &report;
        let here = rows.len() - lacking.len();
        output::print(&format!("{} pulled, {here} here already, {} refused", pulled.len(), refused.len()));
        output::print(&format!(", {waiting} waiting: {source}\n"));
    }
    end(&report.refused, failure, report.waiting, "plumb pull")
}

/// Imports run by run. Returns the error after which the rest waits.
fn pull_all(
    lacking: &[&SharedRow],
    store: &mut Store,
    shared: &mut SharedStore,
    report: &mut PullReport,
) -> Result<Option<ShareError>, Stopped> {
    for row in lacking {
        let result = match shared.result(&row.id) {
            Ok(result) => result,
            Err(error) if error.is_of_one_run() => {
                report.refused.push(RefusedRun { run: row.id.clone(), reason: error.to_string() });
                continue;
            }
            Err(error) => return Ok(Some(error)),
        };
        match store.import_shared(&result, &row.tags, &report.source) {
            Ok(()) => report.pulled.push(row.id.clone()),
            Err(error @ (StoreError::Begun { .. } | StoreError::Time { .. } | StoreError::Tag { .. })) => {
                report.refused.push(RefusedRun { run: row.id.clone(), reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Reports refused runs and the error that ended the command early.
fn end(refused: &[RefusedRun], failure: Option<ShareError>, waiting: usize, command: &str) -> Result<End, Stopped> {
    for RefusedRun { run, reason } in refused {
        error_line!("error: {}: {reason}", short_id(run));
    }
    match failure {
        Some(error) => Err(Stopped::io(format!("{error}\n{} the next `{command}`.", wait(waiting)))),
        None if refused.is_empty() => Ok(End::Done),
        None => Ok(End::Io),
    }
}

fn wait(count: usize) -> String {
    if count == 1 { "1 run waits for".to_owned() } else { format!("{count} runs wait for") }
}

fn are(count: usize) -> String {
    if count == 1 { "1 run is".to_owned() } else { format!("all {count} runs are") }
}

fn address(text: &str, option: &str) -> Result<Address, Stopped> {
    Address::of_environment(text).map_err(|error| Stopped::usage(format!("{option} or PLUMB_PUSH_TO: {error}")))
}

pub(crate) fn filter(host: Option<&str>, since: Option<Timestamp>, tag: Option<&str>) -> PullFilter {
    PullFilter {
        host: host.map(str::to_owned),
        since_ns: since.and_then(|time| i64::try_from(time.as_nanosecond()).ok()),
        tag: tag.map(str::to_owned),
    }
}

/// Parses a date, which begins at midnight UTC, or an RFC 3339 time.
pub(crate) fn since(text: &str) -> Result<Timestamp, String> {
    let of_date = |date: Date| date.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    let time = text.parse::<Timestamp>().ok().or_else(|| {
        // The parser of dates also accepts a local time, whose zone is unknown.
        text.parse::<Date>().ok().filter(|_| text.len() == 10).and_then(of_date)
    });
    time.ok_or_else(|| "write a date such as 2026-11-01, or a time such as 2026-11-01T08:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a time without a zone is not guessed.
    #[test]
    fn since_is_a_date_or_a_time_with_zone() {
        let midnight: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
        assert_eq!(since("2026-11-01"), Ok(midnight));
        assert_eq!(since("2026-11-01T01:00:00+01:00"), Ok(midnight));
        for text in ["", "yesterday", "2026-11-01T00:00:00", "2026-13-01", "2026-11-01 08:00"] {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
