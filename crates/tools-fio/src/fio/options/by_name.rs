//! Lookup of options by name.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map from option names.
pub(super) type ByName<T> = HashMap<&'static str, T, BuildHasherDefault<NameHasher>>;

/// FNV-1a, which is fast for short names. A file can have thousands of jobs, and each of their lines needs a lookup.
/// The names come from the table, so collisions cannot be provoked.
pub(super) struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> NameHasher {
        NameHasher(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
