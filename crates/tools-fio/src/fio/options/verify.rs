//! Checking that data reads back as written.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{Gone, One, Two};
use crate::fio::value::kind::{ANY, at_least, at_most};
use crate::fio::value::pattern::Piece;
use crate::fio::value::syntax::{CPUS, Count, FLAG, PATTERN, Plain, SWITCH, SomeOf, Wide, Word, choice};
use crate::fio::value::{Map, Maybe, UnlessZero};
use plumb_workload::verify::VerifyMethod;

// Rows that other modules use.
pub(in crate::fio) const VERIFY_WRITE_SEQUENCE: Row<Plain<bool>> =
    row("verify_write_sequence", Two, SWITCH).default("1");

pub(in crate::fio) const VERIFY_HEADER_SEED: Row<Plain<bool>> = row("verify_header_seed", Two, SWITCH).default("1");

options! {
    /// Checking that data reads back as written.
    pub struct VerifyOptions {
        /// Checksum or stamp used to verify written blocks.
        method: Option<VerifyMethod> = row("verify", One, choice::<Option<VerifyMethod>>()).default("0");
        /// Read back and verify after writing.
        do_verify: bool = row("do_verify", One, SWITCH).default("1");
        /// Write nothing; verify what an earlier run wrote.
        only: bool = row("verify_only", Two, FLAG);
        /// Which writes must be present: those that completed, or those that were synced.
        after_fsync: bool = row("verify_policy", Two, Map(SomeOf(&["completed", "fsynced"]), |words| words.contains(&"fsynced")))
            .default("completed");
        /// Bytes covered by each verification header.
        interval: Option<u32> = row("verify_interval", Two, Maybe(Count(at_least(96))));
        /// Offset of the verification header within the block.
        offset: u32 = row("verify_offset", Two, Count(at_least(48)));
        /// Pattern to write and to verify.
        pattern: Vec<Piece> = row("verify_pattern", Two, PATTERN);
        /// Restart the pattern every N bytes.
        pattern_interval: Option<u32> = row("verify_pattern_interval", Two, UnlessZero(Count(ANY))).default("0");
        /// End the job at the first block that fails verification.
        fatal: bool = row("verify_fatal", One, SWITCH).default("0");
        /// Save the expected and the actual contents of blocks that fail verification.
        dump: bool = row("verify_dump", Two, SWITCH).default("0");
        /// Number of separate threads that verify.
        async_threads: u32 = row("verify_async", Two, Count(at_most(4096))).default("0");
        /// CPUs for the verification threads.
        async_cpus: Option<Vec<u32>> = row("verify_async_cpus", Two, Maybe(CPUS));
        /// Verify after every N writes instead of at the end.
        backlog: Option<u64> = row("verify_backlog", Two, UnlessZero(Wide(ANY)));
        /// Number of blocks to verify at a time; defaults to verify_backlog.
        backlog_batch: Option<u32> = row("verify_backlog_batch", Two, UnlessZero(Count(ANY)));
        /// Regenerate the sequence of blocks to verify instead of keeping a list.
        experimental: bool = row("experimental_verify", Two, SWITCH);
        /// Load the verification state saved by an earlier run.
        state_load: bool = row("verify_state_load", Two, SWITCH);
        /// Save the verification state at the end of the run.
        state_save: bool = row("verify_state_save", Two, SWITCH).default("1");
        /// Verify the sequence number in each header.
        write_sequence: bool = VERIFY_WRITE_SEQUENCE;
        /// Verify the seed in each header.
        header_seed: bool = VERIFY_HEADER_SEED;
        _ = row("verifysort", Gone, FLAG).ignored("It no longer has any effect in fio.");
        _ = row("verifysort_nr", Gone, FLAG).ignored("It no longer has any effect in fio.");
    }
}

words! {
    for VerifyMethod, nothing "0":
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

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::assert_each_sets;
    use super::*;

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Verify,
            &[
                ("verify=crc32c", |job| job.verify.method == Some(VerifyMethod::Crc32c)),
                ("do_verify=0", |job| !job.verify.do_verify),
                ("verify_only", |job| job.verify.only),
                ("verify_policy=completed,fsynced", |job| job.verify.after_fsync),
                ("verify_interval=97", |job| job.verify.interval == Some(97)),
                ("verify_offset=49", |job| job.verify.offset == 49),
                ("verify_pattern=0xff", |job| job.verify.pattern == [Piece::Bytes(vec![0xff])]),
                ("verify_pattern_interval=7", |job| job.verify.pattern_interval == Some(7)),
                ("verify_fatal=1", |job| job.verify.fatal),
                ("verify_dump=1", |job| job.verify.dump),
                ("verify_async=7", |job| job.verify.async_threads == 7),
                ("verify_async_cpus=1", |job| job.verify.async_cpus == Some(vec![1])),
                ("verify_backlog=7k", |job| job.verify.backlog == Some(7 << 10)),
                ("verify_backlog_batch=7", |job| job.verify.backlog_batch == Some(7)),
                ("experimental_verify=1", |job| job.verify.experimental),
                ("verify_state_load=1", |job| job.verify.state_load),
                ("verify_state_save=0", |job| !job.verify.state_save),
                ("verify_write_sequence=0", |job| !job.verify.write_sequence),
                ("verify_header_seed=0", |job| !job.verify.header_seed),
            ],
        );
    }
}
