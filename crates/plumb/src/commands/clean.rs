//! `plumb clean`: removes leftovers of killed runs.

use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_report::run::short_id;
use std::path::{Path, PathBuf};

/// Cleans the registered test directories and those found below `paths`.
pub(crate) fn run(paths: &[PathBuf], common: &Common) -> Result<End, Stopped> {
    let test_dirs = session::test_dirs()?;
    let mut lines: Vec<String> = Vec::new();
    let mut end = End::Done;
    let scans: Vec<Option<&Path>> =
        if paths.is_empty() { vec![None] } else { paths.iter().map(|path| Some(path.as_path())).collect() };
    for scan in scans {
        let report = test_dirs.clean(scan).map_err(Stopped::io)?;
        for path in &report.removed {
            lines.push(format!("removed {}", path.display()));
        }
        for living in &report.living {
            let (path, pid) = (living.path.display(), living.pid);
            lines.push(format!("kept {path}: process {pid} is still running `{}`", living.label));
        }
        for kept in &report.kept {
            lines.push(format!("could not remove {}: {}", kept.path.display(), kept.reason));
            end = End::Io;
        }
    }
    for run in session::recovered_store(common)?.recovered {
        let (id, seconds) = (short_id(&run.id), run.intervals);
        lines.push(format!("run {id} was killed; the {seconds} s that it measured are stored: plumb show {id}"));
    }
    let surroundings = session::surroundings(std::env::current_exe().map_err(Stopped::io)?)?;
    for path in plumb_lab::remove_leftovers(&surroundings) {
        lines.push(format!("removed {}", path.display()));
    }
    let mut taken_down: Vec<String> = Vec::new();
    match plumb_lab::recover(&surroundings.journals(), &mut |line| taken_down.push(line.to_owned())) {
        Ok(recovered) => {
            for found in recovered.iter().filter(|found| found.undone > 0) {
                lines.push(format!("took down what process {} left of {}", found.pid, found.tag));
            }
        }
        Err(error) => {
            lines.append(&mut taken_down);
            lines.push(error.to_string());
            end = End::Io;
        }
    }
    // Each scan reports the registered directories again; print each line once.
    let mut printed: Vec<&str> = Vec::new();
    for line in &lines {
        if !printed.contains(&line.as_str()) {
            printed.push(line);
        }
    }
    if printed.is_empty() {
        printed.push("nothing to clean");
    }
    output::print(&format!("{}\n", printed.join("\n")));
    Ok(end)
}
