//! Packs the scripts of Filebench's personalities.

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/filebench/personalities");
    plumb_packed::pack(&scripts, "f", "personalities")
}
