//! `plumb audit`: recomputes published numbers.

use crate::args::AuditArguments;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_report::audit::{Detail, page};
use plumb_result::Audit;
use plumb_text::bounded;
use plumb_workload_text::native::read_form;
use std::path::Path;

/// Audits each file. Reads all files before printing, so that a bad file does not leave half of the output.
pub(crate) fn run(arguments: &AuditArguments, common: &Common) -> Result<End, Stopped> {
    let mut audits = Vec::with_capacity(arguments.files.len());
    let mut bad = Vec::new();
    for path in &arguments.files {
        match one(path) {
            Ok(audit) => audits.push(audit),
            Err(stopped) => bad.push(stopped),
        }
    }
    if !bad.is_empty() {
        let messages: Vec<String> = bad.iter().map(|stopped| stopped.message.clone()).collect();
        return Err(Stopped::usage(messages.join("\n\n")));
    }
    if common.json {
        // One study prints as one object, as in other commands; several print as a list.
        match audits.as_slice() {
            [only] => session::print_json(only)?,
            many => session::print_json(&many)?,
        }
    } else {
        let style = session::style();
        let detail = if arguments.notes { Detail::Full } else { Detail::Brief };
        let pages: Vec<String> = audits.iter().map(|audit| page(audit, detail, &style)).collect();
        output::print(&pages.join("\n\n"));
    }
    Ok(if audits.iter().any(Audit::is_rejected) { End::Rejected } else { End::Done })
}

/// Reads and audits one file; `-` is standard input.
fn one(path: &Path) -> Result<Audit, Stopped> {
    let (name, read) = if path == Path::new("-") {
        ("<stdin>".to_owned(), bounded::text_of(std::io::stdin()))
    } else {
        (path.display().to_string(), bounded::read_to_string(path))
    };
    let text = read.map_err(|error| {
        Stopped::usage(format!("cannot read {name}: {error}; `plumb audit` takes TOML files, see docs/audit.md"))
    })?;
    let study = read_form(&name, &text, plumb_audit::problems).map_err(Stopped::usage)?;
    Ok(plumb_audit::audit(&study))
}
