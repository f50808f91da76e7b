//! Parses pages of the kernel's ring buffer of events, as `per_cpu/cpuN/trace_pipe_raw` of tracefs returns them.
//! Source: include/linux/ring_buffer.h and Documentation/trace/ring-buffer-map.rst of Linux.

/// Bytes of a page's header: the time of its first event, and the number of bytes that follow.
const HEAD_BYTES: usize = 16;

/// Length bits of the header's second word. The upper bits report lost events, which are counted elsewhere.
const LENGTH_MASK: u64 = 0xf_ffff;

/// Kinds of entries that are not events.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Passes on each event of a page with its time, ns. Skips the rest of the page after invalid data.
pub fn events(page: &[u8], take: &mut dyn FnMut(u64, &[u8])) {
    let word = |at: usize| page.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let long = |at: usize| page.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
    let (Some(mut time), Some(length)) = (long(0), long(8)) else { return };
    let end = (HEAD_BYTES + (length & LENGTH_MASK) as usize).min(page.len());
    let mut at = HEAD_BYTES;
    while at + 4 <= end {
        let Some(head) = word(at) else { return };
        let (kind, delta) = (head & 0x1f, u64::from(head >> 5));
        let second = word(at + 4).map(u64::from);
        let (from, bytes) = match kind {
            PADDING if delta == 0 => return,
            PADDING | TIME_EXTEND | TIME_STAMP | 0 if second.is_none() => return,
            PADDING => {
                time = time.wrapping_add(delta);
                at += 4 + second.unwrap_or(0) as usize;
                continue;
            }
            TIME_EXTEND => {
                time = time.wrapping_add(delta + (second.unwrap_or(0) << 27));
                at += 8;
                continue;
            }
            TIME_STAMP => {
                // The top five bits are those of the page's time.
                time = time & (0x1f << 59) | delta | second.unwrap_or(0) << 27;
                at += 8;
                continue;
            }
            // The length is a separate word, and includes that word.
            0 => (at + 8, (second.unwrap_or(0) as usize).saturating_sub(4)),
            words => (at + 4, 4 * words as usize),
        };
        time = time.wrapping_add(delta);
        let Some(event) = page.get(from..from.saturating_add(bytes)).filter(|_| from + bytes <= end) else { return };
        take(time, event);
        at = from + bytes.next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(time: u64, words: &[u32]) -> Vec<u8> {
        let mut bytes = time.to_ne_bytes().to_vec();
        // Events before this page were lost.
        bytes.extend_from_slice(&((words.len() * 4) as u64 | 1 << 31).to_ne_bytes());
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
        bytes.resize(4096, 0);
        bytes
    }

    fn parsed(page: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut parsed = Vec::new();
        events(page, &mut |time, event| parsed.push((time, event.to_vec())));
        parsed
    }

    #[test]
    fn times_are_summed_over_all_kinds_of_entries() {
        let words = [
            1 | 5 << 5,
            7, // an event of a word, after 5 ns
            30 | 1 << 5,
            2, // 1 + 2 * 2^27 ns further
            0,
            8,
            9, // an event whose length is a word of its own
            29 | 3 << 5,
            4, // padding of four bytes after its header
            2,
            1,
            2,
            31,
            1, // 2^27 ns exactly
            1,
            3,
            29, // the end
            1,
            4,
        ];
        let times: Vec<_> = parsed(&page(100, &words)).into_iter().map(|(time, event)| (time, event.len())).collect();
        let far = 106 + (2 << 27);
        assert_eq!(times, [(105, 4), (far, 4), (far + 3, 8), (1 << 27, 4)]);
    }

    /// A page written by a real kernel (golden/README.md): six opens, a write, a flush and four block requests, with
    /// a pause of five seconds.
    #[test]
    fn pages_of_a_kernel_are_read() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/trace_pipe_raw.bin");
        let (mut begins, mut numbers, mut last) = (None, Vec::new(), 0);
        events(&std::fs::read(path).unwrap(), &mut |time, event| {
            last = time - *begins.get_or_insert(time);
            numbers.push((u16::from_ne_bytes([event[0], event[1]]), event.len()));
        });
        let count = |event| numbers.iter().filter(|known| **known == event).count();
        assert_eq!((numbers.len(), count((782, 48)), count((781, 24)), last), (19, 6, 6, 5_776_777_432));
    }

    /// Truncates and modifies the page at each position: no event exceeds its page, and nothing panics.
    #[test]
    fn pages_may_end_anywhere() {
        let whole = page(100, &[1 | 5 << 5, 7, 0, 8, 9, 30, 1, 29 | 3 << 5, 4, 2, 1, 2]);
        for end in 0..80 {
            assert!(parsed(&whole[..end]).len() <= 3);
            for byte in [0, 0x1d, 0x1e, 0x1f, 0xff] {
                let mut bent = whole.clone();
                bent[end] = byte;
                parsed(&bent);
            }
        }
    }
}
