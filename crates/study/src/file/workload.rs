//! `[workload]`: one, or several by name; native, named, from a file, or in the language of another tool.

use super::dialect::{self, DialectForm};
use super::error::StudyError;
use super::files::StudyFiles;
use super::level_form::{LevelForm, OneOrMany, WhenLevels};
use super::levels::{LevelScope, RamUnit, names_in};
use super::short::{self, FileSizes, NamedOp, OpForm, ShortOp};
use super::target::PlotPlace;
use plumb_document::{Node, Spanned, Table, Value};
use plumb_lab::protocol::{ConformanceWork, HostWork};
use plumb_workload::suggest::nearest;
use plumb_workload::{
    Bytes, CachePolicy, Content, End, Flush, KeyPath, OnError, Phase, Prepare, RecordedTree, Replay, ReplayOrder,
    SimTarget, Size, Target, Timing, WorkerGroup, Workload,
};
use plumb_workload_text::native::{self, Document, LocatedFailure, Override, place_of};
use plumb_workload_text::{named, validate};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Keys that define the work of a workload.
const WORK_KEYS: [&str; 12] = [
    "write",
    "rewrite",
    "read",
    "random-write",
    "random-read",
    "random-mix",
    "dialect",
    "file",
    "named",
    "trace",
    "posix",
    "phase",
];

/// Other keys that a workload may have.
const OTHER_KEYS: [&str; 13] = [
    "args",
    "set",
    "stdin",
    "cache",
    "target",
    "when",
    "name",
    "description",
    "timing",
    "order",
    "below",
    "threads",
    "prepare",
];

/// Returns every key that a workload may have, and that is therefore not the name of one.
fn keys() -> impl Iterator<Item = &'static str> {
    WORK_KEYS.into_iter().chain(OTHER_KEYS)
}

/// A workload as written in the file.
#[derive(Debug, Clone)]
pub(crate) struct WorkloadText {
    pub name: String,
    /// Levels with which it runs.
    pub when: WhenLevels,
    /// Position of its key in the file.
    pub place: Range<usize>,
    /// Its content.
    pub table: Node,
    /// The factors whose levels it uses.
    pub uses: Vec<String>,
}

/// One of Plumb's named workloads.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct NamedForm {
    /// Its name, in the form of `plumb run`: `random-read`, `mail` …
    pub named: String,
    /// Changes, in the form of `--set`: `{ depth = 64 }`.
    #[serde(default)]
    pub set: BTreeMap<String, LevelForm>,
}

/// A workload in a separate file.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct FileForm {
    /// The file, relative to the study.
    pub file: String,
    /// Changes, in the form of `--set`: `{ depth = 64 }`.
    #[serde(default)]
    pub set: BTreeMap<String, LevelForm>,
}

/// The rules of `plumb posix`: the outcome is the list of rules that the file system breaks.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ConformanceForm {
    /// Selection of rules; `{}` for all.
    pub posix: RulesForm,
    /// A description for readers of the file.
    #[serde(default)]
    #[expect(dead_code, reason = "for people who read the file")]
    pub description: String,
}

/// Selection of the rules of `plumb posix`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RulesForm {
    /// Only these cases: ids, their first parts, or patterns with `*`.
    #[serde(default)]
    pub only: OneOrMany<String>,
    /// Cases that are left out.
    #[serde(default)]
    pub without: OneOrMany<String>,
    /// Failures of rules of this level, and of more binding ones, count; `linux` when absent.
    #[serde(default)]
    pub level: RuleLevel,
}

/// Authority of a rule, from the most binding to the least.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleLevel {
    /// POSIX requires it with "shall".
    Shall,
    /// Linux's manual requires it.
    #[default]
    Linux,
    /// Common file systems of Linux do it.
    Common,
}

/// A recording of calls on files, replayed.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TraceForm {
    /// The recording, by its absolute path on the host.
    pub trace: String,
    /// When calls begin.
    #[serde(default)]
    pub timing: Timing,
    /// The event that a call waits for.
    #[serde(default)]
    pub order: ReplayOrder,
    /// Only calls on files below this recorded directory.
    #[serde(default)]
    pub below: Option<String>,
    /// Number of threads that replay it; `plumb trace replay --translate` prints how many were alive at once.
    #[serde(default = "eight")]
    pub threads: u32,
    /// Allocation of its files' blocks before the replay.
    #[serde(default)]
    pub prepare: Prepare,
}

fn eight() -> u32 {
    8
}

/// Size of a simulated device for files that are placed one after another, and wrap around at its end.
const TRACE_DEVICE: Bytes = Bytes(64 << 30);

/// The work of a cell.
#[derive(Debug, Clone)]
pub(crate) struct MadeWork {
    /// The form that the host gets.
    pub work: HostWork,
    /// The workload, if it is Plumb's own.
    pub native: Option<Workload>,
}

/// Returns every workload of a study.
///
/// # Errors
/// The table is neither one workload nor several by name.
pub(super) fn all(document: &Document<'_>, tree: &Table, study: &str) -> Result<Vec<WorkloadText>, StudyError> {
    let Some((key, value)) = tree.get_key_value("workload") else { return Ok(Vec::new()) };
    let failed = |span, message: String, help: &str| {
        Err(document.failures(vec![LocatedFailure { span, message, help: help.to_owned() }]).into())
    };
    let Some(table) = value.get_ref().as_table() else {
        return failed(value.span(), "a workload is a table".to_owned(), "write `[workload]` or `[workload.NAME]`");
    };
    if table.is_empty() {
        return failed(key.span(), "the workload says nothing".to_owned(), "such as `write = { size = \"1GiB\" }`");
    }
    let names: Vec<_> = table.keys().filter(|key| !keys().any(|known| known == key.get_ref())).collect();
    if names.is_empty() {
        let name = match table.get("name").or_else(|| table.get("dialect")).map(Spanned::get_ref) {
            Some(Value::Text(name)) => name.replace('+', "p"),
            _ => study.to_owned(),
        };
        return Ok(vec![one(document, name, key.span(), value)?]);
    }
    if let Some((reserved, value)) = table.iter().find(|(key, _)| keys().any(|known| known == key.get_ref())) {
        let (other, key) = (names[0], reserved.get_ref());
        // `[workload.read]` with a `read = …` of its own was meant as a name.
        let inside = value.get_ref().as_table();
        return if inside.is_some_and(|inside| inside.keys().any(|key| WORK_KEYS.contains(&key.get_ref().as_str()))) {
            failed(
                reserved.span(),
                format!("no workload can be named `{key}`, which is a key of a workload"),
                &format!("choose another name, such as `[workload.{key}-1]`"),
            )
        } else {
            failed(
                other.span(),
                format!("`{}` is no key of a workload, and `{key}` is no name of one", other.get_ref()),
                "a study has one `[workload]`, or several `[workload.NAME]`",
            )
        };
    }
    let mut found = Vec::new();
    for (key, value) in table {
        if !value.get_ref().is_table() {
            let help = match nearest(key.get_ref(), keys()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "workloads by name are tables, `[workload.NAME]`".to_owned(),
            };
            return failed(key.span(), format!("unknown key `{}`", key.get_ref()), &help);
        }
        found.push(one(document, key.get_ref().to_string(), key.span(), value)?);
    }
    Ok(found)
}

fn one(document: &Document<'_>, name: String, place: Range<usize>, value: &Node) -> Result<WorkloadText, StudyError> {
    let mut table = value.get_ref().as_table().cloned().unwrap_or_default();
    let when = match table.remove("when") {
        Some(when) => document.read(&when)?,
        None => WhenLevels::new(),
    };
    table.remove("name");
    let table = Value::Table(table);
    let mut uses = Vec::new();
    names_in(&table, &mut uses);
    Ok(WorkloadText { name, when, place, table: Spanned::new(value.span(), table), uses })
}

/// Returns the sizes that all workloads set for their files, unless levels decide them.
pub(super) fn sizes(document: &Document<'_>, workloads: &[WorkloadText], place: &PlotPlace) -> FileSizes {
    let mut found = FileSizes::new();
    for workload in workloads {
        let Some(table) = workload.table.get_ref().as_table() else { continue };
        for (key, _) in ShortOp::ALL {
            let Some(form) = table.get(key).and_then(|value| document.read::<OpForm>(value).ok()) else { continue };
            if let (Some(path), Some(size)) = (&form.path, form.size) {
                found.entry(short::below(path, place)).or_insert(size);
            }
        }
    }
    found
}

/// Reads a workload with the levels of one cell.
pub(crate) struct WorkloadReader<'a> {
    pub document: &'a Document<'a>,
    /// The levels of the cell.
    pub scope: LevelScope<'a>,
    pub place: &'a PlotPlace,
    /// Sizes of files from other workloads.
    pub sizes: &'a FileSizes,
    /// The size of its data, if a sweep sets it.
    pub working_set: Option<Size>,
}

impl WorkloadReader<'_> {
    /// Returns the work of a cell.
    ///
    /// # Errors
    /// A part does not fit or makes no sense; has its position.
    pub(super) fn read(&self, text: &WorkloadText, files: &mut dyn StudyFiles) -> Result<MadeWork, StudyError> {
        let raw = text.table.get_ref().as_table().expect("a workload is a table");
        let says = |key: &str| raw.contains_key(key);
        let ram_unit = match raw.get("dialect").map(Spanned::get_ref) {
            Some(Value::Text(tool)) => dialect::ram_unit(tool),
            _ => RamUnit::Native,
        };
        let mut failures = Vec::new();
        let table = LevelScope { ram_unit, ..self.scope }.substitute(&text.table, &mut failures);
        if !failures.is_empty() {
            return Err(self.document.failures(failures).into());
        }
        if says("dialect") {
            return self.dialect(&table);
        }
        if says("posix") {
            return self.conformance(&table);
        }
        let workload = if says("named") {
            self.named(text, &table)?
        } else if says("file") {
            self.in_file(text, &table, files)?
        } else if says("trace") {
            self.trace(text, &table)?
        } else if says("phase") {
            self.inline(text, table)?
        } else {
            self.ops(text, &table)?
        };
        let toml = native::to_toml(&workload)
            .map_err(|error| self.failed(&text.place, error.to_string(), "write it in other words"))?;
        Ok(MadeWork { work: HostWork::Native { toml }, native: Some(workload) })
    }

    fn failed(&self, span: &Range<usize>, message: impl Into<String>, help: impl Into<String>) -> StudyError {
        self.document
            .failures(vec![LocatedFailure { span: span.clone(), message: message.into(), help: help.into() }])
            .into()
    }

    fn dialect(&self, table: &Node) -> Result<MadeWork, StudyError> {
        let form: DialectForm = self.document.read(table)?;
        let work = dialect::work(&form, self.working_set).map_err(|problem| {
            let span = place_in(table, &[problem.key, "dialect"]);
            self.failed(&span, problem.message, problem.help)
        })?;
        Ok(MadeWork { work, native: None })
    }

    fn conformance(&self, table: &Node) -> Result<MadeWork, StudyError> {
        let ConformanceForm { posix, .. } = self.document.read(table)?;
        let at = place_in(table, &["posix"]);
        if self.place.sim.is_some() || self.place.device.is_some() {
            let help = "let a step mount a file system, or name a directory as `path` of `[target]`";
            return Err(self.failed(&at, "the rules are those of file systems, and this is a device", help));
        }
        let patterns = |list: &OneOrMany<String>| list.as_slice().to_vec();
        let (only, without) = (patterns(&posix.only), patterns(&posix.without));
        if only.iter().chain(&without).any(|pattern| pattern.is_empty() || pattern.starts_with('-')) {
            return Err(self.failed(&at, "a pattern is no id of a case", "`plumb posix explain` lists all ids"));
        }
        let level = match posix.level {
            RuleLevel::Shall => "shall",
            RuleLevel::Linux => "linux",
            RuleLevel::Common => "common",
        };
        let work = HostWork::Conformance(ConformanceWork { only, without, level: level.to_owned() });
        Ok(MadeWork { work, native: None })
    }

    fn ops(&self, text: &WorkloadText, value: &Node) -> Result<Workload, StudyError> {
        let table = value.get_ref().as_table().expect("a table that levels were put into stays one");
        let (mut ops, mut cache, mut description) = (Vec::new(), None, String::new());
        for (key, value) in table {
            let name: &str = key.get_ref();
            if let Some((key, op)) = ShortOp::ALL.into_iter().find(|(key, _)| *key == name) {
                ops.push(NamedOp { op, key, form: self.document.read(value)? });
            } else if name == "cache" {
                cache = Some(self.document.read::<CachePolicy>(value)?);
            } else if name == "description" {
                description = self.document.read(value)?;
            } else {
                // A misspelt op looks like the name of a workload.
                let meant = nearest(&text.name, ShortOp::ALL.map(|(key, _)| key)).filter(|_| name != text.name);
                let help = match (meant, nearest(name, keys())) {
                    (Some(near), _) => {
                        format!("`{}` is read as a workload's name; did you mean `{near}`?", text.name)
                    }
                    (None, Some(near)) if near != name => format!("did you mean `{near}`?"),
                    _ => "native work is `write`, `rewrite`, `read`, `random-write`, `random-read` or `random-mix`"
                        .to_owned(),
                };
                return Err(self.failed(&key.span(), format!("`{name}` does not apply to this workload"), help));
            }
        }
        if ops.is_empty() {
            return Err(self.failed(&text.place, "the workload does nothing", "such as `write = { size = \"1GiB\" }`"));
        }
        for op in &mut ops {
            if !op.form.direct && op.form.cache.is_none() {
                op.form.cache = cache;
            }
        }
        let mut workload =
            short::workload(&text.name, &ops, self.place, self.sizes, self.working_set).map_err(|problem| {
                let table = table.get(problem.op).unwrap_or(value);
                self.failed(&place_in(table, &[problem.key]), problem.message, problem.help)
            })?;
        workload.description = description;
        let problems = validate::validate(&workload);
        if problems.is_empty() {
            return Ok(workload);
        }
        Err(self.document.misfits(problems, &|path| place_of_problem(value, &workload, &ops, path)).into())
    }

    fn inline(&self, text: &WorkloadText, mut value: Node) -> Result<Workload, StudyError> {
        if let Value::Table(table) = value.get_mut() {
            let name = Spanned::new(text.place.clone(), Value::Text(text.name.clone()));
            table.insert(Spanned::new(text.place.clone(), "name".into()), name);
        }
        let workload: Workload = self.document.read(&value)?;
        let problems = validate::validate(&workload);
        if problems.is_empty() {
            return Ok(workload);
        }
        let table = value.get_ref().as_table().expect("a table that is added to stays one");
        Err(self.document.misfits(problems, &|path| place_of(table, path)).into())
    }

    fn trace(&self, text: &WorkloadText, table: &Node) -> Result<Workload, StudyError> {
        let form: TraceForm = self.document.read(table)?;
        let path = PathBuf::from(&form.trace);
        if path.is_relative() {
            return Err(self.failed(
                &place_in(table, &["trace"]),
                format!("`{}` is a relative path, and a run may be on another host", form.trace),
                "give the recording's absolute path",
            ));
        }
        let target = match &self.place.sim {
            Some(device) => Target::Sim(SimTarget {
                device: device.clone(),
                size: TRACE_DEVICE,
                files: None,
                preallocated_percent: 0,
                shares: None,
            }),
            None => Target::Recorded(RecordedTree {
                path: PathBuf::from("replay"),
                prepare: form.prepare,
                content: Content::Random,
            }),
        };
        let replay = Replay { timing: form.timing, order: form.order, below: form.below, ..Replay::new(path) };
        let group =
            WorkerGroup { count: form.threads, on_error: OnError::Continue, ..WorkerGroup::new("files", replay) };
        let end = End { flush: Flush::None, ..End::default() };
        let workload = Workload {
            name: text.name.clone(),
            description: String::new(),
            seed: Workload::DEFAULT_SEED,
            target: BTreeMap::from([("files".to_owned(), target)]),
            phase: vec![Phase { end, ..Phase::new("replay", vec![group]) }],
            repeat: None,
        };
        let problems = validate::validate(&workload);
        match problems.first() {
            None => Ok(workload),
            Some(problem) => {
                let key = match problem.path.to_string() {
                    path if path.contains("count") => "threads",
                    path if path.contains("timing") => "timing",
                    _ => "trace",
                };
                Err(self.failed(&place_in(table, &[key, "trace"]), problem.message.clone(), problem.help.clone()))
            }
        }
    }

    fn named(&self, text: &WorkloadText, table: &Node) -> Result<Workload, StudyError> {
        let form: NamedForm = self.document.read(table)?;
        let at = place_in(table, &["named"]);
        let found = named::select(&form.named)
            .map_err(|error| self.failed(&at, format!("unknown workload `{}`", error.name), error.help))?;
        let [found] = found.as_slice() else {
            return Err(self.failed(&at, "a cell runs one workload", "name one of them"));
        };
        let place = match &self.place.sim {
            Some(device) => named::RunPlace::Sim(device.clone()),
            None => named::RunPlace::Directory,
        };
        let mut scale = named::Scale::moderate(place);
        match self.working_set {
            None => {}
            Some(Size::Bytes(bytes)) => scale.file_bytes = bytes.0,
            Some(size) => {
                return Err(self.failed(
                    &at,
                    format!("a named workload has no `{size}`"),
                    "give bytes, such as `1GiB`",
                ));
            }
        }
        let mut workload = found.workload(&scale);
        text.name.clone_into(&mut workload.name);
        self.changed(&workload, &form.set, table)
    }

    fn in_file(&self, text: &WorkloadText, table: &Node, files: &mut dyn StudyFiles) -> Result<Workload, StudyError> {
        let form: FileForm = self.document.read(table)?;
        let at = place_in(table, &["file"]);
        let source = files.read(Path::new(&form.file)).map_err(|reason| {
            self.failed(&at, format!("cannot read `{}`: {reason}", form.file), "paths are relative to the study")
        })?;
        let document = Document::new(&form.file, &source, &[]);
        let tree = document.tree()?;
        let tree = Spanned::new(tree.span(), Value::Table(tree.into_inner()));
        let mut failures = Vec::new();
        let value = self.scope.substitute(&tree, &mut failures);
        if !failures.is_empty() {
            return Err(document.failures(failures).into());
        }
        let mut workload: Workload = document.read(&value)?;
        text.name.clone_into(&mut workload.name);
        let problems = validate::validate(&workload);
        if !problems.is_empty() {
            let table = value.get_ref().as_table().expect("a document is a table");
            return Err(document.misfits(problems, &|path| place_of(table, path)).into());
        }
        self.changed(&workload, &form.set, table)
    }

    fn changed(
        &self,
        workload: &Workload,
        set: &BTreeMap<String, LevelForm>,
        table: &Node,
    ) -> Result<Workload, StudyError> {
        let overrides: Vec<Override> =
            set.iter().map(|(path, value)| Override { path: path.clone(), value: value.to_string() }).collect();
        native::with_overrides(workload, &overrides).map_err(|error| {
            let first = error.diagnostics.first();
            let message = first.map_or_else(|| error.to_string(), |diagnostic| diagnostic.message.clone());
            let help = first.and_then(|diagnostic| diagnostic.help.clone()).unwrap_or_default();
            self.failed(&place_in(table, &["set", "named", "file"]), message, help)
        })
    }
}

/// Returns the position of the first of these keys that exists, else of the whole.
fn place_in(value: &Node, keys: &[&str]) -> Range<usize> {
    let table = value.get_ref().as_table();
    let found = keys.iter().find_map(|key| table.and_then(|table| table.get_key_value(key)));
    match found {
        Some((key, value)) if value.get_ref().is_table() => key.span(),
        Some((_, value)) => value.span(),
        None => value.span(),
    }
}

/// Returns the position in the short form that a problem of the workload is about.
fn place_of_problem(value: &Node, workload: &Workload, ops: &[NamedOp], path: &KeyPath) -> Range<usize> {
    use plumb_workload::keypath::Segment;
    let keys: Vec<&str> = path
        .0
        .iter()
        .filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        })
        .collect();
    let phase = path.0.iter().find_map(|segment| match segment {
        Segment::Index(index) => workload.phase.get(*index),
        Segment::Key(_) => None,
    });
    let op = phase.and_then(|phase| ops.iter().rev().find(|op| phase.name.starts_with(op.key))).or(ops.first());
    let table = value.get_ref().as_table();
    let Some((op_key, op_value)) = op.and_then(|op| table.and_then(|table| table.get_key_value(op.key))) else {
        return value.span();
    };
    let inside = op_value.get_ref().as_table();
    let said_as = |key: &&str| match *key {
        "backend" => Some("engine"),
        "count" => Some("files"),
        "span" => Some("size"),
        "pattern" | "work" | "workers" | "phase" | "target" => None,
        _ => None,
    };
    let found = keys.iter().rev().find_map(|key| {
        let table = inside?;
        table.get(key).or_else(|| said_as(key).and_then(|key| table.get(key)))
    });
    found.map_or_else(|| op_key.span(), Spanned::span)
}
