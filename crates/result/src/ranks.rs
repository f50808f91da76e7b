//! A run of several processes, on one host or many: who took part, and how far apart they were.

use crate::observe::Environment;
use serde::{Deserialize, Serialize};

/// The processes that measured together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranks {
    /// What carried messages between them: `Open MPI 4.1.4`.
    pub transport: String,
    /// How many.
    pub count: u32,
    /// Their hosts, in the order of their first ranks.
    pub hosts: Vec<RankHost>,
    /// What ended the run early, of the ranks that said so, and which ranks no longer answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended_by: Vec<String>,
}

/// A host of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankHost {
    /// Its name.
    pub name: String,
    /// How many ranks it has.
    pub ranks: u32,
    /// The first of them, which speaks for the host.
    pub first: u32,
    /// The machine, where it is another one than the result's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// What has to be added to its monotonic clock to get that of rank 0, ns; `null` where it was not reported.
    pub clock_offset_ns: Option<i64>,
    /// How far off that may be, ns: 0 where both are the same clock.
    pub clock_within_ns: Option<u64>,
}

/// How far apart the ranks of a phase were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankSpread {
    /// How many ranks measured the phase.
    pub ranks: u32,
    /// From the first start to the last, ns.
    pub start_skew_ns: u64,
    /// Who was done first.
    pub first_done: RankDone,
    /// When half of them were done, ns from the first start.
    pub median_done_ns: u64,
    /// The last ones, the very last first; at most [`SLOWEST_MAX`].
    pub slowest: Vec<RankDone>,
    /// Whose files each rank read, where not its own: `the next rank`, or `another host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_files_of: Option<String>,
}

/// How many of the slowest ranks are named.
pub(crate) const SLOWEST_MAX: usize = 8;

/// One rank of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankDone {
    /// Which.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// When it was done, ns from the first start of all.
    pub done_ns: u64,
    /// Ops that it completed.
    pub ops: u64,
    /// Bytes that they moved.
    pub bytes: u64,
}

impl RankSpread {
    /// From all ranks of a phase; `None` of none.
    pub fn of(mut all: Vec<RankDone>, start_skew_ns: u64) -> Option<RankSpread> {
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

    /// Who was done last.
    pub fn last_done(&self) -> &RankDone {
        self.slowest.first().unwrap_or(&self.first_done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_come_first_and_not_all_are_named() {
        let done = |rank: u32, done_ns: u64| RankDone { rank, host: "h".to_owned(), done_ns, ops: 1, bytes: 1 };
        let all: Vec<RankDone> = (0..20).map(|rank| done(rank, u64::from((rank * 7) % 20))).collect();
        let spread = RankSpread::of(all, 3).unwrap();
        assert_eq!(
            (spread.ranks, spread.first_done.done_ns, spread.median_done_ns, spread.last_done().done_ns),
            (20, 0, 10, 19)
        );
        assert_eq!(spread.slowest.len(), SLOWEST_MAX);
        assert_eq!(RankSpread::of(Vec::new(), 0), None);
    }
}
