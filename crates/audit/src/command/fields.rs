//! Plain names for the fields of a workload, and the words in a study's `compares` that declare an intended difference
//! in them.

/// Keys of a workload, the plain name of their field, and the words in `compares` that declare a difference in it.
type Field = (&'static [&'static str], &'static str, &'static [&'static str]);

/// Name shared by the fields for which the words in [`SIZES`] declare a difference.
pub(super) const AMOUNT: &str = "amount of data";
const SIZES: &[&str] = &["size", "file size", "working set", "data size"];

/// Fields of workloads. The first row that lists any key of a path applies to the path.
const FIELDS: &[Field] = &[
    (&["depth"], "queue depth", &["depth", "iodepth", "qd", "concurrency"]),
    (&["batch"], "ops per submission", &["batch", "iodepth_batch"]),
    (&["content", "pad"], "data content", &["content", "data", "buffers", "compressibility"]),
    (&["source"], "data source", &["source", "content", "data"]),
    (&["pace"], "rate limit", &["rate", "load", "pace"]),
    (&["drop-cached", "invalidate"], "cache dropping", &["cache", "caching", "invalidate"]),
    (
        &["direct", "cache", "nocache"],
        "direct I/O",
        &["direct", "buffered", "cache", "caching", "o_direct", "page cache"],
    ),
    (&["verify"], "verification", &["verify"]),
    (
        &["jobs", "clients"],
        "number of jobs",
        &["jobs", "numjobs", "threads", "processes", "workers", "clients", "concurrency", "streams", "scaling"],
    ),
    (&["run-as"], "threads or processes", &["threads", "processes"]),
    (&["backend", "aio", "mapped"], "I/O engine", &["engine", "ioengine", "backend", "api"]),
    (
        &["syncs", "end", "fsync", "fdatasync", "dsync", "sync", "open-mode", "flush", "promise"],
        "flushes",
        &["fsync", "flush", "durability", "sync", "end_fsync"],
    ),
    (&["loops"], "loops", &["loop"]),
    (
        &["repeat-until-time", "stop", "limit", "max-ops", "when", "steady"],
        "run time",
        &["runtime", "time", "duration"],
    ),
    (&["parts", "ranges", "lengths", "io-bytes", "random-bytes"], AMOUNT, SIZES),
    (&["ramp", "ramp-until", "start"], "start of measurement", &["ramp", "ramp time", "start delay"]),
    (
        &[
            "sizes",
            "unaligned-sizes",
            "sizes-by-order",
            "read-block",
            "write-block",
            "trim-block",
            "block",
            "align",
            "record",
        ],
        "block size",
        &["block", "bs", "record size"],
    ),
    (
        &["order", "random-percent", "sequencer", "pattern", "hint"],
        "access pattern",
        &["pattern", "rw", "workload", "randomness"],
    ),
    (
        &["read-percent", "mix", "trims", "trim-amid", "does"],
        "reads and writes",
        &["mix", "rw", "workload", "operation"],
    ),
    (&["distribution", "coverage", "zones", "file-choice"], "choice of offsets", &["distribution", "pattern"]),
    (
        &["prepare", "create-on-open", "create-only", "append", "truncate", "sparse"],
        "layout of the files",
        &["layout", "preallocation", "fallocate"],
    ),
    (&["cpus", "process"], "CPUs and priorities", &["cpu", "cpus", "priority", "nice", "numa"]),
    (&["buffers"], "buffers", &["buffer", "memory", "huge pages"]),
    (&["number-of-files"], "number of files", &["files", "nrfiles"]),
    (&["kind-of-target"], "kind of target", &["target", "layer", "device"]),
    (&["seek", "skip", "count", "length", "bytes", "size"], AMOUNT, SIZES),
    (&["phases"], "number of phases", &["phases"]),
];

/// Returns the name of the field at a path of a workload, and the words in `compares` that declare a difference in the
/// field.
pub(super) fn named(path: &[String]) -> (String, &'static [&'static str]) {
    let row = FIELDS.iter().find(|(keys, ..)| path.iter().any(|key| keys.contains(&key.as_str())));
    match row {
        Some((_, name, subjects)) => ((*name).to_owned(), subjects),
        None => {
            let words = path.iter().rev().find(|key| key.parse::<u32>().is_err());
            (words.map_or("work".to_owned(), |key| key.replace('-', " ")), &[])
        }
    }
}
