//! `plumb schema`: JSON Schemas. `cargo xtask schema` writes them from the types, and the build script packs them.

use crate::args::Form;
use crate::exit::{End, Stopped};
use crate::session;
use flate2::read::GzDecoder;
use std::io::Read;

macro_rules! packed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".json.gz")).as_slice()
    };
}

/// Prints the schema of a form.
pub fn run(form: Form) -> Result<End, Stopped> {
    let packed = match form {
        Form::Workload => packed!("workload"),
        Form::Result => packed!("result"),
        Form::Noise => packed!("noise"),
        Form::Compare => packed!("compare"),
        Form::Sweep => packed!("sweep"),
        Form::Watch => packed!("watch"),
        Form::Audit => packed!("audit"),
        Form::Study => packed!("study"),
        Form::StudyReport => packed!("study-report"),
        Form::AuditResult => packed!("audit-result"),
    };
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).map_err(Stopped::io)?;
    session::print(&text)?;
    Ok(End::Done)
}
