//! Parses sizes like IOR.

const HELP: &str = "use a number such as 47008, 4k, 1m or 16g";

/// Error from parsing a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// The text does not begin with a number.
    #[error("is not a size; {help}", help = HELP)]
    NotASize,
    /// An unknown suffix follows the number.
    #[error("has the unknown suffix `{0}`; {help}", help = HELP)]
    Suffix(String),
    /// The size does not fit 64 bits.
    #[error("exceeds 64 bits; {help}", help = HELP)]
    TooLarge,
}

/// Parses a whole number with a suffix of powers of 1024. `4k`, `4KB` and `4KiB` are equal, because IOR
/// reads only the first letter.
///
/// # Errors
/// [`SizeError`].
pub fn size(text: &str) -> Result<i64, SizeError> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return Err(SizeError::NotASize);
    }
    let (number, suffix) = text.split_at(text.len() - digits.len() + length);
    let shift = match suffix.trim().to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        "p" | "pb" | "pib" => 50,
        _ => return Err(SizeError::Suffix(suffix.trim().to_owned())),
    };
    let number: i64 = number.parse().map_err(|_| SizeError::TooLarge)?;
    number.checked_mul(1 << shift).ok_or(SizeError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects typical sizes: IOR accepts `4KiB` and `1MB`, in powers of 1024. A suffix with another first letter is
    // an error.
    #[test]
    fn suffixes_have_long_forms() {
        let sizes = ["4k", "4K", "4kb", "4KB", "4KiB", "4 k", "+4k"].map(size);
        assert!(sizes.iter().all(|size| *size == Ok(4096)), "{sizes:?}");
        assert_eq!([size("2MB"), size("1gib"), size("-1t")], [Ok(2 << 20), Ok(1 << 30), Ok(-(1 << 40))]);
        assert_eq!(size("4kk"), Err(SizeError::Suffix("kk".to_owned())));
        assert_eq!(
            [size(""), size("k"), size("9999999p")],
            [Err(SizeError::NotASize), Err(SizeError::NotASize), Err(SizeError::TooLarge)]
        );
    }
}
