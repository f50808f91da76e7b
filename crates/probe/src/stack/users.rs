//! Finds the devices of processes' open files. Source: proc_pid_fd(5), proc_pid_cwd(5).

use super::walk::Walk;
use crate::mounts::{self, Mount};
use crate::platform;
use crate::sysroot::Sysroot;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Whether one of these processes has an open file or its working directory on one of these leaf devices. Returns
/// `true` if that cannot be determined.
pub(crate) fn may_use(sys: &Sysroot, pids: impl IntoIterator<Item = u32>, leaves: &[String]) -> bool {
    if !sys.is_real() {
        return true;
    }
    let mut places = Places { sys, leaves, mounts: OnceCell::new(), known: BTreeMap::new() };
    pids.into_iter().any(|pid| places.has_files_of(pid))
}

/// The devices in question, and cached results for others.
struct Places<'a> {
    sys: &'a Sysroot,
    leaves: &'a [String],
    /// Read only if a file system has an anonymous number.
    mounts: OnceCell<Vec<Mount>>,
    /// Whether a file system or block device is on one of the devices, by number.
    known: BTreeMap<String, bool>,
}

impl Places<'_> {
    fn has_files_of(&mut self, pid: u32) -> bool {
        let process = PathBuf::from(format!("/proc/{pid}"));
        if self.is_here(&process.join("cwd")) {
            return true;
        }
        match std::fs::read_dir(process.join("fd")) {
            Ok(open) => open.flatten().any(|one| self.is_here(&one.path())),
            // A process that has ended uses nothing.
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    /// Whether the target of a `/proc` link is on one of the devices.
    fn is_here(&mut self, link: &Path) -> bool {
        // Closed meanwhile, or not permitted; then the list of its files is not permitted either.
        let Some(number) = platform::data_number(link) else { return false };
        if let Some(known) = self.known.get(&number) {
            return *known;
        }
        let is_here = self.find(&number, link);
        self.known.insert(number, is_here);
        is_here
    }

    /// Empty if they cannot be read: then files may be anywhere.
    fn mounts(&self) -> &[Mount] {
        let read = || self.sys.read("/proc/self/mountinfo").map(|text| mounts::parse(&text)).unwrap_or_default();
        self.mounts.get_or_init(read)
    }

    fn find(&self, number: &str, link: &Path) -> bool {
        let mut walk = Walk::outline(self.sys);
        if self.sys.exists(format!("/sys/dev/block/{number}")) {
            walk.device(number);
        } else if platform::has_no_medium(link) {
            return false;
        } else {
            // An anonymous number: use the mount table, if it is mounted here.
            let is_mounted =
                platform::mount_id(link).is_some_and(|id| self.mounts().iter().any(|mount| mount.id == id));
            if !is_mounted {
                return true;
            }
            match walk.storage_under(link) {
                Ok(under) if under.filesystem.in_memory || under.filesystem.remote => return false,
                Ok(_) | Err(_) => {}
            }
        }
        let (_, leaves, _) = walk.finish();
        leaves.is_empty() || leaves.iter().any(|leaf| self.leaves.contains(leaf))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::of_path;

    // Protects: files are found on their own device only, and an unreadable process may be anywhere.
    #[test]
    fn files_are_on_their_own_devices() {
        let sys = Sysroot::real();
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let _open = std::fs::File::create(folder.path().join("open")).unwrap();
        let here = of_path(folder.path()).leaves;
        if here.is_empty() {
            eprintln!("SKIPPED: the sources are on no device of this machine");
            return;
        }
        let own = std::process::id();
        assert!(may_use(&sys, [own], &here), "{here:?}");
        assert!(!may_use(&sys, [own], &["no-such-device".to_owned()]));
        assert!(!may_use(&sys, [], &here), "no process uses nothing");
        assert!(!may_use(&sys, [u32::MAX], &here), "nor does one that has ended");
        let tree = crate::testtree::Tree::new();
        assert!(may_use(&tree.sys(), [own], &["no-such-device".to_owned()]), "another machine's processes are unknown");
    }
}
