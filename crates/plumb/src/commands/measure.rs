//! Code shared by `plumb try` and `plumb run`: repeats, the page and its copy in a file, and the exit status.

use super::ended;
use crate::args::PageArguments;
use plumb_bench::{Bench, Progress, RunError, RunOutcome, RunRequest};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::live_output::LiveOutput;
use plumb_cli::output;
use plumb_cli::session;
use plumb_document::json;
use plumb_engine::guard::OutputFile;
use plumb_engine::sim::SimRun;
use plumb_report::Style;
use plumb_report::run::{Detail, KeptResult, PageOptions, RunConditions, page_with};
use plumb_result::Utilisation;
use plumb_result::assertion::{Assertion, ConditionedResult, Steadiness};
use plumb_result::medians::{Medians, medians};
use plumb_store::{ResultStore, TagChange};
use std::borrow::Cow;
use std::path::Path;

/// Runs of one workload, in the order of execution.
pub(crate) struct Measured {
    outcomes: Vec<RunOutcome>,
    cut_short: Option<String>,
}

pub(crate) fn measure(
    bench: &mut Bench,
    request: &RunRequest<'_>,
    arguments: &PageArguments,
    live_output: &mut LiveOutput,
) -> Result<Measured, Stopped> {
    writable(arguments.output.as_deref())?;
    arguments.report_file.writable()?;
    if arguments.name.as_deref().is_some_and(|name| tag_of(name).is_empty()) {
        return Err(Stopped::usage("--name is empty; give a title such as `xfs-new-kernel`, or leave it out"));
    }
    let mut measured = Measured { outcomes: Vec::new(), cut_short: None };
    for number in 0..arguments.runs {
        let sim_run = SimRun { run_index: request.sim_run.run_index + number, ..request.sim_run };
        let run = |watcher: &mut dyn Progress| bench.run(&RunRequest { sim_run, ..*request }, watcher);
        let outcome = match live_output.watch_repeat(number + 1, arguments.runs, run) {
            Err(RunError::EndedEarly { error, outcome }) => {
                measured.cut_short = Some(error);
                *outcome
            }
            outcome => outcome?,
        };
        let is_last = outcome.result.partial;
        if let (Some(name), Some(store)) = (&arguments.name, bench.results.store.as_mut())
            && outcome.not_stored.is_none()
        {
            store.tag(&outcome.result.id, &tag_of(name), TagChange::Add)?;
        }
        measured.outcomes.push(outcome);
        if is_last {
            break;
        }
    }
    live_output.clear();
    Ok(measured)
}

impl Measured {
    pub(crate) fn medians(&self) -> Option<Medians> {
        medians(&self.outcomes.iter().map(|outcome| &outcome.result).collect::<Vec<_>>())
    }

    pub(crate) fn replayed_differently(&self) -> u64 {
        let replays = self.outcomes.iter().flat_map(|outcome| &outcome.result.phases).flat_map(|phase| &phase.replay);
        replays.map(|replay| replay.different_count).sum()
    }

    /// Prints the result of one run, or the medians of several, and returns the exit status.
    pub(crate) fn present(
        self,
        assertions: &[Assertion],
        arguments: &PageArguments,
        store: Option<&dyn ResultStore>,
        common: &Common,
    ) -> Result<End, Stopped> {
        let Some(medians) = self.medians() else { return Ok(End::Done) };
        let conditions = RunConditions {
            assertions: assertions.iter().map(|assertion| assertion.check(&medians.result)).collect(),
            steady: self.outcomes.iter().flat_map(steadiness).collect(),
            utilisation: self.outcomes.iter().flat_map(utilisation).collect(),
        };
        if common.json {
            output::print(&self.json(assertions)?);
        } else {
            output::print(&self.page(&medians, &conditions, arguments, common, &session::style()));
        }
        if let Some(path) = &arguments.output {
            let text = match path.extension().is_some_and(|extension| extension == "json") {
                true => self.json(assertions)?,
                false => self.page(&medians, &conditions, arguments, common, &Style::PLAIN),
            };
            OutputFile::named("--output", path).replace(text.as_bytes())?;
        }
        let runs: Vec<String> = self.outcomes.iter().map(|outcome| outcome.result.id.clone()).collect();
        arguments.report_file.run(&medians.result, &runs, store)?;
        let ends: Vec<End> = self.outcomes.iter().map(|outcome| ended(outcome, common)).collect();
        if let Some(error) = self.cut_short {
            return Err(Stopped::io(error));
        }
        let worst = [End::Io, End::Interrupted, End::Rejected].into_iter().find(|end| ends.contains(end));
        // Numbers of a rejected run cannot prove a condition false.
        Ok(match worst {
            Some(end) => end,
            None if conditions.assertions.iter().any(|asserted| !asserted.holds) => End::AssertedFalse,
            None => End::Done,
        })
    }

    fn page(
        &self,
        medians: &Medians,
        conditions: &RunConditions,
        arguments: &PageArguments,
        common: &Common,
        style: &Style,
    ) -> String {
        let unstored = self.outcomes.iter().any(|outcome| outcome.not_stored.is_some());
        let options = PageOptions {
            kept: if common.no_store || unstored { KeptResult::Nowhere } else { KeptResult::Stored },
            detail: if common.verbose { Detail::Full } else { Detail::Brief },
            name: arguments.name.as_deref(),
            runs: medians.runs,
            widest: medians.widest.as_ref(),
        };
        page_with(&medians.result, conditions, &options, style)
    }

    /// Formats the result of one run, or the list of results of several.
    fn json(&self, assertions: &[Assertion]) -> Result<String, Stopped> {
        let results: Vec<ConditionedResult<'_>> = self
            .outcomes
            .iter()
            .map(|outcome| ConditionedResult {
                result: Cow::Borrowed(&outcome.result),
                assertions: assertions.iter().map(|assertion| assertion.check(&outcome.result)).collect(),
                steady: steadiness(outcome).collect(),
                utilisation: utilisation(outcome).collect(),
            })
            .collect();
        let text = match results.as_slice() {
            [only] => json::to_string_pretty(only),
            all => json::to_string_pretty(&all),
        };
        Ok(text.map_err(Stopped::io)? + "\n")
    }
}

/// Converts a name to a tag; tags have no blanks and no commas.
fn tag_of(name: &str) -> String {
    let parts = name.split(|letter: char| letter.is_whitespace() || letter.is_control() || letter == ',');
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

fn steadiness(outcome: &RunOutcome) -> impl Iterator<Item = Steadiness> {
    let plan = |name: &str| outcome.result.workload.phase.iter().find(|phase| phase.name == name);
    outcome.measurement.phases.iter().filter_map(move |phase| Steadiness::from_phase(plan(&phase.name)?, phase))
}

fn utilisation(outcome: &RunOutcome) -> impl Iterator<Item = Utilisation> {
    let plan = |name: &str| outcome.result.workload.phase.iter().find(|phase| phase.name == name);
    let planned = outcome.measurement.phases.iter().filter_map(move |phase| Some((plan(&phase.name)?, phase)));
    planned.flat_map(|(plan, phase)| Utilisation::per_group(plan, phase))
}

/// Fails before any measurement if the output file cannot be written.
fn writable(path: Option<&Path>) -> Result<(), Stopped> {
    let Some(path) = path else { return Ok(()) };
    OutputFile::named("--output", path).check().map_err(Stopped::of_check)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: any title can be given, and `plumb list --tag` finds its runs.
    #[test]
    fn a_title_becomes_a_tag() {
        assert_eq!(tag_of("xfs, new  kernel"), "xfs-new-kernel");
        assert_eq!(tag_of(" ,"), "");
    }
}
