//! `plumb as filebench`.

mod watching;

use plumb_bench::{Bench, RunError};
use plumb_cli::exit::End;
use plumb_cli::output::{self, error_line};
use plumb_engine::guard::space::FLOOR_PERCENT;
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_tools::FileError;
use plumb_tools::permission;
use plumb_tools_app::filebench::{self, Action, Answer, Call, FilebenchUsageError, Plan, QuitMode, Session, VERSION};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, page};
use plumb_workload_text::native;
use rustix::io::Errno;
use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};
use watching::FilebenchProgress;

/// Size limit of a script, bytes.
const SCRIPT_BYTES_MAX: u64 = 16 << 20;

/// A script in the workload model language. The output has Filebench's format, and the exit code is 1 on any failure.
pub struct Script {
    session: Session,
    allows_system: bool,
    started: Instant,
    has_run: bool,
    translates: bool,
}

/// Formats a line with the time since the start.
fn stamped(started: Instant, text: &str) -> String {
    format!("{:.3}: {text}\n", started.elapsed().as_secs_f64())
}

fn complain(error: &FilebenchUsageError) {
    error_line!("filebench: {error}");
}

/// Prints the error and ends the tool.
fn fails<T>(error: &FilebenchUsageError) -> Step<T> {
    complain(error);
    Err(End::DialectFailed.into())
}

/// Returns the name of a script for messages.
fn called(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

fn read_script(path: &str) -> Result<String, FileError> {
    let read = |file: &mut dyn Read| {
        let mut text = Vec::new();
        file.take(SCRIPT_BYTES_MAX + 1).read_to_end(&mut text)?;
        if text.len() as u64 > SCRIPT_BYTES_MAX {
            return Ok(None);
        }
        String::from_utf8(text).map(Some).map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))
    };
    let text = match path {
        "-" => read(&mut std::io::stdin().lock()),
        path => std::fs::File::open(path).and_then(|mut file| read(&mut file)),
    };
    let too_long = || FileError::TooLong { path: called(path).to_owned(), most_bytes: SCRIPT_BYTES_MAX };
    text.map_err(FileError::io(called(path)))?.ok_or_else(too_long)
}

impl Script {
    fn say(&self, text: &str) {
        for line in text.lines() {
            output::print(&stamped(self.started, line));
        }
    }

    /// Runs a shell command of the script, if the user allows it.
    fn system(&self, line: &str, at: &FilebenchUsageError) -> Step<()> {
        if !self.allows_system {
            let message = permission::refused("`system`", line);
            return fails(&FilebenchUsageError { message, help: Some(permission::way_out()), ..at.clone() });
        }
        match plumb_engine::shell(line).status() {
            Ok(_) => Ok(()),
            Err(error) => {
                fails(&FilebenchUsageError { message: format!("cannot run `{line}`: {error}"), ..at.clone() })
            }
        }
    }
}

impl Dialect for Script {
    const NAME: &'static str = "filebench";
    const HEARS: &'static [StopSignal] = &[StopSignal::Interrupt, StopSignal::Terminate];
    type Run = Plan;
    type Listener<'a> = FilebenchProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Script> {
        let Call { file, personality, settings, run_s, allows_system, translates } = match filebench::read(call.words) {
            Ok(Action::Run(call)) => call,
            Ok(Action::Page(text)) => return page(&text),
            Err(error) => return fails(&error),
        };
        let started = Instant::now();
        let text = match personality.map_or_else(|| read_script(&file), |known| Ok(known.script.to_owned())) {
            Ok(text) => text,
            Err(error) => return fails(&FilebenchUsageError::without_place(error.to_string())),
        };
        let name = personality.map_or_else(|| called(&file), |personality| personality.name);
        match Session::new(name, &text, &settings, run_s, &mut read_script) {
            Ok(session) if translates => Ok(Script { session, allows_system, started, has_run: false, translates }),
            Ok(session) => {
                output::print(&format!("Filebench Version {VERSION}\n"));
                // Filebench prints this. Plumb's threads need no shared memory.
                output::print(&stamped(started, "Allocated 0MB of shared memory"));
                Ok(Script { session, allows_system, started, has_run: false, translates })
            }
            Err(error) => fails(&error),
        }
    }

    fn next(&mut self, stop: Option<StopFlag>) -> Step<Plan> {
        if self.has_run {
            return Err(End::Done.into());
        }
        loop {
            match self.session.answer() {
                Err(error) => return fails(&error),
                Ok(Answer::Print(_) | Answer::Sleep(_) | Answer::System { .. }) if self.translates => {}
                Ok(Answer::Print(text)) => self.say(&text),
                Ok(Answer::Remark(error)) => complain(&error),
                Ok(Answer::System { line, at }) => self.system(&line, &at)?,
                Ok(Answer::Sleep(seconds)) => match stop {
                    Some(stop) => _ = stop.sleep(Duration::from_secs(seconds)),
                    None => std::thread::sleep(Duration::from_secs(seconds)),
                },
                Ok(Answer::End) => {
                    output::print("Warning: no run command in the WML script!\n");
                    error_line!("filebench: the script has no `run`; add --run SECONDS");
                    return Err(End::Done.into());
                }
                Ok(Answer::Run(plan)) if self.translates => {
                    return match native::to_toml(&plan.workload) {
                        Ok(text) => page(&text),
                        Err(error) => fails(&FilebenchUsageError::without_place(error.to_string())),
                    };
                }
                Ok(Answer::Run(plan)) => {
                    self.has_run = true;
                    plan.remarks.iter().for_each(complain);
                    self.say("Populating and pre-allocating filesets");
                    return Ok(*plan);
                }
            }
        }
    }

    fn load<'a>(&'a self, run: &'a Plan) -> Load<'a> {
        Load::here(&run.workload)
    }

    fn listen<'a>(&'a self, run: &'a Plan, _bench: &mut Bench) -> Step<FilebenchProgress<'a>> {
        Ok(FilebenchProgress::new(run, self.started))
    }

    fn print<'a>(&'a self, run: &'a Plan, watching: FilebenchProgress<'a>, ended: &RunEnded) -> Step<()> {
        let outcome = ended.outcome();
        let phase = outcome.and_then(|outcome| outcome.measurement.phases.first());
        if let Some(phase) = phase {
            watching.print_end(phase, run.mode == QuitMode::Timeout);
            for fault in &phase.faults {
                error_line!("filebench: {} of {}: {}", fault.op.name(), fault.path.display(), fault.message);
            }
            // The file system still has free space, so the message of the system alone would be misleading.
            if phase.faults.iter().any(|fault| fault.errno == Some(Errno::NOSPC.raw_os_error())) {
                error_line!(
                    "filebench: files grow until {FLOOR_PERCENT} % of their file system is free, or, where \
                     PLUMB_FILL=DIRECTORY names it, until nothing is"
                );
            }
        }
        let failed = phase.is_some_and(|phase| phase.fault_count > 0);
        match &ended.result {
            Ok(_) if !failed => {}
            Ok(_) | Err(RunError::EndedEarly { .. }) => {
                ended.error().iter().for_each(|error| error_line!("filebench: {error}"));
                return Err(End::DialectFailed.into());
            }
            Err(error) => {
                error_line!("filebench: {error}");
                let is_refusal = error.refusal().is_some();
                return Err(if is_refusal { End::Refused } else { End::DialectFailed }.into());
            }
        }
        if ended.signal.is_some() {
            return Err(End::Interrupted.into());
        }
        Err(End::Done.into())
    }
}
