//! Actions between phases: sync, drop caches, pause.

use plumb_engine::signals::StopFlag;
use plumb_tools_app::elbencho::lower::{Between, PhaseKind};
use plumb_tools_run::error::DialectError;
use plumb_tools_run::simulated;
use std::fs::File;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

pub(crate) struct BetweenStep {
    pub kind: PhaseKind,
    /// Duration, µs.
    pub us: u64,
}

/// Does the requested actions, in order.
///
/// # Errors
/// An action failed. The message contains a hint.
pub(super) fn steps(between: Between, paths: &[String]) -> Result<Vec<BetweenStep>, DialectError> {
    let mut done = Vec::new();
    if are_simulated(paths) {
        // Simulated devices have nothing to write back or to drop, so the actions take no time.
        let asked = [(between.sync, PhaseKind::Sync), (between.drop_caches, PhaseKind::DropCache)];
        return Ok(asked
            .into_iter()
            .filter(|(asked, _)| *asked)
            .map(|(_, kind)| BetweenStep { kind, us: 1 })
            .collect());
    }
    if between.sync {
        done.push(timed(PhaseKind::Sync, || paths.iter().try_for_each(|path| sync(path)))?);
    }
    if between.drop_caches {
        done.push(timed(PhaseKind::DropCache, drop_caches)?);
    }
    Ok(done)
}

/// Returns `true` if the paths are simulated devices. These are never mixed with other paths.
pub(crate) fn are_simulated(paths: &[String]) -> bool {
    paths.iter().any(|path| simulated::is_named(path))
}

/// Sleeps for the requested delay, or until a signal arrives.
pub(super) fn rest(between: Between, paths: &[String], stop: StopFlag) {
    if between.delay_s > 0 && !are_simulated(paths) {
        stop.sleep(Duration::from_secs(between.delay_s));
    }
}

fn timed(kind: PhaseKind, work: impl FnOnce() -> Result<(), DialectError>) -> Result<BetweenStep, DialectError> {
    let began = Instant::now();
    work()?;
    Ok(BetweenStep { kind, us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX) })
}

/// Calls `syncfs` on the file system of a path, or of its closest existing parent.
fn sync(path: &str) -> Result<(), DialectError> {
    let mut place = std::path::Path::new(path);
    while !place.exists() {
        place = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
    }
    let synced = File::open(place).and_then(|file| Ok(plumb_engine::sync_file_system(file.as_fd())?));
    synced.map_err(DialectError::file(format!("--sync: {}", place.display())))
}

/// Drops all caches. Source: proc_sys_vm(5), `drop_caches`: 1 is the page cache, 2 are dentries and inodes.
fn drop_caches() -> Result<(), DialectError> {
    plumb_engine::guard::write_setting("/proc/sys/vm/drop_caches", "3").map_err(DialectError::DropCaches)
}
