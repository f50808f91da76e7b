//! Checks whether an output already equals the copy to be written, so that writing it again loses nothing.

use super::blank::{Patience, READ_MAX_BYTES, ReadTo, Window};
use super::not_blank::NotBlank;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::Ordering;

/// An unchanged copy: the input from one offset on, written to the output from another offset on.
#[derive(Debug, Clone, Copy)]
pub struct CopySource<'a> {
    /// The input, a regular file.
    pub file: BorrowedFd<'a>,
    /// Path of the input, for messages.
    pub path: &'a Path,
    /// Offset of the first copied byte in the input.
    pub from_bytes: u64,
    /// Offset of that byte in the output.
    pub to_bytes: u64,
}

/// Bytes to read of each file at a time: few enough for the CPU cache, many enough for a disk.
const WINDOW_BYTES: usize = 1 << 20;

/// Proves that an output equals the copy, from the copy's offset to the output's end.
///
/// # Errors
/// [`NotBlank::Data`] with the first byte that differs; [`NotBlank::TooLarge`] if there is too much to compare;
/// the error of a failed read.
pub(super) fn prove(
    output: BorrowedFd<'_>,
    path: &Path,
    source: &CopySource<'_>,
    patience: Patience,
) -> Result<(), NotBlank> {
    let length = u64::try_from(rustix::fs::fstat(output)?.st_size).unwrap_or(0);
    let bytes_max = patience.bytes_max.min(READ_MAX_BYTES);
    if length.saturating_sub(source.to_bytes) > bytes_max {
        return Err(NotBlank::TooLarge { bytes_max });
    }
    // A separate open file description leaves the flags of the copy's input unchanged.
    let input = super::open_again(source.file, source.path, super::Access::Read, super::IoMode::Buffered);
    let input = input.map_err(std::io::Error::other)?;
    let mut existing = Window::new(output, path, WINDOW_BYTES);
    let mut wanted = Window::new(std::os::fd::AsFd::as_fd(&input), source.path, WINDOW_BYTES);
    let outcome = compare(&mut existing, &mut wanted, length, source, patience);
    existing.close()?;
    wanted.close()?;
    outcome
}

fn compare(
    existing: &mut Window<'_>,
    wanted: &mut Window<'_>,
    length: u64,
    source: &CopySource<'_>,
    patience: Patience,
) -> Result<(), NotBlank> {
    let mut at = source.to_bytes;
    while at < length {
        if patience.stop.is_some_and(|stop| stop.load(Ordering::Relaxed) != 0) {
            return Err(NotBlank::Stopped);
        }
        if existing.read(at)? == ReadTo::Nothing {
            return Err(NotBlank::Changed);
        }
        let of_input = source.from_bytes.saturating_add(at - source.to_bytes);
        if wanted.read(of_input)? == ReadTo::Nothing {
            return Err(NotBlank::Data { offset_bytes: at });
        }
        let (output, input) = (existing.seen(), wanted.seen());
        let both = output.len().min(input.len());
        let (output, input) = (&output[..both], &input[..both]);
        // Comparing slices is several times as fast as comparing their bytes one by one.
        if output != input {
            let differs = output.iter().zip(input).take_while(|(a, b)| a == b).count();
            return Err(NotBlank::Data { offset_bytes: at + differs as u64 });
        }
        at += both as u64;
    }
    Ok(())
}
