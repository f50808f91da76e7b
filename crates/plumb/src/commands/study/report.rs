//! `plumb study report`.

use super::file::find;
use clap::Args;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_report::study::{Detail, page, page_markdown};
use plumb_result::StudyReport;
use plumb_store::ResultStore;
use plumb_study::answer::{Question, StudyEvidence, answer, answer_question};

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// A study file, or a study's id, name, or any unique beginning of the id.
    #[arg(value_name = "FILE|ID", default_value = "last")]
    pub study: String,
    /// Print Markdown.
    #[arg(long)]
    pub md: bool,
    /// Compare the levels of this factor, the first level against the others. Levels that are named are compared alone, and the
    /// first of them is the baseline; a single one is the baseline of all others.
    #[arg(long, value_name = "FACTOR[=LEVEL,…]", help_heading = SECOND)]
    pub by: Option<String>,
    /// Tell the levels of these factors apart, or only the named levels; an empty text averages over all other factors
    /// [default: what the plan tells apart, and what it compares].
    #[arg(long, value_name = "FACTOR[=LEVEL],…", help_heading = SECOND)]
    pub within: Option<String>,
    /// Judge these metrics, by name or by their last parts: `bw`, `read.lat.p99`, `device.writes`.
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',', help_heading = SECOND)]
    pub metrics: Option<Vec<String>>,
}

const SECOND: &str = "Another question of the same data (exploratory where the plan did not ask it)";

impl ReportArguments {
    /// Returns the question of the command line; `None` for the plan's own.
    fn question(&self) -> Option<Question> {
        let question = Question { by: self.by.clone(), within: self.within.clone(), metrics: self.metrics.clone() };
        (question != Question::default()).then_some(question)
    }
}

pub(super) fn run(arguments: &ReportArguments, common: &Common) -> Result<End, Stopped> {
    let store = session::store_to_read(common)?;
    let id = find(&*store, &arguments.study)?;
    let evidence = StudyEvidence::load(&*store, &id)?;
    let report = match arguments.question() {
        None => answer(&evidence),
        Some(question) => answer_question(evidence, &question).map_err(Stopped::usage)?,
    };
    if arguments.md && !common.json {
        output::print(&page_markdown(&report));
    } else {
        show(&report, common)?;
    }
    Ok(end(&report))
}

pub(super) fn found(store: &dyn ResultStore, id: &str, common: &Common) -> Result<StudyReport, Stopped> {
    let report = answer(&StudyEvidence::load(store, id)?);
    show(&report, common)?;
    Ok(report)
}

fn show(report: &StudyReport, common: &Common) -> Result<(), Stopped> {
    if common.json {
        return session::print_json(report);
    }
    let detail = if common.verbose { Detail::Full } else { Detail::Brief };
    output::print(&page(report, detail, &session::style()));
    Ok(())
}

/// Returns the exit status. A cell without a value because its runs failed is a failure of the system. If all runs of a
/// cell or half of a study's runs were rejected, the study is rejected.
pub(super) fn end(report: &StudyReport) -> End {
    let without = |of: fn(&plumb_result::study::StudyCell) -> u32| {
        report.cells.iter().any(|cell| cell.done == 0 && cell.open == 0 && of(cell) > 0)
    };
    if without(|cell| cell.failed) {
        End::Io
    } else if without(|cell| cell.rejected) || report.counts.is_mostly_rejected() {
        End::Rejected
    } else {
        End::Done
    }
}

#[cfg(test)]
mod tests {
    use super::super::StudyCommand;
    use crate::args::PlumbCommand;
    use plumb_result::study::StudyCounts;
    use plumb_study::answer::remedy_for_cells;

    // Protects: the page's remedy is a valid command, and it repeats the missing runs.
    #[test]
    fn remedies_for_cells_without_a_value_repeat_the_right_runs() {
        for (open, failed, rejected) in [(1, 1, 1), (0, 2, 0), (0, 0, 3), (0, 1, 1)] {
            let counts = StudyCounts { open, failed, rejected, ..StudyCounts::default() };
            let remedy = remedy_for_cells(&counts);
            let line = remedy.split('`').nth(1).unwrap_or_else(|| panic!("no command in {remedy:?}"));
            let parsed = crate::help::parse(line.split_whitespace()).unwrap_or_else(|error| panic!("{line}: {error}"));
            let PlumbCommand::Study { command: StudyCommand::Resume(resume) } = parsed.command else {
                panic!("{line}")
            };
            let is_ended = open == 0;
            assert_eq!(
                (resume.failed, resume.rejected),
                (is_ended && failed > 0, is_ended && rejected > 0),
                "{counts:?}: {remedy}"
            );
        }
    }
}
