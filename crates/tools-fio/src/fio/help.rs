//! The output of `--help`, `--cmdhelp` and `--enghelp`, generated from the option table.

use super::commandline::{Fate, PROGRAM_OPTIONS, Takes};
use super::engines::{self, ENGINES};
use super::options::{self, OptionSpec, SHELVES, Support};
use super::value::kind::{Bounds, Kind};
use std::fmt::Write;

/// The output of a help option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// On standard output.
    pub page: String,
    /// On standard error.
    pub complaint: String,
    /// Whether the option or engine exists and has help.
    pub is_found: bool,
}

impl Answer {
    fn found(page: String) -> Answer {
        Answer { page, complaint: String::new(), is_found: true }
    }

    fn missing(page: String, complaint: String) -> Answer {
        Answer { page, complaint, is_found: false }
    }

    /// Returns fio's reply to an unknown option. It suggests the closest name of
    /// `known` if fewer than three letters differ.
    fn no_such_option(name: &str, known: impl Iterator<Item = &'static OptionSpec>) -> Answer {
        let known: Vec<&OptionSpec> = known.collect();
        let closest = plumb_workload::suggest::closest(name, known.iter().map(|option| option.name), 3);
        let page = match closest.and_then(|name| known.iter().find(|option| option.name == name)) {
            Some(option) => format!(" - showing closest match\n{}", full(option)),
            None => "\n".to_owned(),
        };
        Answer::missing(page, format!("No such command: {name}"))
    }
}

/// Returns the output of `--help`: the program's own options.
pub fn program() -> String {
    let mut page = String::from("plumb as fio [OPTIONS] [JOB OPTIONS] [JOB FILES]\n\n");
    for option in PROGRAM_OPTIONS {
        let value = match option.takes {
            Takes::Nothing => "",
            Takes::Perhaps => "[=VALUE]",
            Takes::Value => "=VALUE",
        };
        let sentence = match option.fate {
            Fate::Works => option.doc.to_owned(),
            Fate::Ignored(why) => format!("No effect: {why}"),
            Fate::NotYet(why) => format!("Not supported yet: {why}"),
            Fate::Never(why) => format!("Not supported, because {why}"),
        };
        line(&mut page, &format!("--{}{value}", option.name), &sentence);
    }
    page.push_str("\nJob options: --cmdhelp. Engines: --enghelp.\n");
    page
}

/// Returns the output of `--cmdhelp`: one option, or all options by category.
pub fn command(name: Option<&str>) -> Answer {
    match name.filter(|name| !name.is_empty() && *name != "all") {
        Some(name) => match options::find(name) {
            Some(option) => Answer::found(full(option)),
            None => Answer::no_such_option(name, options::all()),
        },
        None => {
            let mut page = String::new();
            for shelf in &SHELVES {
                let _ = writeln!(page, "{}", shelf.category.title());
                for option in shelf.options() {
                    line(&mut page, &format!("  {}", option.name), &sentence(option));
                }
                page.push('\n');
            }
            page.truncate(page.trim_end().len() + 1);
            Answer::found(page)
        }
    }
}

/// Returns the output of `--enghelp`: all engines, one engine with its options, or one option of an engine
/// (`engine,option`). As in fio, an engine without options of its own is reported as not found.
pub fn engine(asked: Option<&str>) -> Answer {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        // Scripts grep this list for engines that run. Engines that do not run are listed separately.
        let mut page = String::from("Available IO engines:\n");
        for engine in ENGINES.iter().filter(|engine| engine.support == Support::Works) {
            let _ = writeln!(page, "\t{}", engine.name);
        }
        return Answer::found(page);
    };
    let (name, option) = match asked.split_once(',') {
        Some((name, option)) => (name, Some(option)),
        None => (asked, None),
    };
    let Some(engine) = engines::find(name) else {
        let nearest = engines::nearest(name).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        return Answer::missing(
            format!("IO engine {name} not found\n"),
            format!("fio: unknown engine {name}{nearest}\n"),
        );
    };
    match engine.support {
        Support::Works | Support::Ignored(_) => {}
        Support::NotYet(why) => {
            return Answer::missing(format!("{}: not supported yet: {why}\n", engine.name), String::new());
        }
        Support::Never(why) => {
            return Answer::missing(format!("{}: not supported, because {why}\n", engine.name), String::new());
        }
    }
    let own = || options::all().filter(|option| option.engines.contains(&engine.name));
    if own().next().is_none() {
        return Answer::missing(format!("IO engine {} has no options\n", engine.name), String::new());
    }
    match option {
        Some(option) => match own().find(|known| known.is_named(option)) {
            Some(found) => Answer::found(full(found)),
            None => Answer::no_such_option(option, own()),
        },
        None => {
            let mut page = format!("{}: {}\n", engine.name, engine.doc);
            for option in own() {
                line(&mut page, option.name, &sentence(option));
            }
            Answer::found(page)
        }
    }
}

fn line(page: &mut String, name: &str, sentence: &str) {
    let _ = writeln!(page, "{name:<30}  {sentence}");
}

fn sentence(option: &OptionSpec) -> String {
    match option.support {
        Support::Works => option.doc.to_owned(),
        Support::Ignored(why) => format!("No effect: {why}"),
        Support::NotYet(why) => format!("Not supported yet: {why}"),
        Support::Never(why) => format!("Not supported, because {why}"),
    }
}

fn full(option: &OptionSpec) -> String {
    let mut page = String::new();
    let mut row = |label: &str, text: &str| {
        let _ = writeln!(page, "{label:>20}: {text}");
    };
    row(option.name, &sentence(option));
    if let Some(alias) = option.alias {
        row("alias", alias);
    }
    row("takes", option.kind().words());
    if let Kind::Whole(_, bounds) | Kind::Wide(_, bounds) = option.kind() {
        match bounds {
            Bounds { least: Some(least), most: Some(most) } => row("range", &format!("{least} to {most}")),
            Bounds { least: Some(least), most: None } => row("range", &format!("{least} and more")),
            Bounds { least: None, most: Some(most) } => row("range", &format!("0 to {most}")),
            Bounds { least: None, most: None } => {}
        }
    }
    let kind = option.kind();
    let choices = kind.choices();
    if !choices.is_empty() {
        row("values", &choices.join(", "));
    }
    row("default", option.default.filter(|text| !text.is_empty()).unwrap_or("none"));
    if !option.engines.is_empty() {
        row("engines", &option.engines.join(", "));
    }
    page
}
