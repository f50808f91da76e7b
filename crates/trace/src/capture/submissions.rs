//! Records of asynchronous ops: submitted by io_uring or libaio, and completed later.

use super::rings::{InFlightOp, fixed};
use super::session::{Session, values_of};
use crate::calls::{Argument, Call, Effect};
use crate::record::RecordedAct;
use crate::world::{Returned, Value};
use std::io::{self, Write};

/// Op codes of io_uring and of libaio, with the equivalent calls. Source: linux/io_uring.h, linux/aio_abi.h.
#[rustfmt::skip]
pub(super) const RING_OPS: [(u8, &str); 18] = [
    (1, "preadv"), (2, "pwritev"), (3, "fsync"), (4, "pread64"), (5, "pwrite64"), (22, "pread64"), (23, "pwrite64"),
    (8, "sync_file_range"), (17, "fallocate"), (18, "openat"), (19, "close"), (21, "statx"), (28, "openat"), (35, "renameat"),
    (36, "unlinkat"), (37, "mkdirat"), (39, "linkat"), (55, "ftruncate"),
];

#[rustfmt::skip]
const AIO_OPS: [(u8, &str); 6] = [
    (0, "pread64"), (1, "pwrite64"), (2, "fsync"), (3, "fdatasync"), (7, "preadv"), (8, "pwritev"),
];

/// Flag of an io_uring request that names a registered file by its index. Source:
/// linux/io_uring_types.h, REQ_F_FIXED_FILE.
const FIXED_FILE: u32 = 1;

/// Flag of an io_uring flush of data only. Source: linux/io_uring.h.
const DATA_ONLY: i64 = 1;

/// Index of an open that takes any free slot among the registered files. Source:
/// linux/io_uring.h, IORING_FILE_INDEX_ALLOC.
const ANY_SLOT: u32 = u32::MAX;

/// Maximum ops tracked in flight. The ends of further ones are lost.
const IN_FLIGHT_MAX: usize = 1 << 16;

/// Codes of io_uring_register(2). Source: linux/io_uring.h.
const REGISTER_FILES: [u32; 4] = [2, 6, 13, 14];

impl<W: Write> Session<W> {
    /// Handles the submission of an op.
    pub(super) fn submitted(&mut self, is_aio: bool, head: &[u8], paths: &[u8], (process, thread): (u32, u32)) {
        let word = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
        let long = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let (ops, owner) = if is_aio { (&AIO_OPS[..], process) } else { (&RING_OPS[..], 0) };
        let (code, flags) = (word(16) as u8, word(20));
        let Some((_, name)) = ops.iter().find(|(known, _)| *known == code) else { return };
        let name = if !is_aio && *name == "fsync" && long(72) as i64 & DATA_ONLY != 0 { "fdatasync" } else { name };
        let Some(call) = Call::named(name) else { return };
        let mut values = Vec::new();
        values_of(call, head, paths, &mut values);
        for (value, argument) in values.iter_mut().zip(call.arguments()) {
            // A negative offset means the descriptor's own offset.
            if argument == Argument::Offset && matches!(value, Value::Number(offset) if *offset < 0) {
                *value = Value::Unknown;
            }
        }
        let mut opens = None;
        if !is_aio {
            let ring = self.rings.number(long(80));
            // Opens and closes have the index plus 1.
            let place = word(72);
            match call.effect {
                Effect::Act(RecordedAct::Open) if place > 0 => opens = Some((ring, place)),
                Effect::Act(RecordedAct::Close) if place > 0 => {
                    values[0] = Value::Descriptor(fixed(ring, place - 1), None);
                }
                _ if flags & FIXED_FILE != 0 => {
                    let (place, descriptor) = (word(40), fixed(ring, word(40)));
                    let is_known = self.world.has_descriptor(process, descriptor);
                    let name = (!is_known).then(|| format!("/registered-file-{place}"));
                    values[0] = Value::Descriptor(descriptor, name);
                }
                _ => {}
            }
        }
        self.note_program(process, thread, false);
        if self.in_flight.len() >= IN_FLIGHT_MAX {
            self.in_flight.clear();
        }
        self.in_flight.insert((owner, long(32)), InFlightOp { call, values, opens, at_ns: long(8), thread });
    }

    /// Handles the end of an op.
    pub(super) fn ended(&mut self, key: (u32, u64), at_ns: u64, result: i32) -> io::Result<()> {
        let Some(InFlightOp { call, values, opens, at_ns: begin_ns, thread }) = self.in_flight.remove(&key) else {
            return Ok(());
        };
        let result = match opens {
            // The result is the index only if any slot would do.
            Some((ring, ANY_SLOT)) if result >= 0 => fixed(ring, result as u32),
            Some((ring, place)) if result >= 0 => fixed(ring, place - 1),
            _ => result.into(),
        };
        let record = self.world.record(
            &Returned {
                call,
                arguments: &values,
                result,
                result_path: None,
                thread,
                at_ns: begin_ns,
                took_ns: at_ns.saturating_sub(begin_ns),
                is_thread: false,
            },
            &mut self.names,
        );
        self.hold(record)
    }

    /// Handles the registration of files with a ring. The first index and the number follow the arguments, and the
    /// descriptors take the place of paths.
    pub(super) fn registered(&mut self, head: &[u8], descriptors: &[u8], process: u32, thread: u32) {
        let long = |at: usize| head[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let (code, result) = (long(48) as u32, long(32) as i64);
        let Some(ring) = self.rings.registered(thread) else { return };
        if result < 0 || !REGISTER_FILES.contains(&code) {
            return;
        }
        let ring = self.rings.number(ring);
        let (count, first) = (long(64) as usize, long(72) as u32);
        for (place, descriptor) in descriptors.chunks_exact(4).take(count).enumerate() {
            let descriptor = descriptor.first_chunk().map_or(-1, |bytes| i32::from_ne_bytes(*bytes));
            self.world.duplicate(process, descriptor.into(), fixed(ring, first.wrapping_add(place as u32)));
        }
    }
}
