//! `plumb run`: one workload.

use super::present;
use crate::args::{Common, RunArguments};
use crate::exit::{End, Stopped};
use crate::progress::LiveLine;
use crate::session;
use plumb_engine::DropCaches;
use plumb_engine::sim::SimRun;
use plumb_study::{Place, RunRequest};
use plumb_workload::Workload;
use plumb_workload::named::{self, Scale};
use plumb_workload::native::{self, Override};
use std::path::Path;

/// Runs a workload file or a named workload.
pub fn run(arguments: &RunArguments, common: &Common) -> Result<End, Stopped> {
    let place = Place::parse(&arguments.at)?;
    let mut workload = load(arguments, &place)?;
    if let Some(seed) = arguments.seed {
        workload.seed = seed;
    }
    if arguments.translate {
        let text = native::to_toml(&workload).map_err(Stopped::usage)?;
        session::print(&text)?;
        return Ok(End::Done);
    }
    let mut bench = session::bench(common)?;
    if arguments.drop_caches {
        bench.drop_caches = DropCaches::Allowed;
    }
    let sim_run = SimRun { seed: workload.seed, run_index: 0, plot_index: 0 };
    let command = command_line();
    let request = RunRequest { workload: &workload, base: place.base(), command: &command, sim_run };
    let mut line = LiveLine::new();
    let outcome = bench.run(&request, &mut line);
    line.clear();
    present(&outcome?, common)
}

/// The command as typed, for the record.
pub fn command_line() -> String {
    std::env::args().collect::<Vec<_>>().join(" ")
}

fn load(arguments: &RunArguments, place: &Place) -> Result<Workload, Stopped> {
    let overrides = arguments
        .set
        .iter()
        .map(|text| text.parse::<Override>())
        .collect::<Result<Vec<_>, _>>()
        .map_err(Stopped::usage)?;
    let path = Path::new(&arguments.workload);
    if path.is_file() {
        let text =
            std::fs::read_to_string(path).map_err(|error| Stopped::io(format!("{}: {error}", path.display())))?;
        return native::parse_with(&arguments.workload, &text, &overrides).map_err(Stopped::usage);
    }
    match named::select(&arguments.workload).as_deref() {
        Ok([named]) => {
            let scale = Scale::moderate(place.for_named());
            native::with_overrides(&named.workload(&scale), &overrides).map_err(Stopped::usage)
        }
        Ok(_) => Err(Stopped::usage(format!(
            "`{}` is several workloads; `plumb compare --for` runs them",
            arguments.workload
        ))),
        Err(error) => Err(Stopped::usage(format!("there is no file `{}`; {error}", arguments.workload))),
    }
}
