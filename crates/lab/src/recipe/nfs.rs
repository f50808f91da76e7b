//! Exports a directory of this host by NFS to itself and mounts it. Source: exportfs(8), nfs(5).

use super::mount;
use crate::command::{self, Command};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Nfs;
use crate::tool::nfs::client_of;
use crate::undo::Undo;
use std::fs;
use std::path::{Path, PathBuf};

/// Default export options: the protocol is under test, not access control.
const EXPORT_OPTIONS: [&str; 4] = ["rw", "no_root_squash", "sync", "insecure"];

pub(super) fn build(step: &Nfs, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    available()?;
    let directory = site.resolve_one("directory", &step.directory)?;
    let directory = fs::canonicalize(&directory).map_err(Cause::io(format!("resolve {}", directory.display())))?;
    site.record_undo(Undo::Export { directory: directory.to_string_lossy().into_owned() })?;
    site.run(&export(step, &directory))?;
    let source = PathBuf::from(client_of(&directory.to_string_lossy()));
    let request =
        mount::Request { source: &source, fs: Some("nfs"), target: &step.mount, options: &step.mount_options };
    mount::mount(&request, site)
}

fn export(step: &Nfs, directory: &Path) -> Command {
    let options = match step.export_options.as_slice() {
        [] => EXPORT_OPTIONS.join(","),
        chosen => chosen.join(","),
    };
    Command::new("exportfs", ["-o", &options]).arg(client_of(&directory.to_string_lossy()))
}

/// Checks that this host serves NFS. Starting a server is left to its administrator.
fn available() -> Result<(), Cause> {
    if command::find("exportfs").is_none() || command::find("mount.nfs").is_none() {
        let text = "this host has no NFS server or client; on Debian: apt install nfs-kernel-server nfs-common";
        return Err(Cause::Unavailable(text.to_owned()));
    }
    // nfsd(7) is mounted if the server runs, and reports the number of threads.
    let threads = fs::read_to_string("/proc/fs/nfsd/threads").unwrap_or_default();
    if threads.trim().parse::<u32>().unwrap_or(0) == 0 {
        let text = "no NFS server runs on this host (/proc/fs/nfsd/threads is missing or 0); start it: systemctl start \
                    nfs-server; a kernel without nfsd cannot";
        return Err(Cause::Unavailable(text.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_exported_to_this_host_only() {
        let step: Nfs = plumb_document::json::from_str(r#"{"directory": "/srv/a b", "mount": "/m"}"#).unwrap();
        let line = export(&step, Path::new("/srv/a b")).to_string();
        assert_eq!(line, "exportfs -o rw,no_root_squash,sync,insecure '127.0.0.1:/srv/a b'");
        let step: Nfs =
            plumb_document::json::from_str(r#"{"directory": "/s", "mount": "/m", "export-options": ["rw", "async"]}"#)
                .unwrap();
        assert_eq!(export(&step, Path::new("/s")).to_string(), "exportfs -o rw,async 127.0.0.1:/s");
    }
}
