//! Datagrams: the header that each begins with, and what a receiver learns from those that came. The header is iperf3's.

use crate::shared::Shareable;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The beginning of a datagram, in the order of the network: seconds, microseconds, and a number of 4 or 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramHeader {
    /// When it was sent, by the monotonic clock of the sender, in microseconds.
    pub sent_us: u64,
    /// From 1.
    pub number: u64,
}

impl DatagramHeader {
    /// Writes it to the start of a datagram of at least 16 bytes.
    #[inline]
    pub fn write(self, into: &mut [u8], wide: bool) {
        into[..4].copy_from_slice(&((self.sent_us / 1_000_000) as u32).to_be_bytes());
        into[4..8].copy_from_slice(&((self.sent_us % 1_000_000) as u32).to_be_bytes());
        match wide {
            true => into[8..16].copy_from_slice(&self.number.to_be_bytes()),
            false => into[8..12].copy_from_slice(&(self.number as u32).to_be_bytes()),
        }
    }

    /// Reads it; `None` where the datagram is too short to have one.
    #[inline]
    pub fn read(datagram: &[u8], wide: bool) -> Option<DatagramHeader> {
        let word = |at: usize| Some(u32::from_be_bytes(datagram.get(at..at + 4)?.try_into().ok()?));
        let number = match wide {
            true => u64::from_be_bytes(datagram.get(8..16)?.try_into().ok()?),
            false => u64::from(word(8)?),
        };
        let sent_us = u64::from(word(0)?).wrapping_mul(1_000_000).wrapping_add(u64::from(word(4)?));
        Some(DatagramHeader { sent_us, number })
    }
}

/// What came of a stream of datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Arrived {
    /// The highest number: as many were sent at least.
    pub highest: u64,
    /// Numbers below it that never came, as far as is known.
    pub lost: u64,
    /// Those that came behind a higher number.
    pub out_of_order: u64,
    /// Smoothed variation of the time on the way, microseconds. Source: RFC 1889, A.8.
    pub jitter_us: f64,
}

/// The same while it changes, in the worker's own memory.
#[derive(Debug, Default)]
pub(super) struct Tally {
    arrived: Arrived,
    transit_us: Option<i64>,
}

impl Tally {
    /// A datagram came at this time of the receiver's clock. The two clocks need not agree: only changes count.
    #[inline]
    pub(super) fn count(&mut self, header: DatagramHeader, now_us: u64) {
        let arrived = &mut self.arrived;
        if header.number > arrived.highest {
            arrived.lost += header.number - arrived.highest - 1;
            arrived.highest = header.number;
        } else {
            arrived.out_of_order += 1;
            arrived.lost = arrived.lost.saturating_sub(1);
        }
        let transit = now_us.wrapping_sub(header.sent_us) as i64;
        if let Some(before) = self.transit_us.replace(transit) {
            let change = transit.wrapping_sub(before).unsigned_abs() as f64;
            arrived.jitter_us += (change - arrived.jitter_us) / 16.0;
        }
    }

    /// The response to this request did not come.
    pub(super) fn lose(&mut self, number: u64) {
        self.arrived.highest = number;
        self.arrived.lost += 1;
    }

    /// Publishes it.
    #[inline]
    pub(super) fn publish(&self, cells: &DatagramCells) {
        let Arrived { highest, lost, out_of_order, jitter_us } = self.arrived;
        cells.highest.store(highest, Relaxed);
        cells.lost.store(lost, Relaxed);
        cells.out_of_order.store(out_of_order, Relaxed);
        cells.jitter_bits.store(jitter_us.to_bits(), Relaxed);
    }
}

/// What the coordinator sees of it, in a cache line of its own. Zeroed is "nothing came".
#[repr(C, align(64))]
pub(crate) struct DatagramCells {
    highest: AtomicU64,
    lost: AtomicU64,
    out_of_order: AtomicU64,
    jitter_bits: AtomicU64,
    /// Calls without a copy that the kernel made copies of, and all that it told of.
    copied: AtomicU64,
    told: AtomicU64,
}

// SAFETY: repr(C), nothing but AtomicU64.
#[allow(unsafe_code)]
unsafe impl Shareable for DatagramCells {}

impl DatagramCells {
    /// The kernel tells of this many calls that were to go without a copy, and of how many it copied.
    pub(super) fn tell(&self, copied: u64, told: u64) {
        self.copied.fetch_add(copied, Relaxed);
        self.told.fetch_add(told, Relaxed);
    }

    /// How many of how many.
    pub(super) fn copied(&self) -> [u64; 2] {
        [self.copied.load(Relaxed), self.told.load(Relaxed)]
    }

    pub(super) fn read(&self) -> Arrived {
        Arrived {
            highest: self.highest.load(Relaxed),
            lost: self.lost.load(Relaxed),
            out_of_order: self.out_of_order.load(Relaxed),
            jitter_us: f64::from_bits(self.jitter_bits.load(Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(came: &[(u64, u64, u64)]) -> Arrived {
        let mut tally = Tally::default();
        for &(number, sent_us, now_us) in came {
            tally.count(DatagramHeader { sent_us, number }, now_us);
        }
        tally.arrived
    }

    // Protects the wire: what stock iperf3 sends and expects, in both widths. Source: a capture of 3.12.
    #[test]
    fn headers_are_those_of_iperf3() {
        let header = DatagramHeader { sent_us: 1_023_000_042, number: 7 };
        let mut bytes = [0xff; 16];
        header.write(&mut bytes, false);
        assert_eq!(bytes, [0, 0, 3, 0xff, 0, 0, 0, 42, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(DatagramHeader::read(&bytes, false), Some(header));
        header.write(&mut bytes, true);
        assert_eq!(bytes[8..], [0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(DatagramHeader::read(&bytes, true), Some(header));
        assert_eq!(DatagramHeader::read(&bytes[..11], false), None);
        assert_eq!(DatagramHeader::read(&bytes[..15], true), None);
    }

    // Protects the counts: a gap is a loss until what is missing comes, and numbers that lie do not make them negative.
    #[test]
    fn losses_and_order_follow_from_the_numbers() {
        let arrived = tally(&[(1, 0, 0), (2, 0, 0), (5, 0, 0), (4, 0, 0)]);
        assert_eq!((arrived.highest, arrived.lost, arrived.out_of_order), (5, 1, 1));
        let arrived = tally(&[(1, 0, 0), (1, 0, 0), (0, 0, 0)]);
        assert_eq!((arrived.highest, arrived.lost, arrived.out_of_order), (1, 0, 2));
        let arrived = tally(&[(u64::MAX, 0, 0), (1, u64::MAX, 0)]);
        assert_eq!((arrived.highest, arrived.lost), (u64::MAX, u64::MAX - 2));
    }

    // By hand: transits 100, 100, 132 µs, whatever the clocks' distance: J = 0, then (32 - 0) / 16.
    #[test]
    fn jitter_is_that_of_the_rfc() {
        let arrived = tally(&[(1, 1_000, 1_100), (2, 2_000, 2_100), (3, 3_000, 3_132)]);
        assert_eq!(arrived.jitter_us, 2.0);
        let far = 1 << 40;
        assert_eq!(tally(&[(1, far + 1_000, 1_100), (2, far + 2_000, 2_100), (3, far + 3_000, 3_132)]).jitter_us, 2.0);
    }
}
