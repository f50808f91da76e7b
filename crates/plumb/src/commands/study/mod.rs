//! `plumb study`: a whole comparison from one file.

mod conduct;
mod hosts;
mod list;
pub mod plan;
mod report;
mod view;
mod watch;

use crate::args::Common;
use crate::exit::{End, Stopped};
use clap::{Args, Subcommand};
use plumb_study::file::Options;
use plumb_study::plan::Plan;
use plumb_workload::native::Override;
use std::path::PathBuf;

/// What to do with a study.
#[derive(Debug, Subcommand)]
pub enum StudyCommand {
    /// What would be done: every cell, the order of runs, time, bytes, and which differences it can show. Nothing is touched.
    Plan(plan::PlanArguments),
    /// Build, measure, take down, and answer. Every run is kept as it ends, so that `resume` can go on after anything.
    Run(conduct::RunArguments),
    /// Go on with a study that was interrupted or killed: the same plan and seed, and nothing that had ended again.
    Resume(conduct::ResumeArguments),
    /// What a study found: the answer, what limits it, and every planned cell.
    Report(report::ReportArguments),
    /// Stored studies, newest first.
    List,
}

/// Which study, and how it is planned.
#[derive(Debug, Args, serde::Serialize, serde::Deserialize)]
pub struct StudyFile {
    /// A study file.
    pub file: PathBuf,
    /// One of the file's scales, such as `small` [default: the file as it stands].
    #[arg(long, value_name = "NAME")]
    pub scale: Option<String>,
    /// Seed of the order and of every random choice [default: the file's, else one made from its name].
    #[arg(long)]
    pub seed: Option<u64>,
    /// Allow fewer provisionings than a claim needs; no verdict but `cannot-tell` is then given.
    #[arg(long)]
    pub exploratory: bool,
    /// Change a value of the file by its path, such as `design.plots=2` or `factor.level.levels=[4]`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl StudyFile {
    /// The plan.
    pub fn plan(&self) -> Result<Plan, Stopped> {
        let set = self.set.iter().map(|text| text.parse::<Override>()).collect::<Result<Vec<_>, _>>();
        let options = Options {
            scale: self.scale.clone(),
            seed: self.seed,
            exploratory: self.exploratory,
            set: set.map_err(Stopped::usage)?,
        };
        plumb_study::file::plan_file(&self.file, &options).map_err(Stopped::usage)
    }
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
