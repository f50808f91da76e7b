//! A listening agent. Each admitted client gets its own process, which ends with the client.

use super::local::{self, LocalListener};
use crate::exit::{End, Stopped};
use crate::output::error_line;
use crate::pending::{Pending, PendingLimits, PendingPlace};
use plumb_cluster::star::{read_line, refusal};
use plumb_engine::signals::StopFlag;
use plumb_tls::{Channel, ChannelError, FIRST_BYTE, Identity};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Purpose that a client's token is bound to.
pub const PURPOSE: &str = "plumb agent";

/// Maximum number of concurrent clients. Each one has its own process.
const SESSIONS_MAX: usize = 16;

/// Limits of unauthenticated connections. Each one holds a thread for up to [`ADMISSION_PATIENCE`].
const PENDING: PendingLimits = PendingLimits { all: 256, of_address: 128 };

/// A client must authenticate within this time.
const ADMISSION_PATIENCE: Duration = Duration::from_secs(5);

/// Time to read the greeting of an authenticated client before refusing it as busy.
const GREETING_PATIENCE: Duration = Duration::from_secs(1);

/// Poll interval for shutdown.
const SHUTDOWN_POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// An address that an agent listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAddress {
    /// Internet address and port; needs keys beyond loopback.
    Tcp(SocketAddr),
    /// Path of a Unix socket, which serves this user and root only.
    Local(PathBuf),
}

/// Policy for TCP clients without keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keyless {
    /// Refuses them all: every user of the host can connect to a loopback port.
    #[default]
    Refused,
    /// Admits loopback clients that `/proc/net/tcp` shows to belong to this user or root. For services of tools whose
    /// scripts have no keys; requires a list of allowed directories.
    OnLoopback,
}

/// Configuration of a listening agent.
pub struct Listening {
    pub addresses: Vec<AgentAddress>,
    /// Server keys. Without them, the agent serves only this user and root on this host.
    pub identity: Option<Identity>,
    /// Policy for TCP clients without keys.
    pub keyless: Keyless,
    /// Whether the user listed the directories that clients may use.
    pub has_allowed: bool,
    /// Arguments of each client's process, after `agent --rank`.
    pub words: Vec<OsString>,
    /// Path of this program's executable.
    pub program: PathBuf,
    /// Name in messages: `plumb agent`, or the emulated tool.
    pub name: &'static str,
    /// Whether clients may interrupt each other and stop the agent.
    pub obeys: bool,
}

/// Exit code by which a client's process asks to interrupt the processes of all other clients.
pub const INTERRUPT_OTHERS: u8 = 97;
/// Exit code by which a client's process asks to stop the agent.
pub const END_AGENT: u8 = 98;

/// State shared by all connections.
struct Shared {
    listening: Listening,
    pending: Arc<Pending>,
    sessions: AtomicUsize,
    processes: Mutex<Vec<Pid>>,
    ends: AtomicBool,
}

impl Shared {
    fn processes(&self) -> MutexGuard<'_, Vec<Pid>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the process of a client.
    fn spawn(&self, input: Stdio, output: Stdio) -> io::Result<Child> {
        let Listening { program, words, .. } = &self.listening;
        let mut command = Command::new(program);
        command.args(["agent", "--with-parent", &std::process::id().to_string(), "--gently", "--"]);
        command.arg(program).args(["agent", "--rank"]).args(words);
        let child = command.stdin(input).stdout(output).spawn()?;
        self.processes().push(Pid::from_child(&child));
        Ok(child)
    }

    /// Waits for a client's process, and handles the request in its exit code.
    fn attend(&self, mut child: Child) -> io::Result<()> {
        let pid = Pid::from_child(&child);
        // The PID cannot be reused before the child is reaped.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        self.processes().retain(|other| *other != pid);
        match child.wait()?.code().and_then(|code| u8::try_from(code).ok()) {
            Some(END_AGENT) if self.listening.obeys => self.ends.store(true, Ordering::Release),
            Some(INTERRUPT_OTHERS) if self.listening.obeys => {
                for &other in self.processes().iter() {
                    let _ = kill_process(other, Signal::TERM);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// One of the [`SESSIONS_MAX`] slots, freed on drop.
struct Session<'a>(&'a Shared);

impl Session<'_> {
    fn take(shared: &Shared) -> Option<Session<'_>> {
        let is_room = shared.sessions.fetch_add(1, Ordering::AcqRel) < SESSIONS_MAX;
        let session = Session(shared);
        is_room.then_some(session)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A listening agent, before it serves.
pub struct Door {
    tcp: Vec<TcpListener>,
    local: Vec<LocalListener>,
    shared: Arc<Shared>,
}

impl Door {
    /// Binds all ports and sockets.
    ///
    /// # Errors
    /// Returns an error if an address would need keys, or cannot be bound.
    pub fn open(listening: Listening) -> Result<Door, Stopped> {
        let (mut tcp, mut local) = (Vec::new(), Vec::new());
        for address in &listening.addresses {
            match address {
                AgentAddress::Tcp(address) => {
                    check_keys(&listening, *address)?;
                    let listener = TcpListener::bind(address)
                        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
                        .map_err(|error| Stopped::io(format!("cannot listen on {address}: {error}")))?;
                    tcp.push(listener);
                }
                AgentAddress::Local(_) if listening.identity.is_some() => {
                    return Err(Stopped::usage(
                        "--keys are for TCP; name an address as well, such as `--listen 127.0.0.1` or `--listen 0.0.0.0`",
                    ));
                }
                AgentAddress::Local(path) => local.push(LocalListener::bind(path)?),
            }
        }
        let (sessions, processes, ends) = (AtomicUsize::new(0), Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { listening, pending: Pending::new(PENDING), sessions, processes, ends });
        Ok(Door { tcp, local, shared })
    }

    /// Returns the bound addresses in the form that `--hosts` accepts.
    pub fn addresses(&self) -> Vec<String> {
        let tcp = self.tcp.iter().filter_map(|listener| Some(listener.local_addr().ok()?.to_string()));
        tcp.chain(self.local.iter().map(|local| format!("{}{}", local::UNIX, local.path().display()))).collect()
    }

    /// Serves until a signal, or until a permitted client stops the agent. Each client's process ends with this one, by PDEATHSIG.
    ///
    /// # Errors
    /// The system refuses to wait for connections.
    pub fn serve(&self, stop: StopFlag) -> Result<End, Stopped> {
        while !stop.requested() && !self.shared.ends.load(Ordering::Acquire) {
            let all = self.tcp.iter().map(AsFd::as_fd).chain(self.local.iter().map(|local| local.listener.as_fd()));
            let mut fds: Vec<PollFd<'_>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            match poll(&mut fds, Some(&SHUTDOWN_POLL)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Stopped::io(error)),
            }
            drop(fds);
            for listener in &self.tcp {
                while let Ok((stream, peer)) = listener.accept() {
                    self.meet(stream, peer);
                }
            }
            for local in &self.local {
                while let Ok((stream, _)) = local.listener.accept() {
                    self.meet_local(stream);
                }
            }
        }
        Ok(End::Done)
    }

    fn meet(&self, stream: TcpStream, peer: SocketAddr) {
        let Ok(place) = self.shared.pending.enter(&stream, peer.ip()) else { return };
        self.spawn(move |shared| {
            let Err(why) = admit(shared, stream, place) else { return };
            if !matches!(why, AdmitError::Displaced) || shared.pending.is_first_report() {
                error_line!("{}: {}: {why}", shared.listening.name, peer.ip());
            }
        });
    }

    fn meet_local(&self, stream: UnixStream) {
        // SO_PEERCRED has identified the peer already, so a stranger does not cost a thread.
        if !local::is_own(&stream) {
            refuse(&stream, OTHER_USER);
            error_line!("{}: {}", self.shared.listening.name, AdmitError::OtherUser);
            return;
        }
        self.spawn(move |shared| {
            if let Err(why) = admit_local(shared, stream) {
                error_line!("{}: {why}", shared.listening.name);
            }
        });
    }

    fn spawn(&self, serve: impl FnOnce(&Shared) + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        // The client's process has PDEATHSIG, which fires when the thread that started it exits: so this thread waits
        // for it. If no thread can be started, the connection closes.
        let thread = std::thread::Builder::new().name("plumb-client".to_owned()).stack_size(256 << 10);
        let _ = thread.spawn(move || serve(&shared));
    }
}

/// Refuses an address on which clients without keys could not be identified.
fn check_keys(listening: &Listening, address: SocketAddr) -> Result<(), Stopped> {
    const KEYS: &str = "make keys with `plumb agent --init DIR`, start this with `--keys DIR/server.keys`, and give clients \
                        DIR/client.keys";
    if listening.identity.is_some() {
        return Ok(());
    }
    if !address.ip().is_loopback() {
        return Err(Stopped::usage(format!("{address} is reached by other hosts: {KEYS}; or listen at `local`")));
    }
    match (listening.keyless, listening.has_allowed) {
        (Keyless::Refused, _) => Err(Stopped::usage(format!(
            "{address} is reached by every user of this host: listen at `local` (`plumb agent --listen`, and `--hosts local` \
             for its clients), or {KEYS}"
        ))),
        (Keyless::OnLoopback, false) => {
            let here = std::env::current_dir().unwrap_or_else(|_| "/mnt/data".into());
            Err(Stopped::usage(format!(
                "clients without keys are not authenticated, so this needs the directories that they may use: set \
                 PLUMB_AGENT_ALLOW={} (several are separated by colons); or admit only clients with keys, with \
                 PLUMB_AGENT_KEYS=DIR/server.keys, which `plumb agent --init DIR` makes",
                here.display()
            )))
        }
        (Keyless::OnLoopback, true) => Ok(()),
    }
}

const OTHER_USER: &str = "without keys, an agent serves only the user who started it";
const BUSY: &str = "too many clients at a time";

/// Sends a client the reason for its refusal. A real fio reports it as a protocol error.
fn refuse(mut stream: impl Write + SocketTimeout, why: &str) {
    stream.write_at_most(Duration::from_secs(1));
    let _ = stream.write_all(refusal(why).as_bytes());
    stream.end();
}

/// Operations shared by TCP and Unix sockets.
trait SocketTimeout {
    fn write_at_most(&self, time: Duration);
    /// Shuts down the sending direction.
    fn end(&self);
}

impl SocketTimeout for &TcpStream {
    fn write_at_most(&self, time: Duration) {
        let _ = self.set_write_timeout(Some(time));
    }

    fn end(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

impl SocketTimeout for &UnixStream {
    fn write_at_most(&self, time: Duration) {
        let _ = self.set_write_timeout(Some(time));
    }

    fn end(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

/// Reason for refusing or dropping a client.
#[derive(Debug, thiserror::Error)]
enum AdmitError {
    #[error("sent nothing for {} s", ADMISSION_PATIENCE.as_secs())]
    Silent,
    /// The connection was closed in favour of newer ones before it authenticated.
    #[error(
        "connections that prove nothing were closed for newer ones ({} in all, {} of one address); further ones are not \
         reported",
        PENDING.all,
        PENDING.of_address
    )]
    Displaced,
    /// All [`SESSIONS_MAX`] slots are in use.
    #[error("{BUSY} ({SESSIONS_MAX})")]
    Busy,
    /// The client has no keys, and this agent requires them.
    #[error("came without keys")]
    NoKeys,
    /// The client has keys, and this agent has none.
    #[error("came with keys, and this agent was started without `--keys`")]
    Keys,
    /// The client belongs to another user, or its user is unknown.
    #[error("another user of this host, or one that the kernel does not name")]
    OtherUser,
    /// The secure channel failed, in authentication or encryption.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Authenticates a TCP client and serves it until it disconnects.
fn admit(shared: &Shared, stream: TcpStream, place: PendingPlace) -> Result<(), AdmitError> {
    let admitted = prove(shared, stream);
    let is_displaced = place.is_closed();
    drop(place);
    match admitted {
        Err(_) | Ok(None) if is_displaced => Err(AdmitError::Displaced),
        Err(error) => Err(error),
        Ok(None) => Ok(()),
        Ok(Some(Admitted::Plain(stream))) => {
            let Some(_session) = Session::take(shared) else {
                refuse(&stream, BUSY);
                return Err(AdmitError::Busy);
            };
            attend_to(shared, stream.into())
        }
        Ok(Some(Admitted::Secure(channel))) => match Session::take(shared) {
            Some(_session) => Ok(through_channel(shared, channel)?),
            None => {
                refuse_secure(channel);
                Err(AdmitError::Busy)
            }
        },
    }
}

/// The connection of an authenticated client.
enum Admitted {
    Plain(TcpStream),
    Secure(Channel),
}

/// Authenticates a client. Returns `None` if it closed the connection without sending a byte, as port checks do.
fn prove(shared: &Shared, stream: TcpStream) -> Result<Option<Admitted>, AdmitError> {
    let listening = &shared.listening;
    let until = Instant::now() + ADMISSION_PATIENCE;
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ADMISSION_PATIENCE))?;
    let mut first = [0];
    match stream.peek(&mut first) {
        Ok(0) => return Ok(None),
        Ok(_) => {}
        Err(_) => return Err(AdmitError::Silent),
    }
    stream.set_read_timeout(None)?;
    match (&listening.identity, first[0] == FIRST_BYTE) {
        (Some(identity), true) => Ok(Some(Admitted::Secure(Channel::accept_until(stream, identity, PURPOSE, until)?))),
        (Some(_), false) => {
            refuse(&stream, "this agent admits only clients that have its keys (client.keys)");
            Err(AdmitError::NoKeys)
        }
        (None, true) => {
            refuse(&stream, "this agent has no keys");
            Err(AdmitError::Keys)
        }
        (None, false) if is_own(&stream) => Ok(Some(Admitted::Plain(stream))),
        (None, false) => {
            refuse(&stream, OTHER_USER);
            Err(AdmitError::OtherUser)
        }
    }
}

/// Serves a client on a Unix socket until it disconnects.
fn admit_local(shared: &Shared, stream: UnixStream) -> Result<(), AdmitError> {
    stream.set_nonblocking(false)?;
    let Some(_session) = Session::take(shared) else {
        refuse(&stream, BUSY);
        return Err(AdmitError::Busy);
    };
    attend_to(shared, stream.into())
}

/// Starts a process that serves a client, and waits for its end.
fn attend_to(shared: &Shared, stream: OwnedFd) -> Result<(), AdmitError> {
    let input = Stdio::from(stream.try_clone()?);
    let child = shared.spawn(input, Stdio::from(stream))?;
    Ok(shared.attend(child)?)
}

/// Sends [`BUSY`] to a client over its encrypted channel.
fn refuse_secure(mut channel: Channel) {
    channel.set_deadline(Some(Instant::now() + GREETING_PATIENCE));
    // Closing a socket with unread input sends RST, which can discard the answer before the client reads it.
    let _ = read_line(&mut channel);
    let _ = channel.write_all(refusal(BUSY).as_bytes());
    channel.close();
}

/// Returns `true` if the peer of a loopback connection runs as this user or as root. Source: proc_net(5), `tcp`.
fn is_own(stream: &TcpStream) -> bool {
    let (Ok(here), Ok(there)) = (stream.local_addr(), stream.peer_addr()) else { return false };
    let file = if here.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    // Without the table, refuse everyone.
    let Ok(table) = std::fs::read_to_string(file) else { return false };
    let own = rustix::process::getuid().as_raw();
    user_of(&table, there, here).is_some_and(|user| user == own || user == 0)
}

/// Returns the UID of the socket at `there` that is connected to `here`. Only ESTABLISHED entries count: in FIN_WAIT and
/// TIME_WAIT, the table shows UID 0 for every socket.
fn user_of(table: &str, there: SocketAddr, here: SocketAddr) -> Option<u32> {
    const ESTABLISHED: &str = "01";
    let (local, remote) = (as_in_proc(there), as_in_proc(here));
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_it = words.next()? == local && words.next()? == remote && words.next()? == ESTABLISHED;
        is_it.then_some(())?;
        words.nth(3)?.parse::<u32>().ok()
    })
}

/// Formats an address as in `/proc/net/tcp`: 32-bit groups in native byte order.
fn as_in_proc(address: SocketAddr) -> String {
    let group = |bytes: &[u8; 4]| format!("{:08X}", u32::from_ne_bytes(*bytes));
    let host: String = match address.ip() {
        IpAddr::V4(ip) => group(&ip.octets()),
        IpAddr::V6(ip) => ip.octets().as_chunks::<4>().0.iter().map(group).collect(),
    };
    format!("{host}:{:04X}", address.port())
}

/// Relays between an encrypted connection and the client's process.
fn through_channel(shared: &Shared, channel: Channel) -> io::Result<()> {
    let mut child = shared.spawn(Stdio::piped(), Stdio::piped())?;
    let (Some(mut to_child), Some(mut of_child)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let (mut reads, mut writes) = (channel.clone(), channel);
    let thread = std::thread::Builder::new().name("plumb-relay".to_owned()).stack_size(256 << 10);
    // This thread ends with the connection. That closes the child's standard input, so that the child ends, too.
    thread.spawn(move || pass(&mut reads, &mut to_child))?;
    pass(&mut of_child, &mut writes);
    writes.close();
    let _ = writes.socket().shutdown(Shutdown::Both);
    shared.attend(child)
}

/// Forwards bytes as they arrive, until either end closes.
pub fn pass(from: &mut dyn Read, to: &mut dyn Write) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) if to.write_all(&buffer[..count]).and_then(|()| to.flush()).is_ok() => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the kernel's table gives the user of the other end, for IPv4 and IPv6.
    #[test]
    fn the_user_of_a_connection_is_known() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            assert!(is_own(&stream), "{address}");
            drop(client);
        }
        assert_eq!(as_in_proc("127.0.0.1:8765".parse().unwrap()), "0100007F:223D");
    }

    // Protects keyless services: a client that sends its requests and closes is in FIN_WAIT or TIME_WAIT when the service
    // searches its user, and the table shows UID 0. An earlier version admitted it as root.
    #[test]
    fn a_connection_that_was_closed_has_no_user() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let (here, there) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
        client.write_all(b"plumb-agent").unwrap();
        assert!(is_own(&stream));
        drop(client);
        let table = || std::fs::read_to_string("/proc/net/tcp").unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        let row = format!("{} {}", as_in_proc(there), as_in_proc(here));
        while table().contains(&format!("{row} 01")) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!is_own(&stream));
        let rows = |state: &str, user: u32| {
            format!(
                "  sl  local_address rem_address   st\n   0: {row} {state} 00000000:00000000 00:00000000 00000000 {user:>5} 0 1\n"
            )
        };
        assert_eq!(user_of(&rows("01", 1000), there, here), Some(1000));
        for state in ["04", "05", "06", "08"] {
            assert_eq!(user_of(&rows(state, 0), there, here), None, "{state}");
        }
        assert_eq!(user_of("", there, here), None, "an empty table admits no one");
    }
}
