//! The examples in the documents are true: every block that can run is run.
//!
//! The rule: in `README.md` and all pages in `docs` and its folders, a block marked `console` contains command lines that
//! begin with `$ ` and, below each, its output. The commands run in order, in one fresh directory per document, and must
//! end with 0 or 3, or with the code that `$ echo $?` shows below them. The shown output of audits and simulated devices
//! must be printed; a line `…` stands for output that the page leaves out. Commands that need more than simulated devices
//! or the working directory are marked `text`. A block marked `toml` is a whole workload file, and `toml workers` is the
//! inside of a `[[phase.workers]]`; both must parse. Other TOML is marked `toml part`. A block marked `ini FILE` is a file
//! of that name, for the commands below it.

use crate::common::Home;
use std::path::{Path, PathBuf};

/// The line after a command whose exit code is shown; without it, 0 and 3 (rejected by checks) are accepted.
const ASKS_FOR_CODE: &str = "echo $?";

const FURTHER_LINES: &str = "…";

struct Block {
    file: PathBuf,
    line: usize,
    mark: String,
    text: String,
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut found = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        let (inner, files): (Vec<PathBuf>, Vec<PathBuf>) =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).partition(|path| path.is_dir());
        folders.extend(inner);
        found.extend(files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    found.sort();
    assert!(found.len() > 100, "{} pages", found.len());
    found
}

fn blocks(file: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(mark) => {
                open = true;
                found.push(Block {
                    file: file.to_owned(),
                    line: number + 1,
                    mark: mark.trim().to_owned(),
                    text: String::new(),
                });
            }
            None if open => {
                let block = found.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!open, "{} ends inside a block", file.display());
    found
}

fn all_blocks() -> Vec<Block> {
    documents().iter().flat_map(|file| blocks(file)).collect()
}

impl Block {
    fn place(&self) -> String {
        format!("{}:{}", self.file.file_name().unwrap().to_string_lossy(), self.line)
    }

    /// Returns the command lines, each with the output shown below it.
    fn calls(&self) -> Vec<(&str, Vec<&str>)> {
        let mut calls: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), calls.last_mut()) {
                (Some(command), _) => calls.push((command, Vec::new())),
                (None, Some((_, shown))) => shown.push(line),
                (None, None) => {}
            }
        }
        calls
    }
}

#[test]
fn every_workload_that_is_shown_is_one() {
    let home = Home::new();
    let mut seen = 0;
    for block in all_blocks() {
        let text = match block.mark.as_str() {
            "toml" => block.text.clone(),
            "toml workers" => format!(
                "name = \"shown\"\n[target.data.file]\npath = \"data\"\nsize = \"1GiB\"\n[[phase]]\nname = \"one\"\n\
                 [[phase.workers]]\ntarget = \"data\"\n{}",
                block.text
            ),
            _ => continue,
        };
        home.file("shown.toml", &text);
        let output = home.plumb("run shown.toml --translate");
        assert_eq!(output.code, 0, "{}: {}", block.place(), output.err);
        seen += 1;
    }
    assert!(seen >= 6, "{seen} blocks");
}

#[test]
fn every_command_that_is_shown_runs() {
    for file in documents() {
        let home = Home::new();
        for block in blocks(&file) {
            if let Some(name) = block.mark.strip_prefix("ini ") {
                home.file(name, &block.text);
            }
            if block.mark != "console" {
                continue;
            }
            let calls = block.calls();
            for (index, (line, shown)) in calls.iter().enumerate().filter(|(_, (line, _))| *line != ASKS_FOR_CODE) {
                let words = words(line);
                assert_eq!(
                    words.first().map(String::as_str),
                    Some("plumb"),
                    "{}: only `$ plumb …` runs in a console block: {line}",
                    block.place()
                );
                let output = home.plumb_args(&words[1..]);
                let code_shown = calls.get(index + 1).filter(|(next, _)| *next == ASKS_FOR_CODE);
                let codes = match code_shown {
                    Some((_, shown)) => vec![shown[0].parse().unwrap()],
                    None => vec![0, 3],
                };
                assert!(
                    codes.contains(&output.code),
                    "{}: `{line}` ended with {}, not with one of {codes:?}:\n{}",
                    block.place(),
                    output.code,
                    output.err
                );
                // Simulated devices and audits print the same every time, so a page may show only what they print. Gates and
                // budgets also depend on the time that the machine takes.
                let is_timed = words[1] == "gate" || line.contains("--budget");
                let is_repeatable = words[1] == "audit" || line.contains("sim:") && !is_timed;
                let printed: Vec<&str> = output.out.lines().chain(output.err.lines()).map(str::trim_end).collect();
                let further = |line: &&str| line.trim() == FURTHER_LINES;
                for expected in shown.iter().map(|line| line.trim_end()).filter(|line| is_repeatable && !further(line))
                {
                    assert!(
                        printed.contains(&expected),
                        "{}: `{line}` does not print this line:\n{expected}\nbut:\n{}{}",
                        block.place(),
                        output.out,
                        output.err
                    );
                }
            }
        }
    }
}

/// Every block has a mark, and every block that could be run is marked as such.
#[test]
fn every_block_names_its_language() {
    const MARKS: &[&str] =
        &["console", "text", "toml", "toml workers", "toml part", "sh", "json", "sql", "python", "rust"];
    for block in all_blocks() {
        assert!(
            MARKS.contains(&block.mark.as_str()) || block.mark.starts_with("ini "),
            "{}: marked `{}`, and not one of {MARKS:?}",
            block.place(),
            block.mark
        );
        let lines = block.text.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line));
        let commands: Vec<&str> = lines.filter(|line| line.starts_with("plumb ")).collect();
        let runs = block.mark == "console";
        let only_simulated = commands.iter().all(|line| line.contains("sim:"));
        assert!(commands.is_empty() || runs || !only_simulated, "{}: this could run: mark it `console`", block.place());
    }
}

/// Every command and option that a document mentions exists.
#[test]
fn every_command_that_is_named_exists() {
    let home = Home::new();
    let help = home.plumb("--help").expect(0).out;
    for file in documents() {
        let text = std::fs::read_to_string(&file).unwrap();
        for piece in text.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("plumb ")) {
            let command = piece.split_whitespace().next().unwrap_or_default();
            let is_word = !command.is_empty() && command.chars().all(|c| c.is_ascii_lowercase());
            // Plumb starts this command itself; it is hidden from users.
            let is_hidden = command == "agent";
            let is_there = is_hidden || help.lines().any(|line| line.split_whitespace().next() == Some(command));
            assert!(!is_word || is_there, "{}: there is no `plumb {piece}`", file.display());
        }
    }
}

/// Splits like a shell, as far as documents need it: blanks, single quotes, and comments.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            '#' if !quoted && word.is_empty() => break,
            ' ' if !quoted => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            c => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}
