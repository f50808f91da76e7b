//! Amounts of bytes in PostMark's format.

/// Formats bytes in PostMark's units. One megabyte is still printed in kilobytes; amounts in plain bytes do not occur.
pub(super) fn scaled(bytes: f64) -> String {
    if bytes / 1_048_576.0 > 1.0 {
        format!("{:.2} megabytes", bytes / 1_048_576.0)
    } else if bytes > 0.0 {
        format!("{:.2} kilobytes", bytes / 1024.0)
    } else {
        format!("{bytes:.6} bytes")
    }
}
