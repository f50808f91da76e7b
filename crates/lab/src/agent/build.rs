//! What is built, run and taken down on this machine.

use super::jobs::RunSurroundings;
use super::settings::AgentSettings;
use crate::build::Builder;
use crate::error::failed;
use crate::host::{HostError, Listener};
use crate::preflight::{self, Here, Inspection, Objection, PlannedWork};
use crate::protocol::{HostFacts, RunAnswer, RunJob, VERSION};
use crate::site::expendable;
use crate::step::{MadeNames, Safety, Step};
use plumb_engine::guard::private_directory;
use plumb_engine::signals::StopFlag;
use std::path::PathBuf;

/// Does what is asked, on this machine.
#[derive(Debug)]
pub struct Agent {
    settings: AgentSettings,
    builder: Builder,
    /// What stands now.
    made: MadeNames,
    /// The disks that it was built on: those that the study may destroy.
    disks: Vec<PathBuf>,
    facts: HostFacts,
    stop: StopFlag,
}

impl Agent {
    /// Nothing is built yet. At the flag what goes on ends: somebody interrupts it, or whoever asked is gone.
    ///
    /// # Errors
    /// The state directory cannot be made, or the machine does not say what it is.
    pub fn new(settings: AgentSettings, stop: StopFlag) -> Result<Agent, HostError> {
        private_directory(&settings.state)
            .map_err(|error| failed(format!("cannot make {}: {error}", settings.state.display())))?;
        let builder = Builder::new(&settings.journals()).stopped_by(stop);
        Ok(Agent { builder, made: MadeNames::new(), disks: Vec::new(), facts: facts()?, settings, stop })
    }

    /// What the machine is.
    pub fn facts(&self) -> &HostFacts {
        &self.facts
    }

    /// What would go wrong with builds and with what runs on them.
    pub fn inspect(&self, inspection: &Inspection) -> Vec<Objection> {
        preflight::of_builds(&inspection.builds, &Here(&self.with_own(&inspection.safety)))
    }

    /// What does not fit on what was built.
    pub fn fits(&self, work: &[PlannedWork]) -> Vec<Objection> {
        preflight::of_standing(work, &self.made)
    }

    /// What may be destroyed, with the machine's own disks.
    fn with_own(&self, safety: &Safety) -> Safety {
        let mut safety = safety.clone();
        safety.expendable.splice(0..0, self.settings.expendable.iter().cloned());
        safety
    }

    /// Builds steps, in order.
    ///
    /// # Errors
    /// What failed; nothing is left of it.
    pub fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, HostError> {
        let safety = self.with_own(safety);
        self.made = self.builder.build(tag, steps, &safety, listener)?;
        // They are only names for what is counted: steps that need a disk that is not there have failed already.
        self.disks = expendable(&safety).unwrap_or_default();
        Ok(self.made.clone())
    }

    /// Runs one job.
    ///
    /// # Errors
    /// It could not be started, took too long, or was stopped. A command that fails is an answer.
    pub fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError> {
        let builder = &self.builder;
        let mut confine = |pid| builder.confine(pid).map_err(HostError::from);
        RunSurroundings {
            settings: &self.settings,
            facts: &self.facts,
            made: &self.made,
            disks: &self.disks,
            confine: &mut confine,
            stop: self.stop,
        }
        .run(job, listener)
    }

    /// Takes down all that was built.
    ///
    /// # Errors
    /// What is left, and why.
    pub fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError> {
        self.builder.undo(listener)?;
        self.made.clear();
        self.disks.clear();
        Ok(())
    }
}

/// What this machine is.
fn facts() -> Result<HostFacts, HostError> {
    let ram_bytes = match std::fs::read_to_string("/proc/meminfo") {
        Ok(text) => total_memory_bytes(&text),
        // FreeBSD has no such file.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some(plumb_engine::ram_bytes()).filter(|bytes| *bytes > 0)
        }
        Err(error) => return Err(failed(format!("/proc/meminfo: {error}"))),
    };
    let ram_bytes = ram_bytes.ok_or_else(|| failed("this system does not say how much memory it has"))?;
    let known = plumb_probe::blocks::processors();
    let cpus = if known > 0 { known } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let uname = rustix::system::uname();
    Ok(HostFacts {
        version: VERSION,
        system: uname.sysname().to_string_lossy().into_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        ram_bytes,
        cpus: cpus as u32,
    })
}

/// `MemTotal` of proc_meminfo(5), in bytes: the file counts in KiB.
fn total_memory_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: sizes as multiples of memory, which rest on the unit of this file.
    #[test]
    fn memory_is_read_in_kib() {
        assert_eq!(total_memory_bytes("MemFree: 1 kB\nMemTotal:         512 kB\n"), Some(512 * 1024));
        assert_eq!(total_memory_bytes("MemTotal: much\n"), None);
        assert_eq!(facts().unwrap().kernel, rustix::system::uname().release().to_string_lossy());
    }
}
