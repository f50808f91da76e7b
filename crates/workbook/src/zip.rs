//! The container: a zip archive of deflated entries. Source: PKWARE's APPNOTE 6.3, without its 64-bit sizes.

use flate2::Crc;
use flate2::write::DeflateEncoder;
use std::io::Write;

/// The first day that the format knows: the same numbers make the same bytes.
const DATE: u16 = 0x21;
const DEFLATED: u16 = 8;
/// The version that reads deflated entries: 2.0.
const VERSION: u16 = 20;
const LOCAL_HEADER: u32 = 0x0403_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END_OF_CENTRAL_DIRECTORY: u32 = 0x0605_4b50;

/// An archive that grows.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    /// One header an entry, for the end of the archive.
    directory: Vec<u8>,
    entries: u16,
}

/// An entry while its content is written.
#[derive(Debug)]
pub struct Entry {
    encoder: DeflateEncoder<Vec<u8>>,
    crc: Crc,
}

impl Entry {
    pub fn new() -> Entry {
        Entry { encoder: DeflateEncoder::new(Vec::new(), flate2::Compression::default()), crc: Crc::new() }
    }

    pub fn write(&mut self, content: &[u8]) -> std::io::Result<()> {
        self.crc.update(content);
        self.encoder.write_all(content)
    }
}

/// An archive of 4 GiB or more, or an entry of it.
#[derive(Debug)]
pub struct TooLarge;

impl Archive {
    /// Adds what was written as an entry of this name.
    pub fn add(&mut self, name: &str, entry: Entry) -> Result<(), TooLarge> {
        let offset = size(self.bytes.len())?;
        let content = u32::try_from(entry.encoder.total_in()).map_err(|_| TooLarge)?;
        // Into memory: it cannot fail.
        let deflated = entry.encoder.finish().map_err(|_| TooLarge)?;
        let mut header = Vec::new();
        for field in [VERSION, 0, DEFLATED, 0, DATE] {
            header.extend(field.to_le_bytes());
        }
        for field in [entry.crc.sum(), size(deflated.len())?, content] {
            header.extend(field.to_le_bytes());
        }
        header.extend((name.len() as u16).to_le_bytes());
        // No extra field.
        header.extend(0u16.to_le_bytes());

        self.bytes.extend(LOCAL_HEADER.to_le_bytes());
        self.bytes.extend(&header);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(deflated);

        self.directory.extend(CENTRAL_HEADER.to_le_bytes());
        self.directory.extend(VERSION.to_le_bytes());
        self.directory.extend(header);
        // No comment, the first disk, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.entries += 1;
        Ok(())
    }

    pub fn finish(mut self) -> Result<Vec<u8>, TooLarge> {
        let offset = size(self.bytes.len())?;
        let length = size(self.directory.len())?;
        self.bytes.append(&mut self.directory);
        self.bytes.extend(END_OF_CENTRAL_DIRECTORY.to_le_bytes());
        for field in [0, 0, self.entries, self.entries] {
            self.bytes.extend(u16::to_le_bytes(field));
        }
        for field in [length, offset] {
            self.bytes.extend(field.to_le_bytes());
        }
        self.bytes.extend(0u16.to_le_bytes());
        Ok(self.bytes)
    }
}

fn size(bytes: usize) -> Result<u32, TooLarge> {
    u32::try_from(bytes).map_err(|_| TooLarge)
}
