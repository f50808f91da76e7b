//! What a rank reports of a phase, and what becomes of it on the way to rank 0.

use plumb_cluster::{ClusterError, Reduction};
use plumb_document::json;
use plumb_result::merge::{FilesOfRanks, PhaseShare, Workers};
use plumb_result::observe::{Environment, PhaseObservations, TargetFacts};
use plumb_result::{PhaseMeasurement, RankDone, RankSpread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A phase, of one rank or of several that are added up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct RankPhase {
    /// All of these ranks together; workers at the same place are one.
    pub(crate) whole: Option<PhaseShare>,
    /// Host by host, its ranks together, with their workers side by side.
    pub(crate) hosts: Vec<HostPhase>,
    /// When each was done, on the common clock.
    pub(crate) done: Vec<RankDone>,
    /// The first and the last start, on the common clock, ns.
    pub(crate) starts_ns: Option<(u64, u64)>,
    /// Why some of these ranks measure no more, and which are silent.
    pub(crate) ended_by: Vec<String>,
    /// A rank does not answer.
    pub(crate) silent: bool,
}

/// A phase on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostPhase {
    /// The rank that speaks for the host: its first.
    pub(crate) speaker: u32,
    pub(crate) share: PhaseShare,
    pub(crate) observations: PhaseObservations,
    /// Whether the rank that speaks for the host is among these: what it saw of the machine counts.
    has_speaker: bool,
    /// Ranks that are in it.
    ranks: u32,
    /// Of the machine, from the rank that speaks for it; with the first phase.
    pub(crate) facts: Option<HostFacts>,
    /// What whoever looks on there tells beside it.
    pub(crate) tells: String,
}

/// What a host is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostFacts {
    pub(crate) environment: Environment,
    pub(crate) targets: BTreeMap<String, TargetFacts>,
    pub(crate) clock_offset_ns: i64,
    pub(crate) clock_within_ns: u64,
}

/// The rank that reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reporter<'a> {
    pub(crate) rank: u32,
    pub(crate) host: &'a str,
    /// The first rank of the host.
    pub(crate) speaker: u32,
    /// Its workload is its own, and so are the numbers of each of its workers.
    pub(crate) is_apart: bool,
}

impl RankPhase {
    /// What one rank measured, from this time of the common clock on.
    pub(crate) fn of(
        reporter: Reporter<'_>,
        start_ns: u64,
        measured: &PhaseMeasurement,
        observations: PhaseObservations,
        facts: Option<HostFacts>,
    ) -> RankPhase {
        let share = PhaseShare { start_ns, measured: measured.clone() };
        let done = RankDone {
            rank: reporter.rank,
            host: reporter.host.to_owned(),
            done_ns: start_ns.saturating_add(measured.wall_ns),
            ops: measured.count(),
            bytes: measured.bytes(),
        };
        let host = HostPhase {
            speaker: reporter.speaker,
            share: if reporter.is_apart { share.clone() } else { share.clone().thin() },
            observations,
            has_speaker: reporter.rank == reporter.speaker,
            ranks: 1,
            facts,
            tells: String::new(),
        };
        RankPhase {
            whole: Some(share),
            hosts: vec![host],
            done: vec![done],
            starts_ns: Some((start_ns, start_ns)),
            ended_by: Vec::new(),
            silent: false,
        }
    }

    /// With what whoever looks on tells.
    pub(crate) fn telling(mut self, text: String) -> RankPhase {
        self.hosts.iter_mut().for_each(|host| host.tells.clone_from(&text));
        self
    }

    /// Of a rank that measured nothing, for this reason.
    pub(crate) fn nothing(why: String) -> RankPhase {
        RankPhase { ended_by: vec![why], ..RankPhase::default() }
    }

    fn add(&mut self, other: RankPhase, workers: Workers, files: &FilesOfRanks) {
        match (&mut self.whole, other.whole) {
            (Some(mine), Some(other)) => mine.merge(other, workers, files.working_sets),
            (mine, other) => *mine = mine.take().or(other),
        }
        for host in other.hosts {
            match self.hosts.iter_mut().find(|known| known.speaker == host.speaker) {
                Some(mine) => mine.add(host, files),
                None => self.hosts.push(host),
            }
        }
        self.done.extend(other.done);
        self.starts_ns = match (self.starts_ns, other.starts_ns) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
        for why in other.ended_by {
            self.ends_by(why);
        }
        self.silent |= other.silent;
    }

    fn ends_by(&mut self, why: String) {
        if !self.ended_by.contains(&why) && self.ended_by.len() < plumb_cluster::REASONS_MAX {
            self.ended_by.push(why);
        }
    }

    /// What the ranks of a host measured and saw.
    pub(crate) fn host(&self, speaker: u32) -> Option<&HostPhase> {
        self.hosts.iter().find(|host| host.speaker == speaker)
    }

    /// How far apart the ranks were, which read these files where not their own.
    pub(crate) fn spread(&self, read_files_of: Option<String>) -> Option<RankSpread> {
        let (first_start, last_start) = self.starts_ns?;
        let mut done = self.done.clone();
        done.iter_mut().for_each(|one| one.done_ns = one.done_ns.saturating_sub(first_start));
        RankSpread::of(done, last_start - first_start).map(|spread| RankSpread { read_files_of, ..spread })
    }
}

impl HostPhase {
    fn add(&mut self, mut other: HostPhase, files: &FilesOfRanks) {
        if other.has_speaker {
            std::mem::swap(self, &mut other);
        }
        self.share.merge(other.share, Workers::SideBySide, files.working_sets);
        self.observations.add_process(other.observations, &files.shared);
        self.has_speaker |= other.has_speaker;
        self.ranks += other.ranks;
        self.facts = self.facts.take().or(other.facts);
    }
}

/// Adds up the phases of ranks.
pub(crate) struct PhaseSum<'a> {
    pub(crate) phase: RankPhase,
    /// What becomes of the workers of all ranks.
    pub(crate) workers: Workers,
    pub(crate) files: &'a FilesOfRanks,
    /// How a rank is called.
    pub(crate) name: &'a dyn Fn(u32) -> String,
    /// What is said of one that does not answer.
    pub(crate) silence: &'a dyn Fn(u32) -> String,
}

impl Reduction for PhaseSum<'_> {
    fn absorb(&mut self, child: u32, sent: Result<Vec<u8>, ClusterError>) {
        match sent {
            Ok(bytes) => match json::from_slice::<RankPhase>(&bytes) {
                Ok(phase) => self.phase.add(phase, self.workers, self.files),
                Err(error) => self.phase.ends_by(format!("{}: its report cannot be read: {error}", (self.name)(child))),
            },
            Err(error) => {
                self.phase.silent = true;
                self.phase.ends_by(match error {
                    ClusterError::Silent { .. } => (self.silence)(child),
                    error => format!("{}: {error}", (self.name)(child)),
                });
            }
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        json::to_vec(&self.phase).unwrap_or_else(|error| {
            // A reason in words can be sent in any case.
            json::to_vec(&RankPhase::nothing(format!("a report cannot be sent: {error}"))).unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::merge::{SharedTargets, WorkingSets};
    use plumb_result::{OpMeasurement, WorkerMeasurement};
    use plumb_workload::OpKind;

    fn phase(rank: u32, speaker: u32, start_ns: u64, count: u64) -> RankPhase {
        let mut service = plumb_result::Histogram::new();
        service.record_n(1_000 * u64::from(rank + 1), count);
        let measured = PhaseMeasurement {
            name: "write".to_owned(),
            wall_ns: 1_000_000,
            ops: [(OpKind::Write, OpMeasurement { count, service, ..OpMeasurement::default() })].into(),
            workers: vec![WorkerMeasurement { name: "workers.0/0".to_owned(), count, ..WorkerMeasurement::default() }],
            ..PhaseMeasurement::default()
        };
        let mut observations = PhaseObservations { name: "write".to_owned(), ..PhaseObservations::default() };
        observations.kernel_log = plumb_result::Seen::Yes(vec![format!("seen by {rank}")]);
        RankPhase::of(Reporter { rank, host: "h", speaker, is_apart: false }, start_ns, &measured, observations, None)
    }

    fn sum_of(order: &[u32]) -> RankPhase {
        // Ranks 0 and 2 on one host, 1 and 3 on another.
        let of = |rank: u32| phase(rank, rank % 2, 10_000 + u64::from(rank), 10 + u64::from(rank));
        let files = FilesOfRanks { shared: SharedTargets::new(), working_sets: WorkingSets::Apart };
        let name = |rank: u32| format!("rank {rank}");
        let mut sum =
            PhaseSum { phase: of(order[0]), workers: Workers::Together, files: &files, name: &name, silence: &name };
        for &rank in &order[1..] {
            let sent = json::to_vec(&of(rank)).unwrap();
            sum.absorb(rank, Ok(sent));
        }
        sum.phase
    }

    // Protects: whatever way reports take, they come to the same: all ops, each host by itself, the machine as its speaker saw it.
    #[test]
    fn reports_add_up_whatever_way_they_take() {
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let sum = sum_of(&order);
            let whole = &sum.whole.as_ref().unwrap();
            assert_eq!(
                (whole.measured.count(), whole.measured.wall_ns, whole.measured.workers.len()),
                (46, 1_000_003, 1)
            );
            assert_eq!(sum.hosts.len(), 2);
            let host = sum.host(1).unwrap();
            assert_eq!((host.ranks, host.share.measured.count(), host.share.measured.workers.len()), (2, 24, 2));
            assert_eq!(host.observations.kernel_log.value().unwrap(), &["seen by 1"]);
            let spread = sum.spread(None).unwrap();
            assert_eq!(
                (spread.ranks, spread.start_skew_ns, spread.first_done.rank, spread.last_done().rank),
                (4, 3, 0, 3)
            );
            assert_eq!(spread.last_done().done_ns, 1_000_003);
        }
    }

    // Protects: what the others measured is kept where one is silent or sends what cannot be read.
    #[test]
    fn a_silent_rank_takes_nothing_from_the_others() {
        let files = FilesOfRanks { shared: SharedTargets::new(), working_sets: WorkingSets::Apart };
        let name = |rank: u32| format!("rank {rank} on h");
        let silence = |rank: u32| format!("{} does not answer", name(rank));
        let (workers, phase) = (Workers::Together, phase(0, 0, 0, 10));
        let mut sum = PhaseSum { phase, workers, files: &files, name: &name, silence: &silence };
        let waited = std::time::Duration::from_secs(2);
        sum.absorb(1, Err(ClusterError::Silent { rank: 1, waited }));
        sum.absorb(2, Ok(b"{\"whole\":".to_vec()));
        let found = sum.phase;
        assert!(found.silent && found.whole.unwrap().measured.count() == 10);
        assert!(found.ended_by[0].eq("rank 1 on h does not answer"), "{:?}", found.ended_by);
        assert!(found.ended_by[1].starts_with("rank 2 on h: its report cannot be read"), "{:?}", found.ended_by);
    }
}
