//! Runs Bonnie++'s tests the requested number of times, prints them in its format, and cleans up.

use super::user::KeptStore;
use super::{Prepared, SEMAPHORE_KEY, SEMAPHORES, prepared};
use plumb_bench::{Bench, Progress};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line, error_text};
use plumb_engine::guard::{Guard, Refusal as PassRefusal, Remover};
use plumb_engine::semaphore::Semaphores;
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_result::PhaseMeasurement;
use plumb_tools_classic::bonnie::lower::lower;
use plumb_tools_classic::bonnie::print::{self, Results};
use plumb_tools_classic::bonnie::random::NumberSource;
use plumb_tools_classic::bonnie::{BonnieSettings, Meeting, Refusal, Seed, Test, Version};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, page, refuse};
use plumb_tools_run::simulated;
use plumb_tools_run::verdicts::LinePlace;
use plumb_workload::{Target, Workload};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Exit code after a signal.
const INTERRUPTED: u8 = 5;
/// Maximum size of a file in 1.03, in MiB. A larger size means several files there, and one file here.
const FILE_103_MIB: i64 = 1024;

/// Runs Bonnie++'s tests. Errors go to standard error, with exit code 1.
pub struct Bonnie {
    settings: BonnieSettings,
    pid: u32,
    semaphores: Option<Semaphores>,
    /// State at the start of every run.
    seeded: NumberSource,
    /// State at the start of the current run.
    found: NumberSource,
    /// State at the end of the last run.
    numbers: NumberSource,
    begun: i64,
    kept: KeptStore,
}

impl Dialect for Bonnie {
    const NAME: &'static str = "bonnie++";
    const HEARS: &'static [StopSignal] = &[StopSignal::Interrupt];
    type Run = Workload;
    type Listener<'a> = BonnieProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Bonnie> {
        let (settings, pid, kept) = match prepared(call) {
            Ok(Prepared::Run(settings, machine, kept)) => (*settings, machine.pid, kept),
            Ok(Prepared::Done(text)) => return page(&text),
            Err(Refusal(text)) => return refuse(&text),
        };
        let corrections = settings.corrections();
        if !corrections.is_empty() {
            let exact = "`--compat=strict` prints what Bonnie++ prints";
            error_line!("plumb: {}; {exact}", corrections.join("; "));
        }
        if settings.version == Version::V103 && settings.large.size_mib > FILE_103_MIB {
            error_line!("plumb: one file of {} MiB, where 1.03e creates files of 1 GiB", settings.large.size_mib);
        }
        let semaphores = match settings.meeting {
            Meeting::Wait => match Semaphores::find(SEMAPHORE_KEY, SEMAPHORES) {
                Ok(found) => Some(found),
                Err(error) => return refuse(&format!("Can't get semaphore ID: {error}\n")),
            },
            _ => None,
        };
        let seeded = match numbers(&settings.seed) {
            Ok(numbers) => numbers,
            Err(Refusal(text)) => return refuse(&text),
        };
        let (found, numbers) = (seeded.clone(), seeded.clone());
        Ok(Bonnie { settings, pid, semaphores, seeded, found, numbers, begun: 0, kept })
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Workload> {
        if self.begun >= self.settings.runs.unwrap_or(1) {
            return Err(End::Done.into());
        }
        if self.begun == 0 && self.settings.runs.is_some_and(|runs| runs > 1) {
            output::print(&print::header(&self.settings));
        }
        self.begun += 1;
        // 1.03 seeds only once.
        if self.settings.version != Version::V103 {
            self.numbers = self.seeded.clone();
        }
        self.found = self.numbers.clone();
        Ok(lower(&self.settings, self.pid, &mut self.numbers))
    }

    /// Drops the large file, as with `-s 0`, if there is no room for it.
    fn fit(&mut self, run: &mut Workload, guard: &Guard) -> Step<()> {
        let (directory, size_mib) = (self.settings.directory.as_deref().unwrap_or("."), self.settings.large.size_mib);
        if size_mib <= 0 || self.settings.small.files_ki <= 0 || simulated::is_named(directory) {
            return Ok(());
        }
        let bytes = size_mib.unsigned_abs() << 20;
        if let Err(refusal @ PassRefusal::Space { .. }) =
            guard.admit_files(&[Path::new(directory).join("Bonnie")], bytes)
        {
            error_line!("plumb: the tests of the large file are left out: {refusal}");
            self.settings.large.size_mib = 0;
            self.numbers = self.found.clone();
            *run = lower(&self.settings, self.pid, &mut self.numbers);
        }
        Ok(())
    }

    fn bench(&self, common: &Common) -> Result<Bench, Stopped> {
        self.kept.bench(common)
    }

    fn load<'a>(&'a self, run: &'a Workload) -> Load<'a> {
        Load { workload: run, base: Path::new(self.settings.directory.as_deref().unwrap_or(".")) }
    }

    fn listen<'a>(&'a self, _run: &'a Workload, _bench: &mut Bench) -> Step<BonnieProgress<'a>> {
        let (settings, semaphores) = (&self.settings, self.semaphores);
        let remover = remover(settings.directory.as_deref());
        Ok(BonnieProgress { settings, semaphores, results: Results::default(), refused: None, remover })
    }

    /// Its CSV is the last line: `bonnie++ 2>&1 | tail -1 | bon_csv2html`.
    fn line_place(&self) -> LinePlace {
        LinePlace::LastUnlessMerged
    }

    fn print<'a>(&'a self, run: &'a Workload, watching: BonnieProgress<'a>, ended: &RunEnded) -> Step<()> {
        let BonnieProgress { results, refused, remover, .. } = watching;
        over(ended, refused, &self.load(run), &remover)?;
        if self.settings.runs.is_none() {
            let table = print::table(&self.settings, &results);
            if self.settings.quiet { error_text!("{table}") } else { output::print(&table) }
        }
        output::print(&print::values(&self.settings, &results));
        Ok(())
    }
}

fn numbers(seed: &Seed) -> Result<NumberSource, Refusal> {
    match seed {
        Seed::Number(number) => Ok(NumberSource::seeded(*number)),
        Seed::File(path) => {
            let bytes = plumb_text::bounded::read(path).map_err(|error| match error.kind() {
                ErrorKind::FileTooLarge => Refusal(format!("Can't read random file \"{path}\": {error}.\n")),
                _ => Refusal(format!("Can't open random file \"{path}\".\n")),
            })?;
            NumberSource::of_file(&bytes).ok_or_else(|| Refusal(format!("Can't read random data from \"{path}\".\n")))
        }
    }
}

/// Returns a remover for files below the directory that the user named.
pub(super) fn remover(directory: Option<&str>) -> Remover {
    Remover::new(&[PathBuf::from(directory.unwrap_or("."))], [])
}

/// Cleans up after a run that failed or was stopped.
pub(super) fn over(ended: &RunEnded, refused: Option<String>, load: &Load<'_>, remover: &Remover) -> Step<()> {
    let Some(end) = stopped(ended, refused) else { return Ok(()) };
    if removed(load, remover) {
        error_line!("Cleaning up test directory after error.");
    }
    Err(end.into())
}

/// Prints the reason why a run stopped and returns the program's exit code.
pub(super) fn stopped(ended: &RunEnded, refused: Option<String>) -> Option<End> {
    let why = [ended.error(), refused];
    if why.iter().all(Option::is_none) && ended.signal.is_none() {
        return None;
    }
    for why in why.into_iter().flatten() {
        error_line!("{why}");
    }
    Some(if ended.signal.is_some() { End::DialectCode(INTERRUPTED) } else { End::DialectFailed })
}

/// Removes leftovers of the tests. Their names are unique to this process.
fn removed(load: &Load<'_>, remover: &Remover) -> bool {
    let mut removed = false;
    for target in load.workload.target.values() {
        let Target::Scratch(scratch) = target else { continue };
        for path in (0..scratch.names.count()).rev().filter_map(|number| scratch.names.path(number)) {
            let path = load.base.join(path);
            // A missing file counts as removed.
            removed |= remover.remove_file(&path).or_else(|_| remover.remove_dir(&path)).unwrap_or(false);
        }
    }
    removed
}

/// Prints the progress and collects the measurements.
pub struct BonnieProgress<'a> {
    settings: &'a BonnieSettings,
    semaphores: Option<Semaphores>,
    results: Results,
    /// Reason why the run stopped: an op failed, or synchronization failed.
    refused: Option<String>,
    remover: Remover,
}

impl BonnieProgress<'_> {
    /// Waits until all processes are at the same test.
    fn meet(&mut self, test: Test) {
        let number = test as u16;
        if let Some(semaphores) = self.semaphores
            && self.refused.is_none()
            && let Err(error) = semaphores.meet(number)
        {
            self.refused = Some(format!("semop: semop failed.\n: {error}"));
        }
        if self.settings.meeting == Meeting::Prompt {
            output::print(&format!("\n{number}:\n"));
            let _ = plumb_text::bounded::line_of(&mut std::io::stdin().lock());
        }
    }
}

impl Progress for BonnieProgress<'_> {
    fn clock_starts(&mut self, phase: &str) {
        let Some(test) = Test::of_phase(phase) else { return };
        self.meet(test);
        if !self.settings.quiet {
            error_text!("{}", test.beginning(self.settings.version));
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
            error_text!("{}", test.ending(self.settings));
        }
    }
}
