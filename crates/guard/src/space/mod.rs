//! How much may still be written: 5 % of a file system stays free, unless the user has said that this one may be filled.

mod admit;
mod fill;
mod free;

pub use fill::{FillPlaces, WhenFull};
pub use free::{FLOOR_PERCENT, FillHint, InMemory, MachineMemory, Space, TooFull};
