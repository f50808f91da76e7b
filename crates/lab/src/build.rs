//! Builds steps, and takes down what was built.

pub use crate::error::{Cause, LabError, Left};

use crate::host::Listener;
use crate::journal::{AbandonedJournals, JournalError, UndoJournal};
use crate::recipe;
use crate::site::{Site, StepMemory};
use crate::step::{MadeNames, Safety, Step};
use plumb_engine::guard::write_setting;
use plumb_engine::signals::StopFlag;
use std::path::{Path, PathBuf};

/// Builds steps on this machine. What it builds is written into a journal first, so that it is taken down again whatever
/// happens to this process.
///
/// Dropped, it takes nothing down: [`Builder::undo`] does, and [`recover`] once its process is gone.
#[derive(Debug)]
pub struct Builder {
    journals: PathBuf,
    stop: Option<StopFlag>,
    system: Option<System>,
}

/// What stands.
#[derive(Debug)]
struct System {
    journal: UndoJournal,
    steps: Vec<Step>,
    standing: StepMemory,
}

impl Builder {
    /// Nothing stands yet. Journals lie in this directory, which is made when it is needed: below Plumb's state directory,
    /// or in a virtual machine anywhere.
    pub fn new(journals: &Path) -> Builder {
        Builder { journals: journals.to_owned(), stop: None, system: None }
    }

    /// With a flag at which it stops what it is doing, takes it down and says [`Cause::Interrupted`].
    pub(crate) fn stopped_by(mut self, stop: StopFlag) -> Builder {
        self.stop = Some(stop);
        self
    }

    /// Builds steps, in order. Those with which the last build began, and which still stand, are left alone.
    ///
    /// # Errors
    /// What failed, of which step, and the way out; all of it has been taken down again.
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
                    system.journal.vanished().map(|what| LabError::Vanished { tag, what })
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
                stop: self.stop,
                listener: &mut *listener,
            };
            if let Err(cause) = recipe::build(step, &mut site) {
                let (_, left) = system.journal.undo(0, listener);
                if left.is_empty() {
                    // Should it not go, `recover` finds it with nothing in it.
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

    /// Puts a process (and its children to come) under the limits that steps have set (`limits` of a loop device): call it
    /// with each process that is started for measuring, at once. Does nothing where no step set any.
    ///
    /// # Errors
    /// The control group cannot be joined.
    pub fn confine(&self, pid: u32) -> Result<(), LabError> {
        let Some(group) = self.system.as_ref().and_then(|system| system.standing.group.as_ref()) else { return Ok(()) };
        write_setting(group.join("cgroup.procs"), pid.to_string()).map_err(|source| LabError::Confine {
            pid,
            group: group.clone(),
            source,
        })
    }

    /// Takes down all that stands, in reverse order; tolerates what is gone already. Nothing happens where nothing stands.
    ///
    /// # Errors
    /// What is left and why, after all else was taken down; it may be tried again.
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

/// Takes down the systems that exited processes left. Systems of running processes stay, and journals that another user
/// could have written are ignored.
///
/// # Errors
/// [`LabError::Left`] or [`LabError::UntrustedJournals`], after everything else was taken down.
pub fn recover(journals: &Path, listener: Listener<'_>) -> Result<Vec<RecoveredBuild>, LabError> {
    let AbandonedJournals { journals: abandoned, unreadable: mut left, untrusted } = UndoJournal::abandoned(journals);
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

/// What was taken down for a process that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredBuild {
    /// The study and the plot.
    pub tag: String,
    /// The process.
    pub pid: u32,
    /// How many things were taken down.
    pub undone: usize,
}
