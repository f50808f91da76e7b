//! Memory shared by workers and their coordinator, as threads or processes. It is an anonymous shared mapping, zeroed
//! by the kernel, with types made of plain atomics. If all of them are in one process, private memory is used instead,
//! which is cheaper to allocate.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

/// A type that is valid when zeroed, consists only of atomics, and may be used by several processes at once.
///
/// # Safety
/// Implement it only for `#[repr(C)]` types made of atomics and arrays of them.
pub(crate) unsafe trait Shareable: Sync {}

// SAFETY: AtomicU64 is an integer with interior mutability through atomics; all zeros is the value 0.
unsafe impl Shareable for std::sync::atomic::AtomicU64 {}
// SAFETY: as above.
unsafe impl Shareable for std::sync::atomic::AtomicI32 {}

/// A zeroed slice in memory that stays shared across `fork`.
pub(crate) struct SharedSlice<T: Shareable> {
    start: NonNull<T>,
    length: usize,
    memory: Memory,
    owns: PhantomData<T>,
}

/// Kind of memory of a slice.
enum Memory {
    /// A mapping, with its length in bytes.
    Mapped(usize),
    /// The heap, with the layout of the allocation.
    Heap(Layout),
}

/// Up to this size in bytes, clearing heap memory costs less than a mapping with its page faults.
const HEAP_BYTES_MAX: usize = 64 << 10;

/// Keeps other heap data out of the cache line of shared data, and out of the adjacent one that CPUs prefetch.
const HEAP_ALIGN_BYTES: usize = 128;

thread_local! {
    /// Whether new slices of this thread are for this process only.
    static FOR_THIS_PROCESS: Cell<bool> = const { Cell::new(false) };
}

/// Makes all slices that `make` creates private to this process.
pub(crate) fn for_this_process<R>(make: impl FnOnce() -> R) -> R {
    let before = FOR_THIS_PROCESS.replace(true);
    let made = make();
    FOR_THIS_PROCESS.set(before);
    made
}

// SAFETY: `T: Shareable` may be used from several threads and processes at once; the mapping lives
// as long as the slice.
unsafe impl<T: Shareable> Send for SharedSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Shareable> Sync for SharedSlice<T> {}

impl<T: Shareable> SharedSlice<T> {
    /// Allocates `length` zeroed values. The kernel provides pages when they are first written.
    pub(crate) fn new(length: usize) -> io::Result<SharedSlice<T>> {
        let bytes = (length * size_of::<T>()).max(1);
        let shared = if FOR_THIS_PROCESS.get() { libc::MAP_PRIVATE } else { libc::MAP_SHARED };
        if shared == libc::MAP_PRIVATE && bytes <= HEAP_BYTES_MAX {
            return Ok(SharedSlice::on_heap(length, bytes));
        }
        // SAFETY: a new anonymous mapping; no address is requested.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                shared | libc::MAP_ANONYMOUS | crate::os::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<T>()).expect("mmap without MAP_FIXED never returns null");
        Ok(SharedSlice { start, length, memory: Memory::Mapped(bytes), owns: PhantomData })
    }

    fn on_heap(length: usize, bytes: usize) -> SharedSlice<T> {
        let bytes = bytes.next_multiple_of(HEAP_ALIGN_BYTES);
        let Ok(layout) = Layout::from_size_align(bytes, align_of::<T>().max(HEAP_ALIGN_BYTES)) else {
            unreachable!("{HEAP_BYTES_MAX} bytes fit anywhere")
        };
        // SAFETY: the size is at least one byte.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start.cast::<T>()) else { handle_alloc_error(layout) };
        SharedSlice { start, length, memory: Memory::Heap(layout), owns: PhantomData }
    }
}

impl<T: Shareable> Deref for SharedSlice<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `start` points to `length` zero-initialised values that live as long as `self`;
        // `T: Shareable` is valid zeroed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T: Shareable> Drop for SharedSlice<T> {
    fn drop(&mut self) {
        match self.memory {
            // SAFETY: mapped by `new` with exactly this length; no reference outlives `self`.
            Memory::Mapped(bytes) => _ = unsafe { libc::munmap(self.start.as_ptr().cast(), bytes) },
            // SAFETY: allocated with this layout; no reference outlives `self`.
            Memory::Heap(layout) => unsafe { dealloc(self.start.as_ptr().cast(), layout) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;

    // Protects shared memory: slices of every kind start with zeros and hold written values, up to their end.
    #[test]
    fn slices_are_zeroed_in_every_kind_of_memory() {
        for length in [0, 1, 1000, 100_000] {
            let make = || SharedSlice::<AtomicU64>::new(length).unwrap();
            for slice in [make(), for_this_process(make)] {
                assert_eq!(slice.len(), length);
                assert!(slice.iter().all(|word| word.load(Relaxed) == 0));
                slice.iter().for_each(|word| word.store(7, Relaxed));
                assert!(slice.iter().all(|word| word.load(Relaxed) == 7));
            }
        }
    }
}
