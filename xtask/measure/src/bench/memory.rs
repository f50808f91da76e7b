//! Checks that Plumb's memory is the same at two file sizes and two numbers of ops.

use super::plumb::Plumb;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

const SMALL: &str = "1GiB";
const LARGE: &str = "64TiB";

/// Interval for reading the peak; the last reading before the end counts. Plumb reaches its peak before it prints.
const POLL: Duration = Duration::from_millis(5);

/// Allowed growth: the peak of the same run varies by this much.
const SLACK_KIB: u64 = 1024;

struct Case {
    what: &'static str,
    target: fn(&str) -> String,
    few_ops: u64,
    many_ops: u64,
}

const CASES: &[Case] = &[
    Case {
        what: "sparse file on tmpfs",
        target: |size| format!("[target.t.file]\npath = \"sparse\"\nsize = \"{size}\"\nprepare = \"sparse\"\n"),
        few_ops: 100_000,
        many_ops: 2_000_000,
    },
    Case {
        what: "null",
        target: |size| format!("[target.t.null]\nsize = \"{size}\"\n"),
        few_ops: 1_000_000,
        many_ops: 100_000_000,
    },
];

/// Runs a random permutation of 4 KiB reads over 1 GiB and over 64 TiB, of few ops and of many, and prints the peaks.
pub(super) fn show(plumb: &Plumb, folder: &Path) -> Result<()> {
    println!("\npeak memory of plumb, random permutation of 4 KiB reads:");
    println!("{:22}  {:>11}  {:>9}  {:>9}  growth", "target", "ops", SMALL, LARGE);
    for case in CASES {
        let mut first = None;
        for ops in [case.few_ops, case.many_ops] {
            let small = peak_kib(plumb, folder, &workload(case, SMALL, ops))?;
            let large = peak_kib(plumb, folder, &workload(case, LARGE, ops))?;
            let base = *first.get_or_insert(small);
            let grown = small.max(large).saturating_sub(base);
            let word = if grown <= SLACK_KIB { "none" } else { "GROWN" };
            println!("{:22}  {ops:>11}  {small:>5} KiB  {large:>5} KiB  {word}", case.what);
        }
    }
    Ok(())
}

fn workload(case: &Case, size: &str, ops: u64) -> String {
    format!(
        "name = \"memory\"\n{}[[phase]]\nname = \"p\"\n[[phase.workers]]\ntarget = \"t\"\n\
         work.blocks.pattern = \"permutation\"\nwork.blocks.block = \"4KiB\"\nlimit.ops = {ops}\n",
        (case.target)(size)
    )
}

fn peak_kib(plumb: &Plumb, folder: &Path, workload: &str) -> Result<u64> {
    let path = folder.join("memory.toml");
    std::fs::write(&path, workload)?;
    let mut child = plumb.command(&path, folder).stdout(Stdio::null()).spawn()?;
    let status = Path::new("/proc").join(child.id().to_string()).join("status");
    let mut peak = None;
    loop {
        // A process that has ended has no memory left to read, only a status.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        peak = text.lines().find_map(peak_of).or(peak);
        if let Some(ended) = child.try_wait()? {
            if !matches!(ended.code(), Some(0 | 3)) {
                bail!("plumb run: {ended}; the workload was\n{workload}");
            }
            return peak.context("the run was too short to see its memory");
        }
        std::thread::sleep(POLL);
    }
}

/// Parses a line such as `VmHWM:     12345 kB`, proc(5).
fn peak_of(line: &str) -> Option<u64> {
    line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse().ok()
}
