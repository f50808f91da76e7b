//! Running Bonnie++'s tests: lowered, measured and judged as every run of Plumb, and told as Bonnie++ tells it.

use super::{SEMAPHORE_KEY, SEMAPHORES};
use crate::args::Common;
use crate::commands::dialect::findings;
use crate::commands::run::command_line;
use crate::exit::{End, Stopped};
use crate::session;
use plumb_dialects::bonnie::lower::lower;
use plumb_dialects::bonnie::print::{self, Results};
use plumb_dialects::bonnie::random::Numbers;
use plumb_dialects::bonnie::{Machine, Meeting, Seed, Settings, Test, Version};
use plumb_engine::semaphore::Semaphores;
use plumb_engine::sim::SimRun;
use plumb_result::PhaseMeasurement;
use plumb_study::{Bench, Policies, Progress, RunError, RunRequest};
use plumb_workload::{Target, Workload};
use std::path::Path;

/// What it ends with when a signal ends it.
const INTERRUPTED: u8 = 5;
/// Files of 1.03 end here, MiB; larger ones are several there, and one here.
const FILE_103_MIB: i64 = 1024;

/// Runs the tests, as often as was asked.
pub fn run(settings: &Settings, machine: &Machine, common: &Common) -> Result<End, Stopped> {
    let corrections = settings.corrections();
    if !corrections.is_empty() {
        let exact = "`--compat=strict` prints what Bonnie++ prints";
        eprintln!("plumb: {}; {exact}", corrections.join("; "));
    }
    if settings.version == Version::V103 && settings.size_mib > FILE_103_MIB {
        eprintln!("plumb: one file of {} MiB, where 1.03e makes files of 1 GiB", settings.size_mib);
    }
    let semaphores = match settings.meeting {
        Meeting::Wait => match Semaphores::find(SEMAPHORE_KEY, SEMAPHORES) {
            Ok(found) => Some(found),
            Err(error) => {
                eprintln!("Can't get semaphore ID: {error}");
                return Ok(End::DialectFailed);
            }
        },
        _ => None,
    };
    let seeded = match numbers(&settings.seed) {
        Ok(numbers) => numbers,
        Err(text) => {
            eprintln!("{text}");
            return Ok(End::DialectFailed);
        }
    };
    let mut bench = session::bench(common)?;
    if settings.runs.is_some_and(|runs| runs > 1) {
        session::print(&print::header(settings))?;
    }
    let mut numbers = seeded.clone();
    let mut left = settings.runs.unwrap_or(1);
    while left > 0 {
        left -= 1;
        // 1.03 seeds once.
        if settings.version != Version::V103 {
            numbers = seeded.clone();
        }
        let workload = lower(settings, machine.pid, &mut numbers);
        let mut watching = Watching { settings, semaphores, results: Results::default(), refused: None };
        if let Some(end) = once(settings, &workload, &mut bench, &mut watching) {
            return Ok(end);
        }
        if settings.runs.is_none() {
            let table = print::table(settings, &watching.results);
            if settings.quiet { eprint!("{table}") } else { session::print(&table)? }
        }
        session::print(&print::values(settings, &watching.results))?;
    }
    Ok(End::Done)
}

fn numbers(seed: &Seed) -> Result<Numbers, String> {
    match seed {
        Seed::Number(number) => Ok(Numbers::seeded(*number)),
        Seed::File(path) => {
            let bytes = std::fs::read(path).map_err(|_| format!("Can't open random file \"{path}\"."))?;
            Numbers::of_file(&bytes).ok_or_else(|| format!("Can't read random data from \"{path}\"."))
        }
    }
}

/// One run of all tests. What it ends the program with, where it does.
fn once(settings: &Settings, workload: &Workload, bench: &mut Bench, watching: &mut Watching<'_>) -> Option<End> {
    let base = Path::new(settings.directory.as_deref().unwrap_or("."));
    let failed = measure(workload, base, "bonnie++", bench, watching);
    ended(bench, workload, base, [failed, watching.refused.take()])
}

/// Runs a workload in a directory, as this tool's. Why it went no further, where it did not.
pub(super) fn measure(
    workload: &Workload,
    base: &Path,
    dialect: &'static str,
    bench: &mut Bench,
    watching: &mut dyn Progress,
) -> Option<String> {
    let typed = command_line();
    let request = RunRequest {
        workload,
        policies: Policies::AsWritten,
        base,
        command: &typed,
        dialect: Some(dialect),
        sim_run: SimRun { seed: workload.seed, run_index: 0, plot_index: 0 },
    };
    match bench.run(&request, watching) {
        Ok(outcome) => {
            findings::tell(&outcome);
            None
        }
        Err(RunError::EndedEarly { error, outcome }) => {
            findings::tell(&outcome);
            Some(error.to_string())
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Cleans up behind what failed or was stopped, and says with what the program then ends.
pub(super) fn ended(bench: &Bench, workload: &Workload, base: &Path, why: [Option<String>; 2]) -> Option<End> {
    let end = stopped(bench, why)?;
    if removed(workload, base) {
        eprintln!("Cleaning up test directory after error.");
    }
    Some(end)
}

/// Tells why it went no further, and says with what the program then ends.
pub(super) fn stopped(bench: &Bench, why: [Option<String>; 2]) -> Option<End> {
    let by_signal = bench.stop.signal().is_some();
    if why.iter().all(Option::is_none) && !by_signal {
        return None;
    }
    for why in why.into_iter().flatten() {
        eprintln!("{why}");
    }
    Some(if by_signal { End::DialectCode(INTERRUPTED) } else { End::DialectFailed })
}

/// Removes what the tests left. The names are of this process alone.
fn removed(workload: &Workload, base: &Path) -> bool {
    let mut removed = false;
    for target in workload.target.values() {
        let Target::Scratch(scratch) = target else { continue };
        for path in (0..scratch.names.count()).rev().filter_map(|number| scratch.names.path(number)) {
            let path = base.join(path);
            // What is not there is removed already.
            removed |= std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path)).is_ok();
        }
    }
    removed
}

/// Tells how far it has come, and keeps what was measured.
struct Watching<'a> {
    settings: &'a Settings,
    semaphores: Option<Semaphores>,
    results: Results,
    /// Why it goes no further: an op failed, or the others were not met.
    refused: Option<String>,
}

impl Watching<'_> {
    /// Waits until all are at the same test.
    fn meet(&mut self, test: Test) {
        let number = test as u16;
        if let Some(semaphores) = self.semaphores
            && self.refused.is_none()
            && let Err(error) = semaphores.meet(number)
        {
            self.refused = Some(format!("semop: semop failed.\n: {error}"));
        }
        if self.settings.meeting == Meeting::Prompt {
            // Nobody is left to read it where that fails.
            let _ = session::print(&format!("\n{number}:\n"));
            let _ = std::io::stdin().read_line(&mut String::new());
        }
    }
}

impl Progress for Watching<'_> {
    fn clock_starts(&mut self, phase: &str) {
        let Some(test) = Test::of_phase(phase) else { return };
        self.meet(test);
        if !self.settings.quiet {
            eprint!("{}", test.beginning(self.settings.version));
        }
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        let Some(test) = Test::of_phase(&measured.name) else { return };
        self.results.add(test, self.settings, measured);
        if let Some(fault) = measured.faults.first() {
            let text = format!("{} of {}: {}", fault.op.name(), fault.path.display(), fault.message);
            self.refused.get_or_insert(text);
        }
        if !self.settings.quiet && measured.fault_count == 0 {
            eprint!("{}", test.ending(self.settings));
        }
    }
}
