//! Which factors a study has, and which combinations of their levels are measured.

use super::form::{FactorChange, FactorForm, StudyForm};
use super::level_form::{Binds, LevelForm};
use super::levels::{self, Combination, FactorLevel, NONE, StudyFactor};
use super::workload::WorkloadText;
use plumb_document::{Node, Table, Value};
use plumb_workload::KeyPath;
use plumb_workload::keypath::Segment;
use plumb_workload_text::native::{LocatedFailure, place_of};
use std::collections::BTreeMap;
use std::ops::Range;

/// The factor that tells workloads apart where no other one does.
pub const WORKLOAD: &str = "workload";

/// The factor that is the size of what a workload works on.
pub const WORKING_SET: &str = "working-set";

/// More combinations than anybody runs.
const CELLS_MAX: usize = 10_000;

/// What `[[factor]]`, `[sweep]` and the workloads say.
pub struct Factors {
    /// In the order of the file.
    pub all: Vec<StudyFactor>,
    /// Which of them chooses the workload.
    pub chooses_workload: Option<usize>,
    /// Which of them chooses the host.
    pub chooses_host: Option<usize>,
}

fn at(tree: &Table, path: &[Segment]) -> Range<usize> {
    place_of(tree, &KeyPath(path.to_vec()))
}

fn key(name: &str) -> Segment {
    Segment::from(name)
}

/// All factors, held against the hosts and the workloads.
///
/// # Errors
/// Names that are not there, and levels that cannot be.
pub fn read(form: &StudyForm, tree: &Table, workloads: &[WorkloadText]) -> Result<Factors, Vec<LocatedFailure>> {
    let mut failures = Vec::new();
    let mut all: Vec<StudyFactor> = Vec::new();
    let is_workload = |level: &LevelForm| workloads.iter().any(|workload| workload.name == level.to_string());
    let mut add = |said: &FactorForm, path: Vec<Segment>, failures: &mut Vec<LocatedFailure>| {
        let place = at(tree, &[path.as_slice(), &[key("name")]].concat());
        let levels_path = [path.as_slice(), &[key("levels")]].concat();
        let levels_place = at(tree, &levels_path);
        let mut fail = |span: &Range<usize>, message: String, help: &str| {
            failures.push(LocatedFailure { span: span.clone(), message, help: help.to_owned() });
        };
        if said.name.is_empty() || said.name.contains(['$', '{', '}', '=', ',']) || said.name.starts_with("ram") {
            fail(
                &place,
                format!("`{}` is not a valid factor name", said.name),
                "use letters, digits, `-`, `_` and `.`",
            );
        }
        if all.iter().any(|other| other.name == said.name) {
            fail(&place, format!("there are two factors named `{}`", said.name), "give each its own name");
        }
        if said.levels.is_empty() {
            fail(&levels_place, format!("`{}` has no level", said.name), "give at least one");
        }
        let levels: Vec<FactorLevel> = said
            .levels
            .iter()
            .enumerate()
            .map(|(index, level)| FactorLevel {
                text: level.to_string(),
                value: level_value(tree, &levels_path, index, level),
            })
            .collect();
        for (index, level) in levels.iter().enumerate() {
            if levels[..index].iter().any(|other| other.text == level.text) || level.text == NONE {
                fail(&levels_place, format!("duplicate level `{}`", level.text), "remove one of the two");
            }
        }
        let chooses = !workloads.is_empty() && !said.levels.is_empty() && said.levels.iter().all(is_workload);
        let binds = said.binds.or(if chooses { Some(Binds::Workload) } else { None });
        for level in &levels {
            let named = |what: &str, known: Vec<&str>| {
                let unknown = !known.contains(&level.text.as_str());
                unknown.then(|| levels::unknown(what, &level.text, known.into_iter(), &levels_place))
            };
            let failure = match binds {
                Some(Binds::Host) => named("host", form.hosts.keys().map(String::as_str).chain(["local"]).collect()),
                Some(Binds::Workload) => {
                    named("workload", workloads.iter().map(|workload| workload.name.as_str()).collect())
                }
                None => None,
            };
            failures.extend(failure);
        }
        let hard = match (said.change, binds) {
            (Some(FactorChange::Easy), Some(Binds::Host)) => {
                failures.push(LocatedFailure {
                    span: at(tree, &[path.as_slice(), &[key("change")]].concat()),
                    message: "changing the host needs a new plot".to_owned(),
                    help: "use `change = \"hard\"`, or leave it out".to_owned(),
                });
                true
            }
            (Some(FactorChange::Hard), _) | (None, Some(Binds::Host)) => true,
            _ => false,
        };
        if hard && binds == Some(Binds::Workload) {
            failures.push(LocatedFailure {
                span: place.clone(),
                message: "changing the workload needs no new plot".to_owned(),
                help: "leave out `change = \"hard\"`".to_owned(),
            });
        }
        let enters = said.on_enter.as_slice().iter().chain(said.on_leave.as_slice()).next().is_some();
        if !hard && enters {
            failures.push(LocatedFailure {
                span: place.clone(),
                message: format!("`{}` changes from run to run, but `on-enter` runs once per plot", said.name),
                help: "give it `change = \"hard\"`".to_owned(),
            });
        }
        all.push(StudyFactor {
            name: said.name.clone(),
            levels,
            hard,
            binds,
            when: said.when.clone(),
            on_enter: said.on_enter.as_slice().to_vec(),
            on_leave: said.on_leave.as_slice().to_vec(),
            place,
        });
    };
    for (index, said) in form.factor.iter().enumerate() {
        add(said, vec![key("factor"), Segment::from(index)], &mut failures);
    }
    // A scale turns a sweep off by an empty list.
    if let Some(sweep) = form.sweep.as_ref().filter(|sweep| !sweep.levels.is_empty()) {
        let said = FactorForm {
            name: sweep.factor.clone(),
            levels: sweep.levels.clone(),
            change: None,
            binds: None,
            exclusive: false,
            on_enter: Default::default(),
            on_leave: Default::default(),
            when: Default::default(),
        };
        add(&said, vec![key("sweep")], &mut failures);
        if let Some(last) = all.last_mut() {
            last.place = at(tree, &[key("sweep"), key("factor")]);
        }
    }
    let one_of = |binds: Binds, failures: &mut Vec<LocatedFailure>| {
        let mut found = all.iter().enumerate().filter(|(_, factor)| factor.binds == Some(binds));
        let first = found.next().map(|(index, _)| index);
        if let Some((_, second)) = found.next() {
            let what = if binds == Binds::Host { "host" } else { "workload" };
            failures.push(LocatedFailure {
                span: second.place.clone(),
                message: format!("two factors choose the {what}"),
                help: "only one can".to_owned(),
            });
        }
        first
    };
    let mut chooses_workload = one_of(Binds::Workload, &mut failures);
    let chooses_host = one_of(Binds::Host, &mut failures);
    if chooses_workload.is_none() && workloads.len() > 1 {
        let value = |name: &str| Value::Text(name.to_owned());
        if let Some(other) = all.iter().find(|factor| factor.name == WORKLOAD) {
            failures.push(LocatedFailure {
                span: other.place.clone(),
                message: "the name `workload` is reserved: it already distinguishes the workloads".to_owned(),
                help: "give this factor another name, or the workloads' names as levels".to_owned(),
            });
        }
        chooses_workload = Some(all.len());
        all.push(StudyFactor {
            name: WORKLOAD.to_owned(),
            levels: workloads
                .iter()
                .map(|workload| FactorLevel { text: workload.name.clone(), value: value(&workload.name) })
                .collect(),
            hard: false,
            binds: Some(Binds::Workload),
            when: Default::default(),
            on_enter: Vec::new(),
            on_leave: Vec::new(),
            place: workloads[0].place.clone(),
        });
    }
    for factor in &all {
        failures.extend(levels::wrong_names(&factor.when, &all, &factor.place));
    }
    if failures.is_empty() { Ok(Factors { all, chooses_workload, chooses_host }) } else { Err(failures) }
}

/// The level as it is written, for what is nothing but `${factor}`.
fn level_value(tree: &Table, path: &[Segment], index: usize, level: &LevelForm) -> Value {
    let mut found: Option<&Node> = None;
    for segment in path.iter().chain([&Segment::from(index)]) {
        found = match (segment, found) {
            (Segment::Key(key), None) => tree.get(key.as_str()),
            (Segment::Key(key), Some(value)) => value.get_ref().as_table().and_then(|table| table.get(key.as_str())),
            (Segment::Index(index), Some(value)) => value.get_ref().as_list().and_then(|list| list.get(*index)),
            (Segment::Index(_), None) => None,
        };
    }
    found.map_or_else(|| Value::Text(level.to_string()), |value| value.get_ref().clone())
}

/// A combination, and the workload that it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combined {
    /// The level of every factor.
    pub levels: Combination,
    /// Which workload.
    pub workload: usize,
}

impl Factors {
    /// The levels of the hard factors alone.
    pub fn hard_part(&self, levels: &Combination) -> Combination {
        let is_hard = |name: &String| self.all.iter().any(|factor| factor.hard && factor.name == *name);
        BTreeMap::from_iter(
            levels.iter().filter(|(name, _)| is_hard(name)).map(|(name, level)| (name.clone(), level.clone())),
        )
    }

    /// Every combination that is measured, the first factor changing slowest.
    ///
    /// # Errors
    /// Too many, or none.
    pub fn combinations(&self, form: &StudyForm, workloads: &[WorkloadText]) -> Result<Vec<Combined>, LocatedFailure> {
        let place = self.all.first().map_or(0..0, |factor| factor.place.clone());
        let mut found = vec![Combination::new()];
        for factor in &self.all {
            let mut next = Vec::with_capacity(found.len() * factor.levels.len());
            for combination in &found {
                for level in &factor.levels {
                    let mut combination = combination.clone();
                    combination.insert(factor.name.clone(), level.text.clone());
                    next.push(combination);
                }
            }
            found = next;
            if found.len() > CELLS_MAX * 4 {
                return Err(too_many(place, found.len()));
            }
        }
        // A factor that is not varied here has no level here.
        for combination in &mut found {
            let idle: Vec<&StudyFactor> =
                self.all.iter().filter(|factor| !levels::holds(&factor.when, combination)).collect();
            for factor in idle {
                combination.insert(factor.name.clone(), NONE.to_owned());
            }
        }
        let mut cells: Vec<Combined> = Vec::new();
        for combination in found {
            let workload = match self.chooses_workload {
                None => 0,
                Some(factor) => {
                    let level = &combination[&self.all[factor].name];
                    match workloads.iter().position(|workload| workload.name == *level) {
                        Some(workload) => workload,
                        None => continue,
                    }
                }
            };
            let excluded = form.design.exclude.iter().any(|when| !when.is_empty() && levels::holds(when, &combination));
            let cell = Combined { levels: combination, workload };
            if !excluded && levels::holds(&workloads[workload].when, &cell.levels) && !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        match cells.len() {
            0 => Err(LocatedFailure {
                span: place,
                message: "no combination is left to measure".to_owned(),
                help: "`exclude` and `when` leave out everything".to_owned(),
            }),
            many if many > CELLS_MAX => Err(too_many(place, many)),
            _ => Ok(cells),
        }
    }
}

fn too_many(span: Range<usize>, found: usize) -> LocatedFailure {
    LocatedFailure {
        span,
        message: format!("there are {found} combinations"),
        help: format!("a study has {CELLS_MAX} at most; use fewer levels, or `exclude` some"),
    }
}
