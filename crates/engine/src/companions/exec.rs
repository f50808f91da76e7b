//! A companion that runs another program.

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

#[derive(Debug, Clone)]
pub(super) struct ExecCompanion {
    pub(super) exec: Exec,
    /// Its name, which is also the prefix of its output files.
    pub(super) name: String,
}

/// Error from running a program.
#[derive(Debug)]
pub(super) struct ExecFault {
    pub(super) errno: Option<i32>,
    pub(super) message: String,
}

impl ExecFault {
    fn new(what: &str, error: &io::Error) -> ExecFault {
        ExecFault { errno: error.raw_os_error(), message: format!("{what}: {error}") }
    }

    fn from_status(status: ExitStatus) -> ExecFault {
        let message = match (status.code(), status.signal()) {
            (Some(code), _) => format!("the program ended with status {code}"),
            (None, Some(signal)) => format!("the program was killed by signal {signal}"),
            (None, None) => "the program ended in an unknown way".to_owned(),
        };
        ExecFault { errno: None, message }
    }
}

impl ExecCompanion {
    /// Returns the body of the companion's thread.
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

    /// Builds the command, with its arguments and output files.
    pub(super) fn command(&self) -> Result<Command, WorkerError> {
        let Exec { program, arguments, .. } = &self.exec;
        let unclosed = || WorkerError::Arguments { program: program.clone(), arguments: arguments.clone() };
        let arguments = shlex::split(arguments).ok_or_else(unclosed)?;
        let mut command = Command::new(program);
        // In its own process group, so that its children end with it.
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

    /// Runs the program until it exits or the companion must stop.
    pub(super) fn run(&self, context: &mut Context<'_>, command: &mut Command) -> Result<Ended, ExecFault> {
        let clock = context.clock;
        let mut program = command.spawn().map_err(|error| ExecFault::new("cannot be started", &error))?;
        let interval = clock.ticks(LONGEST_SLEEP.as_nanos() as u64);
        loop {
            if let Some(status) = poll_exit(&mut program)? {
                return if status.success() { Ok(Ended::Done) } else { Err(ExecFault::from_status(status)) };
            }
            if !context.sleep_until(clock.now() + interval) {
                self.end(&mut program, context)?;
                return Ok(Ended::Stopped);
            }
        }
    }

    /// Sends SIGTERM to the program, and kills it after the grace period. Its exit status is then ignored.
    fn end(&self, program: &mut Child, context: &Context<'_>) -> Result<(), ExecFault> {
        let clock = context.clock;
        signal_all(program, Signal::TERM);
        let asked_at = clock.now();
        while poll_exit(program)?.is_none() {
            if clock.ns_between(asked_at, clock.now()) >= self.exec.grace.0 {
                signal_all(program, Signal::KILL);
                program.wait().map_err(|error| ExecFault::new("cannot be waited for", &error))?;
                break;
            }
            std::thread::sleep(LONGEST_SLEEP);
        }
        Ok(())
    }
}

fn poll_exit(program: &mut Child) -> Result<Option<ExitStatus>, ExecFault> {
    program.try_wait().map_err(|error| ExecFault::new("cannot be waited for", &error))
}

/// Sends a signal to the program and all its children. This fails only if all of them have exited.
fn signal_all(program: &Child, signal: Signal) {
    if let Some(group) = Pid::from_raw(program.id().cast_signed()) {
        let _all_exited = kill_process_group(group, signal);
    }
}
