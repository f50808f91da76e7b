//! `--hosts`: coordinates services that run a benchmark together. `--service`: is one of these services.

use super::places::HostPlaces;
use super::real::{self, KindError, ServiceKind};
use super::service::{ASKED, PartRequest, PartServed, PathFound, ServicePhaseReport, ToAgent, as_part};
use super::{complain, or_complain};
use plumb_cli::agent;
use plumb_cli::agent::AgentArguments;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::hosts::{self, HostPlace};
use plumb_cli::output::{self, error_line};
use plumb_cli::{ranks, session};
use plumb_document::json;
use plumb_text::bounded;
use plumb_tools::FileError;
use plumb_tools_app::elbencho::lower::{Found, Geometry, Lowered, LoweredPhase, Places, bound_cpus, lower};
use plumb_tools_app::elbencho::print::{Both, PhaseReport};
use plumb_tools_app::elbencho::tree::{self, Entry};
use plumb_tools_app::elbencho::{self, Action, ElbenchoSettings};
use plumb_tools_run::ToolCall;
use plumb_tools_run::cpus::run_on;
use plumb_tools_run::runner::{Step, page};
use plumb_tools_run::simulated;
use plumb_tools_run::together::together;
use plumb_workload::Workload;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Interval between checks for services.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time within which a service ends after a request to end.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// Services that have received their parts.
pub(crate) struct Led {
    /// The benchmark, as the coordinator reports it.
    pub lowered: Lowered,
    /// The workload of each service.
    pub apart: Vec<Workload>,
}

/// Returns the hosts of a command line, with their ports.
pub(super) fn names(settings: &ElbenchoSettings) -> Step<Vec<String>> {
    let lines = settings.hosts.file.as_deref().map(bounded::read_to_string).unwrap_or_else(|| Ok(String::new()));
    let lines = or_complain(lines.map_err(|error| format!("--hostsfile: cannot read it: {error}")))?;
    or_complain(settings.hosts.names(&lines))
}

fn places(names: &[String]) -> Vec<HostPlace> {
    names.iter().map(|name| HostPlace { name: name.clone(), address: name.clone() }).collect()
}

fn keys() -> Option<PathBuf> {
    std::env::var_os("PLUMB_HOSTS_KEYS").filter(|keys| !keys.is_empty()).map(PathBuf::from)
}

/// Waits until something listens at each host, for at most `--svcwait`.
pub(super) fn wait(settings: &ElbenchoSettings, names: &[String]) -> Step<()> {
    let places = places(names);
    let until = Instant::now() + Duration::from_secs(settings.hosts.wait_s);
    let mut has_said = false;
    // Hosts that are reached over ssh need no service.
    for place in places.iter().filter(|place| !place.address.starts_with("ssh:")) {
        while settings.hosts.wait_s > 0 && !hosts::answers(place) {
            if Instant::now() >= until {
                return or_complain(Err(format!(
                    "no service answers at {} for {} s (--svcwait); is `elbencho --service` running there?",
                    place.name, settings.hosts.wait_s
                )));
            }
            if !std::mem::replace(&mut has_said, true) {
                error_line!("NOTE: waiting for services, for at most {} s.", settings.hosts.wait_s);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    Ok(())
}

/// Connects to all services of Plumb.
pub(super) fn join(settings: &ElbenchoSettings, names: &[String]) -> Step<()> {
    if settings.hosts.real.secret_file.is_some() {
        return or_complain(Err(
            "--svcpwfile: these are services of Plumb, which have keys: PLUMB_HOSTS_KEYS names them; remove the option"
                .to_owned(),
        ));
    }
    or_complain(hosts::join(&places(names), keys().as_deref()).map_err(|stopped| {
        let kinds = keys().map(|_| real::kinds(names)).unwrap_or_default();
        match names.iter().zip(kinds).find(|(_, kind)| *kind == Ok(ServiceKind::Real)) {
            Some((real, _)) => format!(
                "host {real}: a real elbencho service, which cannot prove the keys of PLUMB_HOSTS_KEYS; unset it to lead \
                 real services"
            ),
            None => stopped.message,
        }
    }))
}

/// Returns the kind of all services: asks each host. With keys, only services of Plumb are trusted.
///
/// # Errors
/// A host is no service that can be led, or the hosts have services of both kinds.
pub(super) fn kind(names: &[String]) -> Result<ServiceKind, KindError> {
    if keys().is_some() {
        return Ok(ServiceKind::Plumb);
    }
    let mut found: [Option<&String>; 2] = [None, None];
    for (name, kind) in names.iter().zip(real::kinds(names)) {
        found[usize::from(kind? == ServiceKind::Real)].get_or_insert(name);
    }
    match found {
        [Some(plumb), Some(real)] => Err(KindError::Mixed { real: real.clone(), plumb: plumb.clone() }),
        [None, Some(_)] => Ok(ServiceKind::Real),
        _ => Ok(ServiceKind::Plumb),
    }
}

/// Sends each service its part, and collects the answers.
pub(super) fn ask(call: &ToolCall<'_>, settings: &ElbenchoSettings, names: &[String]) -> Step<Led> {
    let asked = build_request(call, settings, names)?;
    let ranks = ranks::joined().ok_or_else(|| Stopped::io("the services are gone"))?;
    let words = (0..asked.services)
        .map(|number| json::to_string(&PartRequest { number, ..asked.clone() }).map(|text| format!("{ASKED}{text}")));
    let words = words.collect::<Result<Vec<_>, _>>().map_err(Stopped::usage)?;
    let answers = or_complain(ranks.ask_each(session::stop_flag()?, words))?;
    let mut all = Vec::new();
    let mut refused = false;
    for (name, answer) in names.iter().zip(answers) {
        let served: PartServed = or_complain(json::from_slice(&answer).map_err(|error| format!("{name}: {error}")))?;
        refused |= served.workload.is_none();
        served.wrong.iter().for_each(|error| complain(format!("{name}: {error}")));
        all.push(served);
    }
    if refused || all.is_empty() {
        return Err(End::DialectFailed.into());
    }
    let as_lowered = |served: &PartServed| {
        let mut settings = as_part(settings.clone(), &asked);
        // Only the services know the CPUs that their threads are bound to.
        (settings.placement.zones, settings.placement.cores) = (None, None);
        lower(&settings, &mut Facts { paths: &asked.paths, found: &served.found, tree: asked.tree.as_deref() })
    };
    let mut lowered = or_complain(as_lowered(&all[0]))?;
    for (name, served) in names.iter().zip(&all).filter(|(_, served)| served.found != all[0].found) {
        let other = or_complain(as_lowered(served))?;
        if other.geometry != lowered.geometry {
            let (first, one, other) = (&names[0], lowered.geometry, other.geometry);
            let facts = |one: Geometry| {
                format!("{} of {} bytes in blocks of {}", one.path_type.name(), one.file_bytes, one.block_bytes)
            };
            return or_complain(Err(format!(
                "{first} and {name} have different paths: {}, and {}; give --size, or other paths",
                facts(one),
                facts(other)
            )));
        }
    }
    let mut notes: Vec<String> = Vec::new();
    for note in all.iter().flat_map(|served| &served.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    lowered.notes = notes;
    let apart: Vec<Workload> = all.into_iter().filter_map(|served| served.workload).collect();
    lowered.workload = together("elbencho", &mut names.iter().map(String::as_str).zip(&apart));
    Ok(Led { lowered, apart })
}

/// Builds the request for all services. The index is filled in later.
fn build_request(call: &ToolCall<'_>, settings: &ElbenchoSettings, names: &[String]) -> Step<PartRequest> {
    let paths = or_complain(absolute_paths(settings))?;
    let mut files = BTreeMap::new();
    let mut read = |path: &str| {
        let text = bounded::read_to_string(path).map_err(FileError::io(path))?;
        files.insert(path.to_owned(), text.clone());
        Ok(text)
    };
    // The options files were read before; this call keeps their text.
    let _ = elbencho::read(call.words, &mut read);
    let tree = settings.tree.as_ref().map(|tree| tree_text(tree.file.as_deref(), tree.scan.as_deref())).transpose();
    Ok(PartRequest {
        words: call.words.to_vec(),
        files,
        paths,
        tree: or_complain(tree)?,
        number: 0,
        services: names.len() as u32,
    })
}

/// Returns the paths made absolute here. Like elbencho: each host resolves links itself.
pub(super) fn absolute_paths(settings: &ElbenchoSettings) -> Result<Vec<String>, String> {
    let here = std::env::current_dir().map_err(|error| format!("the working directory: {error}"))?;
    let absolute = |path: &String| match simulated::is_named(path) {
        true => Err(format!("{path}: services have no simulated devices; run it without --hosts")),
        false => Ok(here.join(path).to_string_lossy().into_owned()),
    };
    settings.paths.iter().map(absolute).collect()
}

/// Returns the text of a tree: read from its file, or scanned from a directory and saved in the file.
pub(super) fn tree_text(file: Option<&str>, scan: Option<&str>) -> Result<String, FileError> {
    let mut disk = HostPlaces::default();
    let Some(scan) = scan else {
        let path = file.unwrap_or_default();
        let bytes = disk.tree_file(path)?;
        let invalid = |error: std::string::FromUtf8Error| std::io::Error::new(std::io::ErrorKind::InvalidData, error);
        return String::from_utf8(bytes).map_err(invalid).map_err(FileError::io(path));
    };
    let text = tree::text(&disk.look_through(scan)?);
    match file {
        Some(file) => disk.keep_tree(file, &text).map(|()| text),
        None => Ok(text),
    }
}

/// The facts that a service reported.
pub(super) struct Facts<'a> {
    pub(super) paths: &'a [String],
    pub(super) found: &'a [PathFound],
    pub(super) tree: Option<&'a str>,
}

impl Places for Facts<'_> {
    fn find(&mut self, path: &str) -> Found {
        let known = self.paths.iter().zip(self.found).find(|(known, _)| *known == path);
        // The service has already checked the parents of the paths.
        known.map_or(Found::Directory, |(_, &found)| found.into())
    }

    fn cpus_of_node(&mut self, _node: u32) -> Option<Vec<u32>> {
        None
    }

    fn nodes(&mut self) -> Vec<u32> {
        Vec::new()
    }

    fn cpus(&mut self) -> Vec<u32> {
        Vec::new()
    }

    fn tree_file(&mut self, _path: &str) -> Result<Vec<u8>, FileError> {
        Ok(self.tree.unwrap_or_default().into())
    }

    fn look_through(&mut self, _path: &str) -> Result<Vec<Entry>, FileError> {
        Ok(Vec::new())
    }

    fn keep_tree(&mut self, _path: &str, _text: &str) -> Result<(), FileError> {
        Ok(())
    }
}

/// The reports of all services on one phase.
#[derive(Default)]
pub(crate) struct ServiceReports {
    /// Report of each service, with its name.
    pub reports: Vec<(String, PhaseReport)>,
    /// The `sync` before the phase, µs.
    pub before: Option<Both<u64>>,
    /// The `sync` after the phase, µs.
    pub after: Option<Both<u64>>,
    /// Errors, with the names of the services.
    pub errors: Vec<String>,
}

impl ServiceReports {
    /// Adds the report of one service.
    pub(super) fn add(&mut self, name: &str, phase: &LoweredPhase, text: &str) {
        let report = json::from_str::<ServicePhaseReport>(text).unwrap_or_default();
        self.errors.extend(report.wrong.iter().map(|error| format!("{name}: {error}")));
        match PhaseReport::from_numbers(phase, &report.report) {
            Some(report) => self.reports.push((name.to_owned(), report)),
            None => self.errors.push(format!("{name}: its report cannot be read")),
        }
        for (all, one) in [(&mut self.before, report.before_us), (&mut self.after, report.after_us)] {
            let Some(us) = one else { continue };
            let known = all.unwrap_or(Both { first: us, last: us });
            *all = Some(Both { first: known.first.min(us), last: known.last.max(us) });
        }
    }
}

/// `--interrupt` and `--quit`: sends the request to all services.
pub(crate) fn send_to_services<T>(settings: &ElbenchoSettings, asked: ToAgent) -> Step<T> {
    let names = names(settings)?;
    let (there, gone): (Vec<HostPlace>, Vec<HostPlace>) = places(&names).into_iter().partition(hosts::answers);
    let mut failed = !gone.is_empty();
    for place in &gone {
        complain(format!("{}: no service answers there", place.name));
    }
    let there_names: Vec<String> = there.iter().map(|place| place.name.clone()).collect();
    if !there.is_empty() && or_complain(kind(&there_names))? == ServiceKind::Real {
        failed |= !real::send(&there_names, asked);
    } else if !there.is_empty() {
        or_complain(hosts::join(&there, keys().as_deref()).map_err(|stopped| stopped.message))?;
        let ranks = ranks::joined().ok_or_else(|| Stopped::io("the services are gone"))?;
        let words = there.iter().map(|_| asked.words().to_owned()).collect();
        let answers = or_complain(ranks.ask_each(session::stop_flag()?, words))?;
        ranks::dismiss(End::Done.number());
        for (place, answer) in there.iter().zip(answers) {
            let refused = String::from_utf8_lossy(&answer);
            let until = Instant::now() + ENDS_WITHIN;
            while refused.is_empty() && asked == ToAgent::End && hosts::answers(place) && Instant::now() < until {
                std::thread::sleep(POLL_INTERVAL);
            }
            match &*refused {
                "" => output::print(&format!("{}: OK\n", place.name)),
                why => {
                    failed = true;
                    complain(format!("{}: {why}", place.name));
                }
            }
        }
    }
    Err(if failed { End::DialectFailed } else { End::Done }.into())
}

/// `--service`: serves coordinators, in the background unless `--foreground` is given.
pub(super) fn serve<T>(settings: &ElbenchoSettings) -> Step<T> {
    // Threads of all benchmarks, and a service in the background, inherit the CPUs.
    let cpus = bound_cpus(settings, &mut HostPlaces::new(settings)).map_err(|error| error.to_string());
    if let Err(why) = cpus.and_then(|cpus| run_on(&cpus).map_err(|error| format!("--zones, --cores: {error}"))) {
        complain(why);
        return Err(End::DialectFailed.into());
    }
    let list = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let keys = list("PLUMB_AGENT_KEYS").map(PathBuf::from);
    // elbencho listens on all addresses. Without keys, Plumb serves only this host.
    let address = if keys.is_some() { "0.0.0.0" } else { "127.0.0.1" };
    let arguments = AgentArguments {
        listen: Some(format!("{address}:{}", settings.hosts.port)),
        keys,
        allow: list("PLUMB_AGENT_ALLOW").map(|paths| std::env::split_paths(&paths).collect()).unwrap_or_default(),
        obeys: true,
        keyless: agent::listen::Keyless::OnLoopback,
        ..AgentArguments::default()
    };
    if settings.action == Action::ServiceInForeground {
        return Err(agent::serve_clients(&arguments, "elbencho")?.into());
    }
    let number = agent::in_background(&arguments, "elbencho", None)?;
    page(&format!("Running in background. PID: {number}; address: {address}:{}\n", settings.hosts.port))
}

/// Returns the base directory of the run, which services must allow.
pub(super) fn base(settings: &ElbenchoSettings) -> PathBuf {
    let first = settings.paths.first().map_or(Path::new("."), Path::new);
    std::path::absolute(first).unwrap_or_else(|_| first.to_owned())
}
