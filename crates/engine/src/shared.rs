//! Memory that workers and their coordinator share, whether workers are threads or processes: one anonymous shared
//! mapping, zeroed by the kernel, of types that are plain atomics.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

/// A type that is valid when zeroed, holds nothing but atomics, and may be used from several processes at once.
///
/// # Safety
/// Implement it only for `#[repr(C)]` types made of atomics and arrays of them.
pub(crate) unsafe trait Shareable: Sync {}

// SAFETY: AtomicU64 is an integer with interior mutability by atomics; all zeros is the value 0.
unsafe impl Shareable for std::sync::atomic::AtomicU64 {}
// SAFETY: as above.
unsafe impl Shareable for std::sync::atomic::AtomicI32 {}

/// A zeroed slice in memory that stays shared across `fork`.
pub(crate) struct SharedSlice<T: Shareable> {
    start: NonNull<T>,
    length: usize,
    bytes: usize,
    owns: PhantomData<T>,
}

// SAFETY: `T: Shareable` may be used from several threads and processes at once; the mapping lives as long as the slice.
unsafe impl<T: Shareable> Send for SharedSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Shareable> Sync for SharedSlice<T> {}

impl<T: Shareable> SharedSlice<T> {
    /// Maps `length` zeroed values. Pages come into being when they are first written.
    pub(crate) fn new(length: usize) -> io::Result<SharedSlice<T>> {
        let bytes = (length * size_of::<T>()).max(1);
        // SAFETY: a fresh anonymous mapping, no address asked for.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<T>()).expect("mmap without MAP_FIXED never returns null");
        Ok(SharedSlice { start, length, bytes, owns: PhantomData })
    }
}

impl<T: Shareable> Deref for SharedSlice<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `start` maps `length` zero-initialised values for as long as `self` lives; `T: Shareable` is valid zeroed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Shareable> Drop for SharedSlice<T> {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with exactly this length; no reference outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
