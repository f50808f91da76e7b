//! Sums over all ranks, in the forms that checks, pages and the store read.

use super::run::{INTERRUPTED, RanksFound};
use super::share::{HostPhase, RankPhase};
use super::{Division, JoinedRanks};
use crate::outcome::RunError;
use plumb_cluster::Host;
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_result::{Measurement, Observations, PhaseMeasurement, RankSpread, Ranks, WorkerMeasurement};
use plumb_trust::HostEvidence;
use plumb_workload::{Target, Workload};

/// A run of several ranks, as rank 0 sees it.
pub(crate) struct OfRanks {
    /// The workload of all ranks together.
    pub(crate) workload: Workload,
    /// Measurements and observations of each host's ranks, rank 0's first.
    pub(crate) hosts: Vec<HostEvidence>,
    /// Time spread of the ranks in each phase.
    pub(crate) spreads: Vec<Option<RankSpread>>,
    /// The ranks that took part.
    pub(crate) facts: Ranks,
}

impl OfRanks {
    /// Replaces rank 0's measurement by that of all ranks.
    ///
    /// # Errors
    /// The run ended before any rank had measured anything; has the reason.
    pub(crate) fn new(
        found: RanksFound,
        ranks: &JoinedRanks,
        (workload, division, apart): (&Workload, Division, Option<&[Workload]>),
        measurement: &mut Measurement,
        stop: StopFlag,
    ) -> Result<OfRanks, RunError> {
        let RanksFound { mut phases, read_files_of, ended_by } = found;
        let is_by_signal = stop.signal().is_some_and(|signal| signal != StopSignal::Program);
        // After Ctrl-C, users expect all ranks to be interrupted.
        let ended_by: Vec<String> =
            ended_by.into_iter().filter(|why| !(is_by_signal && why.ends_with(INTERRUPTED))).collect();
        phases.truncate(measurement.phases.len());
        if !ended_by.is_empty() {
            while phases.last().is_some_and(is_empty) {
                phases.pop();
            }
        }
        measurement.phases.truncate(phases.len());
        for (measured, phase) in measurement.phases.iter_mut().zip(&phases) {
            if let Some(share) = &phase.whole {
                *measured = share.measured.clone();
                in_order_of_groups(measured, workload);
            }
        }
        let mut facts = ranks.facts();
        facts.ended_by = ended_by.clone();
        if measurement.error.is_none() && !ended_by.is_empty() {
            measurement.error = Some(ended_by.join("; "));
        }
        if let (true, Some(error)) = (phases.is_empty(), &measurement.error) {
            return Err(RunError::EndedByRank(error.clone()));
        }
        let of_host = |host: &Host| {
            let numbers: Vec<u32> = host.ranks.iter().map(|&rank| ranks.number_of(rank)).collect();
            let own = apart.and_then(|apart| apart.get(*numbers.first()? as usize));
            let together = own.cloned().unwrap_or_else(|| division.of_ranks(workload, &numbers, ranks.size()));
            evidence(host, &phases, together)
        };
        let is_simulated = workload.target.values().any(|target| matches!(target, Target::Sim(_)));
        let hosts = match is_simulated && !ranks.leads_only() {
            false => ranks.roster().hosts(),
            // Each rank has its own devices.
            true => (0..ranks.size()).map(|rank| Host { name: format!("rank {rank}"), ranks: vec![rank] }).collect(),
        };
        let hosts = hosts.iter().filter_map(of_host).collect();
        let all: Vec<u32> = (0..ranks.size()).collect();
        for host in &mut facts.hosts {
            let known = phases.first().and_then(|phase| phase.host(host.first)?.facts.as_ref());
            if let Some(known) = known {
                host.environment = (host.first != 0).then(|| known.environment.clone());
                host.clock_offset_ns = Some(known.clock_offset_ns);
                host.clock_within_ns = Some(known.clock_within_ns);
            }
        }
        Ok(OfRanks {
            workload: division.of_ranks(workload, &all, ranks.size()),
            hosts,
            spreads: phases
                .iter()
                .zip(read_files_of)
                .map(|(phase, of)| phase.spread(of.filter(|_| !reads_own(phase))))
                .collect(),
            facts,
        })
    }
}

/// Returns `true` if a rank read its own files after all, which the engine records under the name of the setting.
fn reads_own(phase: &RankPhase) -> bool {
    phase.whole.iter().flat_map(|share| &share.measured.fallbacks).any(|note| note.starts_with("reads-own: "))
}

/// Returns `true` if the phase made no op on any rank.
fn is_empty(phase: &RankPhase) -> bool {
    phase.whole.as_ref().is_none_or(|share| share.measured.count() == 0 && share.measured.fault_count == 0)
}

/// Sorts workers by their groups, because reports arrive in any order.
fn in_order_of_groups(measured: &mut PhaseMeasurement, workload: &Workload) {
    let Some(plan) = workload.phase.iter().find(|plan| plan.name == measured.name) else { return };
    let names: Vec<String> = plan
        .workers
        .iter()
        .enumerate()
        .map(|(number, group)| group.name.clone().unwrap_or_else(|| format!("workers.{number}")))
        .collect();
    let place = |worker: &WorkerMeasurement| {
        let (group, number) = worker.name.rsplit_once('/').unwrap_or((&worker.name, "0"));
        let group = names.iter().position(|name| name == group).unwrap_or(usize::MAX);
        (group, number.parse::<u64>().unwrap_or(u64::MAX))
    };
    measured.workers.sort_by_key(place);
}

/// Returns the measurements and observations of one host's ranks; `None` if none of them reported.
fn evidence(host: &Host, phases: &[RankPhase], workload: Workload) -> Option<HostEvidence> {
    let speaker = host.ranks.first().copied()?;
    let of_host: Vec<&HostPhase> = phases.iter().filter_map(|phase| phase.host(speaker)).collect();
    let mut observations = Observations {
        phases: of_host.iter().map(|phase| phase.observations.clone()).collect(),
        ..Observations::default()
    };
    if let Some(facts) = of_host.iter().find_map(|phase| phase.facts.as_ref()) {
        observations.environment = facts.environment.clone();
        observations.targets = facts.targets.clone();
    }
    let mut measurement = Measurement {
        phases: of_host.iter().map(|phase| phase.share.measured.clone()).collect(),
        ..Measurement::default()
    };
    for measured in &mut measurement.phases {
        in_order_of_groups(measured, &workload);
    }
    let name = host.name.clone();
    (!of_host.is_empty()).then_some(HostEvidence { name, workload, measurement, observations })
}
