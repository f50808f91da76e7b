//! The noise floors for a comparison: the newest of each place and work, if nothing has changed since.

use crate::compare::claims::CellClaim;
use crate::compare::comparison_log::{ComparedCell, ComparisonLog};
use crate::compare::plan::CompareSide;
use crate::compare::request::CompareRequest;
use plumb_result::Ranks;
use plumb_result::compare::{Difference, Floor};
use plumb_result::observe::{Environment, TargetFacts};
use plumb_store::{ResultStore, StoredFloors};
use plumb_trust::{ComparisonSide, SideRecord};
use serde_json::Value;
use std::collections::BTreeMap;

/// Noise floors from the store.
#[derive(Default)]
pub(crate) struct Floors {
    /// By number; the larger of the two places' floors.
    pub(crate) floors: BTreeMap<ComparedCell, Floor>,
    /// Unusable floors, with the reason.
    pub(crate) notes: Vec<String>,
}

/// A work on one side: the key of its floor, and the facts that must be equal for it to hold.
pub(crate) struct FloorOf<'a> {
    pub(crate) side: &'a str,
    /// The place, as `plumb noise` stores it.
    pub(crate) place: String,
    pub(crate) workload: &'a str,
    /// Fingerprint of the work, without seed, place and length of phases.
    pub(crate) print: Value,
    pub(crate) environment: &'a Environment,
    pub(crate) targets: Option<&'a BTreeMap<String, TargetFacts>>,
}

/// Names a place together with the processes that measure it: a floor of one process does not hold for several.
pub(crate) fn with_ranks(place: String, ranks: Option<&Ranks>) -> String {
    let Some(ranks) = ranks else { return place };
    let hosts: Vec<String> = ranks.hosts.iter().map(|host| format!("{} {}", host.ranks, host.name)).collect();
    format!("{place} by {}", hosts.join(","))
}

/// Returns every work on both sides of a comparison, on this machine or on the hosts that it leads.
pub(crate) fn of_request<'a>(
    request: &'a CompareRequest<'_>,
    comparison_log: &'a ComparisonLog,
    environment: &'a Environment,
    ranks: Option<&'a Ranks>,
) -> Vec<FloorOf<'a>> {
    let of_side = |(index, side): (usize, &'a CompareSide)| {
        request.workloads.iter().filter_map(move |named| {
            let targets = comparison_log.by_side[index].targets.values().find_map(|works| works.get(named.name));
            Some(FloorOf {
                side: &side.name,
                place: with_ranks(side.key(), ranks),
                workload: named.name,
                print: comparison_log.floor_print(index, named.name)?,
                environment,
                targets,
            })
        })
    };
    request.sides().into_iter().enumerate().flat_map(of_side).collect()
}

/// Looks up the floors of both places. A floor applies if work, place and all facts about machine and storage are the
/// same; the fullness of the file system may differ.
pub(crate) fn floors(store: &dyn ResultStore, works: &[FloorOf<'_>], claims: &[CellClaim]) -> Floors {
    let mut found = Floors::default();
    for work in works {
        let stored = match store.noise_floors(&work.place, &work.print) {
            Ok(Some(stored)) => stored,
            Ok(None) => continue,
            Err(error) => {
                found.note(format!("the noise floor of {} could not be read: {error}", work.side));
                continue;
            }
        };
        if let Some(changed) = changed(&stored, work) {
            found.note(format!(
                "the noise floor of {} from {} does not hold any more: {} was {} and is {}; measure it again with \
                 `plumb noise`",
                work.side,
                date(&stored.measured_at),
                changed.fact,
                changed.baseline,
                changed.candidate
            ));
            continue;
        }
        for claim in claims.iter().filter(|claim| claim.cell.workload == work.workload) {
            found.take(claim, work.side, &stored);
        }
    }
    found
}

impl Floors {
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn take(&mut self, claim: &CellClaim, side: &str, stored: &StoredFloors) {
        let cell = &claim.cell;
        let of_cell = stored.floors.iter().find(|floor| floor.phase == cell.phase && floor.metric == cell.metric);
        let Some(floor) = of_cell else { return };
        let share = floor.at(claim.assessment.blocks);
        if self.floors.get(cell).is_none_or(|known| known.share < share) {
            let measured_at = stored.measured_at.clone();
            self.floors.insert(cell.clone(), Floor { share, measured_at, place: side.to_owned() });
        }
    }
}

/// Returns the first fact about machine or storage that has changed since the floor was measured.
fn changed(stored: &StoredFloors, work: &FloorOf<'_>) -> Option<Difference> {
    let record = SideRecord::default();
    let side = |name, environment, targets| ComparisonSide { name, environment, targets, runs: 0, record: &record };
    let then = side("then", &stored.environment, &stored.targets);
    let now = side("now", work.environment, work.targets?);
    plumb_trust::differences(&then, &now).into_iter().find(|difference| difference.factor != "fullness")
}

/// Returns the day of an RFC 3339 time.
pub(crate) fn date(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::RankHost;

    // Protects comparisons from floors of other processes: one host is not two, and two ranks are not one.
    #[test]
    fn a_floor_is_of_those_who_measured_it() {
        let host = |name: &str, ranks| RankHost {
            name: name.to_owned(),
            ranks,
            first: 0,
            environment: None,
            clock_offset_ns: None,
            clock_within_ns: None,
        };
        let by = |hosts: Vec<RankHost>| {
            let ranks = Ranks { transport: String::new(), count: 0, hosts, ended_by: Vec::new() };
            with_ranks("/mnt".to_owned(), Some(&ranks))
        };
        assert_eq!(with_ranks("/mnt".to_owned(), None), "/mnt");
        assert_eq!(by(vec![host("a", 1), host("b", 2)]), "/mnt by 1 a,2 b");
        assert_ne!(by(vec![host("a", 1)]), by(vec![host("a", 2)]));
    }
}
