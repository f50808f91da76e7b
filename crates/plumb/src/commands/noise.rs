//! `plumb noise`: measures the smallest difference that a set-up can show.

use super::compare::{announcement, build_context, is_real, side, sizes, time_per_phase, warnings, works};
use crate::args::NoiseArguments;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::live_output::LiveOutput;
use plumb_cli::output;
use plumb_cli::progress::LiveWarnings;
use plumb_cli::session;
use plumb_cli::space_budget::{DataSizes, check_lengths};
use plumb_report::{noise as page, run as run_page};
use plumb_stats::schedule::Side;
use plumb_stats::stop::StopRule;
use plumb_study::noise::{NoiseRequest, noise};
use plumb_trust::Running;
use plumb_workload_text::named::{self, Scale};
use std::time::Duration;

pub(crate) fn run(arguments: &NoiseArguments, common: &Common) -> Result<End, Stopped> {
    check_lengths(arguments.budget, arguments.time, arguments.size)?;
    arguments.hosts.join()?;
    let path = arguments.path.as_str();
    let workloads = works(&arguments.work)?;
    let one = side(Side::A, &format!("{path} (A)"), path, arguments.plots)?;
    // Both sides have the same places; only a simulated device can provision new plots for the other side.
    let mut other = one.clone();
    other.name = format!("{path} (B)");
    if arguments.plots > 1 {
        other = side(Side::B, &other.name, path, arguments.plots)?;
    }
    let sides = [one, other];
    let sizes = sizes(&sides, arguments.size)?;
    if !common.json && is_real(&sides) {
        session::announce(&announcement(path, sizes));
    }
    let DataSizes { file_bytes, files } = sizes;
    let rule = StopRule::default();
    let time_ns = arguments
        .time
        .map_or_else(|| time_per_phase(&sides, arguments.budget, workloads.len(), &rule, 0), |time| time.0);
    let request = NoiseRequest {
        place: path.to_owned(),
        sides,
        workloads,
        scale: Scale { file_bytes, files, time_ns, seed: arguments.seed, place: named::RunPlace::Directory },
        budget: Duration::from_nanos(arguments.budget.0),
        rule,
        seed: arguments.seed,
        command: &session::command_line(),
    };
    let mut live_output = LiveOutput::open(&arguments.live_output, LiveWarnings::FailuresOnly, common)?;
    let mut bench = session::bench(common)?;
    bench.command_context = build_context(Running::Noise, arguments.load, &request.compared());
    let outcome = live_output.watch(|watcher| noise(&mut bench, &request, watcher));
    live_output.clear();
    let unstored = session::incomplete(&bench, "the noise floor", common);
    let outcome = outcome?;
    if common.json {
        session::print_json(&outcome.noise)?;
    } else {
        let style = session::style();
        let kept = match common.no_store || outcome.interrupted || unstored {
            true => page::KeptFloor::Nowhere,
            false => page::KeptFloor::Stored,
        };
        output::print(&page::page(&outcome.noise, kept, &named::titles(), &style));
        // Without a floor, the page already says that there are too few runs.
        let mut findings = warnings(&outcome.noise.checks);
        findings.retain(|finding| finding.code != "E1" || outcome.rejected > 0);
        output::print(&run_page::findings(&findings, &style));
    }
    Ok(if unstored {
        End::Io
    } else if outcome.interrupted {
        End::Interrupted
    } else if outcome.noise.floors.is_empty() && outcome.rejected > 0 {
        End::Rejected
    } else {
        End::Done
    })
}
