//! `plumb check`: reports findings that a run here would have, without any load.

use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_engine::write_guard;
use plumb_report::{facts, run};
use plumb_result::{Finding, Level, RunVerdict};
use std::path::Path;

/// Checks the machine and a path's storage for a second.
pub(crate) fn run(path: &Path, common: &Common) -> Result<End, Stopped> {
    if path.to_string_lossy().starts_with("sim:") {
        return Err(Stopped::usage(format!(
            "`{}` is simulated: there is no machine to check; `plumb try` measures it",
            path.display()
        )));
    }
    let outcome =
        plumb_study::check::inspect(path, &write_guard(session::permissions(common)?)).map_err(Stopped::usage)?;
    if common.json {
        session::print_json(&outcome)?;
    } else {
        let style = session::style();
        let mut page = format!("{}\n", facts::filesystem(&outcome.target));
        let stack = facts::stack(&outcome.target);
        if !stack.is_empty() {
            page.push_str(&format!("  {}\n", style.wrap(&stack, 2)));
        }
        for unseen in &outcome.target.unseen {
            page.push_str(&format!("  not seen: {}\n", style.wrap(unseen, 12)));
        }
        if let Some(refused) = &outcome.refused {
            page.push_str(&format!("  a run that writes here is refused: {}\n", style.wrap(refused, 37)));
        }
        page.push('\n');
        match outcome.checks.iter().map(|finding| finding.level).max() {
            None | Some(Level::Pass | Level::Skipped) => page.push_str("No problem found without load.\n"),
            Some(Level::Note) => page.push_str("No warnings without load. Notes:\n"),
            Some(Level::Warn | Level::Fail) => {}
        }
        // The only phase is idle, and its name means nothing to users.
        let findings: Vec<Finding> =
            outcome.checks.iter().map(|finding| Finding { phase: None, ..finding.clone() }).collect();
        page.push_str(&run::findings(&findings, &style));
        output::print(&page);
    }
    Ok(if RunVerdict::from_findings(&outcome.checks) == RunVerdict::Reject { End::Rejected } else { End::Done })
}
