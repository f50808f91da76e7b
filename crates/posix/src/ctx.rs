//! The context of a case: its calls, its fixtures and its checks.

use crate::errno;
use crate::facts::{Facts, Kind};
use crate::outcome::{Failure, SkipKind};
use crate::sys::{self, AT, Nr, R, Stat, Time, V, nr};
use std::time::Duration;

/// Reason for ending a case early.
pub(crate) enum Stop {
    /// The case cannot be tested here.
    Skip(SkipKind, String),
    /// A prerequisite does not work; with the case that tests it.
    Blocked(&'static str, String),
}

pub(crate) type Run = Result<(), Stop>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Who {
    pub uid: u32,
    pub gid: u32,
    pub groups: &'static [u32],
}

/// Users that cases act as. The IDs are below 65,536, which a user namespace maps, and need no account.
pub(crate) const A: Who = Who { uid: 60_001, gid: 60_001, groups: &[] };
/// A second user, in another group.
pub(crate) const B: Who = Who { uid: 60_002, gid: 60_002, groups: &[] };

/// Access modes of open with their C names; `open` adds `O_NONBLOCK` and `O_CLOEXEC`.
pub(crate) const RDONLY: V<'static> = V::C("O_RDONLY", libc::O_RDONLY as i64);
pub(crate) const WRONLY: V<'static> = V::C("O_WRONLY", libc::O_WRONLY as i64);
pub(crate) const RDWR: V<'static> = V::C("O_RDWR", libc::O_RDWR as i64);
/// Creates a new file for reading and writing.
pub(crate) const NEW: V<'static> =
    V::C("O_CREAT | O_EXCL | O_RDWR", (libc::O_CREAT | libc::O_EXCL | libc::O_RDWR) as i64);
/// Operates on a link itself.
pub(crate) const NOFOLLOW: V<'static> = V::C("AT_SYMLINK_NOFOLLOW", libc::AT_SYMLINK_NOFOLLOW as i64);
/// Makes unlinkat remove a directory.
pub(crate) const REMOVEDIR: V<'static> = V::C("AT_REMOVEDIR", libc::AT_REMOVEDIR as i64);

/// A running case, in its own working directory.
pub(crate) struct Ctx<'a> {
    pub facts: &'a Facts,
    /// Number of checks so far.
    pub checks: u32,
    /// The first few failed checks.
    pub failures: Vec<Failure>,
    /// Number of failed checks.
    pub failed: u32,
    /// Calls so far; `None` if they are not recorded.
    pub calls: Option<Vec<String>>,
    /// Counter for file names.
    serial: u32,
    /// Whether it acts as another user.
    is_switched: bool,
}

/// Maximum number of failures kept.
const FAILURES_MAX: usize = 6;

impl<'a> Ctx<'a> {
    /// Creates the context before the first call.
    pub(crate) fn new(facts: &'a Facts, with_calls: bool) -> Ctx<'a> {
        let calls = with_calls.then(Vec::new);
        Ctx { facts, checks: 0, failures: Vec::new(), failed: 0, calls, serial: 0, is_switched: false }
    }

    // ---- calls

    /// Makes a system call and records it.
    pub(crate) fn call(&mut self, nr: Nr, args: &[V<'_>]) -> R {
        let result = sys::call(nr, args);
        self.note(nr, args, result);
        result
    }

    fn note(&mut self, nr: Nr, args: &[V<'_>], result: R) {
        let Some(calls) = &mut self.calls else { return };
        let text = sys::c_text(nr, args);
        calls.push(match result {
            Ok(fd) if nr.0 == "openat" || nr.0 == "socket" => format!("fd[{fd}] = {text}; /* {fd} */"),
            Ok(value) => format!("{text}; /* {value} */"),
            Err(error) => format!("{text}; /* {} */", errno::name(error)),
        });
    }

    /// Adds a comment to the recorded calls.
    pub(crate) fn remark(&mut self, text: &str) {
        if let Some(calls) = &mut self.calls {
            calls.push(format!("/* {text} */"));
        }
    }

    /// Records a line of C for an action that bypasses [`Ctx::call`].
    pub(crate) fn code(&mut self, text: &str) {
        if let Some(calls) = &mut self.calls {
            calls.push(text.to_owned());
        }
    }

    /// Makes thousands of calls and records them as one loop of C, which `text` creates from the result. A list of
    /// all of them would be too long for the channel to the parent process.
    pub(crate) fn in_a_loop<T>(&mut self, body: impl FnOnce(&mut Self) -> T, text: impl FnOnce(&T) -> String) -> T {
        let calls = self.calls.take();
        let result = body(self);
        self.calls = calls;
        if let Some(calls) = &mut self.calls {
            calls.push(text(&result));
        }
        result
    }

    /// Opens a file with the given flags.
    pub(crate) fn open(&mut self, path: &str, flags: V<'_>, mode: u32) -> R {
        self.call(nr!(openat), &[AT, V::P(path), flags, V::O(mode)])
    }

    /// Opens a file with flags that have no constant here.
    pub(crate) fn open_as(&mut self, path: &str, name: &'static str, flags: i32, mode: u32) -> R {
        self.open(path, V::C(name, i64::from(flags)), mode)
    }

    pub(crate) fn close(&mut self, fd: i64) {
        let _ = self.call(nr!(close), &[V::Fd(fd as i32)]);
    }

    pub(crate) fn mkdir(&mut self, path: &str, mode: u32) -> R {
        self.call(nr!(mkdirat), &[AT, V::P(path), V::O(mode)])
    }

    /// Changes the permissions; follows links.
    pub(crate) fn chmod(&mut self, path: &str, mode: u32) -> R {
        self.call(nr!(fchmodat), &[AT, V::P(path), V::O(mode)])
    }

    /// Changes owner and group; -1 keeps one. Follows links.
    pub(crate) fn chown(&mut self, path: &str, uid: i64, gid: i64) -> R {
        self.call(nr!(fchownat), &[AT, V::P(path), V::N(uid), V::N(gid), V::N(0)])
    }

    /// Changes owner and group of a link itself.
    pub(crate) fn lchown(&mut self, path: &str, uid: i64, gid: i64) -> R {
        self.call(nr!(fchownat), &[AT, V::P(path), V::N(uid), V::N(gid), NOFOLLOW])
    }

    pub(crate) fn unlink(&mut self, path: &str) -> R {
        self.call(nr!(unlinkat), &[AT, V::P(path), V::N(0)])
    }

    pub(crate) fn rmdir(&mut self, path: &str) -> R {
        self.call(nr!(unlinkat), &[AT, V::P(path), REMOVEDIR])
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> R {
        self.call(nr!(renameat2), &[AT, V::P(from), AT, V::P(to), V::N(0)])
    }

    pub(crate) fn link(&mut self, from: &str, to: &str) -> R {
        self.call(nr!(linkat), &[AT, V::P(from), AT, V::P(to), V::N(0)])
    }

    /// Makes a symbolic link at `path`.
    pub(crate) fn symlink(&mut self, to: &str, path: &str) -> R {
        self.call(nr!(symlinkat), &[V::P(to), AT, V::P(path)])
    }

    pub(crate) fn truncate(&mut self, path: &str, size: i64) -> R {
        self.call(nr!(truncate), &[V::P(path), V::N(size)])
    }

    /// Sets the size of an open file.
    pub(crate) fn ftruncate(&mut self, fd: i64, size: i64) -> R {
        self.call(nr!(ftruncate), &[V::Fd(fd as i32), V::N(size)])
    }

    pub(crate) fn pwrite(&mut self, fd: i64, bytes: &[u8], offset: i64) -> R {
        let shown = [V::Fd(fd as i32), V::B(bytes), V::N(bytes.len() as i64), V::N(offset)];
        self.call(nr!(pwrite64), &shown)
    }

    /// Writes at the descriptor's offset.
    pub(crate) fn write(&mut self, fd: i64, bytes: &[u8]) -> R {
        self.call(nr!(write), &[V::Fd(fd as i32), V::B(bytes), V::N(bytes.len() as i64)])
    }

    /// Reads at an offset and returns the bytes.
    pub(crate) fn pread(&mut self, fd: i64, length: usize, offset: i64) -> Result<Vec<u8>, i32> {
        let mut bytes = vec![0; length];
        let args = [V::Fd(fd as i32), V::W(sys::cells(&mut bytes)), V::N(length as i64), V::N(offset)];
        let read = self.call(nr!(pread64), &args)?;
        bytes.truncate(read as usize);
        Ok(bytes)
    }

    /// Moves the descriptor's offset.
    pub(crate) fn lseek(&mut self, fd: i64, offset: i64, name: &'static str, whence: i32) -> R {
        self.call(nr!(lseek), &[V::Fd(fd as i32), V::N(offset), V::C(name, i64::from(whence))])
    }

    pub(crate) fn fsync(&mut self, fd: i64) -> R {
        self.call(nr!(fsync), &[V::Fd(fd as i32)])
    }

    /// Sets both times, each in seconds and nanoseconds; follows links.
    pub(crate) fn utimens(&mut self, path: &str, access: (i64, i64), change: (i64, i64)) -> R {
        let bytes = sys::two_times(access, change);
        self.call(nr!(utimensat), &[AT, V::P(path), V::B(&bytes), V::N(0)])
    }

    /// Returns the attributes of a file; follows links.
    pub(crate) fn stat(&mut self, path: &str) -> Result<Stat, i32> {
        self.statx(AT, V::P(path), 0)
    }

    /// Returns the attributes of a file or link.
    pub(crate) fn lstat(&mut self, path: &str) -> Result<Stat, i32> {
        self.statx(AT, V::P(path), i64::from(libc::AT_SYMLINK_NOFOLLOW))
    }

    /// Returns the attributes of an open file.
    pub(crate) fn fstat(&mut self, fd: i64) -> Result<Stat, i32> {
        self.statx(V::Fd(fd as i32), V::P(""), i64::from(libc::AT_EMPTY_PATH))
    }

    fn statx(&mut self, dir: V<'_>, path: V<'_>, flags: i64) -> Result<Stat, i32> {
        let stat = sys::statx(dir, path, flags);
        if let Some(calls) = &mut self.calls {
            let shown = match &stat {
                Ok(stat) => format!(
                    "mode {:o} nlink {} uid {} gid {} size {} ino {} mtime {}.{:09} ctime {}.{:09}",
                    stat.mode,
                    stat.nlink,
                    stat.uid,
                    stat.gid,
                    stat.size,
                    stat.ino,
                    stat.mtime.0,
                    stat.mtime.1,
                    stat.ctime.0,
                    stat.ctime.1
                ),
                Err(error) => errno::name(*error),
            };
            let nr = Nr("statx", 0);
            let args = [dir, path, V::N(flags), V::C("STATX_ALL", 0xfff), V::C("&stx", 0)];
            calls.push(format!("{}; /* {shown} */", sys::c_text(nr, &args)));
        }
        stat
    }

    /// Runs `body` as another user.
    pub(crate) fn as_user<T>(&mut self, who: Who, body: impl FnOnce(&mut Self) -> T) -> T {
        self.switch(Some(who));
        let result = body(self);
        self.switch(None);
        result
    }

    /// Becomes a user, or returns to the original one.
    pub(crate) fn switch(&mut self, who: Option<Who>) {
        if !self.facts.can_switch || who.is_none() && !self.is_switched {
            return;
        }
        self.is_switched = who.is_some();
        let (own, back) = ((self.facts.uid, self.facts.gid), who.is_none());
        let keep = V::N(-1);
        let (uid, gid, groups) = who.map_or((own.0, own.1, &[][..]), |who| (who.uid, who.gid, who.groups));
        let groups = sys::group_bytes(groups);
        // Sets the real IDs too, which access() uses. The saved ones allow the return.
        let user = [V::N(i64::from(uid)), V::N(i64::from(uid)), keep];
        if back {
            let _ = self.call(nr!(setresuid), &user);
        }
        let _ = self.call(nr!(setgroups), &[V::N(groups.len() as i64 / 4), V::B(&groups)]);
        let _ = self.call(nr!(setresgid), &[V::N(i64::from(gid)), V::N(i64::from(gid)), keep]);
        if !back {
            let _ = self.call(nr!(setresuid), &user);
        }
    }

    /// Returns the user whose permissions are tested: [`A`], or the current one if it cannot be changed.
    pub(crate) fn actor(&self) -> Who {
        if self.facts.can_switch { A } else { Who { uid: self.facts.uid, gid: self.facts.gid, groups: &[] } }
    }

    // ---- fixtures

    /// Returns a name that this case has not used yet.
    pub(crate) fn fresh(&mut self) -> String {
        self.serial += 1;
        format!("n{}", self.serial)
    }

    /// Unwraps a step of the set-up. The case `by` tests that step.
    ///
    /// # Errors
    /// Returns an error if the step failed.
    pub(crate) fn set_up<T>(&mut self, by: &'static str, what: &str, result: Result<T, i32>) -> Result<T, Stop> {
        result.map_err(|error| Stop::Blocked(by, format!("{what}: {}", errno::name(error))))
    }

    /// Requires a condition that another case tests.
    ///
    /// # Errors
    /// Returns an error if it does not hold.
    pub(crate) fn premise(&mut self, holds: bool, by: &'static str, why: &str) -> Run {
        if holds { Ok(()) } else { Err(Stop::Blocked(by, why.to_owned())) }
    }

    /// Makes a file of a type with mode 0644 (a directory with 0755). Devices are 1:2, never 0:0, which
    /// overlayfs treats as a whiteout.
    ///
    /// # Errors
    /// Returns an error if it cannot be made.
    pub(crate) fn make(&mut self, kind: Kind, path: &str) -> Run {
        let result = self.try_make(kind, path);
        let what = format!("cannot make a {}", kind.name());
        self.set_up(kind.made_by(), &what, result).map(|_| ())
    }

    /// Makes a file of a type, and returns the errno on failure.
    pub(crate) fn try_make(&mut self, kind: Kind, path: &str) -> R {
        let node = |cx: &mut Self, name: &'static str, kind: u32, device: i64| {
            let mode = V::C(name, i64::from(kind | 0o644));
            cx.call(nr!(mknodat), &[AT, V::P(path), mode, V::N(device)])
        };
        // makedev(1, 2) of Linux.
        let device = 1 << 8 | 2;
        match kind {
            Kind::Regular => {
                let fd = self.open(path, NEW, 0o644)?;
                self.close(fd);
                Ok(0)
            }
            Kind::Dir => self.mkdir(path, 0o755),
            Kind::Fifo => node(self, "S_IFIFO | 0644", libc::S_IFIFO, 0),
            Kind::Socket => node(self, "S_IFSOCK | 0644", libc::S_IFSOCK, 0),
            Kind::Block => node(self, "S_IFBLK | 0644", libc::S_IFBLK, device),
            Kind::Char => node(self, "S_IFCHR | 0644", libc::S_IFCHR, device),
            Kind::Symlink => self.symlink("target", path),
        }
    }

    /// Makes a regular file with this content.
    ///
    /// # Errors
    /// Returns an error if it cannot be made.
    pub(crate) fn file(&mut self, path: &str, content: &[u8]) -> Run {
        let fd = self.open(path, NEW, 0o644);
        let fd = self.set_up("make.regular", "cannot make a file", fd)?;
        let written = self.pwrite(fd, content, 0);
        self.close(fd);
        self.set_up("write.extends", "cannot write", written).map(|_| ())
    }

    /// Makes a directory with exactly this mode.
    ///
    /// # Errors
    /// Returns an error if it cannot be made.
    pub(crate) fn dir(&mut self, path: &str, mode: u32) -> Run {
        let made = self.mkdir(path, mode);
        self.set_up("make.dir", "cannot make a directory", made)?;
        self.set_mode(path, mode)
    }

    /// Sets a mode, as part of the set-up.
    ///
    /// # Errors
    /// Returns an error if it cannot be set.
    pub(crate) fn set_mode(&mut self, path: &str, mode: u32) -> Run {
        let set = self.chmod(path, mode);
        self.set_up("chmod.sets", "chmod", set).map(|_| ())
    }

    /// Changes the owner, as part of the set-up. Does nothing if it is the same.
    ///
    /// # Errors
    /// Returns an error if it cannot be changed.
    pub(crate) fn give(&mut self, path: &str, uid: u32, gid: u32) -> Run {
        if !self.facts.can_switch {
            return Ok(());
        }
        let set = self.lchown(path, i64::from(uid), i64::from(gid));
        self.set_up("chown.sets", "chown", set).map(|_| ())
    }

    /// Removes a file of any type.
    pub(crate) fn remove(&mut self, path: &str) {
        if self.unlink(path).is_err() {
            let _ = self.rmdir(path);
        }
    }

    /// Waits until the next change gets a later time: twice the measured step.
    pub(crate) fn nap(&mut self) {
        let step = self.facts.step_ns;
        self.remark(&format!("wait {} µs", 2 * step / 1000));
        std::thread::sleep(Duration::from_nanos(2 * step));
    }

    // ---- needs

    /// Requires other users.
    ///
    /// # Errors
    /// Skips the case if this process cannot act as them.
    pub(crate) fn needs_users(&self) -> Run {
        match self.facts.can_switch {
            true => Ok(()),
            false => {
                Err(Stop::Skip(SkipKind::NeedsUsers, "cannot act as other users: run as root, or with --userns".into()))
            }
        }
    }

    /// Requires a probed feature.
    ///
    /// # Errors
    /// Skips the case if it is missing.
    pub(crate) fn needs(&self, has: bool, what: &str) -> Run {
        if has { Ok(()) } else { Err(Stop::Skip(SkipKind::NoFeature, what.to_owned())) }
    }

    /// Requires files of a type.
    ///
    /// # Errors
    /// Skips the case if they cannot be made.
    pub(crate) fn needs_kind(&self, kind: Kind) -> Run {
        if self.facts.can_make(kind) {
            return Ok(());
        }
        let why = format!("cannot make a {}: {}", kind.name(), errno::name(self.facts.kind_errno[kind as usize]));
        Err(Stop::Skip(SkipKind::NoType, why))
    }

    /// Returns the types that can be made here.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        Kind::ALL.iter().copied().filter(|kind| self.facts.can_make(*kind)).collect()
    }

    // ---- checks

    pub(crate) fn that(&mut self, holds: bool, what: &str, expected: &str, got: &str) {
        self.checks += 1;
        if holds {
            return;
        }
        self.failed += 1;
        let (expected, got) = (plain(expected), plain(got));
        if let Some(calls) = &mut self.calls {
            calls.push(format!("/* {what}: expected {expected}, got {got} */"));
        }
        if self.failures.len() < FAILURES_MAX {
            let failure = Failure { what: what.to_owned(), expected, got };
            self.failures.push(failure);
        }
    }

    /// Checks that two numbers are equal.
    pub(crate) fn equal(&mut self, what: &str, expected: i64, got: i64) {
        self.that(expected == got, what, &expected.to_string(), &got.to_string());
    }

    /// Checks that two modes are equal, ignoring the type.
    pub(crate) fn mode_is(&mut self, what: &str, expected: u32, got: u32) {
        let got = got & 0o7777;
        self.that(expected == got, what, &format!("{expected:04o}"), &format!("{got:04o}"));
    }

    /// Checks that a call succeeds.
    pub(crate) fn ok(&mut self, what: &str, result: R) -> bool {
        self.answers(what, result, &[0])
    }

    /// Checks that a call returns one of these errnos; 0 means success.
    pub(crate) fn answers(&mut self, what: &str, result: R, allowed: &[i32]) -> bool {
        let got = result.err().unwrap_or(0);
        let holds = allowed.contains(&got);
        if holds {
            self.checks += 1;
        } else {
            self.that(false, what, &errno::names(allowed), &errno::name(got));
        }
        holds
    }

    /// Checks that a file exists, and returns its attributes.
    pub(crate) fn expect_exists(&mut self, what: &str, path: &str) -> Option<Stat> {
        let stat = self.lstat(path);
        self.answers(what, stat.map(|_| 0), &[0]);
        stat.ok()
    }

    /// Checks that a file does not exist.
    pub(crate) fn gone(&mut self, what: &str, path: &str) {
        let stat = self.lstat(path).map(|_| 0);
        self.answers(what, stat, &[libc::ENOENT]);
    }

    /// Checks that the second time is later.
    pub(crate) fn later(&mut self, what: &str, before: Time, after: Time) {
        self.that(after > before, what, &format!("later than {}", time(before)), &time(after));
    }

    /// Checks that two times are the same.
    pub(crate) fn same_time(&mut self, what: &str, before: Time, after: Time) {
        self.that(after == before, what, &format!("still {}", time(before)), &time(after));
    }
}

/// Formats a call's result for people: the number, or the name of the errno.
fn plain(text: &str) -> String {
    let inside = |head: &str| text.strip_prefix(head).and_then(|rest| rest.strip_suffix(')'));
    if let "" | "None" = text {
        return "nothing".to_owned();
    }
    match (inside("Ok(").or_else(|| inside("Some(")), inside("Err(").and_then(|number| number.parse().ok())) {
        (Some(value), _) => plain(value),
        (_, Some(number)) => errno::name(number),
        _ => text.to_owned(),
    }
}

/// Formats a time as `12.000000004`.
pub(crate) fn time((seconds, nanos): Time) -> String {
    format!("{seconds}.{nanos:09}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: no sentence ends at "got", and none shows Rust's names for a missing value.
    #[test]
    fn values_are_words() {
        for (value, word) in [
            ("", "nothing"),
            ("None", "nothing"),
            ("Some(3)", "3"),
            ("Ok(None)", "nothing"),
            ("Err(2)", "ENOENT"),
            ("ATTRIB", "ATTRIB"),
        ] {
            assert_eq!(plain(value), word);
        }
    }
}
