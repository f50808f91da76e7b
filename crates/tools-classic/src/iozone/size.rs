//! Sizes as IOzone parses them, and as the user meant them.

/// A parsed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sized {
    /// IOzone's reading: the whole number at its start, and the unit of its last letter.
    pub taken_bytes: i64,
    /// The intended size; equal to `taken_bytes` if there is no difference.
    pub meant_bytes: i64,
}

/// Parses the whole number at the start of a text, like `atoll`.
pub(crate) fn whole(text: &str) -> i64 {
    let text = text.trim_start();
    let digits_at = usize::from(text.starts_with(['-', '+']));
    let end = text[digits_at..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |at| at + digits_at);
    text[..end].trim_start_matches('+').parse().unwrap_or(if text.len() > 18 { i64::MAX } else { 0 })
}

/// Parses a size. A bare number is in kB.
pub(crate) fn size(text: &str) -> Sized {
    let unit = |letter: Option<char>| match letter.map(|letter| letter.to_ascii_lowercase()) {
        Some('m') => 1i64 << 20,
        Some('g') => 1 << 30,
        _ => 1 << 10,
    };
    let taken_bytes = whole(text).saturating_mul(unit(text.chars().last()));
    // `1.5m` is one and a half MB, and `1MiB` is not in kB.
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(number_end);
    let rest = rest.to_ascii_lowercase();
    let meant_unit = match rest.as_str() {
        "" | "k" | "kb" | "kib" => Some(1u64 << 10),
        "m" | "mb" | "mib" => Some(1 << 20),
        "g" | "gb" | "gib" => Some(1 << 30),
        "t" | "tb" | "tib" => Some(1 << 40),
        _ => None,
    };
    let meant = match (number.parse::<f64>(), meant_unit) {
        (Ok(number), Some(unit)) if number.is_finite() => (number * unit as f64).round() as i64,
        _ => taken_bytes,
    };
    Sized { taken_bytes, meant_bytes: meant }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IOzone reads digits up to the first other character, and the last letter: `1.5m` is then 1 MB, and `1MiB` 1 kB.
    #[test]
    fn sizes_as_parsed_and_as_meant() {
        for (text, taken, meant) in [
            ("512", 512 << 10, 512 << 10),
            ("64k", 64 << 10, 64 << 10),
            ("16M", 16 << 20, 16 << 20),
            ("2g", 2 << 30, 2 << 30),
            ("1.5m", 1 << 20, 3 << 19),
            ("1MiB", 1 << 10, 1 << 20),
            ("nothing", 0, 0),
            ("-4", -4 << 10, -4 << 10),
        ] {
            assert_eq!(size(text), Sized { taken_bytes: taken, meant_bytes: meant }, "{text}");
        }
    }
}
