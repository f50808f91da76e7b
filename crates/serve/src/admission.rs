//! Requests that are admitted: by the name that they were sent to, and by the rate of their sender.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Names under which the server answers. A page of another site whose name was rebound to this address sends that site's name,
/// and gets nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// Returns the names of this machine for itself.
    pub fn loopback(port: u16) -> AllowedHosts {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        AllowedHosts(names.iter().map(|name| format!("{name}:{port}")).collect())
    }

    /// Adds a name, with the port if visitors type one.
    pub fn add(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    pub(crate) fn contains(&self, host: &str) -> bool {
        self.0.iter().any(|known| known.eq_ignore_ascii_case(host))
    }
}

/// Requests of one sender at once.
const BURST: f64 = 400.0;

/// Requests of one sender a second, in the long run.
const PER_SECOND: f64 = 100.0;

/// Senders that are remembered.
const SENDERS_MAX: usize = 4096;

/// Limits the rate of each sender: a bucket that fills at [`PER_SECOND`]. The crate `governor` does this too, but its map of
/// senders has no bound that spares those it knows.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter(Mutex<BTreeMap<IpAddr, Bucket>>);

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl RateLimiter {
    pub(crate) fn admits(&self, sender: IpAddr, now: Instant) -> bool {
        let mut senders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if senders.len() >= SENDERS_MAX && !senders.contains_key(&sender) {
            // A full bucket is the same as none.
            senders.retain(|_, bucket| bucket.filled(now) < BURST);
            if senders.len() >= SENDERS_MAX {
                return false;
            }
        }
        let bucket = senders.entry(sender).or_insert(Bucket { left: BURST, at: now });
        bucket.left = bucket.filled(now);
        bucket.at = now;
        let admitted = bucket.left >= 1.0;
        if admitted {
            bucket.left -= 1.0;
        }
        admitted
    }
}

impl Bucket {
    fn filled(&self, now: Instant) -> f64 {
        (self.left + now.saturating_duration_since(self.at).as_secs_f64() * PER_SECOND).min(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    // Protects other senders from one that floods.
    #[test]
    fn a_flood_is_cut_and_others_are_served() {
        let limiter = RateLimiter::default();
        let (flooder, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let now = Instant::now();
        let admitted = (0..1000).filter(|_| limiter.admits(flooder, now)).count();
        assert_eq!(admitted, BURST as usize);
        assert!(limiter.admits(other, now));
        assert!(limiter.admits(flooder, now + Duration::from_secs(1)));
    }

    // Protects the server's memory from senders with many addresses.
    #[test]
    fn senders_are_bounded() {
        let limiter = RateLimiter::default();
        let now = Instant::now();
        let address = |number: usize| IpAddr::from((number as u32).to_be_bytes());
        assert_eq!((0..2 * SENDERS_MAX).filter(|&number| limiter.admits(address(number), now)).count(), SENDERS_MAX);
        let later = now + Duration::from_secs(1);
        assert!(limiter.admits(address(3 * SENDERS_MAX), later), "full buckets are forgotten");
    }
}
