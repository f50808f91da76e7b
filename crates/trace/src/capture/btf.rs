//! Where fields of the kernel's structures are on this machine: from its own description of its types (BTF).
//! Source: Documentation/bpf/btf.rst of Linux.

use std::io;

/// Where the kernel has it.
const PATH: &str = "/sys/kernel/btf/vmlinux";

/// Kinds of types that matter here.
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;

/// Bytes behind a type's head: for each kind, once, and for each of its members.
const BEHIND: [(usize, usize); 20] = [
    (0, 0),
    (4, 0),
    (0, 0),
    (12, 0),
    (0, 12),
    (0, 12),
    (0, 8),
    (0, 0),
    (0, 0),
    (0, 0),
    (0, 0),
    (0, 0),
    (0, 0),
    (0, 8),
    (4, 0),
    (0, 12),
    (0, 0),
    (4, 0),
    (0, 0),
    (0, 12),
];

/// The description.
pub(super) struct Types {
    bytes: Vec<u8>,
    /// Where each type's head is, by its number.
    heads: Vec<usize>,
    texts: usize,
}

impl Types {
    /// Reads it.
    ///
    /// # Errors
    /// Where the kernel has none, or it is not understood.
    pub(super) fn of_kernel() -> io::Result<Types> {
        Types::new(std::fs::read(PATH)?).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, PATH))
    }

    fn new(bytes: Vec<u8>) -> Option<Types> {
        let word = |place: usize| word(&bytes, place);
        let head = word(4)? as usize;
        let (from, to) = (head + word(8)? as usize, head + word(8)?.checked_add(word(12)?)? as usize);
        let texts = head + word(16)? as usize;
        let (mut heads, mut place) = (vec![0], from);
        while place < to {
            heads.push(place);
            let about = word(place + 4)?;
            let (once, each) = *BEHIND.get((about >> 24 & 0x1f) as usize)?;
            place += 12 + once + each * (about & 0xffff) as usize;
        }
        Some(Types { heads, texts, bytes })
    }

    fn text(&self, place: u32) -> &[u8] {
        let from = self.bytes.get(self.texts + place as usize..).unwrap_or(&[]);
        &from[..from.iter().position(|byte| *byte == 0).unwrap_or(0)]
    }

    fn kind(&self, head: usize) -> u32 {
        word(&self.bytes, head + 4).unwrap_or(0) >> 24 & 0x1f
    }

    /// Where a field is, bytes from the start of a structure. A path leads through structures within it.
    pub(super) fn place(&self, structure: &str, path: &[&str]) -> io::Result<i16> {
        let is_it = |head: &&usize| {
            self.kind(**head) == STRUCT
                && word(&self.bytes, **head).is_some_and(|name| self.text(name) == structure.as_bytes())
        };
        let found = self.heads[1..].iter().find(is_it).and_then(|head| self.within(*head, path, 0));
        let missing =
            || io::Error::new(io::ErrorKind::InvalidData, format!("there is no {structure}.{}", path.join(".")));
        found.and_then(|bits| i16::try_from(bits / 8).ok()).ok_or_else(missing)
    }

    /// The number of a tracepoint's type.
    pub(super) fn tracepoint(&self, name: &str) -> io::Result<u32> {
        let name = format!("btf_trace_{name}");
        let is_it = |head: &usize| {
            self.kind(*head) == TYPEDEF
                && word(&self.bytes, *head).is_some_and(|text| self.text(text) == name.as_bytes())
        };
        let missing = || io::Error::new(io::ErrorKind::InvalidData, format!("there is no {name}"));
        let number = self.heads[1..].iter().position(is_it).ok_or_else(missing)?;
        Ok(number as u32 + 1)
    }

    /// The value of a name in an enumeration.
    pub(super) fn value(&self, enumeration: &str, name: &str) -> io::Result<u32> {
        let is_it = |head: &&usize| {
            self.kind(**head) == ENUM
                && word(&self.bytes, **head).is_some_and(|text| self.text(text) == enumeration.as_bytes())
        };
        let of = |head: &usize| {
            let about = word(&self.bytes, head + 4)?;
            (0..(about & 0xffff) as usize).find_map(|number| {
                let member = head + 12 + 8 * number;
                let called = word(&self.bytes, member)?;
                (self.text(called) == name.as_bytes()).then(|| word(&self.bytes, member + 4))?
            })
        };
        let missing = || io::Error::new(io::ErrorKind::InvalidData, format!("there is no {name}"));
        self.heads[1..].iter().find(is_it).and_then(of).ok_or_else(missing)
    }

    fn within(&self, head: usize, path: &[&str], depth: u32) -> Option<u32> {
        let Some((name, rest)) = path.split_first() else { return Some(0) };
        let about = word(&self.bytes, head + 4)?;
        if matches!(self.kind(head), TYPEDEF | VOLATILE | CONST) && depth < 16 {
            let other = self.heads.get(word(&self.bytes, head + 8)? as usize)?;
            return self.within(*other, path, depth + 1);
        }
        if !matches!(self.kind(head), STRUCT | UNION) || depth >= 16 {
            return None;
        }
        (0..(about & 0xffff) as usize).find_map(|number| {
            let member = head + 12 + 12 * number;
            let (called, kind, bits) =
                (word(&self.bytes, member)?, word(&self.bytes, member + 4)?, word(&self.bytes, member + 8)?);
            // With fields of single bits, the upper byte says how many.
            let bits = if about >> 31 == 1 { bits & 0xff_ffff } else { bits };
            let other = *self.heads.get(kind as usize)?;
            let inside = match self.text(called) {
                [] => self.within(other, path, depth + 1)?,
                known if known == name.as_bytes() => self.within(other, rest, depth + 1)?,
                _ => return None,
            };
            Some(bits + inside)
        })
    }
}

fn word(bytes: &[u8], place: usize) -> Option<u32> {
    bytes.get(place..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct a { int x; union { struct b y; }; }`, `struct b { int _; int z; }`.
    #[test]
    fn fields_are_found_through_structures_without_a_name() {
        let texts = b"\0a\0b\0x\0y\0_\0z\0";
        let types: Vec<u32> = [
            [0, 1 << 24, 4, 0].as_slice(),
            &[1, STRUCT << 24 | 2, 12, 5, 1, 0, 0, 3, 32],
            &[0, UNION << 24 | 1, 8, 7, 4, 0],
            &[3, STRUCT << 24 | 2, 8, 9, 1, 0, 11, 1, 32],
        ]
        .concat();
        let length = types.len() as u32 * 4;
        let head = [0x1_eb9f, 24, 0, length, length, texts.len() as u32];
        let mut bytes: Vec<u8> = head.iter().chain(&types).flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend_from_slice(texts);
        let types = Types::new(bytes.clone()).unwrap();
        assert_eq!(types.place("a", &["y", "z"]).unwrap(), 8);
        assert_eq!(types.place("a", &["x"]).unwrap(), 0);
        assert_eq!(types.place("a", &["none"]).unwrap_err().to_string(), "there is no a.none");
        assert!(Types::new(bytes[..40].to_vec()).is_none());
    }
}
