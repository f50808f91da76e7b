//! Datagrams: the header that each begins with, and what a receiver learns from those that came. The header is iperf3's or
//! iperf2's.

use crate::clock::monotonic_ns;
use crate::shared::Shareable;
use plumb_workload::net::{DatagramForm, Iperf2Form};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

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
    pub fn write(self, into: &mut [u8], form: DatagramForm) {
        if let DatagramForm::Iperf2(Iperf2Form { ahead_us, head, .. }) = form {
            let sent_us = self.sent_us.wrapping_add(ahead_us);
            let [low, high] = [self.number as u32, (self.number >> 32) as u32];
            let time = [(sent_us / 1_000_000) as u32, (sent_us % 1_000_000) as u32];
            let words = [low, time[0], time[1], high].into_iter().chain(head);
            for (bytes, word) in into.chunks_exact_mut(4).zip(words) {
                bytes.copy_from_slice(&word.to_be_bytes());
            }
            return;
        }
        into[..4].copy_from_slice(&((self.sent_us / 1_000_000) as u32).to_be_bytes());
        into[4..8].copy_from_slice(&((self.sent_us % 1_000_000) as u32).to_be_bytes());
        match form {
            DatagramForm::Iperf3Wide => into[8..16].copy_from_slice(&self.number.to_be_bytes()),
            _ => into[8..12].copy_from_slice(&(self.number as u32).to_be_bytes()),
        }
    }

    /// Reads it; `None` where the datagram is too short to have one.
    #[inline]
    pub fn read(datagram: &[u8], form: DatagramForm) -> Option<DatagramHeader> {
        let word = |at: usize| Some(u32::from_be_bytes(datagram.get(at..at + 4)?.try_into().ok()?));
        let time = |at| Some(u64::from(word(at)?).wrapping_mul(1_000_000).wrapping_add(u64::from(word(at + 4)?)));
        let (number, sent_us) = match form {
            DatagramForm::Iperf3 => (u64::from(word(8)?), time(0)?),
            DatagramForm::Iperf3Wide => (u64::from_be_bytes(datagram.get(8..16)?.try_into().ok()?), time(0)?),
            DatagramForm::Iperf2(form) | DatagramForm::Iperf2Bursts(form) => {
                let low = word(0)?;
                // Clients before 2.0.10 have numbers of 32 bits, and what they ask for where others have the rest.
                let is_wide = word(16).is_some_and(|flags| flags & WIDE_NUMBERS != 0);
                let number =
                    if is_wide { u64::from(word(12)?) << 32 | u64::from(low) } else { i64::from(low as i32) as u64 };
                (number, time(4)?.wrapping_sub(form.ahead_us))
            }
        };
        Some(DatagramHeader { sent_us, number })
    }
}

/// Words that a message of iperf2's round trips begins with; the places of its times among them: of the client, and of the server,
/// which has one of receiving and one of sending. Source: goldens.
const BOUNCE_WORDS: usize = 12;
const BOUNCE_SENT: &[usize] = &[5];
const BOUNCE_ANSWERED: &[usize] = &[7, 9];

/// Writes what each message of iperf2's round trips begins with; of all others, nothing.
pub(super) fn begin_bounces(message: &mut [u8], form: DatagramForm) {
    let DatagramForm::Iperf2(Iperf2Form { head, .. }) = form else { return };
    for (bytes, word) in message.chunks_exact_mut(4).zip(head).take(BOUNCE_WORDS) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
}

/// Writes the time at hand into such a message, where this end has its times.
#[inline]
pub(super) fn stamp_bounce(message: &mut [u8], form: DatagramForm, answers: bool) {
    let DatagramForm::Iperf2(Iperf2Form { ahead_us, .. }) = form else { return };
    let now_us = (monotonic_ns() / 1_000).wrapping_add(ahead_us);
    let time = [(now_us / 1_000_000) as u32, (now_us % 1_000_000) as u32];
    for at in if answers { BOUNCE_ANSWERED } else { BOUNCE_SENT } {
        for (bytes, word) in message.chunks_exact_mut(4).skip(*at).zip(time) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
    }
}

/// A flag of iperf2's clients: numbers have 64 bits. Source: goldens.
const WIDE_NUMBERS: u32 = 0x0800_0000;

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
    /// The last one came: it has a negative number, as iperf2 counts.
    pub ended: bool,
    /// Sum of the times on the way, microseconds, and of their squares: worth something where both ends have the same clock.
    pub transit_us: f64,
    /// See above.
    pub transit_squares: f64,
}

/// The same while it changes, in the worker's own memory.
#[derive(Debug, Default)]
pub(super) struct Tally {
    arrived: Arrived,
    transit_us: Option<i64>,
    /// Least and most of the times on the way since they were published.
    extremes: Cell<Option<[i64; 2]>>,
}

/// Bins of times on the way at most: the first is of those below 0, which clocks that differ give, the last of those beyond.
const BINS: usize = 10_002;

impl Tally {
    /// Counts the time on the way of the newest in its bin.
    #[inline]
    pub(super) fn sort(&self, cells: &DatagramCells, bin_us: u32) {
        if let (Some(transit), 1..) = (self.transit_us, bin_us) {
            let bin = if transit < 0 { 0 } else { (transit as u64 / u64::from(bin_us) + 1).min(BINS as u64 - 1) };
            let bin = &cells.bins[bin as usize];
            // One worker writes it.
            bin.store(bin.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }

    /// A datagram came at this time of the receiver's clock. The two clocks need not agree: only changes count.
    #[inline]
    pub(super) fn count(&mut self, header: DatagramHeader, now_us: u64) {
        let arrived = &mut self.arrived;
        let mut header = header;
        if header.number > i64::MAX as u64 {
            // Said again and again, with other numbers, until it is answered.
            if std::mem::replace(&mut arrived.ended, true) {
                return;
            }
            header.number = header.number.wrapping_neg();
        }
        if header.number > arrived.highest {
            arrived.lost += header.number - arrived.highest - 1;
            arrived.highest = header.number;
        } else {
            arrived.out_of_order += 1;
            arrived.lost = arrived.lost.saturating_sub(1);
        }
        let transit = now_us.wrapping_sub(header.sent_us) as i64;
        arrived.transit_us += transit as f64;
        arrived.transit_squares += transit as f64 * transit as f64;
        let [least, most] = self.extremes.get().unwrap_or([transit; 2]);
        self.extremes.set(Some([least.min(transit), most.max(transit)]));
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
        let Arrived { highest, lost, out_of_order, jitter_us, ended, transit_us, transit_squares } = self.arrived;
        cells.transit_bits.store(transit_us.to_bits(), Relaxed);
        cells.squares_bits.store(transit_squares.to_bits(), Relaxed);
        if let Some([least, most]) = self.extremes.take() {
            cells.least.fetch_max(!ordered(least), Relaxed);
            cells.most.fetch_max(ordered(most), Relaxed);
        }
        cells.ended.store(ended.into(), Relaxed);
        cells.highest.store(highest, Relaxed);
        cells.lost.store(lost, Relaxed);
        cells.out_of_order.store(out_of_order, Relaxed);
        cells.jitter_bits.store(jitter_us.to_bits(), Relaxed);
    }
}

/// A number whose order is kept without its sign. Nothing has zero, which is what fresh memory has.
fn ordered(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// What the coordinator sees of it, in a cache line of its own. Zeroed is "nothing came".
#[repr(C, align(64))]
pub(crate) struct DatagramCells {
    highest: AtomicU64,
    lost: AtomicU64,
    out_of_order: AtomicU64,
    jitter_bits: AtomicU64,
    transit_bits: AtomicU64,
    squares_bits: AtomicU64,
    least: AtomicU64,
    most: AtomicU64,
    ended: AtomicU64,
    /// Calls without a copy that the kernel made copies of, and all that it told of.
    copied: AtomicU64,
    told: AtomicU64,
    /// Times on the way. Memory that is not written is not there.
    bins: [AtomicU32; BINS],
}

// SAFETY: repr(C), nothing but AtomicU64 and AtomicU32.
#[allow(unsafe_code)]
unsafe impl Shareable for DatagramCells {}

impl DatagramCells {
    /// The shortest and the longest time on the way since this was last asked, microseconds.
    pub(super) fn take_extremes(&self) -> Option<[i64; 2]> {
        let (least, most) = (self.least.swap(0, Relaxed), self.most.swap(0, Relaxed));
        (least > 0 && most > 0).then(|| [ordered(!least as i64) as i64, ordered(most as i64) as i64])
    }

    /// The kernel tells of this many calls that were to go without a copy, and of how many it copied.
    pub(super) fn tell(&self, copied: u64, told: u64) {
        self.copied.fetch_add(copied, Relaxed);
        self.told.fetch_add(told, Relaxed);
    }

    /// How many of how many.
    pub(super) fn copied(&self) -> [u64; 2] {
        [self.copied.load(Relaxed), self.told.load(Relaxed)]
    }

    /// How many times on the way are in each bin that is not empty. Bin 0 is of those below 0.
    pub(super) fn bins(&self) -> Vec<(u32, u32)> {
        let counts = (0..).zip(self.bins.iter().map(|count| count.load(Relaxed)));
        counts.filter(|&(_, count)| count > 0).collect()
    }

    pub(super) fn read(&self) -> Arrived {
        Arrived {
            highest: self.highest.load(Relaxed),
            lost: self.lost.load(Relaxed),
            out_of_order: self.out_of_order.load(Relaxed),
            jitter_us: f64::from_bits(self.jitter_bits.load(Relaxed)),
            ended: self.ended.load(Relaxed) != 0,
            transit_us: f64::from_bits(self.transit_bits.load(Relaxed)),
            transit_squares: f64::from_bits(self.squares_bits.load(Relaxed)),
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
        header.write(&mut bytes, DatagramForm::Iperf3);
        assert_eq!(bytes, [0, 0, 3, 0xff, 0, 0, 0, 42, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(DatagramHeader::read(&bytes, DatagramForm::Iperf3), Some(header));
        header.write(&mut bytes, DatagramForm::Iperf3Wide);
        assert_eq!(bytes[8..], [0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(DatagramHeader::read(&bytes, DatagramForm::Iperf3Wide), Some(header));
        assert_eq!(DatagramHeader::read(&bytes[..11], DatagramForm::Iperf3), None);
        assert_eq!(DatagramHeader::read(&bytes[..15], DatagramForm::Iperf3Wide), None);
    }

    // Protects the counts: a gap is a loss until what is missing comes, and numbers that lie do not make them negative.
    #[test]
    fn losses_and_order_follow_from_the_numbers() {
        let arrived = tally(&[(1, 0, 0), (2, 0, 0), (5, 0, 0), (4, 0, 0)]);
        assert_eq!((arrived.highest, arrived.lost, arrived.out_of_order), (5, 1, 1));
        let arrived = tally(&[(1, 0, 0), (1, 0, 0), (0, 0, 0)]);
        assert_eq!((arrived.highest, arrived.lost, arrived.out_of_order), (1, 0, 2));
        let most = i64::MAX as u64;
        let arrived = tally(&[(most, 0, 0), (1, u64::MAX, 0)]);
        assert_eq!((arrived.highest, arrived.lost), (most, most - 2));
    }

    // By hand: transits 100, 100, 132 µs, whatever the clocks' distance: J = 0, then (32 - 0) / 16.
    #[test]
    fn jitter_is_that_of_the_rfc() {
        let arrived = tally(&[(1, 1_000, 1_100), (2, 2_000, 2_100), (3, 3_000, 3_132)]);
        assert_eq!(arrived.jitter_us, 2.0);
        let far = 1 << 40;
        assert_eq!(tally(&[(1, far + 1_000, 1_100), (2, far + 2_000, 2_100), (3, far + 3_000, 3_132)]).jitter_us, 2.0);
    }

    // Protects the wire: what stock iperf2 sends and expects. Source: a capture of 2.1.8.
    #[test]
    fn headers_are_those_of_iperf2() {
        let mut head = [0; 27];
        head[..2].copy_from_slice(&[0x4801_0098, 1]);
        let form = DatagramForm::Iperf2(Iperf2Form { ahead_us: 1_000_000_000, head, bin_us: 0 });
        let header = DatagramHeader { sent_us: 23_000_042, number: 0x1_0000_0007 };
        let mut bytes = [0xff; 32];
        header.write(&mut bytes, form);
        let expected = [0, 0, 0, 7, 0, 0, 3, 0xff, 0, 0, 0, 42, 0, 0, 0, 1, 0x48, 1, 0, 0x98, 0, 0, 0, 1];
        assert_eq!(bytes[..24], expected);
        assert_eq!(DatagramHeader::read(&bytes, form), Some(header));
        // An older client: 32 bits, and what it asks for right behind them.
        bytes[16..20].fill(0);
        assert_eq!(DatagramHeader::read(&bytes, form).map(|header| header.number), Some(7));
        bytes[..4].copy_from_slice(&(-7i32).to_be_bytes());
        assert_eq!(DatagramHeader::read(&bytes, form).map(|header| header.number as i64), Some(-7));
        assert_eq!(DatagramHeader::read(&bytes[..11], form), None);
    }

    // Protects the end of a stream: it is counted once however often it is said, and times on the way are kept.
    #[test]
    fn a_negative_number_is_the_last() {
        let last = |number: i64| number.wrapping_neg() as u64;
        let arrived = tally(&[(1, 0, 10), (2, 0, 30), (last(4), 0, 20), (last(5), 0, 900)]);
        assert_eq!((arrived.highest, arrived.lost, arrived.ended), (4, 1, true));
        assert_eq!((arrived.transit_us, arrived.transit_squares), (60.0, 1400.0));
        let cells = fresh_cells();
        let mut tally = Tally::default();
        for now_us in [5, 3, 9] {
            tally.count(DatagramHeader { sent_us: 4, number: now_us }, now_us);
        }
        tally.publish(&cells);
        assert_eq!(cells.take_extremes(), Some([-1, 5]));
        assert_eq!(cells.take_extremes(), None);
    }

    // Protects histograms: each time is in the bin that it belongs to, and those that are too short or too long in their own.
    #[test]
    fn times_on_the_way_are_sorted() {
        let (cells, mut tally) = (fresh_cells(), Tally::default());
        for (number, now_us) in (1..).zip([1_099, 1_100, 1_199, 999, 1_000_000 + 1_000, u64::MAX >> 2]) {
            tally.count(DatagramHeader { sent_us: 1_000, number }, now_us);
            tally.sort(&cells, 100);
        }
        assert_eq!(cells.bins(), [(0, 1), (1, 1), (2, 2), (10_001, 2)]);
        tally.sort(&cells, 0);
        assert_eq!(cells.bins().len(), 4, "none are asked for");
    }

    fn fresh_cells() -> DatagramCells {
        let zero = || AtomicU64::new(0);
        DatagramCells {
            highest: zero(),
            lost: zero(),
            out_of_order: zero(),
            jitter_bits: zero(),
            transit_bits: zero(),
            squares_bits: zero(),
            least: zero(),
            most: zero(),
            ended: zero(),
            copied: zero(),
            told: zero(),
            bins: [const { AtomicU32::new(0) }; BINS],
        }
    }
}
