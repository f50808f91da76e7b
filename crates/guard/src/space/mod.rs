//! Limits on writing: 5 % of a file system stays free, unless the user allows filling it.

mod admit;
mod fill;
mod free;

pub use fill::{FillPlaces, WhenFull};
pub use free::{FLOOR_PERCENT, FillHint, InMemory, MachineMemory, Space, TooFull};
