//! What IOR and mdtest have in common: how their options are read, and what their first lines say.

mod file_system;
mod options;
mod said;

pub use file_system::FileSystem;
pub use options::{BACKENDS, Opt, Support, Takes};
pub use said::{Said, SaidValue, Wrong, size};

/// The version that is followed.
pub const VERSION: &str = "4.1.0+dev";

/// Data packets by the first letter of a `dataPacketType`.
pub fn packet_kind(word: &str) -> Option<plumb_workload::program::PacketKind> {
    use plumb_workload::program::PacketKind::{Incompressible, Offset, Random, Timestamp};
    Some(match word.as_bytes().first() {
        None | Some(b't') => Timestamp,
        Some(b'i') => Incompressible,
        Some(b'o') => Offset,
        Some(b'r') => Random,
        Some(_) => return None,
    })
}

/// As C's `%e` has it.
pub fn exponent(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let (number, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    format!("{number}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}
