//! Reads recordings with one file per processor, as blktrace and btrecord write them: `DEVICE.blktrace.0`,
//! `DEVICE.blktrace.1` and so on. The files are merged by time into one recording, because an op often begins on one
//! processor and ends on another.

use crate::blktrace::RecordLayout;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Name endings of such files, with the bytes of the file header.
const ENDINGS: [(&str, usize); 2] = [(".blktrace.", 0), (".replay.", 32)];

/// Maximum packets in a bunch of btrecord, and their bytes. Source: btrecord.h.
const PACKETS_MAX: u64 = 512;
const PACKET_BYTES: usize = 24;
const BUNCH_BYTES: usize = 16;

/// A file and its next piece.
struct Part {
    path: PathBuf,
    input: BufReader<File>,
    at: u64,
    layout: Option<RecordLayout>,
    next: Vec<u8>,
    time_ns: u64,
    is_over: bool,
}

/// The files, merged into one.
pub(crate) struct Processors {
    parts: Vec<Part>,
    /// The part whose next piece is being read, and the position in it.
    reads: Vec<u8>,
    place: usize,
}

/// Returns all files of the recording that this file belongs to, in the order of the processors; `None` if
/// it is the only one.
fn files(path: &Path) -> Option<(Vec<PathBuf>, usize)> {
    let name = path.file_name()?.to_str()?;
    let stem_of = |name: &str, ending: &str| {
        let (stem, number) = name.rsplit_once(ending)?;
        Some((stem.to_owned(), number.parse::<u32>().ok()?))
    };
    let (ending, head) = ENDINGS.iter().find(|(ending, _)| stem_of(name, ending).is_some())?;
    let (stem, _) = stem_of(name, ending)?;
    let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir(directory)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let (other, number) = stem_of(entry.file_name().to_str()?, ending)?;
            (other == stem).then(|| (number, entry.path()))
        })
        .collect();
    found.sort();
    (found.len() > 1).then(|| (found.into_iter().map(|(_, path)| path).collect(), *head))
}

impl Processors {
    /// Opens all files of the recording that this file belongs to; `None` if it is the only one, or
    /// does not follow the naming.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Processors>> {
        let Some((files, head_bytes)) = files(path) else { return Ok(None) };
        let (mut parts, mut head) = (Vec::new(), Vec::new());
        for path in files {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            let mut input = BufReader::with_capacity(1 << 16, File::open(&path).map_err(named)?);
            let first = input.fill_buf().map_err(named)?;
            let layout = match (head_bytes, RecordLayout::detect(&path, first)) {
                (0, Some(Ok(layout))) => Some(layout),
                (0, Some(Err(error))) => return Err(io::Error::new(ErrorKind::InvalidData, error.to_string())),
                // An idle processor has an empty file.
                (0, None) if first.is_empty() => continue,
                (0, None) => return Ok(None),
                _ => None,
            };
            let mut of_file = vec![0; head_bytes];
            if input.read_exact(&mut of_file).is_err() {
                continue;
            }
            // All headers are the same except for counts that are not used.
            if head.is_empty() {
                head = of_file;
            }
            let at = head_bytes as u64;
            parts.push(Part { path, input, at, layout, next: Vec::new(), time_ns: 0, is_over: false });
        }
        for part in &mut parts {
            part.advance()?;
        }
        Ok(Some(Processors { parts, reads: head, place: 0 }))
    }
}

impl Part {
    fn malformed(&self, reason: &str) -> io::Error {
        io::Error::new(ErrorKind::InvalidData, format!("{}: byte {}: {reason}", self.path.display(), self.at))
    }

    /// Reads the next piece, with its time.
    fn advance(&mut self) -> io::Result<()> {
        let head_bytes = self.layout.map_or(BUNCH_BYTES, RecordLayout::header_bytes);
        self.next.clear();
        self.input.by_ref().take(head_bytes as u64).read_to_end(&mut self.next)?;
        if self.next.is_empty() {
            self.is_over = true;
            return Ok(());
        }
        if self.next.len() < head_bytes {
            return Err(self.malformed("the recording ends within a record"));
        }
        let extra_bytes = match self.layout {
            Some(layout) => {
                let Some((time_ns, extra_bytes)) = layout.time_and_extra_bytes(&self.next) else {
                    return Err(self.malformed("a record without its magic number"));
                };
                self.time_ns = time_ns.unwrap_or(self.time_ns);
                extra_bytes
            }
            None => {
                let long =
                    |place: usize| self.next[place..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                let (packets, time_ns) = (long(0), long(8));
                if packets > PACKETS_MAX {
                    return Err(self.malformed("a bunch has more than 512 packets"));
                }
                self.time_ns = time_ns;
                packets as usize * PACKET_BYTES
            }
        };
        self.input.by_ref().take(extra_bytes as u64).read_to_end(&mut self.next)?;
        if self.next.len() < head_bytes + extra_bytes {
            return Err(self.malformed("the recording ends within a record"));
        }
        self.at += self.next.len() as u64;
        Ok(())
    }
}

impl Read for Processors {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let length = ready.len().min(buffer.len());
        buffer[..length].copy_from_slice(&ready[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Processors {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.place == self.reads.len() {
            self.place = 0;
            self.reads.clear();
            let next = self.parts.iter_mut().filter(|part| !part.is_over).min_by_key(|part| part.time_ns);
            if let Some(part) = next {
                std::mem::swap(&mut self.reads, &mut part.next);
                part.advance()?;
            }
        }
        Ok(&self.reads[self.place..])
    }

    fn consume(&mut self, length: usize) {
        self.place = (self.place + length).min(self.reads.len());
    }
}
