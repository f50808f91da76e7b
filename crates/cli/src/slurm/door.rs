//! Connections from the processes of a Slurm step to their coordinator, which invited them by a secret.

use crate::exit::Stopped;
use plumb_cluster::slurm::launcher_address;
use plumb_tls::{Channel, Identity, Invitation};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Purpose that a proof of the token is bound to.
const PURPOSE: &str = "plumb slurm";
/// Timeout for connecting to one address.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// Time limit for a handshake and the name.
const ADMISSION_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of concurrent handshakes. Further connections wait in the kernel.
const HANDSHAKES_MAX: usize = 128;
const NAME_BYTES_MAX: usize = 255;
const STACK_BYTES: usize = 256 << 10;

/// The coordinator's end, which waits for connections.
pub(super) struct Door {
    listener: TcpListener,
    identity: Arc<Identity>,
    port: u16,
}

impl Door {
    /// Listens at a free port of all addresses, with keys of its own.
    pub(super) fn open() -> Result<Door, Stopped> {
        let failed = |error: io::Error| Stopped::io(format!("cannot listen for the processes of the step: {error}"));
        let any = [SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)), SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))];
        let listener = TcpListener::bind(any.as_slice()).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Door { listener, identity: Arc::new(Identity::make().map_err(Stopped::io)?), port })
    }

    /// Returns the invitation: the address of this host that faces the host of `srun`, and loopback.
    pub(super) fn invitation(&self) -> Invitation {
        let facing = launcher_address().and_then(facing);
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        let mut addresses: Vec<IpAddr> = facing.into_iter().chain([loopback]).collect();
        addresses.dedup();
        let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, self.port)).collect();
        Invitation { addresses, trust: self.identity.trust() }
    }

    /// Admits clients until each of these names has come once. `missing` is asked now and then, with the names that have
    /// not come, and ends the wait with its error.
    pub(super) fn admit(
        &self,
        names: &[String],
        mut missing: impl FnMut(&[&String]) -> Result<(), Stopped>,
    ) -> Result<BTreeMap<String, Channel>, Stopped> {
        const POLL_INTERVAL: Duration = Duration::from_millis(10);
        let (sender, admitted) = channel();
        let handshakes = Arc::new(AtomicUsize::new(0));
        let mut found = BTreeMap::new();
        loop {
            while handshakes.load(Ordering::Acquire) < HANDSHAKES_MAX
                && let Ok((stream, _)) = self.listener.accept()
            {
                self.shake_hands(stream, &sender, &handshakes);
            }
            if let Ok((name, channel)) = admitted.recv_timeout(POLL_INTERVAL)
                && names.contains(&name)
            {
                found.entry(name).or_insert(channel);
            }
            let absent: Vec<&String> = names.iter().filter(|name| !found.contains_key(*name)).collect();
            if absent.is_empty() {
                return Ok(found);
            }
            missing(&absent)?;
        }
    }

    /// Authenticates a client in a thread of its own, so that a silent one does not hold up the others.
    fn shake_hands(&self, stream: TcpStream, admitted: &Sender<(String, Channel)>, handshakes: &Arc<AtomicUsize>) {
        let (identity, admitted, count) = (Arc::clone(&self.identity), admitted.clone(), Arc::clone(handshakes));
        count.fetch_add(1, Ordering::AcqRel);
        let thread = std::thread::Builder::new().name("plumb-door".to_owned()).stack_size(STACK_BYTES);
        let started = thread.spawn(move || {
            // A client that cannot authenticate does not belong to the step.
            if let Some(client) = authenticated(stream, &identity) {
                let _ = admitted.send(client);
            }
            count.fetch_sub(1, Ordering::AcqRel);
        });
        if started.is_err() {
            handshakes.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn authenticated(stream: TcpStream, identity: &Identity) -> Option<(String, Channel)> {
    let until = Instant::now() + ADMISSION_PATIENCE;
    let mut channel = Channel::accept_until(stream, identity, PURPOSE, until).ok()?;
    channel.set_deadline(Some(until));
    let name = read_name(&mut channel)?;
    channel.set_deadline(None);
    Some((name, channel))
}

/// Reads a line byte by byte: the bytes after it belong to the protocol of agents.
fn read_name(from: &mut impl Read) -> Option<String> {
    let mut name = Vec::new();
    let mut byte = [0];
    loop {
        from.read_exact(&mut byte).ok()?;
        match byte[0] {
            b'\n' => return String::from_utf8(name).ok(),
            _ if name.len() == NAME_BYTES_MAX => return None,
            byte => name.push(byte),
        }
    }
}

/// Returns this host's address on the way to another one. Sends nothing.
fn facing(other: IpAddr) -> Option<IpAddr> {
    let any = if other.is_ipv4() { IpAddr::from(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((other, 9)).ok()?;
    socket.local_addr().ok().map(|own| own.ip())
}

/// Connects to the coordinator that sent an invitation, under this name. Tries the host of `srun` first.
///
/// # Errors
/// No address leads to the coordinator.
pub fn dialed(invitation: &Invitation, name: &str) -> Result<Channel, Stopped> {
    let port = invitation.addresses.first().map(SocketAddr::port);
    let of_launcher = launcher_address().zip(port).map(SocketAddr::from);
    let mut failures = Vec::new();
    let mut tried: Vec<SocketAddr> = Vec::new();
    for address in invitation.addresses.iter().copied().chain(of_launcher) {
        if tried.contains(&address) {
            continue;
        }
        tried.push(address);
        match dial(address, invitation, name) {
            Ok(channel) => return Ok(channel),
            Err(error) => failures.push(format!("{address}: {error}")),
        }
    }
    Err(Stopped::io(format!("cannot connect to the coordinator: {}", failures.join("; "))))
}

fn dial(address: SocketAddr, invitation: &Invitation, name: &str) -> Result<Channel, Box<dyn std::error::Error>> {
    let stream = TcpStream::connect_timeout(&address, CONNECT_PATIENCE)?;
    let mut channel = Channel::connect(stream, &invitation.trust, PURPOSE)?;
    channel.write_all(format!("{name}\n").as_bytes())?;
    Ok(channel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon(limit: Instant) -> impl FnMut(&[&String]) -> Result<(), Stopped> {
        move |absent| match Instant::now() < limit {
            true => Ok(()),
            false => Err(Stopped::io(format!("{absent:?} did not come"))),
        }
    }

    // Protects a run's processes from strangers: a client without the token, a silent one, and one of another name are not
    // admitted, and delay no other.
    #[test]
    fn only_the_invited_are_admitted() {
        let (door, other) = (Door::open().unwrap(), Door::open().unwrap());
        let invitation = door.invitation();
        let stranger = Invitation { trust: other.invitation().trust, ..invitation.clone() };
        let port = invitation.addresses[0].port();
        let silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let names = ["n1".to_owned(), "n2".to_owned()];
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(dialed(&stranger, "n1").is_err()));
            scope.spawn(|| dialed(&invitation, "n3").unwrap());
            scope.spawn(|| dialed(&invitation, "n1").unwrap());
            let error = door.admit(&names, soon(Instant::now() + Duration::from_secs(2))).unwrap_err();
            assert!(error.message.contains("n2") && !error.message.contains("n1"), "{}", error.message);
        });
        std::thread::scope(|scope| {
            for name in ["n1", "n2"] {
                let invitation = &invitation;
                scope.spawn(move || dialed(invitation, name).unwrap().read_exact(&mut [0]).unwrap());
            }
            let found = door.admit(&names, soon(Instant::now() + Duration::from_secs(60))).unwrap();
            found.into_values().for_each(|mut channel| channel.write_all(b"x").unwrap());
        });
        drop(silent);
    }

    // Protects the coordinator's memory: a name is a short line of text.
    #[test]
    fn a_name_is_a_short_line() {
        assert_eq!(read_name(&mut b"n1\nrest".as_slice()).as_deref(), Some("n1"));
        assert_eq!(read_name(&mut b"n1".as_slice()), None);
        assert_eq!(read_name(&mut b"\xff\n".as_slice()), None);
        assert_eq!(read_name(&mut [b'x'; 1 << 20].as_slice()), None);
    }
}
