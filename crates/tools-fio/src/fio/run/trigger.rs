//! `--trigger`: ends the run and executes a command when a file appears or a time has passed.

use super::complain;
use plumb_engine::guard::Remover;
use plumb_engine::signals::StopFlag;
use plumb_tools_fio::fio::invocation::Trigger;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// A trigger that can fire once.
pub(crate) struct TriggerWatch {
    trigger: Trigger,
    since: Instant,
    is_pulled: bool,
    remover: Remover,
}

impl TriggerWatch {
    pub(super) fn new(trigger: &Trigger) -> TriggerWatch {
        let remover = Remover::new(&[], trigger.file.as_ref().map(PathBuf::from));
        TriggerWatch { trigger: trigger.clone(), since: Instant::now(), is_pulled: false, remover }
    }

    /// Whether a condition is set.
    pub(super) fn is_set(&self) -> bool {
        self.trigger.file.is_some() || self.trigger.timeout.is_some()
    }

    pub(crate) fn is_pulled(&self) -> bool {
        self.is_pulled
    }

    /// Polls the trigger. When it fires, removes the file as fio does (unless it is older than the run and holds data),
    /// runs the command, and stops the jobs.
    pub(super) fn poll(&mut self, stop: StopFlag) {
        let file = self.trigger.file.as_ref().filter(|path| Path::new(path).exists());
        let timeout = self.trigger.timeout.filter(|time| time.0 > 0);
        let is_over = timeout.is_some_and(|time| self.since.elapsed() >= Duration::from_nanos(time.0));
        if self.is_pulled || (file.is_none() && !is_over) {
            return;
        }
        self.is_pulled = true;
        if let Some(path) = file
            && let Err(error) = self.remover.remove_signal_file(Path::new(path))
        {
            complain(format!("trigger file {path} cannot be removed: {error}"));
        }
        if let Some(command) = &self.trigger.command {
            run(command).unwrap_or_else(complain);
        }
        stop.request();
    }
}

/// Error from a trigger's command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TriggerError {
    #[error("trigger `{command}`: {status}")]
    Failed { command: String, status: ExitStatus },
    /// The command could not be started.
    #[error("trigger `{command}` cannot be started: {source}")]
    NotStarted { command: String, source: io::Error },
    /// An agent that runs no programs was asked.
    #[error(
        "this agent runs no programs, so --trigger-remote cannot be run here: start it with PLUMB_AGENT_ALLOW_EXEC=1"
    )]
    Forbidden,
}

/// Runs the command of a trigger to its end.
///
/// # Errors
///
/// It cannot be started, or fails.
pub(super) fn run(command: &str) -> Result<(), TriggerError> {
    match Command::new("/bin/sh").args(["-c", command]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(TriggerError::Failed { command: command.to_owned(), status }),
        Err(source) => Err(TriggerError::NotStarted { command: command.to_owned(), source }),
    }
}
