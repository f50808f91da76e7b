//! `plumb as elbencho`.

mod between;
mod outputs;
mod places;
mod run;
mod watching;

use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;
use places::Disk;
use plumb_dialects::elbencho::{self, Action, Settings, help};

/// As elbencho: what is wrong goes to standard error, and the code is then 1. `called` is the program's own name.
pub fn as_elbencho(called: &str, words: &[String], common: &Common) -> Result<End, Stopped> {
    let mut file = |path: &str| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let settings = match elbencho::read(words, &mut file) {
        Ok(settings) => settings,
        Err(wrong) => {
            wrong.iter().for_each(complain);
            return Ok(End::DialectFailed);
        }
    };
    match settings.action {
        Action::Version => say(&help::version()),
        Action::Help => say(&help::short()),
        Action::HelpAll => say(&help::all()),
        Action::DryRun => dry_run(&settings),
        Action::Run => {
            let command: Vec<String> = std::iter::once(called.to_owned()).chain(words.iter().cloned()).collect();
            run::run(&settings, &command, common)
        }
    }
}

fn dry_run(settings: &Settings) -> Result<End, Stopped> {
    match elbencho::lower::lower(settings, &mut Disk) {
        Ok(lowered) => {
            let first = lowered.phases.iter().filter(|phase| phase.iteration == 0);
            let text: String = first.map(|phase| elbencho::print::dryrun::phase(phase, settings.threads)).collect();
            say(&text)
        }
        Err(error) => {
            complain(error);
            Ok(End::DialectFailed)
        }
    }
}

/// What goes wrong is told on standard error.
fn complain(what: impl std::fmt::Display) {
    eprintln!("ERROR: {what}");
}

fn say(text: &str) -> Result<End, Stopped> {
    session::print(text)?;
    Ok(End::Done)
}
