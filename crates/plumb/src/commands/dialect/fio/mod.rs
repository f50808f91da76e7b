//! `plumb as fio`.

mod disk;
mod layout;
mod logs;
mod output;
mod progress;
mod recorded;
mod report;
mod run;
mod translate;
mod trigger;

use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;
use disk::Disk;
use plumb_dialects::fio::{self, Action, Fio, Warning};

/// As fio: what is wrong goes to standard error, and the code is then 1.
pub fn as_fio(words: &[String], common: &Common) -> Result<End, Stopped> {
    let mut disk = Disk::default();
    let fio = match fio::read(words, &disk::this_machine(), &mut disk) {
        Ok(fio) => fio,
        Err(errors) => {
            for error in &errors.0 {
                complain(error);
            }
            return Ok(End::DialectFailed);
        }
    };
    match &fio.invocation.action {
        Action::Version => say(fio::VERSION),
        Action::Help => say(&fio::help::program()),
        Action::CommandHelp(option) => help(fio::help::command(option.as_deref())),
        Action::EngineHelp(engine) => help(fio::help::engine(engine.as_deref())),
        Action::ShowCommand => jobs(&fio, || say(&fio::show::line(&fio))),
        Action::ParseOnly => jobs(&fio, || Ok(End::Done)),
        Action::Translate => jobs(&fio, || translate::translate(&fio, &mut disk)),
        Action::Plan => jobs(&fio, || translate::plan(&fio, &mut disk)),
        Action::Run => jobs(&fio, || run::run(&fio, &mut disk, common)),
    }
}

/// Does what is asked of the jobs, if there are any and nothing speaks against it.
fn jobs(fio: &Fio, work: impl FnOnce() -> Result<End, Stopped>) -> Result<End, Stopped> {
    if let Some(warning) = warning(&fio.warnings, &[]).filter(|_| fio.invocation.action != Action::Run) {
        eprintln!("{warning}");
        if fio.invocation.warnings_fatal {
            return Ok(End::DialectFailed);
        }
    }
    if fio.jobs.is_empty() {
        complain("no job is defined; name a job file, or begin a job with --name=NAME");
        return Ok(End::DialectFailed);
    }
    work()
}

/// What goes wrong is told on standard error, as fio's own words.
fn complain(what: impl std::fmt::Display) {
    eprintln!("fio: {what}");
}

fn say(text: &str) -> Result<End, Stopped> {
    session::print(&format!("{}\n", text.trim_end_matches('\n')))?;
    Ok(End::Done)
}

fn help(page: Result<String, fio::help::NoSuch>) -> Result<End, Stopped> {
    match page {
        Ok(page) => say(&page),
        Err(error) => {
            complain(error);
            Ok(End::DialectFailed)
        }
    }
}

/// All doubts in one line: scripts take much on standard error for a failure.
fn warning(warnings: &[Warning], more: &[String]) -> Option<String> {
    let all: Vec<String> = warnings.iter().map(Warning::to_string).chain(more.iter().cloned()).collect();
    if all.is_empty() {
        return None;
    }
    let misread = warnings.iter().any(|warning| matches!(warning, Warning::Misread { .. }));
    let way_out = if misread { " (--compat=strict reads all values as fio does)" } else { "" };
    Some(format!("fio: warning: {}{way_out}", all.join("; ")))
}
