//! One of several hosts that measure together, for a client at the other end of standard input and output.

use super::builder;
use crate::args::FarEndArguments;
use crate::commands::tool::{
    ELBENCHO_ASKED, ELBENCHO_LOOKS_NS, ElbenchoService, FIO_ASKED, FIO_PULLED, FioService, ToAgent, fio_pulled,
};
use plumb_bench::{AgentPolicy, Follower, JoinedRanks, Progress, follow};
use plumb_cli::agent::listen::{END_AGENT, INTERRUPT_OTHERS};
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::error_line;
use plumb_cli::session;
use plumb_cli::slurm::dialed;
use plumb_cluster::star::{Greeting, Link, Star, build_session, http_answer, read_line, refusal};
use plumb_cluster::{ClusterError, JoinError, Joined};
use plumb_engine::guard::Permissions;
use plumb_engine::guard::space::WhenFull;
use plumb_engine::signals::StopFlag;
use plumb_engine::{LoggedOp, PhaseNow};
use plumb_result::PhaseMeasurement;
use plumb_text::bounded::{INPUT_BYTES_MAX, line_at_most};
use plumb_tls::Invitation;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) const GREETING_PATIENCE: Duration = Duration::from_secs(5);

/// Time from an agent's connection to its greeting, in which all other nodes start theirs.
const DIALED_PATIENCE: Duration = Duration::from_secs(120);

/// Serves every run that the client requests. Fails without a greeting from a Plumb of this version.
pub(crate) fn run(arguments: &FarEndArguments) -> Result<End, Stopped> {
    let greeted = if arguments.dial { Some(greeted_by_slurm()?) } else { greeted_by_pipes()? };
    // A connection that closes without a greeting is only a port check.
    let (greeting, mut link) = match greeted {
        None => return Ok(End::Done),
        Some(Client::Builds(link)) => return builder::run(arguments, link),
        Some(Client::Measures(greeting, link)) => (greeting, link),
    };
    let mut bench = session::bench_of_rank()?;
    bench.partners.policy = Some(policy(arguments)?);
    bench.engine.permissions = Permissions::none();
    link.writer.write_all(greeting.accept().as_bytes()).map_err(no_link)?;
    let star = Star::follow(link, &greeting, "agents").map_err(Stopped::io)?;
    let joined = Joined { cluster: Arc::new(star), mpi: None, host: Some(greeting.name) };
    let ranks = JoinedRanks::meet(joined).map_err(Stopped::io)?;
    let mut client = ClientState {
        policy: bench.partners.policy.clone(),
        obeys: arguments.obeys,
        fio: None,
        elbencho: None,
        to_agent: None,
    };
    let code = match follow(&mut bench, &ranks, &mut client) {
        Ok(_) => match client.to_agent {
            None => End::Done,
            Some(ToAgent::InterruptOthers) => End::DialectCode(INTERRUPT_OTHERS),
            Some(ToAgent::End) => End::DialectCode(END_AGENT),
        },
        Err(ClusterError::Silent { .. }) => {
            error_line!("plumb agent: the client is gone");
            End::Io
        }
        Err(error) => {
            error_line!("plumb agent: {error}");
            End::Io
        }
    };
    ranks.dismiss(code.number());
    Ok(code)
}

fn no_link(error: io::Error) -> Stopped {
    Stopped::io(format!("the connection to the client: {error}"))
}

/// A client that has sent its first line.
enum Client {
    /// Leads runs that this process takes part in.
    Measures(Greeting, Link),
    /// Builds systems on this host.
    Builds(Link),
}

/// Reads the greeting of the client at standard input and output. Returns `None` if it closes without one.
fn greeted_by_pipes() -> Result<Option<Client>, Stopped> {
    let failed = |error: io::Error| Stopped::io(format!("standard input and output: {error}"));
    let own = |stream: io::Result<std::os::fd::OwnedFd>| stream.map(File::from).map_err(failed);
    let input = own(io::stdin().as_fd().try_clone_to_owned())?;
    let mut output = own(io::stdout().as_fd().try_clone_to_owned())?;
    // Keeps stray prints out of the message stream.
    let nothing = File::open("/dev/null").map_err(failed)?;
    rustix::stdio::dup2_stdin(&nothing).map_err(|error| failed(error.into()))?;
    rustix::stdio::dup2_stdout(io::stderr()).map_err(|error| failed(error.into()))?;

    let mut greeter = DeadlineReader { file: &input, until: Instant::now() + GREETING_PATIENCE };
    let line = read_line(&mut greeter);
    if line.as_ref().is_ok_and(|line| build_session::is_request(line)) {
        if let Err(error) = line.and_then(|line| build_session::read_request(&line)) {
            let message = format!("the client {error}");
            let _ = output.write_all(build_session::answer(Some(&message)).as_bytes());
            return Err(Stopped::usage(message));
        }
        return Ok(Some(Client::Builds(Link { reader: Box::new(input), writer: Box::new(output) })));
    }
    let greeting = line.and_then(|line| Greeting::read(&line));
    match greeting {
        Ok(greeting) => {
            Ok(Some(Client::Measures(greeting, Link { reader: Box::new(input), writer: Box::new(output) })))
        }
        Err(JoinError::Closed) => Ok(None),
        Err(error) => {
            let message = format!("the client {error}");
            let refusal = match error {
                JoinError::Http { start } => http_answer(&message, &start, &mut greeter),
                _ => refusal(&message),
            };
            let _ = output.write_all(refusal.as_bytes());
            Err(Stopped::usage(message))
        }
    }
}

/// Connects to the coordinator whose invitation `srun` passes on, and reads its greeting.
fn greeted_by_slurm() -> Result<Client, Stopped> {
    let Some(node) = plumb_cluster::slurm::own_node() else {
        return Err(Stopped::usage("--dial is for tasks of Slurm, and SLURMD_NODENAME is not set"));
    };
    let line = line_at_most(&mut io::stdin().lock(), INPUT_BYTES_MAX).map_err(no_link)?.unwrap_or_default();
    let invitation = std::str::from_utf8(&line).ok().and_then(Invitation::parse);
    let invitation = invitation.ok_or_else(|| Stopped::usage("standard input holds no invitation"))?;
    let mut channel = dialed(&invitation, &node)?;
    channel.set_deadline(Some(Instant::now() + DIALED_PATIENCE));
    let greeting = read_line(&mut channel).and_then(|line| Greeting::read(&line));
    let greeting = greeting.map_err(|error| Stopped::io(format!("the coordinator {error}")))?;
    channel.set_deadline(None);
    Ok(Client::Measures(greeting, Link { reader: Box::new(channel.clone()), writer: Box::new(channel) }))
}

/// State for one client: its requests, and the services that follow its runs.
struct ClientState {
    policy: Option<AgentPolicy>,
    /// Whether the client may stop the agent.
    obeys: bool,
    fio: Option<FioService>,
    elbencho: Option<ElbenchoService>,
    to_agent: Option<ToAgent>,
}

impl Follower for ClientState {
    fn other(&mut self, words: &str, ranks: &JoinedRanks, stop: StopFlag) -> Result<(), ClusterError> {
        let Some(policy) = &self.policy else { return Err(RUNS_ONLY) };
        let answer = if let Some(asked) = words.strip_prefix(FIO_ASKED) {
            let (service, answer) = FioService::accept(asked, policy);
            self.fio = service;
            answer
        } else if let Some(command) = words.strip_prefix(FIO_PULLED) {
            fio_pulled(command, policy)
        } else if let Some(asked) = words.strip_prefix(ELBENCHO_ASKED) {
            let (service, answer) = ElbenchoService::accept(asked, policy);
            self.elbencho = service;
            answer
        } else if let Some(asked) = ToAgent::parse(words) {
            self.to_agent = Some(asked).filter(|_| self.obeys);
            let refused =
                "this agent was not started as a service of elbencho's: its clients cannot interrupt or end it";
            if self.obeys { Vec::new() } else { refused.into() }
        } else {
            return Err(RUNS_ONLY);
        };
        ranks.gather(stop, answer).map(drop)
    }
}

impl Progress for ClientState {
    fn phase_begins(&mut self, _phase: &str) {
        self.elbencho.iter_mut().for_each(ElbenchoService::phase_begins);
    }

    fn clock_starts(&mut self, _phase: &str) {
        self.fio.iter_mut().for_each(FioService::clock_starts);
        self.elbencho.iter_mut().for_each(ElbenchoService::clock_starts);
    }

    fn tick_ns(&self) -> Option<u64> {
        self.elbencho.as_ref().map(|_| ELBENCHO_LOOKS_NS)
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        self.elbencho.iter_mut().for_each(|service| service.tick(now));
    }

    fn op_log(&mut self, _phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        self.fio.iter_mut().for_each(|service| service.op_log(worker, ops));
        self.elbencho.iter_mut().for_each(|service| service.op_log(worker, ops));
    }

    fn report_phase(&mut self, measured: &PhaseMeasurement) -> String {
        match (&mut self.fio, &mut self.elbencho) {
            (Some(fio), _) => fio.report_phase(),
            (None, Some(elbencho)) => elbencho.report_phase(measured),
            (None, None) => String::new(),
        }
    }
}

/// Ranks of agents accept runs only; other work needs ranks that one launcher started.
const RUNS_ONLY: ClusterError = ClusterError::Unexpected { rank: 0, what: "work that agents do not take part in" };

/// Returns the paths and permissions that clients get.
fn policy(arguments: &FarEndArguments) -> Result<AgentPolicy, Stopped> {
    let allow = plumb_cli::agent::allowed(&arguments.allow)?;
    let mut permissions = session::permissions(&crate::args::Common::of_environment())?;
    permissions.when_full = WhenFull::Refused;
    Ok(AgentPolicy { allow, may_exec: arguments.allow_exec, permissions })
}

/// Reads from a file until a deadline.
struct DeadlineReader<'a> {
    file: &'a File,
    until: Instant,
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| io::ErrorKind::TimedOut)?;
        match poll(&mut [PollFd::new(self.file, PollFlags::IN)], Some(&left)) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::TimedOut, "does not greet")),
            Ok(_) => self.file.read(into),
            Err(error) => Err(error.into()),
        }
    }
}
