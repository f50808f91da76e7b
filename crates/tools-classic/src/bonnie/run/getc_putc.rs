//! `plumb as getc_putc`: the cost of single bytes with six ways of transferring them.

use super::user::KeptStore;
use super::{run, user};
use plumb_bench::{Bench, Progress};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line, error_text};
use plumb_engine::guard::Remover;
use plumb_engine::signals::StopFlag;
use plumb_result::PhaseMeasurement;
use plumb_tools_classic::bonnie::Refusal;
use plumb_tools_classic::bonnie::getc_putc::print::{self, GetcPutcResults};
use plumb_tools_classic::bonnie::getc_putc::{GetcPutcSettings, GetcPutcTest, lower, usage};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, refuse};
use plumb_tools_run::simulated;
use plumb_workload::Workload;
use std::path::Path;

/// Runs its tests. Errors go to standard error, with exit code 1.
pub struct GetcPutc {
    settings: GetcPutcSettings,
    kept: KeptStore,
}

impl Dialect for GetcPutc {
    const NAME: &'static str = "getc_putc";
    type Run = Workload;
    type Listener<'a> = GetcPutcProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<GetcPutc> {
        let (settings, kept) = prepared(call).or_else(|Refusal(text)| refuse(&text))?;
        Ok(GetcPutc { settings, kept })
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Workload> {
        if let Some(correction) = self.settings.correction() {
            error_line!("plumb: {correction}; `--compat=strict` follows the tool");
        }
        Ok(lower::lower(&self.settings, std::process::id()))
    }

    fn bench(&self, common: &Common) -> Result<Bench, Stopped> {
        self.kept.bench(common)
    }

    fn load<'a>(&'a self, run: &'a Workload) -> Load<'a> {
        Load { workload: run, base: Path::new(self.settings.directory.as_deref().unwrap_or(".")) }
    }

    fn listen<'a>(&'a self, _run: &'a Workload, _bench: &mut Bench) -> Step<GetcPutcProgress<'a>> {
        if !self.settings.quiet {
            output::print("Extending file...");
        }
        let remover = run::remover(self.settings.directory.as_deref());
        Ok(GetcPutcProgress { settings: &self.settings, results: GetcPutcResults::default(), refused: None, remover })
    }

    fn print<'a>(&'a self, run: &'a Workload, watching: GetcPutcProgress<'a>, ended: &RunEnded) -> Step<()> {
        let GetcPutcProgress { results, refused, remover, .. } = watching;
        run::over(ended, refused, &self.load(run), &remover)?;
        // Apart from these, standard output only gets the end of the last test and the line of values.
        if !self.settings.quiet {
            output::print("done\n");
        }
        error_text!("{}", print::table(&self.settings, &results));
        output::print(&print::values(&self.settings, &results));
        Err(End::Done.into())
    }
}

fn prepared(call: &ToolCall<'_>) -> Result<(GetcPutcSettings, KeptStore), Refusal> {
    let ToolCall { called, words, common, .. } = *call;
    let mut kept = KeptStore::default();
    let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let settings = GetcPutcSettings::read(called, words, &node)?;
    let is_simulated = settings.directory.as_deref().is_some_and(simulated::is_named);
    if settings.user.is_some() || settings.group.is_some() {
        let became = user::become_user(settings.user.as_deref(), settings.group.as_deref(), common)?;
        if !settings.quiet {
            error_text!("{}", became.message);
        }
        kept = became.kept;
    } else if !is_simulated && rustix::process::geteuid().is_root() {
        return Err(usage("You must use the \"-u\" switch when running as root.\n"));
    }
    settings.check()?;
    if let Some(directory) = settings.directory.as_ref()
        && !is_simulated
        && !Path::new(directory).is_dir()
    {
        return Err(usage(&format!("Can't create file \"{directory}/getc_putc.{}\".\n", std::process::id())));
    }
    Ok((settings, kept))
}

/// Prints the progress and collects the measurements.
pub struct GetcPutcProgress<'a> {
    settings: &'a GetcPutcSettings,
    results: GetcPutcResults,
    refused: Option<String>,
    remover: Remover,
}

impl Progress for GetcPutcProgress<'_> {
    fn clock_starts(&mut self, phase: &str) {
        let Some(test) = GetcPutcTest::of_phase(phase).filter(|_| !self.settings.quiet) else { return };
        // The file has been filled, or the previous test has ended.
        error_text!("done\n{}", test.beginning());
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        let Some(test) = GetcPutcTest::of_phase(&measured.name) else { return };
        self.results.add(test, measured);
        if let Some(fault) = measured.faults.first() {
            let text = format!("{} of {}: {}", fault.op.name(), fault.path.display(), fault.message);
            self.refused.get_or_insert(text);
        }
    }
}
