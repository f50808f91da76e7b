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
    /// A directory, made if it is not there; a device that a step of this name made, `@array`, without a file system; or a
    /// simulated device (`sim:hdd`). Where the last step mounts something when absent.
    #[serde(default)]
    pub path: Option<String>,
    /// What files are filled with; random when absent.
    #[serde(default)]
    pub fill: Option<Content>,
    /// Whether files that are written first have their blocks before the clock starts.
    #[serde(default)]
    pub prewrite: bool,
}

/// Where the work of a plot runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlotPlace {
    /// The directory.
    pub dir: String,
    /// The simulated device that stands in for it.
    pub sim: Option<SimDevice>,
    /// The step whose device is read and written itself.
    pub device: Option<String>,
    /// What files are filled with.
    pub fill: Content,
    /// How a file that is written first gets its blocks.
    pub first_write: Prepare,
}

/// The directory of runs that touch none.
pub(super) const NOWHERE: &str = "/tmp";

impl Study<'_> {
    /// Where a cell runs, on what these steps have built and mounted.
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

    /// `[target]` with the levels put in.
    fn target(&self, levels: &Combination) -> Result<TargetForm, StudyError> {
        let Some(value) = self.table.get("target") else { return Ok(TargetForm::default()) };
        let mut failures = Vec::new();
        let value = self.scope(levels, false).put_in(value, &mut failures);
        if !failures.is_empty() {
            return Err(self.document.failures(failures).into());
        }
        Ok(self.document.read(&value)?)
    }
}
