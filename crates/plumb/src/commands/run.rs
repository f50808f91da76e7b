//! `plumb run`: one workload.

use super::present;
use crate::args::{Common, RunArguments};
use crate::exit::{End, Stopped};
use crate::progress::LiveLine;
use crate::session;
use plumb_engine::DropCaches;
use plumb_engine::sim::SimRun;
use plumb_study::{Place, Policies, RunRequest};
use plumb_workload::Workload;
use plumb_workload::named::{self, Scale};
use plumb_workload::native::{self, Override};
use std::path::Path;

/// Runs a workload file or a named workload.
pub fn run(arguments: &RunArguments, common: &Common) -> Result<End, Stopped> {
    let place = Place::parse(&arguments.at)?;
    let Loaded { mut workload, policies } = load(&arguments.workload, &arguments.set, Scale::moderate(place.for_named()))?;
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
    let request = RunRequest { workload: &workload, policies, base: place.base(), command: &command, sim_run };
    let mut line = LiveLine::new();
    let outcome = bench.run(&request, &mut line);
    line.clear();
    present(&outcome?, common)
}

/// The command as typed, for the record.
pub fn command_line() -> String {
    std::env::args().collect::<Vec<_>>().join(" ")
}

/// What is to be run.
pub struct Loaded {
    /// The workload.
    pub workload: Workload,
    /// Whose words its cache policies are.
    pub policies: Policies,
}

/// A workload file, or a named workload at a scale, with overrides.
pub fn load(name: &str, set: &[String], mut scale: Scale) -> Result<Loaded, Stopped> {
    let overrides = set
        .iter()
        .map(|text| text.parse::<Override>())
        .collect::<Result<Vec<_>, _>>()
        .map_err(Stopped::usage)?;
    let path = Path::new(name);
    if path.is_file() {
        let text =
            std::fs::read_to_string(path).map_err(|error| Stopped::io(format!("{}: {error}", path.display())))?;
        let workload = native::parse_with(name, &text, &overrides).map_err(Stopped::usage)?;
        return Ok(Loaded { workload, policies: Policies::AsWritten });
    }
    match named::select(name).as_deref() {
        Ok([named]) => {
            // A named workload goes once through its files, so that their number is more than the one setting.
            if let Some(files) = overrides
                .iter()
                .rev()
                .find(|change| change.path == "files")
                .and_then(|change| change.value.parse().ok())
            {
                scale.files = files;
            }
            let workload = native::with_overrides(&named.workload(&scale), &overrides).map_err(Stopped::usage)?;
            // Who types a policy means it.
            let typed = overrides.iter().any(|change| change.path.rsplit('.').next() == Some("cache"));
            Ok(Loaded { workload, policies: if typed { Policies::AsWritten } else { Policies::Fitted } })
        }
        Ok(_) => Err(Stopped::usage(format!(
            "`{name}` is several workloads; `plumb compare --for` runs them"
        ))),
        Err(error) => Err(Stopped::usage(format!("there is no file `{name}`; {error}"))),
    }
}
