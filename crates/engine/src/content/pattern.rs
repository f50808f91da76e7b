//! Patterns: bytes again and again, with the offset of the block among them where that was asked for.

use super::error::ContentError;
use super::random::{extend, repeat};
use plumb_workload::content::PatternPiece;
use std::path::Path;

/// The longest pattern: fio's.
const MOST_BYTES: usize = 512 << 10;
/// Bytes of an offset in a pattern.
const OFFSET_BYTES: usize = 8;

/// A pattern, ready to be laid over buffers.
#[derive(Debug, Clone)]
pub(super) struct FillPattern {
    bytes: Vec<u8>,
    /// Where in it offsets go.
    offsets_at: Vec<OffsetAt>,
    /// It starts anew every N bytes.
    interval: Option<usize>,
}

/// An offset in a pattern.
#[derive(Debug, Clone, Copy)]
struct OffsetAt {
    at: usize,
    /// Is added to it.
    plus: u64,
}

impl FillPattern {
    /// The pattern of these pieces; nothing where there are none.
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
            if bytes.len() > MOST_BYTES {
                return Err(ContentError::PatternTooLong { bytes: bytes.len(), most: MOST_BYTES });
            }
        }
        if bytes.is_empty() {
            return if pieces.is_empty() { Ok(None) } else { Err(ContentError::PatternEmpty) };
        }
        let interval = interval.filter(|&bytes| bytes > 0).map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(Some(FillPattern { bytes, offsets_at, interval }))
    }

    /// Whether the same bytes lie over every buffer, wherever it goes.
    pub(super) fn is_constant(&self) -> bool {
        self.offsets_at.is_empty()
    }

    /// Whether that holds for every length, too: it does not start anew within a buffer.
    pub(super) fn is_the_same(&self) -> bool {
        self.is_constant() && self.interval.is_none()
    }

    /// Its bytes, without offsets.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Fills what is written at `offset` of a file.
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

    /// The first byte of `found` that differs, in a write at `offset` of which `found` are the bytes from `from` on.
    /// `scratch` is memory to make the expected bytes in.
    pub(super) fn differs(&self, offset: u64, from: usize, found: &[u8], scratch: &mut Vec<u8>) -> Option<usize> {
        let interval = self.interval.unwrap_or(usize::MAX);
        let mut at = 0;
        while at < found.len() {
            // One interval, or what is left of it, at a time.
            let (number, skip) = ((from + at) / interval, (from + at) % interval);
            let end = found.len().min(at + (interval - skip));
            if let Some(wrong) =
                self.differs_within(offset + (number * interval) as u64, skip, &found[at..end], scratch)
            {
                return Some(at + wrong);
            }
            at = end;
        }
        None
    }

    /// The same within one interval, which began at `offset`, from its byte `skip` on.
    fn differs_within(&self, offset: u64, skip: usize, found: &[u8], scratch: &mut Vec<u8>) -> Option<usize> {
        let period = self.bytes.len();
        // One period is compared with the pattern, and the rest with itself.
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
    let wrong = || ContentError::PatternDigits { digits: digits.to_owned() };
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err(wrong());
    }
    let pairs = (0..digits.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| wrong())).collect()
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
    fn bytes_files_and_offsets_follow_one_another() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("p"), b"xyz").unwrap();
        let pieces = [text("ab"), PatternPiece::File("p".into()), PatternPiece::Offset];
        let pattern = FillPattern::new(&pieces, None, dir.path()).unwrap().unwrap();
        let mut buffer = [0; 30];
        pattern.fill(0x0102, &mut buffer);
        assert_eq!(&buffer, b"abxyz\x02\x01\0\0\0\0\0\0abxyz\x02\x01\0\0\0\0\0\0abxy");
    }

    #[test]
    fn an_interval_starts_the_pattern_anew_with_its_own_offset() {
        let pattern = pattern(&[PatternPiece::Offset, text("x")], Some(16));
        let mut buffer = [0; 40];
        pattern.fill(1024, &mut buffer);
        assert_eq!(buffer[..9], [0, 4, 0, 0, 0, 0, 0, 0, b'x']);
        assert_eq!(buffer[16..25], [16, 4, 0, 0, 0, 0, 0, 0, b'x']);
        assert_eq!(buffer[32..40], [32, 4, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn any_part_of_what_was_filled_agrees_and_a_changed_byte_is_found() {
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
    fn what_is_no_pattern_is_refused_by_name() {
        let refused = |pieces: &[PatternPiece]| FillPattern::new(pieces, None, Path::new("")).unwrap_err().to_string();
        assert!(refused(&[PatternPiece::Hex("abc".into())]).contains("`abc`"));
        assert!(refused(&[PatternPiece::Hex(String::new())]).contains("is empty"));
        assert!(refused(&[PatternPiece::File("no-such-file".into())]).contains("no-such-file"));
        assert!(FillPattern::new(&[], None, Path::new("")).unwrap().is_none());
    }
}
