//! Sections and keys of a configuration in tables, which the parser, `--list`, `config.ini` and the tests use.
//! Source: IO500 isc26.

use Support::{Ignored, Never, NotYet, Works};
use Takes::{Api, Bool, Count, Float, Int, Packets, Positive, Size, Text};
use plumb_tools::support::Support;

/// Kind of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Text,
    /// TRUE or FALSE.
    Bool,
    /// A whole number of 0 or more.
    Count,
    /// A whole number of 1 or more.
    Positive,
    Int,
    Float,
    /// Bytes, with a suffix of powers of 1024.
    Size,
    /// A back end, followed by its options.
    Api,
    /// A kind of data packets.
    Packets,
}

/// A key of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Name, compared case-insensitively.
    pub name: &'static str,
    /// Default value. `Some("")` and `None` differ only in the hash of a configuration.
    pub default: Option<&'static str>,
    pub takes: Takes,
    /// Whether values other than the default are supported.
    pub support: Support,
    /// Description for `--list`.
    pub what: &'static str,
}

/// A section of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Name, compared case-insensitively.
    pub name: &'static str,
    pub keys: &'static [Key],
    /// Whether its phases belong to the extended mode only.
    pub is_extended: bool,
}

const fn key(name: &'static str, default: Option<&'static str>, takes: Takes, what: &'static str) -> Key {
    Key { name, default, takes, support: Works, what }
}

const fn with(support: Support, key: Key) -> Key {
    Key { support, ..key }
}

const fn section(name: &'static str, keys: &'static [Key]) -> Section {
    Section { name, keys, is_extended: false }
}

const fn extended(name: &'static str, keys: &'static [Key]) -> Section {
    Section { is_extended: true, ..section(name, keys) }
}

const API: Key = key("API", None, Api, "Back end of this phase, and options of it: POSIX --posix.odirect");
const RUN: Key = key("run", Some("TRUE"), Bool, "Run this phase");
const VERBOSITY: Key = with(Ignored("the files hold all there is"), key("verbosity", None, Int, "Verbosity of IOR"));
const COLLECTIVE: Key = key("collective", None, Bool, "Collective transfers, with API = MPIIO");
const NO_PROGRAM: Support = Never("Plumb runs no programs that a configuration names; its own find is used");
const OWN_FIND: Support = Ignored("Plumb's own find has no such queue");

const FIND: &[Key] = &[
    with(NO_PROGRAM, key("external-script", None, Text, "A program that searches")),
    with(NO_PROGRAM, key("external-mpi-args", Some(""), Text, "Arguments before that program")),
    with(NO_PROGRAM, key("external-extra-args", Some(""), Text, "Arguments after that program's own")),
    key("nproc", None, Positive, "Limit of ranks that search"),
    RUN,
    with(OWN_FIND, key("pfind-queue-length", Some("10000"), Int, "Length of pfind's queue")),
    with(OWN_FIND, key("pfind-steal-next", Some("FALSE"), Bool, "Steal from the next rank")),
    with(
        OWN_FIND,
        key(
            "pfind-parallelize-single-dir-access-using-hashing",
            Some("FALSE"),
            Bool,
            "Hash the entries of a directory",
        ),
    ),
];

const PHASE: &[Key] = &[API, RUN];
const PHASE_COLLECTIVE: &[Key] = &[API, COLLECTIVE, RUN];
const WORKBENCH_PHASE: &[Key] = &[RUN];

/// All sections, in the order of `config.ini`.
#[rustfmt::skip]
pub(crate) const SECTIONS: &[Section] = &[
    section("global", &[
        key("datadir", Some("./datafiles"), Text, "Directory of the test data"),
        key("timestamp-datadir", Some("TRUE"), Bool, "Use a directory in it that is named by the time"),
        key("resultdir", Some("./results"), Text, "Directory of the results"),
        key("timestamp-resultdir", Some("TRUE"), Bool, "Use a directory in it that is named by the time"),
        key("api", Some("POSIX"), Api, "Back end, and options of it: POSIX --posix.odirect"),
        with(NotYet("drop caches yourself, or use several nodes"), key("drop-caches", Some("FALSE"), Bool, "Drop caches before each phase")),
        with(Ignored("Plumb runs no commands of a configuration"), key("drop-caches-cmd", Some("sudo -n bash -c \"echo 3 > /proc/sys/vm/drop_caches\""), Text, "Command that drops them")),
        with(NotYet("buffers are in host memory"), key("io-buffers-on-gpu", Some("FALSE"), Bool, "Buffers in the memory of a GPU")),
        with(Ignored("the files hold all there is"), key("verbosity", Some("1"), Count, "Verbosity")),
        key("scc", Some("FALSE"), Bool, "Rules of the Student Cluster Competition: 30 s instead of 300 s"),
        key("dataPacketType", Some("timestamp"), Packets, "Data packets: timestamp, offset, incompressible or random"),
    ]),
    section("debug", &[
        key("stonewall-time", Some("300"), Positive, "Seconds until the stonewall; another value than the rules' makes the run invalid"),
        with(NotYet("run the phases one by one with run = FALSE"), key("pause-dir", None, Text, "Wait before a phase while a file of its name is here")),
    ]),
    section("ior-easy", &[
        API,
        key("transferSize", Some("2m"), Size, "Bytes of a transfer"),
        key("blockSize", Some("9920000m"), Size, "Bytes of a rank at most; a multiple of transferSize"),
        key("filePerProc", Some("TRUE"), Bool, "A file for each rank"),
        with(NotYet("leave it out"), key("uniqueDir", Some("FALSE"), Bool, "A directory for each file")),
        RUN,
        VERBOSITY,
    ]),
    section("ior-easy-write", PHASE),
    section("mdtest-easy", &[API, key("n", Some("1000000"), Positive, "Files of each rank at most"), RUN]),
    section("mdtest-easy-write", PHASE),
    extended("mdworkbench", &[
        API,
        key("waitingTime", Some("0.0"), Float, "Wait after each operation, as a share of its time"),
        key("precreatePerSet", None, Count, "Files of each of a rank's 10 sets; by the rate of mdtest-easy-write when absent"),
        key("filesPerProc", None, Count, "Files of each set and iteration; goes with precreatePerSet"),
        RUN,
        VERBOSITY,
    ]),
    extended("mdworkbench-create", WORKBENCH_PHASE),
    section("timestamp", &[]),
    extended("find-easy", FIND),
    section("ior-hard", &[
        API,
        key("segmentCount", Some("10000000"), Positive, "Segments at most"),
        COLLECTIVE,
        RUN,
        VERBOSITY,
    ]),
    section("ior-hard-write", PHASE_COLLECTIVE),
    section("mdtest-hard", &[
        API,
        key("n", Some("1000000"), Positive, "Files of each rank at most"),
        key("files-per-dir", None, Count, "Files of each directory; makes the run invalid, and has no stonewall"),
        RUN,
    ]),
    section("mdtest-hard-write", PHASE),
    section("find", FIND),
    extended("find-hard", FIND),
    extended("mdworkbench-bench", WORKBENCH_PHASE),
    section("ior-easy-read", PHASE),
    section("mdtest-easy-stat", PHASE),
    section("ior-hard-read", PHASE_COLLECTIVE),
    section("mdtest-hard-stat", PHASE),
    extended("mdworkbench-delete", WORKBENCH_PHASE),
    section("mdtest-easy-delete", PHASE),
    section("mdtest-hard-read", PHASE),
    section("mdtest-hard-delete", PHASE),
    section("ior-rnd4K-easy-read", PHASE),
];

/// Returns the index of a section in [`SECTIONS`].
pub(super) fn section_at(name: &str) -> Option<usize> {
    SECTIONS.iter().position(|section| section.name.eq_ignore_ascii_case(name))
}

/// Returns the index of a key in its section.
pub(super) fn key_at(section: usize, name: &str) -> Option<usize> {
    SECTIONS.get(section)?.keys.iter().position(|key| key.name.eq_ignore_ascii_case(name))
}

/// Returns the page of `--list`: a configuration with all defaults.
pub fn list() -> String {
    let mut text = String::new();
    for section in SECTIONS {
        text.push_str(&format!("[{}]\n", section.name));
        for key in section.keys {
            let why = match key.support {
                Works => String::new(),
                Ignored(why) => format!(" (no effect: {why})"),
                NotYet(why) => format!(" (not supported yet: {why})"),
                Never(why) => format!(" (not supported: {why})"),
            };
            text.push_str(&format!("# {}{why}\n{} = {}\n", key.what, key.name, key.default.unwrap_or_default()));
        }
        text.push('\n');
    }
    text
}
