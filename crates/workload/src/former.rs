//! Keys that have moved or changed form, so that old workload files and stored results stay readable.
//!
//! Block I/O of other tools' generators used to be its own kind of work, the job. The keys of a job now belong to its
//! group, and its ops are a stream like any other. CPU load and external programs used to be kinds of work and are
//! now companions of their phase. [`upgrade`] moves the keys of a document to their present place. Each key keeps
//! its position in the text, so that errors point to the original line.

use crate::merge;
use plumb_document::{Node, Spanned, Table, Value, json};
use serde::de::DeserializeOwned;

/// Former keys for the ops of a job, and the generator that each is now.
const FORMER_OPS: [(&str, &str); 3] = [("stream", "fio"), ("sweep", "sweep"), ("recording", "trace")];

/// Former kinds of work that are now companions.
const COMPANION_WORK: [&str; 2] = ["busy", "exec"];

/// Keys of a group that only I/O needs.
const IO_KEYS: [&str; 12] = [
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

/// Former keys that never had an effect.
const INERT_KEYS: [&str; 2] = ["offload", "never-wait"];

/// Brings a document to the present form, wherever it describes workers.
pub fn upgrade(node: &mut Node) {
    match node.get_mut() {
        Value::List(list) => list.iter_mut().for_each(upgrade),
        Value::Table(table) => upgrade_table(table),
        _ => {}
    }
}

/// Does the same for a table at the top of a document.
pub fn upgrade_table(table: &mut Table) {
    move_companions(table);
    // The group must come before its job, whose keys it takes over.
    update_group(table);
    table.iter_mut().for_each(|(_, node)| upgrade(node));
}

/// Reads a type from JSON that an earlier version may have written.
///
/// # Errors
/// Fails for text that is not JSON, and for JSON of another type.
pub fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, json::JsonError> {
    let mut node = json::parse(text.as_bytes())?;
    upgrade(&mut node);
    Ok(plumb_document::read(&node)?)
}

/// Moves groups without I/O from a phase's workers to its companions, if the table is a phase.
fn move_companions(table: &mut Table) {
    let makes_no_io = |group: &Node| -> bool {
        let work = group.get_ref().as_table().and_then(|group| group.get("work")?.get_ref().as_table());
        work.is_some_and(|work| COMPANION_WORK.iter().any(|kind| work.get(kind).is_some()))
    };
    let groups = table.get("workers").and_then(|workers| workers.get_ref().as_list());
    if !groups.is_some_and(|groups| groups.iter().any(makes_no_io)) {
        return;
    }
    let Some((key, mut workers)) = table.remove_entry("workers") else { return };
    let Value::List(groups) = workers.get_mut() else { return };
    let groups = std::mem::take(groups);
    let (mut others, mut companions) = (Vec::new(), Vec::new());
    for (number, mut group) in groups.into_iter().enumerate() {
        let is_companion = makes_no_io(&group);
        if let Some(group) = group.get_mut().as_table_mut() {
            // Group numbers were used as labels, and those after a companion change.
            if (is_companion || !companions.is_empty()) && group.get("name").is_none() {
                let name = Spanned::new(key.span(), Value::Text(format!("workers.{number}")));
                group.insert(Spanned::new(key.span(), "name".to_owned()), name);
            }
            if is_companion {
                make_companion(group);
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

/// Turns a group of workers into a companion.
fn make_companion(group: &mut Table) {
    let time = table_at(group, &["limit"]).and_then(|limit| limit.remove_entry("time"));
    group.retain(|key, _| !IO_KEYS.contains(&key));
    if let Some((key, time)) = time {
        group.insert(key, time);
    }
    if let Some((mut key, work)) = group.remove_entry("work") {
        "does".clone_into(key.get_mut());
        group.insert(key, work);
    }
}

/// Updates a group of workers, if the table is one.
fn update_group(table: &mut Table) {
    if table.get("pace").is_some_and(|pace| pace.get_ref().as_str() == Some("closed")) {
        table.remove("pace");
    }
    update_job(table);
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

/// Turns a job's keys into keys of its group, and its ops into a stream of block I/O. Unknown keys move too, so that
/// errors suggest keys of the group.
fn update_job(group: &mut Table) {
    let Some(keys) = table_at(group, &["work", "job"]).map(std::mem::take) else { return };
    let job_key = table_at(group, &["work"]).and_then(|work| work.remove_entry("job")).map(|(key, _)| key);
    let Some(mut job_key) = job_key else { return };
    for (mut key, mut node) in keys {
        if key.get_ref() == "ops" {
            rename_generators(&mut node);
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
            rules.retain(|key, _| !INERT_KEYS.contains(&key));
        }
        put(group, key, node);
    }
}

/// Renames the ops of a job to the names of their generators.
fn rename_generators(ops: &mut Node) {
    let Some(ops) = ops.get_mut().as_table_mut() else { return };
    for (former, today) in FORMER_OPS {
        if let Some((mut key, node)) = ops.remove_entry(former) {
            today.clone_into(key.get_mut());
            ops.insert(key, node);
        }
    }
}

/// Inserts a value; an existing table keeps the keys that the value does not set.
fn put(table: &mut Table, key: Spanned<String>, mut node: Node) {
    if let (Some(existing), Value::Table(value)) = (table_at(table, &[key.get_ref()]), node.get_mut()) {
        merge::merge_base(value, std::mem::take(existing));
    }
    table.insert(key, node);
}

fn table_at<'t>(table: &'t mut Table, path: &[&str]) -> Option<&'t mut Table> {
    path.iter().try_fold(table, |table, key| table.get_mut(key)?.get_mut().as_table_mut())
}
