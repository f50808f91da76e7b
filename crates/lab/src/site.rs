//! Context of a recipe: devices that it may touch, results of earlier steps, and the undo journal.

use crate::command::Command;
use crate::error::Cause;
use crate::journal::UndoJournal;
use crate::names;
use crate::policy::BuildPolicy;
use crate::step::{MadeNames, Safety, Step};
use crate::system;
use crate::tool::version;
use crate::transcript::BuildLine;
use crate::undo::{OWN_PREFIX, Undo};
use plumb_engine::guard::{self, Expendable, Permissions, Refusal, Right};
use plumb_engine::signals::StopFlag;
use plumb_engine::write_guard;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Result of a recipe: devices, or a mount point.
pub(crate) type MadePaths = Vec<PathBuf>;

/// State that is kept between steps.
#[derive(Debug, Default)]
pub(crate) struct StepMemory {
    /// Devices and mount points that steps made, by name.
    pub(crate) made: MadeNames,
    /// Devices that were made here, or whose content was destroyed here.
    pub(crate) own: BTreeSet<PathBuf>,
    /// Control group of the measured processes.
    pub(crate) group: Option<PathBuf>,
    /// Programs whose version was reported.
    pub(crate) versions: BTreeSet<&'static str>,
}

/// Everything that a recipe works with.
pub(crate) struct Site<'a> {
    pub(crate) journal: &'a mut UndoJournal,
    pub(crate) standing: &'a mut StepMemory,
    pub(crate) safety: &'a Safety,
    /// Permissions of the agent's owner; `None` where the user may do what the account may do.
    pub(crate) policy: Option<&'a BuildPolicy>,
    pub(crate) stop: Option<StopFlag>,
    pub(crate) listener: &'a mut dyn FnMut(&str),
}

impl Site<'_> {
    pub(crate) fn say(&mut self, text: &str) {
        (self.listener)(text);
    }

    /// Records how the next act is undone.
    pub(crate) fn record_undo(&mut self, undo: Undo) -> Result<u64, Cause> {
        self.journal.record_undo(undo).map_err(Cause::Journal)
    }

    /// Records that the act was not done after all.
    pub(crate) fn cancel(&mut self, id: u64) -> Result<(), Cause> {
        self.journal.cancel(id).map_err(Cause::Journal)
    }

    /// Runs a command and returns its output.
    pub(crate) fn run(&mut self, command: &Command) -> Result<String, Cause> {
        self.check_stop()?;
        (self.listener)(&BuildLine::Command(command.to_string()).to_string());
        Ok(command.run(self.journal, self.stop)?)
    }

    /// Reports the version of each program that a step ran, once per build. A program that reports
    /// none is not an error.
    pub(crate) fn say_versions(&mut self, step: &Step) {
        for program in step.tools() {
            let Some(command) = version::command(program).filter(|_| self.standing.versions.insert(program)) else {
                continue;
            };
            let Ok(streams) = command.run_for_streams(self.journal, self.stop) else { continue };
            if let Some(version) = version::parse(&streams.output, &streams.errors) {
                self.say(&BuildLine::Version { program: program.to_owned(), version }.to_string());
            }
        }
    }

    /// Runs several commands in order.
    pub(crate) fn run_all(&mut self, commands: &[Command]) -> Result<(), Cause> {
        commands.iter().try_for_each(|command| self.run(command).map(drop))
    }

    /// Returns an error if the user wants to stop.
    pub(crate) fn check_stop(&self) -> Result<(), Cause> {
        if self.stop.is_some_and(StopFlag::requested) { Err(Cause::Interrupted) } else { Ok(()) }
    }

    /// Waits, but returns an error if the user wants to stop.
    pub(crate) fn wait(&self, time: Duration) -> Result<(), Cause> {
        match self.stop {
            Some(flag) => drop(flag.sleep(time)),
            None => std::thread::sleep(time),
        }
        self.check_stop()
    }

    /// Resolves names: paths stay, and `@name` becomes everything that a step made.
    pub(crate) fn resolve(&self, names: &[String]) -> Result<Vec<PathBuf>, Cause> {
        let mut found = vec![];
        for name in names {
            match name.strip_prefix('@') {
                Some(name) => found.extend(self.named(name)?),
                None => found.push(PathBuf::from(name)),
            }
        }
        Ok(found)
    }

    /// Resolves a name that must refer to a single item.
    pub(crate) fn resolve_one(&self, field: &'static str, name: &str) -> Result<PathBuf, Cause> {
        names::only(field, name, self.resolve(&[name.to_owned()])?)
    }

    fn named(&self, name: &str) -> Result<Vec<PathBuf>, Cause> {
        names::resolve(name, |name| self.resolve_all(name), || self.standing.made.keys().cloned().collect())
    }

    fn resolve_all(&self, name: &str) -> Result<Option<Vec<PathBuf>>, Cause> {
        if let Some(made) = self.standing.made.get(name) {
            return Ok(Some(made.iter().map(PathBuf::from).collect()));
        }
        match name {
            "expendable" | "disks" if self.safety.expendable.is_empty() => Err(names::none_expendable(name)),
            "expendable" | "disks" => expendable(self.safety).map(Some),
            _ => Ok(None),
        }
    }

    /// Asks the write guard for devices whose content is about to be destroyed. From then on they are the lab's own.
    /// Devices that the lab did not make are wiped at the end.
    pub(crate) fn claim(&mut self, devices: &[PathBuf]) -> Result<(), Cause> {
        let guard = write_guard(Permissions::parse(&self.safety.typed));
        let list = listed(self.safety);
        for (index, device) in devices.iter().enumerate() {
            let number = system::device_number(device);
            if number.is_some() && devices[..index].iter().any(|other| system::device_number(other) == number) {
                return Err(Cause::field("devices", device.display(), "it is named twice"));
            }
            self.check_device(device)?;
            let is_own = self.is_own(device);
            let right = if is_own { Right::Made } else { Right::Study(&list) };
            let found = retry_while_busy(|| guard.may_destroy(device, right))?;
            if !is_own {
                let serial = found.serials.first().cloned().unwrap_or_default();
                self.record_undo(Undo::Content { device: device.clone(), serial })?;
                self.standing.own.insert(device.clone());
            }
        }
        Ok(())
    }

    /// Returns an error if the agent's owner does not permit a device that was not made here.
    pub(crate) fn check_device(&self, device: &Path) -> Result<(), Cause> {
        match self.policy {
            Some(policy) if !self.is_own(device) => Ok(policy.admit_device(device)?),
            _ => Ok(()),
        }
    }

    /// Returns an error if the agent's owner does not permit a directory or mount point.
    pub(crate) fn check_path(&self, field: &'static str, path: &Path) -> Result<(), Cause> {
        self.policy.map_or(Ok(()), |policy| Ok(policy.admit_path(field, path)?))
    }

    /// Claims a single device.
    pub(crate) fn claim_one(&mut self, field: &'static str, name: &str) -> Result<PathBuf, Cause> {
        let device = self.resolve_one(field, name)?;
        self.claim(std::slice::from_ref(&device))?;
        Ok(device)
    }

    /// Registers a device that was made here.
    pub(crate) fn own(&mut self, device: &Path) {
        self.standing.own.insert(device.to_owned());
    }

    /// Whether a device was made here, or was given to be destroyed.
    pub(crate) fn is_own(&self, device: &Path) -> bool {
        let number = system::device_number(device);
        number.is_some() && self.standing.own.iter().any(|own| system::device_number(own) == number)
    }

    /// Whether a path is on a device that was made or formatted here, so that filling it affects no other user.
    pub(crate) fn is_on_own(&self, path: &Path) -> bool {
        let (Ok(path), Ok(mounts)) = (fs::canonicalize(path), system::mounts()) else { return false };
        // Later mounts hide earlier ones. Of the mounts above the path, the nearest counts.
        let above = mounts.iter().filter(|mount| path.starts_with(&mount.target));
        let nearest = above.max_by_key(|mount| mount.target.components().count());
        nearest.is_some_and(|mount| self.is_own(&mount.source))
    }

    /// Creates a directory of the lab's own in a user's directory. Its undo is recorded first.
    pub(crate) fn own_dir(&mut self, field: &'static str, parent: &Path) -> Result<PathBuf, Cause> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let parent = fs::canonicalize(parent).ok().filter(|parent| parent.is_dir()).ok_or_else(|| {
            Cause::field(
                field,
                parent.display(),
                format!("no such directory; create it: mkdir -p {}", parent.display()),
            )
        })?;
        self.check_path(field, &parent)?;
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{OWN_PREFIX}{}-{number}", std::process::id()));
            if path.symlink_metadata().is_ok() {
                continue;
            }
            let id = self.record_undo(Undo::OwnDir { path: path.clone() })?;
            match fs::DirBuilder::new().mode(0o755).create(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.cancel(id)?,
                Err(error) => return Err(Cause::io(format!("make {}", path.display()))(error)),
            }
        }
    }
}

/// Converts a study's list of expendable devices to the write guard's form.
pub(crate) fn listed(safety: &Safety) -> Vec<Expendable<'_>> {
    safety
        .expendable
        .iter()
        .map(|entry| Expendable { path: entry.path.as_deref().map(Path::new), serial: entry.serial.as_deref() })
        .collect()
}

/// Returns the devices that a study may destroy, in its order. Finds them by path, or by serial if there is no path.
///
/// # Errors
/// Returns an error if an entry is empty or no disk has its serial.
pub(crate) fn expendable(safety: &Safety) -> Result<Vec<PathBuf>, Cause> {
    let mut disks = None;
    let mut found = vec![];
    for entry in &safety.expendable {
        match (&entry.path, &entry.serial) {
            (Some(path), _) => found.push(PathBuf::from(path)),
            (None, Some(serial)) => {
                let disks = match &disks {
                    Some(disks) => disks,
                    None => disks.insert(guard::disks().map_err(Cause::io("list the disks"))?),
                };
                found.push(with_serial(disks, serial.trim())?);
            }
            (None, None) => return Err(Cause::field("expendable", "{}", "set `path`, `serial`, or both")),
        }
    }
    Ok(found)
}

fn with_serial(disks: &[guard::NamedDevice], serial: &str) -> Result<PathBuf, Cause> {
    let with: Vec<&guard::NamedDevice> =
        disks.iter().filter(|disk| disk.serials.iter().any(|known| known == serial)).collect();
    let found = match with.as_slice() {
        [only] => return Ok(only.path.clone()),
        [] => "no disk here has".to_owned(),
        several => {
            let paths: Vec<String> = several.iter().map(|disk| disk.path.display().to_string()).collect();
            format!("more than one disk ({}) has", paths.join(", "))
        }
    };
    let describe = |disk: &guard::NamedDevice| {
        format!("{} ({})", disk.path.display(), disk.serials.first().map_or("", String::as_str))
    };
    // Unused loop devices and the like are not disks.
    let in_use = disks.iter().filter(|disk| system::device_bytes(&disk.path).is_ok_and(|bytes| bytes > 0));
    let disks: Vec<String> = in_use.map(describe).collect();
    Err(Cause::Serial { found, serial: serial.to_owned(), disks: disks.join(", ") })
}

/// Retries while a device is busy: a program that probes a new device releases it in a moment.
pub(crate) fn retry_while_busy<T>(mut ask: impl FnMut() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let mut answer = ask();
    system::wait_until(Duration::from_secs(1), || {
        if matches!(answer, Err(Refusal::Held { .. })) {
            answer = ask();
        }
        !matches!(answer, Err(Refusal::Held { .. }))
    });
    answer
}
