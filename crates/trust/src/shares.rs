//! Shares of bytes, and the limits at which a rate counts as the device's or the memory's.

/// From this share of the bytes on, a rate is the device's.
pub const DEVICE_SHARE: f64 = 0.95;

/// Up to this share of the bytes, a rate is the memory's.
pub const CACHE_SHARE: f64 = 0.05;

/// Returns part of whole, 0–1; `None` for an empty whole.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
