//! What users read is in plain words: help, explanations of checks, messages and documents avoid the phrases of
//! `docs/writing.md` that are never right.

use crate::common::Home;
use std::path::{Path, PathBuf};

/// Phrases, and what to write instead. Only unambiguous ones: a false alarm would teach people to work around the test.
const PHRASES: &[(&str, &str)] = &[
    ("is told", "is printed, is reported, is given"),
    ("are told", "are printed, are reported, are given"),
    ("so many", "N, this many, or the thing counted"),
    ("is no setting", "unknown setting"),
    ("a place against itself", "the noise floor (A/A)"),
    ("what is wrong", "the problem, the error, the finding"),
    ("could not look at", "lacked data for"),
    ("could not be looked at", "was not checked"),
    ("looked at", "checked, read, measured"),
    ("not had", "not available, not read"),
    ("whose language is spoken", "supported"),
    ("anew", "again"),
    ("beside", "at the same time as, next to"),
    ("held against", "compared with"),
    ("lie apart", "differ by, are N× slower"),
    ("for being many", "for their number"),
    ("tells the truth", "says what it measured"),
];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Returns a line for each phrase in a text, also across a line break, with its plain form.
pub(crate) fn found(place: &str, text: &str, phrases: &[(&str, &str)]) -> Vec<String> {
    // Bytes stay where they are, so that a position in one is a position in the other.
    let flat: String = text.chars().map(|c| if c == '\n' { ' ' } else { c.to_ascii_lowercase() }).collect();
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut hits = Vec::new();
    for (phrase, instead) in phrases {
        for (at, _) in flat.match_indices(phrase) {
            let (before, after) = (&flat[..at], &flat[at + phrase.len()..]);
            if !is_word(before.chars().next_back()) && !is_word(after.chars().next()) {
                let line = text[..at].matches('\n').count() + 1;
                hits.push(format!("{place}:{line}: `{phrase}`; write {instead}"));
            }
        }
    }
    hits
}

#[track_caller]
fn assert_plain(hits: Vec<String>) {
    assert!(hits.is_empty(), "docs/writing.md, \"How Plumb speaks\":\n{}", hits.join("\n"));
}

/// Files below a folder with this extension; the folder itself may be a file.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

pub(crate) fn named(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

/// The commands of a help page, which stand below `Commands:`.
fn commands(help: &str) -> Vec<String> {
    let listed = help.split_once("Commands:\n").map(|(_, rest)| rest).unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn documents_are_plain() {
    let mut pages = files(&root().join("docs"), "md");
    pages.extend(["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name)));
    pages.extend(files(&root().join("studies"), "toml"));
    pages.extend(files(&root().join("audits"), "toml"));
    pages.retain(|page| page.is_file());
    assert!(pages.len() > 25, "{pages:?}");
    let hits = pages.iter().flat_map(|page| {
        let text = std::fs::read_to_string(page).unwrap();
        // The style page's table shows the phrases.
        let text: String = match page.ends_with("docs/writing.md") {
            true => text.lines().filter(|line| !line.starts_with('|')).map(|line| format!("{line}\n")).collect(),
            false => text,
        };
        found(&named(page), &text, PHRASES)
    });
    assert_plain(hits.collect());
}

#[test]
fn help_is_plain() {
    let home = Home::new();
    let mut open = vec![String::new()];
    let mut hits = Vec::new();
    let mut seen = 0;
    while let Some(command) = open.pop() {
        let line = format!("{command} --help").trim().to_owned();
        let help = home.plumb(&line).expect(0).out;
        hits.extend(found(&format!("plumb {line}"), &help, PHRASES));
        open.extend(commands(&help).into_iter().map(|name| format!("{command} {name}").trim().to_owned()));
        seen += 1;
    }
    assert!(seen > 20, "{seen} commands");
    for line in [
        "as fio --help",
        "as fio --cmdhelp",
        "as fio --enghelp",
        "as elbencho --help-all",
        "as iozone -h",
        "as dd --help",
        "as dd --as-version=freebsd --help",
    ] {
        let help = home.plumb(line).expect(0).out;
        assert!(help.lines().count() > 10, "{line}: {help}");
        hits.extend(found(&format!("plumb {line}"), &help, PHRASES));
    }
    assert_plain(hits);
}

fn text(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// `docs/commands.md` and `docs/stability.md` list the exit codes of every command.
#[test]
fn the_manual_has_every_exit_code() {
    let home = Home::new();
    let pages = ["docs/commands.md", "docs/stability.md"].map(|page| (page, text(page)));
    for command in ["", "run", "gate", "fit-for", "study run", "trace record", "try"] {
        let help = home.plumb(&format!("{command} --help")).expect(0).out;
        let listed = help.split("Exit codes:\n").nth(1).unwrap();
        let codes = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        for code in codes.filter(|code| code.parse::<u8>().is_ok()) {
            for (page, text) in &pages {
                let row = format!("\n| {code} | ");
                assert!(text.contains(&row), "`plumb {command}` ends with {code}, which {page} does not list");
            }
        }
    }
}

/// `docs/commands.md` has a row for every command of the help.
#[test]
fn the_manual_has_every_command() {
    let page = text("docs/commands.md");
    for command in commands(&Home::new().plumb("--help").expect(0).out) {
        let row = format!("| `plumb {command}");
        assert!(page.contains(&row), "docs/commands.md has no row `{row}`");
    }
}

/// The documents give the number of tools and of checks that the program has.
#[test]
fn documents_count_the_tools_and_checks() {
    let home = Home::new();
    let tools = home.plumb("as --json").expect(0).json().as_array().unwrap().len();
    assert!(text("docs/faq.md").contains(&format!("| {tools} commands (`plumb as`) |")), "{tools}");
    assert!(text("packaging/package.toml").contains(&format!("Runs {tools} other commands'")), "{tools}");
    let listed = home.plumb("explain").expect(0).out;
    // Codes that begin with P are findings of `plumb audit`, and no checks of a run.
    let checks = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|code| code.starts_with(['A', 'B', 'C', 'D', 'E']) && code[1..].parse::<u8>().is_ok());
    let checks = checks.collect::<std::collections::BTreeSet<_>>().len();
    assert!(text("README.md").contains(&format!("\n- {checks} [checks](docs/checks.md)")), "{checks}");
}

/// Nothing is called missing that the table of options says works.
#[test]
fn what_works_is_not_called_missing() {
    let page = text("docs/dialects/fio.md");
    let missing = page.split("## Not included\n").nth(1).unwrap().split(". ").next().unwrap();
    let options = text("docs/dialects/fio-options.md");
    let mut seen = 0;
    for option in missing.split('`').filter(|word| word.starts_with("--")) {
        let row = options.lines().find(|line| line.contains(option) && line.starts_with('|'));
        assert!(row.is_none_or(|row| !row.contains("| works |")), "{option}: {row:?}");
        seen += 1;
    }
    assert!(seen > 0, "{missing}");
    assert!(
        !page.lines().any(|line| line.starts_with("| job control") && line.ends_with("| `--client`, `--server` |"))
    );
}

#[test]
fn explanations_are_plain() {
    let home = Home::new();
    let list = home.plumb("explain").expect(0).out;
    let is_code = |word: &&str| {
        word.len() > 1
            && word.starts_with(|c: char| c.is_ascii_uppercase())
            && word[1..].chars().all(|c| c.is_ascii_digit())
    };
    let codes: Vec<&str> = list.split_whitespace().filter(is_code).collect();
    assert!(codes.len() > 40, "{codes:?}");
    let explained = codes.iter().flat_map(|code| {
        let page = home.plumb(&format!("explain {code}")).expect(0).out;
        found(&format!("plumb explain {code}"), &page, PHRASES)
    });
    assert_plain(explained.chain(found("plumb explain", &list, PHRASES)).collect());
}

/// Texts between quotation marks in the program's source: errors, findings and everything else that it prints.
#[test]
fn messages_are_plain() {
    let sources = files(&root().join("crates"), "rs");
    assert!(sources.len() > 500, "{}", sources.len());
    let is_test = |path: &Path| path.iter().any(|part| part == "tests" || part == "tests.rs" || part == "golden");
    let mut hits = Vec::new();
    for path in sources.iter().filter(|path| !is_test(path.strip_prefix(root()).unwrap())) {
        let text = std::fs::read_to_string(path).unwrap();
        hits.extend(found(&named(path), &quoted(&text), PHRASES));
    }
    assert_plain(hits);
}

/// Only what string literals hold, in its lines; tests at the end of a file are left out.
fn quoted(source: &str) -> String {
    let source = source.split_once("#[cfg(test)]\nmod tests {").map_or(source, |(program, _)| program);
    let mut kept = String::new();
    let mut inside = false;
    for line in source.lines() {
        let line = line.trim_start();
        if inside || !line.starts_with("//") {
            let mut escaped = false;
            for (at, c) in line.char_indices() {
                let is_char = line[..at].ends_with('\'') && line[at + c.len_utf8()..].starts_with('\'');
                if c == '"' && !escaped && !is_char {
                    inside = !inside;
                    kept.push(' ');
                } else if inside && !(c == '\\' && at + 1 == line.len()) {
                    kept.push(c);
                }
                escaped = c == '\\' && !escaped;
            }
        }
        if kept.ends_with(' ') {
            kept.truncate(kept.trim_end_matches(' ').len());
        }
        kept.push('\n');
    }
    kept
}

#[test]
fn phrases_are_found_across_lines_and_not_inside_words() {
    let text = "It is fine.\nWhat a job\nis\ntold here.\nthis toldo is no\nsettings, looked ate";
    assert_eq!(found("page", text, PHRASES), ["page:3: `is told`; write is printed, is reported, is given"]);
    let source = "// what is wrong\nlet a = \"what is \\\n    wrong\"; let b = '\"'; is_told();\n";
    assert_eq!(
        found("a.rs", &quoted(source), PHRASES),
        ["a.rs:2: `what is wrong`; write the problem, the error, the finding"]
    );
}
