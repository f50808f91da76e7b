//! Limits that the kernel and the engine put on one operation.

/// Largest request that one `read` or `write` can make. Source: read(2), `MAX_RW_COUNT`.
pub const MAX_OP_BYTES: u64 = 0x7fff_f000;

/// Largest single read or write over a file set. Workers' buffers are sized for it.
pub const MAX_SET_REQUEST_BYTES: u64 = 1 << 30;

/// Largest offset in a file. Source: `off_t`, lseek(2). TOML integers end here, too.
pub const MAX_OFFSET_BYTES: u64 = i64::MAX as u64;

/// Minimum alignment of offsets, lengths and buffers for direct I/O. Source: open(2), `O_DIRECT`.
pub const DIRECT_ALIGN_BYTES: u64 = 512;

/// Largest submission queue of io_uring. Source: `IORING_MAX_ENTRIES`.
pub const QUEUE_DEPTH_MAX: u32 = 32_768;
