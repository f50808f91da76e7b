//! Progress of a worker's writes, in fio's state file format.
//!
//! The facts are from files written by fio 3.42, version 7. Numbers are little-endian.
//!
//! | bytes | field |
//! |---|---|
//! | 0–7 | version, 7 |
//! | 8–15 | number of bytes after this head |
//! | 16–23 | CRC-32C of those bytes, not inverted |
//! | 24–27 | count of numbers at the end |
//! | 32–39 | number of writes issued; writes with this number or a higher one were not |
//! | 40–47 | number of the worker, from 0 |
//! | 48–103 | state of a random generator, which no reader uses |
//! | 104–167 | the job's name, cut to 63 bytes |
//! | 168– | numbers of writes that were in flight, 8 bytes each; all ones for an unused entry |
//!
//! Files of version 3, of fio before 3.41, list the last written offsets instead of numbers. They are refused.

use super::checksum::crc32c;
use super::error::{ContentError, StateProblem};
use plumb_guard::OutputFile;
use std::path::Path;

const VERSION: u64 = 7;
const HEAD_BYTES: usize = 24;
const BODY_BYTES: usize = 144;
const NAME_BYTES: usize = 64;
const NONE: u64 = u64::MAX;

/// Progress of a worker's writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SavedState {
    /// Number of writes issued.
    pub(super) issued: u64,
    /// Numbers of issued writes that failed or had not completed.
    pub(super) unsure: Vec<u64>,
}

impl SavedState {
    /// Returns `true` if the write is known to have completed.
    pub(super) fn holds(&self, number: u32) -> bool {
        let number = u64::from(number);
        number < self.issued && !self.unsure.contains(&number)
    }

    pub(super) fn load(path: &Path) -> Result<SavedState, ContentError> {
        let read = || SavedState::parse(&plumb_text::bounded::read(path)?);
        read().map_err(|problem| ContentError::State { path: path.to_owned(), problem })
    }

    fn parse(bytes: &[u8]) -> Result<SavedState, StateProblem> {
        let word = |at: usize| bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes);
        let cut = || StateProblem::Cut;
        let version = word(0).ok_or_else(cut)?;
        if version != VERSION {
            return Err(StateProblem::Version { version });
        }
        let body = bytes.get(HEAD_BYTES..).ok_or_else(cut)?;
        if word(8) != Some(body.len() as u64) || body.len() < BODY_BYTES {
            return Err(cut());
        }
        if word(16) != Some(u64::from(crc32c(body))) {
            return Err(StateProblem::Checksum);
        }
        let count = u32::from_le_bytes([body[0], body[1], body[2], body[3]]) as usize;
        if body.len() != BODY_BYTES + count * 8 {
            return Err(cut());
        }
        let issued = word(HEAD_BYTES + 8).ok_or_else(cut)?;
        let unsure =
            (0..count).filter_map(|at| word(HEAD_BYTES + BODY_BYTES + at * 8)).filter(|&number| number != NONE);
        Ok(SavedState { issued, unsure: unsure.collect() })
    }

    /// Writes the file atomically.
    pub(super) fn save(&self, path: &Path, name: &str, worker: u32) -> Result<(), ContentError> {
        let why = |source| ContentError::SaveState { path: path.to_owned(), source };
        // World-readable, like fio's.
        let state = OutputFile::made_up("the verify state", path).with_mode(0o644);
        state.replace(&self.bytes(name, worker)).map_err(|error| why(error.into()))
    }

    fn bytes(&self, name: &str, worker: u32) -> Vec<u8> {
        // Always at least one number, as with fio's smallest queue.
        let count = self.unsure.len().max(1);
        let mut body = vec![0; BODY_BYTES];
        body[..4].copy_from_slice(&(count as u32).to_le_bytes());
        body[8..16].copy_from_slice(&self.issued.to_le_bytes());
        body[16..24].copy_from_slice(&u64::from(worker.saturating_sub(1)).to_le_bytes());
        let name = &name.as_bytes()[..name.len().min(NAME_BYTES - 1)];
        body[BODY_BYTES - NAME_BYTES..][..name.len()].copy_from_slice(name);
        for place in 0..count {
            body.extend(self.unsure.get(place).copied().unwrap_or(NONE).to_le_bytes());
        }
        let mut bytes = VERSION.to_le_bytes().to_vec();
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(u64::from(crc32c(&body)).to_le_bytes());
        bytes.extend(body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_state_is_loaded_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("local-job-0-verify.state");
        let state = SavedState { issued: 100, unsure: vec![99, 97] };
        state.save(&path, "job", 1).unwrap();
        let loaded = SavedState::load(&path).unwrap();
        assert_eq!(loaded, state);
        let held: Vec<u32> = (94..103).filter(|&number| loaded.holds(number)).collect();
        assert_eq!(held, [94, 95, 96, 98]);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!((whole.len(), &whole[104..108]), (24 + 144 + 16, &b"job\0"[..]));
    }

    #[test]
    fn unreadable_states_are_refused_by_name() {
        let good = SavedState { issued: 1, unsure: vec![] }.bytes("x", 1);
        let refused = |bytes: &[u8]| SavedState::parse(bytes).unwrap_err().to_string();
        let mut old = good.clone();
        old[0] = 3;
        assert!(refused(&old).contains("version 3"));
        assert!(refused(&good[..100]).contains("cut off"));
        assert!(refused(&[]).contains("cut off"));
        let mut damaged = good.clone();
        damaged[40] ^= 1;
        assert!(refused(&damaged).contains("checksum"));
        assert!(SavedState::load(Path::new("no-such-state")).unwrap_err().to_string().contains("no-such-state"));
        assert!(SavedState::parse(&good).is_ok());
    }
}
