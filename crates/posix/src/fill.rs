//! Fills a file system until there is no space for another byte or another file.

use crate::ctx::{Ctx, NEW};
use crate::errno;
use crate::sys::{V, nr};

/// Maximum number of files to create.
const FILL_FILES_MAX: usize = 40_000;

/// Uses up the space, then the inodes and the space of directories, until calls fail with this errno. Returns the
/// reason if that did not happen.
pub(crate) fn fill(cx: &mut Ctx<'_>, directory: &str, full: i32) -> Option<String> {
    let fd = cx.open(&format!("{directory}/data"), NEW, 0o600).ok()?;
    let (mut length, mut at) = (16 << 20, 0);
    // Halve the length each time, so that the last block is used too.
    while length >= 4096 {
        match cx.call(nr!(fallocate), &[V::Fd(fd as i32), V::N(0), V::N(at), V::N(length)]) {
            Ok(_) => at += length,
            Err(error) if error == full => length /= 2,
            Err(_) => break,
        }
    }
    let block = vec![1u8; 65536];
    for size in [65536, 4096, 512] {
        while let Ok(written) = cx.pwrite(fd, &block[..size], at) {
            at += written;
            if written < size as i64 || at > 1 << 31 {
                break;
            }
        }
    }
    cx.close(fd);
    let name = "f".repeat(230);
    for number in 0..FILL_FILES_MAX {
        match cx.open(&format!("{directory}/{name}{number}"), NEW, 0o600) {
            Ok(fd) => cx.close(fd),
            Err(error) if error == full => return None,
            Err(error) => return Some(format!("filling ended with {}", errno::name(error))),
        }
    }
    Some(format!("there was still space after {FILL_FILES_MAX} files"))
}
