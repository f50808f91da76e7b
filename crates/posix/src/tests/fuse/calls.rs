//! The file system's handling of each request that changes or reads something.

use super::{Defect, DelayedRename, EMPTY_PATH, Request, Server, opened};
use crate::sys::{self, V, nr};

impl Server {
    pub(super) fn set_attributes(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let valid = request.u32(0);
        let fd = V::Fd(self.fd(request.node)?);
        let path = self.path(request.node)?;
        if valid & 6 != 0 && !self.is(Defect::ChownIgnored) {
            let id = |bit: u32, at: usize| if valid & bit != 0 { V::N(i64::from(request.u32(at))) } else { V::N(-1) };
            sys::call(nr!(fchownat), &[fd, V::P(""), id(2, 76), id(4, 80), EMPTY_PATH])?;
        }
        if valid & 1 != 0 && !self.is(Defect::ChmodIgnored) {
            sys::call(nr!(fchmodat), &[sys::AT, V::P(&path), V::O(request.u32(68) & 0o7777)])?;
        }
        if valid & 8 != 0 && !self.is(Defect::TruncateIgnored) {
            let size = request.u64(16);
            let old = self.stat(request.node)?.size;
            sys::call(nr!(truncate), &[V::P(&path), V::N(size as i64)])?;
            if self.is(Defect::TruncateLeavesGarbage) && size > old {
                let file = sys::call(nr!(openat), &[sys::AT, V::P(&path), V::N(i64::from(libc::O_WRONLY))])?;
                let garbage = vec![b'#'; (size - old).min(4096) as usize];
                let args = [V::Fd(file as i32), V::B(&garbage), V::N(garbage.len() as i64), V::N(old as i64)];
                let _ = sys::call(nr!(pwrite64), &args);
                sys::close(file as i32);
            }
        }
        if valid & 0x30 != 0 {
            const NOW: i64 = (1 << 30) - 1;
            const OMIT: i64 = (1 << 30) - 2;
            let omit = if self.is(Defect::OmitIgnored) { NOW } else { OMIT };
            let time = |bit: u32, now: u32, seconds: usize, nanos: usize| match valid {
                valid if valid & bit == 0 => (0, omit),
                valid if valid & now != 0 => (0, NOW),
                _ => (request.u64(seconds) as i64, i64::from(request.u32(nanos))),
            };
            let mut times = [time(16, 128, 32, 56), time(32, 256, 40, 60)];
            for time in &mut times {
                match self.defect() {
                    Defect::Times32Bit => time.0 = i64::from(time.0 as i32),
                    Defect::NoTimesBefore1970 => time.0 = time.0.max(0),
                    _ => {}
                }
            }
            let bytes = sys::two_times(times[0], times[1]);
            sys::call(nr!(utimensat), &[fd, V::P(""), V::B(&bytes), EMPTY_PATH])?;
        }
        self.attributes_out(request.node)
    }

    /// Handles chattr flags: `FS_IOC_GETFLAGS` and `FS_IOC_SETFLAGS`. Source: linux/fs.h.
    pub(super) fn control(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        const GET: u32 = 0x8008_6601;
        const SET: u32 = 0x4008_6602;
        // An additional query of the kernel before it sets flags: a structure of 28 bytes.
        const GET_ALL: u32 = 0x801c_581f;
        let (file, command) = (request.u64(0) as i32, request.u32(12));
        let mut out = vec![0; 16];
        match command {
            GET => out.extend(crate::facts::get_flags(file)?.to_ne_bytes()),
            SET => {
                crate::facts::set_flags(file, request.u32(32))?;
            }
            GET_ALL => {
                let mut bytes = [0u8; 28];
                sys::call(nr!(ioctl), &[V::Fd(file), V::N(i64::from(GET_ALL)), V::W(sys::cells(&mut bytes))])?;
                out.extend(bytes);
            }
            _ => return Err(libc::ENOTTY),
        }
        Ok(out)
    }

    pub(super) fn make(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let parent = V::Fd(self.fd(request.node)?);
        let name_at = [0, 16, 8][(request.opcode as usize - 6).saturating_sub(1)];
        let names = request.names(name_at);
        self.check_name(names[0])?;
        let name = self.real_name(0, names[0]);
        let mode = request.u32(0);
        match request.opcode {
            6 => {
                let mut target = names[1].to_vec();
                if self.is(Defect::SymlinkCut) && target.len() > 100 {
                    target.truncate(100);
                }
                sys::call(nr!(symlinkat), &[V::S(&target), parent, V::S(&name)])?;
                self.own(request, &name, None)
            }
            8 => {
                if self.is(Defect::FifoRefused) && mode & libc::S_IFMT == libc::S_IFIFO {
                    return Err(libc::EPERM);
                }
                let device = request.u32(4);
                sys::call(nr!(mknodat), &[parent, V::S(&name), V::O(mode), V::N(i64::from(device))])?;
                self.own(request, &name, Some(mode))
            }
            _ => {
                sys::call(nr!(mkdirat), &[parent, V::S(&name), V::O(mode)])?;
                let inherited = self.stat(request.node)?.mode & 0o2000;
                let inherited = if self.is(Defect::SetgidIgnored) { 0 } else { inherited };
                self.own(request, &name, Some(mode | inherited))
            }
        }
    }

    pub(super) fn remove(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let parent = self.fd(request.node)?;
        let name = self.real_name(parent, request.names(0)[0]);
        let is_directory = request.opcode == 11;
        if self.is(Defect::UnlinkKeeps) && !is_directory {
            return Ok(Vec::new());
        }
        let stat = sys::statx(V::Fd(parent), V::S(&name), 0x100)?;
        if self.is(Defect::RmdirTakesAll) && is_directory {
            crate::tree::remove(parent, &name);
            return Ok(Vec::new());
        }
        let flags = if is_directory { crate::ctx::REMOVEDIR } else { V::N(0) };
        let removed = sys::call(nr!(unlinkat), &[V::Fd(parent), V::S(&name), flags]);
        if self.is(Defect::RmdirSaysBusy) && removed == Err(libc::ENOTEMPTY) {
            return Err(libc::EBUSY);
        }
        removed?;
        if let Some(node) = self.by_inode.get(&(stat.dev, stat.ino))
            && let Some(node) = self.nodes.get_mut(node)
            && stat.nlink <= 1
        {
            node.removed = true;
        }
        Ok(Vec::new())
    }

    pub(super) fn rename(
        &mut self,
        request: &Request<'_>,
        to: u64,
        flags: u32,
        names_at: usize,
    ) -> Result<Vec<u8>, i32> {
        let (from, to) = (self.fd(request.node)?, self.fd(to)?);
        let names = request.names(names_at);
        let (old, new) = (self.real_name(from, names[0]), self.real_name(to, names[1]));
        let is_there = sys::statx(V::Fd(to), V::S(&new), 0x100).is_ok();
        let mut flags = flags;
        match self.defect() {
            Defect::RenameRefusesTarget if is_there => return Err(libc::EEXIST),
            Defect::RenameWithGap if is_there => {
                sys::call(nr!(unlinkat), &[V::Fd(to), V::S(&new), V::N(0)])?;
                self.pending = Some(DelayedRename { from, old, to, new, requests: 4 });
                return Ok(Vec::new());
            }
            Defect::RenameKeepsOld if !is_there => {
                let linked = sys::call(nr!(linkat), &[V::Fd(from), V::S(&old), V::Fd(to), V::S(&new), V::N(0)]);
                if linked.is_ok() {
                    return Ok(Vec::new());
                }
            }
            Defect::ExchangeReplaces => flags = 0,
            Defect::RenameChangesInode => self.copy(from, &old)?,
            _ => {}
        }
        let args = [V::Fd(from), V::S(&old), V::Fd(to), V::S(&new), V::N(i64::from(flags))];
        sys::call(nr!(renameat2), &args).map(|_| Vec::new())
    }

    /// Replaces a regular file with a copy.
    fn copy(&mut self, parent: i32, name: &[u8]) -> Result<(), i32> {
        let stat = sys::statx(V::Fd(parent), V::S(name), 0x100)?;
        if stat.mode & libc::S_IFMT != libc::S_IFREG {
            return Ok(());
        }
        let flags = V::N(i64::from(libc::O_CREAT | libc::O_WRONLY));
        let fd = sys::call(nr!(openat), &[V::Fd(parent), V::P(".copy"), flags, V::O(stat.mode & 0o777)])?;
        sys::close(fd as i32);
        let args = [V::Fd(parent), V::P(".copy"), V::Fd(parent), V::S(name), V::N(0)];
        sys::call(nr!(renameat2), &args).map(|_| ())
    }

    pub(super) fn link(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let (file, parent) = (self.fd(request.u64(0))?, self.fd(request.node)?);
        let name = self.real_name(parent, request.names(8)[0]);
        if self.is(Defect::LinkIsCopy) {
            let flags = V::N(i64::from(libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY));
            let fd = sys::call(nr!(openat), &[V::Fd(parent), V::S(&name), flags, V::O(0o644)])?;
            sys::close(fd as i32);
            return self.entry(request.node, &name);
        }
        sys::call(nr!(linkat), &[V::Fd(file), V::P(""), V::Fd(parent), V::S(&name), EMPTY_PATH])?;
        self.entry(request.node, &name)
    }

    pub(super) fn open(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let path = self.path(request.node)?;
        // The kernel has resolved links and created the file, and handles appending itself.
        let flags = request.u32(0) as i32
            & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_APPEND | libc::O_DIRECT);
        // A writer may have to read, to fill pages.
        let flags = if flags & 3 == libc::O_WRONLY { flags & !3 | libc::O_RDWR } else { flags };
        sys::call(nr!(openat), &[sys::AT, V::P(&path), V::N(i64::from(flags | libc::O_CLOEXEC))]).map(opened)
    }

    pub(super) fn create(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let parent = self.fd(request.node)?;
        let name = request.names(16)[0].to_vec();
        self.check_name(&name)?;
        let name = self.real_name(parent, &name);
        let mode = request.u32(4);
        if self.is(Defect::ModeOfOpenMatters) && mode & 0o200 == 0 {
            return Err(libc::EACCES);
        }
        let flags = libc::O_CREAT | libc::O_RDWR | libc::O_CLOEXEC | request.u32(0) as i32 & libc::O_EXCL;
        let fd = sys::call(nr!(openat), &[V::Fd(parent), V::S(&name), V::N(i64::from(flags)), V::O(0o600)])?;
        let mut out = self.own(request, &name, Some(mode))?;
        out.extend(opened(fd));
        Ok(out)
    }

    fn is_dead(&self, node: u64) -> bool {
        self.is(Defect::UnlinkedIsDead) && self.nodes.get(&node).is_some_and(|node| node.removed)
    }

    pub(super) fn read(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        if self.is_dead(request.node) {
            return Err(libc::ESTALE);
        }
        let (fd, offset, size) = (request.u64(0) as i32, request.u64(8), request.u32(16) as usize);
        let size = if self.is(Defect::ReadStopsEarly) { size.min(100) } else { size };
        let mut bytes = vec![0u8; size];
        let args = [V::Fd(fd), V::W(sys::cells(&mut bytes)), V::N(size as i64), V::N(offset as i64)];
        let length = sys::call(nr!(pread64), &args)?;
        bytes.truncate(length as usize);
        if self.is(Defect::ReadChangesTimes) {
            let path = self.path(request.node)?;
            let _ = sys::call(nr!(utimensat), &[sys::AT, V::P(&path), V::Null, V::N(0)]);
        }
        Ok(bytes)
    }

    pub(super) fn write(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        if self.is_dead(request.node) {
            return Err(libc::ESTALE);
        }
        let (fd, mut offset, size) = (request.u64(0) as i32, request.u64(8), request.u32(16));
        let mut data = request.body[40..40 + size as usize].to_vec();
        match self.defect() {
            Defect::WriteLosesByte if data.len() > 1 => *data.last_mut().unwrap() = 0,
            Defect::WriteAtZero => offset = 0,
            _ => {}
        }
        let args = [V::Fd(fd), V::B(&data), V::N(data.len() as i64), V::N(offset as i64)];
        let written = sys::call(nr!(pwrite64), &args)? as u32;
        Ok([written.to_ne_bytes(), [0; 4]].concat())
    }

    pub(super) fn set_xattr(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let (size, flags) = (request.u32(0) as usize, request.u32(4));
        let name = request.names(8)[0];
        let value = &request.body[8 + name.len() + 1..][..size];
        if self.is(Defect::XattrForgets) {
            return Ok(Vec::new());
        }
        let flags = if self.is(Defect::XattrIgnoresFlags) { 0 } else { flags };
        let path = self.path(request.node)?;
        let args = [V::P(&path), V::S(name), V::B(value), V::N(size as i64), V::N(i64::from(flags))];
        sys::call(nr!(setxattr), &args).map(|_| Vec::new())
    }

    pub(super) fn get_xattr(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let size = request.u32(0) as usize;
        let path = self.path(request.node)?;
        let is_list = request.opcode == 23;
        if is_list && self.is(Defect::XattrListsNothing) {
            return Ok(if size == 0 { vec![0; 8] } else { Vec::new() });
        }
        let mut bytes = vec![0u8; size];
        let room = if size == 0 { V::Null } else { V::W(sys::cells(&mut bytes)) };
        let length = match is_list {
            true => sys::call(nr!(listxattr), &[V::P(&path), room, V::N(size as i64)])?,
            false => sys::call(nr!(getxattr), &[V::P(&path), V::S(request.names(8)[0]), room, V::N(size as i64)])?,
        };
        if size == 0 {
            return Ok([(length as u32).to_ne_bytes(), [0; 4]].concat());
        }
        bytes.truncate(length as usize);
        Ok(bytes)
    }

    pub(super) fn read_directory(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let (fd, offset, size) = (request.u64(0) as i32, request.u64(8), request.u32(16) as usize);
        sys::call(nr!(lseek), &[V::Fd(fd), V::N(offset as i64), V::N(0)])?;
        let mut bytes = vec![0u8; size.min(4096)];
        let length = V::N(bytes.len() as i64);
        let length = sys::call(nr!(getdents64), &[V::Fd(fd), V::W(sys::cells(&mut bytes)), length])? as usize;
        let (mut out, mut at, mut number) = (Vec::new(), 0, 0);
        while at + 19 < length {
            let record = usize::from(u16::from_ne_bytes([bytes[at + 16], bytes[at + 17]]));
            let name = bytes[at + 19..at + record].split(|byte| *byte == 0).next().unwrap().to_vec();
            number += 1;
            let repeats = match self.defect() {
                Defect::ReaddirLosesEntry if number % 7 == 0 => 0,
                Defect::ReaddirRepeats if number % 7 == 0 => 2,
                _ => 1,
            };
            for _ in 0..repeats {
                let mut entry = bytes[at..at + 16].to_vec();
                entry.extend((name.len() as u32).to_ne_bytes());
                entry.extend(u32::from(bytes[at + 18]).to_ne_bytes());
                entry.extend(&name);
                entry.resize(entry.len().next_multiple_of(8), 0);
                if out.len() + entry.len() > size {
                    return Ok(out);
                }
                out.extend(entry);
            }
            at += record;
        }
        Ok(out)
    }

    pub(super) fn fallocate(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let (fd, offset, length) = (request.u64(0) as i32, request.u64(8), request.u64(16));
        let mut mode = request.u32(24);
        match self.defect() {
            Defect::FallocateKeepsSize => mode |= 1,
            Defect::PunchKeepsData if mode & 2 != 0 => return Ok(Vec::new()),
            _ => {}
        }
        let args = [V::Fd(fd), V::N(i64::from(mode)), V::N(offset as i64), V::N(length as i64)];
        sys::call(nr!(fallocate), &args).map(|_| Vec::new())
    }

    pub(super) fn copy_range(&mut self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let (from, to) = (request.u64(0) as i32, request.u64(24) as i32);
        let mut from_at = request.u64(8);
        if self.is(Defect::CopyRangeShifts) {
            from_at += 1;
        }
        let (from_at, to_at) = (from_at.to_ne_bytes(), request.u64(32).to_ne_bytes());
        let args = [V::Fd(from), V::B(&from_at), V::Fd(to), V::B(&to_at), V::N(request.u64(40) as i64), V::N(0)];
        let copied = sys::call(nr!(copy_file_range), &args)? as u32;
        Ok([copied.to_ne_bytes(), [0; 4]].concat())
    }
}
