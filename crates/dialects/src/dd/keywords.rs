//! The words of dd: one table of operands, of conversions and of flags for each personality. Parser and help read them.

/// Whose dd it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Personality {
    /// GNU coreutils 9.1.
    #[default]
    Gnu,
    /// FreeBSD.
    FreeBsd,
}

impl Personality {
    /// The name that `--as-version` takes.
    pub fn name(self) -> &'static str {
        match self {
            Personality::Gnu => "gnu",
            Personality::FreeBsd => "freebsd",
        }
    }

    /// What results call it.
    pub fn full_name(self) -> &'static str {
        match self {
            Personality::Gnu => "GNU coreutils 9.1",
            Personality::FreeBsd => "FreeBSD",
        }
    }

    /// The personality of this name.
    pub fn from_name(name: &str) -> Option<Personality> {
        [Personality::Gnu, Personality::FreeBsd].into_iter().find(|one| one.name() == name)
    }
}

/// Who has a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Both.
    Both,
    /// Only GNU.
    Gnu,
    /// Only FreeBSD.
    FreeBsd,
}

impl Who {
    /// Whether a personality is among them.
    pub fn has(self, personality: Personality) -> bool {
        match self {
            Who::Both => true,
            Who::Gnu => personality == Personality::Gnu,
            Who::FreeBsd => personality == Personality::FreeBsd,
        }
    }
}

/// A word with what it stands for.
#[derive(Debug)]
pub struct Word<T: 'static> {
    /// As it is typed.
    pub name: &'static str,
    /// Who has it.
    pub who: Who,
    /// What it stands for.
    pub means: T,
    /// For people.
    pub help: &'static str,
}

/// What an operand says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// `bs`.
    Block,
    /// `cbs`.
    Record,
    /// `conv`.
    Conversions,
    /// `count`.
    Count,
    /// `fillchar`.
    Fill,
    /// `files`.
    Files,
    /// `ibs`.
    InputBlock,
    /// `if`.
    Input,
    /// `iflag`.
    InputFlags,
    /// `obs`.
    OutputBlock,
    /// `of`.
    Output,
    /// `oflag`.
    OutputFlags,
    /// `seek`.
    Seek,
    /// `skip`.
    Skip,
    /// `speed`.
    Speed,
    /// `status`.
    Status,
}

const fn word<T>(name: &'static str, who: Who, means: T, help: &'static str) -> Word<T> {
    Word { name, who, means, help }
}

/// All operands.
pub const OPERANDS: &[Word<Operand>] = &[
    word("bs", Who::Both, Operand::Block, "bytes of a block, read and written; overrides ibs and obs"),
    word("cbs", Who::Both, Operand::Record, "bytes of a record, for conv=block and conv=unblock"),
    word("conv", Who::Both, Operand::Conversions, "conversions, separated by commas"),
    word("count", Who::Both, Operand::Count, "at most so many input blocks"),
    word("fillchar", Who::FreeBsd, Operand::Fill, "the character that conv=sync fills with"),
    word("files", Who::FreeBsd, Operand::Files, "input files of a tape"),
    word("ibs", Who::Both, Operand::InputBlock, "bytes of an input block (512)"),
    word("if", Who::Both, Operand::Input, "the input, instead of standard input"),
    word("iflag", Who::Both, Operand::InputFlags, "flags of the input, separated by commas"),
    word("iseek", Who::Both, Operand::Skip, "as skip"),
    word("obs", Who::Both, Operand::OutputBlock, "bytes of an output block (512)"),
    word("of", Who::Both, Operand::Output, "the output, instead of standard output"),
    word("oflag", Who::Both, Operand::OutputFlags, "flags of the output, separated by commas"),
    word("oseek", Who::Both, Operand::Seek, "as seek"),
    word("seek", Who::Both, Operand::Seek, "pass over so many output blocks"),
    word("skip", Who::Both, Operand::Skip, "pass over so many input blocks"),
    word("speed", Who::FreeBsd, Operand::Speed, "bytes per second at most"),
    word("status", Who::Both, Operand::Status, "none, noxfer (no last line) or progress (a line each second)"),
];

/// A conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conv {
    /// EBCDIC becomes ASCII.
    Ascii,
    /// ASCII becomes EBCDIC.
    Ebcdic,
    /// ASCII becomes IBM's EBCDIC.
    Ibm,
    /// Lines become records.
    Block,
    /// Records become lines.
    Unblock,
    /// Capitals become small.
    Lcase,
    /// Small letters become capitals.
    Ucase,
    /// Blocks of zeros become holes.
    Sparse,
    /// Pairs of bytes are swapped.
    Swab,
    /// Short input blocks are filled.
    Sync,
    /// The output must be new.
    Excl,
    /// The output must be there.
    Nocreat,
    /// The output keeps what it holds.
    Notrunc,
    /// Read errors are passed over.
    Noerror,
    /// `fdatasync` at the end.
    Fdatasync,
    /// `fsync` at the end.
    Fsync,
    /// What is not done here.
    NotHere,
}

/// All conversions.
pub const CONVERSIONS: &[Word<Conv>] = &[
    word("ascii", Who::Both, Conv::Ascii, "from EBCDIC to ASCII"),
    word("ebcdic", Who::Both, Conv::Ebcdic, "from ASCII to EBCDIC"),
    word("ibm", Who::Both, Conv::Ibm, "from ASCII to the EBCDIC of IBM's printers"),
    word("block", Who::Both, Conv::Block, "lines become records of cbs bytes, filled with spaces"),
    word("unblock", Who::Both, Conv::Unblock, "records of cbs bytes become lines"),
    word("lcase", Who::Both, Conv::Lcase, "capitals become small letters"),
    word("ucase", Who::Both, Conv::Ucase, "small letters become capitals"),
    word("sparse", Who::Both, Conv::Sparse, "pass over output blocks of zeros"),
    word("swab", Who::Both, Conv::Swab, "swap pairs of input bytes"),
    word("sync", Who::Both, Conv::Sync, "fill each short input block with zeros, or spaces for block and unblock"),
    word("excl", Who::Gnu, Conv::Excl, "the output must not be there"),
    word("nocreat", Who::Gnu, Conv::Nocreat, "the output must be there"),
    word("notrunc", Who::Both, Conv::Notrunc, "the output keeps what it holds"),
    word("noerror", Who::Both, Conv::Noerror, "go on behind read errors"),
    word("fdatasync", Who::Both, Conv::Fdatasync, "fdatasync before the end"),
    word("fsync", Who::Both, Conv::Fsync, "fsync before the end"),
    word("osync", Who::FreeBsd, Conv::NotHere, "not here: filling the last output block"),
    word("oldascii", Who::FreeBsd, Conv::NotHere, "not here: the tables of Version 32V"),
    word("oldebcdic", Who::FreeBsd, Conv::NotHere, "not here: the tables of Version 32V"),
    word("oldibm", Who::FreeBsd, Conv::NotHere, "not here: the tables of Version 32V"),
    word("pareven", Who::FreeBsd, Conv::NotHere, "not here: parity bits"),
    word("parnone", Who::FreeBsd, Conv::NotHere, "not here: parity bits"),
    word("parodd", Who::FreeBsd, Conv::NotHere, "not here: parity bits"),
    word("parset", Who::FreeBsd, Conv::NotHere, "not here: parity bits"),
];

/// A flag of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// `O_APPEND`.
    Append,
    /// `O_DIRECT`.
    Direct,
    /// `O_DIRECTORY`.
    Directory,
    /// `O_DSYNC`.
    Dsync,
    /// `O_SYNC`.
    Sync,
    /// Whole blocks are read from pipes.
    Fullblock,
    /// `O_NONBLOCK`.
    Nonblock,
    /// `O_NOATIME`.
    Noatime,
    /// Pages are dropped.
    Nocache,
    /// `O_NOCTTY`.
    Noctty,
    /// `O_NOFOLLOW`.
    Nofollow,
    /// The count is of bytes.
    CountBytes,
    /// The skip is of bytes.
    SkipBytes,
    /// The seek is of bytes.
    SeekBytes,
}

/// Which end a flag is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfEnd {
    /// What it says.
    pub flag: Flag,
    /// It may be said of the input.
    pub input: bool,
    /// It may be said of the output.
    pub output: bool,
}

const fn flag(name: &'static str, who: Who, flag: Flag, ends: (bool, bool), help: &'static str) -> Word<OfEnd> {
    word(name, who, OfEnd { flag, input: ends.0, output: ends.1 }, help)
}

const BOTH_ENDS: (bool, bool) = (true, true);
const INPUT: (bool, bool) = (true, false);
const OUTPUT: (bool, bool) = (false, true);

/// All flags.
pub const FLAGS: &[Word<OfEnd>] = &[
    flag("append", Who::Both, Flag::Append, BOTH_ENDS, "O_APPEND"),
    flag("direct", Who::Both, Flag::Direct, BOTH_ENDS, "O_DIRECT: around the page cache"),
    flag("directory", Who::Gnu, Flag::Directory, BOTH_ENDS, "O_DIRECTORY"),
    flag("dsync", Who::Both, Flag::Dsync, BOTH_ENDS, "O_DSYNC: each write is durable, with what is needed to find it"),
    flag("sync", Who::Both, Flag::Sync, BOTH_ENDS, "O_SYNC: each write is durable, with all that is known of the file"),
    flag("fsync", Who::FreeBsd, Flag::Sync, OUTPUT, "as sync"),
    flag("fullblock", Who::Both, Flag::Fullblock, INPUT, "read until a block is full"),
    flag("nonblock", Who::Gnu, Flag::Nonblock, BOTH_ENDS, "O_NONBLOCK"),
    flag("noatime", Who::Gnu, Flag::Noatime, BOTH_ENDS, "O_NOATIME"),
    flag("nocache", Who::Gnu, Flag::Nocache, BOTH_ENDS, "drop what was moved from the page cache"),
    flag("noctty", Who::Gnu, Flag::Noctty, BOTH_ENDS, "O_NOCTTY"),
    flag("nofollow", Who::Gnu, Flag::Nofollow, BOTH_ENDS, "O_NOFOLLOW"),
    flag("count_bytes", Who::Gnu, Flag::CountBytes, BOTH_ENDS, "count is of bytes"),
    flag("skip_bytes", Who::Gnu, Flag::SkipBytes, BOTH_ENDS, "skip is of bytes"),
    flag("seek_bytes", Who::Gnu, Flag::SeekBytes, BOTH_ENDS, "seek is of bytes"),
];

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// Blocks, and the last line.
    #[default]
    All,
    /// Nothing but errors.
    None,
    /// Blocks, and no last line.
    Noxfer,
    /// The last line each second, too.
    Progress,
}

/// All levels of telling.
pub const LEVELS: &[Word<Status>] = &[
    word("none", Who::Both, Status::None, ""),
    word("noxfer", Who::Both, Status::Noxfer, ""),
    word("progress", Who::Both, Status::Progress, ""),
];

impl Flag {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        FLAGS.iter().find(|word| word.means.flag == self).map_or("", |word| word.name)
    }
}

impl Conv {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        CONVERSIONS.iter().find(|word| word.means == self).map_or("", |word| word.name)
    }
}

/// The word of this name.
pub fn find<T>(words: &'static [Word<T>], name: &str, personality: Personality) -> Option<&'static Word<T>> {
    words.iter().find(|word| word.name == name && word.who.has(personality))
}
