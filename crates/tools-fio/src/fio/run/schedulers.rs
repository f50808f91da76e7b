//! `ioscheduler`: sets the I/O scheduler of the disks under a job's files, and restores it after
//! all jobs. fio does not restore it.

use plumb_engine::guard::write_setting;
use plumb_result::observe::LayerKind;
use plumb_tools_fio::fio::Fio;
use plumb_tools_fio::fio::lower::Lowered;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Changed schedulers and their previous values.
#[derive(Debug, Default)]
pub struct Schedulers {
    /// Previous schedulers by sysfs file.
    before: BTreeMap<PathBuf, String>,
}

/// Error from setting a scheduler.
#[derive(Debug, thiserror::Error)]
pub enum SchedulerError {
    /// The disk does not offer this scheduler.
    #[error("unable to set io scheduler to {asked} on {disk}, which has: {has}")]
    Unknown {
        /// The requested scheduler.
        asked: String,
        disk: String,
        has: String,
    },
    /// The kernel does not allow the change.
    #[error("{}: {source}; it takes root", path.display())]
    Denied { path: PathBuf, source: io::Error },
}

impl Schedulers {
    /// Sets the schedulers that jobs ask for.
    ///
    /// # Errors
    ///
    /// A scheduler cannot be set. The others are restored.
    pub fn set(fio: &Fio, lowered: &Lowered) -> Result<Schedulers, SchedulerError> {
        let mut set = Schedulers::default();
        for copy in &lowered.jobs {
            let Some(asked) = fio.jobs[copy.job].queue.scheduler.as_deref().filter(|_| copy.target.is_some()) else {
                continue;
            };
            let paths = (0..copy.names.count()).filter_map(|number| copy.names.path(number));
            // Files of a directory are on the same disk.
            let places = BTreeSet::from_iter(paths.map(place));
            for disk in places.iter().flat_map(|place| disks(place)) {
                set.one(&Path::new("/sys/block").join(&disk).join("queue/scheduler"), &disk, asked)?;
            }
        }
        Ok(set)
    }

    fn one(&mut self, path: &Path, disk: &str, asked: &str) -> Result<(), SchedulerError> {
        // As in fio, a disk without a choice of schedulers is left alone.
        let Ok(listed) = std::fs::read_to_string(path) else { return Ok(()) };
        let Some(now) = chosen(&listed) else { return Ok(()) };
        if now == asked {
            return Ok(());
        }
        if !listed.split_ascii_whitespace().any(|name| name == asked) {
            let has = listed.trim().to_owned();
            return Err(SchedulerError::Unknown { asked: asked.to_owned(), disk: disk.to_owned(), has });
        }
        write_setting(path, asked).map_err(|source| SchedulerError::Denied { path: path.to_owned(), source })?;
        self.before.entry(path.to_owned()).or_insert_with(|| now.to_owned());
        Ok(())
    }
}

impl Drop for Schedulers {
    fn drop(&mut self) {
        for (path, before) in &self.before {
            if let Err(error) = write_setting(path, before) {
                super::complain(format!("{} could not be restored to {before}: {error}", path.display()));
            }
        }
    }
}

/// Returns a path that identifies the disk: the parent directory of a file, because the file may not exist yet.
fn place(path: PathBuf) -> PathBuf {
    match path.metadata() {
        Ok(found) if !found.is_file() => path,
        _ => path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned(),
    }
}

/// Returns the disks under a path: the top of each stack, or the disk of a partition.
fn disks(place: &Path) -> Vec<String> {
    let facts = plumb_probe::stack::of_path(place);
    let below = BTreeSet::from_iter(facts.stack.iter().flat_map(|layer| &layer.below));
    let tops = facts.stack.iter().filter(|layer| !below.contains(&layer.name));
    tops.map(|layer| match layer.kind {
        LayerKind::Partition => layer.below.first().unwrap_or(&layer.name).clone(),
        _ => layer.name.clone(),
    })
    .collect()
}

/// Returns the active scheduler, the one in brackets, or `None` if there is no choice.
fn chosen(listed: &str) -> Option<&str> {
    listed.split_ascii_whitespace().find_map(|name| name.strip_prefix('[')?.strip_suffix(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the previous scheduler is restored at the end, and an unknown scheduler changes nothing.
    #[test]
    fn a_scheduler_is_restored() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scheduler");
        std::fs::write(&path, "none [mq-deadline] kyber\n").unwrap();
        let mut set = Schedulers::default();
        set.one(&path, "vda", "kyber").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kyber");
        drop(set);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mq-deadline");
        std::fs::write(&path, "[none] kyber\n").unwrap();
        let error = Schedulers::default().one(&path, "vda", "bfq").unwrap_err().to_string();
        assert_eq!(error, "unable to set io scheduler to bfq on vda, which has: [none] kyber");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[none] kyber\n");
        std::fs::write(&path, "none\n").unwrap();
        Schedulers::default().one(&path, "vda", "bfq").unwrap();
    }
}
