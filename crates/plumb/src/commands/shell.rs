//! `plumb completions` and `plumb man`.

use super::completion;
use crate::args::Arguments;
use crate::exit::{End, Stopped};
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;

/// Completions for a shell.
pub fn completions(shell: Shell) -> Result<End, Stopped> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "plumb", &mut script);
    output::print(&format!("{}{}", String::from_utf8_lossy(&script), completion::of_fio(shell)));
    Ok(End::Done)
}

/// The manual page: the program, then every command.
pub fn man() -> Result<End, Stopped> {
    let mut page = Vec::new();
    let command = Arguments::command();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(Stopped::io)?;
    for subcommand in command.get_subcommands() {
        let name = format!("plumb {}", subcommand.get_name());
        let man = clap_mangen::Man::new(subcommand.clone().bin_name(name.clone()).display_name(name));
        let render = || -> std::io::Result<Vec<u8>> {
            let mut section = Vec::new();
            man.render_synopsis_section(&mut section)?;
            man.render_description_section(&mut section)?;
            man.render_options_section(&mut section)?;
            Ok(section)
        };
        let section = render().map_err(Stopped::io)?;
        // Sections of a subcommand become subsections of the page.
        page.extend_from_slice(String::from_utf8_lossy(&section).replace(".SH ", ".SS ").as_bytes());
    }
    output::print(&String::from_utf8_lossy(&page));
    Ok(End::Done)
}
