//! What `--help`, `--cmdhelp` and `--enghelp` print, from the table.

use super::commandline::{Fate, PROGRAM_OPTIONS, Takes};
use super::engines::{self, ENGINES};
use super::options::kind::{Bounds, Kind};
use super::options::{self, OptionSpec, SHELVES, Support};
use std::fmt::Write;

/// There is no such option or engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{name}`{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
pub struct NoSuch {
    /// An option, an engine.
    pub what: &'static str,
    /// What was asked for.
    pub name: String,
    /// The name most like it.
    pub nearest: Option<&'static str>,
}

/// `--help`: the options of the program as a whole.
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

/// `--cmdhelp`: one option, or all of them by category.
pub fn command(name: Option<&str>) -> Result<String, NoSuch> {
    match name.filter(|name| !name.is_empty() && *name != "all") {
        Some(name) => {
            let option = options::find(name).ok_or_else(|| NoSuch {
                what: "option",
                name: name.to_owned(),
                nearest: options::nearest(name),
            })?;
            Ok(full(option))
        }
        None => {
            let mut page = String::new();
            for shelf in SHELVES {
                let _ = writeln!(page, "{}", shelf.category.title());
                for option in shelf.options {
                    line(&mut page, &format!("  {}", option.name), &sentence(option));
                }
                page.push('\n');
            }
            page.truncate(page.trim_end().len() + 1);
            Ok(page)
        }
    }
}

/// `--enghelp`: all engines, one with its options, or one option of one engine (`engine,option`).
pub fn engine(asked: Option<&str>) -> Result<String, NoSuch> {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        // Scripts look for the names of engines that run, so those that do not are kept apart.
        let mut page = String::from("Available IO engines:\n");
        for engine in ENGINES.iter().filter(|engine| engine.support == Support::Works) {
            let _ = writeln!(page, "\t{}", engine.name);
        }
        return Ok(page);
    };
    let (name, option) = match asked.split_once(',') {
        Some((name, option)) => (name, Some(option)),
        None => (asked, None),
    };
    let engine = engines::find(name).ok_or_else(|| NoSuch {
        what: "engine",
        name: name.to_owned(),
        nearest: engines::nearest(name),
    })?;
    let own = || options::all().filter(|option| option.engines.contains(&engine.name));
    if let Some(option) = option {
        let found = own().find(|known| known.is_named(option)).ok_or_else(|| NoSuch {
            what: "option of this engine",
            name: option.to_owned(),
            nearest: plumb_workload::suggest::nearest(option, own().map(|known| known.name)),
        })?;
        return Ok(full(found));
    }
    let mut page = match engine.support {
        Support::Works | Support::Ignored(_) => format!("{}: {}\n", engine.name, engine.doc),
        Support::NotYet(why) => format!("{}: not supported yet: {why}\n", engine.name),
        Support::Never(why) => format!("{}: not supported, because {why}\n", engine.name),
    };
    for option in own() {
        line(&mut page, option.name, &sentence(option));
    }
    Ok(page)
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
    row("takes", option.kind.words());
    if let Kind::Whole(_, bounds) | Kind::Wide(_, bounds) = option.kind {
        match bounds {
            Bounds { least: Some(least), most: Some(most) } => row("range", &format!("{least} to {most}")),
            Bounds { least: Some(least), most: None } => row("range", &format!("{least} and more")),
            Bounds { least: None, most: Some(most) } => row("range", &format!("0 to {most}")),
            Bounds { least: None, most: None } => {}
        }
    }
    let choices = option.kind.choices();
    if !choices.is_empty() {
        row("values", &choices.join(", "));
    }
    row("default", option.default.filter(|text| !text.is_empty()).unwrap_or("none"));
    if !option.engines.is_empty() {
        row("engines", &option.engines.join(", "));
    }
    page
}
