//! IO500's hash of keys and values, which detects accidental changes of a file. Source: IO500 isc26, `util.c`; the
//! tests use the golden's hashes.

/// Hash of pairs, independent of their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hash(pub u32);

/// Rotates the hash by two bits and adds a byte, for each byte.
fn of_text(hash: u32, text: &str) -> u32 {
    // IO500 adds signed bytes.
    text.bytes().fold(hash, |hash, byte| hash.rotate_left(2).wrapping_add_signed(i32::from(byte.cast_signed())))
}

impl Hash {
    /// Adds a pair.
    #[must_use]
    pub fn with(self, key: &str, value: &str) -> Hash {
        Hash(self.0 ^ of_text(of_text(0, key), value))
    }

    /// Adds a number, formatted with `%f`.
    #[must_use]
    pub(crate) fn with_number(self, key: &str, value: f64) -> Hash {
        self.with(key, &format!("{value:.6}"))
    }
}

/// Returns the data seed of a tool, from the name of its phases and the time of the run.
pub(super) fn seed(phases: &str, stamp: &str) -> i32 {
    match of_text(of_text(0, phases), stamp) {
        // The tools take these two values for no seed.
        0 | u32::MAX => 4711,
        hash => hash.cast_signed(),
    }
}
