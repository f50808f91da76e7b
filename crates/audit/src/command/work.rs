//! The work of a command as named facts, so that the commands of two sides can be compared field by field.
//!
//! The tool's dialect lowers a command, and the workload's document is flattened. Names, paths and seeds are left out,
//! because every side has its own; copies of a job are counted. If lowering is impossible (an option of another
//! platform, a program without a dialect here), the options are compared as written.

use super::fields;
use plumb_document::{Node, Value};
use plumb_workload::{Content, Phase, Target, Workload};
use std::collections::BTreeMap;

/// Keys of a workload for places, names and seeds, which do not affect the work.
const IDENTITY: [&str; 17] = [
    "name",
    "names",
    "typed",
    "path",
    "target",
    "from",
    "to",
    "description",
    "seed",
    "worker-number",
    "name-hashes",
    "after",
    "together",
    "groups",
    "groups-if-failed",
    "donor",
    "log-ops",
];
/// Keys with a choice of several words, each with its own settings.
const CHOICES: [&str; 7] = ["order", "backend", "content", "distribution", "arrival", "file-choice", "work"];

/// Keys of a workload, from the outermost.
type FactPath = Vec<String>;

/// The work of a command: by path in its workload, the values in order. There may be tens of thousands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WorkFacts {
    facts: BTreeMap<FactPath, Vec<String>>,
}

/// A field in which the works of two commands differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldDifference {
    /// Plain name: `queue depth`.
    pub(crate) field: String,
    /// Words in `compares` that make the difference the study's subject.
    pub(crate) subjects: Vec<String>,
    /// Values of the first and of the second command.
    pub(crate) values: [String; 2],
}

impl FieldDifference {
    pub(crate) fn new(field: impl Into<String>, subjects: &[&str], first: String, second: String) -> FieldDifference {
        let field = field.into();
        let subjects = subjects.iter().map(|word| (*word).to_owned()).chain([field.clone()]).collect();
        FieldDifference { field, subjects, values: [first, second] }
    }
}

impl WorkFacts {
    /// Collects the facts of a workload.
    pub(crate) fn from_workload(workload: &Workload) -> Option<WorkFacts> {
        let mut facts = WorkFacts::default();
        facts.push(&["phases"], workload.phase.len().to_string());
        for (number, phase) in workload.phase.iter().enumerate() {
            let mut place = vec![number.to_string()];
            facts.flatten_but(&plumb_document::write(phase).ok()?, &mut place, "workers");
            facts.groups(workload, phase, &place)?;
        }
        Some(facts)
    }

    /// Adds a fact that the workload does not hold.
    pub(crate) fn push(&mut self, path: &[&str], value: String) {
        self.add(path.iter().map(|key| (*key).to_owned()).collect(), value);
    }

    fn add(&mut self, path: FactPath, value: String) {
        self.facts.entry(path).or_default().push(value);
    }

    /// Merges equal groups of workers into one group with several jobs.
    fn groups(&mut self, workload: &Workload, phase: &Phase, place: &[String]) -> Option<()> {
        let mut kinds: Vec<(WorkFacts, u64)> = Vec::new();
        for group in &phase.workers {
            let mut of_group = WorkFacts::default();
            of_group.flatten_but(&plumb_document::write(group).ok()?, &mut Vec::new(), "count");
            if let Some(content) = group.own_content() {
                of_group.push(&["content"], content_words(content));
            }
            if let Some(Target::JobFiles(files)) = workload.target.get(&group.target) {
                of_group.push(&["number-of-files"], files.names.count().to_string());
                for length in &files.lengths {
                    of_group.push(&["lengths"], length.to_string());
                }
            }
            match kinds.iter_mut().find(|(known, _)| *known == of_group) {
                Some((_, count)) => *count += u64::from(group.count),
                None => kinds.push((of_group, group.count.into())),
            }
        }
        let jobs: u64 = kinds.iter().map(|(_, count)| count).sum();
        self.add([place, &["jobs".to_owned()]].concat(), jobs.to_string());
        for (number, (kind, _)) in kinds.into_iter().enumerate() {
            let prefix = [place, &[number.to_string()]].concat();
            self.facts.extend(kind.facts.into_iter().map(|(path, values)| ([prefix.clone(), path].concat(), values)));
        }
        Some(())
    }

    /// Flattens a table without one of its keys.
    fn flatten_but(&mut self, node: &Node, path: &mut FactPath, left_out: &str) {
        let Some(table) = node.get_ref().as_table() else { return };
        for (key, node) in table.iter().filter(|(key, _)| key.get_ref() != left_out) {
            path.push(key.get_ref().clone());
            self.flatten(path, node);
            path.pop();
        }
    }

    fn flatten(&mut self, path: &mut FactPath, node: &Node) {
        let last = path.last().map_or("", String::as_str);
        if IDENTITY.contains(&last) {
            return;
        }
        match node.get_ref() {
            Value::Table(table) => {
                if let (true, 1, Some(choice)) = (CHOICES.contains(&last), table.len(), table.keys().next()) {
                    self.add(path.clone(), choice.get_ref().clone());
                }
                self.flatten_but(node, path, "");
            }
            Value::List(list) => {
                for (number, node) in list.iter().enumerate() {
                    path.push(number.to_string());
                    self.flatten(path, node);
                    path.pop();
                }
            }
            Value::Null => {}
            Value::Bool(set) => self.add(path.clone(), if *set { "yes" } else { "no" }.to_owned()),
            Value::Integer(number) => self.add(path.clone(), number.to_string()),
            Value::Float(number) => self.add(path.clone(), number.to_string()),
            Value::Text(text) | Value::Date(text) => self.add(path.clone(), text.clone()),
        }
    }

    /// Returns `true` if the work has the phase, and the kind of job, of a path.
    fn has_place_of(&self, path: &[String]) -> bool {
        let is_number = |key: &String| key.parse::<u32>().is_ok();
        let depth = path.iter().take(2).take_while(|key| is_number(key)).count();
        let place = &path[..depth];
        self.facts.range(place.to_vec()..).next().is_some_and(|(known, _)| known.starts_with(place))
    }

    /// Returns the fields in which two works differ, each once, with the first pair of values that differ. Phases and
    /// kinds of job that only one of them has are counted, not described.
    pub(crate) fn differences(&self, other: &WorkFacts) -> Vec<FieldDifference> {
        let mut found: Vec<FieldDifference> = Vec::new();
        let own = self.facts.keys();
        for path in own.chain(other.facts.keys().filter(|path| !self.facts.contains_key(*path))) {
            let (first, second) = (values_of(self, path), values_of(other, path));
            if first == second || !self.has_place_of(path) || !other.has_place_of(path) {
                continue;
            }
            let (field, subjects) = fields::named(path);
            if !found.iter().any(|known| known.field == field) {
                let is_switch = [first, second].into_iter().flatten().any(|values| values == ["yes"]);
                let unset = if is_switch { "no" } else { "not set" };
                let shown = |values: Option<&[String]>| values.map_or(unset.to_owned(), |all| all.join(", "));
                found.push(FieldDifference::new(field, subjects, shown(first), shown(second)));
            }
        }
        found
    }
}

fn content_words(content: Content) -> String {
    match content {
        Content::Random => "random".to_owned(),
        Content::Zero => "zeros".to_owned(),
        Content::Byte(_) => "one byte, repeated".to_owned(),
        Content::Reducible { compress_percent, duplicate_percent } => {
            format!("{compress_percent} % compressible, {duplicate_percent} % duplicates")
        }
    }
}

/// Returns the values of a path; `None` for a switch that is off, since documents leave out defaults.
fn values_of<'a>(facts: &'a WorkFacts, path: &[String]) -> Option<&'a [String]> {
    facts.facts.get(path).map(Vec::as_slice).filter(|values| *values != ["no"])
}
