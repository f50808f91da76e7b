//! The noise floors that hold for a comparison: the newest of each place and work, where nothing has changed since.

use crate::compare::claims::CellClaim;
use crate::compare::comparison_log::{ComparedCell, ComparisonLog};
use crate::compare::plan::CompareSide;
use crate::compare::request::CompareRequest;
use plumb_result::compare::{Difference, Floor};
use plumb_result::observe::Environment;
use plumb_store::{Store, StoredFloors};
use plumb_trust::{ComparisonSide, SideRecord};
use std::collections::BTreeMap;

/// What was found in the store.
#[derive(Default)]
pub(crate) struct Floors {
    /// By number; the larger of the two places'.
    pub(crate) floors: BTreeMap<ComparedCell, Floor>,
    /// What was found and cannot be used, with the reason.
    pub(crate) notes: Vec<String>,
}

/// Looks the floors of both places up. A floor is of this comparison where work, place and every fact of machine and
/// storage are the same; how full the file system is may differ.
pub(crate) fn floors(
    store: &Store,
    request: &CompareRequest<'_>,
    comparison_log: &ComparisonLog,
    claims: &[CellClaim],
    environment: &Environment,
) -> Floors {
    let mut found = Floors::default();
    for (index, side) in request.sides().into_iter().enumerate() {
        for named in &request.workloads {
            let Some(print) = comparison_log.floor_print(index, named.name) else { continue };
            let stored = match store.noise_floors(&side.key(), &print) {
                Ok(Some(stored)) => stored,
                Ok(None) => continue,
                Err(error) => {
                    found.note(format!("the noise floor of {} could not be read: {error}", side.name));
                    continue;
                }
            };
            if let Some(changed) = changed(&stored, comparison_log, index, named.name, environment) {
                found.note(format!(
                    "the noise floor of {} from {} does not hold any more: {} was {} and is {}; measure it again with \
                     `plumb noise`",
                    side.name,
                    date(&stored.measured_at),
                    changed.fact,
                    changed.baseline,
                    changed.candidate
                ));
                continue;
            }
            for claim in claims.iter().filter(|claim| claim.cell.workload == named.name) {
                found.take(claim, side, &stored);
            }
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

    fn take(&mut self, claim: &CellClaim, side: &CompareSide, stored: &StoredFloors) {
        let cell = &claim.cell;
        let of_cell = stored.floors.iter().find(|floor| floor.phase == cell.phase && floor.metric == cell.metric);
        let Some(floor) = of_cell else { return };
        let share = floor.at(claim.assessment.blocks);
        if self.floors.get(cell).is_none_or(|known| known.share < share) {
            let measured_at = stored.measured_at.clone();
            self.floors.insert(cell.clone(), Floor { share, measured_at, place: side.name.clone() });
        }
    }
}

/// The first fact in which machine or storage differ from when the floor was measured.
fn changed(
    stored: &StoredFloors,
    comparison_log: &ComparisonLog,
    index: usize,
    workload: &str,
    environment: &Environment,
) -> Option<Difference> {
    let now = comparison_log.targets[index].values().find_map(|works| works.get(workload))?;
    let record = SideRecord::default();
    let then = ComparisonSide {
        name: "then",
        environment: &stored.environment,
        targets: &stored.targets,
        runs: 0,
        record: &record,
    };
    let now = ComparisonSide { name: "now", environment, targets: now, runs: 0, record: &record };
    plumb_trust::differences(&then, &now).into_iter().find(|difference| difference.factor != "fullness")
}

/// The day of an RFC 3339 time.
pub(crate) fn date(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}
