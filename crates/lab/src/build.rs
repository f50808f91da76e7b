//! Builds systems from steps and takes them down.

pub use crate::error::{Cause, LabError, Left};

use crate::host::Listener;
use crate::journal::{AbandonedJournals, JournalError, UndoJournal};
use crate::policy::BuildPolicy;
use crate::recipe;
use crate::site::{Site, StepMemory};
use crate::step::{MadeNames, Safety, Step};
use plumb_engine::guard::write_setting;
use plumb_engine::signals::StopFlag;
use std::path::{Path, PathBuf};

/// Builds steps on this machine. Writes each act into a journal first, so that it is undone
/// even if this process dies.
///
/// Dropping it takes nothing down. [`Builder::undo`] does, and [`recover`] after its process is gone.
#[derive(Debug)]
pub struct Builder {
    journals: PathBuf,
    stop: Option<StopFlag>,
    policy: Option<BuildPolicy>,
    system: Option<System>,
}

#[derive(Debug)]
struct System {
    journal: UndoJournal,
    steps: Vec<Step>,
    standing: StepMemory,
}

impl Builder {
    /// Creates a builder that has built nothing. `journals` is created on first use: below Plumb's state directory,
    /// or anywhere in a virtual machine.
    pub fn new(journals: &Path) -> Builder {
        Builder { journals: journals.to_owned(), stop: None, policy: None, system: None }
    }

    /// Sets a flag that stops a build, takes it down and returns [`Cause::Interrupted`].
    pub(crate) fn stopped_by(mut self, stop: StopFlag) -> Builder {
        self.stop = Some(stop);
        self
    }

    /// Sets the permissions of an agent's owner, which hold where a step uses a device or a directory.
    pub(crate) fn permitted_by(mut self, policy: Option<BuildPolicy>) -> Builder {
        self.policy = policy;
        self
    }

    /// Builds steps in order. Reuses leading steps that still stand from the last build.
    ///
    /// # Errors
    /// Returns the failed step, the reason and a way out. Everything has been taken down again then.
    pub fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, LabError> {
        let mut system = match self.system.take() {
            // Steps without an undo need no journal entry.
            None if steps.is_empty() => return Ok(MadeNames::new()),
            None => {
                let journal = UndoJournal::create(&self.journals, tag).map_err(|error| match error {
                    JournalError::Untrusted(source) => LabError::UntrustedPlace { dir: self.journals.clone(), source },
                    JournalError::Io(source) => LabError::Journal { dir: self.journals.clone(), source },
                })?;
                System { journal, steps: vec![], standing: StepMemory::default() }
            }
            Some(system) => {
                let tag = system.journal.owner().tag.clone();
                let problem = if !steps.starts_with(&system.steps) {
                    Some(LabError::Standing { tag })
                } else {
                    system.journal.missing_part().map(|what| LabError::Vanished { tag, what })
                };
                if let Some(problem) = problem {
                    self.system = Some(system);
                    return Err(problem);
                }
                system
            }
        };
        for (index, step) in steps.iter().enumerate().skip(system.steps.len()) {
            let mut site = Site {
                journal: &mut system.journal,
                standing: &mut system.standing,
                safety,
                policy: self.policy.as_ref(),
                stop: self.stop,
                listener: &mut *listener,
            };
            if let Err(cause) = recipe::build(step, &mut site) {
                let (_, left) = system.journal.undo(0, listener);
                if left.is_empty() {
                    // If this fails, `recover` finds an empty journal.
                    let _ = system.journal.close();
                } else {
                    self.system = Some(system);
                }
                return Err(LabError::Step { number: index + 1, kind: step.kind(), cause: Box::new(cause), left });
            }
            system.steps.push(step.clone());
        }
        let made = system.standing.made.clone();
        self.system = Some(system);
        Ok(made)
    }

    /// Puts a process and its future children under the limits that steps have set (`limits` of a loop device). Call
    /// it right after starting each measured process. Does nothing if no step set limits.
    ///
    /// # Errors
    /// Returns an error if the process cannot join the control group.
    pub fn confine(&self, pid: u32) -> Result<(), LabError> {
        let Some(group) = self.system.as_ref().and_then(|system| system.standing.group.as_ref()) else { return Ok(()) };
        write_setting(group.join("cgroup.procs"), pid.to_string()).map_err(|source| LabError::Confine {
            pid,
            group: group.clone(),
            source,
        })
    }

    /// Takes down the standing system in reverse order, if there is one. Tolerates parts that are gone already.
    ///
    /// # Errors
    /// Returns the parts that are left, after everything else was taken down. Can be called again.
    pub fn undo(&mut self, listener: Listener<'_>) -> Result<(), LabError> {
        let Some(mut system) = self.system.take() else { return Ok(()) };
        let (_, left) = system.journal.undo(0, listener);
        if left.is_empty() {
            let dir = self.journals.clone();
            return system.journal.close().map_err(|source| LabError::Journal { dir, source });
        }
        self.system = Some(system);
        Err(LabError::Left(left))
    }
}

/// Takes down the systems that exited processes left. Systems of running processes stay, and journals that another
/// user could have written are ignored.
///
/// # Errors
/// Returns [`LabError::Left`] or [`LabError::UntrustedJournals`], after everything else was taken down.
pub fn recover(journals: &Path, listener: Listener<'_>) -> Result<Vec<RecoveredBuild>, LabError> {
    let AbandonedJournals { journals: abandoned, unreadable: mut left, untrusted } =
        UndoJournal::open_abandoned(journals);
    let mut recovered = vec![];
    for mut journal in abandoned {
        let owner = journal.owner().clone();
        let (undone, still) = journal.undo(0, &mut *listener);
        if still.is_empty() {
            journal.close().map_err(|source| LabError::Journal { dir: journals.to_owned(), source })?;
        }
        left.extend(still);
        recovered.push(RecoveredBuild { tag: owner.tag, pid: owner.pid, undone });
    }
    match (left.is_empty(), untrusted.is_empty()) {
        (true, true) => Ok(recovered),
        (false, true) => Err(LabError::Left(left)),
        (_, false) => Err(LabError::UntrustedJournals { journals: untrusted, left }),
    }
}

/// A system that was taken down for an exited process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredBuild {
    /// Name of the study and the plot.
    pub tag: String,
    /// ID of the exited process.
    pub pid: u32,
    /// Number of parts that were taken down.
    pub undone: usize,
}
