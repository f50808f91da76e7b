//! `plumb try`: what a storage can do.

use super::present_what_there_is;
use crate::args::TryArguments;
use crate::common::Common;
use crate::exit::{End, Stopped};
use crate::output::error_line;
use crate::progress::LiveLine;
use crate::session;
use crate::space_budget::{DataSizes, SpaceBudget, check_lengths};
use plumb_engine::sim::SimRun;
use plumb_report::format;
use plumb_study::{Place, Policies, RunRequest};
use plumb_workload::named::{self, Scale};
use plumb_workload::{Bytes, Nanos};

/// Size of the test file where there is room.
const FILE_BYTES: Bytes = Bytes(1 << 30);

/// Measures a directory's storage.
pub fn run(arguments: &TryArguments, common: &Common) -> Result<End, Stopped> {
    check_lengths(Nanos(1), Some(arguments.time), arguments.size)?;
    let place = Place::parse(&arguments.path)?;
    let budget = match &place {
        Place::Directory(path) => SpaceBudget::under(path)?,
        Place::Sim(_) => SpaceBudget::UNLIMITED,
    };
    let sizes = budget.together(arguments.size.unwrap_or(FILE_BYTES));
    let Nanos(time_ns) = arguments.time;
    let DataSizes { file_bytes, files } = sizes;
    let scale = Scale { file_bytes, files, time_ns, seed: arguments.seed, place: place.for_named() };
    let workload = named::try_workload(&scale);
    if !common.json {
        error_line!("{}", announcement(&place, sizes, arguments.size));
    }
    let mut bench = session::bench(common)?;
    let command = session::command_line();
    let sim_run = SimRun { seed: arguments.seed, run_index: 0, plot_index: 0 };
    let request = RunRequest {
        workload: &workload,
        policies: Policies::Fitted,
        base: place.base(),
        command: &command,
        dialect: None,
        sim_run,
    };
    let mut line = LiveLine::new();
    let outcome = bench.run(&request, &mut line);
    line.clear();
    present_what_there_is(outcome, common)
}

/// What will be written, said before anything is.
fn announcement(place: &Place, sizes: DataSizes, wanted: Option<Bytes>) -> String {
    let space = format::bytes_iec(sizes.together_bytes() as f64);
    let less = match wanted {
        Some(Bytes(wanted)) if wanted > sizes.file_bytes => {
            let had = format::bytes_iec(sizes.file_bytes as f64);
            format!(" (the test file has {had}, for all of it must fit into a tenth of what is free)")
        }
        _ => String::new(),
    };
    match place {
        Place::Sim(device) => format!("{device}: simulated, nothing is written"),
        Place::Directory(path) => format!(
            "{}: takes at most {space} at a time in a directory of its own, which is removed at the end; nothing else is \
             touched{less}",
            path.display()
        ),
    }
}
