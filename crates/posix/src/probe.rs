//! Probes the abilities of the directory, its file system and this process, before the first case. Features are never
//! guessed from a file system's name.

use crate::by_hand::acl_bytes;
use crate::ctx::{A, B, Ctx, REMOVEDIR};
use crate::facts::{APPEND, FALLOCATE, FICLONE, Facts, IMMUTABLE, Kind, get_flags, set_flags};
use crate::image::{mount, private_mounts};
use crate::sys::{self, AT, Nr, V, nr};
use std::time::Instant;

/// Minimum and maximum plausible step of change times, ns.
const STEP_MIN_NS: u64 = 50_000;

const STEP_MAX_NS: u64 = 2_000_000_000;

impl Facts {
    /// Probes the working directory, which is empty and stays so. Probing `can_switch` and `mounts` changes this
    /// process, so it must exit afterwards.
    pub fn probe() -> Facts {
        let (uid, gid) = sys::user_and_group();
        let mut facts = Facts { uid, gid, ..Facts::default() };
        facts.set_kind(&kind_of_mount().unwrap_or_default());
        let call = |nr: Nr, args: &[V<'_>]| sys::call(nr, args);
        let make = |path: &str| {
            let fd = call(nr!(openat), &[AT, V::P(path), V::N(i64::from(libc::O_CREAT | libc::O_RDWR)), V::O(0o644)]);
            fd.unwrap_or(-1) as i32
        };
        let unlink = |path: &str| call(nr!(unlinkat), &[AT, V::P(path), V::N(0)]);
        for &kind in Kind::ALL {
            let scratch = Facts::default();
            let mut cx = Ctx::new(&scratch, false);
            facts.kind_errno[kind as usize] = cx.try_make(kind, "k").err().unwrap_or(0);
            cx.remove("k");
        }
        facts.name_max = longest(255, &|length| {
            let fd = make(&"n".repeat(length));
            sys::close(fd);
            fd >= 0 && unlink(&"n".repeat(length)).is_ok()
        });
        facts.symlink_max = longest(4095, &|length| {
            let target = "t".repeat(length);
            call(nr!(symlinkat), &[V::P(&target), AT, V::P("s")]).is_ok() && unlink("s").is_ok()
        });
        let fd = make("f");
        facts.step_ns = step();
        for (flag, has) in [(IMMUTABLE, &mut facts.features.immutable), (APPEND, &mut facts.features.append_only)] {
            *has = set_flags(fd, flag).is_ok() && get_flags(fd).is_ok_and(|flags| flags & flag != 0);
            let _ = set_flags(fd, 0);
        }
        let set = |name: &str, value: &[u8]| {
            call(nr!(setxattr), &[V::P("f"), V::P(name), V::B(value), V::N(value.len() as i64), V::N(0)]).is_ok()
        };
        facts.features.xattr = set("user.plumb", b"x");
        facts.features.acl = set("system.posix_acl_access", &acl_bytes(&[]));
        facts.features.links = call(nr!(linkat), &[AT, V::P("f"), AT, V::P("g"), V::N(0)]).is_ok();
        let _ = unlink("g");
        let tmpfile = V::N(i64::from(libc::O_TMPFILE | libc::O_RDWR));
        facts.features.tmpfile =
            call(nr!(openat), &[AT, V::P("."), tmpfile, V::O(0o600)]).map(|fd| sys::close(fd as i32)).is_ok();
        sys::close(make("g"));
        let swap = |flags: i64| call(nr!(renameat2), &[AT, V::P("f"), AT, V::P("g"), V::N(flags)]);
        facts.features.exchange = swap(2).is_ok();
        // If the target exists, the kernel answers without asking the file system.
        facts.features.noreplace = call(nr!(renameat2), &[AT, V::P("f"), AT, V::P("h"), V::N(1)]).is_ok();
        facts.features.whiteout = call(nr!(renameat2), &[AT, V::P("g"), AT, V::P("i"), V::N(4)]).is_ok();
        for name in ["f", "g", "h", "i"] {
            let _ = unlink(name);
        }
        sys::close(fd);
        let (fd, other) = (make("f"), make("g"));
        let _ = call(nr!(pwrite64), &[V::Fd(fd), V::B(&vec![7; 16384]), V::N(16384), V::N(0)]);
        facts.features.clone = call(nr!(ioctl), &[V::Fd(other), V::N(FICLONE), V::Fd(fd)]).is_ok();
        for (bit, (_, mode)) in FALLOCATE.iter().enumerate() {
            let done = call(nr!(fallocate), &[V::Fd(fd), V::N(*mode), V::N(4096), V::N(4096)]).is_ok();
            facts.features.fallocate |= u8::from(done) << bit;
        }
        let direct = V::N(i64::from(libc::O_DIRECT | libc::O_RDWR));
        facts.features.direct = call(nr!(openat), &[AT, V::P("f"), direct]).map(|fd| sys::close(fd as i32)).is_ok();
        if let Ok(stat) = sys::statx(AT, V::P("f"), 0) {
            facts.features.btime = stat.mask & 0x800 != 0;
            facts.dio_align = if stat.mask & 0x2000 != 0 { (stat.dio.1, stat.dio.0) } else { (0, 0) };
        }
        let links = || sys::statx(AT, V::P("."), 0).map_or(0, |stat| stat.nlink);
        let before = links();
        if call(nr!(mkdirat), &[AT, V::P("d"), V::O(0o755)]).is_ok() {
            facts.counts_subdirectories = links() == before + 1;
            let _ = call(nr!(unlinkat), &[AT, V::P("d"), REMOVEDIR]);
        }
        let mut bytes = [0u8; 120];
        if call(nr!(statfs), &[V::P("."), V::W(sys::cells(&mut bytes))]).is_ok() {
            let word = |at: usize| u64::from_ne_bytes(bytes[at * 8..at * 8 + 8].try_into().unwrap_or_default());
            (facts.magic, facts.mount_flags) = (word(0), word(10));
            // In a chroot the mount table may not list this mount.
            if facts.kind().is_empty() {
                facts.set_kind(kind_of_magic(facts.magic));
            }
        }
        for fd in [fd, other] {
            sys::close(fd);
        }
        for name in ["f", "g"] {
            let _ = unlink(name);
        }
        facts.mounts = private_mounts().is_ok() && {
            let _ = call(nr!(mkdirat), &[AT, V::P("m"), V::O(0o755)]);
            let mounted = mount("plumb", "m", "tmpfs", "size=64k").is_ok();
            let _ = call(nr!(umount2), &[V::P("m"), V::N(2)]);
            let _ = call(nr!(unlinkat), &[AT, V::P("m"), REMOVEDIR]);
            mounted
        };
        facts.can_switch = can_switch();
        facts
    }
}

/// Returns the kind of the working directory's file system, by its mount ID. Source: proc(5).
fn kind_of_mount() -> Option<String> {
    let id = sys::statx(AT, V::P("."), 0).ok().filter(|stat| stat.mask & 0x1000 != 0)?.mount.to_string();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').next() == Some(&id))?;
    line.split_once(" - ")?.1.split(' ').next().map(str::to_owned)
}

/// Returns the kind for the number from statfs(2). Source: `include/uapi/linux/magic.h`.
fn kind_of_magic(magic: u64) -> &'static str {
    match magic & 0xffff_ffff {
        0xef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0xf2f5_2010 => "f2fs",
        0x0102_1994 => "tmpfs",
        0x794c_7630 => "overlay",
        0x6573_5546 => "fuse",
        0x6969 => "nfs",
        _ => "file system",
    }
}

/// Whether this process can become another user and come back.
fn can_switch() -> bool {
    let keep = V::N(-1);
    let groups = sys::call(nr!(setgroups), &[V::N(0), V::Null]).is_ok();
    let group = sys::call(nr!(setresgid), &[keep, V::N(i64::from(A.gid)), keep]).is_ok();
    let user = sys::call(nr!(setresuid), &[keep, V::N(i64::from(B.uid)), keep]).is_ok();
    groups && group && user
}

/// Returns the largest length up to `most` that works; 0 if none does. Tries from the top by
/// bisection, since limits are few.
fn longest(most: u32, works: &dyn Fn(usize) -> bool) -> u32 {
    if works(most as usize) {
        return most;
    }
    let (mut good, mut bad) = (0, most);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if works(middle as usize) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// Measures the smallest difference between two change times in ns, on a file whose mode changes constantly.
fn step() -> u64 {
    let ctime = || sys::statx(AT, V::P("f"), 0).map_or((0, 0), |stat| stat.ctime);
    let began = Instant::now();
    let mut smallest = STEP_MAX_NS;
    let (mut last, mut found, mut mode) = (ctime(), 0, 0o600);
    while found < 4 && began.elapsed().as_nanos() < u128::from(STEP_MAX_NS) {
        mode ^= 0o040;
        let _ = sys::call(nr!(fchmodat), &[AT, V::P("f"), V::O(mode)]);
        let now = ctime();
        if now != last {
            let nanos = (now.0 - last.0) * 1_000_000_000 + i64::from(now.1) - i64::from(last.1);
            // The first interval may have begun long ago.
            if found > 0 {
                smallest = smallest.min(nanos.unsigned_abs());
            }
            (last, found) = (now, found + 1);
        }
    }
    smallest.clamp(STEP_MIN_NS, STEP_MAX_NS)
}
