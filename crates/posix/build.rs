//! Packs which cases cover which file of pjdfstest.

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    plumb_packed::pack(&Path::new(env!("CARGO_MANIFEST_DIR")).join("mapped"), "txt", "mapped")
}
