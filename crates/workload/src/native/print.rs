//! Workloads written as TOML that people want to read: sections for targets, phases and workers, dotted keys within,
//! and nothing that would be the same if left out.

use crate::Workload;
use crate::keypath::is_bare;
use crate::phase::{Phase, WorkerGroup};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use toml::{Table, Value};

/// Why a workload has no native form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the workload `{workload}` cannot be written as TOML: {reason} (paths must be UTF-8, and integers lie below 2^63)"
)]
pub struct PrintError {
    /// Its name.
    pub workload: String,
    /// What TOML has no form for.
    pub reason: String,
}

/// The native form of a workload. A workload that [`validate`](crate::validate::validate) accepts always has one, and
/// reading it gives the same workload back. A key is left out where leaving it out changes nothing.
pub fn to_toml(workload: &Workload) -> Result<String, PrintError> {
    let failed = |error: toml::ser::Error| PrintError { workload: workload.name.clone(), reason: error.to_string() };
    let mut text = String::new();
    line(&mut text, "name", &Value::from(workload.name.as_str()));
    if !workload.description.is_empty() {
        line(&mut text, "description", &Value::from(workload.description.as_str()));
    }
    if workload.seed != Workload::DEFAULT_SEED {
        line(&mut text, "seed", &Value::try_from(workload.seed).map_err(failed)?);
    }
    if workload.target.is_empty() {
        text.push_str("target = {}\n");
    }
    let mut before: Option<Shortened> = None;
    for (name, target) in &workload.target {
        let target = Shortened::of(target, before.as_ref()).map_err(failed)?;
        for (kind, keys) in target.short.as_table().into_iter().flatten() {
            let _ = write!(text, "\n[target.{}.{kind}]\n", key(name));
            lines(&mut text, "", keys);
        }
        before = Some(target);
    }
    let mut before: Option<Shortened> = None;
    if workload.phase.is_empty() {
        // A list of no tables can only be written before the first section.
        text.insert_str(0, "phase = []\n");
    }
    for phase in &workload.phase {
        text.push_str("\n[[phase]]\n");
        let alone = Phase { workers: Vec::new(), ..phase.clone() };
        let mut keys = Shortened::of(&alone, None).map_err(failed)?.short;
        if let Some(keys) = keys.as_table_mut()
            && !phase.workers.is_empty()
        {
            keys.remove("workers");
        }
        lines(&mut text, "", &keys);
        for workers in &phase.workers {
            text.push_str("\n[[phase.workers]]\n");
            let workers = Shortened::of::<WorkerGroup>(workers, before.as_ref()).map_err(failed)?;
            lines(&mut text, "", &workers.short);
            before = Some(workers);
        }
    }
    Ok(text)
}

/// A value's TOML, whole and less everything that reading would put back.
struct Shortened {
    whole: Value,
    short: Value,
}

impl Shortened {
    /// Of a value that is perhaps much like one `before`: what is the same in both is shortened in the same way, and
    /// only the rest is tried. A workload can have thousands of workers that differ in a name.
    fn of<T: Serialize + DeserializeOwned + PartialEq>(
        value: &T,
        before: Option<&Shortened>,
    ) -> Result<Shortened, toml::ser::Error> {
        let whole = Value::try_from(value)?;
        let same = |candidate: &Value| candidate.clone().try_into::<T>().is_ok_and(|read| read == *value);
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

/// The value in the form that the one before it got; puts the paths of what is not as it was there into `untried`.
fn as_before(value: &Value, whole: &Value, short: &Value, path: &mut Vec<Step>, untried: &mut Vec<Vec<Step>>) -> Value {
    if value == whole {
        return short.clone();
    }
    let (Value::Table(keys), Value::Table(whole), Value::Table(short)) = (value, whole, short) else {
        untried.push(path.clone());
        return value.clone();
    };
    let mut table = Table::new();
    for (key, value) in keys {
        path.push(Step::Key(key.clone()));
        match (whole.get(key), short.get(key)) {
            (Some(whole), Some(short)) => {
                table.insert(key.clone(), as_before(value, whole, short, path, untried));
            }
            (Some(whole), None) if whole == value => {}
            _ => {
                untried.push(path.clone());
                table.insert(key.clone(), value.clone());
            }
        }
        path.pop();
    }
    Value::Table(table)
}

/// A step into a TOML value.
#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

fn at<'a>(whole: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(whole, |value, step| match (step, value) {
        (Step::Key(key), Value::Table(table)) => table.get_mut(key),
        (Step::Index(index), Value::Array(array)) => array.get_mut(*index),
        _ => None,
    })
}

/// Written even where they are the defaults: what a reader wants to know of any workload.
const ALWAYS: &[&str] = &["block", "pattern", "mix", "cache"];

/// Tries every shorter form of what lies at `path`, outermost first, and keeps those that read the same.
fn shorten(whole: &mut Value, path: &mut Vec<Step>, same: &dyn Fn(&Value) -> bool) {
    let children: Vec<Step> = match at(whole, path) {
        Some(Value::Table(table)) => table.keys().cloned().map(Step::Key).collect(),
        Some(Value::Array(array)) => (0..array.len()).map(Step::Index).collect(),
        _ => return,
    };
    for child in children {
        shorten_child(whole, path, child, same);
    }
    fold(whole, path, same);
}

/// The same for one path, and for what it lies in.
fn shorten_one(whole: &mut Value, mut path: Vec<Step>, same: &dyn Fn(&Value) -> bool) {
    let Some(child) = path.pop() else { return shorten(whole, &mut path, same) };
    shorten_child(whole, &mut path, child, same);
    loop {
        fold(whole, &path, same);
        if path.pop().is_none() {
            return;
        }
    }
}

/// Leaves a child out, or shortens it.
fn shorten_child(whole: &mut Value, path: &mut Vec<Step>, child: Step, same: &dyn Fn(&Value) -> bool) {
    if let Step::Key(key) = &child
        && !ALWAYS.contains(&key.as_str())
    {
        let Some(Value::Table(table)) = at(whole, path) else { return };
        // Removed and put back as a whole, so that the order of the keys stays.
        let before = table.clone();
        table.remove(key);
        if same(whole) {
            return;
        }
        if let Some(place) = at(whole, path) {
            *place = Value::Table(before);
        }
    }
    path.push(child);
    shorten(whole, path, same);
    path.pop();
}

/// `{ fsync = {} }` is "fsync", and `{ fixed = "4KiB" }` is "4KiB".
fn fold(whole: &mut Value, path: &[Step], same: &dyn Fn(&Value) -> bool) {
    let Some(place) = at(whole, path) else { return };
    let Value::Table(table) = &*place else { return };
    let mut entries = table.iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else { return };
    let short = match value {
        Value::Table(keys) if keys.is_empty() => Value::String(key.clone()),
        Value::String(_) | Value::Integer(_) => value.clone(),
        _ => return,
    };
    let before = std::mem::replace(place, short);
    if !same(whole)
        && let Some(place) = at(whole, path)
    {
        *place = before;
    }
}

/// The lines of a table, its inner tables under dotted keys.
fn lines(text: &mut String, prefix: &str, value: &Value) {
    let Value::Table(table) = value else { return };
    for (name, value) in table {
        let dotted = format!("{prefix}{}", key(name));
        match value {
            Value::Table(inner) if !inner.is_empty() && !is_small(inner) => lines(text, &format!("{dotted}."), value),
            _ => line(text, &dotted, value),
        }
    }
}

/// A choice with plain values reads best on one line: `{ zipf = { theta = 1.1 } }`.
fn is_small(table: &Table) -> bool {
    const KEYS_MAX: usize = 4;
    let plain = |value: &Value| !matches!(value, Value::Table(_) | Value::Array(_));
    table.len() > 1 && table.len() <= KEYS_MAX && table.values().all(plain)
}

const WIDTH: usize = 100;

fn line(text: &mut String, key: &str, value: &Value) {
    let whole = inline(value);
    match value {
        Value::Array(array) if key.len() + whole.len() + 3 > WIDTH => {
            let _ = writeln!(text, "{key} = [");
            for element in array {
                let _ = writeln!(text, "    {},", inline(element));
            }
            text.push_str("]\n");
        }
        _ => {
            let _ = writeln!(text, "{key} = {whole}");
        }
    }
}

/// A value on one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(array) => format!("[{}]", array.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Table(table) if table.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let entries: Vec<String> =
                table.iter().map(|(name, value)| format!("{} = {}", key(name), inline(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// A key, in quotes where TOML wants them.
fn key(name: &str) -> String {
    if is_bare(name) { name.to_owned() } else { Value::from(name).to_string() }
}
