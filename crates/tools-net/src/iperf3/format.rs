//! Numbers in iperf3's format.

/// Unit of rates, from `-f`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bits, with a suitable prefix.
    Adaptive,
    /// Bits by powers of 1000; the number is the power.
    Bits(usize),
    /// Bytes by powers of 1024; the number is the power.
    Bytes(usize),
}

impl Unit {
    /// Returns the unit of a letter.
    pub fn from_letter(letter: &str) -> Option<Unit> {
        let power = |letters: &str| letters.find(letter).filter(|_| letter.len() == 1).map(|at| at + 1);
        match letter {
            "a" | "A" => Some(Unit::Adaptive),
            _ => power("kmgt").map(Unit::Bits).or_else(|| power("KMGT").map(Unit::Bytes)),
        }
    }
}

const PREFIXES: [&str; 5] = ["", "K", "M", "G", "T"];

/// Formats a value in a unit, with at least four characters. Source: goldens.
fn scaled(value: f64, base: f64, power: Option<usize>, label: &str) -> String {
    let (mut value, mut at) = (value, 0);
    while power.map_or(at < 4 && value >= base, |power| at < power) {
        value /= base;
        at += 1;
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:4.digits$} {}{label}", PREFIXES[at])
}

/// Formats bytes as `12.5 MBytes`.
pub fn bytes_text(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, None, "Bytes")
}

/// Formats bytes per second in the unit: `8.31 Gbits/sec`.
pub fn rate_text(bytes_per_second: f64, unit: Unit) -> String {
    let text = match unit {
        Unit::Adaptive => scaled(bytes_per_second * 8.0, 1000.0, None, "bits"),
        Unit::Bits(power) => scaled(bytes_per_second * 8.0, 1000.0, Some(power), "bits"),
        Unit::Bytes(power) => scaled(bytes_per_second, 1024.0, Some(power), "Bytes"),
    };
    text + "/sec"
}

/// Formats a number like C's `%.{digits}g`.
pub fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value.is_finite() { "0" } else { "null" }.to_owned();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let plain = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", plain(mantissa), exponent.abs());
    }
    plain(&format!("{value:.*}", (digits as i32 - 1 - exponent).max(0) as usize))
}

/// Parses a number of the command line: a fraction with a suffix, which stands for a power of
/// `base`. Case is ignored.
pub(super) fn number(text: &str, base: f64) -> Option<f64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let power = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let value = digits.parse::<f64>().ok()?;
    Some(value * base.powi(power)).filter(|value| (0.0..=9e18).contains(value))
}
