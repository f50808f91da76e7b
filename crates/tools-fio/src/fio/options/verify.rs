//! Checking that data reads back as written.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special, at_least, at_most};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::pattern::Piece;
use plumb_workload::verify::VerifyMethod;

/// Checking that data reads back as written.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Verify,
    options: &[
        row("verify", UsageTier::One, Kind::Choice(VerifyMethod::WORDS))
            .default("0")
            .doc("Checksum or stamp used to verify written blocks."),
        row("do_verify", UsageTier::One, Kind::Switch).default("1").doc("Read back and verify after writing."),
        row("verify_only", UsageTier::Two, Kind::Flag).doc("Write nothing; verify what an earlier run wrote."),
        row("verify_policy", UsageTier::Two, Kind::Choices(&["completed", "fsynced"]))
            .default("completed")
            .doc("Which writes must be present: those that completed, or those that were synced."),
        row("verify_interval", UsageTier::Two, Kind::Whole(Slots::One, at_least(96)))
            .doc("Bytes covered by each verification header."),
        row("verify_offset", UsageTier::Two, Kind::Whole(Slots::One, at_least(48)))
            .doc("Offset of the verification header within the block."),
        row("verify_pattern", UsageTier::Two, Kind::Special(Special::Pattern)).doc("Pattern to write and to verify."),
        row("verify_pattern_interval", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Restart the pattern every N bytes."),
        row("verify_fatal", UsageTier::One, Kind::Switch)
            .default("0")
            .doc("End the job at the first block that fails verification."),
        row("verify_dump", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Save the expected and the actual contents of blocks that fail verification."),
        row("verify_async", UsageTier::Two, Kind::Whole(Slots::One, at_most(4096)))
            .default("0")
            .doc("Number of separate threads that verify."),
        row("verify_async_cpus", UsageTier::Two, Kind::Special(Special::Cpus))
            .doc("CPUs for the verification threads."),
        row("verify_backlog", UsageTier::Two, Kind::Wide(Slots::One, ANY))
            .doc("Verify after every N writes instead of at the end."),
        row("verify_backlog_batch", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .doc("Number of blocks to verify at a time; defaults to verify_backlog."),
        row("experimental_verify", UsageTier::Two, Kind::Switch)
            .doc("Regenerate the sequence of blocks to verify instead of keeping a list."),
        row("verify_state_load", UsageTier::Two, Kind::Switch)
            .doc("Load the verification state saved by an earlier run."),
        row("verify_state_save", UsageTier::Two, Kind::Switch)
            .default("1")
            .doc("Save the verification state at the end of the run."),
        row("verify_write_sequence", UsageTier::Two, Kind::Switch)
            .default("1")
            .doc("Verify the sequence number in each header."),
        row("verify_header_seed", UsageTier::Two, Kind::Switch).default("1").doc("Verify the seed in each header."),
        row("verifysort", UsageTier::Gone, Kind::Flag).ignored("It no longer has any effect in fio."),
        row("verifysort_nr", UsageTier::Gone, Kind::Flag).ignored("It no longer has any effect in fio."),
    ],
};

/// Checking that data reads back as written.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyOptions {
    /// How blocks are stamped; not at all if absent.
    pub method: Option<VerifyMethod>,
    /// Read back and verify after writing.
    pub do_verify: bool,
    /// Write nothing; check what is there.
    pub only: bool,
    /// Only writes that were synced are expected to be there.
    pub after_fsync: bool,
    /// Bytes one stamp covers; the smallest block if absent.
    pub interval: Option<u32>,
    /// Offset of the verification header within the block.
    pub offset: u32,
    /// The content; empty if none is given.
    pub pattern: Vec<Piece>,
    /// The pattern starts again after this many bytes.
    pub pattern_interval: Option<u32>,
    /// End at the first wrong block.
    pub fatal: bool,
    /// Save blocks that differ.
    pub dump: bool,
    /// Number of separate threads that verify.
    pub async_threads: u32,
    /// The CPUs of those threads.
    pub async_cpus: Option<Vec<u32>>,
    /// Check after every N writes.
    pub backlog: Option<u64>,
    /// Check this many blocks at a time.
    pub backlog_batch: Option<u32>,
    /// Find the blocks by repeating the draws.
    pub experimental: bool,
    /// Begin with a saved state.
    pub state_load: bool,
    /// Save the state in the end.
    pub state_save: bool,
    /// Check sequence numbers.
    pub write_sequence: bool,
    /// Check seeds.
    pub header_seed: bool,
}

impl VerifyOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> VerifyOptions {
        VerifyOptions {
            method: VerifyMethod::maybe(values),
            do_verify: values.switch("do_verify"),
            only: values.switch("verify_only"),
            after_fsync: values.maybe_choices("verify_policy").is_some_and(|words| words.contains(&"fsynced")),
            interval: values.maybe_count("verify_interval"),
            offset: values.count("verify_offset"),
            pattern: values.pattern("verify_pattern").unwrap_or_default(),
            pattern_interval: values.count_unless_zero("verify_pattern_interval"),
            fatal: values.switch("verify_fatal"),
            dump: values.switch("verify_dump"),
            async_threads: values.count("verify_async"),
            async_cpus: values.cpus("verify_async_cpus"),
            backlog: values.wide_unless_zero("verify_backlog"),
            backlog_batch: values.count_unless_zero("verify_backlog_batch"),
            experimental: values.switch("experimental_verify"),
            state_load: values.switch("verify_state_load"),
            state_save: values.switch("verify_state_save"),
            write_sequence: values.switch("verify_write_sequence"),
            header_seed: values.switch("verify_header_seed"),
        }
    }
}

words! {
    for VerifyMethod, "verify", nothing "0":
    Md5 = "md5",
    Crc64 = "crc64",
    Crc32 = "crc32",
    Crc32c = "crc32c" | "crc32c-intel",
    Crc16 = "crc16",
    Crc7 = "crc7",
    Sha1 = "sha1",
    Sha256 = "sha256",
    Sha512 = "sha512",
    Sha3_224 = "sha3-224",
    Sha3_256 = "sha3-256",
    Sha3_384 = "sha3-384",
    Sha3_512 = "sha3-512",
    XxHash = "xxhash",
    Meta = "meta",
    Pattern = "pattern",
    PatternHeader = "pattern_hdr",
    Null = "null",
}
