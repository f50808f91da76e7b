//! Mismatches in words, and the blocks that differ kept in files.

use super::check::{Mismatch, swap};
use super::checksum::{sha512_unfinished, sum};
use super::random::fill_in_part;
use super::rules::{Body, Piece, StampRules};
use super::stamp::{Header, Layout, header_bytes};
use crate::op::BlockOp;
use plumb_workload::files::Names;
use plumb_workload::verify::VerifyMethod;
use std::path::{Path, PathBuf};

/// Tells of mismatches.
#[derive(Debug)]
pub(super) struct MismatchReporter {
    pub(super) names: Option<Names>,
    /// Where blocks that differ are kept; nowhere where absent.
    pub(super) dumps: Option<PathBuf>,
}

/// The content of a write, without stamps.
pub(super) fn fill_body(rules: &StampRules, offset: u64, seed: u64, buffer: &mut [u8]) {
    match &rules.body {
        Body::Random { percent, tail } => fill_in_part(seed, *percent, tail, buffer),
        Body::Pattern(pattern) => pattern.fill(offset, buffer),
    }
}

/// Stamps a block: its checksum and `header` at the start, then both to where stamps lie.
#[inline]
pub(super) fn stamp(rules: &StampRules, header: &Header, block: &mut [u8]) {
    let (head, stamp_bytes) = (header_bytes(header.layout), rules.stamp_bytes());
    let (front, data) = block.split_at_mut(stamp_bytes);
    header.write(front);
    let old = rules.method == VerifyMethod::Sha512 && header.layout == Layout::Unversioned;
    let sum =
        if old { sha512_unfinished(data).unwrap_or_else(|| sum(rules.method, data)) } else { sum(rules.method, data) };
    front[head..].copy_from_slice(sum.bytes());
    swap(block, rules.stamp_at, stamp_bytes);
}

impl MismatchReporter {
    fn path(&self, file: u32) -> Option<PathBuf> {
        self.names.as_ref().and_then(|names| names.path(file as usize))
    }

    /// A mismatch in words; the blocks are kept, where that was asked for, and what became of that is said, too.
    pub(super) fn tell(&self, rules: Option<&StampRules>, op: &BlockOp, read: &[u8], mismatch: &Mismatch) -> String {
        let Mismatch { piece, difference, more, .. } = mismatch;
        let offset = op.offset + piece.start as u64;
        let file = match self.path(op.file) {
            Some(path) => path.display().to_string(),
            None => format!("file {}", op.file),
        };
        let mut text = format!("{file}, offset {offset}, {} bytes: {difference}", piece.length);
        if *more > 0 {
            text.push_str(&format!("; {more} more blocks of the same read differ"));
        }
        if let Some(dir) = &self.dumps {
            match self.keep(dir, rules, op, read, mismatch) {
                Ok(kept) => text.push_str(&format!("; kept as {kept}")),
                Err(error) => text.push_str(&format!("; cannot be kept in {}: {error}", dir.display())),
            }
        }
        text
    }

    /// Writes what was read, and what was expected where that can be made again, into files: `NAME.OFFSET.received` and
    /// `NAME.OFFSET.expected`.
    fn keep(
        &self,
        dir: &Path,
        rules: Option<&StampRules>,
        op: &BlockOp,
        read: &[u8],
        mismatch: &Mismatch,
    ) -> std::io::Result<String> {
        let piece = mismatch.piece;
        let name = self
            .path(op.file)
            .and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()))
            .unwrap_or_else(|| op.file.to_string());
        let stem = format!("{name}.{}", op.offset + piece.start as u64);
        let received = dir.join(format!("{stem}.received"));
        std::fs::write(&received, &read[piece.start.min(read.len())..(piece.start + piece.length).min(read.len())])?;
        let expected = match rules {
            Some(rules) => expected_block(rules, op, read, mismatch),
            None => Some(vec![0; piece.length]),
        };
        let Some(expected) = expected else { return Ok(received.display().to_string()) };
        std::fs::write(dir.join(format!("{stem}.expected")), expected)?;
        Ok(format!("{} and .expected", received.display()))
    }
}

/// The block that should be there, from its seed. When it was written, and by whom, is taken from what is there, if that
/// can be read.
fn expected_block(rules: &StampRules, op: &BlockOp, read: &[u8], mismatch: &Mismatch) -> Option<Vec<u8>> {
    let Piece { start, length } = mismatch.piece;
    let seed = match rules.body {
        Body::Pattern(_) => mismatch.seed.unwrap_or(0),
        Body::Random { .. } => mismatch.seed?,
    };
    let mut whole = vec![0; op.length as usize];
    fill_body(rules, op.offset, seed, &mut whole);
    let mut block = whole.get(start..start + length)?.to_vec();
    if rules.stamp_bytes() > 0 {
        let found = read.get(start + rules.stamp_at..).filter(|rest| rest.len() >= header_bytes(Layout::Versioned));
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
