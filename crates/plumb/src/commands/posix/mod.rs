//! `plumb posix`: tests how a file system conforms to POSIX and to Linux's manual.

mod arguments;
mod expected;
mod explain;
pub(crate) mod pjdfstest;
mod reports;
mod test;

pub(crate) use arguments::PosixArguments;

use arguments::{Level, PosixCommand};
use expected::Expectations;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_document::json;
use plumb_engine::guard::OutputFile;
use plumb_report::posix as page;
use plumb_result::Conformance;
use std::path::Path;
use test::Tested;

pub(crate) fn run(arguments: &PosixArguments, common: &Common) -> Result<End, Stopped> {
    match &arguments.command {
        Some(PosixCommand::Explain { id, at }) => explain::run(id.as_deref(), at.as_deref(), common),
        Some(PosixCommand::Diff { before, after }) => reports::diff(before, after, common),
        Some(PosixCommand::Matrix { reports, html }) => reports::matrix(reports, html, common),
        None => conform(arguments, common),
    }
}

fn conform(arguments: &PosixArguments, common: &Common) -> Result<End, Stopped> {
    let mut expectations = if arguments.no_known { Expectations::none() } else { Expectations::known()? };
    for path in &arguments.expected {
        expectations.add(path)?;
    }
    let baseline = arguments.baseline.as_deref().map(|name| reports::read(name, common)).transpose()?;
    let Tested { mut conformance, is_removed } = test::run(arguments)?;
    conformance.level = match arguments.level {
        Level::Shall => "SHALL",
        Level::Linux => "LINUX",
        Level::Common => "COMMON",
    }
    .to_owned();
    let over = expected::over(Path::new(&conformance.path));
    expectations.apply(&mut conformance, over);
    if let Some(baseline) = &baseline {
        expected::apply_baseline(&mut conformance, baseline);
    }
    write_all(arguments, &conformance, common)?;
    if let Some(path) = &arguments.write_expected {
        write("--write-expected", path, &expected::written(&conformance))?;
    }
    if !common.no_store
        && let Err(stopped) = session::store(common).and_then(|mut store| Ok(store.save_conformance(&conformance)?))
    {
        let message = format!(
            "the report could not be stored: {}\nIt can be written to a file: --output FILE, and not stored: --no-store",
            stopped.message
        );
        return Err(Stopped { message, ..stopped });
    }
    Ok(match conformance.failures() {
        _ if conformance.stopped => End::Interrupted,
        0 if is_removed => End::Done,
        _ => End::AssertedFalse,
    })
}

fn write(option: &str, path: &Path, text: &str) -> Result<(), Stopped> {
    Ok(OutputFile::named(option, path).replace(text.as_bytes())?)
}

fn write_all(arguments: &PosixArguments, conformance: &Conformance, common: &Common) -> Result<(), Stopped> {
    if common.json {
        session::print_json(conformance)?;
    } else if arguments.tap {
        output::print(&page::tap(conformance));
    } else {
        output::print(&page::page(conformance, common.verbose, &session::style()));
    }
    if let Some(path) = &arguments.junit {
        write("--junit", path, &page::junit(conformance))?;
    }
    if let Some(path) = &arguments.md {
        write("--md", path, &page::markdown(conformance))?;
    }
    if let Some(path) = &arguments.output {
        write("--output", path, &(json::to_string_pretty(conformance).map_err(Stopped::io)? + "\n"))?;
    }
    if arguments.github {
        session::to_github(
            &page::annotations(conformance),
            &page::markdown(conformance),
            common.json || arguments.tap,
        )?;
    }
    Ok(())
}
