//! Copies from one place to another, record by record and with conversions, like dd.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// A copy. The group must have one worker, and its targets must be `job-files` with one named file each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CopySpec {
    /// Name of the target to read; standard input when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Name of the target to write; standard output when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Size of the input block: bytes requested by each read.
    pub read_block: Bytes,
    /// Size of the output block: bytes per write when blocks are gathered.
    pub write_block: Bytes,
    /// Gather input into whole output blocks. Otherwise write each read separately, short ones too.
    pub gathers: bool,
    /// Keep reading until a block is full or the input ends, because pipes return fewer bytes than requested.
    pub full_blocks: bool,
    /// Input to skip before the first read.
    #[serde(skip_serializing_if = "CopyExtent::is_empty")]
    pub skip: CopyExtent,
    /// Output to skip before the first write.
    #[serde(skip_serializing_if = "CopyExtent::is_empty")]
    pub seek: CopyExtent,
    /// Maximum number of reads; defaults to the whole input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<CopyExtent>,
    /// Conversions of the bytes on their way.
    #[serde(skip_serializing_if = "Conversion::is_nothing")]
    pub conversion: Conversion,
    /// Byte that fills up each short input block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pad: Option<u8>,
    /// Skip output blocks that contain only zeros.
    pub sparse: bool,
    /// Continue after input that cannot be read.
    pub passes_over_read_errors: bool,
    /// Whether to create the output file.
    pub create: CreateOutput,
    /// Truncate the output at the offset where writing begins.
    pub truncate: bool,
    /// Also discard the output before that offset when it is opened (`O_TRUNC`). GNU dd does so if `seek`
    /// is less than a block.
    #[serde(skip_serializing_if = "is_false")]
    pub empties: bool,
    /// Call `fdatasync` on the output before the end.
    pub fdatasync: bool,
    /// Call `fsync` on the output before the end.
    pub fsync: bool,
    /// Flags that the input is opened with.
    #[serde(skip_serializing_if = "CopyFlags::is_nothing")]
    pub input: CopyFlags,
    /// Flags that the output is opened with.
    #[serde(skip_serializing_if = "CopyFlags::is_nothing")]
    pub output: CopyFlags,
    /// Move bytes between files and pipes inside the kernel (`copy_file_range`, `splice`), as many as it takes at a
    /// time. Blocks are still counted.
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

/// A length in blocks plus bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CopyExtent {
    /// Number of whole blocks.
    pub blocks: u64,
    /// Additional bytes, less than a block.
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
    /// Returns `true` if the length is zero.
    pub fn is_empty(&self) -> bool {
        *self == CopyExtent::default()
    }

    /// Returns the length in bytes for this block size; `None` if it exceeds the maximum file size.
    pub fn length_bytes(&self, block: Bytes) -> Option<u64> {
        self.blocks.checked_mul(block.0)?.checked_add(self.bytes).filter(|&bytes| i64::try_from(bytes).is_ok())
    }
}

/// Conversions of the copied bytes, applied in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Conversion {
    /// Conversion between character sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub characters: Option<Characters>,
    /// Conversion of the case of letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub letters: Option<Letters>,
    /// Swap every pair of bytes.
    pub swap_pairs: bool,
    /// Conversion between lines and records of fixed length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineRules>,
}

impl Conversion {
    /// Returns `true` if bytes are copied unchanged.
    pub fn is_nothing(&self) -> bool {
        *self == Conversion::default()
    }
}

/// Conversion between character sets. Source: POSIX, dd, "Extended description".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Characters {
    /// Convert from EBCDIC to ASCII.
    Ascii,
    /// Convert from ASCII to EBCDIC.
    Ebcdic,
    /// Convert from ASCII to the EBCDIC of IBM printers.
    Ibm,
}

/// Conversion of the case of ASCII letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Letters {
    /// Convert letters to lower case.
    Lower,
    /// Convert letters to upper case.
    Upper,
}

/// Conversion between lines and records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LineRules {
    /// Convert each line to a record of this length, padded with spaces or truncated.
    ToRecords(Bytes),
    /// Convert each record of this length to a line without trailing spaces.
    FromRecords(Bytes),
}

/// Whether to create the output file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CreateOutput {
    /// Create it if it does not exist.
    #[default]
    IfMissing,
    /// Fail if it does not exist.
    Never,
    /// Fail if it already exists (`O_EXCL`).
    Always,
}

/// Flags for opening one end of a copy. Source: open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CopyFlags {
    /// Append to the file (`O_APPEND`).
    pub append: bool,
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Fail unless it is a directory (`O_DIRECTORY`).
    pub directory: bool,
    /// Synchronize the data of each write (`O_DSYNC`).
    pub dsync: bool,
    /// Synchronize data and metadata of each write (`O_SYNC`).
    pub sync: bool,
    /// Do not block on opening, reading or writing (`O_NONBLOCK`).
    pub nonblock: bool,
    /// Do not update the access time (`O_NOATIME`).
    pub noatime: bool,
    /// Drop copied data from the page cache (`POSIX_FADV_DONTNEED`).
    pub nocache: bool,
    /// Do not become the controlling terminal (`O_NOCTTY`).
    pub noctty: bool,
    /// Fail if it is a symbolic link (`O_NOFOLLOW`).
    pub nofollow: bool,
}

impl CopyFlags {
    /// Returns `true` if no flag is set.
    pub fn is_nothing(&self) -> bool {
        *self == CopyFlags::default()
    }
}

impl CopySpec {
    /// Returns the names of the targets that the copy uses.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.from.iter().chain(&self.to).map(String::as_str)
    }
}
