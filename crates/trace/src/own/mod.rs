//! Plumb's own format: chunks of columns, each readable by itself. Documented to the byte in docs/format-trace.md.

mod bits;
mod chunk;
mod column;
mod huffman;
mod reader;
mod writer;

pub(crate) use chunk::has_other_file;
pub use chunk::{CHUNK_RECORDS_MAX, Decoded, Decoder, Loss, RawChunk};
pub use reader::{Chunks, OwnReader};
pub use writer::OwnWriter;

/// The first bytes of a file.
pub(crate) const MAGIC: [u8; 8] = *b"PLUMBTRC";

/// The version that is written, and the only one that can be read.
const VERSION: u32 = 1;

/// The last bytes of a file that was closed.
const END: [u8; 8] = *b"PLUMBEND";

/// Bytes of a block's header.
const HEADER_BYTES: usize = 40;

/// Content of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Chunk,
    Index,
}

/// The header of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BlockHeader {
    kind: BlockKind,
    payload_bytes: u32,
    /// Number of records in a chunk, or of chunks in an index.
    count: u32,
    payload_crc: u32,
    first_ns: u64,
    last_ns: u64,
}

impl BlockHeader {
    const CHUNK: [u8; 4] = *b"PTC1";
    const INDEX: [u8; 4] = *b"PTI1";

    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(match self.kind {
            BlockKind::Chunk => &BlockHeader::CHUNK,
            BlockKind::Index => &BlockHeader::INDEX,
        });
        for (place, number) in [(4, self.payload_bytes), (8, self.count), (12, self.payload_crc)] {
            bytes[place..place + 4].copy_from_slice(&number.to_le_bytes());
        }
        bytes[16..24].copy_from_slice(&self.first_ns.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.last_ns.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Returns `None` if these are not the bytes of a header.
    fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<BlockHeader> {
        let word = |place: usize| bytes[place..].first_chunk().map(|word| u32::from_le_bytes(*word));
        let long = |place: usize| bytes[place..].first_chunk().map(|word| u64::from_le_bytes(*word));
        let kind = match *bytes.first_chunk()? {
            BlockHeader::CHUNK => BlockKind::Chunk,
            BlockHeader::INDEX => BlockKind::Index,
            _ => return None,
        };
        if word(HEADER_BYTES - 4)? != crc32c::crc32c(&bytes[..HEADER_BYTES - 4]) {
            return None;
        }
        Some(BlockHeader {
            kind,
            payload_bytes: word(4)?,
            count: word(8)?,
            payload_crc: word(12)?,
            first_ns: long(16)?,
            last_ns: long(24)?,
        })
    }
}

/// Metadata in a file: lines `key: value`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts(pub Vec<(String, String)>);

impl Facts {
    /// Returns the value of a key; the last one if there are several.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Adds a fact. Replaces line ends with blanks.
    pub fn set(&mut self, key: &str, value: impl ToString) {
        self.0.push((key.to_owned(), value.to_string().replace(['\n', '\r'], " ")));
    }

    fn to_text(&self) -> String {
        self.0.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
    }

    fn parse(text: &str) -> Facts {
        let fact = |line: &str| line.split_once(": ").map(|(key, value)| (key.to_owned(), value.to_owned()));
        Facts(text.lines().filter_map(fact).collect())
    }
}
