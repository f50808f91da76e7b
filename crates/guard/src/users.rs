//! Other users of a file or device.
//!
//! A write lease is the proof. The kernel grants it only if no other process has the file open, in any way, in
//! this container or another. It is granted to the file's owner and to holders of `CAP_LEASE`, but some file
//! systems (NFS, some of FUSE) have no leases. `/proc` provides names, and for devices it is the only source. Only
//! root sees other users' processes there.

use super::not_blank::NotBlank;
use super::path_resolution::Identity;
use super::program::Program;
use crate::os;
use rustix::fs::Stat;
use rustix::io::Errno;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// Signal sent when another process tries to open a leased file. It is ignored by default, unlike the kernel's
/// default signal for leases, which ends a program.
const LEASE_SIGNAL: libc::c_int = libc::SIGURG;

/// Number of attempts, and the pause between them, to wait for a program that opens every
/// file briefly (an indexer, udev).
const ATTEMPTS_MAX: u32 = 50;
const ATTEMPT: Duration = Duration::from_millis(10);

/// Retries until a file is released, or until another result than its use is found.
pub(super) fn once_released<T>(mut attempt: impl FnMut() -> Result<T, NotBlank>) -> Result<T, NotBlank> {
    let mut attempts = 1;
    loop {
        match attempt() {
            Err(NotBlank::InUse { .. }) if attempts < ATTEMPTS_MAX => {
                attempts += 1;
                std::thread::sleep(ATTEMPT);
            }
            answer => return answer,
        }
    }
}

/// Evidence that no other process uses a file.
#[derive(Debug)]
pub(super) enum Alone<'a> {
    /// The kernel confirms it, and keeps others out until this is dropped.
    Leased(Lease<'a>),
    /// It cannot be proved here, but no other user is visible.
    Unseen,
}

/// A lease that is returned on drop.
#[derive(Debug)]
pub(super) struct Lease<'a>(BorrowedFd<'a>);

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        os::return_lease(self.0);
    }
}

impl Alone<'_> {
    /// Returns `true` if no other process has tried to open the file yet.
    pub(super) fn is_kept(&self) -> bool {
        match self {
            Alone::Leased(Lease(file)) => os::has_lease(*file),
            Alone::Unseen => true,
        }
    }
}

/// Checks that this open description of a regular file is its only one.
///
/// # Errors
/// [`NotBlank::InUse`]; [`NotBlank::Unseen`] if a file with content may be in use by processes that are not visible
/// here. An empty file passes in that case, since it has nothing to lose.
pub(super) fn alone<'a>(file: BorrowedFd<'a>, stat: &Stat, path: &Path) -> Result<Alone<'a>, NotBlank> {
    let identity = Identity::from_stat(stat);
    let why = match once_released(|| match os::take_lease(file, LEASE_SIGNAL) {
        Err(Errno::AGAIN) => Err(NotBlank::InUse { by: None }),
        outcome => Ok(outcome),
    }) {
        Ok(Ok(())) => return Ok(Alone::Leased(Lease(file))),
        Ok(Err(Errno::ACCESS | Errno::PERM)) => "only its owner and root can know who has it open",
        Ok(Err(_)) => "this file system does not show who has it open",
        Err(_) => {
            let other = Scan::for_file(identity, path).found;
            return Err(NotBlank::InUse { by: other.or_else(|| has_it_twice(identity).then(this_program)) });
        }
    };
    match Scan::for_file(identity, path).found {
        Some(program) => Err(NotBlank::InUse { by: Some(program) }),
        None if stat.st_size == 0 => Ok(Alone::Unseen),
        None => Err(NotBlank::Unseen { why }),
    }
}

/// Users of a file or device that `/proc` shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scan {
    /// First program that was found.
    pub(super) found: Option<Program>,
    /// Whether every process could be examined.
    pub(super) is_complete: bool,
}

impl Scan {
    /// Finds processes other than this one that have a regular file open or mapped.
    fn for_file(identity: Identity, path: &Path) -> Scan {
        let real = path.canonicalize().ok();
        Scan::over(|process| {
            let opened = has_open(process, |meta| Identity::from_metadata(meta) == identity)?;
            // A mapping shows the file's path; on btrfs, its device number differs.
            Ok(opened || real.as_deref().is_some_and(|real| maps(process, identity.inode, real)))
        })
    }

    /// Finds processes other than this one that have a block device or its image open.
    pub(super) fn for_device(device: u64, image: Identity) -> Scan {
        Scan::over(|process| {
            has_open(process, |meta| {
                let is_device = meta.file_type().is_block_device() && meta.rdev() == device;
                is_device || Identity::from_metadata(meta) == image
            })
        })
    }

    fn over(uses: impl Fn(&Path) -> std::io::Result<bool>) -> Scan {
        let mut scan = Scan { found: None, is_complete: true };
        let Ok(processes) = fs::read_dir("/proc") else { return Scan { is_complete: false, ..scan } };
        for process in processes.flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            if pid == std::process::id() {
                continue;
            }
            match uses(&process.path()) {
                Ok(false) => {}
                Ok(true) => {
                    scan.found = Some(program(pid, &process.path()));
                    return scan;
                }
                // The process has ended in the meantime.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound) => {}
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(_) => scan.is_complete = false,
            }
        }
        scan
    }
}

fn has_open(process: &Path, is_it: impl Fn(&fs::Metadata) -> bool) -> std::io::Result<bool> {
    let open = fs::read_dir(process.join("fd"))?;
    Ok(open.flatten().any(|one| fs::metadata(one.path()).is_ok_and(|meta| is_it(&meta))))
}

/// Returns `true` if a process maps a file. Source: proc_pid_maps(5).
fn maps(process: &Path, inode: u64, path: &Path) -> bool {
    let text = fs::read_to_string(process.join("maps")).unwrap_or_default();
    text.lines().any(|line| {
        let mut fields = line.splitn(6, ' ');
        fields.nth(4).and_then(|field| field.parse::<u64>().ok()) == Some(inode)
            && fields.next().is_some_and(|rest| Path::new(rest.trim_start()) == path)
    })
}

/// Returns `true` if this process has more than one descriptor of a file.
fn has_it_twice(identity: Identity) -> bool {
    let own = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let is_it = |meta: &fs::Metadata| Identity::from_metadata(meta) == identity;
    own.filter(|one| fs::metadata(one.path()).is_ok_and(|meta| is_it(&meta))).count() > 1
}

fn program(pid: u32, process: &Path) -> Program {
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    Program { pid, name: name.trim().to_owned() }
}

fn this_program() -> Program {
    program(std::process::id(), Path::new("/proc/self"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::process::{Child, Command, Stdio};

    fn opened(path: &Path) -> File {
        File::options().read(true).write(true).open(path).unwrap()
    }

    fn ask(file: &File, path: &Path) -> Result<bool, NotBlank> {
        let stat = rustix::fs::fstat(file).unwrap();
        alone(file.as_fd(), &stat, path).map(|alone| alone.is_kept())
    }

    struct Holder(Child);

    impl Holder {
        fn spawn(stdin: File) -> Holder {
            Holder(Command::new("sleep").arg("60").stdin(Stdio::from(stdin)).spawn().unwrap())
        }
    }

    impl Drop for Holder {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    // Protects files that another program is about to fill: the name tells the user which program to end.
    #[test]
    fn a_file_that_another_program_has_open_is_in_use_and_its_user_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "content").unwrap();
        assert!(ask(&opened(&path), &path).unwrap());
        for holds in [File::open(&path).unwrap(), opened(&path)] {
            let holder = Holder::spawn(holds);
            let file = opened(&path);
            let Err(NotBlank::InUse { by: Some(program) }) = ask(&file, &path) else { panic!() };
            assert_eq!((program.pid, program.name.as_str()), (holder.0.id(), "sleep"));
        }
        assert!(ask(&opened(&path), &path).unwrap(), "released");
    }

    #[test]
    fn a_file_that_this_process_has_open_is_in_use_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "content").unwrap();
        let _input = File::open(&path).unwrap();
        let why = ask(&opened(&path), &path).unwrap_err();
        assert!(matches!(&why, NotBlank::InUse { by: Some(program) } if program.pid == std::process::id()), "{why:?}");
        assert!(why.to_string().contains("this run itself"), "{why}");
    }

    // Protects a program that opens a file during the check: the lease reveals it.
    #[test]
    fn an_open_during_the_lease_is_noticed_and_succeeds_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "content").unwrap();
        let file = opened(&path);
        let stat = rustix::fs::fstat(&file).unwrap();
        let alone = alone(file.as_fd(), &stat, &path).unwrap();
        assert!(alone.is_kept());
        let mut reader = Command::new("cat").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
        for _ in 0..1000 {
            if !alone.is_kept() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!alone.is_kept(), "the lease was broken");
        drop(alone);
        assert!(reader.wait().unwrap().success());
    }

    #[test]
    fn a_mapped_file_is_found_by_its_path() {
        let text = "/proc/self";
        let exe = fs::read_link("/proc/self/exe").unwrap();
        let inode = fs::metadata(&exe).unwrap().ino();
        assert!(maps(Path::new(text), inode, &exe));
        assert!(!maps(Path::new(text), inode + 1, &exe));
    }
}
