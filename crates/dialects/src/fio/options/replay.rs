//! Ops from a recording.

use super::kind::{ANY, Kind, Slots, at_least};
use super::{Category, Shelf, Tier, row};

/// Ops from a recording.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Replay,
    options: &[
        row("write_iolog", Tier::Two, Kind::Text).doc("Record every op into this file."),
        row("read_iolog", Tier::Two, Kind::Text).doc("Repeat the ops of this recording."),
        row("read_iolog_chunked", Tier::Two, Kind::Switch).default("0").doc("Read the recording piece by piece."),
        row("replay_no_stall", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Repeat as fast as possible, without the recorded pauses."),
        row("replay_redirect", Tier::Two, Kind::Text).doc("Send all recorded ops to this file or device."),
        row("replay_scale", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("1")
            .doc("Divide recorded offsets by this."),
        row("replay_align", Tier::Two, Kind::Whole(Slots::One, ANY))
            .power_of_two()
            .doc("Round recorded offsets to a multiple of this power of two."),
        row("replay_time_scale", Tier::Two, Kind::Whole(Slots::One, at_least(1)))
            .default("100")
            .doc("Per cent of the recorded speed."),
        row("replay_skip", Tier::Two, Kind::Choices(&["read", "write", "trim", "sync"]))
            .doc("Kinds of recorded op that are left out."),
        row("merge_blktrace_file", Tier::Two, Kind::Text).doc("Merge several recordings into this file first."),
        row("merge_blktrace_scalars", Tier::Two, Kind::Floats { most: 20, bounds: None })
            .doc("Stretch the time of each merged recording by these per cents."),
        row("merge_blktrace_iters", Tier::Two, Kind::Floats { most: 20, bounds: None })
            .doc("Repeat each merged recording so often."),
    ],
};
