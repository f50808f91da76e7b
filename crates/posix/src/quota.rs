//! Quotas on a second file system of the same kind: the quota of one user, or on btrfs of one
//! subvolume, is used up there.

use crate::ctx::{A, Ctx, RDONLY, Run, Stop};
use crate::outcome::SkipKind;
use crate::sys::{R, V, nr};

/// The directory on the image in which user [`A`] has used up its quota.
pub(crate) const DIRECTORY: &str = "quota";

/// Bytes and files that the user may have.
const BYTES_MAX: u64 = 256 << 10;
const FILES_MAX: u64 = 64;

/// `Q_SETQUOTA` for users, and which limits are valid. Source: linux/quota.h.
const SET_USER_QUOTA: i64 = 0x80_0008 << 8;
const LIMITS_VALID: u32 = 1 | 4;
const DQBLK_LENGTH: usize = 72;

/// Requests of btrfs: enabling quotas, making a subvolume, limiting one. Source: linux/btrfs.h.
const BTRFS_QUOTA_CTL: i64 = 0xc010_9428;
const BTRFS_SUBVOL_CREATE: i64 = 0x5000_940e;
const BTRFS_QGROUP_LIMIT: i64 = 0x8030_942b;
/// Bytes that a subvolume of btrfs may have: its trees have blocks of 16 KiB.
const BTRFS_BYTES_MAX: u64 = 1 << 20;

/// Quota support of one kind of file system.
pub(crate) struct QuotaSetup {
    /// Name as in /proc/self/mountinfo.
    pub kind: &'static str,
    pub mkfs: &'static [&'static str],
    /// Options of mount(8).
    pub options: &'static str,
    /// Sets the limit of user [`A`] in the open directory.
    pub limit: fn(&mut Ctx<'_>, i64) -> R,
}

const EXT: &[&str] = &["-O", "quota", "-E", "quotatype=usrquota"];

pub(crate) const SETUPS: &[QuotaSetup] = &[
    QuotaSetup { kind: "ext2", mkfs: EXT, options: "usrquota", limit: limit_user },
    QuotaSetup { kind: "ext3", mkfs: EXT, options: "usrquota", limit: limit_user },
    QuotaSetup { kind: "ext4", mkfs: EXT, options: "usrquota", limit: limit_user },
    QuotaSetup { kind: "xfs", mkfs: &[], options: "usrquota", limit: limit_user },
    QuotaSetup { kind: "btrfs", mkfs: &[], options: "", limit: limit_subvolume },
    // The option applies to every user except root.
    QuotaSetup {
        kind: "tmpfs",
        mkfs: &[],
        options: "size=4m,nr_inodes=2000,usrquota,usrquota_block_hardlimit=256k,usrquota_inode_hardlimit=64",
        limit: |_, _| Ok(0),
    },
];

fn limit_user(cx: &mut Ctx<'_>, directory: i64) -> R {
    let mut limits = [0u8; DQBLK_LENGTH];
    // Blocks of 1 KiB; then the soft limit, the usage, and the same for inodes.
    for (at, value) in [(0, BYTES_MAX >> 10), (8, BYTES_MAX >> 10), (24, FILES_MAX), (32, FILES_MAX)] {
        limits[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }
    limits[64..68].copy_from_slice(&LIMITS_VALID.to_ne_bytes());
    let user = V::N(i64::from(A.uid));
    cx.call(
        nr!(quotactl_fd),
        &[V::Fd(directory as i32), V::C("QCMD(Q_SETQUOTA, USRQUOTA)", SET_USER_QUOTA), user, V::B(&limits)],
    )
}

fn limit_subvolume(cx: &mut Ctx<'_>, directory: i64) -> R {
    // The group of the directory's subvolume; then the kind of limit, and the bytes.
    let mut limit = [0u8; 48];
    limit[8..16].copy_from_slice(&1u64.to_ne_bytes());
    limit[16..24].copy_from_slice(&BTRFS_BYTES_MAX.to_ne_bytes());
    cx.call(nr!(ioctl), &[V::Fd(directory as i32), V::C("BTRFS_IOC_QGROUP_LIMIT", BTRFS_QGROUP_LIMIT), V::B(&limit)])
}

/// Enables quotas of btrfs, and makes a subvolume.
fn make_subvolume(cx: &mut Ctx<'_>) -> R {
    let here = cx.open(".", RDONLY, 0)?;
    let mut enable = [0u8; 16];
    enable[0] = 1;
    let enabled =
        cx.call(nr!(ioctl), &[V::Fd(here as i32), V::C("BTRFS_IOC_QUOTA_CTL", BTRFS_QUOTA_CTL), V::B(&enable)]);
    let mut name = [0u8; 4096];
    name[8..8 + DIRECTORY.len()].copy_from_slice(DIRECTORY.as_bytes());
    let made = enabled.and_then(|_| {
        cx.call(nr!(ioctl), &[V::Fd(here as i32), V::C("BTRFS_IOC_SUBVOL_CREATE", BTRFS_SUBVOL_CREATE), V::B(&name)])
    });
    cx.close(here);
    made
}

/// Makes the directory in the working directory, which is an image's, and uses up the quota.
///
/// # Errors
/// Returns an error if the quota cannot be set or used up.
pub(crate) fn use_up(cx: &mut Ctx<'_>, setup: &QuotaSetup) -> Run {
    let refused = |call: &'static str| {
        move |error: i32| Stop::Skip(SkipKind::NoFeature, format!("no quotas: {call}: {}", crate::errno::name(error)))
    };
    if setup.kind == "btrfs" {
        make_subvolume(cx).map_err(refused("making a subvolume with quotas"))?;
    } else {
        cx.dir(DIRECTORY, 0o755)?;
    }
    cx.give(DIRECTORY, A.uid, A.gid)?;
    let limited = cx.open(DIRECTORY, RDONLY, 0).and_then(|directory| {
        let limited = (setup.limit)(cx, directory);
        cx.close(directory);
        limited
    });
    limited.map_err(refused("setting a limit"))?;
    let left = cx.as_user(A, |cx| -> Result<Option<String>, Stop> {
        cx.dir(&format!("{DIRECTORY}/fill"), 0o755)?;
        cx.file(&format!("{DIRECTORY}/data"), b"data")?;
        Ok(crate::fill::fill(cx, &format!("{DIRECTORY}/fill"), libc::EDQUOT))
    })?;
    match left {
        None => Ok(()),
        Some(why) => Err(Stop::Skip(SkipKind::LimitTooHigh, why)),
    }
}
