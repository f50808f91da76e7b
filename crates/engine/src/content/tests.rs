//! Writes of a job are read back by the job itself and by fio, and damage is reported. The tests move the blocks with
//! plain `pread` and `pwrite`; the backends have their own tests.

mod fio;

use super::*;
use crate::backend::payload::Payload;
use plumb_workload::Bytes;
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::{AccessOrder, Coverage, JobSize, SizeShare, Stream};
use plumb_workload::content::{DedupeMode, PatternPiece};
use plumb_workload::process::BufferRules;
use plumb_workload::verify::{StampLayout, VerifyState};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const METHODS: [(VerifyMethod, &str); 17] = [
    (VerifyMethod::Md5, "md5"),
    (VerifyMethod::Crc64, "crc64"),
    (VerifyMethod::Crc32, "crc32"),
    (VerifyMethod::Crc32c, "crc32c"),
    (VerifyMethod::Crc16, "crc16"),
    (VerifyMethod::Crc7, "crc7"),
    (VerifyMethod::Sha1, "sha1"),
    (VerifyMethod::Sha256, "sha256"),
    (VerifyMethod::Sha512, "sha512"),
    (VerifyMethod::Sha3_224, "sha3-224"),
    (VerifyMethod::Sha3_256, "sha3-256"),
    (VerifyMethod::Sha3_384, "sha3-384"),
    (VerifyMethod::Sha3_512, "sha3-512"),
    (VerifyMethod::XxHash, "xxhash"),
    (VerifyMethod::Meta, "meta"),
    (VerifyMethod::Pattern, "pattern"),
    (VerifyMethod::PatternHeader, "pattern_hdr"),
];

fn rules(method: VerifyMethod) -> Verify {
    let needs_pattern = matches!(method, VerifyMethod::Pattern | VerifyMethod::PatternHeader);
    Verify {
        layout: StampLayout::Unversioned,
        pattern: if needs_pattern { vec![PatternPiece::Hex("deadbeef42".into())] } else { Vec::new() },
        ..Verify::new(method)
    }
}

/// Sequential writes of 4 KiB over 256 KiB.
fn stream() -> Stream {
    Stream { read_percent: Some(0), coverage: Coverage::Once, ..Stream::sequential(Bytes(4096), Bytes(256 << 10)) }
}

/// A job with one file, whose ops are made by the test.
struct Bench {
    ops: BlockStream,
    verify: Option<Verify>,
    content: BufferContent,
    dir: tempfile::TempDir,
    names: Names,
    sizes: (u32, u32),
    depth: usize,
    writers: Writers,
    worker: u32,
}

impl Bench {
    fn new(stream: Stream, verify: Verify) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        File::create(&path).unwrap();
        let write = &stream.sizes.write;
        let sizes = (write.min().0 as u32, write.max().0 as u32);
        let ops = stream.into();
        let verify = Some(verify);
        let content = BufferContent::default();
        Bench {
            ops,
            verify,
            content,
            names: Names::Given(vec![path]),
            dir,
            sizes,
            depth: 1,
            writers: Writers::One,
            worker: 1,
        }
    }

    fn with_method(method: VerifyMethod) -> Bench {
        Bench::new(stream(), rules(method))
    }

    fn rules(&mut self) -> &mut Verify {
        self.verify.as_mut().unwrap()
    }

    fn path(&self) -> PathBuf {
        self.names.path(0).unwrap()
    }

    fn bytes(&self) -> Result<BlockBytes, ContentError> {
        BlockBytes::new(&BytesRequest {
            moves: self.ops.moves(),
            ops: Some(&self.ops),
            verify: self.verify.as_ref(),
            content: &self.content,
            name: "job",
            names: Some(&self.names),
            smallest_block_bytes: self.sizes.0,
            largest_block_bytes: self.sizes.1,
            in_flight_max: self.depth,
            writers: self.writers,
            seed: 0x89,
            worker_number: self.worker,
            content_seed: 99,
            base: self.dir.path(),
        })
    }

    fn start(&self) -> Run {
        let file = File::options().read(true).write(true).open(self.path()).unwrap();
        let bytes = self.bytes().unwrap();
        let payload = Payload::new(self.depth, self.sizes.1 as usize, bytes, &BufferRules::default()).unwrap();
        Run { payload, file, written: 0 }
    }

    /// Applies one change to the file.
    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.path()).unwrap();
        change(&mut bytes);
        std::fs::write(self.path(), bytes).unwrap();
    }
}

/// A worker whose ops are executed one at a time.
struct Run {
    payload: Payload,
    file: File,
    written: u32,
}

impl Run {
    fn memory(&mut self, slot: usize, length: u32) -> &mut [u8] {
        &mut self.payload.memory(slot)[..length as usize]
    }

    fn issue(&mut self, slot: u16, offset: u64, length: u32) -> BlockOp {
        let op = BlockOp { number: self.written, ..BlockOp::load(OpKind::Write, 0, offset, length) };
        self.written += 1;
        self.payload.before(&op, slot);
        op
    }

    fn land(&mut self, slot: u16, op: &BlockOp) {
        let bytes = self.memory(slot.into(), op.length).to_vec();
        self.file.write_all_at(&bytes, op.offset).unwrap();
        self.payload.after(op, slot, op.length.into()).unwrap();
    }

    fn write(&mut self, offset: u64, length: u32) -> BlockOp {
        let op = self.issue(0, offset, length);
        self.land(0, &op);
        op
    }

    fn fill(&mut self, length: u32) -> Vec<BlockOp> {
        (0..(256 << 10) / length).map(|number| self.write(u64::from(number * length), length)).collect()
    }

    /// Reads an op back; the error is the mismatch in words.
    fn read(&mut self, op: &BlockOp) -> Result<(), String> {
        let op =
            BlockOp { kind: OpKind::Read, role: if op.role == Role::Load { Role::ReadBack } else { op.role }, ..*op };
        self.payload.before(&op, 0);
        let mut read = vec![0; op.length as usize];
        let moved = self.file.read_at(&mut read, op.offset).unwrap();
        self.memory(0, op.length).copy_from_slice(&read);
        self.payload.after(&op, 0, moved as u64).map_err(|mismatch| mismatch.to_string())
    }

    fn read_all(&mut self, ops: &[BlockOp]) -> Vec<String> {
        ops.iter().filter_map(|op| self.read(op).err()).collect()
    }
}

/// Returns the mismatch of block 5 after a change of the file.
fn mismatch_after(bench: &Bench, run: &mut Run, ops: &[BlockOp], change: impl FnOnce(&mut Vec<u8>)) -> String {
    bench.change(change);
    let mismatches = run.read_all(ops);
    assert_eq!(mismatches.len(), 1, "{mismatches:?}");
    let place = format!("{}, offset {}, 4096 bytes: ", bench.path().display(), 5 * 4096);
    assert!(mismatches[0].starts_with(&place), "{}", mismatches[0]);
    mismatches[0][place.len()..].to_owned()
}

const BLOCK: usize = 4096;

#[test]
fn every_kind_of_damage_is_reported_with_expected_and_found_values() {
    let bench = Bench::with_method(VerifyMethod::Crc32c);
    let mut run = bench.start();
    let ops = run.fill(4096);
    let good = std::fs::read(bench.path()).unwrap();
    let mut damage = |change: &dyn Fn(&mut Vec<u8>)| {
        std::fs::write(bench.path(), &good).unwrap();
        mismatch_after(&bench, &mut run, &ops, change)
    };
    let flipped = damage(&|bytes| bytes[5 * BLOCK + 2000] ^= 1);
    assert!(flipped.starts_with("damaged: expected crc32c ") && flipped.contains(", found "), "{flipped}");
    let torn = damage(&|bytes| bytes[5 * BLOCK + 512..6 * BLOCK].fill(0xaa));
    assert!(torn.starts_with("damaged: expected crc32c "), "{torn}");
    let header = damage(&|bytes| bytes[5 * BLOCK + 10] ^= 1);
    assert!(header.starts_with("a damaged stamp: expected header checksum "), "{header}");
    let moved = damage(&|bytes| bytes.copy_within(9 * BLOCK..10 * BLOCK, 5 * BLOCK));
    assert_eq!(moved, "a block that belongs elsewhere: expected offset 20480, found 36864");
    assert_eq!(damage(&|bytes| bytes[5 * BLOCK..6 * BLOCK].fill(0)), "only zeros; a stamp was expected");
    let garbage = damage(&|bytes| bytes[5 * BLOCK..6 * BLOCK].fill(0x11));
    assert_eq!(garbage, "no stamp: expected the magic number acca, found 1111");
    let half = damage(&|bytes| {
        bytes[5 * BLOCK..5 * BLOCK + 512].fill(0);
    });
    assert_eq!(half, "no stamp: expected the magic number acca, found 0000");
}

#[test]
fn both_swapped_blocks_are_reported() {
    let bench = Bench::with_method(VerifyMethod::XxHash);
    let mut run = bench.start();
    let ops = run.fill(4096);
    bench.change(|bytes| {
        let (front, back) = bytes.split_at_mut(8 * BLOCK);
        front[2 * BLOCK..3 * BLOCK].swap_with_slice(&mut back[..BLOCK]);
    });
    let mismatches = run.read_all(&ops);
    assert_eq!(mismatches.len(), 2);
    assert!(mismatches[0].ends_with("expected offset 8192, found 32768"), "{}", mismatches[0]);
    assert!(mismatches[1].ends_with("expected offset 32768, found 8192"), "{}", mismatches[1]);
}

#[test]
fn a_file_that_ends_early_is_reported() {
    let bench = Bench::with_method(VerifyMethod::Crc32c);
    let mut run = bench.start();
    let ops = run.fill(4096);
    bench.change(|bytes| bytes.truncate(63 * BLOCK + 100));
    let mismatches = run.read_all(&ops);
    assert_eq!(mismatches.len(), 1);
    assert!(mismatches[0].ends_with("the file ends early: expected 4096 bytes, found 100"), "{}", mismatches[0]);
}

#[test]
fn a_lost_write_is_reported_for_old_data_of_this_or_an_earlier_run() {
    let mut bench = Bench::with_method(VerifyMethod::Crc32c);
    if let BlockStream::Fio(stream) = &mut bench.ops {
        stream.loops = 2;
    }
    let mut run = bench.start();
    run.fill(4096);
    let first = std::fs::read(bench.path()).unwrap();
    let ops = run.fill(4096);
    let lost = |bytes: &mut Vec<u8>| bytes[5 * BLOCK..6 * BLOCK].copy_from_slice(&first[5 * BLOCK..6 * BLOCK]);
    let stale = mismatch_after(&bench, &mut run, &ops, lost);
    assert_eq!(stale, "an older block, a write was lost: expected write 69, found 5");

    // The next run writes the same content with the same seeds and numbers. Only the time of writing differs.
    let before = std::fs::read(bench.path()).unwrap();
    let mut run = bench.start();
    let ops = run.fill(4096);
    let lost = |bytes: &mut Vec<u8>| bytes[5 * BLOCK..6 * BLOCK].copy_from_slice(&before[5 * BLOCK..6 * BLOCK]);
    let stale = mismatch_after(&bench, &mut run, &ops, lost);
    assert!(stale.starts_with("data from before this run, a write was lost"), "{stale}");
}

#[test]
fn another_workers_block_is_an_error_unless_it_may_write_there() {
    let mut bench = Bench::with_method(VerifyMethod::Crc32c);
    let mut run = bench.start();
    let ops = run.fill(4096);
    bench.worker = 2;
    bench.start().write(5 * 4096, 4096);
    assert_eq!(
        mismatch_after(&bench, &mut run, &ops, |_| {}),
        "a block of a worker that does not own this file: expected worker 1, found 2"
    );
    bench.worker = 1;
    bench.writers = Writers::Several;
    let mut run = bench.start();
    let ops = run.fill(4096);
    bench.worker = 2;
    bench.start().write(5 * 4096, 4096);
    assert_eq!(run.read_all(&ops), [""; 0]);
}

#[test]
fn seeds_and_numbers_are_compared_only_where_they_are_expected() {
    let mut bench = Bench::with_method(VerifyMethod::Crc32c);
    bench.start().fill(4096);
    bench.rules().only = true;
    // Read in another order than written.
    let op =
        |number: u32, block: u32| BlockOp { number, ..BlockOp::load(OpKind::Read, 0, u64::from(block) * 4096, 4096) };
    let number = bench.start().read(&op(3, 4)).unwrap_err();
    assert!(number.ends_with("a block of another write: expected write 3, found 4"), "{number}");
    bench.rules().expects_number = false;
    let seed = bench.start().read(&op(3, 4)).unwrap_err();
    assert!(seed.contains("a block with other content: expected seed 0x"), "{seed}");
    bench.rules().expects_seed = false;
    assert_eq!(bench.start().read(&op(3, 4)), Ok(()));
}

#[test]
fn pattern_damage_is_reported_to_the_byte_and_patterns_may_hold_offsets() {
    for method in [VerifyMethod::Pattern, VerifyMethod::PatternHeader, VerifyMethod::Meta] {
        for interval in [None, Some(Bytes(1024))] {
            let mut bench = Bench::with_method(method);
            bench.rules().pattern = vec![PatternPiece::Hex("abcd".into()), PatternPiece::Offset];
            bench.rules().pattern_interval = Some(Bytes(512));
            bench.rules().interval = interval;
            let mut run = bench.start();
            let ops = run.fill(4096);
            assert_eq!(run.read_all(&ops), [""; 0], "{method:?}");
            bench.change(|bytes| bytes[5 * BLOCK + 1000] = 0x77);
            let mismatches = run.read_all(&ops);
            assert_eq!(mismatches.len(), 1);
            assert!(
                mismatches[0].contains("damaged at byte 1000 of the block") && mismatches[0].ends_with("found 77"),
                "{}",
                mismatches[0]
            );
        }
    }
}

#[test]
fn trimmed_blocks_must_be_zeros() {
    let bench = Bench::with_method(VerifyMethod::Crc32c);
    let mut run = bench.start();
    run.fill(4096);
    let op = BlockOp { role: Role::ReadTrimmed, ..BlockOp::load(OpKind::Read, 0, 4096, 4096) };
    assert!(run.read(&op).unwrap_err().contains("not zeros after a trim: found ca at byte 0"));
    bench.change(|bytes| bytes[4096..8192].fill(0));
    assert_eq!(run.read(&op), Ok(()));
}

#[test]
fn the_load_of_a_mix_is_not_verified() {
    let bench = Bench::with_method(VerifyMethod::Crc32c);
    let mut run = bench.start();
    run.write(0, 4096);
    let op = BlockOp::load(OpKind::Read, 0, 0, 4096);
    run.memory(0, 4096).fill(0);
    assert!(run.payload.after(&op, 0, 4096).is_ok());
    // Data that the read left in the slot must not get into the next write.
    let op = run.write(4096, 4096);
    assert_eq!(run.read(&op), Ok(()));
}

#[test]
fn wrong_blocks_are_saved_as_found_and_as_expected() {
    for stamp_at in [0, 1024] {
        let mut bench = Bench::with_method(VerifyMethod::Md5);
        bench.rules().dump = true;
        bench.rules().stamp_at = Bytes(stamp_at);
        bench.content.compress_percent = 30;
        let mut run = bench.start();
        let ops = run.fill(4096);
        let good = std::fs::read(bench.path()).unwrap();
        bench.change(|bytes| bytes[5 * BLOCK + 2000] ^= 1);
        let mismatches = run.read_all(&ops);
        let kept = bench.dir.path().join("data.20480.received");
        assert!(mismatches[0].contains(&format!("kept as {}", kept.display())), "{}", mismatches[0]);
        let bad = std::fs::read(bench.path()).unwrap();
        assert_eq!(std::fs::read(&kept).unwrap(), bad[5 * BLOCK..6 * BLOCK]);
        let expected = std::fs::read(kept.with_extension("expected")).unwrap();
        assert!(expected == good[5 * BLOCK..6 * BLOCK], "the block is reproduced to the last byte");
    }
}

#[test]
fn threads_find_the_same_damage() {
    let mut bench = Bench::with_method(VerifyMethod::Sha1);
    bench.rules().threads = 2;
    bench.rules().thread_cpus = vec![0];
    let mut run = bench.start();
    let ops = run.fill(4096);
    bench.change(|bytes| [5, 17, 63].iter().for_each(|block| bytes[block * BLOCK + 99] ^= 1));
    let mut mismatches = run.read_all(&ops);
    mismatches.extend(run.payload.finish().mismatches.iter().map(ToString::to_string));
    mismatches.sort();
    assert_eq!(mismatches.len(), 3, "{mismatches:?}");
    assert!(mismatches.iter().all(|mismatch| mismatch.contains("damaged: expected sha1 ")), "{mismatches:?}");
    bench.rules().thread_cpus = vec![1_000_000];
    let mut run = bench.start();
    let op = run.write(0, 4096);
    assert!(run.read(&op).unwrap_err().contains("CPU 1000000"));
}

#[test]
fn a_run_that_ended_early_saves_its_progress_and_only_that_is_verified() {
    let mut bench = Bench::with_method(VerifyMethod::Crc32c);
    bench.depth = 3;
    let state = bench.dir.path().join("local-job-0-verify.state");
    bench.rules().state.save = Some(state.clone());
    let mut run = bench.start();
    let mut ops: Vec<BlockOp> = (0..10).map(|number| run.write(number * 4096, 4096)).collect();
    ops.push(run.issue(1, 10 * 4096, 4096));
    ops.push(run.issue(2, 11 * 4096, 4096));
    run.land(2, &ops[11]);
    assert!(run.payload.finish().mismatches.is_empty());
    ops.extend(
        (12..14).map(|number| BlockOp { number, ..BlockOp::load(OpKind::Write, 0, u64::from(number) * 4096, 4096) }),
    );

    bench.rules().only = true;
    assert_eq!(bench.start().read_all(&ops).len(), 3, "one was in flight, and two were never issued");
    bench.rules().state = VerifyState { load: Some(state), save: None };
    assert_eq!(bench.start().read_all(&ops), [""; 0]);
    bench.change(|bytes| bytes[11 * BLOCK + 99] ^= 1);
    assert_eq!(bench.start().read_all(&ops).len(), 1, "completed writes are verified");
    bench.rules().state.load = Some("no-such-state".into());
    assert!(bench.bytes().unwrap_err().to_string().contains("no-such-state"));
}

#[test]
fn with_flushed_only_unflushed_writes_are_not_verified() {
    let mut bench = Bench::with_method(VerifyMethod::Crc32c);
    bench.rules().flushed_only = true;
    let mut run = bench.start();
    let mut ops: Vec<BlockOp> = (0..4).map(|number| run.write(number * 4096, 4096)).collect();
    let flush = BlockOp::load(OpKind::Fsync, 0, 0, 0);
    run.payload.before(&flush, 0);
    run.payload.after(&flush, 0, 0).unwrap();
    ops.extend((4..8).map(|number| run.write(number * 4096, 4096)));
    bench.change(|bytes| [1, 6].iter().for_each(|block| bytes[block * BLOCK + 99] ^= 1));
    assert_eq!(run.read_all(&ops).len(), 1);
}

fn random_again(sizes: JobSize, align: u64) -> Stream {
    Stream {
        order: AccessOrder::Random { ops_per_draw: 1 },
        coverage: Coverage::Again,
        sizes: ByKind::all(sizes),
        align: ByKind::all(Bytes(align)),
        ..stream()
    }
}

/// Makes many overlapping writes and reads all of them back: no mismatch may be reported. Then changes a
/// byte, which must be reported.
fn overlapping(mut bench: Bench, step: u64, sizes: &[u32]) {
    bench.rules().layout = StampLayout::Versioned;
    let mut rng = crate::rng::Rng::new(5);
    let mut run = bench.start();
    let mut ops = Vec::new();
    for _ in 0..400 {
        let length = sizes[rng.below(sizes.len() as u64) as usize];
        let places = ((256 << 10) - u64::from(length)) / step + 1;
        ops.push(run.write(rng.below(places) * step, length));
    }
    assert_eq!(run.read_all(&ops), [""; 0]);
    // The last write is whole, so each of its bytes belongs to it.
    let last = ops[ops.len() - 1];
    bench.change(|bytes| bytes[last.offset as usize + last.length as usize / 2] ^= 1);
    assert!(!run.read_all(&ops).is_empty(), "the damage to the last write is reported");
}

#[test]
fn overlapping_writes_pass() {
    let range = JobSize::Range { low: Bytes(4096), high: Bytes(16384) };
    for method in [VerifyMethod::Crc32c, VerifyMethod::Pattern, VerifyMethod::PatternHeader] {
        let mut bench = Bench::new(random_again(range.clone(), 4096), rules(method));
        if method != VerifyMethod::Crc32c {
            bench.rules().pattern = vec![PatternPiece::Hex("0102030405060708".into()), PatternPiece::Offset];
        }
        overlapping(bench, 4096, &[4096, 8192, 12288, 16384]);
    }
    // Sizes without a common grid, and offsets off the grid.
    let split = JobSize::Split([4096, 6144, 8192].map(|size| SizeShare { size: Bytes(size), percent: 33 }).to_vec());
    overlapping(Bench::new(random_again(split, 2048), rules(VerifyMethod::Crc32c)), 2048, &[4096, 6144, 8192]);
    let off = random_again(range.clone(), 512);
    overlapping(Bench::new(off, rules(VerifyMethod::Crc32c)), 512, &[4096, 8192, 16384]);
    let any = Stream { unaligned_sizes: true, ..random_again(range, 512) };
    overlapping(Bench::new(any, rules(VerifyMethod::Md5)), 512, &[4096, 5000, 6001, 16384]);
}

#[test]
fn concurrent_writes_to_one_place_pass() {
    let mut bench = Bench::new(random_again(JobSize::Fixed(Bytes(4096)), 4096), rules(VerifyMethod::Crc32c));
    bench.depth = 4;
    let mut run = bench.start();
    let (first, second) = (run.issue(0, 0, 4096), run.issue(1, 0, 4096));
    run.land(1, &second);
    run.land(0, &first);
    assert_eq!(run.read_all(&[first, second]), [""; 0], "either write is valid");
    let third = run.write(0, 4096);
    bench.change(|bytes| bytes[999] ^= 1);
    assert_eq!(run.read_all(&[first, second, third]).len(), 1);
}

#[test]
fn impossible_rules_are_refused_with_a_fix() {
    let refused = |change: &dyn Fn(&mut Bench)| {
        let mut bench = Bench::with_method(VerifyMethod::Sha512);
        change(&mut bench);
        bench.bytes().unwrap_err().to_string()
    };
    let small = refused(&|bench| bench.sizes = (128, 128));
    assert!(small.contains("verify=sha512 needs 168 bytes") && small.contains("larger"), "{small}");
    let at = refused(&|bench| bench.rules().stamp_at = Bytes(100));
    assert!(at.contains("verify_offset=100") && at.contains("168 to 3928"), "{at}");
    let pattern = refused(&|bench| bench.rules().method = VerifyMethod::Pattern);
    assert!(pattern.contains("verify_pattern"), "{pattern}");
}

#[test]
fn null_stamps_and_checks_nothing() {
    let bench = Bench::with_method(VerifyMethod::Null);
    let mut run = bench.start();
    let ops = run.fill(4096);
    bench.change(|bytes| bytes.fill(3));
    assert_eq!(run.read_all(&ops), [""; 0]);
}

#[test]
fn unverified_content_is_refilled_after_a_read() {
    let mut mixed = stream();
    mixed.read_percent = Some(50);
    let mut bench = Bench::new(mixed, rules(VerifyMethod::Null));
    bench.verify = None;
    bench.content.zero = true;
    bench.content.dedupe_mode = DedupeMode::Repeat;
    let mut run = bench.start();
    run.memory(0, 4096).fill(7);
    run.payload.after(&BlockOp::load(OpKind::Read, 0, 0, 4096), 0, 4096).unwrap();
    run.write(0, 4096);
    assert!(std::fs::read(bench.path()).unwrap().iter().all(|&byte| byte == 0), "data of the read is not written");
}
