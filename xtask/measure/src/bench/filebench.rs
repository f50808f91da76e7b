//! Runs Filebench's varmail, fileserver and webserver on a tmpfs: one script in both, in turn.

use super::Options;
use super::plumb::Plumb;
use super::rounds::{Bar, Peer, Row, Speed, alternate, table};
use crate::mount::Tmpfs;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;
use xtask::tools::workspace;

/// Minimum ratio of Plumb's rate to the real tool's.
const BAR: Bar = Bar::AtLeast(1.3);
/// Seconds per run: the real tool's clock counts whole seconds.
const SECONDS: u32 = 4;
const ROUNDS: usize = 5;
/// Filebench ends varmail early if one thread's deletions leave another nothing to open.
const TRIES: u32 = 5;
/// Space for all files of a script.
const MEMORY_BYTES: u64 = 4 << 30;
/// Scripts included in Plumb, with changes: a run must take longer than its layout, and with varmail's own 1,000 files
/// Filebench ends nearly every run on a fast machine.
const SCRIPTS: [(&str, &str); 3] = [("varmail", "nfiles=10000"), ("fileserver", "nfiles=4000"), ("webserver", "")];

/// Runs `cargo xtask bench filebench`. It needs `setarch`, and `filebench` on the path or in the directory of
/// `--peers`.
pub(crate) fn filebench(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    let folder = tempfile::tempdir_in(xtask::tools::target_directory())?;
    let memory = Tmpfs::below(folder.path(), MEMORY_BYTES)?;
    let place = memory.as_ref().map_or(Path::new("/dev/shm"), Tmpfs::place);
    let mut rows = Vec::new();
    for (name, less) in SCRIPTS.into_iter().filter(|(name, _)| options.wants(name)) {
        let script = folder.path().join(format!("{name}.f"));
        std::fs::write(&script, here(name, less, place)?)?;
        let ours = || {
            let mut command = plumb.as_tool("filebench");
            command.env("XDG_DATA_HOME", folder.path());
            speed(command, &script)
        };
        let theirs = || {
            // It crashes with address randomisation.
            let mut command = Command::new("setarch");
            command.arg("-R").arg(options.peer("filebench"));
            speed(command, &script)
        };
        let peer = Peer { name: "filebench", at_least: BAR, run: Box::new(theirs) };
        rows.extend(alternate(name, options.rounds_or(ROUNDS), ours, vec![peer])?);
    }
    table(&rows);
    println!();
    rows.iter().filter_map(Row::sentence).for_each(|sentence| println!("{sentence}"));
    Ok(())
}

/// Returns the script of a personality, with its files in this place.
fn here(name: &str, less: &str, place: &Path) -> Result<String> {
    let path = workspace().join(format!("crates/tools-app/src/filebench/personalities/{name}.f"));
    let script = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let place = place.to_str().context("the place has no plain name")?;
    let mut settings = vec![format!("dir={place}"), format!("runtime={SECONDS}")];
    settings.extend((!less.is_empty()).then(|| less.to_owned()));
    let line = |line: &str| {
        let name = line.strip_prefix("set $").and_then(|set| set.split('=').next());
        let own = name.and_then(|name| settings.iter().find(|own| own.split('=').next() == Some(name)));
        own.map_or_else(|| format!("{line}\n"), |own| format!("set ${own}\n"))
    };
    Ok(script.lines().map(line).collect())
}

/// Returns ops per second, as both print them.
fn speed(mut command: Command, script: &Path) -> Result<Speed> {
    command.arg("-f").arg(script);
    let mut output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let mut tries = 1;
    while tries < TRIES && String::from_utf8_lossy(&output.stderr).contains("Run stopped early") {
        println!("  {command:?} stopped early and measured nothing; once more");
        output = command.output()?;
        tries += 1;
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    match ops_per_second(&printed) {
        Some(ops_per_second) if ops_per_second > 0.0 => Ok(Speed { ops_per_second, cpu_ns: f64::NAN }),
        _ => bail!("{command:?} measured nothing:\n{printed}{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Parses `9.6: IO Summary: 22354 ops 22331.700 ops/s …`.
fn ops_per_second(printed: &str) -> Option<f64> {
    let summary = printed.lines().find_map(|line| line.split_once("IO Summary:"))?.1;
    summary.split_once(" ops ")?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_summary_is_read() {
        let printed = "4.0: Running...\n9.6: IO Summary: 22354 ops 22331.700 ops/s 0/4467 rd/wr  17.5mb/s 0.177ms/op\n";
        assert_eq!(ops_per_second(printed), Some(22331.7));
        assert_eq!(ops_per_second("9.6: Run stopped early\n"), None);
    }

    #[test]
    fn a_script_gets_its_place_and_time() {
        let script = here("fileserver", "nfiles=4000", Path::new("/mnt/t")).unwrap();
        for line in ["set $dir=/mnt/t", "set $runtime=4", "set $nfiles=4000", "set $nthreads=50", "run $runtime"] {
            assert!(script.lines().any(|other| other == line), "{line}: {script}");
        }
        assert!(!script.contains("/tmp\n"), "{script}");
    }
}
