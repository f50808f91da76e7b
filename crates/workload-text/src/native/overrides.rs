//! `--set key=value`: changes to a workload before it is read.

use super::error::NativeError;
use super::locate::{Document, LocatedFailure, Placed, SpannedTable, as_written};
use plumb_document::toml;
use plumb_document::{Node, Spanned, Table, Value};
use plumb_workload::former;
use plumb_workload::keypath::{KeyPath, KeyPathError, Segment};
use plumb_workload::merge::overlay;
use plumb_workload::suggest::did_you_mean;
use std::borrow::Cow;
use std::ops::Range;

/// A key that stands for the same setting in all places of a workload that have it.
#[derive(Debug, Clone, Copy)]
pub struct Shorthand {
    /// Key that users type.
    pub name: &'static str,
    /// Example of a value.
    pub example: &'static str,
    /// Description for the help.
    pub doc: &'static str,
    /// Places that it applies to.
    pub reach: Reach,
    /// Keys from those places to the setting.
    pub keys: &'static [&'static str],
}

/// The places that a [`Shorthand`] applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Workload,
    /// All targets of these kinds.
    Targets(&'static [&'static str]),
    Phases,
    /// All groups of workers.
    Workers,
    /// All groups of workers that do block I/O.
    BlockWorkers,
}

impl Reach {
    /// Returns the place in words, for help and errors.
    fn name(self) -> Cow<'static, str> {
        match self {
            Reach::Workload => "workload".into(),
            Reach::Targets(kinds) => format!("target of kind `{}`", kinds.join("`, `")).into(),
            Reach::Phases => "phase".into(),
            Reach::Workers => "group of workers".into(),
            Reach::BlockWorkers => "group of workers with block I/O".into(),
        }
    }
}

const fn shorthand(
    name: &'static str,
    example: &'static str,
    reach: Reach,
    keys: &'static [&'static str],
    doc: &'static str,
) -> Shorthand {
    Shorthand { name, example, doc, reach, keys }
}

const SIZED: Reach = Reach::Targets(&["file", "files", "device", "null", "sim"]);

const WITH_CONTENT: Reach = Reach::Targets(&["file", "files", "tree", "device"]);

/// All shorthands of `--set`, in the order of its help.
pub const SHORTHANDS: &[Shorthand] = &[
    shorthand("seed", "7", Reach::Workload, &["seed"], "seed of every random choice"),
    shorthand("size", "4GiB", SIZED, &["size"], "size of every target that is a range of offsets"),
    shorthand("files", "10000", Reach::Targets(&["tree", "sim"]), &["files"], "files of every file set"),
    shorthand("file-size", "16KiB", Reach::Targets(&["tree"]), &["size"], "size of the files of every file set"),
    shorthand("content", "zero", WITH_CONTENT, &["content"], "contents of writes"),
    shorthand("prepare", "allocate", Reach::Targets(&["file", "files"]), &["prepare"], "how files are allocated"),
    shorthand("time", "30s", Reach::Phases, &["stop", "time"], "maximum duration of each phase"),
    shorthand("bytes", "1GiB", Reach::Phases, &["stop", "bytes"], "maximum bytes moved by each phase"),
    shorthand("ops", "100000", Reach::Phases, &["stop", "ops"], "maximum ops of each phase"),
    shorthand("ramp", "5s", Reach::Phases, &["ramp"], "time at the start of each phase that is not measured"),
    shorthand("cache", "direct", Reach::Phases, &["cache"], "the page cache: as-is, cold, warm or direct"),
    shorthand("reads-own", "true", Reach::Phases, &["reads-own"], "let each MPI rank read the files that it wrote"),
    shorthand("flush", "fdatasync", Reach::Phases, &["end", "flush"], "final flush of the writes of each phase"),
    shorthand("count", "4", Reach::Workers, &["count"], "workers in each group"),
    shorthand("backend", "io-uring", Reach::BlockWorkers, &["backend"], "backend that executes the ops"),
    shorthand("run-as", "process", Reach::Workers, &["run-as"], "threads or processes"),
    shorthand(
        "rate",
        "1000/s",
        Reach::Workers,
        &["pace", "open", "rate"],
        "ops per second of each worker; late ops are caught up",
    ),
    shorthand("think", "1ms", Reach::Workers, &["pace", "think", "time"], "pause after each op"),
    shorthand("passes", "1", Reach::Workers, &["limit", "passes"], "passes over the range, or through the program"),
    shorthand("on-error", "continue", Reach::Workers, &["on-error"], "after a failed op: stop or continue"),
    shorthand("depth", "32", Reach::BlockWorkers, &["depth"], "ops in flight per worker"),
    shorthand("block", "4KiB", Reach::BlockWorkers, &["work", "blocks", "block"], "size of each op"),
    shorthand("pattern", "random", Reach::BlockWorkers, &["work", "blocks", "pattern"], "pattern of the offsets"),
    shorthand(
        "mix",
        "{read=70,write=30}",
        Reach::BlockWorkers,
        &["work", "blocks", "mix"],
        "shares of reads, writes and trims",
    ),
    shorthand("span", "1GiB", Reach::BlockWorkers, &["work", "blocks", "span"], "length of the range"),
    shorthand("fsync-every", "1", Reach::BlockWorkers, &["work", "blocks", "fsync-every"], "writes between two fsyncs"),
    shorthand("verify", "crc32c", Reach::BlockWorkers, &["verify", "checksum"], "stamp writes and verify reads"),
];

/// Applies all overrides to the tree, in order.
pub(super) fn apply(document: &Document<'_>, tree: &mut Spanned<Table>) -> Result<(), NativeError> {
    for placed in document.overrides() {
        let value = value_of(document, placed);
        let key_span = placed.span.start..placed.value_start;
        let path = placed.given.path.as_str();
        if let Some(short) = SHORTHANDS.iter().find(|short| short.name == path) {
            set_everywhere(document, placed, short, tree.get_mut(), &value, &key_span)?;
        } else {
            set_one(document, placed, path, tree.get_mut(), value, &key_span)?;
        }
    }
    Ok(())
}

/// Merges `changes` over a tree. A key with dots is a path (`"design.plots" = 2`), and tables are merged.
///
/// # Errors
/// Fails for a path that leads nowhere.
pub fn over(tree: &mut Table, changes: &Table) -> Result<(), LocatedFailure> {
    for (key, value) in changes.iter() {
        if key.get_ref().contains(['.', '[']) {
            put(tree, key.get_ref(), value.clone(), &key.span()).map_err(|refusal| LocatedFailure {
                span: key.span(),
                message: refusal.message,
                help: refusal.help,
            })?;
            continue;
        }
        match tree.get_mut(key.get_ref()) {
            Some(place) => overlay(place, value.clone()),
            None => {
                tree.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(())
}

impl Document<'_> {
    /// Applies all overrides to the tree, each by its full path.
    ///
    /// # Errors
    /// Fails for an override whose path leads nowhere.
    pub fn put_overrides(&self, tree: &mut SpannedTable) -> Result<(), NativeError> {
        for placed in self.overrides() {
            let key_span = placed.span.start..placed.value_start;
            put(tree.get_mut(), &placed.given.path, value_of(self, placed), &key_span)
                .map_err(|refusal| self.bad_override(placed, refusal.message, refusal.help))?;
        }
        former::upgrade_table(tree.get_mut());
        Ok(())
    }
}

/// Parses the value as TOML, or else takes it as a string.
pub(super) fn value_of(document: &Document<'_>, placed: &Placed<'_>) -> Node {
    let text = document.value(placed);
    match toml::parse_value(text) {
        Ok(value) => value.moved(placed.value_start),
        Err(_) => Spanned::new(placed.value_start..placed.span.end, Value::Text(text.into())),
    }
}

fn set_everywhere(
    document: &Document<'_>,
    placed: &Placed<'_>,
    short: &Shorthand,
    tree: &mut Table,
    value: &Node,
    key_span: &Range<usize>,
) -> Result<(), NativeError> {
    let mut reached = 0;
    let path: Vec<Segment> = short.keys.iter().map(|key| Segment::from(*key)).collect();
    let mut set = |table: &mut Table| {
        // No key of a shorthand is a list, so every path leads somewhere.
        reached += usize::from(set_at(table, &path, value.clone(), key_span).is_ok());
    };
    match short.reach {
        Reach::Workload => set(tree),
        Reach::Targets(kinds) => {
            let targets = tree.get_mut("target").and_then(|targets| targets.get_mut().as_table_mut());
            for target in targets.into_iter().flat_map(|targets| targets.iter_mut().map(|(_, target)| target)) {
                for kind in kinds {
                    let target = target.get_mut().as_table_mut().and_then(|target| target.get_mut(kind));
                    target.and_then(|target| target.get_mut().as_table_mut()).into_iter().for_each(&mut set);
                }
            }
        }
        Reach::Phases => elements(tree, "phase").for_each(set),
        Reach::Workers => elements(tree, "phase").flat_map(|phase| elements(phase, "workers")).for_each(set),
        Reach::BlockWorkers => elements(tree, "phase")
            .flat_map(|phase| elements(phase, "workers"))
            .filter(|workers| does_blocks(workers))
            .for_each(set),
    }
    if reached == 0 {
        let what = short.reach.name();
        return Err(document.bad_override(
            placed,
            format!("`{}` applies to nothing: the workload has no {what}", short.name),
            "leave it out, or give the full path, such as `phase.0.workers.0.depth=32`".to_owned(),
        ));
    }
    Ok(())
}

/// Returns the tables of a list of tables.
fn elements<'a>(table: &'a mut Table, key: &str) -> impl Iterator<Item = &'a mut Table> {
    let array = match table.get_mut(key).map(Spanned::get_mut) {
        Some(Value::List(array)) => Some(array),
        _ => None,
    };
    array.into_iter().flat_map(|array| array.iter_mut()).filter_map(|element| element.get_mut().as_table_mut())
}

fn does_blocks(workers: &Table) -> bool {
    match workers.get("work").map(Spanned::get_ref) {
        Some(Value::Table(work)) => work.get("blocks").is_some_and(|stream| match stream.get_ref() {
            // Other generators lack the keys that shorthands set.
            Value::Table(stream) => !["fio", "sweep", "trace"].iter().any(|other| stream.contains_key(other)),
            _ => true,
        }),
        Some(Value::Text(work)) => work == "blocks",
        _ => false,
    }
}

/// Keys at which a table selects one of several choices. Setting one choice drops the others.
const CHOICES: &[&str] =
    &["pace", "backend", "work", "pattern", "block", "write-block", "trim-block", "content", "size"];

/// Replaces the value and its key, so that the positions of both lead to the override.
fn insert(table: &mut Table, key: &str, value: Node, key_span: &Range<usize>) {
    match table.get_mut(key) {
        Some(place) => *place = value,
        None => {
            table.insert(Spanned::new(key_span.clone(), key.to_owned()), value);
        }
    }
}

/// Returns the table under a key, created if missing.
fn child<'a>(table: &'a mut Table, key: &str, key_span: &Range<usize>) -> &'a mut Table {
    let empty = || Spanned::new(key_span.clone(), Value::Table(Table::new()));
    if !table.get(key).is_some_and(|value| value.get_ref().is_table()) {
        insert(table, key, empty(), key_span);
    }
    let value = table.get_mut(key).map(Spanned::get_mut);
    value.and_then(Value::as_table_mut).expect("the line above inserted a table")
}

/// Puts a value at a full path. The error says why the path leads nowhere.
pub(super) fn put(tree: &mut Table, path: &str, value: Node, key_span: &Range<usize>) -> Result<(), OverrideRefusal> {
    let path: KeyPath = path.parse().map_err(|error: KeyPathError| OverrideRefusal {
        message: error.to_string(),
        help: "write keys with dots between, such as `design.plots`".to_owned(),
    })?;
    set_at(tree, &path.0, value, key_span)
}

/// Applies one override by its full path.
fn set_one(
    document: &Document<'_>,
    placed: &Placed<'_>,
    text: &str,
    tree: &mut Table,
    value: Node,
    key_span: &Range<usize>,
) -> Result<(), NativeError> {
    let refused = |refusal: OverrideRefusal| document.bad_override(placed, refusal.message, refusal.help);
    let path: KeyPath = text.parse().map_err(|error: KeyPathError| {
        refused(OverrideRefusal {
            message: error.to_string(),
            help: "use one of the shorthands of --set, or a full path".to_owned(),
        })
    })?;
    if let [Segment::Key(word)] = path.0.as_slice()
        && !WORKLOAD_KEYS.contains(&word.as_str())
    {
        let names: Vec<&str> = SHORTHANDS.iter().map(|short| short.name).collect();
        let help = did_you_mean(word, &names).unwrap_or_default();
        return Err(refused(OverrideRefusal { message: format!("unknown setting `{word}`"), help }));
    }
    set_at(tree, &path.0, value, key_span).map_err(refused)
}

/// Top-level keys of a workload, which are paths of one segment.
const WORKLOAD_KEYS: &[&str] = &["name", "description", "seed", "target", "phase"];

/// Error for a path that leads nowhere.
pub(super) struct OverrideRefusal {
    pub(super) message: String,
    pub(super) help: String,
}

/// Sets the value at `path`, creating the tables on the way. A scalar on the way is replaced by a table.
fn set_at(table: &mut Table, path: &[Segment], value: Node, key_span: &Range<usize>) -> Result<(), OverrideRefusal> {
    let Some((first, rest)) = path.split_first() else { return Ok(()) };
    let key = as_written(table, &text_of(first)).to_owned();
    let Some(next) = rest.first() else {
        insert(table, &key, value, key_span);
        return Ok(());
    };
    if let Some(Value::List(array)) = table.get_mut(key.as_str()).map(Spanned::get_mut) {
        let length = array.len();
        let position = match next {
            Segment::Index(index) => Some(*index),
            Segment::Key(name) => array.iter().position(|element| is_named(element.get_ref(), name)),
        };
        let Some(element) = position.and_then(|position| array.get_mut(position)) else {
            return Err(OverrideRefusal {
                message: format!("`{key}` has {length} entries, and none is `{}`", text_of(next)),
                help: format!("use a number from 0 to {}, or a name", length.saturating_sub(1)),
            });
        };
        if rest.len() == 1 {
            *element = value;
            return Ok(());
        }
        return match element.get_mut().as_table_mut() {
            Some(table) => set_at(table, &rest[1..], value, key_span),
            None => Err(OverrideRefusal {
                message: format!("`{key}` is a list of plain values; a path cannot go into one"),
                help: "set the value as a whole".to_owned(),
            }),
        };
    }
    let inner = child(table, &key, key_span);
    if CHOICES.contains(&key.as_str()) {
        // A job's keys have moved; a key of a job now changes the existing block I/O.
        let next = text_of(next);
        let next = if key == "work" && next == "job" { "blocks" } else { next.as_str() };
        let kept = inner.remove_entry(as_written(inner, next));
        inner.clear();
        inner.extend(kept);
    }
    set_at(inner, rest, value, key_span)
}

fn is_named(element: &Value, name: &str) -> bool {
    element.as_table().and_then(|table| table.get("name")).and_then(|value| value.get_ref().as_str()) == Some(name)
}

/// Returns a segment as a key, since a file may be named `0`.
fn text_of(segment: &Segment) -> String {
    match segment {
        Segment::Key(name) => name.clone(),
        Segment::Index(index) => index.to_string(),
    }
}
