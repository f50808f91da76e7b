//! `plumb study plan`.

use super::check::{self, CheckRequest};
use super::file::StudyFile;
use super::hosts::LabHosts;
use super::watch::StudyReporter;
use clap::Args;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::hosts::HostsArguments;
use plumb_cli::output;
use plumb_cli::session;
use plumb_engine::signals;
use plumb_report::study_plan::{Detail, page};
use plumb_study::earlier;
use plumb_study::plan::Plan;
use plumb_study::preflight::{Depth, Preflight};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub study: StudyFile,
    #[command(flatten)]
    pub hosts: HostsArguments,
    /// Show every run in its order, and what each cell runs.
    #[arg(long)]
    pub runs: bool,
    /// Check hosts, kernels, programs, devices and space; build once, and take down, what touches nothing else.
    #[arg(long)]
    pub check: bool,
}

pub(crate) fn run(arguments: &PlanArguments, common: &Common) -> Result<End, Stopped> {
    let file = arguments.study.on(&arguments.hosts)?;
    let plan = file.plan()?;
    if common.json && !arguments.check {
        session::print_json(&plan)?;
    } else if !common.json {
        let detail = if arguments.runs { Detail::Full } else { Detail::Brief };
        // If the database cannot be read, the page has no earlier study and says that the spread is assumed.
        let store = if common.no_store { None } else { session::store_to_read(common).ok() };
        let earlier = store.and_then(|store| earlier::spread(&*store, &plan.name).ok().flatten());
        output::print(&page(&super::view::build_view(&plan, earlier.as_ref()), detail, &session::style()));
    }
    if !arguments.check {
        return Ok(End::Done);
    }
    let found = checked(&plan, file.hosts_keys, common)?;
    if common.json {
        session::print_json(&found)?;
    } else {
        output::print(&format!("\n{}", check::page(&found)));
    }
    check::refuse(&found).map(|()| End::Done)
}

fn checked(plan: &Plan, keys: Option<PathBuf>, common: &Common) -> Result<Preflight, Stopped> {
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot set up signal handling: {error}")))?;
    let mut hosts = LabHosts::new(stop, keys, common)?;
    let mut reporter = StudyReporter::new();
    let typed = session::typed(common).text();
    let request = CheckRequest { plan, typed: &typed, depth: Depth::Build, stop };
    let found = request.answer(|_| true, &mut hosts, &mut |line| reporter.show(line));
    reporter.clear();
    if stop.requested() {
        return Err(Stopped { end: End::Interrupted, message: "interrupted; what was built is taken down".to_owned() });
    }
    Ok(found)
}
