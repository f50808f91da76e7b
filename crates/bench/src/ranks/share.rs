//! A rank's report of a phase, and its sums on the way to rank 0.

use plumb_cluster::{ClusterError, Reduction};
use plumb_document::json;
use plumb_result::merge::{FilesOfRanks, PhaseShare, Workers};
use plumb_result::observe::{Environment, PhaseObservations, TargetFacts};
use plumb_result::{PhaseMeasurement, RankDone, RankSpread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A phase of one rank, or the sum of several.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct RankPhase {
    /// Sum of these ranks; workers at the same position are merged.
    pub(crate) whole: Option<PhaseShare>,
    /// Sum of each host's ranks, with their workers listed separately.
    pub(crate) hosts: Vec<HostPhase>,
    /// End of each rank, on the common clock.
    pub(crate) done: Vec<RankDone>,
    /// The first and the last start, on the common clock, in ns.
    pub(crate) starts_ns: Option<(u64, u64)>,
    /// Reasons why some of these ranks stopped measuring, or do not answer.
    pub(crate) ended_by: Vec<String>,
    /// Whether a rank does not answer.
    pub(crate) silent: bool,
}

/// A phase on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostPhase {
    /// The first rank of the host, whose observations stand for the machine.
    pub(crate) speaker: u32,
    pub(crate) share: PhaseShare,
    pub(crate) observations: PhaseObservations,
    /// Whether this sum includes the speaker, whose observations count.
    has_speaker: bool,
    /// Number of ranks in this sum.
    ranks: u32,
    /// Facts about the machine from its speaker, sent with the first phase.
    pub(crate) facts: Option<HostFacts>,
    /// Text of the host's observer about the phase.
    pub(crate) tells: String,
}

/// Facts about a host.
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
    /// Whether the rank has its own workload; then the numbers of each of its workers are kept.
    pub(crate) is_apart: bool,
}

impl RankPhase {
    /// Creates the report of one rank, which started at `start_ns` on the common clock.
    pub(crate) fn new(
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

    /// Adds the text of the host's observer.
    pub(crate) fn with_report(mut self, text: String) -> RankPhase {
        self.hosts.iter_mut().for_each(|host| host.tells.clone_from(&text));
        self
    }

    /// Creates the report of a rank that measured nothing, with the reason.
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

    /// Returns the sum of a host's ranks.
    pub(crate) fn host(&self, speaker: u32) -> Option<&HostPhase> {
        self.hosts.iter().find(|host| host.speaker == speaker)
    }

    /// Returns the time spread of the ranks. `read_files_of` names the owner of the files that they
    /// read, if not their own.
    pub(crate) fn spread(&self, read_files_of: Option<String>) -> Option<RankSpread> {
        let (first_start, last_start) = self.starts_ns?;
        let mut done = self.done.clone();
        done.iter_mut().for_each(|one| one.done_ns = one.done_ns.saturating_sub(first_start));
        RankSpread::from_ranks(done, last_start - first_start).map(|spread| RankSpread { read_files_of, ..spread })
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
    /// Whether workers of different ranks are merged.
    pub(crate) workers: Workers,
    pub(crate) files: &'a FilesOfRanks,
    /// Names a rank for messages.
    pub(crate) name: &'a dyn Fn(u32) -> String,
    /// Formats the message about a rank that does not answer.
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
            // A reason is plain text and can always be sent.
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
        RankPhase::new(Reporter { rank, host: "h", speaker, is_apart: false }, start_ns, &measured, observations, None)
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

    // Protects: in any order of arrival, reports add up to the same result: all ops, each host separately, and the
    // machine as its speaker saw it.
    #[test]
    fn reports_add_up_in_any_order() {
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

    // Protects: the measurements of the other ranks are kept when one is silent or sends malformed data.
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
