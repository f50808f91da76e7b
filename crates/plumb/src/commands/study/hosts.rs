//! The lab's hosts for a study.

use crate::exit::Stopped;
use crate::session;
use plumb_engine::signals::StopFlag;
use plumb_lab::host::Listener;
use plumb_lab::ssh::SshSpec;
use plumb_lab::{Host, HostError, LineError, Local, Ssh, Surroundings, Vm};
use plumb_study::conduct::{COMMAND_LIMIT, Hosts};
use plumb_study::plan::HostPlan;

/// Opens hosts by means of the lab.
pub struct LabHosts {
    surroundings: Surroundings,
}

impl LabHosts {
    /// Hosts that end what they do when this is set.
    pub fn new(stop: StopFlag) -> Result<LabHosts, Stopped> {
        let program = std::env::current_exe()
            .map_err(|error| Stopped::io(format!("cannot find Plumb's own executable: {error}")))?;
        let mut surroundings = session::surroundings(program)?;
        surroundings.interrupted = Some(stop);
        Ok(LabHosts { surroundings })
    }

    /// Takes down what a killed process has left on this machine.
    pub fn recover(&self, listener: Listener<'_>) -> Result<(), plumb_lab::LabError> {
        for found in plumb_lab::recover(&self.surroundings.journals(), listener)? {
            if found.undone > 0 {
                listener(&format!("took down what process {} left of {}", found.pid, found.tag));
            }
        }
        Ok(())
    }
}

impl Hosts for LabHosts {
    fn open(&mut self, name: &str, host: &HostPlan, listener: Listener<'_>) -> Result<Box<dyn Host>, HostError> {
        Ok(match host {
            HostPlan::Local => Box::new(Local::new(&self.surroundings)?),
            HostPlan::Vm(spec) => {
                listener(&format!("booting {name}"));
                Box::new(Vm::boot(spec, &self.surroundings)?)
            }
            HostPlan::Ssh { destination, boot } => {
                listener(&format!("reaching {destination}"));
                let spec = SshSpec { to: destination.clone(), boot: boot.clone() };
                Box::new(Ssh::connect(&spec, &self.surroundings)?)
            }
        })
    }

    fn command(&mut self, line: &str, stop: Option<StopFlag>, listener: Listener<'_>) -> Result<(), LineError> {
        let said = plumb_lab::run_line(line, COMMAND_LIMIT, stop)?;
        said.lines().for_each(listener);
        Ok(())
    }
}
