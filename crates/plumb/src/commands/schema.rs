//! `plumb schema`: prints JSON Schemas, which `cargo xtask schema` generates from the types.

use crate::args::Form;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;

macro_rules! schema {
    ($name:literal) => {
        include_str!(concat!("../../../../schemas/", $name, ".json"))
    };
}

pub(crate) fn run(form: Form) -> Result<End, Stopped> {
    let schema = match form {
        Form::Workload => schema!("workload"),
        Form::Net => schema!("net"),
        Form::TraceSheet => schema!("trace-sheet"),
        Form::TraceCompare => schema!("trace-compare"),
        Form::TraceFit => schema!("trace-fit"),
        Form::Workloads => schema!("workloads"),
        Form::WorkloadExplained => schema!("workload-explained"),
        Form::Uses => schema!("uses"),
        Form::Result => schema!("result"),
        Form::Gate => schema!("gate"),
        Form::FitFor => schema!("fit-for"),
        Form::Noise => schema!("noise"),
        Form::Compare => schema!("compare"),
        Form::Sweep => schema!("sweep"),
        Form::Rounds => schema!("rounds"),
        Form::Ladder => schema!("ladder"),
        Form::Stream => schema!("stream"),
        Form::Watch => schema!("watch"),
        Form::Posix => schema!("posix"),
        Form::Audit => schema!("audit"),
        Form::Study => schema!("study"),
        Form::StudyCheck => schema!("study-check"),
        Form::StudyReport => schema!("study-report"),
        Form::AuditResult => schema!("audit-result"),
    };
    output::print(schema);
    Ok(End::Done)
}
