//! Options of fio's built-in profiles. fio accepts them in any job, without effect.

use super::kind::Kind;
use super::spec::{Category, Shelf, UsageTier, row};

const TIOBENCH: &str = "It belongs to --profile=tiobench on the command line and has no effect in a job.";
const ACT: &str = "It belongs to --profile=act on the command line and has no effect in a job.";

/// Options of fio's built-in profiles.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Profiles,
    options: &[
        row("block", UsageTier::Three, Kind::Text).ignored(TIOBENCH),
        row("numruns", UsageTier::Three, Kind::Text).ignored(TIOBENCH),
        row("dir", UsageTier::Three, Kind::Text).ignored(TIOBENCH),
        row("threads", UsageTier::Three, Kind::Text).ignored(TIOBENCH),
        row("device-names", UsageTier::Three, Kind::Text).ignored(ACT),
        row("load", UsageTier::Three, Kind::Text).ignored(ACT),
        row("test-duration", UsageTier::Three, Kind::Text).ignored(ACT),
        row("threads-per-queue", UsageTier::Three, Kind::Text).ignored(ACT),
        row("read-req-num-512-blocks", UsageTier::Three, Kind::Text).ignored(ACT),
        row("large-block-op-kbytes", UsageTier::Three, Kind::Text).ignored(ACT),
        row("prep", UsageTier::Three, Kind::Flag).ignored(ACT),
    ],
};
