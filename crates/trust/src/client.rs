//! Traffic of a network file system's client while the clock ran, and the part of it that went to the server.

use crate::not_seen::NotSeen;
use crate::shares::{DEVICE_SHARE, share};
use plumb_result::Seen;
use plumb_result::client::ClientCounters;
use plumb_result::observe::{FileSystem, PhaseObservations, TargetFacts};
use plumb_workload::OpKind;

/// The limit of a client's counters, printed with each share of the server.
pub(crate) const SERVER_UNSEEN: &str = "whether its memory or its storage answered cannot be seen from a client";

/// Sum of the counters of the clients under a phase's targets while the clock ran.
#[derive(Debug, Clone)]
pub(crate) struct ClientTraffic {
    moved: ClientCounters,
    /// Source of the counters.
    pub(crate) witness: &'static str,
}

/// The part of a phase's bytes that went to the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Served {
    pub(crate) bytes: u64,
    /// Share of the phase's bytes, 0–1.
    pub(crate) share: f64,
    /// Share of the other bytes: this client's cache had or has them.
    pub(crate) from_cache: f64,
}

impl ClientTraffic {
    /// Returns the part of the phase's reads that came from the server: at most all of them,
    /// although readahead may fetch more.
    pub(crate) fn of_reads(&self, app: u64) -> Result<Served, NotSeen> {
        served(app, self.moved.asked_read_bytes, self.moved.server_read_bytes)
    }

    /// Returns the part of the phase's writes that went to the server.
    pub(crate) fn of_writes(&self, app: u64) -> Result<Served, NotSeen> {
        served(app, self.moved.asked_write_bytes, self.moved.server_write_bytes)
    }

    /// Returns the bytes that the server acknowledged, but may only have had in its memory when the clock stopped.
    pub(crate) fn uncommitted_bytes(&self) -> Option<u64> {
        self.moved.uncommitted_bytes
    }

    /// Returns the bytes that went to the server for writes of any process.
    pub(crate) fn server_write_bytes(&self) -> u64 {
        self.moved.server_write_bytes
    }

    /// Returns the mean time from sending a request of this kind to its answer, in ns: the time of network and
    /// server. `None` if none was sent or counted.
    pub(crate) fn answered_ns(&self, kind: OpKind) -> Option<f64> {
        let requests = match kind {
            OpKind::Read => self.moved.reads,
            OpKind::Write => self.moved.writes,
            OpKind::Fsync | OpKind::Fdatasync | OpKind::EndFsync => self.moved.commits,
            _ => None,
        }?;
        (requests.count > 0).then(|| requests.answered_us as f64 * 1e3 / requests.count as f64)
    }

    /// Returns the number of requests to commit writes.
    pub(crate) fn commits(&self) -> Option<u64> {
        self.moved.commits.map(|commits| commits.count)
    }
}

/// Returns Plumb's part of the traffic with the server. A client counts all users of a mount together, so others'
/// requests may have gone to the server or not, and Plumb's part is only known within limits. Uses the lower limit
/// if it makes no difference.
fn served(app: u64, asked: u64, server: u64) -> Result<Served, NotSeen> {
    let others = asked.saturating_sub(app);
    let (least, most) = (server.saturating_sub(others).min(app), server.min(app));
    let part = |bytes: u64| share(bytes, app).unwrap_or(0.0);
    if part(most - least) > 1.0 - DEVICE_SHARE {
        return Err(NotSeen::SharedMount { others_bytes: others });
    }
    Ok(Served { bytes: least, share: part(least), from_cache: part(app - least) })
}

/// Returns the traffic of the clients under these targets between the two readings.
pub(crate) fn traffic(seen: &PhaseObservations, facts: &[&TargetFacts]) -> Result<ClientTraffic, NotSeen> {
    let filesystems = facts.iter().filter_map(|facts| facts.filesystem.value()).filter(|fs| fs.remote);
    let mut sum: Option<ClientTraffic> = None;
    let mut counted: Vec<[ClientCounters; 2]> = Vec::new();
    for fs in filesystems {
        let before = counters(seen.before.clients.get(&fs.mount_point), fs)?;
        let after = counters(seen.after.clients.get(&fs.mount_point), fs)?;
        // A file system that is mounted twice has one set of counters.
        if counted.contains(&[before, after]) {
            continue;
        }
        counted.push([before, after]);
        let moved = after.since(&before);
        let witness = if fs.kind == "lustre" { "the statistics of llite and osc" } else { "/proc/self/mountstats" };
        sum = Some(match sum {
            None => ClientTraffic { moved, witness },
            Some(sum) => ClientTraffic { moved: sum.moved.plus(&moved), witness: sum.witness },
        });
    }
    sum.ok_or(NotSeen::NoClient)
}

fn counters(seen: Option<&Seen<ClientCounters>>, fs: &FileSystem) -> Result<ClientCounters, NotSeen> {
    let what = || format!("counters of the client of {}", fs.mount_point);
    match seen {
        Some(Seen::Yes(counters)) => Ok(*counters),
        Some(Seen::No(reason)) => Err(NotSeen::Refused { what: what(), reason: reason.clone() }),
        None => Err(NotSeen::UnknownClient { kind: fs.kind.clone() }),
    }
}
