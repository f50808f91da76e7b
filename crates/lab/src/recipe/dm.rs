//! Mapped devices. Source: dmsetup(8), the kernel's `admin-guide/device-mapper/`
//! (`linear`, `delay`, `dm-flakey`, `log-writes`).

use super::driver::{lacks, load_module, need_driver};
use crate::command::{Command, word};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{Dm, DmTarget};
use crate::system;
use crate::undo::Undo;
use plumb_workload::units::Bytes;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time to wait for udev's node before creating it by hand.
const NODE_PATIENCE: Duration = Duration::from_secs(2);

/// Sector size of the kernel's tables, regardless of the device's own.
const SECTOR: u64 = 512;

pub(super) fn build(step: &Dm, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check(step)?;
    need_driver("device-mapper", "device mapper", "dm-mod")?;
    let target = target_name(step.target);
    load_module(&format!("dm-{target}"));
    let targets = site.run(&Command::new("dmsetup", ["targets"]))?;
    if !targets.lines().any(|line| line.split_whitespace().next() == Some(target)) {
        return Err(lacks(&format!("dm-{target}"), &format!("dm-{target}")));
    }
    let device = site.claim_one("device", &step.device)?;
    let log = step.log.as_ref().map(|log| site.claim_one("log", log)).transpose()?;
    let bytes = system::device_bytes(&device).map_err(Cause::io(format!("see how large {} is", device.display())))?;
    let table = table(step, &device, log.as_deref(), bytes)?;
    let name = format!("plumb-{}", step.name);
    site.record_undo(Undo::Mapped { name: name.clone() })?;
    let [create, nodes] = commands(&name, &table);
    site.run(&create)?;
    let node = PathBuf::from(format!("/dev/mapper/{name}"));
    if !system::wait_until(NODE_PATIENCE, || node.exists()) {
        site.run(&nodes)?;
    }
    site.own(&node);
    Ok(vec![node])
}

/// Checks the step without building it.
pub(super) fn check(step: &Dm) -> Result<(), Cause> {
    let target = step.target;
    let fields = [
        ("read-delay-ms", step.read_delay_ms.is_some(), DmTarget::Delay),
        ("write-delay-ms", step.write_delay_ms.is_some(), DmTarget::Delay),
        ("up-s", step.up_s.is_some(), DmTarget::Flakey),
        ("down-s", step.down_s.is_some(), DmTarget::Flakey),
        ("features", !step.features.is_empty(), DmTarget::Flakey),
        ("log", step.log.is_some(), DmTarget::LogWrites),
    ];
    if let Some((field, _, of)) = fields.iter().find(|(_, is_said, of)| *is_said && *of != target) {
        let expected = format!("it is of the target `{}`; leave it out", target_name(*of));
        return Err(Cause::field(field, "…", expected));
    }
    if target == DmTarget::LogWrites && step.log.is_none() {
        return Err(Cause::field("log", "(nothing)", "name the device that takes the log"));
    }
    if target == DmTarget::LogWrites && (step.offset.is_some() || step.size.is_some()) {
        return Err(Cause::field("offset", "…", "log-writes takes all of a device; leave offset and size out"));
    }
    Ok(())
}

fn target_name(target: DmTarget) -> &'static str {
    match target {
        DmTarget::Linear => "linear",
        DmTarget::Delay => "delay",
        DmTarget::Flakey => "flakey",
        DmTarget::LogWrites => "log-writes",
    }
}

/// Returns the size of the mapped device over a device of this size.
pub(crate) fn mapped_bytes(step: &Dm, device: &str, device_bytes: u64) -> Result<u64, Cause> {
    let offset = step.offset.unwrap_or_default();
    let size = step.size.unwrap_or(Bytes(device_bytes.saturating_sub(offset.0)));
    for (field, bytes) in [("offset", offset), ("size", size)] {
        if !bytes.0.is_multiple_of(SECTOR) {
            return Err(Cause::field(field, bytes, "write a multiple of 512 bytes"));
        }
    }
    if size.0 == 0 || offset.0.checked_add(size.0).is_none_or(|end| end > device_bytes) {
        let expected = format!("from {offset} on, {device} holds {}", Bytes(device_bytes.saturating_sub(offset.0)));
        return Err(Cause::field("size", size, expected));
    }
    Ok(size.0)
}

/// Returns the table's only line.
fn table(step: &Dm, device: &Path, log: Option<&Path>, device_bytes: u64) -> Result<String, Cause> {
    let device = word(device);
    let sectors = mapped_bytes(step, &device, device_bytes)? / SECTOR;
    let from = step.offset.unwrap_or_default().0 / SECTOR;
    let below = format!("{device} {from}");
    let arguments = match step.target {
        DmTarget::Linear => below,
        DmTarget::Delay => {
            let read = step.read_delay_ms.map_or(0, |ms| ms.0);
            let write = step.write_delay_ms.map_or(read, |ms| ms.0);
            format!("{below} {read} {below} {write}")
        }
        DmTarget::Flakey => {
            let (up, down) = (step.up_s.map_or(60, |s| s.0), step.down_s.map_or(0, |s| s.0));
            let features = match step.features.as_slice() {
                [] => String::new(),
                features => {
                    let words = features.join(" ");
                    format!(" {} {words}", words.split_whitespace().count())
                }
            };
            format!("{below} {up} {down}{features}")
        }
        DmTarget::LogWrites => format!("{device} {}", log.map(word).unwrap_or_default()),
    };
    Ok(format!("0 {sectors} {} {arguments}", target_name(step.target)))
}

/// Returns the commands that create the device, and its node if there is no udev.
fn commands(name: &str, table: &str) -> [Command; 2] {
    [
        Command::new("dmsetup", ["create", name, "--noudevsync", "--noudevrules", "--table", table]),
        Command::new("dmsetup", ["mknodes", name]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(more: &str) -> Result<String, String> {
        let text = format!(r#"{{"name": "d", "device": "@disk"{more}}}"#);
        let step: Dm = plumb_document::json::from_str(&text).unwrap();
        let log = step.log.as_ref().map(|_| Path::new("/dev/loop1"));
        check(&step)
            .and_then(|()| table(&step, Path::new("/dev/loop0"), log, 1 << 20))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn tables_match_the_kernels_documentation() {
        assert_eq!(line(r#", "target": "linear", "offset": "4k""#).unwrap(), "0 2040 linear /dev/loop0 8");
        assert_eq!(
            line(r#", "target": "delay", "read-delay-ms": 5, "write-delay-ms": 20"#).unwrap(),
            "0 2048 delay /dev/loop0 0 5 /dev/loop0 0 20"
        );
        assert_eq!(
            line(r#", "target": "delay", "read-delay-ms": 5"#).unwrap(),
            "0 2048 delay /dev/loop0 0 5 /dev/loop0 0 5"
        );
        assert_eq!(
            line(r#", "target": "flakey", "up-s": 10, "down-s": 2, "features": ["drop_writes"]"#).unwrap(),
            "0 2048 flakey /dev/loop0 0 10 2 1 drop_writes"
        );
        assert_eq!(
            line(r#", "target": "log-writes", "log": "@log""#).unwrap(),
            "0 2048 log-writes /dev/loop0 /dev/loop1"
        );
        let [create, _] = commands("plumb-d", "0 8 linear /dev/loop0 0");
        assert_eq!(
            create.to_string(),
            "dmsetup create plumb-d --noudevsync --noudevrules --table '0 8 linear /dev/loop0 0'"
        );
    }

    #[test]
    fn fields_of_other_targets_are_rejected() {
        assert!(line(r#", "target": "linear", "up-s": 1"#).unwrap_err().contains("`flakey`"));
        assert!(line(r#", "target": "log-writes""#).unwrap_err().contains("takes the log"));
        assert!(line(r#", "target": "linear", "size": "2MiB""#).unwrap_err().contains("holds 1MiB"));
        assert!(line(r#", "target": "linear", "offset": 100"#).unwrap_err().contains("512"));
    }
}
