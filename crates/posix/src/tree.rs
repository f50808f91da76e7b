//! Removes everything that a case left, by descriptors only, regardless of modes and chattr flags.

use crate::ctx::REMOVEDIR;
use crate::facts::set_flags;
use crate::sys::{self, V, nr};

const OPEN: i64 = (libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC) as i64;

/// Removes an entry of a directory, with its contents. Anything that cannot be removed stays; the end of the
/// run checks its directory again.
pub(crate) fn remove(parent: i32, name: &[u8]) {
    if unlink(parent, name) {
        return;
    }
    // The entry or its directory may be immutable.
    let _ = set_flags(parent, 0);
    let open = |flags: i64| sys::call(nr!(openat), &[V::Fd(parent), V::S(name), V::N(OPEN | flags)]);
    if let Ok(file) = open(0) {
        let _ = set_flags(file as i32, 0);
        sys::close(file as i32);
    }
    if unlink(parent, name) {
        return;
    }
    let directory = match open(i64::from(libc::O_DIRECTORY)) {
        Ok(directory) => directory as i32,
        Err(_) => {
            let _ = sys::call(nr!(fchmodat), &[V::Fd(parent), V::S(name), V::O(0o700)]);
            match open(i64::from(libc::O_DIRECTORY)) {
                Ok(directory) => directory as i32,
                Err(_) => return,
            }
        }
    };
    let _ = sys::call(nr!(fchmod), &[V::Fd(directory), V::O(0o700)]);
    for entry in entries(directory) {
        remove(directory, &entry);
    }
    sys::close(directory);
    let _ = sys::call(nr!(unlinkat), &[V::Fd(parent), V::S(name), REMOVEDIR]);
}

fn unlink(parent: i32, name: &[u8]) -> bool {
    matches!(sys::call(nr!(unlinkat), &[V::Fd(parent), V::S(name), V::N(0)]), Ok(_) | Err(libc::ENOENT))
}

/// Returns the names in a directory. Source of the layout: getdents64(2).
fn entries(directory: i32) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    let mut bytes = [0u8; 8192];
    while let Ok(length) = sys::call(nr!(getdents64), &[V::Fd(directory), V::W(sys::cells(&mut bytes)), V::N(8192)])
        && length > 0
    {
        let mut at = 0;
        while at + 19 < length as usize {
            let size = usize::from(u16::from_ne_bytes([bytes[at + 16], bytes[at + 17]])).max(20);
            let name = &bytes[at + 19..(at + size).min(bytes.len())];
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
            at += size;
        }
    }
    names
}
