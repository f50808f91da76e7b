//! `plumb as bonnie++`, its two CSV readers, and its companion programs.

mod getc_putc;
mod prepared;
mod run;
mod user;
mod zcav;

pub use getc_putc::GetcPutc;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line, error_text};
use plumb_text::bounded;
use plumb_tools_classic::bonnie::table::PrintedRun;
use plumb_tools_classic::bonnie::{html, table};
use plumb_tools_run::ToolCall;
use prepared::{Prepared, SEMAPHORE_KEY, SEMAPHORES, prepared};
pub use run::Bonnie;
pub use zcav::Zcav;

/// Runs `bon_csv2html`: prints a page from the lines of a file or of standard input.
pub fn csv2html(call: &ToolCall<'_>) -> Result<End, Stopped> {
    convert(call.words.first(), html::page)
}

/// Runs `bon_csv2txt`: prints tables from the lines on standard input.
pub fn csv2txt(_call: &ToolCall<'_>) -> Result<End, Stopped> {
    convert(None, table::text)
}

fn convert(file: Option<&String>, reader: fn(&str) -> PrintedRun) -> Result<End, Stopped> {
    let read = match file {
        Some(path) => bounded::read(path),
        None => bounded::bytes_of(std::io::stdin(), bounded::INPUT_BYTES_MAX),
    };
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) => {
            let name = file.map_or("standard input", String::as_str);
            error_line!("{name}: {error}");
            return Ok(End::DialectFailed);
        }
    };
    let printed = reader(&String::from_utf8_lossy(&bytes));
    error_text!("{}", printed.err);
    output::print(&printed.out);
    Ok(End::Done)
}
