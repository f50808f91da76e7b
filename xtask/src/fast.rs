//! The fast tier: tests to run every few minutes during a change. It needs no root, no other tool and no virtual
//! machine.
//!
//! It runs the unit tests of every crate and the quick programs in `tests/`, and its last lines list what it left out.
//! The same tables select the tests of `cargo xtask check CRATE` and of nextest's profile `fast`: a test compares
//! `.config/nextest.toml`.

use crate::suites::{self, Outcome, Ran, Suite, Tier, Which};
use crate::tools::{cargo, workspace};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Programs in a crate's `tests/` that the fast tier runs.
const QUICK: &[Which] = &[
    ("crates/chart", "gallery"),
    ("crates/engine", "door"),
    ("crates/engine", "memory"),
    ("crates/plumb", "cli"),
    ("crates/report", "pages"),
    ("crates/serve", "api"),
    ("crates/serve", "hostile"),
    ("crates/serve", "pages"),
    ("crates/store", "crash"),
    ("crates/store", "import"),
    ("crates/store", "over_time"),
    ("crates/store", "queue"),
    ("crates/store", "search"),
    ("crates/store", "shared"),
    ("crates/store", "store"),
    ("crates/study", "simulated"),
    ("crates/trace", "capture"),
    ("crates/trace", "formats"),
    ("crates/trace", "own"),
    ("crates/trace", "recordings"),
    ("crates/workload-text", "former"),
    ("crates/workload-text", "repeat"),
];

/// Programs that it leaves out, with the reasons.
const LEFT_OUT: &[(Which, &str)] = &[
    (("crates/lab", "recipes"), "root: file systems, arrays and volumes on loop devices"),
    (("crates/plumb", "lab"), "virtual machines and ssh"),
    (("crates/plumb", "storage"), "root, and nothing else may run: measures loop devices"),
    (("crates/serve", "outside"), "a browser and random requests"),
];

/// Slow tests of a program, with the reason.
struct Slow {
    program: Which,
    /// Prefixes of the tests' names.
    names: &'static [&'static str],
    reason: &'static str,
}

const CLI: Which = ("crates/plumb", "cli");
const DOOR: Which = ("crates/engine", "door");
const ENGINE: Which = ("crates/engine", "plumb_engine");

/// Tests that took most of the time of `cli` (207 of 646 tests took 2,870 of 3,800 thread seconds on a loaded machine, 2026-11-29).
const SLOW: &[Slow] = &[
    Slow { program: CLI, names: &["compare::", "gate::", "noise::"], reason: "many simulated runs" },
    Slow { program: CLI, names: &["study_conduct::", "study_question::", "stored_runs::"], reason: "whole studies" },
    Slow {
        program: CLI,
        names: &["agents", "elbencho_hosts::", "elbencho_real::", "net_hosts::"],
        reason: "services on several hosts",
    },
    Slow { program: CLI, names: &["mpi", "replay_ranks::"], reason: "ranks of MPI" },
    Slow { program: CLI, names: &["iperf2::", "iperf3::", "netperf::"], reason: "servers and clients" },
    Slow {
        program: CLI,
        names: &["documents::every_command_that_is_shown"],
        reason: "every command that documents show",
    },
    Slow {
        program: CLI,
        names: &["drawn::", "bonnie::", "dd::calls_", "dd::conversions_", "io500::", "flushes::"],
        reason: "random command lines, and calls compared with the tools'",
    },
    Slow {
        program: CLI,
        names: &[
            "ends::names_",
            "filebench::personalities_",
            "fit_for::every_",
            "ignored_signals::",
            "import::what_",
            "import::every_printed_",
            "examples::the_r_",
        ],
        reason: "every tool, personality or use in one test",
    },
    Slow {
        program: CLI,
        names: &[
            "live_export::",
            "made_files::",
            "output::a_run_ends_",
            "outputs::no_output_",
            "refused::a_file_",
            "refused::more_",
            "refused::what_",
        ],
        reason: "long runs, large files",
    },
    Slow {
        program: CLI,
        names: &[
            "dialect::fio_itself_",
            "fio_verify::",
            "getc_putc::",
            "iozone::the_calls_",
            "modes::what_is_made_",
            "postmark::calls_",
            "streams::any_mix_",
            "unstored::with_a_locked_",
            "zcav::",
        ],
        reason: "real tools next to ours, and waits for a locked database",
    },
    Slow { program: CLI, names: &["python::the_"], reason: "several Pythons, a type checker and a notebook" },
    Slow { program: CLI, names: &["served_live::"], reason: "a browser" },
    Slow { program: CLI, names: &["share", "both_stores::"], reason: "real PostgreSQL servers" },
    Slow { program: ENGINE, names: &["source::fio::tests::fio::"], reason: "the ops of a real fio" },
    Slow {
        program: DOOR,
        names: &[
            "backends::flushes_come_",
            "flows::processes_leave_",
            "pacing::a_shared_rate_",
            "scripts::what_one_way_",
            "seeds::the_same_",
            "series::ops_in_flight_",
            "stopping::while_a_phase_",
        ],
        reason: "many runs of a second and more",
    },
    // It holds the lock of tests that fork, so that the others wait for it.
    Slow { program: DOOR, names: &["jobs::many_files_"], reason: "thousands of files" },
];

/// Returns the reason for leaving out a test; `None` for a quick one.
fn why_slow(suite: &Suite, test: &str) -> Option<&'static str> {
    let slow = SLOW.iter().filter(|slow| suite.is(slow.program));
    slow.flat_map(|slow| slow.names.iter().map(|names| (*names, slow.reason)))
        .find(|(names, _)| test.starts_with(names))
        .map(|(_, reason)| reason)
}

/// Tests of one program that a run left out.
struct Omitted {
    suite: String,
    tests: usize,
    reason: String,
}

/// Runs the tests of a selection.
///
/// # Errors
/// They do not compile, or some failed.
pub fn run(selection: &Selection) -> Result<()> {
    let begun = Instant::now();
    let suites = suites::built(Tier::Fast, &selection.build_arguments()?)?;
    println!("built in {}", seconds(begun));
    let environment = suites::environment(Tier::Fast);
    let mut outcome = Outcome::new(&environment);
    let (mut omitted, mut skipped) = (Vec::new(), BTreeMap::new());
    let suites: Vec<Suite> =
        suites.into_iter().map(|suite| restricted(suite, selection.filters, &mut omitted)).collect();
    for suite in &suites {
        let started = Instant::now();
        let ran = suite.run(&environment, false)?;
        report(suite, &ran, started, !selection.filters.is_empty());
        for reason in skip_reasons(&ran) {
            *skipped.entry(reason).or_insert(0) += 1;
        }
        outcome.note(suite, &ran)?;
    }
    if selection.filters.is_empty() {
        print_left_out(&omitted, &skipped, selection);
    }
    outcome.finish(&format!("all fast tests passed, {}", seconds(begun)))
}

/// Crates and tests to run.
pub struct Selection<'a> {
    /// Folder of a crate; `None` for all crates.
    pub folder: Option<&'a str>,
    /// Parts of test names; empty for all tests.
    pub filters: &'a [&'a str],
}

impl Selection<'_> {
    /// Returns the arguments of `cargo test` that build only the selection's programs: linking one takes seconds.
    fn build_arguments(&self) -> Result<Vec<String>> {
        let mut arguments = match self.folder {
            None => vec!["--workspace".to_owned(), "--lib".to_owned(), "--bins".to_owned()],
            Some(folder) => {
                let is_half = folder.ends_with("/run");
                let has_library = is_half || workspace().join(folder).join("src/lib.rs").exists();
                let kind = if has_library { "--lib" } else { "--bins" };
                vec!["--package".to_owned(), package(folder)?, kind.to_owned()]
            }
        };
        for (folder, program) in QUICK {
            if self.folder.is_none_or(|selected| selected == *folder) {
                arguments.extend(["--test".to_owned(), (*program).to_owned()]);
            }
        }
        Ok(arguments)
    }
}

/// Gives a program the arguments that skip its slow tests, and records them.
fn restricted(mut suite: Suite, filters: &[&str], omitted: &mut Vec<Omitted>) -> Suite {
    // The printed output contains the reason why a test skipped itself.
    suite.arguments.push("--show-output".to_owned());
    if !filters.is_empty() {
        suite.arguments.extend(filters.iter().map(|filter| (*filter).to_owned()));
        return suite;
    }
    if !SLOW.iter().any(|slow| suite.is(slow.program)) {
        return suite;
    }
    let mut of_a_reason: BTreeMap<&str, usize> = BTreeMap::new();
    suite.arguments.push("--exact".to_owned());
    for test in suite.listed().unwrap_or_default() {
        if let Some(reason) = why_slow(&suite, &test) {
            *of_a_reason.entry(reason).or_default() += 1;
            suite.arguments.extend(["--skip".to_owned(), test]);
        }
    }
    omitted.extend(of_a_reason.into_iter().map(|(reason, tests)| Omitted {
        suite: suite.title(),
        tests,
        reason: reason.to_owned(),
    }));
    suite
}

/// Prints a line for a program, unless a filter matched none of its tests.
fn report(suite: &Suite, ran: &Ran, started: Instant, is_filtered: bool) {
    let passed = passed(&ran.text);
    if is_filtered && passed == 0 && ran.status.success() {
        return;
    }
    let verdict = if ran.status.success() { "passed" } else { "passed, and others FAILED" };
    println!("{:36} {passed:5} {verdict}, {}", suite.title(), seconds(started));
}

/// Returns the number of tests that passed, from libtest's last line.
fn passed(text: &str) -> usize {
    let line = text.lines().rev().find(|line| line.starts_with("test result: "));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    let at = words.iter().position(|word| word.starts_with("passed"));
    at.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
}

/// Returns the reasons that tests printed when they skipped themselves, one for each test.
fn skip_reasons(ran: &Ran) -> Vec<String> {
    let lines = ran.text.lines().chain(std::str::from_utf8(&ran.errors).unwrap_or_default().lines());
    let is_reason = |line: &&str| line.to_ascii_lowercase().starts_with("skipped: ");
    lines.filter(is_reason).map(|line| line["skipped: ".len()..].to_owned()).collect()
}

fn print_left_out(omitted: &[Omitted], skipped: &BTreeMap<String, usize>, selection: &Selection) {
    println!("\nleft out, which `cargo xtask test` runs:");
    for Omitted { suite, tests, reason } in omitted {
        println!("  {tests} tests of {suite}: {reason}");
    }
    for ((folder, program), reason) in LEFT_OUT {
        if selection.folder.is_none_or(|selected| selected == *folder) {
            println!("  {program} in {folder}: {reason}");
        }
    }
    println!("  examples in docstrings");
    if !skipped.is_empty() {
        println!("skipped themselves; `cargo xtask test --install`, as root, provides what they need:");
    }
    for (reason, tests) in skipped {
        println!("  {tests} × {reason}");
    }
}

/// Checks one crate: format, lints, and its tests in the fast tier.
///
/// # Errors
///
/// The crate does not exist, or one of the three fails.
pub fn check(name: &str, filters: &[&str]) -> Result<()> {
    let folder = folder(name)?;
    let package = package(&folder)?;
    let begun = Instant::now();
    crate::tools::run(cargo().args(["fmt", "--check", "--package", &package]))?;
    println!("format: {}", seconds(begun));
    let begun = Instant::now();
    crate::tools::run(
        cargo()
            .args(["clippy", "--package", &package, "--all-targets", "--locked", "--quiet"])
            .args(["--", "-D", "warnings"]),
    )?;
    println!("lints: {}", seconds(begun));
    run(&Selection { folder: Some(&folder), filters })
}

/// Returns the folder of a crate, given its folder, package or path.
fn folder(name: &str) -> Result<String> {
    let folders = folders()?;
    let bare = name.trim_end_matches('/');
    for folder in &folders {
        let package = package(folder)?;
        let short = package.strip_prefix("plumb-").unwrap_or(&package);
        // The package of the program has another name than its folder.
        let last = folder.strip_prefix("crates/").unwrap_or(folder);
        if [folder, short, last, &package].contains(&bare) {
            return Ok(folder.clone());
        }
    }
    let names: Vec<String> = folders.iter().filter_map(|folder| package(folder).ok()).collect();
    bail!("unknown crate `{name}`; crates are: {}", names.join(" "))
}

/// Returns the folders of the workspace's crates, relative to the root of the workspace.
fn folders() -> Result<Vec<String>> {
    let mut folders = vec!["xtask".to_owned(), "xtask/measure".to_owned()];
    for entry in std::fs::read_dir(workspace().join("crates")).context("cannot list crates")? {
        // The half of a tool family that runs is in the folder of the family.
        let family = entry?.path();
        for path in [family.join("run"), family] {
            if path.join("Cargo.toml").exists() {
                folders.extend(path.strip_prefix(workspace()).ok().and_then(Path::to_str).map(str::to_owned));
            }
        }
    }
    folders.sort();
    Ok(folders)
}

/// Returns the package name of a folder.
fn package(folder: &str) -> Result<String> {
    let path = workspace().join(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    match name {
        Some(name) => Ok(name.to_owned()),
        None => bail!("{} names no package", path.display()),
    }
}

fn seconds(since: Instant) -> String {
    format!("{:.1} s", since.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns nextest's name of a program: unit tests have that of their package.
    fn binary_id((folder, program): &Which) -> String {
        let package = package(folder).unwrap();
        if package.replace('-', "_") == *program { package } else { format!("{package}::{program}") }
    }

    /// Returns nextest's filter for the slow tests of a program.
    fn slow_filter(program: Which) -> String {
        let slow = SLOW.iter().filter(|slow| slow.program == program);
        let names: Vec<&str> = slow.flat_map(|slow| slow.names).copied().collect();
        format!("binary_id({}) & test(/^({})/)", binary_id(&program), names.join("|"))
    }

    // Protects: `cargo nextest run --profile fast` and `cargo xtask test --fast` run the same tests.
    #[test]
    fn nextest_leaves_out_the_same_tests() {
        let text = std::fs::read_to_string(workspace().join(".config/nextest.toml")).unwrap();
        let programs: Vec<String> =
            LEFT_OUT.iter().map(|(which, _)| format!("binary_id({})", binary_id(which))).collect();
        let slow = [CLI, DOOR, ENGINE].map(|program| format!("({})", slow_filter(program))).join(" + ");
        let fast = format!("default-filter = 'not ({} + {slow})'", programs.join(" + "));
        assert!(text.contains(&fast), "profile.fast of .config/nextest.toml needs\n{fast}");
        let slow = format!("filter = '{slow}'");
        assert!(text.contains(&slow), "the override of slow tests in .config/nextest.toml needs\n{slow}");
    }

    // Protects: a new program in a `tests/` folder is in the fast tier, or in the table with a reason.
    #[test]
    fn every_program_is_quick_or_left_out() {
        for folder in folders().unwrap() {
            let Ok(entries) = std::fs::read_dir(workspace().join(&folder).join("tests")) else { continue };
            for path in entries.map(|entry| entry.unwrap().path()) {
                let is_program =
                    path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").exists();
                let name = path.file_stem().unwrap().to_str().unwrap();
                let which = (folder.as_str(), name);
                let times = QUICK
                    .iter()
                    .chain(LEFT_OUT.iter().map(|(which, _)| which))
                    .filter(|known| **known == which)
                    .count();
                assert_eq!(
                    times,
                    usize::from(is_program),
                    "{name} in {folder}: QUICK or LEFT_OUT of xtask/src/fast.rs"
                );
            }
        }
    }

    // Protects: a crate is found by each of its names, and a wrong name is answered with the right ones.
    #[test]
    fn crates_have_several_names() {
        for name in ["engine", "plumb-engine", "crates/engine", "crates/engine/"] {
            assert_eq!(folder(name).unwrap(), "crates/engine", "{name}");
        }
        assert_eq!(folder("plumb").unwrap(), "crates/plumb");
        assert_eq!(folder("plumb-storage").unwrap(), "crates/plumb");
        assert_eq!(folder("tools-fio-run").unwrap(), "crates/tools-fio/run");
        assert_eq!((folder("xtask").unwrap().as_str(), package("xtask").unwrap().as_str()), ("xtask", "xtask"));
        let error = folder("enginee").unwrap_err().to_string();
        assert!(error.starts_with("unknown crate `enginee`") && error.contains(" plumb-engine "), "{error}");
    }

    // Protects: the last lines count passed tests and give the reasons why tests skipped themselves.
    #[test]
    fn reports_of_libtest_are_read() {
        use std::os::unix::process::ExitStatusExt;
        let text = "test a ... ok\n\nsuccesses:\n\n---- a stdout ----\nSKIPPED: needs root\n\n\nsuccesses:\n    a\n\n\
            test result: ok. 41 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s\n";
        let ran = Ran { status: std::process::ExitStatus::from_raw(0), text: text.to_owned(), errors: Vec::new() };
        assert_eq!(passed(&ran.text), 41);
        assert_eq!(skip_reasons(&ran), ["needs root"]);
        assert_eq!(passed("killed"), 0);
    }

    // Protects: tests are left out by the prefix of their names, not by any part, and only in their program.
    #[test]
    fn slow_tests_are_known_by_the_beginning_of_their_names() {
        let cli = Suite::at(&workspace().join(CLI.0), CLI.1);
        assert_eq!(why_slow(&cli, "compare::one_seed_gives_one_result"), Some("many simulated runs"));
        assert_eq!(why_slow(&cli, "report::compare::of_a_page"), None);
        assert_eq!(why_slow(&Suite::at(&workspace().join(DOOR.0), DOOR.1), "compare::one_seed"), None);
    }
}
