//! Packs the JSON Schemas that `plumb schema` prints.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    plumb_packed::pack(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas"), "json", "schemas")?;
    Ok(())
}
