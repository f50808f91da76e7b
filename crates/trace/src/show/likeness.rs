//! Likeness of a recording and a run of its model.

use super::{Sheet, distances};

/// Distributions with fewer values differ by chance.
pub const COMPARED_MIN: u64 = 100;

/// Distances between a recording and a run of its model, 0 to 1.
#[derive(Debug)]
pub struct Likeness {
    pub distances: Vec<(&'static str, f64)>,
    /// Distributions with fewer than [`COMPARED_MIN`] values, which are not compared.
    pub too_few: Vec<&'static str>,
}

impl Likeness {
    /// Compares the numbers and distributions that a model controls.
    pub fn new(recorded: &Sheet, modelled: &Sheet) -> Likeness {
        let distance = |table: &str, name: &'static str| {
            let value = |sheet: &Sheet| sheet.value(table, name).unwrap_or(0.0);
            (name, (value(recorded) - value(modelled)).abs())
        };
        let mut lines = vec![
            distance("mix", "reads of data ops"),
            distance("data ops", "sequential in their file"),
            distance("data ops", "continue a recent op"),
        ];
        let unevenness = [recorded, modelled].map(|sheet| sheet.value("arrivals", "dispersion at 10 ms"));
        if let [Some(ours), Some(theirs)] = unevenness {
            // Below 1, arrivals are more regular than random ones, so there are no bursts.
            lines.push(("dispersion at 10 ms", 1.0 - (ours.min(theirs) + 1.0) / (ours.max(theirs) + 1.0)));
        }
        // Latencies depend on the storage, so they are not compared.
        let compared = ["gaps", "sizes", "seeks", "miss ratio curve"];
        let has_few = |name: &str| {
            let known = recorded.distributions.iter().find(|(known, _)| *known == name);
            known.is_some_and(|(_, histogram)| histogram.total() < COMPARED_MIN)
        };
        let found = distances(recorded, modelled).into_iter().filter(|(name, _)| compared.contains(name));
        let (few, many): (Vec<_>, Vec<_>) = found.partition(|(name, _)| has_few(name));
        lines.extend(many);
        Likeness { distances: lines, too_few: few.into_iter().map(|(name, _)| name).collect() }
    }
}
