//! The parser and its user-facing texts: examples, exit codes, usage lines, and errors that name visible options only.

pub(crate) mod groups;
pub(crate) mod manual;
pub(crate) mod topics;

use crate::args::Arguments;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches};
use std::ffi::OsString;
use topics::Topic;

/// Returns the parser, with examples and exit codes in each command's long help.
pub(crate) fn command() -> Command {
    groups::grouped(groups::scoped(with_topics(Arguments::command(), "")))
}

/// Parses a command line. Fails if it is invalid, or asks for help or the version.
pub(crate) fn parse<W: Into<OsString> + Clone>(words: impl IntoIterator<Item = W>) -> Result<Arguments, clap::Error> {
    let mut command = with_plain_usage(built());
    command
        .try_get_matches_from_mut(words)
        .and_then(|mut matches| Arguments::from_arg_matches_mut(&mut matches))
        .map_err(|error| with_similar_command(without_hidden(error), &command).with_cmd(&command))
}

/// Builds the parser. Each command then has its own copy of the global options.
fn built() -> Command {
    let mut command = command();
    command.build();
    command
}

/// Suggests the command with the name most similar to a mistyped one.
fn with_similar_command(mut error: clap::Error, command: &Command) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    // A command that exists under another parent is meant, even if clap finds a similar one here.
    let elsewhere = full_name(command, typed);
    if elsewhere.is_none() && error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let names = || std::iter::once(command).chain(command.get_subcommands()).flat_map(Command::get_subcommands);
    let nearest = || plumb_workload::suggest::nearest(typed, names().map(Command::get_name)).map(str::to_owned);
    let near = elsewhere.or_else(nearest);
    if let Some(near) = near {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
    }
    error
}

/// Finds a command by its last word, and returns it in full: `plumb study resume`.
fn full_name(command: &Command, word: &str) -> Option<String> {
    let has = |parent: &&Command| parent.get_subcommands().any(|sub| sub.get_name() == word);
    if has(&command) {
        return Some(format!("plumb {word}"));
    }
    let parent = command.get_subcommands().find(has)?;
    Some(format!("plumb {} {word}", parent.get_name()))
}

/// Appends a command to the path of its parent, without the program's name.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path} {name}") }
}

fn with_topics(mut command: Command, path: &str) -> Command {
    if let Some(topic) = topics::find_topic(path) {
        let own = command.get_after_long_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
        command = command.after_long_help(format!("{own}{}", help_of(topic)));
    }
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        let path = below(path, &name);
        command = command.mut_subcommand(name, |sub| with_topics(sub, &path));
    }
    command
}

fn help_of(topic: &Topic) -> String {
    let mut text = String::from("Examples:\n");
    for example in topic.examples {
        text.push_str(&format!("  {}:\n    {}\n", example.purpose, example.line));
    }
    text.push_str("\nExit codes:\n");
    for exit in topic.exits {
        text.push_str(&format!("  {:<4} {}\n", exit.code, exit.meaning));
    }
    if topic.command.is_empty() {
        text.push_str("\n`plumb COMMAND --help` and `plumb man COMMAND` say more.\n");
    }
    text.trim_end().to_owned()
}

/// Gives each command a fixed usage line. In errors, clap adds options that are set to the usage line, even by the
/// environment; `--db <FILE>` then looks required.
fn with_plain_usage(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names.into_iter().filter(|name| name != "help") {
        command = command.mut_subcommand(name, with_plain_usage);
    }
    match usage.strip_prefix("Usage: ") {
        Some(usage) => command.override_usage(usage.to_owned()),
        None => command,
    }
}

/// Removes a suggestion that names a hidden option, which only Plumb itself passes.
fn without_hidden(mut error: clap::Error) -> clap::Error {
    // As declared: options that only some commands show are valid suggestions.
    let hidden = hidden_options(&Arguments::command());
    if let Some(ContextValue::String(tip)) = error.get(ContextKind::SuggestedArg)
        && hidden.contains(tip)
    {
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

fn hidden_options(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter(|argument| argument.is_hide_set());
    let mut names: Vec<String> =
        own.filter_map(|argument| argument.get_long()).map(|name| format!("--{name}")).collect();
    names.extend(command.get_subcommands().flat_map(hidden_options));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(command: &Command, path: &str) -> Vec<String> {
        let mut all = vec![path.to_owned()];
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            all.extend(commands(sub, &below(path, sub.get_name())));
        }
        all
    }

    // Protects: every new command has examples and exit codes.
    #[test]
    fn every_command_has_examples_and_exit_codes_and_nothing_else_has() {
        let mut commands = commands(&Arguments::command(), "");
        let mut topics: Vec<&str> = topics::TOPICS.iter().map(|topic| topic.command).collect();
        commands.sort();
        topics.sort_unstable();
        assert_eq!(topics, commands, "crates/plumb/src/help/topics.rs has a row for each command");
        for topic in topics::TOPICS {
            assert!(!topic.examples.is_empty() && !topic.exits.is_empty(), "{}", topic.command);
        }
    }

    #[test]
    fn every_example_is_a_command_line_of_its_command() {
        for topic in topics::TOPICS {
            for example in topic.examples {
                // A launcher such as mpirun may come first.
                let words = shlex::split(example.line).unwrap().into_iter();
                let words: Vec<String> = words.skip_while(|word| word != "plumb").collect();
                let of = topic.command.split_whitespace().collect::<Vec<_>>();
                assert_eq!(words[1..=of.len()], of, "{} is shown for `{}`", example.line, topic.command);
                if let Err(error) = parse(&words) {
                    panic!("{}: {error}", example.line);
                }
            }
        }
    }
}
