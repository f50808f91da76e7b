//! Marks on runs that have ended: `plumb retract`, `plumb annotate`, and the lines that show them.

use jiff::Timestamp;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_report::run::short_id;
use plumb_store::{Mark, MarkKind, RunRow, rfc3339};

pub(crate) fn retract(run: &str, reason: &str, undo: bool, common: &Common) -> Result<End, Stopped> {
    let (kind, done) = match undo {
        true => (MarkKind::Reinstatement, "counts again"),
        false => (MarkKind::Retraction, "is retracted: comparisons leave it out"),
    };
    mark(run, kind, reason, done, common)
}

pub(crate) fn annotate(run: &str, note: &str, common: &Common) -> Result<End, Stopped> {
    mark(run, MarkKind::Note, note, "has a new note", common)
}

fn mark(run: &str, kind: MarkKind, reason: &str, done: &str, common: &Common) -> Result<End, Stopped> {
    let mut store = session::store_to_change(common)?;
    let at = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    let mark = Mark { id: plumb_bench::run::new_id(), kind, reason: reason.to_owned(), at, author: author() };
    let run = store.mark(run, &mark)?;
    if common.json {
        session::print_json(&mark)?;
    } else {
        output::print(&format!("run {} {done}\n", short_id(&run)));
    }
    Ok(End::Done)
}

/// Returns the user and the host.
fn author() -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).filter(|user| !user.is_empty());
    let user = user.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()));
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{user}@{host}").chars().filter(|c| !c.is_control()).collect()
}

/// Returns a line for each mark of a run.
pub(crate) fn lines(row: &RunRow) -> Vec<String> {
    let line = |mark: &Mark| {
        let what = match mark.kind {
            MarkKind::Retraction => "Retracted",
            MarkKind::Reinstatement => "Reinstated",
            MarkKind::Note => "Note",
        };
        let at = rfc3339(mark.at);
        format!("{what} by {}, {}: {}", mark.author, at.get(..10).unwrap_or(&at), mark.reason)
    };
    row.marks.iter().map(line).collect()
}
