//! Texts that a program carries packed, all of a directory in one (xz): they say much the same, and as they are they would be a large
//! part of it. A build script packs them ([`pack`]), and the program unpacks them when it is first asked for one.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

#[cfg(any(feature = "pack", test))]
mod pack;

#[cfg(any(feature = "pack", test))]
pub use pack::pack;

use lzma_rust2::XzReader;
use std::io::Read;
use std::ops::Range;
use std::sync::OnceLock;

/// The texts of a directory.
#[derive(Debug)]
pub struct Packed {
    bytes: &'static [u8],
    /// The name of each, and its range in the text of all.
    places: &'static [(&'static str, Range<usize>)],
    unpacked: OnceLock<String>,
}

/// What the crate's build script packed by this name, as a [`Packed`].
#[macro_export]
macro_rules! packed {
    ($name:literal) => {
        $crate::Packed::new(
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".xz")),
            include!(concat!(env!("OUT_DIR"), "/", $name, ".rs")),
        )
    };
}

impl Packed {
    /// For [`packed!`].
    pub const fn new(bytes: &'static [u8], places: &'static [(&'static str, Range<usize>)]) -> Packed {
        Packed { bytes, places, unpacked: OnceLock::new() }
    }

    /// The text of this name, the file's without its ending; `None` where there is none.
    pub fn text(&self, name: &str) -> Option<&str> {
        let (_, place) = self.places.iter().find(|(known, _)| *known == name)?;
        let all = self.unpacked.get_or_init(|| {
            let mut all = String::new();
            // Memory does not fail to be read, and the build script wrote it whole.
            let _ = XzReader::new(self.bytes, true).read_to_string(&mut all);
            all
        });
        all.get(place.clone())
    }
}
