//! Reports mismatches with their file and offset, and saves wrong blocks to files.

use super::check::{PieceMismatch, swap};
use super::checksum::{sha512_unfinished, sum};
use super::mismatch::{FileName, KeptBlocks, Mismatch, NotKept, StampMismatch};
use super::random::fill_in_part;
use super::rules::{StampRules, StampedBody, StampedPiece};
use super::stamp::{Header, HeaderLayout, header_bytes};
use crate::op::BlockOp;
use plumb_guard::OutputFile;
use plumb_workload::files::Names;
use plumb_workload::verify::VerifyMethod;
use std::path::{Path, PathBuf};

/// Looks up the paths of wrong blocks, and saves the blocks.
#[derive(Debug)]
pub(super) struct MismatchReporter {
    pub(super) names: Option<Names>,
    /// Directory for wrong blocks; `None` to save none.
    pub(super) dumps: Option<PathBuf>,
}

/// Makes the content of a write, without stamps.
pub(super) fn fill_body(rules: &StampRules, offset: u64, seed: u64, buffer: &mut [u8]) {
    match &rules.body {
        StampedBody::Random { percent, tail } => fill_in_part(seed, *percent, tail, buffer),
        StampedBody::Pattern(pattern) => pattern.fill(offset, buffer),
    }
}

/// Stamps a block: writes `header` and checksum at the start, then moves both to the configured position.
#[inline]
pub(super) fn stamp(rules: &StampRules, header: &Header, block: &mut [u8]) {
    let (head, stamp_bytes) = (header_bytes(header.layout), rules.stamp_bytes());
    let (front, data) = block.split_at_mut(stamp_bytes);
    header.write(front);
    let old = rules.method == VerifyMethod::Sha512 && header.layout == HeaderLayout::Unversioned;
    let sum =
        if old { sha512_unfinished(data).unwrap_or_else(|| sum(rules.method, data)) } else { sum(rules.method, data) };
    front[head..].copy_from_slice(sum.bytes());
    swap(block, rules.stamp_at, stamp_bytes);
}

impl MismatchReporter {
    fn path(&self, file: u32) -> Option<PathBuf> {
        self.names.as_ref().and_then(|names| names.path(file as usize))
    }

    /// Builds the mismatch with its location. Saves the blocks, if requested.
    #[cold]
    pub(super) fn report(
        &self,
        rules: Option<&StampRules>,
        op: &BlockOp,
        read: &[u8],
        mismatch: PieceMismatch,
    ) -> Mismatch {
        let kept = self.dumps.as_ref().map(|dir| {
            let kept = self.keep(dir, rules, op, read, &mismatch);
            kept.map_err(|source| NotKept { directory: dir.clone(), source })
        });
        let PieceMismatch { piece, difference, more, .. } = mismatch;
        let file = self.path(op.file).map_or(FileName::Number(op.file), FileName::Path);
        let offset = op.offset + piece.start as u64;
        StampMismatch { file, offset, length: piece.length, difference, more, kept }.into()
    }

    /// Writes the data read to `NAME.OFFSET.received`, and the expected data, if it
    /// can be reproduced, to `NAME.OFFSET.expected`.
    fn keep(
        &self,
        dir: &Path,
        rules: Option<&StampRules>,
        op: &BlockOp,
        read: &[u8],
        mismatch: &PieceMismatch,
    ) -> std::io::Result<KeptBlocks> {
        let piece = mismatch.piece;
        let name = self
            .path(op.file)
            .and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()))
            .unwrap_or_else(|| op.file.to_string());
        let stem = format!("{name}.{}", op.offset + piece.start as u64);
        let received = dir.join(format!("{stem}.received"));
        let bytes = &read[piece.start.min(read.len())..(piece.start + piece.length).min(read.len())];
        OutputFile::made_up("the wrong block", &received).write(bytes)?;
        let expected = match rules {
            Some(rules) => expected_block(rules, op, read, mismatch),
            None => Some(vec![0; piece.length]),
        };
        let with_expected = expected.is_some();
        if let Some(expected) = expected {
            OutputFile::made_up("the expected block", &dir.join(format!("{stem}.expected"))).write(&expected)?;
        }
        Ok(KeptBlocks { received, with_expected })
    }
}

/// Reproduces the expected block from its seed. Its time and worker are taken from the block found,
/// if its header is readable.
fn expected_block(rules: &StampRules, op: &BlockOp, read: &[u8], mismatch: &PieceMismatch) -> Option<Vec<u8>> {
    let StampedPiece { start, length } = mismatch.piece;
    let seed = match rules.body {
        StampedBody::Pattern(_) => mismatch.seed.unwrap_or(0),
        StampedBody::Random { .. } => mismatch.seed?,
    };
    let mut whole = vec![0; op.length as usize];
    fill_body(rules, op.offset, seed, &mut whole);
    let mut block = whole.get(start..start + length)?.to_vec();
    if rules.stamp_bytes() > 0 {
        let found =
            read.get(start + rules.stamp_at..).filter(|rest| rest.len() >= header_bytes(HeaderLayout::Versioned));
        let found = found.and_then(|rest| Header::read(rest).ok());
        let header = Header {
            layout: rules.layout,
            method: super::stamp::code(rules.method),
            length: length as u32,
            seed,
            offset: op.offset + start as u64,
            seconds: found.map_or(0, |found| found.seconds),
            nanoseconds: found.map_or(0, |found| found.nanoseconds),
            number: u64::from(op.number),
            worker: rules.worker,
        };
        stamp(rules, &header, &mut block);
    }
    Some(block)
}
