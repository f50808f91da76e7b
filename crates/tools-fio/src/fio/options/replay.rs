//! Recording ops, and replaying recordings.

use super::kind::{ANY, Kind, Slots, at_least};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;

/// Ops from a recording.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Replay,
    options: &[
        row("write_iolog", UsageTier::Two, Kind::Text).doc("Write a log of every op to this file, for read_iolog."),
        row("read_iolog", UsageTier::Two, Kind::Text).doc("Replay this recording (an iolog or a blktrace)."),
        row("read_iolog_chunked", UsageTier::Two, Kind::Switch)
            .default("0")
            .ignored("A recording is always read piece by piece."),
        row("replay_no_stall", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Replay as fast as possible, ignoring recorded timing."),
        row("replay_redirect", UsageTier::Two, Kind::Text).doc("Replay all ops on this file or device."),
        row("replay_scale", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("1")
            .doc("Divisor for recorded offsets."),
        row("replay_align", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .power_of_two()
            .doc("Alignment of replayed offsets; a power of two."),
        row("replay_time_scale", UsageTier::Two, Kind::Whole(Slots::One, at_least(1)))
            .default("100")
            .doc("Time scale of the replay, in percent."),
        row("replay_skip", UsageTier::Two, Kind::Choices(&["read", "write", "trim", "sync"]))
            .doc("Kinds of ops to skip."),
        row("merge_blktrace_file", UsageTier::Two, Kind::Text)
            .doc("Merge the recordings into this file before replaying it."),
        row("merge_blktrace_scalars", UsageTier::Two, Kind::Floats { most: 20, bounds: None })
            .doc("Time scale of each merged recording, in percent."),
        row("merge_blktrace_iters", UsageTier::Two, Kind::Floats { most: 20, bounds: Some((1.0, 1e6)) })
            .doc("Number of repetitions of each merged recording."),
    ],
};

/// Ops from a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayOptions {
    /// Record every op here.
    pub write_iolog: Option<String>,
    /// Repeat this recording.
    pub read_iolog: Option<String>,
    /// Read it piece by piece.
    pub chunked: bool,
    /// As fast as possible.
    pub no_stall: bool,
    /// Send all ops here.
    pub redirect: Option<String>,
    /// Divide offsets by this.
    pub scale: u32,
    /// Round offsets to a multiple of this.
    pub align: Option<u32>,
    /// Time scale of the replay, in percent.
    pub time_scale_percent: u32,
    /// Kinds of op left out: read, write, trim, sync.
    pub skip: Vec<&'static str>,
    /// Merge recordings into this file first.
    pub merge_file: Option<String>,
    /// Stretch each by these per cents.
    pub merge_scalars: Vec<f64>,
    /// Repeat each this many times.
    pub merge_iters: Vec<f64>,
}

impl ReplayOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> ReplayOptions {
        ReplayOptions {
            write_iolog: values.text("write_iolog"),
            read_iolog: values.text("read_iolog"),
            chunked: values.switch("read_iolog_chunked"),
            no_stall: values.switch("replay_no_stall"),
            redirect: values.text("replay_redirect"),
            scale: values.count("replay_scale").max(1),
            align: values.count_unless_zero("replay_align"),
            time_scale_percent: values.count("replay_time_scale"),
            skip: values.maybe_choices("replay_skip").unwrap_or_default(),
            merge_file: values.text("merge_blktrace_file"),
            merge_scalars: values.floats("merge_blktrace_scalars"),
            merge_iters: values.floats("merge_blktrace_iters"),
        }
    }
}
