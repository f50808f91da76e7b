//! FreeBSD's own: gmirror(8), gpart(8), newfs(8), zpool-create(8). Written against their manual pages, not run there yet;
//! elsewhere each refuses.

use crate::command::{Command, word};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{Gmirror, Newfs, Zpool};
use crate::undo::Undo;
use std::path::{Path, PathBuf};

/// Refuses where the system is another one.
fn need_freebsd(kind: &str, instead: &str) -> Result<(), Cause> {
    if cfg!(target_os = "freebsd") {
        return Ok(());
    }
    Err(Cause::Unavailable(format!(
        "`{kind}` is FreeBSD's, and this system is {}; here, {instead}",
        std::env::consts::OS
    )))
}

pub(super) fn gmirror(step: &Gmirror, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    need_freebsd("gmirror", "a mirror is `kind = \"mdadm\"` with `level = 1`")?;
    let devices = site.resolve(step.devices.as_slice())?;
    site.claim(&devices)?;
    for device in &devices {
        let destroy = ["gpart", "destroy", "-F", &word(device)].map(str::to_owned);
        if step.align.is_some() {
            site.ahead(Undo::Command { words: destroy.to_vec() })?;
        }
    }
    site.ahead(Undo::Command { words: ["gmirror", "destroy", "-f", &step.name].map(str::to_owned).to_vec() })?;
    site.run_all(&gmirror_commands(step, &devices))?;
    let mirror = PathBuf::from(format!("/dev/mirror/{}", step.name));
    site.own(&mirror);
    Ok(vec![mirror])
}

fn gmirror_commands(step: &Gmirror, devices: &[PathBuf]) -> Vec<Command> {
    let mut commands = vec![];
    let mut members: Vec<String> = devices.iter().map(|device| word(device)).collect();
    if let Some(align) = step.align {
        for device in &members {
            let align = align.0.to_string();
            commands.push(Command::new("gpart", ["create", "-s", "gpt", device]));
            commands.push(Command::new("gpart", ["add", "-t", "freebsd-ufs", "-a", &align, device]));
        }
        members.iter_mut().for_each(|device| device.push_str("p1"));
    }
    // Loaded already, it says so and fails: `-n` does not.
    commands.push(Command::new("kldload", ["-n", "geom_mirror"]));
    let balance = step.balance.as_deref().unwrap_or("load");
    commands.push(Command::new("gmirror", ["label", "-b", balance, step.name.as_str()]).args(members));
    commands
}

pub(super) fn newfs(step: &Newfs, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    need_freebsd("newfs", "a file system is `kind = \"mkfs\"`")?;
    let device = site.claim_one("device", &step.device)?;
    site.run(&newfs_command(step, &device))?;
    let Some(target) = &step.mount else { return Ok(vec![device]) };
    let target = PathBuf::from(target);
    if !target.exists() {
        site.ahead(Undo::MountPoint { path: target.clone() })?;
        std::fs::create_dir(&target).map_err(Cause::io(format!("make {}", target.display())))?;
    }
    site.ahead(Undo::Command { words: vec!["umount".to_owned(), word(&target)] })?;
    site.run(&newfs_mount(step, &device, &target))?;
    Ok(vec![target])
}

fn newfs_command(step: &Newfs, device: &Path) -> Command {
    Command::new("newfs", &step.options).arg(word(device))
}

fn newfs_mount(step: &Newfs, device: &Path, target: &Path) -> Command {
    let options = step.mount_options.join(",");
    let said = if options.is_empty() { vec![] } else { vec!["-o".to_owned(), options] };
    Command::new("mount", ["-t", "ufs"]).args(said).args([word(device), word(target)])
}

pub(super) fn zpool(step: &Zpool, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    need_freebsd(
        "zpool",
        "use `kind = \"btrfs\"` or `kind = \"mdadm\"`, or `kind = \"cmd\"` where OpenZFS is installed",
    )?;
    let devices = site.resolve(step.devices.as_slice())?;
    site.claim(&devices)?;
    site.ahead(Undo::Command { words: ["zpool", "destroy", "-f", &step.name].map(str::to_owned).to_vec() })?;
    site.run(&zpool_command(step, &devices))?;
    Ok(vec![PathBuf::from(step.mount.clone().unwrap_or_else(|| format!("/{}", step.name)))])
}

fn zpool_command(step: &Zpool, devices: &[PathBuf]) -> Command {
    let mut words = vec!["create".to_owned(), "-f".to_owned()];
    for (option, properties) in [("-o", &step.properties), ("-O", &step.fs_properties)] {
        words.extend(properties.iter().flat_map(|property| [option.to_owned(), property.clone()]));
    }
    words.extend(step.mount.iter().flat_map(|mount| ["-m".to_owned(), mount.clone()]));
    words.push(step.name.clone());
    words.extend(step.layout.clone());
    Command::new("zpool", words).args(devices.iter().map(|device| word(device)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(commands: &[Command]) -> Vec<String> {
        commands.iter().map(Command::to_string).collect()
    }

    #[test]
    fn a_mirror_lies_on_whole_devices_or_on_aligned_partitions() {
        let devices = ["/dev/ada0", "/dev/ada1"].map(PathBuf::from);
        let step: Gmirror = plumb_document::json::from_str(r#"{"name": "mirror", "devices": "@expendable"}"#).unwrap();
        assert_eq!(
            lines(&gmirror_commands(&step, &devices)),
            ["kldload -n geom_mirror", "gmirror label -b load mirror /dev/ada0 /dev/ada1"]
        );
        let step: Gmirror = plumb_document::json::from_str(
            r#"{"name": "m", "devices": "@e", "align": "1MiB", "balance": "round-robin"}"#,
        )
        .unwrap();
        let said = lines(&gmirror_commands(&step, &devices));
        assert_eq!(said[0], "gpart create -s gpt /dev/ada0");
        assert_eq!(said[1], "gpart add -t freebsd-ufs -a 1048576 /dev/ada0");
        assert_eq!(said[5], "gmirror label -b round-robin m /dev/ada0p1 /dev/ada1p1");
    }

    #[test]
    fn ufs_and_zfs_are_made_as_their_manuals_say() {
        let text = r#"{"device": "@m", "options": ["-U"], "mount": "/raid", "mount-options": ["noatime"]}"#;
        let step: Newfs = plumb_document::json::from_str(text).unwrap();
        let device = Path::new("/dev/mirror/m");
        assert_eq!(newfs_command(&step, device).to_string(), "newfs -U /dev/mirror/m");
        let mount = newfs_mount(&step, device, Path::new("/raid")).to_string();
        assert_eq!(mount, "mount -t ufs -o noatime /dev/mirror/m /raid");
        let text = r#"{"name": "tank", "devices": "@e", "layout": "mirror", "properties": ["ashift=12"],
                       "fs-properties": ["compression=off"], "mount": "/raid"}"#;
        let step: Zpool = plumb_document::json::from_str(text).unwrap();
        assert_eq!(
            zpool_command(&step, &["/dev/ada0".into(), "/dev/ada1".into()]).to_string(),
            "zpool create -f -o ashift=12 -O compression=off -m /raid tank mirror /dev/ada0 /dev/ada1"
        );
    }

    #[cfg(not(target_os = "freebsd"))]
    #[test]
    fn elsewhere_each_says_what_to_use() {
        let error = need_freebsd("gmirror", "a mirror is `kind = \"mdadm\"`").unwrap_err().to_string();
        assert!(error.contains("FreeBSD") && error.contains("mdadm"), "{error}");
    }
}
