//! Other hosts, whose agents make the runs of this command: their addresses, and connections to them.

use crate::agent::listen::PURPOSE;
use crate::agent::{self, PORT, local};
use crate::exit::Stopped;
use crate::k8s::{self, K8S};
use crate::ranks;
use crate::session;
use crate::slurm::{self, SLURM};
use clap::Args;
use plumb_bench::JoinedRanks;
use plumb_cluster::k8s::ReadyPod;
use plumb_cluster::star::{self, Greeting, Link, PATIENCE, Protocols, RANKS_MAX, Star};
use plumb_cluster::{JoinError, Joined};
use plumb_lab::FarProgram;
use plumb_tls::{Channel, ChannelError, Trust};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Timeout for connecting to a host.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// Least timeout for an agent's first answer, which includes starting a process.
const ANSWER_PATIENCE: Duration = Duration::from_secs(15);
/// Number of attempts to connect with keys.
const CONNECT_TRIES: u32 = 4;
const CONNECT_AGAIN: Duration = Duration::from_millis(100);
/// Environment variable that replaces [`PATIENCE`], in seconds.
const SETTING: &str = "PLUMB_HOSTS_PATIENCE";

/// Prefixes of addresses that are not `HOST:PORT`.
const PREFIXES: [&str; 4] = ["ssh:", SLURM, K8S, local::UNIX];

/// Hosts that make the runs of a command.
#[derive(Debug, Clone, Default, Args)]
pub struct HostsArguments {
    /// Make the runs on these hosts at once, and none here: HOST or HOST:PORT where `plumb agent --listen` runs, or ssh:HOST, which
    /// needs nothing there. `local` or unix:PATH is an agent of yours on this host, `slurm:` all nodes of the Slurm job, and
    /// `k8s:app=plumb-agent` the ready pods with this label. Paths are those of the hosts.
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// Hosts from a file, one per line.
    #[arg(long, value_name = "FILE")]
    pub hosts_file: Option<PathBuf>,
    /// Keys for agents that were started with --keys: the client.keys that `plumb agent --init` made.
    #[arg(long, value_name = "FILE", env = "PLUMB_HOSTS_KEYS", hide_env_values = true)]
    pub hosts_keys: Option<PathBuf>,
}

impl HostsArguments {
    /// Returns `true` if other hosts make the runs.
    pub fn are_given(&self) -> bool {
        !self.hosts.is_empty() || self.hosts_file.is_some()
    }

    /// Connects to the hosts, if there are any. They then make every run of this process.
    ///
    /// # Errors
    /// A host cannot be reached, or is named twice.
    pub fn join(&self) -> Result<(), Stopped> {
        match self.named()?.as_slice() {
            [] => Ok(()),
            hosts => join(&places(hosts), self.hosts_keys.as_deref()),
        }
    }

    /// Returns the hosts from the command line and the file, or an empty list if neither is given.
    ///
    /// # Errors
    /// The file cannot be read, or names no host.
    pub fn named(&self) -> Result<Vec<String>, Stopped> {
        let mut hosts = with_whole_lists(&self.hosts);
        if let Some(path) = &self.hosts_file {
            hosts.extend(listed(path)?);
        }
        hosts.iter_mut().for_each(make_absolute);
        match hosts.is_empty() && self.are_given() {
            true => Err(Stopped::usage("no host is named in --hosts or --hosts-file")),
            false => Ok(hosts),
        }
    }
}

/// Joins the parts of a list of nodes such as `slurm:n[1,3]`, and of a selector such as `k8s:app=a,tier=b`, which the comma has split.
fn with_whole_lists(hosts: &[String]) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for host in hosts {
        match whole.last_mut() {
            Some(last) if continues(last, host) => {
                last.push(',');
                last.push_str(host);
            }
            _ => whole.push(host.clone()),
        }
    }
    whole
}

/// Returns `true` if the text before a comma and the part after it are one host. No name of a host has the operators of a selector.
fn continues(before: &str, part: &str) -> bool {
    let is_open = |open, close| before.matches(open).count() > before.matches(close).count();
    let is_requirement =
        part.contains('=') || part.trim_start().starts_with('!') || part.contains(" in ") || part.contains(" notin ");
    let has_prefix = PREFIXES.iter().any(|prefix| part.starts_with(prefix));
    before.starts_with(SLURM) && is_open('[', ']')
        || before.starts_with(K8S) && (is_open('(', ')') || is_requirement && !has_prefix)
}

/// Makes a socket path absolute, because a study starts its runs in another directory.
fn make_absolute(host: &mut String) {
    let path = host.strip_prefix(local::UNIX).filter(|path| !path.is_empty());
    if let Some(path) = path.and_then(|path| std::path::absolute(path).ok()) {
        *host = format!("{}{}", local::UNIX, path.display());
    }
}

/// A host and its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlace {
    /// Name as typed, and as results have it.
    pub name: String,
    /// HOST:PORT, `ssh:` with ssh's argument, `local`, `unix:` with a path, `slurm:` with nodes of the job, or `k8s:` with a selector
    /// of pods.
    pub address: String,
}

impl HostPlace {
    /// Returns the node of the Slurm job that this host is.
    fn node(&self) -> Option<&str> {
        self.address.strip_prefix(SLURM)
    }
}

/// Parses hosts as `--hosts` has them.
pub fn places(hosts: &[String]) -> Vec<HostPlace> {
    hosts.iter().map(|host| HostPlace { name: host.clone(), address: with_port(host) }).collect()
}

fn with_port(host: &str) -> String {
    match host.rsplit_once(':') {
        _ if host == local::LOCAL || PREFIXES.iter().any(|prefix| host.starts_with(prefix)) => host.to_owned(),
        Some((_, port))
            if port.parse::<u16>().is_ok()
                && (host.starts_with('[') || !host[..host.len() - port.len() - 1].contains(':')) =>
        {
            host.to_owned()
        }
        _ if host.contains(':') && !host.starts_with('[') => format!("[{host}]:{PORT}"),
        _ => format!("{host}:{PORT}"),
    }
}

thread_local! {
    /// This host's address on each connection, in the order of the hosts.
    static OWN: RefCell<Vec<Option<IpAddr>>> = const { RefCell::new(Vec::new()) };
}

/// Returns this host's address on its connection to each host; `None` for connections by ssh.
pub fn own_addresses() -> Vec<Option<IpAddr>> {
    OWN.with(|own| own.borrow().clone())
}

/// Reads a file of hosts, one per line, with `#` comments.
///
/// # Errors
/// The file cannot be read.
pub fn listed(path: &Path) -> Result<Vec<String>, Stopped> {
    let text = plumb_text::bounded::read_to_string(path)
        .map_err(|error| Stopped::io(format!("{}: {error}", path.display())))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Connects to hosts. They then make every run of this process.
///
/// # Errors
/// A host cannot be reached, or is named twice.
pub fn join(hosts: &[HostPlace], keys: Option<&Path>) -> Result<(), Stopped> {
    ranks::lead(reached(hosts, keys)?);
    Ok(())
}

/// Connects to hosts.
///
/// # Errors
/// A host cannot be reached, or is named twice.
pub fn reached(hosts: &[HostPlace], keys: Option<&Path>) -> Result<JoinedRanks, Stopped> {
    if ranks::joined().is_some() {
        return Err(Stopped::usage(
            "hosts are named, and this process was started as one of several by MPI or srun: use one of them",
        ));
    }
    let hosts = expanded(hosts)?;
    check_names(&hosts)?;
    let trust = keys.map(Trust::load).transpose().map_err(Stopped::usage)?;
    let nodes: Vec<String> = hosts.iter().filter_map(HostPlace::node).map(str::to_owned).collect();
    let mut agents = if nodes.is_empty() { BTreeMap::new() } else { slurm::start_agents(&nodes)? };
    let started: Vec<Option<Link>> = hosts.iter().map(|host| agents.remove(host.node()?)).collect();
    let patience = patience();
    let greeting = |number: usize| Greeting {
        protocols: Protocols::OWN,
        rank: number as u32 + 1,
        size: hosts.len() as u32 + 1,
        patience,
        name: hosts[number].name.clone(),
    };
    // Connects to all hosts in parallel, so that silent ones cost the timeout only once.
    let links: Vec<Result<Reached, Stopped>> = std::thread::scope(|scope| {
        let begun: Vec<_> = (0..)
            .zip(&hosts)
            .zip(started)
            .map(|((number, host), link)| {
                let (greeting, trust) = (greeting(number), trust.as_ref());
                scope.spawn(move || reach(host, link, trust, &greeting))
            })
            .collect();
        let lost = || Err(Stopped::io("a thread that connects to a host panicked"));
        begun.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
    });
    let reached = links.into_iter().collect::<Result<Vec<Reached>, Stopped>>()?;
    OWN.with(|own| *own.borrow_mut() = reached.iter().map(|reached| reached.own_address).collect());
    let links = reached.into_iter().map(|reached| reached.link).collect();
    let star = Star::lead(links, patience, "agents").map_err(Stopped::io)?;
    let joined = Joined { cluster: Arc::new(star), mpi: None, host: None };
    JoinedRanks::meet(joined).map_err(Stopped::io)
}

/// Replaces `slurm:` by the nodes and `k8s:` by the pods that it means, each with its own name and address.
fn expanded(hosts: &[HostPlace]) -> Result<Vec<HostPlace>, Stopped> {
    let mut all = Vec::new();
    for host in hosts {
        if let Some(choice) = host.address.strip_prefix(SLURM) {
            let nodes = plumb_cluster::slurm::nodes(choice).map_err(Stopped::usage)?;
            all.extend(nodes.into_iter().map(|node| HostPlace { address: format!("{SLURM}{node}"), name: node }));
        } else if let Some(choice) = host.address.strip_prefix(K8S) {
            let place = |pod: ReadyPod| HostPlace { address: pod.address.to_string(), name: pod.name };
            all.extend(k8s::pods(choice)?.into_iter().map(place));
        } else {
            all.push(host.clone());
        }
    }
    Ok(all)
}

/// Fails if there are too many hosts, or one has no name or that of another.
fn check_names(hosts: &[HostPlace]) -> Result<(), Stopped> {
    if hosts.len() as u64 >= u64::from(RANKS_MAX) {
        return Err(Stopped::usage(format!(
            "{} hosts are more than one command leads ({})",
            hosts.len(),
            RANKS_MAX - 1
        )));
    }
    let names: Vec<&String> = hosts.iter().map(|host| &host.name).collect();
    for (place, &host) in names.iter().enumerate() {
        if host.is_empty() || host.len() > 255 || host.contains(char::is_whitespace) {
            return Err(Stopped::usage(format!("`{host}` is not a host")));
        }
        if names[..place].contains(&host) {
            return Err(Stopped::usage(format!("host {host} is named twice")));
        }
    }
    Ok(())
}

/// Returns `true` if something listens at the address of a host.
pub fn answers(place: &HostPlace) -> bool {
    if let Ok(Some(path)) = local::socket_of(&place.address) {
        return UnixStream::connect(path).is_ok();
    }
    let addresses = agent::addresses(&place.address, PORT).unwrap_or_default();
    addresses.first().is_some_and(|address| TcpStream::connect_timeout(address, CONNECT_PATIENCE).is_ok())
}

/// Returns the time after which a silent host is given up.
pub fn patience() -> Duration {
    let configured = std::env::var(SETTING).ok().and_then(|text| text.trim().parse::<u32>().ok());
    configured.filter(|&seconds| seconds > 0).map_or(PATIENCE, |seconds| Duration::from_secs(seconds.into()))
}

/// Returns the timeout for an agent's first answer. A patient user waits as long for a slow start as for a silent host.
fn answer_patience() -> Duration {
    patience().max(ANSWER_PATIENCE)
}

/// Connects to a host whose agent has not been started, and waits for its agent's answer.
fn reach(
    place: &HostPlace,
    started: Option<Link>,
    trust: Option<&Trust>,
    greeting: &Greeting,
) -> Result<Reached, Stopped> {
    let host = &place.name;
    let failed = |why: &dyn std::fmt::Display| Stopped::io(format!("host {host}: {why}"));
    let mut reached = match (started, place.address.strip_prefix("ssh:")) {
        (Some(link), _) => Reached { link, own_address: None, socket: None },
        (None, Some(to)) => Reached { link: over_ssh(to)?, own_address: None, socket: None },
        (None, None) => connect(&place.address, trust).map_err(|error| failed(&error))?,
    };
    star::greet(&mut reached.link, greeting).map_err(|error| match error {
        JoinError::Refused(_)
        | JoinError::Version { .. }
        | JoinError::Fio { .. }
        | JoinError::Http { .. }
        | JoinError::Silent => Stopped::usage(format!("host {host}: the agent {error}")),
        error => failed(&format!("the agent {error}")),
    })?;
    Ok(reached)
}

/// A connection to a host whose agent has answered.
pub(crate) struct Reached {
    pub link: Link,
    own_address: Option<IpAddr>,
    /// Another descriptor of the socket; `None` for pipes.
    pub socket: Option<OwnedFd>,
}

/// Connects to a listening agent.
pub(crate) fn connect(address: &str, trust: Option<&Trust>) -> Result<Reached, ReachError> {
    let socket = local::socket_of(address).map_err(|stopped| ReachError::Address(stopped.message))?;
    match socket {
        Some(path) => over_socket(&path),
        None => over_tcp(address, trust),
    }
}

fn again(socket: impl AsFd) -> Option<OwnedFd> {
    socket.as_fd().try_clone_to_owned().ok()
}

/// Reason why a host cannot be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    /// The address is invalid or unknown.
    #[error("{0}")]
    Address(String),
    /// Nothing listens there.
    #[error("{0}; is `plumb agent --listen` running there?")]
    Connect(io::Error),
    /// Nothing listens on this loopback port. Agents without keys listen on a Unix socket instead.
    #[error("{0}; is `plumb agent --listen` running there? An agent without keys is reached by `--hosts local`")]
    NotOnLoopback(io::Error),
    /// Connecting to a Unix socket failed.
    #[error("{}: {error}; is `plumb agent --listen` running?", path.display())]
    Socket { path: PathBuf, error: io::Error },
    /// Another user listens on the Unix socket.
    #[error("{}: another user listens there", path.display())]
    OtherUser { path: PathBuf },
    /// The agent closed the connection on every attempt.
    #[error("{0}, {CONNECT_TRIES} times; others may be opening too many connections to it")]
    Displaced(ChannelError),
    /// The keys do not match.
    #[error("{0}")]
    Channel(#[from] ChannelError),
}

fn over_tcp(address: &str, trust: Option<&Trust>) -> Result<Reached, ReachError> {
    let addresses = agent::addresses(address, PORT).map_err(|stopped| ReachError::Address(stopped.message))?;
    let address = addresses.first().ok_or_else(|| ReachError::Address("it has no address".to_owned()))?;
    if let Some(trust) = trust {
        return secured(*address, trust);
    }
    let stream = connected(*address).map_err(|error| match address.ip().is_loopback() {
        true => ReachError::NotOnLoopback(error),
        false => ReachError::Connect(error),
    })?;
    let own_address = stream.local_addr().ok().map(|own| own.ip());
    // Limits the first answer only. After that, heartbeats detect a dead agent.
    let _ = stream.set_read_timeout(Some(answer_patience()));
    let reader = stream.try_clone().map_err(ReachError::Connect)?;
    let socket = again(&stream);
    let link = Link { reader: Box::new(FirstReadTimeout(reader)), writer: Box::new(stream) };
    Ok(Reached { link, own_address, socket })
}

fn connected(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, CONNECT_PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(None)?;
    Ok(stream)
}

/// Connects with keys. Retries, because an agent with too many unauthenticated connections closes the oldest of them.
fn secured(address: SocketAddr, trust: &Trust) -> Result<Reached, ReachError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let stream = connected(address).map_err(ReachError::Connect)?;
        let own_address = stream.local_addr().ok().map(|own| own.ip());
        match Channel::connect(stream, trust, PURPOSE) {
            Ok(channel) => {
                let socket = again(channel.socket());
                let link = Link { reader: Box::new(channel.clone()), writer: Box::new(channel) };
                return Ok(Reached { link, own_address, socket });
            }
            // A refused token closes the connection as well, after the client has sent it.
            Err(ChannelError::Closed | ChannelError::Refused) if tries < CONNECT_TRIES => {
                std::thread::sleep(CONNECT_AGAIN * tries);
            }
            Err(error @ ChannelError::Closed) => return Err(ReachError::Displaced(error)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Connects to a Unix socket. Refuses a server that does not run as this user or root.
fn over_socket(path: &Path) -> Result<Reached, ReachError> {
    let failed = |error| ReachError::Socket { path: path.to_owned(), error };
    let stream = UnixStream::connect(path).map_err(failed)?;
    if !local::is_own(&stream) {
        return Err(ReachError::OtherUser { path: path.to_owned() });
    }
    let _ = stream.set_read_timeout(Some(answer_patience()));
    let reader = stream.try_clone().map_err(failed)?;
    let socket = again(&stream);
    let link = Link { reader: Box::new(FirstReadTimeout(reader)), writer: Box::new(stream) };
    Ok(Reached { link, own_address: None, socket })
}

/// A socket that drops its read timeout after the first read, when heartbeats take over.
struct FirstReadTimeout<S>(S);

impl<S: SilentRead> io::Read for FirstReadTimeout<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = io::Read::read(&mut self.0, into)?;
        self.0.block_without_timeout();
        Ok(count)
    }
}

/// Removes the read timeout of TCP and Unix sockets.
trait SilentRead: io::Read {
    /// Makes later reads block without a timeout.
    fn block_without_timeout(&self);
}

impl SilentRead for TcpStream {
    fn block_without_timeout(&self) {
        let _ = self.set_read_timeout(None);
    }
}

impl SilentRead for UnixStream {
    fn block_without_timeout(&self) {
        let _ = self.set_read_timeout(None);
    }
}

/// Copies this program to a host and starts it there, with the user's own ssh.
fn over_ssh(to: &str) -> Result<Link, Stopped> {
    let program = std::env::current_exe()
        .map_err(|error| Stopped::io(format!("cannot find this program's own file: {error}")))?;
    let FarProgram { reader, writer, life } =
        plumb_lab::start_remote(to, "agent --rank --allow / --allow-exec", &session::surroundings(program)?)?;
    Ok(Link { reader: Box::new(reader), writer: Box::new(Alive { writer, _life: life }) })
}

/// Standard input of a program on another host, with a guard that keeps it alive.
pub(crate) struct Alive<W, L> {
    pub writer: W,
    pub _life: L,
}

impl<W: io::Write, L> io::Write for Alive<W, L> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a comma in a list of nodes or in a selector does not make a host of its second half, and other commas do.
    #[test]
    fn a_comma_inside_of_a_host_does_not_end_it() {
        for (typed, hosts) in [
            ("a,b", ["a", "b"].as_slice()),
            ("slurm:n[1,3],a", &["slurm:n[1,3]", "a"]),
            ("k8s:app=a,tier!=b,node1", &["k8s:app=a,tier!=b", "node1"]),
            (
                "k8s:4:bench/app in (a,b),!old,c notin (d, e),ssh:x=y",
                &["k8s:4:bench/app in (a,b),!old,c notin (d, e)", "ssh:x=y"],
            ),
            ("k8s:app=a,k8s:app=b", &["k8s:app=a", "k8s:app=b"]),
            ("k8s:app=a,unix:/x=y,b=c", &["k8s:app=a", "unix:/x=y", "b=c"]),
        ] {
            let split: Vec<String> = typed.split(',').map(str::to_owned).collect();
            assert_eq!(with_whole_lists(&split), hosts, "{typed}");
        }
    }

    // Protects: prefixed hosts are never taken for HOST:PORT.
    #[test]
    fn only_plain_hosts_get_a_port() {
        for (host, address) in [
            ("k8s:4:app=a", "k8s:4:app=a"),
            ("slurm:2", "slurm:2"),
            ("ssh:a", "ssh:a"),
            ("a", "a:8766"),
            ("a:9000", "a:9000"),
            ("::1", "[::1]:8766"),
        ] {
            assert_eq!(with_port(host), address);
        }
    }
}
