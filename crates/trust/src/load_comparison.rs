//! Compares the loads of other processes on two sides of a comparison.

use crate::check::Outcome;
use crate::comparison::SideRecord;
use crate::evidence::ComparisonView;
use crate::text::{percent, rate, short};
use plumb_result::{Level, LoadDeclared, UnderLoad};

/// A load that differs by more than this factor between the sides may explain a difference between them.
const WARN_FACTOR: f64 = 1.2;

/// Above this factor, the sides were not measured under the same load.
const FAIL_FACTOR: f64 = 1.5;

/// Shares of the workers' time that others took may differ by this between the sides: the median of
/// one run more or less.
const WARN_PROCESSORS: f64 = 0.05;

/// From this difference on, the processors were not loaded alike.
const FAIL_PROCESSORS: f64 = 0.10;

/// Returns the declared loads of one side, in bytes per second; a run without one counts as 0.
fn rates(record: &SideRecord) -> Vec<f64> {
    let of = |load: &Option<UnderLoad>| load.as_ref().map_or(0.0, UnderLoad::bytes_per_second);
    record.loads.iter().map(of).collect()
}

/// Returns the declared loads of the processors, as shares of the workers' time.
fn processors(record: &SideRecord) -> Vec<f64> {
    record.loads.iter().map(|load| load.as_ref().map_or(0.0, |load| load.processor_share)).collect()
}

fn is_declared(record: &SideRecord) -> bool {
    record.loads.iter().flatten().any(|load| load.declared == LoadDeclared::Yes)
}

/// Returns the process that made the load of most runs. In single runs another one may have been larger.
fn command(record: &SideRecord) -> Option<&str> {
    let names = || record.loads.iter().flatten().filter_map(|load| load.by.as_ref()).map(|by| by.command.as_str());
    names().max_by_key(|name| names().filter(|other| other == name).count())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Judges whether both sides were measured under the same declared load.
pub(crate) fn alike(view: &ComparisonView<'_>) -> Outcome {
    let sides = [&view.baseline, &view.candidate];
    if !sides.iter().any(|side| is_declared(side.record)) {
        return Outcome::NotApplicable;
    }
    let [a, b] = sides.map(|side| median(rates(side.record)));
    let observed = format!("{} and {} by others", rate(a), rate(b));
    let (less, more) = (a.min(b), a.max(b));
    let factor = if less > 0.0 { more / less } else { f64::INFINITY };
    let names = [view.baseline.name, view.candidate.name];
    let loaded = if b > a { names[1] } else { names[0] };
    if more > 0.0 && factor > WARN_FACTOR {
        let level = if factor > FAIL_FACTOR { Level::Fail } else { Level::Warn };
        let how = if factor.is_finite() {
            format!("moved {} times as much next to {loaded}", short(factor))
        } else {
            format!("was there next to {loaded} only")
        };
        let message = format!("The declared load {how}: the sides were not measured alike.");
        return Outcome::found(level, observed, message)
            .remedy("Keep the load the same during all runs, at a fixed rate.");
    }
    let [of_a, of_b] = sides.map(|side| median(processors(side.record)));
    if (of_a - of_b).abs() > WARN_PROCESSORS {
        let level = if (of_a - of_b).abs() > FAIL_PROCESSORS { Level::Fail } else { Level::Warn };
        let message = format!(
            "The declared load took {} of the workers' time on one side, and {} on the other: the sides were not measured alike.",
            percent(of_a),
            percent(of_b)
        );
        return Outcome::found(level, observed, message).remedy("Keep the load the same during all runs.");
    }
    let [of_a, of_b] = sides.map(|side| command(side.record).unwrap_or("no process in sight"));
    if of_a != of_b {
        let message = format!("The declared load was of {of_a} on one side, and of {of_b} on the other.");
        return Outcome::warn(observed, message).remedy("Keep the same load running during all runs.");
    }
    Outcome::pass(observed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Both;
    use plumb_result::LoadProcess;

    fn load(bytes_per_second: f64, command: &str) -> Option<UnderLoad> {
        Some(UnderLoad {
            declared: LoadDeclared::Yes,
            phase: "read".to_owned(),
            device_share: 0.3,
            processor_share: 0.0,
            read_bytes_per_second: bytes_per_second,
            write_bytes_per_second: 0.0,
            by: Some(LoadProcess { command: command.to_owned(), pid: 7, with_children: false }),
        })
    }

    // Protects: a difference between two sides is not one between their loads.
    #[test]
    fn both_sides_need_the_same_load() {
        let level = |a: Option<UnderLoad>, b: Option<UnderLoad>| {
            let both = Both::equal().with(|both| {
                both.records[0].loads = vec![a; 6];
                both.records[1].loads = vec![b; 6];
            });
            both.level("C1")
        };
        assert_eq!(level(None, None), None);
        assert_eq!(level(load(1e8, "dd"), load(1.1e8, "dd")), Some(Level::Pass));
        assert_eq!(level(load(1e8, "dd"), load(1.3e8, "dd")), Some(Level::Warn));
        assert_eq!(level(load(1e8, "dd"), load(2e8, "dd")), Some(Level::Fail));
        assert_eq!(level(load(1e8, "dd"), None), Some(Level::Fail));
        assert_eq!(level(load(1e8, "dd"), load(1e8, "cp")), Some(Level::Warn));
        let once = Both::equal().with(|both| {
            both.records[0].loads = vec![load(1e8, "dd"); 6];
            both.records[1].loads = [vec![load(1e8, "cp")], vec![load(1e8, "dd"); 5]].concat();
        });
        assert_eq!(once.level("C1"), Some(Level::Pass), "one run with another largest process is the same load");
    }
}
