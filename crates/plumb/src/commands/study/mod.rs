//! `plumb study`: a whole comparison from one file.

mod agents;
mod check;
mod conduct;
mod file;
mod gather;
mod hosts;
mod list;
pub(crate) mod plan;
mod report;
mod view;
mod watch;

pub(super) use file::find;

use clap::Subcommand;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};

#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// Show what a study would do: cells, order of runs, time, bytes, and which differences it can show. Nothing is changed.
    Plan(plan::PlanArguments),
    /// Build, measure, take down, report. Each run is stored as it ends, so that `resume` can continue.
    Run(conduct::StudyRunArguments),
    /// Continue a study that was interrupted or killed, with the same plan and seed; finished runs are not repeated.
    Resume(conduct::ResumeArguments),
    /// Put a study together from the databases of processes that measured one plot each, with `--plot`, and report it.
    Gather(gather::GatherArguments),
    /// Report what a study found: the answer, what limits it, and every planned cell.
    Report(report::ReportArguments),
    /// List stored studies, newest first.
    List,
}

pub(crate) fn run(command: &StudyCommand, common: &Common) -> Result<End, Stopped> {
    match command {
        StudyCommand::Plan(arguments) => plan::run(arguments, common),
        StudyCommand::Run(arguments) => conduct::run(arguments, common),
        StudyCommand::Resume(arguments) => conduct::resume(arguments, common),
        StudyCommand::Gather(arguments) => gather::run(arguments, common),
        StudyCommand::Report(arguments) => report::run(arguments, common),
        StudyCommand::List => list::run(common),
    }
}
