//! `[target]`: where the work runs.

use super::error::StudyError;
use super::levels::Combination;
use super::study::Study;
use plumb_lab::Step;
use plumb_workload::{Content, Prepare, SimDevice};
use serde::Deserialize;

/// Where the work runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TargetForm {
    /// A directory, created if it does not exist; a device without a file system from the step of
    /// this name, `@array`; or a simulated device (`sim:hdd`). When absent, the mount point of the
    /// last step that mounts something.
    #[serde(default)]
    pub path: Option<String>,
    /// Content of files; random when absent.
    #[serde(default)]
    pub fill: Option<Content>,
    /// Whether files that a workload writes first have their blocks before the clock starts.
    #[serde(default)]
    pub prewrite: bool,
}

/// Where the work of a plot runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlotPlace {
    pub dir: String,
    /// The simulated device that replaces it.
    pub sim: Option<SimDevice>,
    /// The step whose device is read and written directly.
    pub device: Option<String>,
    /// Content of files.
    pub fill: Content,
    /// Allocation of blocks for a file that is written first.
    pub first_write: Prepare,
}

/// The directory of runs that use none.
pub(super) const NOWHERE: &str = "/tmp";

impl Study<'_> {
    /// Returns the place of a cell, on the devices and mounts of these steps.
    pub(super) fn plot_place(
        &self,
        levels: &Combination,
        steps: &[Step],
        mount: Option<&str>,
    ) -> Result<PlotPlace, StudyError> {
        let target = self.target(levels)?;
        let fill = target.fill.unwrap_or_default();
        let first_write = if target.prewrite { Prepare::Write } else { Prepare::Nothing };
        let place = PlotPlace { dir: NOWHERE.to_owned(), sim: None, device: None, fill, first_write };
        let failed = |message: String, help: &str| self.failed(self.place(&["target", "path"]), message, help);
        match target.path.or_else(|| mount.map(str::to_owned)) {
            Some(path) if path.starts_with("sim:") => {
                let sim: SimDevice = path.parse().map_err(|error: plumb_workload::sim::SimError| {
                    failed(error.to_string(), "such as `sim:hdd?slow=5%`")
                })?;
                Ok(PlotPlace { sim: Some(sim), ..place })
            }
            Some(path) if path.starts_with('/') => Ok(PlotPlace { dir: path, ..place }),
            Some(path) if path.starts_with('@') => {
                let name = &path[1..];
                if !steps.iter().any(|step| step.name() == Some(name)) {
                    let message = format!("no step is named `{name}`");
                    return Err(failed(message, "give the step that makes the device this `name`"));
                }
                Ok(PlotPlace { device: Some(name.to_owned()), ..place })
            }
            Some(path) => Err(failed(
                format!("`{path}` is relative, and runs have no working directory"),
                "use a full path, a device that a step made (`@array`), or a simulated device such as `sim:hdd`",
            )),
            None => Err(self.failed(
                self.place(&["workload"]),
                "no place to run is given",
                "add `[target]` with a `path`, or a step that mounts something",
            )),
        }
    }

    /// Returns `[target]` with the levels substituted.
    fn target(&self, levels: &Combination) -> Result<TargetForm, StudyError> {
        let Some(value) = self.table.get("target") else { return Ok(TargetForm::default()) };
        let mut failures = Vec::new();
        let value = self.scope(levels, false).substitute(value, &mut failures);
        if !failures.is_empty() {
            return Err(self.document.failures(failures).into());
        }
        Ok(self.document.read(&value)?)
    }
}
