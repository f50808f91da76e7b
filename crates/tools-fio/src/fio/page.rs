//! `docs/dialects/fio-options.md`: the tables of options and engines, for human readers.

use super::commandline::{Fate, PROGRAM_OPTIONS, Takes};
use super::engines::ENGINES;
use super::options::{OptionSpec, SHELVES, Support};
use super::value::kind::{Bounds, Kind};
use std::fmt::Write;

const HEAD: &str = "\
# fio's options and engines in Plumb

<!-- Generated from crates/tools-fio; `PLUMB_BLESS=1 cargo test -p plumb-tools-fio page` regenerates it. -->

Every option of fio 3.42 and what `plumb as fio` does with it; `plumb as fio --cmdhelp=NAME` prints the same for one
option. [fio.md](fio.md) lists the differences from fio.

- **works**: supported, as described.
- *no effect*: accepted, but has no effect, for the reason given.
- **not yet**, **never**: a job that uses it is refused, for the reason given. `--translate` keeps options of unsupported
  engines.

Suffixes of a time: `us`, `ms`, `s`, `m`, `h`, `d`; of a size: `k`, `m`, `g`, `t`, `p`. An alias is in brackets.
";

fn page() -> String {
    let mut page = String::from(HEAD);
    counts(&mut page);
    program(&mut page);
    engines(&mut page);
    for shelf in &SHELVES {
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n| option | value | default | | description |\n|---|---|---|---|---|\n",
            shelf.category.title(),
            shelf.category.about()
        );
        for option in shelf.options() {
            row(&mut page, option);
        }
    }
    page
}

fn counts(page: &mut String) {
    let mut all = [0_usize; 4];
    for option in SHELVES.iter().flat_map(|shelf| shelf.options()) {
        all[match option.support {
            Support::Works => 0,
            Support::Ignored(_) => 1,
            Support::NotYet(_) => 2,
            Support::Never(_) => 3,
        }] += 1;
    }
    let [works, nothing, not_yet, never] = all;
    let _ = writeln!(
        page,
        "\nOf {} options, {works} work, {nothing} have no effect, {not_yet} are not supported yet, and {never} never \
         will be.",
        all.iter().sum::<usize>()
    );
}

fn program(page: &mut String) {
    page.push_str("\n## Command line\n\n| option | | description |\n|---|---|---|\n");
    for option in PROGRAM_OPTIONS {
        let value = match option.takes {
            Takes::Nothing => "",
            Takes::Perhaps => "[=VALUE]",
            Takes::Value => "=VALUE",
        };
        let letter = option.letter.map(|letter| format!(" (`-{letter}`)")).unwrap_or_default();
        let (word, sentence) = match option.fate {
            Fate::Works => ("works", option.doc),
            Fate::Ignored(why) => ("*no effect*", why),
            Fate::NotYet(why) => ("**not yet**", why),
            Fate::Never(why) => ("**never**", why),
        };
        let _ = writeln!(page, "| `--{}{value}`{letter} | {word} | {} |", option.name, cell(&sentence_case(sentence)));
    }
}

fn engines(page: &mut String) {
    page.push_str("\n## Engines\n\n| engine | | description |\n|---|---|---|\n");
    for engine in ENGINES {
        let (word, sentence) = support_cell(engine.support, engine.doc);
        let aliases: Vec<String> = engine.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        let aliases = if aliases.is_empty() { String::new() } else { format!(" ({})", aliases.join(", ")) };
        // Descriptions of supported engines begin with names of calls, which stay lower-case.
        let sentence = if engine.support == Support::Works { sentence.to_owned() } else { sentence_case(sentence) };
        let _ = writeln!(page, "| `{}`{aliases} | {word} | {} |", engine.name, cell(&sentence));
    }
}

fn row(page: &mut String, option: &OptionSpec) {
    let (word, sentence) = support_cell(option.support, option.doc);
    let alias = option.alias.map(|alias| format!(" (`{alias}`)")).unwrap_or_default();
    let mut sentence = sentence_case(sentence);
    if matches!(option.support, Support::Works) && !option.engines.is_empty() {
        let _ = write!(sentence, " Engines: {}.", option.engines.join(", "));
    }
    let default = option.default.filter(|text| !text.is_empty()).map(|text| format!("`{text}`")).unwrap_or_default();
    let _ = writeln!(
        page,
        "| `{}`{alias} | {} | {} | {word} | {} |",
        option.name,
        cell(&values(option)),
        cell(&default),
        cell(&sentence)
    );
}

fn support_cell(support: Support, doc: &'static str) -> (&'static str, &'static str) {
    match support {
        Support::Works => ("works", doc),
        Support::Ignored(why) => ("*no effect*", why),
        Support::NotYet(why) => ("**not yet**", why),
        Support::Never(why) => ("**never**", why),
    }
}

/// Returns a short description of the option's values.
fn values(option: &OptionSpec) -> String {
    let kind = option.kind();
    let choices = kind.choices();
    let words = match kind {
        Kind::Choice(_) => choices.join(", "),
        Kind::Choices(_) => format!("any of {}", choices.join(", ")),
        Kind::Special(_) if !choices.is_empty() => format!("{}: {}", kind.words(), choices.join(", ")),
        _ => kind.words().to_owned(),
    };
    match kind {
        Kind::Whole(_, Bounds { least: Some(least), most: Some(most) })
        | Kind::Wide(_, Bounds { least: Some(least), most: Some(most) }) => format!("{words}, {least} to {most}"),
        Kind::Whole(_, Bounds { least: None, most: Some(most) })
        | Kind::Wide(_, Bounds { least: None, most: Some(most) }) => format!("{words}, 0 to {most}"),
        _ => words,
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Capitalises a reason, which is lower-case in the middle of a line of help.
fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Protects: the page is generated from the table that the parser uses.
#[test]
fn the_page_of_options_is_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects/fio-options.md");
    let wanted = page();
    if std::env::var_os("PLUMB_BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == wanted,
        "docs/dialects/fio-options.md is out of date; run `PLUMB_BLESS=1 cargo test -p plumb-tools-fio page`"
    );
}
