//! The work of a command as named facts, so that the commands of two sides can be compared field by field.
//!
//! A command is lowered by its tool's dialect, and the workload's document is flattened: names, paths and seeds are left
//! out, because sides have their own, and copies of a job are counted. What lowering cannot do (an option of another
//! platform, a program without a dialect here) is compared by the options as they were written.

use super::{CommandAction, fields};
use plumb_document::{Node, Value};
use plumb_workload::{Content, Phase, Target, Workload};
use std::collections::BTreeMap;

/// Keys of a workload that say where something is, what it is called or how randomness is seeded, and not what is done.
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
/// Keys whose value is one of several words, each with settings of its own.
const CHOICES: [&str; 7] = ["order", "backend", "content", "distribution", "arrival", "file-choice", "work"];

/// Keys of a workload, from the outermost.
type FactPath = Vec<String>;

/// The work of a command, by paths in its workload: values of one path in their order. There may be tens of thousands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WorkFacts {
    facts: BTreeMap<FactPath, Vec<String>>,
}

/// A field in which the works of two commands differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldDifference {
    /// In plain words: `queue depth`.
    pub(crate) field: String,
    /// Words in `compares` that make the difference the study's subject.
    pub(crate) subjects: Vec<String>,
    /// The values of the first and of the second command.
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
    /// The facts of a workload.
    pub(crate) fn of(workload: &Workload) -> Option<WorkFacts> {
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

    /// Equal groups of workers are one group of several jobs.
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

    /// A table without one of its keys.
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

    /// Whether there is anything of the phase, and of the kind of job, that a path is about.
    fn has_place_of(&self, path: &[String]) -> bool {
        let is_number = |key: &String| key.parse::<u32>().is_ok();
        let depth = path.iter().take(2).take_while(|key| is_number(key)).count();
        let place = &path[..depth];
        self.facts.range(place.to_vec()..).next().is_some_and(|(known, _)| known.starts_with(place))
    }

    /// The fields in which two works differ, each once, with the first pair of values that differ. Phases and kinds of job
    /// that only one of them has are counted, not described.
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

/// The values of a path; none of a switch that is off, which documents leave out together with others at their defaults.
fn values_of<'a>(facts: &'a WorkFacts, path: &[String]) -> Option<&'a [String]> {
    facts.facts.get(path).map(Vec::as_slice).filter(|values| *values != ["no"])
}

/// The fields in which two command lines differ.
pub(crate) fn differences(first: (&str, &[CommandAction]), second: (&str, &[CommandAction])) -> Vec<FieldDifference> {
    let (parts, others) = (super::parts(first.0), super::parts(second.0));
    let measuring = |actions: &[CommandAction]| actions.iter().position(CommandAction::measures);
    let (Some(at), Some(other_at)) = (measuring(first.1), measuring(second.1)) else {
        return by_words(first.0, second.0);
    };
    let mut found = of_actions(&first.1[at], &second.1[other_at]).unwrap_or_else(|| {
        let line = |parts: &[&str], at: usize| parts.get(at).map_or(String::new(), |part| (*part).to_owned());
        by_words(&line(&parts, at), &line(&others, other_at))
    });
    let around = |parts: &[&str], at: usize| {
        let rest: Vec<&str> =
            parts.iter().enumerate().filter(|(number, _)| *number != at).map(|(_, part)| *part).collect();
        rest.join("; ")
    };
    let (before, before_other) = (around(&parts, at), around(&others, other_at));
    if !by_words(&before, &before_other).is_empty() {
        let shown = |words: String| if words.is_empty() { "none".to_owned() } else { words };
        found.push(FieldDifference::new("commands around it", &[], shown(before), shown(before_other)));
    }
    let launcher = |parts: &[&str], at: usize| parts.get(at).map_or(String::new(), |part| super::launcher(part));
    let (launched, launched_other) = (launcher(&parts, at), launcher(&others, other_at));
    if launched != launched_other {
        let shown = |words: String| if words.is_empty() { "nothing".to_owned() } else { words };
        let subjects = ["cpu", "cpus", "priority", "nice", "numa"];
        found.push(FieldDifference::new("what starts it", &subjects, shown(launched), shown(launched_other)));
    }
    found
}

/// Of two commands of one program, what their works differ in; `None` where one of them cannot be lowered.
fn of_actions(first: &CommandAction, second: &CommandAction) -> Option<Vec<FieldDifference>> {
    if first.program() != second.program() {
        return Some(of_programs(first, second));
    }
    if let (CommandAction::Postmark(one), CommandAction::Postmark(other)) = (first, second) {
        return (one.settings == other.settings).then(Vec::new);
    }
    match (first.work(), second.work()) {
        (Some(one), Some(other)) => Some(with_amounts(one.differences(&other), first, second)),
        _ => match (first, second) {
            (CommandAction::Fio(one), CommandAction::Fio(other)) => Some(one.said_differences(other)),
            _ => None,
        },
    }
}

/// Differences with amounts in bytes, where the commands state them: numbers of blocks differ with the size of a block.
fn with_amounts(
    mut differences: Vec<FieldDifference>,
    first: &CommandAction,
    second: &CommandAction,
) -> Vec<FieldDifference> {
    if let (Some(one), Some(other)) = (first.set_bytes(), second.set_bytes()) {
        differences.retain(|found| one != other || found.field != fields::AMOUNT);
        for found in differences.iter_mut().filter(|found| found.field == fields::AMOUNT) {
            found.values = [one, other].map(plumb_trust::text::bytes_exact);
        }
    }
    differences
}

/// Compares commands of two programs by the few facts that all commands have.
fn of_programs(first: &CommandAction, second: &CommandAction) -> Vec<FieldDifference> {
    let mut found = vec![FieldDifference::new(
        "program",
        &["tool", "benchmark"],
        first.program().to_owned(),
        second.program().to_owned(),
    )];
    let mut push = |field: &str, key: &str, first: Option<String>, second: Option<String>| {
        if let (Some(first), Some(second)) = (first, second)
            && first != second
        {
            found.push(FieldDifference::new(field, fields::named(&[key.to_owned()]).1, first, second));
        }
    };
    let size = |bytes: Option<u64>| bytes.map(plumb_trust::text::bytes_exact);
    push("block size", "block", size(first.block_bytes()), size(second.block_bytes()));
    push(fields::AMOUNT, "lengths", size(first.set_bytes()), size(second.set_bytes()));
    let durability = |action: &CommandAction| action.durability().map(|rule| rule.words().to_owned());
    push("flushes", "syncs", durability(first), durability(second));
    let yields = |action: &CommandAction| {
        let names: Vec<&str> = action.yields().into_iter().map(plumb_result::CellMetric::name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    push("access pattern", "pattern", yields(first), yields(second));
    found
}

/// The options of a line by their keys: `--threads=4`, `threads=4` and `--threads 4` are `threads` with a value.
fn options(line: &str) -> Vec<(String, String)> {
    let place = |word: &str| if word.contains('/') { "a path".to_owned() } else { word.to_owned() };
    let mut found: Vec<(String, String)> = Vec::new();
    let mut words = super::words(line).into_iter().peekable();
    while let Some(word) = words.next() {
        let is_option = word.starts_with('-');
        let key = word.trim_start_matches('-');
        match key.split_once('=') {
            Some((key, value)) => found.push((key.to_owned(), place(value))),
            None if is_option => {
                let value = words.next_if(|next| !next.starts_with('-'));
                found.push((key.to_owned(), value.map_or(String::new(), |value| place(&value))));
            }
            None => found.push((String::new(), place(&word))),
        }
    }
    found
}

/// The options in which two printed lines differ; all paths count as equal.
fn by_words(first: &str, second: &str) -> Vec<FieldDifference> {
    let (first, second) = (options(first), options(second));
    let by_key = |options: &[(String, String)]| {
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in options {
            match keys.get_mut(key) {
                Some(values) => values.push(value.clone()),
                None => drop(keys.insert(key.clone(), vec![value.clone()])),
            }
        }
        keys
    };
    let (one, other) = (by_key(&first), by_key(&second));
    let mut found = Vec::new();
    for key in std::collections::BTreeSet::from_iter(one.keys().chain(other.keys())) {
        let (mine, theirs) = (one.get(key), other.get(key));
        if mine == theirs {
            continue;
        }
        let shown = |values: Option<&Vec<String>>| match values {
            None => "not given".to_owned(),
            Some(values) => match values.join(" ") {
                text if text.is_empty() => "given".to_owned(),
                text => text,
            },
        };
        let field = if key.is_empty() { "words of the command".to_owned() } else { format!("option {key}") };
        found.push(FieldDifference::new(field, &[key], shown(mine), shown(theirs)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(first: &str, second: &str) -> Vec<String> {
        let (one, other) = (super::super::read(first), super::super::read(second));
        let found = differences((first, &one), (second, &other));
        found.into_iter().map(|found| format!("{} ({} | {})", found.field, found.values[0], found.values[1])).collect()
    }

    #[track_caller]
    fn assert_differs(line: &str, from: &str, to: &str, expected: &[&str]) {
        assert!(line.contains(from), "{from}");
        assert_eq!(fields(line, &line.replace(from, to)), expected, "{from} → {to}");
    }

    const FIO: &str = "fio --name=w --filename=/mnt/a/f --rw=write --bs=128k --size=64g --ioengine=libaio --iodepth=8 \
                       --direct=1 --runtime=120 --time_based --end_fsync=1";

    // Protects: each field of fio's work is named in plain words, with both values.
    #[test]
    fn fields_of_fio_are_named() {
        assert_differs(FIO, "--iodepth=8", "--iodepth=32", &["queue depth (8 | 32)"]);
        assert_differs(FIO, "--bs=128k", "--bs=4k", &["block size (128KiB | 4KiB)"]);
        assert_differs(FIO, "--direct=1", "--direct=0", &["direct I/O (yes | no)"]);
        assert_differs(FIO, "--runtime=120", "--runtime=10", &["run time (2min | 10s)"]);
        assert_differs(FIO, "--ioengine=libaio", "--ioengine=io_uring", &["I/O engine (libaio | io-uring)"]);
        assert_differs(FIO, "--rw=write", "--rw=randwrite", &["access pattern (sequential | random)"]);
        assert_differs(FIO, "--size=64g", "--size=8g", &["amount of data (64 GiB | 8 GiB)"]);
        assert_differs(FIO, "--end_fsync=1", "", &["flushes (yes | no)"]);
        assert_differs(FIO, "--end_fsync=1", "--end_fsync=1 --numjobs=4", &["number of jobs (1 | 4)"]);
        assert_differs(FIO, "--end_fsync=1", "--end_fsync=1 --zero_buffers", &["content of the data (random | zeros)"]);
        assert_differs(FIO, "--end_fsync=1", "--end_fsync=1 --rate=10m", &["rate limit (not set | 10485760/s)"]);
    }

    // Protects: what sides must have of their own is not a difference: names, places, and where output goes.
    #[test]
    fn names_and_places_are_not_work() {
        assert_eq!(fields(FIO, &FIO.replace("/mnt/a/f", "/mnt/b/g")), [] as [&str; 0]);
        assert_eq!(fields(FIO, &FIO.replace("--name=w", "--name=xfs-write --output=xfs.json")), [] as [&str; 0]);
        let units = "fio --name=w --filename=/mnt/a/f --rw=write --bs=131072 --size=64G --ioengine=libaio --iodepth=8 \
                     --buffered=0 --runtime=2m --time_based --end_fsync=1";
        assert_eq!(fields(FIO, units), [] as [&str; 0], "one work in two ways");
        let dd = "dd if=/mnt/src/r of=/mnt/a/f bs=1M count=4096 conv=fsync";
        assert_eq!(fields(dd, "dd of=/mnt/b/f if=/mnt/src/r bs=1048576 count=4096 conv=fsync"), [] as [&str; 0]);
    }

    #[test]
    fn fields_of_other_tools_are_named() {
        let dd = "dd if=/mnt/src/r of=/mnt/a/f bs=1M count=4096 conv=fsync";
        assert_differs(dd, "if=/mnt/src/r", "if=/dev/zero", &["source of the data (a file | zeros)"]);
        assert_differs(dd, "conv=fsync", "oflag=direct", &["flushes (yes | no)", "direct I/O (no | yes)"]);
        assert_differs(dd, "count=4096", "count=512", &["amount of data (4 GiB | 512 MiB)"]);
        assert_differs(dd, "bs=1M count=4096", "bs=4M count=1024", &["block size (1MiB | 4MiB)"]);
        assert_differs(dd, "of=/mnt/a/f", "of=/dev/sdb", &["what it works on (a file | a device)"]);
        let iozone = "iozone -s 16g -r 1m -i 0 -e -f /mnt/a/f";
        assert_differs(iozone, "-r 1m", "-r 4k", &["block size (1MiB | 4KiB)"]);
        let bonnie = "bonnie++ -d /mnt/a -s 32g -n 0 -u root";
        assert_differs(bonnie, "-s 32g", "-s 8g", &["amount of data (32 GiB | 8 GiB)"]);
        let elbencho = "elbencho -w -b 1m -t 4 -s 8g --direct /mnt/a/f";
        assert_differs(elbencho, "-t 4", "-t 16", &["number of jobs (4 | 16)"]);
        assert_differs("sysbench fileio --threads=4 run", "4", "16", &["option threads (4 | 16)"]);
        assert_differs(
            "sysbench fileio --threads=4 run",
            "run",
            "prepare",
            &["words of the command (sysbench fileio run | sysbench fileio prepare)"],
        );
    }

    #[test]
    fn what_starts_a_command_and_what_surrounds_it_is_compared() {
        assert_eq!(fields(FIO, &format!("taskset -c 0 {FIO}")), ["what starts it (nothing | taskset -c 0)"]);
        let dropped = format!("echo 3 > /proc/sys/vm/drop_caches; {FIO}");
        assert_eq!(fields(FIO, &dropped), ["commands around it (none | echo 3 > /proc/sys/vm/drop_caches)"]);
        let programs =
            fields("dd if=/dev/zero of=/mnt/f bs=1M count=1024", "fio --name=w --rw=write --bs=4k --size=1g");
        assert!(programs.contains(&"program (dd | fio)".to_owned()), "{programs:?}");
        assert!(programs.contains(&"block size (1 MiB | 4 KiB)".to_owned()), "{programs:?}");
    }

    // Protects: a printed line cannot make an audit allocate without bounds.
    #[test]
    fn huge_commands_are_compared_by_their_words() {
        let huge = format!("{FIO} --numjobs=1000000");
        assert_eq!(fields(&huge, &huge), [] as [&str; 0]);
        assert_eq!(fields(FIO, &huge), ["option numjobs (not given | 1000000)"]);
        let files = "bonnie++ -d /mnt/a -s 1g -n 100000000 -u root";
        assert_eq!(fields(files, files), [] as [&str; 0]);
    }
}
