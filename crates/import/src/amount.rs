//! Parses amounts as tools print them: `37.3k`, `146MiB/s`, `49,02`, `141ms`.

/// Parses a decimal number; the decimal point may be a comma.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+' | 'e' | 'E');
    if text.is_empty() || !text.chars().all(is_plain) || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value: f64 = match (text.contains('.'), text.matches(',').count()) {
        (_, 0) => text.parse().ok()?,
        (false, 1) => text.replace(',', ".").parse().ok()?,
        // Commas separate thousands.
        _ => text.replace(',', "").parse().ok()?,
    };
    value.is_finite().then_some(value)
}

/// Splits a text into the number that it begins with, and the rest.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text
        .char_indices()
        .find(|&(at, c)| !(c.is_ascii_digit() || matches!(c, '.' | ',') || (at == 0 && c == '-')))
        .map_or(text.len(), |(at, _)| at);
    let number = text[..end].trim_end_matches([',', '.']);
    Some((decimal(number)?, text[number.len()..].trim_start()))
}

/// Returns the factor of a prefix: `k` is 1000 and `Ki` is 1024.
fn factor(prefix: &str) -> Option<f64> {
    let (letter, base) = match prefix.strip_suffix(['i', 'I']) {
        Some(letter) => (letter, 1024.0f64),
        None => (prefix, 1000.0),
    };
    let power = match letter {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        "p" | "P" => 5,
        _ => return None,
    };
    Some(base.powi(power))
}

/// Parses a number with a decimal prefix: `37.3k`.
pub(crate) fn scaled(text: &str) -> Option<f64> {
    let (value, rest) = leading(text)?;
    let prefix = rest.split_whitespace().next().unwrap_or_default();
    Some(value * factor(prefix)?)
}

/// Parses bytes, or bytes per second: `146MiB/s`, `12 KB`. Prefixes are powers of 1000, or of 1024 with an `i`.
pub(crate) fn bytes(text: &str) -> Option<f64> {
    bytes_with(text, false)
}

/// Parses bytes of tools whose `KB` is 1024 bytes.
pub(crate) fn bytes_of_1024(text: &str) -> Option<f64> {
    bytes_with(text, true)
}

fn bytes_with(text: &str, of_1024: bool) -> Option<f64> {
    let (value, rest) = leading(text)?;
    let word = rest.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
    let prefix = word.strip_suffix('B').or_else(|| word.strip_suffix("bytes")).unwrap_or(word);
    if of_1024 && !prefix.is_empty() && !prefix.ends_with('i') {
        return Some(value * factor(&format!("{prefix}i"))?);
    }
    Some(value * factor(prefix)?)
}

/// Parses bits with decimal prefixes, `2.10 Mbits`, and returns bytes.
pub(crate) fn bits_as_bytes(text: &str) -> Option<f64> {
    let (value, rest) = leading(text)?;
    let word = rest.split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
    let prefix = word.strip_suffix("bits").or_else(|| word.strip_suffix("bit"))?;
    Some(value * factor(prefix)? / 8.0)
}

/// Returns the nanoseconds of a unit of time.
pub(crate) fn unit_ns(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" | "nsec" => 1.0,
        "us" | "usec" | "µs" | "μs" => 1e3,
        "ms" | "msec" => 1e6,
        "s" | "sec" | "secs" | "seconds" | "second" => 1e9,
        _ => return None,
    })
}

/// Parses a time, `141ms` or `3.5 s`, and returns nanoseconds.
pub(crate) fn time_ns(text: &str) -> Option<f64> {
    let (value, rest) = leading(text)?;
    Some(value * unit_ns(rest.split_whitespace().next()?)?)
}

/// Splits a line of CSV into fields, with quotation marks as in RFC 4180.
pub(crate) fn csv(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    // Cannot fail, since the line is text in memory. An empty line has one empty field.
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    if record.is_empty() { vec![String::new()] } else { record.iter().map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a comma is a decimal point in localised output, and 1024 is not 1000.
    #[test]
    fn amounts_parse_as_printed() {
        assert_eq!(decimal("49,02"), Some(49.02));
        assert_eq!(decimal("1,234,567"), Some(1_234_567.0));
        assert_eq!((decimal("nan"), decimal("+++++"), decimal("1e400"), decimal("")), (None, None, None, None));
        assert_eq!(scaled("37.3k"), Some(37_300.0));
        assert_eq!((bytes("146MiB/s"), bytes("153MB/s")), (Some(146.0 * 1048576.0), Some(153e6)));
        assert_eq!(bytes_of_1024("1234.5KB/s"), Some(1234.5 * 1024.0));
        assert_eq!(bits_as_bytes("2.10 Mbits/sec"), Some(2.1e6 / 8.0));
        assert_eq!((time_ns("141ms"), time_ns("3.5 s")), (Some(141e6), Some(3.5e9)));
        assert_eq!(csv("a,\"b,\"\"c\"\"\",d \"e\""), ["a", "b,\"c\"", "d \"e\""]);
    }
}
