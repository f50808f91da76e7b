//! A user-space file system over a directory, with one defect that can be enabled for the cases to
//! find. It implements the kernel's protocol itself, so that tests need no library. Source of the
//! layouts: linux/fuse.h, which is ABI.

mod calls;
pub(super) mod faults;

use crate::sys::{self, Stat, V, nr};
use faults::{Faults, WrongAnswer};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A defect of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    Nothing,
    ChmodIgnored,
    ChownIgnored,
    ModeLosesSpecialBits,
    LinkCountOne,
    LinkIsCopy,
    NewFilesAreRoots,
    SetgidIgnored,
    FifoRefused,
    SymlinkCut,
    UnlinkKeeps,
    UnlinkedIsDead,
    UnlinkedHasLink,
    RmdirTakesAll,
    RmdirSaysBusy,
    RenameKeepsOld,
    RenameRefusesTarget,
    RenameWithGap,
    RenameChangesInode,
    ExchangeReplaces,
    WriteLosesByte,
    WriteAtZero,
    TruncateIgnored,
    TruncateLeavesGarbage,
    SizeRounded,
    ReadStopsEarly,
    ChangeTimeFrozen,
    ModificationTimeFrozen,
    DirectoryTimesFrozen,
    ReadChangesTimes,
    OmitIgnored,
    WholeSeconds,
    WholeMicroseconds,
    DeviceNumberLost,
    Times32Bit,
    NoTimesBefore1970,
    ReaddirLosesEntry,
    ReaddirRepeats,
    NamesIgnoreCase,
    NamesMustBeText,
    NamesOf100,
    LongNameIsMissing,
    SameInode,
    XattrForgets,
    XattrIgnoresFlags,
    XattrListsNothing,
    FallocateKeepsSize,
    PunchKeepsData,
    SeekSkipsData,
    CopyRangeShifts,
    FsyncFails,
    ModeOfOpenMatters,
    LocksNotKept,
    FlocksNotKept,
    ErrorIsIo,
    Hangs,
    NoPermissionChecks,
}

/// A node: an O_PATH descriptor, the number of lookups by the kernel, whether its last name was removed, and
/// where it was first found.
struct Node {
    fd: i32,
    lookups: u64,
    removed: bool,
    first: Stat,
    name: Vec<u8>,
    parent: u64,
}

struct Server {
    device: i32,
    nodes: HashMap<u64, Node>,
    by_inode: HashMap<(u64, u64), u64>,
    next: u64,
    defect: Arc<AtomicUsize>,
    list: &'static [Defect],
    pending: Option<DelayedRename>,
    faults: Option<Arc<Mutex<Faults>>>,
    /// User of the current request.
    uid: u32,
}

/// A rename that is made after some more requests were answered.
struct DelayedRename {
    from: i32,
    old: Vec<u8>,
    to: i32,
    new: Vec<u8>,
    requests: u32,
}

struct Request<'a> {
    opcode: u32,
    unique: u64,
    node: u64,
    uid: u32,
    gid: u32,
    body: &'a [u8],
}

impl Request<'_> {
    fn u32(&self, at: usize) -> u32 {
        self.body.get(at..at + 4).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().unwrap()))
    }

    fn u64(&self, at: usize) -> u64 {
        self.body.get(at..at + 8).map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().unwrap()))
    }

    /// Returns the strings from an offset on.
    fn names(&self, at: usize) -> Vec<&[u8]> {
        self.body.get(at..).unwrap_or_default().split(|byte| *byte == 0).collect()
    }
}

const BUFFER: usize = 1 << 18;
const EMPTY_PATH: V<'static> = V::N(0x1000);
const NOFOLLOW_PATH: V<'static> = V::N((libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC) as i64);

/// Mounts the file system `source` on `at`. `list[defect]` is the defect.
pub(super) fn serve(
    source: &Path,
    at: &Path,
    defect: Arc<AtomicUsize>,
    list: &'static [Defect],
    options: &str,
    faults: Option<Arc<Mutex<Faults>>>,
) -> Result<(), i32> {
    let read_write = V::N(i64::from(libc::O_RDWR | libc::O_CLOEXEC));
    let device = sys::call(nr!(openat), &[sys::AT, V::P("/dev/fuse"), read_write])? as i32;
    let root = sys::call(nr!(openat), &[sys::AT, V::P(source.to_str().unwrap()), NOFOLLOW_PATH])? as i32;
    let options = format!("fd={device},rootmode=40000,user_id=0,group_id=0,allow_other{options}");
    let place = V::P(at.to_str().unwrap());
    sys::call(nr!(mount), &[V::P("broken"), place, V::P("fuse"), V::N(0), V::P(&options)])?;
    let first = sys::statx(V::Fd(root), V::P(""), 0x1000)?;
    let nodes = HashMap::from([(1, Node { fd: root, lookups: 1, removed: false, first, name: Vec::new(), parent: 0 })]);
    let by_inode = HashMap::from([((first.dev, first.ino), 1)]);
    let mut server = Server { device, nodes, by_inode, next: 2, defect, list, pending: None, faults, uid: 0 };
    std::thread::spawn(move || server.run());
    Ok(())
}

impl Server {
    fn defect(&self) -> Defect {
        self.list[self.defect.load(Ordering::Relaxed)]
    }

    fn is(&self, defect: Defect) -> bool {
        self.defect() == defect
    }

    fn run(&mut self) {
        let mut bytes = vec![0u8; BUFFER + 4096];
        loop {
            let length = V::N(bytes.len() as i64);
            let read = sys::call(nr!(read), &[V::Fd(self.device), V::W(sys::cells(&mut bytes)), length]);
            let length = match read {
                Ok(length) => length as usize,
                Err(libc::EINTR | libc::EAGAIN | libc::ENOENT) => continue,
                Err(_) => return,
            };
            let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
            let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
            let request = Request {
                opcode: word(4),
                unique: long(8),
                node: long(16),
                uid: word(24),
                gid: word(28),
                body: &bytes[40..length],
            };
            let (unique, opcode) = (request.unique, request.opcode);
            // FORGET, INTERRUPT and BATCH_FORGET have no answer.
            let pending = self.pending.take();
            self.uid = request.uid;
            let answer = self.answer_or_fail(&request);
            match pending {
                Some(DelayedRename { from, old, to, new, requests: 0 }) => {
                    let args = [V::Fd(from), V::S(&old), V::Fd(to), V::S(&new), V::N(0)];
                    let _ = sys::call(nr!(renameat2), &args);
                }
                // A missing name is looked up twice.
                Some(later) => self.pending = Some(DelayedRename { requests: later.requests - 1, ..later }),
                None => {}
            }
            if matches!(opcode, 2 | 36 | 42) || self.is(Defect::Hangs) && opcode == 5 {
                continue;
            }
            let (error, body) = match answer {
                Ok(body) => (0, body),
                Err(_) if self.is(Defect::ErrorIsIo) && matches!(opcode, 11 | 12 | 45) => (-libc::EIO, Vec::new()),
                Err(error) => (-error, Vec::new()),
            };
            let mut out = (16 + body.len() as u32).to_ne_bytes().to_vec();
            out.extend(error.to_ne_bytes());
            out.extend(unique.to_ne_bytes());
            out.extend(body);
            let _ = sys::call(nr!(write), &[V::Fd(self.device), V::B(&out), V::N(out.len() as i64)]);
        }
    }

    /// Returns the right answer, or the one of the running case's fault.
    fn answer_or_fail(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let Some(faults) = self.faults.clone() else { return self.answer(request) };
        let name = match request.opcode {
            1 => request.names(0)[0],
            9 => request.names(8)[0],
            _ => &[],
        };
        let lock = || faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let instead = lock().before(request.opcode, name);
        let answer = match instead {
            WrongAnswer::Nothing(answer) => answer,
            WrongAnswer::Not(errno) => {
                self.answer(request).map_err(|error| if error == errno { libc::EIO } else { error })
            }
            WrongAnswer::Right => self.answer(request),
        };
        lock().after(request.opcode, name, &answer);
        answer
    }

    fn fd(&self, node: u64) -> Result<i32, i32> {
        self.nodes.get(&node).map(|node| node.fd).ok_or(libc::ESTALE)
    }

    /// Returns a path that reaches a node regardless of its name.
    fn path(&self, node: u64) -> Result<String, i32> {
        Ok(format!("/proc/self/fd/{}", self.fd(node)?))
    }

    fn stat(&self, node: u64) -> Result<Stat, i32> {
        sys::statx(V::Fd(self.fd(node)?), V::P(""), 0x1000)
    }

    fn attributes(&self, node: u64) -> Result<Vec<u8>, i32> {
        let mut stat = self.stat(node)?;
        let known = &self.nodes[&node];
        let is_directory = stat.mode & libc::S_IFMT == libc::S_IFDIR;
        match self.defect() {
            Defect::LinkCountOne if !is_directory && stat.nlink > 0 => stat.nlink = 1,
            Defect::UnlinkedHasLink if stat.nlink == 0 => stat.nlink = 1,
            Defect::SizeRounded => stat.size = stat.size.next_multiple_of(512),
            Defect::ChangeTimeFrozen => stat.ctime = known.first.ctime,
            Defect::ModificationTimeFrozen if !is_directory => stat.mtime = known.first.mtime,
            Defect::DirectoryTimesFrozen if is_directory => {
                (stat.mtime, stat.ctime) = (known.first.mtime, known.first.ctime);
            }
            Defect::SameInode => stat.ino = 7,
            Defect::ModeLosesSpecialBits => stat.mode &= !0o6000,
            _ => {}
        }
        if self.is(Defect::WholeSeconds) {
            (stat.atime.1, stat.mtime.1) = (0, 0);
        }
        if self.is(Defect::WholeMicroseconds) {
            (stat.atime.1, stat.mtime.1) = (stat.atime.1 / 1000 * 1000, stat.mtime.1 / 1000 * 1000);
        }
        if self.is(Defect::DeviceNumberLost) {
            stat.rdev = (0, 0);
        }
        if let Some(faults) = &self.faults {
            let parent = self.nodes.get(&known.parent);
            let owner =
                |fd: i32, name: &str, flags: i64| sys::statx(V::Fd(fd), V::P(name), flags).ok().map(|stat| stat.uid);
            let owners = match (known.name.as_slice(), parent) {
                (b"d", _) => owner(known.fd, "f", 0x100).map(|file| [stat.uid, file]),
                (b"f", Some(parent)) if parent.name == b"d" => owner(parent.fd, "", 0x1000).map(|of| [of, stat.uid]),
                _ => None,
            };
            let parent = parent.map_or(&[][..], |parent| &parent.name);
            let mut faults = faults.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            faults.attributes(&mut stat, self.uid, &known.name, parent, owners);
        }
        let mut out = Vec::new();
        for word in [stat.ino, stat.size, stat.blocks, stat.atime.0 as u64, stat.mtime.0 as u64, stat.ctime.0 as u64] {
            out.extend(word.to_ne_bytes());
        }
        // Like `new_encode_dev` of linux/kdev_t.h.
        let (major, minor) = stat.rdev;
        let rdev = minor & 0xff | major << 8 | (minor & !0xff) << 12;
        for word in
            [stat.atime.1, stat.mtime.1, stat.ctime.1, stat.mode, stat.nlink, stat.uid, stat.gid, rdev, stat.blksize, 0]
        {
            out.extend(word.to_ne_bytes());
        }
        Ok(out)
    }

    /// Adds a validity of zero, so that the kernel asks each time.
    fn attributes_out(&self, node: u64) -> Result<Vec<u8>, i32> {
        let mut out = vec![0; 16];
        out.extend(self.attributes(node)?);
        Ok(out)
    }

    fn entry(&mut self, parent: u64, name: &[u8]) -> Result<Vec<u8>, i32> {
        let parent_node = parent;
        let parent = self.fd(parent)?;
        let name = self.real_name(parent, name);
        let fd = sys::call(nr!(openat), &[V::Fd(parent), V::S(&name), NOFOLLOW_PATH])? as i32;
        let first = sys::statx(V::Fd(fd), V::P(""), 0x1000)?;
        let node = match self.by_inode.get(&(first.dev, first.ino)) {
            Some(node) => {
                sys::close(fd);
                *node
            }
            None => {
                let node = self.next;
                self.next += 1;
                self.nodes.insert(node, Node { fd, lookups: 0, removed: false, first, name, parent: parent_node });
                self.by_inode.insert((first.dev, first.ino), node);
                node
            }
        };
        if let Some(known) = self.nodes.get_mut(&node) {
            known.lookups += 1;
        }
        let mut out = node.to_ne_bytes().to_vec();
        out.extend([0; 32]);
        out.extend(self.attributes(node)?);
        Ok(out)
    }

    /// Returns the real name for a name in the directory.
    fn real_name(&self, _parent: i32, name: &[u8]) -> Vec<u8> {
        if self.is(Defect::NamesIgnoreCase) { name.to_ascii_lowercase() } else { name.to_vec() }
    }

    fn forget(&mut self, node: u64, count: u64) {
        let Some(known) = self.nodes.get_mut(&node) else { return };
        known.lookups = known.lookups.saturating_sub(count);
        if known.lookups == 0 && node != 1 {
            sys::close(known.fd);
            self.nodes.remove(&node);
            self.by_inode.retain(|_, other| *other != node);
        }
    }

    /// Gives a new file to the requesting user. In a directory with S_ISGID its group is the directory's.
    fn own(&mut self, request: &Request<'_>, name: &[u8], mode: Option<u32>) -> Result<Vec<u8>, i32> {
        let parent = self.stat(request.node)?;
        let fd = self.fd(request.node)?;
        let name = self.real_name(fd, name);
        let is_setgid = parent.mode & 0o2000 != 0;
        let gid = if is_setgid && !self.is(Defect::SetgidIgnored) { parent.gid } else { request.gid };
        let (uid, gid) = if self.is(Defect::NewFilesAreRoots) { (0, 0) } else { (request.uid, gid) };
        let owner = [V::Fd(fd), V::S(&name), V::N(i64::from(uid)), V::N(i64::from(gid)), V::N(0x100)];
        sys::call(nr!(fchownat), &owner)?;
        if let Some(mode) = mode {
            sys::call(nr!(fchmodat), &[V::Fd(fd), V::S(&name), V::O(mode & 0o7777)])?;
        }
        self.entry(request.node, &name)
    }

    fn check_name(&self, name: &[u8]) -> Result<(), i32> {
        match self.defect() {
            Defect::NamesMustBeText if std::str::from_utf8(name).is_err() => Err(libc::EILSEQ),
            Defect::NamesOf100 if name.len() > 100 => Err(libc::ENAMETOOLONG),
            Defect::LongNameIsMissing if name.len() > 250 => Err(libc::ENOENT),
            _ => Ok(()),
        }
    }

    fn answer(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let none = |_: i64| Vec::new();
        let node = request.node;
        match request.opcode {
            26 => Ok(self.init(request)),
            2 => {
                self.forget(node, request.u64(0));
                Ok(Vec::new())
            }
            42 => {
                for at in 0..request.u32(0) as usize {
                    self.forget(request.u64(8 + 16 * at), request.u64(16 + 16 * at));
                }
                Ok(Vec::new())
            }
            36 => Ok(Vec::new()),
            1 => {
                let name = request.names(0)[0];
                self.check_name(name)?;
                self.entry(node, name)
            }
            3 => self.attributes_out(node),
            4 => self.set_attributes(request),
            5 => {
                let mut bytes = vec![0u8; 4096];
                let fd = V::Fd(self.fd(node)?);
                let length = sys::call(nr!(readlinkat), &[fd, V::P(""), V::W(sys::cells(&mut bytes)), V::N(4096)])?;
                bytes.truncate(length as usize);
                Ok(bytes)
            }
            6 | 8 | 9 => self.make(request),
            10 | 11 => self.remove(request),
            12 => self.rename(request, request.u64(0), 0, 8),
            45 => self.rename(request, request.u64(0), request.u32(8), 16),
            13 => self.link(request),
            14 => self.open(request),
            35 => self.create(request),
            15 => self.read(request),
            16 => self.write(request),
            17 => {
                let mut bytes = [0u8; 120];
                let path = self.path(node)?;
                sys::call(nr!(statfs), &[V::P(&path), V::W(sys::cells(&mut bytes))])?;
                let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
                let mut out = Vec::new();
                for at in [16, 24, 32, 40, 48] {
                    out.extend(long(at).to_ne_bytes());
                }
                for word in [4096u32, 255, 4096, 0] {
                    out.extend(word.to_ne_bytes());
                }
                out.resize(80, 0);
                Ok(out)
            }
            18 | 29 => {
                sys::close(request.u64(0) as i32);
                Ok(Vec::new())
            }
            20 | 30 if self.is(Defect::FsyncFails) => Err(libc::EIO),
            20 | 30 => sys::call(nr!(fsync), &[V::Fd(request.u64(0) as i32)]).map(none),
            21 => self.set_xattr(request),
            22 | 23 => self.get_xattr(request),
            24 => {
                let path = self.path(node)?;
                sys::call(nr!(removexattr), &[V::P(&path), V::S(request.names(0)[0])]).map(none)
            }
            25 => Ok(Vec::new()),
            27 => {
                let path = self.path(node)?;
                let flags = V::N(i64::from(libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC));
                let fd = sys::call(nr!(openat), &[sys::AT, V::P(&path), flags])?;
                Ok(opened(fd))
            }
            28 => self.read_directory(request),
            31 if self.is(Defect::LocksNotKept) => {
                let mut out = [0u8; 24].to_vec();
                out[16..20].copy_from_slice(&(libc::F_UNLCK as u32).to_ne_bytes());
                Ok(out)
            }
            32 | 33 if self.is(Defect::LocksNotKept) || self.is(Defect::FlocksNotKept) => Ok(Vec::new()),
            39 => self.control(request),
            43 => self.fallocate(request),
            46 => {
                let (fd, offset, whence) = (request.u64(0) as i32, request.u64(8) as i64, i64::from(request.u32(16)));
                let mut at = sys::call(nr!(lseek), &[V::Fd(fd), V::N(offset), V::N(whence)])?;
                if self.is(Defect::SeekSkipsData) && whence == i64::from(libc::SEEK_DATA) {
                    at += 4096;
                }
                Ok(at.to_ne_bytes().to_vec())
            }
            47 => self.copy_range(request),
            _ => Err(libc::ENOSYS),
        }
    }

    fn init(&self, request: &Request<'_>) -> Vec<u8> {
        // BIG_WRITES, IOCTL_DIR and MAX_PAGES; locks come to the server if it is to lose them.
        let mut flags = 1 << 5 | 1 << 11 | 1 << 22;
        flags |= if self.is(Defect::LocksNotKept) { 1 << 1 } else { 0 };
        flags |= if self.is(Defect::FlocksNotKept) { 1 << 10 } else { 0 };
        let mut out = Vec::new();
        for word in [7u32, 31, request.u32(8), flags & request.u32(12), 16 | 12 << 16, 1 << 17, 1, 32] {
            out.extend(word.to_ne_bytes());
        }
        out.resize(64, 0);
        out
    }
}

/// Encodes `struct fuse_open_out`: reads and writes come to the server, bypassing the page cache.
fn opened(fd: i64) -> Vec<u8> {
    let mut out = fd.to_ne_bytes().to_vec();
    out.extend([0; 8]);
    out
}

/// Unmounts it, even if a request hangs.
pub(super) fn stop(at: &Path) {
    let _ = sys::call(nr!(umount2), &[V::P(at.to_str().unwrap()), V::N(3)]);
}
