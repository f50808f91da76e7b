//! `plumb schema`: JSON Schemas. `cargo xtask schema` writes them from the types, and the build script packs them.

use crate::args::Form;
use crate::exit::{End, Stopped};
use crate::output;
use plumb_packed::{Packed, packed};

static SCHEMAS: Packed = packed!("schemas");

/// Prints the schema of a form.
pub fn run(form: Form) -> Result<End, Stopped> {
    let name = match form {
        Form::Workload => "workload",
        Form::Net => "net",
        Form::TraceSheet => "trace-sheet",
        Form::TraceCompare => "trace-compare",
        Form::TraceFit => "trace-fit",
        Form::Workloads => "workloads",
        Form::WorkloadExplained => "workload-explained",
        Form::Uses => "uses",
        Form::Result => "result",
        Form::Gate => "gate",
        Form::FitFor => "fit-for",
        Form::Noise => "noise",
        Form::Compare => "compare",
        Form::Sweep => "sweep",
        Form::Rounds => "rounds",
        Form::Ladder => "ladder",
        Form::Stream => "stream",
        Form::Watch => "watch",
        Form::Posix => "posix",
        Form::Audit => "audit",
        Form::Study => "study",
        Form::StudyCheck => "study-check",
        Form::StudyReport => "study-report",
        Form::AuditResult => "audit-result",
    };
    let schema = SCHEMAS.text(name);
    output::print(schema.ok_or_else(|| Stopped::io(format!("the schema `{name}` is not in this build")))?);
    Ok(End::Done)
}
