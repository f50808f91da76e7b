//! `plumb clean`: removes what a killed run left behind.

use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;
use std::path::PathBuf;

/// Cleans the registered test directories, and those found below `paths`.
pub fn run(paths: &[PathBuf], common: &Common) -> Result<End, Stopped> {
    let report = session::test_dirs().clean(paths).map_err(Stopped::io)?;
    // Opening the store marks runs whose process is gone.
    session::store(common)?;
    let mut text = String::new();
    for path in &report.removed {
        text.push_str(&format!("removed {}\n", path.display()));
    }
    for living in &report.living {
        text.push_str(&format!("left {}: its run is still going on\n", living.display()));
    }
    for failure in &report.failed {
        text.push_str(&format!("could not remove {failure}\n"));
    }
    if text.is_empty() {
        text.push_str("nothing was left behind\n");
    }
    session::print(&text)?;
    Ok(if report.failed.is_empty() { End::Done } else { End::Io })
}
