//! Submission of ops and queue depth.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{One, Three, Two};
use crate::fio::engines;
use crate::fio::value::kind::{ANY, at_least};
use crate::fio::value::syntax::{Count, Plain, SWITCH, TEXT, Word, choice};
use crate::fio::value::{Map, Maybe, UnlessZero};

// Rows that other modules use.
pub(in crate::fio) const IOENGINE: Row<Map<Plain<String>, String>> =
    row("ioengine", One, Map(TEXT, own_name)).default("psync");

pub(in crate::fio) const IODEPTH: Row<Count> = row("iodepth", One, Count(at_least(1))).default("1");

options! {
    /// The engine, and the ops that it has in flight.
    pub struct QueueOptions {
        /// I/O engine (see Engines).
        ioengine: String = IOENGINE;
        /// Queue depth: ops in flight.
        iodepth: u32 = IODEPTH;
        /// Number of ops to submit at once.
        batch_submit: u32 = row("iodepth_batch", Two, Count(ANY)).or("iodepth_batch_submit").default("1");
        /// Minimum number of completions to wait for at once.
        batch_complete_min: u32 = row("iodepth_batch_complete_min", Two, Count(ANY))
            .or("iodepth_batch_complete")
            .default("1");
        /// Maximum number of completions to reap at once; the minimum by default.
        batch_complete_max: Option<u32> = row("iodepth_batch_complete_max", Two, UnlessZero(Count(ANY)));
        /// Queue depth to which a full queue drains before it is refilled.
        low: Option<u32> = row("iodepth_low", Two, UnlessZero(Count(ANY)));
        /// Thread that submits ops. It is always the worker itself; offload warns.
        submit_mode: SubmitMode = row("io_submit_mode", Two, choice::<SubmitMode>()).default("inline");
        /// Bypass the page cache (O_DIRECT).
        direct: bool = row("direct", One, SWITCH).default("0"),
            or
            /// Use the page cache; the opposite of direct.
            row("buffered", One, Map(SWITCH, |is_buffered| !is_buffered)).default("1");
        /// I/O scheduler of the disks under the files while all jobs run; put back at the end.
        scheduler: Option<String> = row("ioscheduler", Three, Maybe(TEXT));
    }
}

/// Replaces an alias of an engine by fio's own name.
fn own_name(name: String) -> String {
    engines::find(&name).map_or(name, |spec| spec.name.to_owned())
}

words! {
    /// The thread that submits ops.
    SubmitMode:
    Inline = "inline",
    Offload = "offload",
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
            Category::Queue,
            &[
                ("ioengine=aio", |job| job.queue.ioengine == "libaio"),
                ("iodepth=2", |job| job.queue.iodepth == 2),
                ("iodepth_batch=7", |job| job.queue.batch_submit == 7),
                ("iodepth_batch_complete_min=7", |job| job.queue.batch_complete_min == 7),
                ("iodepth_batch_complete_max=7", |job| job.queue.batch_complete_max == Some(7)),
                ("iodepth_low=7", |job| job.queue.low == Some(7)),
                ("io_submit_mode=offload", |job| job.queue.submit_mode == SubmitMode::Offload),
                ("direct=1", |job| job.queue.direct),
                ("buffered=0", |job| job.queue.direct),
                ("ioscheduler=x", |job| job.queue.scheduler.as_deref() == Some("x")),
            ],
        );
    }
}
