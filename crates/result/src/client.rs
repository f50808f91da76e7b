//! Counters of a network file system's client: requests from programs, and transfers to and from the servers. This
//! machine's memory served the difference, or still holds it.

use serde::{Deserialize, Serialize};

/// Cumulative counters of one mounted network file system. They cover all programs that use the mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClientCounters {
    /// Bytes that read calls of programs returned. O_DIRECT reads count the requested bytes, which is more than they
    /// return at the end of a file. Mappings (mmap) are not counted.
    pub asked_read_bytes: u64,
    /// Bytes that programs passed to write calls, buffered and with O_DIRECT. Mappings are not counted.
    pub asked_write_bytes: u64,
    /// Bytes of file data that the servers sent, including readahead and mappings.
    pub server_read_bytes: u64,
    /// Bytes of file data that the servers acknowledged. They may still be in the server's memory.
    pub server_write_bytes: u64,
    /// Bytes that the servers acknowledged but may not have made durable; `None` if not counted. On NFS this is an
    /// upper bound: the kernel counts them for the whole machine, together with pages in transit.
    pub uncommitted_bytes: Option<u64>,
    /// Read requests to the servers; `None` if not counted.
    pub reads: Option<ClientRequests>,
    /// Write requests to the servers; `None` if not counted.
    pub writes: Option<ClientRequests>,
    /// Requests to make written data durable: COMMIT of NFS, OST_SYNC of Lustre.
    pub commits: Option<ClientRequests>,
}

/// Requests of one kind to the servers, cumulative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClientRequests {
    /// Number of requests that the servers answered.
    pub count: u64,
    /// Bytes sent for these requests, headers included; 0 if not counted.
    pub sent_bytes: u64,
    /// Bytes received for these requests, headers included; 0 if not counted.
    pub received_bytes: u64,
    /// Total time that requests waited in the client before they were sent, µs; 0 if not counted.
    pub queued_us: u64,
    /// Total time from sending a request to its answer, µs.
    pub answered_us: u64,
}

impl ClientCounters {
    /// Returns the counts since an earlier reading. `uncommitted_bytes` is a gauge and keeps its current value.
    pub fn since(&self, before: &ClientCounters) -> ClientCounters {
        let counted = self.each_with(before, u64::saturating_sub);
        ClientCounters { uncommitted_bytes: self.uncommitted_bytes, ..counted }
    }

    /// Returns the sum over two mounts. On NFS, `uncommitted_bytes` covers the whole machine and is not added.
    pub fn plus(&self, other: &ClientCounters) -> ClientCounters {
        let counted = self.each_with(other, u64::saturating_add);
        ClientCounters { uncommitted_bytes: self.uncommitted_bytes.max(other.uncommitted_bytes), ..counted }
    }

    fn each_with(&self, other: &ClientCounters, with: fn(u64, u64) -> u64) -> ClientCounters {
        let requests = |one: Option<ClientRequests>, other| Some(one?.each_with(other?, with));
        ClientCounters {
            asked_read_bytes: with(self.asked_read_bytes, other.asked_read_bytes),
            asked_write_bytes: with(self.asked_write_bytes, other.asked_write_bytes),
            server_read_bytes: with(self.server_read_bytes, other.server_read_bytes),
            server_write_bytes: with(self.server_write_bytes, other.server_write_bytes),
            uncommitted_bytes: None,
            reads: requests(self.reads, other.reads),
            writes: requests(self.writes, other.writes),
            commits: requests(self.commits, other.commits),
        }
    }
}

impl ClientRequests {
    /// Returns the sum over two kinds of request or two servers.
    pub fn plus(self, other: ClientRequests) -> ClientRequests {
        self.each_with(other, u64::saturating_add)
    }

    fn each_with(self, other: ClientRequests, with: fn(u64, u64) -> u64) -> ClientRequests {
        ClientRequests {
            count: with(self.count, other.count),
            sent_bytes: with(self.sent_bytes, other.sent_bytes),
            received_bytes: with(self.received_bytes, other.received_bytes),
            queued_us: with(self.queued_us, other.queued_us),
            answered_us: with(self.answered_us, other.answered_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a counter that went backwards, because of a remount, gives 0 and not a huge number. Sums do not
    // overflow, and a kind of request that one side lacks is unknown.
    #[test]
    fn differences_and_sums_stay_in_range() {
        let requests = |count| Some(ClientRequests { count, ..ClientRequests::default() });
        let early = ClientCounters { server_read_bytes: 9, commits: requests(2), ..ClientCounters::default() };
        let late = ClientCounters {
            server_read_bytes: 4,
            asked_read_bytes: u64::MAX,
            uncommitted_bytes: Some(7),
            reads: requests(1),
            commits: requests(5),
            ..ClientCounters::default()
        };
        let moved = late.since(&early);
        assert_eq!((moved.server_read_bytes, moved.uncommitted_bytes, moved.commits), (0, Some(7), requests(3)));
        assert_eq!(moved.reads, None);
        let both = late.plus(&late);
        assert_eq!((both.asked_read_bytes, both.uncommitted_bytes, both.reads), (u64::MAX, Some(7), requests(2)));
    }
}
