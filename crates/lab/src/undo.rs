//! Undos: each takes down one part of a system. An undo tolerates that the part is gone,
//! and touches nothing of others.

use crate::command::{Command, CommandError, NoWitness};
use crate::system;
use crate::tool::{ip_link, lvm, nfs};
use plumb_engine::guard::{self, Allow, IoMode, Permissions, Refusal, write_setting};
use plumb_engine::write_guard;
use plumb_probe::read_only;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Name prefix of directories that the lab creates for its own files.
pub(crate) const OWN_PREFIX: &str = "plumb-lab-";

/// Time limit for a part that is still in use.
const PATIENCE: Duration = Duration::from_secs(10);

/// An action that takes down one part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub(crate) enum Undo {
    /// Removes a directory that was created as a mount point.
    MountPoint { path: PathBuf },
    /// Unmounts a file system that was mounted from this source.
    Mount { target: PathBuf, source: PathBuf },
    /// Removes a directory of the lab's own, with its contents.
    OwnDir { path: PathBuf },
    /// Detaches the loop device over this image.
    Loop { image: PathBuf },
    /// Wipes a device that is not the lab's own: its beginning, its end, and the places of superblocks.
    Content { device: PathBuf, serial: String },
    /// Removes the partitions of a disk that the kernel knows.
    Partitions { device: PathBuf, serial: String },
    /// Stops an md array that has one of these members.
    Md { device: PathBuf, members: Vec<PathBuf> },
    /// Removes a volume group, and the labels of its physical volumes.
    VolumeGroup { group: String, devices: Vec<String> },
    /// Removes a device of the device mapper.
    Mapped { name: String },
    /// Removes a zram device by its number.
    Zram { number: u32 },
    /// Restores a setting below /proc or /sys.
    Setting { path: PathBuf, value: String },
    /// Restores the MTU of a network interface.
    Mtu { device: String, namespace: Option<String>, mtu: u64 },
    /// Removes a control group of Plumb's.
    ControlGroup { path: PathBuf },
    /// Ends the NFS export of a directory.
    Export { directory: String },
    /// Runs the user's own undo command.
    Cmd { run: String, timeout_s: u64 },
    /// Runs a command of the system.
    Command { words: Vec<String> },
}

plumb_document::tagged!(Undo, "undo");

/// Whether there was anything to take down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenDown {
    /// It was taken down now.
    Now,
    /// It was gone already.
    Already,
}

/// Reason why a part is still there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UndoError {
    /// A command failed to take it down.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The write guard refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The directory is not the lab's own.
    #[error("its name does not start with `{OWN_PREFIX}`")]
    NotOwn,
    /// The path is not a kernel setting.
    #[error("it is not a kernel setting below /proc/sys or /sys, and was left alone")]
    NotSetting,
    /// The control group was not created by the lab.
    #[error("it is not a control group of Plumb's (`{OWN_PREFIX}…`), and was left alone")]
    NotOwnGroup,
    /// The directory contains a mount.
    #[error("something is mounted in it; run `umount {}` first", target.display())]
    MountedInside {
        /// Mount point.
        target: PathBuf,
    },
    /// The directory contains the image of a loop device.
    #[error("{} is in use as {}; run `losetup -d {}` first", image.display(), device.display(), device.display())]
    InUse { image: PathBuf, device: PathBuf },
    /// The kernel has not released it.
    #[error("still in use")]
    StillInUse,
}

impl UndoError {
    /// Whether it is in use by a process that may release it in a moment.
    fn is_busy(&self) -> bool {
        match self {
            UndoError::Command(CommandError::Failed { stderr, .. }) => stderr.contains("busy"),
            UndoError::Io(error) => error.kind() == io::ErrorKind::ResourceBusy,
            _ => false,
        }
    }
}

impl Undo {
    /// Whether it survives a reboot. Pure kernel state does not.
    pub(crate) fn survives_reboot(&self) -> bool {
        match self {
            Undo::MountPoint { .. }
            | Undo::OwnDir { .. }
            | Undo::Content { .. }
            | Undo::VolumeGroup { .. }
            | Undo::Cmd { .. }
            | Undo::Command { .. } => true,
            Undo::Mount { .. }
            | Undo::Loop { .. }
            | Undo::Partitions { .. }
            | Undo::Md { .. }
            | Undo::Mapped { .. }
            | Undo::Zram { .. }
            | Undo::Setting { .. }
            | Undo::Mtu { .. }
            | Undo::ControlGroup { .. }
            | Undo::Export { .. } => false,
        }
    }

    /// Whether the part still exists; `None` if that is unknown.
    pub(crate) fn exists(&self) -> Option<bool> {
        match self {
            Undo::MountPoint { path } | Undo::OwnDir { path } | Undo::ControlGroup { path } => Some(path.is_dir()),
            Undo::Mount { target, source } => mounted(target, source).ok(),
            Undo::Loop { image } => Some(!loops_over(image).ok()?.is_empty()),
            Undo::Md { device, members } => Some(is_array_of(device, members)),
            Undo::Mapped { name } => Some(is_mapped(name)),
            Undo::Zram { number } => Some(zram(*number).is_dir()),
            _ => None,
        }
    }

    /// Takes the part down.
    ///
    /// # Errors
    /// Returns the reason why it is still there.
    pub(crate) fn apply(&self) -> Result<TakenDown, UndoError> {
        match self {
            Undo::MountPoint { path } => remove_mount_point(path),
            Undo::Mount { target, source } => unmount(target, source),
            Undo::OwnDir { path } => remove_own_dir(path),
            Undo::Loop { image } => detach(image),
            Undo::Content { device, serial } => wipe(device, serial),
            Undo::Partitions { device, serial } => forget_partitions(device, serial),
            Undo::Md { device, members } => stop_array(device, members),
            Undo::VolumeGroup { group, devices } => remove_group(group, devices),
            Undo::Mapped { name } => remove_mapped(name),
            Undo::Zram { number } => remove_zram(*number),
            Undo::Setting { path, value } => restore(path, value),
            Undo::Mtu { device, namespace, mtu } => restore_mtu(device, namespace.as_deref(), *mtu),
            Undo::ControlGroup { path } => remove_group_of_processes(path),
            Undo::Export { directory } => {
                run(&Command::new("exportfs", ["-u", &nfs::client_of(directory)]))?;
                Ok(TakenDown::Now)
            }
            Undo::Cmd { run: text, timeout_s } => {
                run(&Command::new("sh", ["-c", text]).with_timeout(Duration::from_secs(*timeout_s)))?;
                Ok(TakenDown::Now)
            }
            Undo::Command { words } => {
                let Some((program, args)) = words.split_first() else { return Ok(TakenDown::Already) };
                run(&Command::new(program, args))?;
                Ok(TakenDown::Now)
            }
        }
    }
}

impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undo::MountPoint { path } => write!(f, "mount point {}", path.display()),
            Undo::Mount { target, source } => write!(f, "{} mounted at {}", source.display(), target.display()),
            Undo::OwnDir { path } => write!(f, "{} and its contents", path.display()),
            Undo::Loop { image } => write!(f, "loop device over {}", image.display()),
            Undo::Content { device, serial } => write!(f, "signatures on {} ({serial})", device.display()),
            Undo::Partitions { device, .. } => write!(f, "partitions of {}", device.display()),
            Undo::Md { device, .. } => write!(f, "array {}", device.display()),
            Undo::VolumeGroup { group, .. } => write!(f, "volume group {group}"),
            Undo::Mapped { name } => write!(f, "mapped device {name}"),
            Undo::Zram { number } => write!(f, "/dev/zram{number}"),
            Undo::Setting { path, value } => write!(f, "{}, which was {value}", path.display()),
            Undo::Mtu { device, mtu, .. } => write!(f, "MTU of {device}, which was {mtu}"),
            Undo::ControlGroup { path } => write!(f, "control group {}", path.display()),
            Undo::Export { directory } => write!(f, "NFS export of {directory}"),
            Undo::Cmd { run, .. } => write!(f, "what `{run}` undoes"),
            Undo::Command { words } => write!(f, "what `{}` undoes", words.join(" ")),
        }
    }
}

fn run(command: &Command) -> Result<String, CommandError> {
    command.run(&mut NoWitness, None)
}

/// Retries while a part is in use: a process that has just ended may hold it for a moment.
fn retry_while_in_use<T, E: Into<UndoError>>(mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, UndoError> {
    let mut last = attempt().map_err(Into::into);
    system::wait_until(PATIENCE, || {
        let is_busy = last.as_ref().err().is_some_and(UndoError::is_busy);
        if is_busy {
            last = attempt().map_err(Into::into);
        }
        !is_busy
    });
    last
}

fn remove_mount_point(path: &Path) -> Result<TakenDown, UndoError> {
    match fs::remove_dir(path) {
        Ok(()) => Ok(TakenDown::Now),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TakenDown::Already),
        // It is used for something else by now.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(TakenDown::Already),
        Err(error) => Err(error.into()),
    }
}

fn mounted(target: &Path, source: &Path) -> io::Result<bool> {
    let same = |shown: &Path| {
        shown == source
            || fs::canonicalize(shown).is_ok_and(|shown| fs::canonicalize(source).is_ok_and(|source| source == shown))
    };
    let mounts = system::mounts()?;
    let uppermost = mounts.iter().rev().find(|mount| mount.target == target);
    Ok(uppermost.is_some_and(|mount| same(&mount.source)))
}

fn unmount(target: &Path, source: &Path) -> Result<TakenDown, UndoError> {
    if !mounted(target, source).map_err(UndoError::Io)? {
        return Ok(TakenDown::Already);
    }
    retry_while_in_use(|| run(&Command::new("umount", ["--"]).arg(target.to_string_lossy())))?;
    Ok(TakenDown::Now)
}

fn remove_own_dir(path: &Path) -> Result<TakenDown, UndoError> {
    let is_own = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OWN_PREFIX));
    if !is_own {
        return Err(UndoError::NotOwn);
    }
    if !path.is_dir() {
        return Ok(TakenDown::Already);
    }
    if let Some(mount) =
        system::mounts().map_err(UndoError::Io)?.into_iter().find(|mount| mount.target.starts_with(path))
    {
        return Err(UndoError::MountedInside { target: mount.target });
    }
    if let Some(user) = system::loops().map_err(UndoError::Io)?.into_iter().find(|user| user.image.starts_with(path)) {
        return Err(UndoError::InUse { image: user.image, device: user.device });
    }
    fs::remove_dir_all(path).map_err(UndoError::Io)?;
    Ok(TakenDown::Now)
}

fn loops_over(image: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(system::loops()?.into_iter().filter(|found| found.image == image).map(|found| found.device).collect())
}

fn detach(image: &Path) -> Result<TakenDown, UndoError> {
    let devices = loops_over(image).map_err(UndoError::Io)?;
    for device in &devices {
        for (number, _) in system::partitions(device).map_err(UndoError::Io)? {
            // Partitions that the kernel was informed of outlive their device.
            run(&Command::new("partx", ["--delete", "--nr", &number.to_string()]).arg(device.to_string_lossy()))?;
        }
        run(&Command::new("losetup", ["--detach"]).arg(device.to_string_lossy()))?;
    }
    // The kernel detaches when the last user is gone.
    if !system::wait_until(PATIENCE, || loops_over(image).is_ok_and(|left| left.is_empty())) {
        return Err(UndoError::StillInUse);
    }
    Ok(if devices.is_empty() { TakenDown::Already } else { TakenDown::Now })
}

/// Whether the device at a path is still the same: after a reboot the path may belong to another.
fn is_same(device: &Path, serial: &str) -> bool {
    guard::serials(device).is_ok_and(|serials| serials.iter().any(|known| known == serial))
}

/// Zeroes the places of signatures: 4 MiB at both ends, and the copies of the btrfs superblock.
fn wipe(device: &Path, serial: &str) -> Result<TakenDown, UndoError> {
    const END: u64 = 4 << 20;
    const BTRFS_COPIES: [u64; 2] = [64 << 20, 256 << 30];
    if !is_same(device, serial) {
        return Ok(TakenDown::Already);
    }
    let guard = write_guard(Permissions { allow: vec![Allow::Serial(serial.to_owned())], ..Permissions::default() });
    let open = || guard.open_device(device, None, IoMode::Buffered);
    let mut opened = open();
    system::wait_until(PATIENCE, || {
        let is_held = matches!(opened, Err(Refusal::Held { .. }));
        if is_held {
            opened = open();
        }
        !is_held
    });
    let opened = opened?;
    let size = system::device_bytes(device).map_err(UndoError::Io)?;
    let zero = |from: u64, length: u64| -> io::Result<()> {
        let zeros = vec![0; usize::try_from(length.min(size.saturating_sub(from))).unwrap_or(0)];
        opened.file().write_all_at(&zeros, from)
    };
    let all = [(0, END), (size.saturating_sub(END), END)].into_iter().chain(BTRFS_COPIES.map(|at| (at, 65_536)));
    all.filter(|(from, _)| *from < size).try_for_each(|(from, length)| zero(from, length)).map_err(UndoError::Io)?;
    opened.file().sync_all().map_err(UndoError::Io)?;
    Ok(TakenDown::Now)
}

fn forget_partitions(device: &Path, serial: &str) -> Result<TakenDown, UndoError> {
    if !is_same(device, serial) {
        return Ok(TakenDown::Already);
    }
    let partitions = system::partitions(device).map_err(UndoError::Io)?;
    for (number, _) in &partitions {
        let number = number.to_string();
        retry_while_in_use(
            || run(&Command::new("partx", ["--delete", "--nr", &number]).arg(device.to_string_lossy())),
        )?;
    }
    Ok(if partitions.is_empty() { TakenDown::Already } else { TakenDown::Now })
}

fn is_array_of(device: &Path, members: &[PathBuf]) -> bool {
    let Ok(dir) = system::sys_dir(device) else { return false };
    let is_slave =
        |member: &PathBuf| system::kernel_name(member).is_ok_and(|name| dir.join("slaves").join(name).exists());
    members.iter().any(is_slave)
}

fn stop_array(device: &Path, members: &[PathBuf]) -> Result<TakenDown, UndoError> {
    let stood = is_array_of(device, members);
    if stood {
        retry_while_in_use(|| run(&Command::new("mdadm", ["--stop"]).arg(device.to_string_lossy())))?;
    }
    for member in members.iter().filter(|member| member.exists()) {
        // mdadm complains if there is no superblock.
        let _ = run(&Command::new("mdadm", ["--zero-superblock"]).arg(member.to_string_lossy()));
    }
    Ok(if stood { TakenDown::Now } else { TakenDown::Already })
}

fn remove_group(group: &str, devices: &[String]) -> Result<TakenDown, UndoError> {
    use lvm::{LvmCommand, lvm};
    if !lvm::is_here() {
        return Ok(TakenDown::Already);
    }
    let stood = run(&lvm(LvmCommand::Exists, group, devices)).is_ok();
    if stood {
        retry_while_in_use(|| run(&lvm(LvmCommand::RemoveGroup, group, devices)))?;
    }
    for device in devices.iter().filter(|device| Path::new(device).exists()) {
        // lvm complains if there is no label.
        let _ = run(&lvm(LvmCommand::RemoveLabel, group, std::slice::from_ref(device)));
    }
    Ok(if stood { TakenDown::Now } else { TakenDown::Already })
}

fn is_mapped(name: &str) -> bool {
    system::with_attribute("/sys/block", "dm/name").any(|(_, found)| found == name)
}

fn remove_mapped(name: &str) -> Result<TakenDown, UndoError> {
    if !is_mapped(name) {
        return Ok(TakenDown::Already);
    }
    run(&Command::new("dmsetup", ["remove", "--retry", "--noudevsync", "--noudevrules", name]))?;
    Ok(TakenDown::Now)
}

fn zram(number: u32) -> PathBuf {
    PathBuf::from(format!("/sys/block/zram{number}"))
}

fn remove_zram(number: u32) -> Result<TakenDown, UndoError> {
    if !zram(number).is_dir() {
        return Ok(TakenDown::Already);
    }
    let control = Path::new("/sys/class/zram-control/hot_remove");
    retry_while_in_use(|| write_setting(control, number.to_string()))?;
    Ok(TakenDown::Now)
}

/// Returns the current value of a setting, even if the file lists all possible ones (`none [mq-deadline]`).
pub(crate) fn setting_now(path: &Path) -> io::Result<String> {
    let text = system::text(path)?;
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen.to_owned());
    Ok(chosen.unwrap_or(text))
}

/// Kernel file systems. Source: statfs(2).
const PROC_MAGIC: u64 = 0x9fa0;
const SYSFS_MAGIC: u64 = 0x6265_6572;
const CGROUP_MAGIC: u64 = 0x0027_e0eb;
const CGROUP2_MAGIC: u64 = 0x6367_7270;

/// Returns `true` if an open file is on one of these kinds of file systems.
#[cfg(target_os = "linux")]
fn is_on(file: &fs::File, magics: [u64; 2]) -> io::Result<bool> {
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, reason = "the type differs between processors")]
    let kind = rustix::fs::fstatfs(file)?.f_type as u64;
    Ok(magics.contains(&kind))
}

#[cfg(not(target_os = "linux"))]
fn is_on(_: &fs::File, _: [u64; 2]) -> io::Result<bool> {
    Ok(false)
}

/// Returns `true` for an absolute path without `..`.
fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

/// Returns `true` for a path below the kernel's directories of settings.
fn is_below_settings(path: &Path) -> bool {
    is_plain(path) && ["/proc/sys", "/sys"].iter().any(|root| path.starts_with(root))
}

/// Returns the path of a setting with links resolved: below `/proc/sys` or `/sys`, on the kernel's own file systems.
fn kernel_setting(path: &Path) -> Result<PathBuf, UndoError> {
    let real = fs::canonicalize(path).map_err(UndoError::Io)?;
    if !is_below_settings(path) || !is_below_settings(&real) {
        return Err(UndoError::NotSetting);
    }
    let found = read_only::open(&real, OFlags::PATH | OFlags::NOFOLLOW).map_err(|error| UndoError::Io(error.into()))?;
    match is_on(&fs::File::from(found), [PROC_MAGIC, SYSFS_MAGIC]).map_err(UndoError::Io)? {
        true => Ok(real),
        false => Err(UndoError::NotSetting),
    }
}

fn restore(path: &Path, value: &str) -> Result<TakenDown, UndoError> {
    match setting_now(path) {
        _ if !is_plain(path) => Err(UndoError::NotSetting),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TakenDown::Already),
        Ok(now) if now == value => Ok(TakenDown::Already),
        _ => write_setting(kernel_setting(path)?, value).map(|()| TakenDown::Now).map_err(UndoError::Io),
    }
}

/// Restores an MTU. An interface that is gone needs nothing.
fn restore_mtu(device: &str, namespace: Option<&str>, mtu: u64) -> Result<TakenDown, UndoError> {
    match run(&ip_link::show(namespace, device)) {
        Err(_) => Ok(TakenDown::Already),
        Ok(shown) if ip_link::mtu_of(&shown) == Some(mtu) => Ok(TakenDown::Already),
        Ok(_) => {
            run(&ip_link::set(namespace, device, mtu))?;
            Ok(TakenDown::Now)
        }
    }
}

fn remove_group_of_processes(path: &Path) -> Result<TakenDown, UndoError> {
    let is_own = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OWN_PREFIX));
    if !path.is_dir() {
        return Ok(TakenDown::Already);
    }
    let group = fs::File::open(path).map_err(UndoError::Io)?;
    if !is_own || !is_plain(path) || !is_on(&group, [CGROUP_MAGIC, CGROUP2_MAGIC]).map_err(UndoError::Io)? {
        return Err(UndoError::NotOwnGroup);
    }
    let parent = path.parent().unwrap_or(Path::new("/")).join("cgroup.procs");
    for pid in system::text(&path.join("cgroup.procs")).unwrap_or_default().lines() {
        // The process may exit meanwhile.
        let _ = write_setting(&parent, pid);
    }
    retry_while_in_use(|| fs::remove_dir(path))?;
    Ok(TakenDown::Now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_labs_own_directories_are_removed_with_their_contents() {
        let dir = tempfile::tempdir().unwrap();
        let others = dir.path().join("photos");
        let own = dir.path().join(format!("{OWN_PREFIX}1"));
        for path in [&others, &own] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("file"), "").unwrap();
        }
        assert!(Undo::OwnDir { path: others.clone() }.apply().is_err());
        assert!(others.join("file").exists());
        let undo = Undo::OwnDir { path: own };
        assert_eq!((undo.apply().unwrap(), undo.apply().unwrap()), (TakenDown::Now, TakenDown::Already));
    }

    #[test]
    fn a_mount_point_in_use_is_left() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(Undo::MountPoint { path: dir.path().to_owned() }.apply().unwrap(), TakenDown::Already);
        assert!(dir.path().join("file").exists());
    }

    #[test]
    fn missing_parts_count_as_gone() {
        let nowhere = PathBuf::from("/nowhere/at/all");
        for undo in [
            Undo::MountPoint { path: nowhere.clone() },
            Undo::Mount { target: nowhere.clone(), source: nowhere.clone() },
            Undo::Loop { image: nowhere.clone() },
            Undo::Content { device: nowhere.clone(), serial: "x".to_owned() },
            Undo::Partitions { device: nowhere.clone(), serial: "x".to_owned() },
            Undo::Md { device: nowhere.clone(), members: vec![nowhere.clone()] },
            Undo::Mapped { name: "plumb-none".to_owned() },
            Undo::Zram { number: 999_999 },
            Undo::Setting { path: nowhere.clone(), value: "1".to_owned() },
            Undo::ControlGroup { path: nowhere },
        ] {
            assert_eq!(undo.apply().unwrap(), TakenDown::Already, "{undo}");
            let text = plumb_document::json::to_string(&undo).unwrap();
            assert_eq!(plumb_document::json::from_str::<Undo>(&text).unwrap(), undo);
        }
    }

    #[test]
    fn the_chosen_value_of_a_setting_is_returned() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scheduler");
        fs::write(&path, "none [mq-deadline] kyber\n").unwrap();
        assert_eq!(setting_now(&path).unwrap(), "mq-deadline");
        assert_eq!(Undo::Setting { path, value: "mq-deadline".to_owned() }.apply().unwrap(), TakenDown::Already);
    }

    // Protects files from journals: only kernel settings are written. Before, any path was.
    #[test]
    fn only_kernel_settings_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("passwd");
        fs::write(&file, "kept").unwrap();
        let through = PathBuf::from(format!("/proc/sys/../../{}", file.display()));
        let by_process = PathBuf::from(format!("/proc/self/root{}", file.display()));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/proc/sys/vm", &link).unwrap();
        for path in
            [file.clone(), through, by_process, link.join("swappiness"), "passwd".into(), "/proc/self/comm".into()]
        {
            let undo = Undo::Setting { path, value: "x".to_owned() };
            assert!(matches!(undo.apply(), Err(UndoError::NotSetting)), "{undo}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
        // Through a link within /sys.
        let queue = fs::read_dir("/sys/block").into_iter().flatten().flatten().next().map(|disk| disk.path());
        match queue.map(|disk| kernel_setting(&disk.join("queue/nr_requests"))) {
            Some(Ok(_)) => {}
            Some(Err(UndoError::Io(error))) => eprintln!("SKIPPED: no setting to open here: {error}"),
            None => eprintln!("SKIPPED: no disk here"),
            Some(Err(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn only_control_groups_of_the_labs_own_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join(format!("{OWN_PREFIX}1"));
        fs::create_dir(&own).unwrap();
        let undo = |path: PathBuf| Undo::ControlGroup { path }.apply();
        assert!(matches!(undo(own.clone()), Err(UndoError::NotOwnGroup)), "a directory is not a control group");
        assert!(own.is_dir());
        if Path::new("/sys/fs/cgroup").is_dir() {
            assert!(matches!(undo("/sys/fs/cgroup".into()), Err(UndoError::NotOwnGroup)));
        }
    }
}
