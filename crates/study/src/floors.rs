//! The noise floors that hold for a comparison: the newest of each place and work, where nothing has changed since.

use crate::compare::claims::CellClaim;
use crate::compare::comparison_log::{ComparedCell, ComparisonLog};
use crate::compare::plan::CompareSide;
use crate::compare::request::CompareRequest;
use plumb_result::compare::{Difference, Floor};
use plumb_result::observe::{Environment, TargetFacts};
use plumb_sorted::SortedMap;
use plumb_store::{Store, StoredFloors};
use plumb_trust::{ComparisonSide, SideRecord};
use serde_json::Value;

/// What was found in the store.
#[derive(Default)]
pub(crate) struct Floors {
    /// By number; the larger of the two places'.
    pub(crate) floors: SortedMap<ComparedCell, Floor>,
    /// What was found and cannot be used, with the reason.
    pub(crate) notes: Vec<String>,
}

/// A work on one side: where its floor was kept, and what must be the same for it to hold.
pub(crate) struct FloorOf<'a> {
    /// The side's name.
    pub(crate) side: &'a str,
    /// The place, as `plumb noise` keeps it.
    pub(crate) place: String,
    /// The work.
    pub(crate) workload: &'a str,
    /// What it does, without seed, place and length of phases.
    pub(crate) print: Value,
    pub(crate) environment: &'a Environment,
    pub(crate) targets: Option<&'a SortedMap<String, TargetFacts>>,
}

/// Every work on both sides of a comparison on this machine.
pub(crate) fn of_request<'a>(
    request: &'a CompareRequest<'_>,
    comparison_log: &'a ComparisonLog,
    environment: &'a Environment,
) -> Vec<FloorOf<'a>> {
    let of_side = |(index, side): (usize, &'a CompareSide)| {
        request.workloads.iter().filter_map(move |named| {
            let targets = comparison_log.targets[index].values().find_map(|works| works.get(named.name));
            Some(FloorOf {
                side: &side.name,
                place: side.key(),
                workload: named.name,
                print: comparison_log.floor_print(index, named.name)?,
                environment,
                targets,
            })
        })
    };
    request.sides().into_iter().enumerate().flat_map(of_side).collect()
}

/// Looks the floors of both places up. A floor is of this comparison where work, place and every fact of machine and
/// storage are the same; how full the file system is may differ.
pub(crate) fn floors(store: &Store, works: &[FloorOf<'_>], claims: &[CellClaim]) -> Floors {
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

/// The first fact in which machine or storage differ from when the floor was measured.
fn changed(stored: &StoredFloors, work: &FloorOf<'_>) -> Option<Difference> {
    let record = SideRecord::default();
    let side = |name, environment, targets| ComparisonSide { name, environment, targets, runs: 0, record: &record };
    let then = side("then", &stored.environment, &stored.targets);
    let now = side("now", work.environment, work.targets?);
    plumb_trust::differences(&then, &now).into_iter().find(|difference| difference.factor != "fullness")
}

/// The day of an RFC 3339 time.
pub(crate) fn date(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}
