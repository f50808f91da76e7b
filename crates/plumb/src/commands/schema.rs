//! `plumb schema`: JSON Schemas.

use crate::args::Form;
use crate::exit::{End, Stopped};
use crate::session;

/// Prints the schema of a form.
pub fn run(form: Form) -> Result<End, Stopped> {
    match form {
        Form::Workload => session::print_json(&plumb_workload::native::schema())?,
        Form::Result => session::print_json(&schemars::schema_for!(super::run::ConditionedResult<'static>))?,
        Form::Noise => session::print_json(&schemars::schema_for!(plumb_result::Noise))?,
        Form::Compare => session::print_json(&schemars::schema_for!(plumb_result::Comparison))?,
        Form::Sweep => session::print_json(&schemars::schema_for!(plumb_result::Sweep))?,
        Form::Watch => session::print_json(&schemars::schema_for!(plumb_result::watch::Watched))?,
        Form::Audit => session::print_json(&plumb_trust::audit::schema())?,
        Form::Study => session::print_json(&plumb_study::file::schema())?,
        Form::StudyReport => session::print_json(&schemars::schema_for!(plumb_result::StudyReport))?,
        Form::AuditResult => session::print_json(&schemars::schema_for!(plumb_result::Audit))?,
    }
    Ok(End::Done)
}
