//! An agent that waits for clients: each that is admitted gets a process of its own, which ends with it.

use super::rank::GREETING_PATIENCE;
use crate::exit::{End, Stopped};
use crate::output::error_line;
use plumb_channel::{Channel, ChannelError, FIRST_BYTE, Identity};
use plumb_cluster::star::answer;
use plumb_engine::signals::StopFlag;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a client's token is good for.
pub const PURPOSE: &str = "plumb agent";

/// Connections at a time, admitted or not. Each has a process once it is admitted.
const SESSIONS_MAX: usize = 16;

/// How often is looked whether the agent is to end.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Where an agent listens, and whom it admits.
pub struct Listening {
    /// Addresses, each with a port.
    pub addresses: Vec<SocketAddr>,
    /// Its keys; without them only this host is served.
    pub identity: Option<Identity>,
    /// What the processes of clients are told, behind `agent --rank`.
    pub words: Vec<OsString>,
    /// This program.
    pub program: PathBuf,
    /// Who speaks: `plumb agent`, or the tool that it stands for.
    pub name: &'static str,
    /// Clients may interrupt each other, and end it.
    pub obeys: bool,
}

/// With this code, the process of a client asks that those of all others be interrupted.
pub const INTERRUPT_OTHERS: u8 = 97;
/// With this code, it asks that the agent end.
pub const END_AGENT: u8 = 98;

/// What all connections share.
struct Shared {
    listening: Listening,
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

    /// Waits for the process of a client, and does what it asks for with its exit code.
    fn attend(&self, mut child: Child) -> io::Result<()> {
        let pid = Pid::from_child(&child);
        // Its number is nobody else's until it is reaped.
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

/// A listening agent, before it serves.
pub struct Door {
    listeners: Vec<TcpListener>,
    shared: Arc<Shared>,
}

impl Door {
    /// Opens the ports.
    ///
    /// # Errors
    /// An address that others reach without keys, or one that cannot be had.
    pub fn open(listening: Listening) -> Result<Door, Stopped> {
        let beyond = listening.addresses.iter().find(|address| !address.ip().is_loopback());
        if let (Some(address), None) = (beyond, &listening.identity) {
            return Err(Stopped::usage(format!(
                "{address} is reached by other hosts: make keys with `plumb agent --init DIR`, start this with `--keys \
                 DIR/server.keys`, and give clients DIR/client.keys; or listen on 127.0.0.1"
            )));
        }
        let bound = listening.addresses.iter().map(|address| {
            TcpListener::bind(address)
                .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
                .map_err(|error| Stopped::io(format!("cannot listen on {address}: {error}")))
        });
        let listeners = bound.collect::<Result<Vec<_>, _>>()?;
        let (sessions, processes, ends) = (AtomicUsize::new(0), Mutex::default(), AtomicBool::new(false));
        Ok(Door { listeners, shared: Arc::new(Shared { listening, sessions, processes, ends }) })
    }

    /// Where it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Serves until a signal comes, or a client ends it that may. Processes of clients are ended by the kernel's signal when this one ends.
    ///
    /// # Errors
    /// The system's.
    pub fn serve(&self, stop: StopFlag) -> Result<End, Stopped> {
        while !stop.requested() && !self.shared.ends.load(Ordering::Acquire) {
            let mut fds: Vec<PollFd<'_>> =
                self.listeners.iter().map(|listener| PollFd::new(listener, PollFlags::IN)).collect();
            match poll(&mut fds, Some(&LOOK_AGAIN)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Stopped::io(error)),
            }
            drop(fds);
            for listener in &self.listeners {
                while let Ok((stream, peer)) = listener.accept() {
                    self.meet(stream, peer);
                }
            }
        }
        Ok(End::Done)
    }

    fn meet(&self, stream: TcpStream, peer: SocketAddr) {
        let shared = Arc::clone(&self.shared);
        if shared.sessions.fetch_add(1, Ordering::AcqRel) >= SESSIONS_MAX {
            shared.sessions.fetch_sub(1, Ordering::AcqRel);
            refuse(&stream, "too many clients at a time");
            return;
        }
        // The kernel ends a client's process when the thread that started it does: this one waits for it.
        let thread = std::thread::Builder::new().name("plumb-client".to_owned()).stack_size(256 << 10);
        let begun = thread.spawn(move || {
            if let Err(why) = admit(&shared, stream) {
                error_line!("{}: {}: {why}", shared.listening.name, peer.ip());
            }
            shared.sessions.fetch_sub(1, Ordering::AcqRel);
        });
        if begun.is_err() {
            self.shared.sessions.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Says why a client is not served. A real fio takes it for what it is: not its protocol.
fn refuse(mut stream: &TcpStream, why: &str) {
    let _ = stream.set_write_timeout(Some(Duration::from_secs(1)));
    let _ = stream.write_all(answer(Some(why)).as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
}

/// Why a client was not served to its end.
#[derive(Debug, thiserror::Error)]
enum AdmitError {
    /// It said nothing.
    #[error("sent nothing for {} s", GREETING_PATIENCE.as_secs())]
    Silent,
    /// It has no keys, and this agent has.
    #[error("came without keys")]
    NoKeys,
    /// It has keys, and this agent has none.
    #[error("came with keys, and this agent was started without `--keys`")]
    Keys,
    /// Without keys, an agent serves one user.
    #[error("another user of this host")]
    OtherUser,
    /// Its keys or its encryption.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The system's.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Lets a client in, and serves it to its end.
fn admit(shared: &Shared, stream: TcpStream) -> Result<(), AdmitError> {
    let listening = &shared.listening;
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GREETING_PATIENCE))?;
    let mut first = [0];
    match stream.peek(&mut first) {
        // Somebody looks whether the port is open.
        Ok(0) => return Ok(()),
        Ok(_) => {}
        Err(_) => return Err(AdmitError::Silent),
    }
    stream.set_read_timeout(None)?;
    match (&listening.identity, first[0] == FIRST_BYTE) {
        (Some(identity), true) => {
            let channel = Channel::accept(stream, identity, PURPOSE)?;
            Ok(through_channel(shared, channel)?)
        }
        (Some(_), false) => {
            refuse(&stream, "this agent admits only who has its keys (client.keys)");
            Err(AdmitError::NoKeys)
        }
        (None, true) => {
            refuse(&stream, "this agent has no keys");
            Err(AdmitError::Keys)
        }
        (None, false) => {
            if !is_own(&stream) {
                refuse(&stream, "without keys, an agent serves only the user who started it");
                return Err(AdmitError::OtherUser);
            }
            let input = Stdio::from(OwnedFd::from(stream.try_clone()?));
            let child = shared.spawn(input, Stdio::from(OwnedFd::from(stream)))?;
            Ok(shared.attend(child)?)
        }
    }
}

/// Whether the other end of a connection inside this host belongs to this user, or to root. Source: proc_net(5), `tcp`.
fn is_own(stream: &TcpStream) -> bool {
    let (Ok(here), Ok(there)) = (stream.local_addr(), stream.peer_addr()) else { return false };
    let own = rustix::process::getuid().as_raw();
    let file = if here.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    // Without it there is no way to know, and nobody is kept out who could read this process's files otherwise.
    let Ok(table) = std::fs::read_to_string(file) else { return true };
    let (local, remote) = (as_in_proc(there), as_in_proc(here));
    let user = table.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        (words.next()? == local && words.next()? == remote).then_some(())?;
        words.nth(4)?.parse::<u32>().ok()
    });
    user.is_some_and(|user| user == own || user == 0)
}

/// An address as the kernel's table has it: groups of four bytes in the machine's order.
fn as_in_proc(address: SocketAddr) -> String {
    let group = |bytes: &[u8; 4]| format!("{:08X}", u32::from_ne_bytes(*bytes));
    let host: String = match address.ip() {
        IpAddr::V4(ip) => group(&ip.octets()),
        IpAddr::V6(ip) => ip.octets().as_chunks::<4>().0.iter().map(group).collect(),
    };
    format!("{host}:{:04X}", address.port())
}

/// Serves a client with an encrypted connection: bytes pass through this process.
fn through_channel(shared: &Shared, channel: Channel) -> io::Result<()> {
    let mut child = shared.spawn(Stdio::piped(), Stdio::piped())?;
    let (Some(mut to_child), Some(mut of_child)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let (mut reads, mut writes) = (channel.clone(), channel);
    let thread = std::thread::Builder::new().name("plumb-relay".to_owned()).stack_size(256 << 10);
    // It ends with the connection; what it holds of the child's input is closed then, and the child ends.
    thread.spawn(move || pass(&mut reads, &mut to_child))?;
    pass(&mut of_child, &mut writes);
    writes.close();
    let _ = writes.socket().shutdown(Shutdown::Both);
    shared.attend(child)
}

/// Passes bytes on as they come, until either end is gone.
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

    // Protects: the user at the other end is found in the kernel's table, in both families.
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
}
