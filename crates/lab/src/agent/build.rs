//! Builds steps, runs jobs and takes systems down on this machine.

use super::jobs::RunSurroundings;
use super::settings::AgentSettings;
use crate::build::Builder;
use crate::error::failed;
use crate::host::{HostError, Listener};
use crate::policy::BuildPolicy;
use crate::preflight::{self, Here, Inspection, Objection, ObjectionKind, PlannedBuild, PlannedWork, WorkPlace};
use crate::protocol::{HostFacts, RunAnswer, RunJob, VERSION};
use crate::site::expendable;
use crate::step::{MadeNames, Safety, Step};
use plumb_engine::guard::private_directory;
use plumb_engine::signals::StopFlag;
use std::path::{Path, PathBuf};

/// Serves the requests of a study on this machine.
#[derive(Debug)]
pub struct Agent {
    settings: AgentSettings,
    builder: Builder,
    /// Devices and mount points of the standing system, by step name.
    made: MadeNames,
    /// Disks that it was built on: the study may destroy them.
    disks: Vec<PathBuf>,
    facts: HostFacts,
    stop: StopFlag,
}

impl Agent {
    /// Creates an agent that has built nothing. Work in progress ends when the flag is raised: on an interrupt, or
    /// when the client is gone.
    ///
    /// # Errors
    /// Returns an error if the state directory cannot be created or the machine's facts cannot be read.
    pub fn new(settings: AgentSettings, stop: StopFlag) -> Result<Agent, HostError> {
        private_directory(&settings.state)
            .map_err(|error| failed(format!("cannot make {}: {error}", settings.state.display())))?;
        let builder = Builder::new(&settings.journals()).stopped_by(stop).permitted_by(settings.policy.clone());
        Ok(Agent { builder, made: MadeNames::new(), disks: Vec::new(), facts: facts()?, settings, stop })
    }

    /// Returns the facts about this machine.
    pub fn facts(&self) -> &HostFacts {
        &self.facts
    }

    /// Returns problems that the builds, and the work on them, would run into.
    pub fn inspect(&self, inspection: &Inspection) -> Vec<Objection> {
        let safety = self.with_own_disks(&inspection.safety);
        let Some(policy) = &self.settings.policy else {
            return preflight::of_builds(&inspection.builds, &Here(&safety));
        };
        let mut found: Vec<Objection> = Vec::new();
        let mut permitted = Vec::new();
        for build in &inspection.builds {
            let objections = self.not_permitted(policy, build, &safety);
            if objections.is_empty() {
                permitted.push(build.clone());
            }
            found.extend(objections.into_iter().filter(|new| !found.contains(new)).collect::<Vec<_>>());
        }
        // Checks try options and look at directories, so they only follow what the owner permits.
        found.extend(preflight::of_builds(&permitted, &Here(&safety)));
        found
    }

    /// Returns what the owner does not permit of a planned system.
    fn not_permitted(&self, policy: &BuildPolicy, build: &PlannedBuild, safety: &Safety) -> Vec<Objection> {
        let refused = |text: String| Objection { text, kind: ObjectionKind::Refused };
        let steps = policy.admit(&build.steps, self.facts.ram_bytes).err().map(|error| refused(error.to_string()));
        let devices = policy.foreign_devices(&build.steps, safety).into_iter().map(|error| refused(error.to_string()));
        let work = build.work.iter().filter_map(|work| match &work.place {
            WorkPlace::Directory(dir) => policy.admit_path("path", Path::new(dir)).err(),
            WorkPlace::Device(_) | WorkPlace::Simulated => None,
        });
        let work = work.map(|error| refused(error.to_string()));
        steps.into_iter().chain(devices).chain(work).collect()
    }

    /// Returns an objection for all work that does not fit on the standing system.
    pub fn fits(&self, work: &[PlannedWork]) -> Vec<Objection> {
        let is_permitted = |work: &&PlannedWork| match (&self.settings.policy, &work.place) {
            (Some(policy), WorkPlace::Directory(dir)) => policy.admit_path("path", Path::new(dir)).is_ok(),
            _ => true,
        };
        let work: Vec<PlannedWork> = work.iter().filter(is_permitted).cloned().collect();
        preflight::of_standing(&work, &self.made)
    }

    /// Returns the devices that may be destroyed, including the machine's own disks.
    fn with_own_disks(&self, safety: &Safety) -> Safety {
        let mut safety = safety.clone();
        safety.expendable.splice(0..0, self.settings.expendable.iter().cloned());
        safety
    }

    /// Builds steps in order.
    ///
    /// # Errors
    /// Returns the failure of a step. Nothing that was built is left then.
    pub fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, HostError> {
        let safety = self.with_own_disks(safety);
        let hardened: Vec<Step>;
        let steps = match &self.settings.policy {
            None => steps,
            Some(policy) => {
                policy
                    .admit(steps, self.facts.ram_bytes)
                    .map_err(|error| HostError::Failed { reason: error.to_string(), refused: true })?;
                hardened = steps.iter().map(|step| policy.hardened(step)).collect();
                &hardened
            }
        };
        self.made = self.builder.build(tag, steps, &safety, listener)?;
        // The disks are only names for the counters: steps that need a missing disk have failed already.
        self.disks = expendable(&safety).unwrap_or_default();
        Ok(self.made.clone())
    }

    /// Runs one job.
    ///
    /// # Errors
    /// Returns an error if the job could not be started, took too long or was stopped. A command that fails is
    /// an answer, not an error.
    pub fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError> {
        if self.settings.policy.is_some() {
            return Err(failed("this session only builds; an agent's runs have sessions of their own"));
        }
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

    /// Takes down everything that was built.
    ///
    /// # Errors
    /// Returns the parts that are left, with the reasons.
    pub fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError> {
        self.builder.undo(listener)?;
        self.made.clear();
        self.disks.clear();
        Ok(())
    }
}

/// Reads the facts about this machine.
fn facts() -> Result<HostFacts, HostError> {
    let ram_bytes = match std::fs::read_to_string("/proc/meminfo") {
        Ok(text) => total_memory_bytes(&text),
        // FreeBSD has no such file.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some(plumb_engine::ram_bytes()).filter(|bytes| *bytes > 0)
        }
        Err(error) => return Err(failed(format!("/proc/meminfo: {error}"))),
    };
    let ram_bytes = ram_bytes.ok_or_else(|| failed("this system does not report its memory size"))?;
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

/// Parses `MemTotal` of proc_meminfo(5), which counts in KiB, into bytes.
fn total_memory_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects sizes given as multiples of memory: the file's unit is KiB.
    #[test]
    fn memory_is_parsed_in_kib() {
        assert_eq!(total_memory_bytes("MemFree: 1 kB\nMemTotal:         512 kB\n"), Some(512 * 1024));
        assert_eq!(total_memory_bytes("MemTotal: much\n"), None);
        assert_eq!(facts().unwrap().kernel, rustix::system::uname().release().to_string_lossy());
    }
}
