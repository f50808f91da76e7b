//! Decides whether bytes in a file are certainly test data: a block that identifies itself, is at the offset that it
//! names, and has its original content.
//!
//! Plumb's own blocks have a checksum of all their bytes ([`headers`](super::headers)), and so do fio's stamps with
//! most methods. A checksum of less than 32 bits proves too little, and methods without one prove nothing. Their
//! content must also be what fio generates from the seed in the stamp. fio fills a whole write from one seed, and its
//! stream continues after each stamp of the write (`verify_interval`). Stamps moved into their block (`verify_offset`)
//! and patterns are not recognised.

use super::checksum::{sha512_unfinished, sum, sum_bytes};
use super::headers;
use super::random;
use super::stamp::{BYTES_MAX, Header, HeaderLayout, header_bytes, method};
use plumb_guard::TestBlock;
use plumb_workload::verify::VerifyMethod;

/// Minimum length of a checksum that proves a block to be whole.
const PROOF_BYTES: usize = 4;

/// Examines the bytes at `offset` of a file; `bytes` begins there.
pub(crate) fn test_block(bytes: &[u8], offset: u64) -> TestBlock {
    if let Some((file, length)) = headers::parse_header(bytes) {
        let expected = headers::ExpectedBlock { file, offset, seed: None, sequence_min: None };
        return sized(bytes, length, |block| headers::check(block, &expected).is_ok());
    }
    match bytes.get(..BYTES_MAX).map(Header::read) {
        Some(Ok(header)) if header.offset == offset => {
            sized(bytes, header.length.into(), |block| is_whole(&header, block))
        }
        _ => TestBlock::None,
    }
}

fn sized(bytes: &[u8], length: u64, is_whole: impl FnOnce(&[u8]) -> bool) -> TestBlock {
    match usize::try_from(length).ok().and_then(|length| bytes.get(..length)) {
        None => TestBlock::Longer(length),
        Some(block) if block.len() > headers::HEADER_BYTES && is_whole(block) => TestBlock::Whole(block.len()),
        Some(_) => TestBlock::None,
    }
}

/// Returns `true` if a block of fio is unchanged since it was written.
fn is_whole(header: &Header, block: &[u8]) -> bool {
    let Some(method) = method(header.method) else { return false };
    if matches!(method, VerifyMethod::Pattern | VerifyMethod::Null) {
        return false;
    }
    let start = header_bytes(header.layout);
    let stamp = start + sum_bytes(method);
    let (Some(expected), Some(body)) = (block.get(start..stamp), block.get(stamp..)) else { return false };
    if body.is_empty() {
        return false;
    }
    if sum(method, body).bytes() == expected {
        if expected.len() >= PROOF_BYTES {
            return true;
        }
    } else {
        // Old versions of fio do not finish SHA-512, so it is not a checksum.
        let is_old = method == VerifyMethod::Sha512 && header.layout == HeaderLayout::Unversioned;
        let unfinished = if is_old { sha512_unfinished(body) } else { None };
        if unfinished.is_none_or(|unfinished| unfinished.bytes() != expected) {
            return false;
        }
    }
    random::follows(header.seed, stamp as u64, body) || random::is_within(header.seed, stamp as u64, body)
}

#[cfg(test)]
mod tests {
    use super::super::stamp::code;
    use super::*;
    use plumb_guard::{FileOpening, Intent, IoMode, Permissions};

    fn fio_block(method: VerifyMethod, offset: u64, length: usize) -> Vec<u8> {
        fio_write(method, offset, length, length)
    }

    /// Returns one write of fio, with a stamp at every interval.
    fn fio_write(method: VerifyMethod, offset: u64, length: usize, interval: usize) -> Vec<u8> {
        let mut write = vec![0; length];
        random::fill(77, &mut write);
        for (number, block) in write.chunks_mut(interval).enumerate() {
            let header = Header {
                layout: HeaderLayout::Versioned,
                method: code(method),
                length: block.len() as u32,
                seed: 77,
                offset: offset + (number * interval) as u64,
                seconds: 1,
                nanoseconds: 2,
                number: 3,
                worker: 1,
            };
            let start = header_bytes(header.layout);
            let found = sum(method, &block[start + sum_bytes(method)..]);
            header.write(block);
            block[start..start + sum_bytes(method)].copy_from_slice(found.bytes());
        }
        write
    }

    fn ours(offset: u64, length: usize) -> Vec<u8> {
        let mut block = vec![7; length];
        let identity = headers::BlockIdentity { file: 9, offset, sequence: 4, seed: 5 };
        headers::stamp(&mut block, &identity, headers::Checksum::Crc32c);
        block
    }

    const METHODS: [VerifyMethod; 7] = [
        VerifyMethod::Crc32c,
        VerifyMethod::Md5,
        VerifyMethod::Crc7,
        VerifyMethod::Crc16,
        VerifyMethod::Meta,
        VerifyMethod::Sha512,
        VerifyMethod::XxHash,
    ];

    #[test]
    fn whole_blocks_of_plumb_and_fio_are_recognised_at_their_offset() {
        assert_eq!(test_block(&ours(8192, 4096), 8192), TestBlock::Whole(4096));
        for method in METHODS {
            assert_eq!(test_block(&fio_block(method, 8192, 4096), 8192), TestBlock::Whole(4096), "{method:?}");
        }
    }

    // Protects user data written over part of test data, and copies of test data: a block must match to the last byte.
    #[test]
    fn a_block_changed_or_moved_is_not_test_data() {
        let blocks = METHODS.map(|method| fio_block(method, 8192, 4096)).into_iter().chain([ours(8192, 4096)]);
        for (number, block) in blocks.enumerate() {
            assert_eq!(test_block(&block, 4096), TestBlock::None, "{number}: elsewhere");
            for at in [0, 20, 60, 200, 2048, 4095] {
                let mut changed = block.clone();
                changed[at] ^= 0x40;
                let found = test_block(&changed, 8192);
                // A damaged length may ask for more data.
                assert!(!matches!(found, TestBlock::Whole(_)), "{number}: byte {at}: {found:?}");
            }
        }
    }

    // A later write may have replaced the first blocks of an earlier one, so each block must be recognised alone.
    #[test]
    fn each_stamped_interval_of_a_longer_write_is_recognised_unless_changed() {
        for method in METHODS.into_iter().chain([VerifyMethod::PatternHeader]) {
            for (length, interval) in [(256 << 10, 4096), (64 << 10, 512), (20_000, 1000), (12_300, 4100)] {
                let write = fio_write(method, 1 << 20, length, interval);
                for at in (0..length).step_by(interval) {
                    let (rest, offset) = (&write[at..], (1 << 20) + at as u64);
                    let name = format!("{method:?}, {interval} of {length}, byte {at}");
                    assert_eq!(test_block(rest, offset), TestBlock::Whole(interval), "{name}");
                    assert_eq!(test_block(&write[at..][..interval], offset), TestBlock::Whole(interval), "{name}");
                    let mut changed = write[at..][..interval].to_vec();
                    for place in [60 + at % 100, interval - 1] {
                        changed[place] ^= 1;
                        assert_eq!(test_block(&changed, offset), TestBlock::None, "{name}: byte {place}");
                        changed[place] ^= 1;
                    }
                }
            }
        }
    }

    #[test]
    fn the_unfinished_sha_512_of_old_fio_proves_nothing_and_the_content_must_follow_from_the_seed() {
        let mut block = fio_block(VerifyMethod::Sha512, 8192, 4096);
        Header { layout: HeaderLayout::Unversioned, ..Header::read(&block).unwrap() }.write(&mut block);
        let (start, stamp) = (40, 40 + sum_bytes(VerifyMethod::Sha512));
        let seal = |block: &mut [u8]| {
            let unfinished = sha512_unfinished(&block[stamp..]).unwrap();
            block[start..stamp].copy_from_slice(unfinished.bytes());
        };
        assert_eq!(test_block(&block, 8192), TestBlock::None, "it has no checksum");
        let mut made = [0; 4096];
        random::fill(77, &mut made);
        block[stamp..].copy_from_slice(&made[stamp..]);
        seal(&mut block);
        assert_eq!(test_block(&block, 8192), TestBlock::Whole(4096));
        block[2000] ^= 1;
        seal(&mut block);
        assert_eq!(test_block(&block, 8192), TestBlock::None);
    }

    #[test]
    fn a_cut_block_asks_for_the_rest_and_reads_stay_in_bounds() {
        for block in [ours(0, 4096), fio_block(VerifyMethod::Crc32c, 0, 4096)] {
            assert_eq!(test_block(&block[..1000], 0), TestBlock::Longer(4096));
            for length in [0, 1, 8, 40, 47] {
                assert!(!matches!(test_block(&block[..length], 0), TestBlock::Whole(_)));
            }
        }
        assert_eq!(test_block(b"SQLite format 3", 0), TestBlock::None);
    }

    // Protects other people's files: the guard of a run accepts exactly this test data.
    #[test]
    fn the_guard_accepts_recognised_data() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let opening = FileOpening { intent: Intent::Overwrite, mode: IoMode::Buffered, needed_bytes: 0 };
        let passes = || crate::write_guard(Permissions::none()).open_file(&path, opening).is_ok();
        let mut blocks = [ours(0, 4096), fio_block(VerifyMethod::Crc32c, 4096, 4096)].concat();
        std::fs::write(&path, &blocks).unwrap();
        assert!(passes());
        blocks[8191] ^= 1;
        // Use a new file: the guard has marked the first one.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &blocks).unwrap();
        assert!(!passes());
    }

    #[test]
    fn a_pattern_proves_nothing() {
        let mut block = fio_block(VerifyMethod::PatternHeader, 0, 4096);
        assert_eq!(test_block(&block, 0), TestBlock::Whole(4096), "content from the seed proves it");
        block[100..].fill(0x5a);
        assert_eq!(test_block(&block, 0), TestBlock::None);
    }
}
