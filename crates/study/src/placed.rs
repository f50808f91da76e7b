//! Places stored runs in studies: their plot, their repetition and the levels of their factors.

use crate::conduct::FrozenStudy;
use crate::plan::{Levels, Plan};
use plumb_store::{FurtherColumns, ResultStore, StoreError, StudyPlace};
use std::collections::BTreeMap;

/// A stored run of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedRun {
    pub study: String,
    pub name: String,
    /// Its plot, from 0.
    pub plot: u32,
    /// Repetition on its plot, from 0.
    pub repeat: u32,
    /// The level of every factor.
    pub levels: Levels,
}

/// The plans of studies, each read once.
#[derive(Debug, Default)]
pub(crate) struct StudyPlaces {
    plans: BTreeMap<String, Plan>,
}

impl StudyPlaces {
    /// Returns the plan of a study by its complete id.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) fn plan(&mut self, store: &dyn ResultStore, study: &str) -> Result<&Plan, StoreError> {
        if !self.plans.contains_key(study) {
            self.plans.insert(study.to_owned(), FrozenStudy::open(store, study)?.plan);
        }
        Ok(&self.plans[study])
    }

    /// Returns the place of a run by its complete id; `None` for a run outside of studies.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) fn find(&mut self, store: &dyn ResultStore, run: &str) -> Result<Option<PlacedRun>, StoreError> {
        match store.study_place(run)? {
            Some(place) => self.placed(store, place),
            None => Ok(None),
        }
    }

    /// Returns the run at a place of a study.
    pub(crate) fn placed(
        &mut self,
        store: &dyn ResultStore,
        place: StudyPlace,
    ) -> Result<Option<PlacedRun>, StoreError> {
        let plan = self.plan(store, &place.study)?;
        let Some(planned) = plan.runs.get(place.seq as usize) else { return Ok(None) };
        Ok(plan.cells.get(planned.cell as usize).map(|cell| PlacedRun {
            name: plan.name.clone(),
            plot: planned.plot,
            repeat: planned.repeat,
            levels: cell.levels.clone(),
            study: place.study,
        }))
    }
}

/// Returns columns for runs that belong to studies: study, plot and repetition, counted from 1 as in reports, and
/// `factor.NAME` for each factor. Empty if no run belongs to a study.
///
/// # Errors
/// The store failed.
pub fn columns(store: &dyn ResultStore, runs: &[String]) -> Result<FurtherColumns, StoreError> {
    let mut places = StudyPlaces::default();
    let mut placed: BTreeMap<String, PlacedRun> = BTreeMap::new();
    let mut factors: Vec<String> = Vec::new();
    let mut known = store.study_places(runs)?;
    for run in runs {
        let Some(place) = known.remove(run) else { continue };
        let Some(place) = places.placed(store, place)? else { continue };
        // In the order of the study file.
        for factor in &places.plan(store, &place.study)?.factors {
            if !factors.contains(&factor.name) {
                factors.push(factor.name.clone());
            }
        }
        placed.insert(run.clone(), place);
    }
    if placed.is_empty() {
        return Ok(FurtherColumns::default());
    }
    let mut names = vec!["study".to_owned(), "plot".to_owned(), "repeat".to_owned()];
    names.extend(factors.iter().map(|factor| format!("factor.{factor}")));
    let values = |place: PlacedRun| {
        let mut values = vec![place.name, (place.plot + 1).to_string(), (place.repeat + 1).to_string()];
        values.extend(factors.iter().map(|factor| place.levels.get(factor).cloned().unwrap_or_default()));
        values
    };
    let mut all = FurtherColumns { names, values: BTreeMap::new() };
    for (run, place) in placed {
        all.values.insert(run, values(place));
    }
    Ok(all)
}
