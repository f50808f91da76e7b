//! The factors of a study, and the combinations of their levels that are measured.

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

/// Name of the factor that distinguishes workloads if no other one does.
pub(super) const WORKLOAD: &str = "workload";

/// Name of the factor that sets the size of a workload's data.
pub(super) const WORKING_SET: &str = "working-set";

/// More combinations than this are not a realistic study.
const CELLS_MAX: usize = 10_000;

/// The factors from `[[factor]]`, `[sweep]` and the workloads.
pub(super) struct Factors {
    /// In the order of the file.
    pub all: Vec<StudyFactor>,
    /// Index of the factor that chooses the workload.
    pub chooses_workload: Option<usize>,
    /// Index of the factor that chooses the host.
    pub chooses_host: Option<usize>,
}

fn at(tree: &Table, path: &[Segment]) -> Range<usize> {
    place_of(tree, &KeyPath(path.to_vec()))
}

fn key(name: &str) -> Segment {
    Segment::from(name)
}

/// Reads all factors and checks them against the hosts and the workloads.
///
/// # Errors
/// A name does not exist, or a level is impossible.
pub(super) fn read(form: &StudyForm, tree: &Table, workloads: &[WorkloadText]) -> Result<Factors, Vec<LocatedFailure>> {
    let mut reader = FactorReader { form, tree, workloads, all: Vec::new(), failures: Vec::new() };
    for (index, form) in form.factor.iter().enumerate() {
        reader.add(form, &[key("factor"), Segment::from(index)]);
    }
    reader.add_sweep();
    let chooses_workload = reader.only_factor_of(Binds::Workload, "workload");
    let chooses_host = reader.only_factor_of(Binds::Host, "host");
    let chooses_workload = chooses_workload.or_else(|| reader.add_workload_factor());
    let FactorReader { all, mut failures, .. } = reader;
    for factor in &all {
        failures.extend(levels::unknown_names(&factor.when, &all, &factor.place));
    }
    if failures.is_empty() { Ok(Factors { all, chooses_workload, chooses_host }) } else { Err(failures) }
}

/// Reads factors one after the other and collects all errors, so that a user sees them at once.
struct FactorReader<'f> {
    form: &'f StudyForm,
    tree: &'f Table,
    workloads: &'f [WorkloadText],
    all: Vec<StudyFactor>,
    failures: Vec<LocatedFailure>,
}

impl FactorReader<'_> {
    fn fail(&mut self, span: &Range<usize>, message: impl Into<String>, help: &str) {
        self.failures.push(LocatedFailure { span: span.clone(), message: message.into(), help: help.to_owned() });
    }

    /// Returns the position of a key below a path.
    fn place(&self, path: &[Segment], name: &str) -> Range<usize> {
        at(self.tree, &[path, &[key(name)]].concat())
    }

    /// Adds the factor at this path.
    fn add(&mut self, form: &FactorForm, path: &[Segment]) {
        let place = self.place(path, "name");
        self.check_name(form, &place);
        let levels = self.levels(form, path);
        let binds = form.binds.or_else(|| self.names_workloads(form).then_some(Binds::Workload));
        if let Some(binds) = binds {
            self.check_bound_levels(binds, &levels, &self.place(path, "levels"));
        }
        let hard = self.is_hard(form, binds, path);
        if hard && binds == Some(Binds::Workload) {
            self.fail(&place, "changing the workload needs no new plot", "leave out `change = \"hard\"`");
        }
        let enters = form.on_enter.as_slice().iter().chain(form.on_leave.as_slice()).next().is_some();
        if !hard && enters {
            let message = format!("`{}` changes from run to run, but `on-enter` runs once per plot", form.name);
            self.fail(&place, message, "give it `change = \"hard\"`");
        }
        self.all.push(StudyFactor {
            name: form.name.clone(),
            levels,
            hard,
            binds,
            when: form.when.clone(),
            on_enter: form.on_enter.as_slice().to_vec(),
            on_leave: form.on_leave.as_slice().to_vec(),
            place,
        });
    }

    fn check_name(&mut self, form: &FactorForm, place: &Range<usize>) {
        let name = &form.name;
        if name.is_empty() || name.contains(['$', '{', '}', '=', ',']) || name.starts_with("ram") {
            let message = format!("`{name}` is not a valid factor name");
            self.fail(place, message, "use letters, digits, `-`, `_` and `.`");
        }
        if self.all.iter().any(|other| other.name == *name) {
            self.fail(place, format!("there are two factors named `{name}`"), "give each its own name");
        }
    }

    /// Returns the levels of a factor, each with its value in the file.
    fn levels(&mut self, form: &FactorForm, path: &[Segment]) -> Vec<FactorLevel> {
        let place = self.place(path, "levels");
        if form.levels.is_empty() {
            self.fail(&place, format!("`{}` has no level", form.name), "give at least one");
        }
        let path = [path, &[key("levels")]].concat();
        let level = |(index, level): (usize, &LevelForm)| FactorLevel {
            text: level.to_string(),
            value: level_value(self.tree, &path, index, level),
        };
        let levels: Vec<FactorLevel> = form.levels.iter().enumerate().map(level).collect();
        for (index, level) in levels.iter().enumerate() {
            if levels[..index].iter().any(|other| other.text == level.text) || level.text == NONE {
                self.fail(&place, format!("duplicate level `{}`", level.text), "remove one of the two");
            }
        }
        levels
    }

    /// Returns `true` if all levels of a factor are names of workloads.
    fn names_workloads(&self, form: &FactorForm) -> bool {
        let is_workload = |level: &LevelForm| self.workloads.iter().any(|workload| workload.name == level.to_string());
        !form.levels.is_empty() && form.levels.iter().all(is_workload)
    }

    /// Checks that each level names a host, or a workload.
    fn check_bound_levels(&mut self, binds: Binds, levels: &[FactorLevel], place: &Range<usize>) {
        let (what, known): (_, Vec<&str>) = match binds {
            Binds::Host => ("host", self.form.hosts.keys().map(String::as_str).chain(["local"]).collect()),
            Binds::Workload => ("workload", self.workloads.iter().map(|workload| workload.name.as_str()).collect()),
        };
        let unknown = levels.iter().filter(|level| !known.contains(&level.text.as_str()));
        let failures = unknown.map(|level| levels::unknown(what, &level.text, known.iter().copied(), place));
        self.failures.extend(failures);
    }

    /// Returns `true` if a change of the factor needs a new plot.
    fn is_hard(&mut self, form: &FactorForm, binds: Option<Binds>, path: &[Segment]) -> bool {
        match (form.change, binds) {
            (Some(FactorChange::Easy), Some(Binds::Host)) => {
                let place = self.place(path, "change");
                self.fail(&place, "changing the host needs a new plot", "use `change = \"hard\"`, or leave it out");
                true
            }
            (Some(FactorChange::Hard), _) | (None, Some(Binds::Host)) => true,
            _ => false,
        }
    }

    /// Adds the factor of `[sweep]`. A scale turns a sweep off by an empty list.
    fn add_sweep(&mut self) {
        let Some(sweep) = self.form.sweep.as_ref().filter(|sweep| !sweep.levels.is_empty()) else { return };
        let form = FactorForm {
            name: sweep.factor.clone(),
            levels: sweep.levels.clone(),
            change: None,
            binds: None,
            exclusive: false,
            on_enter: Default::default(),
            on_leave: Default::default(),
            when: Default::default(),
        };
        self.add(&form, &[key("sweep")]);
        let place = self.place(&[key("sweep")], "factor");
        if let Some(last) = self.all.last_mut() {
            last.place = place;
        }
    }

    /// Returns the factor that chooses the host or the workload; there may be only one.
    fn only_factor_of(&mut self, binds: Binds, what: &str) -> Option<usize> {
        let mut found = self.all.iter().enumerate().filter(|(_, factor)| factor.binds == Some(binds));
        let first = found.next().map(|(index, _)| index);
        if let Some(place) = found.next().map(|(_, second)| second.place.clone()) {
            self.fail(&place, format!("two factors choose the {what}"), "only one can");
        }
        first
    }

    /// Adds a factor that distinguishes several workloads, if no other one does.
    fn add_workload_factor(&mut self) -> Option<usize> {
        if self.workloads.len() < 2 {
            return None;
        }
        if let Some(place) = self.all.iter().find(|factor| factor.name == WORKLOAD).map(|other| other.place.clone()) {
            self.fail(
                &place,
                "the name `workload` is reserved: it already distinguishes the workloads",
                "give this factor another name, or the workloads' names as levels",
            );
        }
        let names = self.workloads.iter().map(|workload| workload.name.clone());
        self.all.push(StudyFactor {
            name: WORKLOAD.to_owned(),
            levels: names.map(|name| FactorLevel { text: name.clone(), value: Value::Text(name) }).collect(),
            hard: false,
            binds: Some(Binds::Workload),
            when: Default::default(),
            on_enter: Vec::new(),
            on_leave: Vec::new(),
            place: self.workloads[0].place.clone(),
        });
        Some(self.all.len() - 1)
    }
}

/// Returns the level as written in the file, for a text that is only `${factor}`.
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

/// A combination of levels, with its workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Combined {
    /// The level of every factor.
    pub levels: Combination,
    pub workload: usize,
}

impl Factors {
    /// Returns the levels of the hard factors alone.
    pub(crate) fn hard_part(&self, levels: &Combination) -> Combination {
        let is_hard = |name: &String| self.all.iter().any(|factor| factor.hard && factor.name == *name);
        BTreeMap::from_iter(
            levels.iter().filter(|(name, _)| is_hard(name)).map(|(name, level)| (name.clone(), level.clone())),
        )
    }

    /// Returns every combination that is measured; the first factor changes slowest.
    ///
    /// # Errors
    /// There are too many combinations, or none.
    pub(super) fn combinations(
        &self,
        form: &StudyForm,
        workloads: &[WorkloadText],
    ) -> Result<Vec<Combined>, LocatedFailure> {
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
        // A factor that is not varied in this combination has no level.
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
