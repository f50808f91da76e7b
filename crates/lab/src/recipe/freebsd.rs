//! FreeBSD steps: gmirror(8), gpart(8), newfs(8), mount(8), zpool-create(8). Written against the manual pages and
//! type-checked for FreeBSD, but never run there. On other systems each step is refused.

use crate::command::{Command, word};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{Gmirror, Newfs, Step, Zpool};
use crate::system;
use crate::undo::Undo;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for the system to show a new device.
const APPEARS_WITHIN: Duration = Duration::from_secs(10);

/// Time limit for taking one part down, s.
const UNDO_TIMEOUT_S: u64 = 600;

/// Read balancing between members. Source: gmirror(8).
const BALANCES: [&str; 4] = ["load", "prefer", "round-robin", "split"];

/// Refuses a FreeBSD step on another system.
pub(crate) fn need_system(step: &Step) -> Result<(), Cause> {
    match step {
        Step::Gmirror(_) => need_freebsd("gmirror", "a mirror is `kind = \"mdadm\"` with `level = 1`"),
        Step::Newfs(_) => need_freebsd("newfs", "a file system is `kind = \"mkfs\"`"),
        Step::Zpool(_) => need_freebsd(
            "zpool",
            "use `kind = \"btrfs\"` or `kind = \"mdadm\"`, or `kind = \"cmd\"` where OpenZFS is installed",
        ),
        _ => Ok(()),
    }
}

/// Refuses a step if the system is not FreeBSD, and names an alternative.
fn need_freebsd(kind: &str, instead: &str) -> Result<(), Cause> {
    if cfg!(target_os = "freebsd") {
        return Ok(());
    }
    Err(Cause::Unavailable(format!(
        "`{kind}` is FreeBSD's, and this system is {}; here, {instead}",
        std::env::consts::OS
    )))
}

/// Returns an undo that succeeds if there is nothing to take down: a killed build may not have got that far.
fn undo_if(there: &Command, undo: &Command) -> Undo {
    Undo::Cmd { run: format!("! {there} >/dev/null 2>&1 || {undo}"), timeout_s: UNDO_TIMEOUT_S }
}

pub(super) fn gmirror(step: &Gmirror, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check_gmirror(step)?;
    let devices = site.resolve(step.devices.as_slice())?;
    site.claim(&devices)?;
    for undo in gmirror_undos(step, &devices) {
        site.record_undo(undo)?;
    }
    site.run_all(&gmirror_commands(step, &devices))?;
    let mirror = PathBuf::from(format!("/dev/mirror/{}", step.name));
    if !system::wait_until(APPEARS_WITHIN, || mirror.exists()) {
        return Err(Cause::Unavailable(format!("gmirror made no {}", mirror.display())));
    }
    site.own(&mirror);
    Ok(vec![mirror])
}

/// Checks the step without building it.
pub(super) fn check_gmirror(step: &Gmirror) -> Result<(), Cause> {
    if let Some(balance) = &step.balance
        && !BALANCES.contains(&balance.as_str())
    {
        return Err(Cause::field("balance", balance, format!("write one of {}", BALANCES.join(", "))));
    }
    match step.align {
        Some(align) if align.0 == 0 || !align.0.is_multiple_of(512) => {
            Err(Cause::field("align", align, "write a multiple of 512, such as 1MiB"))
        }
        _ => Ok(()),
    }
}

/// Returns the undos in build order; they run in reverse.
fn gmirror_undos(step: &Gmirror, devices: &[PathBuf]) -> Vec<Undo> {
    let table = |device: &PathBuf| {
        let device = word(device);
        undo_if(&Command::new("gpart", ["show", &device]), &Command::new("gpart", ["destroy", "-F", &device]))
    };
    let tables = devices.iter().filter(|_| step.align.is_some()).map(table);
    let there = Command::new("gmirror", ["list", &step.name]);
    let mirror = undo_if(&there, &Command::new("gmirror", ["destroy", "-f", &step.name]));
    tables.chain([mirror]).collect()
}

fn gmirror_commands(step: &Gmirror, devices: &[PathBuf]) -> Vec<Command> {
    let mut commands = vec![];
    let mut members: Vec<String> = devices.iter().map(|device| word(device)).collect();
    if let Some(align) = step.align {
        // A number without a suffix would be in sectors.
        let align = format!("{}b", align.0);
        for device in &members {
            commands.push(Command::new("gpart", ["create", "-s", "gpt", device]));
            commands.push(Command::new("gpart", ["add", "-t", "freebsd-ufs", "-a", &align, "-i", "1", device]));
        }
        members.iter_mut().for_each(|device| device.push_str("p1"));
    }
    // Without `-n` kldload fails if the module is loaded already.
    commands.push(Command::new("kldload", ["-n", "geom_mirror"]));
    let balance = step.balance.as_deref().unwrap_or("load");
    commands.push(Command::new("gmirror", ["label", "-b", balance, step.name.as_str()]).args(members));
    commands
}

pub(super) fn newfs(step: &Newfs, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check_newfs(step)?;
    let device = site.claim_one("device", &step.device)?;
    site.run(&newfs_command(step, &device))?;
    let Some(target) = &step.mount else { return Ok(vec![device]) };
    let target = PathBuf::from(target);
    if !target.exists() {
        site.record_undo(Undo::MountPoint { path: target.clone() })?;
        std::fs::create_dir(&target).map_err(Cause::io(format!("make {}", target.display())))?;
    } else if std::fs::read_dir(&target).map_err(Cause::io(format!("read {}", target.display())))?.next().is_some() {
        let expected =
            "the directory is not empty: a mount would hide what is in it; name an empty one, or one that is not there";
        return Err(Cause::field("mount", target.display(), expected));
    }
    site.record_undo(unmount(&device, &target))?;
    site.run(&newfs_mount(step, &device, &target))?;
    Ok(vec![target])
}

/// Checks the step without building it.
pub(super) fn check_newfs(step: &Newfs) -> Result<(), Cause> {
    if let Some(target) = &step.mount
        && !target.starts_with('/')
    {
        return Err(Cause::field("mount", target, "write an absolute path"));
    }
    if step.mount.is_none() && !step.mount_options.is_empty() {
        return Err(Cause::field("mount-options", step.mount_options.join(","), "set `mount` too, or leave them out"));
    }
    Ok(())
}

/// Unmounts by `mount -p`, which prints mounts like fstab(5): device, directory, type, options.
fn unmount(device: &Path, target: &Path) -> Undo {
    let sorts_out = "$1 == d && $2 == t { found = 1 } END { exit !found }";
    let (device, place) = (format!("d={}", word(device)), format!("t={}", word(target)));
    let check = Command::new("awk", ["-v", &device, "-v", &place, sorts_out]);
    let umount = Command::new("umount", [word(target)]);
    Undo::Cmd { run: format!("! mount -p | {check} || {umount}"), timeout_s: UNDO_TIMEOUT_S }
}

fn newfs_command(step: &Newfs, device: &Path) -> Command {
    Command::new("newfs", &step.options).arg(word(device))
}

fn newfs_mount(step: &Newfs, device: &Path, target: &Path) -> Command {
    let options = step.mount_options.join(",");
    let arguments = if options.is_empty() { vec![] } else { vec!["-o".to_owned(), options] };
    Command::new("mount", ["-t", "ufs"]).args(arguments).args([word(device), word(target)])
}

pub(super) fn zpool(step: &Zpool, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let devices = site.resolve(step.devices.as_slice())?;
    site.claim(&devices)?;
    let there = Command::new("zpool", ["list", "-H", &step.name]);
    site.record_undo(undo_if(&there, &Command::new("zpool", ["destroy", "-f", &step.name])))?;
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
    fn a_mirror_uses_whole_devices_or_aligned_partitions() {
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
        let commands = lines(&gmirror_commands(&step, &devices));
        assert_eq!(commands[0], "gpart create -s gpt /dev/ada0");
        // Bytes: without the suffix gpart would take sectors, and align at 512 MiB.
        assert_eq!(commands[1], "gpart add -t freebsd-ufs -a 1048576b -i 1 /dev/ada0");
        assert_eq!(
            commands[2..4],
            ["gpart create -s gpt /dev/ada1", "gpart add -t freebsd-ufs -a 1048576b -i 1 /dev/ada1"]
        );
        assert_eq!(commands[4..], ["kldload -n geom_mirror", "gmirror label -b round-robin m /dev/ada0p1 /dev/ada1p1"]);
    }

    // Protects: taking down a part that was never built is not an error, and the mirror goes before its devices.
    #[test]
    fn only_existing_parts_are_taken_down() {
        let run = |undo: &Undo| match undo {
            Undo::Cmd { run, .. } => run.clone(),
            other => panic!("{other}"),
        };
        let step: Gmirror =
            plumb_document::json::from_str(r#"{"name": "m", "devices": "@e", "align": "1MiB"}"#).unwrap();
        let undos: Vec<String> = gmirror_undos(&step, &["/dev/ada0".into()]).iter().map(run).collect();
        assert_eq!(
            undos,
            [
                "! gpart show /dev/ada0 >/dev/null 2>&1 || gpart destroy -F /dev/ada0",
                "! gmirror list m >/dev/null 2>&1 || gmirror destroy -f m",
            ]
        );
        assert_eq!(
            run(&unmount(Path::new("/dev/mirror/m"), Path::new("/raid"))),
            "! mount -p | awk -v d=/dev/mirror/m -v t=/raid '$1 == d && $2 == t { found = 1 } END { exit !found }' || \
             umount /raid"
        );
        // Check what the shell makes of it, with programs that every system has.
        let gone = undo_if(&Command::new("false", [""; 0]), &Command::new("false", [""; 0]));
        gone.apply().unwrap();
        undo_if(&Command::new("true", [""; 0]), &Command::new("false", [""; 0])).apply().unwrap_err();
    }

    #[test]
    fn unknown_values_are_refused_before_building() {
        let refused = |text: &str| {
            let step: Gmirror = plumb_document::json::from_str(text).unwrap();
            check_gmirror(&step).unwrap_err().to_string()
        };
        let message = refused(r#"{"name": "m", "devices": "@e", "balance": "fair"}"#);
        assert!(message.contains("round-robin"), "{message}");
        let message = refused(r#"{"name": "m", "devices": "@e", "align": "1000"}"#);
        assert!(message.contains("multiple of 512"), "{message}");
    }

    #[test]
    fn ufs_and_zfs_are_made_as_documented() {
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
    fn other_systems_get_an_alternative() {
        let error = need_freebsd("gmirror", "a mirror is `kind = \"mdadm\"`").unwrap_err().to_string();
        assert!(error.contains("FreeBSD") && error.contains("mdadm"), "{error}");
    }
}
