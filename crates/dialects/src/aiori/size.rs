//! Sizes as IOR's parser reads them.

/// What to write.
const HELP: &str = "use a number such as 47008, 4k, 1m or 16g";

/// Why a text is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// It does not begin with a number.
    #[error("is not a size; {help}", help = HELP)]
    NotASize,
    /// What stands behind the number.
    #[error("has the unknown suffix `{0}`; {help}", help = HELP)]
    Suffix(String),
    /// It does not fit.
    #[error("exceeds 64 bits; {help}", help = HELP)]
    TooLarge,
}

/// A whole number with a suffix of powers of 1024.
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
    let shift = match suffix.trim() {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        "p" | "P" => 50,
        other => return Err(SizeError::Suffix(other.to_owned())),
    };
    let number: i64 = number.parse().map_err(|_| SizeError::TooLarge)?;
    number.checked_mul(1 << shift).ok_or(SizeError::TooLarge)
}
