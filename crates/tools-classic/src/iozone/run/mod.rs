//! `plumb as iozone`.

mod machine;
mod run;
mod watching;
mod workbook;

use machine::Here;
use plumb_bench::Bench;
use plumb_cli::exit::End;
use plumb_cli::output::{self, error_text};
use plumb_engine::guard::Guard;
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_tools_classic::iozone::lower::Lowered;
use plumb_tools_classic::iozone::{self, Action, IozoneSettings, IozoneUsageError};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, page};
use watching::IozoneProgress;

/// IOzone's tests. Errors go to standard output, with IOzone's exit codes.
pub struct Iozone {
    settings: IozoneSettings,
    /// Including the program's own name.
    command: Vec<String>,
}

impl Dialect for Iozone {
    const NAME: &'static str = "iozone";
    const HEARS: &'static [StopSignal] = &[StopSignal::Interrupt, StopSignal::Terminate];
    type Run = Lowered;
    type Listener<'a> = IozoneProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Iozone> {
        let words = join_values(call.words);
        match iozone::read(&words, &mut Here) {
            Ok(Action::Print(text)) => page(&text),
            Ok(Action::Run(settings)) => {
                let command = std::iter::once(call.called.to_owned()).chain(words).collect();
                Ok(Iozone { settings: *settings, command })
            }
            Err(IozoneUsageError { out, err, code }) => {
                output::print(&out);
                error_text!("{err}");
                Err(code_of(code).into())
            }
        }
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Lowered> {
        run::begin(&self.settings, &self.command)
    }

    fn fit(&mut self, run: &mut Lowered, guard: &Guard) -> Step<()> {
        run::fit(&self.settings, run, guard)
    }

    fn load<'a>(&'a self, run: &'a Lowered) -> Load<'a> {
        Load::here(&run.workload)
    }

    fn listen<'a>(&'a self, run: &'a Lowered, bench: &mut Bench) -> Step<IozoneProgress<'a>> {
        Ok(IozoneProgress::new(&self.settings, run, bench.stop))
    }

    fn print<'a>(&'a self, _run: &'a Lowered, listener: IozoneProgress<'a>, ended: &RunEnded) -> Step<()> {
        Err(run::end(&self.settings, &self.command, listener, ended)?.into())
    }
}

/// Turns `--xlsx FILE` and `--repeat N` into `--xlsx=FILE` and `--repeat=N`.
fn join_values(words: &[String]) -> Vec<String> {
    let mut words = words.iter();
    let mut joined = Vec::new();
    while let Some(word) = words.next() {
        let value = match word.as_str() {
            "--xlsx" | "--repeat" | "--compat" => words.next(),
            _ => None,
        };
        joined.push(value.map_or_else(|| word.clone(), |value| format!("{word}={value}")));
    }
    joined
}

/// Returns the end of a run for one of IOzone's exit codes.
fn code_of(code: u8) -> End {
    if code == 0 { End::Done } else { End::DialectCode(code) }
}
