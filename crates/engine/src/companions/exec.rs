//! Another program.

use super::{Context, LONGEST_SLEEP, run_companion};
use crate::barrier::{Barrier, Body};
use crate::terms::Ended;
use crate::worker_error::WorkerError;
use plumb_guard::OutputFile;
use plumb_workload::{Exec, OpKind};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A companion that runs a program.
#[derive(Debug, Clone)]
pub(super) struct ExecCompanion {
    /// Which, and how.
    pub(super) exec: Exec,
    /// Its name: its output goes to files of that name.
    pub(super) name: String,
}

/// What went wrong with a program.
#[derive(Debug)]
pub(super) struct ExecFault {
    pub(super) errno: Option<i32>,
    pub(super) message: String,
}

impl ExecFault {
    fn of(what: &str, error: &io::Error) -> ExecFault {
        ExecFault { errno: error.raw_os_error(), message: format!("{what}: {error}") }
    }

    fn of_status(status: ExitStatus) -> ExecFault {
        let message = match (status.code(), status.signal()) {
            (Some(code), _) => format!("the program ended with status {code}"),
            (None, Some(signal)) => format!("the program was killed by signal {signal}"),
            (None, None) => "the program ended, and the system does not say how".to_owned(),
        };
        ExecFault { errno: None, message }
    }
}

impl ExecCompanion {
    /// Its body.
    pub(super) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| {
            let mut command = self.command()?;
            let program = Path::new(&self.exec.program);
            Ok(run_companion(
                barrier,
                |context| self.run(context, &mut command),
                |passed, worked| match worked {
                    Ok(ended) => ended,
                    Err(fault) => passed.context.failed(OpKind::Delay, program, fault.errno, &fault.message),
                },
            ))
        })
    }

    /// The program with its arguments, and where its output goes.
    pub(super) fn command(&self) -> Result<Command, WorkerError> {
        let Exec { program, arguments, .. } = &self.exec;
        let unclosed = || WorkerError::Arguments { program: program.clone(), arguments: arguments.clone() };
        let arguments = shlex::split(arguments).ok_or_else(unclosed)?;
        let mut command = Command::new(program);
        // A group of its own, so that what it starts itself ends with it.
        command.args(arguments).stdin(Stdio::null()).process_group(0);
        if self.exec.keeps_output {
            command.stdout(self.output_file("stdout")?).stderr(self.output_file("stderr")?);
        } else {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        Ok(command)
    }

    fn output_file(&self, stream: &str) -> Result<File, WorkerError> {
        let path = format!("{}.{stream}", self.name);
        let program = || self.exec.program.clone();
        let output = OutputFile::made_up("the output", &path).create().map_err(std::io::Error::from);
        output.map_err(|source| WorkerError::Output { program: program(), path, source })
    }

    /// Runs the program until it or the companion's time ends.
    pub(super) fn run(&self, context: &mut Context<'_>, command: &mut Command) -> Result<Ended, ExecFault> {
        let clock = context.clock;
        let mut program = command.spawn().map_err(|error| ExecFault::of("cannot be started", &error))?;
        let look = clock.ticks(LONGEST_SLEEP.as_nanos() as u64);
        loop {
            if let Some(status) = look_at(&mut program)? {
                return if status.success() { Ok(Ended::Done) } else { Err(ExecFault::of_status(status)) };
            }
            if !context.sleep_until(clock.now() + look) {
                self.end(&mut program, context)?;
                return Ok(Ended::Stopped);
            }
        }
    }

    /// Asks the program to end, and kills it when it has not done so in time. How it ends is no fault then.
    fn end(&self, program: &mut Child, context: &Context<'_>) -> Result<(), ExecFault> {
        let clock = context.clock;
        signal_all(program, Signal::TERM);
        let asked_at = clock.now();
        while look_at(program)?.is_none() {
            if clock.ns_between(asked_at, clock.now()) >= self.exec.grace.0 {
                signal_all(program, Signal::KILL);
                program.wait().map_err(|error| ExecFault::of("cannot be waited for", &error))?;
                break;
            }
            std::thread::sleep(LONGEST_SLEEP);
        }
        Ok(())
    }
}

fn look_at(program: &mut Child) -> Result<Option<ExitStatus>, ExecFault> {
    program.try_wait().map_err(|error| ExecFault::of("cannot be waited for", &error))
}

/// Sends a signal to the program and all that it started. That fails only where they have all ended.
fn signal_all(program: &Child, signal: Signal) {
    if let Some(group) = Pid::from_raw(program.id().cast_signed()) {
        let _all_ended = kill_process_group(group, signal);
    }
}
