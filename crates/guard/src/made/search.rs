//! Finds the last line of one file in the register by searching from its end. A run that looks up few files need not load the
//! whole register, which takes milliseconds when it is full.

use super::record;
use crate::path_resolution::Identity;
use memchr::memmem;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes searched at a time: they stay in the processor's cache.
const PART_BYTES: usize = 256 << 10;

/// Longest line: a path of 4,096 bytes, each escaped, and the other words.
const LINE_BYTES_MAX: usize = 16 << 10;

/// Returns the last complete line of the register that is about a file, without its line feed.
///
/// # Errors
/// The register cannot be read.
pub(super) fn last_line(register: &File, length: u64, identity: Identity) -> io::Result<Option<Vec<u8>>> {
    let start = record::start_of_line(identity);
    // The line feed before the line belongs to what is searched for; parts overlap by the rest of it.
    let wanted = format!("\n{start}");
    let finder = memmem::Finder::new(&wanted);
    let mut part = vec![0; PART_BYTES + wanted.len()];
    let mut end = length;
    while end > 0 {
        let from = end.saturating_sub(PART_BYTES as u64);
        let until = (end + wanted.len() as u64).min(length);
        let part = &mut part[..(until - from) as usize];
        register.read_exact_at(part, from)?;
        let found: Vec<usize> = finder.find_iter(part).collect();
        for at in found.into_iter().rev() {
            if let Some(line) = complete_line(register, from + at as u64 + 1, length)? {
                return Ok(Some(line));
            }
        }
        if from == 0 && part.starts_with(start.as_bytes()) {
            return complete_line(register, 0, length);
        }
        end = from;
    }
    Ok(None)
}

/// Reads the line that begins at an offset; `None` if the register ends before its line feed.
fn complete_line(register: &File, at: u64, length: u64) -> io::Result<Option<Vec<u8>>> {
    let mut line = vec![0; LINE_BYTES_MAX.min((length - at) as usize)];
    register.read_exact_at(&mut line, at)?;
    Ok(memchr::memchr(b'\n', &line).map(|end| {
        line.truncate(end);
        line
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, identity: Identity) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, text).unwrap();
        let line = last_line(&File::open(&file).unwrap(), text.len() as u64, identity).unwrap();
        line.map(|line| String::from_utf8(line).unwrap())
    }

    // Protects a line that lies across the end of a part, at each of its bytes.
    #[test]
    fn a_line_is_found_wherever_the_parts_end() {
        let identity = Identity { device: 0xfe00, inode: 77 };
        let line = record::start_of_line(identity) + "rest";
        for shift in 0..=line.len() + 2 {
            let after = "x".repeat(PART_BYTES - shift) + "\n";
            for before in ["", "\n", "other\n"] {
                assert_eq!(
                    found(&format!("{before}{line}\n{after}"), identity),
                    Some(line.clone()),
                    "{shift} {before:?}"
                );
            }
        }
    }

    #[test]
    fn the_last_complete_line_of_the_very_file_is_taken() {
        let identity = Identity { device: 1, inode: 0x7 };
        let [seven, seventy] = [7, 0x70].map(|inode| record::start_of_line(Identity { device: 1, inode }));
        assert_eq!(found(&format!("\n{seven}a\n{seven}b\n{seventy}c\n{seven}incomplete"), identity), Some(seven + "b"));
        assert_eq!(found(&format!("{seventy}c\n"), identity), None);
        assert_eq!(found("", identity), None);
    }
}
