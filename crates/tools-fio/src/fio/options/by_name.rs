//! Options found by their names.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Something of each option, by its name.
pub(super) type ByName<T> = HashMap<&'static str, T, BuildHasherDefault<NameHasher>>;

/// A file can have thousands of jobs, and each of their lines is looked up: FNV-1a is quick for short names, and the
/// names are the table's own.
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
