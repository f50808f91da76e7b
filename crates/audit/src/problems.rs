//! Finds inconsistencies in a study's file, each with a remedy.

use crate::form::{PublishedCell, PublishedStudy, Spread};
use crate::numbers::{PrintedUnit, UNIT_EXAMPLES};
use plumb_workload::suggest::nearest;
use plumb_workload::{KeyPath, Problem};
use std::collections::BTreeSet;

/// Returns the inconsistencies in a study's file.
pub fn problems(study: &PublishedStudy) -> Vec<Problem> {
    let mut found = Found::default();
    let sides: Vec<&str> = study.side.iter().map(|side| side.id.as_str()).collect();
    found.unique("side", &sides);
    if sides.is_empty() {
        found.add(root("side"), "there is nothing to compare".to_owned(), "add a [[side]] with an `id`".to_owned());
    }
    let tests: Vec<&str> = study.test.iter().map(|test| test.id.as_str()).collect();
    found.unique("test", &tests);
    for (index, step) in study.setup.iter().enumerate() {
        if let Some(side) = &step.side {
            found.known(root("setup").with(index).with("side"), "side", side, &sides);
        }
    }
    for (index, factor) in study.factor.iter().enumerate() {
        for (at, level) in factor.shown.iter().enumerate() {
            let run: Vec<&str> = factor.run.iter().map(String::as_str).collect();
            found.known(root("factor").with(index).with("shown").with(at), "level that was run", level, &run);
        }
    }
    for (index, test) in study.test.iter().enumerate() {
        let path = root("test").with(index);
        for (at, cell) in test.cell.iter().enumerate() {
            let path = path.with("cell").with(at);
            found.known(path.with("side"), "side", &cell.side, &sides);
            found.cell(&path, cell);
            let twice = test.cell[..at].iter().any(|other| other.side == cell.side && other.metric == cell.metric);
            if twice {
                found.add(
                    path.with("metric"),
                    format!("`{}` of side `{}` appears twice", cell.metric.name(), cell.side),
                    "make another [[test]] of it where the command differs, or use `quoted` for another place of the \
                     same number"
                        .to_owned(),
                );
            }
        }
    }
    let metrics: Vec<String> = study
        .test
        .iter()
        .flat_map(|test| test.cell.iter().map(move |cell| format!("{}.{}", test.id, cell.metric.name())))
        .collect();
    let targets: Vec<&str> = tests.iter().copied().chain(metrics.iter().map(String::as_str)).collect();
    for (index, claim) in study.claim.iter().enumerate() {
        let path = root("claim").with(index);
        for (at, on) in claim.on.iter().enumerate() {
            found.known(path.with("on").with(at), "test or test.metric", on, &targets);
        }
        if let Some(better) = &claim.better {
            found.known(path.with("better"), "side", better, &sides);
        }
        for (at, than) in claim.than.iter().enumerate() {
            found.known(path.with("than").with(at), "side", than, &sides);
        }
        if claim.better.is_none() && claim.asserts.is_none() {
            found.add(
                path.with("text"),
                "this claim says nothing that numbers could support".to_owned(),
                "add `better = \"side\"`, or `asserts = \"beyond-memory\"`".to_owned(),
            );
        }
    }
    found.problems
}

fn root(key: &str) -> KeyPath {
    KeyPath::default().with(key)
}

#[derive(Default)]
struct Found {
    problems: Vec<Problem>,
}

impl Found {
    fn add(&mut self, path: KeyPath, message: String, help: String) {
        self.problems.push(Problem { path, message, help });
    }

    fn unique(&mut self, list: &str, ids: &[&str]) {
        let mut seen = BTreeSet::new();
        for (index, id) in ids.iter().enumerate() {
            if !seen.insert(id) {
                let path = root(list).with(index).with("id");
                self.add(path, format!("`{id}` is used twice"), "give each its own `id`".to_owned());
            }
        }
    }

    fn known(&mut self, path: KeyPath, what: &str, name: &str, names: &[&str]) {
        if names.contains(&name) {
            return;
        }
        let help = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known: {}", names.join(", ")),
        };
        self.add(path, format!("unknown {what} `{name}`"), help);
    }

    fn unit(&mut self, path: KeyPath, unit: Option<&str>) {
        if let Some(unit) = unit.filter(|unit| PrintedUnit::parse(unit).is_none()) {
            self.add(path, format!("unknown unit `{unit}`"), format!("write {UNIT_EXAMPLES}"));
        }
    }

    fn cell(&mut self, path: &KeyPath, cell: &PublishedCell) {
        self.unit(path.with("unit"), cell.unit.as_deref());
        for (at, quoted) in cell.quoted.iter().enumerate() {
            self.unit(path.with("quoted").with(at).with("unit"), quoted.unit.as_deref());
        }
        if cell.value.is_some() && cell.unit.is_none() {
            let help = format!("add `unit`: {UNIT_EXAMPLES}");
            self.add(path.with("value"), "the number has no unit".to_owned(), help);
        }
        match (&cell.value, &cell.missing) {
            (Some(_), Some(_)) => self.add(
                path.with("missing"),
                "a cell with a value cannot be missing".to_owned(),
                "remove one of them; what a chart shows in its place is `drawn`".to_owned(),
            ),
            (None, None) => self.add(
                path.with("side"),
                "neither a value nor the reason why it is missing".to_owned(),
                "add `value = …`, or `missing = \"why\"`".to_owned(),
            ),
            _ => {}
        }
        match &cell.spread {
            Some(Spread::Share(share)) if *share >= 10.0 => {
                let help = "write it as a share of the value (0.03 is 3 %), or with its unit".to_owned();
                self.add(path.with("spread"), "not a spread".to_owned(), help);
            }
            Some(Spread::Value(_, unit)) => {
                let of_value = cell.unit.as_deref().and_then(PrintedUnit::parse);
                if of_value.is_some_and(|of_value| !of_value.is_same_kind(*unit)) {
                    let help = "use the unit of the value, or a share of it".to_owned();
                    self.add(path.with("spread"), "a spread in another kind of unit than its value".to_owned(), help);
                }
            }
            _ => {}
        }
        if cell.seconds.as_ref().is_some_and(|seconds| seconds.value() <= 0.0) {
            let help = "give the time that the tool printed, or leave it out".to_owned();
            self.add(path.with("seconds"), "no test takes 0 s".to_owned(), help);
        }
    }
}
