//! `plumb schema`: JSON Schemas. `cargo xtask schema` writes them from the types, and the build script packs them.

use crate::args::Form;
use crate::exit::{End, Stopped};
use crate::output;
use lzma_rust2::XzReader;
use std::io::Read;
use std::ops::Range;

/// The text of all of them.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.xz"));

/// The name of each, and its range in the text.
const PLACES: &[(&str, Range<usize>)] = include!(concat!(env!("OUT_DIR"), "/schemas.rs"));

/// Prints the schema of a form.
pub fn run(form: Form) -> Result<End, Stopped> {
    let name = match form {
        Form::Workload => "workload",
        Form::Net => "net",
        Form::TraceSheet => "trace-sheet",
        Form::Result => "result",
        Form::Gate => "gate",
        Form::FitFor => "fit-for",
        Form::Noise => "noise",
        Form::Compare => "compare",
        Form::Sweep => "sweep",
        Form::Stream => "stream",
        Form::Watch => "watch",
        Form::Posix => "posix",
        Form::Audit => "audit",
        Form::Study => "study",
        Form::StudyCheck => "study-check",
        Form::StudyReport => "study-report",
        Form::AuditResult => "audit-result",
    };
    let mut all = String::new();
    XzReader::new(PACKED, true).read_to_string(&mut all).map_err(Stopped::io)?;
    let place = PLACES.iter().find(|(known, _)| *known == name).map(|(_, place)| place.clone());
    let schema = place.and_then(|place| all.get(place));
    output::print(schema.ok_or_else(|| Stopped::io(format!("the schema `{name}` is not in this build")))?);
    Ok(End::Done)
}
