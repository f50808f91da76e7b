//! Parsers for option values.

/// Parses a port, which cannot be 0.
pub(super) fn port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|&port| port > 0)
}

/// Returns a host's address or name. An interface name after `%` goes to `device`.
pub(super) fn at_device(value: &str, device: &mut Option<String>) -> String {
    let (host, of) = value.split_once('%').map_or((value, None), |(host, of)| (host, Some(of)));
    if let Some(of) = of {
        *device = Some(of.to_owned());
    }
    host.to_owned()
}

/// Parses a decimal, octal or hexadecimal number, as C does.
pub(super) fn c_number(text: &str) -> Option<u32> {
    match (text.strip_prefix("0x").or(text.strip_prefix("0X")), text.strip_prefix('0')) {
        (Some(digits), _) => u32::from_str_radix(digits, 16).ok(),
        (None, Some(digits)) if !digits.is_empty() => u32::from_str_radix(digits, 8).ok(),
        _ => text.parse().ok(),
    }
}

/// Parses a byte in C's notation.
pub(crate) fn byte_of(text: &str) -> Option<u8> {
    c_number(text).and_then(|number| u8::try_from(number).ok())
}

/// Returns the type of service for a code point or its name. Sources: RFC 2474, 2597, 3246, 5865; RFC
/// 1349 for the last three.
pub(super) fn service_of(text: &str) -> Option<u8> {
    let digits = |text: &str, of: [std::ops::RangeInclusive<u8>; 2]| {
        let [first, second] = <[u8; 2]>::try_from(text.as_bytes()).ok()?.map(|digit| digit.wrapping_sub(b'0'));
        (of[0].contains(&first) && of[1].contains(&second)).then_some((first, second))
    };
    let name = text.to_ascii_lowercase();
    let point = match (name.strip_prefix("af"), name.strip_prefix("cs")) {
        (Some(class), _) => digits(class, [1..=4, 1..=3]).map(|(class, drop)| 8 * class + 2 * drop)?,
        (_, Some(class)) => 8 * class.parse::<u8>().ok().filter(|class| *class <= 7)?,
        _ => match &*name {
            "ef" => 46,
            "va" => 44,
            "lowdelay" => return Some(0x10),
            "throughput" => return Some(0x08),
            "reliability" => return Some(0x04),
            _ => c_number(&name).and_then(|point| u8::try_from(point).ok()).filter(|point| *point <= 63)?,
        },
    };
    Some(point << 2)
}
