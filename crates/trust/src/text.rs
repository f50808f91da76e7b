//! Formats numbers for findings: those of [`plumb_result::number`], in a sentence.

use plumb_result::number::{self, Digits};

/// Formats `4.1 GiB`; below 1 KiB `17 bytes`.
pub fn bytes(value: u64) -> String {
    match value {
        1 => "1 byte".to_owned(),
        value if value < 1024 => format!("{value} bytes"),
        value => number::BYTES.set(value as f64, Digits::Spoken),
    }
}

/// Formats a deliberately chosen size without rounding: `1280 MiB`.
pub fn bytes_exact(value: u64) -> String {
    let text = plumb_workload::Bytes(value).to_string();
    match text.find(|letter: char| letter.is_ascii_alphabetic()) {
        Some(unit) => format!("{} {}", &text[..unit], &text[unit..]),
        None => bytes(value),
    }
}

/// Formats `1.4 GB`, for sizes stated in decimal units.
pub fn bytes_decimal(value: u64) -> String {
    number::BYTES_DECIMAL.set(value as f64, Digits::Spoken)
}

/// Formats `342 MB/s`: rates are decimal, as buses and data sheets state them.
pub fn rate(bytes_per_second: f64) -> String {
    number::BYTES_PER_SECOND.set(bytes_per_second, Digits::Spoken)
}

/// Formats a rate of ops like `996 kops/s`.
pub fn ops_rate(ops_per_second: f64) -> String {
    number::OPS_PER_SECOND.set(ops_per_second, Digits::Spoken)
}

/// Formats `62 %`, with a decimal below 10 %. A nonzero share is never shown as 0 %, nor one below 1 as 100 %.
pub fn percent(share: f64) -> String {
    number::percent(share, Digits::Spoken)
}

/// Formats a time in nanoseconds like `412 µs`.
pub fn nanos(value: f64) -> String {
    number::TIME.set(value, Digits::Spoken)
}

/// Formats a number below 100 with one decimal, if it has one.
pub fn short(value: f64) -> String {
    Digits::Spoken.set(value)
}

/// Formats a count like `1 run` or `3 runs`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Wraps text to lines of at most `width` columns, each indented by two: the format of explanations.
pub fn paragraph(words: &str, width: usize) -> String {
    const INDENT: usize = 2;
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{:INDENT$}{word}", "")),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(128 << 20), "128 MiB");
        assert_eq!(bytes((4 << 30) + (100 << 20)), "4.1 GiB");
        assert_eq!(bytes_exact(1280 << 20), "1280 MiB");
        assert_eq!(bytes_exact(17), "17 bytes");
        assert_eq!(bytes_decimal(1_400_000_000), "1.4 GB");
        assert_eq!(rate(342e6), "342 MB/s");
        assert_eq!(ops_rate(996_000.0), "996 kops/s");
        assert_eq!(nanos(412_000.0), "412 µs");
        assert_eq!(percent(0.62), "62 %");
        assert_eq!(percent(0.021), "2.1 %");
    }

    /// A share close to 0 or to 1 must not round to a claim.
    #[test]
    fn nearly_nothing_is_not_nothing_and_nearly_all_is_not_all() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0001), "less than 0.1 %");
        assert_eq!(percent(0.9999), "99.9 %");
        assert_eq!(percent(1.0), "100 %");
    }
}
