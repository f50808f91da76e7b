//! Workloads printed as readable TOML: sections for targets, phases and workers, dotted keys within, and no
//! keys that could be omitted.

use plumb_document::toml::{inline, key};
use plumb_document::{Node, Table, Value, WriteError};
use plumb_workload::Workload;
use plumb_workload::companion::Companion;
use plumb_workload::phase::{Phase, WorkerGroup};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write;

/// Error for a workload without a native form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the workload `{workload}` cannot be written as TOML: {reason} (paths must be UTF-8, and integers below 2^63)")]
pub struct PrintError {
    /// Name of the workload.
    pub workload: String,
    /// Value that TOML cannot express.
    pub reason: String,
}

/// Returns the native form of a workload. Every workload that [`validate`](crate::validate::validate) accepts has
/// one, and parsing it gives the same workload. Keys are omitted if that changes nothing.
pub fn to_toml(workload: &Workload) -> Result<String, PrintError> {
    let failed = |error: WriteError| PrintError { workload: workload.name.clone(), reason: error.to_string() };
    let mut text = String::new();
    line(&mut text, "name", &Value::Text(workload.name.clone()));
    if !workload.description.is_empty() {
        line(&mut text, "description", &Value::Text(workload.description.clone()));
    }
    if workload.seed != Workload::DEFAULT_SEED {
        line(&mut text, "seed", written(&workload.seed).map_err(failed)?.get_ref());
    }
    if let Some(repeat) = &workload.repeat {
        lines(&mut text, "repeat.", &Shortened::new(repeat, None).map_err(failed)?.short);
    }
    if workload.target.is_empty() {
        text.push_str("target = {}\n");
    }
    let mut before: Option<Shortened> = None;
    for (name, target) in &workload.target {
        let target = Shortened::new(target, before.as_ref()).map_err(failed)?;
        for (kind, keys) in target.short.get_ref().as_table().into_iter().flatten() {
            let _ = write!(text, "\n[target.{}.{kind}]\n", key(name), kind = key(kind.get_ref()));
            lines(&mut text, "", keys);
        }
        before = Some(target);
    }
    let mut before: Option<Shortened> = None;
    if workload.phase.is_empty() {
        // A list without tables can only be written before the first section.
        text.insert_str(0, "phase = []\n");
    }
    for phase in &workload.phase {
        text.push_str("\n[[phase]]\n");
        let alone = Phase { workers: Vec::new(), companions: Vec::new(), ..phase.clone() };
        lines(&mut text, "", &Shortened::new(&alone, None).map_err(failed)?.short);
        for workers in &phase.workers {
            text.push_str("\n[[phase.workers]]\n");
            let workers = Shortened::new::<WorkerGroup>(workers, before.as_ref()).map_err(failed)?;
            lines(&mut text, "", &workers.short);
            before = Some(workers);
        }
        for companion in &phase.companions {
            text.push_str("\n[[phase.companions]]\n");
            lines(&mut text, "", &Shortened::new::<Companion>(companion, None).map_err(failed)?.short);
        }
    }
    Ok(text)
}

/// Returns a value's document without parts that TOML cannot express.
fn written(value: &impl Serialize) -> Result<Node, WriteError> {
    let mut node = plumb_document::write(value)?;
    match without_nulls(&mut node) {
        None => Ok(node),
        Some(number) => Err(WriteError(format!("{number} is out of range"))),
    }
}

/// Removes unset values. Returns a number that does not fit a TOML integer, if any.
fn without_nulls(node: &mut Node) -> Option<i128> {
    match node.get_mut() {
        Value::Integer(number) => i64::try_from(*number).is_err().then_some(*number),
        Value::List(list) => list.iter_mut().find_map(without_nulls),
        Value::Table(table) => {
            table.retain(|_, node| *node.get_ref() != Value::Null);
            table.iter_mut().find_map(|(_, node)| without_nulls(node))
        }
        _ => None,
    }
}

/// A value's TOML, in full and without everything that parsing would add again.
struct Shortened {
    whole: Node,
    short: Node,
}

impl Shortened {
    /// Shortens a value that may resemble the previous one, `before`. Equal parts are shortened in the same way, and
    /// only the rest is tried. A workload can have thousands of workers that differ only in a name.
    fn new<T: Serialize + DeserializeOwned + PartialEq>(
        value: &T,
        before: Option<&Shortened>,
    ) -> Result<Shortened, WriteError> {
        let whole = written(value)?;
        let same = |candidate: &Node| plumb_document::read::<T>(candidate).is_ok_and(|read| read == *value);
        if let Some(before) = before {
            let mut untried = Vec::new();
            let mut short = as_before(&whole, &before.whole, &before.short, &mut Vec::new(), &mut untried);
            if same(&short) {
                untried.into_iter().for_each(|path| shorten_one(&mut short, path, &same));
                return Ok(Shortened { whole, short });
            }
        }
        let mut short = whole.clone();
        shorten(&mut short, &mut Vec::new(), &same);
        Ok(Shortened { whole, short })
    }
}

/// Returns the value in the form of the previous one, and adds the paths of all differences to `untried`.
fn as_before(node: &Node, whole: &Node, short: &Node, path: &mut Vec<Step>, untried: &mut Vec<Vec<Step>>) -> Node {
    if node == whole {
        return short.clone();
    }
    let (Value::Table(keys), Value::Table(whole), Value::Table(short)) =
        (node.get_ref(), whole.get_ref(), short.get_ref())
    else {
        untried.push(path.clone());
        return node.clone();
    };
    let mut table = Table::new();
    for (key, node) in keys {
        let name = key.get_ref();
        path.push(Step::Key(name.clone()));
        match (whole.get(name), short.get(name)) {
            (Some(whole), Some(short)) => {
                table.insert(key.clone(), as_before(node, whole, short, path, untried));
            }
            (Some(whole), None) if whole == node => {}
            _ => {
                untried.push(path.clone());
                table.insert(key.clone(), node.clone());
            }
        }
        path.pop();
    }
    Value::Table(table).into()
}

/// One step of a path in a TOML value.
#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

fn at<'a>(whole: &'a mut Node, path: &[Step]) -> Option<&'a mut Node> {
    path.iter().try_fold(whole, |node, step| match (step, node.get_mut()) {
        (Step::Key(key), Value::Table(table)) => table.get_mut(key),
        (Step::Index(index), Value::List(list)) => list.get_mut(*index),
        _ => None,
    })
}

/// Keys to write even if they have their defaults, because readers want to know them for any workload.
const ALWAYS: &[&str] = &["block", "pattern", "mix", "cache"];

/// Tries all shorter forms of the value at `path`, outermost first, and keeps those that parse to the same value.
fn shorten(whole: &mut Node, path: &mut Vec<Step>, same: &dyn Fn(&Node) -> bool) {
    let children: Vec<Step> = match at(whole, path).map(|node| node.get_ref()) {
        Some(Value::Table(table)) => table.keys().map(|key| Step::Key(key.get_ref().clone())).collect(),
        Some(Value::List(list)) => (0..list.len()).map(Step::Index).collect(),
        _ => return,
    };
    for child in children {
        shorten_child(whole, path, child, same);
    }
    fold(whole, path, same);
}

/// Shortens the value at one path, and the values that contain it.
fn shorten_one(whole: &mut Node, mut path: Vec<Step>, same: &dyn Fn(&Node) -> bool) {
    let Some(child) = path.pop() else { return shorten(whole, &mut path, same) };
    shorten_child(whole, &mut path, child, same);
    loop {
        fold(whole, &path, same);
        if path.pop().is_none() {
            return;
        }
    }
}

/// Omits a child, or shortens it.
fn shorten_child(whole: &mut Node, path: &mut Vec<Step>, child: Step, same: &dyn Fn(&Node) -> bool) {
    if let Step::Key(key) = &child
        && !ALWAYS.contains(&key.as_str())
    {
        let Some(table) = at(whole, path).and_then(|node| node.get_mut().as_table_mut()) else { return };
        // Restore the whole table to keep the order of its keys.
        let before = table.clone();
        table.remove(key);
        if same(whole) {
            return;
        }
        if let Some(place) = at(whole, path) {
            *place.get_mut() = Value::Table(before);
        }
    }
    path.push(child);
    shorten(whole, path, same);
    path.pop();
}

/// Folds `{ fsync = {} }` to "fsync" and `{ fixed = "4KiB" }` to "4KiB".
fn fold(whole: &mut Node, path: &[Step], same: &dyn Fn(&Node) -> bool) {
    let Some(place) = at(whole, path) else { return };
    let Value::Table(table) = place.get_ref() else { return };
    let mut entries = table.iter();
    let (Some((key, node)), None) = (entries.next(), entries.next()) else { return };
    let short = match node.get_ref() {
        Value::Table(keys) if keys.is_empty() => Value::Text(key.get_ref().clone()),
        value @ (Value::Text(_) | Value::Integer(_)) => value.clone(),
        _ => return,
    };
    let before = std::mem::replace(place.get_mut(), short);
    if !same(whole)
        && let Some(place) = at(whole, path)
    {
        *place.get_mut() = before;
    }
}

/// Writes the lines of a table, with dotted keys for inner tables.
fn lines(text: &mut String, prefix: &str, node: &Node) {
    let Value::Table(table) = node.get_ref() else { return };
    for (name, node) in table {
        let dotted = format!("{prefix}{}", key(name.get_ref()));
        match node.get_ref() {
            Value::Table(inner) if !inner.is_empty() && !is_small(inner) => lines(text, &format!("{dotted}."), node),
            value => line(text, &dotted, value),
        }
    }
}

/// Returns `true` for a choice with plain values, which reads best on one line: `{ zipf = { theta = 1.1 } }`.
fn is_small(table: &Table) -> bool {
    const KEYS_MAX: usize = 4;
    let plain = |node: &Node| !matches!(node.get_ref(), Value::Table(_) | Value::List(_));
    table.len() > 1 && table.len() <= KEYS_MAX && table.values().all(plain)
}

const WIDTH: usize = 100;

fn line(text: &mut String, key: &str, value: &Value) {
    let whole = inline(value);
    match value {
        Value::List(list) if key.len() + whole.len() + 3 > WIDTH => {
            let _ = writeln!(text, "{key} = [");
            for element in list {
                let _ = writeln!(text, "    {},", inline(element.get_ref()));
            }
            text.push_str("]\n");
        }
        _ => {
            let _ = writeln!(text, "{key} = {whole}");
        }
    }
}
