//! The survey of `plumb try`: a little of everything in under a minute, on storage that is in use.

use super::block::{DEEP, log, once, scattered, stream, timed};
use super::file::small_file_phases;
use super::{MIB, Scale, blocks, phase};
use plumb_workload::Workload;
use plumb_workload::blocks::{Blocks, Mix};
use plumb_workload::named::SURVEY;
use plumb_workload::phase::{CachePolicy, Phase, Stop};
use plumb_workload::target::{Prepare, Target};
use plumb_workload::units::Bytes;

/// Returns the survey of what this storage can do. With a `time_ns` of 4 s, it measures for about 45 s.
///
/// Space is bounded: one file of `file_bytes`, a log of a sixteenth of that, and `files` of about 16 KiB each. No
/// phase writes more than `file_bytes`. The stream write, which therefore always finishes, creates the file, so that
/// nothing is written only for preparation.
pub fn try_workload(scale: &Scale) -> Workload {
    let size = scale.range();
    let log_bytes = Bytes((size.0 / 16 / MIB).max(1) * MIB);
    let mut workload = scale.workload(
        SURVEY,
        "what this storage can do: streams, random I/O at depth 1 and 32, durable writes, small files",
        [
            ("data", scale.range_target("data", size, Prepare::Nothing)),
            ("log", scale.range_target("log", log_bytes, Prepare::Nothing)),
            ("files", scale.tree_target("files", 0)),
        ],
    );
    let random = |name: &str, mix: Mix, depth: u32| random(scale, name, mix, depth);
    let stream_write = once(blocks("data", 1, stream(Mix::WRITE)));
    let stream_read = once(blocks("data", 1, stream(Mix::READ)));
    let durable = Blocks { fsync_every: 1, ..log() };
    workload.phase = vec![
        phase("stream-write", CachePolicy::AsIs, Stop::default(), vec![stream_write]),
        timed(scale, "stream-read", CachePolicy::Cold, vec![stream_read]),
        random("random-read-1", Mix::READ, 1),
        random("random-read-32", Mix::READ, DEEP),
        random("random-write-1", Mix::WRITE, 1),
        random("random-write-32", Mix::WRITE, DEEP),
        timed(scale, "fsync", CachePolicy::AsIs, vec![once(blocks("log", 1, durable))]),
    ];
    workload.phase.extend(small_file_phases(scale, "files"));
    workload
}

/// Returns the part of the survey that works on an existing device or file. It writes nothing
/// and bypasses the page cache.
pub fn try_read_only(scale: &Scale, target: Target) -> Workload {
    let about = "what can be read from this device or file: streams, random reads at depth 1 and 32";
    let mut workload = scale.workload(SURVEY, about, [("data", target)]);
    let stream = once(blocks("data", STREAM_DEPTH, stream(Mix::READ)));
    workload.phase = vec![
        timed(scale, "stream-read", CachePolicy::Direct, vec![stream]),
        random(scale, "random-read-1", Mix::READ, 1),
        random(scale, "random-read-32", Mix::READ, DEEP),
    ];
    workload
}

/// Depth of streams without read-ahead by the page cache. A device needs several requests in flight to stream.
const STREAM_DEPTH: u32 = 8;

fn random(scale: &Scale, name: &str, mix: Mix, depth: u32) -> Phase {
    // Writes also end by bytes, so that a survey does not wear out a fast device.
    let bytes = (mix.write > 0).then_some(scale.range());
    let stop = Stop { time: scale.time(), bytes, ..Stop::default() };
    phase(name, CachePolicy::Direct, stop, vec![blocks("data", depth, scattered(mix))])
}
