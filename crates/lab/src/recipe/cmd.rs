//! A step that runs a user's command.

use crate::command::{Command, TIMEOUT};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Cmd;
use crate::undo::Undo;
use std::time::Duration;

pub(super) fn build(step: &Cmd, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let timeout = step.timeout.map_or(TIMEOUT, |seconds| Duration::from_secs(seconds.0));
    if let Some(run) = &step.undo {
        site.record_undo(Undo::Cmd { run: run.clone(), timeout_s: timeout.as_secs() })?;
    }
    site.run(&command(step, timeout))?;
    Ok(vec![])
}

fn command(step: &Cmd, timeout: Duration) -> Command {
    Command::new("sh", ["-c", &step.run]).with_timeout(timeout)
}
