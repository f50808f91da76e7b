//! What an agent lets those do who use it: by its own settings, whatever they ask for.

use super::order::RunOrder;
use plumb_document::Value;
use plumb_engine::control_group_directory;
use plumb_engine::guard::Permissions;
use plumb_workload::files::Names;
use plumb_workload::{Activity, Target, Workload};
use plumb_workload_text::validate::validate;
use std::path::{Component, Path, PathBuf};

/// Workers that an agent runs at a time.
const WORKERS_MAX: u64 = 4096;
/// A file name that a workload makes up is as long at most.
const TEXT_MAX: usize = 4096;

/// What an agent lets its clients do.
#[derive(Debug, Clone)]
pub struct AgentPolicy {
    /// Directories and devices that may be read and written; what the guard refuses stays refused.
    pub allow: Vec<PathBuf>,
    /// Workloads may start programs, and connect to other hosts.
    pub may_exec: bool,
    /// What may be overwritten.
    pub permissions: Permissions,
}

/// Why an agent does not run a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PolicyError {
    /// It does not hold together. Clients check that before they send it.
    #[error("the workload is malformed: {0}")]
    Malformed(String),
    /// It uses what the agent was not started for.
    #[error("the agent does not allow `{path}`: it was started for {allowed}; `--allow PATH` adds another")]
    Path {
        /// What it uses.
        path: String,
        /// What the agent was started for.
        allowed: String,
    },
    /// It starts a program.
    #[error("the agent runs no programs (`{program}`): it was started without `--allow-exec`")]
    Exec {
        /// Which.
        program: String,
    },
    /// It reaches another host.
    #[error("the agent makes no connections (`{address}`): it was started without `--allow-exec`")]
    Network {
        /// Whom.
        address: String,
    },
    /// It is too large.
    #[error("{workers} workers in one phase are more than an agent runs ({WORKERS_MAX})")]
    Workers {
        /// How many.
        workers: u64,
    },
}

impl AgentPolicy {
    /// Whether a run may be made, as far as its data tells.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn admit(&self, order: &RunOrder) -> Result<(), PolicyError> {
        self.admit_workload(&order.workload, &order.base)
    }

    /// The same of a workload whose sizes are not known yet.
    ///
    /// # Errors
    /// Why not.
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
        // Whatever kinds of targets and of work there are, their paths are texts.
        let mut nameless = Workload { name: String::new(), description: String::new(), ..workload.clone() };
        for group in nameless.phase.iter_mut().flat_map(|phase| &mut phase.workers) {
            // A name below the root of a hierarchy, in which a directory is made.
            let name = group.process.cgroup.take().map(|cgroup| cgroup.name);
            if let Some(directory) = name.and_then(|name| control_group_directory(&name)) {
                self.admit_path(&directory, base)?;
            }
        }
        let document = plumb_document::write(&nameless).map_err(|error| PolicyError::Malformed(error.to_string()))?;
        self.admit_texts(document.get_ref(), base)
    }

    /// Looks at every text that may lead out of the base.
    fn admit_texts(&self, value: &Value, base: &Path) -> Result<(), PolicyError> {
        match value {
            Value::Text(text) => {
                let path = Path::new(text);
                let leads_away = path.is_absolute() || path.components().any(|part| part == Component::ParentDir);
                let is_there =
                    || !text.is_empty() && text.len() <= TEXT_MAX && base.join(path).symlink_metadata().is_ok();
                if leads_away || is_there() { self.admit_path(path, base) } else { Ok(()) }
            }
            Value::List(all) => all.iter().try_for_each(|one| self.admit_texts(one.get_ref(), base)),
            Value::Table(all) => all.iter().try_for_each(|(_, one)| self.admit_texts(one.get_ref(), base)),
            _ => Ok(()),
        }
    }

    /// Whether a path below a base, or an absolute one, may be used.
    pub fn allows(&self, path: &Path, base: &Path) -> bool {
        let whole = real(&std::path::absolute(base.join(path)).unwrap_or_else(|_| base.join(path)));
        self.allow.iter().any(|allowed| whole.starts_with(real(allowed)))
    }

    fn admit_path(&self, path: &Path, base: &Path) -> Result<(), PolicyError> {
        match self.allows(path, base) {
            true => Ok(()),
            false => {
                // `.` alone would not tell the reader which directory the agent was started in.
                let shown = if path == Path::new(".") { std::path::absolute(path).ok() } else { None };
                let path = shown.as_deref().unwrap_or(path);
                let allowed: Vec<String> = self.allow.iter().map(|path| format!("`{}`", path.display())).collect();
                let allowed = if allowed.is_empty() { "no path".to_owned() } else { allowed.join(", ") };
                Err(PolicyError::Path { path: path.display().to_string(), allowed })
            }
        }
    }
}

/// Returns `true` if a target has files relative to the base, the working directory of a job.
/// Absolute names are checked one by one.
fn uses_base(target: &Target) -> bool {
    match target {
        Target::Sim(_) | Target::Null(_) | Target::Host(_) => false,
        Target::JobFiles(files) => match &files.names {
            Names::Said(paths) | Names::Made(paths) => !paths.iter().all(|path| path.is_absolute()),
            Names::Numbered { path, .. } => !path.is_absolute(),
            Names::Postmark(_) | Names::Trees(_) => true,
        },
        Target::Device(device) => !device.path.is_absolute(),
        _ => true,
    }
}

/// A path without symbolic links and `..`, as far as it is there; a `..` behind that leads nowhere that is allowed.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            if rest.components().any(|part| part == Component::ParentDir) {
                return PathBuf::new();
            }
            return real.join(rest);
        }
    }
    PathBuf::new()
}
