//! Record locks around ops: a backend wrapper that locks the range of an op while it executes.
//!
//! Record locks belong to the process, so threads of one process do not exclude each other. They exclude other
//! processes, and also other machines if the file system forwards locks. Source: fcntl(2), "Advisory record locking".
#![allow(unsafe_code)]

use crate::backend::{
    Begun, BlockContext, Completion, Done, Errno, NOT_OPEN, NotBegun, QueuedBackend, Slot, SyncBackend, Unfinished,
    Wait,
};
use crate::content::Mismatch;
use crate::op::{BlockOp, Role};
use plumb_workload::OpKind;
use plumb_workload::files::RecordLock;
use std::collections::VecDeque;
use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockRule {
    pub(crate) lock: RecordLock,
    /// Read each write back at once, under the same lock.
    pub(crate) over_read_back: bool,
}

impl LockRule {
    /// Takes the lock for an op.
    fn take(self, context: Option<&BlockContext>, op: &BlockOp) -> Result<(), Errno> {
        let kind = match op.kind {
            OpKind::Read if self.over_read_back && op.role == Role::ReadBack => return Ok(()),
            OpKind::Read => libc::F_RDLCK as libc::c_short,
            OpKind::Write => libc::F_WRLCK as libc::c_short,
            _ => return Ok(()),
        };
        self.set(context, op, kind)
    }

    /// Releases the lock of an op. Returns the op's own error first, if it has one.
    fn release(self, context: Option<&BlockContext>, op: &BlockOp, done: Completion) -> Completion {
        let keeps = self.over_read_back && op.kind == OpKind::Write && done.is_ok();
        if keeps || !matches!(op.kind, OpKind::Read | OpKind::Write) {
            return done;
        }
        let released = self.set(context, op, libc::F_UNLCK as libc::c_short);
        done.and_then(|moved| released.map(|()| moved))
    }

    fn set(self, context: Option<&BlockContext>, op: &BlockOp, kind: libc::c_short) -> Result<(), Errno> {
        let fd = context.map_or(NOT_OPEN, |context| context.files.fd(op));
        let (start, length) = match self.lock {
            RecordLock::OpRange => (op.offset as libc::off_t, libc::off_t::from(op.length)),
            // Length 0 means up to the end of the file, even as it grows.
            RecordLock::WholeFile => (0, 0),
        };
        // SAFETY: a struct of integers, for which all zeros is valid.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind;
        lock.l_whence = libc::SEEK_SET as _;
        (lock.l_start, lock.l_len) = (start, length);
        loop {
            // SAFETY: reads a struct that outlives the call; a bad descriptor is an error.
            if unsafe { libc::fcntl(fd, libc::F_SETLKW, &raw const lock) } == 0 {
                return Ok(());
            }
            let errno = Errno::last();
            if errno.0 != libc::EINTR {
                return Err(errno);
            }
        }
    }
}

/// Executes one op at a time, each under its lock.
pub(crate) struct LockedCalls<'a> {
    rule: LockRule,
    inner: Box<dyn SyncBackend<Op = BlockOp> + 'a>,
}

impl<'a> LockedCalls<'a> {
    pub(crate) fn new(rule: LockRule, inner: Box<dyn SyncBackend<Op = BlockOp> + 'a>) -> LockedCalls<'a> {
        LockedCalls { rule, inner }
    }
}

impl SyncBackend for LockedCalls<'_> {
    type Op = BlockOp;

    fn context(&self) -> Option<&BlockContext> {
        self.inner.context()
    }

    fn context_mut(&mut self) -> Option<&mut BlockContext> {
        self.inner.context_mut()
    }

    fn begin(&mut self) -> Result<Begun, NotBegun> {
        self.inner.begin()
    }

    fn execute(&mut self, op: &BlockOp) -> Completion {
        self.rule.take(self.inner.context(), op)?;
        let done = self.inner.execute(op);
        self.rule.release(self.inner.context(), op, done)
    }

    fn after(&mut self, op: &BlockOp, moved: u64) -> Result<(), Box<Mismatch>> {
        self.inner.after(op, moved)
    }

    fn works_between_ops(&self) -> bool {
        self.inner.works_between_ops()
    }

    fn finish(&mut self) -> Result<(), Unfinished> {
        self.inner.finish()
    }
}

/// Keeps several ops in flight, each under its lock. Locks are taken and released inside `enter`, so their time is
/// part of the op's time.
pub(crate) struct LockedQueue {
    rule: LockRule,
    inner: Box<dyn QueuedBackend>,
    /// Submitted, but not yet passed to `inner`.
    waiting: Vec<(Slot, BlockOp)>,
    /// Ops in flight, by slot.
    ops: Vec<Option<BlockOp>>,
    done: VecDeque<Done>,
}

impl LockedQueue {
    /// Makes room for `depth` ops in flight.
    pub(crate) fn new(rule: LockRule, depth: u32, inner: Box<dyn QueuedBackend>) -> LockedQueue {
        let slots = depth as usize;
        LockedQueue {
            rule,
            inner,
            waiting: Vec::with_capacity(slots),
            ops: vec![None; slots],
            done: VecDeque::with_capacity(slots),
        }
    }
}

impl QueuedBackend for LockedQueue {
    fn context(&self) -> Option<&BlockContext> {
        self.inner.context()
    }

    fn context_mut(&mut self) -> Option<&mut BlockContext> {
        self.inner.context_mut()
    }

    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        self.waiting.push((slot, *op));
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        for (slot, op) in self.waiting.drain(..) {
            match self.rule.take(self.inner.context(), &op) {
                Ok(()) => {
                    self.ops[usize::from(slot)] = Some(op);
                    self.inner.submit(&op, slot);
                }
                Err(errno) => self.done.push_back(Done { slot, completion: Err(errno) }),
            }
        }
        // An op that could not be locked is already complete: return it before waiting for others.
        let wait = if self.done.is_empty() { wait } else { Wait::For(0) };
        self.inner.enter(wait)?;
        while let Some(Done { slot, completion }) = self.inner.completed() {
            let completion = match self.ops[usize::from(slot)].take() {
                Some(op) => self.rule.release(self.inner.context(), &op, completion),
                None => completion,
            };
            self.done.push_back(Done { slot, completion });
        }
        Ok(())
    }

    fn completed(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn helpers_cpu_ns(&self) -> u64 {
        self.inner.helpers_cpu_ns()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::backend::has_context;
    use crate::backend::tests::{block_files, marked_payload, open};
    use std::cell::RefCell;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::path::Path;
    use std::rc::Rc;

    /// A conflicting lock: kind, start and length.
    type ConflictingLock = Option<(i32, i64, i64)>;

    /// Returns the lock that conflicts with a write lock on the whole file. Queries with an open file description lock,
    /// which conflicts with process locks even in the same process. Source: fcntl(2), "Open file description locks".
    fn held(other: &File) -> ConflictingLock {
        // SAFETY: a struct of integers, for which all zeros is valid.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short as _;
        // SAFETY: reads and writes a struct that outlives the call.
        let returned = unsafe { libc::fcntl(other.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
        assert_eq!(returned, 0, "{}", io::Error::last_os_error());
        let kind = i32::from(lock.l_type);
        (kind != libc::F_UNLCK).then_some((kind, lock.l_start, lock.l_len))
    }

    /// Records the locks held while an op executes.
    struct LockProbe {
        context: BlockContext,
        other: File,
        seen: Rc<RefCell<Vec<ConflictingLock>>>,
        fails: bool,
    }

    impl SyncBackend for LockProbe {
        type Op = BlockOp;

        has_context!();

        fn execute(&mut self, op: &BlockOp) -> Completion {
            self.seen.borrow_mut().push(held(&self.other));
            if self.fails { Err(Errno(libc::EIO)) } else { Ok(u64::from(op.length)) }
        }
    }

    impl QueuedBackend for LockProbe {
        has_context!();

        fn submit(&mut self, _op: &BlockOp, _slot: Slot) {
            self.seen.borrow_mut().push(held(&self.other));
        }

        fn enter(&mut self, _wait: Wait) -> io::Result<()> {
            Ok(())
        }

        fn completed(&mut self) -> Option<Done> {
            let in_flight = self.seen.borrow_mut().pop()?;
            Some(Done { slot: 0, completion: Ok(u64::from(in_flight.is_some())) })
        }

        fn name(&self) -> &'static str {
            "lock-probe"
        }
    }

    fn lock_probe(path: &Path, file: &File, fails: bool) -> (LockProbe, Rc<RefCell<Vec<ConflictingLock>>>) {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let context = BlockContext { files: block_files(file, path), payload: marked_payload(2) };
        (LockProbe { context, other: open(path), seen: Rc::clone(&seen), fails }, seen)
    }

    fn op(kind: OpKind, role: Role) -> BlockOp {
        BlockOp { role, ..BlockOp::load(kind, 0, 4096, 8192) }
    }

    const READ: i32 = libc::F_RDLCK;
    const WRITE: i32 = libc::F_WRLCK;

    // Protects other processes: a range is locked while it is read or written, and no longer.
    #[test]
    fn an_op_holds_its_lock_while_it_is_done() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = open(&path);
        for (lock, start, length) in [(RecordLock::OpRange, 4096, 8192), (RecordLock::WholeFile, 0, 0)] {
            for fails in [false, true] {
                let (inner, seen) = lock_probe(&path, &file, fails);
                let other = open(&path);
                let mut calls = LockedCalls::new(LockRule { lock, over_read_back: false }, Box::new(inner));
                for kind in [OpKind::Read, OpKind::Write, OpKind::Fsync] {
                    let done = calls.execute(&op(kind, Role::Load));
                    assert_eq!(done.is_err(), fails);
                    assert_eq!(held(&other), None, "after {kind:?}");
                }
                assert_eq!(*seen.borrow(), [Some((READ, start, length)), Some((WRITE, start, length)), None]);
            }
        }
    }

    // Protects a read-back from writers in between.
    #[test]
    fn the_lock_of_a_write_lasts_until_its_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = open(&path);
        let (inner, seen) = lock_probe(&path, &file, false);
        let other = open(&path);
        let mut calls = LockedCalls::new(LockRule { lock: RecordLock::OpRange, over_read_back: true }, Box::new(inner));
        let written = Some((WRITE, 4096, 8192));
        calls.execute(&op(OpKind::Write, Role::Load)).unwrap();
        assert_eq!(held(&other), written);
        calls.execute(&op(OpKind::Read, Role::ReadBack)).unwrap();
        assert_eq!(held(&other), None);
        assert_eq!(*seen.borrow(), [written, written]);
    }

    // Protects queues: an op is locked before it is submitted and unlocked as soon as it completes.
    #[test]
    fn an_op_of_a_queue_holds_its_lock_until_it_is_done() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = open(&path);
        let (inner, seen) = lock_probe(&path, &file, false);
        let other = open(&path);
        let rule = LockRule { lock: RecordLock::OpRange, over_read_back: false };
        let mut queue = LockedQueue::new(rule, 2, Box::new(inner));
        queue.submit(&op(OpKind::Write, Role::Load), 0);
        assert_eq!((held(&other), seen.borrow().len()), (None, 0), "nothing is locked before it is submitted");
        queue.enter(Wait::For(1)).unwrap();
        assert_eq!(held(&other), None);
        assert_eq!(queue.completed(), Some(Done { slot: 0, completion: Ok(1) }), "locked while it was in flight");
        // A file that is not open cannot be locked: the op fails, and nothing waits for it.
        queue.context_mut().unwrap().files.fds[0] = crate::backend::NOT_OPEN;
        queue.submit(&op(OpKind::Write, Role::Load), 1);
        queue.enter(Wait::For(1)).unwrap();
        assert_eq!(queue.completed(), Some(Done { slot: 1, completion: Err(Errno(libc::EBADF)) }));
        assert_eq!((queue.completed(), seen.borrow().len()), (None, 0));
    }
}
