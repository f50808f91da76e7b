//! Kernel values by name. Source: FreeBSD's sysctl(3).
#![allow(unsafe_code)]

use crate::error::ProbeError;
use rustix::io::Errno;
use std::ffi::CStr;

/// Attempts with a larger buffer, since values such as device lists may grow between calls.
const ATTEMPTS: usize = 8;

/// Returns the bytes of a value.
pub(crate) fn sysctl(name: &CStr) -> Result<Vec<u8>, ProbeError> {
    let failed = || {
        let what = format!("sysctl {}", name.to_string_lossy());
        ProbeError::unanswered::<std::io::Error>(what)(std::io::Error::last_os_error())
    };
    for _ in 0..ATTEMPTS {
        let mut length = 0;
        // SAFETY: the name ends with 0; without a buffer the kernel only writes the length.
        let status =
            unsafe { libc::sysctlbyname(name.as_ptr(), std::ptr::null_mut(), &raw mut length, std::ptr::null(), 0) };
        if status != 0 {
            return Err(failed());
        }
        let mut bytes = vec![0u8; length + length / 4];
        let mut length = bytes.len();
        // SAFETY: the buffer has `length` bytes, and the kernel writes no more than that.
        let read = unsafe {
            libc::sysctlbyname(name.as_ptr(), bytes.as_mut_ptr().cast(), &raw mut length, std::ptr::null(), 0)
        };
        match read {
            0 => {
                bytes.truncate(length);
                return Ok(bytes);
            }
            _ if std::io::Error::last_os_error().raw_os_error() == Some(Errno::NOMEM.raw_os_error()) => {}
            _ => return Err(failed()),
        }
    }
    Err(ProbeError::unavailable(name.to_string_lossy(), "grows faster than it can be read"))
}
