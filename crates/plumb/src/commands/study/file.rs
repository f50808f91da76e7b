//! The study file on the command line, and its plan.

use clap::Args;
use plumb_cli::exit::Stopped;
use plumb_cli::hosts::HostsArguments;
use plumb_store::ResultStore;
use plumb_study::file::PlanOptions;
use plumb_study::plan::Plan;
use plumb_workload_text::native::Override;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Args, serde::Serialize, serde::Deserialize)]
pub(crate) struct StudyFile {
    /// A study file.
    pub file: PathBuf,
    /// One of the file's scales, such as `small` [default: the file unchanged].
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// Seed of the order and of all random choices [default: the file's, or one derived from its name].
    #[arg(long)]
    pub seed: Option<u64>,
    /// Allow fewer plots than a claim needs; the only verdict is then `cannot-tell`.
    #[arg(long)]
    pub exploratory: bool,
    /// Declare the load of other programs, on the devices and the processors, a part of the set-up: runs under it count, the
    /// results record it, and the levels that are compared must have it alike.
    #[arg(long)]
    #[serde(default)]
    pub under_load: bool,
    /// Change a setting of the file by its path, such as `design.plots=2` or `factor.level.levels=[4]`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Hosts on the command line that make the runs; set by [`StudyFile::on`].
    #[arg(skip)]
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Path of the keys for the agents of these hosts.
    #[arg(skip)]
    #[serde(default)]
    pub hosts_keys: Option<PathBuf>,
}

impl StudyFile {
    /// Returns a copy with the hosts of the command line. Makes the path of their keys absolute, so
    /// that a resumed study finds them.
    pub(crate) fn on(&self, hosts: &HostsArguments) -> Result<StudyFile, Stopped> {
        let keys = hosts.hosts_keys.as_deref().map(std::path::absolute).transpose();
        let hosts_keys = keys.map_err(|error| Stopped::io(format!("--hosts-keys: {error}")))?;
        Ok(StudyFile { hosts: hosts.named()?, hosts_keys, ..self.clone() })
    }

    pub(crate) fn plan(&self) -> Result<Plan, Stopped> {
        let set = self.set.iter().map(|text| text.parse::<Override>()).collect::<Result<Vec<_>, _>>();
        let options = PlanOptions {
            scale: self.scale.clone(),
            seed: self.seed,
            exploratory: self.exploratory,
            under_load: self.under_load,
            set: set.map_err(Stopped::usage)?,
            hosts: self.hosts.clone(),
        };
        plumb_study::file::plan_file(&self.file, &options).map_err(Stopped::usage)
    }
}

/// Returns the id of the study that a file or a word names.
pub(in crate::commands) fn find(store: &dyn ResultStore, text: &str) -> Result<String, Stopped> {
    let path = Path::new(text);
    if path.is_file()
        && let Ok(absolute) = std::path::absolute(path)
        && let Ok(id) = store.find_study(&absolute.to_string_lossy())
    {
        return Ok(id);
    }
    Ok(store.find_study(text)?)
}
