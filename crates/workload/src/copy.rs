//! A copy of bytes from one place to another, record by record, with conversions on the way, as dd makes it.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// A copy. Its group has one worker; its targets are `job-files` of one said name each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CopySpec {
    /// Name of the target that is read; standard input when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Name of the target that is written; standard output when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Each read asks for this many bytes: the input's block.
    pub read_block: Bytes,
    /// Each write is of this many bytes where blocks are gathered: the output's block.
    pub write_block: Bytes,
    /// Gather what was read into whole output blocks. Otherwise each read is written by itself, short ones too.
    pub gathers: bool,
    /// Read until a block is full or the input ends: pipes give less than was asked.
    pub full_blocks: bool,
    /// Blocks of the input that are passed over first.
    #[serde(skip_serializing_if = "CopyExtent::is_empty")]
    pub skip: CopyExtent,
    /// Blocks of the output that are passed over first.
    #[serde(skip_serializing_if = "CopyExtent::is_empty")]
    pub seek: CopyExtent,
    /// Reads at most; to the end of the input when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<CopyExtent>,
    /// What becomes of the bytes on their way.
    #[serde(skip_serializing_if = "Conversion::is_nothing")]
    pub conversion: Conversion,
    /// Fill each short input block with this byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<u8>,
    /// Pass over output blocks that hold nothing but zeros.
    pub sparse: bool,
    /// Go on behind what cannot be read.
    pub passes_over_read_errors: bool,
    /// Whether the output is made.
    pub create: CreateOutput,
    /// The output loses what lies behind the place where writing begins.
    pub truncate: bool,
    /// The output also loses what lies before that place, when it is opened (`O_TRUNC`). GNU dd opens it so where `seek` is less
    /// than a block.
    #[serde(skip_serializing_if = "is_false")]
    pub empties: bool,
    /// `fdatasync` before the end.
    pub fdatasync: bool,
    /// `fsync` before the end.
    pub fsync: bool,
    /// How the input is opened.
    #[serde(skip_serializing_if = "CopyFlags::is_nothing")]
    pub input: CopyFlags,
    /// How the output is opened.
    #[serde(skip_serializing_if = "CopyFlags::is_nothing")]
    pub output: CopyFlags,
    /// Between files and pipes move bytes without looking at them, as many as the kernel takes at a time
    /// (`copy_file_range`, `splice`). Blocks are counted all the same.
    pub in_kernel: bool,
}

impl Default for CopySpec {
    fn default() -> CopySpec {
        CopySpec {
            from: None,
            to: None,
            read_block: Bytes(512),
            write_block: Bytes(512),
            gathers: false,
            full_blocks: false,
            skip: CopyExtent::default(),
            seek: CopyExtent::default(),
            count: None,
            conversion: Conversion::default(),
            pad: None,
            sparse: false,
            passes_over_read_errors: false,
            create: CreateOutput::default(),
            truncate: true,
            empties: false,
            fdatasync: false,
            fsync: false,
            input: CopyFlags::default(),
            output: CopyFlags::default(),
            in_kernel: false,
        }
    }
}

/// This many blocks, and this many bytes beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CopyExtent {
    /// Whole blocks.
    pub blocks: u64,
    /// Less than a block.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

impl CopyExtent {
    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        *self == CopyExtent::default()
    }

    /// Its length in bytes with blocks of this size; `None` where no file is so long.
    pub fn length_bytes(&self, block: Bytes) -> Option<u64> {
        self.blocks.checked_mul(block.0)?.checked_add(self.bytes).filter(|&bytes| i64::try_from(bytes).is_ok())
    }
}

/// What becomes of bytes on their way, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Conversion {
    /// Another set of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub characters: Option<Characters>,
    /// Another case of letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub letters: Option<Letters>,
    /// Swap every pair of bytes.
    pub swap_pairs: bool,
    /// Lines become records of fixed length, or the other way round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineRules>,
}

impl Conversion {
    /// Whether bytes stay as they are.
    pub fn is_nothing(&self) -> bool {
        *self == Conversion::default()
    }
}

/// Another set of characters. Source: POSIX, dd, "Extended description".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Characters {
    /// EBCDIC becomes ASCII.
    Ascii,
    /// ASCII becomes EBCDIC.
    Ebcdic,
    /// ASCII becomes the EBCDIC of IBM's printers.
    Ibm,
}

/// Another case of ASCII letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Letters {
    /// Capitals become small.
    Lower,
    /// Small ones become capitals.
    Upper,
}

/// Lines and records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LineRules {
    /// Each line becomes a record of this length: filled with spaces, or cut.
    ToRecords(Bytes),
    /// Each record of this length becomes a line without the spaces at its end.
    FromRecords(Bytes),
}

/// Whether the output is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CreateOutput {
    /// Where it is missing.
    #[default]
    IfMissing,
    /// It must be there.
    Never,
    /// It must not be there.
    Always,
}

/// How one end of a copy is opened. Source: open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CopyFlags {
    /// `O_APPEND`.
    pub append: bool,
    /// `O_DIRECT`: around the page cache.
    pub direct: bool,
    /// `O_DIRECTORY`.
    pub directory: bool,
    /// `O_DSYNC`.
    pub dsync: bool,
    /// `O_SYNC`.
    pub sync: bool,
    /// `O_NONBLOCK`.
    pub nonblock: bool,
    /// `O_NOATIME`.
    pub noatime: bool,
    /// Drop what was moved from the page cache (`POSIX_FADV_DONTNEED`).
    pub nocache: bool,
    /// `O_NOCTTY`.
    pub noctty: bool,
    /// `O_NOFOLLOW`.
    pub nofollow: bool,
}

impl CopyFlags {
    /// Whether it is opened plainly.
    pub fn is_nothing(&self) -> bool {
        *self == CopyFlags::default()
    }
}

impl CopySpec {
    /// Names of the targets at its ends.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.from.iter().chain(&self.to).map(String::as_str)
    }
}
