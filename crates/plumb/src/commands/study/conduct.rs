//! `plumb study run` and `plumb study resume`.

use super::check::{self, CheckRequest};
use super::file::{StudyFile, find};
use super::hosts::LabHosts;
use super::report::{end, found};
use super::watch::StudyReporter;
use crate::args::{LiveArguments, ReportFile};
use clap::Args;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::hosts::HostsArguments;
use plumb_cli::live_output::Outlets;
use plumb_cli::output::{self, error_line};
use plumb_cli::ranks;
use plumb_cli::session;
use plumb_engine::signals::{self, StopFlag};
use plumb_lab::LabError;
use plumb_store::{Store, StoreError, StoredStudy, StudyRunStatus};
use plumb_study::conduct::{ConductEnded, ConductSetting, Conducted, FrozenStudy, StudyOrigin, conduct};
use plumb_study::plan::{HostPlan, Plan};
use plumb_study::preflight::Depth;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct StudyRunArguments {
    #[command(flatten)]
    pub study: StudyFile,
    #[command(flatten)]
    pub hosts: HostsArguments,
    #[command(flatten)]
    pub conduct: ConductArguments,
}

/// Options that `plumb study run` and `plumb study resume` share.
#[derive(Debug, Args)]
pub(crate) struct ConductArguments {
    /// Continue when the same failure occurs again [default: end the study at its second occurrence].
    #[arg(long)]
    pub keep_going: bool,
    /// Measure only this plot, from 1, and leave the others to further processes; `plumb study gather` puts them together.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub plot: Option<u32>,
    /// Begin without checking hosts, programs, devices and space first.
    #[arg(long)]
    pub no_check: bool,
    #[command(flatten)]
    pub report_file: ReportFile,
    #[command(flatten)]
    pub live_output: LiveArguments,
}

impl ConductArguments {
    /// Returns the plot to measure, from 0; `None` for all.
    ///
    /// # Errors
    /// The plan has no such plot.
    fn only_plot(&self, plan: &Plan) -> Result<Option<u32>, Stopped> {
        let count = plan.plots.len() as u32;
        match self.plot {
            Some(plot) if plot > count => Err(Stopped::usage(format!(
                "--plot {plot}: the plan has {}",
                plumb_trust::text::count(u64::from(count), "plot")
            ))),
            plot => Ok(plot.map(|plot| plot - 1)),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// A study file, or a study's id, name, or any unique beginning of the id.
    #[arg(value_name = "FILE|ID", default_value = "last")]
    pub study: String,
    /// Repeat failed runs.
    #[arg(long)]
    pub failed: bool,
    /// Repeat runs that checks rejected; their first results are kept, and counted in the report.
    #[arg(long)]
    pub rejected: bool,
    /// The hosts that the study was begun with, and where their keys are now; needed only where the keys have moved.
    #[command(flatten)]
    pub hosts: HostsArguments,
    #[command(flatten)]
    pub conduct: ConductArguments,
}

/// Plans and freezes the study, conducts it, and prints the answer.
pub(super) fn run(arguments: &StudyRunArguments, common: &Common) -> Result<End, Stopped> {
    let study = arguments.study.on(&arguments.hosts)?;
    let plan = study.plan()?;
    let mut store = store(common)?;
    let file = &study.file;
    let text = plumb_text::bounded::read_to_string(file)
        .map_err(|error| Stopped::io(format!("{}: {error}", file.display())))?;
    let absolute = std::path::absolute(file).map_err(|error| Stopped::io(format!("{}: {error}", file.display())))?;
    let options = plumb_document::json::to_string(&study).map_err(Stopped::io)?;
    if let Some(open) = store.studies()?.iter().find(|study| study.plan_hash == plan.hash && !study.done) {
        session::announce(&format!(
            "note: study {} has the same plan and is not done; this starts a new one. To continue the other: plumb study resume {}",
            open.id, open.id
        ));
    }
    arguments.conduct.report_file.writable()?;
    let mut site = StudySite::new(study.hosts_keys.clone(), common)?;
    let only = arguments.conduct.only_plot(&plan)?;
    site.check(&plan, |plot| only.is_none_or(|only| only == plot), &arguments.conduct)?;
    let origin = StudyOrigin { file: &absolute.to_string_lossy(), text: &text, options: &options };
    let study = FrozenStudy::begin(&mut store, plan, &origin)?;
    site.go(&mut store, &study, common, &arguments.conduct)
}

pub(super) fn resume(arguments: &ResumeArguments, common: &Common) -> Result<End, Stopped> {
    let mut store = store(common)?;
    let id = find(&store, &arguments.study)?;
    let stored = store.study(&id)?;
    let study = FrozenStudy::open(&store, &id)?;
    let mut file: StudyFile = plumb_document::json::from_str(&stored.options).map_err(Stopped::io)?;
    file.file = stored.row.file.clone().into();
    same_hosts(&arguments.hosts.named()?, &study)?;
    unchanged(&stored, &file, &study.plan)?;
    if arguments.failed {
        let runs = store.replan_failed_runs(&id)?;
        session::announce(&format!("repeating {}", plumb_trust::text::count(u64::from(runs), "failed run")));
    }
    if arguments.rejected {
        let runs = store.replan_rejected_runs(&id, None)?;
        session::announce(&format!("repeating {}", plumb_trust::text::count(u64::from(runs), "rejected run")));
    }
    let mut site = StudySite::new(arguments.hosts.hosts_keys.clone().or(file.hosts_keys), common)?;
    let open: BTreeSet<u32> =
        store.study_runs(&id)?.iter().filter(|run| !run.status.has_ended()).map(|run| run.plot).collect();
    let only = arguments.conduct.only_plot(&study.plan)?;
    let is_open = |plot: u32| open.contains(&plot) && only.is_none_or(|only| only == plot);
    site.check(&study.plan, is_open, &arguments.conduct)?;
    site.go(&mut store, &study, common, &arguments.conduct)
}

/// Fails if other hosts are named than those that the study was begun with: they are another system.
fn same_hosts(named: &[String], study: &FrozenStudy) -> Result<(), Stopped> {
    let of_agents = |host: &HostPlan| match host {
        HostPlan::Agents(agents) => Some(agents.clone()),
        HostPlan::Local | HostPlan::Ssh { .. } | HostPlan::Vm(_) => None,
    };
    let begun: Vec<Vec<String>> = study.plan.hosts.values().filter_map(of_agents).collect();
    if named.is_empty() || begun.iter().any(|agents| agents == named) {
        return Ok(());
    }
    let with = match begun.first() {
        Some(agents) => format!("with {}", agents.join(", ")),
        None => "without --hosts".to_owned(),
    };
    Err(Stopped::usage(format!(
        "study {} was begun {with}, and not with {}. Runs of both cannot be mixed: leave --hosts out, or start a new study with \
         `plumb study run`",
        study.id,
        named.join(", ")
    )))
}

/// Fails if the file now describes another plan: runs of two plans cannot be mixed.
fn unchanged(stored: &StoredStudy, file: &StudyFile, frozen: &Plan) -> Result<(), Stopped> {
    if !file.file.exists() {
        session::announce(&format!("note: {} is gone; the study continues with its stored plan", stored.row.file));
        return Ok(());
    }
    let changed = |how: String| {
        Stopped::usage(format!(
            "{} has changed since study {} was planned: {how}. Its old and new runs cannot be mixed: restore the file, or \
             start a new study with `plumb study run`",
            stored.row.file, stored.row.id
        ))
    };
    let frozen = frozen.hash_of_rest();
    match file.plan() {
        Ok(plan) if plan.hash == frozen => Ok(()),
        Ok(plan) => Err(changed(format!("plan {frozen:.12} became {:.12}", plan.hash))),
        Err(stopped) => Err(changed(format!("it cannot be planned any more ({})", stopped.message.trim()))),
    }
}

fn store(common: &Common) -> Result<Store, Stopped> {
    if common.no_store {
        return Err(Stopped::usage(
            "a study is stored run by run, so that it can be resumed; leave `--no-store` out, or name another database with \
             `--db`",
        ));
    }
    session::store(common)
}

struct StudySite {
    stop: StopFlag,
    hosts: LabHosts,
    typed: String,
}

impl StudySite {
    fn new(keys: Option<PathBuf>, common: &Common) -> Result<StudySite, Stopped> {
        if let Some(ranks) = ranks::joined() {
            return Err(Stopped::usage(format!(
                "a study starts a process for each of its runs, and cannot be one of {} that were started together: start it alone, \
                 and name the hosts that are to make its runs with --hosts",
                ranks.size()
            )));
        }
        let stop =
            signals::install().map_err(|error| Stopped::io(format!("cannot set up signal handling: {error}")))?;
        Ok(StudySite { stop, hosts: LabHosts::new(stop, keys, common)?, typed: session::typed(common).text() })
    }

    /// Checks what the open plots need; fails on a problem.
    fn check(
        &mut self,
        plan: &Plan,
        is_open: impl Fn(u32) -> bool,
        arguments: &ConductArguments,
    ) -> Result<(), Stopped> {
        if arguments.no_check {
            return Ok(());
        }
        let mut reporter = StudyReporter::new();
        let request = CheckRequest { plan, typed: &self.typed, depth: Depth::Inspect, stop: self.stop };
        let found = request.answer(is_open, &mut self.hosts, &mut |line| reporter.show(line));
        reporter.clear();
        if self.stop.requested() {
            return Err(Stopped { end: End::Interrupted, message: "interrupted before the first run".to_owned() });
        }
        check::warn(&found, plan);
        check::refuse(&found).map_err(|stopped| Stopped {
            message: format!("{}\n`--no-check` begins regardless.", stopped.message),
            ..stopped
        })
    }

    fn go(
        mut self,
        store: &mut Store,
        study: &FrozenStudy,
        common: &Common,
        arguments: &ConductArguments,
    ) -> Result<End, Stopped> {
        let Outlets { streams, has_screen } = Outlets::open(&arguments.live_output, common)?;
        let stream = has_screen || !streams.is_empty();
        let mut reporter = StudyReporter::with_streams(streams);
        reporter.print_line(&format!(
            "study {} · {} plots, {} runs",
            study.id,
            study.plan.plots.len(),
            study.plan.runs.len()
        ));
        let is_told = |error: &LabError| !arguments.no_check && matches!(error, LabError::UntrustedJournals { .. });
        if let Err(error) = self.hosts.recover(&mut |line| reporter.print_line(line))
            && !is_told(&error)
        {
            reporter.print_line(&format!("warning: {error}"));
        }
        if has_screen {
            reporter.open_screen(&study.plan.name);
        }
        let conducted = conduct(
            store,
            study,
            &mut ConductSetting {
                hosts: &mut self.hosts,
                stop: self.stop,
                budget: study.plan.budget_s.map(Duration::from_secs),
                keep_going: arguments.keep_going,
                only_plot: arguments.only_plot(&study.plan)?,
                watcher: &mut reporter,
                typed: self.typed,
                command: &session::command_line(),
                stream,
            },
        );
        reporter.clear();
        match arguments.plot {
            None => ended(conducted, store, study, common, &arguments.report_file),
            Some(plot) => ended_plot(&conducted?, store, study, plot),
        }
    }
}

/// Says what became of the only plot that was measured. It has no answer: the others are missing.
fn ended_plot(conducted: &Conducted, store: &Store, study: &FrozenStudy, plot: u32) -> Result<End, Stopped> {
    let runs = store.study_runs(&study.id)?;
    let of_plot = || runs.iter().filter(|run| run.plot == plot - 1);
    let count = |status| of_plot().filter(|run| run.status == status).count() as u64;
    let (failed, rejected) = (count(StudyRunStatus::Failed), count(StudyRunStatus::Rejected));
    let ended = of_plot().filter(|run| run.status.has_ended()).count();
    output::print(&format!(
        "plot {plot} of {}: {ended} of {} ended, {failed} failed, {rejected} rejected\n",
        study.plan.plots.len(),
        plumb_trust::text::count(of_plot().count() as u64, "run")
    ));
    Ok(match conducted.ended {
        ConductEnded::Interrupted => {
            error_line!("interrupted: `plumb study resume --plot {plot} {}` goes on", study.id);
            End::Interrupted
        }
        _ if conducted.refused => End::Refused,
        _ if failed > 0 => End::Io,
        _ if rejected > 0 => End::Rejected,
        _ => End::Done,
    })
}

fn ended(
    conducted: Result<Conducted, StoreError>,
    store: &mut Store,
    study: &FrozenStudy,
    common: &Common,
    report_file: &ReportFile,
) -> Result<End, Stopped> {
    let go_on = format!("`plumb study resume {}` goes on", study.id);
    let conducted = conducted.map_err(|error| match error {
        StoreError::StudyRuns { .. } => Stopped::from(error),
        error if error.is_full() => Stopped::io(format!(
            "{error}. What was stored is safe, and everything that the study built is taken down; free some space, then {go_on}"
        )),
        error => Stopped::io(format!("{error}. What was stored is safe; {go_on}")),
    })?;
    let report = found(store, &study.id, common)?;
    report_file.study(&report, store)?;
    match conducted.ended {
        ConductEnded::Interrupted => {
            error_line!("interrupted: all finished runs are stored; {go_on}");
            return Ok(End::Interrupted);
        }
        ConductEnded::Budget => error_line!("note: the budget is spent; {go_on}"),
        ConductEnded::SameFailure => {
            error_line!(
                "error: the same failure occurred twice, so the study ended; remove its cause, then `plumb study resume --failed \
                 {}` continues (`--keep-going` continues regardless)",
                study.id
            );
            return Ok(if conducted.refused { End::Refused } else { End::Io });
        }
        ConductEnded::AllRuns => {}
    }
    Ok(if conducted.refused { End::Refused } else { end(&report) })
}
