//! The lab's hosts for a study.

use crate::common::Common;
use crate::exit::Stopped;
use crate::session;
use plumb_engine::signals::StopFlag;
use plumb_lab::host::Listener;
use plumb_lab::preflight::Inspection;
use plumb_lab::ssh::SshSpec;
use plumb_lab::vm::{VmOutlook, outlook};
use plumb_lab::{Host, HostError, LineError, Local, Ssh, Surroundings, Vm};
use plumb_study::conduct::{COMMAND_LIMIT, Hosts};
use plumb_study::plan::HostPlan;
use plumb_study::preflight::Inspected;

/// Opens hosts by means of the lab.
pub struct LabHosts {
    surroundings: Surroundings,
}

impl LabHosts {
    /// Hosts that end what they do when this is set.
    pub fn new(stop: StopFlag, common: &Common) -> Result<LabHosts, Stopped> {
        let program = std::env::current_exe()
            .map_err(|error| Stopped::io(format!("cannot find Plumb's own executable: {error}")))?;
        let mut surroundings = session::surroundings(program)?;
        surroundings.interrupted = Some(stop);
        surroundings.verbose = common.verbose;
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

fn ssh_spec(host: &HostPlan) -> Option<SshSpec> {
    let HostPlan::Ssh { destination, boot, kernel, agent } = host else { return None };
    Some(SshSpec { to: destination.clone(), boot: boot.clone(), kernel: kernel.clone(), agent: agent.clone() })
}

impl Hosts for LabHosts {
    fn open(&mut self, name: &str, host: &HostPlan, listener: Listener<'_>) -> Result<Box<dyn Host>, HostError> {
        Ok(match host {
            HostPlan::Local => Box::new(Local::new(&self.surroundings)?),
            HostPlan::Vm(spec) => {
                listener(&format!("booting {name}"));
                Box::new(Vm::boot(spec, &self.surroundings)?)
            }
            HostPlan::Ssh { destination, .. } => {
                listener(&format!("reaching {destination}"));
                let spec = ssh_spec(host).expect("it is reached by ssh");
                Box::new(Ssh::connect(&spec, &self.surroundings)?)
            }
        })
    }

    fn inspect(
        &mut self,
        name: &str,
        host: &HostPlan,
        of: &dyn Fn(u64) -> Inspection,
        listener: Listener<'_>,
    ) -> Result<Inspected, HostError> {
        match host {
            HostPlan::Vm(spec) => {
                let VmOutlook { what, objections } = outlook(spec, &self.surroundings, of);
                return Ok(Inspected { what, objections, unchecked: Vec::new() });
            }
            HostPlan::Ssh { destination, boot: Some(_), .. } => {
                let spec = ssh_spec(host).expect("it is reached by ssh");
                Ssh::reach(&spec, &self.surroundings)?;
                return Ok(Inspected {
                    what: format!("{destination}, which ssh reaches"),
                    objections: Vec::new(),
                    unchecked: vec!["only that ssh reaches it; its own system boots when it is measured".to_owned()],
                });
            }
            HostPlan::Local | HostPlan::Ssh { .. } => {}
        }
        let mut host = self.open(name, host, listener)?;
        let inspection = of(host.facts().ram_bytes);
        let objections = host.inspect(&inspection)?;
        let what = format!("{} {}", host.facts().system, host.facts().kernel);
        host.close()?;
        Ok(Inspected { what, objections, unchecked: Vec::new() })
    }

    fn command(&mut self, line: &str, stop: Option<StopFlag>, listener: Listener<'_>) -> Result<(), LineError> {
        let said = plumb_lab::run_line(line, COMMAND_LIMIT, stop)?;
        said.lines().for_each(listener);
        Ok(())
    }
}
