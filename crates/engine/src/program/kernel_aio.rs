//! The kernel's native asynchronous I/O for a script's transfers: requests gather until a batch can be
//! submitted, and a full queue is emptied by a batch. Sources: io_submit(2); `aiori-aio.c` of IOR, whose
//! calls are reproduced one for one.
//!
//! A transfer is over when its request is prepared. An error of a request is returned when its event is taken: by a
//! later transfer, a flush or a close. Only a flush or a close guarantees that the data was moved.

use crate::backend::aio_slots::{AioMove, AioSlots};
use crate::backend::libaio::{IoEvent, KernelQueue};
use crate::backend::{Completion, Errno};
use crate::program::descriptor::system;
use crate::worker_error::WorkerError;
use plumb_workload::program::Via;
use std::os::fd::BorrowedFd;

/// Maximum number of events that one call takes. Source: IOR.
const EVENTS_MAX: usize = 512;

/// Limits of a transfer: the number of requests at once, and the number per submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AioLimits {
    pub(super) depth: usize,
    pub(super) batch: usize,
}

impl AioLimits {
    /// Returns the limits of a transfer by kernel AIO; `None` for other calls.
    pub(super) fn from_via(via: Via) -> Option<AioLimits> {
        match via {
            Via::KernelAio { depth, batch } => Some(AioLimits { depth: depth as usize, batch: batch as usize }),
            _ => None,
        }
    }
}

/// A request in a slot.
#[derive(Debug, Clone, Copy)]
struct Request {
    moves: AioMove,
    offset: u64,
    bytes: u64,
}

/// Requests of one worker on all of its files.
pub(super) struct KernelAio {
    slots: AioSlots,
    /// Requests by slot.
    requests: Box<[Option<Request>]>,
    free: Vec<usize>,
    /// Slots of prepared requests that were not submitted yet.
    waiting: Vec<usize>,
    /// Number of submitted requests whose events were not taken yet.
    in_flight: usize,
    /// The first failure since the last report.
    failure: Option<String>,
}

impl KernelAio {
    /// Allocates requests of up to `record_bytes` for a queue that was created with this depth.
    pub(super) fn new(queue: KernelQueue, depth: usize, record_bytes: u64) -> Result<KernelAio, WorkerError> {
        Ok(KernelAio {
            slots: AioSlots::new(queue, depth, record_bytes, depth.min(EVENTS_MAX))?,
            requests: vec![None; depth].into(),
            free: (0..depth).rev().collect(),
            waiting: Vec::with_capacity(depth),
            in_flight: 0,
            failure: None,
        })
    }

    /// Takes the message of the first failure since the last call.
    pub(super) fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    fn note(&mut self, failure: String) {
        self.failure.get_or_insert(failure);
    }

    /// Returns a free slot. If there is none, waits for a batch of requests first.
    fn free_slot(&mut self, limits: AioLimits) -> Result<usize, Errno> {
        while self.waiting.len() + self.in_flight >= limits.depth.min(self.slots.len()).max(1) {
            self.hand_over()?;
            let batch = self.in_flight.min(limits.batch.max(1)).min(self.slots.events_max());
            self.take(batch, batch)?;
        }
        self.free.pop().ok_or(Errno(libc::EAGAIN))
    }

    /// Prepares a request. Once enough requests wait for a batch, submits all of them.
    fn prepare(&mut self, fd: BorrowedFd<'_>, slot: usize, request: Request, limits: AioLimits) -> Completion {
        let Request { moves, offset, bytes } = request;
        self.slots.prepare(slot, moves, fd, offset, bytes as usize);
        self.requests[slot] = Some(request);
        self.waiting.push(slot);
        if self.waiting.len() >= limits.batch {
            self.hand_over()?;
        }
        Ok(bytes)
    }

    /// Submits all waiting requests. After an error, the requests that the kernel did not accept are dropped.
    fn hand_over(&mut self) -> Result<(), Errno> {
        let (mut handed, mut outcome) = (0, Ok(()));
        while handed < self.waiting.len() && outcome.is_ok() {
            outcome = match self.slots.submit(&self.waiting[handed..]) {
                Ok(taken) => {
                    handed += taken;
                    self.in_flight += taken;
                    Ok(())
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => Ok(()),
                    // Completed requests make room in the queue.
                    Some(libc::EAGAIN | libc::ENOMEM) if self.in_flight > 0 => self.take(1, 1),
                    errno => {
                        self.note(format!("io_submit: {error}"));
                        Err(Errno(errno.unwrap_or(libc::EIO)))
                    }
                },
            };
        }
        self.free.extend(self.waiting.drain(..).skip(handed));
        outcome
    }

    /// Takes `least` to `most` events.
    ///
    /// # Errors
    /// The first failed request among them.
    fn take(&mut self, least: usize, most: usize) -> Result<(), Errno> {
        let mut first = Ok(());
        let mut taken = 0;
        // A signal may end the call early.
        while taken < least {
            let room = (most - taken).min(self.slots.events_max());
            let wanted = (least - taken).min(room);
            let count = self.slots.take(wanted, room).map_err(|error| {
                self.note(format!("io_getevents: {error}"));
                system(error)
            })?;
            for number in 0..count {
                first = first.and(self.complete(self.slots.event(number)));
            }
            taken += count;
            self.in_flight -= count;
        }
        first
    }

    /// Frees the slot of a completed request.
    fn complete(&mut self, event: IoEvent) -> Result<(), Errno> {
        let slot = event.data as usize;
        self.free.push(slot);
        let Some(Request { moves, offset, bytes }) = self.requests[slot].take() else { return Ok(()) };
        let what = match moves {
            AioMove::Read => "read",
            AioMove::Write => "write",
        };
        let errno = match u64::try_from(event.result) {
            Ok(moved) if moved == bytes => return Ok(()),
            Ok(moved) => {
                let hint = if moves == AioMove::Read { "is the file long enough?" } else { "is the file system full?" };
                self.note(format!("the {what} at byte {offset} moved {moved} of {bytes} bytes; {hint}"));
                Errno(libc::EIO)
            }
            Err(_) => {
                let errno = Errno(-event.result as i32);
                self.note(format!("the {what} of {bytes} bytes at byte {offset}: {}", errno.text()));
                errno
            }
        };
        Err(errno)
    }

    /// Prepares a write of a copy of `data`.
    pub(super) fn write(&mut self, fd: BorrowedFd<'_>, offset: u64, data: &[u8], limits: AioLimits) -> Completion {
        let slot = self.free_slot(limits)?;
        self.slots.memory(slot, data.len()).copy_from_slice(data);
        self.prepare(fd, slot, Request { moves: AioMove::Write, offset, bytes: data.len() as u64 }, limits)
    }

    /// Prepares a read whose data is discarded.
    pub(super) fn read(&mut self, fd: BorrowedFd<'_>, offset: u64, bytes: u64, limits: AioLimits) -> Completion {
        let slot = self.free_slot(limits)?;
        self.prepare(fd, slot, Request { moves: AioMove::Read, offset, bytes }, limits)
    }

    /// Waits for all requests, then reads and waits for the data.
    pub(super) fn read_now(&mut self, fd: BorrowedFd<'_>, offset: u64, data: &mut [u8]) -> Completion {
        self.drain()?;
        let slot = self.free.pop().ok_or(Errno(libc::EAGAIN))?;
        self.slots.prepare(slot, AioMove::Read, fd, offset, data.len());
        self.waiting.push(slot);
        self.hand_over()?;
        // The slot has no request, so that the caller judges a short read.
        self.take(1, 1)?;
        let result = self.slots.event(0).result;
        let moved = usize::try_from(result).map_err(|_| Errno(-result as i32))?;
        data[..moved].copy_from_slice(self.slots.memory(slot, moved));
        Ok(moved as u64)
    }

    /// Submits waiting requests, and waits for all requests.
    ///
    /// # Errors
    /// The first request that failed; all of them are waited for.
    pub(super) fn drain(&mut self) -> Result<(), Errno> {
        let mut first = self.hand_over();
        while self.in_flight > 0 {
            let before = self.in_flight;
            first = first.and(self.take(1, before));
            if self.in_flight == before {
                break;
            }
        }
        first
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    const RECORD: usize = 4096;

    fn aio(depth: usize) -> KernelAio {
        KernelAio::new(KernelQueue::new(depth as u32).unwrap(), depth, RECORD as u64).unwrap()
    }

    fn file(bytes: usize) -> (tempfile::TempDir, File) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        std::fs::write(&path, vec![0; bytes]).unwrap();
        let file = File::options().read(true).write(true).open(path).unwrap();
        (place, file)
    }

    /// Protects the size of submissions: requests gather to a batch, a full queue is emptied by a batch, and nothing is
    /// waiting or in flight after a drain.
    #[test]
    fn requests_are_submitted_and_awaited_in_batches() {
        let (place, file) = file(0);
        let mut aio = aio(8);
        let limits = AioLimits { depth: 8, batch: 3 };
        let mut pending = Vec::new();
        for number in 0..11u8 {
            let offset = u64::from(number) * RECORD as u64;
            assert_eq!(aio.write(file.as_fd(), offset, &[number + 1; RECORD], limits), Ok(RECORD as u64));
            pending.push((aio.waiting.len(), aio.in_flight));
        }
        let expected = [
            (1, 0),
            (2, 0),
            (0, 3),
            (1, 3),
            (2, 3),
            (0, 6),
            (1, 6),
            (2, 6),
            // The ninth request finds the queue full: two are submitted, and three complete.
            (1, 5),
            (2, 5),
            (0, 8),
        ];
        assert_eq!(pending, expected);
        assert_eq!(aio.drain(), Ok(()));
        assert_eq!((aio.waiting.len(), aio.in_flight, aio.free.len()), (0, 0, 8));
        let bytes = std::fs::read(place.path().join("file")).unwrap();
        let first: Vec<u8> = bytes.chunks(RECORD).map(|record| record[0]).collect();
        assert_eq!(first, (1..=11).collect::<Vec<u8>>());
        assert!(
            bytes.chunks(RECORD).all(|record| record.iter().all(|&byte| byte == record[0])),
            "records are mixed up"
        );
    }

    /// Protects verification: a synchronous read comes after all writes, and returns its data.
    #[test]
    fn a_synchronous_read_comes_after_all_writes() {
        let (_place, file) = file(2 * RECORD);
        let mut aio = aio(8);
        let limits = AioLimits { depth: 8, batch: 8 };
        aio.write(file.as_fd(), 0, &[7; RECORD], limits).unwrap();
        let mut data = [0; RECORD];
        assert_eq!(aio.read_now(file.as_fd(), 0, &mut data), Ok(RECORD as u64));
        assert_eq!((data, aio.in_flight, aio.waiting.len()), ([7; RECORD], 0, 0));
        assert_eq!(aio.read_now(file.as_fd(), 2 * RECORD as u64 - 100, &mut data), Ok(100), "the caller judges");
        assert_eq!(aio.read(file.as_fd(), RECORD as u64, RECORD as u64, limits), Ok(RECORD as u64));
        assert_eq!(aio.drain(), Ok(()));
    }

    /// Protects from silent losses: a failed or short request is an error of the call that takes its event, and the
    /// message names its offset. All other requests are still waited for.
    #[test]
    fn failed_requests_are_reported_with_their_place() {
        let (place, file) = file(RECORD);
        let read_only = File::open(place.path().join("file")).unwrap();
        let mut aio = aio(8);
        let limits = AioLimits { depth: 8, batch: 8 };
        aio.read(file.as_fd(), 0, RECORD as u64, limits).unwrap();
        aio.read(file.as_fd(), RECORD as u64, RECORD as u64, limits).unwrap();
        assert_eq!(aio.drain(), Err(Errno(libc::EIO)));
        let words = aio.take_failure().unwrap();
        assert!(words.contains("the read at byte 4096 moved 0 of 4096 bytes"), "{words}");
        assert_eq!((aio.take_failure(), aio.free.len()), (None, 8));
        aio.write(read_only.as_fd(), 0, &[7; RECORD], limits).unwrap();
        assert_eq!(aio.drain(), Err(Errno(libc::EBADF)));
        assert_eq!((aio.waiting.len(), aio.in_flight, aio.free.len()), (0, 0, 8));
        assert!(aio.take_failure().unwrap().starts_with("io_submit: "));
        // As the kernel reports a full device.
        let slot = aio.free.pop().unwrap();
        aio.requests[slot] = Some(Request { moves: AioMove::Write, offset: 8192, bytes: RECORD as u64 });
        let mut event = IoEvent::default();
        (event.data, event.result) = (slot as u64, -i64::from(libc::ENOSPC));
        assert_eq!(aio.complete(event), Err(Errno(libc::ENOSPC)));
        assert!(aio.take_failure().unwrap().contains("the write of 4096 bytes at byte 8192: "));
        assert_eq!(aio.drain(), Ok(()), "reported failures are not repeated");
    }
}
