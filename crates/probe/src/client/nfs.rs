//! Parses `/proc/self/mountstats`: the NFS client's counters for each mount. Sources: Linux,
//! fs/proc_namespace.c (`show_vfsstat`), fs/nfs/super.c (`nfs_show_stats`), include/linux/nfs_iostat.h (meaning
//! of the byte counters), and net/sunrpc/stats.c (`rpc_clnt_show_stats`).

use crate::counters::kib;
use crate::error::ProbeError;
use crate::mounts::unescape;
use crate::sysroot::Sysroot;
use plumb_result::client::{ClientCounters, ClientRequests};

const PLACE: &str = "/proc/self/mountstats";

/// The kernel's statistics of all NFS mounts at one moment.
pub(super) struct Client {
    pub(super) statistics: Result<String, ProbeError>,
    pub(super) uncommitted_bytes: Option<u64>,
}

impl Client {
    pub(super) fn read(sys: &Sysroot) -> Client {
        let meminfo = sys.read("/proc/meminfo").ok();
        Client { statistics: sys.read(PLACE), uncommitted_bytes: meminfo.and_then(|text| uncommitted_bytes(&text)) }
    }

    /// Returns the counters of the file system mounted there.
    pub(super) fn counters(&self, point: &str) -> Result<ClientCounters, ProbeError> {
        let text = self.statistics.as_ref().map_err(ProbeError::clone)?;
        let mount =
            Block::find(text, point).ok_or_else(|| ProbeError::lacks(PLACE, format!("NFS mount at {point}")))?;
        Ok(ClientCounters { uncommitted_bytes: self.uncommitted_bytes, ..mount.counters()? })
    }
}

/// Returns the bytes that servers acknowledged but did not make durable. They are `NFS_Unstable` up to Linux 5.7, and
/// part of `Writeback` since 5.8 (commit 8d92890bd6b8, "mm/writeback: discard NR_UNSTABLE_NFS").
fn uncommitted_bytes(meminfo: &str) -> Option<u64> {
    Some(kib(meminfo, "Writeback")?.saturating_add(kib(meminfo, "NFS_Unstable").unwrap_or(0)))
}

/// The lines about one mount.
struct Block<'a> {
    lines: Vec<&'a str>,
}

impl<'a> Block<'a> {
    /// Of several mounts at one point, the last covers the others.
    fn find(text: &'a str, point: &str) -> Option<Block<'a>> {
        let mut found = None;
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if !is_nfs_at(line, point) {
                continue;
            }
            let mut about = Vec::new();
            while let Some(line) = lines.next_if(|line| !is_header(line)) {
                about.push(line.trim());
            }
            found = Some(Block { lines: about });
        }
        found
    }

    fn counters(&self) -> Result<ClientCounters, ProbeError> {
        let bytes = self.line("bytes").ok_or_else(|| ProbeError::lacks(PLACE, "line bytes"))?;
        let bytes = numbers(bytes)?;
        let [normal_read, normal_write, direct_read, direct_write, server_read, server_write, ..] = bytes[..] else {
            return Err(ProbeError::form(PLACE, &format!("{} numbers", bytes.len()), "at least 6 numbers of bytes"));
        };
        Ok(ClientCounters {
            asked_read_bytes: normal_read.saturating_add(direct_read),
            asked_write_bytes: normal_write.saturating_add(direct_write),
            server_read_bytes: server_read,
            server_write_bytes: server_write,
            uncommitted_bytes: None,
            reads: sum(self.requests("READ")?, self.requests("READ_PLUS")?),
            writes: self.requests("WRITE")?,
            commits: self.requests("COMMIT")?,
        })
    }

    /// Returns the text after `key:`.
    fn line(&self, key: &str) -> Option<&'a str> {
        self.lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
    }

    /// Parses `OP: requests transmissions timeouts sent received queued answered whole [errors]`, in bytes and ms.
    fn requests(&self, op: &str) -> Result<Option<ClientRequests>, ProbeError> {
        let Some(line) = self.line(op) else { return Ok(None) };
        let counted = numbers(line)?;
        let [count, _, _, sent_bytes, received_bytes, queued_ms, answered_ms, ..] = counted[..] else {
            let expected = format!("at least 7 numbers after {op}");
            return Err(ProbeError::form(PLACE, &format!("{} numbers", counted.len()), &expected));
        };
        Ok(Some(ClientRequests {
            count,
            sent_bytes,
            received_bytes,
            queued_us: queued_ms.saturating_mul(1000),
            answered_us: answered_ms.saturating_mul(1000),
        }))
    }
}

/// Reads of NFS 4.2 are READ or READ_PLUS, depending on the kernel's build (`CONFIG_NFS_V4_2_READ_PLUS`).
fn sum(one: Option<ClientRequests>, other: Option<ClientRequests>) -> Option<ClientRequests> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.plus(other)),
        (one, other) => one.or(other),
    }
}

/// The first line about a mount; `no device` if it has no name.
fn is_header(line: &str) -> bool {
    line.starts_with("device ") || line.starts_with("no device ")
}

/// Parses `device SERVER:PATH mounted on POINT with fstype nfs4 statvers=1.1`. Blanks in names are written `\040`.
fn is_nfs_at(line: &str, point: &str) -> bool {
    let mut words = line.split(' ').skip_while(|word| *word != "mounted");
    let ["mounted", "on", place, "with", "fstype", kind] = [(); 6].map(|()| words.next().unwrap_or_default()) else {
        return false;
    };
    is_header(line) && matches!(kind, "nfs" | "nfs4") && unescape(place) == point
}

fn numbers(text: &str) -> Result<Vec<u64>, ProbeError> {
    let number = |word: &str| word.parse().map_err(|_| ProbeError::form(PLACE, word, "a number"));
    text.split_whitespace().map(number).collect()
}
