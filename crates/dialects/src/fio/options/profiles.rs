//! Options of fio's built-in profiles. fio takes them in any job, where they change nothing.

use super::kind::Kind;
use super::spec::{Category, Shelf, Tier, row};

const TIOBENCH: &str = "It belongs to the profile tiobench, and does nothing in a job.";
const ACT: &str = "It belongs to the profile act, and does nothing in a job.";

/// Options of fio's built-in profiles.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Profiles,
    options: &[
        row("block", Tier::Three, Kind::Text).ignored(TIOBENCH),
        row("numruns", Tier::Three, Kind::Text).ignored(TIOBENCH),
        row("dir", Tier::Three, Kind::Text).ignored(TIOBENCH),
        row("threads", Tier::Three, Kind::Text).ignored(TIOBENCH),
        row("device-names", Tier::Three, Kind::Text).ignored(ACT),
        row("load", Tier::Three, Kind::Text).ignored(ACT),
        row("test-duration", Tier::Three, Kind::Text).ignored(ACT),
        row("threads-per-queue", Tier::Three, Kind::Text).ignored(ACT),
        row("read-req-num-512-blocks", Tier::Three, Kind::Text).ignored(ACT),
        row("large-block-op-kbytes", Tier::Three, Kind::Text).ignored(ACT),
        row("prep", Tier::Three, Kind::Flag).ignored(ACT),
    ],
};
