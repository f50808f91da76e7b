//! Keys that once lay elsewhere, or had other forms: workload files that people keep, and stored results, are still read.
//!
//! Block I/O of other tools' generators was a work of its own, the job. What it had for itself is its group's today, and
//! its ops are a stream like any other; processor time and programs, once a kind of work, are companions of their phase.
//! [`bring_up`] moves what a document says to where it
//! is read today, and each key takes its place in the text with it, so that errors lead to where it was written.

use crate::merge;
use plumb_document::{Node, Spanned, Table, Value, json};
use serde::de::DeserializeOwned;

/// What the ops of a job were, and which generator's stream they are.
const OPS: [(&str, &str); 3] = [("stream", "fio"), ("sweep", "sweep"), ("recording", "trace")];

/// What groups of workers had that made no I/O, and companions are.
const NO_IO: [&str; 2] = ["busy", "exec"];

/// What only I/O needs.
const OF_IO: [&str; 12] = [
    "target",
    "backend",
    "depth",
    "batch",
    "pace",
    "steady",
    "content",
    "verify",
    "errors",
    "ramp-until",
    "sample",
    "limit",
];

/// What never had an effect.
const WITHOUT_EFFECT: [&str; 2] = ["offload", "never-wait"];

/// Brings a document to the form of today, wherever in it workers are described.
pub fn bring_up(node: &mut Node) {
    match node.get_mut() {
        Value::List(list) => list.iter_mut().for_each(bring_up),
        Value::Table(table) => bring_up_table(table),
        _ => {}
    }
}

/// The same for the table that a document is.
pub fn bring_up_table(table: &mut Table) {
    companions(table);
    // A group before its job, whose keys it takes.
    group(table);
    table.iter_mut().for_each(|(_, node)| bring_up(node));
}

/// Reads a type from JSON that may have been written long ago.
///
/// # Errors
/// A text that is not JSON, or JSON of something else.
pub fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, json::JsonError> {
    let mut node = json::parse(text.as_bytes())?;
    bring_up(&mut node);
    Ok(plumb_document::read(&node)?)
}

/// Moves what makes no I/O from a phase's workers to its companions, where the table is a phase.
fn companions(table: &mut Table) {
    let makes_none = |group: &Node| -> bool {
        let work = group.get_ref().as_table().and_then(|group| group.get("work")?.get_ref().as_table());
        work.is_some_and(|work| NO_IO.iter().any(|kind| work.get(kind).is_some()))
    };
    let groups = table.get("workers").and_then(|workers| workers.get_ref().as_list());
    if !groups.is_some_and(|groups| groups.iter().any(makes_none)) {
        return;
    }
    let Some((key, mut workers)) = table.remove_entry("workers") else { return };
    let Value::List(groups) = workers.get_mut() else { return };
    let groups = std::mem::take(groups);
    let (mut others, mut companions) = (Vec::new(), Vec::new());
    for (number, mut group) in groups.into_iter().enumerate() {
        let is_companion = makes_none(&group);
        if let Some(group) = group.get_mut().as_table_mut() {
            // Numbers were labels, and those of groups behind a companion change.
            if (is_companion || !companions.is_empty()) && group.get("name").is_none() {
                let name = Spanned::new(key.span(), Value::Text(format!("workers.{number}")));
                group.insert(Spanned::new(key.span(), "name".to_owned()), name);
            }
            if is_companion {
                companion(group);
            }
        }
        if is_companion { companions.push(group) } else { others.push(group) }
    }
    match table.get_mut("companions").map(Node::get_mut) {
        Some(Value::List(list)) => list.append(&mut companions),
        _ => {
            let name = Spanned::new(key.span(), "companions".to_owned());
            table.insert(name, Spanned::new(workers.span(), Value::List(companions)));
        }
    }
    *workers.get_mut() = Value::List(others);
    table.insert(key, workers);
}

/// The companion that a group of workers is today.
fn companion(group: &mut Table) {
    let time = table_at(group, &["limit"]).and_then(|limit| limit.remove_entry("time"));
    group.retain(|key, _| !OF_IO.contains(&key));
    if let Some((key, time)) = time {
        group.insert(key, time);
    }
    if let Some((mut key, work)) = group.remove_entry("work") {
        "does".clone_into(key.get_mut());
        group.insert(key, work);
    }
}

/// A group of workers, where the table is one.
fn group(table: &mut Table) {
    if table.get("pace").is_some_and(|pace| pace.get_ref().as_str() == Some("closed")) {
        table.remove("pace");
    }
    job(table);
    if let Some((key, rule)) = table_at(table, &["pace"]).and_then(|pace| pace.remove_entry("steady")) {
        table.insert(key, rule);
    }
    if let Some(verify) = table_at(table, &["verify"])
        && let Some((key, mut checksum)) = verify.remove_entry("checksum")
    {
        if checksum.get_ref().as_str() == Some("xxh3") {
            *checksum.get_mut() = Value::Text("xx-hash".to_owned());
        }
        verify.insert(Spanned::new(key.span(), "method".to_owned()), checksum);
        let layout = Value::Text("plumb".to_owned());
        verify.insert(Spanned::new(key.span(), "layout".to_owned()), Spanned::new(key.span(), layout));
    }
    if let Some(think) = table_at(table, &["pace", "think"])
        && let Some((key, time)) = think.remove_entry("time")
    {
        think.insert(Spanned::new(key.span(), "pause".to_owned()), time);
        for (name, value) in [("at-once", Value::Bool(true)), ("counts", Value::Text("started".to_owned()))] {
            think.insert(Spanned::new(key.span(), name.to_owned()), Spanned::new(key.span(), value));
        }
    }
}

/// A job's keys are its group's, and its ops a stream of block I/O. An unknown key moves with them, so that its error suggests keys of the group.
fn job(group: &mut Table) {
    let Some(keys) = table_at(group, &["work", "job"]).map(std::mem::take) else { return };
    let job_key = table_at(group, &["work"]).and_then(|work| work.remove_entry("job")).map(|(key, _)| key);
    let Some(mut job_key) = job_key else { return };
    for (mut key, mut node) in keys {
        if key.get_ref() == "ops" {
            stream(&mut node);
            "blocks".clone_into(job_key.get_mut());
            if let Some(work) = table_at(group, &["work"]) {
                put(work, job_key.clone(), node);
            }
            continue;
        }
        if key.get_ref() == "queue" {
            "batch".clone_into(key.get_mut());
        }
        if let Some(rules) = node.get_mut().as_table_mut() {
            rules.retain(|key, _| !WITHOUT_EFFECT.contains(&key));
        }
        put(group, key, node);
    }
}

/// The ops of a job under the names of generators.
fn stream(ops: &mut Node) {
    let Some(ops) = ops.get_mut().as_table_mut() else { return };
    for (former, today) in OPS {
        if let Some((mut key, node)) = ops.remove_entry(former) {
            today.clone_into(key.get_mut());
            ops.insert(key, node);
        }
    }
}

/// Puts what a job said over what is there.
fn put(table: &mut Table, key: Spanned<String>, mut node: Node) {
    if let (Some(there), Value::Table(said)) = (table_at(table, &[key.get_ref()]), node.get_mut()) {
        merge::beneath(said, std::mem::take(there));
    }
    table.insert(key, node);
}

fn table_at<'t>(table: &'t mut Table, path: &[&str]) -> Option<&'t mut Table> {
    path.iter().try_fold(table, |table, key| table.get_mut(key)?.get_mut().as_table_mut())
}
