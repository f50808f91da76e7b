//! Pages of real runs, at the widths of real terminals. `data/` has their results as printed by `--json`, without
//! names that identify the machine.

#![allow(clippy::disallowed_methods)] // tests write files

use plumb_report::Style;
use plumb_report::run::{Detail, PageOptions, page, side_by_side};
use plumb_report::style::Colour;
use plumb_result::RunResult;
use plumb_workload_text::named::{RunPlace, Scale, try_workload};
use std::path::{Path, PathBuf};

fn result(name: &str) -> RunResult {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("{name}.json"));
    plumb_document::json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

const PLAIN: Style = Style { width: 80, colour: Colour::Never };

fn brief(name: &str, width: usize) -> String {
    page(&result(name), &PageOptions::STORED, &Style { width, ..PLAIN })
}

fn full(name: &str, width: usize) -> String {
    page(&result(name), &PageOptions { detail: Detail::Full, ..PageOptions::STORED }, &Style { width, ..PLAIN })
}

#[test]
fn a_survey_fits_a_terminal() {
    insta::assert_snapshot!("try_80", brief("try-ext4", 80));
}

#[test]
fn a_survey_is_legible_on_a_narrow_and_a_wide_terminal() {
    insta::assert_snapshot!("try_40", brief("try-ext4", 40));
    insta::assert_snapshot!("try_200", brief("try-ext4", 200));
}

#[test]
fn memory_is_called_memory_once() {
    insta::assert_snapshot!("try_tmpfs", brief("try-tmpfs", 80));
}

#[test]
fn every_number_is_shown_with_v() {
    insta::assert_snapshot!("try_full", full("try-ext4", 100));
}

#[test]
fn a_run_has_a_block_for_each_phase() {
    insta::assert_snapshot!("run_mail", brief("run-mail", 80));
}

#[test]
fn several_storages_are_shown_side_by_side() {
    insta::assert_snapshot!("side_by_side", side_by_side(&[&result("try-ext4"), &result("try-tmpfs")], &PLAIN));
}

// Protects readers of narrow terminals: a longer line would be broken by the terminal, in the middle of words.
#[test]
fn no_line_is_longer_than_the_page() {
    for name in ["try-ext4", "try-tmpfs", "run-mail"] {
        for width in [40, 60, 80, 100, 200] {
            for text in [brief(name, width), full(name, width)] {
                // A table keeps its names and rates, however narrow the page is.
                let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
                assert!(longest <= width.max(60), "{name} at {width}: {longest} columns\n{text}");
            }
        }
    }
}

// Protects the page from a new phase of `plumb try` that the table does not show.
#[test]
fn every_phase_of_the_survey_is_on_its_page() {
    let scale = Scale::moderate(RunPlace::Directory);
    let mut result = result("try-ext4");
    for phase in try_workload(&scale).phase {
        let before = page(&result, &PageOptions::STORED, &PLAIN);
        let phases = result.phases.clone();
        result.phases.retain(|other| other.name != phase.name);
        assert_ne!(phases.len(), result.phases.len(), "the stored survey has no phase {}", phase.name);
        let after = page(&result, &PageOptions::STORED, &PLAIN);
        assert_ne!(before.replace(char::is_numeric, ""), after.replace(char::is_numeric, ""), "{}", phase.name);
        result.phases = phases;
    }
}

// Protects: colour adds escapes and nothing else, so that NO_COLOR, a pipe and a file get the same page.
#[test]
fn colour_changes_no_word() {
    let coloured = page(&result("try-ext4"), &PageOptions::STORED, &Style { width: 80, colour: Colour::Ansi });
    let coloured = plumb_text::visible(&coloured);
    let mut plain = String::new();
    let mut parts = coloured.split('\x1b');
    plain.push_str(parts.next().unwrap());
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    assert_eq!(plain, brief("try-ext4", 80));
}

/// The line that `try` prints on standard error before it measures. A result does not store it.
const ANNOUNCEMENT: &str = "/mnt/data: makes 1.11 GiB of test data in a new directory, writes at most 3.05 GiB in all, and removes it at \
                            the end. Nothing else is touched.";

/// The picture of the README, and the same page in the tutorial's text. `PLUMB_BLESS=1` writes both.
#[test]
fn the_readme_shows_the_current_page() {
    let style = Style { width: 80, colour: Colour::Ansi };
    let page_text = page(&result("try-ext4"), &PageOptions::STORED, &style);
    let screen = format!("$ plumb try /mnt/data\n{}", plumb_text::visible(&page_text));
    let picture = anstyle_svg::Term::new().render_svg(&screen);
    let shown = format!("$ plumb try /mnt/data\n{ANNOUNCEMENT}\n{}", brief("try-ext4", 80));
    let path = root().join("docs/images/try.svg");
    let tutorial_path = root().join("docs/tutorial.md");
    let tutorial = std::fs::read_to_string(&tutorial_path).unwrap();
    let start = tutorial.find("$ plumb try /mnt/data\n").expect("the tutorial shows `plumb try /mnt/data`");
    let end = start + tutorial[start..].find("```").expect("the block ends");
    if std::env::var_os("PLUMB_BLESS").is_some() {
        std::fs::write(&path, &picture).unwrap();
        std::fs::write(&tutorial_path, format!("{}{shown}{}", &tutorial[..start], &tutorial[end..])).unwrap();
        return;
    }
    let how = "PLUMB_BLESS=1 cargo test -p plumb-report --test pages writes it";
    assert_eq!(tutorial[start..end], shown, "the tutorial's `plumb try` is not the current page; {how}");
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == picture, "docs/images/try.svg is not current; {how}");
}
