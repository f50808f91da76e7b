//! Directories that are made for a run, and what is removed behind it.

use plumb_engine::guard::Remover;
use plumb_tools_hpc::io500::Plan;
use plumb_tools_run::error::DialectError;
use std::path::{Path, PathBuf};

/// Directories of data that were not there before, the innermost last.
pub(super) struct Places {
    made: Vec<PathBuf>,
    remover: Remover,
}

impl Places {
    /// Makes the directories of results and data.
    ///
    /// # Errors
    /// One of them cannot be made.
    pub(super) fn make(plan: &Plan) -> Result<Places, DialectError> {
        make(Path::new(&plan.results))?;
        let mut made = missing(plan.directories_left().iter().map(Path::new));
        for directory in plan.directories() {
            make(Path::new(&directory))?;
        }
        // Those of mdtest are made by its first phase.
        made.sort();
        made.dedup();
        // The user named the result and data directories; IO500 makes those below them.
        let typed = [PathBuf::from(&plan.results), PathBuf::from(&plan.data)];
        let above = made.iter().cloned();
        Ok(Places { remover: Remover::new(&typed, above), made })
    }

    /// Removes files that phases of this run wrote and no phase removes, and directories that were made for it, where they are
    /// empty. What cannot be removed stays.
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

/// Of these directories and those that they are in, which are not there.
fn missing<'a>(directories: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let all = directories.flat_map(Path::ancestors).filter(|path| !path.as_os_str().is_empty() && !path.exists());
    all.map(Path::to_owned).collect()
}
