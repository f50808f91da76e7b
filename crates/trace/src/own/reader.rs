//! Reads the own format, whole or damaged.

use super::bits::varint;
use super::chunk::{Decoded, Decoder, Loss, RawChunk};
use super::{BlockHeader, BlockKind, Facts, HEADER_BYTES, MAGIC, VERSION};
use crate::error::TraceError;
use crate::format_reader::Input;
use crate::names::Names;
use crate::record::Record;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Maximum size of a header's facts.
const FACTS_BYTES_MAX: u32 = 1 << 20;

/// Maximum size of a chunk: its records at their longest, and many long names.
const PAYLOAD_BYTES_MAX: u32 = 1 << 28;

/// The undecoded chunks of a file, in order.
pub struct Chunks {
    input: Input,
    path: PathBuf,
    /// Bytes read but not used yet; the first is the file's byte `at`.
    held: Vec<u8>,
    at: u64,
    ended: bool,
    facts: Facts,
    /// Whether the file was closed: it ends with an index.
    is_closed: bool,
    losses: Vec<Loss>,
}

impl Chunks {
    /// Starts reading a file; `path` is for messages.
    ///
    /// # Errors
    /// Returns a [`TraceError`] if the header cannot be read.
    pub fn new(input: Input, path: &Path) -> Result<Chunks, TraceError> {
        let mut chunks = Chunks {
            input,
            path: path.to_owned(),
            held: Vec::new(),
            at: 0,
            ended: false,
            facts: Facts::default(),
            is_closed: false,
            losses: Vec::new(),
        };
        let malformed = |at, reason: &str| TraceError::Bytes { path: path.to_owned(), at, reason: reason.to_owned() };
        chunks.fill(16)?;
        let head = chunks.held.first_chunk::<16>().ok_or_else(|| malformed(0, "the header is cut off"))?;
        let word = |place: usize| u32::from_le_bytes([head[place], head[place + 1], head[place + 2], head[place + 3]]);
        let (version, size) = (word(8), word(12));
        if head[..8] != MAGIC {
            return Err(malformed(0, "not a trace of Plumb's"));
        }
        if version != VERSION {
            let version = version.to_string();
            return Err(TraceError::Version { path: path.to_owned(), format: "Plumb's trace", version, known: "1" });
        }
        if size > FACTS_BYTES_MAX {
            return Err(malformed(12, "the header is too long"));
        }
        let whole = 16 + size as usize;
        chunks.fill(whole + 4)?;
        let crc = chunks.held.get(whole..whole + 4).ok_or_else(|| malformed(16, "the header is cut off"))?;
        if crc != crc32c::crc32c(&chunks.held[..whole]).to_le_bytes() {
            return Err(malformed(16, "the checksum of the header is wrong"));
        }
        chunks.facts = Facts::parse(&String::from_utf8_lossy(&chunks.held[16..whole]));
        chunks.skip(whole + 4);
        Ok(chunks)
    }

    /// Returns the metadata in the file. Complete only after the end was read.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the parts that could not be read so far.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Records a part that cannot be read.
    pub fn note_loss(&mut self, at: u64, reason: &'static str) {
        self.losses.push(Loss { at, reason });
    }

    /// Reads until this many bytes are buffered, or the input ends.
    fn fill(&mut self, wanted: usize) -> Result<bool, TraceError> {
        while self.held.len() < wanted && !self.ended {
            let missing = (wanted - self.held.len()) as u64;
            match self.input.by_ref().take(missing).read_to_end(&mut self.held) {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(TraceError::Io { path: self.path.clone(), source }),
            }
        }
        Ok(self.held.len() >= wanted)
    }

    fn skip(&mut self, count: usize) {
        self.held.drain(..count.min(self.held.len()));
        self.at += count as u64;
    }

    /// Returns the next chunk; `None` at the end. Skips and records invalid data between chunks.
    ///
    /// # Errors
    /// Returns a [`TraceError`] if reading fails.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<RawChunk>, TraceError> {
        let mut is_lost = false;
        loop {
            let has_header = self.fill(HEADER_BYTES)?;
            let header = self.held.first_chunk().filter(|_| has_header).and_then(BlockHeader::parse);
            match header {
                Some(header) if header.payload_bytes <= PAYLOAD_BYTES_MAX => {
                    let whole = HEADER_BYTES + header.payload_bytes as usize;
                    if !self.fill(whole)? {
                        self.note_loss(self.at, "the file ends within a chunk");
                        self.held.clear();
                        return Ok(None);
                    }
                    let at = self.at;
                    let payload = self.held[HEADER_BYTES..whole].to_vec();
                    self.skip(whole);
                    match header.kind {
                        BlockKind::Index => {
                            self.index(&header, &payload);
                            return Ok(None);
                        }
                        BlockKind::Chunk => {
                            let (count, payload_crc, first_ns) = (header.count, header.payload_crc, header.first_ns);
                            return Ok(Some(RawChunk { at, count, payload_crc, first_ns, payload }));
                        }
                    }
                }
                _ if self.held.is_empty() => {
                    if !self.is_closed && !is_lost {
                        self.note_loss(self.at, "the file was not closed: its last records may be missing");
                    }
                    return Ok(None);
                }
                _ => {
                    if !is_lost {
                        self.note_loss(self.at, "not a chunk");
                    }
                    is_lost = true;
                    self.search()?;
                }
            }
        }
    }

    /// Skips to the next possible header.
    fn search(&mut self) -> Result<(), TraceError> {
        const STEP: usize = 1 << 16;
        loop {
            self.fill(STEP)?;
            let is_header = |window: &[u8]| window == BlockHeader::CHUNK || window == BlockHeader::INDEX;
            match self.held.windows(4).skip(1).position(is_header) {
                Some(before) => {
                    self.skip(before + 1);
                    return Ok(());
                }
                None if self.ended => {
                    self.skip(self.held.len());
                    return Ok(());
                }
                None => self.skip(self.held.len().saturating_sub(3)),
            }
        }
    }

    fn index(&mut self, header: &BlockHeader, payload: &[u8]) {
        if crc32c::crc32c(payload) != header.payload_crc {
            return self.note_loss(self.at, "the checksum of the index is wrong");
        }
        let mut rest = payload;
        for _ in 0..u64::from(header.count) * 4 {
            if varint(&mut rest).is_none() {
                return self.note_loss(self.at, "the index is cut off");
            }
        }
        self.facts.0.extend(Facts::parse(&String::from_utf8_lossy(rest)).0);
        self.is_closed = true;
    }
}

/// Reads records one after another.
pub struct OwnReader {
    chunks: Chunks,
    names: Names,
    decoder: Decoder,
    decoded: Decoded,
    at: usize,
}

impl OwnReader {
    pub(crate) fn new(input: Input, path: &Path) -> Result<OwnReader, TraceError> {
        Ok(OwnReader {
            chunks: Chunks::new(input, path)?,
            names: Names::default(),
            decoder: Decoder::default(),
            decoded: Decoded::default(),
            at: 0,
        })
    }

    /// Returns the files and threads seen so far.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    pub(crate) fn next(&mut self) -> Option<Result<Record, TraceError>> {
        while self.at == self.decoded.records.len() {
            let chunk = match self.chunks.next_chunk() {
                Ok(chunk) => chunk?,
                Err(error) => return Some(Err(error)),
            };
            self.at = 0;
            match self.decoder.decode(&chunk, &mut self.decoded) {
                Ok(()) => self.decoded.number(&mut self.names),
                Err(reason) => {
                    self.chunks.note_loss(chunk.at, reason);
                    self.decoded.records.clear();
                }
            }
        }
        self.at += 1;
        Some(Ok(self.decoded.records[self.at - 1]))
    }
}
