//! Running a copy: measured and judged as every run of Plumb, and told as dd tells it.

use super::super::findings;
use crate::args::Common;
use crate::commands::run::command_line;
use crate::exit::{End, Stopped};
use crate::session;
use plumb_dialects::dd::lower::lower;
use plumb_dialects::dd::{Dd, Teller};
use plumb_engine::EngineError;
use plumb_engine::copy::{CopyCounts, CopyError, CopyEvent, CopyListener};
use plumb_engine::guard::{Permissions, Refusal};
use plumb_engine::signals::{self, StopFlag, StopSignal};
use plumb_engine::sim::SimRun;
use plumb_study::run::Silent;
use plumb_study::{Bench, Policies, RunError, RunRequest};
use rustix::io::Errno;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs the copy.
pub fn run(dd: &Dd, called: &str, common: &Common) -> Result<End, Stopped> {
    // Who asks early must not end the program.
    signals::hear_questions().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    let mut bench = bench(common, called)?;
    if let Some(allow) = &dd.allow {
        bench.permissions.extend(Permissions::parse(allow));
    }
    let stop = bench.stop;
    let listener = Arc::new(Listener { teller: Mutex::new(Teller::new(dd, called)), stop });
    bench.copy_listener = Some(Arc::clone(&listener) as Arc<dyn CopyListener>);
    let workload = lower(dd);
    let command = command_line();
    let request = RunRequest {
        workload: &workload,
        policies: Policies::AsWritten,
        base: Path::new("."),
        command: &command,
        dialect: Some("dd"),
        sim_run: SimRun { seed: workload.seed, run_index: 0, plot_index: 0 },
    };
    let ended = bench.run(&request, &mut Silent);
    drop(bench);
    match ended {
        Ok(outcome) => findings::tell(&outcome),
        Err(RunError::EndedEarly { outcome, .. }) => findings::tell(&outcome),
        Err(error) => listener.cannot_begin(&error),
    }
    if let Some(signal) = stop.signal().filter(|&signal| signal != StopSignal::Program) {
        signals::die_by(signal);
    }
    if listener.teller().lost_its_reader() {
        signals::die_by(StopSignal::BrokenPipe);
    }
    Ok(if listener.teller().has_failed() { End::DialectFailed } else { End::Done })
}

/// A copy is made whether or not its result can be kept.
fn bench(common: &Common, called: &str) -> Result<Bench, Stopped> {
    session::bench(common).or_else(|stopped| {
        eprintln!("{called}: plumb: the result is not stored: {}", stopped.message);
        session::bench(&Common { no_store: true, ..common.clone() })
    })
}

/// Says at once what happens.
struct Listener {
    teller: Mutex<Teller>,
    stop: StopFlag,
}

impl Listener {
    fn teller(&self) -> MutexGuard<'_, Teller> {
        self.teller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says why there is no copy.
    fn cannot_begin(&self, error: &RunError) {
        let mut teller = self.teller();
        let number = |error: &std::io::Error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
        let text = match error {
            RunError::Engine(EngineError::Copy(error)) => match error {
                CopyError::Input { source, .. } => teller.cannot_open_input(number(source)),
                CopyError::Output(Refusal::Io { source, .. }) => teller.cannot_open_output(number(source)),
                CopyError::Output(refusal) => teller.cannot(refusal),
                CopyError::Stream { stream, source } => teller.cannot_set_flags(*stream == "input", number(source)),
                CopyError::Length { bytes, source, .. } => teller.cannot_set_length(*bytes, number(source)),
                CopyError::Memory { is_input, bytes, .. } => teller.no_memory(*is_input, *bytes),
            },
            error => teller.cannot(error),
        };
        say(&text);
    }
}

impl CopyListener for Listener {
    fn hear(&self, event: CopyEvent, counts: &CopyCounts, elapsed_ns: u64) {
        // Of all that ends dd, it has a last word only for Ctrl-C.
        if event == CopyEvent::Interrupted && self.stop.signal() != Some(StopSignal::Interrupt) {
            return;
        }
        say(&self.teller().hear(event, counts, elapsed_ns));
    }
}

/// In one piece, so that what others write does not come between.
fn say(text: &str) {
    if !text.is_empty() {
        // Who closed it does not want to hear.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
