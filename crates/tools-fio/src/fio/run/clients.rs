//! `--client`: runs jobs on other hosts and prints their results in fio's format.

mod watching;

use super::complain;
use super::disk::{DiskFiles, this_machine};
use super::line_place;
use super::or_complain;
use super::output::Output;
use super::progress::unix_ms;
use super::report::now;
use super::served::{ASKED, JobsRequest, JobsServed};
use plumb_bench::{Bench, Division, Policies, RunError, RunOutcome, RunRequest};
use plumb_cli::exit::{End, Stopped};
use plumb_cli::hosts::{self, HostPlace};
use plumb_cli::output::error_line;
use plumb_cli::ranks;
use plumb_cli::session;
use plumb_cli::session::command_line;
use plumb_document::json;
use plumb_engine::Unopened;
use plumb_engine::signals::StopSignal;
use plumb_engine::sim::SimRun;
use plumb_result::{Measurement, PhaseMeasurement};
use plumb_tools_fio::fio::invocation::{AskedClient, Eta, Invocation};
use plumb_tools_fio::fio::print::{
    self, DiskStats, Grouping, Heading, HostReport, JobCopy, JobMember, JobReport, JobSource, MissingFiles, Report,
    Stage, clients, opening_of, sources,
};
use plumb_tools_fio::fio::value::Compat;
use plumb_tools_fio::fio::{self, Files, Fio, MissingFile};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Cut, Step};
use plumb_tools_run::together::together;
use plumb_tools_run::verdicts::{Verdicts, report_unstored};
use plumb_workload::Workload;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;
use watching::ClientProgress;

pub(super) const PORT: u16 = 8765;

/// A client as typed, with its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedHost {
    /// The typed name without the connection type and the port.
    pub hostname: String,
    pub port: u16,
    pub address: String,
}

/// Parses fio's forms: `host`, `host,port`, `ip:host,port`, `ip4:`, `ip6:`, and `,port` and `:port` for this host.
/// Plumb's agents do not listen on Unix sockets.
///
/// # Errors
///
/// The text has another form.
pub(crate) fn typed_host(text: &str) -> Result<TypedHost, String> {
    if text.starts_with("sock:") {
        return Err(format!("`{text}`: agents listen on addresses, and on no socket of a file"));
    }
    let bare = ["ip:", "ip4:", "ip6:"].iter().find_map(|form| text.strip_prefix(form)).unwrap_or(text);
    let port = bare.strip_prefix(':').filter(|port| !port.contains(':'));
    let bare = port.map_or_else(|| bare.to_owned(), |port| format!(",{port}"));
    let (hostname, port) = match bare.split_once(',') {
        None => (bare.as_str(), PORT),
        Some((host, port)) => match port.parse() {
            Ok(port @ 1..) => (host, port),
            _ => return Err(format!("`{text}`: `{port}` is not a port")),
        },
    };
    let address = match (hostname, hostname.parse()) {
        ("", _) => format!("127.0.0.1:{port}"),
        (_, Ok(IpAddr::V6(ip))) => format!("[{ip}]:{port}"),
        _ => format!("{hostname}:{port}"),
    };
    Ok(TypedHost { hostname: hostname.to_owned(), port, address })
}

/// A host with its request and its answer.
struct Host {
    typed: TypedHost,
    place: HostPlace,
    asked: JobsRequest,
}

struct Serving {
    host: Host,
    served: JobsServed,
    workload: Workload,
    fio: Fio,
    copies: Vec<JobCopy>,
}

/// Runs the jobs on their hosts and prints fio's output.
pub(super) fn run(invocation: &Invocation, call: &ToolCall<'_>) -> Step<End> {
    let began = Instant::now();
    if invocation.progress.status_interval.is_some() || invocation.progress.eta == Eta::Always {
        complain("hosts report at the end of the run: --status-interval and --eta=always show nothing before");
    }
    let hosts = hosts_of(invocation)?;
    let places: Vec<HostPlace> = hosts.iter().map(|host| host.place.clone()).collect();
    let keys = std::env::var_os("PLUMB_HOSTS_KEYS").filter(|keys| !keys.is_empty()).map(PathBuf::from);
    or_complain(hosts::join(&places, keys.as_deref()).map_err(|stopped| [stopped.message]))?;
    let mut bench = session::bench_of_tool(call.common)?;
    let serving = ask(hosts, &bench)?;
    let mut output = or_complain(Output::open(invocation).map_err(|error| [error]))?;
    if output.is_normal() {
        output.write(&openings(&serving))?;
    }
    let workload = together("fio", &mut serving.iter().map(|host| (host.place_name(), &host.workload)));
    bench.partners.apart = Some(serving.iter().map(|host| host.workload.clone()).collect());
    bench.partners.division = Division::Apart;
    bench.engine.unopened = Unopened::FailsItsJobs;
    let mut watching = ClientProgress::new(&serving, &invocation.trigger, bench.stop);
    let command = command_line();
    let request = RunRequest {
        workload: &workload,
        policies: Policies::AsWritten,
        base: Path::new("."),
        command: &command,
        dialect: Some("fio"),
        sim_run: SimRun { seed: workload.seed, run_index: 0, plot_index: 0 },
    };
    let ended = bench.run(&request, &mut watching);
    let (outcome, error) = match ended {
        Ok(outcome) => (outcome, None),
        Err(RunError::EndedEarly { error, outcome }) => (*outcome, Some(error)),
        Err(error) => return or_complain(Err([error])),
    };
    if let Some(error) = &error {
        complain(error);
    }
    let is_well = watching.pull(invocation.trigger.remote.as_deref()) && !watching.lost_logs;
    let mut verdicts = Verdicts::new(call.verdicts, call.common);
    verdicts.add(&outcome, line_place(invocation));
    report_unstored(&outcome, call.common);
    let report = FinalReport { serving: &serving, outcome: &outcome, began, starts: watching.starts };
    let failed = report.print(&mut output)? || !is_well;
    verdicts.print();
    Ok(verdicts.end(match bench.stop.signal() {
        Some(signal) if signal != StopSignal::Program => End::DialectCode(super::run::STOPPED_BY_SIGNAL),
        _ if failed || error.is_some() => End::DialectFailed,
        _ => End::Done,
    }))
}

/// Returns the hosts with their requests.
fn hosts_of(invocation: &Invocation) -> Step<Vec<Host>> {
    let mut hosts = Vec::new();
    for (number, client) in invocation.hosts.clients.iter().enumerate() {
        let client = &with_jobs(invocation, number, client);
        // As in fio, a readable file lists hosts.
        let path = Path::new(&client.host);
        let names = if path.is_file() { hosts::listed(path)? } else { vec![client.host.clone()] };
        for name in names {
            let typed = or_complain(typed_host(&name).map_err(|error| [format!("--client: {error}")]))?;
            let place = HostPlace { name, address: typed.address.clone() };
            hosts.push(Host { typed, place, asked: request(invocation, client)? });
        }
    }
    if hosts.is_empty() {
        return or_complain(Err(["no host is listed in the file of --client"]));
    }
    Ok(hosts)
}

/// Returns a client with its job files. In `--client=a --client=b job.fio`, fio silently runs nothing on `a`. Unless
/// `--compat=strict` is given, `a` runs the jobs of the next client.
fn with_jobs(invocation: &Invocation, number: usize, client: &AskedClient) -> AskedClient {
    let has_jobs = |client: &&AskedClient| !client.files.is_empty() || !client.remote_files.is_empty();
    let is_meant = invocation.compat == Compat::Meant && invocation.hosts.files.is_empty();
    let next = invocation.hosts.clients[number..].iter().find(has_jobs).filter(|_| is_meant);
    next.map_or_else(|| client.clone(), |next| AskedClient { host: client.host.clone(), ..next.clone() })
}

/// Returns the request to a host, with the texts of its local job files.
fn request(invocation: &Invocation, client: &AskedClient) -> Step<JobsRequest> {
    let files: Vec<&String> = client.files.iter().chain(&invocation.hosts.files).collect();
    if files.is_empty() && client.remote_files.is_empty() {
        return or_complain(Err([format!("no job file for client {}: name it after --client", client.host)]));
    }
    let mut words: Vec<String> = invocation.sections.iter().map(|section| format!("--section={section}")).collect();
    if invocation.read_only {
        words.push("--readonly".to_owned());
    }
    if invocation.compat == Compat::Strict {
        words.push("--compat=strict".to_owned());
    }
    // Only file names follow, even if they look like options.
    words.push("--".to_owned());
    words.extend(files.into_iter().cloned());
    let mut here = Kept { disk: DiskFiles::default(), texts: BTreeMap::new() };
    if words.last().is_some_and(|last| last != "--") {
        or_complain(fio::read(&words, &this_machine(), &mut here).map_err(|errors| errors.0))?;
    }
    words.extend(client.remote_files.iter().cloned());
    let named = |text: &String| -> Vec<String> {
        text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
    };
    let names: Vec<String> = here.texts.values().flat_map(named).collect();
    let environment = names.into_iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
    Ok(JobsRequest {
        words,
        environment: environment.collect(),
        files: here.texts,
        client: String::new(),
        reads_here: !client.remote_files.is_empty(),
        entropy: RandomState::new().hash_one(unix_ms()),
        has_trigger: invocation.trigger.remote.is_some(),
    })
}

/// Keeps the text of every file that it reads from disk.
struct Kept {
    disk: DiskFiles,
    texts: BTreeMap<String, String>,
}

impl Files for Kept {
    fn read(&mut self, path: &str) -> Result<String, MissingFile> {
        if let Some(text) = self.texts.get(path) {
            return Ok(text.clone());
        }
        let text = Files::read(&mut self.disk, path)?;
        self.texts.insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

/// The texts of a host's job files: local ones, and those on the host.
struct Texts<'a>(&'a BTreeMap<String, String>, &'a BTreeMap<String, String>);

impl Files for Texts<'_> {
    fn read(&mut self, path: &str) -> Result<String, MissingFile> {
        let text = self.0.get(path).or_else(|| self.1.get(path));
        text.cloned().ok_or_else(|| MissingFile { reason: "the agent did not send it".to_owned() })
    }
}

/// Asks all hosts to parse and lower their jobs.
fn ask(hosts: Vec<Host>, bench: &Bench) -> Step<Vec<Serving>> {
    let ranks = ranks::joined().ok_or_else(|| Stopped::io("the hosts are gone"))?;
    let of_sockets = hosts::own_addresses();
    let words = hosts.iter().enumerate().map(|(number, host)| {
        let client = of_sockets.get(number).cloned().flatten().map_or_else(String::new, |ip| ip.to_string());
        let asked = JobsRequest { client, ..host.asked.clone() };
        json::to_string(&asked).map(|text| format!("{ASKED}{text}"))
    });
    let words = words.collect::<Result<Vec<_>, _>>().map_err(Stopped::usage)?;
    let answers = or_complain(ranks.ask_each(bench.stop, words).map_err(|error| [error]))?;
    let mut serving = Vec::new();
    let mut errors = Vec::new();
    for (host, answer) in hosts.into_iter().zip(answers) {
        let name = host.place.name.clone();
        let served: JobsServed = or_complain(json::from_slice(&answer).map_err(|error| [format!("{name}: {error}")]))?;
        let Some(workload) = served.workload.clone() else {
            errors.extend(served.messages.iter().map(|message| format!("{name}: {message}")));
            continue;
        };
        for message in &served.messages {
            error_line!("{name}: {message}");
        }
        let machine = served.machine(host.asked.environment.clone());
        let mut texts = Texts(&host.asked.files, &served.files);
        let fio = or_complain(fio::read(&host.asked.words, &machine, &mut texts).map_err(|errors| errors.0))?;
        let copy = |copy: &super::served::CopyServed| {
            let phase = copy.phase as usize;
            let groups = workload.phase.get(phase).map_or([].as_slice(), |phase| &phase.workers);
            let group = groups.iter().find(|group| group.name.as_ref() == Some(&copy.group));
            let priority = group.and_then(|group| group.process.io_priority);
            JobCopy { job: copy.job as usize, member: JobMember { phase, group: copy.group.clone(), priority } }
        };
        let copies: Vec<JobCopy> = served.copies.iter().map(copy).filter(|copy| copy.job < fio.jobs.len()).collect();
        serving.push(Serving { host, served, workload, fio, copies });
    }
    if errors.is_empty() { Ok(serving) } else { or_complain(Err(errors)) }
}

/// Returns the text that is printed before the run.
fn openings(serving: &[Serving]) -> String {
    let mut text = String::new();
    for host in serving {
        let (name, processor) = (&host.served.name, &host.served.processor);
        text += &format!("hostname={name}, be=0, 64-bit, os=Linux, arch={processor}, fio={}, flags=1\n", fio::VERSION);
    }
    for host in serving {
        let layouts = host.served.layouts.iter();
        let layouts =
            layouts.map(|one| MissingFiles { job: one.job.clone(), files: one.files, bytes: one.bytes }).collect();
        let opening = print::opening(&opening_of(&host.fio, layouts));
        // The host's line above already contains the version.
        let lines = opening.lines().filter(|line| *line != fio::VERSION);
        text += &lines.map(|line| format!("<{}> {line}\n", host.served.name)).collect::<String>();
    }
    text
}

impl Serving {
    fn place_name(&self) -> &str {
        &self.host.place.name
    }
}

/// Everything that the final report needs.
struct FinalReport<'a> {
    serving: &'a [Serving],
    outcome: &'a RunOutcome,
    began: Instant,
    starts: Vec<u64>,
}

impl FinalReport<'_> {
    /// Prints the final report and returns whether a job failed.
    fn print(&self, output: &mut Output) -> Step<bool> {
        let mut reports = Vec::new();
        let mut all = AllJobs::default();
        let mut failed = false;
        for (number, host) in self.serving.iter().enumerate() {
            let Some(evidence) = self.outcome.hosts.iter().find(|one| one.name == host.place_name()) else {
                failed = true;
                continue;
            };
            // A host that was lost may lack the last phases.
            let mut measurement = evidence.measurement.clone();
            measurement.error.clone_from(&self.outcome.measurement.error);
            measurement.interrupted = self.outcome.measurement.interrupted;
            let own = sources(&host.fio, &host.copies, Grouping::AsAsked);
            all.add(number, &own, &measurement);
            let report = print::report_of(self.heading(host), own, &measurement, Some(&evidence.observations));
            let report = report.map_err(Stopped::io)?;
            for job in report.jobs.iter().filter(|job| job.failures.error.is_some()) {
                failed = true;
                tell_failure(host.place_name(), job);
            }
            let TypedHost { hostname, port, .. } = host.host.typed.clone();
            reports.push(HostReport { hostname, port, name: host.served.name.clone(), report });
        }
        let entries: usize = reports.iter().map(|host| host.report.jobs.len()).sum();
        let together = match (entries, self.serving.first()) {
            (2.., Some(first)) => Some(all.report(self.heading(first)).map_err(Stopped::io)?),
            _ => None,
        };
        let text = clients(&reports, together.as_ref(), output.formats());
        output.write(&text)?;
        Ok(failed)
    }

    fn heading(&self, host: &Serving) -> Heading {
        let shows_disks = host.fio.jobs.iter().all(|job| job.statistics.disk_util);
        Heading {
            version: fio::VERSION.to_owned(),
            at: now(),
            global_options: print::given(&host.fio.globals),
            compat: host.fio.invocation.compat,
            disks: if shows_disks { DiskStats::Shown } else { DiskStats::Off },
            stage: Stage::Final,
            phase_starts_unix_ms: self.starts.clone(),
            elapsed_s: self.began.elapsed().as_secs() + 1,
            idleness: None,
        }
    }
}

fn tell_failure(host: &str, job: &JobReport) {
    if let Some(error) = &job.failures.error {
        complain(format!("{host}: {}: pid={}, err={}/{}", job.name, job.pid, error.code, error.text));
    }
}

/// All jobs of all hosts, combined.
#[derive(Default)]
struct AllJobs {
    source: Option<JobSource>,
    measurement: Measurement,
}

impl AllJobs {
    fn add(&mut self, host: usize, sources: &[JobSource], measurement: &Measurement) {
        // As in fio, the first job decides which numbers are shown.
        let mut all = self.source.take().or_else(|| {
            let first = sources.first()?;
            let job = JobReport {
                name: "All clients".to_owned(),
                display: first.job.display.clone(),
                io: first.job.io.clone(),
                latency_target: first.job.latency_target,
                ..JobReport::default()
            };
            Some(JobSource { job, members: Vec::new(), latencies: first.latencies, windows: first.windows })
        });
        if let Some(all) = &mut all {
            for source in sources {
                all.job.members += source.job.members;
                all.job.group = source.job.group;
                let named = source
                    .members
                    .iter()
                    .map(|member| JobMember { group: host_name(host, &member.group), ..member.clone() });
                all.members.extend(named);
            }
        }
        self.source = all;
        self.measurement.interrupted |= measurement.interrupted;
        self.measurement.error = self.measurement.error.take().or_else(|| measurement.error.clone());
        for (number, phase) in measurement.phases.iter().enumerate() {
            while self.measurement.phases.len() <= number {
                self.measurement.phases.push(PhaseMeasurement::default());
            }
            let workers = phase.workers.iter().cloned().map(|mut worker| {
                worker.name = host_name(host, &worker.name);
                // The combined entry has no process.
                worker.pid = None;
                worker
            });
            self.measurement.phases[number].workers.extend(workers);
        }
    }

    fn report(self, heading: Heading) -> Result<Report, print::BuildError> {
        let sources = self.source.into_iter().collect();
        let heading = Heading { global_options: Vec::new(), disks: DiskStats::Off, ..heading };
        print::report_of(heading, sources, &self.measurement, None)
    }
}

/// Names a group or a worker of one of the hosts.
fn host_name(host: usize, name: &str) -> String {
    format!("{host}:{name}")
}

/// Serves the jobs of clients until a signal arrives (`--server`).
pub(super) fn serve(invocation: &Invocation) -> Step<End> {
    let asked = invocation.hosts.server.as_deref().unwrap_or_default();
    let address = match asked {
        "" => format!("127.0.0.1:{PORT}"),
        asked => or_complain(typed_host(asked).map_err(|error| [format!("--server: {error}")]))?.address,
    };
    let list = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let allow: Vec<PathBuf> =
        list("PLUMB_AGENT_ALLOW").map(|paths| std::env::split_paths(&paths).collect()).unwrap_or_default();
    let arguments = plumb_cli::agent::AgentArguments {
        listen: Some(address),
        keys: list("PLUMB_AGENT_KEYS").map(PathBuf::from),
        allow,
        allow_exec: list("PLUMB_AGENT_ALLOW_EXEC").is_some_and(|value| value == "1"),
        pid_file: invocation.hosts.daemonize.as_ref().map(PathBuf::from),
        keyless: plumb_cli::agent::listen::Keyless::OnLoopback,
        ..plumb_cli::agent::AgentArguments::default()
    };
    plumb_cli::agent::serve_clients(&arguments, "fio").map_err(Cut::Stopped)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: host arguments resolve to the same address as in fio.
    #[test]
    fn host_arguments_match_fio() {
        let typed = |text: &str| typed_host(text).map(|host| (host.hostname, host.port, host.address));
        let is = |hostname: &str, port, address: &str| Ok((hostname.to_owned(), port, address.to_owned()));
        assert_eq!(typed("node1"), is("node1", 8765, "node1:8765"));
        assert_eq!(typed("ip:10.0.0.2,99"), is("10.0.0.2", 99, "10.0.0.2:99"));
        assert_eq!(typed("ip6:::1"), is("::1", 8765, "[::1]:8765"));
        assert_eq!(typed(",8766"), is("", 8766, "127.0.0.1:8766"));
        assert_eq!(typed(":8766"), is("", 8766, "127.0.0.1:8766"));
        assert!(typed("sock:/tmp/s").is_err() && typed("a,0").is_err() && typed("a,b").is_err());
    }
}
