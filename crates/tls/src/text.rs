//! Keys as text: hexadecimal digits.

use zeroize::Zeroizing;

/// Displays bytes as hexadecimal digits.
pub(crate) struct Hex<'a>(pub &'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Parses 64 hexadecimal digits. The bytes may be a key, so they are zeroed on drop.
pub(crate) fn bytes_of(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    read_into(text, &mut *bytes)?;
    Some(bytes)
}

/// Parses any even number of hexadecimal digits. The bytes are zeroed on drop.
pub(crate) fn all_bytes_of(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; text.len() / 2]);
    read_into(text, &mut bytes)?;
    Some(bytes)
}

fn read_into(digits: &str, bytes: &mut [u8]) -> Option<()> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    if pairs.len() != bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = (digit(0)? * 16 + digit(1)?) as u8;
    }
    Some(())
}
