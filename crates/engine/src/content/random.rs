//! Content that anyone can make again from the seed in a stamp: fio's recipe for it.
//!
//! Facts, found in what fio writes and checked against it in the tests: four lanes begin with the seed times 1, 2, 3 and
//! 5; each gives its word and is then multiplied by a constant. What is left at the end comes from the first lane. Where
//! content can be compressed, a block is random at its start and a pattern, or zeros, behind.

/// What a lane is multiplied by: the golden ratio's part that hashes use.
const STEP: u64 = 0x61c8_8646_80b5_83eb;
const LANES: usize = 4;
const STRIDE_BYTES: usize = LANES * 8;

/// The lanes of a seed, multiplied by a power of the step.
fn lanes(seed: u64, power: u64) -> [u64; LANES] {
    [1u64, 2, 3, 5].map(|prime| seed.wrapping_mul(prime).wrapping_mul(power))
}

/// Fills `buffer` with what follows from `seed`.
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

/// Whether `bytes` are those from a position on of what [`fill`] makes of `seed`, be that longer or at its end there.
pub(super) fn follows(seed: u64, position: u64, bytes: &[u8]) -> bool {
    let (strides, mut skipped) = (position / STRIDE_BYTES as u64, (position % STRIDE_BYTES as u64) as usize);
    let Some(mut lanes) = u32::try_from(strides).ok().map(|strides| lanes(seed, STEP.wrapping_pow(strides))) else {
        return false;
    };
    let mut rest = bytes;
    while !rest.is_empty() {
        let (here, behind) = rest.split_at(rest.len().min(STRIDE_BYTES - skipped));
        let end = skipped + here.len();
        let is_next = lanes.map(u64::to_le_bytes).as_flattened()[skipped..end] == *here;
        if !is_next && (end == STRIDE_BYTES || last_stride(lanes[0])[skipped..end] != *here) {
            return false;
        }
        lanes = lanes.map(|lane| lane.wrapping_mul(STEP));
        (rest, skipped) = (behind, 0);
    }
    true
}

/// Whether `bytes` are a part of what [`fill`] makes of `seed`, from `least` or a later position on: which one, they say
/// themselves. A seed whose only bits are its very highest ones does not let them.
pub(super) fn is_within(seed: u64, least: u64, bytes: &[u8]) -> bool {
    // Where the buffer's strides lie in `bytes`: first as they do if what lies before `least` are whole ones.
    (0..STRIDE_BYTES as u64).any(|shift| {
        let before = (shift + STRIDE_BYTES as u64 - least % STRIDE_BYTES as u64) % STRIDE_BYTES as u64;
        let first = bytes.get(before as usize..).and_then(|stride| stride.first_chunk());
        first
            .and_then(|word| steps_to(seed, u64::from_le_bytes(*word)))
            .and_then(|steps| (u64::from(steps) * STRIDE_BYTES as u64).checked_sub(before))
            .is_some_and(|position| position >= least && follows(seed, position, bytes))
    })
}

/// How many steps the first lane of `seed` takes to a word; none where that is not within a buffer of 4 GiB.
fn steps_to(seed: u64, word: u64) -> Option<u32> {
    let (mut lane, mut power, mut steps) = (seed, STEP, 0);
    for bit in 0..u32::BITS - STRIDE_BYTES.ilog2() {
        // Of an odd number, one step turns bit 1, and a step's power 2^n bit n + 2 and none below it, because a step ends in
        // 0b011. So each bit of the word says whether one power is in it.
        let turned = seed.trailing_zeros() + if bit == 0 { 1 } else { bit + 2 };
        if (lane ^ word).checked_shr(turned).is_some_and(|differs| differs & 1 == 1) {
            lane = lane.wrapping_mul(power);
            steps |= 1 << bit;
        }
        power = power.wrapping_mul(power);
    }
    (lane == word).then_some(steps)
}

/// What the first lane leaves at the end of a buffer, where less than a stride is left.
fn last_stride(mut lane: u64) -> [u8; STRIDE_BYTES] {
    let mut bytes = [0; STRIDE_BYTES];
    for word in bytes.as_chunks_mut::<8>().0 {
        *word = lane.to_le_bytes();
        lane = lane.wrapping_mul(STEP);
    }
    bytes
}

/// Fills `buffer` so that `percent` of it can be compressed: behind what is random lies `tail`, again and again, or zeros
/// where it is empty.
pub(super) fn fill_in_part(seed: u64, percent: u8, tail: &[u8], buffer: &mut [u8]) {
    let random = buffer.len() as u64 * u64::from(100 - percent.min(100)) / 100;
    let (random, rest) = buffer.split_at_mut(random as usize);
    fill(seed, random);
    repeat(tail, rest);
}

/// Fills `buffer` with `pattern`, again and again; with zeros where it is empty.
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

/// Repeats the first `filled` bytes of `buffer` to its end, in strides that double.
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
    fn the_lanes_are_those_of_fio() {
        // From a file that fio 3.33 wrote with `verify=crc32c`: the header says the seed, the words follow it.
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

    /// Even, odd, without a bit of its own, with all, and with few.
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
    fn a_part_says_where_it_lies() {
        let mut whole = vec![0; 1 << 20];
        fill(SEEDS[0], &mut whole);
        for at in [512, 4096 + 40, 3 * 1000, (1 << 20) - 64] {
            let part = &whole[at..][..64];
            assert!(is_within(SEEDS[0], at as u64, part), "{at}");
            assert!(!is_within(SEEDS[0], at as u64 + 1, part), "{at}: it lies before");
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
