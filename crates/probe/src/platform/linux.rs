//! Queries of the running system on Linux.
#![allow(unsafe_code)]

use super::{ClockPair, XfsGeometry};
use crate::error::ProbeError;
use plumb_result::observe::{CpuTimes, DeviceCounters};
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, CWD, FileType, OFlags, StatxFlags};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Updater, ioctl, opcode};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::path::Path;

/// Returns the kernel's ID of the mount that contains a path, as in the first field of
/// `mountinfo`; `None` before Linux 5.8.
pub(crate) fn mount_id(path: &Path) -> Option<u64> {
    let seen = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (seen.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(seen.stx_mnt_id)
}

/// Returns `M:m` of a block device node; `None` for anything else.
pub(crate) fn block_number(path: &Path) -> Option<String> {
    let seen = rustix::fs::stat(path).ok()?;
    let is_block = FileType::from_raw_mode(seen.st_mode) == FileType::BlockDevice;
    is_block.then(|| format!("{}:{}", rustix::fs::major(seen.st_rdev), rustix::fs::minor(seen.st_rdev)))
}

/// Returns `M:m` of an open file's data: of its file system, or of the block device itself. `None` for
/// pipes, sockets and the like.
pub(crate) fn data_number(path: &Path) -> Option<String> {
    let seen = rustix::fs::stat(path).ok()?;
    let number = match FileType::from_raw_mode(seen.st_mode) {
        FileType::BlockDevice => seen.st_rdev,
        FileType::RegularFile | FileType::Directory => seen.st_dev,
        _ => return None,
    };
    Some(format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number)))
}

/// Returns the type of the file system at a path from statfs(2), and whether it is mounted read-only.
pub(crate) fn statfs_kind(path: &Path) -> Option<(u64, bool)> {
    let seen = rustix::fs::statfs(path).ok()?;
    let flags = rustix::fs::statvfs(path).ok()?.f_flag;
    Some((seen.f_type as u64 & 0xffff_ffff, flags.contains(rustix::fs::StatVfsMountFlags::RDONLY)))
}

/// Whether a file system of this kind has no medium, even if it is not mounted: memfd_create(2) makes files on
/// an unmounted tmpfs. Source: statfs(2).
pub(crate) fn has_no_medium(path: &Path) -> bool {
    /// tmpfs, ramfs, hugetlbfs, proc, sysfs, cgroup, cgroup2.
    const KINDS: [u64; 7] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6, 0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270];
    rustix::fs::statfs(path).is_ok_and(|seen| KINDS.contains(&(seen.f_type as u64 & 0xffff_ffff)))
}

/// `struct loop_info64`. Source: `include/uapi/linux/loop.h`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// Returns `M:m` of the file system with the backing file of a loop device (`loop0`), even if the file was deleted.
/// `None` if the device may not be opened.
pub(crate) fn loop_backing_number(name: &str) -> Option<String> {
    // LOOP_GET_STATUS64: an old opcode without direction and size.
    const GET_STATUS64: Opcode = 0x4C05;
    let device = open(&Path::new("/dev").join(name)).ok()?;
    // SAFETY: the kernel fills exactly a `struct loop_info64`; every bit pattern is a valid value.
    let info: LoopInfo = unsafe { ioctl(device.as_fd(), Getter::<GET_STATUS64, LoopInfo>::new()) }.ok()?;
    // `huge_encode_dev`, include/linux/kdev_t.h.
    let (major, minor) = ((info.device >> 8) & 0xFFF, (info.device & 0xFF) | ((info.device >> 12) & 0xFFF00));
    Some(format!("{major}:{minor}"))
}

/// The answer of `FS_IOC_GETFSUUID` (Linux 6.9). Source: `include/uapi/linux/fs.h`, `struct fsuuid2`.
#[repr(C)]
struct FsUuid {
    len: u8,
    bytes: [u8; 16],
}

/// Returns the UUID of the file system at a path, in the usual notation; `None` if the kernel does not report it.
pub(crate) fn fs_uuid(path: &Path) -> Option<String> {
    const GETFSUUID: Opcode = opcode::read::<FsUuid>(0x15, 0);
    let file = open(path).ok()?;
    // SAFETY: the opcode's direction and size are those of the type that it fills.
    let answer: FsUuid = unsafe { ioctl(file.as_fd(), Getter::<GETFSUUID, FsUuid>::new()) }.ok()?;
    (answer.len == 16).then(|| crate::uuid::uuid_text(&answer.bytes))
}

/// `struct xfs_fsop_geom_v4`. Source: `fs/xfs/libxfs/xfs_fs.h`.
#[repr(C)]
struct RawXfsGeometry {
    blocksize: u32,
    rtextsize: u32,
    agblocks: u32,
    agcount: u32,
    logblocks: u32,
    sectsize: u32,
    inodesize: u32,
    imaxpct: u32,
    datablocks: u64,
    rtblocks: u64,
    rtextents: u64,
    logstart: u64,
    uuid: [u8; 16],
    sunit: u32,
    swidth: u32,
    version: i32,
    flags: u32,
    logsectsize: u32,
    rtsectsize: u32,
    dirblocksize: u32,
    logsunit: u32,
}

/// Returns the geometry of the XFS at a path. Needs no privilege except to open the path for reading.
pub(crate) fn xfs_geometry(path: &Path) -> Result<XfsGeometry, ProbeError> {
    const FSGEOMETRY_V4: Opcode = opcode::read::<RawXfsGeometry>(b'X', 124);
    let fail = |error| ProbeError::unanswered::<Errno>(format!("XFS geometry of {}", path.display()))(error);
    let file = open(path).map_err(fail)?;
    // SAFETY: the opcode's direction and size are those of the type that it fills.
    let raw: RawXfsGeometry =
        unsafe { ioctl(file.as_fd(), Getter::<FSGEOMETRY_V4, RawXfsGeometry>::new()) }.map_err(fail)?;
    Ok(XfsGeometry {
        block_bytes: raw.blocksize,
        allocation_groups: raw.agcount,
        group_blocks: raw.agblocks,
        sector_bytes: raw.sectsize,
        inode_bytes: raw.inodesize,
        log_blocks: raw.logblocks,
        log_is_internal: raw.logstart != 0,
        stripe_unit_blocks: raw.sunit,
        stripe_width_blocks: raw.swidth,
        flags: raw.flags,
    })
}

fn open(path: &Path) -> rustix::io::Result<rustix::fd::OwnedFd> {
    // Non-blocking, so that a named pipe at the path cannot block.
    crate::read_only::open(path, OFlags::NONBLOCK)
}

/// Returns name and version of this program's C library.
#[cfg(target_env = "gnu")]
pub(crate) fn libc_version() -> String {
    // SAFETY: it takes nothing and returns a static string that ends in NUL.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

/// Returns the name of this program's C library.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn libc_version() -> String {
    if cfg!(target_env = "musl") { "musl".to_owned() } else { "unknown".to_owned() }
}

/// Reads `CLOCK_MONOTONIC_RAW` and `CLOCK_REALTIME` together. Of a few readings, keeps the fastest.
pub(crate) fn raw_and_real() -> Result<ClockPair, ProbeError> {
    let ns = |id| {
        let now = clock_gettime(id);
        now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
    };
    let mut best: Option<(i64, ClockPair)> = None;
    for _ in 0..5 {
        let before = ns(ClockId::MonotonicRaw);
        let real_ns = ns(ClockId::Realtime);
        let after = ns(ClockId::MonotonicRaw);
        let took = after.saturating_sub(before);
        if best.is_none_or(|(least, _)| took < least) {
            best = Some((took, ClockPair { raw_ns: before.saturating_add(took / 2), real_ns }));
        }
    }
    best.map(|(_, pair)| pair).ok_or(ProbeError::Unseeable("no clock could be read"))
}

/// Returns the counters of all devices on systems without per-device files.
pub(crate) fn device_counters() -> Option<Result<BTreeMap<String, DeviceCounters>, ProbeError>> {
    None
}

/// Returns the times of all processors on systems without a file for them.
pub(crate) fn cpu_times() -> Option<Result<CpuTimes, ProbeError>> {
    None
}

/// Returns the processors that the calling thread may run on; `None` if the kernel has more than fit in a set.
pub(crate) fn allowed_processors() -> Option<Vec<u32>> {
    let set = rustix::thread::sched_getaffinity(None).ok()?;
    let all = 0..rustix::thread::CpuSet::MAX_CPU;
    Some(all.filter(|&cpu| set.is_set(cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Returns `CLOCK_MONOTONIC` and `CLOCK_BOOTTIME` in ns. Only the second advances while
/// the machine is suspended: clock_gettime(2).
pub(crate) fn monotonic_and_boot() -> (u64, u64) {
    let ns = |id| {
        let now = clock_gettime(id);
        (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
    };
    (ns(ClockId::Monotonic), ns(ClockId::Boottime))
}

/// Returns the ticks per second of the times in `/proc`.
pub(crate) fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// `struct ethtool_value`. Source: `include/uapi/linux/ethtool.h`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// `struct ifreq` with a pointer in its union. Source: netdevice(7).
#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    data: *mut EthtoolValue,
    rest: [u64; 2],
}

/// Returns the number that a network interface's driver reports for an ethtool command; `None` if it does not.
pub(crate) fn ethtool_value(interface: &str, command: u32) -> Option<u32> {
    const ETHTOOL: Opcode = 0x8946;
    let socket = std::os::unix::net::UnixDatagram::unbound().ok()?;
    let mut value = EthtoolValue { command, data: 0 };
    let mut request = InterfaceRequest { name: [0; 16], data: &raw mut value, rest: [0; 2] };
    let name = interface.as_bytes();
    // The last byte terminates the name.
    request.name[..15].get_mut(..name.len())?.copy_from_slice(name);
    // SAFETY: the kernel reads the request. For the commands that read a number, it writes the value
    // that the request points to.
    unsafe { ioctl(socket.as_fd(), Updater::<ETHTOOL, InterfaceRequest>::new(&mut request)) }.ok()?;
    Some(value.data)
}
