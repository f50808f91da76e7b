//! The container: a tar archive of regular files, the same bytes for the same content.
//!
//! tar is read from front to back, so that every reader sees the same files. A ZIP archive has two lists of its files, and two
//! readers can see two contents.

use crate::{BUNDLE_BYTES_MAX, BundleError};
use std::io::Cursor;
use tar::{Archive, Builder, EntryType, Header};

/// Bytes of a block; an archive ends with two empty ones.
const BLOCK_BYTES: u64 = 512;

/// A file of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArchivedFile<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
}

/// Writes an archive without times, owners and anything else that differs between machines.
pub(crate) fn write<'a>(files: impl IntoIterator<Item = ArchivedFile<'a>>) -> Result<Vec<u8>, BundleError> {
    let failed = |error: std::io::Error| BundleError::Write(error.to_string());
    let mut builder = Builder::new(Vec::new());
    for file in files {
        let mut header = Header::new_ustar();
        header.set_path(file.name).map_err(failed)?;
        header.set_entry_type(EntryType::Regular);
        header.set_size(file.bytes.len() as u64);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_cksum();
        builder.append(&header, file.bytes).map_err(failed)?;
        let bytes = builder.get_ref().len() as u64;
        if bytes > BUNDLE_BYTES_MAX {
            return Err(BundleError::TooLarge { bytes });
        }
    }
    builder.into_inner().map_err(failed)
}

/// Returns the files of an archive in their order. Allocates nothing for sizes that headers only claim.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<ArchivedFile<'_>>, BundleError> {
    let foreign = |error: std::io::Error| BundleError::Foreign(error.to_string());
    let mut files = Vec::new();
    // End of the last file's data.
    let mut end = 0;
    let mut archive = Archive::new(Cursor::new(bytes));
    // `raw` leaves out the extensions of tar, by which one header changes the meaning of the next.
    for entry in archive.entries().map_err(foreign)?.raw(true) {
        let entry = entry.map_err(|error| match files.is_empty() {
            true => foreign(error),
            false => BundleError::End("a header is incomplete or damaged"),
        })?;
        let name = entry.path_bytes();
        let Some(name) = name_in(bytes, entry.raw_header_position(), &name) else {
            return Err(BundleError::Name(String::from_utf8_lossy(&name).chars().take(80).collect()));
        };
        if entry.header().entry_type() != EntryType::Regular {
            return Err(BundleError::Foreign(format!("{name} is not a regular file")));
        }
        let (start, claimed) = (entry.raw_file_position(), entry.size());
        let left = (bytes.len() as u64).saturating_sub(start);
        if claimed > left {
            return Err(BundleError::CutOff { file: name.to_owned(), claimed, left });
        }
        end = start + claimed;
        files.push(ArchivedFile { name, bytes: &bytes[start as usize..end as usize] });
    }
    let rest = &bytes[(end.next_multiple_of(BLOCK_BYTES) as usize).min(bytes.len())..];
    if (rest.len() as u64) < 2 * BLOCK_BYTES {
        return Err(BundleError::End("its last two blocks are missing"));
    }
    if rest.iter().any(|byte| *byte != 0) {
        return Err(BundleError::End("something follows its last file"));
    }
    Ok(files)
}

/// Returns a file's name as a part of the archive, so that it lives as long: `None` if it is not an allowed name.
fn name_in<'a>(archive: &'a [u8], header: u64, name: &[u8]) -> Option<&'a str> {
    let header = usize::try_from(header).ok()?;
    // A name of less than 100 bytes is at the header's beginning; a longer one has a prefix elsewhere, and no bundle needs it.
    let there = archive.get(header..header.checked_add(name.len())?)?;
    let text = std::str::from_utf8(there).ok()?;
    (there == name && is_allowed(text)).then_some(text)
}

/// Returns `true` for a name that unpacks below the working directory on every system.
pub(crate) fn is_allowed(name: &str) -> bool {
    let is_plain = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_'))
    };
    name.len() < 100 && name.split('/').all(is_plain)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns an archive with one header changed.
    pub(crate) fn with_header(bytes: &[u8], at: usize, change: impl FnOnce(&mut Header)) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        let mut header = Header::from_byte_slice(&changed[at..at + 512]).clone();
        change(&mut header);
        header.set_cksum();
        changed[at..at + 512].copy_from_slice(header.as_bytes());
        changed
    }

    fn archive() -> Vec<u8> {
        let files = [("manifest.json", &b"{}"[..]), ("runs/1/result.json", &[b'x'; 700])];
        write(files.map(|(name, bytes)| ArchivedFile { name, bytes })).unwrap()
    }

    #[test]
    fn files_come_back_and_the_bytes_are_the_same_each_time() {
        let bytes = archive();
        let files = read(&bytes).unwrap();
        assert_eq!(
            files.iter().map(|file| (file.name, file.bytes.len())).collect::<Vec<_>>(),
            [("manifest.json", 2), ("runs/1/result.json", 700)]
        );
        assert_eq!(archive(), bytes);
    }

    #[test]
    fn names_that_unpack_elsewhere_are_refused() {
        let name = |name: &str| {
            with_header(&archive(), 0, |header| {
                header.as_old_mut().name = [0; 100];
                header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            })
        };
        for hostile in
            ["../x", "/etc/passwd", "a/../../x", "a//b", "./a", "C:\\x", "a\\b", "-rf", "A", "a\nb", "é", ".ssh", ""]
        {
            assert!(matches!(read(&name(hostile)), Err(BundleError::Name(_))), "{hostile}: {:?}", read(&name(hostile)));
        }
        assert!(read(&name("a/b.c-d_e")).is_ok());
        let prefixed = with_header(&archive(), 0, |header| header.as_ustar_mut().unwrap().prefix[0] = b'x');
        assert!(matches!(read(&prefixed), Err(BundleError::Name(_))));
    }

    #[test]
    fn links_and_extensions_are_refused() {
        for kind in
            [EntryType::Symlink, EntryType::Link, EntryType::Directory, EntryType::GNULongName, EntryType::XHeader]
        {
            let bytes = with_header(&archive(), 0, |header| header.set_entry_type(kind));
            assert!(matches!(read(&bytes), Err(BundleError::Foreign(_))), "{kind:?}");
        }
    }

    // Protects memory: a header may claim any size.
    #[test]
    fn a_size_that_is_only_claimed_is_refused() {
        let claims = with_header(&archive(), 1024, |header| header.set_size(10 << 30));
        let left = archive().len() as u64 - 1536;
        let expected = BundleError::CutOff { file: "runs/1/result.json".to_owned(), claimed: 10 << 30, left };
        assert_eq!(read(&claims), Err(expected));
    }

    #[test]
    fn every_cut_and_every_addition_is_noticed() {
        let bytes = archive();
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
        let more = [&bytes[..], b"more"].concat();
        assert_eq!(read(&more), Err(BundleError::End("something follows its last file")));
        let twice = [&bytes[..], &bytes[..]].concat();
        assert!(read(&twice).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..2048), at in 0usize..2500) {
            let _ = read(&bytes);
            let mut changed = archive();
            for (index, byte) in bytes.iter().take(16).enumerate() {
                if let Some(place) = changed.get_mut(at + index) {
                    *place = *byte;
                }
            }
            let _ = read(&changed);
        }
    }
}
