//! Reads histograms in the wire form of HdrHistogram V2, which anybody may have written.

use hdrhistogram::serialization::Deserializer;
use plumb_result::Histogram;

/// Bytes before the counts: cookie, length, offset, digits, lowest and highest value, ratio.
const HEAD_BYTES: usize = 40;
/// First bytes of the uncompressed form.
const COOKIE: [u8; 4] = 0x1c84_9313_u32.to_be_bytes();

/// Significant digits of each value.
const DIGITS: u32 = 3;
/// Largest value that is written, ns.
const HIGHEST: u64 = 1 << 62;

/// Error from reading a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HdrReadError {
    /// The head is of another form, or claims more bytes than follow.
    #[error("not an uncompressed HdrHistogram V2 with three digits")]
    Form,
    /// The counts are malformed or exceed 64 bits.
    #[error("the counts of the histogram are damaged")]
    Counts,
}

/// Reads what [`Histogram::to_hdr_v2`] writes. Its quantiles are those of the histogram that was written; minimum, maximum
/// and mean agree to the width of a bucket, 0.8 %.
///
/// # Errors
/// [`HdrReadError`]. No input takes more than 1 MiB of memory.
pub(crate) fn read_hdr(bytes: &[u8]) -> Result<Histogram, HdrReadError> {
    let (head, counts) = bytes.split_at_checked(HEAD_BYTES).ok_or(HdrReadError::Form)?;
    let length = u32::try_from(counts.len()).map_err(|_| HdrReadError::Form)?;
    let highest = u64::from_be_bytes(*head[24..].first_chunk().ok_or(HdrReadError::Form)?);
    let before = [&COOKIE[..], &length.to_be_bytes(), &[0; 4], &DIGITS.to_be_bytes(), &1u64.to_be_bytes()].concat();
    if head[..24] != before || !(2..=HIGHEST).contains(&highest) || head[32..] != 1f64.to_be_bytes() {
        return Err(HdrReadError::Form);
    }
    // hdrhistogram negates what it takes for a number of zeros: the smallest number has no negation.
    if counts.windows(9).any(|bytes| bytes == [0xff; 9]) {
        return Err(HdrReadError::Counts);
    }
    let hdr: hdrhistogram::Histogram<u64> =
        Deserializer::new().deserialize(&mut &bytes[..]).map_err(|_| HdrReadError::Counts)?;
    let mut histogram = Histogram::new();
    let mut total = 0u64;
    for bucket in hdr.iter_recorded() {
        let count = bucket.count_at_value();
        total = total.checked_add(count).ok_or(HdrReadError::Counts)?;
        let (lowest, highest) =
            (hdr.lowest_equivalent(bucket.value_iterated_to()), hdr.highest_equivalent(bucket.value_iterated_to()));
        histogram.record_n(lowest + (highest - lowest) / 2, count);
    }
    Ok(histogram)
}
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn foreign_forms_are_refused() {
        let mut histogram = Histogram::new();
        histogram.record_n(1000, 5);
        let bytes = histogram.to_hdr_v2().unwrap();
        let with = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            read_hdr(&bytes)
        };
        assert_eq!(read_hdr(&bytes).unwrap().count(), 5);
        // Cookie, length of 4 GiB, offset, digits, and a ratio that is not a number.
        for (at, byte) in [(0, 0), (4, 0xff), (11, 1), (15, 5), (32, 0x7f)] {
            assert_eq!(with(at, byte), Err(HdrReadError::Form), "{at}");
        }
        let not_a_number = [&bytes[..32], &f64::NAN.to_be_bytes(), &bytes[40..]].concat();
        assert_eq!(read_hdr(&not_a_number), Err(HdrReadError::Form));
        for length in 0..bytes.len() {
            assert!(read_hdr(&bytes[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_come_back(values in prop::collection::vec((1u64..1 << 40, 1u64..1000), 1..60)) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|(value, count)| histogram.record_n(*value, *count));
            let again = read_hdr(&histogram.to_hdr_v2().unwrap()).unwrap();
            prop_assert_eq!(again.count(), histogram.count());
            for quantile in [0.1, 0.5, 0.9, 0.99, 1.0] {
                let [one, other] = [&histogram, &again].map(|histogram| histogram.quantile(quantile).unwrap() as f64);
                prop_assert!((one - other).abs() <= one * 0.01 + 1.0, "{} {} {}", quantile, one, other);
            }
        }

        #[test]
        fn no_bytes_cause_a_panic(tail in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xff)], 0..80), high: u64) {
            let head = [&COOKIE[..], &(tail.len() as u32).to_be_bytes(), &[0; 4], &[0, 0, 0, 3]].concat();
            let bytes = [&head[..], &1u64.to_be_bytes(), &(high >> 1).to_be_bytes(), &1f64.to_be_bytes(), &tail].concat();
            let _ = read_hdr(&bytes);
        }
    }
}
