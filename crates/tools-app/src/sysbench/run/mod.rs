//! `plumb as sysbench`.

use plumb_bench::{Bench, Progress};
use plumb_cli::exit::End;
use plumb_cli::output::{self, error_line, error_text};
use plumb_engine::PhaseNow;
use plumb_engine::signals::StopFlag;
use plumb_tools_app::sysbench::lower::{file_name, lower};
use plumb_tools_app::sysbench::print::{self, Counted};
use plumb_tools_app::sysbench::{self, Action, Command, SysbenchSettings, SysbenchUsageError};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, conclude, page};
use plumb_workload::Workload;

/// A command of the file test. The exit code is 1 on any failure.
pub struct Sysbench {
    settings: SysbenchSettings,
    has_run: bool,
}

impl Dialect for Sysbench {
    const NAME: &'static str = "sysbench";
    type Run = Workload;
    type Listener<'a> = SysbenchProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Sysbench> {
        let warnings = sysbench::warnings(call.words);
        error_text!("{}", warnings.errors);
        output::print(&warnings.output);
        match sysbench::read(call.words) {
            Ok(Action::Version) => page(print::VERSION),
            Ok(Action::Page(text)) => page(&format!("{}{text}", print::HEAD)),
            Ok(Action::Run(settings)) => {
                output::print(print::HEAD);
                Ok(Sysbench { settings, has_run: false })
            }
            Err(error) => {
                output::print(print::HEAD);
                match error {
                    SysbenchUsageError::Fatal(_) => output::print(&format!("{error}\n\n")),
                    SysbenchUsageError::Usage(_) => error_line!("{error}"),
                }
                Err(End::DialectFailed.into())
            }
        }
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Workload> {
        if self.has_run {
            return Err(End::Done.into());
        }
        self.has_run = true;
        let settings = &self.settings;
        let length = |number| std::fs::metadata(file_name(number)).ok().map(|found| found.len());
        let lengths: Vec<Option<u64>> = (0..settings.files.count).map(length).collect();
        match settings.command {
            Command::Prepare => output::print(&print::preparing(settings, &lengths)),
            Command::Cleanup => output::print("Removing test files...\n"),
            Command::Run(mode) => {
                output::print(&print::running(settings, mode));
                let short = |length: &Option<u64>| length.is_none_or(|length| length < settings.file_bytes());
                if mode != sysbench::TestMode::Create
                    && let Some(number) = lengths.iter().position(short)
                {
                    output::print(&print::unusable(settings, number as u32, lengths[number]));
                    return Err(End::DialectFailed.into());
                }
                output::print("Initializing worker threads...\n\n");
            }
        }
        let now = jiff::Timestamp::now().as_nanosecond() as u64;
        Ok(lower(settings, &lengths, now))
    }

    fn load<'a>(&'a self, run: &'a Workload) -> Load<'a> {
        Load::here(run)
    }

    fn listen<'a>(&'a self, _run: &'a Workload, _bench: &mut Bench) -> Step<SysbenchProgress<'a>> {
        Ok(SysbenchProgress { settings: &self.settings, last_ns: 0, last: Counted::default() })
    }

    fn print<'a>(&'a self, _run: &'a Workload, _watching: SysbenchProgress<'a>, ended: &RunEnded) -> Step<()> {
        if let Some(phase) = ended.outcome().and_then(|outcome| outcome.measurement.phases.first()) {
            match self.settings.command {
                Command::Prepare => output::print(&print::prepared(phase)),
                Command::Cleanup => {}
                Command::Run(_) => match print::invalid(phase) {
                    error if error.is_empty() => output::print(&print::report(&self.settings, phase)),
                    // Like sysbench, does not report the work done before the error.
                    error => output::print(&error),
                },
            }
        }
        Err(conclude("sysbench", ended).into())
    }
}

/// Prints interim reports, each on the interval since the previous one.
pub struct SysbenchProgress<'a> {
    settings: &'a SysbenchSettings,
    last_ns: u64,
    last: Counted,
}

impl Progress for SysbenchProgress<'_> {
    fn clock_starts(&mut self, _phase: &str) {
        if matches!(self.settings.command, Command::Run(_)) {
            output::print("Threads started!\n\n");
        }
    }

    fn tick_ns(&self) -> Option<u64> {
        (self.settings.report.interval_s > 0).then(|| self.settings.report.interval_s.saturating_mul(1_000_000_000))
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        let at_ns = now.elapsed_ns();
        let seconds = at_ns.saturating_sub(self.last_ns) as f64 / 1e9;
        if seconds <= 0.0 || !matches!(self.settings.command, Command::Run(_)) {
            return;
        }
        let all = Counted::from_ops(&now.measurement().ops, self.settings.flush.each);
        output::print(&print::line(self.settings, at_ns as f64 / 1e9, seconds, &all.since(&self.last)));
        (self.last_ns, self.last) = (at_ns, all);
    }
}
