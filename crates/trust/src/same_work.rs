//! Fingerprints of workloads without their place: two sides, or a comparison and a noise floor, must agree in them.

use plumb_workload::{Target, Workload};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Fingerprints of a workload that a side ran.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkPrint {
    pub name: String,
    /// The requested workload: without the same one on both sides there is no comparison.
    pub asked: Value,
    /// The workload as run, with every size resolved and every policy adapted to the storage.
    pub run: Value,
}

/// The purpose of a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkQuestion {
    /// To compare the work of two sides.
    Sides,
    /// To match a noise floor with a work. Longer or shorter runs are the same work.
    Floor,
}

/// Returns the fingerprint of a workload as JSON: without name, seed, path or device, and for
/// [`WorkQuestion::Floor`] without lengths of phases.
pub fn work_print(workload: &Workload, question: WorkQuestion) -> Value {
    // Not collected, because that sorts and is compiled again.
    let mut targets = Map::new();
    for (name, target) in &workload.target {
        targets.insert(name.clone(), target_print(target));
    }
    let phases = workload.phase.iter().map(|phase| {
        let mut value = plumb_document::json::to_value(phase).unwrap_or_default();
        if question == WorkQuestion::Floor
            && let Some(stop) = value.get_mut("stop").and_then(Value::as_object_mut)
        {
            stop.remove("time");
        }
        value
    });
    let mut print = Map::new();
    print.insert("target".to_owned(), Value::Object(targets));
    print.insert("phase".to_owned(), Value::Array(phases.collect()));
    Value::Object(print)
}

/// Returns a target without its place: `{"kind": "file", "size": …}`.
fn target_print(target: &Target) -> Value {
    // A choice is a table with one key, or its bare name.
    let mut print = match plumb_document::json::to_value(target).unwrap_or_default() {
        Value::Object(choice) => {
            let (kind, fields) = choice.into_iter().next().unwrap_or_default();
            let mut print = fields.as_object().cloned().unwrap_or_default();
            print.insert(KIND.to_owned(), Value::String(kind));
            print
        }
        bare => {
            let mut print = Map::new();
            print.insert(KIND.to_owned(), bare);
            print
        }
    };
    for place in ["path", "device"] {
        print.remove(place);
    }
    Value::Object(print)
}

const KIND: &str = "kind";

/// Returns `true` for a simulated device. It has no content and no preparation: compared with a real
/// target, only its size counts.
fn is_simulated(target: &Map<String, Value>) -> bool {
    target.get(KIND).is_some_and(|kind| kind == "sim")
}

/// Returns the paths at which two fingerprints differ, such as `phase.0.workers.0.depth`, in order. For a simulated
/// and a real target only sizes are compared.
pub fn unlike(one: &Value, other: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(String::new(), one, other, &mut found);
    found
}

fn walk(at: String, one: &Value, other: &Value, found: &mut Vec<String>) {
    let below = |step: &str| if at.is_empty() { step.to_owned() } else { format!("{at}.{step}") };
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            let mixed = is_simulated(ones) != is_simulated(others);
            let keys = BTreeSet::from_iter(ones.keys().chain(others.keys()));
            for key in keys.into_iter().filter(|key| !mixed || key.as_str() == "size") {
                match (ones.get(key), others.get(key)) {
                    // A file set has no single size, but a distribution, from which the
                    // simulated device's size was made.
                    (Some(one), Some(other)) if mixed && (one.is_object() || other.is_object()) => {}
                    (Some(one), Some(other)) => walk(below(key), one, other, found),
                    _ if mixed => {}
                    _ => found.push(below(key)),
                }
            }
        }
        (Value::Array(ones), Value::Array(others)) => {
            for (number, (one, other)) in ones.iter().zip(others).enumerate() {
                walk(below(&number.to_string()), one, other, found);
            }
            found.extend((ones.len().min(others.len())..ones.len().max(others.len())).map(|n| below(&n.to_string())));
        }
        (one, other) if one == other => {}
        _ => found.push(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload_text::named::{NAMED, RunPlace, Scale};

    fn prints(place: RunPlace, time_ns: u64, question: WorkQuestion) -> Vec<Value> {
        let scale = Scale { file_bytes: 64 << 20, files: 100, time_ns, seed: 1, place };
        NAMED.iter().map(|named| work_print(&named.workload(&scale), question)).collect()
    }

    fn sim(text: &str) -> RunPlace {
        RunPlace::Sim(text.parse().unwrap())
    }

    /// Otherwise no two places could ever be compared.
    #[test]
    fn where_it_runs_is_not_part_of_the_work() {
        let (one, other) =
            (prints(sim("sim:hdd"), 1, WorkQuestion::Sides), prints(sim("sim:nvme"), 1, WorkQuestion::Sides));
        assert_eq!(one, other);
        for (one, other) in one.iter().zip(&prints(RunPlace::Directory, 1, WorkQuestion::Sides)) {
            assert_eq!(unlike(one, other), [""; 0], "{one:#}\n{other:#}");
        }
    }

    #[test]
    fn longer_phases_are_other_work_for_sides_and_the_same_for_a_floor() {
        let place = || sim("sim:ssd");
        assert_ne!(prints(place(), 1, WorkQuestion::Sides), prints(place(), 2, WorkQuestion::Sides));
        assert_eq!(prints(place(), 1, WorkQuestion::Floor), prints(place(), 2, WorkQuestion::Floor));
    }

    #[test]
    fn differences_are_named_by_their_path() {
        let scale = Scale { file_bytes: 64 << 20, files: 100, time_ns: 1, seed: 1, place: sim("sim:ssd") };
        let one = plumb_workload_text::named::select("random-read").unwrap()[0].workload(&scale);
        let mut other = one.clone();
        other.phase[0].workers[0].depth = 7;
        other.seed = 99;
        other.name = "another".to_owned();
        let found = unlike(&work_print(&one, WorkQuestion::Sides), &work_print(&other, WorkQuestion::Sides));
        assert_eq!(found, ["phase.0.workers.0.depth"]);
    }
}
