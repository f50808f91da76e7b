//! What fio's jobs are to Plumb, without running them.

use super::{complain, say, warning};
use crate::exit::{End, Stopped};
use plumb_dialects::fio::Fio;
use plumb_dialects::fio::lower::{self, Entropy, Lowered, Places, Unrunnable};
use plumb_workload::{Workload, native};

/// Prints the jobs as a workload in the native form, which `plumb run` takes (`--translate`).
pub fn translate(fio: &Fio, places: &mut dyn Places) -> Result<End, Stopped> {
    with_lowered(fio, places, |lowered| match native::to_toml(&lowered.workload) {
        Ok(text) => say(&format!("{}\n{text}", heading(fio, lowered))),
        Err(error) => {
            complain(error);
            Ok(End::DialectFailed)
        }
    })
}

/// Prints which files the jobs use, how much they do, and when (`--plan`).
pub fn plan(fio: &Fio, places: &mut dyn Places) -> Result<End, Stopped> {
    with_lowered(fio, places, |lowered| say(&lower::plan(&lowered.plan)))
}

/// Lowers the jobs and tells what is doubtful.
fn with_lowered(
    fio: &Fio,
    places: &mut dyn Places,
    show: impl FnOnce(&Lowered) -> Result<End, Stopped>,
) -> Result<End, Stopped> {
    // What is printed is the same every time, whatever `randrepeat` says.
    let lowered = match lower::lower(fio, places, Entropy(Workload::DEFAULT_SEED)) {
        Ok(lowered) => lowered,
        Err(errors) => {
            errors.0.iter().for_each(complain);
            return Ok(End::DialectFailed);
        }
    };
    if let Some(warning) = warning(&[], &lowered.warnings) {
        eprintln!("{warning}");
        if fio.invocation.warnings_fatal {
            return Ok(End::DialectFailed);
        }
    }
    show(&lowered)
}

/// A comment above the workload: where it comes from, and what of it cannot be run.
fn heading(fio: &Fio, lowered: &Lowered) -> String {
    let mut lines = vec!["# Translated from jobs of fio.".to_owned()];
    let untold = |one: &Unrunnable| {
        format!("# The job {} cannot be run here: {}: {}.", one_line(&fio.jobs[one.job].name), one.what, one.why)
    };
    lines.extend(lowered.unrunnable.iter().map(untold));
    lines.join("\n")
}

/// A name that cannot end its comment.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
