//! `plumb clean`: removes what a killed run left behind.

use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;
use std::path::{Path, PathBuf};

/// Cleans the registered test directories, and those found below `paths`.
pub fn run(paths: &[PathBuf], common: &Common) -> Result<End, Stopped> {
    let test_dirs = session::test_dirs();
    let mut text = String::new();
    let mut end = End::Done;
    let scans: Vec<Option<&Path>> =
        if paths.is_empty() { vec![None] } else { paths.iter().map(|path| Some(path.as_path())).collect() };
    for scan in scans {
        let report = test_dirs.clean(scan).map_err(Stopped::io)?;
        for path in &report.removed {
            text.push_str(&format!("removed {}\n", path.display()));
        }
        for living in &report.living {
            let (path, pid) = (living.path.display(), living.pid);
            text.push_str(&format!("left {path}: process {pid} is still running `{}`\n", living.label));
        }
        for kept in &report.kept {
            text.push_str(&format!("could not remove {}: {}\n", kept.path.display(), kept.reason));
            end = End::Io;
        }
    }
    // Opening the store marks runs whose process is gone.
    session::store(common)?;
    if text.is_empty() {
        text.push_str("nothing was left behind\n");
    }
    session::print(&text)?;
    Ok(end)
}
