//! `--hosts` with real elbencho services: prepares them, has them run each phase, prints and stores what they report.
//!
//! Plumb observes nothing on their hosts. The result is stored as an imported one: the numbers of another program.

mod client;
mod phase;
mod store;

pub(super) use client::{KindError, ServiceKind, kinds};

use super::led::{self, Facts, tree_text};
use super::outputs::{Outputs, date, uuid};
use super::service::{PathFound, ToAgent};
use super::{complain, or_complain, wait_for_start};
use client::{ServiceClient, ServiceError, words};
use jiff::Timestamp;
use phase::{PhaseEnd, PhaseOrder, PhaseSoFar};
use plumb_cli::exit::End;
use plumb_cli::hosts;
use plumb_cli::output::{self, error_line};
use plumb_cli::session;
use plumb_engine::signals::{Slept, StopFlag, StopSignal};
use plumb_text::bounded;
use plumb_tools_app::elbencho::lower::{self, Geometry, PathType, PhaseKind, TreeCounts, lower};
use plumb_tools_app::elbencho::print::live::{self, LiveMoment, LiveSide};
use plumb_tools_app::elbencho::print::{PhaseContext, dryrun, json, table};
use plumb_tools_app::elbencho::protocol::{self, RunStep, ServicePlace, ServicePrepared};
use plumb_tools_app::elbencho::{Action, ElbenchoSettings, Live, Rwmix, tree};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Step, page};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Timeout of a request that works: it opens, creates and allocates files, or waits for the end of I/O.
const WORK_PATIENCE: Duration = Duration::from_secs(3600);
/// Timeout of the last request to each service, which closes its files.
const RELEASE_PATIENCE: Duration = Duration::from_secs(5);
/// Interval between checks of the stop flag during requests.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// The services of a run, in the order of their ranks.
type SharedClients = Vec<Arc<ServiceClient>>;

/// Timeouts of the two kinds of requests.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// For requests that are answered at once.
    answer: Duration,
    /// For requests that wait for I/O.
    work: Duration,
}

/// Reason why the services cannot make one run together.
#[derive(Debug, thiserror::Error)]
enum GeometryError {
    #[error("no service is left")]
    NoService,
    #[error("{first} and {other} have different paths: {of_first}, and {of_other}; give --size, or other paths")]
    Different { first: String, other: String, of_first: String, of_other: String },
    #[error("{host} uses {used} paths of its own, and {given} are given; end the service and start it without paths")]
    OwnPaths { host: String, used: u64, given: usize },
    #[error(transparent)]
    Tree(#[from] tree::TreeFileError),
}

/// A run on real services.
struct RealRun<'a> {
    settings: ElbenchoSettings,
    clients: SharedClients,
    secret: String,
    /// Text of the tree file, if there is one.
    tree: Option<String>,
    patience: Patience,
    stop: StopFlag,
    command: &'a [String],
    /// All results as elbencho's JSON, to be stored.
    stored: String,
    failed: bool,
    time_is_over: bool,
}

/// Runs the command line on real services, and ends the tool.
pub(super) fn run<T>(call: &ToolCall<'_>, settings: &ElbenchoSettings, names: &[String]) -> Step<T> {
    if settings.placement.zones.is_some() || settings.placement.cores.is_some() {
        return or_complain(Err(
            "--zones, --cores: a real elbencho service binds its threads itself; give them to `elbencho --service`",
        ));
    }
    let settings = with_absolute_paths(settings)?;
    let tree = settings.tree.as_ref().map(|tree| tree_text(tree.file.as_deref(), tree.scan.as_deref())).transpose();
    let command: Vec<String> =
        std::iter::once(call.called).map(str::to_owned).chain(call.words.iter().cloned()).collect();
    let mut run = RealRun {
        secret: secret(&settings)?,
        settings,
        clients: names.iter().map(|name| Arc::new(ServiceClient::new(name))).collect(),
        tree: or_complain(tree)?,
        patience: Patience { answer: hosts::patience(), work: WORK_PATIENCE },
        stop: session::stop_flag()?,
        command: &command,
        stored: String::new(),
        failed: false,
        time_is_over: false,
    };
    for signal in [StopSignal::Interrupt, StopSignal::Terminate] {
        let failed = |error| plumb_cli::exit::Stopped::io(format!("cannot set up signal handling: {error}"));
        plumb_engine::signals::hear(signal).map_err(failed)?;
    }
    let ended = run.all();
    run.release();
    let is_stored = run.store(call, names);
    ended?;
    let end = match (run.failed || run.stop.requested(), is_stored) {
        (true, _) => End::DialectFailed,
        (false, false) => End::Io,
        (false, true) => End::Done,
    };
    Err(end.into())
}

/// Makes the paths absolute where the command is typed, as elbencho does.
fn with_absolute_paths(settings: &ElbenchoSettings) -> Step<ElbenchoSettings> {
    let mut settings = settings.clone();
    settings.paths = or_complain(led::absolute_paths(&settings))?;
    Ok(settings)
}

/// Returns the form of the secret that services compare; empty without `--svcpwfile`.
fn secret(settings: &ElbenchoSettings) -> Step<String> {
    let Some(path) = &settings.hosts.real.secret_file else { return Ok(String::new()) };
    let text = or_complain(
        bounded::read_to_string(path).map_err(|error| format!("--svcpwfile: cannot read {path}: {error}")),
    )?;
    match text.split('\n').next().unwrap_or_default() {
        "" => or_complain(Err(format!("--svcpwfile: the first line of {path} is empty; write the secret there"))),
        line => Ok(protocol::secret(line)),
    }
}

impl RealRun<'_> {
    /// Prepares the services and runs all phases.
    fn all(&mut self) -> Step<()> {
        let geometry = self.prepare()?;
        if self.settings.action == Action::DryRun {
            return self.dry_run(&geometry);
        }
        let mut outputs = or_complain(Outputs::open(&self.settings, &geometry))?;
        or_complain(wait_for_start(&self.settings, self.stop))?;
        for step in protocol::steps(&self.settings) {
            if self.stop.requested() {
                break;
            }
            match step {
                RunStep::Iteration(number) => {
                    let all = self.settings.schedule.iterations;
                    if all > 1 {
                        output::print(&format!("[Starting iteration {} of {all}...]\n", number + 1));
                    }
                    or_complain(outputs.head(&self.settings, self.command))?;
                    output::print(&table::head());
                }
                RunStep::Phase(kind) | RunStep::Between(kind) => self.phase(kind, &geometry, &mut outputs)?,
                RunStep::Next => self.next()?,
            }
            if self.failed || self.time_is_over {
                break;
            }
        }
        let reasons = [(self.time_is_over, "phase time limit"), (self.stop.requested(), "interrupt signal")];
        for (_, reason) in reasons.into_iter().filter(|(is, _)| *is) {
            output::print(&format!("Terminating due to {reason}.\n"));
        }
        Ok(())
    }

    /// Pauses between phases, and rotates the hosts, which then get their new ranks.
    fn next(&mut self) -> Step<()> {
        if self.stop.sleep(Duration::from_secs(self.settings.schedule.phase_delay_s)) == Slept::Cut {
            return Ok(());
        }
        let by = self.settings.hosts.rotate as usize % self.clients.len().max(1);
        if by > 0 {
            self.release();
            self.clients.rotate_left(by);
            self.prepare()?;
        }
        Ok(())
    }

    /// Sends the tree and the options to all services, and checks that they found the same.
    fn prepare(&self) -> Step<Geometry> {
        let services = self.clients.len() as u32;
        let bodies = (0..services).map(|number| protocol::options(&self.settings, ServicePlace { number, services }));
        let bodies: Vec<String> = or_complain(bodies.collect::<Result<_, _>>())?;
        let (secret, tree, patience) = (self.secret.clone(), self.tree.clone().map(Arc::new), self.patience);
        let answers = self.on_each(bodies, move |client, body| {
            if let Some(tree) = &tree {
                client.post(&protocol::tree_target(&secret), tree, patience.work)?;
            }
            let answer = client.post(&protocol::prepare_target(&secret), &body, patience.work)?;
            let prepared = ServicePrepared::parse(&answer)?;
            match prepared.errors.is_empty() {
                true => Ok(prepared),
                false => Err(ServiceError::Failed(words(&prepared.errors))),
            }
        })?;
        let mut all: Vec<(&str, ServicePrepared)> = Vec::new();
        for (client, answer) in self.clients.iter().zip(answers) {
            match answer {
                Ok(prepared) => all.push((&client.name, prepared)),
                Err(error) => complain(format!("{} {error}", client.name)),
            }
        }
        if all.len() < self.clients.len() {
            return Err(End::DialectFailed.into());
        }
        or_complain(self.geometry(&all))
    }

    /// Returns the geometry that all services found.
    fn geometry(&self, all: &[(&str, ServicePrepared)]) -> Result<Geometry, GeometryError> {
        let (first, one) = all.first().ok_or(GeometryError::NoService)?;
        let facts = |one: &ServicePrepared| {
            format!(
                "{} {} of {} bytes in blocks of {}",
                one.paths,
                one.path_type.name(),
                one.file_bytes,
                one.block_bytes
            )
        };
        if let Some((other, found)) = all.iter().find(|(_, found)| found != one) {
            let (first, other) = ((*first).to_owned(), (*other).to_owned());
            return Err(GeometryError::Different { first, other, of_first: facts(one), of_other: facts(found) });
        }
        if one.paths != self.settings.paths.len() as u64 {
            let (host, given) = ((*first).to_owned(), self.settings.paths.len());
            return Err(GeometryError::OwnPaths { host, used: one.paths, given });
        }
        let size = self.settings.dataset.size;
        if one.file_bytes != size {
            error_line!("NOTE: the services use a file size of {} bytes, not {size}.", one.file_bytes);
        }
        let order = &self.settings.order;
        if order.rand && one.random_bytes != order.rand_amount {
            let (found, given) = (one.random_bytes, order.rand_amount);
            error_line!("NOTE: the services read or write {found} bytes at random offsets, not {given}.");
        }
        Ok(Geometry {
            path_type: one.path_type,
            file_bytes: one.file_bytes,
            block_bytes: one.block_bytes,
            random_bytes: one.random_bytes,
            unaligned: order.rand_unaligned && order.rand && !self.settings.ops.direct,
            tree: self.tree_counts()?,
        })
    }

    fn tree_counts(&self) -> Result<Option<TreeCounts>, tree::TreeFileError> {
        let (Some(options), Some(text)) = (&self.settings.tree, &self.tree) else { return Ok(None) };
        let listing = tree::parse(options.file.as_deref().unwrap_or("--treescan"), text.as_bytes())?;
        let shares_from = protocol::shared_from(&self.settings);
        let rounded = |bytes: u64| bytes.checked_next_multiple_of(options.round_up.max(1)).unwrap_or(bytes);
        let shared = listing.files.iter().filter(|file| rounded(file.bytes) >= shares_from).count();
        Ok(Some(TreeCounts { dirs: listing.dirs.len(), alone: listing.files.len() - shared, shared }))
    }

    /// Prints how much each phase would do.
    fn dry_run(&self, geometry: &Geometry) -> Step<()> {
        let mut settings = self.settings.clone();
        settings.part.hosts = self.clients.len() as u32;
        let found = match geometry.path_type {
            PathType::Directory => PathFound::Directory,
            PathType::File => PathFound::File(geometry.file_bytes),
            PathType::Device => PathFound::Device(geometry.file_bytes),
        };
        let found = vec![found; settings.paths.len()];
        if let Some(tree) = &mut settings.tree {
            (tree.file, tree.scan) = (Some("--treefile".to_owned()), None);
        }
        (settings.placement.zones, settings.placement.cores) = (None, None);
        let mut facts = Facts { paths: &self.settings.paths, found: &found, tree: self.tree.as_deref() };
        let lowered = or_complain(lower(&settings, &mut facts))?;
        page(&dryrun::phases(&lowered, &settings))
    }

    /// Runs one phase, and prints its results.
    fn phase(&mut self, kind: PhaseKind, geometry: &Geometry, outputs: &mut Outputs) -> Step<()> {
        let is_between = matches!(kind, PhaseKind::Sync | PhaseKind::DropCache);
        let limit_s = self.settings.schedule.time_limit_s;
        let seen = PhaseContext { date: date(Timestamp::now()), id: uuid(), ..PhaseContext::default() };
        let name = match is_between {
            true => kind.name().to_owned(),
            false => lower::phase_name(&self.settings, geometry, kind),
        };
        let order = PhaseOrder {
            kind,
            id: &seen.id,
            threads: self.settings.threads.into(),
            limit: (limit_s > 0 && !is_between).then(|| Duration::from_secs(limit_s)),
            poll_ms: self.settings.hosts.real.poll_ms.min(self.settings.output.live_interval_ms / 2),
        };
        let clients = self.clients.clone();
        let mut progress = LiveProgress::new(&self.settings, kind, &name);
        let ended = phase::run(&clients, &order, (self.stop, self.patience), &mut |so_far| progress.show(so_far));
        progress.clear();
        let PhaseEnd { results, first, errors, time_is_over } = ended;
        self.time_is_over |= time_is_over;
        self.failed |= !errors.is_empty();
        errors.iter().for_each(complain);
        if self.failed {
            return Ok(());
        }
        match protocol::report(kind, &name, seen, &results, first.as_deref()) {
            Some(report) => {
                output::print(&table::phase(&report, &self.settings, geometry));
                self.stored.push_str(&json::line(&report, &self.settings, geometry, self.command));
                or_complain(outputs.phase(&report, &self.settings, geometry, self.command))
            }
            None => {
                error_line!("NOTE: {name}: no service had work, so that there are no results.");
                Ok(())
            }
        }
    }

    /// Interrupts all services, which closes their files. A service that is lost was named before.
    fn release(&self) {
        let orders = self.clients.iter().map(|_| ()).collect();
        let _ = on_each(&self.clients, orders, None, |client, ()| client.get(protocol::INTERRUPT, RELEASE_PATIENCE));
    }

    fn on_each<A: Send + 'static, T: Send + 'static>(
        &self,
        orders: Vec<A>,
        ask: impl Fn(&ServiceClient, A) -> Result<T, ServiceError> + Send + Sync + 'static,
    ) -> Step<Vec<Result<T, ServiceError>>> {
        match on_each(&self.clients, orders, Some(self.stop), ask) {
            Some(answers) => Ok(answers),
            None => {
                output::print("Terminating due to interrupt signal.\n");
                Err(End::DialectFailed.into())
            }
        }
    }
}

/// Sends a request to each service at the same time. Returns `None` if a signal comes first; the requests then go on
/// without anyone who waits for them.
fn on_each<A: Send + 'static, T: Send + 'static>(
    clients: &[Arc<ServiceClient>],
    orders: Vec<A>,
    stop: Option<StopFlag>,
    ask: impl Fn(&ServiceClient, A) -> Result<T, ServiceError> + Send + Sync + 'static,
) -> Option<Vec<Result<T, ServiceError>>> {
    let ask = Arc::new(ask);
    let (answered, answers) = channel();
    for (number, (client, order)) in clients.iter().zip(orders).enumerate() {
        let (client, ask, answered) = (client.clone(), ask.clone(), answered.clone());
        std::thread::spawn(move || answered.send((number, ask(&client, order))));
    }
    drop(answered);
    let mut all: Vec<Option<Result<T, ServiceError>>> = clients.iter().map(|_| None).collect();
    loop {
        match answers.recv_timeout(STOP_CHECK) {
            Ok((number, answer)) => all[number] = Some(answer),
            Err(RecvTimeoutError::Timeout) if stop.is_some_and(StopFlag::requested) => return None,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let panicked = || Err(ServiceError::Failed("the thread that asks it panicked".to_owned()));
    Some(all.into_iter().map(|answer| answer.unwrap_or_else(panicked)).collect())
}

/// Sends `--interrupt` or `--quit` to real services. Returns `true` if all obeyed.
pub(super) fn send(names: &[String], asked: ToAgent) -> bool {
    let clients: SharedClients = names.iter().map(|name| Arc::new(ServiceClient::new(name))).collect();
    let target = match asked {
        ToAgent::InterruptOthers => protocol::INTERRUPT,
        ToAgent::End => protocol::QUIT,
    };
    let orders = clients.iter().map(|_| ()).collect();
    let answers = on_each(&clients, orders, None, move |client, ()| client.get(target, WORK_PATIENCE));
    let mut all_obeyed = true;
    for (client, answer) in clients.iter().zip(answers.unwrap_or_default()) {
        match answer {
            Ok(_) => output::print(&format!("{}: OK\n", client.name)),
            Err(error) => {
                all_obeyed = false;
                complain(format!("{} {error}", client.name));
            }
        }
    }
    all_obeyed
}

/// The progress line of a phase.
struct LiveProgress<'a> {
    settings: &'a ElbenchoSettings,
    name: &'a str,
    mixes: bool,
    shown: Live,
    last: (Instant, LiveSide, LiveSide),
    /// Width of the current line, in characters.
    width: usize,
}

impl<'a> LiveProgress<'a> {
    fn new(settings: &'a ElbenchoSettings, kind: PhaseKind, name: &'a str) -> LiveProgress<'a> {
        let shown = match settings.output.live {
            Live::Auto if std::io::stderr().is_terminal() => Live::OneLine,
            Live::Auto => Live::Off,
            chosen => chosen,
        };
        let mixes = kind == PhaseKind::Write && settings.mix.rwmix != Rwmix::None;
        let last = (Instant::now(), LiveSide::default(), LiveSide::default());
        LiveProgress { settings, name, mixes, shown, last, width: 0 }
    }

    /// Shows the progress, if the interval between updates is over.
    fn show(&mut self, so_far: &PhaseSoFar) {
        let since = self.last.0.elapsed();
        if self.shown == Live::Off || since < Duration::from_millis(self.settings.output.live_interval_ms) {
            return;
        }
        let us = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        let side = |done, before: LiveSide| LiveSide { done, rates: before.rates_until(done, us), ..before };
        let (total, mixed) = (side(so_far.done, self.last.1), side(so_far.mixed, self.last.2));
        self.last = (Instant::now(), total, mixed);
        let moment = LiveMoment {
            phase: self.name.to_owned(),
            runtime_ms: u64::try_from(so_far.elapsed.as_millis()).unwrap_or(u64::MAX),
            total,
            mixed: self.mixes.then_some(mixed),
            active: so_far.active,
            cpu: so_far.cpu,
            ..LiveMoment::default()
        };
        let line = live::services_line(&moment);
        if self.shown == Live::Lines {
            error_line!("{line}");
        } else {
            output::redraw("\r", &format!("{line:width$}", width = self.width), "");
            self.width = line.chars().count();
        }
    }

    fn clear(&mut self) {
        if self.width > 0 {
            output::redraw("\r", &format!("{:width$}", "", width = self.width), "\r");
            self.width = 0;
        }
    }
}
