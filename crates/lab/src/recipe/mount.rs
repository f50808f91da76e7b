//! Mounts and their mount points.

use crate::command::{Command, CommandError};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Mount;
use crate::system;
use crate::undo::Undo;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(super) fn build(step: &Mount, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let device = site.claim_one("device", &step.device)?;
    let request =
        Request { source: &device, fs: step.fs.as_deref(), target: &step.mount, options: &step.mount_options };
    mount(&request, site)
}

/// Arguments of a mount.
pub(super) struct Request<'a> {
    /// A device, or a pseudo-device name such as `overlay`.
    pub(super) source: &'a Path,
    /// File system type; detected if `None`.
    pub(super) fs: Option<&'a str>,
    /// Mount point as the study writes it.
    pub(super) target: &'a str,
    /// Each entry may hold several options, separated by commas.
    pub(super) options: &'a [String],
}

/// Mounts a file system. Creates the mount point if it is missing.
pub(super) fn mount(request: &Request<'_>, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let target = mount_point(request.target, site)?;
    // Record the name that the kernel will show: a link may point to another device after a reboot.
    let source = match system::device_number(request.source) {
        Some(_) => {
            fs::canonicalize(request.source).map_err(Cause::io(format!("resolve {}", request.source.display())))?
        }
        None => request.source.to_owned(),
    };
    site.record_undo(Undo::Mount { target: target.clone(), source: source.clone() })?;
    let command = command(&Request { source: &source, ..*request }, &target);
    site.run(&command).map_err(|cause| explain(cause, request.fs))?;
    Ok(vec![target])
}

fn command(request: &Request<'_>, target: &Path) -> Command {
    let mut command = Command::new("mount", [""; 0]);
    if let Some(fs) = request.fs {
        command = command.args(["-t", fs]);
    }
    if !request.options.is_empty() {
        command = command.arg("-o").arg(request.options.join(","));
    }
    command.arg("--").arg(request.source.to_string_lossy()).arg(target.to_string_lossy())
}

/// Returns the mount point, created if missing. Never one whose contents would be hidden.
fn mount_point(text: &str, site: &mut Site<'_>) -> Result<PathBuf, Cause> {
    let target = check_mount_point(text)?;
    site.check_path("mount", &target)?;
    let mut missing: Vec<&Path> = target.ancestors().take_while(|path| !path.exists()).collect();
    missing.reverse();
    for path in &missing {
        site.record_undo(Undo::MountPoint { path: path.to_path_buf() })?;
        make_directory(path).map_err(Cause::io(format!("make {}", path.display())))?;
    }
    let found = fs::canonicalize(&target).map_err(Cause::io(format!("resolve {}", target.display())))?;
    if found != target {
        return Err(Cause::field("mount", text, format!("it became a link to {} meanwhile", found.display())));
    }
    Ok(target)
}

/// Creates a directory, unless another host has just created it: hosts that build at once may share what is above it.
fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && fs::symlink_metadata(path)?.is_dir() => Ok(()),
        made => made,
    }
}

/// Returns the mount point with links resolved, and checks that the mount would hide nothing.
pub(crate) fn check_mount_point(text: &str) -> Result<PathBuf, Cause> {
    let field = |expected: String| Cause::field("mount", text, expected);
    if !text.starts_with('/') {
        return Err(field("write an absolute path".to_owned()));
    }
    let target = system::resolved(Path::new(text)).map_err(Cause::io(format!("resolve {text}")))?;
    if !target.exists() {
        return Ok(target);
    }
    let mounts = system::mounts().map_err(Cause::io("read the table of mounts"))?;
    if let Some(mount) = mounts.iter().rev().find(|mount| mount.target == target) {
        let (source, target) = (mount.source.display(), target.display());
        return Err(field(format!(
            "{source} is mounted there already; `umount {target}` first, or name another directory"
        )));
    }
    let mut entries = fs::read_dir(&target).map_err(Cause::io(format!("read {}", target.display())))?;
    if let Some(Ok(entry)) = entries.find(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name() != "lost+found")) {
        let found = entry.file_name();
        return Err(field(format!(
            "the directory is not empty (`{}`): a mount would hide what is in it; name an empty one, or one that is not there",
            found.display()
        )));
    }
    Ok(target)
}

/// Explains an error with the kernel's missing file system.
fn explain(cause: Cause, fs: Option<&str>) -> Cause {
    let Cause::Command(CommandError::Failed { command, stderr, .. }) = &cause else { return cause };
    let release = system::text(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    match fs {
        Some(fs) if stderr.contains("unknown filesystem type") => Cause::Unavailable(format!(
            "this kernel ({release}) cannot mount {fs}: it has neither the file system nor a module for it (`{command}`: {}); \
             use another kernel, as a virtual machine's",
            stderr.trim()
        )),
        _ => cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects hosts that build the same system at once below a directory that they share: one creates the mount point, and
    // the other uses it. A link or a file in its place is refused.
    #[test]
    fn a_mount_point_that_another_host_made_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let point = dir.path().join("mnt");
        for _ in 0..2 {
            make_directory(&point).unwrap();
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&point, &link).unwrap();
        assert_eq!(make_directory(&link).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn options_of_several_entries_are_one_list() {
        let options = ["noatime".to_owned(), "data=journal,barrier=0".to_owned()];
        let request = Request { source: Path::new("/dev/md0"), fs: Some("ext4"), target: "", options: &options };
        let line = command(&request, Path::new("/mnt/a b")).to_string();
        assert_eq!(line, "mount -t ext4 -o noatime,data=journal,barrier=0 -- /dev/md0 '/mnt/a b'");
        let request = Request { fs: None, options: &[], ..request };
        assert_eq!(command(&request, Path::new("/mnt")).to_string(), "mount -- /dev/md0 /mnt");
    }

    #[test]
    fn a_kernel_that_lacks_a_file_system_is_named() {
        let failed = |stderr: &str| {
            Cause::Command(CommandError::Failed {
                command: "mount -t f2fs".to_owned(),
                status: "exit status: 32".to_owned(),
                stderr: stderr.to_owned(),
            })
        };
        let text = explain(failed("mount: /m: unknown filesystem type 'f2fs'."), Some("f2fs")).to_string();
        assert!(text.contains("cannot mount f2fs"), "{text}");
        let text = explain(failed("mount: /m: wrong fs type"), Some("f2fs")).to_string();
        assert!(text.contains("ended with"), "{text}");
    }
}
