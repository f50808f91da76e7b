//! A second file system of the same kind, in a private mount namespace, for tests that would harm the user's
//! own. Its device is a loop device over memory, which vanishes on unmount. Its mounts vanish with the process,
//! even if that is killed.

use crate::ctx::{A, Ctx, Run, Stop};
use crate::facts::Facts;
use crate::fill::fill;
use crate::ops::{OPS, Op, RequiredFile};
use crate::outcome::SkipKind;
use crate::quota::{self, SETUPS};
use crate::snapshot::{snapshot, unchanged};
use crate::sys::{self, AT, R, V, nr};
use std::fmt;
use std::process::{Command, ExitStatus, Stdio};

/// `LOOP_CTL_GET_FREE`, `LOOP_CONFIGURE` and the flag that detaches a loop device with
/// its last user. Source: linux/loop.h.
const GET_FREE: i64 = 0x4c82;
const CONFIGURE: i64 = 0x4c0a;
const AUTOCLEAR: u32 = 4;
/// Length of `struct loop_config`, and the offset of its flags.
const CONFIG_LENGTH: usize = 304;
const FLAGS_AT: usize = 8 + 52;

/// Flags of mount(2).
const MS_RDONLY: i64 = 1;
const MS_REMOUNT: i64 = 32;
const MS_BIND: i64 = 4096;
const MS_REC: i64 = 16384;
const MS_PRIVATE: i64 = 1 << 18;

/// Recipe for a test file system of one kind.
struct Recipe {
    /// Name as in /proc/self/mountinfo.
    kind: &'static str,
    /// Size of its device, MiB.
    mebibytes: i64,
    /// The mkfs program and its options; few inodes, so that they can be used up.
    mkfs: &'static [&'static str],
}

const RECIPES: &[Recipe] = &[
    Recipe { kind: "ext2", mebibytes: 8, mkfs: &["mke2fs", "-q", "-F", "-t", "ext2", "-N", "512"] },
    Recipe { kind: "ext3", mebibytes: 8, mkfs: &["mke2fs", "-q", "-F", "-t", "ext3", "-N", "512"] },
    Recipe { kind: "ext4", mebibytes: 8, mkfs: &["mke2fs", "-q", "-F", "-t", "ext4", "-N", "512"] },
    Recipe { kind: "xfs", mebibytes: 320, mkfs: &["mkfs.xfs", "-q", "-f"] },
    Recipe { kind: "btrfs", mebibytes: 64, mkfs: &["mkfs.btrfs", "-q", "-f", "--mixed"] },
    Recipe { kind: "f2fs", mebibytes: 64, mkfs: &["mkfs.f2fs", "-q", "-f"] },
];

/// Options of the tmpfs under test, or under an overlay.
const TMPFS: &str = "size=4m,nr_inodes=2000";

/// Gives this process its own mount namespace.
///
/// # Errors
/// Returns the errno.
pub(crate) fn private_mounts() -> R {
    sys::call(nr!(unshare), &[V::C("CLONE_NEWNS", i64::from(libc::CLONE_NEWNS))])?;
    sys::call(nr!(mount), &[V::Null, V::P("/"), V::Null, V::N(MS_REC | MS_PRIVATE), V::Null])
}

/// Mounts a file system.
///
/// # Errors
/// Returns the errno.
pub(crate) fn mount(source: &str, at: &str, kind: &str, options: &str) -> R {
    sys::call(nr!(mount), &[V::P(source), V::P(at), V::P(kind), V::N(0), V::P(options)])
}

/// Mounts a small tmpfs on a directory of the case.
///
/// # Errors
/// Skips the case if this process may not mount.
pub(crate) fn mount_here(cx: &mut Ctx<'_>, at: &str) -> Run {
    if !cx.facts.mounts {
        return Err(Stop::Skip(SkipKind::NeedsPrivilege, "cannot mount a tmpfs in a private namespace".to_owned()));
    }
    let options = V::P("size=64k");
    let mounted = cx.call(nr!(mount), &[V::P("plumb"), V::P(at), V::P("tmpfs"), V::N(0), options]);
    mounted.map(|_| ()).map_err(|error| Stop::Skip(SkipKind::NeedsPrivilege, crate::errno::name(error)))
}

pub(crate) fn unmount(cx: &mut Ctx<'_>, at: &str) {
    let _ = cx.call(nr!(umount2), &[V::P(at), V::C("MNT_DETACH", 2)]);
}

/// State of an image. It only advances, and never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Empty and writable.
    Fresh,
    /// No free space.
    Full,
    /// Mounted read-only.
    ReadOnly,
    /// A user has used up its quota. An image made for this stage has no other.
    Quota,
}

/// A mounted image. If none can be made, a read-only bind mount, which has only the last stage.
pub(crate) struct Image {
    stage: Stage,
    is_bound: bool,
    /// Reason why it cannot be filled.
    not_full: Option<String>,
}

/// Mount point, relative to the worker's directory.
pub(crate) const MOUNT_POINT: &str = "image";

impl Image {
    /// Makes an image at `MOUNT_POINT` of the working directory, and enters it.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    pub(crate) fn make(facts: &Facts, for_stage: Stage) -> Result<Image, Stop> {
        let has_quota = for_stage == Stage::Quota;
        let no = |why: String| Stop::Skip(SkipKind::NoImage, why);
        if !facts.mounts {
            let why = "cannot mount in a private namespace".to_owned();
            return Err(Stop::Skip(SkipKind::NeedsPrivilege, why));
        }
        let _ = sys::call(nr!(mkdirat), &[AT, V::P(MOUNT_POINT), V::O(0o755)]);
        let kind = facts.kind();
        let setup = SETUPS.iter().find(|setup| has_quota && setup.kind == kind);
        if has_quota && setup.is_none() {
            let why = format!("Plumb cannot set a quota on a file system of the kind {kind}");
            return Err(Stop::Skip(SkipKind::NoFeature, why));
        }
        let (mkfs, options) = setup.map_or((&[][..], ""), |setup| (setup.mkfs, setup.options));
        let made = match kind {
            "tmpfs" => mount("plumb", MOUNT_POINT, "tmpfs", if has_quota { options } else { TMPFS })
                .map(|_| ())
                .map_err(|error| ImageError::Call("mount", error)),
            "overlay" => overlay().map_err(|error| ImageError::Call("mount", error)),
            kind => match RECIPES.iter().find(|recipe| recipe.kind == kind) {
                Some(recipe) => on_loop(recipe, mkfs, options),
                None => Err(ImageError::Unknown),
            },
        };
        let is_bound = match made {
            Ok(()) => false,
            Err(_) if for_stage == Stage::ReadOnly => {
                let place = V::P(MOUNT_POINT);
                let bound = sys::call(nr!(mount), &[place, place, V::Null, V::N(MS_BIND), V::Null]);
                bound.map_err(|error| no(crate::errno::name(error)))?;
                true
            }
            Err(why) if has_quota => {
                let why = format!("a file system of the kind {kind} with quotas cannot be made: {why}");
                return Err(Stop::Skip(SkipKind::NoFeature, why));
            }
            Err(why) => return Err(no(format!("no second file system of the kind {kind}: {why}"))),
        };
        sys::call(nr!(chdir), &[V::P(MOUNT_POINT)]).map_err(|error| no(crate::errno::name(error)))?;
        if let Some(setup) = setup {
            let mut cx = Ctx::new(facts, false);
            cx.needs_users()?;
            quota::use_up(&mut cx, setup)?;
        }
        let stage = if has_quota { Stage::Quota } else { Stage::Fresh };
        Ok(Image { stage, is_bound, not_full: None })
    }

    /// Advances the image to a stage.
    ///
    /// # Errors
    /// Returns an error if it cannot get there.
    pub(crate) fn enter(&mut self, facts: &Facts, stage: Stage) -> Run {
        if stage == Stage::Quota {
            return Ok(());
        }
        if self.stage < Stage::Full && stage >= Stage::Full {
            self.stage = Stage::Full;
            let mut cx = Ctx::new(facts, false);
            prepare(&mut cx)?;
            if !self.is_bound {
                self.not_full = fill(&mut cx, "fill", libc::ENOSPC);
            }
        }
        if stage == Stage::Full
            && let Some(why) = &self.not_full
        {
            return Err(Stop::Skip(SkipKind::LimitTooHigh, why.clone()));
        }
        if self.stage < stage && stage == Stage::ReadOnly {
            self.stage = stage;
            // The user's mount stays unchanged: only the bind mount in this process's namespace becomes read-only.
            let bind = if self.is_bound { MS_BIND } else { 0 };
            let place = V::P(".");
            let flags = V::N(MS_REMOUNT | MS_RDONLY | bind);
            let remounted = sys::call(nr!(mount), &[V::Null, place, V::Null, flags, V::Null]);
            remounted
                .map_err(|error| Stop::Skip(SkipKind::NoImage, format!("remount: {}", crate::errno::name(error))))?;
        }
        Ok(())
    }
}

/// Mounts an overlay of two directories of a tmpfs.
fn overlay() -> Result<(), i32> {
    mount("plumb", MOUNT_POINT, "tmpfs", TMPFS)?;
    for name in ["lower", "upper", "work", "over"] {
        sys::call(nr!(mkdirat), &[AT, V::P(&format!("{MOUNT_POINT}/{name}")), V::O(0o755)])?;
    }
    let options = ["lower", "upper", "work"].map(|name| format!("{name}dir={MOUNT_POINT}/{name}")).join(",");
    mount("plumb", &format!("{MOUNT_POINT}/over"), "overlay", &options)?;
    sys::call(nr!(chdir), &[V::P(&format!("{MOUNT_POINT}/over"))])?;
    // The caller enters MOUNT_POINT.
    sys::call(nr!(mount), &[V::P("."), V::P(&format!("../../{MOUNT_POINT}")), V::Null, V::N(MS_BIND), V::Null])?;
    sys::call(nr!(chdir), &[V::P("../..")]).map(|_| ())
}

/// Reason why a second file system cannot be made.
enum ImageError {
    /// A call failed with this errno.
    Call(&'static str, i32),
    /// The mkfs program ended with this status.
    Program(&'static str, ExitStatus),
    /// The mkfs program cannot be started.
    NotStarted(&'static str, std::io::Error),
    /// There is no recipe for this kind.
    Unknown,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Call(call, error) => write!(f, "{call}: {}", crate::errno::name(*error)),
            ImageError::Program(program, status) => write!(f, "{program}: {status}"),
            ImageError::NotStarted(program, error) => write!(f, "{program}: {error}"),
            ImageError::Unknown => f.write_str("Plumb cannot make one"),
        }
    }
}

/// Makes a file system on a loop device over memory, and mounts it.
fn on_loop(recipe: &Recipe, more: &[&str], options: &str) -> Result<(), ImageError> {
    let failed = |call: &'static str| move |error: i32| ImageError::Call(call, error);
    let memory = sys::call(nr!(memfd_create), &[V::P("plumb-posix"), V::N(0)]).map_err(failed("memfd"))?;
    let size = V::N(recipe.mebibytes << 20);
    sys::call(nr!(ftruncate), &[V::Fd(memory as i32), size]).map_err(failed("memfd"))?;
    let (device, path) = attach(memory as i32).map_err(failed("loop device"))?;
    let [program, usual @ ..] = recipe.mkfs else { return Err(ImageError::Unknown) };
    let mut command = Command::new(program);
    command.args(usual).args(more).arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let path_list = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path_list}:/usr/sbin:/sbin"));
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(ImageError::Program(program, status)),
        Err(error) => return Err(ImageError::NotStarted(program, error)),
    }
    let mounted = mount(&path, MOUNT_POINT, recipe.kind, options).map_err(failed("mount"));
    // From now on the mount holds the device; without a mount it vanishes here.
    sys::close(device);
    sys::close(memory as i32);
    mounted.map(|_| ())
}

/// Attaches a loop device to a descriptor. It detaches itself with its last user.
fn attach(memory: i32) -> Result<(i32, String), i32> {
    let read_write = V::N(i64::from(libc::O_RDWR | libc::O_CLOEXEC));
    let control = sys::call(nr!(openat), &[AT, V::P("/dev/loop-control"), read_write])? as i32;
    let mut config = [0u8; CONFIG_LENGTH];
    config[..4].copy_from_slice(&memory.to_ne_bytes());
    config[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&AUTOCLEAR.to_ne_bytes());
    let mut last = libc::EBUSY;
    // Another process may take the same device in between.
    for _ in 0..20 {
        let number = sys::call(nr!(ioctl), &[V::Fd(control), V::N(GET_FREE), V::N(0)])?;
        let path = format!("/dev/loop{number}");
        let device = match sys::call(nr!(openat), &[AT, V::P(&path), read_write]) {
            Ok(device) => device as i32,
            Err(error) => {
                sys::close(control);
                return Err(error);
            }
        };
        match sys::call(nr!(ioctl), &[V::Fd(device), V::N(CONFIGURE), V::B(&config)]) {
            Ok(_) => {
                sys::close(control);
                return Ok((device, path));
            }
            Err(error) => last = error,
        }
        sys::close(device);
    }
    sys::close(control);
    Err(last)
}

/// Returns the paths of an operation's files on an image.
fn place(op: &Op, at: usize) -> [String; 2] {
    let directory = format!("e-{}-{at}", op.name);
    [format!("{directory}/x"), format!("{directory}/o")]
}

/// Makes the files of every operation, while the image has space and is writable.
fn prepare(cx: &mut Ctx<'_>) -> Run {
    for op in OPS {
        if op.possible(cx).is_err() {
            continue;
        }
        for at in 0..op.slots.len() {
            let [path, other] = place(op, at);
            cx.dir(&format!("e-{}-{at}", op.name), 0o755)?;
            op.prepare(cx, at, &path)?;
            if op.slots.len() > 1 {
                op.prepare(cx, 1 - at, &other)?;
            }
        }
    }
    cx.dir("fill", 0o755)?;
    cx.file("data", b"data")?;
    Ok(())
}

/// Maximum number of calls until there is no space.
const TRIES_MAX: usize = 600;

/// Makes a call on a read-only file system.
///
/// # Errors
/// Returns an error if the case cannot be tested.
pub(crate) fn erofs(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    let [path, other] = place(op, at);
    let watched: Vec<&str> = vec![".", &path, &other];
    let before = snapshot(cx, &watched);
    cx.premise(op.slots[at].want == RequiredFile::Nothing || before[1].is_ok(), "make.regular", "the file is missing")?;
    let result = op.call_at(cx, at, V::P(&path), &other);
    cx.answers("on a read-only file system", result, &[libc::EROFS]);
    if result.is_ok() {
        return Ok(());
    }
    unchanged(cx, &watched, &before)
}

/// Makes a call on a full file system. The first calls may still find space in a directory's last block.
///
/// # Errors
/// Returns an error if the case cannot be tested.
pub(crate) fn enospc(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    let [_, other] = place(op, at);
    used_up(cx, op, at, "fill", &other, libc::ENOSPC)
}

/// Makes a call as a user whose quota is used up.
///
/// # Errors
/// Returns an error if the case cannot be tested.
pub(crate) fn edquot(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    let (directory, other) = (format!("{}/fill", quota::DIRECTORY), format!("{}/data", quota::DIRECTORY));
    cx.as_user(A, |cx| used_up(cx, op, at, &directory, &other, libc::EDQUOT))
}

/// Repeats the call with new names in a directory until it fails with this errno.
fn used_up(cx: &mut Ctx<'_>, op: &Op, at: usize, directory: &str, other: &str, errno: i32) -> Run {
    let long = if op.slots[at].flags & crate::ops::SHORT != 0 { 60 } else { 230 };
    let name = "z".repeat(long);
    for number in 0..TRIES_MAX {
        let path = format!("{directory}/{name}{}-{number}", op.name);
        let result = op.call_at(cx, at, V::P(&path), other);
        if result.is_err() {
            cx.answers("with no space left", result, &[errno]);
            cx.gone("the name after the failed call", &path);
            return Ok(());
        }
    }
    Err(Stop::Skip(SkipKind::LimitTooHigh, format!("there was still space after {TRIES_MAX} calls")))
}
