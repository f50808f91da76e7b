//! Datagram headers of iperf3 and iperf2, and the receiver's statistics from them.

use crate::clock::monotonic_ns;
use crate::shared::Shareable;
use plumb_workload::net::{DatagramForm, Iperf2Form};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Header of a datagram, in network byte order: seconds, microseconds, and a number of 4 or 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramHeader {
    /// Send time by the sender's monotonic clock, microseconds.
    pub sent_us: u64,
    /// Sequence number, starting at 1.
    pub number: u64,
}

impl DatagramHeader {
    /// Writes the header to the start of a datagram of at least 16 bytes.
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

    /// Reads the header; `None` if the datagram is too short.
    #[inline]
    pub fn read(datagram: &[u8], form: DatagramForm) -> Option<DatagramHeader> {
        let word = |at: usize| Some(u32::from_be_bytes(datagram.get(at..at + 4)?.try_into().ok()?));
        let time = |at| Some(u64::from(word(at)?).wrapping_mul(1_000_000).wrapping_add(u64::from(word(at + 4)?)));
        let (number, sent_us) = match form {
            DatagramForm::Iperf3 => (u64::from(word(8)?), time(0)?),
            DatagramForm::Iperf3Wide => (u64::from_be_bytes(datagram.get(8..16)?.try_into().ok()?), time(0)?),
            DatagramForm::Iperf2(form) | DatagramForm::Iperf2Bursts(form) => {
                let low = word(0)?;
                // Clients before 2.0.10 use 32-bit numbers, and put their settings where
                // newer clients put the upper half.
                let is_wide = word(16).is_some_and(|flags| flags & WIDE_NUMBERS != 0);
                let number =
                    if is_wide { u64::from(word(12)?) << 32 | u64::from(low) } else { i64::from(low as i32) as u64 };
                (number, time(4)?.wrapping_sub(form.ahead_us))
            }
        };
        Some(DatagramHeader { sent_us, number })
    }
}

/// Words in the header of an iperf2 round trip message, and the positions of its times. The client has one time; the
/// server has one for receiving and one for sending. Source: goldens.
const BOUNCE_WORDS: usize = 12;
const BOUNCE_SENT: &[usize] = &[5];
const BOUNCE_ANSWERED: &[usize] = &[7, 9];

/// Writes the header of an iperf2 round trip message; does nothing for other forms.
pub(super) fn begin_bounces(message: &mut [u8], form: DatagramForm) {
    let DatagramForm::Iperf2(Iperf2Form { head, .. }) = form else { return };
    for (bytes, word) in message.chunks_exact_mut(4).zip(head).take(BOUNCE_WORDS) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
}

/// Writes the current time into an iperf2 round trip message, at this end's positions.
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

/// Flag of iperf2's clients: numbers have 64 bits. Source: goldens.
const WIDE_NUMBERS: u32 = 0x0800_0000;

/// Receive statistics of a datagram stream.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Arrived {
    /// Highest number received; the sender sent at least this many.
    pub highest: u64,
    /// Lower numbers that have not arrived so far.
    pub lost: u64,
    /// Datagrams that arrived after a higher number.
    pub out_of_order: u64,
    /// Smoothed variation of the transit time, microseconds. Source: RFC 1889, A.8.
    pub jitter_us: f64,
    /// Whether the last datagram arrived. iperf2 marks it with a negative number.
    pub ended: bool,
    /// Sum of the transit times, microseconds. Meaningful only if both ends share a clock.
    pub transit_us: f64,
    /// Sum of the squared transit times; same condition.
    pub transit_squares: f64,
}

/// Working copy of [`Arrived`] in the worker's own memory.
#[derive(Debug, Default)]
pub(super) struct Tally {
    arrived: Arrived,
    transit_us: Option<i64>,
    /// Minimum and maximum transit time since the last publication.
    extremes: Cell<Option<[i64; 2]>>,
}

/// Maximum number of bins for transit times. The first bin holds times below 0, which differing clocks cause;
/// the last one holds the overflow.
const BINS: usize = 10_002;

impl Tally {
    /// Adds the latest transit time to its bin.
    #[inline]
    pub(super) fn add_to_bin(&self, cells: &DatagramCells, bin_us: u32) {
        if let (Some(transit), 1..) = (self.transit_us, bin_us) {
            let bin = if transit < 0 { 0 } else { (transit as u64 / u64::from(bin_us) + 1).min(BINS as u64 - 1) };
            let bin = &cells.bins[bin as usize];
            // Only one worker writes it.
            bin.store(bin.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }

    /// Counts a datagram that arrived at `now_us` by the receiver's clock. The two clocks
    /// need not agree: only changes count.
    #[inline]
    pub(super) fn count(&mut self, header: DatagramHeader, now_us: u64) {
        let arrived = &mut self.arrived;
        let mut header = header;
        if header.number > i64::MAX as u64 {
            // The sender repeats the last datagram, with new numbers, until it gets an answer.
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

    /// Counts a request whose response did not arrive.
    pub(super) fn count_lost(&mut self, number: u64) {
        self.arrived.highest = number;
        self.arrived.lost += 1;
    }

    /// Copies the statistics to the shared cells.
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

/// Maps a signed number to an unsigned one of the same order. No real value maps to zero, which
/// is the content of fresh memory.
fn ordered(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// Statistics that the coordinator reads, in a cache line of their own. All zero means that nothing arrived.
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
    /// Zero-copy sends that the kernel copied after all, and all sends that it reported on.
    copied: AtomicU64,
    reported: AtomicU64,
    /// Histogram of transit times. Pages that are never written use no memory.
    bins: [AtomicU32; BINS],
}

// SAFETY: repr(C), only AtomicU64 and AtomicU32.
#[allow(unsafe_code)]
unsafe impl Shareable for DatagramCells {}

impl DatagramCells {
    /// Takes the minimum and maximum transit time since the previous call, microseconds.
    pub(super) fn take_extremes(&self) -> Option<[i64; 2]> {
        let (least, most) = (self.least.swap(0, Relaxed), self.most.swap(0, Relaxed));
        (least > 0 && most > 0).then(|| [ordered(!least as i64) as i64, ordered(most as i64) as i64])
    }

    /// Adds the kernel's reports: `total` zero-copy sends, of which it copied `copied`.
    pub(super) fn add_zero_copy(&self, copied: u64, total: u64) {
        self.copied.fetch_add(copied, Relaxed);
        self.reported.fetch_add(total, Relaxed);
    }

    /// Returns how many zero-copy sends the kernel copied, and how many it reported on.
    pub(super) fn copied(&self) -> [u64; 2] {
        [self.copied.load(Relaxed), self.reported.load(Relaxed)]
    }

    /// Returns the non-empty bins with their counts. Bin 0 holds times below 0.
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

    // Protects the wire format: the headers of stock iperf3, in both widths. Source: a capture of 3.12.
    #[test]
    fn headers_match_iperf3() {
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

    // Protects the counts: a gap counts as a loss until the missing datagram arrives, and bogus
    // numbers do not make counts negative.
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

    // Computed by hand: transits of 100, 100, 132 µs for any clock offset give J = 0, then (32 - 0) / 16.
    #[test]
    fn jitter_matches_the_rfc() {
        let arrived = tally(&[(1, 1_000, 1_100), (2, 2_000, 2_100), (3, 3_000, 3_132)]);
        assert_eq!(arrived.jitter_us, 2.0);
        let far = 1 << 40;
        assert_eq!(tally(&[(1, far + 1_000, 1_100), (2, far + 2_000, 2_100), (3, far + 3_000, 3_132)]).jitter_us, 2.0);
    }

    // Protects the wire format: the headers of stock iperf2. Source: a capture of 2.1.8.
    #[test]
    fn headers_match_iperf2() {
        let mut head = [0; 27];
        head[..2].copy_from_slice(&[0x4801_0098, 1]);
        let form = DatagramForm::Iperf2(Iperf2Form { ahead_us: 1_000_000_000, head, bin_us: 0 });
        let header = DatagramHeader { sent_us: 23_000_042, number: 0x1_0000_0007 };
        let mut bytes = [0xff; 32];
        header.write(&mut bytes, form);
        let expected = [0, 0, 0, 7, 0, 0, 3, 0xff, 0, 0, 0, 42, 0, 0, 0, 1, 0x48, 1, 0, 0x98, 0, 0, 0, 1];
        assert_eq!(bytes[..24], expected);
        assert_eq!(DatagramHeader::read(&bytes, form), Some(header));
        // An older client: 32-bit numbers, directly followed by its settings.
        bytes[16..20].fill(0);
        assert_eq!(DatagramHeader::read(&bytes, form).map(|header| header.number), Some(7));
        bytes[..4].copy_from_slice(&(-7i32).to_be_bytes());
        assert_eq!(DatagramHeader::read(&bytes, form).map(|header| header.number as i64), Some(-7));
        assert_eq!(DatagramHeader::read(&bytes[..11], form), None);
    }

    // Protects the end of a stream: it counts once even if repeated, and transit times are kept.
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

    // Protects histograms: each time goes to its bin, with bins of their own for underflow and overflow.
    #[test]
    fn transit_times_go_to_their_bins() {
        let (cells, mut tally) = (fresh_cells(), Tally::default());
        for (number, now_us) in (1..).zip([1_099, 1_100, 1_199, 999, 1_000_000 + 1_000, u64::MAX >> 2]) {
            tally.count(DatagramHeader { sent_us: 1_000, number }, now_us);
            tally.add_to_bin(&cells, 100);
        }
        assert_eq!(cells.bins(), [(0, 1), (1, 1), (2, 2), (10_001, 2)]);
        tally.add_to_bin(&cells, 0);
        assert_eq!(cells.bins().len(), 4, "no bins were requested");
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
            reported: zero(),
            bins: [const { AtomicU32::new(0) }; BINS],
        }
    }
}
