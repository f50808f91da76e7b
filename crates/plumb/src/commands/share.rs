//! Results that a team shares in PostgreSQL: `plumb push`, `plumb pull`.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_cli::session;
use plumb_postgres::{Address, OldRows, Pushed, Retention, ShareError, SharedStore};
use plumb_report::run::short_id;
use plumb_store::{Filter, ResultStore, RunRow, Store, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// Comparisons, sweeps, ladders, conformance reports and studies that this push added.
    documents: Vec<String>,
}

/// Output of `plumb pull --json`.
#[derive(Debug, Default, Serialize)]
struct PullReport {
    source: String,
    /// Runs that the local store lacked.
    pulled: Vec<String>,
    /// Number of runs that were here and got tags or marks.
    remarks: usize,
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
    let documents = store.unpushed_documents(&report.destination)?;
    let is_empty = queue.is_empty() && documents.is_empty();
    let mut failure = None;
    if !is_empty {
        match SharedStore::open_to_push(&address) {
            Ok(mut shared) => {
                failure = push_all(&queue, &mut store, &mut shared, &mut report)?;
                report.waiting = queue.len() - report.pushed.len() - report.present.len() - report.refused.len();
                if failure.is_none() {
                    failure = push_documents(&documents, &mut store, &mut shared, &mut report)?;
                }
            }
            Err(error) => {
                report.waiting = queue.len();
                failure = Some(error);
            }
        }
    }
    if common.json {
        session::print_json(&report)?;
    } else if is_empty {
        let count = store.count_pushed(&report.destination)?;
        output::print(&format!("nothing to push: {} in {}\n", are(count as usize), report.destination));
    } else {
        let PushReport { destination, pushed, present, refused, waiting, documents } = &report;
        let (pushed, present) = (pushed.len(), present.len());
        let documents = match documents.len() {
            0 => String::new(),
            1 => " (and 1 document)".to_owned(),
            count => format!(" (and {count} documents)"),
        };
        output::print(&format!("{pushed} pushed{documents}, {present} there already, {} refused", refused.len()));
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

/// Pushes documents about runs. Returns the error after which the rest waits.
fn push_documents(
    documents: &[(&'static str, String)],
    store: &mut Store,
    shared: &mut SharedStore,
    report: &mut PushReport,
) -> Result<Option<ShareError>, Stopped> {
    for (kind, id) in documents {
        let document = match store.local_document(kind, id) {
            Ok(document) => document,
            Err(error @ StoreError::Unreadable { .. }) => {
                report.refused.push(RefusedRun { run: id.clone(), reason: error.to_string() });
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match shared.push_document(&document) {
            Ok(pushed) => {
                store.note_pushed_document(kind, id, &report.destination)?;
                if pushed == Pushed::Added {
                    report.documents.push(id.clone());
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

pub(crate) fn pull(from: &str, filter: &Filter, common: &Common) -> Result<End, Stopped> {
    let address = address(from, "--from")?;
    let mut store = session::store(common)?;
    let mut report = PullReport { source: address.destination(), ..PullReport::default() };
    let shared = SharedStore::open_to_read(&address).map_err(Stopped::io)?;
    let mut rows = shared.list(filter)?;
    rows.reverse();
    let known = store.ids_with_result()?;
    add_remarks(&rows, &mut store, &mut report)?;
    let lacking: Vec<&RunRow> = rows.iter().filter(|row| !known.contains(&row.id)).collect();
    let unremarked = report.refused.len();
    let failure = pull_all(&lacking, &mut store, &shared, &mut report)?;
    report.waiting = lacking.len() - report.pulled.len() - (report.refused.len() - unremarked);
    if common.json {
        session::print_json(&report)?;
    } else if lacking.is_empty() {
        output::print(&format!("nothing to pull: {} of {} here already\n", are(rows.len()), report.source));
    } else {
        let PullReport { source, pulled, refused, waiting, .. } = &report;
        let here = rows.len() - lacking.len();
        output::print(&format!("{} pulled, {here} here already, {} refused", pulled.len(), refused.len()));
        output::print(&format!(", {waiting} waiting: {source}\n"));
    }
    end(&report.refused, failure, report.waiting, "plumb pull")
}

/// Adds the tags and marks that others gave to runs that are here.
fn add_remarks(rows: &[RunRow], store: &mut Store, report: &mut PullReport) -> Result<(), Stopped> {
    let ids = Some(rows.iter().map(|row| row.id.clone()).collect());
    let here: BTreeMap<String, RunRow> =
        store.list(&Filter { ids, ..Filter::default() })?.into_iter().map(|row| (row.id.clone(), row)).collect();
    for row in rows {
        let Some(known) = here.get(&row.id) else { continue };
        let is_known = row.tags.iter().all(|tag| known.tags.contains(tag))
            && row.marks.iter().all(|mark| known.marks.iter().any(|one| one.id == mark.id));
        if is_known {
            continue;
        }
        match store.add_remarks(row) {
            Ok(()) => report.remarks += 1,
            Err(error) if is_of_one_run(&error) => {
                report.refused.push(RefusedRun { run: row.id.clone(), reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Imports run by run. Returns the error after which the rest waits.
fn pull_all(
    lacking: &[&RunRow],
    store: &mut Store,
    shared: &SharedStore,
    report: &mut PullReport,
) -> Result<Option<ShareError>, Stopped> {
    for row in lacking {
        let result = match shared.result(&row.id) {
            Ok(Some(result)) => result,
            Ok(None) => continue,
            Err(error) if error.is_of_one_run() => {
                report.refused.push(RefusedRun { run: row.id.clone(), reason: error.to_string() });
                continue;
            }
            Err(error) => return Ok(Some(error)),
        };
        match store.import_shared(&result, row, &shared.further_blobs(&row.id)?, &report.source) {
            Ok(()) => report.pulled.push(row.id.clone()),
            Err(error) if is_of_one_run(&error) => {
                report.refused.push(RefusedRun { run: row.id.clone(), reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Returns `true` if the error of the local store concerns one run, and others can still be pulled.
fn is_of_one_run(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Begun { .. }
            | StoreError::Time { .. }
            | StoreError::Tag { .. }
            | StoreError::Mark
            | StoreError::Unreadable { .. }
    )
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
    Address::from_env(text).map_err(|error| Stopped::usage(format!("{option} or PLUMB_PUSH_TO: {error}")))
}

/// Output of `plumb expire --json`.
#[derive(Debug, Serialize)]
struct ExpireReport {
    destination: String,
    /// Whether the rows are gone.
    deleted: bool,
    #[serde(flatten)]
    old: OldRows,
}

pub(crate) fn expire(
    from: &str,
    before: Timestamp,
    keep: &[String],
    yes: bool,
    common: &Common,
) -> Result<End, Stopped> {
    let address = address(from, "--from")?;
    let before_ns = i64::try_from(before.as_nanosecond()).unwrap_or(i64::MAX);
    let retention = Retention { before_ns, keep: keep.to_vec() };
    let old = match yes {
        true => SharedStore::open_to_push(&address).and_then(|mut shared| shared.delete_old(&retention)),
        false => SharedStore::open_to_read(&address).and_then(|shared| shared.count_old(&retention)),
    };
    let report = ExpireReport { destination: address.destination(), deleted: yes, old: old.map_err(Stopped::io)? };
    if common.json {
        session::print_json(&report)?;
        return Ok(End::Done);
    }
    let ExpireReport { destination, old: OldRows { runs, hosts, documents }, .. } = report;
    let done = if yes { "deleted" } else { "would be deleted; add --yes to do it" };
    output::print(&format!("{runs} runs of {hosts} hosts, and {documents} documents, {done}: {destination}\n"));
    Ok(End::Done)
}

/// Opens the database of a team that `--db` names.
pub(crate) fn open_to_read(text: &str) -> Result<Box<dyn ResultStore>, Stopped> {
    let address = Address::from_env(text).map_err(|error| Stopped::usage(format!("--db or PLUMB_DB: {error}")))?;
    Ok(Box::new(SharedStore::open_to_read(&address).map_err(Stopped::io)?))
}

/// Returns an address without the options, or why it is none; never a password.
pub(crate) fn shown(text: &str) -> String {
    match Address::from_env(text) {
        Ok(address) => format!("postgres://{address}"),
        Err(error) => format!("(unusable: {error})"),
    }
}

pub(crate) fn filter(host: Option<&str>, since: Option<Timestamp>, tag: Option<&str>) -> Filter {
    Filter {
        host: host.map(str::to_owned),
        since_ns: since.and_then(|time| i64::try_from(time.as_nanosecond()).ok()),
        tag: tag.map(str::to_owned),
        ..Filter::default()
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
