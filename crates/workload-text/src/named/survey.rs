//! The survey of `plumb try`: a little of everything, in under a minute, on storage that is in use.

use super::block::{DEEP, log, once, scattered, stream, timed};
use super::file::small_file_phases;
use super::{MIB, Scale, blocks, phase};
use plumb_workload::Workload;
use plumb_workload::blocks::{Blocks, Mix};
use plumb_workload::named::SURVEY;
use plumb_workload::phase::{CachePolicy, Phase, Stop};
use plumb_workload::target::{Prepare, Target};
use plumb_workload::units::Bytes;

/// What can this storage do? At `time_ns` of 4 s it measures for about 45 s.
///
/// It is bounded in space: one file of `file_bytes`, a log of a sixteenth of that, and `files` of about 16 KiB. No phase
/// writes more than `file_bytes`. The file is made by the stream write itself, which therefore always finishes, and
/// nothing is written only to prepare.
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

/// What of it can be read from a device or a file that is there: nothing is written, and the page cache is bypassed.
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

/// Without the page cache nobody reads ahead, and a device needs several requests to stream.
const STREAM_DEPTH: u32 = 8;

fn random(scale: &Scale, name: &str, mix: Mix, depth: u32) -> Phase {
    // Writes also end by bytes: a fast device must not be worn for a survey.
    let bytes = (mix.write > 0).then_some(scale.range());
    let stop = Stop { time: scale.time(), bytes, ..Stop::default() };
    phase(name, CachePolicy::Direct, stop, vec![blocks("data", depth, scattered(mix))])
}
