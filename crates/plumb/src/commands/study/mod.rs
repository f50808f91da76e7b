//! `plumb study`: a whole comparison from one file.

mod conduct;
mod file;
mod hosts;
mod list;
pub mod plan;
mod report;
mod view;
mod watch;

use crate::common::Common;
use crate::exit::{End, Stopped};
use clap::Subcommand;

/// What to do with a study.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// What would be done: every cell, the order of runs, time, bytes, and which differences it can show. Nothing is touched.
    Plan(plan::PlanArguments),
    /// Build, measure, take down, and answer. Every run is kept as it ends, so that `resume` can go on after anything.
    Run(conduct::StudyRunArguments),
    /// Go on with a study that was interrupted or killed: the same plan and seed, and nothing that had ended again.
    Resume(conduct::ResumeArguments),
    /// What a study found: the answer, what limits it, and every planned cell.
    Report(report::ReportArguments),
    /// Stored studies, newest first.
    List,
}

/// Does it.
pub fn run(command: &StudyCommand, common: &Common) -> Result<End, Stopped> {
    match command {
        StudyCommand::Plan(arguments) => plan::run(arguments, common),
        StudyCommand::Run(arguments) => conduct::run(arguments, common),
        StudyCommand::Resume(arguments) => conduct::resume(arguments, common),
        StudyCommand::Report(arguments) => report::run(arguments, common),
        StudyCommand::List => list::run(common),
    }
}
