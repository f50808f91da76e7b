//! Settings of a device's queue. Source: the kernel's `ABI/stable/sysfs-block`. They destroy nothing, so they may be
//! set on any device. Undoing the step restores the old values.

use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{QueueSettings, Readahead, Word};
use crate::system;
use crate::undo::{Undo, setting_now};
use plumb_engine::guard::write_setting;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Changing this setting resets others.
const SCHEDULER: &str = "scheduler";

pub(super) fn build(step: &QueueSettings, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check(step)?;
    for device in site.resolve(step.device.as_slice())? {
        site.check_device(&device)?;
        set_all(&device, &step.set, site)?;
    }
    Ok(vec![])
}

pub(super) fn readahead(step: &Readahead, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check_readahead(step)?;
    let set = BTreeMap::from([("read_ahead_kb".to_owned(), Word((step.size.0 / 1024).to_string()))]);
    for device in site.resolve(step.device.as_slice())? {
        site.check_device(&device)?;
        set_all(&device, &set, site)?;
    }
    Ok(vec![])
}

/// Checks the step without building it.
pub(super) fn check(step: &QueueSettings) -> Result<(), Cause> {
    if step.set.is_empty() {
        return Err(Cause::field("set", "{}", "list the settings"));
    }
    step.set.iter().try_for_each(|(name, value)| path(Path::new("queue"), name, value).map(drop))
}

/// Checks a read-ahead step without building it.
pub(super) fn check_readahead(step: &Readahead) -> Result<(), Cause> {
    if !step.size.0.is_multiple_of(1024) {
        return Err(Cause::field("size", step.size, "write whole KiB"));
    }
    Ok(())
}

fn set_all(device: &Path, set: &BTreeMap<String, Word>, site: &mut Site<'_>) -> Result<(), Cause> {
    let queue = queue_dir(device)?;
    let settings = in_order(set);
    // Undos run in reverse: the scheduler is restored first, then the others.
    for (name, value) in settings.iter().rev() {
        let path = path(&queue, name, value)?;
        let old = setting_now(&path).map_err(|error| unknown(&queue, name, value, error))?;
        site.record_undo(Undo::Setting { path, value: old })?;
    }
    settings.iter().try_for_each(|(name, value)| write(&queue.join(name), name, value))
}

/// Returns the queue directory. A partition shares the queue of its disk.
fn queue_dir(device: &Path) -> Result<PathBuf, Cause> {
    let dir = system::sys_dir(device).map_err(Cause::io(format!("find {} in /sys", device.display())))?;
    let disk = if dir.join("partition").exists() { dir.parent().unwrap_or(&dir).to_owned() } else { dir };
    Ok(disk.join("queue"))
}

/// Returns the settings with the scheduler first: it resets the number of requests.
fn in_order(set: &BTreeMap<String, Word>) -> Vec<(&str, &Word)> {
    let mut all: Vec<(&str, &Word)> = set.iter().map(|(name, value)| (name.as_str(), value)).collect();
    all.sort_by_key(|(name, _)| *name != SCHEDULER);
    all
}

fn path(queue: &Path, name: &str, value: &Word) -> Result<PathBuf, Cause> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // `iosched/…` are the scheduler's own.
    if name.split('/').count() > 2 || name.split('/').any(|part| part.is_empty() || !part.chars().all(is_plain)) {
        return Err(Cause::field(
            "set",
            format!("{name} = {value}"),
            "write the name of a file below the queue's directory",
        ));
    }
    Ok(queue.join(name))
}

fn unknown(queue: &Path, name: &str, value: &Word, error: io::Error) -> Cause {
    if error.kind() != io::ErrorKind::NotFound {
        return Cause::io(format!("read {}", queue.join(name).display()))(error);
    }
    let known = fs::read_dir(queue).into_iter().flatten().flatten();
    let mut known: Vec<String> = known.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    known.sort();
    Cause::field("set", format!("{name} = {value}"), format!("the queue has no `{name}`, but {}", known.join(", ")))
}

/// Writes a kernel setting and checks the result: the kernel may round a number, and the measurement would differ
/// from the one asked for.
pub(super) fn write(path: &Path, name: &str, value: &Word) -> Result<(), Cause> {
    let setting = format!("{name} = {value}");
    write_setting(path, &value.0).map_err(|error| {
        let now = system::text(path).unwrap_or_default();
        Cause::field("set", &setting, format!("the kernel rejects it ({error}); {} shows `{now}`", path.display()))
    })?;
    let now = setting_now(path).map_err(Cause::io(format!("read {}", path.display())))?;
    if !is_same(&now, &value.0) {
        return Err(Cause::field("set", &setting, format!("the kernel set it to `{now}`; write that if you mean it")));
    }
    Ok(())
}

fn is_same(now: &str, requested: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    // -1 asks for the kernel's own choice.
    requested.trim() == "-1" || words(now) == words(requested)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_comes_first_since_it_changes_others() {
        let set = ["nr_requests", "scheduler", "rotational"].map(|name| (name.to_owned(), Word::from("1")));
        let set = BTreeMap::from(set);
        let names: Vec<&str> = in_order(&set).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["scheduler", "nr_requests", "rotational"]);
    }

    #[test]
    fn a_name_stays_below_the_queue() {
        let queue = Path::new("/sys/block/sda/queue");
        assert!(path(queue, "iosched/fifo_batch", &Word::from("1")).is_ok());
        for bad in ["../ro", "", "/etc/passwd", "a/b/c", "iosched/.."] {
            assert!(path(queue, bad, &Word::from("1")).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_are_compared_by_words() {
        assert!(is_same("4096\t87380\t6291456", "4096 87380 6291456"));
        assert!(is_same("2000", "-1"));
        assert!(!is_same("4", "3"));
    }
}
