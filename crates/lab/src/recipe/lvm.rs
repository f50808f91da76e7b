//! A logical volume, alone in a volume group. Source: lvm(8), lvmcreate(8), lvm.conf(5), lvmthin(7).

use super::driver::need_driver;
use crate::command::Command;
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{Lvm, LvmLayout};
use crate::system;
use crate::tool::lvm::{LvmCommand, lvm};
use crate::undo::Undo;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time limit for the node of a volume to appear.
const NODE_PATIENCE: Duration = Duration::from_secs(10);

/// Time limit for syncing a mirror: a day is enough for large disks.
const SYNC_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Interval between checks of a mirror's sync.
const SYNC_POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(super) fn build(step: &Lvm, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    need_driver("device-mapper", "LVM", "dm-mod")?;
    check(step)?;
    let devices = site.resolve(step.devices.as_slice())?;
    check_devices(step, devices.len())?;
    site.claim(&devices)?;
    let devices: Vec<String> = devices.iter().map(|device| device.to_string_lossy().into_owned()).collect();
    let group = group_of(&step.name);
    if site.run(&lvm(LvmCommand::Exists, &group, &devices)).is_ok() {
        return Err(Cause::field("name", &step.name, format!("the devices hold a volume group {group} already")));
    }
    site.record_undo(Undo::VolumeGroup { group: group.clone(), devices: devices.clone() })?;
    site.run_all(&commands(step, &group, &devices))?;
    let node = PathBuf::from(format!("/dev/{group}/{}", step.name));
    if !system::wait_until(NODE_PATIENCE, || node.exists()) {
        // Creates the node if no udev did.
        site.run(&lvm(LvmCommand::MakeNodes, &group, &devices))?;
    }
    if !node.exists() {
        return Err(Cause::Unavailable(format!("lvm made the volume, but no {}", node.display())));
    }
    if step.layout == LvmLayout::Mirror {
        wait_for_sync(&group, &devices, site)?;
    }
    site.own(&node);
    Ok(vec![node])
}

/// Checks the step without building it.
pub(super) fn check(step: &Lvm) -> Result<(), Cause> {
    if step.layout == LvmLayout::Thin && step.size.is_none() {
        let expected = "a thin volume may be larger than its pool: set its size";
        return Err(Cause::field("size", "(nothing)", expected));
    }
    Ok(())
}

/// Checks that the step fits this many devices.
pub(crate) fn check_devices(step: &Lvm, devices: usize) -> Result<(), Cause> {
    if step.layout == LvmLayout::Mirror && devices < 2 {
        return Err(Cause::field("devices", devices, "a mirror has two devices or more"));
    }
    Ok(())
}

/// Waits until the copies of a mirror are in sync: measurements before that share the devices with the sync.
fn wait_for_sync(group: &str, devices: &[String], site: &mut Site<'_>) -> Result<(), Cause> {
    site.say(&format!("waiting until the copies of {group} are in sync"));
    let begin = Instant::now();
    loop {
        let text = lvm(LvmCommand::Synced, group, devices).run(site.journal, site.stop)?;
        let percent: Option<f64> = text.trim().parse().ok();
        if percent.is_some_and(|percent| percent >= 100.0) {
            return Ok(());
        }
        if begin.elapsed() > SYNC_TIMEOUT {
            let text =
                format!("the copies of {group} are not in sync after {} s: {}", SYNC_TIMEOUT.as_secs(), text.trim());
            return Err(Cause::Unavailable(text));
        }
        site.wait(SYNC_POLL_INTERVAL)?;
    }
}

/// Returns the name of the volume group. The prefix is Plumb's own.
fn group_of(name: &str) -> String {
    format!("plumb_{name}")
}

fn commands(step: &Lvm, group: &str, devices: &[String]) -> Vec<Command> {
    let volume = |words: &[String]| lvm(LvmCommand::MakeVolume(words), group, devices);
    let mut made = vec![lvm(LvmCommand::MakeLabels, group, devices), lvm(LvmCommand::MakeGroup, group, devices)];
    let size = |share: &str| match step.size {
        Some(bytes) => ["--size".to_owned(), format!("{}b", bytes.0)],
        None => ["--extents".to_owned(), share.to_owned()],
    };
    // Otherwise lvm asks about old signatures in new volumes.
    let mut words: Vec<String> = ["--yes", "--wipesignatures", "n", "--name", &step.name].map(str::to_owned).into();
    match step.layout {
        LvmLayout::Linear => words.extend(size("100%FREE")),
        LvmLayout::Striped => {
            words.extend(["--type", "striped", "--stripes"].map(str::to_owned));
            words.push(devices.len().to_string());
            if let Some(bytes) = step.stripe_size {
                words.extend(["--stripesize".to_owned(), format!("{}b", bytes.0)]);
            }
            words.extend(size("100%FREE"));
        }
        LvmLayout::Mirror => {
            words.extend(["--type", "raid1", "--mirrors"].map(str::to_owned));
            words.push(devices.len().saturating_sub(1).to_string());
            words.extend(size("100%FREE"));
        }
        LvmLayout::Thin => {
            let mut pool: Vec<String> =
                ["--yes", "--type", "thin-pool", "--extents", "90%FREE", "--name", "pool"].map(str::to_owned).into();
            if let Some(bytes) = step.chunk {
                pool.extend(["--chunksize".to_owned(), format!("{}b", bytes.0)]);
            }
            pool.push(group.to_owned());
            made.push(volume(&pool));
            let bytes = step.size.map_or(0, |bytes| bytes.0);
            words.extend(["--type", "thin", "--thinpool", "pool", "--virtualsize"].map(str::to_owned));
            words.push(format!("{bytes}b"));
        }
    }
    words.push(group.to_owned());
    made.push(volume(&words));
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let step: Lvm = plumb_document::json::from_str(text).unwrap();
        let devices = ["/dev/loop0".to_owned(), "/dev/loop1".to_owned()];
        let without_config = |command: Command| {
            let line = command.to_string();
            let (verb, rest) = line.split_once(" --config ").unwrap();
            let (_, words) = rest.split_once("}' ").unwrap();
            format!("{verb} {words}")
        };
        commands(&step, "plumb_v", &devices).into_iter().map(without_config).collect()
    }

    #[test]
    fn volumes_are_made_with_the_options_of_their_step() {
        let both = "/dev/loop0 /dev/loop1";
        let linear = lines(r#"{"name": "v", "devices": "@d"}"#);
        assert_eq!(linear[0], format!("lvm pvcreate --yes {both}"));
        assert_eq!(linear[1], format!("lvm vgcreate --yes plumb_v {both}"));
        assert_eq!(linear[2], "lvm lvcreate --yes --wipesignatures n --name v --extents 100%FREE plumb_v");
        let striped =
            lines(r#"{"name": "v", "devices": "@d", "layout": "striped", "stripe-size": "64k", "size": "1GiB"}"#);
        assert_eq!(
            striped[2],
            "lvm lvcreate --yes --wipesignatures n --name v --type striped --stripes 2 --stripesize 65536b --size \
             1073741824b plumb_v"
        );
        let mirror = lines(r#"{"name": "v", "devices": "@d", "layout": "mirror"}"#);
        assert!(mirror[2].contains("--type raid1 --mirrors 1 --extents 100%FREE plumb_v"), "{}", mirror[2]);
        let thin = lines(r#"{"name": "v", "devices": "@d", "layout": "thin", "size": "8GiB", "chunk": "64k"}"#);
        assert!(thin[2].contains("--type thin-pool --extents 90%FREE --name pool --chunksize 65536b plumb_v"));
        assert!(thin[3].contains("--type thin --thinpool pool --virtualsize 8589934592b plumb_v"));
    }
}
