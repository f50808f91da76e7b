//! Rules of an agent's owner for the systems that clients build on the host.
//!
//! The steps of a client are checked as a whole before the first is built ([`BuildPolicy::admit`]). Directories, mount
//! points and devices are checked again where they are used, with links and `@names` resolved.

pub(crate) mod error;
mod options;

use crate::step::{Dm, Loop, Mount, Names, Safety, Step};
use crate::{site, system};
use error::{PolicyError, RefusedStep};
use options::{MOUNTED, beyond_flakey, beyond_mkfs, beyond_mount, beyond_tune, is_word};
use plumb_document::Value;
use plumb_engine::guard::{is_below_any, serials};
use plumb_workload::Bytes;
use std::path::{Path, PathBuf};

/// Largest number of steps of one system.
const STEPS_MAX: usize = 64;

/// Share of the memory that one system's file systems and devices in memory may take.
const MEMORY_SHARE: u64 = 2;

/// Options of every mount for a client: nothing on it can raise rights or open a device.
const MOUNT_HARDENED: [&str; 2] = ["nosuid", "nodev"];

/// Permissions of an agent's owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildPolicy {
    /// Directories below which images and mount points may be.
    pub allow: Vec<PathBuf>,
    /// Devices that may be destroyed if a study lists them as well: paths and serials.
    pub devices: Vec<String>,
    /// Whether steps may start programs, and change the host beyond the system that they build.
    pub may_exec: bool,
}

impl BuildPolicy {
    /// Checks all steps of a system, for a machine with this much memory.
    ///
    /// # Errors
    /// Returns the first step that the owner does not permit.
    pub(crate) fn admit(&self, steps: &[Step], ram_bytes: u64) -> Result<(), RefusedStep> {
        let refused = |index: usize, error| {
            let kind = steps.get(index).map_or("none", Step::kind);
            Err(RefusedStep { number: index + 1, kind, error })
        };
        if steps.len() > STEPS_MAX {
            let what = format!("{} steps", steps.len());
            return refused(STEPS_MAX, PolicyError::Much { what, limit: STEPS_MAX.to_string() });
        }
        let mut in_memory: u64 = 0;
        for (index, step) in steps.iter().enumerate() {
            if let Err(error) = self.admit_step(step) {
                return refused(index, error);
            }
            in_memory = in_memory.saturating_add(memory_bytes(step));
            if in_memory > ram_bytes / MEMORY_SHARE {
                let what = format!("{} in memory", Bytes(in_memory));
                return refused(index, PolicyError::Much { what, limit: Bytes(ram_bytes / MEMORY_SHARE).to_string() });
            }
        }
        Ok(())
    }

    /// Returns the listed devices that steps refer to as `@expendable` and the owner does not permit.
    pub(crate) fn foreign_devices(&self, steps: &[Step], safety: &Safety) -> Vec<PolicyError> {
        let is_listed = |name: &str| {
            let name = name.strip_prefix('@').map(|name| name.split('.').next().unwrap_or_default());
            name.is_some_and(|name| ["expendable", "disks"].contains(&name))
        };
        if !steps.iter().flat_map(devices).any(is_listed) {
            return Vec::new();
        }
        // A device that is not there is another objection.
        let listed = site::expendable(safety).unwrap_or_default();
        listed.iter().filter_map(|device| self.admit_device(device).err()).collect()
    }

    /// Returns the step with the options that every mount for a client has.
    pub(crate) fn hardened(&self, step: &Step) -> Step {
        let mut step = step.clone();
        let options = match &mut step {
            Step::Mkfs(step) => &mut step.mount_options,
            Step::Btrfs(step) => &mut step.mount_options,
            Step::Mount(step) => &mut step.mount_options,
            Step::Overlay(step) => &mut step.mount_options,
            Step::Tmpfs(step) => &mut step.mount_options,
            Step::Nfs(step) => &mut step.mount_options,
            _ => return step,
        };
        options.extend(MOUNT_HARDENED.map(str::to_owned));
        step
    }

    /// Checks a directory or a mount point, with links resolved.
    pub(crate) fn admit_path(&self, field: &'static str, path: &Path) -> Result<(), PolicyError> {
        if path.is_absolute() && is_below_any(&self.allow, path) {
            return Ok(());
        }
        let allowed: Vec<String> = self.allow.iter().map(|path| format!("`{}`", path.display())).collect();
        let allowed = if allowed.is_empty() { "no directory".to_owned() } else { allowed.join(", ") };
        Err(PolicyError::Path { field, path: path.display().to_string(), allowed })
    }

    /// Checks a device whose content is to be destroyed, or whose settings are to be changed.
    pub(crate) fn admit_device(&self, device: &Path) -> Result<(), PolicyError> {
        let number = system::device_number(device);
        let is_named = |named: &String| match named.starts_with('/') {
            true => system::device_number(Path::new(named)) == number,
            false => serials(device).is_ok_and(|known| known.contains(named)),
        };
        if number.is_some() && self.devices.iter().any(is_named) {
            return Ok(());
        }
        let others =
            if self.devices.is_empty() { String::new() } else { format!(", only {}", self.devices.join(", ")) };
        Err(PolicyError::Device { device: device.display().to_string(), others })
    }

    fn admit_step(&self, step: &Step) -> Result<(), PolicyError> {
        admit_texts(step)?;
        for (field, name) in directories(step) {
            // A name of an earlier step is checked where it is used.
            if !name.starts_with('@') {
                self.admit_path(field, Path::new(name))?;
            }
        }
        for device in devices(step) {
            self.admit_device_name(device)?;
        }
        match beyond(step).filter(|_| !self.may_exec) {
            Some((what, reason)) => Err(PolicyError::NeedsExec { what, reason }),
            None => Ok(()),
        }
    }

    /// Checks a device as a step writes it: a client must not make it another one by a link of its own.
    fn admit_device_name(&self, device: &str) -> Result<(), PolicyError> {
        if device.starts_with('@') {
            return Ok(());
        }
        let is_plain = device.starts_with("/dev/") && is_word(&device.replace('/', "")) && !device.contains("..");
        if !is_plain {
            let expected = "write @NAME of an earlier step, or a path below /dev without `..` and blanks";
            return Err(PolicyError::Value { field: "device", value: device.to_owned(), expected });
        }
        self.admit_device(Path::new(device))
    }
}

/// Refuses control characters, which could begin another line of a table or a script.
fn admit_texts(step: &Step) -> Result<(), PolicyError> {
    fn texts(value: &Value) -> Option<&str> {
        match value {
            Value::Text(text) => Some(text.as_str()).filter(|text| text.chars().any(char::is_control)),
            Value::List(all) => all.iter().find_map(|one| texts(one.get_ref())),
            Value::Table(all) => all.iter().find_map(|(_, one)| texts(one.get_ref())),
            _ => None,
        }
    }
    // A command of the shell may have several lines.
    if matches!(step, Step::Cmd(_)) {
        return Ok(());
    }
    let document = plumb_document::write(step).ok();
    match document.as_ref().and_then(|document| texts(document.get_ref())) {
        None => Ok(()),
        Some(text) => {
            let value = text.escape_debug().to_string();
            Err(PolicyError::Value { field: "step", value, expected: "write no control characters" })
        }
    }
}

/// Returns the part of a step that reaches beyond the system that is built, and the reason.
fn beyond(step: &Step) -> Option<(String, &'static str)> {
    const REACHES: &str = "it may reach other files, devices and programs of the host";
    const HOST: &str = "it changes the host as a whole";
    let option = |text: Option<&str>| text.map(|text| (format!("the option `{text}`"), REACHES));
    let mounted = |options: &[String]| option(beyond_mount(options));
    match step {
        Step::Mkfs(step) => option(beyond_mkfs(&step.fs, &step.options)).or_else(|| mounted(&step.mount_options)),
        Step::Btrfs(step) => {
            let profiles = [&step.data, &step.metadata].into_iter().flatten();
            let odd = profiles.map(String::as_str).find(|profile| !is_word(profile) || profile.starts_with('-'));
            let options = option(odd).or_else(|| option(beyond_mkfs("btrfs", &step.options)));
            options.or_else(|| mounted(&step.mount_options))
        }
        Step::Mount(Mount { fs, mount_options, .. }) => {
            let helped = fs.as_deref().filter(|fs| !MOUNTED.contains(fs));
            helped.map(|fs| (format!("fs = \"{fs}\""), REACHES)).or_else(|| mounted(mount_options))
        }
        Step::Tune(step) => option(beyond_tune(&step.options)),
        Step::Overlay(step) => mounted(&step.mount_options),
        Step::Tmpfs(step) => mounted(&step.mount_options),
        Step::Dm(Dm { features, .. }) => option(beyond_flakey(features)),
        Step::Mdadm(step) => option(step.layout.as_deref().filter(|layout| !is_word(layout))),
        Step::Loop(Loop { limits: Some(_), .. }) => Some(("`limits`".to_owned(), HOST)),
        Step::Sysctl(_) | Step::Link(_) => Some((format!("`{}`", step.kind()), HOST)),
        Step::Nfs(_) => Some(("`nfs`".to_owned(), "it exports a directory of the host")),
        Step::Cmd(step) => Some((format!("`{}`", step.run), "it is a program")),
        Step::Gmirror(_) | Step::Newfs(_) | Step::Zpool(_) => Some((format!("`{}`", step.kind()), REACHES)),
        Step::Loop(_)
        | Step::Partition(_)
        | Step::Degrade(_)
        | Step::Rebuild(_)
        | Step::Lvm(_)
        | Step::Zram(_)
        | Step::Queue(_)
        | Step::Readahead(_)
        | Step::Fill(_)
        | Step::Age(_)
        | Step::Precondition(_) => None,
    }
}

/// Returns the memory that a step takes at most.
fn memory_bytes(step: &Step) -> u64 {
    match step {
        Step::Tmpfs(step) => step.size.0,
        Step::Zram(step) => step.size.0.saturating_mul(step.count.map_or(1, |count| count.0)),
        _ => 0,
    }
}

/// Returns the directories and mount points of a step, each with its field.
fn directories(step: &Step) -> Vec<(&'static str, &str)> {
    fn mount(target: &str) -> (&'static str, &str) {
        ("mount", target)
    }
    match step {
        Step::Loop(step) => vec![("directory", &step.directory)],
        Step::Mkfs(step) => step.mount.iter().map(|target| mount(target)).collect(),
        Step::Btrfs(step) => step.mount.iter().map(|target| mount(target)).collect(),
        Step::Mount(step) => vec![mount(&step.mount)],
        Step::Overlay(step) => {
            let lower = step.lower.as_slice().iter().map(|lower| ("lower", lower.as_str()));
            lower.chain([("directory", step.directory.as_str()), mount(&step.mount)]).collect()
        }
        Step::Tmpfs(step) => vec![mount(&step.mount)],
        Step::Nfs(step) => vec![("directory", &step.directory), mount(&step.mount)],
        Step::Fill(step) => vec![("directory", &step.directory)],
        Step::Age(step) => vec![("directory", &step.directory)],
        Step::Newfs(step) => step.mount.iter().map(|target| mount(target)).collect(),
        Step::Zpool(step) => step.mount.iter().map(|target| mount(target)).collect(),
        Step::Partition(_)
        | Step::Mdadm(_)
        | Step::Degrade(_)
        | Step::Rebuild(_)
        | Step::Lvm(_)
        | Step::Dm(_)
        | Step::Zram(_)
        | Step::Tune(_)
        | Step::Queue(_)
        | Step::Readahead(_)
        | Step::Sysctl(_)
        | Step::Link(_)
        | Step::Precondition(_)
        | Step::Cmd(_)
        | Step::Gmirror(_) => Vec::new(),
    }
}

/// Returns the devices of a step as it writes them.
fn devices(step: &Step) -> Vec<&str> {
    fn all(names: &Names) -> Vec<&str> {
        names.as_slice().iter().map(String::as_str).collect()
    }
    match step {
        Step::Partition(step) => vec![&step.device],
        Step::Mdadm(step) => [Some(&step.devices), step.spares.as_ref()].into_iter().flatten().flat_map(all).collect(),
        Step::Degrade(step) => vec![&step.array, &step.member],
        Step::Rebuild(step) => vec![&step.array, &step.member],
        Step::Lvm(step) => all(&step.devices),
        Step::Dm(step) => [Some(&step.device), step.log.as_ref()].into_iter().flatten().map(String::as_str).collect(),
        Step::Mkfs(step) => vec![&step.device],
        Step::Btrfs(step) => all(&step.devices),
        Step::Mount(step) => vec![&step.device],
        Step::Tune(step) => vec![&step.device],
        Step::Queue(step) => all(&step.device),
        Step::Readahead(step) => all(&step.device),
        Step::Precondition(step) => all(&step.device),
        Step::Gmirror(step) => all(&step.devices),
        Step::Newfs(step) => vec![&step.device],
        Step::Zpool(step) => all(&step.devices),
        Step::Loop(_)
        | Step::Zram(_)
        | Step::Overlay(_)
        | Step::Tmpfs(_)
        | Step::Nfs(_)
        | Step::Sysctl(_)
        | Step::Link(_)
        | Step::Fill(_)
        | Step::Age(_)
        | Step::Cmd(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
