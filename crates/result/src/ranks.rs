//! Runs of several processes on one or many hosts: the participants, and the spread between them.

use crate::observe::Environment;
use serde::{Deserialize, Serialize};

/// The processes that measured together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranks {
    /// Message layer between the processes, such as `Open MPI 4.1.4`.
    pub transport: String,
    /// Number of ranks that took part.
    pub count: u32,
    /// Hosts of the ranks, in the order of their first ranks.
    pub hosts: Vec<RankHost>,
    /// Reasons why ranks ended the run early, and ranks that stopped answering.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended_by: Vec<String>,
}

/// A host of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankHost {
    /// Name of the host.
    pub name: String,
    /// Number of ranks on this host.
    pub ranks: u32,
    /// Lowest rank on this host; it reports for the host.
    pub first: u32,
    /// Facts about the machine; absent if it is the machine of the result's own environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// Offset to add to the host's monotonic clock to get that of rank 0, ns; `null` if not reported.
    pub clock_offset_ns: Option<i64>,
    /// Largest error of that offset, ns; 0 if both use the same clock.
    pub clock_within_ns: Option<u64>,
}

/// Spread between the ranks of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankSpread {
    /// Number of ranks that measured the phase.
    pub ranks: u32,
    /// Time from the first rank's start to the last rank's, ns.
    pub start_skew_ns: u64,
    /// The rank that finished first.
    pub first_done: RankDone,
    /// Time from the first start until half of the ranks had finished, ns.
    pub median_done_ns: u64,
    /// The ranks that finished last, slowest first; at most 8.
    pub slowest: Vec<RankDone>,
    /// Owner of the files that each rank read, if not the rank itself: `the next rank`, or `another host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_files_of: Option<String>,
}

/// Largest number of slowest ranks that are listed.
pub(crate) const SLOWEST_MAX: usize = 8;

/// One rank's part in a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankDone {
    /// Number of the rank, from 0.
    pub rank: u32,
    /// Host that the rank ran on.
    pub host: String,
    /// Time from the first start of any rank until this one finished, ns.
    pub done_ns: u64,
    /// Number of ops that it completed.
    pub ops: u64,
    /// Bytes moved by these ops.
    pub bytes: u64,
}

impl RankSpread {
    /// Returns the spread of all ranks of a phase; `None` if there are none.
    pub fn from_ranks(mut all: Vec<RankDone>, start_skew_ns: u64) -> Option<RankSpread> {
        all.sort_by_key(|one| (one.done_ns, one.rank));
        let first_done = all.first()?.clone();
        Some(RankSpread {
            ranks: all.len() as u32,
            start_skew_ns,
            first_done,
            median_done_ns: all[all.len() / 2].done_ns,
            slowest: all.iter().rev().take(SLOWEST_MAX).cloned().collect(),
            read_files_of: None,
        })
    }

    /// Returns the rank that finished last.
    pub fn last_done(&self) -> &RankDone {
        self.slowest.first().unwrap_or(&self.first_done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_come_first_and_the_list_is_limited() {
        let done = |rank: u32, done_ns: u64| RankDone { rank, host: "h".to_owned(), done_ns, ops: 1, bytes: 1 };
        let all: Vec<RankDone> = (0..20).map(|rank| done(rank, u64::from((rank * 7) % 20))).collect();
        let spread = RankSpread::from_ranks(all, 3).unwrap();
        assert_eq!(
            (spread.ranks, spread.first_done.done_ns, spread.median_done_ns, spread.last_done().done_ns),
            (20, 0, 10, 19)
        );
        assert_eq!(spread.slowest.len(), SLOWEST_MAX);
        assert_eq!(RankSpread::from_ranks(Vec::new(), 0), None);
    }
}
