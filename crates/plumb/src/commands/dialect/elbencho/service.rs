//! A service of elbencho's: what an agent makes of the words of whoever leads it, and how it reports each phase.

use super::between;
use super::outputs::MachineTicks;
use super::phase_watch::{PhaseWatch, faults};
use super::places::HostPlaces;
use plumb_dialects::FileError;
use plumb_dialects::elbencho::hosts::DataSetPart;
use plumb_dialects::elbencho::lower::{Found, Lowered, Places, lower};
use plumb_dialects::elbencho::tree::Entry;
use plumb_dialects::elbencho::{self, Settings, TreeSettings};
use plumb_document::{FromDocument, ToDocument, json};
use plumb_engine::{LoggedOp, PhaseNow};
use plumb_result::PhaseMeasurement;
use plumb_sorted::SortedMap;
use plumb_study::AgentPolicy;
use plumb_workload::Workload;
use std::path::Path;

/// How a service is asked for its part of a benchmark.
pub const ASKED: &str = "elbencho ";

/// What a service is asked beside a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToAgent {
    /// To interrupt what it does for others.
    InterruptOthers,
    /// To end.
    End,
}

impl ToAgent {
    /// As it is sent.
    pub const fn words(self) -> &'static str {
        match self {
            ToAgent::InterruptOthers => "interrupt",
            ToAgent::End => "end",
        }
    }

    /// What was sent.
    pub fn of(words: &str) -> Option<ToAgent> {
        [ToAgent::InterruptOthers, ToAgent::End].into_iter().find(|asked| asked.words() == words)
    }
}

/// What a service is asked for.
#[derive(Debug, Clone, PartialEq, Default, ToDocument, FromDocument)]
pub struct PartAsked {
    /// elbencho's words.
    pub words: Vec<String>,
    /// Files of options that the words name, with their texts.
    pub files: SortedMap<String, String>,
    /// The paths, absolute.
    pub paths: Vec<String>,
    /// A tree, where the words name one.
    pub tree: Option<String>,
    /// Which of the services this is.
    pub number: u32,
    /// How many there are.
    pub services: u32,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Default, ToDocument, FromDocument)]
pub struct PartServed {
    /// What is done; `None` where something is wrong.
    pub workload: Option<Workload>,
    /// What the paths lead to.
    pub found: Vec<PathFound>,
    /// What was changed.
    pub notes: Vec<String>,
    /// What is wrong.
    pub wrong: Vec<String>,
}

/// What a path leads to, as [`Found`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToDocument, FromDocument)]
pub enum PathFound {
    Absent,
    Directory,
    File(u64),
    Device(u64),
    Other,
}

impl From<Found> for PathFound {
    fn from(found: Found) -> PathFound {
        match found {
            Found::Absent => PathFound::Absent,
            Found::Directory => PathFound::Directory,
            Found::File { bytes } => PathFound::File(bytes),
            Found::Device { bytes } => PathFound::Device(bytes),
            Found::Other => PathFound::Other,
        }
    }
}

impl From<PathFound> for Found {
    fn from(found: PathFound) -> Found {
        match found {
            PathFound::Absent => Found::Absent,
            PathFound::Directory => Found::Directory,
            PathFound::File(bytes) => Found::File { bytes },
            PathFound::Device(bytes) => Found::Device { bytes },
            PathFound::Other => Found::Other,
        }
    }
}

/// What a service tells of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, ToDocument, FromDocument)]
pub struct PhaseTold {
    /// How long the `sync` before it took, µs.
    pub before_us: Option<u64>,
    /// Its report, as numbers.
    pub report: Vec<u64>,
    /// How long the `sync` behind it took, µs.
    pub after_us: Option<u64>,
    /// What went wrong.
    pub wrong: Vec<String>,
}

/// A part of a benchmark, and its phase at hand.
pub struct ElbenchoService {
    settings: Settings,
    lowered: Lowered,
    number: usize,
    watch: PhaseWatch,
    told: PhaseTold,
}

impl ElbenchoService {
    /// Reads what is asked for; the service where it can be done, and the answer.
    pub fn of(asked: &str, policy: &AgentPolicy) -> (Option<ElbenchoService>, Vec<u8>) {
        let made = json::from_str::<PartAsked>(asked)
            .map_err(|error| vec![format!("the words of whoever leads: {error}")])
            .and_then(|asked| ElbenchoService::new(&asked, policy));
        let (service, served) = match made {
            Ok((service, served)) => (Some(service), served),
            Err(wrong) => (None, PartServed { wrong, ..PartServed::default() }),
        };
        (service, json::to_vec(&served).unwrap_or_default())
    }

    fn new(asked: &PartAsked, policy: &AgentPolicy) -> Result<(ElbenchoService, PartServed), Vec<String>> {
        let mut sent = |path: &str| asked.files.get(path).cloned().ok_or(not_sent(path));
        let settings = elbencho::read(&asked.words, &mut sent);
        let settings = settings.map_err(|wrong| wrong.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let settings = as_part(settings, asked);
        check(&settings, policy)?;
        let mut places = ServedPlaces { asked, policy, disk: HostPlaces::of(&settings) };
        let found = settings.paths.iter().map(|path| places.look(path).into()).collect();
        let lowered = lower(&settings, &mut places).map_err(|error| vec![error.to_string()])?;
        let served = PartServed {
            workload: Some(lowered.workload.clone()),
            found,
            notes: lowered.notes.clone(),
            wrong: Vec::new(),
        };
        let (watch, told) = (PhaseWatch::start(MachineTicks::default()), PhaseTold::default());
        Ok((ElbenchoService { settings, lowered, number: 0, watch, told }, served))
    }

    /// A phase is about to begin.
    pub fn phase_begins(&mut self) {
        self.told = PhaseTold::default();
        if self.lowered.phases.get(self.number).is_some_and(|phase| phase.opens_iteration) {
            self.told.before_us = self.sync();
        }
    }

    /// Its clock starts.
    pub fn clock_starts(&mut self) {
        self.watch = PhaseWatch::start(MachineTicks::now());
    }

    /// A look at the processors.
    pub fn tick(&mut self, now: &dyn PhaseNow) {
        self.watch.look(now.elapsed_ns(), MachineTicks::now());
    }

    /// The ops of a worker.
    pub fn op_log(&mut self, worker: &str, logged: &mut dyn Iterator<Item = LoggedOp>) {
        if let Some(phase) = self.lowered.phases.get(self.number) {
            self.watch.take(phase, worker, logged);
        }
    }

    /// What whoever leads is told of a phase that is over.
    pub fn tells(&mut self, measured: &PhaseMeasurement) -> String {
        let Some(phase) = self.lowered.phases.get(self.number) else { return String::new() };
        let mut report = self.watch.report(phase, measured, MachineTicks::now());
        if phase.is_idle {
            report.each_ms.clear();
        }
        self.number += 1;
        self.told.report = report.numbers();
        self.told.wrong.extend(faults(measured));
        if measured.fault_count == 0 {
            self.told.after_us = self.sync();
        }
        json::to_string(&self.told).unwrap_or_default()
    }

    /// Writes the page cache out, where that is asked for, µs.
    fn sync(&mut self) -> Option<u64> {
        match between::steps(self.lowered.between, &self.settings.paths) {
            Ok(steps) => steps.first().map(|step| step.us),
            Err(error) => {
                self.told.wrong.push(error.to_string());
                None
            }
        }
    }
}

/// The settings of one of several services.
pub fn as_part(mut settings: Settings, asked: &PartAsked) -> Settings {
    settings.paths.clone_from(&asked.paths);
    settings.part = DataSetPart { host: asked.number, hosts: asked.services };
    if let Some(tree) = &mut settings.tree {
        *tree = TreeSettings { file: Some("--treefile".to_owned()), scan: None, ..tree.clone() };
    }
    settings
}

/// Threads that a service runs, which its policy limits too.
const THREADS_MAX: u32 = 4096;
/// Paths that it makes up for all its threads and phases, each of which takes memory.
const NAMES_MAX: u64 = 16 << 20;
/// Phases of a command.
const ITERATIONS_MAX: u32 = 10_000;

/// What a service does not do, whatever it is asked.
fn check(settings: &Settings, policy: &AgentPolicy) -> Result<(), Vec<String>> {
    let mut wrong = Vec::new();
    for path in settings.paths.iter().filter(|path| !policy.allows(Path::new(path), Path::new("/"))) {
        wrong.push(format!("the service does not allow `{path}`: PLUMB_AGENT_ALLOW lists what it may use"));
    }
    if settings.phases.dropcache {
        wrong.push(
            "--dropcache: a service drops no caches for others; use --direct, or drop them on its host".to_owned(),
        );
    }
    let names = u64::from(settings.threads)
        .saturating_mul(u64::from(settings.dirs).saturating_add(settings.paths.len() as u64))
        .saturating_mul(settings.iterations.into());
    if settings.threads > THREADS_MAX || settings.iterations > ITERATIONS_MAX || names > NAMES_MAX {
        wrong.push(format!(
            "{} threads with {} directories, {} times, are more than a service runs",
            settings.threads, settings.dirs, settings.iterations
        ));
    }
    let DataSetPart { host, hosts } = settings.part;
    if host >= hosts {
        wrong.push(format!("service {host} of {hosts} is none"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn not_sent(path: &str) -> FileError {
    let source = std::io::Error::new(std::io::ErrorKind::NotFound, "whoever leads did not send it");
    FileError::Io { path: path.to_owned(), source }
}

/// What a service sees of its host for others.
struct ServedPlaces<'a> {
    asked: &'a PartAsked,
    policy: &'a AgentPolicy,
    disk: HostPlaces,
}

impl Places for ServedPlaces<'_> {
    fn look(&mut self, path: &str) -> Found {
        match self.asked.paths.iter().any(|asked| asked == path) || self.policy.allows(Path::new(path), Path::new("/"))
        {
            true => self.disk.look(path),
            // The directory above what is allowed is not looked at, and its absence is told by whoever opens what is in it.
            false => Found::Directory,
        }
    }

    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>> {
        self.disk.cpus_of_node(node)
    }

    fn nodes(&mut self) -> Vec<u32> {
        self.disk.nodes()
    }

    fn cpus(&mut self) -> Vec<u32> {
        self.disk.cpus()
    }

    fn tree_file(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        self.asked.tree.clone().map(String::into_bytes).ok_or(not_sent(path))
    }

    fn look_through(&mut self, path: &str) -> Result<Vec<Entry>, FileError> {
        Err(not_sent(path))
    }

    fn keep_tree(&mut self, path: &str, _text: &str) -> Result<(), FileError> {
        Err(not_sent(path))
    }
}
