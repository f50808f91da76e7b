//! `plumb as dd`: the worker itself prints dd's lines during the copy. The last ones wait until the run has been
//! judged, because scripts expect dd's last line at the end of standard error.

use plumb_bench::{Bench, Progress, RunError};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{error_line, error_text};
use plumb_cli::session;
use plumb_engine::EngineError;
use plumb_engine::copy::{CopyCounts, CopyError, CopyEvent, CopyListener};
use plumb_engine::guard::{Permissions, Refusal};
use plumb_engine::signals::{self, StopFlag, StopSignal};
use plumb_probe::streams::{self, Stream};
use plumb_tools_classic::dd::keywords::Status;
use plumb_tools_classic::dd::{self, Action, Marks, Reporter, help, lower};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Cut, Dialect, Load, RunEnded, Step, page};
use plumb_tools_run::verdicts::LinePlace;
use plumb_workload::Workload;
use plumb_workload_text::native;
use rustix::io::Errno;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct Copying {
    dd: dd::Dd,
    /// The program's name, which precedes each message.
    called: String,
}

impl Dialect for Copying {
    const NAME: &'static str = "dd";
    type Run = Workload;
    type Listener<'a> = Hearing;

    fn read(call: &ToolCall<'_>) -> Step<Copying> {
        let called = call.called;
        let marks = Marks::of_locale(|name| std::env::var(name).ok());
        let dd = match dd::read(call.words, marks) {
            Ok(dd) => dd,
            Err(error) => {
                error_text!("{}", error.text(called));
                if let Some(meant) = &error.meant {
                    error_line!("plumb: {meant}");
                }
                return Err(End::DialectFailed.into());
            }
        };
        for warning in &dd.warnings {
            error_line!("{called}: {warning}");
        }
        match dd.action {
            Action::Help => page(&help::help(called, dd.personality)),
            Action::Version => page(help::VERSION),
            Action::Plan => page(&lower::plan(&dd)),
            Action::Translate => match native::to_toml(&lower::lower(&dd)) {
                Ok(text) => page(&format!("# Translated from a dd command line.\n{text}")),
                Err(error) => {
                    error_line!("{called}: {error}");
                    Err(End::DialectFailed.into())
                }
            },
            Action::Run => {
                // An early SIGUSR1 must not end the program.
                signals::handle_progress_requests()
                    .map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
                Ok(Copying { dd, called: called.to_owned() })
            }
        }
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Workload> {
        if let Some(unreachable) = lower::unreachable(&self.dd) {
            error_text!("{}", Reporter::new(&self.dd, &self.called).cannot_reach(&unreachable));
            return Err(End::DialectFailed.into());
        }
        Ok(lower::lower(&self.dd))
    }

    /// The copy is made even if its result cannot be stored.
    fn bench(&self, common: &Common) -> Result<Bench, Stopped> {
        // An invalid configuration is an error.
        session::permissions(common)?;
        session::bench_of_tool(common).or_else(|stopped| {
            error_line!("{}: plumb: the result is not stored: {}", self.called, stopped.message);
            session::bench(&Common { no_store: true, ..common.clone() })
        })
    }

    fn load<'a>(&'a self, run: &'a Workload) -> Load<'a> {
        Load::here(run)
    }

    fn listen<'a>(&'a self, _run: &'a Workload, bench: &mut Bench) -> Step<Hearing> {
        if let Some(allow) = &self.dd.allow {
            bench.engine.permissions.extend(Permissions::parse(allow));
        }
        let teller = Mutex::new(Reporter::new(&self.dd, &self.called));
        let held = Mutex::new(None);
        let listener = Arc::new(Listener { teller, held, stop: bench.stop, lost_output: AtomicBool::new(false) });
        bench.engine.copy_listener = Some(Arc::clone(&listener) as Arc<dyn CopyListener>);
        Ok(Hearing(listener))
    }

    fn line_place(&self) -> LinePlace {
        if self.dd.status == Status::None { LinePlace::Nowhere } else { LinePlace::BeforeReport }
    }

    fn print<'a>(&'a self, _run: &'a Workload, hearing: Hearing, ended: &RunEnded) -> Step<()> {
        let listener = &hearing.0;
        listener.release();
        if let (Err(error), None) = (&ended.result, ended.outcome()) {
            listener.cannot_begin(error);
        }
        if let Some(signal) = ended.signal {
            return Err(Cut::Signal(signal));
        }
        let teller = listener.teller();
        if teller.reader_is_gone() {
            return Err(Cut::Signal(StopSignal::BrokenPipe));
        }
        // When dd closes standard error, it checks that all output arrived.
        let failed = teller.has_failed() || listener.lost_output.load(Ordering::Relaxed);
        Err(if failed { End::DialectFailed } else { End::Done }.into())
    }
}

/// Receives the worker's events, from which all messages come.
pub struct Hearing(Arc<Listener>);

impl Progress for Hearing {}

/// A panic after the copy must not cost dd's last lines.
impl Drop for Hearing {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Prints messages immediately.
pub struct Listener {
    teller: Mutex<Reporter>,
    /// dd's last lines, after the copy has ended.
    held: Mutex<Option<String>>,
    stop: StopFlag,
    /// Whether a write to standard error failed.
    lost_output: AtomicBool,
}

impl Listener {
    /// Writes in one piece, so that other output cannot come between.
    fn say(&self, text: &str) {
        // A stream that was closed is `/dev/null` by now, which accepts
        // everything. Progress overwrites the current line.
        let (over, data) = text.strip_prefix('\r').map_or(("", text), |data| ("\r", data));
        let shown = format!("{over}{}", plumb_text::visible(data));
        let written = || !streams::was_closed(Stream::Error) && std::io::stderr().write_all(shown.as_bytes()).is_ok();
        if !text.is_empty() && !written() {
            self.lost_output.store(true, Ordering::Relaxed);
        }
    }

    /// Prints text now, or with the last lines if they are held.
    fn say_in_order(&self, text: &str, is_last: bool) {
        {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            if is_last || held.is_some() {
                held.get_or_insert_default().push_str(text);
                return;
            }
        }
        self.say(text);
    }

    /// Prints the lines that are held.
    fn release(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(text) = held {
            self.say(&text);
        }
    }

    fn teller(&self) -> MutexGuard<'_, Reporter> {
        self.teller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints the reason why there is no copy.
    fn cannot_begin(&self, error: &RunError) {
        let mut teller = self.teller();
        let number = |error: &std::io::Error| error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
        let text = match error {
            RunError::Engine(EngineError::Copy(error)) => match error {
                CopyError::Input { source, .. } => teller.cannot_open_input(number(source)),
                CopyError::Output(Refusal::Io { source, .. }) => teller.cannot_open_output(number(source)),
                CopyError::Output(refusal) => teller.cannot(refusal),
                CopyError::Stream { stream, source } => teller.cannot_set_flags(*stream == "input", number(source)),
                CopyError::Memory { is_input, bytes, .. } => teller.no_memory(*is_input, *bytes),
            },
            error => teller.cannot(error),
        };
        self.say(&text);
    }
}

impl CopyListener for Listener {
    fn hear(&self, event: CopyEvent, counts: &CopyCounts, elapsed_ns: u64) {
        // Of all signals that end dd, it prints its statistics only for Ctrl-C.
        if event == CopyEvent::Interrupted && self.stop.signal() != Some(StopSignal::Interrupt) {
            return;
        }
        let text = self.teller().hear(event, counts, elapsed_ns);
        self.say_in_order(&text, matches!(event, CopyEvent::Ended | CopyEvent::Interrupted));
    }
}
