//! `plumb completions` and `plumb man`.

use super::completion;
use crate::args::Arguments;
use crate::help::manual;
use clap::CommandFactory;
use clap_complete::Shell;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_engine::guard::OutputFile;
use std::path::Path;

pub(crate) fn completions(shell: Shell) -> Result<End, Stopped> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "plumb", &mut script);
    output::print(&format!("{}{}", String::from_utf8_lossy(&script), completion::tool_completions(shell)));
    Ok(End::Done)
}

/// Prints the manual page of a command, or writes all pages into a directory.
pub(crate) fn man(command: &[String], all: Option<&Path>) -> Result<End, Stopped> {
    let Some(dir) = all else {
        let page = manual::page(command).map_err(Stopped::io)?;
        let missing = || Stopped::usage(format!("no command `plumb {}`; `plumb --help` lists them", command.join(" ")));
        output::print(&page.ok_or_else(missing)?.text);
        return Ok(End::Done);
    };
    std::fs::create_dir_all(dir).map_err(|error| Stopped::io(format!("cannot create {}: {error}", dir.display())))?;
    for page in manual::pages().map_err(Stopped::io)? {
        OutputFile::made_up("--all", &dir.join(&page.file)).write(page.text.as_bytes())?;
    }
    Ok(End::Done)
}
