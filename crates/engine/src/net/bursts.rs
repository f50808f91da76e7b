//! Bursts: blocks of an iperf2 TCP stream. Each begins with its length and its send time. Source: captures of 2.1.8.

use super::datagram::DatagramHeader;
use crate::clock::monotonic_ns;
use plumb_workload::net::{BLOCK_BYTES_MAX, BURST_HEAD_BYTES, Iperf2Form};

/// Words in a burst's head, and the positions of its time, number and length.
const WORDS: usize = BURST_HEAD_BYTES as usize / 4;
const SENT: usize = 5;
const NUMBER: usize = 11;
const LENGTH: usize = 12;

/// Maximum length of the introduction before a stream's first burst.
const INTRODUCTION_BYTES_MAX: u32 = 512;

/// Writes the head of a burst that is sent now.
#[inline]
pub(super) fn begin_burst(block: &mut [u8], form: &Iperf2Form, number: u64) {
    let now_us = (monotonic_ns() / 1_000).wrapping_add(form.ahead_us);
    let mut words = form.head;
    words[SENT] = (now_us / 1_000_000) as u32;
    words[SENT + 1] = (now_us % 1_000_000) as u32;
    words[NUMBER] = number as u32;
    words[LENGTH] = block.len() as u32;
    for (bytes, word) in block.chunks_exact_mut(4).zip(words).take(WORDS) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
}

/// The next part expected in a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Next {
    /// The first word, which holds the length of the introduction.
    Introduction,
    Head,
    /// Number of payload bytes, and whether a burst ends with them.
    Bytes(u32, bool),
    /// The stream is not iperf2's, and there is no way to resynchronize.
    Unknown,
}

/// Finds bursts in a stream, wherever calls split it.
#[derive(Debug)]
pub(super) struct Bursts {
    next: Next,
    head: [u8; BURST_HEAD_BYTES as usize],
    /// Bytes of the head received so far.
    got: usize,
    sent_us: u64,
    number: u64,
}

impl Bursts {
    pub(super) fn new() -> Bursts {
        Bursts { next: Next::Introduction, head: [0; BURST_HEAD_BYTES as usize], got: 0, sent_us: 0, number: 0 }
    }

    fn word(&self, at: usize) -> u32 {
        let bytes = &self.head[at * 4..at * 4 + 4];
        u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Calls `ended` with the number and send time of each burst whose last byte is in `bytes`.
    pub(super) fn parse(&mut self, mut bytes: &[u8], ahead_us: u64, mut ended: impl FnMut(DatagramHeader)) {
        while !bytes.is_empty() {
            let wanted = match self.next {
                Next::Introduction => 4,
                Next::Head => self.head.len(),
                Next::Bytes(left, is_burst) => {
                    let taken = bytes.len().min(left as usize);
                    bytes = &bytes[taken..];
                    self.next = Next::Bytes(left - taken as u32, is_burst);
                    self.finish_part(&mut ended);
                    continue;
                }
                Next::Unknown => return,
            };
            let taken = bytes.len().min(wanted - self.got);
            self.head[self.got..self.got + taken].copy_from_slice(&bytes[..taken]);
            (self.got, bytes) = (self.got + taken, &bytes[taken..]);
            if self.got == wanted {
                self.got = 0;
                self.next = self.next_part(ahead_us);
                self.finish_part(&mut ended);
            }
        }
    }

    /// Returns the part after the head just received.
    fn next_part(&mut self, ahead_us: u64) -> Next {
        if self.next == Next::Introduction {
            let length = (self.word(0) & 0xfffe) >> 1;
            return match (4..=INTRODUCTION_BYTES_MAX).contains(&length) {
                true => Next::Bytes(length - 4, false),
                false => Next::Unknown,
            };
        }
        let time_us = u64::from(self.word(SENT)) * 1_000_000 + u64::from(self.word(SENT + 1));
        self.sent_us = time_us.wrapping_sub(ahead_us);
        match self.word(LENGTH) {
            length @ BURST_HEAD_BYTES..=BLOCK_BYTES_MAX => Next::Bytes(length - BURST_HEAD_BYTES, true),
            _ => Next::Unknown,
        }
    }

    /// Expects the next head once all bytes of a part have arrived.
    fn finish_part(&mut self, ended: &mut impl FnMut(DatagramHeader)) {
        let Next::Bytes(0, is_burst) = self.next else { return };
        self.next = Next::Head;
        if is_burst {
            // Number the bursts in order of arrival: a stream loses none.
            self.number += 1;
            ended(DatagramHeader { sent_us: self.sent_us, number: self.number });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> Iperf2Form {
        let mut head = [0; 27];
        head[..3].copy_from_slice(&[0x4001_00a0, 1, 5001]);
        Iperf2Form { ahead_us: 1_795_000_000_000_000, head, bin_us: 0 }
    }

    fn stream(lengths: &[usize]) -> Vec<u8> {
        let mut bytes = vec![0; 80];
        bytes[..4].copy_from_slice(&0x4001_00a0u32.to_be_bytes());
        for (number, &length) in lengths.iter().enumerate() {
            let mut block = vec![b'0'; length];
            begin_burst(&mut block, &form(), number as u64 + 1);
            bytes.extend(block);
        }
        bytes
    }

    fn counted(bytes: &[u8], cut: usize) -> (u64, u64) {
        let mut bursts = Bursts::new();
        let (mut count, mut on_the_way_us) = (0, 0);
        let now_us = monotonic_ns() / 1_000 + 500;
        for part in bytes.chunks(cut) {
            bursts.parse(part, form().ahead_us, |header| {
                count += 1;
                assert_eq!(header.number, count);
                on_the_way_us += now_us - header.sent_us;
            });
        }
        (count, on_the_way_us)
    }

    // Protects the wire format: the positions are those of a capture of 2.1.8.
    #[test]
    fn burst_heads_match_iperf2() {
        let bytes = stream(&[1000]);
        let word = |at: usize| u32::from_be_bytes(bytes[80 + at * 4..84 + at * 4].try_into().unwrap());
        assert_eq!([word(0), word(2), word(11), word(12), word(22)], [0x4001_00a0, 5001, 1, 1000, 0]);
        assert!(word(5) >= 1_795_000_000 && word(6) < 1_000_000);
        assert_eq!(&bytes[80 + 92..80 + 96], b"0000");
    }

    // Protects the count: bursts are found however the stream is split, and an unfinished one is not counted.
    #[test]
    fn bursts_are_found_wherever_a_call_ends() {
        let bytes = stream(&[1000, 92, 93, 131_072]);
        for cut in [1, 3, 79, 80, 91, 92, 93, 1000, 131_072, bytes.len()] {
            let (count, on_the_way_us) = counted(&bytes, cut);
            assert_eq!(count, 4, "{cut}");
            assert!(on_the_way_us >= 4 * 500, "{cut}: {on_the_way_us} µs");
            assert_eq!(counted(&bytes[..bytes.len() - 1], cut).0, 3, "{cut}");
        }
    }

    // Protects the server: a head with a bogus length, and data that is not a head, stop the
    // counting and do no other harm.
    #[test]
    fn malformed_bursts_are_not_counted() {
        for length in [0u32, 91, BLOCK_BYTES_MAX + 1, u32::MAX] {
            let mut bytes = stream(&[1000, 1000]);
            bytes[80 + 1000 + LENGTH * 4..][..4].copy_from_slice(&length.to_be_bytes());
            assert_eq!(counted(&bytes, 500).0, 1, "{length}");
        }
        for byte in [0, 0xff, b'0'] {
            assert_eq!(counted(&[byte; 5000], 7).0, 0, "{byte}");
        }
    }
}
