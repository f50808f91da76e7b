//! Bundles and keys: nothing panics, and no check of a bundle allocates for sizes that it only claims.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_bundle::{Contents, SigningKey, trusted_keys, verify};

fuzz_target!(|data: &[u8]| {
    if let Ok(contents) = Contents::read(data) {
        let verification = verify(&contents, &[], None);
        assert!(!verification.checks.is_empty());
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = trusted_keys(text);
        let _ = SigningKey::parse(text);
    }
});
