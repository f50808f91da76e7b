//! Times as they are stored: Unix nanoseconds.

use jiff::Timestamp;

/// Returns Unix nanoseconds; a time after 2262 becomes the last one that fits.
pub(crate) fn nanos(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}

/// Formats Unix nanoseconds as RFC 3339 in UTC.
pub fn rfc3339(nanos: i64) -> String {
    Timestamp::from_nanosecond(i128::from(nanos)).map(|time| time.to_string()).unwrap_or_default()
}

/// Returns the present in Unix nanoseconds.
pub fn unix_ns() -> i64 {
    nanos(Timestamp::now())
}
