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
    /// Bytes that the servers acknowledged and may not have made durable; `None` where they are not counted. On NFS an upper
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

impl ClientCounters {
    /// What was counted since an earlier reading. What is uncommitted is no count, and stays as it is now.
    pub fn since(&self, before: &ClientCounters) -> ClientCounters {
        let counted = self.each_with(before, u64::saturating_sub);
        ClientCounters { uncommitted_bytes: self.uncommitted_bytes, ..counted }
    }

    /// Of two mounts together. What is uncommitted on NFS is the machine's, and not added.
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
    /// Of two kinds, or two servers, together.
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

    // Protects: a counter that went backwards (a mount that was made again) is 0 and no huge number, a sum does not overflow, and
    // a kind of request that one side lacks is not known.
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
