//! Packs the JSON Schemas that `plumb schema` prints: as text they would be a tenth of the program.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{Result, Write};
use std::path::Path;
use std::{env, fs};

fn main() -> Result<()> {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    println!("cargo::rerun-if-changed={}", schemas.display());
    let packed = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    for entry in fs::read_dir(&schemas)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(&path)?)?;
        fs::write(Path::new(&packed).join(name).with_extension("json.gz"), encoder.finish()?)?;
    }
    Ok(())
}
