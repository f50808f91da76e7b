//! Buffer contents: `verify_pattern` and `buffer_pattern`.
//!
//! A pattern is a sequence of pieces: a string in double quotes, a decimal or hexadecimal number, the content of a file
//! named in single quotes, and `%o`, the offset of the block.

use super::reading::ValueError;

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// The content of this file.
    File(String),
    /// The offset of the block: 8 bytes, little-endian.
    Offset,
}

pub fn read(text: &str) -> Result<Vec<Piece>, ValueError> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (piece, after) = piece(rest)?;
        rest = after;
        match (pieces.last_mut(), piece) {
            (Some(Piece::Bytes(before)), Piece::Bytes(bytes)) => before.extend(bytes),
            (_, piece) => pieces.push(piece),
        }
    }
    match pieces.as_slice() {
        [] => Err(ValueError::Missing),
        [Piece::Bytes(bytes)] if bytes.is_empty() => Err(ValueError::grammar("the pattern is empty")),
        _ => Ok(pieces),
    }
}

fn piece(text: &str) -> Result<(Piece, &str), ValueError> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find('"').ok_or_else(|| ValueError::grammar("unterminated string: missing `\"`"))?;
        return Ok((Piece::Bytes(quoted.as_bytes()[..end].to_vec()), &quoted[end + 1..]));
    }
    if let Some(quoted) = text.strip_prefix('\'') {
        let end = quoted.find('\'').ok_or_else(|| ValueError::grammar("unterminated file name: missing `'`"))?;
        return Ok((Piece::File(quoted[..end].to_owned()), &quoted[end + 1..]));
    }
    if let Some(after) = text.strip_prefix("%o") {
        return Ok((Piece::Offset, after));
    }
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        if end == 0 {
            return Err(ValueError::NotANumber { text: text.to_owned() });
        }
        return Ok((Piece::Bytes(hex_bytes(&hex[..end])), &hex[end..]));
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    // A hexadecimal number may follow directly: `-120xff` is -12 and 0xff.
    if end > 1 && digits[..end].ends_with('0') && digits[end..].starts_with(['x', 'X']) {
        end -= 1;
    }
    let refused =
        || ValueError::grammar(format!("`{text}` is not a quoted string, a number, a file in single quotes or %o"));
    let magnitude: i64 = digits[..end].parse().map_err(|_| refused())?;
    let value = if negative { -magnitude } else { magnitude };
    // A C int without trailing zero bytes; at least one byte.
    let value = i32::try_from(value).or_else(|_| u32::try_from(value).map(|value| value as i32));
    let mut bytes = value.map_err(|_| refused())?.to_le_bytes().to_vec();
    while bytes.len() > 1 && bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok((Piece::Bytes(bytes), &digits[end..]))
}

/// Parses two digits per byte, in the written order. The first digit of an odd number is a byte of its own.
fn hex_bytes(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = digits.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    let (odd, pairs) = nibbles.split_at(nibbles.len() % 2);
    odd.iter().copied().chain(pairs.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1])).collect()
}
