//! Content of images and files.

use crate::error::Cause;
use crate::site::Site;
use plumb_engine::rng::Rng;
use std::fs::File;
use std::io::Write as _;

/// Writes random content at the file's current position, in pieces of 1 MiB.
pub(super) fn write_random(file: &mut File, bytes: u64, mut rng: Rng, site: &Site<'_>) -> Result<(), Cause> {
    const CHUNK_BYTES: usize = 1 << 20;
    let mut piece = vec![0; CHUNK_BYTES];
    let mut left = bytes;
    while left > 0 {
        site.check_stop()?;
        for word in piece.chunks_exact_mut(8) {
            word.copy_from_slice(&rng.next_u64().to_le_bytes());
        }
        let length = usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        file.write_all(&piece[..length]).map_err(Cause::io("write"))?;
        left -= length as u64;
    }
    Ok(())
}
