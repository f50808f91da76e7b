//! Reads a value on a separate thread while other work goes on. Reading hundreds of small files of `/proc` and `/sys`
//! takes a quarter of the time of a command that moves one block.

use std::cell::{Cell, OnceCell};
use std::thread::{self, JoinHandle};

/// A value that is read on a separate thread.
pub struct BackgroundRead<T> {
    read: fn() -> T,
    thread: Cell<Option<JoinHandle<T>>>,
    value: OnceCell<T>,
}

impl<T: Send + 'static> BackgroundRead<T> {
    /// Starts to read. If no thread can be started, the first [`BackgroundRead::get`] reads.
    pub fn begin(read: fn() -> T) -> BackgroundRead<T> {
        let thread = thread::Builder::new().name("looks".to_owned()).spawn(read).ok();
        BackgroundRead { read, thread: Cell::new(thread), value: OnceCell::new() }
    }

    /// Returns the value. The first call waits for the thread, so that it is not left running.
    pub fn get(&self) -> &T {
        self.value.get_or_init(|| {
            let read = self.thread.take().and_then(|thread| thread.join().ok());
            read.unwrap_or_else(self.read)
        })
    }

    /// Like [`BackgroundRead::get`], but returns the value itself.
    pub fn into_inner(self) -> T {
        self.get();
        self.value.into_inner().unwrap_or_else(self.read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    // Protects: the value is read once, however often it is requested.
    #[test]
    fn all_calls_share_one_reading() {
        static READ: AtomicU32 = AtomicU32::new(0);
        let beside = BackgroundRead::begin(|| READ.fetch_add(1, Ordering::Relaxed));
        assert_eq!((*beside.get(), *beside.get()), (0, 0));
        assert_eq!((beside.into_inner(), READ.load(Ordering::Relaxed)), (0, 1));
    }
}
