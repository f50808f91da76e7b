//! Tables of dd's operands, conversions and flags, with the versions that have them. Parser and help use them.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Personality {
    #[default]
    Gnu,
    FreeBsd,
}

impl Personality {
    /// Returns the name that `--as-version` takes.
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn full_name(self) -> &'static str {
        match self {
            Personality::Gnu => "GNU coreutils 9.1",
            Personality::FreeBsd => "FreeBSD",
        }
    }

    /// Returns the personality with this name.
    pub fn from_name(name: &str) -> Option<Personality> {
        [Personality::Gnu, Personality::FreeBsd].into_iter().find(|one| one.name() == name)
    }
}

/// The versions that have a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Both,
    Gnu,
    FreeBsd,
}

impl Who {
    /// Whether a personality is included.
    pub fn has(self, personality: Personality) -> bool {
        match self {
            Who::Both => true,
            Who::Gnu => personality == Personality::Gnu,
            Who::FreeBsd => personality == Personality::FreeBsd,
        }
    }
}

/// A keyword with its meaning.
#[derive(Debug)]
pub struct Word<T: 'static> {
    pub name: &'static str,
    pub who: Who,
    pub means: T,
    pub help: &'static str,
}

/// The meaning of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// The operand `bs`.
    Block,
    /// The operand `cbs`.
    Record,
    Conversions,
    Count,
    Fill,
    Files,
    InputBlock,
    Input,
    InputFlags,
    OutputBlock,
    Output,
    OutputFlags,
    Seek,
    Skip,
    Speed,
    Status,
}

const fn word<T>(name: &'static str, who: Who, means: T, help: &'static str) -> Word<T> {
    Word { name, who, means, help }
}

pub(crate) const OPERANDS: &[Word<Operand>] = &[
    word("bs", Who::Both, Operand::Block, "block size for reading and writing; overrides ibs and obs"),
    word("cbs", Who::Both, Operand::Record, "record size, for conv=block and conv=unblock"),
    word("conv", Who::Both, Operand::Conversions, "conversions, separated by commas"),
    word("count", Who::Both, Operand::Count, "copy at most N input blocks"),
    word("fillchar", Who::FreeBsd, Operand::Fill, "fill character for conv=sync"),
    word("files", Who::FreeBsd, Operand::Files, "number of input files on a tape"),
    word("ibs", Who::Both, Operand::InputBlock, "input block size (512)"),
    word("if", Who::Both, Operand::Input, "read from this file instead of standard input"),
    word("iflag", Who::Both, Operand::InputFlags, "input flags, separated by commas"),
    word("iseek", Who::Both, Operand::Skip, "as skip"),
    word("obs", Who::Both, Operand::OutputBlock, "output block size (512)"),
    word("of", Who::Both, Operand::Output, "write to this file instead of standard output"),
    word("oflag", Who::Both, Operand::OutputFlags, "output flags, separated by commas"),
    word("oseek", Who::Both, Operand::Seek, "as seek"),
    word("seek", Who::Both, Operand::Seek, "skip N output blocks"),
    word("skip", Who::Both, Operand::Skip, "skip N input blocks"),
    word("speed", Who::FreeBsd, Operand::Speed, "limit in bytes per second"),
    word("status", Who::Both, Operand::Status, "none, noxfer (no last line) or progress (one line per second)"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conv {
    Ascii,
    Ebcdic,
    Ibm,
    Block,
    Unblock,
    Lcase,
    Ucase,
    /// Turn blocks of zeros into holes.
    Sparse,
    /// Swap pairs of bytes.
    Swab,
    /// Pad short input blocks.
    Sync,
    /// Fail if the output exists.
    Excl,
    Nocreat,
    /// Do not truncate the output.
    Notrunc,
    Noerror,
    /// Call `fdatasync` at the end.
    Fdatasync,
    /// Call `fsync` at the end.
    Fsync,
    NotHere,
}

pub(crate) const CONVERSIONS: &[Word<Conv>] = &[
    word("ascii", Who::Both, Conv::Ascii, "from EBCDIC to ASCII"),
    word("ebcdic", Who::Both, Conv::Ebcdic, "from ASCII to EBCDIC"),
    word("ibm", Who::Both, Conv::Ibm, "from ASCII to IBM EBCDIC"),
    word("block", Who::Both, Conv::Block, "turn lines into records of cbs bytes, padded with spaces"),
    word("unblock", Who::Both, Conv::Unblock, "turn records of cbs bytes into lines"),
    word("lcase", Who::Both, Conv::Lcase, "convert to lower case"),
    word("ucase", Who::Both, Conv::Ucase, "convert to upper case"),
    word("sparse", Who::Both, Conv::Sparse, "seek over output blocks of zeros"),
    word("swab", Who::Both, Conv::Swab, "swap each pair of input bytes"),
    word("sync", Who::Both, Conv::Sync, "pad each short input block with zeros, or with spaces for block and unblock"),
    word("excl", Who::Gnu, Conv::Excl, "fail if the output exists"),
    word("nocreat", Who::Gnu, Conv::Nocreat, "fail if the output does not exist"),
    word("notrunc", Who::Both, Conv::Notrunc, "do not truncate the output"),
    word("noerror", Who::Both, Conv::Noerror, "continue after read errors"),
    word("fdatasync", Who::Both, Conv::Fdatasync, "fdatasync before the end"),
    word("fsync", Who::Both, Conv::Fsync, "fsync before the end"),
    word("osync", Who::FreeBsd, Conv::NotHere, "not supported: padding the last output block"),
    word("oldascii", Who::FreeBsd, Conv::NotHere, "not supported: the tables of Version 32V"),
    word("oldebcdic", Who::FreeBsd, Conv::NotHere, "not supported: the tables of Version 32V"),
    word("oldibm", Who::FreeBsd, Conv::NotHere, "not supported: the tables of Version 32V"),
    word("pareven", Who::FreeBsd, Conv::NotHere, "not supported: parity bits"),
    word("parnone", Who::FreeBsd, Conv::NotHere, "not supported: parity bits"),
    word("parodd", Who::FreeBsd, Conv::NotHere, "not supported: parity bits"),
    word("parset", Who::FreeBsd, Conv::NotHere, "not supported: parity bits"),
];

/// A flag of the input or output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    Append,
    Direct,
    Directory,
    Dsync,
    Sync,
    /// Read whole blocks from pipes.
    Fullblock,
    Nonblock,
    Noatime,
    Nocache,
    Noctty,
    Nofollow,
    /// Count in bytes instead of blocks.
    CountBytes,
    /// Skip bytes instead of blocks.
    SkipBytes,
    /// Seek bytes instead of blocks.
    SeekBytes,
}

/// The ends that a flag is valid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfEnd {
    pub flag: Flag,
    pub input: bool,
    pub output: bool,
}

const fn flag(name: &'static str, who: Who, flag: Flag, ends: (bool, bool), help: &'static str) -> Word<OfEnd> {
    word(name, who, OfEnd { flag, input: ends.0, output: ends.1 }, help)
}

const BOTH_ENDS: (bool, bool) = (true, true);
const INPUT: (bool, bool) = (true, false);
const OUTPUT: (bool, bool) = (false, true);

pub const FLAGS: &[Word<OfEnd>] = &[
    flag("append", Who::Both, Flag::Append, BOTH_ENDS, "O_APPEND"),
    flag("direct", Who::Both, Flag::Direct, BOTH_ENDS, "O_DIRECT: bypass the page cache"),
    flag("directory", Who::Gnu, Flag::Directory, BOTH_ENDS, "O_DIRECTORY"),
    flag("dsync", Who::Both, Flag::Dsync, BOTH_ENDS, "O_DSYNC: each write waits until its data is durable"),
    flag("sync", Who::Both, Flag::Sync, BOTH_ENDS, "O_SYNC: each write waits until data and metadata are durable"),
    flag("fsync", Who::FreeBsd, Flag::Sync, OUTPUT, "as sync"),
    flag("fullblock", Who::Both, Flag::Fullblock, INPUT, "read until the block is full"),
    flag("nonblock", Who::Gnu, Flag::Nonblock, BOTH_ENDS, "O_NONBLOCK"),
    flag("noatime", Who::Gnu, Flag::Noatime, BOTH_ENDS, "O_NOATIME"),
    flag("nocache", Who::Gnu, Flag::Nocache, BOTH_ENDS, "drop copied data from the page cache"),
    flag("noctty", Who::Gnu, Flag::Noctty, BOTH_ENDS, "O_NOCTTY"),
    flag("nofollow", Who::Gnu, Flag::Nofollow, BOTH_ENDS, "O_NOFOLLOW"),
    flag("count_bytes", Who::Gnu, Flag::CountBytes, BOTH_ENDS, "count is in bytes"),
    flag("skip_bytes", Who::Gnu, Flag::SkipBytes, BOTH_ENDS, "skip is in bytes"),
    flag("seek_bytes", Who::Gnu, Flag::SeekBytes, BOTH_ENDS, "seek is in bytes"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// Print block counts and the last line.
    #[default]
    All,
    None,
    /// Print block counts without the last line.
    Noxfer,
    /// Print the last line each second as well.
    Progress,
}

pub const LEVELS: &[Word<Status>] = &[
    word("none", Who::Both, Status::None, ""),
    word("noxfer", Who::Both, Status::Noxfer, ""),
    word("progress", Who::Both, Status::Progress, ""),
];

impl Flag {
    pub fn name(self) -> &'static str {
        FLAGS.iter().find(|word| word.means.flag == self).map_or("", |word| word.name)
    }
}

impl Conv {
    pub fn name(self) -> &'static str {
        CONVERSIONS.iter().find(|word| word.means == self).map_or("", |word| word.name)
    }
}

/// Returns the keyword with this name.
pub fn find<T>(words: &'static [Word<T>], name: &str, personality: Personality) -> Option<&'static Word<T>> {
    words.iter().find(|word| word.name == name && word.who.has(personality))
}
