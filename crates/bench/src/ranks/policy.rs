//! An agent's own limits on what its clients may do.

use super::order::RunOrder;
use plumb_document::Value;
use plumb_engine::control_group_directory;
use plumb_engine::guard::{Permissions, is_below_any};
use plumb_workload::files::Names;
use plumb_workload::{Activity, Target, Workload};
use plumb_workload_text::validate::validate;
use std::path::{Component, Path, PathBuf};

/// Largest number of workers in one phase on an agent.
const WORKERS_MAX: u64 = 4096;
/// Longest file name of a workload, in bytes.
const TEXT_MAX: usize = 4096;

#[derive(Debug, Clone)]
pub struct AgentPolicy {
    /// Directories and devices that may be read and written. The write guard still applies.
    pub allow: Vec<PathBuf>,
    /// Whether workloads may start programs, and connect to other hosts.
    pub may_exec: bool,
    pub permissions: Permissions,
}

/// The reason why an agent refuses a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PolicyError {
    /// The workload is invalid. Clients check that before they send it.
    #[error("the workload is malformed: {0}")]
    Malformed(String),
    /// The workload uses a path that the agent was not started for.
    #[error("the agent does not allow `{path}`: it was started for {allowed}; `--allow PATH` adds another")]
    Path {
        path: String,
        /// The paths that the agent was started for.
        allowed: String,
    },
    /// The workload starts a program.
    #[error("the agent runs no programs (`{program}`): it was started without `--allow-exec`")]
    Exec { program: String },
    /// The workload connects to another host.
    #[error("the agent makes no connections (`{address}`): it was started without `--allow-exec`")]
    Network { address: String },
    /// The workload has too many workers in one phase.
    #[error("{workers} workers in one phase are more than an agent runs ({WORKERS_MAX})")]
    Workers { workers: u64 },
}

impl AgentPolicy {
    /// Checks whether a run may start.
    ///
    /// # Errors
    /// The agent's policy refuses the workload.
    pub(crate) fn admit(&self, order: &RunOrder) -> Result<(), PolicyError> {
        self.admit_workload(&order.workload, &order.base)
    }

    /// Checks a workload whose sizes are not resolved yet.
    ///
    /// # Errors
    /// The agent's policy refuses the workload.
    pub(crate) fn admit_workload(&self, workload: &Workload, base: &Path) -> Result<(), PolicyError> {
        if let Some(problem) = validate(workload).first() {
            return Err(PolicyError::Malformed(problem.to_string()));
        }
        for phase in &workload.phase {
            let workers = phase.workers.iter().map(|group| u64::from(group.count)).sum();
            if workers > WORKERS_MAX {
                return Err(PolicyError::Workers { workers });
            }
            if self.may_exec {
                continue;
            }
            let of_companions = phase.companions.iter().filter_map(|companion| match &companion.does {
                Activity::Exec(exec) => Some(&exec.program),
                Activity::Busy(_) => None,
            });
            let of_groups =
                phase.workers.iter().flat_map(|group| group.process.run_before.iter().chain(&group.process.run_after));
            if let Some(program) = of_companions.chain(of_groups).next() {
                return Err(PolicyError::Exec { program: program.clone() });
            }
            if let Some(probe) = &phase.probe {
                return Err(PolicyError::Network { address: probe.to.clone() });
            }
        }
        let hosts = workload.target.values().filter_map(|target| match target {
            Target::Host(host) if !self.may_exec => Some(&host.address),
            _ => None,
        });
        if let Some(address) = hosts.into_iter().next() {
            return Err(PolicyError::Network { address: address.clone() });
        }
        if workload.target.values().any(uses_base) {
            self.admit_path(base, base)?;
        }
        // Paths are texts in the document of a workload, whatever its targets and work.
        let mut nameless = Workload { name: String::new(), description: String::new(), ..workload.clone() };
        for group in nameless.phase.iter_mut().flat_map(|phase| &mut phase.workers) {
            // A directory is created under this name, below the root of a cgroup hierarchy.
            let name = group.process.cgroup.take().map(|cgroup| cgroup.name);
            if let Some(directory) = name.and_then(|name| control_group_directory(&name)) {
                self.admit_path(&directory, base)?;
            }
        }
        let document = plumb_document::write(&nameless).map_err(|error| PolicyError::Malformed(error.to_string()))?;
        self.admit_texts(document.get_ref(), base)
    }

    /// Checks every text that may be a path outside of the base.
    fn admit_texts(&self, value: &Value, base: &Path) -> Result<(), PolicyError> {
        match value {
            Value::Text(text) => {
                let path = Path::new(text);
                let is_outside = path.is_absolute() || path.components().any(|part| part == Component::ParentDir);
                let exists =
                    || !text.is_empty() && text.len() <= TEXT_MAX && base.join(path).symlink_metadata().is_ok();
                if is_outside || exists() { self.admit_path(path, base) } else { Ok(()) }
            }
            Value::List(all) => all.iter().try_for_each(|one| self.admit_texts(one.get_ref(), base)),
            Value::Table(all) => all.iter().try_for_each(|(_, one)| self.admit_texts(one.get_ref(), base)),
            _ => Ok(()),
        }
    }

    /// Returns `true` if a path, absolute or below `base`, may be used.
    pub fn allows(&self, path: &Path, base: &Path) -> bool {
        let whole = std::path::absolute(base.join(path)).unwrap_or_else(|_| base.join(path));
        is_below_any(&self.allow, &whole)
    }

    fn admit_path(&self, path: &Path, base: &Path) -> Result<(), PolicyError> {
        match self.allows(path, base) {
            true => Ok(()),
            false => {
                // `.` alone would not show which directory the agent was started in.
                let shown = if path == Path::new(".") { std::path::absolute(path).ok() } else { None };
                let path = shown.as_deref().unwrap_or(path);
                let allowed: Vec<String> = self.allow.iter().map(|path| format!("`{}`", path.display())).collect();
                let allowed = if allowed.is_empty() { "no path".to_owned() } else { allowed.join(", ") };
                Err(PolicyError::Path { path: path.display().to_string(), allowed })
            }
        }
    }
}

/// Returns `true` if a target has files relative to the base, the working directory of a job. Absolute names
/// are checked one by one.
fn uses_base(target: &Target) -> bool {
    match target {
        Target::Sim(_) | Target::Null(_) | Target::Host(_) => false,
        Target::JobFiles(files) => match &files.names {
            Names::Given(paths) | Names::Made(paths) => !paths.iter().all(|path| path.is_absolute()),
            Names::Numbered { path, .. } => !path.is_absolute(),
            Names::Postmark(_) | Names::Trees(_) => true,
        },
        Target::Device(device) => !device.path.is_absolute(),
        _ => true,
    }
}
