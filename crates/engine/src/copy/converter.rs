//! Converts bytes during a copy: character sets, case, byte pairs and lines. It works in the buffer of the read, and
//! passes the results on in pieces.

use super::tables::{ASCII_TO_EBCDIC, ASCII_TO_IBM, EBCDIC_TO_ASCII};
use plumb_workload::copy::{Characters, Conversion, Letters, LineRules};

/// Padding is passed on in pieces of this length.
const PIECE: usize = 512;

pub(super) struct Converter {
    table: Option<Box<[u8; 256]>>,
    swaps: bool,
    /// The first byte of an incomplete pair.
    single: Option<u8>,
    lines: Option<LineRules>,
    /// Offset in the current record or line, in bytes.
    column: u64,
    /// Spaces that may turn out to be at the end of a record.
    spaces: u64,
    space: u8,
    newline: u8,
    /// Spaces to pad a record, in pieces.
    filling: [u8; PIECE],
    /// Lines that were longer than a record.
    pub(super) cut_lines: u64,
    /// Bytes without a partner.
    pub(super) odd_swaps: u64,
}

/// Receives pieces of converted bytes.
pub(super) trait Sink {
    /// Error of a sink that cannot take more.
    type Full;

    fn take(&mut self, bytes: &[u8]) -> Result<(), Self::Full>;
}

impl Converter {
    pub(super) fn new(conversion: &Conversion) -> Converter {
        let to_ebcdic = match conversion.characters {
            Some(Characters::Ebcdic) => Some(&ASCII_TO_EBCDIC),
            Some(Characters::Ibm) => Some(&ASCII_TO_IBM),
            Some(Characters::Ascii) | None => None,
        };
        let special = |byte: u8| to_ebcdic.map_or(byte, |table| table[usize::from(byte)]);
        let space = special(b' ');
        Converter {
            table: table(conversion),
            swaps: conversion.swap_pairs,
            single: None,
            lines: conversion.lines,
            column: 0,
            spaces: 0,
            space,
            newline: special(b'\n'),
            filling: [space; PIECE],
            cut_lines: 0,
            odd_swaps: 0,
        }
    }

    /// Converts the data of a read, and passes it on.
    pub(super) fn push<S: Sink>(&mut self, bytes: &mut [u8], sink: &mut S) -> Result<(), S::Full> {
        if let Some(table) = &self.table {
            for byte in bytes.iter_mut() {
                *byte = table[usize::from(*byte)];
            }
        }
        if !self.swaps {
            return self.lay_out(bytes, sink);
        }
        let mut rest = bytes;
        if let (Some(first), [second, ..]) = (self.single, &*rest) {
            let pair = [*second, first];
            self.single = None;
            self.lay_out(&pair, sink)?;
            rest = &mut rest[1..];
        }
        let even = rest.len() & !1;
        rest[..even].chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        if even < rest.len() {
            self.single = Some(rest[even]);
        }
        self.lay_out(&rest[..even], sink)
    }

    /// Passes on the data held back.
    pub(super) fn finish<S: Sink>(&mut self, sink: &mut S) -> Result<(), S::Full> {
        if let Some(single) = self.single.take() {
            self.odd_swaps += 1;
            self.lay_out(&[single], sink)?;
        }
        match self.lines {
            Some(LineRules::ToRecords(record)) if self.column > 0 => {
                self.fill(record.0.saturating_sub(self.column), sink)
            }
            Some(LineRules::FromRecords(_)) if self.column > 0 => sink.take(&[self.newline]),
            _ => Ok(()),
        }
    }

    fn lay_out<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<(), S::Full> {
        match self.lines {
            None if bytes.is_empty() => Ok(()),
            None => sink.take(bytes),
            Some(LineRules::ToRecords(record)) => self.cut_records(bytes, record.0, sink),
            Some(LineRules::FromRecords(record)) => self.join_lines(bytes, record.0, sink),
        }
    }

    fn cut_records<S: Sink>(&mut self, bytes: &[u8], record: u64, sink: &mut S) -> Result<(), S::Full> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if first == self.newline {
                self.fill(record.saturating_sub(self.column), sink)?;
                self.column = 0;
                rest = &rest[1..];
                continue;
            }
            let length = rest.iter().position(|&byte| byte == self.newline).unwrap_or(rest.len());
            let room = record.saturating_sub(self.column);
            let fits = length.min(usize::try_from(room).unwrap_or(usize::MAX));
            if fits > 0 {
                sink.take(&rest[..fits])?;
            }
            // A line longer than its record is counted once, at the first lost byte.
            let was_cut = self.column > record;
            self.column += length as u64;
            if !was_cut && self.column > record {
                self.cut_lines += 1;
            }
            rest = &rest[length..];
        }
        Ok(())
    }

    fn join_lines<S: Sink>(&mut self, bytes: &[u8], record: u64, sink: &mut S) -> Result<(), S::Full> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.column == record {
                (self.column, self.spaces) = (0, 0);
                sink.take(&[self.newline])?;
            }
            let room = usize::try_from(record - self.column).unwrap_or(usize::MAX);
            let (piece, tail) = rest.split_at(rest.len().min(room));
            rest = tail;
            self.column += piece.len() as u64;
            let text = piece.iter().rposition(|&byte| byte != self.space).map_or(0, |last| last + 1);
            if text > 0 {
                let spaces = std::mem::take(&mut self.spaces);
                self.fill(spaces, sink)?;
                sink.take(&piece[..text])?;
            }
            self.spaces += (piece.len() - text) as u64;
        }
        Ok(())
    }

    fn fill<S: Sink>(&self, spaces: u64, sink: &mut S) -> Result<(), S::Full> {
        let mut left = spaces;
        while left > 0 {
            let piece = left.min(PIECE as u64);
            sink.take(&self.filling[..piece as usize])?;
            left -= piece;
        }
        Ok(())
    }
}

/// Combines the conversions in one table: from EBCDIC before the case change, to EBCDIC after it.
fn table(conversion: &Conversion) -> Option<Box<[u8; 256]>> {
    if conversion.characters.is_none() && conversion.letters.is_none() {
        return None;
    }
    let convert = |byte: u8| {
        let read = match conversion.characters {
            Some(Characters::Ascii) => EBCDIC_TO_ASCII[usize::from(byte)],
            _ => byte,
        };
        let cased = match conversion.letters {
            Some(Letters::Lower) => read.to_ascii_lowercase(),
            Some(Letters::Upper) => read.to_ascii_uppercase(),
            None => read,
        };
        match conversion.characters {
            Some(Characters::Ebcdic) => ASCII_TO_EBCDIC[usize::from(cased)],
            Some(Characters::Ibm) => ASCII_TO_IBM[usize::from(cased)],
            Some(Characters::Ascii) | None => cased,
        }
    };
    let mut table = Box::new([0; 256]);
    for (entry, byte) in table.iter_mut().zip(0..=u8::MAX) {
        *entry = convert(byte);
    }
    Some(table)
}
