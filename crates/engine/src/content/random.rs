//! Content that can be reproduced from the seed in a stamp, with fio's algorithm.
//!
//! The facts are from blocks written by fio, and the tests check them against fio. Four lanes start with the seed times
//! 1, 2, 3 and 5. Each yields its word and is then multiplied by a constant. The remainder at the end comes from the
//! first lane. In compressible content, a block starts with random bytes and ends with a pattern or zeros.

/// Multiplier of a lane: the golden ratio constant used by hash functions.
const STEP: u64 = 0x61c8_8646_80b5_83eb;
const LANES: usize = 4;
const STRIDE_BYTES: usize = LANES * 8;

/// Returns the lanes of a seed, multiplied by a power of [`STEP`].
fn lanes(seed: u64, power: u64) -> [u64; LANES] {
    [1u64, 2, 3, 5].map(|prime| seed.wrapping_mul(prime).wrapping_mul(power))
}

/// Fills `buffer` with the bytes that follow from `seed`.
pub(super) fn fill(seed: u64, buffer: &mut [u8]) {
    let mut lanes = lanes(seed, 1);
    let (words, rest) = buffer.as_chunks_mut::<8>();
    let (strides, words) = words.as_chunks_mut::<LANES>();
    for stride in strides {
        *stride = lanes.map(u64::to_le_bytes);
        lanes = lanes.map(|lane| lane.wrapping_mul(STEP));
    }
    let [mut lane, ..] = lanes;
    for word in words {
        *word = lane.to_le_bytes();
        lane = lane.wrapping_mul(STEP);
    }
    rest.copy_from_slice(&lane.to_le_bytes()[..rest.len()]);
}

/// Returns `true` if `bytes` are the bytes from `position` on of a [`fill`] with `seed`, whether that buffer ends
/// with them or goes on.
pub(super) fn follows(seed: u64, position: u64, bytes: &[u8]) -> bool {
    let (strides, mut skipped) = (position / STRIDE_BYTES as u64, (position % STRIDE_BYTES as u64) as usize);
    let Some(mut lanes) = u32::try_from(strides).ok().map(|strides| lanes(seed, STEP.wrapping_pow(strides))) else {
        return false;
    };
    let mut rest = bytes;
    while !rest.is_empty() {
        let (here, tail) = rest.split_at(rest.len().min(STRIDE_BYTES - skipped));
        let end = skipped + here.len();
        let is_next = lanes.map(u64::to_le_bytes).as_flattened()[skipped..end] == *here;
        if !is_next && (end == STRIDE_BYTES || last_stride(lanes[0])[skipped..end] != *here) {
            return false;
        }
        lanes = lanes.map(|lane| lane.wrapping_mul(STEP));
        (rest, skipped) = (tail, 0);
    }
    true
}

/// Returns `true` if `bytes` are part of a [`fill`] with `seed`, at position `least` or later. The position is derived
/// from the bytes. That is impossible for a seed that has only its highest bits set.
pub(super) fn is_within(seed: u64, least: u64, bytes: &[u8]) -> bool {
    // Try all alignments of the buffer's strides in `bytes`, first the one with whole strides before `least`.
    (0..STRIDE_BYTES as u64).any(|shift| {
        let before = (shift + STRIDE_BYTES as u64 - least % STRIDE_BYTES as u64) % STRIDE_BYTES as u64;
        let first = bytes.get(before as usize..).and_then(|stride| stride.first_chunk());
        first
            .and_then(|word| steps_to(seed, u64::from_le_bytes(*word)))
            .and_then(|steps| (u64::from(steps) * STRIDE_BYTES as u64).checked_sub(before))
            .is_some_and(|position| position >= least && follows(seed, position, bytes))
    })
}

/// Returns the number of steps that the first lane of `seed` takes to reach a word; `None` if it is not within
/// a buffer of 4 GiB.
fn steps_to(seed: u64, word: u64) -> Option<u32> {
    let (mut lane, mut power, mut steps) = (seed, STEP, 0);
    for bit in 0..u32::BITS - STRIDE_BYTES.ilog2() {
        // For an odd number, one step flips bit 1, and 2^n steps flip bit n + 2 and none below it, because the step
        // ends in 0b011. So each bit of the word shows whether one power is included.
        let flipped = seed.trailing_zeros() + if bit == 0 { 1 } else { bit + 2 };
        if (lane ^ word).checked_shr(flipped).is_some_and(|differs| differs & 1 == 1) {
            lane = lane.wrapping_mul(power);
            steps |= 1 << bit;
        }
        power = power.wrapping_mul(power);
    }
    (lane == word).then_some(steps)
}

/// Returns the first lane's bytes at the end of a buffer, where less than a stride remains.
fn last_stride(mut lane: u64) -> [u8; STRIDE_BYTES] {
    let mut bytes = [0; STRIDE_BYTES];
    for word in bytes.as_chunks_mut::<8>().0 {
        *word = lane.to_le_bytes();
        lane = lane.wrapping_mul(STEP);
    }
    bytes
}

/// Fills `buffer` so that `percent` of it is compressible: random bytes, then repetitions of `tail`, or
/// zeros if it is empty.
pub(super) fn fill_in_part(seed: u64, percent: u8, tail: &[u8], buffer: &mut [u8]) {
    let random = buffer.len() as u64 * u64::from(100 - percent.min(100)) / 100;
    let (random, rest) = buffer.split_at_mut(random as usize);
    fill(seed, random);
    repeat(tail, rest);
}

/// Fills `buffer` with repetitions of `pattern`, or with zeros if it is empty.
pub(super) fn repeat(pattern: &[u8], buffer: &mut [u8]) {
    match pattern {
        [] => buffer.fill(0),
        [byte] => buffer.fill(*byte),
        _ => {
            let first = pattern.len().min(buffer.len());
            buffer[..first].copy_from_slice(&pattern[..first]);
            extend(buffer, first);
        }
    }
}

/// Repeats the first `filled` bytes of `buffer` up to its end, doubling the length with each copy.
pub(super) fn extend(buffer: &mut [u8], mut filled: usize) {
    while filled > 0 && filled < buffer.len() {
        let length = filled.min(buffer.len() - filled);
        let (source, target) = buffer.split_at_mut(filled);
        target[..length].copy_from_slice(&source[..length]);
        filled += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lanes_match_fio() {
        // From a file that fio 3.33 wrote with `verify=crc32c`: the header contains the seed, and the words follow it.
        let mut block = [0; 4096];
        fill(0x00a4_cc01_c509_543c, &mut block);
        assert_eq!(
            block[0x2c..0x40],
            [
                0x24, 0x2f, 0xeb, 0xb1, 0x3c, 0x15, 0x45, 0x9c, 0xb6, 0xc6, 0xe0, 0x0a, 0x64, 0x23, 0x73, 0x04, 0xdb,
                0xf5, 0xcb, 0xbc
            ]
        );
    }

    #[test]
    fn every_length_is_filled_and_is_the_start_of_a_longer_one_in_whole_strides() {
        let mut whole = [0; 128];
        fill(12345, &mut whole);
        for length in 0..100 {
            let mut part = vec![0; length];
            fill(12345, &mut part);
            assert_eq!(part[..length / 32 * 32], whole[..length / 32 * 32]);
        }
    }

    /// Seeds that are even, odd, zero, all ones, and with few bits set.
    const SEEDS: [u64; 5] = [0x00a4_cc01_c509_543c, 12345, 0, u64::MAX, 3 << 40];

    #[test]
    fn any_part_of_a_buffer_is_within_its_seed_and_one_changed_bit_is_not() {
        for seed in SEEDS {
            for length in [4096usize, 4095, 1000, 999, 131] {
                let mut whole = vec![0; length];
                fill(seed, &mut whole);
                for start in [0, 1, 8, 31, 32, 41, 48, 50] {
                    for end in [start + 40, start + 64, start + 81, length] {
                        let mut part = whole[start..end].to_vec();
                        let name = format!("seed {seed:#x}, {start}..{end} of {length}");
                        assert!(follows(seed, start as u64, &part), "{name}");
                        assert!(is_within(seed, 0, &part), "{name}");
                        for bit in [0, 7, 8 * part.len() / 2 + 3, 8 * part.len() - 1] {
                            part[bit / 8] ^= 1 << (bit % 8);
                            assert!(!follows(seed, start as u64, &part), "{name}, bit {bit}");
                            assert!(!is_within(seed, 0, &part), "{name}, bit {bit}");
                            part[bit / 8] ^= 1 << (bit % 8);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_part_reveals_its_position() {
        let mut whole = vec![0; 1 << 20];
        fill(SEEDS[0], &mut whole);
        for at in [512, 4096 + 40, 3 * 1000, (1 << 20) - 64] {
            let part = &whole[at..][..64];
            assert!(is_within(SEEDS[0], at as u64, part), "{at}");
            assert!(!is_within(SEEDS[0], at as u64 + 1, part), "{at}: it is before that");
            assert!(!is_within(SEEDS[1], 0, part), "{at}: another seed");
            assert!(!follows(SEEDS[0], at as u64 + 32, part), "{at}: elsewhere");
        }
        for steps in [0, 1, 2, 3, 77, 1 << 20, (1 << 27) - 1] {
            assert_eq!(steps_to(12345, 12345u64.wrapping_mul(STEP.wrapping_pow(steps))), Some(steps));
        }
        assert_eq!(steps_to(12345, 12345u64.wrapping_mul(STEP.wrapping_pow(1 << 27))), None, "beyond 4 GiB");
    }

    #[test]
    fn a_part_is_random_and_the_rest_repeats() {
        let mut block = [9; 1000];
        fill_in_part(77, 30, b"abc", &mut block);
        assert_eq!(&block[700..706], b"abcabc");
        assert!(block[..700].windows(3).filter(|three| *three == b"abc").count() < 3);
        fill_in_part(77, 100, b"", &mut block);
        assert_eq!(block, [0; 1000]);
    }
}
