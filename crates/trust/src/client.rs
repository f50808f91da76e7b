//! What the client of a network file system moved while the clock ran, and how much of it went to the server.

use crate::not_seen::NotSeen;
use crate::shares::{DEVICE_SHARE, share};
use plumb_result::Seen;
use plumb_result::client::ClientCounters;
use plumb_result::observe::{FileSystem, PhaseObservations, TargetFacts};
use plumb_workload::OpKind;

/// What no count of a client can tell: said beside each share of the server.
pub(crate) const SERVER_UNSEEN: &str = "whether its memory or its storage answered cannot be seen from a client";

/// What the clients under a phase's targets counted while the clock ran, together.
#[derive(Debug, Clone)]
pub(crate) struct ClientTraffic {
    moved: ClientCounters,
    /// Who says it.
    pub(crate) witness: &'static str,
}

/// How much of what a phase moved went to the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Served {
    pub(crate) bytes: u64,
    /// Of the phase's bytes, 0–1.
    pub(crate) share: f64,
    /// The share of the other bytes: this client's cache had or has them.
    pub(crate) from_cache: f64,
}

impl ClientTraffic {
    /// How much of what the phase's reads returned came from the server: at most all of it, although readahead may fetch more.
    pub(crate) fn of_reads(&self, app: u64) -> Result<Served, NotSeen> {
        served(app, self.moved.asked_read_bytes, self.moved.server_read_bytes)
    }

    /// How much of what the phase wrote went to the server.
    pub(crate) fn of_writes(&self, app: u64) -> Result<Served, NotSeen> {
        served(app, self.moved.asked_write_bytes, self.moved.server_write_bytes)
    }

    /// Bytes that the server acknowledged and may have had in its memory only, when the clock stopped.
    pub(crate) fn uncommitted_bytes(&self) -> Option<u64> {
        self.moved.uncommitted_bytes
    }

    /// Bytes that went to the server for writes, whoever wrote them.
    pub(crate) fn server_write_bytes(&self) -> u64 {
        self.moved.server_write_bytes
    }

    /// From sending a request of this kind to its answer, on average, ns: what the network and the server took. `None`
    /// where none was sent or nobody counts.
    pub(crate) fn answered_ns(&self, kind: OpKind) -> Option<f64> {
        let requests = match kind {
            OpKind::Read => self.moved.reads,
            OpKind::Write => self.moved.writes,
            OpKind::Fsync | OpKind::Fdatasync | OpKind::EndFsync => self.moved.commits,
            _ => None,
        }?;
        (requests.count > 0).then(|| requests.answered_us as f64 * 1e3 / requests.count as f64)
    }

    /// Requests to make durable what was written.
    pub(crate) fn commits(&self) -> Option<u64> {
        self.moved.commits.map(|commits| commits.count)
    }
}

/// A client counts all that use a mount together. What others asked for may have come from the server or not, so that
/// Plumb's part is known between two limits: the lower is taken, where it makes no difference.
fn served(app: u64, asked: u64, server: u64) -> Result<Served, NotSeen> {
    let others = asked.saturating_sub(app);
    let (least, most) = (server.saturating_sub(others).min(app), server.min(app));
    let part = |bytes: u64| share(bytes, app).unwrap_or(0.0);
    if part(most - least) > 1.0 - DEVICE_SHARE {
        return Err(NotSeen::SharedMount { others_bytes: others });
    }
    Ok(Served { bytes: least, share: part(least), from_cache: part(app - least) })
}

/// What the clients under these targets counted between the two readings.
pub(crate) fn traffic(seen: &PhaseObservations, facts: &[&TargetFacts]) -> Result<ClientTraffic, NotSeen> {
    let filesystems = facts.iter().filter_map(|facts| facts.filesystem.value()).filter(|fs| fs.remote);
    let mut sum: Option<ClientTraffic> = None;
    let mut counted: Vec<[ClientCounters; 2]> = Vec::new();
    for fs in filesystems {
        let before = counters(seen.before.clients.get(&fs.mount_point), fs)?;
        let after = counters(seen.after.clients.get(&fs.mount_point), fs)?;
        // One file system that is mounted at two places has one set of counters.
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
