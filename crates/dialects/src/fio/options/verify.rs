//! Is what comes back what was written?

use super::kind::{ANY, Kind, Slots, Special, at_least};
use super::{Category, Shelf, Tier, row};

/// Is what comes back what was written?
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Verify,
    options: &[
        row(
            "verify",
            Tier::One,
            Kind::Choice(&[
                "0",
                "md5",
                "crc64",
                "crc32",
                "crc32c-intel",
                "crc32c",
                "crc16",
                "crc7",
                "sha1",
                "sha256",
                "sha512",
                "sha3-224",
                "sha3-256",
                "sha3-384",
                "sha3-512",
                "xxhash",
                "meta",
                "pattern",
                "pattern_hdr",
                "null",
            ]),
        )
        .default("0")
        .doc("How written blocks are stamped and checked."),
        row("do_verify", Tier::One, Kind::Switch).default("1").doc("Read back and check after writing."),
        row("verify_only", Tier::Two, Kind::Flag).doc("Write nothing; check what an earlier run wrote."),
        row("verify_policy", Tier::Two, Kind::Choices(&["completed", "fsynced"]))
            .default("completed")
            .doc("Which writes are expected to be there: those completed, or those synced."),
        row("verify_interval", Tier::Two, Kind::Whole(Slots::One, at_least(96))).doc("Bytes that one stamp covers."),
        row("verify_offset", Tier::Two, Kind::Whole(Slots::One, at_least(48)))
            .doc("Where in the block the stamp lies."),
        row("verify_pattern", Tier::Two, Kind::Special(Special::Pattern))
            .doc("The content that is written and expected."),
        row("verify_pattern_interval", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Repeat the pattern from its start every so many bytes."),
        row("verify_fatal", Tier::One, Kind::Switch).default("0").doc("End the job at the first wrong block."),
        row("verify_dump", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Save the expected and the received block where they differ."),
        row("verify_async", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Check in so many threads of their own."),
        row("verify_async_cpus", Tier::Two, Kind::Special(Special::Cpus)).doc("The CPUs those threads run on."),
        row("verify_backlog", Tier::Two, Kind::Wide(Slots::One, ANY))
            .doc("Check after every so many writes instead of at the end."),
        row("verify_backlog_batch", Tier::Two, Kind::Whole(Slots::One, ANY))
            .doc("Check so many blocks at a time then."),
        row("experimental_verify", Tier::Two, Kind::Switch)
            .doc("Find the blocks to check by repeating the draws, not from a list."),
        row("verify_state_load", Tier::Two, Kind::Switch).doc("Begin with the state an earlier run saved."),
        row("verify_state_save", Tier::Two, Kind::Switch)
            .default("1")
            .doc("Save what was written, so that a later run can check it."),
        row("verify_write_sequence", Tier::Two, Kind::Switch)
            .default("1")
            .doc("Check the sequence number in each stamp."),
        row("verify_header_seed", Tier::Two, Kind::Switch).default("1").doc("Check the seed in each stamp."),
        row("verifysort", Tier::Gone, Kind::Flag).ignored("Has no effect in fio any more."),
        row("verifysort_nr", Tier::Gone, Kind::Flag).ignored("Has no effect in fio any more."),
    ],
};
