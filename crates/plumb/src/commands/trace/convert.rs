//! `plumb trace convert`.

use super::{InputArguments, new_file, stopped};
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_engine::guard::OutputFile;
use plumb_trace::{Anonymised, Extensions, Facts, OutputFormat, convert, open_as};
use std::io::BufWriter;
use std::path::Path;

/// Writes a recording in another format. Keeps an existing file, and removes an incomplete one after an error.
pub(super) fn run(
    path: &Path,
    target: &Path,
    to: Option<&str>,
    anonymise: Option<Extensions>,
    input: &InputArguments,
) -> Result<End, Stopped> {
    let format = match to {
        Some(name) => OutputFormat::named(name).map_err(Stopped::usage)?,
        None => OutputFormat::of_path(target),
    };
    let mut reader = open_as(path, input.waits(), input.format()?).map_err(stopped)?;
    // Recordings name private files and programs.
    let file = new_file(OutputFile::named("OUTPUT", target).private())?;
    // The recorded facts may name the program and the machine.
    let mut facts = if anonymise.is_some() { Facts::default() } else { reader.facts().cloned().unwrap_or_default() };
    if anonymise.is_some() {
        facts.set("anonymised", 1);
    }
    facts.set("converted-from", reader.format().name());
    facts.set("program", concat!("plumb ", env!("CARGO_PKG_VERSION")));
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let mut hidden;
    let (written, losses) = match anonymise {
        None => (convert(&mut reader, &mut out, target, format, &facts), reader.losses()),
        Some(extensions) => {
            hidden = Anonymised::new(reader, extensions);
            (convert(&mut hidden, &mut out, target, format, &facts), hidden.inner().losses())
        }
    };
    let written = written.map_err(|error| {
        // An incomplete file would pass for the whole recording.
        let _ = std::fs::remove_file(target);
        stopped(error)
    })?;
    if let Some(loss) = losses.first() {
        error_line!("warning: {}: byte {}: {}; all else was converted", path.display(), loss.at, loss.reason);
    }
    let mut text = format!("{} records written to {}", written.records, target.display());
    if written.left_out > 0 {
        text.push_str(&format!("; {} left out, which the format cannot express", written.left_out));
    }
    if written.renamed > 0 {
        text.push_str(&format!("; {} files renamed: the format's names have no blanks or commas", written.renamed));
    }
    output::print(&format!("{text}\n"));
    Ok(End::Done)
}
