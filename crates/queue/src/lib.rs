//! Queues between threads, by little code.
//!
//! The standard library's channels come in three kinds, compiled for every type that is sent: 6 KB each. This is one kind, behind
//! a lock: 1 KB. It is for what is sent a few thousand times a second at most; methods and errors are those of [`std::sync::mpsc`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a receiver looks for a value before it sleeps, after twice as long each time: some microseconds together.
const LOOKS_MAX: u32 = 9;

/// Two ends of a queue that takes any number of values.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    bounded(usize::MAX)
}

/// Two ends of a queue that holds up to `capacity` values, at least one; whoever sends more waits.
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let state =
        State { values: VecDeque::new(), sender_count: 1, has_receiver: true, is_awaited: false, waiting_count: 0 };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        capacity: capacity.max(1),
        changed: Condvar::new(),
        has_room: Condvar::new(),
    });
    (Sender { shared: Arc::clone(&shared) }, Receiver { shared })
}

struct Shared<T> {
    state: Mutex<State<T>>,
    capacity: usize,
    /// A value was sent, or the last sender is gone. Only the receiver waits for it.
    changed: Condvar,
    /// A value was taken, or the receiver is gone. Senders wait for it.
    has_room: Condvar,
}

struct State<T> {
    values: VecDeque<T>,
    sender_count: usize,
    has_receiver: bool,
    /// The receiver waits. To wake nobody is a system call too.
    is_awaited: bool,
    /// Senders that wait.
    waiting_count: usize,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // No code of values runs under the lock, but for a failing allocation, which ends the process.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, state: &mut State<T>, value: T) {
        state.values.push_back(value);
        if state.is_awaited {
            self.changed.notify_one();
        }
    }

    fn take(&self, state: &mut State<T>) -> Option<T> {
        let value = state.values.pop_front()?;
        if state.waiting_count > 0 {
            self.has_room.notify_one();
        }
        Some(value)
    }
}

/// The end that values are sent to.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Sends a value; waits while the queue is full.
    ///
    /// # Errors
    /// The receiver is gone; the value comes back.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let mut state = self.shared.lock();
        while state.has_receiver && state.values.len() >= self.shared.capacity {
            state.waiting_count += 1;
            state = self.shared.has_room.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting_count -= 1;
        }
        if !state.has_receiver {
            return Err(SendError(value));
        }
        self.shared.put(&mut state, value);
        Ok(())
    }

    /// Sends a value if there is room for it.
    ///
    /// # Errors
    /// The queue is full, or the receiver is gone; the value comes back.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let mut state = self.shared.lock();
        if !state.has_receiver {
            return Err(TrySendError::Disconnected(value));
        }
        if state.values.len() >= self.shared.capacity {
            return Err(TrySendError::Full(value));
        }
        self.shared.put(&mut state, value);
        Ok(())
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sender")
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.shared.lock().sender_count += 1;
        Sender { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.lock().sender_count -= 1;
        self.shared.changed.notify_one();
    }
}

/// The end that values come from.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Receiver<T> {
    /// The next value; waits for it.
    ///
    /// # Errors
    /// The queue is empty, and all senders are gone.
    pub fn recv(&self) -> Result<T, RecvError> {
        self.next_until(None).map_err(|_| RecvError)
    }

    /// The next value; waits for it for a while.
    ///
    /// # Errors
    /// None came, or the queue is empty, and all senders are gone.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        // Later than the clock can say: without end.
        self.next_until(Instant::now().checked_add(timeout))
    }

    /// The next value, if it is there.
    ///
    /// # Errors
    /// The queue is empty.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.shared.lock();
        match self.shared.take(&mut state) {
            Some(value) => Ok(value),
            None if state.sender_count == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Value after value, until all senders are gone.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }

    /// The values that are there.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.try_recv().ok())
    }

    fn next_until(&self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        let changed = &self.shared.changed;
        let mut state = self.shared.lock();
        let mut looks = 0;
        loop {
            if let Some(value) = self.shared.take(&mut state) {
                return Ok(value);
            }
            if state.sender_count == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            // What comes at once need not wake anybody, which takes far longer than to look again.
            if looks < LOOKS_MAX {
                drop(state);
                (0..1 << looks).for_each(|_| std::hint::spin_loop());
                looks += 1;
                state = self.shared.lock();
                continue;
            }
            state.is_awaited = true;
            state = match deadline {
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.is_awaited = false;
                        return Err(RecvTimeoutError::Timeout);
                    }
                    changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.is_awaited = false;
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Receiver")
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.has_receiver = false;
        // What is left is dropped outside of the lock: it may hold an end of this queue.
        let left = std::mem::take(&mut state.values);
        drop(state);
        self.shared.has_room.notify_all();
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn values_come_in_the_order_in_which_they_were_sent() {
        let (sender, receiver) = channel();
        let other = sender.clone();
        thread::scope(|scope| {
            scope.spawn(move || (0..1000).for_each(|value| sender.send((0, value)).unwrap()));
            scope.spawn(move || (0..1000).for_each(|value| other.send((1, value)).unwrap()));
            let mut next = [0, 0];
            for (from, value) in receiver.iter() {
                assert_eq!(value, next[from]);
                next[from] += 1;
            }
            assert_eq!(next, [1000, 1000]);
        });
    }

    #[test]
    fn a_full_queue_makes_senders_wait() {
        let (sender, receiver) = bounded(2);
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
        thread::scope(|scope| {
            let sending = scope.spawn(|| sender.send(3));
            // Only this makes room for it.
            assert_eq!(receiver.recv(), Ok(1));
            assert_eq!(sending.join().unwrap(), Ok(()));
        });
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn each_end_hears_that_the_other_is_gone() {
        let (sender, receiver) = channel();
        sender.send(1).unwrap();
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Ok(1));
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        sender.send(2).unwrap();
        drop(sender);
        // What was sent before is still there.
        assert_eq!(receiver.recv(), Ok(2));
        assert_eq!(receiver.recv(), Err(RecvError));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(receiver.recv_timeout(Duration::MAX), Err(RecvTimeoutError::Disconnected));

        let (sender, receiver) = bounded(1);
        sender.send(1).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| sender.send(2));
            drop(receiver);
            assert_eq!(waiting.join().unwrap(), Err(SendError(2)));
        });
        assert_eq!(sender.try_send(3), Err(TrySendError::Disconnected(3)));
    }

    // A value that holds an end of its own queue must not wait for the lock that its dropping holds.
    #[test]
    fn a_queue_may_hold_its_own_end() {
        let (sender, receiver) = channel();
        sender.send(Box::new(sender.clone()) as Box<dyn Send>).unwrap();
        drop(receiver);
        assert!(sender.send(Box::new(())).is_err());
    }
}
