//! Bits, the lowest of each byte first, and whole numbers of variable length (LEB128).

/// Appends a whole number: seven bits per byte, the lowest first. The eighth bit marks that more follow.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a number that [`put_varint`] wrote.
pub(crate) fn varint(input: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            // The tenth byte has one bit left.
            return (shift < 63 || byte < 2).then_some(value);
        }
    }
    None
}

/// Takes bytes from the front.
pub(crate) fn take<'a>(input: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (front, rest) = input.split_at_checked(usize::try_from(count).ok()?)?;
    *input = rest;
    Some(front)
}

/// Appends bits to a buffer.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    pub(crate) bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl BitWriter {
    /// Appends the lowest `count` bits of `value`, at most 32. All other bits must be 0.
    pub(crate) fn put(&mut self, value: u64, count: u32) {
        self.held |= value << self.count;
        self.count += count;
        if self.count >= 32 {
            self.bytes.extend_from_slice(&(self.held as u32).to_le_bytes());
            self.held >>= 32;
            self.count -= 32;
        }
    }

    /// Fills the last byte with zero bits.
    pub(crate) fn finish(&mut self) {
        let rest = self.held.to_le_bytes();
        self.bytes.extend_from_slice(&rest[..self.count.div_ceil(8) as usize]);
        (self.held, self.count) = (0, 0);
    }
}

/// Reads bits. Beyond the end it returns zeros, and [`is_overdrawn`](BitReader::is_overdrawn) returns `true`.
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Index of the next byte to load.
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, at: 0, held: 0, count: 0 }
    }

    /// Loads bits, so that at least 56 are ready.
    #[inline(always)]
    pub(crate) fn refill(&mut self) {
        let word = match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(word) => u64::from_le_bytes(*word),
            None => self.tail(),
        };
        self.held |= word << self.count;
        self.at += ((63 - self.count) >> 3) as usize;
        self.count |= 56;
    }

    #[cold]
    fn tail(&self) -> u64 {
        let mut word = [0; 8];
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        word[..rest.len()].copy_from_slice(rest);
        u64::from_le_bytes(word)
    }

    /// Returns the number of ready bits.
    #[inline(always)]
    pub(crate) fn ready(&self) -> u32 {
        self.count
    }

    /// Returns the next bits without consuming them.
    #[inline(always)]
    pub(crate) fn peek(&self, mask: u64) -> u64 {
        self.held & mask
    }

    /// Consumes bits, at most as many as are ready.
    #[inline(always)]
    pub(crate) fn drop(&mut self, count: u32) {
        self.held >>= count;
        self.count -= count;
    }

    /// Whether more bits were consumed than exist.
    pub(crate) fn is_overdrawn(&self) -> bool {
        self.at.saturating_mul(8).saturating_sub(self.count as usize) > self.bytes.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_round_trip_and_longer_ones_are_rejected() {
        for value in [0, 1, 127, 128, 1 << 35, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(varint(&mut bytes.as_slice()), Some(value));
            assert_eq!(varint(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(varint(&mut [0xff; 10].as_slice()), None);
        assert_eq!(varint(&mut [0x80; 11].as_slice()), None);
    }

    #[test]
    fn bits_round_trip_and_the_end_is_detected() {
        let mut writer = BitWriter::default();
        let values: Vec<(u64, u32)> = (0..200_u32).map(|n| (u64::from(n) % (1 << (n % 13)), n % 13)).collect();
        values.iter().for_each(|(value, count)| writer.put(*value, *count));
        writer.finish();
        let mut reader = BitReader::new(&writer.bytes);
        for (value, count) in values {
            reader.refill();
            assert_eq!(reader.peek((1 << count) - 1), value);
            reader.drop(count);
        }
        assert!(!reader.is_overdrawn());
        reader.refill();
        reader.drop(12);
        assert!(reader.is_overdrawn());
    }
}
