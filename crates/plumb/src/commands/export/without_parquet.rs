//! `plumb export --parquet` in builds without the feature `parquet`.

use super::Source;
use plumb_cli::exit::Stopped;
use std::path::Path;

pub(super) fn write(_: &mut Source<'_>, _: &Path, _: Option<&str>) -> Result<(), Stopped> {
    Err(Stopped::usage(
        "this Plumb was built without the feature `parquet`; pandas and R read what --csv and --ndjson write\n\
         To build one that has it: cargo install --path crates/plumb",
    ))
}
