//! Repeated byte patterns, which may contain the offset of the block.

use super::error::ContentError;
use super::random::{extend, repeat};
use plumb_workload::content::PatternPiece;
use std::path::Path;

/// Maximum length of a pattern, as in fio.
const BYTES_MAX: usize = 512 << 10;
/// Length of an offset in a pattern.
const OFFSET_BYTES: usize = 8;

/// A pattern, ready to be copied to buffers.
#[derive(Debug, Clone)]
pub(super) struct FillPattern {
    bytes: Vec<u8>,
    /// Positions of offsets in the pattern.
    offsets_at: Vec<OffsetAt>,
    /// Restart the pattern every N bytes.
    interval: Option<usize>,
}

/// An offset in a pattern.
#[derive(Debug, Clone, Copy)]
struct OffsetAt {
    at: usize,
    /// Value added to the offset.
    plus: u64,
}

impl FillPattern {
    /// Builds the pattern from its pieces; `None` without pieces.
    pub(super) fn new(
        pieces: &[PatternPiece],
        interval: Option<u64>,
        base: &Path,
    ) -> Result<Option<FillPattern>, ContentError> {
        let (mut bytes, mut offsets_at) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                PatternPiece::Hex(digits) => bytes.extend(hex(digits)?),
                PatternPiece::File(path) => {
                    let path = base.join(path);
                    match plumb_text::bounded::read(&path) {
                        Ok(content) => bytes.extend(content),
                        Err(source) => return Err(ContentError::PatternFile { path, source }),
                    }
                }
                PatternPiece::Offset | PatternPiece::OffsetPlus(_) => {
                    let plus = if let PatternPiece::OffsetPlus(plus) = piece { *plus } else { 0 };
                    offsets_at.push(OffsetAt { at: bytes.len(), plus });
                    bytes.extend([0; OFFSET_BYTES]);
                }
            }
            if bytes.len() > BYTES_MAX {
                return Err(ContentError::PatternTooLong { bytes: bytes.len(), most: BYTES_MAX });
            }
        }
        if bytes.is_empty() {
            return if pieces.is_empty() { Ok(None) } else { Err(ContentError::PatternEmpty) };
        }
        let interval = interval.filter(|&bytes| bytes > 0).map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(Some(FillPattern { bytes, offsets_at, interval }))
    }

    /// Returns `true` if the pattern does not depend on the offset of the write.
    pub(super) fn is_constant(&self) -> bool {
        self.offsets_at.is_empty()
    }

    /// Returns `true` if the content depends on neither offset nor length: it also does not restart within a buffer.
    pub(super) fn is_always_equal(&self) -> bool {
        self.is_constant() && self.interval.is_none()
    }

    /// Returns the bytes of one period, without offsets.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Fills the buffer of a write at `offset`.
    pub(super) fn fill(&self, offset: u64, buffer: &mut [u8]) {
        let interval = self.interval.unwrap_or(usize::MAX).min(buffer.len().max(1));
        for (number, part) in buffer.chunks_mut(interval).enumerate() {
            if self.offsets_at.is_empty() {
                repeat(&self.bytes, part);
                continue;
            }
            let first = self.bytes.len().min(part.len());
            part[..first].copy_from_slice(&self.bytes[..first]);
            let offset = offset + (number * interval) as u64;
            for &OffsetAt { at, plus } in self.offsets_at.iter().take_while(|offset| offset.at < first) {
                let value = offset.wrapping_add(plus).to_le_bytes();
                let end = first.min(at + OFFSET_BYTES);
                part[at..end].copy_from_slice(&value[..end - at]);
            }
            extend(part, first);
        }
    }

    /// Returns the position of the first byte of `found` that differs. `found` is the part from byte `from` on of a
    /// write at `offset`. `scratch` is reused to build the expected bytes.
    pub(super) fn differs(&self, offset: u64, from: usize, found: &[u8], scratch: &mut Vec<u8>) -> Option<usize> {
        let interval = self.interval.unwrap_or(usize::MAX);
        let mut at = 0;
        while at < found.len() {
            // One interval, or the rest of it, at a time.
            let (number, skip) = ((from + at) / interval, (from + at) % interval);
            let end = found.len().min(at + (interval - skip));
            if let Some(at_difference) =
                self.differs_within(offset + (number * interval) as u64, skip, &found[at..end], scratch)
            {
                return Some(at + at_difference);
            }
            at = end;
        }
        None
    }

    /// Like [`differs`](FillPattern::differs), for one interval that starts at `offset`, from its byte `skip` on.
    fn differs_within(&self, offset: u64, skip: usize, found: &[u8], scratch: &mut Vec<u8>) -> Option<usize> {
        let period = self.bytes.len();
        // Compare one period with the pattern, and the rest with itself.
        let first = period.min(found.len());
        scratch.clear();
        scratch.extend_from_slice(&self.bytes);
        for &OffsetAt { at, plus } in &self.offsets_at {
            scratch[at..at + OFFSET_BYTES].copy_from_slice(&offset.wrapping_add(plus).to_le_bytes());
        }
        scratch.rotate_left(skip % period);
        if found[..first] == scratch[..first] && found[first..] == found[..found.len() - first] {
            return None;
        }
        found.iter().enumerate().position(|(at, &byte)| byte != scratch[at % period])
    }
}

fn hex(digits: &str) -> Result<Vec<u8>, ContentError> {
    let invalid = || ContentError::PatternDigits { digits: digits.to_owned() };
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err(invalid());
    }
    let pairs = (0..digits.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| invalid())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(pieces: &[PatternPiece], interval: Option<u64>) -> FillPattern {
        FillPattern::new(pieces, interval, Path::new("")).unwrap().unwrap()
    }

    fn text(text: &str) -> PatternPiece {
        PatternPiece::Hex(text.bytes().map(|byte| format!("{byte:02x}")).collect())
    }

    #[test]
    fn bytes_files_and_offsets_are_concatenated() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("p"), b"xyz").unwrap();
        let pieces = [text("ab"), PatternPiece::File("p".into()), PatternPiece::Offset];
        let pattern = FillPattern::new(&pieces, None, dir.path()).unwrap().unwrap();
        let mut buffer = [0; 30];
        pattern.fill(0x0102, &mut buffer);
        assert_eq!(&buffer, b"abxyz\x02\x01\0\0\0\0\0\0abxyz\x02\x01\0\0\0\0\0\0abxy");
    }

    #[test]
    fn an_interval_restarts_the_pattern_with_its_own_offset() {
        let pattern = pattern(&[PatternPiece::Offset, text("x")], Some(16));
        let mut buffer = [0; 40];
        pattern.fill(1024, &mut buffer);
        assert_eq!(buffer[..9], [0, 4, 0, 0, 0, 0, 0, 0, b'x']);
        assert_eq!(buffer[16..25], [16, 4, 0, 0, 0, 0, 0, 0, b'x']);
        assert_eq!(buffer[32..40], [32, 4, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn any_part_of_a_filled_buffer_matches_and_a_changed_byte_is_found() {
        let mut scratch = Vec::new();
        for interval in [None, Some(100), Some(7)] {
            let pattern = pattern(&[text("abc"), PatternPiece::Offset, text("-")], interval);
            let mut buffer = [0; 500];
            pattern.fill(4096, &mut buffer);
            for (from, to) in [(0, 500), (48, 500), (13, 99), (250, 251), (99, 303)] {
                assert_eq!(
                    pattern.differs(4096, from, &buffer[from..to], &mut scratch),
                    None,
                    "{interval:?} {from}..{to}"
                );
            }
            buffer[301] ^= 1;
            assert_eq!(pattern.differs(4096, 48, &buffer[48..], &mut scratch), Some(301 - 48), "{interval:?}");
            assert!(pattern.differs(8192, 0, &buffer[..300], &mut scratch).is_some(), "another offset");
        }
    }

    #[test]
    fn invalid_patterns_are_refused_by_name() {
        let refused = |pieces: &[PatternPiece]| FillPattern::new(pieces, None, Path::new("")).unwrap_err().to_string();
        assert!(refused(&[PatternPiece::Hex("abc".into())]).contains("`abc`"));
        assert!(refused(&[PatternPiece::Hex(String::new())]).contains("is empty"));
        assert!(refused(&[PatternPiece::File("no-such-file".into())]).contains("no-such-file"));
        assert!(FillPattern::new(&[], None, Path::new("")).unwrap().is_none());
    }
}
