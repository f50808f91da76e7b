//! Writes the own format.

use super::bits::put_varint;
use super::chunk::Encoder;
use super::{BlockHeader, BlockKind, END, Facts, HEADER_BYTES, MAGIC, VERSION};
use crate::names::Names;
use crate::record::Record;
use std::io::{self, Write};

/// Number of records in a written chunk. Below the maximum, so that a chunk fits into a processor's cache.
const CHUNK_RECORDS: usize = 1 << 14;

/// Writes records in chunks. A file that was not [finished](OwnWriter::finish) lacks its last chunk and the
/// index, but can be read.
pub struct OwnWriter<W> {
    out: W,
    at: u64,
    records: Vec<Record>,
    encoder: Encoder,
    /// Index entries: offset, number of records, first and last time of each chunk.
    index: Vec<(u64, u64, u64, u64)>,
    total: u64,
}

impl<W: Write> OwnWriter<W> {
    /// Starts a file with this metadata.
    ///
    /// # Errors
    /// Returns any error of the writer.
    pub fn new(mut out: W, facts: &Facts) -> io::Result<OwnWriter<W>> {
        let text = facts.to_text();
        let mut head = Vec::from(MAGIC);
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&(text.len() as u32).to_le_bytes());
        head.extend_from_slice(text.as_bytes());
        head.extend_from_slice(&crc32c::crc32c(&head).to_le_bytes());
        out.write_all(&head)?;
        let (encoder, index, records) = (Encoder::default(), Vec::new(), Vec::with_capacity(CHUNK_RECORDS));
        Ok(OwnWriter { out, at: head.len() as u64, records, encoder, index, total: 0 })
    }

    /// Adds a record. Its numbers refer to `names`.
    ///
    /// # Errors
    /// Returns any error of the writer.
    pub fn push(&mut self, record: Record, names: &Names) -> io::Result<()> {
        self.records.push(record);
        if self.records.len() < CHUNK_RECORDS { Ok(()) } else { self.flush(names) }
    }

    /// Writes the buffered records as a chunk, so that they survive a crash.
    ///
    /// # Errors
    /// Returns any error of the writer.
    pub fn flush(&mut self, names: &Names) -> io::Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        let count = self.records.len() as u64;
        let chunk = self.encoder.chunk(&mut self.records, names);
        let times = |record: Option<&Record>| record.map_or(0, |record| record.at_ns);
        self.index.push((self.at, count, times(self.records.first()), times(self.records.last())));
        self.records.clear();
        self.total += count;
        self.at += chunk.len() as u64;
        self.out.write_all(&chunk)?;
        self.out.flush()
    }

    /// Writes the remaining records, and the index with the facts that are known only now.
    /// Returns the total bytes written.
    ///
    /// # Errors
    /// Returns any error of the writer.
    pub fn finish(mut self, names: &Names, facts: &Facts) -> io::Result<u64> {
        self.flush(names)?;
        let mut payload = Vec::new();
        let mut before = 0;
        for (at, count, first_ns, last_ns) in &self.index {
            [at - before, *count, *first_ns, *last_ns].iter().for_each(|field| put_varint(&mut payload, *field));
            before = *at;
        }
        payload.extend_from_slice(facts.to_text().as_bytes());
        let header = BlockHeader {
            kind: BlockKind::Index,
            payload_bytes: payload.len() as u32,
            count: self.index.len() as u32,
            payload_crc: crc32c::crc32c(&payload),
            first_ns: 0,
            last_ns: self.total,
        };
        self.out.write_all(&header.to_bytes())?;
        self.out.write_all(&payload)?;
        self.out.write_all(&self.at.to_le_bytes())?;
        self.out.write_all(&END)?;
        self.out.flush()?;
        Ok(self.at + (HEADER_BYTES + payload.len() + 16) as u64)
    }
}
