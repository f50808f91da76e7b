//! One column of a chunk: numbers, as Huffman-coded symbols followed by plain bits.
//!
//! Frequent values are symbols of their own. Any other value is a symbol for its number of bits, followed by the bits
//! below the highest. Multiples of a power of two, such as offsets, omit the bits that are always 0. For the
//! compression ratio and a comparison see docs/format-trace.md.

use super::bits::{BitReader, BitWriter, put_varint, take, varint};
use super::huffman::{LONGEST, codes, lengths};

/// Maximum number of values with symbols of their own.
const FREQUENT_MAX: usize = 192;

/// Symbols for magnitudes: 0 to 64 bits, each with or without its lowest bits, positive or negative.
const CLASSES: usize = 65 * 4;

/// Kinds of columns.
const CONSTANT: u8 = 0;
const CODED: u8 = 1;

/// Whether a column's values may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Unsigned,
    Signed,
}

/// Returns a value without its sign, and whether it is negative.
fn magnitude(value: u64, sign: Sign) -> (u64, bool) {
    if sign == Sign::Signed && (value as i64) < 0 { (value.wrapping_neg(), true) } else { (value, false) }
}

/// Returns the class of a value, its bits below the highest, and their number.
fn class(value: u64, sign: Sign, shift: u32) -> (usize, u64, u32) {
    let (magnitude, is_negative) = magnitude(value, sign);
    let is_coarse = shift > 0 && magnitude > 0 && magnitude.trailing_zeros() >= shift;
    let kept = if is_coarse { magnitude >> shift } else { magnitude };
    let bits = 64 - kept.leading_zeros();
    let below = bits.saturating_sub(1);
    let low = if below == 0 { 0 } else { kept & (u64::MAX >> (64 - below)) };
    (bits as usize * 4 + usize::from(is_coarse) * 2 + usize::from(is_negative), low, below)
}

/// Maximum number of values counted to find the frequent ones.
const SAMPLE: usize = 4096;

/// Maps values to numbers, in a table twice as large as needed.
struct ByValue {
    slots: Vec<(u64, u32)>,
}

impl ByValue {
    fn with_capacity(count: usize) -> ByValue {
        ByValue { slots: vec![(0, 0); (count * 2).next_power_of_two()] }
    }

    /// Returns a value's number; 0 if it has none yet.
    #[inline]
    fn number(&mut self, value: u64) -> &mut u32 {
        let mask = self.slots.len() - 1;
        let mut slot = (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[slot].1 > 0 && self.slots[slot].0 != value {
            slot = (slot + 1) & mask;
        }
        self.slots[slot].0 = value;
        &mut self.slots[slot].1
    }
}

/// Returns the values that deserve symbols of their own, in order.
fn frequent(values: &[u64], sign: Sign) -> Vec<u64> {
    let step = values.len().div_ceil(SAMPLE).max(1);
    let mut census = ByValue::with_capacity(SAMPLE);
    values.iter().step_by(step).for_each(|&value| *census.number(value) += 1);
    // Bits saved by a symbol: those at each occurrence, minus its entry in the tables.
    let worth = |&(value, count): &(u64, u32)| u64::from(count) * step as u64 * u64::from(class(value, sign, 0).2) / 2;
    // A single occurrence in a sample may be chance.
    let least = if step > 1 { 2 } else { 1 };
    let is_worth_it = |slot: &&(u64, u32)| slot.1 >= least && worth(slot) > 24;
    let mut frequent: Vec<(u64, u32)> = census.slots.iter().filter(is_worth_it).copied().collect();
    frequent.sort_by_key(|slot| (u64::MAX - worth(slot), slot.0));
    frequent.truncate(FREQUENT_MAX);
    let mut frequent: Vec<u64> = frequent.into_iter().map(|(value, _)| value).collect();
    frequent.sort_unstable();
    frequent
}

/// Encodes a column and appends it.
pub(crate) fn encode(values: &[u64], sign: Sign, out: &mut Vec<u8>) {
    let first = values.first().copied().unwrap_or(0);
    if values.iter().all(|&value| value == first) {
        out.push(CONSTANT);
        return put_varint(out, first);
    }
    let frequent = frequent(values, sign);
    let mut named = ByValue::with_capacity(FREQUENT_MAX + 1);
    frequent.iter().enumerate().for_each(|(symbol, value)| *named.number(*value) = symbol as u32 + 1);
    let shift = shift(values, sign, &frequent);
    let mut counts = vec![0_u32; frequent.len() + CLASSES];
    let symbol_of = |value: u64| match *named.number(value) {
        0 => frequent.len() + class(value, sign, shift).0,
        number => number as usize - 1,
    };
    let symbols: Vec<u16> = values.iter().copied().map(symbol_of).map(|symbol| symbol as u16).collect();
    symbols.iter().for_each(|&symbol| counts[usize::from(symbol)] += 1);
    let lengths = lengths(&counts);
    let codes = codes(&lengths).unwrap_or_default();

    out.push(CODED);
    out.push(shift as u8);
    put_varint(out, frequent.len() as u64);
    let mut last = 0;
    for value in &frequent {
        put_varint(out, value - last);
        last = *value;
    }
    put_lengths(&counts, &lengths, out);
    let mut bits = BitWriter::default();
    bits.bytes.reserve(values.len() * 2);
    for (&value, &symbol) in values.iter().zip(&symbols) {
        let symbol = usize::from(symbol);
        bits.put(codes[symbol].into(), lengths[symbol].into());
        if symbol >= frequent.len() {
            let (_, low, below) = class(value, sign, shift);
            let first = below.min(32);
            bits.put(low & 0xffff_ffff, first);
            bits.put(low >> 32, below - first);
        }
    }
    bits.finish();
    put_varint(out, bits.bytes.len() as u64);
    out.extend_from_slice(&bits.bytes);
}

/// Returns the best number of low zero bits to omit.
fn shift(values: &[u64], sign: Sign, frequent: &[u64]) -> u32 {
    let mut zeros = [0_u64; 65];
    for &value in values.iter().step_by(values.len().div_ceil(SAMPLE).max(1)) {
        if value != 0 && frequent.binary_search(&value).is_err() {
            zeros[magnitude(value, sign).0.trailing_zeros() as usize] += 1;
        }
    }
    let mut with_more = 0;
    let mut best = (16, 0);
    for shift in (1..=24_u32).rev() {
        with_more += if shift == 24 { zeros[24..].iter().sum() } else { zeros[shift as usize] };
        let saved = with_more * u64::from(shift);
        if saved > best.0 {
            best = (saved, shift);
        }
    }
    best.1
}

/// Appends the code lengths of the used symbols: their number, then a byte each. The upper half of a byte is the
/// number of symbols skipped before it (15: that many more follow as a number). The lower half is the length.
fn put_lengths(counts: &[u32], lengths: &[u8], out: &mut Vec<u8>) {
    put_varint(out, counts.iter().filter(|&&count| count > 0).count() as u64);
    let mut left_out = 0_u64;
    for (&count, &length) in counts.iter().zip(lengths) {
        if count == 0 {
            left_out += 1;
            continue;
        }
        out.push((left_out.min(15) as u8) << 4 | length);
        if left_out >= 15 {
            put_varint(out, left_out - 15);
        }
        left_out = 0;
    }
}

/// Meaning of a symbol.
#[derive(Debug, Clone, Copy, Default)]
struct Meaning {
    base: u64,
    below: u8,
    shift: u8,
    is_negative: bool,
}

/// Buffers for decoding, reused for each column.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// By the next twelve bits: the symbol's index in `meanings`, and the length of its code in the lowest four bits.
    steps: Vec<u16>,
    meanings: Vec<Meaning>,
}

/// Decodes a column of `count` values.
///
/// # Errors
/// Returns the problem with the column.
pub(crate) fn decode(
    input: &mut &[u8],
    count: usize,
    tables: &mut Tables,
    out: &mut Vec<u64>,
) -> Result<(), &'static str> {
    const SHORT: &str = "a column is cut off";
    let kind = take(input, 1).ok_or(SHORT)?[0];
    if kind == CONSTANT {
        out.clear();
        out.resize(count, varint(input).ok_or(SHORT)?);
        return Ok(());
    }
    if kind != CODED {
        return Err("a column has an unknown kind");
    }
    let shift = take(input, 1).ok_or(SHORT)?[0];
    let frequent = varint(input).ok_or(SHORT)?;
    if shift > 63 || frequent > FREQUENT_MAX as u64 {
        return Err("a column's table is too large");
    }
    tables.meanings.clear();
    let mut value = 0_u64;
    for _ in 0..frequent {
        value = value.wrapping_add(varint(input).ok_or(SHORT)?);
        tables.meanings.push(Meaning { base: value, ..Meaning::default() });
    }
    for class in 0..CLASSES {
        let bits = (class / 4) as u8;
        tables.meanings.push(Meaning {
            base: if bits == 0 { 0 } else { 1 << (bits - 1) },
            below: bits.saturating_sub(1),
            shift: if class & 2 == 0 { 0 } else { shift },
            is_negative: class & 1 == 1,
        });
    }
    let mut lengths = vec![0_u8; tables.meanings.len()];
    let (used, mut symbol, mut only) = (varint(input).ok_or(SHORT)?, 0_u64, 0);
    for nth in 0..used.min(lengths.len() as u64) {
        let byte = take(input, 1).ok_or(SHORT)?[0];
        let left_out = match byte >> 4 {
            15 => varint(input).ok_or(SHORT)?.saturating_add(15),
            few => few.into(),
        };
        symbol = symbol.saturating_add(left_out).saturating_add(u64::from(nth > 0));
        only = usize::try_from(symbol).unwrap_or(usize::MAX);
        *lengths.get_mut(only).ok_or("a column has a code for an unknown symbol")? = byte & 15;
    }
    if lengths.iter().any(|&length| u32::from(length) > LONGEST) || used == 0 {
        return Err("a column's codes are too long");
    }
    let codes = codes(&lengths).ok_or("a column's codes are not whole")?;
    tables.steps.clear();
    tables.steps.resize(1 << LONGEST, (only << 4) as u16);
    for (symbol, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
        let step = (symbol << 4) as u16 | u16::from(length);
        tables.steps.iter_mut().skip(codes[symbol].into()).step_by(1 << length).for_each(|slot| *slot = step);
    }
    let size = varint(input).ok_or(SHORT)?;
    let bits = BitReader::new(take(input, size).ok_or(SHORT)?);
    values(bits, count, tables, out)
}

/// Bits of the longest code, plus the maximum read at once after it.
const CODE_AND_HALF: u32 = LONGEST + 32;

/// Decodes the values. This is the hot loop.
fn values(mut bits: BitReader<'_>, count: usize, tables: &Tables, out: &mut Vec<u64>) -> Result<(), &'static str> {
    const MISSING: &str = "a column's table has a gap";
    let steps: &[u16; 1 << LONGEST] = tables.steps.as_slice().try_into().map_err(|_| MISSING)?;
    let meanings = tables.meanings.as_slice();
    out.resize(count, 0);
    for slot in out.iter_mut() {
        if bits.ready() < CODE_AND_HALF {
            bits.refill();
        }
        let step = steps[bits.peek((1 << LONGEST) - 1) as usize];
        bits.drop(u32::from(step & 15));
        let Some(meaning) = meanings.get(usize::from(step >> 4)) else { return Err(MISSING) };
        let mut value = meaning.base;
        let below = u32::from(meaning.below);
        if below > 0 {
            let (first, second) = (below.min(32), below.saturating_sub(32));
            value |= bits.peek(u64::MAX >> (64 - first));
            bits.drop(first);
            if second > 0 {
                bits.refill();
                value |= bits.peek(u64::MAX >> (64 - second)) << 32;
                bits.drop(second);
            }
        }
        value <<= meaning.shift;
        *slot = if meaning.is_negative { value.wrapping_neg() } else { value };
    }
    if bits.is_overdrawn() { Err("a column ends before its last value") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded_bytes(values: &[u64], sign: Sign) -> usize {
        let mut bytes = Vec::new();
        encode(values, sign, &mut bytes);
        let (mut input, mut out) = (bytes.as_slice(), Vec::new());
        decode(&mut input, values.len(), &mut Tables::default(), &mut out).unwrap();
        assert_eq!(out, values);
        assert!(input.is_empty());
        bytes.len()
    }

    #[test]
    fn repeated_values_need_almost_no_space() {
        assert!(encoded_bytes(&[4096; 10_000], Sign::Unsigned) < 5);
        let mixed: Vec<u64> = (0..10_000).map(|n| if n % 4 == 0 { 65_536 } else { 4096 }).collect();
        assert!(encoded_bytes(&mixed, Sign::Unsigned) < 10_000 / 8 + 30);
    }

    /// Offsets of 4 KiB blocks in 64 GiB: 24 bits each instead of the 36 of a byte offset.
    #[test]
    fn multiples_omit_their_zeros() {
        let mut state = 1_u64;
        let offsets: Vec<u64> = (0..10_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 40) << 12
            })
            .collect();
        let bits = encoded_bytes(&offsets, Sign::Unsigned) * 8 / offsets.len();
        assert!((24..=25).contains(&bits), "{bits}");
    }

    #[test]
    fn extreme_values_round_trip() {
        let values = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, (1 << 63) | 4096, 5, 5, 5];
        encoded_bytes(&values, Sign::Unsigned);
        encoded_bytes(&values, Sign::Signed);
        encoded_bytes(&[], Sign::Signed);
        encoded_bytes(&[7, 8], Sign::Unsigned);
    }

    proptest! {
        #[test]
        fn any_values_round_trip(values in prop::collection::vec(prop_oneof![any::<u64>(), 0..9_u64, Just(4096)], 0..300)) {
            encoded_bytes(&values, Sign::Signed);
            encoded_bytes(&values, Sign::Unsigned);
        }

        #[test]
        fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0..1000_usize) {
            if let Some(kind) = bytes.first_mut() {
                *kind &= 1;
            }
            let mut out = Vec::new();
            if decode(&mut bytes.as_slice(), count, &mut Tables::default(), &mut out).is_ok() {
                prop_assert_eq!(out.len(), count);
            }
        }
    }
}
