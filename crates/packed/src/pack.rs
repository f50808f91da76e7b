//! For build scripts.

use lzma_rust2::{XzOptions, XzWriter};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Packs the files of `directory` with this ending into `NAME.xz` in the build script's `OUT_DIR`, and writes each one's name and range
/// beside it.
///
/// # Errors
/// A file cannot be read or written, or this is no build script.
pub fn pack(directory: &Path, ending: &str, name: &str) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", directory.display());
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?;
    pack_into(&out, directory, ending, name)
}

#[expect(clippy::disallowed_methods, reason = "writes into the build directory, while Plumb is built")]
fn pack_into(out: &Path, directory: &Path, ending: &str, name: &str) -> io::Result<()> {
    let mut paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension() == Some(OsStr::new(ending)));
    paths.sort();
    let (mut text, mut places) = (Vec::new(), String::from("&[\n"));
    for path in &paths {
        let Some(name) = path.file_stem() else { continue };
        let start = text.len();
        text.extend(fs::read(path)?);
        places.push_str(&format!("    ({:?}, {start}..{}),\n", name.to_string_lossy(), text.len()));
    }
    places.push_str("]\n");
    let mut packed = XzWriter::new(Vec::new(), XzOptions::with_preset(6))?;
    packed.write_all(&text)?;
    fs::write(out.join(format!("{name}.xz")), packed.finish()?)?;
    fs::write(out.join(format!("{name}.rs")), places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packed;

    // Protects: each text comes back whole under its file's name, and files of other kinds stay out.
    #[test]
    fn texts_come_back_by_name() {
        let place = tempfile::tempdir().unwrap();
        for (file, text) in [("b.toml", "zwei\n"), ("a.toml", "one\n"), ("c.rs", "no text")] {
            fs::write(place.path().join(file), text).unwrap();
        }
        pack_into(place.path(), place.path(), "toml", "all").unwrap();
        let places = fs::read_to_string(place.path().join("all.rs")).unwrap();
        assert_eq!(places, "&[\n    (\"a\", 0..4),\n    (\"b\", 4..9),\n]\n");
        let bytes = fs::read(place.path().join("all.xz")).unwrap().leak();
        let packed = Packed::new(bytes, &[("a", 0..4), ("b", 4..9)]);
        assert_eq!((packed.text("a"), packed.text("b"), packed.text("c")), (Some("one\n"), Some("zwei\n"), None));
    }
}
