//! Another program that runs beside the other work.

use super::{LONGEST_SLEEP, run_beside, sleep_until};
use crate::clock::Clock;
use crate::gate::{Body, Gate, Passed};
use crate::worker::Ended;
use plumb_workload::{Exec, OpKind};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A worker that runs a program.
#[derive(Debug, Clone)]
pub(crate) struct ExecWorker {
    /// Which, and how.
    pub(crate) exec: Exec,
    /// The name of its group: its output goes to files of that name.
    pub(crate) name: String,
}

impl ExecWorker {
    /// The worker's body.
    pub(crate) fn body(self) -> Body {
        Box::new(move |gate: &Gate| self.run(gate))
    }

    fn run(self, gate: &Gate) -> Result<Ended, String> {
        let mut command = self.command()?;
        run_beside(gate, |passed| match self.run_to_end(&mut command, passed) {
            Ok(ended) => Ok(ended),
            Err(fault) => {
                let program = Path::new(&self.exec.program);
                Ok(passed.desk.failed(OpKind::Delay, program, fault.errno, &fault.message))
            }
        })
    }

    /// The program with its arguments, and where its output goes.
    fn command(&self) -> Result<Command, String> {
        let arguments = shlex::split(&self.exec.arguments).ok_or_else(|| {
            format!("the arguments of {} have a quote that is not closed: {}", self.exec.program, self.exec.arguments)
        })?;
        let mut command = Command::new(&self.exec.program);
        // A group of its own, so that what it starts itself ends with it.
        command.args(arguments).stdin(Stdio::null()).process_group(0);
        if self.exec.keeps_output {
            command.stdout(self.output("stdout")?).stderr(self.output("stderr")?);
        } else {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        Ok(command)
    }

    fn output(&self, stream: &str) -> Result<File, String> {
        let path = format!("{}.{stream}", self.name);
        File::create(&path).map_err(|error| format!("cannot write the program's output into {path}: {error}"))
    }

    fn run_to_end(&self, command: &mut Command, passed: &Passed<'_>) -> Result<Ended, Fault> {
        let (clock, control) = (passed.desk.clock, passed.desk.control);
        let mut program = command.spawn().map_err(|error| Fault::of("cannot be started", &error))?;
        let look = clock.ticks(LONGEST_SLEEP.as_nanos() as u64);
        loop {
            if let Some(status) = look_at(&mut program)? {
                return if status.success() { Ok(Ended::Done) } else { Err(Fault::of_status(status)) };
            }
            if !sleep_until(&clock, control, clock.now() + look) {
                end(&mut program, self.exec.grace.0, &clock)?;
                return Ok(Ended::Stopped);
            }
        }
    }
}

/// What went wrong with a program.
struct Fault {
    errno: Option<i32>,
    message: String,
}

impl Fault {
    fn of(what: &str, error: &std::io::Error) -> Fault {
        Fault { errno: error.raw_os_error(), message: format!("{what}: {error}") }
    }

    fn of_status(status: ExitStatus) -> Fault {
        let message = match (status.code(), status.signal()) {
            (Some(code), _) => format!("the program ended with status {code}"),
            (None, Some(signal)) => format!("the program was killed by signal {signal}"),
            (None, None) => "the program ended for no known reason".to_owned(),
        };
        Fault { errno: None, message }
    }
}

fn look_at(program: &mut Child) -> Result<Option<ExitStatus>, Fault> {
    program.try_wait().map_err(|error| Fault::of("cannot be waited for", &error))
}

/// Asks the program to end, and kills it when it has not done so in time. How it ends is no fault then.
fn end(program: &mut Child, grace_ns: u64, clock: &Clock) -> Result<(), Fault> {
    signal(program, Signal::TERM);
    let asked_at = clock.now();
    while look_at(program)?.is_none() {
        if clock.ns_between(asked_at, clock.now()) >= grace_ns {
            signal(program, Signal::KILL);
            program.wait().map_err(|error| Fault::of("cannot be waited for", &error))?;
            break;
        }
        std::thread::sleep(LONGEST_SLEEP);
    }
    Ok(())
}

/// Sends a signal to the program and all that it started. It fails only where they have ended.
fn signal(program: &Child, signal: Signal) {
    if let Some(group) = Pid::from_raw(program.id().cast_signed()) {
        let _ended = kill_process_group(group, signal);
    }
}
