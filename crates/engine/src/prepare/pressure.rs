//! Memory held during a phase so that the page cache cannot use it.
#![allow(unsafe_code)]

use crate::guard::space::MachineMemory;
use crate::os;
use crate::signals::StopFlag;
use rustix::process::{Resource, Rlimit};
use std::io;
use thiserror::Error;

/// Bytes locked between two checks of the stop flag.
const STEP_BYTES: usize = 64 << 20;

/// Memory left for other processes. With less, the machine would kill processes instead of shrinking its cache.
const RESERVE_BYTES: u64 = 256 << 20;

/// Error from holding memory.
#[derive(Debug, Error)]
pub enum PressureError {
    /// The request exceeds the available memory.
    #[error(
        "holding {wanted_bytes} bytes of memory would leave too little: {available_bytes} bytes are available, and {reserve} must stay free; use a `memory-pressure` of at most {most} bytes",
        reserve = RESERVE_BYTES, most = available_bytes.saturating_sub(RESERVE_BYTES)
    )]
    TooMuch {
        wanted_bytes: u64,
        /// Available bytes: the smaller of the machine's and the control group's.
        available_bytes: u64,
    },
    #[error("could not hold {wanted_bytes} bytes of memory: {source}; use a smaller `memory-pressure`")]
    Io { wanted_bytes: u64, source: io::Error },
    #[error("stopped while memory was being allocated")]
    Stopped,
}

/// Memory held until this value is dropped.
#[derive(Debug)]
pub struct MemoryPressure {
    start: *mut libc::c_void,
    length: usize,
    locked_bytes: u64,
}

// SAFETY: only this value owns the mapping, and nothing in it is read or written after it was created.
unsafe impl Send for MemoryPressure {}
// SAFETY: as above; a shared reference gives access to numbers only.
unsafe impl Sync for MemoryPressure {}

impl MemoryPressure {
    /// Takes `bytes` of memory and locks it if `ulimit -l` allows. Otherwise it only touches the pages, and the machine
    /// can swap them out; see [`MemoryPressure::locked_bytes`]. `usable_bytes` is an additional limit, such as the
    /// remaining memory of a control group.
    ///
    /// # Errors
    /// [`PressureError`].
    pub fn hold(bytes: u64, usable_bytes: Option<u64>, stop: StopFlag) -> Result<MemoryPressure, PressureError> {
        let machine_bytes = MachineMemory::now().map(|memory| memory.available_bytes);
        let available_bytes = machine_bytes.into_iter().chain(usable_bytes).min().unwrap_or(u64::MAX);
        if bytes.saturating_add(RESERVE_BYTES) > available_bytes {
            return Err(PressureError::TooMuch { wanted_bytes: bytes, available_bytes });
        }
        let failed = |source: io::Error| PressureError::Io { wanted_bytes: bytes, source };
        let length = usize::try_from(bytes).map_err(|error| failed(io::Error::other(error)))?;
        if length == 0 {
            return Ok(MemoryPressure { start: std::ptr::null_mut(), length: 0, locked_bytes: 0 });
        }
        raise_lock_limit(bytes);
        // SAFETY: a new mapping at an address chosen by the kernel.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | os::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(failed(io::Error::last_os_error()));
        }
        let mut pressure = MemoryPressure { start, length, locked_bytes: 0 };
        for &advice in os::OCCUPIED {
            // SAFETY: this value owns the mapping. The kernel may ignore the advice.
            unsafe { libc::madvise(start, length, advice) };
        }
        let mut offset = 0;
        while offset < length {
            if stop.requested() {
                return Err(PressureError::Stopped);
            }
            let step = STEP_BYTES.min(length - offset);
            pressure.take(offset, step);
            offset += step;
        }
        Ok(pressure)
    }

    /// Locks a part of the mapping, or touches its pages if locking is not allowed.
    fn take(&mut self, offset: usize, length: usize) {
        // SAFETY: `offset + length` is within the mapping, so the sum points into it.
        let part = unsafe { self.start.cast::<u8>().add(offset) };
        // SAFETY: the part is mapped; mlock faults pages in and changes nothing.
        if unsafe { libc::mlock(part.cast(), length) } == 0 {
            self.locked_bytes += length as u64;
            return;
        }
        for page in (0..length).step_by(rustix::param::page_size()) {
            // SAFETY: the address is within the part, which is writable and has no other references. The volatile write
            // cannot be optimized away. The value is not zero, so the kernel cannot replace the page by its zero page.
            unsafe { part.add(page).write_volatile(1) };
        }
    }

    pub fn held_bytes(&self) -> u64 {
        self.length as u64
    }

    /// Returns how many of the held bytes cannot be swapped out.
    pub fn locked_bytes(&self) -> u64 {
        self.locked_bytes
    }
}

impl Drop for MemoryPressure {
    fn drop(&mut self) {
        if self.length > 0 {
            // SAFETY: `hold` created the mapping with this start and length; unmapping also unlocks it.
            unsafe { libc::munmap(self.start, self.length) };
        }
    }
}

/// Raises the soft lock limit by `bytes`, up to the hard limit. Root is exempt from the limit.
fn raise_lock_limit(bytes: u64) {
    let limit = rustix::process::getrlimit(Resource::Memlock);
    if let Some(current) = limit.current {
        let wanted = current.saturating_add(bytes).min(limit.maximum.unwrap_or(u64::MAX));
        let _ = rustix::process::setrlimit(Resource::Memlock, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_bytes() -> u64 {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
        pages * rustix::param::page_size() as u64
    }

    #[test]
    fn memory_is_held_and_released() {
        const HELD: u64 = 192 << 20;
        let before = resident_bytes();
        let pressure = MemoryPressure::hold(HELD, None, StopFlag::detached()).unwrap();
        assert_eq!(pressure.held_bytes(), HELD);
        let during = resident_bytes();
        assert!(during >= before + HELD / 2, "{before} {during}");
        drop(pressure);
        assert!(resident_bytes() < during - HELD / 2);
    }

    #[test]
    fn more_than_the_machine_or_the_control_group_has_is_refused() {
        let stop = StopFlag::detached();
        let refused = MemoryPressure::hold(u64::MAX / 2, None, stop);
        assert!(matches!(refused, Err(PressureError::TooMuch { .. })));
        let refused = MemoryPressure::hold(1 << 20, Some(RESERVE_BYTES), stop);
        assert!(matches!(refused, Err(PressureError::TooMuch { available_bytes: RESERVE_BYTES, .. })));
        MemoryPressure::hold(0, None, stop).unwrap();
    }

    #[test]
    fn taking_memory_stops_when_asked() {
        let stop = StopFlag::detached();
        stop.request();
        assert!(matches!(MemoryPressure::hold(1 << 20, None, stop), Err(PressureError::Stopped)));
    }
}
