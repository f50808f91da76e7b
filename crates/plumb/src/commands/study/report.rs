//! `plumb study report`.

use super::file::find;
use crate::common::Common;
use crate::exit::{End, Stopped};
use crate::output;
use crate::session;
use clap::Args;
use plumb_report::study::{page, page_markdown};
use plumb_result::StudyReport;
use plumb_store::Store;
use plumb_study::answer::{StudyEvidence, answer};

/// Arguments of `plumb study report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// A study file, or a study's id, name, or any unique beginning of the id.
    #[arg(value_name = "FILE|ID", default_value = "last")]
    pub study: String,
    /// As Markdown.
    #[arg(long)]
    pub md: bool,
}

/// Prints what a stored study found.
pub fn run(arguments: &ReportArguments, common: &Common) -> Result<End, Stopped> {
    let store = session::store_to_read(common)?;
    let id = find(&store, &arguments.study)?;
    let report = answer(&StudyEvidence::load(&store, &id)?);
    if arguments.md && !common.json {
        output::print(&page_markdown(&report));
    } else {
        show(&report, common)?;
    }
    Ok(end(&report))
}

/// Prints what a study has found so far.
pub(super) fn found(store: &Store, id: &str, common: &Common) -> Result<StudyReport, Stopped> {
    let report = answer(&StudyEvidence::load(store, id)?);
    show(&report, common)?;
    Ok(report)
}

fn show(report: &StudyReport, common: &Common) -> Result<(), Stopped> {
    if common.json {
        return session::print_json(report);
    }
    output::print(&page(report, &session::style()));
    Ok(())
}

/// How a study ends: a cell that has no value because its runs failed is a failure of the system's, one whose runs were all
/// rejected is not to be believed.
pub(super) fn end(report: &StudyReport) -> End {
    let without = |of: fn(&plumb_result::study::StudyCell) -> u32| {
        report.cells.iter().any(|cell| cell.done == 0 && cell.open == 0 && of(cell) > 0)
    };
    if without(|cell| cell.failed) {
        End::Io
    } else if without(|cell| cell.rejected) {
        End::Rejected
    } else {
        End::Done
    }
}
