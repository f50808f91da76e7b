//! Connections that have not authenticated yet.
//!
//! They have their own limits, so that strangers cannot use up the slots of admitted clients. Above a limit, the oldest
//! connection is closed instead of the newest: a client with keys authenticates within milliseconds, and only a stranger
//! holds a connection for seconds. The limit per address is lower than the total.

use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum numbers of unauthenticated connections.
#[derive(Debug, Clone, Copy)]
pub struct PendingLimits {
    /// Total number, over all client addresses.
    pub all: usize,
    /// Number for any single client address.
    pub of_address: usize,
}

/// The unauthenticated connections of a server.
#[derive(Debug)]
pub struct Pending {
    limits: PendingLimits,
    /// In order of arrival, oldest first.
    places: Mutex<Vec<Place>>,
    is_reported: AtomicBool,
}

#[derive(Debug)]
struct Place {
    address: IpAddr,
    socket: TcpStream,
    is_closed: Arc<AtomicBool>,
}

/// The slot of one connection, freed on drop.
#[derive(Debug)]
pub struct PendingPlace {
    of: Arc<Pending>,
    is_closed: Arc<AtomicBool>,
}

impl Pending {
    /// Creates an empty set with these limits.
    pub fn new(limits: PendingLimits) -> Arc<Pending> {
        Arc::new(Pending { limits, places: Mutex::default(), is_reported: AtomicBool::new(false) })
    }

    fn places(&self) -> MutexGuard<'_, Vec<Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot for a connection. Above a limit, closes the oldest connection of the same address, or of the
    /// address that has the most connections.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be duplicated, for example with too many open files.
    pub fn enter(self: &Arc<Pending>, socket: &TcpStream, address: IpAddr) -> io::Result<PendingPlace> {
        let address = address.to_canonical();
        let is_closed = Arc::new(AtomicBool::new(false));
        let place = Place { address, socket: socket.try_clone()?, is_closed: Arc::clone(&is_closed) };
        let mut places = self.places();
        let count = |places: &[Place], address: IpAddr| places.iter().filter(|one| one.address == address).count();
        let mut victim = None;
        if count(&places, address) >= self.limits.of_address {
            victim = Some(address);
        } else if places.len() >= self.limits.all {
            victim = places.iter().map(|one| one.address).max_by_key(|one| count(&places, *one));
        }
        if let Some(at) = victim.and_then(|victim| places.iter().position(|one| one.address == victim)) {
            let oldest = places.remove(at);
            oldest.is_closed.store(true, Ordering::Release);
            let _ = oldest.socket.shutdown(Shutdown::Both);
        }
        places.push(place);
        drop(places);
        Ok(PendingPlace { of: Arc::clone(self), is_closed })
    }

    /// Returns `true` on the first call only, so that displaced connections are reported once.
    pub(crate) fn is_first_report(&self) -> bool {
        !self.is_reported.swap(true, Ordering::AcqRel)
    }

    /// Returns the number of unauthenticated connections.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.places().len()
    }
}

impl PendingPlace {
    /// Returns `true` if the connection was closed to make room for another.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}

impl Drop for PendingPlace {
    fn drop(&mut self) {
        self.of.places().retain(|place| !Arc::ptr_eq(&place.is_closed, &self.is_closed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    // Protects: the newest connection always gets a slot, and the busiest address loses its oldest one.
    #[test]
    fn the_oldest_of_the_greediest_address_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let pending = Pending::new(PendingLimits { all: 4, of_address: 3 });
        let [here, there]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().unwrap());
        let mut held: Vec<_> = (0..3)
            .map(|_| {
                let (client, server) = connect();
                (pending.enter(&server, here).unwrap(), client, server)
            })
            .collect();
        let (_client, server) = connect();
        let fourth = pending.enter(&server, here).unwrap();
        assert_eq!(pending.len(), 3);
        assert!(held[0].0.is_closed() && !held[1].0.is_closed());
        assert_eq!(held[0].1.read(&mut [0]).unwrap(), 0, "its connection has ended");
        // Another address takes the last free slot, then displaces a connection of the first address.
        let (_client, server) = connect();
        let other = pending.enter(&server, there).unwrap();
        assert_eq!(pending.len(), 4);
        let (_client, server) = connect();
        let second = pending.enter(&server, there).unwrap();
        assert_eq!(pending.len(), 4);
        assert!(held[1].0.is_closed() && !other.is_closed() && !second.is_closed() && !fourth.is_closed());
        drop((held, fourth, other, second));
        assert_eq!(pending.len(), 0);
    }
}
