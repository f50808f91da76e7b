//! What a script has defined becomes a workload: file sets are targets, threads are groups of workers, and flowops are
//! steps.

use super::lex::Place;
use super::script::*;
use super::session::{CompositeDefinition, Defined, Definitions, ProcessDefinition, SetDefinition};
use super::table::{Class, FLOWOPS, WITHOUT_EFFECT};
use super::variables::{Locals, Meant, Variables};
use super::wrong::FilebenchUsageError;
use plumb_result::measurement::StepMeasurement;
use plumb_workload::phase::{ClockScope, End, Flush, OnError, Phase, Stop, When};
use plumb_workload::process::{IoPriority, ProcessRules};
use plumb_workload::program::{
    Amount, Draw, EventUnit, ExistingTree, FinishUnit, Program, ProgramMemory, SharedFile, SharedPick, SharedStep,
    SharedTransfer, SharedTree, SharedWork, Step, Together, TreeAccess, Variable, shared_name, walk_shared,
};
use plumb_workload::{Bytes, Nanos, Target, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;

/// The name of the phase.
pub const PHASE: &str = "run";

/// A run without a time takes so long, s.
const USUAL_TIME_S: u64 = 60;

/// Threads that lay a set out that is to be laid out in parallel.
const LAYOUT_THREADS: u32 = 32;

/// Composite flowops inside of each other.
const NESTING_MAX: usize = 24;

/// Most steps of a run.
const STEPS_MAX: usize = 100_000;

/// A line of the statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// The full name of its step: what it is called, with a number where another flowop of the thread is called the same.
    pub step: String,
    /// Its group of workers.
    pub group: String,
    /// Whether the summary counts it.
    pub in_summary: bool,
    /// It stands for other flowops and counts nothing itself.
    pub is_composite: bool,
    /// What it prints each time.
    pub says: Option<String>,
}

impl Line {
    /// What was measured of it.
    pub fn found_in<'a>(&self, steps: &'a [StepMeasurement]) -> Option<&'a StepMeasurement> {
        measured(steps, &self.group, &self.step)
    }
}

/// What was measured of a step of a group.
pub(super) fn measured<'a>(steps: &'a [StepMeasurement], group: &str, name: &str) -> Option<&'a StepMeasurement> {
    steps.iter().find(|step| step.name == name && step.group == group)
}

/// A process that is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Its name.
    pub name: String,
    /// How many.
    pub instances: u64,
}

/// A run that is about to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is to be done.
    pub workload: Workload,
    /// The lines of the statistics, in the order of the script.
    pub lines: Vec<Line>,
    /// Processes, in the order of the script.
    pub processes: Vec<Started>,
    /// Names of file sets by their targets.
    pub sets: BTreeMap<String, String>,
    /// Targets of single files, of which nothing is printed.
    pub single: Vec<String>,
    /// When it ends.
    pub mode: QuitMode,
    /// Seconds between two snapshots; negative where each begins again from 0.
    pub period_s: Option<i64>,
    /// Lines have histograms.
    pub histograms: bool,
    /// What has no effect.
    pub remarks: Vec<FilebenchUsageError>,
}

/// Lowers what is defined, for a run of this many seconds.
///
/// # Errors
/// What is wrong with it, with its place.
pub(super) fn lower(
    definitions: &Definitions,
    time_s: Option<u64>,
    period_s: Option<i64>,
) -> Result<Plan, FilebenchUsageError> {
    let mut lowering = Lowering {
        definitions,
        plan: Plan {
            workload: Workload {
                name: "filebench".to_owned(),
                description: String::new(),
                seed: Workload::DEFAULT_SEED,
                target: BTreeMap::new(),
                phase: Vec::new(),
                repeat: None,
            },
            lines: Vec::new(),
            processes: Vec::new(),
            sets: BTreeMap::new(),
            single: Vec::new(),
            mode: definitions.mode,
            period_s,
            histograms: definitions.histograms,
            remarks: Vec::new(),
        },
        steps: 0,
        called: BTreeMap::new(),
        parties: 0,
    };
    for set in &definitions.sets {
        lowering.set(set).map_err(|wrong| wrong.of_file(&set.file))?;
    }
    let mut groups = Vec::new();
    for process in &definitions.processes {
        lowering.process(process, &mut groups).map_err(|wrong| wrong.of_file(&process.file))?;
    }
    if groups.is_empty() {
        return Err(FilebenchUsageError::without_place("there is nothing to run")
            .help("define a process with threads above `run`"));
    }
    lowering.meet(&mut groups)?;
    let time = match (definitions.mode, time_s) {
        (QuitMode::Timeout, time) => Some(time.unwrap_or(USUAL_TIME_S)),
        (_, time) => time,
    };
    if time == Some(0) {
        return Err(
            FilebenchUsageError::without_place("a run of 0 seconds measures nothing").help("`run 60` takes a minute")
        );
    }
    let mut plan = lowering.plan;
    plan.workload.phase = vec![Phase {
        stop: Stop {
            time: time.map(|seconds| Nanos(seconds.saturating_mul(1_000_000_000))),
            when: if plan.mode == QuitMode::AllDone { When::AllDone } else { When::FirstDone },
            ..Stop::default()
        },
        end: End { flush: Flush::None, clock: ClockScope::Outside },
        ..Phase::new(PHASE, groups)
    }];
    Ok(plan)
}

struct Lowering<'a> {
    definitions: &'a Definitions,
    plan: Plan,
    steps: usize,
    /// Full names of the steps of the thread at hand, each with how many flowops are called so.
    called: BTreeMap<String, u32>,
    /// Process instances so far.
    parties: u32,
}

/// Attributes with the values that they have here.
struct Seen<'a> {
    attributes: &'a Attributes,
    variables: &'a Variables,
    locals: &'a Locals,
}

impl Seen<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.attributes.get(name).map(|attribute| &attribute.value)
    }

    fn place(&self, name: &str) -> Place {
        self.attributes.get(name).map_or(self.attributes.place, |attribute| attribute.place)
    }

    fn text(&self, name: &str) -> Result<Option<String>, FilebenchUsageError> {
        self.value(name).map(|value| self.variables.text(value, self.locals)).transpose()
    }

    fn name(&self) -> Result<String, FilebenchUsageError> {
        let name = self.text("name")?.filter(|name| !name.is_empty());
        name.ok_or_else(|| FilebenchUsageError::at(self.attributes.place, "it has no name").help("add `name=…`"))
    }

    fn amount(&self, name: &str) -> Result<Option<Amount>, FilebenchUsageError> {
        self.value(name).map(|value| self.variables.amount(value, self.locals)).transpose()
    }

    fn integer(&self, name: &str, usual: u64) -> Result<u64, FilebenchUsageError> {
        self.value(name).map_or(Ok(usual), |value| self.variables.integer(value, self.locals))
    }

    fn boolean(&self, name: &str) -> Result<bool, FilebenchUsageError> {
        self.value(name).map_or(Ok(false), |value| self.variables.boolean(value, self.locals))
    }

    /// A number that fits a type.
    fn narrow<T: TryFrom<u64>>(&self, name: &str, usual: u64) -> Result<T, FilebenchUsageError> {
        let number = self.integer(name, usual)?;
        T::try_from(number)
            .map_err(|_| FilebenchUsageError::at(self.place(name), format!("`{name}={number}` is too large")))
    }
}

/// A name that results may bear: what may not be in it becomes `-`.
fn clean(name: &str) -> String {
    let allowed = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = name.chars().map(allowed).take(48).collect();
    if name.starts_with(char::is_alphanumeric) { name } else { format!("x{name}") }
}

/// A name that is not taken yet.
fn free(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let name = clean(name);
    (1..)
        .map(|number| if number == 1 { name.clone() } else { format!("{name}.{number}") })
        .find(|name| !is_taken(name))
        .unwrap_or(name)
}

impl Lowering<'_> {
    fn seen<'s>(&'s self, attributes: &'s Attributes, locals: &'s Locals) -> Seen<'s> {
        Seen { attributes, variables: &self.definitions.variables, locals }
    }

    fn remark_idle(&mut self, attributes: &Attributes, file: &str) {
        for attribute in &attributes.all {
            let message = format!("`{}` has no effect", attribute.name);
            let is_known = self.plan.remarks.iter().any(|remark| remark.message == message);
            if WITHOUT_EFFECT.contains(&attribute.name.as_str()) && !is_known {
                self.plan.remarks.push(FilebenchUsageError::at(attribute.place, message).of_file(file));
            }
        }
    }

    fn set(&mut self, defined: &Defined<SetDefinition>) -> Result<(), FilebenchUsageError> {
        let SetDefinition { attributes, single } = &defined.it;
        let locals = Locals::new();
        let seen = self.seen(attributes, &locals);
        let name = seen.name()?;
        let place = attributes.place;
        if self.plan.sets.values().any(|other| *other == name) {
            return Err(FilebenchUsageError::at(place, format!("the file set `{name}` is defined twice")));
        }
        let path = seen
            .text("path")?
            .ok_or_else(|| FilebenchUsageError::at(place, "it has no path").help("add `path=/tmp`"))?;
        let prealloc = match seen.value("prealloc").map(|value| self.definitions.variables.meant(value, &locals)) {
            None => 0,
            Some(Ok(Meant::Boolean(yes))) => u64::from(yes) * 100,
            Some(Ok(Meant::Integer(percent @ 0..=100))) => percent,
            Some(Ok(_)) => {
                return Err(FilebenchUsageError::at(
                    seen.place("prealloc"),
                    "`prealloc` needs a percentage from 0 to 100",
                ));
            }
            Some(Err(wrong)) => return Err(wrong),
        };
        let files = if *single { 1 } else { seen.integer("entries", 0)? };
        let leaves = seen.integer("leafdirs", 0)?;
        let width = if *single { Amount::Fixed(10) } else { seen.amount("dirwidth")?.unwrap_or(Amount::Fixed(0)) };
        let gamma = if *single { 0 } else { seen.integer("dirgamma", 1500)? };
        let existing = match (seen.boolean("trusttree")?, seen.boolean("reuse")?) {
            (true, _) => ExistingTree::Trust,
            (false, true) => ExistingTree::Reuse,
            (false, false) => ExistingTree::Remove,
        };
        let access = match (seen.boolean("readonly")?, seen.boolean("writeonly")?) {
            (true, _) => TreeAccess::Read,
            (false, true) => TreeAccess::Write,
            (false, false) => TreeAccess::ReadWrite,
        };
        let depth = match seen.amount("dirdepthrv")? {
            // Its mean is what the number of files and the width make it.
            Some(Amount::Drawn(mut depth)) => {
                let wide = width.mean().unwrap_or(1.0).max(1.0 + 1e-9);
                let mean = (files.saturating_add(leaves).max(1) as f64).ln() / wide.ln();
                let own = Amount::Drawn(depth.clone()).mean().filter(|own| *own > 0.0).unwrap_or(mean);
                depth.times *= mean / own;
                depth.plus *= mean / own;
                Some(Amount::Drawn(depth))
            }
            fixed => fixed,
        };
        // Of version 1.4: sizes are spread, and files are dropped from the page cache once they are made.
        let size = seen.amount("size")?.unwrap_or(Amount::Fixed(1024));
        let size = match (size, seen.integer("filesizegamma", 0)? as f64 / 1000.0) {
            (Amount::Fixed(mean), shape) if shape > 0.0 => {
                Amount::Drawn(Box::new(Variable { times: mean as f64 / shape, ..Variable::of(Draw::Gamma { shape }) }))
            }
            (size, _) => size,
        };
        let uncached = seen.value("cached").is_some() && !seen.boolean("cached")?;
        let tree = SharedTree {
            path: format!("{path}/{name}").into(),
            files,
            leaf_directories: leaves,
            size,
            width,
            depth,
            spread: gamma as f64 / 1000.0,
            preallocated_percent: prealloc as u32,
            layout_threads: if seen.boolean("paralloc")? { LAYOUT_THREADS } else { 1 },
            existing,
            uncached,
            access,
            content: Default::default(),
        };
        let target = free(&name, |name| self.plan.workload.target.contains_key(name));
        if *single {
            self.plan.single.push(target.clone());
        }
        self.plan.workload.target.insert(target.clone(), Target::SharedTree(tree));
        self.plan.sets.insert(target, name);
        self.remark_idle(attributes, &defined.file);
        Ok(())
    }

    fn process(
        &mut self,
        defined: &Defined<ProcessDefinition>,
        groups: &mut Vec<WorkerGroup>,
    ) -> Result<(), FilebenchUsageError> {
        let ProcessDefinition { attributes, threads } = &defined.it;
        let locals = Locals::new();
        let seen = self.seen(attributes, &locals);
        let (name, instances) = (seen.name()?, seen.narrow::<u32>("instances", 1)?);
        let nice = seen.narrow::<i32>("nice", 0)?;
        if instances == 0 {
            return Ok(());
        }
        let party = self.parties;
        self.parties = party
            .checked_add(instances)
            .ok_or_else(|| FilebenchUsageError::at(attributes.place, "too many processes"))?;
        self.plan.processes.push(Started { name: name.clone(), instances: instances.into() });
        for thread in threads {
            let seen = self.seen(&thread.attributes, &locals);
            let (own, members) = (seen.name()?, seen.narrow::<u32>("instances", 1)?);
            let place = thread.attributes.place;
            let count =
                members.checked_mul(instances).ok_or_else(|| FilebenchUsageError::at(place, "too many threads"))?;
            let memory = seen.integer("memsize", 0)?;
            let priority = seen.integer("ioprio", 8)?;
            if count == 0 {
                continue;
            }
            self.remark_idle(&thread.attributes, &defined.file);
            let group =
                free(&format!("{name}.{own}"), |name| groups.iter().any(|group| group.name.as_deref() == Some(name)));
            self.called.clear();
            let mut steps = Vec::new();
            for flowop in &thread.flowops {
                let step = self.flowop(flowop, &locals, Outer::default(), &group)?;
                steps.push(Step::Shared(Box::new(step)));
            }
            self.remarks_are_of(&defined.file);
            let target = self.plan.workload.target.keys().next().cloned().ok_or_else(|| {
                FilebenchUsageError::at(place, "there is no file set")
                    .help("define one above, even where no flowop uses it")
            })?;
            let mut used = None;
            for step in &steps {
                if let Step::Shared(step) = step {
                    walk_shared(step, &mut |step| used = used.or(step.file.set.as_ref()));
                }
            }
            let target = used.cloned().unwrap_or(target);
            let rate = match &self.definitions.rate {
                Some(rate) => self.definitions.variables.integer(rate, &locals)?,
                None => 0,
            };
            let program = Program {
                memory: ProgramMemory { spread: (memory > 0).then_some(Bytes(memory)), ..ProgramMemory::default() },
                together: Some(Together { events_per_second: (rate > 0).then_some(rate), members, first_party: party }),
                ..Program::new(steps)
            };
            groups.push(WorkerGroup {
                name: Some(group),
                count,
                on_error: OnError::Stop,
                process: ProcessRules {
                    nice: (nice != 0).then_some(nice),
                    io_priority: (priority < 8).then_some(IoPriority { class: 2, level: priority as _, hint: 0 }),
                    ..ProcessRules::default()
                },
                ..WorkerGroup::new(target, Work::Program(Box::new(program)))
            });
        }
        Ok(())
    }

    /// The target of a file set.
    fn target_of(&self, name: &str, place: Place) -> Result<String, FilebenchUsageError> {
        match self.plan.sets.iter().find(|(_, set)| *set == name) {
            Some((target, _)) => Ok(target.clone()),
            None => {
                let names = self.plan.sets.values().map(String::as_str);
                let wrong = FilebenchUsageError::at(place, format!("there is no file set `{name}`"));
                Err(wrong.nearest(name, names, "define it above `run`"))
            }
        }
    }

    /// Remarks that are of no script yet.
    fn remarks_are_of(&mut self, file: &str) {
        for remark in self.plan.remarks.iter_mut().filter(|remark| remark.file.is_empty()) {
            file.clone_into(&mut remark.file);
        }
    }

    fn positions(&self, name: &str, place: Place) -> Result<Vec<Bytes>, FilebenchUsageError> {
        self.definitions.positions.get(name).cloned().ok_or_else(|| {
            let names = self.definitions.positions.keys().map(String::as_str);
            let wrong = FilebenchUsageError::at(place, format!("there is no set of positions `{name}`"));
            wrong.nearest(name, names, "`define posset` it above `run`")
        })
    }

    fn flowop(
        &mut self,
        flowop: &Flowop,
        locals: &Locals,
        outer: Outer<'_>,
        group: &str,
    ) -> Result<SharedStep, FilebenchUsageError> {
        let place = flowop.attributes.place;
        self.steps += 1;
        if outer.nesting > NESTING_MAX || self.steps > STEPS_MAX {
            return Err(FilebenchUsageError::at(place, "there are too many flowops inside of each other"));
        }
        let seen = self.seen(&flowop.attributes, locals);
        let (printed, times) = (seen.name()?, seen.amount("iters")?.unwrap_or(Amount::Fixed(1)));
        let (name, full) = self.step_name(&printed, outer.step);
        let printed = shared_name(outer.printed, &printed);
        let line = Line {
            name: printed.clone(),
            step: full.clone(),
            group: group.to_owned(),
            in_summary: false,
            is_composite: false,
            says: None,
        };
        let Some((_, class)) = FLOWOPS.iter().find(|(known, _)| *known == flowop.kind) else {
            let composites = &self.definitions.composites;
            let named = |defined: &&Defined<CompositeDefinition>| {
                let name = self.seen(&defined.it.attributes, &EMPTY).name();
                name.is_ok_and(|name| name == flowop.kind)
            };
            let Some(composite) = composites.iter().rev().find(named) else {
                return Err(unknown_flowop(flowop));
            };
            let inner = self.bound(&composite.it, flowop, locals)?;
            self.plan.lines.push(Line { is_composite: true, ..line });
            let own = self.seen(&composite.it.attributes, &inner).amount("iters")?;
            let times = match own {
                Some(own) if seen_none(&flowop.attributes, "iters") => own,
                _ => times,
            };
            let mut steps = Vec::new();
            for inside in &composite.it.flowops {
                let outer = Outer { printed: &printed, step: &full, nesting: outer.nesting + 1 };
                let step = self.flowop(inside, &inner, outer, group);
                steps.push(step.map_err(|wrong| wrong.of_file(&composite.file))?);
            }
            self.remarks_are_of(&composite.file);
            let does = SharedWork::Steps(steps);
            return Ok(SharedStep { name, does, file: SharedFile::default(), times });
        };
        let (file, does) = self.built_in(flowop, locals)?;
        let has_places =
            matches!(&does, SharedWork::Read(moves) | SharedWork::Write(moves) if !moves.places.is_empty());
        if let Some(idle) = flowop.attributes.get("possetname").filter(|_| !has_places) {
            let why = "`possetname` has no effect: it is for `read` and `write` with `random`";
            self.plan.remarks.push(FilebenchUsageError::at(idle.place, why));
        }
        let says = match &does {
            SharedWork::Note { text } => Some(text.clone()),
            _ => None,
        };
        self.plan.lines.push(Line { in_summary: *class == Class::Io, says, ..line });
        Ok(SharedStep { name, does, file, times })
    }

    /// The name of a step, and its full name: what its flowop is called, with a number where another one of the thread is
    /// called the same. Statistics bear full names.
    fn step_name(&mut self, called: &str, outer: &str) -> (String, String) {
        let full = shared_name(outer, called);
        let mut number = *self.called.entry(full.clone()).and_modify(|count| *count += 1).or_insert(1);
        if number == 1 {
            return (called.to_owned(), full);
        }
        loop {
            let (name, numbered) = (format!("{called}-{number}"), format!("{full}-{number}"));
            if !self.called.contains_key(&numbered) {
                self.called.insert(full, number);
                self.called.insert(numbered.clone(), 1);
                return (name, numbered);
            }
            number += 1;
        }
    }

    /// The local variables of a composite flowop where it is used.
    fn bound(
        &self,
        composite: &CompositeDefinition,
        flowop: &Flowop,
        outer: &Locals,
    ) -> Result<Locals, FilebenchUsageError> {
        let mut inner = Locals::new();
        let resolved = |value: &Value| match &value.kind {
            ValueKind::Variable(name) => outer.get(name).cloned().unwrap_or_else(|| value.clone()),
            _ => value.clone(),
        };
        for local in &composite.locals {
            let given = flowop.locals.iter().rev().find(|given| given.name == local.name);
            let value = given.and_then(|given| given.value.as_ref()).map(resolved).or_else(|| local.value.clone());
            if let Some(value) = value {
                inner.insert(local.name.clone(), value);
            }
        }
        for given in &flowop.locals {
            if !composite.locals.iter().any(|local| local.name == given.name) {
                let message = format!("`{}` has no local variable `${}`", flowop.kind, given.name);
                return Err(FilebenchUsageError::at(given.place, message));
            }
        }
        Ok(inner)
    }

    fn built_in(&self, flowop: &Flowop, locals: &Locals) -> Result<(SharedFile, SharedWork), FilebenchUsageError> {
        let seen = self.seen(&flowop.attributes, locals);
        let place = flowop.attributes.place;
        let set = match seen.text("filesetname")? {
            Some(name) => Some(self.target_of(&name, seen.place("filesetname"))?),
            None => None,
        };
        let pick = match (seen.boolean("opennext")?, seen.amount("indexed")?) {
            (true, _) => SharedPick::Turn,
            (false, Some(index)) => SharedPick::Indexed(index),
            (false, None) => SharedPick::Next,
        };
        let file = SharedFile {
            set,
            handle: seen.narrow("fd", 0)?,
            pick,
            direct: seen.boolean("directio")?,
            sync: seen.boolean("dsync")?,
            no_read_ahead: seen.boolean("noreadahead")?,
        };
        let size = || seen.amount("iosize").map(|size| size.unwrap_or(Amount::Fixed(0)));
        let some_size = || match size()? {
            Amount::Fixed(0) => {
                Err(FilebenchUsageError::at(seen.place("iosize"), format!("`{}` moves nothing", flowop.kind))
                    .help("add `iosize=8k`"))
            }
            size => Ok(size),
        };
        let within = seen.integer("workingset", 0)?;
        let value = || seen.amount("value").map(|value| value.unwrap_or(Amount::Fixed(0)));
        let target = || {
            let target = seen.text("target")?.filter(|target| !target.is_empty());
            target.ok_or_else(|| {
                FilebenchUsageError::at(place, format!("`{}` has no target", flowop.kind))
                    .help("add `target=` and the name of a flowop")
            })
        };
        let counted = || seen.text("target").map(|target| target.filter(|target| !target.is_empty()));
        let transfer = || -> Result<SharedTransfer, FilebenchUsageError> {
            let random = seen.boolean("random")?;
            let places = match seen.text("possetname")?.filter(|_| random && flowop.kind != "aiowrite") {
                Some(name) => self.positions(&name, seen.place("possetname"))?,
                None => Vec::new(),
            };
            Ok(SharedTransfer { size: some_size()?, random, within, places })
        };
        let does = match flowop.kind.as_str() {
            "openfile" => SharedWork::Open,
            "createfile" => SharedWork::Create,
            "closefile" => SharedWork::Close,
            "deletefile" => SharedWork::Remove,
            "statfile" => SharedWork::Stat,
            "read" => SharedWork::Read(transfer()?),
            "write" => SharedWork::Write(transfer()?),
            "readwholefile" => SharedWork::ReadWhole { request: size()? },
            "writewholefile" => {
                SharedWork::WriteWhole { request: size()?, like: seen.narrow("srcfd", 0)?, bytes: within }
            }
            "appendfile" => SharedWork::Append { size: some_size()?, up_to: false },
            "appendfilerand" => SharedWork::Append { size: some_size()?, up_to: true },
            "fsync" => SharedWork::Fsync,
            "fsyncset" => SharedWork::FsyncSet,
            "makedir" => SharedWork::MakeDirectory,
            "removedir" => SharedWork::RemoveDirectory,
            "listdir" => SharedWork::List,
            "aiowrite" => {
                if !seen.boolean("random")? {
                    return Err(
                        FilebenchUsageError::at(place, "`aiowrite` writes at random places only").help("add `random`")
                    );
                }
                SharedWork::StartWrite(transfer()?)
            }
            "aiowait" => SharedWork::AwaitWrites,
            "block" => SharedWork::Sleep,
            "wakeup" => SharedWork::Wake { step: target()? },
            "semblock" => SharedWork::Take { credit: value()?, ahead: seen.integer("highwater", 1)? },
            "sempost" => SharedWork::Give { step: target()?, credit: value()?, waits: seen.boolean("blocking")? },
            "hog" => SharedWork::Spin { times: value()? },
            "delay" => SharedWork::Delay { seconds: value()? },
            "eventlimit" => SharedWork::TakeEvent,
            "iopslimit" => SharedWork::TakeEvents { unit: EventUnit::Transfers, step: counted()? },
            "opslimit" => SharedWork::TakeEvents { unit: EventUnit::Ops, step: counted()? },
            "bwlimit" => SharedWork::TakeEvents { unit: EventUnit::Mebibytes, step: counted()? },
            "finishoncount" => SharedWork::Finish { after: value()?, unit: FinishUnit::Ops, step: counted()? },
            "finishonbytes" => SharedWork::Finish { after: value()?, unit: FinishUnit::Bytes, step: counted()? },
            "print" => SharedWork::Note { text: seen.text("value")?.unwrap_or_default() },
            "testrandvar" => SharedWork::Sample { value: value()? },
            _ => return Err(unknown_flowop(flowop)),
        };
        if does.needs_set() && file.set.is_none() {
            return Err(FilebenchUsageError::at(place, format!("`{}` names no file set", flowop.kind))
                .help("add `filesetname=…`"));
        }
        Ok((file, does))
    }

    /// Steps that mean others get their full names: those of their own thread first.
    fn meet(&self, groups: &mut [WorkerGroup]) -> Result<(), FilebenchUsageError> {
        let lines = &self.plan.lines;
        let is_meant = |line: &Line, name: &str| {
            let inner = line.name.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'));
            inner && !line.is_composite
        };
        let find = |name: &str, group: Option<&str>| {
            let own = lines.iter().filter(|line| group.is_none_or(|group| line.group == group));
            own.into_iter().find(|line| is_meant(line, name)).map(|line| line.step.clone())
        };
        for group in groups {
            let own = group.name.clone();
            let Work::Program(program) = &mut group.work else { continue };
            for step in &mut program.steps {
                if let Step::Shared(step) = step {
                    resolve(step, &mut |meant, in_own| {
                        let found = find(meant, if in_own { own.as_deref() } else { None });
                        *meant = found.ok_or_else(|| {
                            let where_ = if in_own { " of its thread" } else { "" };
                            FilebenchUsageError::without_place(format!(
                                "`target={meant}`: no flowop{where_} has this name"
                            ))
                        })?;
                        Ok(())
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// The composite flowops around a flowop.
#[derive(Clone, Copy, Default)]
struct Outer<'a> {
    /// Their names, as they are printed.
    printed: &'a str,
    /// The full name of their step.
    step: &'a str,
    /// How many.
    nesting: usize,
}

fn unknown_flowop(flowop: &Flowop) -> FilebenchUsageError {
    let names = FLOWOPS.iter().map(|(name, _)| *name);
    FilebenchUsageError::at(flowop.attributes.place, format!("unknown flowop `{}`", flowop.kind)).nearest(
        &flowop.kind,
        names,
        "`define flowop` it above, or use one that `list flowop` names",
    )
}

static EMPTY: Locals = Locals::new();

fn seen_none(attributes: &Attributes, name: &str) -> bool {
    attributes.get(name).is_none()
}

/// Looks up the names of other steps in a step and those inside of it; whether they are of its own thread.
fn resolve(
    step: &mut SharedStep,
    look_up: &mut dyn FnMut(&mut String, bool) -> Result<(), FilebenchUsageError>,
) -> Result<(), FilebenchUsageError> {
    match &mut step.does {
        SharedWork::Steps(steps) => steps.iter_mut().try_for_each(|step| resolve(step, look_up)),
        SharedWork::Wake { step } | SharedWork::Give { step, .. } => look_up(step, false),
        SharedWork::TakeEvents { step: Some(step), .. } | SharedWork::Finish { step: Some(step), .. } => {
            look_up(step, true)
        }
        _ => Ok(()),
    }
}
