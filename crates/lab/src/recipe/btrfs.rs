//! A btrfs over several devices. Source: mkfs.btrfs(8), btrfs(5).

use super::mount;
use crate::command::{Command, word};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Btrfs;
use std::path::PathBuf;

pub(super) fn build(step: &Btrfs, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let devices = site.resolve(step.devices.as_slice())?;
    site.claim(&devices)?;
    let Some(first) = devices.first() else {
        return Err(Cause::field("devices", "(nothing)", "name a device or more"));
    };
    site.run(&command(step, &devices))?;
    let Some(target) = &step.mount else { return Ok(devices) };
    let options = mount_options(step, &devices);
    mount::mount(&mount::Request { source: first, fs: Some("btrfs"), target, options: &options }, site)
}

/// Returns the mkfs.btrfs command.
pub(crate) fn command(step: &Btrfs, devices: &[PathBuf]) -> Command {
    let mut command = Command::new("mkfs.btrfs", ["-q", "-f"]);
    for (option, profile) in [("--data", &step.data), ("--metadata", &step.metadata)] {
        if let Some(profile) = profile {
            command = command.args([option, profile.as_str()]);
        }
    }
    command.args(&step.options).args(devices.iter().map(|device| word(device)))
}

/// Lists all devices as mount options: without udev, the kernel may not know which belong together.
fn mount_options(step: &Btrfs, devices: &[PathBuf]) -> Vec<String> {
    let others = devices.iter().skip(1).map(|device| format!("device={}", device.display()));
    others.chain(step.mount_options.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_profiles_and_devices() {
        let text = r#"{"devices": "@d", "data": "raid0", "metadata": "raid1", "options": ["-O", "^extref"],
                       "mount": "/m", "mount-options": ["compress=zstd"]}"#;
        let step: Btrfs = plumb_document::json::from_str(text).unwrap();
        let devices = ["/dev/loop0", "/dev/loop1"].map(PathBuf::from);
        assert_eq!(
            command(&step, &devices).to_string(),
            "mkfs.btrfs -q -f --data raid0 --metadata raid1 -O '^extref' /dev/loop0 /dev/loop1"
        );
        assert_eq!(mount_options(&step, &devices), ["device=/dev/loop1", "compress=zstd"]);
    }
}
