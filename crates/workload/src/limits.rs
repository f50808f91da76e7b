//! Limits of what the kernel and the engine take in one operation.

/// The largest request one `read` or `write` can make. Source: read(2), `MAX_RW_COUNT`.
pub const MAX_OP_BYTES: u64 = 0x7fff_f000;

/// The largest single read or write over a file set: a worker's buffers are made to fit it.
pub const MAX_SET_REQUEST_BYTES: u64 = 1 << 30;

/// The largest offset of a file. Source: `off_t`, lseek(2). TOML's integers end here, too.
pub const MAX_OFFSET_BYTES: u64 = i64::MAX as u64;

/// Offsets, lengths and buffers of direct I/O are multiples of this at least. Source: open(2), `O_DIRECT`.
pub const DIRECT_ALIGN_BYTES: u64 = 512;

/// The largest submission queue of io_uring. Source: `IORING_MAX_ENTRIES`.
pub const QUEUE_DEPTH_MAX: u32 = 32_768;
