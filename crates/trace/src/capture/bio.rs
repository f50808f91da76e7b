//! The kernel's bios: block device requests in the layout of its structures.

/// A bio that was stored while the device worked on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingBio {
    pub(super) begin_ns: u64,
    /// Process and thread, packed like the kernel does.
    pub(super) task: u64,
    pub(super) sector: u64,
    pub(super) length: u32,
    pub(super) operation: u32,
    /// Major and minor number, packed like the kernel does.
    pub(super) device: u32,
}

impl PendingBio {
    /// Reads an entry of the programs' table: the bio's number, and the fields in their order. `None`
    /// if the entry is free.
    pub(super) fn new([number, begin_ns, task, sector, lengths, device]: [u64; 6]) -> Option<PendingBio> {
        let (length, operation) = (lengths as u32, (lengths >> 32) as u32);
        (number != 0).then_some(PendingBio { begin_ns, task, sector, length, operation, device: device as u32 })
    }
}

/// Bits of a request's operation and flags, as the running kernel numbers them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RequestBits {
    flush: u32,
    durable: u32,
    ahead: u32,
    metadata: u32,
}

impl RequestBits {
    /// Unpacks the two words in which the programs store them.
    pub(super) fn new(first: u64, second: u64) -> RequestBits {
        RequestBits {
            flush: first as u32,
            durable: (first >> 32) as u32,
            ahead: second as u32,
            metadata: (second >> 32) as u32,
        }
    }

    /// Returns the letters of the kernel's events. Source: linux/blk_types.h and blk_fill_rwbs() of Linux.
    pub(super) fn letters(self, operation: u32) -> String {
        let is = |bit: u32| operation & bit != 0;
        let mut letters = if is(self.flush) { String::from("F") } else { String::new() };
        letters.push(match operation & 0xff {
            0 => 'R',
            1 => 'W',
            2 => 'F',
            3 | 5 => 'D',
            _ => 'N',
        });
        for (bit, letter) in [(self.durable, 'F'), (self.ahead, 'A'), (self.metadata, 'M')] {
            if is(bit) {
                letters.push(letter);
            }
        }
        letters
    }
}

/// Returns the error number for a status of the block layer. Source: blk_errors of block/blk-core.c of Linux.
pub(super) fn error_of_status(status: u32) -> i64 {
    let numbers = [0, 95, 110, 28, 67, 121, 52, 61, 84, 12];
    numbers.get(status as usize).copied().unwrap_or(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_bios_are_read() {
        let entry = [5, 100, 7 << 32 | 8, 2048, 1 << 32 | 4096, 9];
        let kept = PendingBio { begin_ns: 100, task: 7 << 32 | 8, sector: 2048, length: 4096, operation: 1, device: 9 };
        assert_eq!(PendingBio::new(entry), Some(kept));
        assert_eq!(PendingBio::new([0, 100, 1, 2, 3, 4]), None, "the entry is free");
    }

    /// Compares with the kernel's own output.
    #[test]
    fn operations_have_the_kernel_s_letters() {
        let bits = RequestBits::new(1 << 18 | 1 << (32 + 17), 1 << 19 | 1 << (32 + 12));
        assert_eq!(bits, RequestBits { flush: 1 << 18, durable: 1 << 17, ahead: 1 << 19, metadata: 1 << 12 });
        let letters =
            [0, 1, 1 | 1 << 18, 1 | 1 << 17 | 1 << 18 | 1 << 12, 3, 1 << 19, 9].map(|word| bits.letters(word));
        assert_eq!(letters, ["R", "W", "FW", "FWFM", "D", "RA", "N"]);
        assert_eq!([0, 3, 10, 99].map(error_of_status), [0, 28, 5, 5]);
    }
}
