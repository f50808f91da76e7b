//! mdtest's and IOR's command lines, on threads of Plumb and on processes of the real ones.

use super::Options;
use super::plumb::Plumb;
use super::rounds::{Bar, Row, Speed, rate, table};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Minimum ratio of Plumb's rate to the real tool's.
const BAR: Bar = Bar::AtLeast(1.0);
/// Total files of all ranks.
const FILES: u32 = 24_000;
const RANKS: [u32; 3] = [1, 4, 16];
/// The rows of mdtest's summary.
const OPERATIONS: [&str; 4] = ["File creation", "File stat", "File read", "File removal"];
/// The rows of IOR's table.
const ACCESSES: [&str; 2] = ["write", "read"];

/// Runs `cargo xtask bench trees`. It needs Open MPI's `mpirun`, and `mdtest` and `ior` on the path or in the directory
/// of `--peers`.
pub(crate) fn trees(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let store = tempfile::tempdir()?;
    let mut rows = Vec::new();
    for place in [Path::new("/dev/shm"), &xtask::tools::target_directory()] {
        for ranks in RANKS {
            let case = format!("mdtest, {ranks} ranks, {}", place.display());
            let words = format!("-n {} -F", FILES / ranks);
            if options.wants(&case) {
                rows.extend(compare(
                    &plumb,
                    options,
                    (&case, place, store.path()),
                    ("mdtest", ranks, &words, &OPERATIONS),
                )?);
            }
        }
    }
    for ranks in [1, 2] {
        let case = format!("ior, {ranks} ranks, /dev/shm");
        if options.wants(&case) {
            let words = "-F -w -r -t 1m -b 512m -o f";
            let tool = ("ior", ranks, words, ACCESSES.as_slice());
            rows.extend(compare(&plumb, options, (&case, Path::new("/dev/shm"), store.path()), tool)?);
        }
    }
    table(&rows);
    println!();
    rows.iter().filter_map(Row::sentence).for_each(|sentence| println!("{sentence}"));
    Ok(())
}

/// Runs one command line in both, in turn, each in a separate directory that is empty at the start.
fn compare(
    plumb: &Plumb,
    options: &Options,
    (case, place, store): (&str, &Path, &Path),
    (tool, ranks, words, lines): (&str, u32, &str, &[&str]),
) -> Result<Vec<Row>> {
    println!("\n{case}");
    let ours = || {
        let mut command = plumb.as_tool(tool);
        command.args(["--plumb-ranks", &ranks.to_string()]).env("XDG_DATA_HOME", store);
        rates(command, place, words, lines)
    };
    let theirs = || {
        let mut command = Command::new("mpirun");
        // Open MPI's options for more ranks than processors, also as root.
        command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]).arg(options.peer(tool));
        rates(command, place, words, lines)
    };
    let (mut own, mut real) = (Vec::new(), Vec::new());
    for round in 0..options.rounds() {
        if round % 2 == 0 {
            own.push(ours()?);
            real.push(theirs()?);
        } else {
            real.push(theirs()?);
            own.push(ours()?);
        }
        let text = |all: &[f64]| all.iter().map(|ops| rate(*ops)).collect::<Vec<_>>().join("  ");
        println!("  {}  plumb {}   {tool} {}", round + 1, text(&own[round]), text(&real[round]));
    }
    // The tools do not report CPU time.
    let series = |all: &[Vec<f64>], line: usize| -> Vec<Speed> {
        all.iter().map(|rates| Speed { ops_per_second: rates[line], cpu_ns: f64::NAN }).collect()
    };
    let row = |(number, line): (usize, &&str)| {
        Row::new(&format!("{case}: {line}"), tool, &series(&own, number), &series(&real, number), BAR)
    };
    Ok(lines.iter().enumerate().map(row).collect())
}

/// Returns the first number after each of these labels at the start of a line: mdtest's maximum, IOR's bandwidth.
fn rates(mut command: Command, place: &Path, words: &str, lines: &[&str]) -> Result<Vec<f64>> {
    let folder = tempfile::tempdir_in(place).with_context(|| format!("a directory in {}", place.display()))?;
    command.args(words.split(' ')).current_dir(folder.path());
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let number = |line: &&str| {
        let behind = text.lines().find_map(|row| row.trim_start().strip_prefix(line)?.strip_prefix(' '));
        let first = behind.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        first.with_context(|| format!("{command:?} says nothing of `{line}`:\n{text}"))
    };
    lines.iter().map(number).collect()
}
