//! `--trigger`: when a file appears or a time is over, the run ends and a command is run.

use super::complain;
use plumb_engine::guard::Remover;
use plumb_engine::signals::StopFlag;
use plumb_tools_fio::fio::invocation::Trigger;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// A trigger that may be pulled once.
pub(crate) struct TriggerWatch {
    trigger: Trigger,
    since: Instant,
    is_pulled: bool,
    remover: Remover,
}

impl TriggerWatch {
    /// Watches from now on.
    pub(super) fn new(trigger: &Trigger) -> TriggerWatch {
        let remover = Remover::new(&[], trigger.file.as_ref().map(PathBuf::from));
        TriggerWatch { trigger: trigger.clone(), since: Instant::now(), is_pulled: false, remover }
    }

    /// Whether anything can pull it.
    pub(super) fn is_set(&self) -> bool {
        self.trigger.file.is_some() || self.trigger.timeout.is_some()
    }

    /// Whether it was pulled.
    pub(crate) fn is_pulled(&self) -> bool {
        self.is_pulled
    }

    /// Polls the trigger. Once it is pulled, removes the file as fio does (unless it is older than the run and holds data), runs the
    /// command, and stops the jobs.
    pub(super) fn look(&mut self, stop: StopFlag) {
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

/// Why the command of a trigger did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TriggerError {
    /// It failed.
    #[error("trigger `{command}`: {status}")]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// It could not be started.
    #[error("trigger `{command}` cannot be started: {source}")]
    NotStarted {
        /// The command.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// An agent that runs no programs was asked.
    #[error(
        "this agent runs no programs, so --trigger-remote cannot be run here: start it with PLUMB_AGENT_ALLOW_EXEC=1"
    )]
    Forbidden,
}

/// Runs the command of a trigger to its end.
///
/// # Errors
/// It cannot be started, or fails.
pub(super) fn run(command: &str) -> Result<(), TriggerError> {
    match Command::new("/bin/sh").args(["-c", command]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(TriggerError::Failed { command: command.to_owned(), status }),
        Err(source) => Err(TriggerError::NotStarted { command: command.to_owned(), source }),
    }
}
