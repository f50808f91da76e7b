//! Keys as text: hexadecimal digits.

use zeroize::Zeroizing;

/// Bytes as digits.
pub struct Hex<'a>(pub &'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Parses 64 hexadecimal digits. The bytes may be a key, so they are overwritten when they are dropped.
pub fn bytes_of(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let mut bytes = Zeroizing::new([0; 32]);
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (digit(0)? * 16 + digit(1)?) as u8;
    }
    Some(bytes)
}
