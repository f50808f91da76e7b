//! The first page, and the grouped list of commands.

use clap::{Arg, Command};

pub(crate) struct Group {
    pub heading: &'static str,
    pub commands: &'static [&'static str],
}

/// All commands, in the order of the help.
pub(crate) const GROUPS: &[Group] = &[
    Group { heading: "Measure storage", commands: &["try", "fit-for", "check", "verify-capacity", "posix"] },
    Group { heading: "Compare", commands: &["compare", "gate", "noise", "sweep", "study"] },
    Group { heading: "Run a workload", commands: &["run", "workloads", "as", "trace", "net", "agent", "k8s"] },
    Group { heading: "Watch and understand", commands: &["watch", "explain", "audit"] },
    Group {
        heading: "Results",
        commands: &[
            "list", "show", "report", "query", "tag", "retract", "annotate", "export", "import", "push", "pull",
            "expire", "site", "key", "verify", "serve",
        ],
    },
    Group { heading: "Plumb itself", commands: &["config", "clean", "schema", "completions", "man", "help"] },
];

/// Page that `plumb` prints without a command.
pub(crate) const FIRST_PAGE: &str = "\
Plumb measures storage, and says what it measured: the device, the page cache, or memory.

  plumb try [PATH]          Measure this storage in about a minute. Safe on a system in use
  plumb fit-for USE [PATH]  Is this storage good enough for a use, such as etcd?
  plumb compare A B         Which directory is faster, and is that larger than the noise?
  plumb run WORKLOAD        Run a named workload or a file
  plumb as TOOL …           Run another tool's command line: fio, dd, IOzone and more
  plumb show                Show the last result again

Examples:
  plumb try /mnt/data
  plumb compare /mnt/ext4 /mnt/xfs

All commands: plumb --help. One command: plumb COMMAND --help. Settings: plumb config.
";

/// Groups the commands in the program's help.
pub(crate) fn grouped(command: Command) -> Command {
    let listed = listed(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nCommands:\n{listed}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Formats the commands in clap's layout, with a heading before each group.
fn listed(command: &Command) -> String {
    let help = || Command::new("help").about("Print this message or the help of the given subcommand(s)");
    let names = GROUPS.iter().flat_map(|group| group.commands);
    let shallow = names.filter_map(|name| match command.find_subcommand(name) {
        Some(found) => Some(Command::new(*name).about(found.get_about().cloned().unwrap_or_default())),
        None => (*name == "help").then(help),
    });
    let mut list = Command::new("plumb").max_term_width(100).disable_help_subcommand(true);
    for (order, sub) in shallow.enumerate() {
        list = list.subcommand(sub.display_order(order));
    }
    let mut text = String::new();
    for line in list.help_template("{subcommands}").render_help().to_string().lines() {
        let first =
            line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')).and_then(|rest| rest.split(' ').next());
        if let Some(group) = first.and_then(|name| GROUPS.iter().find(|group| group.commands[0] == name)) {
            text.push_str(&format!(" {}:\n", group.heading));
        }
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    text
}

/// Commands that may overwrite what the user names.
const OVERWRITES: &[&str] = &[
    "as",
    "compare",
    "fit-for",
    "gate",
    "noise",
    "run",
    "study resume",
    "study run",
    "sweep",
    "trace fit",
    "trace replay",
    "try",
    "verify-capacity",
];

/// Commands that store their results unless told not to.
const STORES: &[&str] =
    &["as", "compare", "fit-for", "gate", "net", "noise", "posix", "run", "sweep", "trace replay", "try"];

/// Hides global options from commands on which they have no effect. Each command gets its own copy of these options,
/// and clap then does not propagate them. Must run before clap builds the command, which freezes the options.
pub(crate) fn scoped(command: Command) -> Command {
    let shared: Vec<Arg> = command.get_arguments().filter(|argument| argument.is_global_set()).cloned().collect();
    let mut command = with_copies(command, "", &shared);
    for argument in &shared {
        let id = argument.get_id().clone();
        command = command.mut_arg(&id, |argument| argument.hide(is_hidden(id.as_str(), "")));
    }
    command
}

/// Returns `true` if an option has no effect on a command.
fn is_hidden(id: &str, path: &str) -> bool {
    match id {
        "destroy" | "plumb_allow" => !OVERWRITES.contains(&path),
        "no_store" => !STORES.contains(&path),
        _ => false,
    }
}

fn with_copies(mut command: Command, path: &str, shared: &[Arg]) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        let path = super::below(path, &name);
        command = command.mut_subcommand(name, |sub| {
            let copies =
                shared.iter().map(|argument| argument.clone().hide(is_hidden(argument.get_id().as_str(), &path)));
            with_copies(sub.args(copies.collect::<Vec<_>>()), &path, shared)
        });
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::CommandFactory;

    // Protects: the grouped help lists each command once.
    #[test]
    fn every_command_is_in_one_group() {
        let command = Arguments::command();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).chain(["help"]).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, all);
        let listed = listed(&command);
        for group in GROUPS {
            assert!(listed.contains(&format!(" {}:\n  {}", group.heading, group.commands[0])), "{listed}");
        }
    }

    // Protects: the first page has six commands and two examples, and all of them are valid command lines.
    #[test]
    fn the_first_page_is_short_and_true() {
        let lines: Vec<&str> = FIRST_PAGE.lines().filter_map(|line| line.strip_prefix("  plumb ")).collect();
        let (commands, examples) = lines.split_at(6);
        assert_eq!((examples.len(), FIRST_PAGE.lines().count() < 16), (2, true));
        for line in commands {
            let name = line.split(' ').next().unwrap();
            assert!(Arguments::command().find_subcommand(name).is_some(), "{line}");
        }
        for example in examples {
            super::super::parse(format!("plumb {example}").split(' ')).unwrap();
        }
    }

    // Protects: each name in the tables is a command, so that a renamed command does not lose its options.
    #[test]
    fn the_tables_name_commands() {
        for path in OVERWRITES.iter().chain(STORES) {
            let mut command = Arguments::command();
            for name in path.split(' ') {
                command = command.find_subcommand(name).unwrap_or_else(|| panic!("{path}")).clone();
            }
        }
    }
}
