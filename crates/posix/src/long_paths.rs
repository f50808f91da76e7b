//! The longest paths that a file system supports.

use crate::ctx::{Ctx, Run, Stop};
use crate::facts::Kind;
use crate::ops::Op;
use crate::sys::{V, nr};

/// Bytes of a path with its final zero byte. Source: linux/limits.h.
pub(crate) const PATH_MAX: usize = 4096;

pub(crate) fn longest_path(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    let here = cx.open_as(".", "O_PATH", libc::O_PATH, 0);
    let here = cx.set_up("make.dir", "open", here)?;
    let other = op.other(cx, at)?;
    let mut path = String::new();
    let name = "p".repeat(200);
    // Step by step, so that no call of the set-up has a long path.
    let by = "lstat.longest-path";
    while path.len() + 201 + 2 < PATH_MAX - 1 {
        let made = cx.mkdir(&name, 0o755);
        let made = made.and_then(|_| cx.call(nr!(chdir), &[V::P(&name)]));
        if op.name == "lstat" && !cx.ok("a directory, made in one that is deep", made) {
            return Ok(());
        }
        if made.is_err() {
            break;
        }
        path.push_str(&name);
        path.push('/');
    }
    if op.name == "lstat" {
        let last = "q".repeat(PATH_MAX - 1 - path.len());
        path.push_str(&last);
        // A file, made by its name alone, to test whether it is found by the whole path.
        let made = cx.try_make(Kind::Regular, &last);
        let whole = cx.call(nr!(fchdir), &[V::Fd(here as i32)]).and_then(|_| cx.lstat(&path)).map(|_| 0);
        cx.ok("a file, made in a deep directory", made);
        cx.ok("a path of 4095 bytes", whole);
        return Ok(());
    }
    path.push_str(&"q".repeat(longest_name(cx, here as i32, &path)?));
    let works = path.len() > SHORT_PATH_MAX;
    cx.premise(works, by, "no path of more than 255 bytes works, whatever the operation")?;
    op.prepare(cx, at, &path)?;
    let result = op.call_at(cx, at, V::P(&path), &other);
    cx.ok(&format!("a path of {} bytes", path.len()), result.map(|_| 0));
    Ok(())
}

/// Length that every system supports. Source: `_POSIX_PATH_MAX`, without the final zero byte.
const SHORT_PATH_MAX: usize = 255;

/// Returns the length of the longest file name in the working directory, which is deep, that is found by its path
/// from `here`. The working directory is `here` afterwards. User-space file systems may put a directory of their own
/// before each path, and so have shorter ones.
fn longest_name(cx: &mut Ctx<'_>, here: i32, path: &str) -> Result<usize, Stop> {
    let deep = cx.open_as(".", "O_PATH", libc::O_PATH, 0);
    let deep = cx.set_up("make.dir", "open", deep)? as i32;
    let mut works = |length: usize| {
        let name = "q".repeat(length);
        let _ = cx.call(nr!(fchdir), &[V::Fd(deep)]);
        let made = cx.try_make(Kind::Regular, &name);
        let _ = cx.call(nr!(fchdir), &[V::Fd(here)]);
        let whole = format!("{path}{name}");
        made.is_ok() && cx.lstat(&whole).is_ok() && cx.unlink(&whole).is_ok()
    };
    let most = (PATH_MAX - 1 - path.len()).min(255);
    if works(most) {
        return Ok(most);
    }
    let (mut good, mut bad) = (0, most);
    while bad - good > 1 {
        let length = good.midpoint(bad);
        if works(length) { good = length } else { bad = length }
    }
    Ok(good)
}
