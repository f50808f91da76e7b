//! `plumb study list`.

use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_store::StudyRow;

pub(super) fn run(common: &Common) -> Result<End, Stopped> {
    let studies = session::store_to_read(common)?.studies()?;
    if common.json {
        session::print_json(&studies)?;
        return Ok(End::Done);
    }
    if studies.is_empty() {
        output::print("No studies are stored; `plumb study run FILE` makes one.\n");
        return Ok(End::Done);
    }
    let name = studies.iter().map(|study| study.name.chars().count()).max().unwrap_or(0);
    let lines = studies.iter().map(|study| {
        let began = study.created_at.get(..16).unwrap_or(&study.created_at).replace('T', " ");
        format!("{}  {began}  {:name$}  {}\n", study.id, study.name, state(study))
    });
    output::print(&lines.collect::<String>());
    Ok(End::Done)
}

/// Describes the progress of a study: `17 of 96 runs, 2 failed; running`.
fn state(study: &StudyRow) -> String {
    let mut text = format!("{} of {} runs", study.ended, study.runs);
    for (count, word) in [(study.failed, "failed"), (study.rejected, "rejected")] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    if study.running {
        text.push_str("; running");
    } else if !study.done {
        text.push_str("; to be resumed");
    }
    text
}
