//! IO500's hash of keys and values, which says whether a file was changed by mistake. Source: IO500 isc26, `util.c`; the golden's
//! hashes are those of the tests.

/// A hash of pairs, whatever their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hash(pub u32);

/// Each byte is added behind a rotation by two bits.
fn of_text(hash: u32, text: &str) -> u32 {
    // The tool's bytes have signs.
    text.bytes().fold(hash, |hash, byte| hash.rotate_left(2).wrapping_add_signed(i32::from(byte.cast_signed())))
}

impl Hash {
    /// With one more pair.
    #[must_use]
    pub fn with(self, key: &str, value: &str) -> Hash {
        Hash(self.0 ^ of_text(of_text(0, key), value))
    }

    /// With one more number, as `%f` prints it.
    #[must_use]
    pub(crate) fn with_number(self, key: &str, value: f64) -> Hash {
        self.with(key, &format!("{value:.6}"))
    }
}

/// The seed of the data of a tool, by the name of its phases and the time of the run.
pub(super) fn seed(phases: &str, stamp: &str) -> i32 {
    match of_text(of_text(0, phases), stamp) {
        // Tools take these two for none.
        0 | u32::MAX => 4711,
        hash => hash.cast_signed(),
    }
}
