//! Events for the session: the records of the kernel's programs. The other recorders produce the same ones.

use super::records::{
    BITS, BLOCK_RECORD_BYTES, CALL, COMPLETED, ENDED, FORK, LIBAIO, PATH_BYTES, Paths, QUEUED, RECORD_BYTES, SUBMITTED,
};
use super::session::{IO_URING_SETUP, NUMBERS, REAPS, SUBMITS};
use crate::calls::{Argument, Call, Effect};

/// A call that has returned.
pub(super) struct CallEvent<'a> {
    pub(super) number: u32,
    pub(super) begin_ns: u64,
    pub(super) took_ns: u64,
    pub(super) task: (u32, u32),
    pub(super) result: i64,
    pub(super) arguments: [u64; 6],
    pub(super) paths: &'a [Vec<u8>],
}

fn put(kind: u32, number: u32, longs: [u64; 4], arguments: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RECORD_BYTES);
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&number.to_ne_bytes());
    longs.iter().chain(arguments).for_each(|long| bytes.extend_from_slice(&long.to_ne_bytes()));
    bytes
}

/// Packs a process and a thread like the kernel does.
fn packed((process, thread): (u32, u32)) -> u64 {
    u64::from(process) << 32 | u64::from(thread)
}

pub(super) fn call(event: &CallEvent<'_>) -> Vec<u8> {
    let longs = [event.begin_ns, event.took_ns, packed(event.task), event.result as u64];
    let mut bytes = put(CALL, event.number, longs, &event.arguments);
    for path in event.paths {
        let end = bytes.len() + PATH_BYTES;
        bytes.extend_from_slice(&path[..path.len().min(PATH_BYTES - 1)]);
        bytes.resize(end, 0);
    }
    bytes
}

/// Encodes the creation of a process or thread.
pub(super) fn fork(at_ns: u64, parent: (u32, u32), child: u32) -> Vec<u8> {
    put(FORK, 0, [at_ns, child.into(), packed(parent), 0], &[0; 6])
}

/// Encodes an op submitted to libaio: the address of its control block, and the block.
pub(super) fn submitted(at_ns: u64, task: (u32, u32), place: u64, block: &[u8; 64]) -> Vec<u8> {
    let word = |at: usize| block[at..].first_chunk().map_or(0, |bytes| u64::from(u32::from_ne_bytes(*bytes)));
    let long = |at: usize| block[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    // The argument order of pread64(2).
    let arguments = [word(20), 0, long(32), long(40), 0, 0];
    put(SUBMITTED, LIBAIO, [at_ns, word(16), packed(task), place], &arguments)
}

/// Encodes the end of a libaio op.
pub(super) fn ended(at_ns: u64, task: (u32, u32), place: u64, result: u64) -> Vec<u8> {
    put(ENDED, LIBAIO, [at_ns, 0, packed(task), place], &[result, 0, 0, 0, 0, 0])
}

/// Encodes a block request: with its letters when it is queued, with its error when it is complete.
pub(super) fn request(
    at_ns: u64,
    device: u32,
    task: (u32, u32),
    (sector, sectors): (u64, u32),
    step: Result<[u8; 8], i32>,
) -> Vec<u8> {
    let (kind, error, letters) = match step {
        Ok(letters) => (QUEUED, 0, u64::from_ne_bytes(letters)),
        Err(error) => (COMPLETED, error, 0),
    };
    let longs = [at_ns, sector, packed(task), error as u64];
    let bytes = put(kind, device, longs, &[sectors.into(), letters]);
    debug_assert_eq!(bytes.len(), BLOCK_RECORD_BYTES);
    bytes
}

/// Encodes the bits of this kernel's operations, in the two words in which the programs store them.
pub(super) fn bits([first, second]: [u64; 2]) -> Vec<u8> {
    put(BITS, 0, [first, second, 0, 0], &[0; 2])
}

/// Returns which arguments of a call are paths.
pub(super) fn paths_of(call: &Call) -> Paths {
    match path_places(call).as_slice() {
        [] if call.effect == Effect::Execs => Paths::Command,
        [] => Paths::None,
        [0] => Paths::First,
        [1] => Paths::Second,
        [0, _] => Paths::FirstAndSecond,
        [_, _] => Paths::SecondAndFourth,
        _ => Paths::Third,
    }
}

/// Returns the positions of the arguments that are paths.
pub(super) fn path_places(call: &Call) -> Vec<usize> {
    let is_path = |argument| matches!(argument, Argument::Path | Argument::OtherPath);
    call.arguments().enumerate().filter(|(_, argument)| is_path(*argument)).map(|(place, _)| place).collect()
}

/// Returns all calls that are recorded by stopping them.
pub(super) fn all_numbers() -> Vec<u32> {
    let known = NUMBERS.iter().map(|(number, _)| *number);
    known.chain(SUBMITS).chain(REAPS).chain([IO_URING_SETUP]).map(|number| number as u32).collect()
}

/// Returns the calls to stop because of their paths, and those that change the meaning of paths.
pub(super) fn numbers_with_paths() -> Vec<u32> {
    let is_stopped = |name: &str| {
        Call::named(name).is_some_and(|call| !path_places(call).is_empty() || call.effect == Effect::Execs)
    };
    let known = NUMBERS.iter().filter(|(_, name)| is_stopped(name)).map(|(number, _)| *number);
    known.chain(SUBMITS).chain(REAPS).map(|number| number as u32).collect()
}
