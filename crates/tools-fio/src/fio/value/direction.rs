//! `rw`: the kinds of op, and the order of offsets.

use super::number::plain;
use super::reading::{ValueError, ValueReading};

/// Keywords of `rw`.
pub const WORDS: &[&str] = &[
    "read",
    "write",
    "trim",
    "randread",
    "randwrite",
    "randtrim",
    "rw",
    "readwrite",
    "randrw",
    "trimwrite",
    "randtrimwrite",
];

/// Kinds of op that a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ops {
    Read,
    Write,
    Trim,
    ReadWrite,
    /// A trim of each block, then a write to it.
    TrimWrite,
}

/// The order of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessOrder {
    /// Sequential, skipping `skip_bytes` after each op; backwards if negative.
    Sequential { skip_bytes: i64 },
    /// Random, with a new offset every `ops_per_draw` ops.
    Random {
        /// At least 1.
        ops_per_draw: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobDirection {
    pub ops: Ops,
    pub order: AccessOrder,
}

impl Default for JobDirection {
    fn default() -> JobDirection {
        JobDirection { ops: Ops::Read, order: AccessOrder::Sequential { skip_bytes: 0 } }
    }
}

/// Parses `randread:8` or `write:4k`.
pub fn read(text: &str, reading: &mut ValueReading<'_>) -> Result<JobDirection, ValueError> {
    let (word, postfix) = match text.split_once(':') {
        Some((word, postfix)) => (word, Some(postfix.trim())),
        None => (text.split(',').next().unwrap_or(text), None),
    };
    let (ops, random) = match word {
        "read" => (Ops::Read, false),
        "write" => (Ops::Write, false),
        "trim" => (Ops::Trim, false),
        "randread" => (Ops::Read, true),
        "randwrite" => (Ops::Write, true),
        "randtrim" => (Ops::Trim, true),
        "rw" | "readwrite" => (Ops::ReadWrite, false),
        "randrw" => (Ops::ReadWrite, true),
        "trimwrite" => (Ops::TrimWrite, false),
        "randtrimwrite" => (Ops::TrimWrite, true),
        _ => return Err(ValueError::not_a_choice(word, WORDS)),
    };
    let order = match (random, postfix.filter(|postfix| !postfix.is_empty())) {
        (false, None) => AccessOrder::Sequential { skip_bytes: 0 },
        (true, None) => AccessOrder::Random { ops_per_draw: 1 },
        (false, Some(postfix)) => {
            let (backwards, distance) = match postfix.strip_prefix('-') {
                Some(distance) => (true, distance),
                None => (false, postfix),
            };
            let distance = i64::try_from(plain(distance, reading)?)
                .map_err(|_| ValueError::OutOfBounds { value: postfix.to_owned(), bounds: "63 bits".to_owned() })?;
            AccessOrder::Sequential { skip_bytes: if backwards { -distance } else { distance } }
        }
        (true, Some(postfix)) => {
            let count = plain(postfix, reading)?;
            match u32::try_from(count) {
                Ok(count @ 1..) => AccessOrder::Random { ops_per_draw: count },
                _ => {
                    let bounds = format!("1 to {}", u32::MAX);
                    return Err(ValueError::OutOfBounds { value: count.to_string(), bounds });
                }
            }
        }
    };
    Ok(JobDirection { ops, order })
}
