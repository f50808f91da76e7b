//! What the client of a network file system counts: what programs asked it for, and what it sent to and received from
//! the servers. The difference was answered by this machine's memory, or is still in it.

use serde::{Deserialize, Serialize};

/// Counters of one mounted network file system, cumulative. All programs that use it are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClientCounters {
    /// Bytes that read calls of programs returned, and that those with O_DIRECT asked for (more than they return at the end of
    /// a file). Mappings (mmap) are not counted.
    pub asked_read_bytes: u64,
    /// Bytes that programs gave to write calls, buffered and with O_DIRECT. Mappings are not counted.
    pub asked_write_bytes: u64,
    /// Bytes of file data that the servers sent, for readahead and mappings too.
    pub server_read_bytes: u64,
    /// Bytes of file data that the servers acknowledged. They may be in the server's memory.
    pub server_write_bytes: u64,
    /// Bytes that the servers acknowledged and may not have made durable; `None` where nobody counts them. On NFS an upper
    /// bound, because the kernel counts them for the whole machine, together with pages that are on their way.
    pub uncommitted_bytes: Option<u64>,
    /// Requests to read; `None` where they are not counted.
    pub reads: Option<ClientRequests>,
    /// Requests to write.
    pub writes: Option<ClientRequests>,
    /// Requests to make durable what was written: COMMIT of NFS, OST_SYNC of Lustre.
    pub commits: Option<ClientRequests>,
}

/// Requests of one kind to the servers, cumulative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClientRequests {
    /// Requests that were answered.
    pub count: u64,
    /// Bytes sent for them, headers included; 0 where they are not counted.
    pub sent_bytes: u64,
    /// Bytes received for them, headers included; 0 where they are not counted.
    pub received_bytes: u64,
    /// Time that they waited in the client before they were sent, added up, µs; 0 where it is not counted.
    pub queued_us: u64,
    /// Time from sending to the answer, added up, µs.
    pub answered_us: u64,
}
