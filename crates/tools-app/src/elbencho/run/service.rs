//! An elbencho service: an agent that parses a coordinator's request and reports each phase.

use super::between;
use super::outputs::MachineTicks;
use super::phase_watch::{PhaseWatch, faults};
use super::places::HostPlaces;
use plumb_bench::AgentPolicy;
use plumb_document::json;
use plumb_engine::{LoggedOp, PhaseNow};
use plumb_result::PhaseMeasurement;
use plumb_tools::FileError;
use plumb_tools_app::elbencho::hosts::{DataSetPart, HOSTS_MAX};
use plumb_tools_app::elbencho::lower::{Found, Lowered, Places, lower};
use plumb_tools_app::elbencho::tree::{self, Entry};
use plumb_tools_app::elbencho::{self, Action, ElbenchoSettings, TreeSettings};
use plumb_workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Prefix of a request for a part of a benchmark.
pub const ASKED: &str = "elbencho ";

/// A request to a service other than for a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToAgent {
    /// Interrupt the benchmarks that it runs for others.
    InterruptOthers,
    End,
}

impl ToAgent {
    /// Returns the text that is sent.
    pub const fn words(self) -> &'static str {
        match self {
            ToAgent::InterruptOthers => "interrupt",
            ToAgent::End => "end",
        }
    }

    /// Parses the text of a request.
    pub fn parse(words: &str) -> Option<ToAgent> {
        [ToAgent::InterruptOthers, ToAgent::End].into_iter().find(|asked| asked.words() == words)
    }
}

/// A request for one part of a benchmark.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct PartRequest {
    pub words: Vec<String>,
    /// Options files that the arguments name, with their texts.
    pub files: BTreeMap<String, String>,
    /// The benchmark paths, absolute.
    pub paths: Vec<String>,
    /// Text of the tree file, if there is one.
    pub tree: Option<String>,
    /// Index of this service.
    pub number: u32,
    pub services: u32,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct PartServed {
    /// The lowered workload; `None` after an error.
    pub workload: Option<Workload>,
    /// Kinds of the paths.
    pub found: Vec<PathFound>,
    /// Adjustments of the options, as text for the user.
    pub notes: Vec<String>,
    pub wrong: Vec<String>,
}

/// Serializable form of [`Found`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PathFound {
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

/// A service's report on one phase.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct ServicePhaseReport {
    /// Duration of the `sync` before the phase, µs.
    pub before_us: Option<u64>,
    /// The report, encoded as numbers.
    pub report: Vec<u64>,
    /// Duration of the `sync` after the phase, µs.
    pub after_us: Option<u64>,
    pub wrong: Vec<String>,
}

/// A part of a benchmark, and its current phase.
pub struct ElbenchoService {
    settings: ElbenchoSettings,
    lowered: Lowered,
    number: usize,
    watch: PhaseWatch,
    phase_report: ServicePhaseReport,
}

impl ElbenchoService {
    /// Parses a request. Returns the service, if the request is valid, and the answer.
    pub fn accept(asked: &str, policy: &AgentPolicy) -> (Option<ElbenchoService>, Vec<u8>) {
        let made = json::from_str::<PartRequest>(asked)
            .map_err(|error| vec![format!("invalid request from the coordinator: {error}")])
            .and_then(|asked| ElbenchoService::new(&asked, policy));
        let (service, served) = match made {
            Ok((service, served)) => (Some(service), served),
            Err(wrong) => (None, PartServed { wrong, ..PartServed::default() }),
        };
        (service, json::to_vec(&served).unwrap_or_default())
    }

    fn new(asked: &PartRequest, policy: &AgentPolicy) -> Result<(ElbenchoService, PartServed), Vec<String>> {
        let mut sent = |path: &str| asked.files.get(path).cloned().ok_or(not_sent(path));
        // The coordinator has expanded the paths. A few words could expand to any number of them.
        let words: Vec<String> = std::iter::once("--nopathexp".to_owned()).chain(asked.words.iter().cloned()).collect();
        let settings = elbencho::read(&words, &mut sent);
        let settings = settings.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let settings = as_part(settings, asked);
        check(&settings, asked, policy)?;
        let mut places = ServedPlaces { asked, policy, disk: HostPlaces::new(&settings) };
        let found = settings.paths.iter().map(|path| places.find(path).into()).collect();
        let lowered = lower(&settings, &mut places).map_err(|error| vec![error.to_string()])?;
        let served = PartServed {
            workload: Some(lowered.workload.clone()),
            found,
            notes: lowered.notes.clone(),
            wrong: Vec::new(),
        };
        let (watch, phase_report) = (PhaseWatch::start(MachineTicks::default()), ServicePhaseReport::default());
        Ok((ElbenchoService { settings, lowered, number: 0, watch, phase_report }, served))
    }

    pub fn phase_begins(&mut self) {
        self.phase_report = ServicePhaseReport::default();
        if self.lowered.phases.get(self.number).is_some_and(|phase| phase.opens_iteration) {
            self.phase_report.before_us = self.sync();
        }
    }

    /// Records the start of the phase's clock.
    pub fn clock_starts(&mut self) {
        self.watch = PhaseWatch::start(MachineTicks::now());
    }

    pub fn tick(&mut self, now: &dyn PhaseNow) {
        self.watch.sample(now.elapsed_ns(), MachineTicks::now());
    }

    /// Adds the ops of a worker.
    pub fn op_log(&mut self, worker: &str, logged: &mut dyn Iterator<Item = LoggedOp>) {
        if let Some(phase) = self.lowered.phases.get(self.number) {
            self.watch.take(phase, worker, logged);
        }
    }

    /// Returns the report on a finished phase, for the coordinator.
    pub fn report_phase(&mut self, measured: &PhaseMeasurement) -> String {
        let Some(phase) = self.lowered.phases.get(self.number) else { return String::new() };
        let mut report = self.watch.report(phase, measured, MachineTicks::now());
        if phase.is_idle {
            report.each_ms.clear();
        }
        self.number += 1;
        self.phase_report.report = report.numbers();
        self.phase_report.wrong.extend(faults(measured));
        if measured.fault_count == 0 {
            self.phase_report.after_us = self.sync();
        }
        json::to_string(&self.phase_report).unwrap_or_default()
    }

    /// Writes the page cache back if `--sync` is given. Returns the duration, µs.
    fn sync(&mut self) -> Option<u64> {
        match between::steps(self.lowered.between, &self.settings.paths) {
            Ok(steps) => steps.first().map(|step| step.us),
            Err(error) => {
                self.phase_report.wrong.push(error.to_string());
                None
            }
        }
    }
}

/// Returns the settings of one of several services.
pub(crate) fn as_part(mut settings: ElbenchoSettings, asked: &PartRequest) -> ElbenchoSettings {
    settings.paths.clone_from(&asked.paths);
    settings.part = DataSetPart { host: asked.number, hosts: asked.services };
    if let Some(tree) = &mut settings.tree {
        *tree = TreeSettings { file: Some("--treefile".to_owned()), scan: None, ..tree.clone() };
    }
    settings
}

/// Limit of a service's threads. Its policy limits them too.
const THREADS_MAX: u32 = 4096;
/// Limit of threads over all iterations. Each takes a kilobyte per phase.
const GROUPS_MAX: u64 = 32 << 10;
/// Limit of paths and parts of files. Each takes some hundred bytes.
const NAMES_MAX: u64 = 4 << 20;

/// Checks limits that hold for every request.
fn check(settings: &ElbenchoSettings, asked: &PartRequest, policy: &AgentPolicy) -> Result<(), Vec<String>> {
    let mut errors = Vec::new();
    if !matches!(settings.action, Action::Run | Action::DryRun) {
        errors.push("this command line does not run a benchmark".to_owned());
    }
    for path in settings.paths.iter().filter(|path| !policy.allows(Path::new(path), Path::new("/"))) {
        errors.push(format!("the service does not allow `{path}`: PLUMB_AGENT_ALLOW lists the paths that it may use"));
    }
    if settings.phases.dropcache {
        errors.push(
            "--dropcache: a service does not drop caches for others; use --direct, or drop them on its host".to_owned(),
        );
    }
    let groups = u64::from(settings.threads).saturating_mul(settings.schedule.iterations.into());
    let names = groups.saturating_mul(names_of_a_thread(settings, asked));
    if settings.threads > THREADS_MAX || groups > GROUPS_MAX || names > NAMES_MAX {
        errors.push(format!(
            "{} threads, {} times, with {} directories of {} files, or parts of files, are more than a service runs",
            settings.threads, settings.schedule.iterations, settings.dataset.dirs, settings.dataset.files
        ));
    }
    let DataSetPart { host, hosts } = settings.part;
    if host >= hosts || hosts as usize > HOSTS_MAX {
        errors.push(format!("service {host} of {hosts} does not exist"));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Returns the largest number of paths and parts of files that a thread has.
fn names_of_a_thread(settings: &ElbenchoSettings, asked: &PartRequest) -> u64 {
    let paths = settings.paths.len() as u64;
    if let (Some(tree), Some(text)) = (&settings.tree, &asked.tree) {
        // The tree's files are dealt to the threads of all hosts.
        let all = settings.threads.max(1).into();
        let listed = tree::parse("--treefile", text.as_bytes()).unwrap_or_default();
        let blocks = |file: &tree::TreeFile| match tree.round_robin {
            true => file.bytes.max(tree.round_up).div_ceil(settings.ops.block.max(1)),
            false => 1,
        };
        let parts = listed.files.iter().map(blocks).fold(listed.dirs.len() as u64, u64::saturating_add);
        return parts.div_ceil(all).saturating_add(1);
    }
    // Files in directories of a single path are numbered, which takes no memory.
    let is_plain = settings.dataset.dirs == 0 || settings.paths.iter().all(|path| !path.contains('{')) && paths == 1;
    let files =
        if is_plain { 0 } else { u64::from(settings.dataset.dirs).saturating_mul(settings.dataset.files.into()) };
    paths.saturating_add(settings.dataset.dirs.into()).saturating_add(files)
}

fn not_sent(path: &str) -> FileError {
    let source = std::io::Error::new(std::io::ErrorKind::NotFound, "the coordinator did not send it");
    FileError::Io { path: path.to_owned(), source }
}

/// The view that a service has of its host, within the limits of its policy.
struct ServedPlaces<'a> {
    asked: &'a PartRequest,
    policy: &'a AgentPolicy,
    disk: HostPlaces,
}

impl Places for ServedPlaces<'_> {
    fn find(&mut self, path: &str) -> Found {
        match self.asked.paths.iter().any(|asked| asked == path) || self.policy.allows(Path::new(path), Path::new("/"))
        {
            true => self.disk.find(path),
            // The directory above an allowed path is not checked. If it is missing, opening a file in it fails later.
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

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_engine::guard::Permissions;
    use std::time::{Duration, Instant};

    fn refused(asked: &PartRequest) -> Vec<String> {
        let policy = AgentPolicy { allow: vec!["/tmp".into()], may_exec: false, permissions: Permissions::none() };
        let (service, answer) = ElbenchoService::accept(&json::to_string(asked).unwrap(), &policy);
        assert!(service.is_none());
        json::from_slice::<PartServed>(&answer).unwrap().wrong
    }

    fn request(words: &str) -> PartRequest {
        let words = words.split(' ').map(str::to_owned).collect();
        PartRequest { words, paths: vec!["/tmp/none".to_owned()], services: 2, ..PartRequest::default() }
    }

    // Protects a service's memory and its host from a coordinator: excessive requests and foreign paths are refused
    // at once.
    #[test]
    fn excessive_requests_are_refused() {
        let began = Instant::now();
        let mut tree = request("-w -b 1 --treeroundrob --treefile t /tmp/none");
        tree.tree = Some(format!("f {} a\n", u64::MAX));
        let mut outside = request("-w -s 1k x");
        outside.paths = vec!["/tmp/../etc/passwd".to_owned()];
        let mut several = request("-w -s 1k -n 1000000 -N 1000000 x");
        several.paths = vec!["/tmp/a".to_owned(), "/tmp/b".to_owned()];
        let cases = [
            (request("-w -s 1k -t 4294967295 x"), "more than a service runs"),
            (request("-w -s 1k -t 64 -i 4294967295 x"), "more than a service runs"),
            (request("-d -n 4294967295 x"), "more than a service runs"),
            (several, "more than a service runs"),
            (tree, "more than a service runs"),
            (outside, "does not allow `/tmp/../etc/passwd`"),
            (request("-w -s 1k --dropcache x"), "does not drop caches"),
            (request("--version"), "does not run a benchmark"),
            (request("-w -s 1k -c /etc/passwd x"), "did not send it"),
            (
                PartRequest { paths: vec!["/tmp".to_owned()], ..request("-d --treefile /etc/passwd x") },
                "did not send it",
            ),
            (PartRequest { number: 2, ..request("-w -s 1k x") }, "service 2 of 2"),
            (PartRequest { services: u32::MAX, ..request("-w -s 1k x") }, "does not exist"),
        ];
        for (asked, expected) in cases {
            let errors = refused(&asked);
            assert!(errors.iter().any(|error| error.contains(expected)), "{:?}: {errors:?}", asked.words);
        }
        // Each word expands to a million paths.
        let mut many = request("-w -s 1k");
        many.words.extend(std::iter::repeat_n("[1-1000000]".to_owned(), 1000));
        many.paths = vec!["/etc/none".to_owned()];
        assert!(refused(&many)[0].contains("does not allow"));
        let policy = AgentPolicy { allow: Vec::new(), may_exec: false, permissions: Permissions::none() };
        for malformed in ["", "{", "[]", "{\"words\":[[]]}", "null"] {
            assert!(ElbenchoService::accept(malformed, &policy).0.is_none());
        }
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
