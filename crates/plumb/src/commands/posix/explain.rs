//! `plumb posix explain`: shows what a case tests, the source of its rule, and a program that repeats its calls.

use super::test::{Calls, Selection, cases_at};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_posix::program::{Extent, program};
use plumb_posix::{Case, Outcome, Place};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

pub(super) fn run(id: Option<&str>, at: Option<&Path>, common: &Common) -> Result<End, Stopped> {
    let cases = plumb_posix::cases();
    let Some(id) = id else {
        list(&cases, common)?;
        return Ok(End::Done);
    };
    let Some(case) = cases.iter().find(|case| case.id == id) else {
        return Err(Stopped::usage(unknown(id, &cases)));
    };
    let temporary = std::env::temp_dir();
    let only = [id.to_owned()];
    let selection = Selection { only: &only, without: &[] };
    let report = cases_at(at.unwrap_or(&temporary), &selection, 1, LIMIT, Calls::OfAll, false)?.report;
    let done = report.done.iter().find(|done| cases[done.case].id == id);
    let (calls, result) = match done {
        None => (&[][..], "It did not run.".to_owned()),
        Some(done) => (&done.calls[..], outcome(&done.outcome, report.facts.kind())),
    };
    if common.json {
        session::print_json(&json!({
            "id": case.id, "level": case.level.name(), "clause": case.clause(), "text": case.text(),
            "place": place(case.place), "calls": calls, "outcome": result,
        }))?;
        return Ok(End::Done);
    }
    let style = session::style();
    let mut page = format!("{} ({})\n", case.id, case.level.name());
    for (head, text) in
        [("rule", case.text()), ("source", case.clause()), ("where", place(case.place).to_owned()), ("here", result)]
    {
        page.push_str(&format!("  {head:<7} {}\n", style.wrap(&text, 10)));
    }
    if !calls.is_empty() {
        let extent = if common.verbose { Extent::Whole } else { Extent::Short };
        page.push_str(&format!("\n{}", program(&case.id, calls, extent)));
    }
    output::print(&page);
    Ok(End::Done)
}

fn list(cases: &[Case], common: &Common) -> Result<(), Stopped> {
    if common.json {
        let all: Vec<_> = cases
            .iter()
            .map(|case| json!({ "id": case.id, "level": case.level.name(), "clause": case.clause() }))
            .collect();
        return session::print_json(&all);
    }
    output::print(&cases.iter().map(|case| format!("{:<6} {}\n", case.level.name(), case.id)).collect::<String>());
    Ok(())
}

fn unknown(id: &str, cases: &[Case]) -> String {
    let selected: Vec<&str> =
        cases.iter().map(|case| case.id.as_str()).filter(|known| plumb_posix::selects(id, known)).collect();
    let hint =
        match (selected.as_slice(), plumb_workload::suggest::nearest(id, cases.iter().map(|case| case.id.as_str()))) {
            ([first, ..], _) => format!("; did you mean `{first}`?"),
            (_, Some(near)) => format!("; did you mean `{near}`?"),
            _ => String::new(),
        };
    format!("unknown case `{id}`{hint} `plumb posix explain` lists all")
}

fn place(place: Place) -> &'static str {
    match place {
        Place::Here => "in a directory of its own",
        Place::Mounts => "in a directory of its own, with a tmpfs mounted in it, in a private mount namespace",
        Place::Image => "on a second file system of the same kind, on a loop device over memory",
        Place::Full => "on a second file system of the same kind that is full, on a loop device over memory",
        Place::Quota => {
            "on a second file system of the same kind where a user has used up its quota, on a loop device over memory"
        }
        Place::ReadOnly => {
            "on a second file system of the same kind that is read-only; where none can be made, on a read-only bind mount, which \
             tests the kernel more than the file system"
        }
    }
}

fn outcome(outcome: &Outcome, kind: &str) -> String {
    match outcome {
        Outcome::Pass => format!("It passes on this {kind}."),
        Outcome::Fail(failures, _) => match failures.first() {
            Some(first) => {
                format!("It fails on this {kind}: {}: expected {}, got {}.", first.what, first.expected, first.got)
            }
            None => format!("It fails on this {kind}."),
        },
        Outcome::Skip(kind, why) => format!("It is skipped: {}: {why}.", kind.name()),
        Outcome::Blocked { by, why } => format!("It is blocked by {by}: {why}."),
        Outcome::Timeout => format!("{}.", super::test::not_judged(LIMIT)),
        Outcome::Broken(why) => format!("It breaks: {why}."),
    }
}
