//! `plumb study plan`.

use super::file::StudyFile;
use crate::common::Common;
use crate::exit::{End, Stopped};
use crate::output;
use crate::session;
use clap::Args;
use plumb_report::study_plan::{Detail, page};
use plumb_study::earlier;

/// Arguments of `plumb study plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// Which study.
    #[command(flatten)]
    pub study: StudyFile,
    /// Show every run in its order, and what each cell runs.
    #[arg(long)]
    pub runs: bool,
}

/// Prints the plan.
pub fn run(arguments: &PlanArguments, common: &Common) -> Result<End, Stopped> {
    let plan = arguments.study.plan()?;
    if common.json {
        session::print_json(&plan)?;
    } else {
        let detail = if arguments.runs { Detail::Full } else { Detail::Brief };
        // A database that cannot be read holds no earlier study; the page says that the spread is assumed.
        let store = if common.no_store { None } else { session::store_to_read(common).ok() };
        let earlier = store.and_then(|store| earlier::spread(&store, &plan.name).ok().flatten());
        output::print(&page(&super::view::of(&plan, earlier.as_ref()), detail, &session::style()));
    }
    Ok(End::Done)
}
