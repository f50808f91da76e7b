//! Content that anyone can make again from the seed in a stamp: fio's recipe for it.
//!
//! Facts, found in what fio writes and checked against it in the tests: four lanes begin with the seed times 1, 2, 3 and
//! 5; each gives its word and is then multiplied by a constant. What is left at the end comes from the first lane. Where
//! content can be compressed, a block is random at its start and a pattern, or zeros, behind.

/// What a lane is multiplied by: the golden ratio's part that hashes use.
const STEP: u64 = 0x61c8_8646_80b5_83eb;
const LANES: usize = 4;

/// Fills `buffer` with what follows from `seed`.
pub(super) fn fill(seed: u64, buffer: &mut [u8]) {
    let mut lanes = [1u64, 2, 3, 5].map(|prime| seed.wrapping_mul(prime));
    let (words, rest) = buffer.as_chunks_mut::<8>();
    let (strides, words) = words.as_chunks_mut::<LANES>();
    for stride in strides {
        for (word, lane) in stride.iter_mut().zip(&mut lanes) {
            *word = lane.to_le_bytes();
            *lane = lane.wrapping_mul(STEP);
        }
    }
    let mut lane = lanes[0];
    for word in words {
        *word = lane.to_le_bytes();
        lane = lane.wrapping_mul(STEP);
    }
    rest.copy_from_slice(&lane.to_le_bytes()[..rest.len()]);
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
