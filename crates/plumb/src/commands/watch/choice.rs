//! Selection of the watched devices.

use plumb_cli::exit::Stopped;
use plumb_result::blocks::{BlockDevice, BlockExtent, MachineReading};
use std::path::Path;

pub(super) enum DeviceChoice {
    /// Whole devices in use since boot.
    Used,
    Named(Vec<String>),
}

impl DeviceChoice {
    /// Resolves the words of the command line: names, device files, or paths, which select the devices below them.
    pub(super) fn new(words: &[String], machine: &MachineReading) -> Result<DeviceChoice, Stopped> {
        if words.is_empty() {
            return Ok(DeviceChoice::Used);
        }
        let mut names = Vec::new();
        for word in words {
            names.extend(resolve(word, machine)?);
        }
        Ok(DeviceChoice::Named(names))
    }

    /// Returns `true` if the device is selected.
    pub(super) fn has(&self, device: &BlockDevice) -> bool {
        match self {
            DeviceChoice::Used => device.extent == BlockExtent::Whole && !device.stat.is_idle(),
            DeviceChoice::Named(names) => names.contains(&device.name),
        }
    }
}

fn resolve(word: &str, machine: &MachineReading) -> Result<Vec<String>, Stopped> {
    let known = |name: &str| machine.devices.iter().any(|device| device.name == name);
    let short = word.strip_prefix("/dev/").unwrap_or(word);
    if known(short) {
        return Ok(vec![short.to_owned()]);
    }
    if Path::new(word).exists() {
        let facts = plumb_probe::stack::of_path(Path::new(word));
        let names: Vec<String> = facts.stack.into_iter().map(|layer| layer.name).filter(|name| known(name)).collect();
        if !names.is_empty() {
            return Ok(names);
        }
        let why = facts.unseen.first().map_or(String::new(), |why| format!(" ({why})"));
        return Err(Stopped::usage(format!(
            "no block device under `{word}`{why}; name one, or leave it out to watch all"
        )));
    }
    let names = machine.devices.iter().map(|device| device.name.as_str());
    let hint = plumb_workload::suggest::nearest(short, names).map(|name| format!("; did you mean `{name}`?"));
    Err(Stopped::usage(format!(
        "`{word}` is neither a block device nor a path{}; without a name, `plumb watch` shows all devices in use",
        hint.unwrap_or_default()
    )))
}
