//! Reading in a thread of its own while other work goes on: hundreds of small files of `/proc` and `/sys` are a quarter of the time of a
//! command that moves one block.

use std::cell::{Cell, OnceCell};
use std::thread::{self, JoinHandle};

/// A value that is being read, or has been.
pub struct Beside<T> {
    read: fn() -> T,
    thread: Cell<Option<JoinHandle<T>>>,
    value: OnceCell<T>,
}

impl<T: Send + 'static> Beside<T> {
    /// Begins to read. Where no thread can be had, the first question reads.
    pub fn begin(read: fn() -> T) -> Beside<T> {
        let thread = thread::Builder::new().name("looks".to_owned()).spawn(read).ok();
        Beside { read, thread: Cell::new(thread), value: OnceCell::new() }
    }

    /// What was read. The first question waits for it: no thread is left behind then.
    pub fn get(&self) -> &T {
        self.value.get_or_init(|| {
            let read = self.thread.take().and_then(|thread| thread.join().ok());
            read.unwrap_or_else(self.read)
        })
    }

    /// As [`Beside::get`], to keep.
    pub fn into_inner(self) -> T {
        self.get();
        self.value.into_inner().unwrap_or_else(self.read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    // Protects: it is read once, however often one asks.
    #[test]
    fn one_reading_answers_all() {
        static READ: AtomicU32 = AtomicU32::new(0);
        let beside = Beside::begin(|| READ.fetch_add(1, Ordering::Relaxed));
        assert_eq!((*beside.get(), *beside.get()), (0, 0));
        assert_eq!((beside.into_inner(), READ.load(Ordering::Relaxed)), (0, 1));
    }
}
