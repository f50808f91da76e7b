//! Commands on reports: their difference and their matrix.

use super::write;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_document::json;
use plumb_report::posix as page;
use plumb_result::{Conformance, POSIX_SCHEMA};
use std::path::{Path, PathBuf};

/// Reads a report: a file, or a stored one by its id, a part of it, or `last`.
pub(super) fn read(name: &Path, common: &Common) -> Result<Conformance, Stopped> {
    let text = name.to_string_lossy();
    let is_id = text == "last" || text.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if is_id && !name.exists() {
        return Ok(session::store_to_read(common)?.conformance(&text)?);
    }
    read_file(name)
}

fn read_file(path: &Path) -> Result<Conformance, Stopped> {
    let failed = |error: &dyn std::fmt::Display| {
        Stopped::usage(format!("{}: {error}; expected the JSON of `plumb posix`", path.display()))
    };
    let text = plumb_text::bounded::read_to_string(path).map_err(|error| failed(&error))?;
    let report: Conformance = json::from_str(&text).map_err(|error| failed(&error))?;
    match report.schema == POSIX_SCHEMA {
        true => Ok(report),
        false => Err(failed(&format!("its schema is {}, and this version knows {POSIX_SCHEMA}", report.schema))),
    }
}

pub(super) fn diff(before: &Path, after: &Path, common: &Common) -> Result<End, Stopped> {
    let difference = page::difference(&read(before, common)?, &read(after, common)?, &session::style());
    output::print(&difference.page);
    Ok(if difference.new == 0 { End::Done } else { End::AssertedFalse })
}

pub(super) fn matrix(reports: &[PathBuf], html: &Path, common: &Common) -> Result<End, Stopped> {
    let reports: Vec<Conformance> = reports.iter().map(|name| read(name, common)).collect::<Result<_, _>>()?;
    write("--html", html, &page::matrix(&reports))?;
    output::print(&format!("wrote {}\n", html.display()));
    Ok(End::Done)
}
