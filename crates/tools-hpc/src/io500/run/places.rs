//! Directories that are created for a run, and their removal.

use plumb_engine::guard::Remover;
use plumb_tools_hpc::io500::Plan;
use plumb_tools_run::error::DialectError;
use std::path::{Path, PathBuf};

/// Data directories that did not exist before the run, the innermost last.
pub(super) struct Places {
    made: Vec<PathBuf>,
    remover: Remover,
}

impl Places {
    /// Creates the directories for results and data.
    ///
    /// # Errors
    /// A directory cannot be created.
    pub(super) fn make(plan: &Plan) -> Result<Places, DialectError> {
        make(Path::new(&plan.results))?;
        let mut made = missing(plan.directories_left().iter().map(Path::new));
        for directory in plan.directories() {
            make(Path::new(&directory))?;
        }
        // mdtest's first phase creates its own directories.
        made.sort();
        made.dedup();
        // The user named the result and data directories; IO500 creates the ones below.
        let typed = [PathBuf::from(&plan.results), PathBuf::from(&plan.data)];
        let above = made.iter().cloned();
        Ok(Places { remover: Remover::new(&typed, above), made })
    }

    /// Removes files that phases of this run wrote and no phase removes, and directories that were created for it and
    /// are empty. Failures are ignored.
    pub(super) fn clear(&self, plan: &Plan) {
        for file in plan.files_left() {
            let _ = self.remover.remove_file(Path::new(&file));
        }
        for directory in self.made.iter().rev() {
            let _ = self.remover.remove_dir(directory);
        }
    }
}

fn make(directory: &Path) -> Result<(), DialectError> {
    let what = format!("cannot make {}", directory.display());
    std::fs::create_dir_all(directory).map_err(DialectError::file(what))
}

/// Returns the missing directories among these and their ancestors.
fn missing<'a>(directories: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let all = directories.flat_map(Path::ancestors).filter(|path| !path.as_os_str().is_empty() && !path.exists());
    all.map(Path::to_owned).collect()
}
