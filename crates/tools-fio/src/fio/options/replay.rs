//! Recording ops, and replaying recordings.

use super::row::{options, row};
use super::spec::UsageTier::Two;
use crate::fio::value::kind::{ANY, at_least};
use crate::fio::value::syntax::{Count, Floats, PowerOfTwo, SWITCH, SomeOf, TEXT};
use crate::fio::value::{Map, Maybe, UnlessZero};

options! {
    /// Ops from a recording.
    pub struct ReplayOptions {
        /// Write a log of every op to this file, for read_iolog.
        write_iolog: Option<String> = row("write_iolog", Two, Maybe(TEXT));
        /// Replay this recording (an iolog or a blktrace).
        read_iolog: Option<String> = row("read_iolog", Two, Maybe(TEXT));
        _ = row("read_iolog_chunked", Two, SWITCH).default("0").ignored("A recording is always read piece by piece.");
        /// Replay as fast as possible, ignoring recorded timing.
        no_stall: bool = row("replay_no_stall", Two, SWITCH).default("0");
        /// Replay all ops on this file or device.
        redirect: Option<String> = row("replay_redirect", Two, Maybe(TEXT));
        /// Divisor for recorded offsets.
        scale: u32 = row("replay_scale", Two, Map(Count(ANY), |divisor| divisor.max(1))).default("1");
        /// Alignment of replayed offsets; a power of two.
        align: Option<u32> = row("replay_align", Two, UnlessZero(PowerOfTwo));
        /// Time scale of the replay, in percent.
        time_scale_percent: u32 = row("replay_time_scale", Two, Count(at_least(1))).default("100");
        /// Kinds of ops to skip.
        skip: Vec<&'static str> = row("replay_skip", Two, SomeOf(&["read", "write", "trim", "sync"]));
        /// Merge the recordings into this file before replaying it.
        merge_file: Option<String> = row("merge_blktrace_file", Two, Maybe(TEXT));
        /// Time scale of each merged recording, in percent.
        merge_scalars: Vec<f64> = row("merge_blktrace_scalars", Two, Floats { most: 20, bounds: None });
        /// Number of repetitions of each merged recording.
        merge_iters: Vec<f64> = row("merge_blktrace_iters", Two, Floats { most: 20, bounds: Some((1.0, 1e6)) });
    }
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::assert_each_sets;

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Replay,
            &[
                ("write_iolog=x", |job| job.replay.write_iolog.as_deref() == Some("x")),
                ("read_iolog=x", |job| job.replay.read_iolog.as_deref() == Some("x")),
                ("replay_no_stall=1", |job| job.replay.no_stall),
                ("replay_redirect=x", |job| job.replay.redirect.as_deref() == Some("x")),
                ("replay_scale=7", |job| job.replay.scale == 7),
                ("replay_align=4k", |job| job.replay.align == Some(4_096)),
                ("replay_time_scale=2", |job| job.replay.time_scale_percent == 2),
                ("replay_skip=read,trim", |job| job.replay.skip == ["read", "trim"]),
                ("merge_blktrace_file=x", |job| job.replay.merge_file.as_deref() == Some("x")),
                ("merge_blktrace_scalars=50:100", |job| job.replay.merge_scalars == [50.0, 100.0]),
                ("merge_blktrace_iters=2:3", |job| job.replay.merge_iters == [2.0, 3.0]),
            ],
        );
    }
}
