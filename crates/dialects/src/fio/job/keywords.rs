//! Options that take one word of a list, as types.

use super::values::Values;

/// The words of one option, as a type.
pub(super) trait Word: Sized {
    /// The option, by its name in the table.
    const OPTION: &str;

    /// What was said, or the table's default; nothing where there is neither.
    fn maybe(values: &Values) -> Option<Self>;

    /// The same for options that have a default.
    fn of(values: &Values) -> Self {
        Self::maybe(values).unwrap_or_else(|| panic!("{} has no default", Self::OPTION))
    }
}

/// An enum of the words that one option takes.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $option:literal: $($(#[$word_doc:meta])* $variant:ident = $($word:literal)|+),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$word_doc])* $variant),+
        }

        impl Word for $name {
            const OPTION: &str = $option;

            fn maybe(values: &Values) -> Option<$name> {
                match values.choice($option)? {
                    $($($word)|+ => Some($name::$variant),)+
                    other => panic!("{} is not a word of {}", other, $option),
                }
            }
        }
    };
}

words! {
    /// What kind of file a name stands for.
    FileType, "filetype":
    /// It is seen from the file.
    Unstated = "none",
    /// A regular file.
    Regular = "file",
    /// A block device.
    Block = "block",
    /// A character device.
    Character = "char",
}

words! {
    /// How files are locked.
    LockFile, "lockfile":
    /// Not at all.
    None = "none",
    /// One user at a time.
    Exclusive = "exclusive",
    /// Many readers or one writer.
    ReadWrite = "readwrite",
}

words! {
    /// How space is reserved when a file is laid out.
    Fallocate, "fallocate":
    /// Not at all.
    None = "none" | "0",
    /// With the system's own call, where it has one.
    Native = "native",
    /// posix_fallocate.
    Posix = "posix" | "1",
    /// fallocate that keeps the size.
    Keep = "keep",
    /// ftruncate.
    Truncate = "truncate",
}

words! {
    /// What the kernel is told about the pattern (posix_fadvise).
    Advice, "fadvise_hint":
    /// Nothing.
    None = "0",
    /// What fits the job: sequential or random.
    ByPattern = "1",
    /// Random.
    Random = "random",
    /// Sequential.
    Sequential = "sequential",
    /// Used once.
    NoReuse = "noreuse",
}

words! {
    /// How long written data is expected to live (F_SET_RW_HINT).
    WriteHint, "write_hint":
    /// Not said.
    None = "none",
    /// Short.
    Short = "short",
    /// Medium.
    Medium = "medium",
    /// Long.
    Long = "long",
    /// Very long.
    Extreme = "extreme",
}

words! {
    /// What a number after `rw` means.
    Sequencer, "rw_sequencer":
    /// Go on in sequence, and jump after so many ops.
    Sequential = "sequential",
    /// Repeat the same offset so many times.
    Identical = "identical",
}

words! {
    /// Which generator gives random offsets.
    Generator, "random_generator":
    /// Tausworthe, 32 bits.
    Tausworthe = "tausworthe",
    /// A shift register that visits every block once.
    Lfsr = "lfsr",
    /// Tausworthe, 64 bits.
    Tausworthe64 = "tausworthe64",
}

words! {
    /// Who hands ops over.
    SubmitMode, "io_submit_mode":
    /// The worker itself.
    Inline = "inline",
    /// Threads of their own.
    Offload = "offload",
}

words! {
    /// How ops of a limited rate come.
    RateProcess, "rate_process":
    /// Evenly.
    Linear = "linear",
    /// At random, independent of one another.
    Poisson = "poisson",
}

words! {
    /// Which ops count between pauses.
    ThinkCount, "thinktime_blocks_type":
    /// Those that completed.
    Complete = "complete",
    /// Those that were issued.
    Issue = "issue",
}

words! {
    /// Whom `exitall` ends.
    ExitWhat, "exit_what":
    /// The jobs of its group.
    Group = "group",
    /// The jobs up to the next stonewall.
    Stonewall = "stonewall",
    /// All jobs.
    All = "all",
}

words! {
    /// Which errors do not end the job.
    ContinueOnError, "continue_on_error":
    /// None.
    None = "none" | "0",
    /// Errors of reads.
    Read = "read",
    /// Errors of writes.
    Write = "write",
    /// Errors of reads and writes.
    Io = "io",
    /// Errors of verification.
    Verify = "verify",
    /// All.
    All = "all" | "1",
}

words! {
    /// With which flags of lasting files are opened.
    SyncOpen, "sync":
    /// None.
    None = "none" | "0",
    /// O_SYNC.
    Sync = "sync" | "1",
    /// O_DSYNC.
    Dsync = "dsync",
}

words! {
    /// How blocks are stamped and checked.
    VerifyMethod, "verify":
    /// Not at all.
    None = "0",
    /// MD5.
    Md5 = "md5",
    /// CRC-64.
    Crc64 = "crc64",
    /// CRC-32.
    Crc32 = "crc32",
    /// CRC-32C.
    Crc32c = "crc32c" | "crc32c-intel",
    /// CRC-16.
    Crc16 = "crc16",
    /// CRC-7.
    Crc7 = "crc7",
    /// SHA-1.
    Sha1 = "sha1",
    /// SHA-256.
    Sha256 = "sha256",
    /// SHA-512.
    Sha512 = "sha512",
    /// SHA3-224.
    Sha3_224 = "sha3-224",
    /// SHA3-256.
    Sha3_256 = "sha3-256",
    /// SHA3-384.
    Sha3_384 = "sha3-384",
    /// SHA3-512.
    Sha3_512 = "sha3-512",
    /// xxHash, 32 bits.
    XxHash = "xxhash",
    /// Only the header, with time, offset and number.
    Meta = "meta",
    /// Only the pattern, without a header.
    Pattern = "pattern",
    /// The pattern, behind a header.
    PatternHeader = "pattern_hdr",
    /// Everything passes.
    Null = "null",
}

words! {
    /// Which buffers repeat.
    DedupeMode, "dedupe_mode":
    /// The one before.
    Repeat = "repeat",
    /// One of a set.
    WorkingSet = "working_set",
}

words! {
    /// How workers share the CPUs they may use.
    CpuPolicy, "cpus_allowed_policy":
    /// All use all.
    Shared = "shared",
    /// Each has one of its own.
    Split = "split",
}

words! {
    /// What a window of a log says.
    WindowValue, "log_window_value":
    /// The average.
    Average = "avg" | "0",
    /// The largest value.
    Largest = "max" | "1",
    /// Both.
    Both = "both",
}

words! {
    /// How reads, writes and trims are told.
    Unified, "unified_rw_reporting":
    /// Apart.
    None = "none" | "0",
    /// Together.
    Mixed = "mixed" | "1",
    /// Apart and together.
    Both = "both" | "2",
}

words! {
    /// What bandwidth is told in.
    UnitBase, "unit_base":
    /// What fits the engine.
    Auto = "0",
    /// Bytes.
    Bytes = "8",
    /// Bits.
    Bits = "1",
}

words! {
    /// How zones are treated.
    ZoneMode, "zonemode":
    /// There are none.
    None = "none",
    /// A stride of zones, one after another.
    Strided = "strided",
    /// The zones of a zoned device.
    Zoned = "zbd",
}

words! {
    /// How a CPU is kept busy.
    CpuMode, "cpumode":
    /// With empty loops.
    Noop = "noop",
    /// With sorting.
    Qsort = "qsort",
}

words! {
    /// How messages travel.
    Transport, "protocol":
    /// TCP.
    Tcp = "tcp",
    /// TCP over IPv6.
    Tcp6 = "tcpv6",
    /// UDP.
    Udp = "udp",
    /// UDP over IPv6.
    Udp6 = "udpv6",
    /// A socket of the file system.
    Unix = "unix",
    /// A socket to or from a virtual machine.
    Vsock = "vsock",
}

words! {
    /// Which call asks for attributes.
    StatCall, "stat_type":
    /// stat.
    Stat = "stat",
    /// lstat.
    Lstat = "lstat",
    /// statx.
    Statx = "statx",
}
