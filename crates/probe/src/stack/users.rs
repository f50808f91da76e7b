//! On which devices processes have files. Source: proc_pid_fd(5), proc_pid_cwd(5).

use super::walk::Walk;
use crate::mounts::{self, Mount};
use crate::platform;
use crate::sysroot::Sysroot;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Whether one of these processes has a file open on one of these leaf devices, or is in a directory there. Where that
/// cannot be seen, it may be so: `true`.
pub(crate) fn may_use(sys: &Sysroot, pids: impl IntoIterator<Item = u32>, leaves: &[String]) -> bool {
    if !sys.is_real() {
        return true;
    }
    let mut places = Places { sys, leaves, mounts: OnceCell::new(), known: BTreeMap::new() };
    pids.into_iter().any(|pid| places.has_files_of(pid))
}

/// The devices in question, and what was found out about others.
struct Places<'a> {
    sys: &'a Sysroot,
    leaves: &'a [String],
    /// Read where a file system has no number of its own.
    mounts: OnceCell<Vec<Mount>>,
    /// By number, of file systems and of block devices, whether they lie on one of the devices.
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
            // One that has ended uses nothing.
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    }

    /// Whether what a link of `/proc` leads to lies on one of the devices.
    fn is_here(&mut self, link: &Path) -> bool {
        // Closed meanwhile, or closed to this user; then so is the list of its files.
        let Some(number) = platform::data_number(link) else { return false };
        if let Some(known) = self.known.get(&number) {
            return *known;
        }
        let is_here = self.find(&number, link);
        self.known.insert(number, is_here);
        is_here
    }

    /// None where they cannot be read: then nothing is known to be mounted, and files may be anywhere.
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
            // An anonymous number: what is mounted says where it lies, if it is mounted here.
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

    // Protects: who has files on a device is found there, and not on another; who cannot be looked at may be anywhere.
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
        assert!(!may_use(&sys, [], &here), "nobody uses nothing");
        assert!(!may_use(&sys, [u32::MAX], &here), "nor does one that has ended");
        let tree = crate::testtree::Tree::new();
        assert!(may_use(&tree.sys(), [own], &["no-such-device".to_owned()]), "of another machine nothing is known");
    }
}
