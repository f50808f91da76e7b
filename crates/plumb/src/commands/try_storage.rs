//! `plumb try`: what a storage can do.

use super::present;
use super::run::command_line;
use crate::args::{Common, TryArguments};
use crate::exit::{End, Stopped};
use crate::progress::LiveLine;
use crate::session;
use plumb_engine::sim::SimRun;
use plumb_report::format;
use plumb_study::{Place, RunRequest};
use plumb_workload::named::{self, Scale};
use plumb_workload::{Bytes, Nanos};
use std::path::Path;

/// Size of the test file where there is room.
const FILE_BYTES: u64 = 1 << 30;

/// Most of the survey's small files are of this size or less.
const SMALL_FILE_BYTES: u64 = 16 << 10;

/// Never more than this share of what is free.
const FREE_SHARE: f64 = 0.10;

/// The largest test file that is safe here, at most `wanted`.
pub fn safe_file_bytes(base: &Path, wanted: u64) -> Result<u64, Stopped> {
    const BLOCK: u64 = 1 << 20;
    let free = plumb_study::place::free_bytes(base)
        .map_err(|reason| Stopped::io(format!("cannot see how much is free on {}: {reason}", base.display())))?;
    let most = (free as f64 * FREE_SHARE) as u64;
    let bytes = wanted.min(most) / BLOCK * BLOCK;
    if bytes < 16 * BLOCK {
        return Err(Stopped::usage(format!(
            "{} has {} free; a tenth of that is too little to measure with: name a path with at least 160 MiB free",
            base.display(),
            format::bytes_iec(free as f64)
        )));
    }
    Ok(bytes)
}

/// Measures a directory's storage.
pub fn run(arguments: &TryArguments, common: &Common) -> Result<End, Stopped> {
    let place = Place::parse(&arguments.path)?;
    let wanted = arguments.size.unwrap_or(Bytes(FILE_BYTES)).0;
    let file_bytes = match &place {
        Place::Directory(path) => safe_file_bytes(path, wanted)?,
        Place::Sim(_) => wanted,
    };
    let Nanos(time_ns) = arguments.time;
    let scale = Scale { file_bytes, time_ns, seed: arguments.seed, ..Scale::moderate(place.for_named()) };
    let workload = named::try_workload(&scale);
    if !common.json {
        eprintln!("{}", announcement(&place, &scale));
    }
    let mut bench = session::bench(common)?;
    let command = command_line();
    let sim_run = SimRun { seed: arguments.seed, run_index: 0, plot_index: 0 };
    let request = RunRequest { workload: &workload, base: place.base(), command: &command, sim_run };
    let mut line = LiveLine::new();
    let outcome = bench.run(&request, &mut line);
    line.clear();
    present(&outcome?, common)
}

/// What will be written, said before anything is.
fn announcement(place: &Place, scale: &Scale) -> String {
    let space = format::bytes_iec((scale.file_bytes + scale.files * SMALL_FILE_BYTES) as f64);
    match place {
        Place::Sim(device) => format!("{device}: simulated, nothing is written"),
        Place::Directory(path) => format!(
            "{}: takes at most {space} at a time in a directory of its own, which is removed at the end; nothing else is touched",
            path.display()
        ),
    }
}
